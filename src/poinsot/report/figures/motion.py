"""A designed motion, joint by joint: position, speed, acceleration and torque, each between its limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...regression.excitation.excitation import Excitation
from ..blocks import Figure, FigureGrid
from ..numbers import percent_text, unit_text
from ..words import capitalized, effort_word
from .style import MEASURED, PREDICTED, axis, curve, layout
from .thinning import line, longest_trace, zoom_note

HEIGHT = 560
GAP = 0.045
LEGEND = (("measured", "the motion"), ("predicted", "what it must keep within"))

FAR = 3.0
"""A limit beyond this multiple of the motion's range is not drawn, since it would flatten the motion."""


def motion_figure(excitation: Excitation, joint: int, longest: int = 4000) -> Figure:
    """One joint, four rows with one time axis."""
    robot, limits = excitation.problem.robot, excitation.problem.limits
    name, unit, effort = (each[joint] for each in (robot.joints, robot.position_units, robot.effort_units))
    most_a = limits.acceleration[joint]
    rows = (
        ("position", unit, excitation.q, limits.lower[joint], limits.upper[joint]),
        ("velocity", f"{unit}/s", excitation.v, -limits.velocity[joint], limits.velocity[joint]),
        ("acceleration", f"{unit}/s^2", excitation.a, -most_a, most_a),
        (effort_word(effort), effort, excitation.tau, -limits.torque[joint], limits.torque[joint]),
    )
    data: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    for row, (what, shown, values, *bounds) in enumerate(rows):
        suffix = str(row + 1) if row else ""
        # From the top downwards, in parts of the height of the figure.
        top = 1 - row * (1 + GAP) / 4
        axes[f"yaxis{suffix}"] = axis(
            f"{what} [{unit_text(shown)}]", domain=[max(top - (1 - 3 * GAP) / 4, 0.0), top], nticks=5
        )
        data.append(
            curve(what, MEASURED, yaxis=f"y{suffix}", **line(excitation.time, values[:, joint], longest))
        )
        # Never 0: a joint that stands still has limits too.
        reach = max(float(np.abs(values[:, joint]).max()), float(np.ptp(values[:, joint])), 1e-12)
        for bound in (bound for bound in bounds if np.isfinite(bound) and abs(bound) <= FAR * reach):
            ends = excitation.time[[0, -1]]
            data.append(curve("limit", PREDICTED, yaxis=f"y{suffix}", **line(ends, np.full(2, bound))))
    used = excitation.use_of_limits_percent[name]
    most = max(used.items(), key=lambda each: each[1], default=("", 0.0))
    note = f"{percent_text(most[1])} of its {most[0]} limit" if most[0] else ""
    return Figure(
        title=name,
        note=note,
        data=tuple(data),
        layout=layout(HEIGHT, xaxis=axis("time [s]", anchor="y4", zeroline=False), **axes),
        alt=f"{name}: {', '.join(capitalized(what) for what, *_ in rows)} of the motion over "
        f"{excitation.problem.duration_s:g} s, with their limits; it uses {note or 'limits that are infinite'}",
    )


def motion_grid(excitation: Excitation) -> FigureGrid:
    """All joints, zoomed together."""
    longest = longest_trace(4 * len(excitation.joints))
    without = "Torques are those of the robot's description, without friction. A limit that is far away is not drawn."
    return FigureGrid(
        panels=tuple(motion_figure(excitation, joint, longest) for joint in range(len(excitation.joints))),
        legend=LEGEND,
        shared_x=True,
        caption=zoom_note(len(excitation.time), longest, without),
    )
