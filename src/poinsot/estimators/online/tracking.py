"""A filter's run over recordings as an estimate: last belief, one-step predictions, rejected samples.

The memory of a run is bounded: every s-th sample is kept, and when these are too many every 2 s-th.

**Publishing**, for a controller (Foster et al. 2024, Sect. IV-B). A published body moves towards the estimate by pi + s
(pi_hat - pi), with the largest s <= 1 within all rate limits. Possible bodies are a convex set, so published bodies are
always possible.

**Excitation** over the last seconds: which mass properties the motion determines, such as only the mass. With A the
information of the recent samples (exponentially forgotten) and U the root of the covariance of a body that is known to
a factor of 1 +- 1 (`Belief.unit`), the posterior covariance of such a body from these samples alone is

    cov = U (U^T A U + 1)^-1 U^T

The ratio of its variances to those of U U^T is near 0 where the motion excites a quantity, near 1 where it does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg

from ...accuracy import CAREFUL, Accuracy
from ...arrays import Bool, Vector
from ...diagnosis import diagnose_tracking
from ...diagnosis.tracking import FilterRun, RunUncertainty, TrackedMotion
from ...estimate import (
    NARROWED,
    Diagnosis,
    Direction,
    Estimate,
    EstimatedParameters,
    Finding,
    Fit,
    Provenance,
    Status,
    Uncertainty,
    fit_of,
)
from ...estimate.extras import Extra, MainNumber, extras_of
from ...exceptions import InvalidMethod, NotIdentifiable
from ...inertia.parameters import is_consistent
from ...models.robot.open_parameters import body_of
from ...parameters import INERTIAL_UNITS, columns_of
from ...solve import ProgressCallback, Stop, report, stop_requested
from .belief import NO_SAMPLES, Belief, Bias, Innovation, RecordedSample, Sample, SampleVerdict

if TYPE_CHECKING:
    from .filter import Filter
    from .problem import TrackingProblem


@dataclass(frozen=True)
class RateLimit:
    """Largest rates of change of published bodies; None: no limit.

    Args:
        mass: [kg/s]. first_moment: of each component [kg m/s]. inertia: of each component [kg m^2/s].
    """

    mass: float | None = 3.0
    first_moment: float | None = None
    inertia: float | None = None

    def __post_init__(self) -> None:
        for name, rate in vars(self).items():
            if rate is not None and not rate > 0:
                raise InvalidMethod(f"the rate of {name} must be above 0, or None for no limit, not {rate:g}")

    def next(self, published: np.ndarray, estimate: np.ndarray, dt: float) -> np.ndarray:
        """(k, 10) bodies to publish `dt` seconds after `published`, from those now estimated."""
        rates = [np.inf if rate is None else rate for rate in (self.mass, self.first_moment, self.inertia)]
        limits = dt * np.repeat(rates, [1, 3, 6])
        change = estimate - published
        # a controller must never receive NaN, even if the filter returns it
        if not np.isfinite(change).all():
            return published
        # 0 / 0 where nothing changed
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(np.abs(change) > limits, limits / np.abs(change), 1.0)
        # one factor for all ten: with several, bodies would leave the line between two possible ones
        return published + part.min(axis=-1, keepdims=True) * change


@dataclass(frozen=True, eq=False)
class LinkExcitation:
    """Which mass properties of one open body the last seconds determine.

    Args:
        link: name of the link.
        mass_std: [kg]. center_of_mass_std: (3,) [m]. inertia_std: (3,) of Ixx, Iyy, Izz about the origin [kg m^2].
        mass, center_of_mass, inertia: whether they are known; the last two are (3,) booleans.
    """

    link: str
    mass_std: float
    center_of_mass_std: Vector
    inertia_std: Vector
    mass: bool
    center_of_mass: Bool[np.ndarray, "3"]
    inertia: Bool[np.ndarray, "3"]

    def __str__(self) -> str:
        def which(names: str, known: np.ndarray) -> str:
            return (
                " ".join(name for name, yes in zip(names.split(), known, strict=True) if yes) or "not at all"
            )

        return (
            f"{self.link}: mass {'known' if self.mass else 'not known'}, centre of mass "
            f"{which('x y z', self.center_of_mass)}, inertia {which('xx yy zz', self.inertia)}"
        )


def excitation(filter_: Filter, belief: Belief, known: float = 0.1) -> tuple[LinkExcitation, ...]:
    """Which mass properties of each open body the last `memory_s` seconds determine.

    Args:
        known: a quantity is known when its standard deviation is below this part of that for a body that is known to a
            factor of 1 +- 1 [1].
    """
    U = belief.unit
    # the 1 is the information of a body that is known to a factor of 1 +- 1: the inverse exists at rest too
    after = U @ np.linalg.inv(U.T @ belief.information @ U + np.eye(len(U))) @ U.T
    before = U @ U.T
    links = []
    for k, (link, pi, D) in enumerate(
        zip(filter_.torques.links, filter_.inertial(belief.x), filter_.jacobian(belief.x), strict=True)
    ):
        ten = slice(10 * k, 10 * k + 10)
        # rows: m, c = h / m, Ixx, Iyy, Izz
        G = np.zeros((7, 10))
        G[0, 0] = 1
        G[1:4, 1:4], G[1:4, 0] = np.eye(3) / pi[0], -pi[1:4] / pi[0] ** 2
        G[4, 4] = G[5, 6] = G[6, 9] = 1
        G = G @ D
        variance, before_variance = (np.einsum("ij,jk,ik->i", G, C[ten, ten], G) for C in (after, before))
        # rounding may leave a variance of -1e-20
        std, is_known = np.sqrt(np.maximum(variance, 0.0)), variance < known**2 * before_variance
        links.append(
            LinkExcitation(
                link, float(std[0]), std[1:4], std[4:], bool(is_known[0]), is_known[1:4], is_known[4:]
            )
        )
    return tuple(links)


MAX_KEPT = 4096
"""Samples that a run keeps at most; at least half as many of a long one."""
MAX_REJECTIONS = 1000
"""Stretches of rejected samples that a run keeps at most."""
SAMPLES_PER_REPORT = 50
"""Samples between two calls of `progress`."""


@dataclass(frozen=True, eq=False)
class Tracked:
    """The state of a run after a sample.

    Args:
        time: of the sample [s]. recording: name of its recording. innovation: the sample's innovation and verdict.
        bodies: (k, 10) pi as estimated. published: (k, 10) with the rate limit. mass_std: (k,) [kg].
        sample: the sample itself. predicted_from: (k, 10) the bodies before it, which predict its efforts.
    """

    time: float
    recording: str
    innovation: Innovation
    bodies: np.ndarray
    published: np.ndarray
    mass_std: Vector
    sample: Sample
    predicted_from: np.ndarray


@dataclass(frozen=True)
class Rejection:
    """Consecutive samples that were not used, for one reason.

    Args:
        recording: name of their recording. start_s, stop_s: times of the first and the last one [s].
    """

    verdict: SampleVerdict
    recording: str
    start_s: float
    stop_s: float
    samples: int


@dataclass(frozen=True, eq=False)
class LinkChange:
    """Difference of a body from its prior.

    Args:
        mass, mass_std: [kg].
        center_of_mass: (3,) centre of the added mass [m]; None where that mass is below two standard deviations.
    """

    body: str
    mass: float
    mass_std: float
    center_of_mass: Vector | None

    def __str__(self) -> str:
        place = self.center_of_mass
        where = "" if place is None else f", centre of the change at {', '.join(f'{x:.3f}' for x in place)} m"
        return f"{self.body}: {self.mass:+.4g} +- {self.mass_std:.2g} kg from its prior mass{where}"


@dataclass(frozen=True, eq=False)
class TrackingRun(Extra):
    """The run of a filter that led to an estimate.

    Args:
        filter: the filter. start, belief: its first and its last belief.
        samples: number of processed samples. verdicts: number of samples by verdict.
        rejections: intervals of rejected samples. history: states during the run, evenly spaced.
        calibration: calibration before the run; None: there was none.
        changes: differences of the open bodies from their priors.
    """

    key = "tracking"

    filter: Filter
    start: Belief
    belief: Belief
    samples: int
    verdicts: Mapping[SampleVerdict, int]
    rejections: tuple[Rejection, ...]
    history: tuple[Tracked, ...]
    calibration: Bias | None
    changes: tuple[LinkChange, ...]

    @property
    def excitation(self) -> tuple[LinkExcitation, ...]:
        """Which mass properties of each open body the last seconds determine."""
        return excitation(self.filter, self.belief)

    @property
    def used(self) -> int:
        """Number of accepted samples."""
        return self.verdicts.get(SampleVerdict.accepted, 0)

    def as_json(self) -> dict[str, Any]:
        """What `poinsot.track/1` has beside `poinsot.identify/1`."""
        counts = {verdict.name: count for verdict, count in self.verdicts.items()}
        return {
            "changes": self.changes,
            "samples": {"heard": self.samples, **counts},
            "rejections": [
                vars(rejection) | {"verdict": rejection.verdict.name, "reason": rejection.verdict.value}
                for rejection in self.rejections
            ],
            "noise": self.filter.noise,
            "bias": self.filter.bias,
            "calibration_samples": 0 if self.calibration is None else self.calibration.samples,
            "shown": self.excitation,
            "estimates": [
                {
                    "time": state.time,
                    "recording": state.recording,
                    "verdict": state.innovation.verdict.name,
                    "mass": state.bodies[:, 0],
                    "mass_std": state.mass_std,
                    "published_mass": state.published[:, 0],
                }
                for state in self.history
            ],
        }

    def main_numbers(self) -> tuple[MainNumber, ...]:
        return (
            tuple(
                MainNumber(f"Mass of {change.body}", float(state[0]), change.mass_std, "kg")
                for change, state in zip(self.changes, self.history[-1].bodies, strict=True)
            )
            if self.history
            else ()
        )

    def found(self) -> str:
        return " ".join(f"{number}." for number in self.main_numbers()[:3])

    def as_text(self) -> str:
        """Changes of the open bodies, what the last seconds determine, and how many samples were not used, and why."""
        lines = [*map(str, self.changes), *(f"from the last seconds: {link}" for link in self.excitation)]
        lines += [
            f"{count} of {self.samples} samples not used: {verdict.value}"
            for verdict, count in Counter(self.verdicts).most_common()
            if verdict is not SampleVerdict.accepted
        ]
        return "\n".join(lines)


class Tracker:
    """Runs a filter over samples and keeps what its estimate needs.

    Args:
        filter_: the filter.
        limit: limit of the rate of change of published bodies; None: none.
        belief: initial belief; None: the filter's.
        calibration: calibration before the run, for the record.
    """

    def __init__(
        self,
        filter_: Filter,
        limit: RateLimit | None = None,
        belief: Belief | None = None,
        calibration: Bias | None = None,
    ):
        self.filter = filter_
        self.limit = limit or RateLimit(None)
        self.belief = filter_.init() if belief is None else belief
        self.start = self.belief
        self.calibration = calibration
        self.published = filter_.inertial(self.belief.x)
        self.verdicts: Counter[SampleVerdict] = Counter()
        self.rejections: list[Rejection] = []
        self.kept: list[Tracked] = []
        self.samples = 0
        self.rows = 0
        self._stride, self._rejected_at = 1, -2

    def update(self, sample: Sample, recording: str = "", time: float | None = None) -> Tracked:
        """Process one sample of a recording, by name; `time`: on the recording's clock [s]; None: the sample's."""
        filter_, before = self.filter, self.belief
        self.belief, innovation = filter_.step(before, sample)
        bodies = filter_.inertial(self.belief.x)
        elapsed = self.belief.time - before.time
        # no time step before the first sample, and none for a late one
        if np.isfinite(elapsed) and elapsed > 0:
            self.published = self.limit.next(self.published, bodies, elapsed)
        by_x = filter_.jacobian(self.belief.x)[:, 0]
        roots = np.einsum("kc, kcd -> kd", by_x, self.belief.root.reshape(*by_x.shape, -1))
        tracked = Tracked(
            sample.time if time is None else time,
            recording,
            innovation,
            bodies,
            self.published,
            np.linalg.norm(roots, axis=1),
            sample,
            filter_.inertial(before.x),
        )
        self._keep(tracked)
        return tracked

    def run(
        self,
        samples: Iterable[RecordedSample],
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
        process: Callable[[RecordedSample], object] | None = None,
    ) -> bool:
        """Process samples until there are no more, or `stop` returns True; return whether all were processed.

        Args:
            process: called for each sample in place of `update`; it must call `update`, and may publish the result.
        """
        process = process or (lambda some: self.update(some.sample, some.recording, some.time))
        for recorded in samples:
            if stop_requested(stop):
                return False
            process(recorded)
            # reporting progress costs more than a sample
            if self.samples % SAMPLES_PER_REPORT == 0:
                bodies = zip(self.filter.torques.links, self.filter.inertial(self.belief.x), strict=True)
                masses = ", ".join(f"{link} {pi[0]:.3g} kg" for link, pi in bodies)
                report(progress, recorded.recording or "filtering", detail=f"{recorded.time:.1f} s, {masses}")
        return True

    def excitation(self) -> tuple[LinkExcitation, ...]:
        """Which mass properties of each open body the last seconds determine."""
        return excitation(self.filter, self.belief)

    def _keep(self, tracked: Tracked) -> None:
        verdict = tracked.innovation.verdict
        self.verdicts[verdict] += 1
        if verdict is SampleVerdict.accepted:
            self.rows += tracked.innovation.rows
        else:
            self._keep_rejection(verdict, tracked)
        if self.samples % self._stride == 0:
            self.kept.append(tracked)
            if len(self.kept) == MAX_KEPT:
                # drop every other one, and keep only every other one from now on: memory is bounded
                self.kept, self._stride = self.kept[::2], 2 * self._stride
        self.samples += 1

    def _keep_rejection(self, verdict: SampleVerdict, tracked: Tracked) -> None:
        last = self.rejections[-1] if self.rejections else None
        if (
            last is not None
            and last.verdict is verdict
            and last.recording == tracked.recording
            # the sample before was rejected too: the same interval
            and self._rejected_at == self.samples - 1
        ):
            self.rejections[-1] = replace(last, stop_s=tracked.time, samples=last.samples + 1)
        elif len(self.rejections) < MAX_REJECTIONS:
            self.rejections.append(Rejection(verdict, tracked.recording, tracked.time, tracked.time, 1))
        self._rejected_at = self.samples

    def estimate(
        self,
        *,
        status: Status = Status.solved,
        problem: TrackingProblem | None = None,
        inherited: Sequence[Finding] = (),
        **provenance: Any,
    ) -> Estimate:
        """The present belief as an estimate.

        Its condition number is that of B^-1 U: of the whitened Jacobian, with rows of prior and process noise, in
        coordinates in which the bodies are initially known to a factor of 1 +- 1.

        Args:
            status: how the run ended. problem: problem whose samples were processed; None: there is none.
            inherited: errors found where the known robot was identified.
            provenance: fields of the estimate's `Provenance`.

        Raises:
            NotIdentifiable: if no sample was used.
        """
        if not self.verdicts[SampleVerdict.accepted]:
            reasons = "; ".join(f"{count} {verdict.value}" for verdict, count in self.verdicts.items())
            raise NotIdentifiable(
                f"no sample could be used ({reasons}): check units and columns, and noise and gate"
                if reasons
                else NO_SAMPLES
            )
        filter_, belief = self.filter, self.belief
        links, torques = filter_.torques.links, filter_.torques
        # physical covariance to first order: dpi/dx is taken at the end
        bodies, jacobian = filter_.inertial(belief.x), linalg.block_diag(*filter_.jacobian(belief.x))
        root = jacobian @ belief.root
        covariance = root @ root.T
        std = np.sqrt(np.diag(covariance))
        prior = np.linalg.norm(jacobian @ self.start.root, axis=1)
        known = std < NARROWED * prior
        # of B^-1 U and not of the covariance: that would be its square
        whitened = np.linalg.solve(belief.root, belief.unit)
        names = columns_of(links)
        undetermined = tuple(
            Direction(name, "unexcited") for name, is_known in zip(names, known, strict=True) if not is_known
        )
        body_parameters = tuple(
            body_of(torques.robot, at, pi, covariance[rows, rows], torques.described[k])
            for k, (pi, at) in enumerate(zip(bodies, torques.open_bodies.tolist(), strict=True))
            for rows in [slice(10 * k, 10 * k + 10)]
        )
        run = TrackingRun(
            filter_, self.start, belief, self.samples, dict(self.verdicts), tuple(self.rejections),
            tuple(self.kept), self.calibration, tuple(map(_change, links, bodies, torques.described, std[::10])),
        )  # fmt: skip
        accuracy = CAREFUL if problem is None else problem.accuracy
        return Estimate(
            method=filter_.name,
            robot=torques.robot.name,
            described=torques.robot.described,
            parameters=EstimatedParameters(
                names=names,
                units=INERTIAL_UNITS * len(links),
                owners=tuple(np.repeat(links, 10).tolist()),
                kinds=("inertia",) * len(names),
                groupings=names,
                values=bodies.ravel(),
                identifiable=known,
                uncertainty=Uncertainty(
                    covariance,
                    systematic=RunUncertainty(partial(examined_run, run, bodies, std, prior, accuracy)),
                ),
            ),
            status=Status.partly if status is Status.solved and undetermined else status,
            condition_number=float(np.linalg.cond(whitened)),
            scaled_condition_number=float(np.linalg.cond(whitened / np.linalg.norm(whitened, axis=0))),
            rows=self.rows,
            fit=self._fit(),
            bodies=body_parameters,
            undetermined=undetermined,
            extras=extras_of(run),
            problem=problem,
            examiner=partial(examine, problem, tuple(inherited)),
            provenance=Provenance(
                citations=filter_.citations,
                notes=(*filter_.torques.robot.notes, *provenance.pop("notes", ())),
                **provenance,
            ),
        )

    def _fit(self) -> Fit:
        """Fit of efforts predicted one step ahead, over kept samples; missing and untrusted readings are excluded."""
        robot = self.filter.torques.robot
        own = robot.equations
        predicted = np.array([self._predicted(t) for t in self.kept])
        finite = np.isfinite(predicted).all(axis=1)
        rows = [t for t, yes in zip(self.kept, finite, strict=True) if yes]
        return fit_of(
            np.array([t.time for t in rows]),
            robot.effort_names,
            tuple(robot.effort_units[k] for k in own),
            np.array([t.sample.readings for t in rows])[:, own],
            predicted[finite][:, own],
            speeds=np.array([t.sample.v for t in rows])[:, own],
            counts=list(Counter(t.recording for t in rows).values()),
            recording="one step ahead",
        )

    def _predicted(self, tracked: Tracked) -> Vector:
        """(n,) efforts predicted before the update with the sample."""
        sample = tracked.sample
        Y, known = self.filter.torques(sample.q, sample.v, sample.a, sample.wrenches)
        return known + self.filter.bias + Y @ tracked.predicted_from.ravel()


def published_line(tracked: Tracked, tracker: Tracker) -> dict[str, Any]:
    """One line for a consumer: published and estimated bodies, their uncertainty, and their excitation.

    `parameters` are ten of the model, from `first_parameter` on in the order of `Articulated.parameters`: the published
    body, and beside it what the base parameters of other bodies leave at its place.
    """
    excitations, torques = tracker.excitation(), tracker.filter.torques
    model = tracked.published + torques.known[torques.open_bodies]
    return {
        "time": tracked.time,
        "recording": tracked.recording,
        "verdict": tracked.innovation.verdict.name,
        "bodies": [
            {
                "name": link.link,
                "inertial": published,
                "first_parameter": 10 * int(body),
                "parameters": parameters,
                "mass": published[0],
                "estimated_mass": pi[0],
                "mass_std": std,
                "shown": {"mass": link.mass, "center_of_mass": link.center_of_mass, "inertia": link.inertia},
            }
            for link, published, body, parameters, pi, std in zip(
                excitations,
                tracked.published,
                torques.open_bodies,
                model,
                tracked.bodies,
                tracked.mass_std,
                strict=True,
            )
        ],
    }


def _change(link: str, pi: Vector, prior: Vector, mass_std: float) -> LinkChange:
    added = pi - prior
    # the centre of mass of what was added is a quotient, which means nothing where its mass is noise
    is_significant = abs(added[0]) > 2 * mass_std
    return LinkChange(
        link, float(added[0]), float(mass_std), added[1:4] / added[0] if is_significant else None
    )


def examine(problem: TrackingProblem | None, inherited: tuple[Finding, ...], estimate: Estimate) -> Diagnosis:
    """Findings about the run of a filter."""
    errors = estimate.parameters.uncertainty.systematic
    assert isinstance(errors, RunUncertainty)
    return diagnose_tracking(
        estimate, errors.run, None if problem is None else problem.as_recorded, inherited
    )


def examined_run(
    run: TrackingRun, bodies: np.ndarray, std: Vector, prior: Vector, accuracy: Accuracy
) -> FilterRun:
    """The run as its checks use it; `bodies`, `std`, `prior`: as of `FilterRun`."""
    torques, gate = run.filter.torques, run.filter.gate
    kept = [t for t in run.history if np.isfinite(t.sample.q).all()]
    q, v, a = (np.array([getattr(t.sample, name) for t in kept]) for name in "qva")
    time = np.array([t.sample.time for t in kept])
    accepted = np.array([t.innovation.verdict is SampleVerdict.accepted for t in kept])
    squares = np.array([t.innovation.square / max(t.innovation.rows, 1) for t in kept])
    rejections = time[~accepted]
    rejected = sum(run.verdicts.get(verdict, 0) for verdict in (SampleVerdict.gated, SampleVerdict.reopened))
    motion = TrackedMotion(
        time,
        tuple(k for k, t in enumerate(kept) if k == 0 or t.recording != kept[k - 1].recording),
        *(q, v, a),
        np.array([t.sample.readings for t in kept]) - run.filter.bias,
        np.array([torques.outside(t.sample.wrenches) for t in kept]),
    )
    return FilterRun(
        torques,
        motion,
        rejections[np.diff(rejections, prepend=-np.inf) > run.filter.memory_s],
        np.where(accepted, squares, np.nan),
        rejected / max(run.samples, 1),
        1.0 if gate is None else 1 - gate.confidence,
        *(bodies, std, prior),
        bool(np.all(is_consistent(bodies))),
        accuracy,
    )
