"""A robot's recording as a trajectory model: stages of contact dynamics, residuals of sensors, process noise.

    x_{k+1} = f(x_k, u_k + w^u_k; theta) [+] w^x_k        w_k = (w^u_k, w^x_k); none in a reset map

w^u is noise of commands, the difference between the recorded and the applied efforts. It acts through the dynamics, so
one component moves all degrees of freedom, and an accelerometer measures it in the same sample. (Noise of fixed size on
speeds instead would bias theta: heavier bodies would seem to be disturbed less.) w^x is noise of state components; that
of speeds alone is enough where positions are measured.

The last node has no stage, so no noise of commands: readings of accelerations and forces there must be left out.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Changes, Columns, Float, States, Vector
from ...exceptions import InvalidMethod
from ...models.robot.robot_states import RobotStates
from ...models.stages import Stages
from .problem import LastNodeLinearization, StageLinearization, TrajectoryModel


class RobotTrajectoryModel(TrajectoryModel):
    """One recording of a robot.

    Args:
        stages: the robot with its commands, contacts and readings.
        noise: (2 n,) standard deviation of the model's error in a step, of each component of a change of state; 0 where
            it is exact.
        command_noise: (inputs,) standard deviation of each command; None: they are exact.

    Raises:
        InvalidMethod: if a standard deviation is negative, or none is above 0.
    """

    def __init__(self, stages: Stages, noise: Vector, command_noise: Vector | None = None):
        degrees, inputs = stages.states.degrees, stages.u.shape[1]
        of_commands = np.zeros(inputs) if command_noise is None else command_noise
        every = np.concatenate([of_commands, noise])
        if (noise.shape, of_commands.shape) != ((degrees,), (inputs,)) or not (
            np.isfinite(every).all() and every.min() >= 0 and every.max() > 0
        ):
            raise InvalidMethod(
                f"process noise needs a standard deviation of at least 0 for each of {degrees} changes of a state and "
                f"of {inputs} commands, and one above 0"
            )
        self.stages_of_robot = stages
        self.manifold: RobotStates = stages.states
        self.noisy_commands, self.noisy_freedoms = np.flatnonzero(of_commands > 0), np.flatnonzero(noise > 0)
        std = np.concatenate([of_commands[self.noisy_commands], noise[self.noisy_freedoms]])
        # components without noise are no unknowns: the recursion divides by their variance
        self.noise_std = np.tile(std, (stages.count, 1))
        self.noisy = ~stages.resets
        self.parameters = stages.parameters.size

    def evaluate(
        self, first: int, x: States, w: Columns, theta: Vector
    ) -> tuple[States, Float[np.ndarray, "T rows"]]:
        step, residual = self.stages_of_robot.evaluate(first, x, theta, command_noise=self.command_noise(w))
        return self.manifold.integrate(step.value, self._tangent(w)), residual.value

    def evaluate_last(self, x: Vector, theta: Vector) -> Vector:
        return self.stages_of_robot.last(x, theta).value[0]

    def linearize(self, first: int, x: States, w: Columns, theta: Vector) -> StageLinearization:
        has_command_noise = len(self.noisy_commands) > 0
        step, residual = self.stages_of_robot.evaluate(
            first, x, theta, slopes=True, efforts=has_command_noise, command_noise=self.command_noise(w)
        )
        step, by_w = self.manifold.disturbed(step, self._tangent(w))
        assert step.by_x is not None and step.by_theta is not None and residual.by_x is not None
        by_w, r_w = np.ascontiguousarray(by_w[:, :, self.noisy_freedoms]), None
        if has_command_noise:
            assert step.by_tau is not None and residual.by_tau is not None
            parameters = self.stages_of_robot.parameters
            by_u = parameters.drive.slope(parameters.values(theta).gains)[:, self.noisy_commands]
            by_w = np.concatenate([step.by_tau @ by_u, by_w], axis=2)
            # by_tau of a reset is by an impulse, which commands do not give
            by_w[~self.noisy[first : first + len(x)]] = 0.0
            none = np.zeros((*residual.value.shape, len(self.noisy_freedoms)))
            r_w = np.concatenate([residual.by_tau @ by_u, none], axis=2)
        return StageLinearization(
            step.value, step.by_x, by_w, step.by_theta, residual.value, residual.by_x, r_w, residual.by_theta
        )

    def linearize_last(self, x: Vector, theta: Vector) -> LastNodeLinearization:
        residual = self.stages_of_robot.last(x, theta, slopes=True)
        assert residual.by_x is not None
        return LastNodeLinearization(
            residual.value[0], residual.by_x[0], None if residual.by_theta is None else residual.by_theta[0]
        )

    def command_noise(self, w: Columns) -> Float[np.ndarray, "T inputs"] | None:
        """(T, inputs) noise of commands; None where they are exact."""
        if not len(self.noisy_commands):
            return None
        noise = np.zeros((len(w), self.stages_of_robot.u.shape[1]))
        noise[:, self.noisy_commands] = w[:, : len(self.noisy_commands)]
        return noise

    def _tangent(self, w: Columns) -> Changes:
        d = np.zeros((len(w), self.manifold.degrees))
        d[:, self.noisy_freedoms] = w[:, len(self.noisy_commands) :]
        return d
