"""Errors of the laboratory in leg odometry, as columns of its innovations.

Errors of readings that the filter does not know, d in standard deviations of their prior, move the mean of its error by
M d. With the slopes F, G of a step and H, K of its update, u the errors of the inertial readings and y those of the
feet in the unit's frame, for d of 1,

    M- = F M + G u,    Z = H M- + R y,    M = M- - K Z,    and M_d = M_p - R y of a foot that touches down

Innovations in their standard deviations, L^-1 z with S = L L^T, are independent in time where the model holds.
`EffectFit` estimates d from them by the columns L^-1 Z, names what they show, and the rest widens the covariance.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...accuracy import Accuracy
from ...arrays import JointSamples, Matrix, Vector
from ...diagnosis.cause import Cause
from ...diagnosis.channels import Sign, SwappedChannels
from ...diagnosis.check import Check
from ...diagnosis.effect_fit import EffectFit
from ...diagnosis.effects.effect import Effect, EffectColumn
from ...diagnosis.effects.geometry import CLOCK, DEGREE, DESCRIPTION, UNIT_GAIN, ZERO
from ...diagnosis.prediction import SystematicEffects
from ...estimate import Finding, Severity, Unchecked
from ...estimate.uncertainty import raised
from ...exceptions import listing
from ...models.rotations import skew
from ...quantities import XYZ

if TYPE_CHECKING:
    from .leg_odometry import LegOdometryProblem, StepSlopes

UNIT = Cause(
    "misaligned-unit",
    "The inertial unit is turned against its frame in the description.",
    "Correct the orientation of its frame in the description.",
)
LATE = Cause(
    "encoder-delay",
    "Encoders were recorded later (or earlier) than the inertial unit.",
    "Record all sensors with one clock, or write the delay in [preprocessing].",
)

MOST_ROWS = 4000
"""Neighbouring innovations are added up beyond so many."""

Places = list[tuple[str, float]]
"""Where an effect may be, and its standard deviation there, in the effect's unit."""


@dataclass(frozen=True)
class Walker:
    """What effects need of a robot: its joints, which of them turn, and its feet."""

    joints: tuple[str, ...]
    turning: tuple[bool, ...]
    feet: tuple[str, ...]


class OdometryEffect(Effect):
    """An effect on the readings of leg odometry."""

    by_place: ClassVar[int] = 1

    def columns(self, at: Any) -> Iterator[EffectColumn]:
        """None: all effects are computed together, step by step."""
        return iter(())

    @abstractmethod
    def places(self, robot: Walker, accuracy: Accuracy) -> Places: ...

    @abstractmethod
    def errors(self, step: StepSlopes, sizes: Vector) -> tuple[np.ndarray, np.ndarray]:
        """(6, k) of the inertial readings and (F, 3, k) of the feet, k = by_place for each place of this size."""


class EncoderZero(OdometryEffect):
    name, cause, unit = "zero", ZERO, "deg"
    sentence = "The zero of joint {joint} is off by {size}"
    unchecked = "the zero of joint {joint}"

    def places(self, robot: Walker, accuracy: Accuracy) -> Places:
        size = accuracy.of("zero_deg")
        return [
            (joint, size if turns else 0.0) for joint, turns in zip(robot.joints, robot.turning, strict=True)
        ]

    def errors(self, step: StepSlopes, sizes: Vector) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((6, len(sizes))), step.sample.slopes * DEGREE * sizes


class EncoderDelay(OdometryEffect):
    name, cause, unit = "delay", LATE, "ms"
    sentence = "Encoders are {size} late against the inertial unit"
    unchecked = "the delay of encoders against the inertial unit"

    def places(self, robot: Walker, accuracy: Accuracy) -> Places:
        return [("", accuracy.of("delay_ms"))]

    def errors(self, step: StepSlopes, sizes: Vector) -> tuple[np.ndarray, np.ndarray]:
        # of a foot that stands, by the unit: differences of readings have the noise of the innovation
        velocity = -np.cross(step.inertial[:3], step.sample.feet) - step.velocity @ step.R
        return np.zeros((6, 1)), -1e-3 * sizes * velocity[:, :, None]


