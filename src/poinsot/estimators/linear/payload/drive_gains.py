"""Drive gains: known ones with their covariance, and whether unknown ones are identifiable.

A current gives the torque up to one factor per motor. With y_j the current times the nominal gain of the drive and
1 / c_j the true gain over the nominal one, y_j / c_j is the effort; it acts only on joint j unless motors are coupled.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....arrays import JointSamples, Matrix
from ....estimate import DriveGains
from ....exceptions import InvalidMethod, NotIdentifiable, listing
from ....models.robot.articulated import Articulated
from ....parameters import PerJoint, per_joint
from ....regression.inverse_dynamics import InverseDynamics
from .output_error import GainOptimum

UNDETERMINED = 1e-8
"""Gains are not determined if other parameters compensate all but this part of their effect (squared)."""

UNITS = {"torque": "1", "current": "A", "voltage": "V"}
"""Units of the quantities that measure an effort."""

POSTURES = 64
UNLOADED = 1e-4
"""Gravity acts on a joint if its torque is above this part of the largest: descriptions round right angles."""


def measured_as(problem: InverseDynamics) -> str:
    """The quantity that the efforts were measured as."""
    found = list(dict.fromkeys(part.signals.effort for part in problem.parts))
    if len(found) > 1:
        raise InvalidMethod(
            f"one recording has {found[0]}, another {found[1]}: gains cannot be the same in both; use recordings of "
            "one quantity"
        )
    return found[0]


def unknown(problem: InverseDynamics) -> bool:
    """Whether currents or voltages were measured and the drive's gains are not given."""
    return measured_as(problem) != "torque" and bool(np.all(problem.robot.train.gain == 1))


def motors(robot: Articulated) -> np.ndarray:
    """(nv,) True where a motor drives a degree of freedom."""
    driven = np.zeros(robot.model.nv, dtype=bool)
    driven[robot.actuated[robot.train.driven]] = True
    return driven


def check_uncoupled(problem: InverseDynamics) -> None:
    """Check that the effort of each joint is that of its own motor."""
    train = problem.robot.train
    if train.drive.side == "motor" and train.coupled:
        names = listing(train.joints[k] for k in train.coupled)
        raise InvalidMethod(
            f"the motors of {names} drive two joints each, and gains of coupled motors cannot be identified: give "
            "drive.gain"
        )


def check_scale(problem: InverseDynamics) -> None:
    """Check that the absolute scale is known: gains, a mass, or a prior."""
    # a prior mean of zero is satisfied by zero, at any scale
    known = any(prior.mean for prior in problem.priors.values())
    if not known and not np.any(problem.parameters.held_values):
        raise NotIdentifiable(
            "not identifiable: only ratios are. Neither drive gains nor a mass are known, and twice the gains with "
            "twice the masses fit as well; give the load's mass, or the gains (drive.gain, gains_from)"
        )


def gains_of(problem: InverseDynamics, covariance: Matrix | None = None) -> DriveGains:
    """The gains that convert a problem's measurements to efforts, exact without a covariance."""
    robot = problem.robot
    train, m = robot.train, int(robot.train.driven.sum())
    values = train.gain[train.driven]
    covariance = np.zeros((m, m)) if covariance is None else covariance
    efforts = np.array(robot.effort_units)[robot.actuated][train.driven]
    per = UNITS[measured_as(problem)]
    return DriveGains(
        tuple(np.array(robot.joints)[train.driven].tolist()),
        tuple("1" if per == "1" else f"{effort}/{per}" for effort in efforts.tolist()),
        values,
        covariance,
        by_gravity=loaded_by_gravity(robot)[motors(robot)],
    )


def loaded_by_gravity(robot: Articulated) -> np.ndarray:
    """(nv,) whether gravity acts on a degree of freedom in some posture."""
    q, v, _ = robot.random_states(POSTURES, np.random.default_rng(0))
    still: JointSamples = np.zeros_like(v)
    # at rest torques are due to gravity alone: the regressor's columns are those of mass and first moments
    torques = np.abs(robot.torque_regressor(q, still, still)).max(axis=(0, 2))
    return np.asarray(torques > UNLOADED * torques.max())


def covariance_of(std: PerJoint | None, motors: Sequence[str]) -> Matrix | None:
    """(m, m) covariance of gains with these standard deviations; None: they are exact."""
    if std is None:
        return None
    values = per_joint("gain_std", std, motors, np.zeros(len(motors)))
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise InvalidMethod(f"gain_std must be finite and at least 0, not {std}")
    return np.diag(values**2)


def check_identifiable(problem: InverseDynamics, optimum: GainOptimum, free: np.ndarray) -> None:
    """Check that no change of gains is compensated by other parameters."""
    values, vectors = optimum.seen
    if values[0] > UNDETERMINED:
        return
    names = np.array(gains_of(problem).joints)
    # the eigenvector of the smallest eigenvalue contains the gains that can change together
    largest = np.abs(vectors[:, 0])
    raise NotIdentifiable(
        f"the recordings do not determine the drive gains of {listing(names[largest > 0.3 * largest.max()])}: other "
        "parameters compensate them; move these joints faster and against gravity with the load, or give their gains"
    )
