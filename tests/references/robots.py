"""Robots to try things on: known ones by the path of their description, and random trees."""

import sysconfig
from importlib.resources import files
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from poinsot.models.friction import ViscousCoulomb
from poinsot.models.robot.articulated import Articulated, load_robot
from poinsot.models.robot.drive import Drive

DESCRIPTIONS = (
    Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
)
CLOSED_CHAINS = Path(str(files("poinsot_reproductions"))) / "robots"
REVOLUTE = [pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ]


def described(path, **settings):
    """A robot of example-robot-data; the test is skipped where that is not installed."""
    path = path if isinstance(path, Path) else DESCRIPTIONS / path
    if not path.exists():
        pytest.skip(f"needs the robot description {path.name} (pip install 'poinsot[robots]')")
    return load_robot(path, **settings)


def random_robot(
    rng, joints, *, kinds="RP", floating_base=False, drive=None, friction=None, size=1.0, mass=1.0
):
    """A random tree of joints: R about an axis of its own, U any axis, C without limits, P along an axis, S a ball."""
    model = pin.Model()
    last = 0
    if floating_base:
        last = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
        model.appendBodyToJoint(last, random_inertia(rng, size, mass), pin.SE3.Identity())
    for k in range(joints):
        kind = rng.choice(list(kinds))
        axis = rng.standard_normal(3)
        axis /= np.linalg.norm(axis)
        joint = {
            "R": lambda: REVOLUTE[rng.integers(3)](),
            "U": lambda axis=axis: pin.JointModelRevoluteUnaligned(axis),
            "C": pin.JointModelRUBZ,
            "P": lambda axis=axis: pin.JointModelPrismaticUnaligned(axis),
            "S": pin.JointModelSpherical,
        }[kind]()
        parent = last if rng.random() < 0.7 else int(rng.integers(1 if floating_base else 0, model.njoints))
        placement = pin.SE3.Random()
        placement.translation = size * rng.uniform(-0.5, 0.5, 3)
        placement.rotation = pin.exp3(rng.standard_normal(3))
        last = model.addJoint(parent, joint, placement, f"j{k + 1}")
        model.appendBodyToJoint(last, random_inertia(rng, size, mass), pin.SE3.Identity())
    return Articulated("random", model, drive or Drive(), friction or ViscousCoulomb(), floating_base)


def chain(axes, lengths, *, drive=None, friction=None, mass=1.0, gravity=(0, 0, -9.81)):
    """Revolute joints about the coordinate axes named, each a length along x from the one before."""
    model = pin.Model()
    model.gravity.linear = np.array(gravity, dtype=float)
    last = 0
    for k, (axis, length) in enumerate(zip(axes, lengths, strict=True)):
        placement = pin.SE3(np.eye(3), np.array([length, 0.0, 0.0]))
        joint = {"x": pin.JointModelRX, "y": pin.JointModelRY, "z": pin.JointModelRZ, "s": pin.JointModelPX}[
            axis
        ]()
        last = model.addJoint(last, joint, placement, f"j{k + 1}")
        model.appendBodyToJoint(last, random_inertia(np.random.default_rng(k), 1.0, mass), pin.SE3.Identity())
    return Articulated("chain", model, drive or Drive(), friction or ViscousCoulomb())


def random_inertia(rng, size=1.0, mass=1.0):
    """A physical body: a cloud of points."""
    points, masses = size * 0.2 * rng.standard_normal((6, 3)), mass * rng.uniform(0.1, 0.5, 6)
    total = masses.sum()
    centre = masses @ points / total
    arms = points - centre
    inertia = (
        masses[:, None, None]
        * ((arms**2).sum(1)[:, None, None] * np.eye(3) - arms[:, :, None] * arms[:, None, :])
    ).sum(0)
    return pin.Inertia(total, centre, inertia)


def own_parameters(robot, rng=None):
    """(p,) the inertial parameters of the model, and random positive values (or zeros) for all others."""
    theta = np.zeros(len(robot.parameters))
    inertial = np.concatenate([inertia.toDynamicParameters() for inertia in list(robot.model.inertias)[1:]])
    theta[: len(inertial)] = inertial
    if rng is not None:
        theta[len(inertial) :] = rng.uniform(0.1, 1.0, len(theta) - len(inertial))
    return theta
