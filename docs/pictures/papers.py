"""The papers' tables and figures from runs of the reproductions: those that simulate in seconds, and those whose
recordings are beside the checkout.
"""

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

from drawing import COLOURS, FILES, RECORDINGS, axes, picture, thinned

from poinsot_reproductions import emps, tx40
from poinsot_reproductions.impacts import IMPACTS
from poinsot_reproductions.online import ONLINE

SIMULATED = {
    "impulse": partial(IMPACTS, "impulse"),
    "sliding": partial(IMPACTS, "sliding"),
    "restitution": partial(IMPACTS, "restitution"),
    "gating": partial(ONLINE, "gating"),
}
RECORDED = {"tx40": (tx40.CASE, "staubli_tx40"), "emps": (emps.CASE, "emps")}
MOST_ROWS = 12


@cache
def run(name):
    return SIMULATED[name](0, None, lambda _: None)


def table(rows) -> str:
    """Rows of named cells as Markdown."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    step = -(-len(rows) // MOST_ROWS) if len(rows) > 3 * MOST_ROWS else 1
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    return "\n".join(
        lines + [f"| {' | '.join(_cell(row.get(key)) for key in columns)} |" for row in rows[::step]]
    )


def _cell(value) -> str:
    if value is None or value == "":
        return " "
    return f"{value:.5g}" if isinstance(value, float) else str(value).replace("|", "/")


def text_of(result) -> str:
    """Lead, tables and notes of a reproduction as Markdown."""
    parts = [result.lead]
    for title, rows in result.tables.items():
        parts += [f"**{title}**", table([row for row in rows if isinstance(row, Mapping)])]
    return "\n\n".join([*parts, *(f"*{note}*" for note in result.notes)]) + "\n"


def write_simulated(name: str, path: Path) -> None:
    path.write_text(text_of(run(name)))


def write_recorded(name: str, path: Path) -> None:
    case, folder = RECORDED[name]
    if (RECORDINGS / folder).exists():
        path.write_text(text_of(case(None, None, RECORDINGS / folder, lambda _: None)))
    else:
        path.write_text(
            f"*The recordings were not there when these pages were made. `poinsot reproduce {name} --data DIR` prints "
            "the tables.*\n"
        )


FILES.update({f"{name}.md": partial(write_simulated, name) for name in SIMULATED})
FILES.update({f"{name}.md": partial(write_recorded, name) for name in RECORDED})


def _curves(name, most=3):
    shown = list(run(name).curves.items())[:most]
    figure, axs = axes(1, len(shown), 2.8, squeeze=False)
    for ax, (title, curves) in zip(axs[0], shown, strict=True):
        for k, (line, values) in enumerate(curves.lines.items()):
            ax.plot(*thinned(curves.time, values), color=COLOURS[k % 6], label=line, lw=1)
        ax.set_title(title, loc="left", fontsize=7)
        ax.set_xlabel(curves.along)
        ax.set_ylabel(f"[{curves.unit}]")
        ax.legend(fontsize=6)
    return figure


@picture
def paper_impulse():
    return _curves("impulse")


@picture
def paper_sliding():
    return _curves("sliding")


@picture
def paper_restitution():
    return _curves("restitution")


@picture
def paper_gating():
    return _curves("gating")
