"""`[method] name = "actuators"`: actuators of a [robot] that takes position commands.

Recordings have `position_command` and `position` of every joint with an actuator; other joints a `position`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from ...estimators.servo.problem import GRAVITY_TILT_STD, LINK_INERTIA_STD, OPEN
from ...exceptions import listing
from ...models.friction.listed import servo_friction
from ...stopwatch import Stopwatch
from ..command_clock import own_commands
from ..settings.fields import Positive
from ..settings.robot import check_listed
from .base import TEMPLATES, Beginning, LogContents
from .motion import MotionSettings, prepared

if TYPE_CHECKING:
    from ...estimators.servo.output_error import OutputError
    from ...estimators.servo.problem import ActuatorProblem
    from ...recording import Recording
    from ..job import Job
    from ..settings import Settings


def check_law(name: str) -> str:
    """The name of the friction of a servo."""
    return check_listed(name, servo_friction())


class ActuatorSettings(MotionSettings):
    """`poinsot.OutputError`: gains, delay, friction and armature of joints that follow position commands.

    `estimate`: parameters of every joint that are estimated. [held] and [priors] take `"stiffness"` of all joints, or
    `"stiffness.elbow"` of one; so does `start`. `share`: name -> joints with one set of parameters.
    `friction_positions`: positions between which the dry friction of a joint is linear [rad]. `friction_laws`: laws of
    dry friction, of which the recordings choose one for each joint. `command`: whether one is held until the next.
    `step_s`: longest step of the simulation. `draws`, `hops`, `seed`: of the search.
    `link_inertia_std`, `gravity_tilt_std` [rad]: how well the description is known; intervals contain it.
    """

    sections: ClassVar[tuple[str, ...]] = ("poinsot.report.sections.actuators:actuator_section",)

    name: Literal["actuators"]
    estimate: list[str] = list(OPEN)
    start: dict[str, float] = {}
    share: dict[str, list[str]] = {}
    friction_positions: dict[str, list[float]] = {}
    friction_laws: list[Annotated[str, AfterValidator(check_law)]] = Field(["M1"], min_length=1)
    command: Literal["held", "linear"] = "held"
    step_s: Positive = 0.002
    cutoff_hz: Positive | None = None
    link_inertia_std: float = Field(LINK_INERTIA_STD, ge=0, lt=1)
    gravity_tilt_std: float = Field(GRAVITY_TILT_STD, ge=0, lt=1)
    draws: int = Field(300, ge=1)
    hops: int = Field(6, ge=0)
    seed: int = Field(0, ge=0)

    @classmethod
    def begin(cls, log: LogContents) -> Beginning | None:
        commanded = log.owners.get("position_command", ())
        if log.effort or not commanded:
            return None
        reason = f"the log has position commands of {listing(commanded)} and no torque"
        template = TEMPLATES / "actuators.toml"
        return Beginning(reason, ("position", "position_command"), template)

    def problem(self, job: Job, watch: Stopwatch) -> ActuatorProblem:
        from ...estimators.servo.problem import ActuatorProblem
        from ...parameters import Normal

        settings = job.settings
        job.say("reading the robot")
        robot = job.project.robot(job.data_dir)
        watch.lap("robot")
        job.say("reading the recordings")
        used: dict[str, dict[str, Recording]] = {"identification": {}, "validation": {}}
        for run in job.project.runs(robot, job.data_dir):
            used[run.role][run.name] = prepared(settings, run)
        watch.lap("read")
        return ActuatorProblem(
            robot,
            used["identification"],
            open=tuple(self.estimate),
            held=settings.held,
            start=self.start,
            priors={name: prior.build_as(Normal) for name, prior in settings.priors.items()},
            friction_positions=self.friction_positions,
            share=self.share,
            hold=self.command == "held",
            step_s=self.step_s,
            cutoff_hz=self.cutoff_hz,
            held_out=used["validation"],
            commands=own_commands(job, robot),
            link_inertia_std=self.link_inertia_std,
            gravity_tilt_std=self.gravity_tilt_std,
        )

    def warnings_of(self, problem: Any) -> tuple[str, ...]:
        return tuple(
            f"{joint} has a position_command in {listing(names)} and not in the others, and its actuator is not "
            "estimated: give it one in every recording, or in none"
            for joint, names in problem.sometimes_commanded.items()
        )

    def solver(self, settings: Settings, problem: Any) -> OutputError:
        from ...estimators.servo.output_error import OutputError
        from ...estimators.servo.search import Search

        search = Search(draws=self.draws, hops=self.hops, seed=self.seed)
        return OutputError(search, friction_laws=tuple(self.friction_laws))
