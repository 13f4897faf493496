"""Impacts of a thrown body on walls, and the information that each contributes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...estimate import Estimate
from ...estimate.motions import Impact, Impacts, Scene, motions_of
from ..blocks import Cell, Section, Table, section_of
from ..figures.drops import drop_grid
from ..figures.impacts import cone_grid, energy_grid, energy_unit, impulse_grid
from ..numbers import UNKNOWN, percent_text, significant, unit_text
from ..tables import table
from ..words import number_of, series

MOST_ROWS = 40
"""Largest number of impacts in the table."""


def impacts_section(estimate: Estimate) -> Section | None:
    """The motion played back, impulses, friction cone, energy, and a table of the impacts."""
    scene, impacts = estimate.extra(Scene), estimate.extra(Impacts) or Impacts()
    motions = motions_of(estimate)
    if scene is None:
        if not impacts:
            return None
        # in space
        return section_of(
            "Impacts", _lead(impacts, None), impulse_grid(impacts, motions), impact_table(impacts)
        )
    return section_of(
        "Impacts",
        _lead(impacts, scene),
        drop_grid(motions[1:], scene) if len(motions) > 1 else None,  # the first is the picture of the page
        impulse_grid(impacts, motions) if impacts else None,
        cone_grid(impacts, scene) if impacts else None,
        energy_grid(scene, impacts),
        impact_table(impacts) if impacts else None,
    )


def impact_table(impacts: Sequence[Impact]) -> Table:
    """The largest normal impulses first."""
    ordered = sorted(impacts, key=lambda impact: -impact.normal)
    shown, left = ordered[:MOST_ROWS], max(len(ordered) - MOST_ROWS, 0)
    unit, energy = unit_text(impacts[0].unit), unit_text(energy_unit(impacts))
    caption = (
        "Impulses, normal to the wall and tangential, largest normal one first. Restitution: normal velocity of the "
        "contact point after the impact over that before. Information: part of the information on J/m that comes from "
        "this impact; for a single drop, with its frames until the next impact."
    )
    if left:
        caption += (
            f" {number_of(left, 'impact')} with smaller impulses {'is' if left == 1 else 'are'} left out."
        )
    rows: list[dict[str, str | Cell]] = [
        {
            "Recording": impact.recording,
            "Time [s]": f"{impact.time:.4f}",
            "Contact": impact.contact,
            f"Normal [{unit}]": significant(impact.normal, 3, padded=True),
            f"Tangential [{unit}]": significant(impact.tangential, 3, padded=True),
            "Restitution": significant(impact.restitution, 2, padded=True),
            "At its end": impact.mode or UNKNOWN,
            f"Energy lost [{energy}]": significant(impact.energy, 3, padded=True),
            "Information": Cell(percent_text(100 * impact.share), bar=min(max(impact.share, 0.0), 1.0))
            if np.isfinite(impact.share)
            else UNKNOWN,
        }
        for impact in shown
    ]
    return table(rows, title="Impact by impact", caption=caption)


def _lead(impacts: Sequence[Impact], scene: Scene | None) -> str:
    if not impacts:
        return "The body hit nothing."
    recordings = len({impact.recording for impact in impacts})
    counts = {mode: sum(impact.mode == mode for impact in impacts) for mode in ("slides", "sticks")}
    ends = [f"{mode} at the end of {count}" for mode, count in counts.items() if count]
    modes = f": the contact point {series(ends)}" if ends else ""
    sentences = [f"{number_of(len(impacts), 'impact')} in {number_of(recordings, 'recording')}{modes}."]
    if scene is not None and np.isfinite(scene.friction):
        sentences.append(f"Friction is {significant(scene.friction, 3)}.")
    elif scene is not None and np.isfinite(scene.least_friction):
        least = significant(scene.least_friction, 3)
        sentences.append(f"Friction is at least {least}; the impacts do not determine it.")
    known = [impact.restitution for impact in impacts if np.isfinite(impact.restitution)]
    if known:
        low, middle, high = (significant(float(value), 2) for value in np.quantile(known, [0.0, 0.5, 1.0]))
        spread = "" if low == high else f" in the median, from {low} to {high}"
        sentences.append(f"Restitution is {middle}{spread}.")
    return " ".join([*sentences, _information(impacts)]).strip()


def _information(impacts: Sequence[Impact]) -> str:
    """Least number of impacts with half of the information; for one drop, with the frames until the next impact."""
    known = sorted(
        (impact for impact in impacts if np.isfinite(impact.share)), key=lambda impact: -impact.share
    )
    if not known or known[0].share <= 0:
        return ""
    most, largest = known[0], significant(100 * known[0].share, 2)
    where = f"the one at {significant(most.time, 4)} s of {most.recording}"
    following = ", with the frames until the next" if len({impact.recording for impact in known}) == 1 else ""
    carried = np.cumsum([impact.share for impact in known])
    # Half of the information: the last quarter comes from many impacts with little information each.
    few = int(np.searchsorted(carried, 0.5 * carried[-1])) + 1
    if few == 1:
        return f"Of the information on J/m, {where} alone carries {largest} %{following}."
    return (
        f"Of the information on J/m, {few} impacts carry {significant(100 * float(carried[few - 1]), 2)} %, {where} "
        f"alone {largest} %{following}."
    )
