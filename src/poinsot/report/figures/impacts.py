"""Impulses over time, the friction cone, and energy of a thrown body (Gabiccini and Fusco 2019, Figs. 6 to 14)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import Float
from ...estimate.motions import EstimatedMotion, Impact, Scene
from ..blocks import Figure, FigureGrid
from ..numbers import significant, unit_text
from ..words import number_of
from .style import ACCENT, INK, MUTED, PREDICTED, axis, curve, layout, markers, plain, rounded
from .thinning import LONGEST, recordings_note, thinned

MOST_PANELS = 6
"""Maximum number of recordings whose impulses, or whose energy, are drawn."""

MODES = {
    "slides": ("slides at its end", "circle", ACCENT, "dot"),
    "sticks": ("sticks at its end", "circle-open", INK, "ring"),
    "": ("not determined", "x-thin-open", MUTED, "cross"),
}
"""Label, symbol, colour and style in the legend of each mode."""


def energy_unit(impacts: Sequence[Impact]) -> str:
    """`J` where impulses are N s, `J/kg` where they are by mass."""
    return "J" if any(impact.unit == "N s" for impact in impacts) else "J/kg"


def impulse_grid(impacts: Sequence[Impact], motions: Sequence[EstimatedMotion]) -> FigureGrid:
    """Normal above, tangential below, one panel for each of the first few recordings."""
    spans = {motion.name: motion.path.time[[0, -1]] for motion in motions}
    names = list(dict.fromkeys(impact.recording for impact in impacts))
    shown = names[:MOST_PANELS]
    panels = [
        impulse_figure([one for one in impacts if one.recording == name], spans.get(name)) for name in shown
    ]
    used = {impact.mode for impact in impacts}
    return FigureGrid(
        title="Impulses",
        panels=tuple(panels),
        legend=tuple((style, label) for mode, (label, _, _, style) in MODES.items() if mode in used),
        caption=recordings_note(len(names), len(shown)),
    )


def impulse_figure(impacts: Sequence[Impact], span: Float[np.ndarray, "2"] | None = None) -> Figure:
    """The impacts of one recording as stems; `span`: its first and last time [s]."""
    name, unit = impacts[0].recording, unit_text(impacts[0].unit)
    times = [impact.time for impact in impacts]
    # One trace of all stems, with gaps between them.
    feet = np.array([[time, time, np.nan] for time in times]).ravel()
    data = []
    for component, y, colour in (("normal", "y", INK), ("tangential", "y2", ACCENT)):
        values = [getattr(impact, component) for impact in impacts]
        tips = np.array([[0.0, value, np.nan] for value in values]).ravel()
        data += [
            curve("", {"color": colour, "width": 2}, "", x=rounded(feet), y=rounded(tips), yaxis=y),
            markers(
                times,
                values,
                [MODES[impact.mode][1] for impact in impacts],
                colour,
                name=component,
                yaxis=y,
                text=[plain(impact.contact) for impact in impacts],
                hovertemplate=f"%{{text}}<br>{component} %{{y:.4g}} {unit} at %{{x:.4g}} s<extra></extra>",
            ),
        ]
    x = axis("time [s]", anchor="y2", zeroline=False)
    if span is not None:
        margin = 0.02 * float(span[1] - span[0])
        x["range"] = rounded([span[0] - margin, span[1] + margin])
    listed = "; ".join(
        f"{significant(impact.normal, 3)} and {significant(impact.tangential, 3)} at {significant(impact.time, 4)} s"
        for impact in impacts[:12]
    )
    return Figure(
        title=name,
        note=number_of(len(impacts), "impact"),
        data=tuple(data),
        layout=layout(
            300,
            hovermode="closest",
            xaxis=x,
            yaxis=axis(f"normal [{unit}]", domain=[0.55, 1.0], nticks=5, rangemode="tozero"),
            yaxis2=axis(f"tangential [{unit}]", domain=[0.0, 0.45], nticks=5, rangemode="tozero"),
        ),
        alt=f"{name}: normal and tangential impulse [{unit}] of {number_of(len(impacts), 'impact')}: {listed}"
        + (f"; and {len(impacts) - 12} more" if len(impacts) > 12 else ""),
    )


def cone_grid(impacts: Sequence[Impact], scene: Scene) -> FigureGrid:
    """All impacts of all recordings."""
    return FigureGrid(title="Friction cone", panels=(cone_figure(impacts, scene),), caption=_edge(scene)[2])


def cone_figure(impacts: Sequence[Impact], scene: Scene) -> Figure:
    """Tangential against normal impulse: within the cone a point sticks, on its edge it slides."""
    unit = unit_text(impacts[0].unit)
    reach = 1.08 * max(impact.normal for impact in impacts)
    data: list[dict[str, Any]] = []
    slope, friction, _ = _edge(scene)
    bound = not np.isfinite(scene.friction)
    if np.isfinite(slope):
        name = "least friction times normal impulse" if bound else "friction times normal impulse"
        look = {"color": PREDICTED["color"], "width": 1.8, "dash": "6px,3px" if bound else "solid"}
        ends = {"x": rounded([reach, 0.0, reach]), "y": rounded([slope * reach, 0.0, -slope * reach])}
        data.append(curve(name, look, "", **ends))
    hover = f"%{{text}}<br>normal %{{x:.4g}} {unit}<br>tangential %{{y:.4g}} {unit}<extra></extra>"
    for mode, (label, symbol, colour, _) in MODES.items():
        mine = [impact for impact in impacts if impact.mode == mode]
        if mine:
            x, y = [one.normal for one in mine], [one.tangential for one in mine]
            text = [f"{plain(one.recording)}, {one.time:.4g} s" for one in mine]
            data.append(markers(x, y, symbol, colour, 9, name=label, text=text, hovertemplate=hover))
    return Figure(
        title="All impacts",
        note=friction,
        data=tuple(data),
        layout=layout(
            340,
            hovermode="closest",
            xaxis=axis(f"normal impulse [{unit}]", rangemode="tozero"),
            yaxis=axis(f"tangential impulse [{unit}]", nticks=7),
            legend_above=True,
        ),
        alt=f"Tangential against normal impulse of {number_of(len(impacts), 'impact')}, with the friction cone; "
        + "; ".join(f"{trace['name']}: {len(trace['x'])}" for trace in data if trace["mode"] == "markers")
        + f"; {friction}",
    )


def _edge(scene: Scene) -> tuple[float, str, str]:
    """Slope of the cone's edge, sentence on friction, and caption."""
    if np.isfinite(slope := scene.friction):
        at_end = "on the edge if it slid one way all the time; one that sticks is within."
        caption = f"A point that slides at its end is {at_end}"
        return slope, f"friction is {significant(slope, 3)}", caption
    if np.isfinite(slope := scene.least_friction):
        caption = (
            "Dashed: the data determine only a lower bound of the friction coefficient; the true edge is there or "
            "farther out."
        )
        return slope, f"friction is at least {significant(slope, 3)}", caption
    return slope, "friction is not known", "No edge is drawn: the data do not determine friction."


