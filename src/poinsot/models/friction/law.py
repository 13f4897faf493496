"""A law of friction: what robots, servos, mechanisms, simulators and exports need to know of it, in one file.

The friction of a joint is a sum of laws. With the joint's speed v, the torque m of its motor, the torque l of the
mechanism at the joint, its position q and the law's parameters p, a law is

    smooth    effort(v, m, l, q, p) against the motion
    dry       sign(v) effort(v, m, l, q, p), and at rest anything up to it: `effort` is then its level, at least 0

`effort` and `slopes` are plain functions of numbers that use `np` for all mathematics. NumPy evaluates them with
arrays, Numba compiles them for one number (`law_table`), and `with_library` takes JAX's library for `np`. So they avoid
`np.where`, which is slow for one number, and multiply with comparisons: `(m > l) * x`.

A law is a frozen dataclass. Its fields, of the names of its parameters that are not linear, are their values where only
linear parameters are estimated: in the regressor of a robot.

In compiled loops laws are C functions, which a loop calls by their addresses. A loop that gets addresses is compiled
once, for every law there is and will be; each law is compiled by itself.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache, cached_property
from inspect import unwrap
from types import FunctionType
from typing import Any, ClassVar

import numpy as np

from ...exceptions import InvalidMethod
from ...kernels import c_function


@dataclass(frozen=True)
class FrictionParameter:
    """A parameter of a law.

    Args:
        name: its name in actuators and mechanisms, e.g. `coulomb`. symbol: prefix of its name in robots, e.g. `fc`.
        unit: with `{effort}` and `{position}` for those of the joint. words: for messages and pages.
        kind: its kind in all models, results and JSON; empty: its name.
        signed: whether it may be below 0. linear: whether the effort is proportional to it, if it is the only one.
        default: its value where nobody gives one; friction is absent at the defaults.
        described_as: `damping` or `friction` of URDF and MJCF; None: no description has a place for it.
        drive_field: field of a joint drive of Isaac Lab that holds it; None: there is none, and `without_drive` says
            what to do instead.
    """

    name: str
    symbol: str
    unit: str
    words: str
    kind: str = ""
    signed: bool = False
    linear: bool = True
    default: float = 0.0
    described_as: str | None = None
    drive_field: str | None = None
    without_drive: str = "friction of a drive is constant; change it at each step"

    def __post_init__(self) -> None:
        if not self.kind:
            object.__setattr__(self, "kind", self.name)

    @property
    def dissipates(self) -> bool:
        """Whether it takes energy at every speed if it is positive; it is never below 0 in a real joint."""
        return self.linear and not self.signed

    @property
    def is_per_torque(self) -> bool:
        """Whether it is friction per torque, or per squared torque."""
        return self.linear and self.unit in ("", "1/({effort})")

    def unit_of(self, effort: str, position: str) -> str:
        """Unit for a joint whose effort and position have these units."""
        return self.unit.format(effort=effort, position=position)


@dataclass(frozen=True)
class FrictionLaw(ABC):
    """A law of friction.

    Class attributes:
        name: of the law in project files.
        parameters: in the order of p.
        dry: whether it holds a joint at rest.
        by_speed: whether it depends on v only; m, l and q are known in servos only.
        in_servos: whether actuators have its parameters.
    """

    name: ClassVar[str]
    parameters: ClassVar[tuple[FrictionParameter, ...]]
    dry: ClassVar[bool] = True
    by_speed: ClassVar[bool] = True
    in_servos: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for field in fields(self):
            if not 0 <= getattr(self, field.name) < np.inf:
                raise InvalidMethod(
                    f"{field.name} of the friction must be at least 0, not {getattr(self, field.name)}"
                )

    @staticmethod
    @abstractmethod
    def effort(v: Any, m: Any, l: Any, q: Any, p: Any) -> Any:
        """(...) effort, or level of a dry law [N m] or [N], of speeds, torques and positions (...)."""

    @staticmethod
    @abstractmethod
    def slopes(v: Any, m: Any, l: Any, q: Any, p: Any, out: Any) -> None:
        """Fill `out` (4 + parameters, ...) with the derivatives of `effort` by v, m, l, q and each parameter."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its parameters."""
        return tuple(parameter.name for parameter in self.parameters)

    def is_active(self, values: Mapping[str, float]) -> bool:
        """Whether it has an effect with these values of parameters."""
        return any(values.get(p.name, p.default) != 0 for p in self.parameters if p.linear)

    def known(self, place: int) -> list[float]:
        """p with a linear parameter at 1, the other linear ones at 0, and its fields for those that are not linear."""
        return [
            float(k == place) if parameter.linear else float(getattr(self, parameter.name, parameter.default))
            for k, parameter in enumerate(self.parameters)
        ]


