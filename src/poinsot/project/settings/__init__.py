"""Content of a project file: one class per section, each key with its unit, no other keys allowed.

Keys have the names of the Python arguments that they become, so both share their documentation.

    fields         kinds of values: units, one number per joint, windows
    bodies_and_walls  [body] [[walls]]
    mechanism      [mechanism]
    robot          [robot] [drive] [friction] [contacts] [[rotors]]
    recordings     [[recordings]]
    preprocessing  [preprocessing]

[method] has its settings in `project.methods`.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, SerializeAsAny, field_validator, model_validator

from ...accuracy import Accuracy
from ...io.writing import MAX_NAME
from ...parameters import Normal
from ..methods import ProjectMethod, names_where, read_method, row_named
from .bodies_and_walls import AnyWall, BodySettings
from .fields import SettingsTable, refuse
from .mechanism import MechanismSettings
from .preprocessing import SMOOTHED, PreprocessingSettings
from .recordings import RecordingSettings
from .robot import ContactsSettings, DriveSettings, FrictionSettings, RobotSettings, RotorSettings
from .tables import table_of

SUBJECTS = {
    "robot": "the path of a robot description",
    "mechanism": "bodies and joints, or the path of a robot description",
    "body": "its shape",
}
"""Subject of a method -> required content of its table."""

OF_ROBOTS = {"mechanism": "write it in [[mechanism.joints]]", "body": "delete it"}
"""Where [drive] and [friction] of a robot belong for other subjects."""


class OutputSettings(SettingsTable):
    """Names of the files that `--out` fills."""

    report: str = "report.html"
    result: str = "result.json"

    @field_validator("report", "result")
    @classmethod
    def _plain_name(cls, name: str) -> str:
        if not name or name in (".", "..") or "/" in name or "\\" in name:
            raise refuse(
                "name", f"must be the name of a file, without folders, not {name!r}; --out sets the folder"
            )
        if len(name.encode()) > MAX_NAME or not name.isprintable():
            raise refuse("name", f"is not a valid file name: {name!r:.60}")
        return name

    @model_validator(mode="after")
    def _two_files(self) -> OutputSettings:
        if self.report == self.result:
            raise refuse("name", f"report and result cannot have the same name {self.report!r}", key="result")
        return self


class Settings(SettingsTable):
    """The whole project file."""

    robot: RobotSettings | None = None
    mechanism: MechanismSettings | None = None
    body: BodySettings | None = None
    walls: list[AnyWall] = []
    drive: DriveSettings | None = None
    friction: FrictionSettings = FrictionSettings()
    contacts: ContactsSettings | None = None
    rotors: list[RotorSettings] = []
    recordings: list[RecordingSettings] = []
    preprocessing: Annotated[PreprocessingSettings, Field(discriminator="method")]
    method: Annotated[SerializeAsAny[ProjectMethod], BeforeValidator(read_method)] = Field(
        default_factory=lambda: read_method({})
    )
    priors: dict[str, table_of(Normal)] = {}  # type: ignore[valid-type]
    held: dict[str, float] = {}
    accuracy: table_of(Accuracy) = Field(default_factory=table_of(Accuracy))  # type: ignore[valid-type]
    output: OutputSettings = OutputSettings()

    @property
    def described(self) -> RobotSettings:
        """[robot], which all methods except those of mechanisms and bodies have."""
        assert self.robot is not None
        return self.robot

    @model_validator(mode="before")
    @classmethod
    def _subject_and_preprocessing(cls, content: Any) -> Any:
        if not isinstance(content, dict):
            return content
        # Before validation, as the method determines which tables are optional.
        row = row_named(content)
        if row.subject == "robot" and "robot" not in content:
            raise refuse("robot", "the key 'robot' is missing")
        default = row.takes.default
        # Written values come last and take precedence.
        return content if default is None else {"preprocessing": {"method": default}, **content}

    @model_validator(mode="after")
    def _tables_fit_the_method(self) -> Settings:
        # In this order: messages on recordings are useless where the subject is missing.
        self._one_subject()
        self._what_the_method_takes()
        self.method.check(self)
        return self

    def _one_subject(self) -> None:
        name, wanted = self.method.name, self.method.row.subject
        if getattr(self, wanted) is None:
            raise refuse(wanted, f"{name!r} needs a [{wanted}]: {SUBJECTS[wanted]}", key="method")
        for subject in SUBJECTS:
            if subject == wanted or getattr(self, subject) is None:
                continue
            message = (
                f"there is a [{wanted}] in place of [robot]; delete it"
                if subject == "robot"
                else f"{self._takes(subject)}; {name!r} needs [{wanted}]"
            )
            raise refuse(subject, message, key=subject)
        for key in ("drive", "friction"):
            # [friction] has a default: only a table in the file is a mistake.
            if wanted in OF_ROBOTS and key in self.model_fields_set:
                raise refuse("mechanism", f"[{key}] is for robots: {OF_ROBOTS[wanted]}", key=key)

    def _takes(self, table: str) -> str:
        """Clause naming the methods that use a table."""
        names = names_where(lambda row: table in (row.subject, *row.tables))
        shown = f"[[{table}]] are" if isinstance(getattr(self, table), list) else f"[{table}] is"
        return f"{shown} for [method] name = {names}"

    def _what_the_method_takes(self) -> None:
        if self.method.row.needs_recordings and not self.recordings:
            raise refuse("recordings", "there is no recording: give [[recordings]] with a path")
        if self.method.row.needs_recordings and all(
            recording.role != "identification" for recording in self.recordings
        ):
            raise refuse("roles", 'every recording is for validation; give one the role = "identification"')
        if self.robot is not None and self.robot.floating_base and not self.method.row.floating_base:
            names = names_where(lambda row: row.floating_base and row.estimates_motion)
            raise refuse(
                "floating_base",
                f"robot.floating_base: must be false: {self.method.name!r} needs the motion of the base; give "
                f"[method] name = {names}, which estimates it, or in Python Signals that hold it",
                key=("robot", "floating_base"),
            )
        given, takes = self.preprocessing, self.method.row.takes
        if given.method not in takes.names:
            names = names_where(lambda row: given.method in row.takes.names)
            raise refuse(
                "preprocessing",
                f'method = "{given.method}" is for [method] name = {names}: {self.method.name!r} {takes.reason}, and '
                f"{given.method!r} {given.effect}: {takes.advice}",
                key="preprocessing",
            )
        for key in ("contacts", "rotors", "walls", "accuracy"):
            written = getattr(self, key) and (key != "accuracy" or key in self.model_fields_set)
            if written and key not in self.method.row.tables:
                raise refuse(key, f"{self._takes(key)}, not {self.method.name!r}", key=key)
        missing = next((recording for recording in self.recordings if recording.not_measured), None)
        if missing is not None and self.method.row.takes is not SMOOTHED:
            names = names_where(lambda row: row.takes is SMOOTHED)
            raise refuse(
                "not_measured",
                f"recording {missing.title!r} has efforts that were not measured, and {self.method.name!r} needs those "
                f"of all motors: delete not_measured, or give [method] name = {names}",
                key="recordings",
            )
        loaded = next((recording for recording in self.recordings if recording.loaded), None)
        if loaded is not None and not self.method.row.loads:
            names = names_where(lambda row: row.loads)
            raise refuse(
                "loaded",
                f"recording {loaded.title!r} carries a load, which other methods would attribute to the robot: "
                f"give [method] name = {names}",
                key="recordings",
            )
