"""`track`: a filter over recordings, over a file that grows, or over standard input, sample by sample.

rows or lines -> ticks -> samples, half a window late -> calibration -> filter -> what is published
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Vector
from ..exceptions import InvalidProject, NotIdentifiable
from ..stopwatch import Stopwatch
from .interrupts import uninterrupted
from .other_jobs import KnownRobot, robot_from
from .settings.preprocessing import MovingPolynomialSettings
from .ticks import layout_of, ticks_of_lines, ticks_of_run
from .translation import by_joint

if TYPE_CHECKING:
    from ..estimate import Estimate
    from ..estimators.online.belief import Sample
    from ..estimators.online.calibration import Bias
    from ..estimators.online.differences import Tick
    from ..estimators.online.filter import Filter
    from ..estimators.online.moving_polynomial import MovingPolynomial
    from ..estimators.online.tracking import Tracked, Tracker
    from ..io.json_lines import SampleStream
    from ..models.articulated import Articulated
    from ..models.link_torques import LinkTorques
    from .job import Project
    from .methods.filter import FilterSettings

BETWEEN_RECORDINGS_S = 1.0
"""How much later a filter takes the next recording to begin: their clocks do not say."""
LEAST_CALIBRATION = 10
"""Samples by which noise is known well enough."""
SAID_EVERY = 50
"""Samples between two words about progress."""
MANY_REJECTED = 0.3

Hear = Callable[["Tracked", "Tracker"], None]
Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Tracking:
    """What a filter made of a job.

    Args:
        estimate: what it believes at the end.
        tracker: what it said on the way, and what it rejected.
        calibration: of the first seconds; None: there was none.
    """

    estimate: Estimate
    tracker: Tracker
    calibration: Bias | None


def track(
    project: Project,
    data_dir: str | Path | None = None,
    *,
    stream: str | None = None,
    follow: bool = False,
    hear: Hear | None = None,
    progress: Progress | None = None,
) -> Tracking:
    """Run the filter of a job; interrupted, it ends with what was heard until then.

    Args:
        project: with `[method] name = "filter"`.
        data_dir: folder of the recordings; None: the project file's.
        stream: file of JSON lines in place of the recordings, `-` for standard input.
        follow: whether to wait for what is still being appended to `stream`.
        hear: called with what the filter says after each sample.
        progress: called with what is being done.

    Raises:
        PoinsotError: one sentence about what to mend.
    """
    from ..estimate import Status

    method: Any = project.settings.method
    say = progress or (lambda _: None)
    watch = Stopwatch()
    known = robot_from(project, data_dir, say)
    watch.lap("robot")
    listener = _Listener(method, known, hear or (lambda *_: None), say)
    window = _window(project)
    lines = None if stream is None else _lines(stream, known.robot, follow)
    status = Status.solved
    try:
        for name, ticks in _sources(project, known.robot, data_dir, lines):
            listener.listen(name, window.samples(ticks, _configuration(known.robot)))
    except KeyboardInterrupt:
        status = Status.interrupted
    watch.lap("filter")
    warnings = listener.warnings()
    if lines is not None and lines.bad:
        warnings = (*warnings, f"{lines.bad} lines were no samples and were left out; {lines.first_bad}.")
    tracker = listener.finish()
    estimate = tracker.estimate(
        status=status,
        settings={"project": project.settings.model_dump(mode="json", exclude_unset=True)},
        steps=(*known.steps, *listener.steps),
        warnings=warnings,
        seconds=watch.seconds,
    )
    return Tracking(estimate, tracker, listener.calibration)


# -- where samples come from -------------------------------------------------------------------------------------------


def _sources(
    project: Project, robot: Articulated, data_dir: str | Path | None, lines: SampleStream | None
) -> Iterator[tuple[str, Iterable[Tick]]]:
    """Name and ticks of each recording, or of the stream."""
    if lines is not None:
        yield lines.name, ticks_of_lines(robot, lines)
        return
    if not project.settings.recordings:
        raise InvalidProject(
            f"{project.path} has no [[recordings]]: give one, or samples as they come with --stream"
        )
    for run in project.runs(robot, data_dir):
        yield run.name, ticks_of_run(robot, run)


def _lines(stream: str, robot: Articulated, follow: bool) -> SampleStream:
    from ..io.json_lines import SampleStream

    return SampleStream(stream, layout_of(robot), follow=follow)


def _window(project: Project) -> MovingPolynomial:
    from ..estimators.online.moving_polynomial import MovingPolynomial

    settings = project.settings.preprocessing
    assert isinstance(settings, MovingPolynomialSettings)
    return MovingPolynomial(settings.window_s, settings.degree, settings.sample_hz)


def _configuration(robot: Articulated) -> Callable[[Vector], Vector]:
    if robot.floating_base:
        return lambda q: q
    return lambda positions: robot.configurations(positions[None])[0]


# -- calibration, filter -----------------------------------------------------------------------------------------------


class _Listener:
    """Samples in, first into a calibration, then into a filter."""

    def __init__(self, method: FilterSettings, known: KnownRobot, hear: Hear, say: Progress):
        from ..models.link_torques import LinkTorques

        self._method, self._hear, self._say = method, hear, say
        self._torques = LinkTorques(known.robot, tuple(method.links), known.nominal, known.added)
        self._waiting: list[Sample] = []
        self._tracker: Tracker | None = None
        self._later = 0.0
        self._now = -np.inf
        self.calibration: Bias | None = None
        self.steps: tuple[str, ...] = ()
        if method.noise is not None and not method.calibrate_bias:
            self._begin()

    def listen(self, name: str, samples: Iterable[Sample]) -> None:
        """All of one recording."""
        self._later = np.nan
        for sample in samples:
            if np.isnan(self._later):
                first = not np.isfinite(self._now)
                self._later = 0.0 if first else self._now + BETWEEN_RECORDINGS_S - sample.time
            self._now = sample.time + self._later
            if self._tracker is not None:
                self._track(name, sample)
            elif self._waiting and sample.time - self._waiting[0].time >= self._method.calibrate_s:
                self._calibrate()
                self._track(name, sample)
            else:
                self._waiting.append(sample)

    def finish(self) -> Tracker:
        """
        Raises:
            NotIdentifiable: if nothing was left to hear.
        """
        if self._tracker is None and self._waiting:
            raise NotIdentifiable(
                f"the calibration wants {self._method.calibrate_s:g} s, and there were only "
                f"{self._waiting[-1].time - self._waiting[0].time:.3g} s: give a smaller calibrate_s, or noise"
            )
        if self._tracker is None:
            from ..estimators.online.tracking import NOTHING_HEARD

            raise NotIdentifiable(NOTHING_HEARD)
        return self._tracker

    def warnings(self) -> tuple[str, ...]:
        from ..estimators.online.belief import Verdict

        if self._tracker is None or not self._tracker.samples:
            return ()
        verdicts = self._tracker.verdicts
        part = 1 - verdicts[Verdict.accepted] / self._tracker.samples
        if part < MANY_REJECTED:
            return ()
        return (
            f"{100 * part:.0f} % of the samples were not used, most of them {verdicts.most_common(2)[-1][0].value}: "
            "the noise may be larger than was calibrated (noise_margin), or the robot not as it is known.",
        )

    def _track(self, name: str, sample: Sample) -> None:
        assert self._tracker is not None
        with uninterrupted():  # what was heard is published
            tracked = self._tracker.hear(replace(sample, time=sample.time + self._later), name, sample.time)
            self._hear(tracked, self._tracker)
        if self._tracker.samples % SAID_EVERY == 0:
            masses = ", ".join(
                f"{link} {pi[0]:.3g} kg" for link, pi in zip(self._torques.links, tracked.bodies, strict=True)
            )
            self._say(f"{name}: {sample.time:.1f} s, {masses}")

    def _calibrate(self) -> None:
        from ..estimators.online.calibration import calibrate_bias

        if len(self._waiting) < LEAST_CALIBRATION:
            raise NotIdentifiable(
                f"the calibration has {len(self._waiting)} samples in {self._method.calibrate_s:g} s and needs "
                f"{LEAST_CALIBRATION}: give a larger calibrate_s or sample_hz, or noise"
            )
        self.calibration = calibrate_bias(self._torques, self._waiting)
        self.steps = (
            f"noise {'and bias ' if self._method.calibrate_bias else ''}from the first "
            f"{self._method.calibrate_s:g} s, {len(self._waiting)} samples",
        )
        self._waiting = []
        self._begin()

    def _begin(self) -> None:
        from ..estimators.online.publishing import RateLimit
        from ..estimators.online.tracking import Tracker

        filter_ = build_filter(self._method, self._torques, self.calibration)
        self._tracker = Tracker(filter_, RateLimit(self._method.mass_rate))


def build_filter(method: FilterSettings, torques: LinkTorques, calibration: Bias | None) -> Filter:
    """[method] -> the filter.

    Args:
        calibration: what the first seconds said of noise and bias.
    """
    from ..estimators.online.extended import ExtendedKalmanFilter
    from ..estimators.online.gating import Gate
    from ..estimators.online.kalman import KalmanFilter
    from ..inertia import find_chart

    robot = torques.robot
    if method.noise is not None:
        given: Any = by_joint("method.noise", method.noise, robot.joints)
        noise = np.full(robot.model.nv, float(np.min(given)))
        noise[robot.actuated] = given
    else:
        assert calibration is not None
        noise = method.noise_margin * calibration.std
        # what nobody measures has no noise, and says nothing either
        noise = np.where(noise > 0, noise, noise[noise > 0].min(initial=1.0))
    common: dict[str, Any] = {
        "initial_std": method.initial_std,
        "drift": method.drift,
        "largest_std": method.largest_std,
        "gate": None if method.gate == "none" else Gate(method.gate, method.patience, method.growth),
        "bias": calibration.value if calibration is not None and method.calibrate_bias else 0.0,
        "memory_s": method.memory_s,
        "adaptive": method.adaptive,
        "iterations": method.iterations,
    }
    if method.chart == "none":
        return KalmanFilter(torques, noise, **common)
    return ExtendedKalmanFilter(torques, noise, **common, chart=find_chart(method.chart))
