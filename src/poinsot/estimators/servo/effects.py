"""What a model of servos lacks, and errors of its description, as columns beside the parameters' sensitivities.

At the estimate, the measured positions of all joints are, to first order in changes of the parameters x and in the
sizes d of the effects, each in standard deviations of its prior,

    q - q_simulated = (dq/dx) dx + C d + e

dq/dx are the sensitivities of the rollouts. C are differences of rollouts along changed loads (masses, direction of
gravity, zeros of readings, friction), with a changed supply, or on another clock. A parameter that changes slowly moves
the position as its sensitivity does, times its change: a joint forgets within a fraction of a second. `EffectFit`
estimates x and d together, and names the effects with which it predicts parts of the recordings that it was not fitted
to. All others widen the intervals (`ServoErrors`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from ...arrays import Matrix, Vector
from ...diagnosis.effect_fit import EffectFit
from ...diagnosis.effects.effect import Effect, EffectColumn
from ...diagnosis.effects.efforts import GAIN_CHANGE
from ...diagnosis.effects.friction import MISSING, STRIBECK, WARMING
from ...diagnosis.effects.geometry import CLOCK, DEGREE, GRAVITY, ZERO
from ...diagnosis.parameters import DescribedBodies
from ...diagnosis.systematic import EffectUncertainty
from ...estimate.uncertainty import raised
from .simulated import SimulatedMotions
from .stretches import Stretches


class ServoZero(Effect):
    """A zero of a joint's readings that is not the description's, where gravity shows it."""

    name, cause, unit = "zero", ZERO, "deg"
    sentence = "The zero of joint {joint} is off by {size}"
    unchecked = "the zero of joint {joint}"

    def remedy(self) -> str:
        return "Correct the position of {joint} with offset = ..., so that it agrees with the description."

    def columns(self, at: SimulatedMotions) -> Iterator[EffectColumn]:
        problem, deg = at.problem, at.problem.accuracy.of("zero_deg")
        for place, joint, unit in zip(problem.places, problem.joints, problem.units, strict=True):
            if unit == "rad" and deg > 0:
                shift = deg * DEGREE * np.eye(len(problem.robot.joints))[place]
                yield EffectColumn(self, joint, at.changed(shift=shift)[..., None], deg)


class ServoTilt(Effect):
    """A base that is not level."""

    name, cause, unit = "tilt", GRAVITY, "deg"
    sentence = "The base is tilted by {size} against the declared gravity"
    unchecked = "the tilt of the base (direction of gravity)"

    def columns(self, at: SimulatedMotions) -> Iterator[EffectColumn]:
        right, (_, std) = at.problem.mechanics, at.problem.description_std
        size = float(np.linalg.norm(right.gravity))
        if not size > 0 or not std > 0:
            return
        across = np.linalg.svd(right.gravity[None])[2][1:]
        columns = [at.changed(replace(right, gravity=right.gravity + std * size * axis)) for axis in across]
        yield EffectColumn(self, "", np.stack(columns, axis=2), std / DEGREE)


COMMON = 0.75
"""Part of the variance of a described mass that all links share: drawings leave out the same things everywhere."""


class CommonMass(Effect):
    """Masses of all links that are not the described ones, by a common factor."""

    name, cause, unit, named = "common-mass", DescribedBodies.causes[0], "%", False
    sentence = "The masses of all links differ by {size} from those described"
    unchecked = "the described masses of all links together"

    def columns(self, at: SimulatedMotions) -> Iterator[EffectColumn]:
        right, std = at.problem.mechanics, np.sqrt(COMMON) * at.problem.description_std[0]
        if std > 0:
            heavier = replace(right, inertials=(1 + std) * right.inertials)
            yield EffectColumn(self, "", at.changed(heavier)[..., None], 100 * std)


class LinkMass(Effect):
    """Mass and centre of a link that are not the described ones, each with half of the variance of its first moment."""

    name, cause, unit = "link-mass", DescribedBodies.causes[0], "%"
    sentence = "Mass and centre of what joint {joint} carries differ by {size} from those described"
    unchecked = "the described mass of what joint {joint} carries"

    def remedy(self) -> str:
        return "Weigh the link behind {joint} with its load, and correct its inertial in the description."

    def columns(self, at: SimulatedMotions) -> Iterator[EffectColumn]:
        right, std = at.problem.mechanics, np.sqrt(1 - COMMON) * at.problem.description_std[0]
        robot = at.problem.robot
        for k, parent in enumerate(robot.body_joints):
            if not std > 0 or not right.inertials[k, 0] > 0:
                continue
            name = robot.model.names[parent]
            columns = []
            moment, centre = right.inertials[k, 1:4], np.zeros((3, 10))
            # along the direction of the centre, and across it
            size = max(float(np.linalg.norm(moment)), 1e-9) * np.array([np.sqrt(0.5), 1.0, 1.0])
            centre[:, 1:4] = size[:, None] * np.linalg.svd(moment[None])[2]
            for change in std * np.stack([np.sqrt(0.5) * right.inertials[k], *centre]):
                inertials = right.inertials.copy()
                inertials[k] += change
                columns.append(at.changed(replace(right, inertials=inertials)))
            yield EffectColumn(self, name, np.stack(columns, axis=2), 100 * std)


class ServoClock(Effect):
    """A second of the recording that lasts longer."""

    name, cause, named = "clock", CLOCK, False
    sentence = "The clock is off by {size}"
    unchecked = "the rate of the clock"

    def columns(self, at: SimulatedMotions) -> Iterator[EffectColumn]:
        percent = at.problem.accuracy.of("clock_percent")
        if percent > 0:
            joints = range(len(at.joints))
            values = at.of_joints(joints, lambda m, k: at.of_clock(m, k, percent / 100))
            yield EffectColumn(self, "", values[..., None], percent)


class GainDrift(Effect):
    """A gain that falls or grows over a recording: a supply that sags, a motor that warms."""

    name, cause, unit, together, of_model = "gain-drift", GAIN_CHANGE, "%", True, True
    sentence = "The gain of joint {joint} changes by {size} over a recording"

    def remedy(self) -> str:
        return "Record the supply as voltage = ..., or identify from the part before or after the change: between_s."

    def columns(self, at: SimulatedMotions) -> Iterator[EffectColumn]:
        part = at.problem.accuracy.of("drift_percent") / 100

        def change(m: int, k: int) -> Vector:
            supply, steps = at.strand(m, k).supply, at.motions[m].steps
            usual = np.ones(len(steps.middles)) if supply is None else supply
            drift = part * np.interp(steps.middles, steps.time, at.progress[m])
            return at.slope(lambda by: at.position(m, k, supply=usual * (1 + by * drift)))

        for k, joint in enumerate(at.joints if part > 0 else ()):
            yield EffectColumn(self, joint, at.of_joints([k], change)[..., None], 100 * part)


class FrictionDrift(Effect):
    """Dry friction that falls or grows over a recording: a gear warms."""

    name, cause, unit, together = "friction-drift", WARMING, "%", True
    sentence = "Dry friction of joint {joint} changes by {size} over a recording"

    def remedy(self) -> str:
        return "Record with a warm robot, or identify from a part with between_s."

    def columns(self, at: SimulatedMotions) -> Iterator[EffectColumn]:
        part = at.problem.accuracy.of("friction_warming_percent") / 100

        def change(m: int, k: int) -> Vector:
            place = at.group(k).coordinates.open.index("coulomb")
            slope = at.rollouts[m][k].sensitivities[:, place]
            return np.asarray(part * at.actuators[k].coulomb * at.progress[m] * slope)

        for k, joint in enumerate(at.joints if part > 0 else ()):
            if "coulomb" in at.group(k).coordinates.open:
                yield EffectColumn(self, joint, at.of_joints([k], change)[..., None], 100 * part)


class CurvedServoFriction(Effect):
    """Dry friction that rises towards standstill, or is curved with speed."""

    name, cause, named, of_model = "friction-curve", MISSING, False, True
    sentence = "Friction of joint {joint} is not viscous and Coulomb: it is off by {size}"

    def columns(self, at: SimulatedMotions) -> Iterator[EffectColumn]:
        percent = at.problem.accuracy.of("friction_curve_percent")
        top = np.max([[np.abs(each.fine_velocity).max() for each in every] for every in at.rollouts], axis=0)

        def change(m: int, k: int, curve: Callable[[Vector], Vector]) -> Vector:
            v, load = at.rollouts[m][k].fine_velocity, at.strand(m, k).load
            torque = percent / 100 * at.actuators[k].coulomb * curve(0.5 * (v[1:] + v[:-1]) / top[k])
            return at.slope(lambda by: at.position(m, k, load=replace(load, load=load.load + by * torque)))

        curves = (lambda u: np.sign(u) * np.exp(-((u / STRIBECK) ** 2)), lambda u: u * np.abs(u))
        for k, joint in enumerate(at.joints):
            if percent > 0 and top[k] > 0 and at.actuators[k].coulomb > 0:
                columns = [at.of_joints([k], partial(change, curve=curve)) for curve in curves]
                yield EffectColumn(self, joint, np.stack(columns, axis=2), percent)


DESCRIPTION_EFFECTS: tuple[Effect, ...] = (ServoTilt(), CommonMass(), LinkMass())
EFFECTS: tuple[Effect, ...] = (
    ServoZero(), *DESCRIPTION_EFFECTS, ServoClock(), GainDrift(), FrictionDrift(), CurvedServoFriction(),
)  # fmt: skip


def fit_of_effects(
    at: SimulatedMotions, left_out: np.ndarray | None = None, effects: Sequence[Effect] = EFFECTS
) -> EffectFit:
    """Parameters and effects together, at the rows (N,) that are not left out."""
    W, priors = at.sensitivities
    y = at.rows(at.regular)
    columns = [column for effect in effects for column in effect.columns(at)]
    if left_out is not None:
        W, y = W.copy(), y.copy()
        W[left_out] = y[left_out] = 0.0
        columns = [
            replace(each, values=np.where(left_out[:, None, None], 0.0, each.values)) for each in columns
        ]
    columns = [each for each in columns if each.size > 0 and np.abs(each.values).max() > 0]
    counts = tuple(len(motion.steps.time[:: at.stride]) for motion in at.motions)
    return EffectFit(W, y, None, tuple(columns), counts, at.noise, priors)


UNSEEN = 100.0
"""Standard deviations by chance over those to first order, from which the recordings do not show a coordinate."""


@dataclass(frozen=True, eq=False, repr=False)
class ServoErrors(EffectUncertainty):
    """Effects of an estimate of all groups of joints, and what they add to its intervals.

    Args:
        at: the motions. by_chance: (P, P) covariance of the coordinates of all groups. slope: (P, P) of the parameters
            by them.
    """

    at: SimulatedMotions
    by_chance: Matrix
    slope: Matrix

    @cached_property
    def stretches(self) -> Stretches:
        return Stretches(self.at)

    @cached_property
    def fit(self) -> EffectFit | None:
        """Parameters and effects at the rows that no external torque moved; None: nothing moves in the simulation."""
        if not len(self.at.shown):
            return None
        return fit_of_effects(self.at, self.stretches.result[1])

    @cached_property
    def of_coordinates(self) -> Matrix | None:
        """(P, P) covariance of the coordinates, with what is by chance; None: there are no effects."""
        if self.at.problem.accuracy.exact or (fit := self.fit) is None or not fit.columns:
            return None
        total, shown = self.by_chance.copy(), self.at.shown
        with np.errstate(all="ignore"):  # what is hardly determined overflows
            C, least = fit.covariance, np.diag(total)[shown]
            # what the recordings do not show at all says nothing about the others
            wider = raised(C, np.where(least < UNSEEN**2 * np.diag(C), least, 0.0))
            np.fill_diagonal(wider, np.maximum(np.diag(wider), least))
        if not np.isfinite(wider).all():
            return None
        total[np.ix_(shown, shown)] = wider
        return total

    @property
    def covariance(self) -> Matrix | None:
        """(P, P) covariance of the parameters; None as of `of_coordinates`."""
        C = self.of_coordinates
        return None if C is None else np.asarray(self.slope @ C @ self.slope.T)

    @cached_property
    def between_blocks_of_coordinates(self) -> Matrix | None:
        """(P, P) as `EffectFit.between_blocks`, zero for coordinates that have no effect."""
        if (C := self._finite(lambda fit: fit.between_blocks)) is None:
            return None
        whole = np.zeros_like(self.by_chance)
        whole[np.ix_(self.at.shown, self.at.shown)] = C
        return whole

    @property
    def between_blocks(self) -> Vector | None:
        """(P,) variances of the parameters of one more recording, from differences between blocks of these."""
        C = self.between_blocks_of_coordinates
        return None if C is None else np.einsum("pi, ij, pj -> p", self.slope, C, self.slope)
