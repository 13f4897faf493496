"""Checks of an estimate of motion and parameters: assumed noise and priors against residuals and posteriors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..arrays import Vector
from ..estimate import Estimate, Finding, Severity, Unchecked, motions_of
from ..estimate.motions import ContactChange, SensorFit
from ..statistics import sum_variance
from .cause import Cause
from .check import Check
from .effects.efforts import GAIN
from .explanations import severity_of

STATED = Cause(
    "stated-noise",
    "Residuals are larger or smaller than the stated noise.",
    'Check frame, axes and clock of the named sensor, state its noise, or write process_noise = "auto" in [method].',
)
SURPRISE = Cause(
    "prior-surprise",
    "The data make the prior improbable.",
    "Correct the prior, or the noise levels and the model that contradict it.",
)
LASTING = Cause(
    "correlated-residuals",
    "Residuals of a sensor are correlated in time: it has a bias, drift, delay or misalignment that is not modelled.",
    "Calibrate the sensor and its frame, or state a noise level that also covers the sum of its residuals.",
)
SCHEDULE = Cause(
    "contact-schedule",
    "By the readings, a contact closes or opens at another time than its channel states, or its channel misses it.",
    'Correct the channel and its clock, or write contact_schedule = "estimated" in [method].',
)
ASSUMED = Cause(
    "assumed-noise",
    "A value depends on an assumed noise level by more than its interval, or readings contradict the level.",
    'Measure the named noise, or write process_noise = "auto" in [method].',
)


@dataclass(frozen=True, eq=False)
class Assumptions:
    """Assumptions of an estimate, and the data's agreement with them.

    Args:
        estimate: estimate with the motions. chi_square: of all residuals, per degree of freedom.
        surprises: prior -> distance of its posterior in the prior's standard deviations.
        distance, priors: squared distance of all priors together, and their number.
        moves: noise level and factor on it -> (b,) change of the values.
        likelier: disturbance -> factor of a step towards its maximum-likelihood level, and number of observable values.
        unchecked: quantities assumed exact.
        events: contact events estimated from readings. corrected: whether the estimate uses them.
        effort_scale: relative change of recorded efforts that the readings ask for, and its standard deviation; None:
            not known.
    """

    estimate: Estimate
    chi_square: float
    surprises: Mapping[str, float] = field(default_factory=dict)
    distance: float = 0.0
    priors: int = 0
    moves: Mapping[tuple[str, float], Vector] = field(default_factory=dict)
    likelier: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    unchecked: tuple[Unchecked, ...] = ()
    events: tuple[ContactChange, ...] = ()
    corrected: bool = False
    estimated: frozenset[str] = frozenset()
    effort_scale: tuple[float, float] | None = None


class StatedNoise(Check):
    """Residuals against the stated noise.

    Class variables:
        warning, error: root mean square in stated standard deviations.
        doubtful: chi-square per degree of freedom, or one over it.
    """

    warning, error = 1.5, 5.0
    doubtful = 1.5

    causes = (STATED,)

    def look(self, case: Assumptions) -> Iterator[Finding | Unchecked]:
        yield from case.unchecked
        chi = case.chi_square
        if not 1 / self.doubtful <= chi <= self.doubtful:
            wider = f"or the model is incomplete; standard deviations are widened by {np.sqrt(chi):.2g}"
            doubt = f"noisier than stated, {wider}" if chi > 1 else "less noisy than stated"
            message = f"Residuals have a chi-square of {chi:.2g} per degree of freedom: sensors are {doubt}."
            yield STATED.finding(Severity.warning, message, evidence=abs(np.log(chi)))
        for motion in motions_of(case.estimate):
            sizes = [
                (f"Residuals of {fit.name}", fit.name, fit.rms)
                for fit in motion.sensors
                if _quantity(fit) not in case.estimated
            ]
            if not case.estimated:
                sizes += [(f"Disturbances of {name}", name, rms) for name, rms in motion.disturbance.items()]
            for what, name, rms in sizes:
                if rms > self.warning:
                    message = f"{what} in {motion.name} are {rms:.2g} times as large as the noise stated."
                    yield STATED.finding(severity_of(rms, self.warning, self.error), message, "", name, rms)


class CorrelatedResiduals(Check):
    """Sums of residuals over time against those of white noise as stated.

    Class variables:
        warning: factor between their standard deviations, after standard deviations were widened.
        least: least number of readings for the test.
    """

    warning = 2.0
    least = 40

    causes = (LASTING,)

    def look(self, case: Assumptions) -> Iterator[Finding | Unchecked]:
        widened = max(1.0, np.sqrt(case.chi_square))
        for motion in motions_of(case.estimate):
            for fit in motion.sensors:
                read = [e[np.isfinite(e)] for e in fit.normalized.T]
                sizes = [np.sqrt(sum_variance(e) / len(e)) if len(e) >= self.least else 0.0 for e in read]
                k = int(np.argmax(sizes))
                if sizes[k] > self.warning * widened:
                    # where levels are estimated, intervals are those of blocks of residuals
                    is_included = _quantity(fit) in case.estimated
                    result = "include it" if is_included else "may be too short by as much"
                    message = (
                        f"Residuals of {fit.components[k]} in {motion.name} are correlated: their sum is "
                        f"{sizes[k]:.2g} times that of white noise as stated; intervals {result}."
                    )
                    severity = Severity.note if is_included else Severity.warning
                    yield LASTING.finding(severity, message, "", fit.name, float(sizes[k]))


class ScheduledContacts(Check):
    """Times at which contacts close and open against those of their channels.

    Class variables:
        apart: smallest difference that is a contradiction [s]: a foot takes some milliseconds to come to rest.
        most: largest number of events named in a message.
    """

    apart = 0.01
    most = 3

    causes = (SCHEDULE,)

    def look(self, case: Assumptions) -> Iterator[Finding | Unchecked]:
        if all(event.given is None for event in case.events):
            return  # no channel says when contacts close
        # an event without a gain was seen in the motion
        wrong = [event for event in case.events if not event.gain <= 0 and _apart(event) > self.apart]
        for frame in dict.fromkeys(event.frame for event in wrong):
            own = sorted(
                (event for event in wrong if event.frame == frame),
                key=lambda event: -np.nan_to_num(event.gain),
            )
            message = ", ".join(_event_text(event) for event in own[: self.most])
            more = f", and {len(own) - self.most} more events" if len(own) > self.most else ""
            done = "; the estimate uses these times" if case.corrected else ""
            message = f"By the readings of {own[0].recording}, {frame} {message}{more}{done}."
            severity = Severity.note if case.corrected else Severity.warning
            yield SCHEDULE.finding(severity, message, "", frame, float(np.nan_to_num(own[0].gain)))


def _apart(event: ContactChange) -> float:
    if event.time is None or event.given is None:
        return float("inf")
    return abs(event.time - event.given)


def _event_text(event: ContactChange) -> str:
    what = "closes" if event.closes else "opens"
    if event.time is None:
        return f"does not {what[:-1]} at {event.given:.3f} s as its channel says"
    what = f"{what} at {event.time:.3f} s"
    if event.given is None:
        return f"{what}, which its channel lacks"
    late = 1e3 * (event.given - event.time)
    return f"{what}, {abs(late):.0f} ms {'before' if late > 0 else 'after'} its channel"


class EffortScale(Check):
    """Recorded efforts against those that links of known mass need to move as they did.

    Class variables:
        significant: standard deviations. matters: relative change below which nobody would correct a torque.
    """

    significant = 4.0
    matters = 0.02

    causes = (GAIN,)

    def look(self, case: Assumptions) -> Iterator[Finding | Unchecked]:
        change, std = case.effort_scale or (0.0, 0.0)
        if abs(change) > max(self.significant * std, self.matters):
            message = (
                f"Links of known mass move as if efforts were {1 + change:.3f} +- {1.96 * std:.2g} times those that "
                f"were recorded, and estimated masses are off by at least as much. If so, write scale = "
                f"{1 + change:.3f} in the recording's torque."
            )
            yield GAIN.finding(Severity.error, message, "", "all efforts", abs(change) / std)


class PriorSurprise(Check):
    """Posterior means against their priors.

    Class variables:
        warning, error: distance of a single posterior, in the prior's standard deviations.
        chance: probability of the distance of all together.
    """

    warning, error = 3.0, 5.0
    chance = 1e-4

    causes = (SURPRISE,)

    def look(self, case: Assumptions) -> Iterator[Finding | Unchecked]:
        from scipy.special import chdtrc  # SciPy is slow to import

        for name, away in case.surprises.items():
            if abs(away) > self.warning:
                severity = severity_of(abs(away), self.warning, self.error)
                message = (
                    f"{name} is {abs(away):.2g} standard deviations of its prior away from the prior's mean."
                )
                yield SURPRISE.finding(severity, message, "", name, abs(away))
        if case.priors and (p := chdtrc(case.priors, case.distance)) < self.chance:
            rms = float(np.sqrt(case.distance / case.priors))
            message = f"All priors are {rms:.2g} standard deviations away (rms of {case.priors}): a chance of {p:.1g}."
            yield SURPRISE.finding(Severity.warning, message, evidence=rms)


class AssumedNoise(Check):
    """Values that are determined by an assumed noise level, not by the data.

    Class variables:
        warning, error: changes with another level, in half-widths of the 95 % interval: two consistent estimates from
            the same readings differ by less than a width (Hausman 1978).
        large: part of the value, or of the body's mass and largest moment, from which a change is an error.
        significant: standard deviations of a chi-square by which process noise must miss its maximum-likelihood level.
        too_small: factor on the level from which that is an error.
        confirmed: factor within which residuals of a sensor agree with its level, which then counts as measured.
    """

    warning, error = 2.0, 4.0
    large = 0.3
    significant = 4.0
    too_small = 2.0
    confirmed = 1.5

    causes = (ASSUMED,)

    def look(self, case: Assumptions) -> Iterator[Finding | Unchecked]:
        for level, (factor, count) in case.likelier.items():
            if level in case.estimated:
                continue
            z = float((factor**2 - 1) * np.sqrt(count / 2))
            if abs(z) > self.significant:
                severity = Severity.note if factor < 1 else severity_of(factor, 1.0, self.too_small)
                message = (
                    f"By the readings, the process noise of {level} is {factor:.2g} times the assumed level, or "
                    f"further from it: intervals are {'too wide' if factor < 1 else 'too short'}."
                )
                yield ASSUMED.finding(severity, message, "", level, abs(z))
        estimate = case.estimate
        fits = [fit for motion in motions_of(estimate) for fit in motion.sensors]
        sizes = [(_quantity(fit), fit.rms) for fit in fits]
        denied = {sensor for sensor, rms in sizes if not 1 / self.confirmed <= rms <= self.confirmed}
        confirmed = {sensor for sensor, _ in sizes} - denied
        half, scales = 1.96 * estimate.std, _sizes(estimate)
        for (level, factor), move in case.moves.items():
            if level in confirmed:
                continue
            wide = np.where(estimate.identifiable & (half > 0), np.abs(move) / np.maximum(half, 1e-300), 0.0)
            matters = np.flatnonzero(wide > self.warning)
            if not len(matters):
                continue
            part = np.abs(move / scales)
            k, *others = matters[np.argsort(-part[matters])][:6].tolist()
            grave = wide.max() > self.error or part[k] > self.large
            so_do = f"; so do {', '.join(estimate.names[other] for other in others)}" if others else ""
            message = (
                f"With {factor:.2g} times the noise assumed for {level}, {estimate.names[k]} moves from "
                f"{estimate.values[k]:.3g} +- {half[k]:.2g} to {estimate.values[k] + move[k]:.3g} {estimate.units[k]}, "
                f"beyond its interval{so_do}."
            )
            yield ASSUMED.finding(
                Severity.error if grave else Severity.warning, message, "", level, float(wide.max())
            )


def _quantity(fit: SensorFit) -> str:
    """What a sensor reads."""
    return fit.channels[0].partition(".")[0]


def _sizes(estimate: Estimate) -> Vector:
    """(b,) sizes to which changes of the values are compared."""
    sizes = np.abs(estimate.values)
    for first in range(0, estimate.kinds.count("inertia"), 10):
        pi = sizes[first : first + 10]
        moment = pi[[4, 6, 9]].max()
        # first moments and products have no size of their own
        pi[1:4], pi[[5, 7, 8]] = np.sqrt(pi[0] * moment), moment
    return np.maximum(sizes, 1e-300)


ASSUMPTION_CHECKS: tuple[Check, ...] = (
    ScheduledContacts(),
    EffortScale(),
    StatedNoise(),
    CorrelatedResiduals(),
    PriorSurprise(),
    AssumedNoise(),
)
