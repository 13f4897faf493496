"""An estimate from a flat list of its columns, provenance, fields and extras, for tests that make one up."""

import numpy as np

from poinsot.estimate import Estimate, EstimatedParameters, Provenance, Uncertainty, extras_of
from poinsot.estimate.estimate import COLUMNS, ENTRIES
from poinsot.estimate.extras import Extra

SOURCES = {"covariance", "std_kind", "white_std", "coloured_std", "systematic_std", "next_recording_std"}


def uncertainty_of(
    covariance,
    std_kind="white",
    white_std=None,
    coloured_std=None,
    systematic_std=None,
    next_recording_std=None,
):
    """A table with this covariance of all sources together, and these standard deviations of each."""
    is_white = std_kind == "white"
    chance = covariance if systematic_std is None else covariance - np.diag(systematic_std**2)
    return Uncertainty(
        chance if is_white else white_std,
        coloured_std if is_white else chance,
        model=systematic_std,
        recordings=next_recording_std,
        is_white=is_white,
    )


def flat_estimate(**given) -> Estimate:
    columns = {key: given.pop(key) for key in COLUMNS & given.keys()}
    columns["uncertainty"] = uncertainty_of(**{key: given.pop(key) for key in SOURCES & given.keys()})
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
