"""A torso on three legs that jumps once and lands, as a project reads it: columns named like channels.

The description's torso is lighter than the one that jumps, and its centre of mass is elsewhere.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from poinsot.models.contacts.contacts import PointContact
from poinsot.models.robot.articulated import load_robot
from poinsot.models.sensors import Accelerometer, Gyro, JointPosition, JointVelocity, Orientation
from poinsot_reproductions.optimal_estimation.systems import Flown, System, fly

PERIOD, SAMPLES, JUMP = 0.01, 70, 0.2
FEET = ("foot_a", "foot_b", "foot_c")
TORSO = {"mass": 6.0, "center": "0 0 0", "xx": 0.06, "yy": 0.06, "zz": 0.10}
TRUE_TORSO = {"mass": 8.0, "center": "0.03 -0.02 0.04", "xx": 0.10, "yy": 0.12, "zz": 0.15}


def _leg(name: str, turned: float) -> str:
    def bar(link: str, mass: float) -> str:
        return (
            f'<link name="{link}_{name}"><inertial><origin xyz="0 0 -0.1"/><mass value="{mass}"/>'
            '<inertia ixx="0.004" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.0006"/></inertial></link>'
        )

    def hinge(joint: str, parent: str, child: str, axis: str, origin: str) -> str:
        return (
            f'<joint name="{joint}_{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin {origin}/><axis xyz="{axis}"/><limit lower="-3" upper="3" velocity="30" effort="200"/></joint>'
        )

    x, y = 0.2 * np.cos(turned), 0.2 * np.sin(turned)
    return (
        f'<link name="hip_{name}"><inertial><mass value="0.4"/>'
        '<inertia ixx="0.0008" ixy="0" ixz="0" iyy="0.0008" iyz="0" izz="0.0008"/></inertial></link>'
        + bar("thigh", 0.5)
        + bar("shin", 0.3)
        + f'<link name="foot_{name}"/>'
        + hinge("roll", "torso", f"hip_{name}", "1 0 0", f'xyz="{x} {y} 0" rpy="0 0 {turned}"')
        + hinge("pitch", f"hip_{name}", f"thigh_{name}", "0 1 0", 'xyz="0 0 0"')
        + hinge("knee", f"thigh_{name}", f"shin_{name}", "0 1 0", 'xyz="0 0 -0.2"')
        + f'<joint name="sole_{name}" type="fixed"><parent link="shin_{name}"/><child link="foot_{name}"/>'
        '<origin xyz="0 0 -0.2"/></joint>'
    )


def urdf(mass: float, center: str, xx: float, yy: float, zz: float) -> str:
    legs = "".join(_leg(name, 2 * np.pi * k / 3) for k, name in enumerate("abc"))
    return (
        '<?xml version="1.0"?>\n<robot name="tripod"><link name="torso"><inertial>'
        f'<origin xyz="{center}"/><mass value="{mass}"/>'
        f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/></inertial></link>{legs}</robot>\n'
    )


def jump(folder: Path, rng: np.random.Generator) -> Flown:
    """What it did, and what was read of it."""
    (folder / "truth.urdf").write_text(urdf(**TRUE_TORSO))
    robot = load_robot(folder / "truth.urdf", floating_base=True)
    home = robot.neutral.copy()
    home[7:] = np.tile([0.0, 0.7, -1.4], 3)

    def reference(time: float) -> np.ndarray:
        change = np.zeros(robot.model.nv)
        change[2] = 0.35 * np.sin(np.pi * min(time / JUMP, 1.0)) ** 2 if time < JUMP else 0.0
        change[3:6] = 0.1 * np.sin(9.0 * time) * np.array([1.0, -0.8, 0.6])
        return change

    system = System(
        "tripod",
        robot,
        home,
        (
            JointPosition(robot, 1e-3),
            JointVelocity(robot, 1e-2),
            Orientation(robot, 5e-3, frame="torso"),
            Gyro(robot, 5e-3, frame="torso"),
            Accelerometer(robot, 0.05, frame="torso"),
        ),
        robot.bodies[:1],
        reference,
        np.concatenate([np.full(6, 1.0), np.full(9, 0.1)]),
        SAMPLES,
        PERIOD,
        contacts=tuple(PointContact(foot) for foot in FEET),
        lifts=dict.fromkeys(FEET, (0.14,)),
        stiffness=250.0,
        damping=20.0,
    )
    return fly(system, rng, equivalent=False)


def write(folder: Path, flown: Flown) -> None:
    """`run.csv`, `gait.csv` and the description; contacts as 0 or 1, and as forces with noise."""
    columns = {"t": flown.times}
    for some in flown.readings:
        read = np.where(
            np.isnan(some.values), some.values[-2], some.values
        )  # the last is not used in any case
        columns |= dict(zip(some.sensor.channels, read.T, strict=True))
    columns |= {f"torque.{joint}": u for joint, u in zip(flown.system.robot.joints, flown.u.T, strict=True)}
    rng = np.random.default_rng(3)
    for k, foot in enumerate(FEET):
        pressed = np.linalg.norm(np.nan_to_num(flown.forces[:, 3 * k : 3 * k + 3]), axis=1)
        columns |= {foot: flown.schedule.closed[:, k].astype(float)}
        columns |= {f"pressed_{foot}": pressed + 0.3 * rng.standard_normal(len(pressed))}
    np.savetxt(
        folder / "run.csv",
        np.column_stack(list(columns.values())),
        delimiter=",",
        header=",".join(columns),
        comments="",
        fmt="%.12g",
    )
    rows = [
        f"{t:g},{','.join(str(int(c)) for c in row)}"
        for t, row in zip(flown.times, flown.schedule.closed, strict=True)
    ]
    (folder / "gait.csv").write_text("\n".join([f"time,{','.join(FEET)}", *rows]) + "\n")
    (folder / "tripod.urdf").write_text(urdf(**TORSO))


def job(flown: Flown) -> str:
    """The project file."""
    joints = flown.system.robot.joints
    n = flown.system.robot.model.nv
    of_speeds = flown.noise[n:]

    def columns(quantity: str) -> str:
        return "[" + ", ".join(f'"{quantity}.{joint}"' for joint in joints) + "]"

    def at(frame_quantity: str, unit: str, ends: str = "xyz") -> str:
        names = ", ".join(f'"{frame_quantity}.torso.{end}"' for end in ends)
        return f'{frame_quantity} = {{ frame = "torso", columns = [{names}]{unit} }}'

    speed_noise = ", ".join(f"{joint} = {std:.6g}" for joint, std in zip(joints, of_speeds[6:], strict=True))
    noise = (
        "position = 1e-3, velocity = 1e-2, orientation = 5e-3, gyro = 5e-3, accelerometer = 0.05, "
        f"torque = {flown.command_noise.max():.6g}"
    )
    return f"""[robot]
path = "tripod.urdf"
floating_base = true

[[recordings]]
name = "jump"
path = "run.csv"
time = {{ column = "t", unit = "s" }}
position = {{ columns = {columns("position")}, unit = "rad" }}
velocity = {{ columns = {columns("velocity")}, unit = "rad/s" }}
torque = {{ columns = {columns("torque")}, unit = "N m" }}
{at("orientation", "", "xyzw")}
{at("gyro", ', unit = "rad/s"')}
{at("accelerometer", ', unit = "m/s^2"')}
contact = {{ frames = ["foot_a", "foot_b", "foot_c"], columns = ["foot_a", "foot_b", "foot_c"] }}

[contacts]
points = ["foot_a", "foot_b", "foot_c"]

[method]
name = "optimal-estimation"
contact_model = "rigid"
bodies = ["torso"]
noise = {{ {noise} }}
speed_noise = {{ {speed_noise}, base_linear = {of_speeds[:3].max():.6g}, base_angular = {of_speeds[3:6].max():.6g} }}
"""
