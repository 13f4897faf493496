"""The rotors that a robot description names: where they push, in which direction, and with which moment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...arrays import Vector
from .articulated import Articulated, read_description

CALLED = re.compile(r"rotor|propeller|(?<![a-z])props?(?![a-z])", re.IGNORECASE)
"""Names of links that are rotors in a URDF."""


@dataclass(frozen=True, eq=False)
class DescribedRotor:
    """A rotor of the base. `position`: (3,) in the base's frame [m]. `axis`: (3,) unit vector along its thrust.
    `drag`: moment per thrust about the axis, positive along it [m]; 0 where the description gives none.
    """

    name: str
    position: Vector
    axis: Vector
    drag: float = 0.0


def described_rotors(robot: Articulated, path: Path) -> tuple[DescribedRotor, ...]:
    """Rotors of the description of a robot with a floating base.

    Of MJCF, actuators that act at a site of the base, whose `gear` is a force and a moment; of URDF, links below the
    base that are called rotor, propeller or prop, which push along their joint's z axis, or the frame's.

    Raises:
        UnreadableFile: if the file cannot be read.
    """
    if read_description(path)[1] == "mujoco":
        return _of_sites(path)
    frames = [frame for frame in robot.model.frames if CALLED.search(frame.name)]
    placed: dict[tuple[float, ...], tuple[str, Vector]] = {}
    for frame in frames:
        # rotors that turn are joints of the base, and others are fixed to it
        joint = frame.parentJoint
        if joint > 1 and robot.model.parents[joint] != 1:
            continue
        T = frame.placement if joint <= 1 else robot.model.jointPlacements[joint] * frame.placement
        # a rotor's joint and its link are frames of one place
        placed.setdefault(tuple(np.round(T.translation, 6).tolist()), (frame.name, T.rotation[:, 2]))
    return tuple(DescribedRotor(name, np.array(place), axis) for place, (name, axis) in placed.items())


def _of_sites(path: Path) -> tuple[DescribedRotor, ...]:
    """Actuators of an MJCF file with the transmission `site`, whose site is on its first body."""
    import mujoco

    from .compiled import compile_text

    m, rotors = compile_text(None, path), []
    for k in range(m.nu):
        site, gear = int(m.actuator_trnid[k, 0]), m.actuator_gear[k]
        on_base = m.actuator_trntype[k] == mujoco.mjtTrn.mjTRN_SITE and m.site_bodyid[site] == 1
        if not on_base or m.actuator_trnid[k, 1] >= 0 or not (size := float(np.linalg.norm(gear[:3]))):
            continue
        R = np.empty(9)
        mujoco.mju_quat2Mat(R, m.site_quat[site])
        axis = gear[:3] / size
        name = mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_ACTUATOR, k) or f"rotor{k + 1}"
        drag = float(gear[3:] @ axis) / size
        rotors.append(DescribedRotor(name, m.site_pos[site].copy(), R.reshape(3, 3) @ axis, drag))
    return tuple(rotors)
