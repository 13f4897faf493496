"""Whether the estimate can be trusted, and why; the main results and their uncertainty."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...estimate import Estimate, Fit, Status, Trust
from ...estimate.motions import motions_of, rms_of
from ..blocks import Card, Cards, Findings, Section, section_of
from ..numbers import count_text, percent_text, significant
from ..tables import table_of_rows
from ..verdicts import counted, known
from ..words import capitalized, number_of, series
from .bodies import verdict_on_bodies

FEW = 6
"""Largest number of joints that a card names."""

LEADS = {
    Trust.trusted: ("good", "None of the defects that are looked for was found."),
    Trust.with_care: ("fair", "Some numbers are less certain than their intervals state."),
    Trust.corrected: ("good", "A defect of the data was found, and its effect removed."),
    Trust.not_to_be_used: ("bad", "Do not use these numbers before the errors below are corrected."),
}
"""Tone and meaning of each level of trust."""


def trust_section(estimate: Estimate) -> Section | None:
    """Findings of the checks, and what they could not check; None where the method has no checks."""
    diagnosis = estimate.diagnosis
    if not diagnosis.complete and not diagnosis.findings:
        return None
    rows = [{"not checked": unchecked.what, "why": unchecked.reason} for unchecked in diagnosis.unchecked]
    title = f"{number_of(len(rows), 'property', 'properties')} that could not be checked"
    blocks = (
        Findings.of((finding.severity.name, str(finding)) for finding in diagnosis.findings),
        replace(table_of_rows(rows, title=title), folded=True) if rows else None,
    )
    tone, lead = LEADS[diagnosis.trust]
    return replace(section_of(capitalized(diagnosis.trust.words), lead, *blocks), tone=tone)


def verdict_section(estimate: Estimate) -> Section:
    """Warnings first, then the headline numbers."""
    findings = [("warning", warning) for warning in estimate.warnings]
    if not estimate.status.converged:
        # A result that has not converged makes all that follows doubtful.
        findings.insert(0, ("error", estimate.status.value))
    elif estimate.status is Status.partly:
        findings.append(("note", estimate.status.value))
    share = f"{known(estimate)} of {len(estimate.names)}"
    parameters = Card("Parameters known", share, series(counted(estimate)))
    cards = Cards(cards=(_error(estimate), parameters, _residuals(estimate), _held_out(estimate)))
    notes = Findings.of(("note", note) for note in estimate.notes)
    return section_of("Verdict", _lead(estimate), Findings.of(findings), cards, notes)


def _lead(estimate: Estimate) -> str:
    of_robot = f" of {estimate.robot}" if estimate.robot else ""
    error = percent_text(estimate.fit.relative_error_percent)
    explained = f"The model explains the measured effort to {error}."
    if motions_of(estimate):
        all_rms, by_sensor = _rms(estimate)
        explained = (
            f"One motion explains the readings of {number_of(len(by_sensor), 'sensor')} to {significant(all_rms, 2)} "
            "standard deviations (root mean square)."
        )
    # Whether bodies are physically possible, where all of them are known.
    judged = [body for body in estimate.bodies if body.physically_consistent is not None]
    bodies = f" {verdict_on_bodies(judged)}" if judged and len(judged) == len(estimate.bodies) else ""
    share = f"{known(estimate)} of the {number_of(len(estimate.names), 'parameter')}{of_robot}"
    return f"{explained} {share} are known to better than 30 %.{bodies}"


def _rms(estimate: Estimate) -> tuple[float, dict[str, float]]:
    """Root mean square of residuals of all sensors together, and of each, in standard deviations."""
    # All recordings of a sensor together: a single one may be short.
    fits = [fit for motion in motions_of(estimate) for fit in motion.sensors]
    names = dict.fromkeys(fit.name for fit in fits)
    by_sensor = {name: rms_of([fit for fit in fits if fit.name == name]) for name in names}
    return rms_of(fits), {name: rms for name, rms in by_sensor.items() if np.isfinite(rms)}


def _error(estimate: Estimate) -> Card:
    fit = estimate.fit
    if motions_of(estimate):
        all_rms, rms = _rms(estimate)
        best, worst = min(rms, key=rms.__getitem__), max(rms, key=rms.__getitem__)
        spread = f"from {significant(rms[best], 2)} ({best}) to {significant(rms[worst], 2)} ({worst})"
        return Card("Residuals of sensors", significant(all_rms, 2), f"standard deviations, rms; {spread}")
    errors = np.asarray(fit.relative_error_percent_per_joint)
    note = "of the measured effort"
    # All are NaN where every torque is zero: then there is no best joint.
    if len(errors) > 1 and not np.all(np.isnan(errors)):
        lowest, highest = int(np.nanargmin(errors)), int(np.nanargmax(errors))
        note += (
            f", all joints; from {percent_text(errors[lowest])} ({fit.joints[lowest]}) "
            f"to {percent_text(errors[highest])} ({fit.joints[highest]})"
        )
    return Card("Relative error", percent_text(fit.relative_error_percent), note)


def _residuals(estimate: Estimate) -> Card:
    fit, columns = estimate.fit, "component" if motions_of(estimate) else "joint"
    if not fit.whiteness:
        return Card("Residuals", "no order", "rows are not a time series, so their whiteness is not tested")
    coloured = [name for name, verdict in zip(fit.joints, fit.whiteness, strict=True) if not verdict.white]
    if not coloured:
        note = f"residuals of {number_of(len(fit.joints), columns)} look like noise"
        return Card("Residuals", "white", note, "good")
    share = f"{len(coloured)} of {len(fit.joints)} " if len(fit.joints) > 1 else ""
    names = series(coloured, FEW)
    if estimate.std_kind == "coloured":
        return Card("Residuals", "correlated", f"{names}; the standard deviations account for it")
    note = f"{names}; the standard deviations assume white ones, and are usually too small"
    return Card("Residuals", f"{share}not white", note, "fair")


def _held_out(estimate: Estimate) -> Card:
    if not estimate.validation:
        return Card("Held-out error", "not checked", "no recording was held out for validation")
    worst: Fit = max(estimate.validation, key=lambda fit: fit.relative_error_percent)
    names = [fit.recording or f"recording {k}" for k, fit in enumerate(estimate.validation, start=1)]
    rows = count_text(sum(len(fit.time) for fit in estimate.validation))
    note = f"{'the worst of ' if len(names) > 1 else ''}{series(names, 3)}; {rows} rows not used to fit"
    return Card("Held-out error", percent_text(worst.relative_error_percent), note)
