"""What a project file may say: one class a section, each key with its unit, nothing else allowed.

Keys have the names of the Python arguments that they become, so a page about one is a page about the other.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ..exceptions import UnknownUnit, listing, nearest
from ..io.units import check_quantity, find_unit
from ..recording import QUANTITIES


def _refuse(kind: str, message: str, **context: Any) -> PydanticCustomError:
    return PydanticCustomError(kind, "{message}", {"message": message, **context})


class Section(BaseModel):
    """A table of the project file: frozen, and with no key that it does not know."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False, extra="forbid")

    elsewhere: ClassVar[dict[str, str]] = {}
    """Keys that people look for here, and what to say."""

    @model_validator(mode="before")
    @classmethod
    def _known_keys_only(cls, content: Any) -> Any:
        if not isinstance(content, dict):
            raise _refuse("not_a_table", f"must be a table with the keys {listing(cls.model_fields)}")
        for key in content:
            if key not in cls.model_fields:
                hint = cls.elsewhere.get(key) or f"known are {listing(cls.model_fields, 30)}"
                raise _refuse(
                    "unknown_key", f"unknown key {key!r}{nearest(key, cls.model_fields)}; {hint}", key=key
                )
        return content


def _unit(unit: str) -> str:
    try:
        find_unit(unit)
    except UnknownUnit as error:
        raise _refuse("unit", str(error)) from None
    return unit


def _numbers(value: Any) -> list[Any]:
    """Those of one for all joints, of a list, or of a table by joint."""
    return value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else [value]


def _per_joint(value: Any) -> Any:
    """One number for all joints, a list in the robot's order, or a table by joint."""
    numbers = _numbers(value)
    if not numbers or not all(
        isinstance(number, (int, float)) and not isinstance(number, bool) for number in numbers
    ):
        raise _refuse(
            "per_joint", "must be a number, a list with one number a joint, or a table of numbers by joint"
        )
    return value


def _columns(value: Any) -> Any:
    names = value if isinstance(value, list) else [value]
    good = all(isinstance(name, (str, int)) and not isinstance(name, bool) for name in names)
    if not names or not good or (not isinstance(value, list) and not isinstance(value, str)):
        raise _refuse(
            "columns", 'must be a list of column names, or of indices from 0, like ["q1", "q2"] or [1, 2]'
        )
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise _refuse("columns", f"names {twice!r} twice; each joint has a column of its own")
    return value


def _units(value: Any) -> Any:
    for unit in value if isinstance(value, list) else [value]:
        if not isinstance(unit, str):
            raise _refuse("unit", f"must be a unit in quotes, or a list of them, not {unit!r}")
    return value


def _pair(value: Any) -> Any:
    if not isinstance(value, list) or len(value) != 2:
        raise _refuse("pair", "must be a pair [first, last]")
    return tuple(value)


AUTO = "auto"
"""Of a filter: what the motion asks for."""


HIGHEST_ORDER = 20
"""Of a filter: beyond it rounding errors rule."""

RATIOS = (1e-30, 1e6)
"""Noise variance ratios outside these smooth everything away, or nothing."""


def _is_text(value: Any) -> str:
    return "text" if isinstance(value, str) else "number"


Unit = Annotated[str, AfterValidator(_unit)]
PerJoint = Annotated[Any, AfterValidator(_per_joint)]
Positive = Annotated[float, Field(gt=0)]
PositiveOrAuto = Annotated[
    Annotated[Positive, Tag("number")] | Annotated[Literal["auto"], Tag("text")], Discriminator(_is_text)
]
Window = Annotated[tuple[float, float], BeforeValidator(_pair)]
Rows = Annotated[tuple[int, int], BeforeValidator(_pair)]


# -------------------------------------------------------------------------------------------------- robot and drive


class RobotSettings(Section):
    """The robot description.

    `path` is looked for beside the project file, then in the folder of the recordings. `locked`: joint -> position
    [rad] or [m] of joints that are held still. `gravity`: [m/s^2], in the world frame.
    """

    path: str
    floating_base: bool = False
    locked: dict[str, float] = {}
    gravity: list[float] = Field([0.0, 0.0, -9.81], min_length=3, max_length=3)

    @field_validator("floating_base")
    @classmethod
    def _no_floating_base(cls, floating_base: bool) -> bool:
        if floating_base:
            raise _refuse(
                "floating_base",
                "must be false: a project file cannot say yet where the base is; in Python, load_robot(..., "
                "floating_base=True) takes Signals that hold the motion of the base",
            )
        return floating_base


class CouplingSettings(Section):
    """Motor `motor` also turns `ratio` times for each turn of joint `joint`."""

    motor: str
    joint: str
    ratio: float


class OffsetSettings(Section):
    """Positions with their unit."""

    values: PerJoint
    unit: Unit

    @field_validator("unit")
    @classmethod
    def _of_a_position(cls, unit: str) -> str:
        return _unit_of("position", unit)


def _offset(value: Any) -> Any:
    return (
        OffsetSettings.model_validate(value)
        if isinstance(value, dict) and "values" in value
        else _per_joint(value)
    )