def energy_grid(scene: Scene, impacts: Sequence[Impact]) -> FigureGrid | None:
    """The first few recordings; None where no energy is given."""
    if not scene.energy:
        return None
    shown = list(scene.energy)[:MOST_PANELS]
    unit = energy_unit(impacts)
    return FigureGrid(
        title="Energy",
        panels=tuple(
            energy_figure(
                name, *scene.energy[name], unit, [one.time for one in impacts if one.recording == name]
            )
            for name in shown
        ),
        caption=f"Kinetic and potential. Dotted: impacts. {recordings_note(len(scene.energy), len(shown))}".strip(),
    )


def energy_figure(
    name: str, time: np.ndarray, energy: np.ndarray, unit: str, impacts: Sequence[float] = ()
) -> Figure:
    """One recording; (T,) times [s], repeated where energy jumps, and energies in `unit`."""
    # Indices in order of time: both energies of a repeated time are kept, in their order.
    chosen = thinned(energy, LONGEST)
    first, last = float(energy[0]), float(energy[-1])
    lost = f"from {significant(first, 3)} to {significant(last, 3)} {unit_text(unit)}"
    points = {"x": rounded(time[chosen]), "y": rounded(energy[chosen])}
    dotted = {"type": "line", "y0": 0, "y1": 1, "yref": "paper", "layer": "below"}
    dotted |= {"line": {"color": MUTED, "width": 1, "dash": "dot"}}
    return Figure(
        title=name,
        note=lost,
        data=(curve("energy", {"color": INK, "width": 1.8}, f"%{{y:.4g}} {unit_text(unit)}", **points),),
        layout=layout(
            240,
            xaxis=axis("time [s]", zeroline=False),
            yaxis=axis(f"energy [{unit_text(unit)}]", nticks=6),
            shapes=[dotted | {"x0": at, "x1": at} for at in rounded(np.asarray(impacts, dtype=float))],
        ),
        alt=f"{name}: energy over time, {lost}, with steps at {number_of(len(impacts), 'impact')}",
    )
