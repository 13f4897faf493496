"""Estimates to export, made up around a robot: ten numbers a body, values for the parameters of its joints."""

import numpy as np

from poinsot.estimate import (
    Estimate,
    EstimatedParameters,
    Fit,
    FullParameters,
    Status,
    Uncertainty,
    extras_of,
)
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.inertia.parameters import body

NOTHING = Fit(np.zeros(0), (), (), np.zeros((0, 0)), np.zeros((0, 0)), np.zeros((0, 0)), (), 0.0, ())


def estimate_of(robot, inertials, values=None):
    """An estimate whose bodies are inertials (l, 10), in the robot's order.

    `values`: parameter -> value; others are held, or 0.1.
    """
    parameters = robot.parameters
    given = dict(zip(parameters.names, inertials.ravel(), strict=False)) | parameters.held | (values or {})
    theta = np.array([given.get(name, 0.1) for name in parameters.names])
    p, none = len(theta), np.zeros(0)
    full = FullParameters(
        parameters.names,
        parameters.units,
        parameters.owners,
        parameters.kinds,
        theta,
        np.diag(np.full(p, 1e-4)),
        np.full(p, np.nan),
        np.zeros(p),
    )
    nothing = EstimatedParameters(
        (), (), (), (), none, (), np.zeros(0, dtype=bool), Uncertainty(np.zeros((0, 0)))
    )
    return Estimate(
        "semidefinite", robot.name, nothing, Status.solved, 1.0, 0, NOTHING, extras=extras_of(full),
        bodies=tuple(body(name, pi) for name, pi in zip(robot.bodies, inertials, strict=True)),
    )  # fmt: skip


def random_bodies(rng, count, size=0.3):
    """(count, 10) bodies with extent in all directions, about 1 kg and 0.1 m."""
    theta = size * rng.standard_normal((count, 10)) + np.array([0, -2, -2, -2, 0, 0, 0, 0, 0, 0])
    theta[:, 4:] *= 0.3
    return LogCholesky().to_inertial(theta)
