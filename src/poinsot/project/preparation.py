"""A recording on its way to signals: a new clock, delays, whether anything moves, and the smoother."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..exceptions import NotIdentifiable, listing
from ..inspection.motion import resting_joints
from ..recording import EFFORTS
from ..signals.alignment import align
from ..signals.resampling import resample
from ..signals.signals import Signals
from .recordings import Run
from .settings.fields import AUTO
from .settings.preprocessing import RawSettings, SmootherSettings


def condition(preprocessing: SmootherSettings | RawSettings, run: Run, *, even: bool = False) -> Run:
    """A new clock where one is asked for (or `even` wants one), then delays."""
    recording = run.recording
    if preprocessing.resample_hz is not None or (even and not recording.is_uniform):
        recording = resample(
            recording, preprocessing.resample_hz, hold=run.held, gap_intervals=preprocessing.bridge_intervals
        )
    delay = getattr(preprocessing, "delay", None)
    common = {} if delay in (None, AUTO) else {each: delay for each in EFFORTS if recording.joints(each)}
    if delays := common | preprocessing.delays:
        recording = align(recording, delays)
    return replace(run, recording=recording)


def smooth(preprocessing: SmootherSettings, run: Run) -> Signals:
    """The smoother, with the recording's window."""
    signals: Signals = preprocessing.smoother(run.recording.joints("position"), run.window_s).apply(
        run.recording
    )
    return signals


def motion_warnings(runs: Sequence[Run]) -> tuple[str, ...]:
    """Warnings of recordings and joints that stand still, which no later stage would notice.

    Raises:
        NotIdentifiable: if nothing moves in any recording that is to be identified from.
    """
    resting = [(run, resting_joints(run.recording, run.window_s)) for run in runs]
    still = [run for run, joints in resting if joints and joints == run.recording.joints("position")]
    used = [(run, set(joints)) for run, joints in resting if run.role == "identification"]
    # One recording that moves is enough: the others are only worth a warning.
    if all(run in still for run, _ in used):
        raise NotIdentifiable(
            f"nothing moves in {listing(repr(run.name) for run, _ in used)}: positions show noise at most, and there "
            "is nothing to identify; look at their columns and units, and at window_s and between_s"
        )
    warnings = [
        f"Nothing moves in {run.name}, which shows friction and inertia of no joint." for run in still
    ]
    always = set.intersection(*(joints for _, joints in used))
    if always:
        warnings.append(
            f"{listing(sorted(always))} never moved in what was identified from: what is said of the friction and the "
            "inertia there is noise; hold with robot.locked, or excite it."
        )
    return tuple(warnings)
