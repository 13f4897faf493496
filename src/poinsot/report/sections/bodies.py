"""Mass properties of each body, and whether some real body could have them."""

from __future__ import annotations

from ...estimate import Body, Estimate
from ..blocks import Section
from ..tables import body_table
from ..words import number_of, series


def bodies_section(estimate: Estimate) -> Section | None:
    """Only where the estimate has bodies with values."""
    known = [body for body in estimate.bodies if _has_values(body)]
    if not known:
        return None
    impossible = [body.name for body in known if body.physically_consistent is False]
    if impossible:
        lead = f"No real body can have the mass properties of {series(impossible)}: a simulator will refuse them."
    elif all(body.physically_consistent for body in known):
        lead = f"All of the {number_of(len(known), 'body', 'bodies')} could be real."
    else:
        lead = f"Mass properties of {number_of(len(known), 'body', 'bodies')}."
    return Section("Bodies", lead, (body_table(estimate.bodies),))


def _has_values(body: Body) -> bool:
    return any(value is not None for value in (body.mass, body.center_of_mass, body.inertia_at_com))
