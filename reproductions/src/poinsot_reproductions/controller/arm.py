"""The arm: six axes, 1.2 m of reach, 30 kg, and a description with masses that are 20 to 50 % off.

Every joint has a geared motor with a current loop, an encoder of 2^17 counts a turn, a rotor, viscous and dry friction.
Currents are read as they were commanded. What the motor makes of them differs by white noise of 0.5 % of the joint's
largest torque, drawn anew at every millisecond.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from poinsot import Drive, load_robot
from poinsot.arrays import Vector
from poinsot.io.writing import write_text
from poinsot.models.robot.articulated import Articulated

from ..simulated_recordings import model_parameters

JOB = Path(__file__).with_name("job.toml")
DESCRIPTION, LOG = "cad.urdf", "log.parquet"
"""Names of the files that the job reads, beside it."""

COUNT = 2 * np.pi / 2**17
"""Step of the encoders [rad]."""
NOISE = 0.005
"""Standard deviation of a motor's torque about the commanded one, relative to the joint's largest torque."""

Vector3 = tuple[float, float, float]


class Link(NamedTuple):
    """A link and the joint that moves it.

    Args:
        link, joint: names.
        place: of the joint in the frame of the link before [m]. axis: of the joint.
        mass: [kg]. center: of mass [m]. size: of a box of this mass and the same inertia [m].
        described: mass in the description, relative to the true one.
        limit: largest torque [N m]. gain: torque at the joint for each ampere [N m/A].
        rotor: inertia of the rotor at the joint [kg m^2]. viscous: [N m s/rad]. dry: friction [N m].
        stiffness, damping: gains of the position controller [N m/rad], [N m s/rad].
    """

    link: str
    joint: str
    place: Vector3
    axis: Vector3
    mass: float
    center: Vector3
    size: Vector3
    described: float
    limit: float
    gain: float
    rotor: float
    viscous: float
    dry: float
    stiffness: float
    damping: float


LINKS = (
    Link("column", "base", (0, 0, 0.13), (0, 0, 1), 7.4, (0.01, -0.02, 0), (0.16, 0.16, 0.18),
         0.70, 330, 12.0, 1.4, 12.0, 9.0, 6000, 350),
    Link("upper_arm", "shoulder", (0, 0.15, 0), (0, 1, 0), 13.0, (0.02, 0.01, 0.27), (0.13, 0.13, 0.62),
         0.65, 330, 12.0, 1.4, 14.0, 11.0, 6000, 350),
    Link("forearm", "elbow", (0, -0.12, 0.6), (0, 1, 0), 4.6, (0, -0.02, 0.24), (0.10, 0.10, 0.52),
         0.60, 150, 10.0, 0.8, 8.0, 6.0, 3000, 140),
    Link("wrist_1", "pitch", (0, 0, 0.55), (0, 1, 0), 2.0, (0.01, 0.07, 0.01), (0.09, 0.12, 0.10),
         0.50, 56, 8.0, 0.15, 2.2, 1.8, 500, 20),
    Link("wrist_2", "yaw", (0, 0.12, 0), (0, 0, 1), 2.0, (0, 0.01, 0.07), (0.09, 0.10, 0.12),
         1.30, 56, 8.0, 0.15, 2.0, 1.6, 500, 20),
    Link("flange", "roll", (0, 0, 0.12), (0, 1, 0), 1.0, (0.01, 0.06, -0.01), (0.08, 0.06, 0.08),
         0.80, 56, 8.0, 0.12, 1.5, 1.2, 500, 20),
)  # fmt: skip

HOME = np.array([0.0, 0.5, 1.0, -0.4, 0.3, 0.0])
"""Middle of all motions [rad]."""

ARM_MASS = sum(link.mass for link in LINKS)


@cache
def column(name: str) -> Vector:
    """(n,) one property of all links."""
    values = np.array([getattr(link, name) for link in LINKS], dtype=float)
    values.flags.writeable = False
    return values


def box_inertia(mass: float, size: Vector3) -> Vector3:
    """Ixx, Iyy, Izz of a homogeneous box about its centre [kg m^2]."""
    x, y, z = (side**2 for side in size)
    return mass * (y + z) / 12, mass * (x + z) / 12, mass * (x + y) / 12


def urdf(masses: Vector) -> str:
    """The arm's description with these masses of its links (n,); inertias are in proportion."""
    lines = ['<?xml version="1.0"?>', '<robot name="arm">', '  <link name="pedestal"/>']
    before = "pedestal"
    for link, mass in zip(LINKS, masses.tolist(), strict=True):
        inertia = zip(("ixx", "iyy", "izz"), box_inertia(mass, link.size), strict=True)
        moments = " ".join(f'{name}="{value:.6g}"' for name, value in inertia)
        lines += [
            f'  <link name="{link.link}">',
            "    <inertial>",
            f'      <origin xyz="{_text(link.center)}"/>',
            f'      <mass value="{mass:.6g}"/>',
            f'      <inertia {moments} ixy="0" ixz="0" iyz="0"/>',
            "    </inertial>",
            "  </link>",
            f'  <joint name="{link.joint}" type="revolute">',
            f'    <parent link="{before}"/>',
            f'    <child link="{link.link}"/>',
            f'    <origin xyz="{_text(link.place)}"/>',
            f'    <axis xyz="{_text(link.axis)}"/>',
            f'    <limit lower="-3.1" upper="3.1" effort="{link.limit:g}" velocity="5"/>',
            "  </joint>",
        ]
        before = link.link
    return "\n".join([*lines, "</robot>", ""])


def _text(vector: Vector3) -> str:
    return " ".join(f"{x:g}" for x in vector)


def described_masses() -> Vector:
    """(n,) masses of the description [kg]."""
    return column("mass") * column("described")


def write_job(folder: Path) -> None:
    """Write the job of the identification and the description that it reads; the log is to be added."""
    write_text(folder / JOB.name, JOB.read_text(encoding="utf-8"))
    write_text(folder / DESCRIPTION, urdf(described_masses()))


def loaded(description: Path) -> Articulated:
    """The robot of a description, with the arm's drives."""
    return load_robot(description, drive=Drive(gain=tuple(column("gain")), rotor_inertia=True))


def known_parameters(robot: Articulated, masses: Vector) -> Vector:
    """(p,) parameters of the arm with these masses of its links (n,), and with the true rotors and friction."""
    joints = {
        f"{symbol}{k}": float(value)
        for symbol, name in (("ia", "rotor"), ("fv", "viscous"), ("fc", "dry"))
        for k, value in enumerate(column(name), start=1)
    }
    theta = model_parameters(robot, **joints)
    # inertias are in proportion to masses
    theta[: robot.inertials.size] = (robot.inertials * (masses / robot.inertials[:, 0])[:, None]).ravel()
    return theta
