"""What is said first about a result, the same in terminal, page, notebook and JSON: a headline and the next step.

Both are derived from the examination and from the numbers that stand below them, so that no headline claims what a line
below it denies: what was found, how well it predicts what was not fitted, what could not be checked, and the gravest
remark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Bool
from ..exceptions import listing
from .bodies import Payload
from .finding import Finding, Severity
from .motions import Scene, TossScene

if TYPE_CHECKING:
    from .estimate import Estimate

KNOWN_PERCENT = 30.0
"""Relative standard deviation below which a parameter is called known."""
LONGEST = 160
"""Number of characters of a remark in a headline or a next step."""
FEW = 0.5
"""Part of the parameters that are known below which another motion is the next step."""


def known_parameters(estimate: Estimate) -> Bool[np.ndarray, "b"]:
    """(b,) whether each parameter is known."""
    with np.errstate(invalid="ignore"):
        return np.asarray(estimate.identifiable & (estimate.relative_std_percent < KNOWN_PERCENT))


def headline(estimate: Estimate) -> str:
    """The verdict, what was found, how well it predicts, what is unchecked, and the gravest remark."""
    diagnosis, known = estimate.diagnosis, known_parameters(estimate)
    verdict = diagnosis.verdict[:1].upper() + diagnosis.verdict[1:]
    count = f"{np.count_nonzero(known)} of {len(known)} parameter{'s' if len(known) != 1 else ''}"
    sentences = [
        f"{verdict}.",
        _found(estimate) or (f"{count} known to better than {KNOWN_PERCENT:g} %." if len(known) else ""),
        _prediction(estimate),
        f"{len(diagnosis.unchecked)} properties could not be checked."
        if len(diagnosis.unchecked) > 1
        else "",
    ]
    grave = _gravest(estimate)
    return " ".join(filter(None, [*sentences, _first_sentence(grave.message) if grave else ""]))


def next_step(estimate: Estimate) -> str:
    """What to do next that helps most, as a sentence without a capital and a full stop."""
    grave = _gravest(estimate)
    if grave is not None and grave.settings:
        return f"write {listing(map(str, grave.settings), 3)}, and run it again"
    if grave is not None and grave.remedy:
        return _as_clause(_first_sentence(grave.remedy))
    if estimate.extra(Scene) or estimate.extra(TossScene):
        return "film another throw, and add it as [[recordings]]: results of several hold for the next one"
    if not estimate.validation and "tracking" not in estimate.extras:
        return 'hold out a recording: add one that is not fitted to [[recordings]], with role = "validation"'
    known = known_parameters(estimate)
    if len(known) and known.mean() < FEW and not _found(estimate):
        unknown = (owner for owner, is_known in zip(estimate.owners, known, strict=True) if not is_known)
        how = "with `poinsot excite`" if estimate.described else "with more motion"
        return f"record another motion, {how}: little is known of {listing(dict.fromkeys(unknown), 3)}"
    if estimate.extra(Payload):
        return "check the load with another motion, or follow it sample by sample with `poinsot track`"
    return "write it for a controller or a simulator: `poinsot export RESULT` lists the formats"


def _found(estimate: Estimate) -> str:
    """What a family says of its own results."""
    return " ".join(filter(None, (extra.found() for extra in estimate.extras.values())))


def _prediction(estimate: Estimate) -> str:
    """How well recordings are predicted that were not fitted, or that none was held out."""
    errors = [fit.relative_error_percent for fit in estimate.validation]
    if errors:
        worst = float(np.max(errors))
        what = "Held-out recordings are" if len(errors) > 1 else "The held-out recording is"
        if not np.isfinite(worst):
            return f"{what} not predicted."
        angles = {unit for fit in estimate.validation for unit in fit.units} == {"rad"}
        rms = 1e3 * np.concatenate([fit.rms_per_joint for fit in estimate.validation])
        more = f" ({np.nanmin(rms):.2g} to {np.nanmax(rms):.2g} mrad joint by joint)" if angles else ""
        return f"{what} predicted to {worst:.3g} %{more}."
    left_out = estimate.diagnosis.left_out_percent
    more = "" if left_out is None else f"; left-out parts are predicted to {left_out:.2g} %"
    return f"No recording was held out{more}."


def _gravest(estimate: Estimate) -> Finding | None:
    """The first error or warning whose effect remains."""
    findings = (f for f in estimate.findings if f.severity > Severity.note and not f.corrected)
    return next(findings, None)


def _first_sentence(text: str) -> str:
    """The first sentence, or as many words of it as there is space for."""
    end = next(
        (k + 1 for k in range(len(text)) if text[k] in ".!" and text[k + 1 : k + 2] in ("", " ")), len(text)
    )
    sentence = text[:end]
    if len(sentence) <= LONGEST:
        return sentence
    clause = max(sentence.rfind(mark, LONGEST // 3, LONGEST) for mark in (": ", "; "))
    return (
        f"{sentence[:clause]}." if clause > 0 else sentence[:LONGEST].rsplit(" ", 1)[0].rstrip(",") + " ..."
    )


def _as_clause(sentence: str) -> str:
    """A sentence as it stands after a colon; names, as `IMU`, keep their capitals."""
    body = sentence.removesuffix(".")
    return body[:1].lower() + body[1:] if body[1:2].islower() or body[1:2] == " " else body
