"""The identify page, section by section.

A section is a function from the estimate to a `Section`, or to None where it does not apply. To add one, write it in a
file of its own and list it in `SECTIONS` at its place on the page. A section of another distribution is listed under
the entry point group `poinsot.sections`, and then comes before the last one, or a method names it as
`"module:function"`, and then it comes after the verdict. All but the verdict and a method's main results are folded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType

from ...estimate import Estimate
from ...exceptions import InvalidMethod, check_known
from ...lazy import load, plugins
from ..blocks import Section
from .bodies import bodies_section
from .fit import effort_section, residuals_section, validation_section
from .identifiability import identifiability_section
from .impacts import impacts_section
from .motion import contacts_section, convergence_section, motion_section
from .parameters import full_parameters_section, groupings_section, numbers_section, parameters_section
from .payload import friction_section, payload_section
from .provenance import provenance_section
from .sensitivity import sensitivity_section
from .tracking import excitation_section, history_section, masses_section, rejections_section
from .verdict import trust_section, verdict_section

SectionBuilder = Callable[[Estimate], Section | None]

JUDGED = trust_section, verdict_section
TRACKED = masses_section, history_section, excitation_section, rejections_section, payload_section
MOVED = effort_section, friction_section, impacts_section, motion_section, contacts_section
FITTED = residuals_section, validation_section, groupings_section, identifiability_section, bodies_section
SOLVED = full_parameters_section, sensitivity_section, convergence_section


def _by_name(*builders: SectionBuilder) -> MappingProxyType[str, SectionBuilder]:
    return MappingProxyType({build.__name__.removesuffix("_section"): build for build in builders})


HEADLINES = numbers_section, *TRACKED
SECTIONS = _by_name(*JUDGED, *HEADLINES, parameters_section, *MOVED, *FITTED, *SOLVED, provenance_section)
"""Name -> section, in the order of the page."""

OF_EVERY_ESTIMATE = frozenset(
    _by_name(*JUDGED, numbers_section, parameters_section, *FITTED, provenance_section)
)
"""Sections for estimates of any method; the others are for the methods that name them."""

OPEN = frozenset({*JUDGED, numbers_section, masses_section, payload_section, impacts_section})
"""Sections that are shown unfolded."""

GROUP = "poinsot.sections"


def sections(estimate: Estimate, names: Sequence[str] | None = None) -> tuple[Section, ...]:
    """All sections that apply, in the order of the page.

    With names, only these and the sections for every estimate; `InvalidMethod` if there is no section of a name.
    """
    own = [load(name) for name in names or () if ":" in name]
    listed = _named(names) if names is not None else [*SECTIONS.values(), *_installed().values()]
    rest = [build for build in listed if build not in (*JUDGED, provenance_section)]
    # Always last, also after the sections of other distributions.
    ordered = [*JUDGED, *own, *rest, provenance_section]
    built = ((build(estimate), build not in OPEN and build not in own) for build in ordered)
    return tuple(replace(section, folded=folded) for section, folded in built if section is not None)


def _installed() -> dict[str, SectionBuilder]:
    """Sections of other distributions."""
    return {entry.name: entry.load() for entry in plugins(GROUP)}


def _named(names: Sequence[str]) -> list[SectionBuilder]:
    own = [name for name in names if ":" in name]
    listed = (
        # Other distributions are searched only for unknown names, as this is slow.
        SECTIONS if OF_EVERY_ESTIMATE.union(names) - {*own} <= SECTIONS.keys() else SECTIONS | _installed()
    )
    for name in names:
        if name not in own:
            check_known(name, listed, "the page has no section", "it has", InvalidMethod, 40)
    wanted = OF_EVERY_ESTIMATE.union(names)
    return [build for name, build in listed.items() if name in wanted]
