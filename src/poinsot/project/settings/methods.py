"""[method]: the estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from ...inertia import CHARTS
from .fields import PerJoint, Point, Positive, Section, Window, is_text, refuse

if TYPE_CHECKING:
    ChartName: TypeAlias = str
    ChartOrNone: TypeAlias = str
else:
    ChartName, ChartOrNone = Literal[(*CHARTS,)], Literal[(*CHARTS, "none")]

NoiseLevel = Positive | Annotated[list[Positive], Field(min_length=1)]
"""One standard deviation for all components of a reading, or one for each."""


class LeastSquaresSettings(Section):
    """`poinsot.LeastSquares`."""

    name: Literal["least-squares"] = "least-squares"
    weighting: Literal["none", "per-joint", "robust"] = "none"
    parameters: Literal["base", "full"] = "base"


class EssentialSettings(Section):
    """`poinsot.EssentialParameters`."""

    name: Literal["essential-parameters"]
    max_relative_std_percent: Positive = 30.0
    significance: float = Field(0.01, gt=0, lt=1)
    keep: list[str] | None = None
    weighting: Literal["none", "per-joint", "robust"] = "none"


class RegionSettings(Section):
    """A region of the body frame [m]: a box, an ellipsoid or a convex hull, whichever the keys are of."""

    low: Point | None = None
    high: Point | None = None
    center: Point | None = None
    semi_axes: Point | None = None
    points: list[Point] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> RegionSettings:
        kinds = ({"low", "high"}, {"center", "semi_axes"}, {"points"})
        if self.model_fields_set not in kinds:
            raise refuse(
                "region",
                "must be a box { low, high }, an ellipsoid { center, semi_axes } or a convex hull { points }",
            )
        return self


class EllipsoidSettings(Section):
    """An ellipsoid along the axes of the body frame [m]."""

    center: Point
    semi_axes: Point


class BodyConstraintSettings(Section):
    """`poinsot.BodyConstraint`."""

    mass: Window | None = None
    center_of_mass: RegionSettings | None = None
    inside: EllipsoidSettings | None = None
    mirror: list[Literal["x", "y", "z"]] = []
    round: Literal["x", "y", "z"] | None = None


class ConstraintsSettings(Section):
    """`poinsot.Constraints`."""

    bodies: dict[str, BodyConstraintSettings] = {}
    total_mass: Window | None = None


class SemidefiniteSettings(Section):
    """`poinsot.SemidefiniteLeastSquares`. `prior` is the file of a robot description with the same bodies."""

    name: Literal["semidefinite"]
    weighting: Literal["none", "per-joint", "robust"] = "none"
    essential: bool = False
    prior: str | None = None
    divergence: Literal["entropic", "euclidean", "affine-invariant"] = "entropic"
    trust: Literal["data", "both"] = "data"
    prior_std: Positive = 0.5
    allowance: float = Field(0.5, ge=1e-3)
    constraints: ConstraintsSettings = ConstraintsSettings()


class PointPriorSettings(Section):
    """What is known of a point: where it is and how sure that is, along x, y and z [m]."""

    mean: Point
    std: Point

    @field_validator("std")
    @classmethod
    def _above_zero(cls, std: list[float]) -> list[float]:
        if min(std) <= 0:
            raise refuse("std", f"must be three numbers above 0, not {std}")
        return std


class PayloadSettings(Section):
    """`poinsot.PayloadIdentification`, or by difference `poinsot.PayloadDifference`.

    `link`: that carries the load, and in whose frame it is. `mass` +- `mass_std`: of the load, where it is known [kg].
    `gains_from`: the project file, or the result, of a job that identifies the drive gains.
    """

    name: Literal["payload"]
    approach: Literal["direct", "difference"] = "direct"
    link: str | None = None
    mass: Positive | None = None
    mass_std: float = Field(0.0, ge=0)
    gains_from: str | None = None
    gain_std: PerJoint | None = None
    identify_gains: bool | None = None
    estimator: Literal["output-error", "least-squares", "total-least-squares"] = "output-error"
    center_of_mass: PointPriorSettings | None = None
    constraint: BodyConstraintSettings | None = None
    possible: bool = False
    draws: int = Field(400, ge=20)
    block_s: Positive | None = None
    seed: int = Field(0, ge=0)

    @model_validator(mode="after")
    def _only_what_is_used(self) -> PayloadSettings:
        if self.mass_std and self.mass is None:
            raise refuse("payload", "mass_std says how sure the mass is; give mass too", key="mass_std")
        both = {"name", "approach", "link", "mass", "seed"}
        if self.approach == "difference":
            for key in sorted(self.model_fields_set - both):
                raise refuse("payload", f'{key} needs approach = "direct"', key=key)
        return self


class FilterSettings(Section):
    """`poinsot.ExtendedKalmanFilter`, or with `chart = "none"` `poinsot.KalmanFilter`, for `poinsot track`.

    `links`: bodies whose mass properties are open; all others are known. `robot_from`: the project file, or the result,
    of a job that identifies the robot: its gains, friction and mass properties; without it the description's.
    `calibrate_s`: for how long at the start open bodies are as described, and their residuals say the noise and, with
    `calibrate_bias`, a constant bias; 0: there is no such time, and `noise` is given. `mass_rate`: how fast published
    masses may change [kg/s].
    """

    name: Literal["filter"]
    links: list[str] = Field(min_length=1)
    robot_from: str | None = None
    chart: ChartOrNone = "log-cholesky"
    noise: PerJoint | None = None
    calibrate_s: float = Field(2.0, ge=0)
    calibrate_bias: bool = False
    noise_margin: Positive = 2.0
    initial_std: Positive = 0.3
    drift: float = Field(0.1, ge=0)
    largest_std: Positive = 1.0
    adaptive: bool = False
    iterations: int = Field(10, ge=0)
    gate: Annotated[
        Annotated[Annotated[float, Field(gt=0, lt=1)], Tag("number")]
        | Annotated[Literal["none"], Tag("text")],
        Discriminator(is_text),
    ] = 0.999
    patience: int = Field(100, ge=1)
    growth: float = Field(1.1, gt=1)
    memory_s: Positive = 2.0
    mass_rate: Positive | None = 3.0

    @model_validator(mode="after")
    def _noise_from_somewhere(self) -> FilterSettings:
        if self.noise is None and self.calibrate_s == 0:
            raise refuse(
                "noise", "nothing says how large the noise is: give noise, or calibrate_s", key="calibrate_s"
            )
        if self.calibrate_bias and self.calibrate_s == 0:
            raise refuse("bias", "a bias is calibrated over a window: give calibrate_s", key="calibrate_bias")
        return self


class OptimalEstimationSettings(Section):
    """`poinsot.OptimalEstimation`: parameters and motion together, from encoders, IMU, contacts and commands.

    `bodies`, `joints`: whose mass properties, and which parameters of joints (`fv3`, `fc3`, ...), are open. `noise`:
    standard deviations, by quantity (`gyro`) or channel group (`gyro.imu_link`), of what sensors read and, as `torque`,
    `current` or `thrust`, of what the robot is told; `foot_velocity`: how fast a closed contact may slip.
    `speed_noise`: what the model lacks, as a standard deviation of the change of each speed in a step, by joint, or as
    `base_linear` and `base_angular`. `prior_std`: how far bodies may be from the description, in coordinates of the
    chart; without it only [priors] are known. `start_std`: how well the first state is known, `[positions, speeds]`.
    `dry_speed`: where dry friction has 76 % of its size [rad/s] or [m/s]. `start_from`: a result to begin at.
    """

    name: Literal["optimal-estimation"]
    bodies: list[str] = []
    joints: list[str] = []
    chart: ChartName = "log-cholesky"
    noise: dict[str, NoiseLevel]
    speed_noise: PerJoint | None = None
    prior_std: Positive | None = None
    start_std: Window | None = None
    dry_speed: Positive = 0.05
    start_from: str | None = None
    rollout: Literal["multiple", "feasible", "single"] = "multiple"
    max_iterations: int = Field(200, ge=1)
    step_tolerance: Positive = 1e-5
    gap_tolerance: Positive = 1e-8
    null_space: bool = True
    memory: int = Field(1, ge=1)
    damping: float = Field(0.0, ge=0)
    longest: Positive = 0.3

    aliases: ClassVar[dict[str, str]] = {"max_steps": "max_iterations"}

    @model_validator(mode="after")
    def _something_disturbs(self) -> OptimalEstimationSettings:
        told = {"torque", "current", "voltage", "thrust"} & set(self.noise)
        if self.speed_noise is None and not told:
            raise refuse(
                "noise",
                "nothing says how exact the model is: give speed_noise, or in noise that of torque, current or thrust",
                key="noise",
            )
        if self.start_std is not None and min(self.start_std) <= 0:
            raise refuse("start", "start_std needs two numbers above 0: positions, speeds", key="start_std")
        return self


class JointSmoothingSettings(Section):
    """`poinsot.estimators.joint.JointEstimation`: states and parameters of a [mechanism].

    `parameters`: names of what is open, like `"pendulum.Jxx"`, `"elbow.drag"`, `"elbow encoder.zero"`. `noise`:
    standard deviations of what sensors read, by quantity (`position`) or channel (`position.elbow`) [rad], [m],
    [rad/s]. `weight`: kappa, 1 / (standard deviation of an impulse that the model lacks [N m s], [N s])^2; `"auto"`:
    chosen by how well readings that are left out are predicted. `step_s`: of the model; without it one sample is one
    step. `lower`, `upper`: bounds. `start`: where parameters begin, in place of the mechanism's values.
    """

    name: Literal["joint-smoothing"]
    parameters: list[str] = Field(min_length=1)
    noise: dict[str, Positive]
    weight: Annotated[
        Annotated[Positive, Tag("number")] | Annotated[Literal["auto"], Tag("text")], Discriminator(is_text)
    ] = "auto"
    form: Literal["reduced", "explicit", "implicit"] = "reduced"
    step_s: Positive | None = None
    lower: dict[str, float] = {}
    upper: dict[str, float] = {}
    start: dict[str, float] = {}
    max_iterations: int = Field(50, ge=1)
    tolerance: float = Field(1e-7, gt=0, lt=1)


class TrackerNoiseSettings(Section):
    """Standard deviations of a tracked pose: `position` [m], `angle` [rad]."""

    position: Positive
    angle: Positive


class ImpactsSettings(Section):
    """`poinsot.estimators.complementarity`: J/m, friction and restitution of a [body] that strikes [[walls]].

    `noise`: of the tracker; without it, it is found. `drag`: linear and angular [1/s]. `steps`: of the program between
    two frames. `seed`: of the starts of the search.
    """

    name: Literal["impacts"]
    noise: TrackerNoiseSettings | None = None
    drag: Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=2, max_length=2)] = [0.0, 0.0]
    steps: int | None = Field(None, ge=1)
    seed: int = Field(0, ge=0)


def default_method(value: Any) -> Any:
    return {"name": "least-squares", **value} if isinstance(value, dict) and "name" not in value else value
