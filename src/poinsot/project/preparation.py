"""Preprocessing of recordings to signals: resampling, delays, check for motion, filters, and the smoother.

With `cutoff_hz = "auto"` and `decimate_hz = "auto"` filters follow from the motion. All recordings of a job are
filtered alike, by the largest bandwidth of those that it identifies from: motion removed by a narrower filter would be
lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..estimate import Finding, Setting, Severity
from ..exceptions import InvalidRecording, InvalidSignals, NotIdentifiable, listing
from ..inspection import Inspection
from ..inspection.motion import clock_facts, motion_facts, resting_joints
from ..recording import EFFORTS
from ..signals.alignment import align
from ..signals.bandwidth import UNATTENUATED, FilterProposal, propose_filters
from ..signals.resampling import resample
from ..signals.signals import Signals
from .recordings import Run
from .settings.fields import AUTO
from .settings.preprocessing import RawSettings, SmootherSettings


def condition(preprocessing: SmootherSettings | RawSettings, run: Run, *, even: bool = False) -> Run:
    """Resample where it is requested, for `even`, or where a smoother needs it for small jitter; then apply delays."""
    recording = run.recording
    rate_hz = preprocessing.resample_hz
    if rate_hz is None and not recording.is_uniform:
        clock = clock_facts(recording)
        if even or (preprocessing.evens_clock and clock.has_small_jitter):
            rate_hz = clock.even_rate_hz
    if rate_hz is not None:
        recording = resample(recording, rate_hz, hold=run.held, gap_intervals=preprocessing.bridge_intervals)
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
    """Warnings about recordings and joints that stand still, which no later stage would detect."""
    resting = [(run, resting_joints(run.recording, run.window_s)) for run in runs]
    still = [run for run, joints in resting if joints and joints == run.recording.joints("position")]
    used = [(run, set(joints)) for run, joints in resting if run.role == "identification"]
    # One recording with motion is enough: the others only get a warning.
    if all(run in still for run, _ in used):
        raise NotIdentifiable(
            f"nothing moves in {listing(repr(run.name) for run, _ in used)}: positions are at most noise, and there "
            "is nothing to identify; check their columns and units, and window_s and between_s"
        )
    warnings = [
        f"Nothing moves in {run.name}: it determines no friction or inertia of any joint." for run in still
    ]
    always = set.intersection(*(joints for _, joints in used))
    if always:
        warnings.append(
            f"{listing(sorted(always))} never moved in the recordings that were identified from: friction and inertia "
            "there are noise; lock it by robot.locked, or excite it."
        )
    return tuple(warnings)


REASON = {"cutoff_hz": ("cutoff_hz =",), "decimate_hz": ("decimate_hz =", "No decimation")}
"""Prefixes of the reasons for each key; other reasons are for both."""


def propose(run: Run) -> FilterProposal:
    """The filter that the motion of a recording needs, without standstills at its ends."""
    # A standstill contains only noise, which would widen the spectrum of the motion.
    window_s = run.window_s or motion_facts(run.recording).window_s
    return propose_filters(run.recording if window_s is None else run.recording.between(*window_s))


def widest(proposals: Sequence[FilterProposal]) -> dict[str, float | None]:
    """Keys of [preprocessing] for recordings that are filtered alike."""
    cutoff_hz = max(proposal.cutoff_hz for proposal in proposals)
    decimate = [proposal.decimate_hz for proposal in proposals if proposal.decimate_hz is not None]
    # If one recording cannot be decimated, none is.
    if len(decimate) < len(proposals):
        return {"cutoff_hz": cutoff_hz, "decimate_hz": None}
    order = min(proposal.decimation_order for proposal in proposals)
    return {"cutoff_hz": cutoff_hz, "decimate_hz": max(decimate), "decimation_order": order}


def in_words(filters: Mapping[str, float | None]) -> str:
    """Filters as in the project file: `cutoff_hz = 7, decimate_hz = 9 and decimation_order = 4`."""
    *most, last = (f"no {key}" if value is None else f"{key} = {value:g}" for key, value in filters.items())
    return f"{', '.join(most)} and {last}" if most else last


def with_filters(preprocessing: SmootherSettings, runs: Sequence[Run]) -> tuple[SmootherSettings, list[Run]]:
    """Settings with numbers in place of `"auto"`, and the recordings, with the reasons among their steps."""
    wanted = [key for key in REASON if getattr(preprocessing, key) == AUTO]
    if not wanted:
        return preprocessing, list(runs)
    # A key with a number needs no reason.
    given = tuple(start for key in REASON if key not in wanted for start in REASON[key])
    proposals, prepared = [], []
    for run in runs:
        if run.role != "identification":
            prepared.append(run)
            continue
        try:
            proposals.append(propose(run))
        except InvalidSignals as error:
            why = f"finds nothing in recording {run.name!r}: {error}; give a number"
            if not run.recording.is_uniform:
                why = f"needs a uniform clock, which {run.name!r} lacks: set resample_hz, or give a number"
            raise InvalidSignals(f'{wanted[0]} = "{AUTO}" {why}') from None
        reasons = [reason for reason in proposals[-1].reasons if not reason.startswith(given)]
        prepared.append(replace(run, recording=run.recording.noted(*reasons)))
    if "decimate_hz" in wanted and "decimation_order" not in preprocessing.model_fields_set:
        wanted.append("decimation_order")
    found = {key: value for key, value in widest(proposals).items() if key in wanted}
    if len(proposals) > 1:
        step = f"{in_words(found)} for all recordings: the largest of their values"
        prepared = [replace(run, recording=run.recording.noted(step)) for run in prepared]
    return preprocessing.model_copy(update=found), prepared


ENOUGH = 5.0
"""Equations that each parameter and each systematic effect needs for its interval to say something."""


def with_more_rows(
    asked: SmootherSettings,
    chosen: SmootherSettings,
    prepared: Sequence[tuple[Run, Signals]],
    per_parameter: float,
    each: float,
) -> list[tuple[Run, Signals]] | None:
    """Recordings smoothed with higher `"auto"` rates where there are only `each` equations for each parameter and
    effect; None: there are enough.

    `asked`: settings of the file, `chosen`: with numbers in place of `"auto"`. `per_parameter`: equations for each
    parameter. Accelerations of noise would bias inertias towards zero, so the smoother's cutoff stays below w_a, and
    rows below the frequency from which it attenuates positions, unless the parameters themselves need more.
    """
    if each >= ENOUGH or chosen.decimate_hz is None:
        return None
    rate, rows_hz = min(signals.rate_hz for _, signals in prepared), float(chosen.decimate_hz)
    # a tenth more, for edges that are cut
    least, wanted = (
        min(1.1 * ENOUGH / equations * rows_hz, 0.4 * rate) for equations in (per_parameter, each)
    )
    more = {}
    if getattr(asked, "cutoff_hz", None) == AUTO:
        widest_hz = max(propose(run).widest_hz for run, _ in prepared if run.role == "identification")
        more["cutoff_hz"] = max(float(chosen.cutoff_hz), min(2 * wanted, 0.45 * rate, widest_hz))
        wanted = min(wanted, max(least, UNATTENUATED * more["cutoff_hz"], rows_hz))
    more["decimate_hz"] = round(wanted, 2)
    settings = chosen.model_copy(update=more)
    step = (
        f"{in_words(more)}, for {ENOUGH:g} equations for each parameter and systematic effect, where the motion's "
        f"band leaves {each:.2g}"
    )
    runs = [replace(run, recording=run.recording.noted(step)) for run, _ in prepared]
    return [(run, smooth(settings, run)) for run in runs]


def propose_in(
    inspections: Sequence[tuple[Run, Inspection]], preprocessing: SmootherSettings
) -> tuple[tuple[Run, Inspection], ...]:
    """The inspections, with the filters that the motion needs for recordings that the job identifies from."""
    found, proposals = [], []
    several = sum(run.role == "identification" for run, _ in inspections) > 1
    for run, seen in inspections:
        if run.role == "identification":
            try:
                # on an even clock regardless of the file: a proposal is wanted, not an error
                proposal = propose(condition(preprocessing, run, even=True))
            except (InvalidSignals, InvalidRecording) as error:
                seen = seen.with_findings(_note(f"No filter can be proposed: {error}."))
            else:
                proposals.append(proposal)
                asked = f'The motion asks for {in_words(widest([proposal]))}, which "{AUTO}" takes in [preprocessing].'
                lines = () if several else _lines(widest([proposal]), preprocessing)
                note = _note(" ".join([asked, *proposal.reasons]), lines)
                seen = replace(seen, filters=proposal).with_findings(note)
        found.append((run, seen))
    if len(proposals) > 1:
        first = next(k for k, (_, seen) in enumerate(found) if seen.filters is not None)
        run, seen = found[first]
        together = f"All recordings together ask for {in_words(widest(proposals))}, the largest of each."
        lines = _lines(widest(proposals), preprocessing)
        found[first] = (run, seen.with_findings(_note(together, lines)))
    return tuple(found)


def _lines(filters: Mapping[str, float | None], preprocessing: SmootherSettings) -> tuple[Setting, ...]:
    """Lines for filters that differ from the numbers in the file; `"auto"` uses them anyway."""
    now = {key: getattr(preprocessing, key) for key in filters}
    if now["decimate_hz"] == AUTO:
        now.pop("decimation_order", None)
    return tuple(
        Setting("[preprocessing]", key, f"{filters[key]:g}")
        for key, value in now.items()
        if filters[key] is not None and isinstance(value, int | float) and value != filters[key]
    )


def _note(sentence: str, settings: tuple[Setting, ...] = ()) -> Finding:
    return Finding("filter", Severity.note, sentence, "", settings=settings)
