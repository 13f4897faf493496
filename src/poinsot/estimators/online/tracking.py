"""A filter's whole run as an estimate: what it believes at the end, what it predicted on the way, what it rejected.

What a run keeps does not grow with its length: every s-th sample, and when those are too many every 2 s-th.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from ...arrays import Vector
from ...estimate import NARROWED, Direction, Estimate, EstimatedParameters, Fit, Provenance, Status
from ...estimate.fit import fit_of
from ...exceptions import NotIdentifiable
from ...models.bodies import body_of
from ...parameters import INERTIAL_UNITS, columns_of
from .belief import Belief, Innovation, Sample, SampleVerdict
from .filter import Filter
from .observability import LinkExcitation, excitation
from .publishing import RateLimit

KEPT = 4096
"""Samples that a run keeps at most; at least half as many of a long one."""
SPANS = 1000
"""Stretches of rejected samples that it keeps."""


@dataclass(frozen=True, eq=False)
class Tracked:
    """What a filter says after a sample.

    Args:
        time: of the sample [s]. recording: that it is from.
        innovation: what became of it.
        bodies: (k, 10) pi as estimated. published: (k, 10) as a controller is told.
        mass_std: (k,) [kg].
        sample: what was heard. expected: (k, 10) the bodies with which its efforts were predicted.
    """

    time: float
    recording: str
    innovation: Innovation
    bodies: np.ndarray
    published: np.ndarray
    mass_std: Vector
    sample: Sample
    expected: np.ndarray


@dataclass(frozen=True)
class Rejection:
    """Samples in a row that were not used, for one reason.

    Args:
        recording: that they are from. start_s, stop_s: times of the first and the last one [s].
    """

    verdict: SampleVerdict
    recording: str
    start_s: float
    stop_s: float
    samples: int


class Tracker:
    """Runs a filter over samples and keeps what its estimate needs.

    Args:
        filter_: that hears them.
        limit: on what is published.
        belief: to begin with; None: what the filter begins with.
    """

    def __init__(self, filter_: Filter, limit: RateLimit | None = None, belief: Belief | None = None):
        self.filter = filter_
        self.limit = limit or RateLimit(None)
        self.belief = filter_.init() if belief is None else belief
        self.start = self.belief
        self.published = filter_.inertial(self.belief.x)
        self.verdicts: Counter[SampleVerdict] = Counter()
        self.rejections: list[Rejection] = []
        self.kept: list[Tracked] = []
        self.samples = 0
        self._stride, self._rejected_at = 1, -2

    def hear(self, sample: Sample, recording: str = "", time: float | None = None) -> Tracked:
        """One more sample.

        Args:
            recording: that it is from. time: what to call its time; None: its own.
        """
        filter_, before = self.filter, self.belief
        self.belief, innovation = filter_.step(before, sample)
        bodies = filter_.inertial(self.belief.x)
        elapsed = self.belief.time - before.time
        if np.isfinite(elapsed) and elapsed > 0:
            self.published = self.limit.next(self.published, bodies, elapsed)
        tracked = Tracked(
            sample.time if time is None else time,
            recording,
            innovation,
            bodies,
            self.published,
            self._mass_std(),
            sample,
            filter_.inertial(before.x),
        )
        self._keep(tracked)
        return tracked

    def excitation(self) -> tuple[LinkExcitation, ...]:
        """What the last seconds showed of each open body."""
        return excitation(self.filter, self.belief)

    def _mass_std(self) -> Vector:
        d = self.filter.jacobian(self.belief.x)[:, 0]
        roots = [d[k] @ self.belief.root[10 * k : 10 * k + 10] for k in range(len(d))]
        return np.linalg.norm(roots, axis=1)

    def _keep(self, tracked: Tracked) -> None:
        verdict = tracked.innovation.verdict
        self.verdicts[verdict] += 1
        if verdict is not SampleVerdict.accepted:
            self._keep_rejection(verdict, tracked)
        if self.samples % self._stride == 0:
            self.kept.append(tracked)
            if len(self.kept) == KEPT:
                self.kept, self._stride = self.kept[::2], 2 * self._stride
        self.samples += 1

    def _keep_rejection(self, verdict: SampleVerdict, tracked: Tracked) -> None:
        last = self.rejections[-1] if self.rejections else None
        if (
            last is not None
            and last.verdict is verdict
            and last.recording == tracked.recording
            and self._rejected_at == self.samples - 1
        ):
            self.rejections[-1] = replace(last, stop_s=tracked.time, samples=last.samples + 1)
        elif len(self.rejections) < SPANS:
            self.rejections.append(Rejection(verdict, tracked.recording, tracked.time, tracked.time, 1))
        self._rejected_at = self.samples

    # -- the estimate --------------------------------------------------------------------------------------------------

    def estimate(self, *, status: Status = Status.solved, **provenance: Any) -> Estimate:
        """What the filter believes now.

        Args:
            status: how the run ended. provenance: entries of `Provenance`, by name.

        Raises:
            NotIdentifiable: if no sample was used.
        """
        if not self.verdicts[SampleVerdict.accepted]:
            raise NotIdentifiable(_nothing_used(self.verdicts))
        filter_, belief = self.filter, self.belief
        links, torques = filter_.torques.links, filter_.torques
        bodies, slope = filter_.inertial(belief.x), linalg.block_diag(*filter_.jacobian(belief.x))
        covariance = slope @ belief.covariance @ slope.T
        std = np.sqrt(np.diag(covariance))
        at_first = np.linalg.norm(slope @ self.start.root, axis=1)
        known = std < NARROWED * at_first
        information = belief.unit.T @ np.linalg.inv(belief.covariance) @ belief.unit
        scale = 1 / np.sqrt(np.diag(information))
        names = columns_of(links)
        undetermined = tuple(
            Direction(name, "unexcited") for name, seen in zip(names, known, strict=True) if not seen
        )
        fit = self._fit()
        prior = torques.described
        return Estimate(
            method=filter_.name,
            robot=torques.robot.name,
            parameters=EstimatedParameters(
                names=names,
                units=INERTIAL_UNITS * len(links),
                owners=tuple(np.repeat(links, 10).tolist()),
                kinds=("inertia",) * len(names),
                groupings=names,
                values=bodies.ravel(),
                covariance=covariance,
                std_kind="white",
                identifiable=known,
                white_std=std,
                coloured_std=std,
            ),
            status=Status.partly if status is Status.solved and undetermined else status,
            condition_number=float(np.linalg.cond(information)),
            scaled_condition_number=float(np.linalg.cond(information * np.outer(scale, scale))),
            rows=self.verdicts[SampleVerdict.accepted] * torques.robot.model.nv,
            fit=fit,
            bodies=tuple(
                body_of(torques.robot, at, pi, covariance[rows, rows], prior[k])
                for k, (pi, at) in enumerate(zip(bodies, torques.open_bodies.tolist(), strict=True))
                for rows in [slice(10 * k, 10 * k + 10)]
            ),
            undetermined=undetermined,
            iterations=self.verdicts[SampleVerdict.accepted],
            provenance=Provenance(citations=filter_.citations, **provenance),
        )

    def _fit(self) -> Fit:
        """One step ahead; efforts that were not measured are as predicted."""
        robot = self.filter.torques.robot
        of_kept = np.array([self._predicted(t) for t in self.kept])
        finite = np.isfinite(of_kept).all(axis=1)
        rows, predicted = [t for t, yes in zip(self.kept, finite, strict=True) if yes], of_kept[finite]
        measured = np.array([t.sample.tau for t in rows])
        return fit_of(
            np.array([t.time for t in rows]),
            robot.effort_names,
            robot.effort_units,
            np.where(np.isfinite(measured), measured, predicted),
            predicted,
            speeds=np.array([t.sample.v for t in rows]),
            counts=[len(rows)],
            recording="one step ahead",
        )

    def _predicted(self, tracked: Tracked) -> Vector:
        """(n,) efforts that were expected before the sample was used."""
        sample = tracked.sample
        Y, known = self.filter.torques(sample.q, sample.v, sample.a, sample.wrenches)
        return known + self.filter.bias + Y @ tracked.expected.ravel()


@dataclass(frozen=True, eq=False)
class LinkChange:
    """How a body differs from what it was known as.

    Args:
        mass, mass_std: [kg].
        center_of_mass: (3,) of what was added [m]; None where that is not known.
    """

    body: str
    mass: float
    mass_std: float
    center_of_mass: Vector | None


def changes(estimate: Estimate) -> tuple[LinkChange, ...]:
    """Of every body of a tracker's estimate."""
    found = []
    for body_, std in zip(estimate.bodies, estimate.std[::10].tolist(), strict=True):
        assert body_.inertial is not None
        assert body_.prior is not None
        added = body_.inertial - body_.prior
        seen = abs(added[0]) > 2 * std
        found.append(LinkChange(body_.name, float(added[0]), std, added[1:4] / added[0] if seen else None))
    return tuple(found)


NOTHING_HEARD = (
    "there was no sample to hear: the recording is shorter than a window, or than the calibration, or has gaps "
    "throughout; look at window_s, calibrate_s and the clock"
)


def _nothing_used(verdicts: Mapping[SampleVerdict, int]) -> str:
    if not verdicts:
        return NOTHING_HEARD
    reasons = "; ".join(f"{count} {verdict.value}" for verdict, count in verdicts.items())
    return f"no sample could be used ({reasons}): look at units and columns, and at noise and gate"
