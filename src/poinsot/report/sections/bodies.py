"""Mass properties of each body: physical consistency, shares of data and prior, and a picture."""

from __future__ import annotations

from ...estimate import Body, Estimate
from ...inertia.parameters import inconsistencies
from ..blocks import Findings, Section, section_of
from ..bodies import body_table, change_table, prior_of
from ..verdicts import counted_origins
from ..words import number_of, series


def bodies_section(estimate: Estimate) -> Section | None:
    """Section of mass properties; None where the estimate has no body with values."""
    values = {body.name: (body.mass, body.center_of_mass, body.inertia_at_com) for body in estimate.bodies}
    known = [body for body in estimate.bodies if any(value is not None for value in values[body.name])]
    if not known:
        return None
    findings = Findings.of(finding for body in estimate.bodies for finding in _findings(body))
    changes = change_table(estimate.bodies, title="Change of each body by the data")
    # a single block needs no heading of its own
    properties = body_table(estimate.bodies, title="Mass properties" if findings or changes else "")
    lead = verdict_on_bodies(known) or f"Mass properties of {number_of(len(known), 'body', 'bodies')}."
    origins = counted_origins(body.prior_share for body in known if body.prior_share is not None)
    if origins:
        lead += f" Where they come from: {series(origins)}."
    return section_of("Bodies", lead, findings, changes, properties)


def verdict_on_bodies(bodies: list[Body]) -> str:
    """One sentence on all bodies; empty where one is undecided and none impossible."""
    impossible = [body.name for body in bodies if body.physically_consistent is False]
    if impossible:
        return f"The mass properties of {series(impossible)} are physically impossible: a simulator will reject them."
    # None, for undecided, is false here too.
    if bodies and all(body.physically_consistent for body in bodies):
        who = bodies[0].name if len(bodies) == 1 else f"All of the {len(bodies)} bodies"
        return f"{who} {'is' if len(bodies) == 1 else 'are'} physically possible."
    return ""


def _findings(body: Body) -> list[tuple[str, str]]:
    """Why the body is physically impossible, as identified and before the data."""
    findings = []
    if body.physically_consistent is False and body.reasons:
        findings.append(("warning", f"{body.name} is physically impossible: {'; '.join(body.reasons)}."))
    prior = prior_of(body)
    reasons = () if prior is None else inconsistencies(prior)
    if reasons:
        findings.append(("note", f"{body.name} was impossible before the data: {'; '.join(reasons)}."))
    return findings
