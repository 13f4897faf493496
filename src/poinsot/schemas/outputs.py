"""Keys of every `--json` output with their types: those of the classes that are written, and those that verbs add."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from ..diagnosis.corrections import Nuisance
from ..estimate import (
    Body,
    Certificate,
    Direction,
    DriveGains,
    Estimate,
    EstimatedParameters,
    Finding,
    Fit,
    FrictionCurve,
    FullParameters,
    Payload,
    Setting,
    Severity,
    Status,
    Trust,
    Unchecked,
)
from ..estimate.motions import ContactChange, Impact, Scene, SensorFit, TossScene
from ..estimators.online.tracking import LinkChange, LinkExcitation, Rejection
from ..estimators.servo.result import Ratio
from ..excitation.excitation import Excitation
from ..export.differences import Change
from ..export.export_robot import BODY, TorqueParameter
from ..inspection.channels import ChannelFacts
from ..inspection.motion import ClockFacts
from ..io.results import ABOUT, CERTIFICATE, FIT, MADE
from ..models.servo.actuator import actuator_parameters
from ..signals.bandwidth import FilterProposal
from ..studies.comparison import COMPARED, ComparedParameter
from ..studies.fleet import OF_LOG, PooledParameter
from ..studies.random_effects import RandomEffects, Spread
from .json_types import Number, keys_of, row_of

Numbers: TypeAlias = list[Number]
Matrix: TypeAlias = list[Numbers]
Interval: TypeAlias = tuple[Number, Number]
ByName: TypeAlias = dict[str, Number]


def named(kind: Any, names: str) -> dict[str, Any]:
    """Keys of one type."""
    return dict.fromkeys(names.split(), kind)


STATUS = {"converged": bool, "message": str, "name": Literal[*Status.__members__]}
FINDING = keys_of(Finding) | {"severity": Literal[*Severity.__members__]}
FIT_KEYS = keys_of(Fit, *FIT) | {"rows": int}
VALIDATION = keys_of(Fit, *(key for key in FIT if key.startswith("relative"))) | {"recordings": [FIT_KEYS]}

ACTUATORS = {
    "hold": bool,
    "step_s": Number,
    "ratios": [Ratio],
    "rms_of": str,
    "rms_mrad": dict[str, ByName],
    "joints": [
        {"joint": str, "scale_known": bool, "friction_law": str}
        | dict.fromkeys(actuator_parameters(), Number)
        | named(Numbers, "friction_positions friction_levels")
    ],
    "starts": {"*": named(Numbers, "position velocity")},
}

EXTRAS: dict[str, Any] = {
    "full_parameters?": [row_of(FullParameters)],
    "payload?": Payload,
    "drive_gains?": [row_of(DriveGains)],
    "friction_curves?": [FrictionCurve],
    "corrections?": [Nuisance],
    "motions?": [
        {"recording": str, "samples": int, "contacts": list[str], "sensors": [SensorFit]}
        | {"disturbances": [{"name": str, "rms": Number}]}
    ],
    "impacts?": [Impact],
    "scene?": (Scene, TossScene),
    "simulation?": named(Numbers, "noise drag geometry geometry_std")
    | named(Number, "friction mass")
    | {"law": str},
    "mechanism?": named(Number, "weight step_s") | {"covariance": list[Numbers], "completed": ByName},
    "flights?": named(Numbers, "impact_times_s lost_times_s? floor_heights_m? wall_modes_m?"),
    "body_motions?": [named(int, "samples bodies")],
    "convergence?": named(Numbers, "cost infeasibility") | {"parameters": dict[str, Numbers]},
    "sensitivity?": [named(str, "level parameter") | named(Number, "factor moved moved_in_std")],
    "history?": {"time": Numbers} | named(dict[str, Numbers], "parameters std"),
    "contact_events?": [ContactChange],
    "actuators?": ACTUATORS,
}
"""Results of one family or a few."""

ESTIMATE: dict[str, Any] = {
    "status": STATUS,
    "trust": Literal[*(level.value for level in Trust)],
    "headline": str,
    "next": str,
    "findings": [FINDING],
    "unchecked": [Unchecked],
    **keys_of(Estimate, *ABOUT[1:]),
    "parameters": [row_of(EstimatedParameters)],
    "undetermined": [Direction],
    "bodies": [Body],
    "certificate?": keys_of(Certificate, *CERTIFICATE),
    **EXTRAS,
    "fit": FIT_KEYS,
    "validation": (VALIDATION, None),
    **keys_of(Estimate, *MADE),
    "text": str,
}

TRACK = {
    "changes?": [LinkChange],
    "samples?": dict[str, int],
    "rejections?": [keys_of(Rejection) | {"reason": str}],
    **named(Number | Numbers, "noise? bias?"),
    "calibration_samples?": int,
    "shown?": [LinkExcitation],
    "estimates?": [
        {"time": Number, "recording": str, "verdict": str} | named(Numbers, "mass mass_std published_mass")
    ],
}

INSPECTED_RECORDING = {
    "name": str,
    **keys_of(ClockFacts),
    "still_s": [Interval],
    "window_s": Interval | None,
    "filters": (FilterProposal, None),
    "channels": [ChannelFacts],
    "findings": [FINDING | {"channel": str | None, "sentence": str}],
    "steps": list[str],
}

INERTIA = {"mass": Number, "center_of_mass": Numbers | None, "inertia_at_com": Matrix | None}
REPAIRED_BODY = {
    "name": str,
    "was_consistent": bool,
    "reason": str | None,
    "distance": Number,
    **named((INERTIA, None), "old new"),
}

EXCITE = {
    **named(str, "robot basis"),
    "criterion": Literal["condition", "d-optimal"],
    **named(int, "seed samples iterations"),
    **named(Number, "duration_s rate_hz least_distance_m seconds"),
    **keys_of(Excitation, "condition_number", "log_determinant", "limits_respected", "checked", "unchecked"),
    **keys_of(
        Excitation, "predicted_relative_std_percent", "predicted_std", "use_of_limits_percent", "warnings"
    ),
    **named(dict[str, str], "units groupings"),
    **named(ByName, "torque_noise start"),
}

POOLED = {
    **keys_of(PooledParameter, "name", "unit", "kind", "owner", "grouping", "logs"),
    **keys_of(RandomEffects, "interval_95", "next_interval_95"),
    **named(Number, "value std"),
    "between": {"*": keys_of(Spread) | {"differs": bool}},
    "robots": [{"robot": str} | named(Number, "value std")],
}
LOG = named(str, "log robot day") | {"refused": str | None} | {key: (ESTIMATE[key], None) for key in OF_LOG}

OUTPUTS: dict[str, dict[str, Any]] = {
    "identify": ESTIMATE,
    "track": ESTIMATE | TRACK,
    "inspect": {"recordings": [INSPECTED_RECORDING], "proposals": [Setting], "applied": bool},
    "excite": EXCITE,
    "repair": {"description": str, "impossible": int, "bodies": [REPAIRED_BODY]},
    "new": {
        **named(str, "project_file method text"),
        "guesses": [named(str, "what value reason")],
        "unused": list[str],
    },
    "predict": {
        **named(str, "result motion"),
        "samples": int,
        "columns": [named(str, "name unit")],
        "rows": list[dict[str, Number | str]],
        "notes": list[str],
    },
    "export": {
        "source": str,
        "description": str | None,
        "torque_error": Number,
        "changes": [Change],
        "notes": list[str],
        "bodies": [{key: keys_of(Body)[key] for key in BODY}],
        "parameters": [keys_of(TorqueParameter) | {"written": bool}],
    },
    "compare": {
        "results": [named(str, "name trust method robot") | {"rows": int}],
        "different": list[str],
        "level": Number,
        "same_recordings": bool,
        "parameters": [keys_of(ComparedParameter, *COMPARED)],
        "efforts": (
            named(list[str], "joints units") | {"recording": str, "difference_percent": Matrix},
            None,
        ),
        "bodies": [{"name": str, "masses": Numbers, "centers_of_mass": list[Numbers | None]}],
        "changes": ([Change], None),
        "notes": list[str],
        "text": str,
    },
    "reproduce": {
        "name": str,
        "seed": int | str,
        "rows": list[dict[str, Any]],
        "figures": dict[str, Any],
        "notes": list[str],
        "seconds": ByName,
    },
    "fleet": {
        **named(int, "logs robots days refused"),
        "parameters": [POOLED],
        "estimates": [LOG],
        "notes": list[str],
        "seconds": ByName,
        "text": str,
    },
}
"""Output -> its keys beside `schema`; `key?` where one may be missing."""
