"""How pictures of the documentation look, and how they are found: `@picture` on a function that returns a figure.

The background is transparent and colours are of middle lightness, so that a picture is legible on light and dark pages.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("svg")

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
RECORDINGS = ROOT.parent / "shared" / "data"
"""Real recordings, which are not in a clone."""

BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#3f86c6", "#d9782d", "#3d9a62", "#cc5252", "#8d6cbb", "#838b96"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, RED, GREY)

PICTURES: dict[str, Callable[[], Figure]] = {}
"""Name of the file without its ending -> what draws it."""

FILES: dict[str, Callable[[Path], object]] = {}
"""Name of another file, a page to which the gallery leads -> what writes it."""

plt.rcParams.update(
    {
        "axes.axisbelow": True,
        "axes.edgecolor": GREY,
        "axes.grid": True,
        "axes.labelcolor": GREY,
        "axes.prop_cycle": matplotlib.cycler(color=COLOURS),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlecolor": GREY,
        "axes.titlesize": 9,
        "figure.constrained_layout.use": True,
        "figure.dpi": 100,
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "savefig.facecolor": "none",
        "font.family": "sans-serif",
        "font.size": 9,
        "grid.alpha": 0.25,
        "grid.color": GREY,
        "legend.frameon": False,
        "legend.labelcolor": GREY,
        "lines.linewidth": 1.3,
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "poinsot",  # the same file from the same numbers
        "text.color": GREY,
        "xtick.color": GREY,
        "ytick.color": GREY,
    }
)


def picture(draw: Callable[[], Figure]) -> Callable[[], Figure]:
    """Register a function that draws `pictures/NAME.svg`, NAME being its own name."""
    PICTURES[draw.__name__] = draw
    return draw


def recorded(folder: str) -> Callable[[Callable[[], Figure]], Callable[[], Figure]]:
    """Draw from a folder of real recordings; without it a line of text that says which recording is missing."""

    def decorate(draw: Callable[[], Figure]) -> Callable[[], Figure]:
        @wraps(draw)
        def drawn() -> Figure:
            if (RECORDINGS / folder).is_dir():
                return draw()
            figure, ax = axes(height=0.9)
            ax.axis("off")
            missing = f"This figure needs the recording in ../shared/data/{folder}, which was not there"
            say(ax, f"{missing} when the page was made.", style="italic")
            return figure

        return drawn

    return decorate


def prior_bars(ax, full, fontsize: int) -> None:
    """Bars of which part of each full parameter is from the description and which from the recording."""
    x = np.arange(len(full.names))
    ax.bar(x, 100 * full.prior_share, color=ORANGE, label="description")
    ax.bar(x, 100 * (1 - full.prior_share), bottom=100 * full.prior_share, color=BLUE, label="recording")
    ax.set_xticks(x, full.names, rotation=90, fontsize=fontsize)
    ax.set_ylabel("where the value is from [%]")
    ax.grid(False)
    ax.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.2))


def axes(rows: int = 1, columns: int = 1, height: float = 3.0, width: float = 7.2, **options):
    """A figure of the page's width, and its axes."""
    return plt.subplots(rows, columns, figsize=(width, height), **options)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as SVG."""
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)


def thinned(*arrays: np.ndarray, points: int = 400) -> list[np.ndarray]:
    """Every so many-th sample of arrays of one length, for display."""
    step = max(1, len(arrays[0]) // points)
    return [each[::step] for each in arrays]


def say(ax, text: str, where: str = "upper left", **options) -> None:
    """A line of text in a corner of the axes."""
    x, y = 0.02 if "left" in where else 0.98, 0.96 if "upper" in where else 0.04
    ax.text(
        x,
        y,
        text,
        transform=ax.transAxes,
        ha="left" if "left" in where else "right",
        va="top" if "upper" in where else "bottom",
        **options,
    )
