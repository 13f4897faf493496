"""An estimate from a flat list of its columns, provenance, fields and extras, for tests that make one up."""

from poinsot.estimate import Estimate, EstimatedParameters, Provenance, extras_of
from poinsot.estimate.estimate import COLUMNS, ENTRIES
from poinsot.estimate.extras import Extra


def flat_estimate(**given) -> Estimate:
    columns = {key: given.pop(key) for key in COLUMNS & given.keys()}
    entries = {key: given.pop(key) for key in ENTRIES & given.keys()}
    extras = [given.pop(key) for key, value in list(given.items()) if isinstance(value, Extra)]
    return Estimate(
        **{"robot": "", **given},
        parameters=EstimatedParameters(**columns),
        provenance=Provenance(**{"versions": {}, **entries}),
        extras=extras_of(*extras),
    )


def without(estimate: Estimate, *keys: str) -> Estimate:
    """The same estimate without some of its extras."""
    return estimate.updated(extras={key: value for key, value in estimate.extras.items() if key not in keys})
