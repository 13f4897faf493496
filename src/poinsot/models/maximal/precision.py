"""Double precision for single calls: JAX computes in single precision by default, and its setting is process-wide.

Constraints of compliance 1e-9 beside masses of 1 leave no digits in single precision, so everything in this folder
needs double. `jax_enable_x64` set here would change the arrays of everybody who uses JAX in the same process. So the
doors of this package (what takes and returns NumPy arrays) compute under `double_precision`, which holds for their own
duration and thread only, and whoever transforms or compiles the functions behind the doors does the same:

    @double_precision
    def solve(problem):
        ...  # jax.jit, jax.vmap, jax.jvp of what is in this folder
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np
from jaxtyping import Float

from ...exceptions import MissingExtra

try:
    import jax
except ImportError:
    raise MissingExtra("discrete", "jax") from None

Numbers = jax.Array | np.ndarray
"""JAX's arrays inside, NumPy's at the doors."""

Scalar = float | Float[jax.Array, ""]
"""A number, or one that is being traced."""

P = ParamSpec("P")
R = TypeVar("R")


def double_precision(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, run with JAX in double precision; before and after, JAX is as it was."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return call
