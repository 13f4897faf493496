"""MuJoCo files of a robot with its actuators, written and read back.

One `<general>` actuator a joint gives

    m = clip(k (c + zero - q) - (d + g) v, +-torque_limit)      k stiffness, d derivative gain, g velocity gain
    c = w + (d / k) w'                              the control: w the command behind ramp, delay, lag and play

so the gain on the command error's rate needs the rate of the command in the control. What MJCF has no attribute for
(ramp, lag, that gain, everything that depends on the state or on the supply voltage) stays in the file as `<numeric>`
elements, `joint.parameter`; `Simulator` applies it, and `parameters_beyond_mjcf` names each. The delay is an attribute,
from MuJoCo 3.5 on: MuJoCo delays the control by itself, from 0 before the first one.

Dry friction is a constraint in MuJoCo. With its default impedance (`solimp` .9 to .95) a joint creeps under gravity: a
servo arm sinks by 17 mrad/s where the real one holds. So the impedance written here is 0.9999, and the constraint's
time constant two time steps, the least that MuJoCo keeps.

The file has bodies, joints and actuators. It has no shapes and no joint limits: contact is off.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import numpy as np
import pinocchio as pin

from ...exceptions import InvalidModel, listing
from ...io.writing import write_text
from ..robot import tree as kinds
from ..robot.articulated import Articulated
from .actuator import LEVELS, Actuator, actuator_parameters

if TYPE_CHECKING:
    import mujoco

IMPEDANCE = 0.9999
"""Impedance of dry friction: a joint that it holds creeps at 1e-4 of the speed without friction."""

TIMESTEP_S = 0.002
"""Of simulations, unless the caller says otherwise."""

BY_POSITION = ("friction_positions", "friction_levels")


def mjcf_text(
    robot: Articulated, actuators: Sequence[Actuator], *, timestep: float = TIMESTEP_S, dcmotor: bool = False
) -> str:
    """A robot and its actuators as MJCF.

    Args:
        robot: with a fixed base and joints of one degree of freedom.
        actuators: of some or all of its joints; the others are passive, with what the description says of them.
        timestep: of the simulation [s].
        dcmotor: whether an actuator with a speed-torque line is a `<dcmotor>` (`_dcmotor`), not `<general>`.

    Raises:
        InvalidModel: if the robot has a joint of another kind, a massless body, or no joint of an actuator's name.
    """
    named = {actuator.name: actuator for actuator in actuators}
    unknown = sorted(set(named) - set(robot.joints))
    if unknown:
        raise InvalidModel(f"no joint {unknown[0]!r} for an actuator; the robot has {listing(robot.joints)}")
    lines = [
        f"<mujoco model={quoteattr(robot.name)}>",
        '  <compiler angle="radian"/>',
        f'  <option timestep="{timestep!r}" integrator="implicitfast" gravity="{_numbers(robot.tree.gravity)}">',
        '    <flag contact="disable"/>',
        "  </option>",
        "  <default>",
        f'    <joint solimpfriction="{IMPEDANCE} {IMPEDANCE} 0.001" solreffriction="{2 * timestep!r} 1"/>',
        "  </default>",
        "  <worldbody>",
        *_bodies(robot, named, -1, "    "),
        "  </worldbody>",
        "  <actuator>",
        *(f"    {(_dcmotor if dcmotor else _general)(actuator, timestep)}" for actuator in actuators),
        "  </actuator>",
    ]
    beyond = [
        f'    <numeric name={quoteattr(f"{actuator.name}.{name}")} data="{_numbers(getattr(actuator, name))}"/>'
        for actuator in actuators
        for name in beyond_mjcf(actuator, dcmotor)
    ]
    if beyond:
        lines += ["  <custom>", *beyond, "  </custom>"]
    return "\n".join([*lines, "</mujoco>", ""])


def mjcf_elements(actuators: Sequence[Actuator]) -> str:
    """Attributes of joints and elements of `<actuator>`, to be copied into a MuJoCo file of the robot."""
    joints = (f"<joint name={quoteattr(each.name)} {_attributes(_passive(each))}/>" for each in actuators)
    return "\n".join(
        [*joints, "", "<actuator>", *(f"  {_general(a, TIMESTEP_S)}" for a in actuators), "</actuator>"]
    )


def write_mjcf(
    robot: Articulated,
    actuators: Sequence[Actuator],
    path: str | Path,
    *,
    timestep: float = TIMESTEP_S,
    dcmotor: bool = False,
) -> tuple[str, ...]:
    """Write a robot and its actuators as a MuJoCo file.

    Args:
        dcmotor: see `mjcf_text`; such a file is for MuJoCo 4 alone, and `Simulator` does not read it.

    Returns:
        One line for each parameter that MJCF has no attribute for.

    Raises:
        InvalidModel: see `mjcf_text`.
        UnwritableOutput: if the file cannot be written.
    """
    text = mjcf_text(robot, actuators, timestep=timestep, dcmotor=dcmotor)
    write_text(path, text)
    return parameters_beyond_mjcf(actuators, dcmotor)


def parameters_beyond_mjcf(actuators: Sequence[Actuator], dcmotor: bool = False) -> tuple[str, ...]:
    """One line for each parameter that MJCF has no attribute for, and how `Simulator` applies it."""
    rows, lines = actuator_parameters() | dict.fromkeys(BY_POSITION, LEVELS), []
    for actuator in actuators:
        for name in beyond_mjcf(actuator, dcmotor):
            unit = "" if name in BY_POSITION else rows[name].unit_of("rad")
            instead = rows[name].in_simulator or "it is to be added to the control"  # `zero`, of `<dcmotor>`
            lines.append(
                f"{actuator.name}: MJCF has no attribute for {name} = {_short(getattr(actuator, name))}"
                f"{unit and ' ' + unit}; the file keeps it as <numeric>, and in the simulation {instead}"
            )
    return tuple(lines)


def actuators_of(model: mujoco.MjModel) -> tuple[Actuator, ...]:
    """The actuators of a file that `mjcf_text` wrote, as MuJoCo has read it; values edited in the file take effect.

    Raises:
        InvalidModel: if an actuator is not one on the position of a joint.
    """
    return tuple(_actuator(model, number) for number in range(model.nu))


def _actuator(model: mujoco.MjModel, number: int) -> Actuator:
    import mujoco

    kind, joint = model.actuator_trntype[number], int(model.actuator_trnid[number, 0])
    stiffness, bias = float(model.actuator_gainprm[number, 0]), model.actuator_biasprm[number]
    if kind != mujoco.mjtTrn.mjTRN_JOINT or not math.isclose(bias[1], -stiffness) or stiffness <= 0:
        raise InvalidModel(
            f"actuator {number} of the MuJoCo file is no position servo of a joint; write <position> or <general> with "
            "biasprm[1] = -gainprm[0]"
        )
    name, dof = model.joint(joint).name, int(model.jnt_dofadr[joint])
    known = [key for key, row in actuator_parameters().items() if row.in_simulator]
    beyond = {
        key.name.removeprefix(f"{name}."): model.numeric(k).data
        for k in range(model.nnumeric)
        for key in [model.numeric(k)]
        if key.name.startswith(f"{name}.") and key.name.removeprefix(f"{name}.") in (*known, *BY_POSITION)
    }
    values = {
        key: tuple(map(float, data)) if key in BY_POSITION else float(data[0]) for key, data in beyond.items()
    }
    derivative_gain = float(beyond.get("derivative_gain", [0.0])[0])
    velocity_gain = -float(bias[2]) - derivative_gain
    limited = bool(model.actuator_forcelimited[number])
    return Actuator(
        name,
        stiffness,
        # 1e-12: rounding of the sum of both gains
        velocity_gain=velocity_gain if velocity_gain > 1e-12 * derivative_gain else 0.0,
        damping=float(model.dof_damping[dof]),
        coulomb=float(model.dof_frictionloss[dof]),
        delay=float(model.actuator_delay[number]),
        armature=float(model.dof_armature[dof]),
        torque_limit=float(model.actuator_forcerange[number, 1]) if limited else math.inf,
        zero=float(bias[0]) / stiffness,
        **values,  # type: ignore[arg-type]
    )


def beyond_mjcf(actuator: Actuator, dcmotor: bool = False) -> list[str]:
    """Names of the parameters that have an effect in this actuator and no attribute in MJCF."""
    names = [name for name, row in actuator_parameters().items() if row.in_simulator] + [*BY_POSITION]
    if dcmotor and _has_line(actuator):
        names = [*(name for name in names if name != "no_load_speed"), "zero"]
    return [name for name in names if actuator.has_effect(name)]


def _bodies(robot: Articulated, actuators: Mapping[str, Actuator], parent: int, indent: str) -> Iterator[str]:
    """Lines of the bodies that a body carries, and of all that these carry."""
    tree = robot.tree
    for i in np.flatnonzero(tree.parent == parent):
        joint = robot.joints[i] if len(robot.joints) == len(tree) else ""
        if (
            not joint
            or tree.kind[i] not in (kinds.REVOLUTE, kinds.CONTINUOUS, kinds.PRISMATIC)
            or tree.body[i] < 0
        ):
            raise InvalidModel(
                f"robot {robot.name!r} has a floating base, or a joint of more than one degree of freedom; actuators "
                "are simulated in robots with a fixed base and joints that turn about or slide along one axis"
            )
        inertia = robot.model.inertias[robot.body_joints[tree.body[i]]]
        if inertia.mass <= 0:
            raise InvalidModel(
                f"link {robot.bodies[tree.body[i]]!r} moves and has no mass; MuJoCo cannot simulate it"
            )
        x, y, z, w = pin.Quaternion(tree.rotation[i]).coeffs()
        I = inertia.inertia
        full = _numbers([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
        body = quoteattr(robot.bodies[tree.body[i]])
        yield f'{indent}<body name={body} pos="{_numbers(tree.translation[i])}" quat="{_numbers([w, x, y, z])}">'
        yield (
            f'{indent}  <inertial pos="{_numbers(inertia.lever)}" mass="{float(inertia.mass)!r}" fullinertia="{full}"/>'
        )
        kind = "slide" if tree.kind[i] == kinds.PRISMATIC else "hinge"
        terms = _attributes(_joint_terms(robot, actuators, int(i)))
        yield f'{indent}  <joint name={quoteattr(joint)} type="{kind}" axis="{_numbers(tree.axis[i])}" {terms}/>'
        yield from _bodies(robot, actuators, int(i), f"{indent}  ")
        yield f"{indent}</body>"


def _joint_terms(robot: Articulated, actuators: Mapping[str, Actuator], joint: int) -> dict[str, float]:
    actuator = actuators.get(robot.joints[joint])
    if actuator is None:
        described = robot.described_terms
        names = {"damping": "damping", "frictionloss": "friction", "armature": "armature"}
        return {name: float(described[term][joint]) for name, term in names.items()}
    return _passive(actuator)


def _passive(actuator: Actuator) -> dict[str, float]:
    return {"damping": actuator.damping, "frictionloss": actuator.coulomb, "armature": actuator.armature}


def _attributes(values: Mapping[str, float]) -> str:
    return " ".join(f'{name}="{value!r}"' for name, value in values.items())


def _general(actuator: Actuator, timestep: float) -> str:
    k, rate = actuator.stiffness, actuator.derivative_gain + actuator.velocity_gain
    limit = actuator.torque_limit
    limits = f' forcelimited="true" forcerange="{-limit!r} {limit!r}"' if math.isfinite(limit) else ""
    delay, name = _delay(actuator, timestep), quoteattr(actuator.name)
    return (
        f'<general name={name} joint={name} gaintype="fixed" gainprm="{k!r}" biastype="affine" '
        f'biasprm="{k * actuator.zero!r} {-k!r} {-rate!r}"{limits}{delay}/>'
    )


def _has_line(actuator: Actuator) -> bool:
    return math.isfinite(actuator.torque_limit) and math.isfinite(actuator.no_load_speed)


def _dcmotor(actuator: Actuator, timestep: float) -> str:
    """A motor with a speed-torque line as MuJoCo's `<dcmotor>` with positions as input; without a line `<general>`.

    With gains in torque, its voltage R / K m + K v is within +-V: K / R (-V - K v) <= m <= K / R (V - K v), the line
    with K = V / no_load_speed and R = K V / torque_limit. Any V gives the same motion; here the nominal one, or 1 V.
    """
    if not _has_line(actuator):
        return _general(actuator, timestep)
    volts = actuator.nominal_voltage or 1.0
    constant = volts / actuator.no_load_speed
    resistance = constant * volts / actuator.torque_limit
    rate, name = actuator.derivative_gain + actuator.velocity_gain, quoteattr(actuator.name)
    return (
        f'<dcmotor name={name} joint={name} input="pos" motorconst="{constant!r} {constant!r}" '
        f'resistance="{resistance!r}" controller="{actuator.stiffness!r} 0 {rate!r} 0 0 {volts!r}" '
        f'saturation="{actuator.torque_limit!r} 0 0"{_delay(actuator, timestep)}/>'
    )


def _delay(actuator: Actuator, timestep: float) -> str:
    # the buffer reaches over the delay to a sample on its other side
    samples = math.ceil(actuator.delay / timestep) + 2
    return f' delay="{actuator.delay!r}" nsample="{samples}" interp="linear"' if actuator.delay > 0 else ""


def _numbers(values: float | Sequence[float] | np.ndarray) -> str:
    """Numbers that read back are the same to the last digit."""
    return " ".join(repr(float(value)) for value in np.atleast_1d(values))


def _short(value: float | tuple[float, ...]) -> str:
    return ", ".join(f"{each:.4g}" for each in np.atleast_1d(value))
