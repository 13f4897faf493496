"""The smoothing problem: records of a discrete model, with the parameters to be estimated from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Brief, Matrix, Vector
from ...exceptions import InvalidMethod, InvalidSignals, check_known, listing
from ...models.maximal import Mechanism, Model
from ...parameters import Normal
from ...recording import Recording
from ...solve.dense import step_in_box
from .records import Record, with_own_zeros, with_sensors
from .results import RecordFit

STILL = 5.0
"""Multiple of a sensor's noise: readings with a smaller spread contain no motion."""


@dataclass(frozen=True, eq=False)
class BoundedParameters:
    """Initial guess of theta, its estimated components, bounds and priors.

    Args:
        theta: (p,) initial guess.
        open: (q,) indices in theta of the parameters that are estimated.
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

    def step(self, theta: Vector, corner: Matrix, damping: Vector) -> Vector:
        """(q,) step of the open parameters from theta (p,) in their bounds; `corner` (q, q + 1) is S_bar and g_bar."""
        room = ((bound - theta)[self.open] for bound in (self.lower, self.upper))
        S = corner[:, :-1] + np.diag(damping + self.prior_weight)
        return step_in_box(S, corner[:, -1] + self.prior_gradient(theta), *room)

    def prior_decrease(self, theta: Vector, d: Vector) -> float:
        """Decrease of `prior_cost` by a step d (q,) from theta (p,)."""
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


@dataclass(frozen=True, eq=False, repr=False)
class JointSmoothingProblem(Brief):
    """Records of one model, with the parameters that are estimated beside their states.

    Args:
        model: model with p free parameters, theta.
        records: at least one; they share theta.
        theta: (p,) initial guess; None: the mechanism's values.
        open: names of the free parameters that are estimated, the others are held; None: all.
        lower, upper: bounds by name, in addition to those of the model.
        priors: priors by name; those of parameters that are not open have no effect.
        guess: initial guess of the states of each record, such as another fit's; None: filtered readings.
        held_out: records only for validation.

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
    held_out: Sequence[Record] = ()

    def __post_init__(self) -> None:
        if not self.records:
            raise InvalidSignals("there is no record to fit; give at least one record")
        lengths = [len(record.times) for record in self.records]
        if self.guess is not None and lengths != [len(fit.times) for fit in self.guess]:
            raise InvalidMethod(
                "the initial guesses of states do not fit these records; give one per record, of the same length"
            )
        _ = self.parameters

    @classmethod
    def from_recordings(
        cls,
        mechanism: Mechanism,
        recordings: Sequence[Recording] | Mapping[str, Recording],
        parameters: Sequence[str],
        *,
        held_out: Sequence[Recording] | Mapping[str, Recording] = (),
        step_s: float | None = None,
        per_recording: Sequence[str] = (),
        **known: Any,
    ) -> JointSmoothingProblem:
        """From recordings with channels `position.<joint>`, `velocity.<joint>`, and commands of motors.

        Args:
            mechanism: mechanism; without sensors it gets an encoder or a rate sensor for each such channel.
            recordings: recordings to estimate from, optionally by name. held_out: recordings only for validation.
            parameters: names of the parameters that are estimated.
            step_s: time step of the model, a multiple of the recordings' interval [s]; None: one sample.
            per_recording: zeros of sensors, as `"elbow encoder.zero"`, that are estimated for each recording. A
                held-out recording uses the sensors of the first one.
            known: `priors`, `lower` and `upper`.

        Raises:
            InvalidMethod, InvalidSignals, InvalidModel: if a recording or a name does not fit the mechanism.
        """
        used, validation = _named(recordings, "recording"), _named(held_out, "held-out recording")
        if not mechanism.sensors:
            mechanism = with_sensors(mechanism, (*used.values(), *validation.values()))
        if per_recording:
            names = tuple(used)
            mechanism = with_own_zeros(mechanism, per_recording, names)

            def own_names(name: str) -> list[str]:
                if name not in per_recording:
                    return [name]
                return [f"{name.removesuffix('.zero')} in {recording}.zero" for recording in names]

            parameters = [own_name for name in parameters for own_name in own_names(name)]
            known = {
                key: {own_name: value for name, value in named.items() for own_name in own_names(name)}
                for key, named in known.items()
            }
        first = next(iter(used), None)
        records = (
            tuple(
                Record.from_recording(mechanism, recording, name, step_s, read_as)
                for name, recording in group.items()
            )
            for group, read_as in ((used, None), (validation, first))
        )
        if not parameters:
            raise InvalidMethod("there is no parameter to estimate; name at least one")
        for name in (name for names in known.values() for name in names):
            if name not in parameters:
                raise InvalidMethod(
                    f"{name!r} has a prior or a bound but is not estimated; add it to the parameters"
                )
        return cls(mechanism.model(parameters), next(records), held_out=next(records), **known)

    @cached_property
    def parameters(self) -> BoundedParameters:
        """Initial guess, bounds and priors as arrays."""
        model, free = self.model, self.model.free
        theta = np.array(model.theta if self.theta is None else self.theta, dtype=float)
        if theta.shape != (len(free),) or not np.isfinite(theta).all():
            raise InvalidMethod(f"theta needs {len(free)} finite numbers: {listing(free, 40)}")
        open_ = free if self.open is None else self.open
        places = np.array([self.place(name) for name in open_], dtype=int)
        if len(again := np.flatnonzero(np.bincount(places) > 1)):
            raise InvalidMethod(f"{free[again[0]]!r} is named twice; name each parameter once")
        # the model's own bounds limit values to meaningful ones, such as a mass above 0
        lower, upper = model.lower.copy(), np.full(len(free), np.inf)
        for bounds, given in ((lower, self.lower), (upper, self.upper)):
            for name, bound in given.items():
                bounds[self.place(name)] = bound
        outside = places[~((lower <= theta) & (theta <= upper))[places]]
        if len(outside):
            raise InvalidMethod(
                f"the guess of {free[int(outside[0])]!r} is outside its bounds; change either"
            )
        mean, weight = np.zeros(len(free)), np.zeros(len(free))
        for name, prior in self.priors.items():
            mean[self.place(name)], weight[self.place(name)] = prior.mean, 1 / prior.std**2
        return BoundedParameters(theta, places, lower, upper, mean[places], weight[places])

    def held_out_by_own_zeros(self, method: Any, theta: Vector) -> tuple[Record, ...]:
        """Held-out records corrected to the sensor zeros in theta (p,): their own zeros are estimated."""
        sensors, free = self.model.mechanism.sensors, self.model.free
        mine = ((k, f"{s.label}.zero") for k, s in enumerate(sensors) if s.recording == self.records[0].name)
        zeros = {k: name for k, name in mine if name in free}
        if not zeros:
            return tuple(self.held_out)
        corrected = []
        for record in self.held_out:
            fit = method.solve(JointSmoothingProblem(self.model, [record], theta, [*zeros.values()]))
            z = record.z.copy()
            for k, name in zeros.items():
                z[:, k] -= fit.values[name] - theta[free.index(name)]
            corrected.append(replace(record, z=z))
        return tuple(corrected)

    def place(self, name: str) -> int:
        """The index of a free parameter in theta; `InvalidMethod` if there is none of this name."""
        return check_known(name, self.model.free, "no free parameter", "the model has", InvalidMethod, 40)

    def check_motion(self, noise: Vector) -> None:
        """Check that each recording shows motion beyond the noise (s,), else `InvalidSignals`."""
        for record in self.records:
            read = (column[np.isfinite(column)] for column in record.z.T)
            if all(not len(z) or np.std(z) < STILL * level for z, level in zip(read, noise, strict=True)):
                raise InvalidSignals(
                    f"nothing moves in {record.name}: no sensor's readings spread by more than {STILL:g} times its "
                    "noise; record a motion, or state a smaller noise if it is one"
                )


def _named(recordings: Sequence[Recording] | Mapping[str, Recording], word: str) -> Mapping[str, Recording]:
    if isinstance(recordings, Mapping):
        return recordings
    return {f"{word} {k + 1}": recording for k, recording in enumerate(recordings)}
