"""The one description of every `--json` output, as typed dictionaries; writes the JSON Schema files: `make schemas`.

`Number` is null where a value does not exist (NaN, infinity). Units are SI and radians. `docs/command_line.md` says
what each key means. Within a version keys are added and keep their meaning, so validation ignores keys that are not
listed here; the tests do not.
"""

from __future__ import annotations

import json
from typing import Any, Literal, NotRequired, TypeAlias

from pydantic import TypeAdapter
from typing_extensions import TypedDict  # Pydantic asks for this one below Python 3.12

from poinsot.schemas import NAMES, schema_file

Number: TypeAlias = float | None
Vector: TypeAlias = list[Number]
Matrix: TypeAlias = list[Vector]
Interval: TypeAlias = tuple[Number, Number]
ByName: TypeAlias = dict[str, Number]

# ------------------------------------------------------------------------------------------------------------ identify


class Status(TypedDict):
    converged: bool
    message: str
    name: str


class EstimateFinding(TypedDict):
    cause: str
    severity: Literal["note", "warning", "error"]
    message: str
    remedy: str
    where: str


class Unchecked(TypedDict):
    what: str
    reason: str
    failed: bool


class Parameter(TypedDict):
    name: str
    value: Number
    std: Number
    relative_std_percent: Number
    unit: str
    identifiable: bool
    kind: str
    owner: str
    grouping: str
    std_white: Number
    std_coloured: Number
    std_systematic: Number
    std_next_recording: Number
    covariance: Vector


class Undetermined(TypedDict):
    combination: str
    reason: str


class Body(TypedDict):
    name: str
    mass: Number
    center_of_mass: Vector | None
    inertia_at_com: Matrix | None
    physically_consistent: bool | None
    min_pseudo_inertia_eigenvalue: Number
    reasons: list[str]
    inertial: Vector | None
    prior: Vector | None
    prior_share: Number
    log_cholesky_covariance: Matrix | None


class FullParameter(TypedDict):
    name: str
    value: Number
    std: Number
    unit: str
    kind: str
    owner: str
    prior: Number
    prior_share: Number
    interval: NotRequired[Interval]
    covariance: Vector


class Certificate(TypedDict):
    primal: Number
    dual: Number
    gap: Number
    feasible: bool
    holds: bool


class Payload(TypedDict):
    link: str
    mass: Number
    mass_std: Number
    mass_interval: Interval
    center_of_mass: Vector
    center_of_mass_std: Vector
    inertia_at_com: Matrix
    inertia_at_com_std: Matrix
    identifiable: list[str]
    known: list[str]
    physically_consistent: bool | None
    min_pseudo_inertia_eigenvalue: Number
    reasons: list[str]
    inertial: Vector
    covariance: Matrix


class DriveGain(TypedDict):
    joint: str
    value: Number
    std: Number
    interval: Interval
    unit: str
    identified: bool
    poorly_known: bool
    by_gravity: bool | None
    std_white: Number
    covariance: Vector


class FrictionCurve(TypedDict):
    joint: str
    unit: str
    speed: Vector
    effort: Vector
    std: Vector


class JointActuator(TypedDict):
    joint: str
    scale_known: bool
    friction_law: str
    stiffness: Number
    derivative_gain: Number
    velocity_gain: Number
    damping: Number
    coulomb: Number
    stiction: Number
    stribeck_speed: Number
    load_friction: Number
    external_friction: Number
    gear_friction: Number
    load_stiction: Number
    external_stiction: Number
    gear_stiction: Number
    load_quadratic: Number
    external_quadratic: Number
    armature: Number
    torque_limit: Number
    no_load_speed: Number
    delay: Number
    lag: Number
    zero: Number
    dead_band: Number
    backlash: Number
    ramp: Number
    nominal_voltage: Number
    friction_positions: Vector
    friction_levels: Vector


class StiffnessRatio(TypedDict):
    joint: str
    name: str
    unit: str
    value: Number
    std: Number
    identifiable: bool
    std_next_recording: Number


