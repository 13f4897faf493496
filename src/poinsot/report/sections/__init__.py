"""The identify page, section by section.

A section is a function from the estimate to a `Section`, or to None where it has nothing to say. To add one, write it
in a file of its own and put it into `SECTIONS` where a reader should meet it.
"""

from __future__ import annotations

from collections.abc import Callable

from ...estimate import Estimate
from ..blocks import Section
from .bodies import bodies_section
from .effort import effort_section
from .friction import friction_section
from .full_parameters import full_parameters_section
from .groupings import groupings_section
from .identifiability import identifiability_section
from .impacts import impacts_section
from .motion import contacts_section, convergence_section, motion_section
from .parameters import parameters_section
from .payload import payload_section
from .provenance import provenance_section
from .residuals import residuals_section
from .tracking import excitation_section, masses_section, rejections_section
from .validation import validation_section
from .verdict import verdict_section

SECTIONS: tuple[Callable[[Estimate], Section | None], ...] = (
    verdict_section,
    masses_section,
    excitation_section,
    rejections_section,
    payload_section,
    parameters_section,
    effort_section,
    friction_section,
    impacts_section,
    motion_section,
    contacts_section,
    residuals_section,
    validation_section,
    groupings_section,
    identifiability_section,
    bodies_section,
    full_parameters_section,
    convergence_section,
    provenance_section,
)


def sections(estimate: Estimate) -> tuple[Section, ...]:
    """All that have something to say, in the order of the page."""
    return tuple(section for build in SECTIONS if (section := build(estimate)) is not None)
