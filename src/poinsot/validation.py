"""Held-out prediction: what an estimate says about recordings that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .estimate import Estimate, Fit
from .estimators.linear.residuals import fit
from .exceptions import InvalidMethod
from .regression.inverse_dynamics import InverseDynamics, inverse_dynamics
from .signals.signals import Signals


def predict(estimate: Estimate, signals: Signals, recording: str = "", *, loaded: bool = False) -> Fit:
    """Measured against predicted effort on other signals of the same robot.

    Args:
        estimate: of a regression problem.
        signals: prepared like those that were identified from.
        recording: its name, for the report.
        loaded: whether the robot carries the load there that was estimated.

    Raises:
        InvalidMethod: if the estimate has no regression problem to take the robot from, or no load.
    """
    problem = estimate.problem
    if not isinstance(problem, InverseDynamics):
        raise InvalidMethod(
            "only an estimate that was solved here, by regression, can predict other recordings"
        )
    load = problem.attachment
    if loaded and load is None:
        raise InvalidMethod(
            f"the robot carries a load in recording {recording!r}, but this estimate is of the robot without one: "
            "identify the load directly, or validate without it"
        )
    other = inverse_dynamics(
        problem.robot,
        signals,
        held=problem.parameters.held,
        loaded=() if load is None else (loaded,),
        link=None if load is None else load.link,
    )
    theta = np.zeros(len(other.base))
    for name, value in zip(estimate.names, estimate.values, strict=True):
        theta[other.base.index(name)] = value
    return fit(other, theta, recording)


def validate(
    estimate: Estimate, signals: Sequence[tuple[str, Signals]], *, loaded: Sequence[str] = ()
) -> Estimate:
    """The estimate with its prediction of held-out recordings, (name, signals) each; `loaded`: those with the load."""
    fits = (predict(estimate, part, name, loaded=name in loaded) for name, part in signals)
    return estimate.updated(validation=tuple(fits))
