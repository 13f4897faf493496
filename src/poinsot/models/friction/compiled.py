"""Laws of friction in compiled loops: C functions, which a loop calls by their addresses.

A loop that gets addresses is compiled once, for every law there is and will be; each law is compiled by itself.
"""

from __future__ import annotations

import ctypes
from functools import cache, cached_property
from inspect import unwrap
from typing import Any

import numpy as np

from ...kernels import c_function
from .law import FrictionLaw

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
        from llvmlite import ir
        from numba import types
        from numba.core.registry import cpu_target
        from numba.extending import intrinsic

        number, pointer = ir.DoubleType(), ir.DoubleType().as_pointer()
        given = types.intp, *[types.float64] * 4, *[types.intp] * self.pointers
        result, low = (types.float64, number) if self.returns else (types.void, ir.VoidType())

        def generate(context: Any, builder: Any, _: Any, args: Any) -> Any:
            kind = ir.FunctionType(low, [number] * 4 + [pointer] * self.pointers)
            function = builder.inttoptr(args[0], kind.as_pointer())
            value = builder.call(
                function, [*args[1:5], *(builder.inttoptr(address, pointer) for address in args[5:])]
            )
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