class UnitTurned(OdometryEffect):
    name, cause, unit = "unit", UNIT, "deg"
    sentence = "The inertial unit is turned by {size} against the description"
    unchecked = "the orientation of the inertial unit"
    by_place = 3

    def places(self, robot: Walker, accuracy: Accuracy) -> Places:
        return [("", accuracy.of("unit_deg"))]

    def errors(self, step: StepSlopes, sizes: Vector) -> tuple[np.ndarray, np.ndarray]:
        turned = [np.cross(np.eye(3), half).T for half in (step.inertial[:3], step.inertial[3:])]
        return DEGREE * sizes * np.concatenate(turned), np.zeros((*step.sample.feet.shape, 3))


class UnitScale(OdometryEffect):
    name, cause, place = "unit scale", UNIT_GAIN, ""
    sentence = "The scale of {joint} is off by {size}"
    unchecked = "the scale of {joint}"

    def places(self, robot: Walker, accuracy: Accuracy) -> Places:
        size = accuracy.of("unit_gain_percent")
        return [(f"{sensor} {axis}", size) for sensor in ("gyro", "accelerometer") for axis in XYZ]

    def errors(self, step: StepSlopes, sizes: Vector) -> tuple[np.ndarray, np.ndarray]:
        return np.diag(0.01 * sizes * step.inertial), np.zeros((*step.sample.feet.shape, 6))


class FootPlace(OdometryEffect):
    name, cause, unit, place = "length", DESCRIPTION, "mm", "foot"
    sentence = "The place of {joint} in its link differs by {size} from the description"
    unchecked = "the geometry: the place of {joint} in its link"
    by_place, together = 3, True

    def places(self, robot: Walker, accuracy: Accuracy) -> Places:
        return [(foot, accuracy.of("length_mm")) for foot in robot.feet]

    def errors(self, step: StepSlopes, sizes: Vector) -> tuple[np.ndarray, np.ndarray]:
        F = len(sizes)
        moved = np.zeros((F, 3, F, 3))
        moved[np.arange(F), :, np.arange(F)] = 1e-3 * sizes[:, None, None] * step.sample.rotations
        return np.zeros((6, 3 * F)), moved.reshape(F, 3, 3 * F)


class OdometryClock(OdometryEffect):
    """Where a second of the clock lasts longer, turns grow with it, and displacements with its square."""

    name, cause = "clock", CLOCK
    sentence = "The clock is off by {size}"
    unchecked = "the rate of the clock"

    def places(self, robot: Walker, accuracy: Accuracy) -> Places:
        return [("", accuracy.of("clock_percent"))]

    def errors(self, step: StepSlopes, sizes: Vector) -> tuple[np.ndarray, np.ndarray]:
        w, a = np.split(step.inertial, 2)
        moving = a + step.R.T @ step.gravity
        return 0.01 * sizes * np.append(w, 2 * moving)[:, None], np.zeros((*step.sample.feet.shape, 1))


SLIP = Cause(
    "contact-slip",
    "A foot moves while its contact channel says that it stands: it slips, or the channel is late or stays.",
    "Compare the channel with the readings of the foot; the filter places such a foot anew.",
)


@dataclass(frozen=True, eq=False)
class Slips:
    """How often each foot was placed anew though it was not lifted, and the part of its readings that was rejected."""

    feet: tuple[str, ...]
    count: np.ndarray
    rejected: Vector


class SlippingFeet(Check):
    """Feet that the filter placed anew: so many rejections in a row do not occur by chance.

    Class variables:
        most: part of a foot's readings that may be rejected; with more the others carry the estimate.
    """

    most = 0.1
    causes = (SLIP,)

    def look(self, case: Slips) -> Iterator[Finding | Unchecked]:
        slipped = np.flatnonzero(case.count)
        if len(slipped):
            worst = slipped[np.argmax(case.rejected[slipped])]
            part = float(case.rejected[worst])
            feet = listing([case.feet[k] for k in slipped.tolist()], 8)
            yield SLIP.finding(
                Severity.warning if part > self.most else Severity.note,
                f"{feet} moved {case.count.sum()} times while contact channels say that they stand; "
                f"{100 * part:.2g} % of the readings of {case.feet[worst]} were rejected.",
                where=case.feet[worst],
                evidence=100 * part,
            )


EFFECTS: tuple[OdometryEffect, ...] = (
    EncoderZero(),
    EncoderDelay(),
    UnitTurned(),
    UnitScale(),
    FootPlace(),
    OdometryClock(),
)
CAUSES = tuple(effect.cause for effect in EFFECTS)


