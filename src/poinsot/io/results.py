"""Estimate -> the documented JSON of `poinsot identify`, for scripts that never read tables made for people.

A number that is not one (NaN, infinity) is written as null: strict JSON has no word for it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from ..estimate import Body, DriveGains, Estimate, Fit, FullParameters, Payload
from ..motions import EstimatedMotion, Impact
from .writing import write_text

IDENTIFY_SCHEMA = "poinsot.identify/1"


def identify_json(estimate: Estimate) -> dict[str, Any]:
    """The estimate as plain values, schema `poinsot.identify/1`."""
    parameters = [
        {
            "name": name,
            "value": estimate.values[k],
            "std": estimate.std[k],
            "relative_std_percent": estimate.relative_std_percent[k],
            "unit": estimate.units[k],
            "identifiable": estimate.identifiable[k],
            "kind": estimate.kinds[k],
            "owner": estimate.owners[k],
            "grouping": estimate.groupings[k],
            "std_white": estimate.white_std[k],
            "std_coloured": estimate.coloured_std[k],
        }
        for k, name in enumerate(estimate.names)
    ]
    return plain(
        {
            "schema": IDENTIFY_SCHEMA,
            "status": {
                "converged": estimate.status.converged,
                "message": estimate.status.value,
                "name": estimate.status.name,
            },
            "method": estimate.method,
            "robot": estimate.robot,
            "rows": estimate.rows,
            "condition_number": estimate.condition_number,
            "scaled_condition_number": estimate.scaled_condition_number,
            "std_kind": estimate.std_kind,
            "parameters": parameters,
            "undetermined": estimate.undetermined,
            "bodies": [_body(body) for body in estimate.bodies],
            **({} if estimate.full is None else {"full_parameters": _full(estimate.full)}),
            **({} if estimate.certifier is None else {"certificate": _certificate(estimate)}),
            **({} if estimate.payload is None else {"payload": _payload(estimate.payload)}),
            **({} if estimate.drive_gains is None else {"drive_gains": _gains(estimate.drive_gains)}),
            **({"friction_curves": estimate.friction_curves} if estimate.friction_curves else {}),
            **({"motions": [_motion(motion) for motion in estimate.motions]} if estimate.motions else {}),
            **({"impacts": [_impact(impact) for impact in estimate.impacts]} if estimate.impacts else {}),
            **({} if estimate.convergence is None else {"convergence": _convergence(estimate)}),
            "fit": _fit(estimate.fit),
            "validation": _validation(estimate.validation),
            "seconds": estimate.seconds,
            "iterations": estimate.iterations,
            "steps": estimate.steps,
            "warnings": estimate.warnings,
            "notes": estimate.notes,
            "settings": estimate.settings,
            "versions": estimate.versions,
            "citations": estimate.citations,
        }
    )


def write_estimate(estimate: Estimate, path: str | Path) -> None:
    """Write an estimate as JSON, schema `poinsot.identify/1`.

    Raises:
        UnwritableOutput: if the folder is missing or cannot be written to.
    """
    write_json(identify_json(estimate), path)


def write_json(content: Mapping[str, Any], path: str | Path) -> None:
    """Write plain values as JSON, complete or not at all.

    Raises:
        UnwritableOutput: if the folder is missing or cannot be written to.
    """
    write_text(path, to_text(content))


def to_text(content: Mapping[str, Any]) -> str:
    """Strict JSON, one line break at the end."""
    return json.dumps(plain(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """What JSON can hold: arrays and tuples as lists, dataclasses as objects, NaN and infinity as None."""
    if isinstance(value, Enum):
        return value.name
    if value is None or isinstance(value, (bool, int, str)):
        return value
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
        return plain(asdict(value))
    return str(value)


def _body(body: Body) -> dict[str, Any]:
    return {
        "name": body.name,
        "mass": body.mass,
        "center_of_mass": body.center_of_mass,
        "inertia_at_com": body.inertia_at_com,
        "physically_consistent": body.physically_consistent,
        "min_pseudo_inertia_eigenvalue": body.min_pseudo_inertia_eigenvalue,
        "reasons": body.reasons,
        "inertial": body.inertial,
        "prior": body.prior,
        "prior_share": body.prior_share,
        "log_cholesky_covariance": body.covariance,
    }


def _full(full: FullParameters) -> list[dict[str, Any]]:
    """Every parameter of the model."""
    return [
        {
            "name": name,
            "value": full.values[k],
            "std": full.std[k],
            "unit": full.units[k],
            "kind": full.kinds[k],
            "owner": full.owners[k],
            "prior": full.prior[k],
            "prior_share": full.prior_share[k],
        }
        for k, name in enumerate(full.names)
    ]


def _certificate(estimate: Estimate) -> dict[str, Any]:
    """Recomputed from the problem."""
    certificate = estimate.certificate()
    return {
        "primal": certificate.primal,
        "dual": certificate.dual,
        "gap": certificate.gap,
        "feasible": certificate.feasible,
        "holds": certificate.holds,
    }


def _payload(payload: Payload) -> dict[str, Any]:
    return {**asdict(payload), "mass_interval": payload.mass_interval}


def _motion(motion: EstimatedMotion) -> dict[str, Any]:
    """Sensors of one recording; the path is a recording of its own."""
    return {
        "recording": motion.name,
        "samples": len(motion.path),
        "contacts": motion.contacts,
        "sensors": [
            {
                "name": fit.name,
                "channels": fit.channels,
                "components": fit.components,
                "readings": int(np.isfinite(fit.normalized).sum()),
                "rms": fit.rms,
                "rms_per_component": fit.rms_per_component,
            }
            for fit in motion.sensors
        ],
        "disturbances": [{"name": name, "rms": rms} for name, rms in motion.disturbance.items()],
    }


def _impact(impact: Impact) -> dict[str, Any]:
    """Where a body struck a wall."""
    return {
        "recording": impact.recording,
        "time_s": impact.time,
        "contact": impact.contact,
        "normal_impulse": impact.normal,
        "tangential_impulse": impact.tangential,
        "unit": impact.unit,
        "restitution": impact.restitution,
        "mode": impact.mode,
        "energy_lost": impact.energy,
        "share": impact.share,
    }


def _convergence(estimate: Estimate) -> dict[str, Any]:
    """The guess first."""
    found = estimate.convergence
    assert found is not None
    return {
        "cost": found.cost,
        "infeasibility": found.infeasibility,
        "parameters": dict(zip(estimate.names, found.values.T, strict=True)),
    }


def _gains(gains: DriveGains) -> list[dict[str, Any]]:
    """One a motor."""
    return [
        {
            "joint": joint,
            "value": gains.values[k],
            "std": gains.std[k],
            "interval": gains.intervals[k],
            "unit": gains.units[k],
            "identified": gains.identified,
            "poorly_known": gains.poorly_known[k],
            "by_gravity": None if gains.by_gravity is None else gains.by_gravity[k],
            "std_white": None if gains.white_std is None else gains.white_std[k],
            "covariance": gains.covariance[k],
        }
        for k, joint in enumerate(gains.joints)
    ]


def _fit(fit: Fit) -> dict[str, Any]:
    return {
        "recording": fit.recording,
        "relative_error_percent": fit.relative_error_percent,
        "relative_error_percent_per_joint": fit.relative_error_percent_per_joint,
        "moving_error_percent_per_joint": fit.moving_error_percent_per_joint,
        "joints": fit.joints,
        "units": fit.units,
        "rms_per_joint": fit.rms_per_joint,
        "white": fit.white,
        "whiteness": fit.whiteness,
    }


def _validation(fits: tuple[Fit, ...]) -> dict[str, Any] | None:
    """All held-out recordings together, and each."""
    if not fits:
        return None

    squares = np.array([np.sum(fit.residuals**2, axis=0) for fit in fits]).sum(axis=0)
    measured = np.array([np.sum(fit.measured**2, axis=0) for fit in fits]).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = 100.0 * np.sqrt(squares.sum() / measured.sum())
        per_joint = 100.0 * np.sqrt(squares / measured)
    return {
        "relative_error_percent": total,
        "relative_error_percent_per_joint": per_joint,
        "recordings": [_fit(fit) for fit in fits],
    }
