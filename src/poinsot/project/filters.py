"""Filters from the job's own motion: what `cutoff_hz = "auto"` and `decimate_hz = "auto"` stand for.

All recordings of a job are filtered alike, by the largest of what those ask for that it identifies from: a filter that
is too narrow takes motion away, and nothing brings it back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..estimate import Finding, Severity
from ..exceptions import InvalidRecording, InvalidSignals
from ..inspection import Inspection
from ..inspection.motion import motion_facts
from ..signals.bandwidth import FilterProposal, propose_filters
from .preparation import condition
from .recordings import Run
from .settings.fields import AUTO
from .settings.preprocessing import SmootherSettings

REASON = {"cutoff_hz": ("cutoff_hz =",), "decimate_hz": ("decimate_hz =", "No decimation")}
"""How the reason for each key begins; the other reasons are for both."""


def propose(run: Run) -> FilterProposal:
    """The filter that the motion of a recording needs, without standstills at its ends.

    Raises:
        InvalidSignals: if its clock is not uniform, samples are invalid or too few, or no joint moves.
    """
    # A standstill has noise only, which would widen the spectrum of the motion.
    window_s = run.window_s or motion_facts(run.recording).window_s
    return propose_filters(run.recording if window_s is None else run.recording.between(*window_s))


def widest(proposals: Sequence[FilterProposal]) -> dict[str, float | None]:
    """Keys of [preprocessing] for recordings that are filtered alike."""
    cutoff_hz = max(proposal.cutoff_hz for proposal in proposals)
    decimate = [proposal.decimate_hz for proposal in proposals if proposal.decimate_hz is not None]
    # A recording that bears no decimation speaks for all.
    if len(decimate) < len(proposals):
        return {"cutoff_hz": cutoff_hz, "decimate_hz": None}
    order = min(proposal.decimation_order for proposal in proposals)
    return {"cutoff_hz": cutoff_hz, "decimate_hz": max(decimate), "decimation_order": order}


def in_words(filters: Mapping[str, float | None]) -> str:
    """As the project file has them: `cutoff_hz = 7 and decimate_hz = 9`."""
    return " and ".join(
        f"no {key}" if value is None else f"{key} = {value:g}" for key, value in filters.items()
    )


def with_filters(preprocessing: SmootherSettings, runs: Sequence[Run]) -> tuple[SmootherSettings, list[Run]]:
    """Settings with numbers for what is `"auto"`, and the recordings, among whose steps are the reasons.

    Raises:
        InvalidSignals: if a recording does not show what its motion asks for.
    """
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
            raise InvalidSignals(_no_spectrum(wanted[0], run, error)) from None
        reasons = [reason for reason in proposals[-1].reasons if not reason.startswith(given)]
        prepared.append(replace(run, recording=run.recording.noted(*reasons)))
    if "decimate_hz" in wanted and "decimation_order" not in preprocessing.model_fields_set:
        wanted.append("decimation_order")
    found = {key: value for key, value in widest(proposals).items() if key in wanted}
    if len(proposals) > 1:
        step = f"{in_words(found)} for all recordings: the largest of what they ask for"
        prepared = [replace(run, recording=run.recording.noted(step)) for run in prepared]
    return preprocessing.model_copy(update=found), prepared


def _no_spectrum(key: str, run: Run, error: InvalidSignals) -> str:
    if not run.recording.is_uniform:
        return f'{key} = "{AUTO}" needs a uniform clock, which {run.name!r} has not: set resample_hz, or give a number'
    return f'{key} = "{AUTO}" finds nothing in recording {run.name!r}: {error}; give a number'


def propose_in(
    inspections: Sequence[tuple[Run, Inspection]], preprocessing: SmootherSettings
) -> tuple[tuple[Run, Inspection], ...]:
    """The inspections, with the filters that the motion needs where the job identifies from it."""
    found, proposals = [], []
    for run, seen in inspections:
        if run.role == "identification":
            try:
                # On an even clock whatever the file asks for: here a proposal is wanted,
                # not an error.
                proposal = propose(condition(preprocessing, run, even=True))
            except (InvalidSignals, InvalidRecording) as error:
                seen = seen.found(_note(f"No filter can be proposed: {error}."))
            else:
                proposals.append(proposal)
                asked = f'The motion asks for {in_words(widest([proposal]))}, which "{AUTO}" takes.'
                seen = replace(seen, filters=proposal).found(_note(" ".join([asked, *proposal.reasons])))
        found.append((run, seen))
    if len(proposals) > 1:
        first = next(k for k, (_, seen) in enumerate(found) if seen.filters is not None)
        run, seen = found[first]
        together = f"All recordings together ask for {in_words(widest(proposals))}, the largest of each."
        found[first] = (run, seen.found(_note(together)))
    return tuple(found)


def _note(sentence: str) -> Finding:
    return Finding("filter", Severity.note, sentence, "")
