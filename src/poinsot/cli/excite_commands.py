"""`poinsot excite --commands`: design position commands that excite the actuators of servo robots."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..exceptions import InvalidMethod
from ..text import table
from .excite import (
    PER_JOINT,
    Clearance,
    Floor,
    LimitFraction,
    LowerLimit,
    PackageDir,
    SelfCollision,
    UpperLimit,
    WorkspaceBox,
    numbers_of,
    robot_and_held,
    workspace_of,
)  # fmt: skip
from .shell import Json, deliver, running

if TYPE_CHECKING:
    from ..estimators.servo.command_design import DesignedCommands

FASTEST = {"rad": 2.0, "m": 0.3}
"""Largest speed of commands where the user names none and the description allows more."""

CSV, PARQUET, NPY, TRAJECTORY = "commands.csv", "lerobot.parquet", "lerobot.npy", "joint_trajectory.json"
RESULT = "excite.json"


def excite(
    robot: Annotated[
        Path,
        typer.Argument(
            help="The robot description (URDF, MJCF), or a project file (TOML) of the method actuators.",
            metavar="ROBOT",
            show_default=False,
        ),
    ],
    actuators: Annotated[
        Path | None,
        typer.Option(
            help="Result of `poinsot identify`, or randomization.json; default: [held] and start of the project file."
        ),
    ] = None,
    duration: Annotated[float, typer.Option(help="Duration of the motion [s].")] = 60.0,
    rate_hz: Annotated[float, typer.Option(help="Rate of the commands [Hz].")] = 50.0,
    noise: Annotated[float, typer.Option(help="Standard deviation of a measured position [rad].")] = 1e-3,
    linear: Annotated[
        bool, typer.Option(help="The controller interpolates between commands, and does not hold them.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write commands (CSV, LeRobot, ROS 2) and result to.")
    ] = None,
    json: Json = None,
    lerobot_unit: Annotated[str, typer.Option(help="Of LeRobot's actions: deg or rad.")] = "deg",
    lock: Annotated[
        str | None, typer.Option(help="Joints that are held still, at JOINT=position [rad].")
    ] = None,
    posture: Annotated[
        str | None, typer.Option(help=f"Where motions begin and end [rad]: {PER_JOINT}. Default: the middle.")
    ] = None,
    lower_limit: LowerLimit = None,
    upper_limit: UpperLimit = None,
    velocity_limit: Annotated[
        str | None,
        typer.Option(help=f"Of commands [rad/s]: {PER_JOINT}. Default: the description's, at most 2 rad/s."),
    ] = None,
    limit_fraction: LimitFraction = 0.9,
    self_collision: SelfCollision = True,
    floor: Floor = None,
    clearance: Clearance = 0.02,
    workspace_box: WorkspaceBox = None,
    package_dir: PackageDir = None,
) -> None:
    """Design position commands that show the actuators, within limits, and say the intervals that they will give."""
    with running(None, out, json) as say:
        say("reading the robot")
        import numpy as np

        from ..estimators.servo.command_design import CommandDesign
        from ..estimators.servo.problem import OPEN
        from ..excitation.limits import limits_of
        from ..export.command_files import LEROBOT_UNITS, write_csv, write_joint_trajectory, write_lerobot
        from ..models.robot.collisions import Surroundings
        from ..parameters import per_joint
        from ..project.actuators import described_actuators, read_actuators
        from ..project.methods.actuators import ActuatorSettings

        if lerobot_unit not in LEROBOT_UNITS:
            raise InvalidMethod(f"--lerobot-unit {lerobot_unit!r} is not deg or rad")
        model, held = robot_and_held(robot, None, numbers_of("lock", lock))
        open_, start, hold = OPEN, {}, not linear
        if robot.suffix.lower() == ".toml":
            from ..project import Project

            method = Project.load(robot).settings.method
            if not isinstance(method, ActuatorSettings):
                raise InvalidMethod(f'{robot} is not of servo robots; write [method] name = "actuators"')
            open_, start, hold = tuple(method.estimate), method.start, method.command == "held" and not linear
        if actuators is not None:
            known, laws = read_actuators(actuators, model.joints)
        else:
            known, laws = described_actuators(model.joints, start, held, where=str(robot)), {}
        if hold:  # a result of commands of another kind has no ramp
            known = tuple(
                replace(actuator, ramp=1 / rate_hz)
                if actuator.derivative_gain > 0 and actuator.ramp == 0
                else actuator
                for actuator in known
            )
        limits = limits_of(
            model,
            lower=numbers_of("lower-limit", lower_limit),
            upper=numbers_of("upper-limit", upper_limit),
            velocity=numbers_of("velocity-limit", velocity_limit),
            fraction=limit_fraction,
        )
        if velocity_limit is None:
            fastest = np.array([FASTEST[unit] for unit in limits.units])
            limits = replace(limits, velocity=np.minimum(limits.velocity, fastest))
        surroundings = Surroundings(
            self_collision, floor, workspace_of(workspace_box, None), tuple(package_dir or ())
        )
        design = CommandDesign(
            model,
            known,
            limits,
            duration,
            rate_hz,
            noise=noise,
            posture=None,
            hold=hold,
            open=open_,
            held=held,
            laws=laws,
            collisions=None,
            clearance_m=clearance,
        )
        design = replace(
            design,
            posture=per_joint("--posture", numbers_of("posture", posture), model.joints, design.middle),
        )
        middle = model.configurations(design.middle[None])
        design = replace(design, collisions=surroundings.resolve(model, middle))
        commands = design.solve(progress=say)
        files = {
            CSV: lambda path: write_csv(commands, path),
            PARQUET: lambda path: write_lerobot(commands, path, lerobot_unit),
            NPY: lambda path: write_lerobot(commands, path, lerobot_unit),
            TRAJECTORY: lambda path: write_joint_trajectory(commands, path),
        }
        reads = [robot, *([actuators] if actuators is not None else [])]
        deliver(commands.as_json(), RESULT, files, out, json, lambda: _print(commands), reads=reads)


def _print(commands: DesignedCommands) -> None:
    """A line a joint, and a line a parameter."""
    content = commands.as_json()
    near = (
        ""
        if commands.least_distance is None
        else f", minimum distance {100 * commands.least_distance:.2g} cm"
    )
    typer.echo(
        f"{content['robot']}: {content['seconds']:.4g} s of commands at {content['rate_hz']:g} Hz, "
        f"all limits are kept{near}"
    )
    rows = [
        {name: row[name] for name in ("joint", "least", "largest", "largest_speed")}
        | {"shapes": ", ".join(dict.fromkeys(row["shapes"]))}
        for row in content["joints"]
    ]
    typer.echo(f"\ncommands\n{table(rows)}")
    rows = [
        {
            "joint": interval.joint,
            "parameter": interval.parameter,
            "value": float(f"{interval.value:.4g}"),
            "std": float(f"{interval.std:.2g}") if interval.is_identifiable else None,
            "unit": interval.unit,
            "": "" if interval.is_identifiable else "not identifiable",
        }
        for interval in commands.intervals
    ]
    typer.echo(f"\npredicted standard deviations\n{table(rows)}\n")
    typer.echo(
        f"They are for white noise of {1e3 * commands.design.noise:g} mrad; motion that the model does not explain "
        "makes them wider."
    )
    for warning in commands.design.collisions.warnings if commands.design.collisions is not None else ():
        typer.echo(f"warning: {warning}")
