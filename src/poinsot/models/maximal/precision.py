"""JAX's settings: double precision for single calls, and machine code kept from one process to the next.

Constraints of compliance 1e-9 beside masses of 1 leave no digits in JAX's default, single precision, so everything in
this folder needs double. That setting is process-wide, and set here it would change the arrays of all other users of
JAX in the same process. So the functions of this package that take and return NumPy arrays compute under
`double_precision`, which holds for their own duration and thread only. Code that transforms or compiles the other
functions must do the same.

XLA runs steps of a program side by side in a pool with as many threads as there are cores. A batch of triangular solves
is divided among threads of the same pool, and waits for them: if as many run at once as there are threads, all wait for
ever, which happens on two cores. So the pool gets more threads, unless `NPROC` says how many.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from hashlib import sha256
from pathlib import Path
from typing import ParamSpec, TypeVar

import numpy as np

from ...arrays import Float
from ...exceptions import MissingExtra, UnwritableOutput
from ...io.writing import atomic_path
from ...kernels import private_folder

POOL = 16
"""Threads of XLA's pool."""
os.environ.setdefault("NPROC", str(max(POOL, os.cpu_count() or 1)))  # before JAX starts

try:
    import jax
    from jax._src import compilation_cache
    from jax._src.compilation_cache_interface import CacheInterface
except ImportError:
    raise MissingExtra("discrete", "jax") from None

Numbers = jax.Array | np.ndarray
"""JAX's arrays inside, NumPy's at the interface."""

Scalar = float | Float[jax.Array, ""]
"""A number, or one that is being traced."""

MIN_COMPILE_TIME = 0.3
"""Machine code that takes less than this to compile is not kept [s]."""

Theta = Float[Numbers, "p"]
"""Values of a model's free parameters."""
Controls = Float[Numbers, "_"]
"""Control signals, held over a step."""
Coordinates = Float[Numbers, "n"]
"""Joint coordinates y [rad], [m], or their rates."""
Configuration = Float[Numbers, "m"]
"""Joint coordinates, or a configuration q, which has quaternions of balls in place of their rotation vectors."""
JointMotion = tuple[Configuration, Coordinates]
"""Joint coordinates or a configuration, and their rates, at one instant."""
BodyVelocities = Float[Numbers, "l 6"]
"""Linear [m/s] and angular [rad/s], in the world's axes."""

P = ParamSpec("P")
R = TypeVar("R")


def double_precision(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, run with JAX in double precision; JAX's setting is restored after it."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return call


def keep_compiled() -> None:
    """Keep what this process compiles from here on in the user's cache, unless JAX has another cache folder.

    Functions of a mechanism take seconds to compile.
    """
    if getattr(jax.config, "jax_compilation_cache_dir", None) is None and (folder := private_folder()):
        compilation_cache.get_file_cache = lambda path: (_CheckedFiles(Path(path)), path)
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", MIN_COMPILE_TIME)


class _CheckedFiles(CacheInterface):
    """A cache of files with checksums; JAX's own warns of a damaged file at every start, and never replaces it."""

    def __init__(self, folder: Path):
        self._path = folder

    def get(self, key: str) -> bytes | None:
        with suppress(OSError):
            content = (self._path / f"{key}.xla").read_bytes()
            if content[:32] == sha256(content[32:]).digest():
                return content[32:]
        return None

    def put(self, key: str, value: bytes) -> None:
        with suppress(UnwritableOutput), atomic_path(self._path / f"{key}.xla") as path:
            path.write_bytes(sha256(value).digest() + value)
