"""`[method] name = "actuators"`: actuators of a [robot] that takes position commands.

Recordings have `position_command` and `position` of every joint with an actuator; other joints a `position`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field

from ...estimators.servo.output_error import OutputError
from ...estimators.servo.problem import OPEN, ActuatorProblem
from ...estimators.servo.search import Search
from ...exceptions import listing
from ...models.friction.listed import servo_friction
from ...stopwatch import Stopwatch
from ..command_clock import own_commands
from ..settings.robot import check_listed
from .base import TEMPLATES, Beginning, LogContents
from .motion import MotionMethod, by_role, read_robot

if TYPE_CHECKING:
    from ..job import Job
    from ..settings import Settings


def begin_with_position_commands(log: LogContents) -> Beginning | None:
    """A log of positions and their commands, without efforts."""
    commanded = log.owners.get("position_command", ())
    if log.effort or not commanded:
        return None
    reason = f"the log has position commands of {listing(commanded)} and no torque"
    return Beginning(reason, ("position", "position_command"), TEMPLATES / "actuators.toml")


def check_law(name: str) -> str:
    """The name of the friction of a servo."""
    return check_listed(name, servo_friction())


class ActuatorsMethod(MotionMethod):
    """`poinsot.OutputError`: gains, delay, friction and armature of joints that follow position commands.

    `estimate`: parameters of every joint that are estimated. [held] and [priors] take `"stiffness"` of all joints, or
    `"stiffness.elbow"` of one; so does `start`. `friction_laws`: laws of dry friction, of which the recordings choose
    one for each joint. `command`: whether one is held until the next.
    """

    estimate: list[str] = list(OPEN)
    friction_laws: list[Annotated[str, AfterValidator(check_law)]] = Field(["M1"], min_length=1)
    command: Literal["held", "linear"] = "held"

    def problem(self, job: Job, watch: Stopwatch) -> ActuatorProblem:
        settings = job.settings
        robot, runs = read_robot(job, watch)
        fitted, held_out = by_role(settings, runs)
        return self.build_as(
            ActuatorProblem,
            robot=robot,
            recordings=fitted,
            open=tuple(self.estimate),
            held=settings.held,
            priors={name: prior.value() for name, prior in settings.priors.items()},
            hold=self.command == "held",
            held_out=held_out,
            commands=own_commands(job, robot),
            accuracy=settings.accuracy.value(),
        )

    def warnings_of(self, problem: Any) -> tuple[str, ...]:
        return tuple(
            f"{joint} has a position_command in {listing(names)} and not in the others, and its actuator is not "
            "estimated: give it one in every recording, or in none"
            for joint, names in problem.sometimes_commanded.items()
        )

    def solver(self, settings: Settings, problem: Any) -> OutputError:
        return self.build_as(OutputError, search=self.build_as(Search))