class DriveSettings(Section):
    """Motors and gears; the keys are those of `poinsot.Drive`.

    `position_offset` is added at the joint's side: numbers in [rad] or [m], or `{ values = [...], unit = "deg" }`.
    """

    side: Literal["joint", "motor"] = "joint"
    reduction: PerJoint = 1.0
    couplings: list[CouplingSettings] = []
    position_offset: Annotated[Any, AfterValidator(_offset)] = 0.0
    gain: PerJoint = 1.0
    rotor_inertia: bool = False
    coupled_rotor: Literal["free", "tied"] = "free"
    coupled_friction: bool = True
    passive: list[str] = []


class FrictionSettings(Section):
    """The law of every joint. `deadband`: speed below which friction has no sign [rad/s] or [m/s]."""

    law: Literal["viscous-coulomb", "viscous", "none"] = "viscous-coulomb"
    offset: bool = True
    deadband: float = Field(0.0, ge=0)


# ------------------------------------------------------------------------------------------------------- recordings


class ColumnSettings(Section):
    """One column of a file; see `poinsot.Column`."""

    column: str | int
    unit: Unit
    scale: float = 1.0
    hold: bool = False
    initial: float | None = None


class ClockSettings(Section):
    """The column with the time."""

    column: str | int
    unit: Unit
    scale: float = 1.0

    @field_validator("unit")
    @classmethod
    def _of_a_time(cls, unit: str) -> str:
        if find_unit(unit).si != "s":
            raise _refuse("unit", f"a clock is not measured in {unit!r}; give 's', 'ms', 'us' or 'ns'")
        return unit


class QuantitySettings(Section):
    """One quantity of all joints: a column for each, in the robot's order or for the `joints` named.

    In a `.mat` file `columns` may be the name of one matrix with a column a joint. `unit` may be a list, for a robot
    with slides and hinges.
    """

    columns: Annotated[Any, AfterValidator(_columns)]
    unit: Annotated[Any, AfterValidator(_units)]
    joints: list[str] | None = None
    scale: PerJoint = 1.0
    hold: bool = False
    initial: float | None = None


def _unit_of(quantity: str, unit: str) -> str:
    try:
        check_quantity(f"{quantity}.*", unit)
    except UnknownUnit as error:
        raise _refuse("unit", str(error).replace(f" of channel '{quantity}.*'", "")) from None
    return unit


class FileSettings(Section):
    """One file: its columns by quantity, and how to read it; see `poinsot.Source`."""

    path: str
    time: ClockSettings | None = None
    position: QuantitySettings | None = None
    velocity: QuantitySettings | None = None
    acceleration: QuantitySettings | None = None
    torque: QuantitySettings | None = None
    current: QuantitySettings | None = None
    voltage: QuantitySettings | None = None
    channels: dict[str, ColumnSettings] = {}
    rows: Rows | None = None
    require: list[str | int] = []
    delimiter: str | None = None
    header: bool = True
    skip_lines: int = 0
    decimal_comma: bool = False

    elsewhere: ClassVar[dict[str, str]] = {
        "rate_hz": "a rate belongs to the recording, in [[recordings]]",
        "window_s": "a window belongs to the recording, in [[recordings]]",
        "between_s": "a part of the recording is chosen in [[recordings]]; of a file, rows = [first, last]",
        "unit": 'a unit belongs to each quantity, as in position = { columns = ["q1"], unit = "rad" }',
    }

    @field_validator(*QUANTITIES)
    @classmethod
    def _unit_fits(cls, quantity: QuantitySettings | None, info: Any) -> QuantitySettings | None:
        if quantity is not None:
            for unit in quantity.unit if isinstance(quantity.unit, list) else [quantity.unit]:
                _unit_of(info.field_name, unit)
        return quantity


class RecordingSettings(FileSettings):
    """One recording, in one file (its keys are here) or in several with the same rows (`[[recordings.files]]`).

    In the time of its clock, `between_s`: what to keep of it, before anything else; `window_s`: what to keep of it
    after smoothing. `start_s`: what to call the time of the first sample.
    """

    path: str | None = None  # type: ignore[assignment]
    name: str | None = None
    role: Literal["identification", "validation"] = "identification"
    rate_hz: Positive | None = None
    start_s: float | None = None
    between_s: Window | None = None
    window_s: Window | None = None
    invalid: Literal["raise", "mask"] = "raise"
    files: list[FileSettings] = []

    elsewhere: ClassVar[dict[str, str]] = {
        "unit": FileSettings.elsewhere["unit"],
        "resample_hz": "resampling is asked for in [preprocessing]",
        "cutoff_hz": "filters are set in [preprocessing]",
    }

    @model_validator(mode="after")
    def _one_file_or_several(self) -> RecordingSettings:
        own = self.model_fields_set & FileSettings.model_fields.keys()
        if self.files and own:
            key = sorted(own)[0]
            raise _refuse(
                "files",
                f"{key!r} belongs into [[recordings.files]], since this recording has several files",
                key=key,
            )
        if not self.files and self.path is None:
            raise _refuse("files", "a recording needs a path, or [[recordings.files]] with one each")
        for key, window in (("window_s", self.window_s), ("between_s", self.between_s)):
            if window is not None and window[1] <= window[0]:
                raise _refuse("window", f"{key} must end after it starts, not {list(window)}", key=key)
        return self

    @property
    def title(self) -> str:
        """Its name, or its file's."""
        return self.name or (self.path or self.files[0].path)


