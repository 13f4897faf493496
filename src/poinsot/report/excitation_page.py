"""The page of `poinsot excite`: the motion, its limits, and the predicted standard deviations."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ..excitation.excitation import Excitation
from .blocks import (
    Card,
    Cards,
    Cell,
    Facts,
    Figure,
    FigureGrid,
    Findings,
    Page,
    PageBlock,
    Table,
    section_of,
)
from .figures.animation import excitation_picture
from .figures.style import MEASURED, PREDICTED, axis, curve, layout
from .figures.thinning import line, longest_trace, zoom_note
from .numbers import UNKNOWN, percent_text, seconds_text, significant, unit_text
from .page import write_page
from .tables import table, with_others
from .words import capitalized, effort_word, meaning, number_of, series

HOPELESS_PERCENT = 100.0
"""Relative standard deviation above which a parameter will not be identified. [%]"""

HEIGHT = 560
GAP = 0.045
LEGEND = (("measured", "the motion"), ("predicted", "the robot's limits"))

MAX_LIMIT_RATIO = 3.0
"""A limit beyond this multiple of the motion's range is not drawn, since it would flatten the motion."""


def write_excitation_page(excitation: Excitation, path: str | os.PathLike[str]) -> Path:
    """Write a designed motion as one HTML file that opens offline."""
    before = "For weighted least squares, before the robot has moved."
    problem, method, state = excitation.problem, excitation.method, excitation.state
    outcome = (
        f"keeps its limits of {series(excitation.checked)}"
        if excitation.limits_respected
        else "BREAKS A LIMIT"
    )
    lead = (
        f"A motion of {problem.duration_s:g} s for {problem.robot.name} that {outcome}, with a condition number of "
        f"{significant(excitation.condition_number, 3)} for {number_of(len(problem.base), 'parameter')}."
    )
    criterion = {"condition": "condition number", "d-optimal": "determinant of the information"}
    facts = (
        ("Robot", problem.robot.name),
        ("Motion", f"{problem.duration_s:g} s, {method.basis!r}"),
        ("Samples", f"{len(excitation.time)} at {problem.rate_hz:g} Hz"),
        ("Criterion", criterion[method.criterion]),
        ("Logarithm of the information's determinant", significant(excitation.log_determinant)),
        ("Seed", str(method.seed)),
        ("Search", f"{state.iterations} iterations in {seconds_text(state.seconds)}"),
    )
    how = "The same inputs and seed give the same motion."
    sections = (
        section_of("Verdict", lead, *_verdict(excitation)),
        section_of("The motion", "Joint by joint, from rest to rest.", motion_grid(excitation)),
        section_of("Predicted standard deviations", before, _table(excitation)),
        section_of("How it was designed", how, Facts(facts=facts)),
    )
    picture = excitation_picture(excitation)
    alert = f"Not checked: {'; '.join(excitation.unchecked)}." if excitation.unchecked else ""
    title, kicker = problem.robot.name, "poinsot · excitation"
    return write_page(Page(title, kicker, alert=alert, sections=sections, picture=picture, opening=1), path)


def expectations(excitation: Excitation) -> tuple[str, ...]:
    """Sentences on the expected accuracy: of the mass of each body, or else of the best-known parameter."""
    base, percent = excitation.problem.base, excitation.relative_std_percent
    sentences = []
    for owner in dict.fromkeys(base.owners):
        # Almost any motion determines friction and drives; motions are designed for mass properties.
        inertial = (k for k, kind in enumerate(base.kinds) if kind == "inertia" and base.owners[k] == owner)
        own = [k for k in inertial if percent[k] < HOPELESS_PERCENT]
        if not own:
            continue
        # Users ask for masses; where none will be known, name the best-known parameter.
        best = min(own, key=lambda k: (meaning(base.names[k], "inertia") != "mass", percent[k]))
        name = base.names[best]
        grouped = ", in sum with others" if base.groupings[best] not in ("", name) else ""
        sentences.append(
            f"with this motion and this noise the {meaning(name, 'inertia')} of {owner} will be known to "
            f"{percent_text(float(percent[best]))} ({name}{grouped})"
        )
    return tuple(sentences)


def hopeless(excitation: Excitation) -> tuple[str, ...]:
    """Names of the parameters whose standard deviation will exceed their value."""
    percent = excitation.predicted_relative_std_percent
    return tuple(name for name, value in percent.items() if value > HOPELESS_PERCENT)


