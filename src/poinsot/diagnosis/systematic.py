"""`EffectFit` of the linear family: efforts of recordings, by the regressor and the laboratory's systematic errors.

A common gain of all torques scales all values alike, and no recording shows it: gains are relative to their mean, and
so is `std`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from ..arrays import Brief, JointSamples, Matrix, Vector
from ..exceptions import PoinsotError
from ..parameters import Normal
from ..regression.inverse_dynamics import InverseDynamics
from ..signals.decimation import PASSBAND
from ..statistics import NORMAL_MEDIAN, white_noise
from .case import LARGEST_SAMPLES, DenseRows, Solved, recordings_of, thinned
from .effect_fit import EffectFit
from .effects import EFFECTS, RECORDING_EFFECTS, EffectColumn, Linearization
from .effects.effect import Removed


@dataclass(frozen=True, eq=False, kw_only=True)
class SystematicFit(EffectFit):
    """Parameters and systematic effects of one problem.

    Args:
        problem: thinned. at: its linearization. estimated: (k,) base columns of W.
    """

    problem: InverseDynamics
    at: Linearization
    estimated: np.ndarray

    @classmethod
    def of(
        cls,
        problem: InverseDynamics,
        theta: Vector,
        estimated: np.ndarray | None = None,
        clip: float = np.inf,
        removed: Mapping[int, float] | None = None,
    ) -> SystematicFit:
        """At base values theta, about which effects are linear.

        `estimated`: base columns that the recordings determine; None: all. `clip`: of a robust estimate, standard
        deviations beyond which residuals are downweighted. `removed`: base columns of parameters that were set to
        zero, with their standard deviations.
        """
        estimated = np.arange(len(problem.base)) if estimated is None else estimated
        share = LARGEST_SAMPLES / max(sum(map(len, problem.parts)), 1)
        thin = problem.with_signals([thinned(signals, share) for signals in recordings_of(problem)])
        dense = DenseRows.of(thin)
        at = Linearization(thin, theta, problem.accuracy)
        effects = () if problem.accuracy.exact else EFFECTS
        if len(thin.parts) > 1 and not problem.accuracy.exact:
            effects += RECORDING_EFFECTS
        columns = tuple(
            column
            for effect in effects
            for column in effect.columns(at)
            if column.size > 0 and column.values.any()
        )
        columns += tuple(
            EffectColumn(Removed(), problem.base.names[k], std * dense.W[:, :, [k]], 1.0)
            for k, std in (removed or {}).items()
        )
        W, y = dense.W[:, :, estimated], dense.y
        if np.isfinite(clip):
            e = np.abs(y - W @ theta[estimated])
            weight = np.sqrt(
                np.minimum(1.0, clip * NORMAL_MEDIAN**-1 * np.median(e, axis=0) / np.maximum(e, 1e-300))
            )
            W, y = W * weight[..., None], y * weight
            columns = tuple(replace(column, values=column.values * weight[..., None]) for column in columns)
        return cls(
            W=W,
            y=y,
            theta=theta[estimated],
            columns=columns,
            counts=thin.row_counts,
            noise=_noise(problem),
            priors=_priors(thin, estimated),
            problem=thin,
            at=at,
            estimated=estimated,
        )

    def held_out_of(self, solved: Solved) -> Vector:
        """(B,) mean squared error of blocks, of a changed problem without effects, each row in its own spread.

        Spreads are those of this fit, relative to the torque, whose unit may have changed.
        """
        W, y = solved.dense.W, solved.dense.y
        problem, everything = solved.problem, np.arange(W.shape[2])
        changed = replace(
            self,
            W=W,
            y=y,
            columns=(),
            counts=problem.row_counts,
            priors=_priors(problem, everything),
            problem=problem,
            estimated=everything,
        )
        size = np.sqrt(np.mean(y**2, axis=0) / np.maximum(np.mean(self.y**2, axis=0), 1e-300))
        changed.__dict__["spread"] = self.sigma * np.where(size > 0, size, 1.0), float(W.shape[2])
        changed.__dict__["correlation"] = self.correlation
        return changed.held_out(changed.own) / np.maximum(changed.rows_in, 1)


_FITS: WeakKeyDictionary[InverseDynamics, dict[Hashable, SystematicFit]] = WeakKeyDictionary()
"""The last fit of each problem."""


class EffectUncertainty(Brief, ABC):
    """Systematic errors of an estimate from its `EffectFit`."""

    @property
    @abstractmethod
    def fit(self) -> EffectFit | None:
        """The fit, computed where it is first needed; None: the recordings do not determine it."""

    @cached_property
    def covariance(self) -> Matrix | None:
        """(b, b) of the values; None for too few samples, and data that overflow."""
        return self._finite(lambda fit: fit.covariance)

    @cached_property
    def between_blocks(self) -> Vector | None:
        """(b,) as of `EffectFit`; None as of `covariance`."""
        return self._finite(lambda fit: np.diag(fit.between_blocks))

    def _finite(self, compute: Callable[[EffectFit], np.ndarray]) -> np.ndarray | None:
        try:
            with np.errstate(all="ignore"):
                found = None if (fit := self.fit) is None else compute(fit)
        except (PoinsotError, np.linalg.LinAlgError):
            return None
        return found if found is not None and np.isfinite(found).all() else None


@dataclass(frozen=True, eq=False, repr=False)
class SystematicUncertainty(EffectUncertainty):
    """`SystematicFit` of an estimate; arguments as of `SystematicFit.of`."""

    problem: InverseDynamics
    theta: Vector
    estimated: np.ndarray
    clip: float
    removed: Mapping[int, float]

    @cached_property
    def fit(self) -> SystematicFit:
        # a viewer solves one problem many times, with other priors of bodies
        known = _FITS.setdefault(self.problem, {})
        key = self.theta.tobytes(), self.estimated.tobytes(), self.clip, tuple(self.removed.items())
        if key not in known:
            known.clear()
            known[key] = SystematicFit.of(self.problem, self.theta, self.estimated, self.clip, self.removed)
        return known[key]


def _priors(problem: InverseDynamics, estimated: np.ndarray) -> tuple[tuple[int, Normal], ...]:
    """Number among the estimated columns, and the prior that the user gave."""
    place = {int(column): k for k, column in enumerate(estimated)}
    given = ((problem.base.index(name), normal) for name, normal in problem.priors.items())
    return tuple((place[column], normal) for column, normal in given if column in place)


def _noise(problem: InverseDynamics) -> Vector:
    """(n,) `SystematicFit.noise`."""
    squares, count = np.zeros(len(problem.robot.equations)), 0
    for part in problem.parts:
        decimation = part.signals.decimation
        passed = 1.0 if decimation is None else PASSBAND / decimation.factor
        squares = squares + passed * len(part) * torque_noise(part.joint_side(0, len(part))[3]) ** 2
        count += len(part)
    return np.sqrt(squares / max(count, 1))


def torque_noise(tau: JointSamples) -> Vector:
    """(n,) standard deviation of white noise of torques (T, n), which are NaN where not read."""

    def coarse(x: Vector) -> float:
        return float(np.linalg.norm(np.diff(x, 3))) / np.sqrt(20 * max(len(x) - 3, 1))

    columns = (column[np.isfinite(column)] for column in tau.T)
    # a coarse resolution repeats most readings
    return np.array([white_noise(x) or coarse(x) for x in columns])
