"""Machine code of kernels that is called without Numba: LLVM loads it, and C's calling convention is Numba's own.

A kernel becomes `int f(result*, exception**, arguments...)`, where an array is seven arguments or more: its owner and
its Python object, which may be absent, the number and size of entries, their address, lengths and strides. Possible for
kernels that return nothing and allocate nothing, and only take arrays, numbers and tuples of them: they fill arrays
that they are given.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

IN_LLVM = {type(None): "ptr", type(np.empty(0).ctypes): "ptr", int: "i64", float: "double"}
IN_C = {"ptr": ctypes.c_void_p, "i64": ctypes.c_int64, "double": ctypes.c_double}

UNUSED = {
    "NRT_MemInfo_call_dtor",
    "NRT_Free",
    "NRT_adapt_ndarray_from_python",
    "_Py_NoneStruct",
    "numba_do_raise",
}
UNUSED |= {"numba_gil_ensure", "numba_gil_release", "numba_runtime_build_excinfo_struct", "numba_unpickle"}
"""Numba's functions that only its wrappers for Python use, and the release of arrays that a kernel has allocated."""


def described(result: Any) -> tuple[bytes, str, list[str], list[str]] | None:
    """Object code, name, LLVM's types of arguments and functions called, of Numba's result; None: it needs Numba."""
    module, name = result.library._final_module, result.fndesc.llvm_func_name
    declared = (*module.functions, *module.global_variables)
    called = [each.name for each in declared if each.is_declaration and not each.name.startswith("llvm.")]
    runtime = {each for each in called if each.startswith(("NRT_", "numba_"))}
    if str(result.signature.return_type) != "none" or not runtime <= UNUSED:
        return None
    types = [str(each.type) for each in module.get_function(name).arguments]
    return result.library._get_compiled_object(), name, types, called


def loaded(description: tuple[Any, ...] | None, flat: list[Any]) -> Callable[[list[Any]], bool] | None:
    """What `described` has said, as a function of arguments like `flat` that returns whether it raised nothing.

    None where it said nothing, where arguments are of other types, since another Numba may have another convention, and
    where this process lacks a function that it calls.
    """
    if description is None:
        return None
    code, name, types, called = description
    if types != ["ptr", "ptr", *(IN_LLVM.get(type(each)) for each in flat)]:
        return None
    llvm, process = _llvm(), ctypes.CDLL(None)
    for each in called:
        if (found := getattr(process, "abort" if each in UNUSED else each, None)) is None:
            return None
        llvm.add_symbol(each, ctypes.cast(found, ctypes.c_void_p).value)
    machine = llvm.Target.from_default_triple().create_target_machine(codemodel="jitdefault", jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    # it keeps Python's lock, as Numba's functions do
    prototype = ctypes.PYFUNCTYPE(ctypes.c_int32, *(IN_C[each] for each in types))
    function, nothing = prototype(engine.get_function_address(name)), ctypes.c_void_p()
    pointers = ctypes.byref(nothing), ctypes.byref(nothing)

    def call(flat: list[Any], engine: Any = engine) -> bool:  # `engine` owns the code
        return function(*pointers, *flat) == 0

    return call


def flattened(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[Any]]:
    """What types and layouts arguments have, and the arguments that machine code takes."""
    kinds: list[Any] = []
    flat: list[Any] = []
    for each in args:
        if isinstance(each, np.ndarray):
            kinds.append((each.dtype, each.ndim, each.flags.num))
            flat += (None, None, each.size, each.itemsize, each.ctypes, *each.shape, *each.strides)
        elif isinstance(each, tuple):
            inner, values = flattened(each)
            kinds.append(inner)
            flat += values
        else:
            kinds.append(type(each))
            flat.append(each)
    return tuple(kinds), flat


def type_names(args: tuple[Any, ...]) -> str:
    """Types of arguments as Numba writes them."""
    names = [_type_name(each) for each in args]
    return f"({', '.join(names)}{',' * (len(names) == 1)})"


def _type_name(each: Any) -> str:
    if isinstance(each, np.ndarray):
        flags = each.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return f"Array({each.dtype.name}, {each.ndim}, {layout!r}, {not flags.writeable}, aligned={flags.aligned})"
    if isinstance(each, tuple):
        alike = len({*map(_type_name, each)}) == 1
        return f"UniTuple({_type_name(each[0])}, {len(each)})" if alike else f"Tuple({type_names(each)})"
    return {float: "float64", int: "int64"}.get(type(each)) or str(getattr(each, "dtype", "unknown"))


@cache
def processor() -> tuple[str, str, str]:
    """Kind of machine, name and features of its processor."""
    llvm = _llvm()
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm
