"""Errors of the laboratory in the frames of a drop, beside theta, at the motion that was found.

With e the residuals of the shooting, predicted less measured poses in noise, J their derivatives by theta, and C the
change of the measured poses by errors of one prior standard deviation,

    -e = J dtheta + C d

What the frames show, and blocks of frames that were not fitted confirm, is named; the rest widens intervals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...accuracy import Accuracy
from ...arrays import Matrix, Vector
from ...diagnosis.effect_fit import EffectFit
from ...diagnosis.effects.effect import Effect, EffectColumn
from ...diagnosis.effects.geometry import DEGREE, ClockRate, Tilt, ZeroOffset
from ...diagnosis.systematic import EffectUncertainty
from ...diagnosis.throws import OF_THROWS
from ...parameters import Normal
from .shooting import Shooting, covariance_root

NONLINEAR = 0.5
"""Largest part of a change of the residuals by a standard deviation of theta that is not linear."""


@dataclass(frozen=True, eq=False)
class SimulatedFrames:
    """Simulated poses and velocities (N, 3) of all frames at theta, and how large errors may be."""

    shooting: Shooting
    theta: Vector
    poses: Matrix
    velocities: Matrix
    accuracy: Accuracy

    def column(self, effect: Effect, name: str, unit: float, moved: Matrix | Vector) -> EffectColumn:
        """Of poses that are measured `moved` (N, 3) or (3,) away by an error of 1; `unit`: the prior's in SI."""
        size = self.accuracy.of(name)
        values = unit * size * np.broadcast_to(moved, self.poses.shape) / self.shooting.noise
        return EffectColumn(effect, "", values[:, :, None], size)


class AngleZero(ZeroOffset):
    """A zero of the angle that is not the outline's."""

    cause = OF_THROWS["angle-zero"]
    sentence, unchecked = "The zero of the angle is off by {size}", "the zero of the angle"

    def columns(self, at: Any) -> Iterator[EffectColumn]:
        yield at.column(self, "zero_deg", DEGREE, np.array([0.0, 0.0, 1.0]))


class CameraTilt(Tilt):
    """A camera that is not level."""

    sentence, unchecked = "The camera is tilted by {size}", "the tilt of the camera"

    def columns(self, at: Any) -> Iterator[EffectColumn]:
        x, y, _ = at.poses.T
        yield at.column(self, "base_deg", DEGREE, np.column_stack([-y, x, np.ones(len(x))]))


class FrameRate(ClockRate):
    """The rate of the frames."""

    def columns(self, at: Any) -> Iterator[EffectColumn]:
        passed = np.concatenate([drop.times - drop.times[0] for drop, _ in at.shooting.each(at.theta)])
        yield at.column(self, "clock_percent", 0.01, -at.velocities * passed[:, None])


class PoseScale(Effect):
    """The scale of the poses against the outline."""

    name, cause = "length", OF_THROWS["length-scale"]
    sentence, unchecked = (
        "Lengths of the poses are off by {size} against the outline",
        "the scale of the poses",
    )

    def columns(self, at: SimulatedFrames) -> Iterator[EffectColumn]:
        yield at.column(self, "length_percent", 0.01, at.poses * [1.0, 1.0, 0.0])


EFFECTS: tuple[Effect, ...] = (AngleZero(), CameraTilt(), FrameRate(), PoseScale())


def fit_of_effects(at: SimulatedFrames) -> EffectFit | None:
    """Theta and effects together; None where the motion is not linear in theta over a standard deviation."""
    e = at.shooting.residuals(at.theta)
    J = at.shooting.jacobian(at.theta, e)
    wide = at.shooting.prior_std
    for step in covariance_root(J, wide)[0].T:
        linear = J @ step
        change = at.shooting.residuals(at.theta + step) - e
        if not np.linalg.norm(change - linear) < NONLINEAR * max(float(np.linalg.norm(linear)), 1.0):
            return None
    W = J.reshape(len(at.poses), 3, -1)
    columns = tuple(column for effect in EFFECTS for column in effect.columns(at) if column.size > 0)
    # changes of theta and not its values: after some impacts J is so ill-conditioned that their sizes would matter
    away = -at.theta
    away[: at.shooting.own] = away[at.shooting.of_geometry.stop :] = 0.0
    priors = tuple(
        (k, Normal(float(x), float(std))) for k, (x, std) in enumerate(zip(away, wide, strict=True))
    )
    lengths = tuple(len(drop.times) for drop, _ in at.shooting.each(at.theta))
    return EffectFit(W, -e.reshape(-1, 3), np.zeros(len(wide)), columns, lengths, np.ones(3), priors)


@dataclass(frozen=True, eq=False, repr=False)
class ThrowUncertainty(EffectUncertainty):
    """For parameters of which slopes (b, p) are the derivatives by theta; NaN where they are not identifiable."""

    frames: SimulatedFrames
    slopes: Matrix
    identifiable: np.ndarray

    @cached_property
    def fit(self) -> EffectFit | None:
        return fit_of_effects(self.frames)

    @cached_property
    def covariance(self) -> Matrix | None:
        found = self._finite(lambda fit: fit.covariance_of(self.slopes))
        if found is not None:
            found[~self.identifiable], found[:, ~self.identifiable] = np.nan, np.nan
        return found

    @cached_property
    def between_blocks(self) -> Vector | None:
        """None: blocks of frames of one throw are no further throws."""
        return None
