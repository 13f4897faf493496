"""The package drawn from its own code: the seven nouns, the layers of imports, the families."""

import tomllib

from drawing import BLUE, COLOURS, GREEN, GREY, ORANGE, PURPLE, ROOT, axes, picture

import poinsot

NOUNS = {
    "Recording": poinsot.Recording,
    "Signals": poinsot.Signals,
    "Parameters": poinsot.Parameters,
    "Model": poinsot.Articulated,
    "Problem": poinsot.InverseDynamics,
    "Estimate": poinsot.Estimate,
    "Report": poinsot.write_report,
}


def _box(ax, x, y, width, height, text, colour, size=8, weight="normal"):
    from matplotlib.patches import FancyBboxPatch

    ax.add_patch(
        FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0.02", fc=colour, ec=colour, alpha=0.22)
    )
    ax.add_patch(
        FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0.02", fc="none", ec=colour, lw=1.2)
    )
    ax.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=size, weight=weight)


@picture
def pipeline():
    """The seven nouns, each with the module that defines it now."""
    figure, ax = axes(height=2.3)
    ax.axis("off")
    ax.set_xlim(-0.1, 7.1)
    ax.set_ylim(0, 2)
    places = {
        "Recording": (0, 1.2),
        "Signals": (1.2, 1.2),
        "Parameters": (0.6, 0.15),
        "Model": (1.95, 0.15),
        "Problem": (2.95, 1.2),
        "Estimate": (4.75, 1.2),
        "Report": (6.05, 1.2),
    }
    for k, (name, (x, y)) in enumerate(places.items()):
        module = NOUNS[name].__module__.removeprefix("poinsot.").rpartition(".")[0] or NOUNS[name].__module__
        _box(ax, x, y, 0.95, 0.6, "", COLOURS[k % 5])
        ax.text(x + 0.475, y + 0.38, name, ha="center", va="center", weight="bold", fontsize=9)
        ax.text(x + 0.475, y + 0.15, module.removeprefix("poinsot."), ha="center", va="center", fontsize=6)
    arrows = (
        ((0.97, 1.5), (1.17, 1.5), ""),
        ((2.17, 1.5), (2.92, 1.5), ""),
        ((1.57, 0.45), (1.92, 0.45), ""),
        ((2.5, 0.78), (3.2, 1.17), ""),
        ((3.92, 1.5), (4.72, 1.5), "method.solve"),
        ((5.72, 1.5), (6.02, 1.5), ""),
    )
    for start, stop, text in arrows:
        ax.annotate("", stop, start, arrowprops={"arrowstyle": "->", "color": GREY, "lw": 1.4})
        ax.text((start[0] + stop[0]) / 2, start[1] + 0.1, text, ha="center", fontsize=7)
    return figure


def _layers(name):
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return next(each["layers"] for each in contracts if each["name"].startswith(name))


@picture
def import_layers():
    """The layers that import-linter holds, read from pyproject.toml, with the lines of code in each."""
    layers = _layers("The stages of the data")
    figure, ax = axes(height=4.6)
    ax.axis("off")
    ax.set_xlim(0, 10)
    ax.set_ylim(-len(layers), 0.3)
    for k, layer in enumerate(layers):
        parts = [part.strip(" ()") for part in layer.split("|")]
        parts = [part for part in parts if _files(part)]
        for n, part in enumerate(parts):
            width = 9.6 / len(parts)
            lines = _lines(part)
            _box(
                ax,
                n * width + 0.1,
                -k - 0.75,
                width - 0.2,
                0.62,
                part if len(parts) > 4 else f"{part}  {lines}",
                COLOURS[k % 6],
                size=6 if len(parts) > 4 else 8,
            )
    ax.text(
        10, 0.1, "each imports from the rows below only; numbers: lines of Python", ha="right", fontsize=7
    )
    return figure


def _files(part):
    path = ROOT / "src" / "poinsot" / part
    return [*path.rglob("*.py")] or [file for file in [path.with_suffix(".py")] if file.exists()]


def _lines(part):
    return sum(len(file.read_text().splitlines()) for file in _files(part))


@picture
def families():
    """What each family takes as known, what it estimates and how it goes through the samples."""
    rows = (
        ("linear", "smoothed positions, all joints", "parameters", "all at once"),
        ("online", "the motion, sample by sample", "links that change", "forward"),
        ("shooting", "the noise of every sensor", "motion and parameters", "all, or a window"),
        ("joint", "a few angles, dry friction", "motion and parameters", "all at once"),
        ("impacts", "frames of a throw, walls", "inertia, friction, impulses", "event to event"),
    )
    known = {path.name for path in (ROOT / "src" / "poinsot" / "estimators").iterdir() if path.is_dir()}
    figure, ax = axes(height=2.8)
    ax.axis("off")
    ax.set_xlim(0, 10)
    ax.set_ylim(-5.6, 0.4)
    for x, text in ((2.35, "trusts"), (5.35, "estimates"), (8.25, "takes the samples")):
        ax.text(x, 0.1, text, fontsize=8, weight="bold")
    for k, (name, *cells) in enumerate(rows):
        assert name in known
        _box(ax, 0.1, -k - 0.85, 1.95, 0.65, name, (BLUE, ORANGE, GREEN, PURPLE, GREY)[k], weight="bold")
        for x, text in zip((2.35, 5.35, 8.25), cells, strict=True):
            ax.text(x, -k - 0.52, text, va="center", fontsize=8)
    return figure
