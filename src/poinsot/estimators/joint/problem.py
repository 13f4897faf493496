"""Records of a discrete model with the parameters to be estimated from them: what the smoother solves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...arrays import Matrix, Vector
from ...exceptions import InvalidMethod, InvalidSignals, listing, nearest
from ...models.maximal import Model
from ...parameters import Normal
from ...solve.box import step_in_box
from .records import Record
from .results import RecordFit


@dataclass(frozen=True, eq=False)
class BoundedParameters:
    """Where theta begins, which of it is estimated, its bounds and priors.

    Args:
        theta: (p,) initial guess.
        open: (q,) places in theta of the parameters that are estimated.
        lower, upper: (p,) bounds.
        prior_mean: (q,). prior_weight: (q,) 1 / standard deviation^2; 0 without a prior.
    """

    theta: Vector
    open: np.ndarray
    lower: Vector
    upper: Vector
    prior_mean: Vector
    prior_weight: Vector

    @property
    def size(self) -> Vector:
        """(q,) magnitudes of the open parameters' initial guesses; 1 where that is 0."""
        return np.where(self.theta == 0, 1.0, np.abs(self.theta))[self.open]

    def prior_cost(self, theta: Vector) -> float:
        """Weighted squared distance of the open parameters of theta (p,) to their priors."""
        return float(self.prior_weight @ (theta[self.open] - self.prior_mean) ** 2)

    def prior_gradient(self, theta: Vector) -> Vector:
        """(q,) half of the derivative of `prior_cost`."""
        return self.prior_weight * (theta[self.open] - self.prior_mean)

    def step(self, theta: Vector, lower: Matrix, damping: Vector) -> Vector:
        """(q,) the step of the open parameters from theta (p,), within their bounds.

        Args:
            theta: where they are.
            lower: (q, q + 1) S_bar and g_bar of all records, without priors.
            damping: (q,) added to the diagonal of S_bar.

        Raises:
            numpy.linalg.LinAlgError: if S_bar is not positive definite.
        """
        room = ((bound - theta)[self.open] for bound in (self.lower, self.upper))
        S = lower[:, :-1] + np.diag(damping + self.prior_weight)
        return step_in_box(S, lower[:, -1] + self.prior_gradient(theta), *room)

    def prior_decrease(self, theta: Vector, d: Vector) -> float:
        """By how much a step d (q,) from theta (p,) lowers `prior_cost`."""
        return -float(self.prior_weight @ d**2 + 2 * self.prior_gradient(theta) @ d)

    def moved(self, theta: Vector, d: Vector) -> Vector:
        """(p,) theta after a step d (q,) of the open parameters."""
        theta, places = theta.copy(), self.open
        # rounding of the sum may leave the box by a bit
        theta[places] = np.clip(theta[places] + d, self.lower[places], self.upper[places])
        return theta

    def holds(self, theta: Vector) -> bool:
        """Whether the open parameters of theta (p,) are finite and within their bounds."""
        inside = (self.lower <= theta) & (theta <= self.upper)
        return bool(np.isfinite(theta).all() and inside[self.open].all())


@dataclass(frozen=True, eq=False)
class SmoothingProblem:
    """Records of one model, with what is estimated beside their states.

    Args:
        model: with p free parameters, theta.
        records: at least one; they share theta.
        theta: (p,) initial guess; None: the mechanism's values.
        open: names of the free parameters that are estimated, the others stay; None: all.
        lower, upper: bounds by name, beside those of the model.
        priors: by name; those of parameters that are not open have no effect.
        guess: states to begin at, one a record, such as another fit's; None: filtered readings.

    Raises:
        InvalidMethod: if a name, a bound or a number of values is wrong.
        InvalidSignals: if there is no record.
    """

    model: Model
    records: Sequence[Record]
    theta: Vector | None = None
    open: Sequence[str] | None = None
    lower: Mapping[str, float] = field(default_factory=dict)
    upper: Mapping[str, float] = field(default_factory=dict)
    priors: Mapping[str, Normal] = field(default_factory=dict)
    guess: Sequence[RecordFit] | None = None

    def __post_init__(self) -> None:
        if not self.records:
            raise InvalidSignals("there is nothing to fit; give at least one record")
        if self.guess is not None and [len(each.times) for each in self.guess] != [
            len(record.times) for record in self.records
        ]:
            raise InvalidMethod(
                "the paths to begin at are not of these records; give one of each, as long as it is"
            )
        _ = self.parameters

    @cached_property
    def parameters(self) -> BoundedParameters:
        """Initial guess, bounds and priors as arrays."""
        model, free = self.model, self.model.free
        theta = np.array(model.theta if self.theta is None else self.theta, dtype=float)
        if theta.shape != (len(free),) or not np.isfinite(theta).all():
            raise InvalidMethod(f"theta needs {len(free)} finite numbers: {listing(free, 40)}")
        places = np.array(
            [self.place(name) for name in (free if self.open is None else self.open)], dtype=int
        )
        for place in places.tolist():
            if np.sum(places == place) > 1:
                raise InvalidMethod(f"{free[place]!r} is open twice; name each parameter once")
        lower, upper = model.lower.copy(), np.full(len(free), np.inf)
        for bounds, given in ((lower, self.lower), (upper, self.upper)):
            for name, bound in given.items():
                bounds[self.place(name)] = bound
        outside = places[~((lower <= theta) & (theta <= upper))[places]]
        if len(outside):
            raise InvalidMethod(f"{free[int(outside[0])]!r} begins outside its bounds; begin within them")
        mean, weight = np.zeros(len(free)), np.zeros(len(free))
        for name, prior in self.priors.items():
            mean[self.place(name)], weight[self.place(name)] = prior.mean, 1 / prior.std**2
        return BoundedParameters(theta, places, lower, upper, mean[places], weight[places])

    def place(self, name: str) -> int:
        """The place of a free parameter in theta.

        Raises:
            InvalidMethod: if there is none of this name.
        """
        free = self.model.free
        if name not in free:
            raise InvalidMethod(
                f"no free parameter {name!r}{nearest(name, free)}; the model has {listing(free, 40)}"
            )
        return free.index(name)
