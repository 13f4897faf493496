"""Compiled kernels that are kept on disk: for this user and this version alone, and damaged files are missing ones.

Numba's own cache lies beside the source files, and raises at every start once one of its files is truncated. Numba
takes a quarter of a second of processor time to import and to load its first kernel, so kernels that are kept are
called without it where `machine_code` can.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property, partial, update_wrapper
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import Any

from .machine_code import described, flattened, loaded, processor, type_names

MANY_CALLS = 20_000
"""Calls of a kernel after which Numba is imported: its calls take 10 us less."""


def njit(cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Numba's decorator; with `cache`, machine code is kept in `private_folder`, if there is one."""

    def compiled(function: Callable[..., Any]) -> Kernel:
        return Kernel(function, private_folder() if cache else None, options)

    return compiled


class Kernel(partial[Any]):
    """A function that is compiled when it is first called; a `partial`, which adds 20 ns to the call of what it holds.

    Its attributes are those of Numba's dispatcher, for which it stands where kernels call each other.

    Args:
        py_func: the function. folder: where its machine code is kept; None: nowhere. options: Numba's.
    """

    def __new__(cls, py_func: Callable[..., Any], *_: Any) -> Kernel:
        return super().__new__(cls, py_func)

    def __init__(self, py_func: Callable[..., Any], folder: Path | None, options: dict[str, Any]):
        update_wrapper(self, py_func)
        self.py_func, self.folder, self.options = py_func, folder, options
        self._calls, self._found = 0, dict[Any, Callable[[list[Any]], bool] | None]()
        self.__setstate__((self._call, (), {}, self.__dict__))

    def _call(self, *args: Any, **named: Any) -> Any:
        if not named and self._called_without_numba(args):
            return None
        return self.dispatcher(*args, **named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    @cached_property
    def dispatcher(self) -> Any:
        """What Numba makes of the function."""
        import numba

        dispatcher = numba.njit(**self.options)(self.py_func)
        if self.folder:
            dispatcher._cache = _Kept(self.folder, self.py_func)
        self.__setstate__((dispatcher, (), {}, self.__dict__))  # from now on it holds this
        return dispatcher

    def _called_without_numba(self, args: tuple[Any, ...]) -> bool:
        """Call the kept machine code; False where there is none, where Numba is imported already, and on an error."""
        self._calls += 1
        if not self.folder or "numba" in sys.modules or self._calls > MANY_CALLS:
            return False
        kinds, flat = flattened(args)
        if kinds not in self._found:
            self._found[kinds] = None
            with suppress(Exception):  # whatever is wrong with a file, Numba compiles the function again
                self._found[kinds] = loaded(_read(self.folder, self.py_func, type_names(args))[1], flat)
        code = self._found[kinds]
        return code is not None and code(flat)


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


class _Kept:
    """Machine code of a function, in a file for each signature and processor: what Numba expects of a cache."""

    cache_path = None

    def __init__(self, folder: Path, function: Callable[..., Any]):
        self.folder, self.function = folder, function

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        from numba.core.compiler import CompileResult

        target_context.refresh()
        with suppress(Exception):  # whatever is wrong with a file, its function is compiled again
            reduced = pickle.loads(_read(self.folder, self.function, repr(sig))[2])
            return CompileResult._rebuild(target_context, *reduced)
        return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        from numba.core.serialize import dumps

        if not (cres.lifted or cres.library.has_dynamic_globals):
            with suppress(Exception):  # a function without a source file, or another Numba
                path, key = _entry(self.folder, self.function, repr(sig))
                write_checked(path, pickle.dumps((key, described(cres), dumps(cres._reduce()))))


def _read(folder: Path, function: Callable[..., Any], types: str) -> tuple[Any, ...]:
    """Key, description for `machine_code` and Numba's result; raises an exception where the file has none that fit."""
    path, key = _entry(folder, function, types)
    found = pickle.loads(read_checked(path) or b"")
    if found[0] != key:
        raise ValueError(f"{path} is of other sources")
    return tuple(found)


def _entry(folder: Path, function: Callable[..., Any], types: str) -> tuple[Path, tuple[str, ...]]:
    """The file, and what its content depends on; of changed sources it has the same name, so new replaces old."""
    name, parts = function.__qualname__, _parts(function)
    settings = sorted(each for each in os.environ.items() if each[0].startswith("NUMBA_"))
    enclosed = [(each.py_func.__module__, each.py_func.__qualname__) for each in _enclosed(function)[0]]
    place = (function.__module__, name, *enclosed, types, processor(), settings, sys.version)
    path = folder / f"{name}-{sha256(repr(place).encode()).hexdigest()[:32]}.kernel"
    sources = (described.__code__.co_filename, *sorted({each.__code__.co_filename for each in parts}))
    # numbers and arrays that a kernel has from the function that made it are in its machine code
    values = pickle.dumps([_enclosed(each)[1] for each in parts]).hex()
    return path, (version("numba"), version("llvmlite"), *map(_digest, sources), values, types)


@cache
def _parts(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """A function, and those of all kernels that it calls."""
    functions = [function]
    for each in functions:
        called = [each.__globals__.get(name) for name in each.__code__.co_names] + _enclosed(each)[0]
        functions += [k.py_func for k in called if isinstance(k, Kernel) and k.py_func not in functions]
    return functions


def _enclosed(function: Callable[..., Any]) -> tuple[list[Kernel], list[Any]]:
    """Kernels, and other values, that a function has from the one that made it."""
    values = [cell.cell_contents for cell in function.__closure__ or ()]
    kernels = [value for value in values if isinstance(value, Kernel)]
    return kernels, [value for value in values if not isinstance(value, Kernel)]


@cache
def _digest(source: str) -> str:
    return sha256(Path(source).read_bytes()).hexdigest()