# ------------------------------------------------------------------------------------------ preprocessing and method


class _Preprocessing(Section):
    """What every smoother may be asked for besides: a new clock, delays, decimation.

    `delays`: channel or quantity -> by how much it lags behind the positions [s]. `bridge_intervals`: of a new clock,
    how many intervals without a sample may be bridged. `"auto"`: the motion says which filter.
    """

    resample_hz: Positive | None = None
    bridge_intervals: Positive = 3.5
    delays: dict[str, float] = {}
    decimate_hz: PositiveOrAuto | None = None
    decimation_order: int = Field(8, ge=1, le=HIGHEST_ORDER)
    cut_edges: bool = True


class ButterworthSettings(_Preprocessing):
    """`poinsot.ButterworthDecimation`."""

    method: Literal["butterworth-decimation"]
    cutoff_hz: PositiveOrAuto
    order: int = Field(4, ge=1, le=HIGHEST_ORDER)


class RatioPriorSettings(Section):
    """What is known about the noise variance ratio: its median, and a standard deviation in powers of ten."""

    median: Positive
    decades: Positive


def _ratio(value: Any) -> Any:
    if value == "maximum-likelihood":
        return value
    if isinstance(value, str):
        raise _refuse(
            "ratio", f'must be a number, a list with one a joint, or "maximum-likelihood", not {value!r}'
        )
    for number in _numbers(_per_joint(value)):
        if not RATIOS[0] <= number <= RATIOS[1]:
            raise _refuse("ratio", f"must lie between {RATIOS[0]:g} and {RATIOS[1]:g}, not {number:g}")
    return value


def _cutoff(value: Any) -> Any:
    if value is None or value == AUTO:
        return value
    if isinstance(value, str):
        raise _refuse("cutoff", f'must be a number, a list with one a joint, or "{AUTO}", not {value!r}')
    for number in _numbers(_per_joint(value)):
        if number <= 0:
            raise _refuse("cutoff", f"must be greater than 0, not {number:g}")
    return value


class RandomWalkSettings(_Preprocessing):
    """`poinsot.RandomWalkSmoother`. Order 2 is the seed paper's IRWSM 1, order 3 its IRWSM 2.

    How much it smooths is said by `cutoff_hz`, or by `ratio`.
    """

    method: Literal["random-walk"]
    order: Literal[2, 3] = 2
    ratio: Annotated[Any, AfterValidator(_ratio)] = 1e-5
    highest_cutoff: float = Field(0.5, gt=0, le=1)
    prior: RatioPriorSettings | None = None
    cutoff_hz: Annotated[Any, AfterValidator(_cutoff)] = None

    @model_validator(mode="after")
    def _cutoff_or_ratio(self) -> RandomWalkSettings:
        if self.cutoff_hz is not None and "ratio" in self.model_fields_set:
            raise _refuse(
                "cutoff", "give cutoff_hz or ratio, not both: each says how much is smoothed", key="ratio"
            )
        return self


PreprocessingSettings = ButterworthSettings | RandomWalkSettings


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


def _default_method(value: Any) -> Any:
    return {"name": "least-squares", **value} if isinstance(value, dict) and "name" not in value else value


class PriorSettings(Section):
    """Prior knowledge of a base parameter, in its own unit."""

    mean: float
    std: Positive


class OutputSettings(Section):
    """Names of the files that `--out` fills."""

    report: str = "report.html"
    result: str = "result.json"

    @field_validator("report", "result")
    @classmethod
    def _plain_name(cls, name: str) -> str:
        if not name or name in (".", "..") or "/" in name or "\\" in name:
            raise _refuse(
                "name", f"must be the name of a file, without folders, not {name!r}; the folder is --out's"
            )
        return name

    @model_validator(mode="after")
    def _two_files(self) -> OutputSettings:
        if self.report == self.result:
            raise _refuse("name", f"report and result cannot both be called {self.report!r}", key="result")
        return self


class Settings(Section):
    """The whole project file."""

    robot: RobotSettings
    drive: DriveSettings | None = None
    friction: FrictionSettings = FrictionSettings()
    recordings: list[RecordingSettings] = Field(min_length=1)
    preprocessing: Annotated[PreprocessingSettings, Field(discriminator="method")]
    method: Annotated[
        Annotated[LeastSquaresSettings | EssentialSettings, Field(discriminator="name")],
        BeforeValidator(_default_method),
    ] = LeastSquaresSettings()
    priors: dict[str, PriorSettings] = {}
    held: dict[str, float] = {}
    output: OutputSettings = OutputSettings()

    @model_validator(mode="after")
    def _something_to_identify_from(self) -> Settings:
        if not any(recording.role == "identification" for recording in self.recordings):
            raise _refuse("roles", 'every recording is for validation; give one the role = "identification"')
        return self
