"""Joint drives of a USD robot in Isaac Lab, as JSON: keyword arguments of its actuator configurations, by joint.

    content = json.load(open("drives.json"))
    actuators = {joint: DelayedPDActuatorCfg(**fields) for joint, fields in content["DelayedPDActuatorCfg"].items()}

A drive gives m = clip(stiffness (c - q) + damping (c' - v), +-effort_limit), c and c' the targets of position and
velocity some physics steps ago, against friction, dynamic_friction and viscous_friction of the joint (Isaac Lab 2.2 and
later, in N m). So

    damping = derivative_gain + velocity_gain      viscous_friction = damping of the actuator
    friction = coulomb + stiction                  dynamic_friction = coulomb
    min_delay, max_delay = the delay in physics steps, rounded down and up

An `ImplicitActuatorCfg` has no delay. `parameters_beyond_drives` names everything that neither holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..exceptions import InvalidMethod
from ..io.results import write_json
from ..models.servo.actuator import LEVELS, Actuator, actuator_parameters
from .json_files import content_of

SCHEMA = "poinsot.drives/1"
IMPLICIT, DELAYED = "ImplicitActuatorCfg", "DelayedPDActuatorCfg"

WHOLE = 1e-6
"""Part of a physics step by which a delay may differ from a whole number of them."""


def usd_drives(
    actuators: Sequence[Actuator],
    physics_step_s: float,
    delays: Mapping[str, tuple[float, float]] | None = None,
) -> dict[str, Any]:
    """The content of the file, schema `poinsot.drives/1`.

    Args:
        physics_step_s: of the simulation, in which delays are counted [s].
        delays: joint -> least and largest delay that is drawn [s], as of `Randomization.ranges`.

    Raises:
        InvalidMethod: if the step is none.
    """
    if not 0 < physics_step_s < math.inf:
        raise InvalidMethod(f"physics_step_s is {physics_step_s:g}; write a number above 0, such as 0.005")
    implicit, delayed = {}, {}
    for each in actuators:
        fields: dict[str, Any] = {
            "joint_names_expr": [each.name],
            "stiffness": each.stiffness,
            "damping": each.derivative_gain + each.velocity_gain,
            "armature": each.armature,
            "friction": each.coulomb + each.stiction,
            "dynamic_friction": each.coulomb,
            "viscous_friction": each.damping,
        }
        limits = {"effort_limit": each.torque_limit, "velocity_limit": each.no_load_speed}
        fields |= {name: value for name, value in limits.items() if math.isfinite(value)}
        least, largest = (
            value / physics_step_s for value in (delays or {}).get(each.name, (each.delay, each.delay))
        )
        implicit[each.name] = fields
        delayed[each.name] = fields | {
            "min_delay": math.floor(least + WHOLE), "max_delay": math.ceil(largest - WHOLE),
        }  # fmt: skip
    return {
        "schema": SCHEMA,
        "physics_step_s": physics_step_s,
        IMPLICIT: implicit,
        DELAYED: delayed,
        "not_held": list(parameters_beyond_drives(actuators, physics_step_s)),
    }


def parameters_beyond_drives(actuators: Sequence[Actuator], physics_step_s: float) -> tuple[str, ...]:
    """One line for each parameter that drives have no field for, or hold only nearly."""
    lines = []
    for each in actuators:
        if each.delay > 0:
            count = each.delay / physics_step_s
            between = (
                f"; {DELAYED} draws from {math.floor(count)} to {math.ceil(count)} steps"
                if abs(count - round(count)) > WHOLE
                else ""
            )
            lines.append(f"{each.name}: {IMPLICIT} has no field for delay = {each.delay:.4g} s{between}")
        share = each.derivative_gain / max(each.derivative_gain + each.velocity_gain, 1e-300)
        for name, row in actuator_parameters().items():
            if row.without_drive and each.has_effect(name):
                unit = row.unit_of("rad")
                lines.append(
                    f"{each.name}: drives have no field for {name} = {getattr(each, name):.4g}{unit and ' ' + unit}; "
                    + row.without_drive.format(share=share)
                )
        for name in ("friction_positions", "friction_levels") if each.friction_positions else ():
            shown = ", ".join(f"{x:.4g}" for x in getattr(each, name))
            lines.append(f"{each.name}: drives have no field for {name} = {shown}; {LEVELS.without_drive}")
    return tuple(lines)


def write_usd_drives(
    actuators: Sequence[Actuator],
    path: str | Path,
    physics_step_s: float,
    delays: Mapping[str, tuple[float, float]] | None = None,
) -> tuple[str, ...]:
    """Write `usd_drives`, complete or not at all.

    Returns:
        One line for each parameter that the file cannot hold.

    Raises:
        InvalidMethod: see `usd_drives`.
        UnwritableOutput: if the file cannot be written.
    """
    content = usd_drives(actuators, physics_step_s, delays)
    write_json(content, path)
    return tuple(content["not_held"])


def read_usd_drives(path: str | Path) -> tuple[Actuator, ...]:
    """The actuators that a file stands for, with the mean of their delays.

    Raises:
        UnreadableFile: if the file is damaged, or another one.
    """
    with content_of(path, SCHEMA, "joint drives") as (_, content):
        step = float(content["physics_step_s"])
        return tuple(
            Actuator(
                joint,
                float(row["stiffness"]),
                velocity_gain=float(row["damping"]),
                damping=float(row["viscous_friction"]),
                coulomb=float(row["dynamic_friction"]),
                stiction=float(row["friction"]) - float(row["dynamic_friction"]),
                armature=float(row["armature"]),
                torque_limit=float(row.get("effort_limit", math.inf)),
                delay=0.5 * step * (int(row["min_delay"]) + int(row["max_delay"])),
            )
            for joint, row in content[DELAYED].items()
        )
