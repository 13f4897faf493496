"""Bodies of a robot as an estimate shows them: where they sit, and how sure they are so that every draw is a body."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Matrix, Vector
from ..estimate import Body
from ..inertia.log_cholesky import LogCholesky
from ..inertia.parameters import body
from .articulated import Articulated


def body_of(
    robot: Articulated,
    place: int,
    pi: Vector,
    covariance: Matrix,
    prior: Vector,
    prior_share: float | None = None,
) -> Body:
    """One body.

    Args:
        robot: whose. place: in its `bodies`.
        pi: (10,). covariance: (10, 10) of it.
        prior: (10,) pi before the data.
        prior_share: see `Body`.
    """
    found = replace(
        body(robot.bodies[place], pi),
        prior=prior,
        prior_share=prior_share,
        placement=robot.placements[place],
        parent=robot.parents[place],
    )
    # an impossible body has no place in the chart, so draws of it are made in pi
    if not found.physically_consistent:
        return found
    chart = LogCholesky()
    to_chart = np.linalg.inv(chart.jacobian(chart.from_inertial(pi)))
    return replace(found, covariance=to_chart @ covariance @ to_chart.T)
