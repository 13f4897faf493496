"""The methods of [method]: `METHODS` has a row for each.

    base                  what a row says, and the interface of what a method does with a project
    inverse_dynamics      the linear methods: recordings -> signals -> regression -> estimate
    motion                base of methods that also estimate the motion: recordings as read -> problem -> estimate

The fields of a method's dataclasses are its keys. A method of another distribution is a row under the entry point group
`poinsot.methods`. What a row names is imported when a project file names the method, and not before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from ...exceptions import InvalidProject, nearest
from ...lazy import load, plugins
from ..settings.fields import refuse
from ..settings.preprocessing import AS_READ, AS_THEY_COME
from ..settings.tables import derived
from .base import Beginning, LogContents, MethodRow as MethodRow, ProjectMethod as ProjectMethod

HERE = ".project.methods."

METHODS = MappingProxyType(
    {
        "least-squares": MethodRow(
            HERE + "inverse_dynamics:LinearMethod",
            (".estimators.linear.least_squares:LeastSquares",),
            begin=HERE + "inverse_dynamics:begin_with_efforts",
            streams=True,
            tables=("accuracy",),
            sections=("effort", "friction"),
        ),
        "essential-parameters": MethodRow(
            HERE + "inverse_dynamics:LinearMethod",
            (".estimators.linear.essential:EssentialParameters",),
            tables=("accuracy",),
            sections=("effort", "friction"),
        ),
        "instrumental-variable": MethodRow(
            HERE + "inverse_dynamics:LinearMethod",
            (".estimators.linear.instrumental_variable:InstrumentalVariable",),
            tables=("accuracy",),
            sections=("effort", "friction"),
        ),
        "hidden-deflections": MethodRow(
            HERE + "inverse_dynamics:LinearMethod",
            (".estimators.linear.hidden_deflections:HiddenDeflections",),
            sections=("effort", "friction"),
        ),
        "semidefinite": MethodRow(
            HERE + "inverse_dynamics:SemidefiniteMethod",
            (".estimators.linear.semidefinite:SemidefiniteLeastSquares",),
            tables=("accuracy",),
            sections=("effort", "friction", "full_parameters"),
        ),
        "payload": MethodRow(
            HERE + "payload:PayloadMethod",
            (
                ".estimators.linear.payload.identification:PayloadIdentification",
                ".estimators.linear.payload.draws:Resampling",
            ),
            without=("gains", "resampling"),
            loads=True,
            tables=("accuracy",),
            sections=("payload", "effort", "friction"),
        ),
        "filter": MethodRow(
            HERE + "filter:FilterMethod",
            (".estimators.online.filter:ExtendedKalmanFilter", ".estimators.online.filter:Gate"),
            without=("torques", "bias", "safeguards", "confidence"),
            tables=("accuracy",),
            takes=AS_THEY_COME,
            floating_base=True,
            needs_recordings=False,
            sections=("masses", "excitation", "rejections", "effort"),
        ),
        "leg-odometry": MethodRow(
            HERE + "leg_odometry:LegOdometryMethod",
            (".estimators.online.leg_odometry:LegOdometry",),
            without=("gravity",),
            begin=HERE + "leg_odometry:begin_with_feet",
            tables=("contacts", "accuracy"),
            takes=AS_READ,
            floating_base=True,
            sections=("effort",),
        ),
        "optimal-estimation": MethodRow(
            HERE + "optimal_estimation:OptimalEstimationMethod",
            (".estimators.shooting.estimation:OptimalEstimation", ".estimators.shooting.ddp:DDP"),
            without=("ddp", "settled", "max_rounds", "seed", "shrinkage"),
            begin=HERE + "optimal_estimation:begin_with_moving_base",
            tables=("contacts", "rotors"),
            takes=AS_READ,
            estimates_motion=True,
            floating_base=True,
            sections=("motion", "contacts", "sensitivity", "convergence"),
        ),
        "moving-horizon": MethodRow(
            HERE + "moving_horizon:MovingHorizonMethod",
            (".estimators.shooting.moving_horizon:MovingHorizon",),
            tables=("contacts", "rotors"),
            takes=AS_READ,
            estimates_motion=True,
            floating_base=True,
            sections=("history", "motion", "contacts"),
        ),
        "joint-smoothing": MethodRow(
            HERE + "joint_smoothing:JointSmoothingMethod",
            begin=HERE + "joint_smoothing:begin_with_positions",
            subject="mechanism",
            tables=("accuracy",),
            takes=AS_READ,
            estimates_motion=True,
            sections=("friction", "motion", "convergence"),
        ),
        "impacts": MethodRow(
            HERE + "impacts:ImpactsMethod",
            subject="body",
            tables=("walls", "accuracy"),
            takes=AS_READ,
            estimates_motion=True,
            sections=("impacts", "motion"),
        ),
        "actuators": MethodRow(
            HERE + "actuators:ActuatorsMethod",
            (
                ".estimators.servo.problem:ActuatorProblem",
                ".estimators.servo.search:Search",
                ".estimators.servo.output_error:OutputError",
            ),
            without=(
                *("robot", "recordings", "open", "held", "priors", "hold", "held_out", "commands", "huber"),
                *("torque_scales", "search", "rounds", "refined", "finished", "coarse_s", "coarse_error"),
                *("iteration", "coarse", "accuracy"),
            ),
            tables=("accuracy",),
            begin=HERE + "actuators:begin_with_position_commands",
            follows_commands=True,
            takes=AS_READ,
            estimates_motion=True,
            sections=("poinsot.report.sections.actuators:actuator_section",),
        ),
    }
)
"""Name in project files -> its row."""

DEFAULT = "least-squares"
"""Default method of a project file."""

GROUP = "poinsot.methods"
"""Entry points of methods of other distributions: name = "module:row"."""


def installed_methods() -> dict[str, Any]:
    """Entry points of methods of other distributions, by name; names listed here take precedence."""
    return {point.name: point for point in plugins(GROUP) if point.name not in METHODS}


def method_names() -> tuple[str, ...]:
    """Names of all methods, those listed here first."""
    return (*METHODS, *installed_methods())


def row_of(name: str) -> MethodRow:
    """The row of the method of this name. Raises `KeyError` if there is none. Raises `InvalidProject` if another
    distribution has it, and it cannot be loaded.
    """
    # those listed here first: searching entry points reads the metadata of every distribution, which is slow
    if name in METHODS:
        return METHODS[name]
    point = installed_methods()[name]
    where = f"the method {name!r} of the entry point {point.value}"
    try:
        row = point.load()
    except (ImportError, AttributeError) as error:
        raise InvalidProject(f"{where} cannot be loaded: {error}") from error
    if not isinstance(row, MethodRow):
        raise InvalidProject(f"{where} must be a poinsot.project.methods.MethodRow")
    return row


@cache
def _table(name: str, row: MethodRow) -> type[ProjectMethod]:
    own = {"name": (Literal[name], name if name == DEFAULT else ...)}
    constants = {"row": row, "made_by": (find_method, name)}
    return derived(name, load(row.project), list(map(load, row.keys)), row.without, constants, own)


def find_method(name: str) -> type[ProjectMethod]:
    """The table of the method of this name; errors as of `row_of`."""
    return _table(name, row_of(name))


def find_beginning(log: LogContents) -> tuple[str, MethodRow, Beginning]:
    """The first method that can start from this log, its row, and its start; `InvalidProject` if none can."""
    for name in method_names():
        row = row_of(name)
        if row.begin and (beginning := load(row.begin)(log)) is not None:
            return name, row, beginning
    lacks = "no torque, current or voltage of a joint, nor any other quantity that a method can start from"
    if log.gains_energy:
        lacks = "angles alone, and the robot gains energy, so its motors drive it: add columns with torques, currents "
        lacks += (
            "or voltages of its joints, or position commands; angles alone show how it moved, not its masses"
        )
    if log.of_base:
        lacks = (
            f"{log.of_base}, so its base moves, and no torques, currents or voltages of its joints, which masses "
            'need: add them; [method] name = "leg-odometry" follows the base without them, by an IMU and contacts of '
            "the feet"
        )
    raise InvalidProject(f"the log has {lacks}")


def names_where(condition: Callable[[MethodRow], bool]) -> str:
    """Names of the methods for which this holds, for a message: `"impacts" or "filter"`."""
    return " or ".join(f'"{name}"' for name in method_names() if condition(row_of(name)))


def row_named(content: Any) -> MethodRow:
    """The row of the method of a project file that may contain errors; the default where it names no existing one."""
    method = content.get("method") if isinstance(content, dict) else None
    name = method.get("name", DEFAULT) if isinstance(method, dict) else DEFAULT
    return row_of(name if isinstance(name, str) and name in method_names() else DEFAULT)


def read_method(value: Any) -> Any:
    """[method] -> the table of the method that it names."""
    if not isinstance(value, dict):
        return value if isinstance(value, ProjectMethod) else find_method(DEFAULT).model_validate(value)
    name = value.get("name", DEFAULT)
    names = METHODS if name in tuple(METHODS) else method_names()
    if not isinstance(name, str) or name not in names:
        *others, last = (f"'{option}'" for option in names)
        close = nearest(name, tuple(names)) if isinstance(name, str) else ""
        raise refuse(
            "method", f"must be {', '.join(others)} or {last}, not {f'{name!r:.60}'}{close}", key="name"
        )
    # A file without a name gets the default, which is then a key like any other.
    return find_method(name).model_validate({"name": name, **value})
