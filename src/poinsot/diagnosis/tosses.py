"""Bodies that are tossed in space: gravity, geometry, and the prediction of tosses that were left out.

In flight a body accelerates by gravity. Where that contradicts 9.81 m/s^2 by more than a careful laboratory gets
lengths and clock wrong, one of both is wrong; acceleration alone cannot say which.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..estimate import NORMAL_95, Diagnosis, Estimate, Finding, Severity, Unchecked
from ..estimate.estimate import unfinished
from ..estimate.finding import ordered
from .throws import OF_THROWS

if TYPE_CHECKING:
    from ..estimate.fit import Fit


@dataclass(frozen=True)
class Surveyed:
    """How well a laboratory knows the scene: standard deviations of gravity's ratio, of the floor's height [m] and tilt
    [rad], and of places in the body [m].
    """

    gravity: float
    height: float
    tilt: float
    point: float


class TossChecks:
    """Checks of tosses, and their thresholds.

    Class variables:
        far: standard deviations of what is surveyed, with its own, beyond which it is contradicted.
        much, worse: error of tosses that were left out, in percent, above which it is an error; and its ratio to the
            error of those that were fitted, above `floor` percent, above which it is a warning.
    """

    far = NORMAL_95
    much, worse, floor = 30.0, 1.7, 5.0

    def look(self, estimate: Estimate, surveyed: Surveyed) -> Iterator[Finding | Unchecked]:
        yield from self._gravity(estimate, surveyed)
        yield from self._geometry(estimate, surveyed)
        yield from self._left_out(estimate)
        yield Unchecked("air drag", "it is taken for zero; on dense bodies it acts by less than a percent")

    def _contradicts(self, estimate: Estimate, name: str, expected: float, std: float) -> float:
        """Error in standard deviations of both; 0 where it is within `far`."""
        k = estimate.names.index(name)
        off = abs(float(estimate.values[k]) - expected) / float(np.hypot(std, estimate.std[k]))
        return off if off > self.far else 0.0

    def _gravity(self, estimate: Estimate, surveyed: Surveyed) -> Iterator[Finding]:
        if not (off := self._contradicts(estimate, "gravity_ratio", 1.0, surveyed.gravity)):
            return
        ratio = estimate["gravity_ratio"]
        message = f"In flight bodies accelerate by {ratio:.4g} times gravity."
        for cause, where, remedy in (
            (
                "length-scale",
                "position",
                f"Write scale = {1 / ratio:.4g} in position, if the clock is right.",
            ),
            ("clock-scale", "time", f"Multiply times by {np.sqrt(ratio):.4g}, if lengths are right."),
        ):
            yield OF_THROWS[cause].finding(Severity.error, message, remedy, where, off)

    def _geometry(self, estimate: Estimate, surveyed: Surveyed) -> Iterator[Finding]:
        of_point = (
            "tracked-point",
            surveyed.point,
            1e3,
            "The tracked point is {:+.3g} mm from the center of mass",
        )
        of_tilt = ("wall", surveyed.tilt, 180 / np.pi, "The plane is tilted by {:+.3g} degrees")
        of_height = ("wall", surveyed.height, 1e3, "The plane is {:+.3g} mm from where it is declared")
        rows = {f"tracked_offset_{axis}": of_point for axis in "xyz"}
        rows |= {"floor_height": of_height, "floor_tilt_1": of_tilt, "floor_tilt_2": of_tilt}
        for name, (cause, std, factor, what) in rows.items():
            if off := self._contradicts(estimate, name, 0.0, std):
                message = f"{what.format(factor * estimate[name])}; the estimate contains it."
                yield OF_THROWS[cause].finding(Severity.note, message, where=name, evidence=off)

    def _left_out(self, estimate: Estimate) -> Iterator[Finding | Unchecked]:
        errors = [self._error(fit) for fit in (estimate.fit, *estimate.validation)]
        if len(errors) < 2 or not np.isfinite(errors[1]):
            yield Unchecked("prediction of tosses that were left out", "there is only one")
            return
        fitted, left_out = errors[:2]
        message = f"Jumps of the velocity in tosses that were left out are predicted with an error of {left_out:.3g} %."
        if left_out > self.much:
            yield OF_THROWS["held-out"].finding(Severity.error, message, evidence=left_out)
        elif left_out > max(self.floor, self.worse * fitted):
            yield OF_THROWS["held-out"].finding(Severity.warning, message, evidence=left_out)

    def _error(self, fit: Fit | None) -> float:
        """Root mean square error relative to the measured jumps, in percent."""
        if fit is None or not len(fit.measured):
            return float("nan")
        return float(100 * np.linalg.norm(fit.measured - fit.predicted) / np.linalg.norm(fit.measured))


def diagnose_tosses(estimate: Estimate, surveyed: Surveyed, several: bool) -> Diagnosis:
    """Findings about an estimate from tosses. `several`: whether there is more than one."""
    results = list(TossChecks().look(estimate if several else estimate.updated(validation=()), surveyed))
    findings = [*unfinished(estimate), *(result for result in results if isinstance(result, Finding))]
    return Diagnosis(ordered(findings), tuple(result for result in results if isinstance(result, Unchecked)))
