"""Motions from rest to rest that are linear in their coefficients: q(t) = Phi(t) c, and so are q' and q''.

The first function of every basis is 1, and the others are 0 with their first two derivatives when the motion starts; so
the first coefficient is the posture at the start. At the end all first and second derivatives are 0 too, whatever the
coefficients: rest is built in, and an optimizer needs no constraint for it.

    Fourier   q = q_0 + sum_k a_k (cos k w t - 1) + b_k sin k w t,     w = 2 pi / T
              at rest:  sum_k k b_k = 0,  sum_k k^2 a_k = 0
    splines   q = sum_i p_i B_i(t), quintic, clamped at both ends
              at rest:  p_0 = p_1 = p_2, and the last three alike

Both conditions are linear, and their null space is eliminated. Fourier series end where they began and can be repeated
(Swevers et al. 1997); splines end somewhere else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge
from scipy import linalg
from scipy.interpolate import BSpline

from ..arrays import Float, Times
from ..ranges import check_ranges

DEGREE = 5


class Basis(ABC):
    """Functions of time whose combination is a motion."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of functions, m."""

    @property
    @abstractmethod
    def detail(self) -> float:
        """Number of oscillations of the fastest function in the whole motion."""

    @abstractmethod
    def at(self, time: Times, duration_s: float) -> Float[np.ndarray, "3 T m"]:
        """The functions, their first and their second derivatives. Before 0 and after `duration_s` they rest."""


@dataclass(frozen=True)
class FourierSeries(Basis):
    """Sines and cosines of the motion's own frequency and its multiples (`harmonics`, at least 2)."""

    harmonics: Annotated[int, Ge(2)] = 5

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def size(self) -> int:
        return 2 * self.harmonics - 1

    @property
    def detail(self) -> float:
        return float(self.harmonics)

    def at(self, time: Times, duration_s: float) -> Float[np.ndarray, "3 T m"]:
        k = np.arange(1, self.harmonics + 1)
        w = 2 * np.pi * k / duration_s
        phase = np.clip(time, 0.0, duration_s)[:, None] * w
        cos, sin = np.cos(phase), np.sin(phase)
        moving = np.array(
            [
                np.hstack([cos - 1, sin]),
                np.hstack([-w * sin, w * cos]),
                np.hstack([-(w**2) * cos, -(w**2) * sin]),
            ]
        )
        zeros = np.zeros(self.harmonics)
        # velocities sum k b_k w and accelerations - sum k^2 a_k w^2 vanish at both ends alike
        at_rest = linalg.null_space(np.array([np.append(zeros, k), np.append(k**2, zeros)]))
        return _with_posture(moving @ at_rest)


@dataclass(frozen=True)
class QuinticSplines(Basis):
    """Piecewise polynomials of degree five, four times continuously differentiable, on at least 2 equal intervals."""

    intervals: Annotated[int, Ge(2)] = 12

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def size(self) -> int:
        return self.intervals + 1

    @property
    def detail(self) -> float:
        return 0.5 * self.intervals

    def at(self, time: Times, duration_s: float) -> Float[np.ndarray, "3 T m"]:
        inner = np.linspace(0.0, duration_s, self.intervals + 1)
        knots = np.concatenate([[0.0] * DEGREE, inner, [duration_s] * DEGREE])
        splines = BSpline(knots, np.eye(len(knots) - DEGREE - 1), DEGREE)
        time = np.clip(time, 0.0, duration_s)
        functions = np.array([splines(time, order) for order in range(3)])
        # the last three coefficients are equal, so their functions are summed; the first three are the posture's
        last = functions[:, :, -3:].sum(axis=2, keepdims=True)
        return _with_posture(np.concatenate([functions[:, :, 3:-3], last], axis=2))


def _with_posture(moving: np.ndarray) -> np.ndarray:
    """Put the constant function before the others."""
    constant = np.zeros((*moving.shape[:2], 1))
    constant[0] = 1.0
    return np.concatenate([constant, moving], axis=2)


def sample_times(duration_s: float, rate_hz: float) -> Times:
    """0, 1/rate, ... up to the first sample that is not before the end of the motion. [s]"""
    # 250.00000000000003 samples are 250
    return np.arange(int(np.ceil(duration_s * rate_hz - 1e-9)) + 1) / rate_hz
