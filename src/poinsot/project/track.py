"""`track`: the filter of a project file over recordings, over a file that grows, or over standard input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..exceptions import InvalidProject, NotIdentifiable
from ..stopwatch import Stopwatch
from .interrupts import uninterrupted
from .other_jobs import robot_from
from .settings.preprocessing import MovingPolynomialSettings
from .translation import by_joint

if TYPE_CHECKING:
    from ..estimate import Estimate
    from ..estimators.online.calibration import Bias
    from ..estimators.online.filter import Filter
    from ..estimators.online.problem import TrackingProblem
    from ..estimators.online.sequence import RecordedSample
    from ..estimators.online.tracking import Tracked, Tracker
    from ..io.json_lines import SampleStream
    from ..models.link_torques import LinkTorques
    from ..solve import Stop
    from .job import Project
    from .methods.filter import FilterSettings

MANY_REJECTED = 0.3
"""Fraction of samples that were not used, above which a warning says so."""

OnSample = Callable[["Tracked", "Tracker"], None]
Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Tracking:
    """The run of a project's filter.

    Args:
        estimate: after the last sample. tracker: the state of the run, and its history.
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
    on_sample: OnSample | None = None,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> Tracking:
    """Run the filter of a project; Ctrl-C, or `stop`, ends it with the samples processed until then.

    Args:
        project: with `[method] name = "filter"`.
        data_dir: folder of the recordings; None: the project file's.
        stream: file of JSON lines in place of the recordings, `-` for standard input.
        follow: whether to wait for lines that are still being appended to `stream`.
        on_sample: called after each sample.
        progress: called with one line about the state of the run.
        stop: asked before each sample whether to end.

    Raises:
        PoinsotError: one sentence about what to mend.
    """
    from ..estimate import Status
    from ..estimators.online.publishing import RateLimit
    from ..estimators.online.tracking import Tracker
    from ..models.link_torques import LinkTorques

    method: Any = project.settings.method
    say = progress or (lambda _: None)
    watch = Stopwatch()
    known = robot_from(project, data_dir, say)
    watch.lap("robot")
    torques = LinkTorques(known.robot, tuple(method.links), known.nominal, known.added)
    lines, problem = None, None
    tracker: Tracker | None = None
    status = Status.solved
    try:
        if stream is not None:
            lines = _lines(stream, torques, follow)
            calibration, samples = _stream_samples(project, method, torques, lines)
        else:
            problem = build_problem(project, method, torques, data_dir)
            calibration = problem.calibration if problem.calibrate_s > 0 else None
            samples = problem.samples()
        tracker = Tracker(
            build_filter(method, torques, calibration), RateLimit(method.mass_rate), calibration=calibration
        )

        def process(each: RecordedSample, tracker: Tracker = tracker) -> None:
            with uninterrupted():  # a sample that was processed is published
                tracked = tracker.update(each.sample, each.recording, each.time)
                if on_sample is not None:
                    on_sample(tracked, tracker)

        if not tracker.run(samples, progress=lambda it: say(str(it)), stop=stop, process=process):
            status = Status.interrupted
    except KeyboardInterrupt:
        status = Status.interrupted
    if tracker is None:
        raise NotIdentifiable("it was interrupted before the calibration had ended, and nothing is known yet")
    watch.lap("filter")
    warnings = _warnings(tracker)
    if lines is not None and lines.bad:
        warnings = (*warnings, f"{lines.bad} lines were no samples and were left out; {lines.first_bad}.")
    estimate = tracker.estimate(
        status=status,
        problem=problem,
        settings={"project": project.settings.model_dump(mode="json", exclude_unset=True)},
        steps=(*known.steps, *_steps(method, calibration)),
        warnings=warnings,
        seconds=watch.seconds,
    )
    return Tracking(estimate, tracker, calibration)


# -- samples -----------------------------------------------------------------------------------------------------------


def build_problem(
    project: Project, method: FilterSettings, torques: LinkTorques, data_dir: str | Path | None = None
) -> TrackingProblem:
    """[[recordings]], [preprocessing] and the calibration of [method] -> the problem.

    Raises:
        InvalidProject: if there are no recordings.
    """
    from ..estimators.online.problem import TrackingProblem

    if not project.settings.recordings:
        raise InvalidProject(
            f"{project.path} has no [[recordings]]: give one, or samples as they come with --stream"
        )
    runs = project.runs(torques.robot, data_dir)
    return TrackingProblem(
        torques,
        [run.recording for run in runs],
        _moving_polynomial(project),
        _calibrate_s(method),
        [run.name for run in runs],
    )


def _stream_samples(
    project: Project, method: FilterSettings, torques: LinkTorques, lines: SampleStream
) -> tuple[Bias | None, Iterator[RecordedSample]]:
    """Calibration, and the samples after it, of a stream, which is read only once."""
    from ..estimators.online.calibration import calibrate_at_start
    from ..estimators.online.sequence import in_sequence
    from ..estimators.online.ticks import configuration_of, stream_ticks

    robot = torques.robot
    ticks = stream_ticks(robot, lines)
    samples = in_sequence([(lines.name, _moving_polynomial(project).samples(ticks, configuration_of(robot)))])
    seconds = _calibrate_s(method)
    return calibrate_at_start(torques, samples, seconds) if seconds > 0 else (None, samples)


def _lines(stream: str, torques: LinkTorques, follow: bool) -> SampleStream:
    from ..estimators.online.ticks import line_layout
    from ..io.json_lines import SampleStream

    return SampleStream(stream, line_layout(torques.robot), follow=follow)


def _moving_polynomial(project: Project) -> Any:
    from ..estimators.online.moving_polynomial import MovingPolynomial

    settings = project.settings.preprocessing
    assert isinstance(settings, MovingPolynomialSettings)
    return MovingPolynomial(settings.window_s, settings.degree, settings.sample_hz)


def _calibrate_s(method: FilterSettings) -> float:
    """Length of the calibration [s]; 0 where noise is given and no bias is wanted."""
    return method.calibrate_s if method.noise is None or method.calibrate_bias else 0.0


# -- what is said of the run -------------------------------------------------------------------------------------------


def _steps(method: FilterSettings, calibration: Bias | None) -> tuple[str, ...]:
    if calibration is None:
        return ()
    return (
        f"noise {'and bias ' if method.calibrate_bias else ''}from the first {method.calibrate_s:g} s, "
        f"{calibration.samples} samples",
    )


def _warnings(tracker: Tracker) -> tuple[str, ...]:
    from ..estimators.online.belief import SampleVerdict

    if not tracker.samples:
        return ()
    rejected = 1 - tracker.verdicts[SampleVerdict.accepted] / tracker.samples
    if rejected < MANY_REJECTED:
        return ()
    return (
        f"{100 * rejected:.0f} % of the samples were not used, most of them "
        f"{tracker.verdicts.most_common(2)[-1][0].value}: "
        "the noise may be larger than was calibrated (noise_margin), or the robot not as it is known.",
    )


# -- the filter --------------------------------------------------------------------------------------------------------


def build_filter(method: FilterSettings, torques: LinkTorques, calibration: Bias | None) -> Filter:
    """[method] -> the filter.

    Args:
        calibration: noise and bias of the first seconds; None: there was none, and the settings have the noise.
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
        # an effort that was never read has no residuals, and its noise is used nowhere: any value above 0 does
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
