"""The C code of a result: written by `poinsot export`, compiled here, and called at every tick."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from poinsot.arrays import Vector
from poinsot.project.exports import ExportJob

NAME = "arm"
COMPILERS = "gcc", "cc", "clang"


class ExportedDynamics(Protocol):
    """The identified model in a form that a loop can call."""

    @property
    def language(self) -> str:
        """Of the code."""

    @property
    def parameters(self) -> Vector:
        """(p,) identified values."""

    def torque(self, parameters: Vector, q: Vector, v: Vector, a: Vector) -> Vector:
        """(n,) torques at the joints that a motion takes with these parameters [N m]."""


@dataclass(frozen=True, eq=False)
class CompiledC:
    """Generated C in a shared library.

    Args:
        library: file of the library. joints: n. size: p.
    """

    library: Path
    joints: int
    size: int
    language: str = "C"

    @cached_property
    def parameters(self) -> Vector:
        return np.array((ctypes.c_double * self.size).in_dll(self._code, f"{NAME}_parameters"))

    def torque(self, parameters: Vector, q: Vector, v: Vector, a: Vector) -> Vector:
        tau = np.empty(self.joints)
        arrays = (np.ascontiguousarray(each, dtype=float) for each in (parameters, q, v, a))
        self._function(*(array.ctypes.data_as(_DOUBLES) for array in (*arrays, tau)))
        return tau

    @cached_property
    def _code(self) -> ctypes.CDLL:
        return ctypes.CDLL(str(self.library))

    @cached_property
    def _function(self) -> Callable[..., None]:
        function = self._code[f"{NAME}_inverse_dynamics_with"]
        function.argtypes, function.restype = [_DOUBLES] * 5, None
        return function


_DOUBLES = ctypes.POINTER(ctypes.c_double)


@dataclass(frozen=True, eq=False)
class PythonModule:
    """Generated Python, where there is no compiler. `file`: of the module."""

    file: Path
    language: str = "Python"

    @cached_property
    def parameters(self) -> Vector:
        return np.array(self._module.PARAMETERS)

    def torque(self, parameters: Vector, q: Vector, v: Vector, a: Vector) -> Vector:
        return np.asarray(self._module.inverse_dynamics_with(parameters, q, v, a))

    @cached_property
    def _module(self) -> Any:
        spec = importlib.util.spec_from_file_location(NAME, self.file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def export_dynamics(result: Path, folder: Path, say: Callable[[str], None]) -> ExportedDynamics:
    """Export a result as `poinsot export` does: as C if there is a compiler, else as Python.

    Args:
        result: what `poinsot identify` wrote. folder: to write to.
    """
    job = ExportJob(result, NAME)
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        say(f"there is no C compiler ({', '.join(COMPILERS)}): the loop calls the exported Python module")
    for name, write in job.files("python" if compiler is None else "c").writers.items():
        write(folder / name)
    if compiler is None:
        return PythonModule(folder / f"{NAME}.py")
    library = folder / f"{NAME}.so"
    flags = "-std=c99", "-O2", "-shared", "-fPIC"
    source = str(folder / f"{NAME}.c")
    subprocess.run([compiler, *flags, source, "-lm", "-o", str(library)], check=True)
    return CompiledC(library, job.routines.size, len(job.routines.dynamics.theta))
