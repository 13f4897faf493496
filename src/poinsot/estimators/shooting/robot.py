"""A robot's recording as the solver sees it: stages of contact dynamics, residuals of sensors, noise on the tangent.

    x_{k+1} = f(x_k, u_k; theta) [+] w_k        w_k (m,) in the freedoms that have noise; none in a reset map

Noise of speeds alone is enough where positions are measured: what pushes a robot pushes its speeds first.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from ...arrays import Vector
from ...exceptions import InvalidMethod
from ...models.robot_states import RobotStates
from ...models.stages import Stages
from .manifold import Manifold
from .problem import LastLinearization, Linearization, Motion


class RobotManifold(Manifold):
    """States (q, v) of a robot.

    Args:
        states: of it.
    """

    def __init__(self, states: RobotStates):
        self.states = states
        self.size, self.degrees = states.size, states.degrees

    def integrate(
        self, x: Float[np.ndarray, "T nx"], d: Float[np.ndarray, "T n"]
    ) -> Float[np.ndarray, "T nx"]:
        return self.states.integrate(x, d)

    def difference(
        self, x: Float[np.ndarray, "T nx"], y: Float[np.ndarray, "T nx"]
    ) -> Float[np.ndarray, "T n"]:
        return self.states.difference(x, y)

    def difference_jacobians(
        self, x: Float[np.ndarray, "T nx"], y: Float[np.ndarray, "T nx"]
    ) -> tuple[Float[np.ndarray, "T n n"], Float[np.ndarray, "T n n"]]:
        return self.states.difference_jacobians(x, y)

    def carry(
        self, x: Float[np.ndarray, "T nx"], y: Float[np.ndarray, "T nx"], *changes: Float[np.ndarray, "T n _"]
    ) -> tuple[np.ndarray, ...]:
        return self.states.carry(x, y, *changes)


class RobotMotion(Motion):
    """One recording of a robot.

    Args:
        stages: the robot, what it was told and what was read of it.
        noise: (2 n,) standard deviation of what the model lacks in a step, of each change of a state; 0 where there is
            none.

    Raises:
        InvalidMethod: if a standard deviation is negative, or none is above 0.
    """

    def __init__(self, stages: Stages, noise: Vector):
        degrees = stages.states.degrees
        if noise.shape != (degrees,) or not (
            np.isfinite(noise).all() and noise.min() >= 0 and noise.max() > 0
        ):
            raise InvalidMethod(
                f"process noise needs a standard deviation of at least 0 for each of {degrees} changes of a state, and "
                "one above 0"
            )
        self.stages_of_robot = stages
        self.manifold: RobotManifold = RobotManifold(stages.states)
        self.free = np.flatnonzero(noise > 0)
        self.noise_std = np.tile(noise[self.free], (stages.count, 1))
        self.noisy = ~stages.resets
        self.parameters = stages.parameters.size

    def evaluate(
        self, first: int, x: Float[np.ndarray, "T nx"], w: Float[np.ndarray, "T m"], theta: Vector
    ) -> tuple[Float[np.ndarray, "T nx"], Float[np.ndarray, "T rows"]]:
        step, left = self.stages_of_robot.evaluate(first, x, theta)
        return self.manifold.integrate(step.x, self._tangent(w)), left.r

    def evaluate_last(self, x: Vector, theta: Vector) -> Vector:
        return self.stages_of_robot.last(x, theta).r[0]

    def linearize(
        self, first: int, x: Float[np.ndarray, "T nx"], w: Float[np.ndarray, "T m"], theta: Vector
    ) -> Linearization:
        step, left = self.stages_of_robot.evaluate(first, x, theta, slopes=True)
        step, by_w = self.manifold.states.disturbed(step, self._tangent(w))
        assert step.by_x is not None
        assert step.by_theta is not None
        assert left.by_x is not None
        by_w = np.ascontiguousarray(by_w[:, :, self.free])
        return Linearization(step.x, step.by_x, by_w, step.by_theta, left.r, left.by_x, None, left.by_theta)

    def linearize_last(self, x: Vector, theta: Vector) -> LastLinearization:
        left = self.stages_of_robot.last(x, theta, slopes=True)
        assert left.by_x is not None
        return LastLinearization(left.r[0], left.by_x[0], None if left.by_theta is None else left.by_theta[0])

    def _tangent(self, w: Float[np.ndarray, "T m"]) -> Float[np.ndarray, "T n"]:
        d = np.zeros((len(w), self.manifold.degrees))
        d[:, self.free] = w
        return d
