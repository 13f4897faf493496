"""[[recordings]]: files, columns, units, clocks."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, create_model, field_validator, model_validator

from ...exceptions import listing
from ...io.units import find_unit
from ...quantities import FRAME_QUANTITIES
from ...recording import EFFORTS, QUANTITIES
from .fields import (
    PerJoint,
    Positive,
    Rows,
    SettingsTable,
    Unit,
    Window,
    check_columns,
    check_units,
    refuse,
    unit_of,
)


class ColumnSettings(SettingsTable):
    """One column of a file; see `poinsot.Column`."""

    column: str | int
    unit: Unit
    scale: float = 1.0
    hold: bool = False
    initial: float | None = None
    zero: float = 0.0
    wraps: Positive | None = None
    missing: list[float] = []


class ClockSettings(SettingsTable):
    """The column with the time."""

    column: str | int
    unit: Unit
    scale: float = 1.0
    nanoseconds: str | int | None = None

    @field_validator("unit")
    @classmethod
    def _of_a_time(cls, unit: str) -> str:
        if find_unit(unit).si != "s":
            raise refuse(
                "unit", f"a clock is not measured in {unit!r}; give 's', 'ms', 'us', 'ns' or 'datetime'"
            )
        return unit


class QuantitySettings(SettingsTable):
    """One quantity of all joints: a column for each, in the robot's order or for the named `joints`.

    In a `.mat` file `columns` may be the name of one matrix with a column per joint. `unit` may be a list, for a robot
    with prismatic and revolute joints. `not_measured`: of efforts, joints with a motor that have no column.
    """

    columns: Annotated[Any, AfterValidator(check_columns)]
    unit: Annotated[Any, AfterValidator(check_units)]
    joints: list[str] | None = None
    scale: PerJoint = 1.0
    zero: PerJoint = 0.0
    hold: bool = False
    initial: float | None = None
    wraps: Positive | None = None
    missing: list[float] = []
    not_measured: list[str] = []


class FrameSettings(SettingsTable):
    """Readings of a sensor at a frame of the robot: a column for each axis, for a force sensor also for its moments."""

    frame: str
    columns: Annotated[list[Any], AfterValidator(check_columns)]
    unit: Annotated[Any, AfterValidator(check_units)]
    scale: float = 1.0


class OrientationSettings(SettingsTable):
    """A quaternion of a frame in the world, which rotates vectors from the frame's axes to the world's. `frame`: that
    of a thrown body needs no name.
    """

    frame: str = "body"
    columns: Annotated[list[Any], AfterValidator(check_columns)]
    order: Literal["xyzw", "wxyz"] = "xyzw"


class ContactSettings(SettingsTable):
    """Ground contact of feet: 1 or 0 (`unit = "1"`), or the normal force, a column for each frame."""

    frames: list[str]
    columns: Annotated[list[Any], AfterValidator(check_columns)]
    unit: Unit = "1"


class ThrustSettings(SettingsTable):
    """Thrust of each of these rotors of `[[rotors]]`."""

    rotors: list[str]
    columns: Annotated[list[Any], AfterValidator(check_columns)]
    unit: Unit
    scale: float = 1.0


def _listed(value: Any) -> Any:
    """One table, or a list of them."""
    return [value] if isinstance(value, dict) else value


AtFrames = Annotated[list[FrameSettings], BeforeValidator(_listed)]
OrientationsAtFrames = Annotated[list[OrientationSettings], BeforeValidator(_listed)]


_KEYS: dict[str, Any] = {
    name: (OrientationsAtFrames if quantity.is_orientation else AtFrames, [])
    for name, quantity in FRAME_QUANTITIES.items()
}
_KEYS |= dict.fromkeys(QUANTITIES, (QuantitySettings | None, None))
ListedQuantities = create_model("ListedQuantities", __base__=SettingsTable, **_KEYS)
"""A key for each listed quantity: its columns in a file, one table per frame or one for all joints."""


class FileSettings(ListedQuantities):
    """One file: its columns by quantity, and how to read it; see `poinsot.Source`."""

    path: str
    time: ClockSettings | None = None
    contact: ContactSettings | None = None
    thrust: ThrustSettings | None = None
    channels: dict[str, ColumnSettings] = {}
    rows: Rows | None = None
    every: Annotated[int, Field(ge=1)] = 1
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

    @field_validator(*QUANTITIES, *FRAME_QUANTITIES, "contact", "thrust")
    @classmethod
    def _columns_and_units_fit(cls, value: Any, info: Any) -> Any:
        listed = FRAME_QUANTITIES.get(info.field_name)
        for columns in value if isinstance(value, list) else [] if value is None else [value]:
            if listed is not None:
                count, sizes = len(columns.columns), listed.counts
                if listed.is_orientation and count != 4:
                    raise refuse("columns", f"a quaternion needs 4 columns, but has {count}")
                if not listed.is_orientation and count not in sizes:
                    raise refuse("columns", f"needs {' or '.join(map(str, sizes))} columns, but has {count}")
            if getattr(columns, "not_measured", []) and info.field_name not in EFFORTS:
                raise refuse(
                    "not_measured",
                    f"is a key of {listing(EFFORTS)}: joints without a {info.field_name} are held in [robot] by locked",
                )
            unit = getattr(columns, "unit", [])  # an orientation has none
            for one in unit if isinstance(unit, list) else [unit]:
                unit_of(info.field_name, one)
        return value


class RecordingSettings(FileSettings):
    """One recording, in one file (its keys are here) or in several (`[[recordings.files]]`), with the same rows or
    clocks of their own.

    In the time of its clock, `between_s`: interval that is kept, before all processing; `window_s`: interval that is
    kept after smoothing. `start_s`: time of the first sample. `loaded`: whether the robot carries the load that is to
    be identified. `gait`: file with the times at which feet touch the ground, in place of `contact`.
    """

    path: str | None = None  # type: ignore[assignment]
    name: str | None = None
    role: Literal["identification", "validation"] = "identification"
    rate_hz: Positive | None = None
    start_s: float | None = None
    between_s: Window | None = None
    window_s: Window | None = None
    invalid: Literal["raise", "mask"] = "raise"
    loaded: bool = False
    gait: str | None = None
    files: list[FileSettings] = []

    elsewhere: ClassVar[dict[str, str]] = {
        "unit": FileSettings.elsewhere["unit"],
        "resample_hz": "resampling is asked for in [preprocessing]",
        "cutoff_hz": "filters are set in [preprocessing]",
    }

    @model_validator(mode="after")
    def _one_file_or_several(self) -> RecordingSettings:
        # Only keys in the file: every recording has the defaults of a file.
        own = self.model_fields_set & FileSettings.model_fields.keys()
        if self.files and own:
            key = sorted(own)[0]
            raise refuse(
                "files",
                f"{key!r} belongs into [[recordings.files]], since this recording has several files",
                key=key,
            )
        if not self.files and self.path is None:
            raise refuse("files", "a recording needs a path, or [[recordings.files]] with one each")
        for key, window in (("window_s", self.window_s), ("between_s", self.between_s)):
            if window is not None and window[1] <= window[0]:
                raise refuse("window", f"{key} must end after it starts, not {list(window)}", key=key)
        return self

    @property
    def not_measured(self) -> tuple[str, ...]:
        """Joints with a motor whose effort has no column."""
        efforts = (getattr(file, effort) for file in self.files or [self] for effort in EFFORTS)
        names = (name for effort in efforts if effort is not None for name in effort.not_measured)
        return tuple(dict.fromkeys(names))

    @property
    def title(self) -> str:
        """Name of the recording, or of its file."""
        return self.name or (self.path or self.files[0].path)
