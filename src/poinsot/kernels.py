"""Numba's `njit`, imported at the first call of a kernel, whose machine code is cached in a private folder of the user.

Numba's own cache lies beside the source files. It raises an exception at every start once one of its files is
truncated, and it does not recompile a kernel after a change of another kernel that it calls. The cache here is Numba's
with three changes: its files lie in `private_folder`; they are compiled again if they are damaged; and they depend on
the sources of all kernels that are called.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property, partial, update_wrapper
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any


def njit(cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Numba's decorator with its `options`; `cache` keeps machine code in `private_folder`, if there is one."""
    return lambda function: Kernel(function, cache, options)


class Kernel(partial[Any]):
    """A function that Numba compiles when it is first called; it is a `partial` because that adds only 20 ns to a call.

    Where kernels call each other, it stands for Numba's dispatcher, whose attributes it has.

    Args:
        py_func: the function. cached: whether machine code is kept on disk. options: Numba's.
    """

    def __new__(cls, py_func: Callable[..., Any], *_: Any) -> Kernel:
        return super().__new__(cls, py_func)

    def __init__(self, py_func: Callable[..., Any], cached: bool, options: dict[str, Any]):
        update_wrapper(self, py_func)
        self.py_func, self.cached, self.options = py_func, cached, options
        self.__setstate__((lambda *args, **named: self.dispatcher(*args, **named), (), {}, self.__dict__))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Name and enclosed values, by which Numba's cache distinguishes kernels that other kernels enclose."""
        return _find_kernel, (self.__module__, self.__qualname__, *_enclosed(self.py_func))

    @cached_property
    def dispatcher(self) -> Any:
        """The object that Numba makes of the function."""
        import numba

        dispatcher = numba.njit(**self.options)(self.py_func)
        if self.cached and private_folder():
            with suppress(OSError):  # a function without a source file
                dispatcher._cache = _cache_class()(self.py_func)
        self.__setstate__((dispatcher, (), {}, self.__dict__))  # calls reach Numba directly from now on
        return dispatcher


def c_function(function: Callable[..., Any], signature: str) -> Any:
    """The function in machine code with C's calling convention, cached as kernels are; it has an `address`."""
    from numba.core import ccallback, sigutils

    args, returned = sigutils.normalize_signature(signature)
    compiled: Any = ccallback.CFunc(function, (args, returned), {}, {"error_model": "numpy"})
    if private_folder():
        with suppress(OSError):  # a function without a source file
            compiled._cache = _cache_class()(function)
    compiled.compile()
    return compiled


@cache
def private_folder() -> Path | None:
    """`$XDG_CACHE_HOME/poinsot/kernels-VERSION`, which only this user can write to; None if that is impossible."""
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = home / "poinsot" / f"kernels-{version('poinsot')}"
        folder.mkdir(0o700, parents=True, exist_ok=True)
        status = folder.stat()
        if status.st_uid != os.getuid() or status.st_mode & 0o022:  # machine code by others may be in it
            return None
        if status.st_mode & 0o077:
            folder.chmod(0o700)
    # a folder without access; no home; no owners (Windows); no version
    except (OSError, RuntimeError, AttributeError, ImportError):
        return None
    return folder


def has_compiled_kernels() -> bool:
    """Whether an earlier process has compiled and cached kernels of this version."""
    folder = private_folder()
    return folder is not None and any(folder.glob("*.nbi"))


class _Locator:
    """Place of a kernel's files and digest of the sources that they depend on: Numba's interface of a cache's locator.

    Raises:
        OSError: if a source cannot be read.
    """

    def __init__(self, function: Callable[..., Any], file: str):
        sources = sorted({part.__code__.co_filename for part in _parts(function)})
        settings = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
        self._py_file = file
        self._name = (
            f"{function.__code__.co_firstlineno}-{_digest(repr((sources, settings)).encode()).hex()[:16]}"
        )
        self._stamp = _digest(b"".join(map(_source_digest, sources)))

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _Locator:
        return cls(function, file)

    def ensure_cache_path(self) -> None:
        """`private_folder` has been created."""

    def get_cache_path(self) -> str:
        return str(private_folder())

    def get_source_stamp(self) -> bytes:
        return self._stamp

    def get_disambiguator(self) -> str:
        return self._name


@cache
def _cache_class() -> Any:
    """Numba's cache of a function, with `_Locator` and checksums; a damaged entry is a missing one."""
    from numba.core import caching
    from numba.core.serialize import dumps

    class Results(caching.CompileResultCacheImpl):
        _locator_classes = [_Locator]  # noqa: RUF012  as in Numba

        def reduce(self, result: Any) -> tuple[bytes, bytes]:
            code = dumps(super().reduce(result))
            return _digest(self.locator.get_source_stamp() + code), code

        def rebuild(self, target_context: Any, reduced: tuple[bytes, bytes]) -> Any:
            digest, code = reduced
            if digest != _digest(self.locator.get_source_stamp() + code):
                raise ValueError("damaged, or of other sources")
            return super().rebuild(target_context, pickle.loads(code))

    class Cache(caching.FunctionCache):
        _impl_class = Results

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            try:
                return super().load_overload(sig, target_context)
            except Exception:  # whatever is wrong with a file, the function is compiled again
                with suppress(OSError):
                    self.flush()
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            with suppress(OSError):
                super().save_overload(sig, data)

    return Cache


def _parts(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """The function, and those of all kernels that it calls."""
    functions = [function]
    for part in functions:
        called = [part.__globals__.get(name) for name in part.__code__.co_names] + _enclosed(part)
        functions += [k.py_func for k in called if isinstance(k, Kernel) and k.py_func not in functions]
    return functions


def _enclosed(function: Callable[..., Any]) -> list[Any]:
    """Values that a function has from the function that defines it."""
    return [cell.cell_contents for cell in function.__closure__ or ()]


def _find_kernel(module: str, name: str, *enclosed: Any) -> Any:
    """The kernel of this name, if it is at the top of its module."""
    from importlib import import_module

    return getattr(import_module(module), name)


def _digest(content: bytes) -> bytes:
    return sha256(content).digest()


@cache
def _source_digest(path: str) -> bytes:
    return _digest(Path(path).read_bytes())