class Start(TypedDict):
    position: Vector
    velocity: Vector


class Actuators(TypedDict):
    hold: bool
    step_s: Number
    joints: list[JointActuator]
    ratios: list[StiffnessRatio]
    rms_of: str
    rms_mrad: dict[str, ByName]
    starts: dict[str, Start]


class SensorFit(TypedDict):
    name: str
    channels: list[str]
    components: list[str]
    readings: int
    rms: Number
    rms_per_component: Vector


class Disturbance(TypedDict):
    name: str
    rms: Number


class Motion(TypedDict):
    recording: str
    samples: int
    contacts: list[str]
    sensors: list[SensorFit]
    disturbances: list[Disturbance]


class Impact(TypedDict):
    recording: str
    time_s: Number
    contact: str
    normal_impulse: Number
    tangential_impulse: Number
    unit: str
    restitution: Number
    mode: str
    energy_lost: Number
    share: Number


class Scene(TypedDict):
    outline: list[Vector]
    walls: list[Vector]
    friction: Number
    least_friction: Number


class DropSimulation(TypedDict):
    noise: Vector
    drag: Vector
    friction: Number
    mass: Number


class FlightStates(TypedDict):
    impact_times_s: Vector
    lost_times_s: Vector
    floor_heights_m: Vector
    wall_modes_m: Vector


class Convergence(TypedDict):
    cost: Vector
    infeasibility: Vector
    parameters: dict[str, Vector]


class NoiseMove(TypedDict):
    level: str
    factor: float
    parameter: str
    moved: Number
    moved_in_std: Number


class ContactChange(TypedDict):
    recording: str
    frame: str
    closes: bool
    given: Number
    time: Number
    sample: int
    gain: Number


class ParameterHistory(TypedDict):
    time: Vector
    parameters: dict[str, Vector]
    std: dict[str, Vector]


class Whiteness(TypedDict):
    lag1: Number
    lags: int
    p_value: Number
    white: bool


class Fit(TypedDict):
    recording: str
    relative_error_percent: Number
    relative_error_percent_per_joint: Vector
    moving_error_percent_per_joint: Vector
    joints: list[str]
    units: list[str]
    rms_per_joint: Vector
    rows: int
    readings_per_joint: list[int]
    white: bool
    whiteness: list[Whiteness]


class Validation(TypedDict):
    relative_error_percent: Number
    relative_error_percent_per_joint: Vector
    recordings: list[Fit]


class BodyMotionSize(TypedDict):
    samples: int
    bodies: int


class Estimate(TypedDict):
    status: Status
    trust: Literal["trusted", "with-care", "corrected", "not-to-be-used"]
    findings: list[EstimateFinding]
    unchecked: list[Unchecked]
    method: str
    robot: str
    rows: int
    condition_number: Number
    scaled_condition_number: Number
    std_kind: str
    parameters: list[Parameter]
    undetermined: list[Undetermined]
    bodies: list[Body]
    full_parameters: NotRequired[list[FullParameter]]
    certificate: NotRequired[Certificate]
    payload: NotRequired[Payload]
    drive_gains: NotRequired[list[DriveGain]]
    friction_curves: NotRequired[list[FrictionCurve]]
    motions: NotRequired[list[Motion]]
    impacts: NotRequired[list[Impact]]
    scene: NotRequired[Scene]
    simulation: NotRequired[DropSimulation]
    flights: NotRequired[FlightStates]
    body_motions: NotRequired[list[BodyMotionSize]]
    convergence: NotRequired[Convergence]
    sensitivity: NotRequired[list[NoiseMove]]
    history: NotRequired[ParameterHistory]
    contact_events: NotRequired[list[ContactChange]]
    corrections: NotRequired[list[Correction]]
    actuators: NotRequired[Actuators]
    fit: Fit
    validation: Validation | None
    seconds: ByName
    iterations: int
    steps: list[str]
    warnings: list[str]
    notes: list[str]
    settings: dict[str, Any]
    versions: dict[str, str]
    citations: list[str]
    text: str


