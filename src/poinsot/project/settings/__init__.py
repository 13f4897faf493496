"""What a project file may say: one class a section, each key with its unit, nothing else allowed.

Keys have the names of the Python arguments that they become, so a page about one is a page about the other.

    fields         kinds of values: units, one number a joint, windows
    bodies_and_walls  [body] [[walls]]
    mechanism      [mechanism]
    robot          [robot] [drive] [friction] [contacts] [[rotors]]
    recordings     [[recordings]]
    preprocessing  [preprocessing]
    methods        [method]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator, model_validator

from .bodies_and_walls import BodySettings, WallSettings
from .fields import Positive, Section, refuse
from .mechanism import MechanismSettings
from .methods import (
    EssentialSettings,
    FilterSettings,
    ImpactsSettings,
    JointSmoothingSettings,
    LeastSquaresSettings,
    OptimalEstimationSettings,
    PayloadSettings,
    SemidefiniteSettings,
    default_method,
)
from .preprocessing import MovingPolynomialSettings, PreprocessingSettings, RawSettings
from .recordings import RecordingSettings
from .robot import ContactsSettings, DriveSettings, FrictionSettings, RobotSettings, RotorSettings

OF_MOTION = ("optimal-estimation", "joint-smoothing", "impacts")
"""Methods that estimate the motion too, from samples as they were read."""

SUBJECTS = {
    "joint-smoothing": ("mechanism", "bodies and joints, or path, of a robot description"),
    "impacts": ("body", "its shape"),
}
"""What a method is about, where it is no [robot], and what is said there."""


def _quoted(names: Sequence[str]) -> str:
    return " or ".join(f'"{name}"' for name in names)


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

    robot: RobotSettings | None = None
    mechanism: MechanismSettings | None = None
    body: BodySettings | None = None
    walls: list[WallSettings] = []
    drive: DriveSettings | None = None
    friction: FrictionSettings = FrictionSettings()
    contacts: ContactsSettings | None = None
    rotors: list[RotorSettings] = []
    recordings: list[RecordingSettings] = []
    preprocessing: Annotated[PreprocessingSettings, Field(discriminator="method")]
    method: Annotated[
        Annotated[
            LeastSquaresSettings
            | EssentialSettings
            | SemidefiniteSettings
            | PayloadSettings
            | FilterSettings
            | OptimalEstimationSettings
            | JointSmoothingSettings
            | ImpactsSettings,
            Field(discriminator="name"),
        ],
        BeforeValidator(default_method),
    ] = LeastSquaresSettings()
    priors: dict[str, PriorSettings] = {}
    held: dict[str, float] = {}
    output: OutputSettings = OutputSettings()

    @property
    def described(self) -> RobotSettings:
        """[robot], which every method has but one for mechanisms."""
        assert self.robot is not None
        return self.robot

    @model_validator(mode="before")
    @classmethod
    def _what_estimates_motion_smooths_nothing(cls, content: Any) -> Any:
        method = content.get("method") if isinstance(content, dict) else None
        name = method.get("name") if isinstance(method, dict) else None
        if isinstance(content, dict) and "robot" not in content and name not in SUBJECTS:
            raise refuse("robot", "the key 'robot' is missing")
        return {"preprocessing": {"method": "none"}, **content} if name in OF_MOTION else content

    @model_validator(mode="after")
    def _what_the_method_is_about(self) -> Settings:
        name = self.method.name
        wanted, said = SUBJECTS.get(name, ("robot", "path, of a robot description"))
        if getattr(self, wanted) is None:
            raise refuse(wanted, f"{name!r} needs a [{wanted}]: {said}", key="method")
        for subject in ("robot", "mechanism", "body"):
            if subject == wanted or getattr(self, subject) is None:
                continue
            if subject == "robot":
                raise refuse("robot", f"there is a [{wanted}] in place of [robot]; leave it out", key="robot")
            methods = next(method for method, about in SUBJECTS.items() if about[0] == subject)
            raise refuse(
                subject,
                f'[{subject}] is for [method] name = "{methods}"; {name!r} needs [{wanted}]',
                key=subject,
            )
        if wanted != "robot":
            for key in ("drive", "friction"):
                if key in self.model_fields_set:
                    where = "say it in [[mechanism.joints]]" if wanted == "mechanism" else "leave it out"
                    raise refuse("mechanism", f"[{key}] is for robots: {where}", key=key)
        if self.walls and wanted != "body":
            raise refuse("body", f'[[walls]] are for [method] name = "impacts", not {name!r}', key="walls")
        return self

    @model_validator(mode="after")
    def _something_to_identify_from(self) -> Settings:
        if isinstance(self.method, FilterSettings):
            return self._only_what_a_filter_hears()
        if not self.recordings:
            raise refuse("recordings", "there is no recording: give [[recordings]] with a path")
        if not any(recording.role == "identification" for recording in self.recordings):
            raise refuse("roles", 'every recording is for validation; give one the role = "identification"')
        return self

    def _only_what_a_filter_hears(self) -> Settings:
        """It may listen to a stream, and so needs no recording; of what there is nothing may be left out unsaid."""
        for key in ("held", "priors"):
            if getattr(self, key):
                raise refuse(
                    "filter",
                    f'[{key}] is for a regression: [method] name = "filter" takes robot_from',
                    key=key,
                )
        for recording in self.recordings:
            if recording.window_s is not None or recording.role != "identification":
                key = "role" if recording.window_s is None else "window_s"
                raise refuse(
                    "filter",
                    f"recording {recording.title!r}: a filter hears all of each recording, so {key} has no use here; "
                    "choose a part with between_s, or leave the recording out",
                    key="recordings",
                )
        return self

    @model_validator(mode="after")
    def _recordings_have_no_base(self) -> Settings:
        if (
            self.robot is not None
            and self.robot.floating_base
            and not isinstance(self.method, FilterSettings | OptimalEstimationSettings)
        ):
            raise refuse(
                "floating_base",
                f"robot.floating_base: must be false: {self.method.name!r} needs to be told how the base moves; give "
                '[method] name = "optimal-estimation", which finds out, or in Python Signals that hold its motion',
                key=("robot", "floating_base"),
            )
        return self

    @model_validator(mode="after")
    def _samples_as_they_were_read(self) -> Settings:
        """For methods that estimate motions, and for no others; contacts and rotors are for one of them."""
        raw, of_motion = isinstance(self.preprocessing, RawSettings), self.method.name in OF_MOTION
        optimal = isinstance(self.method, OptimalEstimationSettings)
        if raw and not of_motion:
            raise refuse(
                "preprocessing",
                f'method = "none" is for [method] name = {_quoted(OF_MOTION)}: {self.method.name!r} '
                'needs accelerations; give "butterworth-decimation" or "random-walk"',
                key="preprocessing",
            )
        if of_motion and not raw:
            raise refuse(
                "preprocessing",
                f"{self.method.name!r} takes samples as they were read, and {self.preprocessing.method!r} smooths "
                'them: leave [preprocessing] out, or give method = "none"',
                key="preprocessing",
            )
        for key in ("contacts", "rotors"):
            if getattr(self, key) and not optimal:
                raise refuse(
                    key,
                    f'[{key}] is for [method] name = "optimal-estimation", not {self.method.name!r}',
                    key=key,
                )
        return self

    @model_validator(mode="after")
    def _a_filter_hears_samples_as_they_come(self) -> Settings:
        as_they_come = isinstance(self.preprocessing, MovingPolynomialSettings)
        if isinstance(self.method, FilterSettings) and not as_they_come:
            raise refuse(
                "preprocessing",
                f"a filter hears samples as they come, and {self.preprocessing.method!r} looks ahead: give "
                'method = "moving-polynomial"',
                key="preprocessing",
            )
        if as_they_come and not isinstance(self.method, FilterSettings):
            raise refuse(
                "preprocessing",
                'method = "moving-polynomial" is for [method] name = "filter", which hears samples as they come: '
                f'{self.method.name!r} has the whole recording; give "butterworth-decimation" or "random-walk"',
                key="preprocessing",
            )
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