@cache
def with_library(function: FunctionType, library: Any) -> FunctionType:
    """`effort` of a law that takes another library, such as `jax.numpy`, for `np`."""
    own = unwrap(function)  # a checker of types wraps functions
    return FunctionType(own.__code__, {**own.__globals__, "np": library}, own.__name__)


NUMBERS = "f8, f8, f8, f8"

EFFORT, SLOPES, FIRST, COUNT, DRY = range(5)
"""Columns of a table of laws: two addresses, the place of the first parameter, their number, whether it is dry."""


def law_table(laws: tuple[FrictionLaw, ...], first: dict[str, int]) -> np.ndarray:
    """(n, 5) the laws as a loop gets them; `first`: name of a law -> the place of its first parameter."""
    rows = [
        [*(f.address for f in _functions(type(law))), first[law.name], len(law.parameters), law.dry]
        for law in laws
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 5)


@cache
def _functions(law: type[FrictionLaw]) -> tuple[Any, Any]:
    """`effort` and `slopes` as C functions of v, m, l, q and pointers to the parameters and to `out`."""
    return (
        c_function(unwrap(law.effort), f"f8({NUMBERS}, CPointer(f8))"),
        c_function(unwrap(law.slopes), f"void({NUMBERS}, CPointer(f8), CPointer(f8))"),
    )


class CallAt:
    """A call in compiled code, `call(address, v, m, l, q, *pointers)`, of a C function with this number of pointers."""

    def __init__(self, pointers: int, returns: bool):
        self.pointers, self.returns = pointers, returns

    def __call__(self, address: Any, *given: Any) -> Any:
        """The same in Python."""
        kinds = [ctypes.c_double] * 4 + [ctypes.c_void_p] * self.pointers
        function = ctypes.CFUNCTYPE(ctypes.c_double if self.returns else None, *kinds)(int(address))
        return function(*given[:4], *map(int, given[4:]))

    @cached_property
    def _numba_type_(self) -> Any:
        """What Numba takes it for; built when the first loop is compiled, as Numba is slow to import."""
        from numba import types
        from numba.core.registry import cpu_target
        from numba.extending import intrinsic

        pointer = types.CPointer(types.float64)
        result = types.float64 if self.returns else types.void
        given = types.intp, *[types.float64] * 4, *[types.intp] * self.pointers
        prototype = types.FunctionPrototype(result, (*[types.float64] * 4, *[pointer] * self.pointers))

        def generate(context: Any, builder: Any, _: Any, args: Any) -> Any:
            function = builder.inttoptr(args[0], context.get_value_type(prototype))
            pointers = [builder.inttoptr(address, context.get_value_type(pointer)) for address in args[5:]]
            value = context.call_function_pointer(builder, function, [*args[1:5], *pointers])
            return value if self.returns else context.get_dummy_value()

        if self.pointers == 1:

            def call(_: Any, address: Any, v: Any, m: Any, l: Any, q: Any, p: Any) -> Any:
                return result(*given), generate

        else:

            def call(  # type: ignore[misc]
                _: Any, address: Any, v: Any, m: Any, l: Any, q: Any, p: Any, out: Any
            ) -> Any:
                return result(*given), generate

        function = intrinsic(call)
        cpu_target.typing_context.refresh()  # reads the intrinsic
        return cpu_target.typing_context.resolve_value_type(function)


effort_at, slopes_at = CallAt(1, True), CallAt(2, False)