class Correction(TypedDict):
    quantity: Literal["delay", "zero", "offset"]
    joint: str | None
    number: int | None
    recording: str
    value: Number
    std: Number
    unit: str


class Identify(Estimate):
    schema: Literal["poinsot.identify/1"]


# --------------------------------------------------------------------------------------------------------------- track


class MassChange(TypedDict):
    body: str
    mass: Number
    mass_std: Number
    center_of_mass: Vector | None


class Rejection(TypedDict):
    recording: str
    start_s: Number
    stop_s: Number
    samples: int
    verdict: str
    reason: str


class Shown(TypedDict):
    link: str
    mass_std: Number
    center_of_mass_std: Vector
    inertia_std: Vector
    mass: bool
    center_of_mass: list[bool]
    inertia: list[bool]


class KeptEstimate(TypedDict):
    time: Number
    recording: str
    verdict: str
    mass: Vector
    mass_std: Vector
    published_mass: Vector


class Track(Estimate):
    schema: Literal["poinsot.track/1"]
    changes: NotRequired[list[MassChange]]
    samples: NotRequired[dict[str, int]]
    rejections: NotRequired[list[Rejection]]
    noise: NotRequired[Number | Vector]
    bias: NotRequired[Number | Vector]
    calibration_samples: NotRequired[int]
    shown: NotRequired[list[Shown]]
    estimates: NotRequired[list[KeptEstimate]]


# ------------------------------------------------------------------------------------------------------------- inspect


class Filters(TypedDict):
    joints: list[str]
    rate_hz: Number
    bandwidth_hz: Number
    noise_hz: Number
    cutoff_hz: Number
    decimate_hz: Number
    decimation_order: int
    bandwidth_hz_per_joint: Vector
    noise_hz_per_joint: Vector
    cutoff_hz_per_joint: Vector
    reasons: list[str]


class Channel(TypedDict):
    name: str
    unit: str
    minimum: Number
    maximum: Number
    mean: Number
    std: Number
    invalid: int
    constant: bool
    levels: int
    step: Number
    digits: int | None
    repeated_percent: Number
    stale_percent: Number
    lowest_percent: Number
    highest_percent: Number
    clipped: bool
    peak_speed: Number
    speed_limit: Number


class Finding(EstimateFinding):
    channel: str | None
    sentence: str


class InspectedRecording(TypedDict):
    name: str
    samples: int
    start_s: Number
    duration_s: Number
    rate_hz: Number
    interval_s: Number
    rms_jitter_s: Number
    largest_jitter_s: Number
    uniform: bool
    gaps_s: list[Interval]
    still_s: list[Interval]
    window_s: Interval | None
    filters: Filters | None
    channels: list[Channel]
    findings: list[Finding]
    steps: list[str]


class Proposal(TypedDict):
    section: str
    key: str
    value: str
    recording: int | None
    cause: str


class Inspect(TypedDict):
    schema: Literal["poinsot.inspect/1"]
    recordings: list[InspectedRecording]
    proposals: list[Proposal]
    applied: bool


# ----------------------------------------------------------------------------------------- excite, repair, export, ...


class Excite(TypedDict):
    schema: Literal["poinsot.excite/1"]
    robot: str
    criterion: Literal["condition", "d-optimal"]
    basis: str
    seed: int
    duration_s: Number
    rate_hz: Number
    samples: int
    condition_number: Number
    log_determinant: Number
    limits_respected: bool
    checked: list[str]
    unchecked: list[str]
    least_distance_m: Number
    predicted_relative_std_percent: ByName
    predicted_std: ByName
    units: dict[str, str]
    groupings: dict[str, str]
    torque_noise: ByName
    start: ByName
    use_of_limits_percent: dict[str, ByName]
    iterations: int
    seconds: Number
    warnings: list[str]


class RepairedInertia(TypedDict):
    mass: Number
    center_of_mass: Vector | None
    inertia_at_com: Matrix | None


