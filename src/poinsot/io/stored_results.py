"""The documented JSON of `poinsot identify` and `track` -> Estimate, with what the JSON holds.

Values, intervals of every kind, bodies, findings and provenance are those that were written. A result holds no samples:
fits have their errors, and no residuals. Extras that only a page shows are not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Matrix, Vector
from ..estimate import (
    Body,
    Diagnosis,
    Direction,
    Estimate,
    EstimatedParameters,
    Finding,
    Fit,
    FullParameters,
    Provenance,
    Severity,
    Status,
    Trust,
    Uncertainty,
    Unchecked,
    Whiteness,
    extras_of,
)

SCHEMAS = ("poinsot.identify/1", "poinsot.track/1")
"""Outputs that hold an estimate."""


def estimate_of(content: Mapping[str, Any]) -> Estimate:
    """The estimate of a result; its problem is not in it.

    Raises:
        ValueError, LookupError, TypeError: if a key is missing, or of another type than that of the schema.
    """
    if content["schema"] not in SCHEMAS:
        raise ValueError(f"the schema is {content['schema']!r}")
    full = content.get("full_parameters")
    return Estimate(
        method=str(content["method"]),
        robot=str(content["robot"]),
        parameters=_parameters(content["parameters"], content["std_kind"]),
        status=Status[content["status"]["name"]],
        condition_number=_number(content["condition_number"]),
        rows=int(content["rows"]),
        fit=_fit(content["fit"]),
        scaled_condition_number=_number(content["scaled_condition_number"]),
        iterations=int(content["iterations"]),
        bodies=tuple(map(_body, content["bodies"])),
        undetermined=tuple(Direction(**row) for row in content["undetermined"]),
        validation=tuple(map(_fit, (content["validation"] or {}).get("recordings", ()))),
        extras=extras_of(None if full is None else _full_parameters(full)),
        examined=_diagnosis(content),
        provenance=Provenance(
            settings=content["settings"],
            steps=tuple(content["steps"]),
            warnings=tuple(content["warnings"]),
            notes=tuple(content["notes"]),
            seconds=content["seconds"],
            versions=content["versions"],
            citations=tuple(content["citations"]),
        ),
    )


@dataclass(frozen=True)
class _Stored:
    """All errors of the parameters together, as they were written: `poinsot.estimate.uncertainty.SystematicErrors`."""

    covariance: Matrix
    between_blocks: None = None


def _parameters(rows: Sequence[Mapping[str, Any]], kind: str) -> EstimatedParameters:
    covariance = _covariance(rows)
    # of these rows `combined` makes the covariance, and the columns are those that were written
    errors = Uncertainty(
        readings=_column(rows, "std_white"),
        correlation=_column(rows, "std_coloured"),
        systematic=_Stored(covariance),
        recordings=_column(rows, "std_next_recording"),
        scale=_scale(rows),
        is_white=kind == "white",
    )
    return EstimatedParameters(
        **_names(rows),
        groupings=tuple(str(row["grouping"]) for row in rows),
        identifiable=np.array([bool(row["identifiable"]) for row in rows], dtype=bool),
        uncertainty=errors,
    )


def _full_parameters(rows: Sequence[Mapping[str, Any]]) -> FullParameters:
    interval = [row.get("interval") for row in rows]
    return FullParameters(
        **_names(rows),
        covariance=_covariance(rows),
        prior=_numbers([row["prior"] for row in rows]),
        prior_share=_numbers([row["prior_share"] for row in rows]),
        interval=None if None in interval else np.array(interval, dtype=float),
    )


def _names(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    columns = {"names": "name", "units": "unit", "owners": "owner", "kinds": "kind"}
    texts = {attribute: tuple(str(row[key]) for row in rows) for attribute, key in columns.items()}
    return {**texts, "values": _numbers([row["value"] for row in rows])}


def _covariance(rows: Sequence[Mapping[str, Any]]) -> Matrix:
    """(b, b); of a result of an earlier version, which has none, only its diagonal is known."""
    if any(row.get("covariance") is None for row in rows):
        return np.diag(_numbers([row["std"] for row in rows]) ** 2)
    return np.array([row["covariance"] for row in rows], dtype=float).reshape(len(rows), len(rows))


def _scale(rows: Sequence[Mapping[str, Any]]) -> float:
    """Relative standard deviation of a scale that all values share, of `std_absolute` = |std, scale value|."""
    std, absolute = (_column(rows, key) for key in ("std", "std_absolute"))
    if std is None or absolute is None:
        return 0.0
    size = np.abs(_numbers([row["value"] for row in rows]))
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.sqrt(np.maximum(absolute**2 - std**2, 0.0)) / size
    # of the parameter whose own standard deviation hides it least
    known = np.isfinite(relative)
    return float(relative[known][np.argmin(std[known] / size[known])]) if known.any() else 0.0


def _column(rows: Sequence[Mapping[str, Any]], key: str) -> Vector | None:
    """(b,) or None where it was not computed."""
    values = [row.get(key) for row in rows]
    return None if all(value is None for value in values) else _numbers(values)


def _numbers(values: Sequence[float | None]) -> Vector:
    return np.array([_number(value) for value in values])


def _number(value: float | None) -> float:
    """NaN and infinity are written as null."""
    return float("nan") if value is None else float(value)


def _fit(content: Mapping[str, Any]) -> Fit:
    """Errors of a fit without its samples."""
    none = np.empty((0, len(content["joints"])))
    return Fit(
        np.empty(0),
        tuple(content["joints"]),
        tuple(content["units"]),
        none,
        none,
        np.empty((len(content["joints"]), 0)),
        tuple(Whiteness(**verdict) for verdict in content["whiteness"]),
        _number(content["relative_error_percent"]),
        tuple(map(_number, content["relative_error_percent_per_joint"])),
        str(content["recording"]),
        tuple(map(_number, content["moving_error_percent_per_joint"])),
    )


def _body(content: Mapping[str, Any]) -> Body:
    arrays = "center_of_mass", "inertia_at_com", "inertial", "prior", "log_cholesky_covariance"
    center, inertia, pi, prior, covariance = (
        None if content[key] is None else np.array(content[key], dtype=float) for key in arrays
    )
    return Body(
        str(content["name"]),
        content["mass"],
        center,
        inertia,
        content["physically_consistent"],
        content["min_pseudo_inertia_eigenvalue"],
        tuple(content["reasons"]),
        pi,
        covariance,
        prior,
        content["prior_share"],
    )


def _diagnosis(content: Mapping[str, Any]) -> Diagnosis:
    """Findings as they were written: a corrected one is known by the trust in the result only."""
    trust, corrected = Trust(content["trust"]), content["trust"] == Trust.corrected.value
    findings = tuple(
        Finding(
            **{**row, "severity": Severity[row["severity"]]},
            corrected=corrected and row["severity"] != Severity.note.name,
        )
        for row in content["findings"]
    )
    unchecked = tuple(Unchecked(**row) for row in content["unchecked"])
    found = Diagnosis(findings, unchecked)
    return found if found.trust is trust else Diagnosis(findings, unchecked, complete=False)