@dataclass(frozen=True, eq=False, kw_only=True)
class OdometryFit(EffectFit):
    """Effects in the innovations of a run.

    Args:
        M: (d, K) errors of the belief at its end for effects of a standard deviation. std: (d,) of the belief.
    """

    M: Matrix
    std: Vector

    @property
    def of_belief(self) -> Matrix:
        """(d, d) covariance of the belief's error by effects: what remains of them, and what is not removed."""
        variance, C = self.posterior
        d = self.joint[0]
        return np.asarray(self.M @ (raised(C, variance) + np.outer(d, d)) @ self.M.T)

    def moved(self, place: slice) -> float:
        change = np.abs(self.M[:, place]) * np.sqrt(self.posterior[0][place])
        return float(
            np.max(change / np.maximum(self.std, 1e-300)[:, None], where=self.std[:, None] > 0, initial=0.0)
        )


class OdometryErrors:
    """Collects innovations and their columns, step by step.

    Args:
        robot, accuracy: which effects there may be, and how large. steps: about as many will come.
    """

    def __init__(self, robot: Walker, accuracy: Accuracy, steps: int):
        listed = [(effect, effect.places(robot, accuracy)) for effect in EFFECTS]
        self.listed = [(effect, its) for effect, its in listed if any(size for _, size in its)]
        self.sizes = [np.array([size for _, size in its]) for _, its in self.listed]
        self.K = sum(effect.by_place * len(its) for effect, its in self.listed)
        self.F, self.every, self.count = len(robot.feet), -(-steps // MOST_ROWS), 0
        self.M = np.zeros((15 + 3 * self.F, self.K))
        self.rows: list[np.ndarray] = []

    def add(self, step: StepSlopes, before: tuple[np.ndarray, ...], now: tuple[np.ndarray, ...]) -> None:
        """`before`, `now`: places, slopes and orientations of the feet as of `OdometrySample`, without noise."""
        if not self.count:
            # feet that stand at the start, where the unit was turned by less
            dt = step.sample.time - step.last.time
            R = step.R @ (np.eye(3) - dt * skew(step.inertial[:3]))
            self.M[9:-6] = -self._errors(replace(step, R=R), before)[1].reshape(-1, self.K)
        u, y = self._errors(step, now)
        M = step.F @ self.M + step.G @ u
        M[rows_of(step.dropped)] = 0.0
        if self.count % self.every == 0:
            self.rows.append(np.zeros((3 * self.F, 1 + self.K)))
        self.count += 1
        if len(step.used):
            shift = step.H @ M + y[step.used].reshape(-1, self.K)
            white = np.linalg.solve(np.linalg.cholesky(step.S), np.column_stack([step.z, shift]))
            # sums of neighbours over the root of their number: white noise keeps its variance
            self.rows[-1][rows_of(step.used) - 9] += white / np.sqrt(self.every)
            M -= step.K @ shift
        if len(step.new):
            M[rows_of(step.new)] = np.tile(M[6:9], (len(step.new), 1)) - y[step.new].reshape(-1, self.K)
        self.M = M

    def _errors(self, step: StepSlopes, legs: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
        """(6, K) of the inertial readings, and (F, 3, K) of the feet, in the world."""
        places, slopes, rotations = legs
        step = replace(step, sample=replace(step.sample, feet=places, slopes=slopes, rotations=rotations))
        pairs = [effect.errors(step, its) for (effect, _), its in zip(self.listed, self.sizes, strict=True)]
        feet = np.nan_to_num(np.concatenate([feet for _, feet in pairs], axis=2))
        return np.concatenate([inertial for inertial, _ in pairs], axis=1), step.R @ feet

    def fit(self, covariance: Matrix) -> OdometryFit | None:
        """The fit; None where the laboratory is exact, or there are fewer innovations than effects.

        `covariance`: (d, d) of the belief at the end.
        """
        if not self.K or len(self.rows) < self.K:
            return None
        rows = np.array(self.rows)
        places = [(effect, *place) for effect, its in self.listed for place in its]
        edges = 1 + np.cumsum([0, *(effect.by_place for effect, _, _ in places)])
        columns = tuple(
            EffectColumn(effect, place, rows[:, :, first:last], size)
            for (effect, place, size), (first, last) in zip(places, pairwise(edges.tolist()), strict=True)
        )
        return OdometryFit(
            W=np.zeros((*rows.shape[:2], 0)),
            y=rows[:, :, 0],
            theta=np.zeros(0),
            columns=columns,
            counts=(len(rows),),
            noise=np.ones(rows.shape[1]),
            apart=True,
            M=self.M,
            std=np.sqrt(np.diag(covariance)),
        )


class OdometryEffects(SystematicEffects):
    """Effects that the innovations show, and the size that others may have."""

    causes = CAUSES

    def look(self, case: Any) -> Iterator[Finding | Unchecked]:
        for named in case.named:
            yield self._finding(case, named)
        yield from self._unchecked(case)


def rows_of(feet: np.ndarray) -> np.ndarray:
    """(3 f,) rows of xi_d of these feet in a covariance."""
    return (9 + 3 * feet[:, None] + np.arange(3)).ravel()


class LegChannels(Check):
    """Signs and order of encoders, by feet that stand: the distance between two of them does not change.

    Class variables:
        lag_s: over which distances are compared [s]. most: pairs of times.
        above: times the variance by the noise stated, from which something is wrong. better: part of the squares above
            the noise that a right order or sign leaves, in times that did not choose it.
        alike: ratio of squares within which two changes explain alike. blocks: of the times, one after the other.
    """

    lag_s, most, blocks = 0.1, 500, 8
    above, better, alike = 4.0, 0.5, 1.25
    causes = (Sign.cause, SwappedChannels.cause)

    def __init__(self, position_noise: float, foot_walk: float):
        self.position_noise, self.foot_walk = position_noise, foot_walk

    def look(self, case: LegOdometryProblem) -> Iterator[Finding | Unchecked]:
        recording, joints = case.recording, case.robot.joints
        closed = case.contacts.schedule(recording).closed
        lag = max(round(self.lag_s * recording.rate_hz), 1)
        standing = np.asarray(np.lib.stride_tricks.sliding_window_view(closed, lag + 1, axis=0).all(axis=2))
        first = np.flatnonzero(standing.sum(axis=1) > 1)
        first = first[:: -(-len(first) // self.most) or 1]
        if len(first) < self.blocks:
            return
        standing, encoders = standing[first], case.filled_encoders
        encoders = np.concatenate([encoders[first], encoders[first + lag]])
        odd = self.blocks * np.arange(len(first)) // len(first) % 2

        def changes(q: JointSamples) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            """Changes of distances between feet that stand, their variance by the noise stated, and their half."""
            (y, J, _), _ = case.legs(q)
            found, variances, half = [], [], []
            for i, j in combinations(range(y.shape[1]), 2):
                both = standing[:, i] & standing[:, j]
                away = y[:, i] - y[:, j]
                distance = np.linalg.norm(away, axis=1)
                slope = np.einsum("tx, txn -> tn", away / distance[:, None], J[:, i] - J[:, j])
                noise = np.sum(slope**2, axis=1).reshape(2, -1).sum(axis=0) * self.position_noise**2
                found.append(np.diff(distance.reshape(2, -1), axis=0)[0, both])
                variances.append(noise[both] + 2 * self.foot_walk**2 * lag / recording.rate_hz)
                half.append(odd[both])
            return np.concatenate(found), np.concatenate(variances), np.concatenate(half)

        def halves(q: JointSamples) -> Vector:
            """(2,) mean squares over their variance, in the even and in the odd blocks of times."""
            d, variance, half = changes(q)
            return np.bincount(half, d**2 / variance, 2) / np.maximum(np.bincount(half, minlength=2), 1)

        declared = halves(encoders)
        if not np.all(declared > self.above):
            return
        tried: list[tuple[Cause, str, np.ndarray]] = []
        for k, joint in enumerate(joints):
            tried.append((Sign.cause, joint, encoders * np.where(np.arange(len(joints)) == k, -1, 1)))
        for i, j in combinations(range(len(joints)), 2):
            order = np.arange(len(joints))
            order[[i, j]] = j, i
            tried.append((SwappedChannels.cause, f"{joints[i]}, {joints[j]}", encoders[:, order]))
        left = np.array([halves(q) for _, _, q in tried])
        best = int(np.argmin(left.sum(axis=1)))
        near = left.sum(axis=1) < self.alike * left[best].sum()
        # the best of one half must explain the other, where no other change explains it alike
        explains = np.all(left[best] - 1 < self.better * (declared - 1)) and np.ptp(left.argmin(axis=0)) == 0
        if explains and near.sum() == 1:
            cause, where, _ = tried[best]
            how = "negated" if cause is Sign.cause else "exchanged"
            remains = float(left[best].sum() / declared.sum())
            yield cause.finding(
                Severity.error,
                f"Distances between feet that stand change by {np.sqrt(remains):.2g} times as much where the "
                f"position of {where} is {how}.",
                where=where,
                evidence=1e3 / max(remains, 1e-9),
            )
