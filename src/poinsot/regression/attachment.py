"""A load on a link: ten more parameters, whose columns are those of the body that carries it.

    tau = Y_l pi_l + Y_l A pi_L         pi_L of the load in the frame of the link, pi_l of the body l that the link is
                                        part of, A the change from the link's frame to the body's

Without the load the columns Y_l A are zero. So recordings with and without the load share every parameter of the
robot, and their difference determines the load: all ten parameters, if the motion turns body l about enough axes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Matrix
from ..inertia.parameters import change_frame
from ..models.robot.articulated import Articulated
from ..parameters import INERTIAL_SYMBOLS
from .base_parameters import RANDOM_STATES, STRUCTURAL_TOLERANCE, BaseParameters, choose, triangular
from .regressor import Regressor

LOAD_NAMES = tuple(f"{symbol}L" for symbol in INERTIAL_SYMBOLS)
"""`mL mxL myL mzL xxL xyL yyL xzL yzL zzL`."""


@dataclass(frozen=True, eq=False)
class Attachment:
    """Place of a load, and of its parameters.

    Args:
        link: link in whose frame its parameters are expressed.
        body: index in `robot.bodies` of the body that the link is part of.
        to_body: (10, 10) A.
        first: column of its first parameter, the number of the robot's own parameters.
    """

    link: str
    body: int
    to_body: Matrix
    first: int

    @property
    def carrier(self) -> np.ndarray:
        """(10,) columns of the body that carries it."""
        return 10 * self.body + np.arange(10)

    def columns(self, regressor: Regressor, entries: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """(T, n, len(wanted)) columns `wanted` of Y_l A, from entries (T, K) of the robot's regressor."""
        return regressor.scatter(entries, self.carrier) @ self.to_body[:, wanted]


def attach(robot: Articulated, link: str | None = None) -> Attachment:
    """A load on a link; None: on the last body. `InvalidModel` if there is no such moving link, or closed loops."""
    robot.refuse_loops("the identification of a payload")
    link = robot.bodies[-1] if link is None else link
    body, T_bl = robot.link(link)
    # `change_frame` transforms one body per row, so the rows of this are the columns of A
    return Attachment(link, body, change_frame(T_bl, np.eye(10)).T, len(robot.parameters))


def with_load(
    base: BaseParameters, attachment: Attachment, regressor: Regressor, seed: int = 0
) -> BaseParameters:
    """The robot's base parameters, then those of the load that some motion determines; its ten columns are the last."""
    parameters = regressor.parameters
    states = regressor.robot.random_states(10 * RANDOM_STATES, np.random.default_rng(seed))
    Y = attachment.columns(regressor, regressor.entries(*states), np.arange(10))
    R = triangular(Y.reshape(-1, 10))
    chosen, own = choose(R, np.flatnonzero(parameters.free[attachment.first :]), STRUCTURAL_TOLERANCE)
    K = np.zeros((len(chosen), len(parameters)))
    K[:, attachment.first :] = own
    return replace(
        base,
        chosen=np.concatenate([base.chosen, attachment.first + chosen]),
        map=np.concatenate([base.map, K]),
    )