class RepairedBody(TypedDict):
    name: str
    was_consistent: bool
    reason: str | None
    distance: Number
    old: RepairedInertia | None
    new: RepairedInertia | None


class Repair(TypedDict):
    schema: Literal["poinsot.repair/1"]
    description: str
    impossible: int
    bodies: list[RepairedBody]


class Guess(TypedDict):
    what: str
    value: str
    reason: str


class New(TypedDict):
    schema: Literal["poinsot.new/1"]
    project_file: str
    method: str
    text: str
    guesses: list[Guess]
    unused: list[str]


class PredictedColumn(TypedDict):
    name: str
    unit: str


class Predict(TypedDict):
    schema: Literal["poinsot.predict/1"]
    result: str
    motion: str
    samples: int
    columns: list[PredictedColumn]
    rows: list[dict[str, Number | str]]
    notes: list[str]


class Change(TypedDict):
    owner: str
    quantity: str
    unit: str
    old: Number | Vector
    new: Number | Vector
    change_percent: Number


class ExportedBody(TypedDict):
    name: str
    inertial: Vector
    log_cholesky_covariance: Matrix | None
    prior_share: Number


class ExportedParameter(TypedDict):
    name: str
    value: Number
    std: Number
    unit: str
    kind: str
    owner: str
    written: bool


class Export(TypedDict):
    schema: Literal["poinsot.export/1"]
    source: str
    description: str
    torque_error: Number
    changes: list[Change]
    notes: list[str]
    bodies: list[ExportedBody]
    parameters: list[ExportedParameter]


class Reproduce(TypedDict):
    schema: Literal["poinsot.reproduce/1"]
    name: str
    seed: int | str
    rows: list[dict[str, Any]]
    figures: dict[str, Any]
    notes: list[str]
    seconds: ByName


# --------------------------------------------------------------------------------------------------------------- fleet


class Spread(TypedDict):
    std: Number
    interval_95: Interval
    p_value: Number
    members: int
    groups: int
    differs: bool


class RobotValue(TypedDict):
    robot: str
    value: Number
    std: Number


class PooledParameter(TypedDict):
    name: str
    unit: str
    kind: str
    owner: str
    grouping: str
    logs: int
    value: Number
    std: Number
    interval_95: Interval
    next_interval_95: Interval
    between: dict[str, Spread]
    robots: list[RobotValue]


class LogEstimate(TypedDict):
    log: str
    robot: str
    day: str
    refused: str | None
    status: Status | None
    trust: str | None
    findings: list[EstimateFinding] | None
    rows: int | None
    condition_number: Number
    parameters: list[Parameter] | None
    fit: Fit | None
    validation: Validation | None
    seconds: ByName | None


class Fleet(TypedDict):
    schema: Literal["poinsot.fleet/1"]
    logs: int
    robots: int
    days: int
    refused: int
    parameters: list[PooledParameter]
    estimates: list[LogEstimate]
    notes: list[str]
    seconds: ByName
    text: str


# -------------------------------------------------------------------------------------------------------- the files


def schema_text(name: str) -> str:
    """The content of the schema file of an output of `NAMES`."""
    found = _shortened(TypeAdapter(globals()[name.capitalize()]).json_schema())
    title = found["properties"]["schema"]["const"]
    content = {"$schema": "https://json-schema.org/draft/2020-12/schema", **found, "title": title}
    return json.dumps(content, indent=1) + "\n"


def _shortened(value: Any) -> Any:
    """Drop the titles that Pydantic makes of names, and write "a number or null" in one line."""
    if isinstance(value, list):
        return [_shortened(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get("anyOf") == [{"type": "number"}, {"type": "null"}]:
        return {"type": ["number", "null"]}
    return {
        key: _shortened(each) for key, each in value.items() if key != "title" or not isinstance(each, str)
    }


if __name__ == "__main__":
    for each in NAMES:
        schema_file(each).write_text(schema_text(each), encoding="utf-8")
