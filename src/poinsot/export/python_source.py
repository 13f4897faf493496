"""A Python module of a result: one file that needs NumPy alone, for one sample or many at once."""

from __future__ import annotations

from collections.abc import Iterator

from .c_source import CodeOrigin, facts
from .expressions import FUNCTIONS, Language, statements
from .routines import PARAMETERS, Routine, Routines

NUMPY = Language(
    {name: f"np.{name}" for name in (*FUNCTIONS, "abs")} | {"pow": "np.power"},
    "{name} = {value}",
    "np.where({condition}, 1.0, 0.0)",
)


def python_module(routines: Routines, origin: CodeOrigin, regressor: bool = False) -> str:
    """Text of the module; functions are those of the C code without its prefix."""
    return "\n".join(_module(routines, origin, regressor))


def _module(routines: Routines, origin: CodeOrigin, regressor: bool) -> Iterator[str]:
    lines = [*origin.lines(routines.robot.name), "", *facts(routines)]
    text = "\n".join(lines).replace("\\", "/").replace('"""', "'''")
    yield f'"""{text}\n"""\n'
    yield "import numpy as np\n"
    yield f"JOINTS = {list(routines.robot.joints)!r}"
    yield f"PARAMETERS = np.array({routines.dynamics.theta.tolist()!r})\n\n"
    for routine in routines.all(regressor):
        yield from _function(routine, routines)
        yield "\n"
    yield "def inverse_dynamics(q, v, a):"
    yield '    """Efforts that a motion takes, with friction: (..., e), of q, v and a (..., n)."""'
    yield "    return inverse_dynamics_with(PARAMETERS, q, v, a)\n"


def _function(routine: Routine, routines: Routines) -> Iterator[str]:
    first = next(name for name in routine.arguments if name != PARAMETERS)
    rows = len(routines.robot.equations)
    shape = (rows, len(routine.values) // rows) if routine.result in ("M", "W") else (len(routine.values),)
    given = ", ".join(routine.arguments)
    yield f"def {routine.name}({given}):"
    shapes = ", ".join(map(str, shape))
    yield f'    """{routine.meaning} (..., {shapes}) of {given}."""'
    # components first, so that each is a number or all samples of it
    for name in routine.arguments:
        yield f"    {name} = np.moveaxis(np.asarray({name}, dtype=float), -1, 0)"
    yield f"    {routine.result} = np.zeros(({len(routine.values)}, *{first}.shape[1:]))"
    targets = {f"{routine.result}[{k}]": value for k, value in enumerate(routine.values)}
    yield from (f"    {line}" for line in statements(NUMPY, targets))
    yield f"    {routine.result} = np.moveaxis({routine.result}, 0, -1)"
    result = (
        routine.result
        if len(shape) == 1
        else f"{routine.result}.reshape(*{routine.result}.shape[:-1], {shapes})"
    )
    yield f"    return {result}"