def _verdict(excitation: Excitation) -> tuple[PageBlock, Findings | None]:
    distance = excitation.least_distance
    noise = excitation.problem.torque_std
    units = dict.fromkeys(excitation.problem.robot.effort_units)
    spread = " to ".join(dict.fromkeys(significant(level, 3) for level in (noise.min(), noise.max())))
    number = significant(excitation.condition_number, 3)
    limits = ("kept", "good") if excitation.limits_respected else ("broken", "bad")
    part = (
        f"of {series(excitation.checked)}; {100 * excitation.problem.limits.part:.3g} % of them used at most"
    )
    near = (UNKNOWN, "not checked")
    if distance is not None:
        near = (f"{significant(100 * distance, 2)} cm", "between all checked pairs")
    cards = (
        Card("Condition number", number, "of the regressor, columns at unit norm"),
        Card("Limits", limits[0], part, limits[1]),
        Card("Closest approach", *near),
        Card("Noise assumed", f"{spread} {' or '.join(map(unit_text, units))}", "white, each sample"),
    )
    findings = [("warning", warning) for warning in excitation.warnings]
    lost = hopeless(excitation)
    if lost:
        small = "their values in this robot's description are too small for this noise"
        findings.append(("note", f"{series(lost)} will have standard deviations above 100 %: {small}"))
    findings += [("ok", f"{capitalized(sentence)}.") for sentence in expectations(excitation)]
    return Cards(cards=cards), Findings.of(findings)


def _table(excitation: Excitation) -> Table:
    base, std, nominal = excitation.problem.base, excitation.std, excitation.problem.nominal
    rows: list[dict[str, str | Cell]] = []
    for k, name in enumerate(base.names):
        percent = float(excitation.relative_std_percent[k])
        bar = None if np.isnan(percent) else min(percent / HOPELESS_PERCENT, 1.0)
        tone = "" if np.isnan(percent) else "good" if percent < 10 else "fair" if percent < 30 else "bad"
        description = f"{meaning(name, base.kinds[k])}, {base.owners[k]}"
        rows.append(
            {
                "Name": name,
                "What it is": description + with_others(name, base.groupings[k]),
                "Description's value": significant(float(nominal[k])),
                "Std": significant(float(std[k]), 2, padded=True),
                "Unit": unit_text(base.units[k]),
                "Relative std": Cell(percent_text(percent), bar=bar, tone=tone),
            }
        )
    return table(
        rows,
        code=("Name",),
        caption="For white noise of the torques and a motion that is tracked and measured exactly; coloured noise and "
        "errors of the motion add to it. Relative to the value in the robot's description; – where that is zero or "
        "unknown. The bar is full at 100 %. “With others”: known only in sum with other parameters.",
    )


def motion_figure(excitation: Excitation, joint: int, longest: int = 4000) -> Figure:
    """One joint, four rows with one time axis."""
    robot, limits = excitation.problem.robot, excitation.problem.limits.whole
    name, unit, effort = robot.joints[joint], robot.position_units[joint], robot.effort_units[joint]
    most_a = limits.acceleration[joint]
    rows = (
        ("position", unit, excitation.q, limits.lower[joint], limits.upper[joint]),
        ("velocity", f"{unit}/s", excitation.v, -limits.velocity[joint], limits.velocity[joint]),
        ("acceleration", f"{unit}/s^2", excitation.a, -most_a, most_a),
        (effort_word(effort), effort, excitation.tau, -limits.torque[joint], limits.torque[joint]),
    )
    data: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    for row, (quantity, shown, values, *bounds) in enumerate(rows):
        suffix = str(row + 1) if row else ""
        # From the top downwards, in parts of the height of the figure.
        top = 1 - row * (1 + GAP) / 4
        axes[f"yaxis{suffix}"] = axis(
            f"{quantity} [{unit_text(shown)}]", domain=[max(top - (1 - 3 * GAP) / 4, 0.0), top], nticks=5
        )
        data.append(
            curve(quantity, MEASURED, yaxis=f"y{suffix}", **line(excitation.time, values[:, joint], longest))
        )
        # Never 0: a joint that stands still has limits too.
        reach = max(float(np.abs(values[:, joint]).max()), float(np.ptp(values[:, joint])), 1e-12)
        for bound in bounds:
            if abs(bound) <= MAX_LIMIT_RATIO * reach:
                ends = excitation.time[[0, -1]]
                data.append(curve("limit", PREDICTED, yaxis=f"y{suffix}", **line(ends, np.full(2, bound))))
    used = excitation.use_of_limits_percent[name]
    most = max(used.items(), key=lambda item: item[1], default=("", 0.0))
    note = f"{percent_text(most[1])} of its {most[0]} limit" if most[0] else ""
    return Figure(
        title=name,
        note=note,
        data=tuple(data),
        layout=layout(HEIGHT, xaxis=axis("time [s]", anchor="y4", zeroline=False), **axes),
        alt=f"{name}: {', '.join(capitalized(quantity) for quantity, *_ in rows)} of the motion over "
        f"{excitation.problem.duration_s:g} s, with their limits; it uses {note or 'limits that are infinite'}",
    )


def motion_grid(excitation: Excitation) -> FigureGrid:
    """All joints, zoomed together."""
    longest = longest_trace(4 * len(excitation.joints))
    without = (
        "Limits are the robot's own; far ones are not drawn. Torques are the description's, without friction."
    )
    return FigureGrid(
        panels=tuple(motion_figure(excitation, joint, longest) for joint in range(len(excitation.joints))),
        legend=LEGEND,
        shared_x=True,
        caption=zoom_note(len(excitation.time), longest, without),
    )
