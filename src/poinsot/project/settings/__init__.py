"""What a project file may say: one class a section, each key with its unit, nothing else allowed.

Keys have the names of the Python arguments that they become, so a page about one is a page about the other.

    fields         kinds of values: units, one number a joint, windows
    robot          [robot] [drive] [friction]
    recordings     [[recordings]]
    preprocessing  [preprocessing]
    methods        [method]
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator, model_validator

from .fields import Positive, Section, refuse
from .methods import (
    EssentialSettings,
    LeastSquaresSettings,
    PayloadSettings,
    SemidefiniteSettings,
    default_method,
)
from .preprocessing import PreprocessingSettings
from .recordings import RecordingSettings
from .robot import DriveSettings, FrictionSettings, RobotSettings


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
            raise refuse(
                "name", f"must be the name of a file, without folders, not {name!r}; the folder is --out's"
            )
        return name

    @model_validator(mode="after")
    def _two_files(self) -> OutputSettings:
        if self.report == self.result:
            raise refuse("name", f"report and result cannot both be called {self.report!r}", key="result")
        return self


class Settings(Section):
    """The whole project file."""

    robot: RobotSettings
    drive: DriveSettings | None = None
    friction: FrictionSettings = FrictionSettings()
    recordings: list[RecordingSettings] = Field(min_length=1)
    preprocessing: Annotated[PreprocessingSettings, Field(discriminator="method")]
    method: Annotated[
        Annotated[
            LeastSquaresSettings | EssentialSettings | SemidefiniteSettings | PayloadSettings,
            Field(discriminator="name"),
        ],
        BeforeValidator(default_method),
    ] = LeastSquaresSettings()
    priors: dict[str, PriorSettings] = {}
    held: dict[str, float] = {}
    output: OutputSettings = OutputSettings()

    @model_validator(mode="after")
    def _something_to_identify_from(self) -> Settings:
        if not any(recording.role == "identification" for recording in self.recordings):
            raise refuse("roles", 'every recording is for validation; give one the role = "identification"')
        return self

    @model_validator(mode="after")
    def _a_load_is_for_payload(self) -> Settings:
        method = self.method
        if not isinstance(method, PayloadSettings):
            for recording in self.recordings:
                if recording.loaded:
                    raise refuse(
                        "loaded",
                        f"recording {recording.title!r} carries a load, which other methods take for the robot's own: "
                        'give [method] name = "payload"',
                        key="recordings",
                    )
            return self
        if method.mass is not None and "mL" in {*self.held, *self.priors}:
            raise refuse(
                "mass",
                "the load's mass is given twice: as mass, and as mL in [held] or [priors]",
                key="method",
            )
        if method.gains_from is not None and self.drive is not None and "gain" in self.drive.model_fields_set:
            raise refuse(
                "gains", "drive gains are given twice: gains_from, and gain in [drive]", key="method"
            )
        return self
