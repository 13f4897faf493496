"""Identification the slow way: torques sample by sample from Newton and Euler, and dense matrices solved at once."""

import numpy as np
import pinocchio as pin

from poinsot.signals.signals import Signals


def torque(robot, theta, q, v, a):
    """(T, n): Pinocchio's rnea with the bodies of theta, and what motors and friction add, written out."""
    model = robot.model.copy()
    value = dict(zip(robot.parameters.names, theta, strict=True))
    for body in range(1, model.njoints):
        model.inertias[body] = pin.Inertia.FromDynamicParameters(theta[10 * (body - 1) : 10 * body])
    data = model.createData()
    tau = np.array([pin.rnea(model, data, *state).copy() for state in zip(q, v, a, strict=True)])
    train, joints = robot.train, list(robot.actuated)
    sign = lambda x: np.where(np.abs(x) > getattr(robot.friction, "deadband", 0.0), np.sign(x), 0.0)  # noqa: E731
    for k, number in enumerate(robot.joint_numbers):
        C = train.reduction[k] / train.reduction[k, k]
        speed, rate = v[:, joints] @ C, a[:, joints] @ C  # of motor k, as its own joint would see it
        own = np.eye(len(joints))[k]
        if robot.drive.coupled_rotor == "tied":
            tau[:, joints] += value.get(f"ia{number}", 0.0) * np.outer(rate, C)
        else:
            tau[:, joints[k]] += value.get(f"ia{number}", 0.0) * a[:, joints[k]]
            tau[:, joints] += value.get(f"iam{number}", 0.0) * (np.outer(rate, C) - a[:, joints] * C**2)
        tau[:, joints] += value.get(f"fvm{number}", 0.0) * (np.outer(speed, C) - v[:, joints] * C**2)
        tau[:, joints] += value.get(f"fcm{number}", 0.0) * np.outer(sign(speed), C)
        tau[:, joints] += np.outer(
            value.get(f"fv{number}", 0.0) * v[:, joints[k]]
            + value.get(f"fc{number}", 0.0) * sign(v[:, joints[k]])
            + value.get(f"off{number}", 0.0),
            own,
        )
    return tau


def smooth_motion(robot, samples, rng, rate_hz=100.0, speed=1.0):
    """q (positions of joints of one freedom each), v, a: sums of sines, exact derivatives of each other."""
    time = np.arange(samples) / rate_hz
    n = robot.model.nv
    w, phase = speed * rng.uniform(0.5, 6.0, (2, 8, n))
    size = rng.uniform(0.2, 1.0, (8, n)) / w**0.5
    angle = time[:, None, None] * w + phase
    q, v, a = (
        np.sum(size * part, axis=1) for part in (np.sin(angle), w * np.cos(angle), -(w**2) * np.sin(angle))
    )
    return time, q, v, a


def signals_of(robot, theta, motion, noise=0.0, decimation=None):
    """Signals at the joints of a robot with parameters theta that follows a motion, noise (T, n) on its efforts."""
    time, q, v, a = motion
    tau = torque(robot, theta, robot.configurations(q), v, a) + noise
    return Signals(time, robot.joints, q, v, a, tau, decimation=decimation)


def stacked(problem):
    """W (N, n, b) and y (N, n) of all rows."""
    rows = list(problem.rows())
    return np.concatenate([r.W for r in rows]), np.concatenate([r.y for r in rows])


def least_squares(W, y):
    """theta, Eq. 7's variance and Eq. 6's covariance of seed 002, from the normal equations' inverse."""
    X, u = W.reshape(-1, W.shape[-1]), y.ravel()
    theta = np.linalg.lstsq(X, u, rcond=None)[0]
    variance = np.sum((u - X @ theta) ** 2) / (len(u) - len(theta))
    return theta, variance, variance * np.linalg.inv(X.T @ X)
