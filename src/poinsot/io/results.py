"""Estimate -> the documented JSON of `poinsot identify`, for scripts that never read tables made for people.

A number that is not one (NaN, infinity) is written as null: strict JSON has no word for it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from ..estimate import Estimate, Fit
from .writing import write_text

IDENTIFY_SCHEMA = "poinsot.identify/1"

FIT = (
    *(
        "recording",
        "relative_error_percent",
        "relative_error_percent_per_joint",
        "moving_error_percent_per_joint",
        "chi_square_per_reading",
    ),
    *("joints", "units", "rms_per_joint", "readings_per_joint", "white", "whiteness"),
)
"""Attributes of a fit that its JSON has."""

CERTIFICATE = "primal", "dual", "gap", "feasible", "holds"
"""Attributes of a certificate that its JSON has."""

ABOUT = "unchecked", "method", "robot", "rows", "condition_number", "scaled_condition_number", "std_kind"
MADE = "seconds", "iterations", "steps", "warnings", "notes", "settings", "versions", "citations"
"""Attributes of an estimate that its JSON has, before and after its tables."""


def identify_json(estimate: Estimate) -> dict[str, Any]:
    """The estimate as plain values, schema `poinsot.identify/1`."""
    recomputed = {}
    if estimate.certifier is not None:  # constraints belong to the method
        certificate = estimate.certificate()
        recomputed["certificate"] = {key: getattr(certificate, key) for key in CERTIFICATE}
    return plain(
        {
            "schema": IDENTIFY_SCHEMA,
            "status": {
                "converged": estimate.status.converged,
                "message": estimate.status.value,
                "name": estimate.status.name,
            },
            "trust": estimate.trust.value,
            "headline": estimate.headline,
            "next": estimate.next_step,
            "findings": estimate.findings,
            **{key: getattr(estimate, key) for key in ABOUT},
            "parameters": estimate.parameters.as_json(),
            "undetermined": estimate.undetermined,
            "bodies": estimate.bodies,
            **recomputed,
            **{key: extra.as_json() for key, extra in estimate.extras.items()},
            "fit": _fit(estimate.fit),
            "validation": _validation(estimate.validation),
            **{key: getattr(estimate, key) for key in MADE},
            "text": "\n".join([str(estimate), *estimate.remarks]),
        }
    )


def write_estimate(estimate: Estimate, path: str | Path) -> None:
    """Write an estimate as JSON, schema `poinsot.identify/1`.

    Raises:
        UnwritableOutput: if the folder is missing or cannot be written to.
    """
    write_json(identify_json(estimate), path)


def write_json(content: Mapping[str, Any], path: str | Path) -> None:
    """Write plain values as JSON, complete or not at all."""
    write_text(path, to_text(content))


def to_text(content: Mapping[str, Any]) -> str:
    """Strict JSON, one line break at the end."""
    return json.dumps(plain(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """What JSON can hold: arrays and tuples as lists, dataclasses as objects, NaN and infinity as None."""
    # First, as an enum may be a str or an int besides.
    if isinstance(value, Enum):
        return value.name
    if value is None or isinstance(value, (bool, int, str)):
        return value
    # Before float: `np.float64` is one, `np.bool_` and `np.int64` are neither bool nor int.
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {key: plain(getattr(value, name)) for key, name in json_keys(type(value)).items()}
    return str(value)


def json_keys(kind: type) -> Mapping[str, str]:
    """Key of the JSON of a class -> its attribute: all fields, with the changes that its `json_keys` make. In these,
    an attribute None leaves a field out.
    """
    names = [field.name for field in fields(kind)] if is_dataclass(kind) else getattr(kind, "_fields", ())
    keys = dict(zip(names, names, strict=True)) | getattr(kind, "json_keys", {})
    return {key: name for key, name in keys.items() if name is not None}


def _fit(fit: Fit) -> dict[str, Any]:
    return {key: getattr(fit, key) for key in FIT} | {"rows": len(fit.time)}


def _validation(fits: tuple[Fit, ...]) -> dict[str, Any] | None:
    """All held-out recordings together, and each."""
    if not fits:
        return None
    # Sums of squares add up over recordings, relative errors do not.
    alike = [fit for fit in fits if (fit.joints, fit.units) == (fits[0].joints, fits[0].units)]
    squares = np.array([fit.sum_of_squares_per_joint for fit in alike]).sum(axis=0)
    measured = np.array([fit.measured_squares_per_joint for fit in alike]).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = 100.0 * np.sqrt(squares.sum() / measured.sum())
        per_joint = 100.0 * np.sqrt(squares / measured)
    return {
        "relative_error_percent": total,
        "relative_error_percent_per_joint": per_joint,
        "recordings": [_fit(fit) for fit in fits],
    }
