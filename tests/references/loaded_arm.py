"""An arm with a tool, whose motors' currents are recorded with a load and without it; the truth is known."""

from functools import cache

import numpy as np
import pinocchio as pin

from poinsot.inertia.parameters import from_physical
from poinsot.regression.inverse_dynamics import inverse_dynamics
from poinsot.signals.signals import Signals
from poinsot_reproductions.simulated_recordings import fourier_motion

from .dense_regression import torque
from .robots import chain, own_parameters

GAINS = np.array([10.0, 12.0, 9.0, 11.0])
"""N m/A"""

LOAD = from_physical(3.0, np.array([0.03, 0.1, 0.12]), np.diag([0.02, 0.03, 0.025]))
"""In the tool's frame."""

TOOL = pin.SE3(pin.exp3(np.array([0.3, -0.8, 0.5])), np.array([0.05, -0.02, 0.1]))
"""In the last body's frame."""


@cache
def arm():
    """Axes z, y, y, x: gravity never loads the first one. `link4` carries `tool`, `base` is fixed."""
    robot = chain("zyyx", [0.0, 0.4, 0.4, 0.3])
    robot.model.addFrame(pin.Frame("link4", 4, pin.SE3.Identity(), pin.FrameType.BODY))
    robot.model.addFrame(pin.Frame("tool", 4, TOOL, pin.FrameType.BODY))
    robot.model.addFrame(pin.Frame("base", 0, pin.SE3.Identity(), pin.FrameType.BODY))
    return robot


@cache
def truth():
    """(p,) of the robot alone."""
    return own_parameters(arm(), np.random.default_rng(5))


def carrying(theta, load=LOAD):
    """(p,) of the robot with the load fixed to its tool."""
    with_load = theta.copy()
    with_load[30:40] += (TOOL * pin.Inertia.FromDynamicParameters(load)).toDynamicParameters()
    return with_load


@cache
def motion(seed=2, duration_s=60.0, rate_hz=10.0):
    return fourier_motion(4, duration_s, rate_hz, np.random.default_rng(seed), harmonics=12, amplitude=1.2)


@cache
def efforts(loaded, seed=2, duration_s=60.0, rate_hz=10.0):
    """(T, n) joint torques of the motion."""
    _, q, v, a = motion(seed, duration_s, rate_hz)
    theta = carrying(truth()) if loaded else truth()
    return torque(arm(), theta, arm().configurations(q), v, a)


def recorded(loaded, noise=0.0, quantity="current", **which):
    """Signals with noise (T, n) or () on the efforts [N m]; currents by GAINS."""
    time, q, v, a = motion(**which)
    tau = efforts(loaded, **which) + noise
    return Signals(time, arm().joints, q, v, a, tau / GAINS if quantity == "current" else tau, quantity)


def problem(signals=None, *, robot=None, link="tool", loaded=(False, True), **known):
    """Without the load, and with it."""
    signals = [recorded(each) for each in loaded] if signals is None else signals
    given = {key: value for key, value in known.items() if value is not None}
    return inverse_dynamics(robot or arm(), signals, loaded=loaded, link=link, **given)


def coloured(rng, samples, memory, std):
    """(samples, n) AR(1) noise that forgets by 1/e in `memory` samples."""
    rho = np.exp(-1 / memory)
    fresh = rng.standard_normal((samples, 4)) * std * np.sqrt(1 - rho**2)
    noise = np.empty_like(fresh)
    noise[0] = fresh[0] / np.sqrt(1 - rho**2)
    for k in range(1, samples):
        noise[k] = rho * noise[k - 1] + fresh[k]
    return noise


def drawn(seed, white=0.0, own=0.0, common=0.0, memory=5.0):
    """Currents with and without the load, with noise in parts of each joint's effort: white, coloured, and coloured
    that comes again with the motion.
    """
    rng = np.random.default_rng(seed)
    shared = coloured(rng, len(motion()[0]), memory, common * efforts(False).std(axis=0))
    both = []
    for loaded in (False, True):
        size = efforts(False).std(axis=0)
        noise = shared + white * size * rng.standard_normal(shared.shape)
        noise += coloured(rng, len(noise), memory, own * size)
        both.append(recorded(loaded, noise))
    return both
