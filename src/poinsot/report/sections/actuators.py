"""The actuators on the page: a table to copy into a simulator, ratios, and every joint's motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...estimate import Estimate
from ...estimators.servo.result import Actuators
from ...exceptions import listing
from ...models.servo.actuator import Actuator, actuator_parameters
from ...models.servo.mjcf import beyond_mjcf, mjcf_elements
from .. import Section, table_of_rows
from ..blocks import Figure, FigureGrid, Verbatim, section_of
from ..figures.animation import DrawnBodies, robot_animation
from ..figures.curves import curve_figure, effort_grid
from ..figures.style import COMMANDED, curve
from ..figures.thinning import line, longest_trace

FASTEST = 5.0
"""Speed up to which friction and torque are drawn [rad/s], [m/s]."""


def actuator_section(estimate: Estimate) -> Section | None:
    """What a simulator needs of each joint, and measured beside simulated positions."""
    found = estimate.extra(Actuators)
    if found is None:
        return None
    used = [
        name
        for name in actuator_parameters()
        if any(getattr(each, name) not in (0.0, np.inf) for each in found.actuators)
    ]
    several = set(found.friction_laws.values()) != {"M1"}
    rows = [
        {"joint": each.name}
        | ({"law of dry friction": found.friction_laws[each.name]} if several else {})
        | {name: f"{getattr(each, name):.5g}" for name in used}
        | {"scale of torques": "known" if found.scale_known[each.name] else "not known: ratios only"}
        for each in found.actuators
    ]
    ratios = [
        {"joint": r.joint, "combination": r.name, "value": f"{r.value:.4g}", "std": r.stds, "unit": r.unit}
        for r in found.ratios
        if r.identifiable
    ]
    whose, reported = found.reported
    errors = [
        {"recording": name} | {joint: f"{1e3 * rms:.3g}" for joint, rms in joints.items()}
        for name, joints in reported.items()
    ]
    return section_of(
        "Actuators",
        f"{len(found.actuators)} joints, simulated open loop from their commands over whole recordings.",
        table_of_rows(rows, title="For a simulator", caption="In SI units; inf: no limit was reached."),
        table_of_rows(
            ratios,
            title="What is known best: ratios to the stiffness, and how late slow motions are",
            caption="A motion at constant speed is late by the sum of delay, lag and damping over stiffness; how they "
            "share in it is known less well.",
        )
        if ratios
        else None,
        table_of_rows(
            errors,
            title="Root mean square error of the simulated position [mrad]",
            caption=f"Of {whose}; the two differ by the first order of MuJoCo's time step.",
        ),
        FigureGrid(
            panels=tuple(
                _by_speed(each, unit) for each, unit in zip(found.actuators, estimate.fit.units, strict=True)
            ),
            title="Friction and largest torque by speed",
            caption="Friction with damping, without load; where it varies with position, its mean.",
        ),
        _motions(estimate, found),
        _moving_robot(estimate, found),
        _mjcf(found),
    )


def _motions(estimate: Estimate, found: Actuators) -> FigureGrid:
    """Commanded, measured and simulated positions of each joint."""
    fit = estimate.fit
    grid, longest = effort_grid(fit), longest_trace(len(fit.joints))
    panels = (
        replace(panel, data=(*panel.data, curve("commanded", COMMANDED, **line(fit.time, command, longest))))
        for panel, command in zip(grid.panels, found.commanded.T, strict=True)
    )
    legend = (*grid.legend, ("commanded", "commanded"))
    return replace(grid, panels=tuple(panels), legend=legend, title="Motions")


def _moving_robot(estimate: Estimate, found: Actuators) -> FigureGrid | None:
    """The robot along the first simulated motion; None where some of its joints were not simulated."""
    if found.robot.joints != tuple(each.name for each in found.actuators):
        return None
    fit = estimate.fit
    restarts = np.flatnonzero(np.diff(fit.time) <= 0)
    rows = slice(0, restarts[0] + 1 if len(restarts) else None)
    q, bodies = found.robot.configurations(fit.predicted[rows]), [DrawnBodies.known(found.robot)]
    title = f"Simulated from the commands: {fit.recording or next(iter(found.starts))}"
    return FigureGrid(panels=(robot_animation(title, found.robot, q, fit.time[rows], bodies),))


def _mjcf(found: Actuators) -> Verbatim:
    """What a MuJoCo file has of the actuators, and what it lacks."""
    lost = [f"{each.name}.{name}" for each in found.actuators for name in beyond_mjcf(each)]
    caption = (
        f"MJCF has no attribute for {listing(lost)}: a simulation in MuJoCo alone lacks them, and "
        "poinsot.simulation.actuators.Simulator has them. A model that MJCF holds whole is estimated with "
        'friction_laws = ["M1"] in [method] and derivative_gain = 0 in [held], and with no other law.'
        if lost
        else "MJCF holds all that was estimated."
    )
    return Verbatim(text=mjcf_elements(found.actuators), title="For a MuJoCo file", caption=caption)


def _by_speed(actuator: Actuator, unit: str) -> Figure:
    """Friction, and the largest torque where it was reached, of a joint with positions of this unit."""
    v = np.linspace(0.0, FASTEST, 201)
    falling = actuator.stiction * np.exp(-((v / actuator.stribeck_speed) ** 2))
    level = actuator.coulomb + float(np.mean(actuator.friction_levels or 0.0))
    lines = {"friction": level + falling + actuator.damping * v}
    if np.isfinite(actuator.torque_limit):
        lines["largest torque"] = np.maximum(actuator.torque_limit * (1 - v / actuator.no_load_speed), 0.0)
    figure = curve_figure(actuator.name, "N m" if unit == "rad" else "N", v, lines, along=f"speed [{unit}/s]")
    return replace(figure, wide=False)
