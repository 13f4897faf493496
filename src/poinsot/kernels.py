"""Compiled kernels that are kept on disk: for this user and this version alone, and damaged files are missing ones.

Numba's own cache lies beside the source files, and raises at every start once one of its files is truncated.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import Any

import numba
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps


def njit(cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Numba's decorator; with `cache`, machine code is kept in `private_folder`, if there is one."""

    def compiled(function: Callable[..., Any]) -> Any:
        kernel = numba.njit(**options)(function)
        if cache and (folder := private_folder()):
            kernel._cache = _Kept(folder, function)
        return kernel

    return compiled


@cache
def private_folder() -> Path | None:
    """`$XDG_CACHE_HOME/poinsot/kernels-VERSION`, for this user alone; None if that cannot be."""
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = home / "poinsot" / f"kernels-{version('poinsot')}"
        folder.mkdir(0o700, parents=True, exist_ok=True)
        status = folder.stat()
        if status.st_uid != os.getuid() or status.st_mode & 0o022:  # machine code by others may be in it
            return None
        if status.st_mode & 0o077:
            folder.chmod(0o700)
    # closed; no home; no owners (Windows); no version
    except (OSError, RuntimeError, AttributeError, ImportError):
        return None
    return folder


def read_checked(path: Path) -> bytes | None:
    """Content that `write_checked` wrote; None of a file that is missing or damaged."""
    with suppress(OSError):
        content = path.read_bytes()
        if content[:32] == sha256(content[32:]).digest():
            return content[32:]
    return None


def write_checked(path: Path, content: bytes) -> None:
    """Write a file with its SHA-256 before the content, complete or, where that is impossible, not at all."""
    temporary = path.with_name(f"{path.name[:32]}.{token_hex(4)}")
    with suppress(OSError):
        try:
            temporary.write_bytes(sha256(content).digest() + content)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


class _Kept(NullCache):
    """Machine code of a function, in a file for each signature and processor."""

    def __init__(self, folder: Path, function: Callable[..., Any]):
        self.folder, self.function = folder, function

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        with suppress(Exception):  # whatever is wrong with a file, its function is compiled again
            path, key = self._entry(sig, target_context.codegen())
            found, reduced = pickle.loads(read_checked(path) or b"")
            if found == key:
                return CompileResult._rebuild(target_context, *reduced)
        return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        if not (cres.lifted or cres.library.has_dynamic_globals):
            with suppress(OSError):  # a function without a source file
                path, key = self._entry(sig, cres.library.codegen)
                write_checked(path, dumps((key, cres._reduce())))

    def _entry(self, sig: Any, codegen: Any) -> tuple[Path, tuple[Any, ...]]:
        """The file, and what its content depends on; of changed sources it has the same name, so new replaces old."""
        name, parts = self.function.__qualname__, _parts(self.function)
        enclosed = [
            (each.py_func.__module__, each.py_func.__qualname__) for each in _enclosed(self.function)[0]
        ]
        place = (self.function.__module__, name, *enclosed, repr(sig), codegen.magic_tuple(), sys.version)
        path = self.folder / f"{name}-{sha256(repr(place).encode()).hexdigest()[:32]}.kernel"
        sources = sorted({each.__code__.co_filename for each in parts})
        # numbers and arrays that a kernel has from the function that made it are in its machine code
        values = dumps([_enclosed(each)[1] for each in parts])
        return path, (numba.__version__, *map(_digest, sources), values, sig)


@cache
def _parts(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """A function, and those of all kernels that it calls."""
    functions = [function]
    for each in functions:
        called = [each.__globals__.get(name) for name in each.__code__.co_names] + _enclosed(each)[0]
        functions += [k.py_func for k in called if isinstance(k, Dispatcher) and k.py_func not in functions]
    return functions


def _enclosed(function: Callable[..., Any]) -> tuple[list[Any], list[Any]]:
    """Kernels, and other values, that a function has from the one that made it."""
    values = [cell.cell_contents for cell in function.__closure__ or ()]
    kernels = [value for value in values if isinstance(value, Dispatcher)]
    return kernels, [value for value in values if not isinstance(value, Dispatcher)]


@cache
def _digest(source: str) -> str:
    return sha256(Path(source).read_bytes()).hexdigest()
