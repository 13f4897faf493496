"""[[recordings]]: files, columns, units, clocks."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    field_validator,
    model_validator,
)

from ...io.units import find_unit
from ...recording import QUANTITIES
from .fields import (
    PerJoint,
    Positive,
    Rows,
    Section,
    Unit,
    Window,
    check_columns,
    check_units,
    refuse,
    unit_of,
)

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
            raise refuse("unit", f"a clock is not measured in {unit!r}; give 's', 'ms', 'us' or 'ns'")
        return unit


class QuantitySettings(Section):
    """One quantity of all joints: a column for each, in the robot's order or for the `joints` named.

    In a `.mat` file `columns` may be the name of one matrix with a column a joint. `unit` may be a list, for a robot
    with slides and hinges.
    """

    columns: Annotated[Any, AfterValidator(check_columns)]
    unit: Annotated[Any, AfterValidator(check_units)]
    joints: list[str] | None = None
    scale: PerJoint = 1.0
    hold: bool = False
    initial: float | None = None


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
                unit_of(info.field_name, unit)
        return quantity


class RecordingSettings(FileSettings):
    """One recording, in one file (its keys are here) or in several with the same rows (`[[recordings.files]]`).

    In the time of its clock, `between_s`: what to keep of it, before anything else; `window_s`: what to keep of it
    after smoothing. `start_s`: what to call the time of the first sample. `loaded`: whether the robot carries the load
    that is to be identified.
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
    def title(self) -> str:
        """Its name, or its file's."""
        return self.name or (self.path or self.files[0].path)
