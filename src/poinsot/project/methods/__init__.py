"""The methods of [method], one file a family, listed in `METHODS`.

    base                  interface of a method
    inverse_dynamics      the linear methods: recordings -> signals -> regression -> estimate
    motion                base of methods that also estimate the motion: recordings as read -> problem -> estimate

A method is a class derived from `MethodSettings`, listed here or in another distribution under the entry point group
`poinsot.methods`. Its module is imported when a project file names it, and not before.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any

from ...exceptions import InvalidProject, nearest
from ..settings.fields import refuse
from .base import Beginning, LogContents, MethodSettings as MethodSettings

METHODS = MappingProxyType(
    {
        "least-squares": "inverse_dynamics:LeastSquaresSettings",
        "essential-parameters": "inverse_dynamics:EssentialSettings",
        "semidefinite": "semidefinite:SemidefiniteSettings",
        "payload": "payload:PayloadSettings",
        "filter": "filter:FilterSettings",
        "leg-odometry": "leg_odometry:LegOdometrySettings",
        "optimal-estimation": "optimal_estimation:OptimalEstimationSettings",
        "moving-horizon": "moving_horizon:MovingHorizonSettings",
        "joint-smoothing": "joint_smoothing:JointSmoothingSettings",
        "impacts": "impacts:ImpactsSettings",
        "actuators": "actuators:ActuatorSettings",
    }
)
"""Name in project files -> module and class."""

DEFAULT = "least-squares"
"""Default method of a project file."""

GROUP = "poinsot.methods"
"""Entry points of methods of other distributions: name = "module:class"."""


def installed_methods() -> dict[str, Any]:
    """Methods of other distributions, by name; names listed here take precedence."""
    return {each.name: each for each in entry_points(group=GROUP) if each.name not in METHODS}


def method_names() -> tuple[str, ...]:
    """Names of all methods, those listed here first."""
    return (*METHODS, *installed_methods())


def find_method(name: str) -> type[MethodSettings]:
    """The method of this name. Raises `KeyError` if there is none. Raises `InvalidProject` if another distribution has
    it, and it cannot be loaded.
    """
    # those listed here first: searching entry points reads the metadata of every distribution, which is slow
    if name in METHODS:
        module, _, attribute = METHODS[name].partition(":")
        listed: type[MethodSettings] = getattr(import_module(f".{module}", __name__), attribute)
        return listed
    entry = installed_methods()[name]
    where = f"the method {name!r} of the entry point {entry.value}"
    try:
        found = entry.load()
    except (ImportError, AttributeError) as error:
        raise InvalidProject(f"{where} cannot be loaded: {error}") from error
    if not (isinstance(found, type) and issubclass(found, MethodSettings)):
        raise InvalidProject(f"{where} must be a class derived from poinsot.project.methods.MethodSettings")
    return found


def find_beginning(log: LogContents) -> tuple[str, type[MethodSettings], Beginning]:
    """The first method that can start from this log, its name, and its start; `InvalidProject` if none can."""
    for name in method_names():
        method = find_method(name)
        if (beginning := method.begin(log)) is not None:
            return name, method, beginning
    lacks = "no torque, current or voltage of a joint, nor any other quantity that a method can start from"
    if log.gains_energy:
        lacks = "angles alone, and the robot gains energy, so its motors drive it: add columns with torques, currents "
        lacks += (
            "or voltages of its joints, or position commands; angles alone show how it moved, not its masses"
        )
    raise InvalidProject(f"the log has {lacks}")


def names_where(condition: Callable[[type[MethodSettings]], bool]) -> str:
    """Names of the methods for which this holds, for a message: `"impacts" or "filter"`."""
    return " or ".join(f'"{name}"' for name in method_names() if condition(find_method(name)))


def method_of(content: Any) -> type[MethodSettings]:
    """The method of a project file that may contain errors; the default where it names no existing one."""
    method = content.get("method") if isinstance(content, dict) else None
    name = method.get("name", DEFAULT) if isinstance(method, dict) else DEFAULT
    return find_method(name if isinstance(name, str) and name in method_names() else DEFAULT)


def read_method(value: Any) -> Any:
    """[method] -> the settings of the method that it names."""
    if not isinstance(value, dict):
        return value if isinstance(value, MethodSettings) else find_method(DEFAULT).model_validate(value)
    name = value.get("name", DEFAULT)
    names = METHODS if name in tuple(METHODS) else method_names()
    if not isinstance(name, str) or name not in names:
        *others, last = (f"'{each}'" for each in names)
        close = nearest(name, tuple(names)) if isinstance(name, str) else ""
        raise refuse(
            "method", f"must be {', '.join(others)} or {last}, not {f'{name!r:.60}'}{close}", key="name"
        )
    # A file without a name gets the default, which is then a key like any other.
    return find_method(name).model_validate({"name": name, **value})
