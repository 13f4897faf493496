"""`poinsot excite`: design the most informative motion of a robot, or position commands of servos, within limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..exceptions import InvalidMethod, PoinsotError, check_known, listing
from ..text import table
from .shell import CORRECTABLE, INTERRUPTED, Data, Json, check_output, deliver, echo, running, stop

if TYPE_CHECKING:
    from ..estimators.servo.command_design import DesignedCommands
    from ..excitation.design import OptimalExcitation
    from ..excitation.excitation import Excitation
    from ..excitation.limits import Limits
    from ..excitation.problem import ExcitationProblem
    from ..excitation.search import SearchState
    from ..models.robot.articulated import Articulated
    from ..models.robot.collisions import Surroundings

SAVED_EVERY_S = 10.0
TRAJECTORY, PAGE, RESULT = "trajectory.csv", "excite.html", "excite.json"
COMMANDS_CSV, LEROBOT, LEROBOT_NPY, ROS_TRAJECTORY = (
    "commands.csv", "lerobot.parquet", "lerobot.npy", "joint_trajectory.json",
)  # fmt: skip

MAX_COMMAND_VELOCITY = {"rad": 2.0, "m": 0.3}
"""Largest speed of commands [unit/s] where the user names none and the description allows more."""

OF_COMMANDS = frozenset({"actuators", "noise", "linear", "lerobot_unit", "posture"})
"""Options that need --commands."""
OF_MOTIONS = frozenset(
    {
        *("report", "criterion", "basis", "harmonics", "knots", "information_weight", "starts", "seed"),
        *(
            "max_seconds",
            "friction",
            "payload",
            "torque_noise",
            "start",
            "acceleration_limit",
            "torque_limit",
        ),
        *("workspace_frame", "resume"),
    }
)
"""Options that --commands excludes."""

PER_JOINT = "one number, one a joint as 1,2,3, or JOINT=1,OTHER=2"


def excite(
    robot: Annotated[
        Path,
        typer.Argument(
            help="The robot description (URDF, MJCF), or a project file (TOML).",
            metavar="ROBOT",
            show_default=False,
        ),
    ],
    commands: Annotated[
        bool,
        typer.Option(
            "--commands",
            help="Design position commands of servos, to identify their actuators, and not a motion.",
        ),
    ] = False,
    actuators: Annotated[
        Path | None,
        typer.Option(
            help="With --commands: result of `poinsot identify`, or randomization.json; default: [held] and start of "
            "the project file."
        ),
    ] = None,
    duration: Annotated[
        float | None, typer.Option(help="Duration of the motion [s]. Default: 10, with --commands 60.")
    ] = None,
    rate_hz: Annotated[
        float | None,
        typer.Option(
            help="Rate of the samples in the file, or of the commands [Hz]. Default: 100, with --commands 50."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write the motion: a name ending in .csv or .parquet, or a folder for everything."
        ),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Where to write the page (HTML).")] = None,
    json: Json = None,
    data: Data = None,
    criterion: Annotated[str, typer.Option(help="condition or d-optimal.")] = "condition",
    basis: Annotated[str, typer.Option(help="fourier or b-spline.")] = "fourier",
    harmonics: Annotated[int, typer.Option(help="Of the Fourier series.")] = 5,
    knots: Annotated[int, typer.Option(help="Intervals between the splines' knots.")] = 12,
    information_weight: Annotated[
        float,
        typer.Option(
            help="With the condition number: how much it may grow, to this power, for smaller deviations."
        ),
    ] = 0.3,
    starts: Annotated[int, typer.Option(help="Number of random initial motions.")] = 4,
    seed: Annotated[
        int, typer.Option(help="Seed of the initial motions; the same seed gives the same motion.")
    ] = 0,
    max_seconds: Annotated[
        float | None,
        typer.Option(help="Time limit of the search [s]; the best motion until then is the result."),
    ] = None,
    friction: Annotated[bool, typer.Option(help="Identify friction too.")] = False,
    payload: Annotated[
        str | None, typer.Option(help="Identify only the load of this link; the rest of the robot is known.")
    ] = None,
    torque_noise: Annotated[
        str | None,
        typer.Option(
            help=f"Standard deviation of each torque sample [N m]: {PER_JOINT}. Default: 1 % of the limit."
        ),
    ] = None,
    lock: Annotated[
        str | None,
        typer.Option(help="Joints that are held still, at JOINT=position [rad], e.g. of a gripper."),
    ] = None,
    start: Annotated[str | None, typer.Option(help=f"Posture to start from [rad]: {PER_JOINT}.")] = None,
    limit_fraction: Annotated[float, typer.Option(help="Fraction of every limit that may be used.")] = 0.9,
    lower_limit: Annotated[str | None, typer.Option(help=f"Of positions [rad]: {PER_JOINT}.")] = None,
    upper_limit: Annotated[str | None, typer.Option(help=f"Of positions [rad]: {PER_JOINT}.")] = None,
    velocity_limit: Annotated[
        str | None,
        typer.Option(
            help=f"[rad/s]: {PER_JOINT}. Default: the description's; with --commands at most 2 rad/s."
        ),
    ] = None,
    acceleration_limit: Annotated[
        str | None, typer.Option(help=f"[rad/s^2]: {PER_JOINT}. Default: none.")
    ] = None,
    torque_limit: Annotated[str | None, typer.Option(help=f"[N m]: {PER_JOINT}.")] = None,
    self_collision: Annotated[bool, typer.Option(help="Avoid collisions between the robot's links.")] = True,
    floor: Annotated[float | None, typer.Option(help="Height of a floor to keep above [m].")] = None,
    clearance: Annotated[float, typer.Option(help="Minimum distance to collisions [m].")] = 0.02,
    workspace_box: Annotated[
        str | None,
        typer.Option(help="Corners x,y,z,x,y,z [m] of a box that frames stay in; inf where it is open."),
    ] = None,
    workspace_frame: Annotated[
        list[str] | None, typer.Option(help="A frame to keep in the box; default: the last links.")
    ] = None,
    package_dir: Annotated[
        list[Path] | None, typer.Option(help="A folder in which package:// names of meshes begin.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Checkpoint of an interrupted search to resume.")
    ] = None,
    noise: Annotated[
        float, typer.Option(help="With --commands: standard deviation of a measured position [rad].")
    ] = 1e-3,
    linear: Annotated[
        bool,
        typer.Option(
            help="With --commands: the controller interpolates between commands, and does not hold them."
        ),
    ] = False,
    lerobot_unit: Annotated[
        str, typer.Option(help="With --commands: unit of LeRobot's actions, deg or rad.")
    ] = "deg",
    posture: Annotated[
        str | None,
        typer.Option(
            help=f"With --commands: where motions begin and end [rad]: {PER_JOINT}. Default: the middle."
        ),
    ] = None,
) -> None:
    """Design the most informative motion of a robot. It keeps within limits, and free of collisions.

    With --commands: position commands of servos that excite their actuators, with the intervals that they will give.
    """
    options = dict(locals())
    from ..io.writing import check_apart, check_suffix

    for name in sorted(OF_MOTIONS if commands else OF_COMMANDS):
        if options[name] != signature(excite).parameters[name].default:
            where = "is not for --commands: leave out one of them" if commands else "needs --commands"
            raise typer.Exit(stop(f"--{name.replace('_', '-')} {where}", CORRECTABLE))
    duration = duration if duration is not None else 60.0 if commands else 10.0
    rate_hz = rate_hz if rate_hz is not None else 50.0 if commands else 100.0
    # A folder may have a dot in its name.
    to_file = not commands and out is not None and out.suffix and not out.is_dir()
    file, folder = (out, None) if to_file else (None, out)
    with running(data, folder, json) as say:
        if file is not None:
            check_suffix(file)
            check_output(file, None)
        if report is not None:
            check_output(report, folder)
        check_apart([file, report, json], [robot, *([resume] if resume else [])])
        say("reading the robot")
        from ..excitation.limits import limits_of
        from ..models.robot.collisions import Surroundings

        model, held = _robot_and_held(robot, data, _numbers("lock", lock))
        limits = limits_of(
            model,
            lower=_numbers("lower-limit", lower_limit),
            upper=_numbers("upper-limit", upper_limit),
            velocity=_numbers("velocity-limit", velocity_limit),
            acceleration=_numbers("acceleration-limit", acceleration_limit),
            torque=_numbers("torque-limit", torque_limit),
            fraction=limit_fraction,
        )
        box = _workspace(workspace_box, workspace_frame)
        surroundings = Surroundings(self_collision, floor, box, tuple(package_dir or ()))
        if commands:
            from ..export.command_files import LEROBOT_UNITS, write_csv, write_joint_trajectory, write_lerobot

            if lerobot_unit not in LEROBOT_UNITS:
                raise InvalidMethod(f"--lerobot-unit {lerobot_unit!r} is not deg or rad")
            designed = _design_commands(
                robot,
                actuators,
                (model, held, limits, surroundings),
                (duration, rate_hz, noise, clearance),
                linear,
                _numbers("posture", posture),
                slow=velocity_limit is None,
                say=say,
            )
            files_of_commands = {
                COMMANDS_CSV: lambda path: write_csv(designed, path),
                LEROBOT: lambda path: write_lerobot(designed, path, lerobot_unit),
                LEROBOT_NPY: lambda path: write_lerobot(designed, path, lerobot_unit),
                ROS_TRAJECTORY: lambda path: write_joint_trajectory(designed, path),
            }
            reads = [robot, *([actuators] if actuators is not None else [])]
            deliver(
                designed.as_json(),
                RESULT,
                files_of_commands,
                out,
                json,
                lambda: _print_commands(designed),
                reads=reads,
            )
            return

        from ..excitation.design import OptimalExcitation, read_checkpoint
        from ..excitation.problem import excitation_problem
        from ..excitation.trajectory import FourierSeries, QuinticSplines

        series = _choice("basis", basis, ("fourier", "b-spline"))
        method = OptimalExcitation(
            criterion=_choice("criterion", criterion, ("condition", "d-optimal")),  # type: ignore[arg-type]
            basis=FourierSeries(harmonics) if series == "fourier" else QuinticSplines(knots),
            starts=starts,
            seed=seed,
            information_weight=information_weight,
            max_seconds=max_seconds,
        )
        problem = excitation_problem(
            model,
            duration_s=duration,
            rate_hz=rate_hz,
            limits=limits,
            friction=friction,
            payload=payload,
            held=held,
            torque_std=_numbers("torque-noise", torque_noise),
            start=_numbers("start", start),
            surroundings=surroundings,
            clearance_m=clearance,
        )
        state = None if resume is None else read_checkpoint(resume, problem, method)
        # Beside the motion; none where nothing is written.
        checkpoint = None if folder is None else folder / "excite.checkpoint"
        if file is not None:
            checkpoint = file.with_suffix(".checkpoint")
        motion = _search(method, problem, state, checkpoint, say)

        def page(path: Path) -> None:
            say("writing the page")
            from ..report.excitation_page import write_excitation_page

            write_excitation_page(motion, path)

        from ..export.command_files import write_joint_trajectory, write_lerobot

        files = {path: write for path, write in ((file, motion.write), (report, page)) if path is not None}
        contents = {TRAJECTORY: motion.write, PAGE: page}
        contents |= {
            ROS_TRAJECTORY: partial(
                write_joint_trajectory, motion, velocities=motion.v, accelerations=motion.a
            ),
            LEROBOT: partial(write_lerobot, motion),
        }
        deliver(motion.as_json(), RESULT, contents, folder, json, lambda: _print(motion), files)


def _design_commands(
    path: Path,
    actuators: Path | None,
    given: tuple[Articulated, dict[str, float], Limits, Surroundings],
    numbers: tuple[float, float, float, float],
    linear: bool,
    posture: Any,
    slow: bool,
    say: Callable[[object], None],
) -> DesignedCommands:
    """Design commands for the actuators of a result, or of the project file `path`.

    Args:
        given: robot, held parameters, limits, what surrounds the robot.
        numbers: duration [s], rate [Hz], standard deviation of a position [rad], clearance [m].
        slow: whether `MAX_COMMAND_VELOCITY` bounds the description's limits of velocity.
    """
    import numpy as np

    from ..estimators.servo.command_design import CommandDesign
    from ..estimators.servo.problem import OPEN
    from ..parameters import per_joint
    from ..project.actuators import described_actuators, read_actuators

    model, held, limits, surroundings = given
    duration, rate_hz, noise, clearance = numbers
    open_, start, hold = OPEN, {}, not linear
    if path.suffix.lower() == ".toml":
        from ..project import Project
        from ..project.methods import names_where

        method: Any = Project.load(path).settings.method
        if not method.row.follows_commands:
            names = names_where(lambda row: row.follows_commands)
            raise InvalidMethod(f"{path} is not of servo robots; write [method] name = {names}")
        open_, start, hold = tuple(method.estimate), method.start, method.command == "held" and not linear
    if actuators is not None:
        known, laws = read_actuators(actuators, model.joints)
    else:
        known, laws = described_actuators(model.joints, start, held, where=str(path)), {}
    if hold:  # a result of commands of another kind has no ramp
        known = tuple(
            actuator.updated({"ramp": 1 / rate_hz})
            if actuator.derivative_gain > 0 and actuator.ramp == 0
            else actuator
            for actuator in known
        )
    if slow:
        fastest = np.array([MAX_COMMAND_VELOCITY[unit] for unit in limits.units])
        limits = replace(limits, velocity=np.minimum(limits.velocity, fastest))
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
    design = replace(design, posture=per_joint("--posture", posture, model.joints, design.middle))
    middle = model.configurations(design.middle[None])
    return replace(design, collisions=surroundings.resolve(model, middle)).design(progress=say)


def _search(
    method: OptimalExcitation,
    problem: ExcitationProblem,
    resume: SearchState | None,
    checkpoint: Path | None,
    say: Callable[[object], None],
) -> Excitation:
    """Run the search; write a checkpoint every ten seconds and on interruption."""
    from ..excitation.design import write_checkpoint
    from ..solve import Progress

    state, written, saved = resume, False, time.monotonic()

    def save(state: SearchState) -> None:
        nonlocal written, saved
        if checkpoint is not None:
            # the only folder that is made before the end: a long search must survive an interruption
            checkpoint.parent.mkdir(parents=True, exist_ok=True)
            write_checkpoint(checkpoint, state, problem, method)
            written, saved = True, time.monotonic()

    try:
        for state in method.search(problem, resume):
            say(
                Progress("searching", fraction=method.fraction(state), detail=_progress(state, method.starts))
            )
            # Not by wall-clock time, which may be set back.
            if time.monotonic() - saved > SAVED_EVERY_S:
                save(state)
    except KeyboardInterrupt:
        if state is None:
            outcome = " before a motion was found"
        elif checkpoint is None:
            outcome = f": {_progress(state)}; with --out it could be resumed"
        else:
            save(state)
            outcome = f": {_progress(state)}; resume with --resume {checkpoint}"
        raise typer.Exit(stop(f"interrupted{outcome}", INTERRUPTED)) from None
    # A search yields at least once.
    assert state is not None
    motion = method.finish(problem, state)
    if checkpoint is not None and (written or _is_of(checkpoint, problem, method)):
        # The search has ended: there is nothing to resume.
        with suppress(OSError):
            checkpoint.unlink()
    return motion


def _is_of(checkpoint: Path, problem: ExcitationProblem, method: OptimalExcitation) -> bool:
    """Whether a killed run of the same search left this checkpoint."""
    from ..excitation.design import read_checkpoint

    with suppress(PoinsotError):
        return bool(read_checkpoint(checkpoint, problem, method))
    return False


def _progress(state: SearchState, starts: int | None = None) -> str:
    is_found = state.best is not None
    best = f"best so far {state.best_condition_number:.3g}" if is_found else "none within all limits yet"
    where = f"start {state.start + 1}{f' of {starts}' if starts else ''}, {state.iterations} iterations"
    if state.leg > 0:
        where += f": condition number {state.condition_number:.3g}, limits exceeded by {100 * state.violation:.2g} %"
    return f"{where}; {best}"


def _print(motion: Excitation) -> None:
    """Print the summary, a line per joint, a line per parameter, and warnings."""
    from ..report.excitation_page import expectations, hopeless

    problem, base = motion.problem, motion.problem.base
    outcome = "A LIMIT IS BROKEN: the motion must not be run"
    if motion.limits_respected:
        outcome = f"limits of {listing(motion.checked)} are kept"
    if motion.unchecked:
        echo(f"NOT CHECKED: {'; '.join(motion.unchecked)}")
    near = "" if motion.least_distance is None else f", minimum distance {100 * motion.least_distance:.2g} cm"
    echo(
        f"{problem.robot.name}: {problem.duration_s:g} s from rest to rest, {len(motion.time)} samples{near}\n"
        f"{outcome}\n"
        f"condition number {motion.condition_number:.3g} of {len(problem.base)} parameters (columns at unit norm), "
        f"{motion.state.iterations} iterations in {motion.state.seconds:.0f} s"
    )
    if motion.limits_respected and not motion.unchecked:
        echo("Next: run the motion on the robot, and begin from its log: poinsot new ROBOT.urdf LOG.csv")
    rows: list[dict[str, Any]] = [
        {"joint": joint} | {f"{quantity} %": round(part, 1) for quantity, part in parts.items()}
        for joint, parts in motion.use_of_limits_percent.items()
    ]
    echo(f"\nuse of the limits\n{table(rows)}")
    rows = [
        {
            "name": name,
            "std": float(f"{std:.2g}"),
            "unit": unit,
            # NaN: the description has no value to which this could be relative.
            "std %": None if percent != percent else float(f"{percent:.3g}"),
            "stands for": grouping,
        }
        for name, std, unit, percent, grouping in zip(
            base.names, motion.std, base.units, motion.relative_std_percent, base.groupings, strict=True
        )
    ]
    echo(f"\npredicted standard deviations\n{table(rows)}\n")
    for sentence in expectations(motion):
        echo(sentence)
    if lost := hopeless(motion):
        echo(f"note: {listing(lost)} have predicted standard deviations above 100 %")
    for warning in motion.warnings:
        echo(f"warning: {warning}")


def _print_commands(commands: DesignedCommands) -> None:
    """A line a joint, and a line a parameter."""
    content = commands.as_json()
    distance = commands.least_distance
    near = "" if distance is None else f", minimum distance {100 * distance:.2g} cm"
    echo(
        f"{content['robot']}: {content['seconds']:.4g} s of commands at {content['rate_hz']:g} Hz, "
        f"all limits are kept{near}"
    )
    rows = [
        {name: row[name] for name in ("joint", "least", "largest", "largest_speed")}
        | {"shapes": ", ".join(dict.fromkeys(row["shapes"]))}
        for row in content["joints"]
    ]
    echo(f"\ncommands\n{table(rows)}")
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
    echo(f"\npredicted standard deviations\n{table(rows)}\n")
    echo(
        f"They are for white noise of {1e3 * commands.design.noise:g} mrad; "
        "motion that the model does not explain makes them wider."
    )
    for warning in commands.design.collisions.warnings if commands.design.collisions is not None else ():
        echo(f"warning: {warning}")


def _robot_and_held(path: Path, data: Path | None, locked: Any) -> tuple[Articulated, dict[str, float]]:
    """The robot, and the held parameters of a project file."""
    if locked is not None and not isinstance(locked, dict):
        raise InvalidMethod("--lock needs joint names: JOINT=0,OTHER=0.1")
    if path.suffix.lower() == ".toml":
        if locked:
            raise InvalidMethod(f"--lock is for robot descriptions; lock joints in robot.locked of {path}")
        from ..project import Project

        project = Project.load(path)
        return project.robot(data), dict(project.settings.held)
    from ..models.robot.articulated import load_robot

    return load_robot(path, locked=locked), {}


def _choice(option: str, value: str, known: tuple[str, ...]) -> str:
    check_known(value, known, f"unknown --{option}", "there are", InvalidMethod)
    return value


def _numbers(option: str, text: str | None) -> Any:
    """One number, a list, or joint -> number."""
    if text is None:
        return None
    from ..arrays import is_plausible

    parts = [part.strip() for part in text.split(",")]

    def number(part: str) -> float:
        if not is_plausible(value := float(part)):
            raise ValueError
        return value

    try:
        # One name makes all of them pairs: a mixture is refused below.
        if any("=" in part for part in parts):
            pairs = [part.split("=", 1) for part in parts]
            return {joint.strip(): number(part) for joint, part in pairs}
        return number(parts[0]) if len(parts) == 1 else [number(part) for part in parts]
    except ValueError:
        raise InvalidMethod(f"--{option} {text!r} is not {PER_JOINT}") from None


def _workspace(text: str | None, frames: list[str] | None) -> Any:
    from ..models.robot.collisions import Workspace

    if text is None:
        if frames:
            raise InvalidMethod("--workspace-frame needs a box: give --workspace-box too")
        return None
    try:
        x, y, z, *upper = map(float, text.split(","))
        X, Y, Z = upper
    except ValueError:
        raise InvalidMethod(
            f"--workspace-box {text!r} is not two corners x,y,z,x,y,z in m, as in -1,-1,0,1,1,2"
        ) from None
    return Workspace((x, y, z), (X, Y, Z), tuple(frames or ()))
