"""Functions in JAX as expressions of CasADi, which are not compiled.

A function of few numbers that is evaluated some million times takes XLA ten to thirty seconds to compile, for each
mechanism anew. JAX traces it in a tenth of that; its primitives, applied to symbols of CasADi, give an expression of
some hundred to thousand operations, from which terms that are 0 have vanished. CasADi differentiates it and evaluates
it in its virtual machine, as fast as the compiled function or faster.

`traced` takes algebra: elementwise functions, sums, products, and primitives that move numbers. It has no loops and no
factorizations.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...exceptions import MissingExtra
from .precision import double_precision

try:
    import casadi as ca
except ImportError:
    raise MissingExtra("discrete", "casadi") from None

ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "add_any": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "pow": operator.pow,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
    "square": lambda x: x * x,
    "rsqrt": lambda x: 1 / ca.sqrt(x),
    "logistic": lambda x: 1 / (1 + ca.exp(-x)),
    "round": lambda x: ca.floor(x + 0.5),
    "and": lambda a, b: ca.logic_and(a, b),
    "or": lambda a, b: ca.logic_or(a, b),
    "not": lambda a: ca.logic_not(a),
    "max": lambda a, b: ca.fmax(a, b),
    "min": lambda a, b: ca.fmin(a, b),
    "abs": lambda x: ca.fabs(x),
    "clamp": lambda low, x, high: ca.fmin(ca.fmax(x, low), high),
    "select_n": lambda case, a, b: b if case is True else a if case is False else ca.if_else(case, b, a),
    # types differ only in constants, and derivatives are CasADi's
    "convert_element_type": lambda x: x,
    "stop_gradient": lambda x: x,
    "copy": lambda x: x,
    "copy_p": lambda x: x,
}
NAMED = (
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "expm1", "log", "log1p",
    "sqrt", "sign", "floor", "ceil", "erf",
)  # fmt: skip
ELEMENTWISE |= {name: getattr(ca, name) for name in NAMED}
"""Primitive of JAX -> what it does with numbers."""
MOVING: dict[str, Callable[..., Any]] = {
    "reshape": lambda x, new_sizes, **_: x.reshape(new_sizes),
    "squeeze": lambda x, dimensions, **_: np.squeeze(x, tuple(dimensions)),
    "expand_dims": lambda x, dimensions, **_: np.expand_dims(x, tuple(dimensions)),
    "transpose": lambda x, permutation, **_: x.transpose(permutation),
    "rev": lambda x, dimensions, **_: np.flip(x, tuple(dimensions)),
    "slice": lambda x, start_indices, limit_indices, strides, **_: x[
        tuple(map(slice, start_indices, limit_indices, strides or [1] * x.ndim))
    ],
    "broadcast_in_dim": lambda x, shape, broadcast_dimensions, **_: np.broadcast_to(
        np.expand_dims(x, tuple(k for k in range(len(shape)) if k not in broadcast_dimensions)), shape
    ),
    "concatenate": lambda *x, dimension, **_: np.concatenate(x, axis=dimension),
    "stack": lambda *x, axis=0, **_: np.stack(x, axis=axis),
    "split": lambda x, sizes, axis, **_: np.split(x, np.cumsum(sizes)[:-1], axis=axis),
}
"""Primitives that only move numbers, as NumPy has them."""
PLACING = {"gather": 1, "scatter": 1, "pad": None}
"""Other primitives that only move numbers, which are applied to their places; the place of the argument that is a table
of places, not of numbers."""


def traced(function: Callable[..., Any], *arguments: np.ndarray) -> Any:
    """Results of a function in JAX as arrays of expressions, of arrays of numbers or symbols.

    Raises:
        NotImplementedError: if it is not algebra, with the name of the primitive.
    """
    import jax

    shapes = [jax.ShapeDtypeStruct(np.shape(argument), float) for argument in arguments]
    closed, shape = double_precision(jax.make_jaxpr(function, return_shape=True))(*shapes)
    results = _evaluated(closed.jaxpr, closed.consts, [_array(argument) for argument in arguments])
    return jax.tree.unflatten(jax.tree.structure(shape), results)


def symbols(name: str, count: int) -> np.ndarray:
    """(count,) symbols."""
    return _array([ca.SX.sym(f"{name}_{k}") for k in range(count)])


def column(numbers: Any) -> Any:
    """A column of CasADi of an array of expressions."""
    flat = list(np.asarray(numbers, dtype=object).flat)
    return ca.vertcat(*flat) if flat else ca.SX(0, 1)


def matrix_of(numbers: np.ndarray) -> Any:
    """A matrix of CasADi of an array (a, b) of expressions."""
    return ca.reshape(column(numbers.T), *numbers.shape)


def _array(values: Any) -> np.ndarray:
    """An array of Python's numbers and of symbols, which NumPy would take for matrices."""
    if isinstance(values, np.ndarray) and values.dtype == object:
        return values
    if isinstance(values, list):
        out = np.empty(len(values), dtype=object)
        out[:] = values
        return out
    return np.asarray(values).astype(object)


def _evaluated(jaxpr: Any, constants: Sequence[Any], arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of a traced function."""
    known: dict[Any, np.ndarray] = dict(zip(jaxpr.constvars, map(_numbers, constants), strict=True))
    known |= zip(jaxpr.invars, arguments, strict=True)

    def read(variable: Any) -> np.ndarray:
        return _numbers(variable.val) if hasattr(variable, "val") else known[variable]

    for equation in jaxpr.eqns:
        results = _applied(equation.primitive, equation.params, [read(one) for one in equation.invars])
        known |= zip(equation.outvars, results, strict=True)
    return [read(variable) for variable in jaxpr.outvars]


def _numbers(values: Any) -> np.ndarray:
    return _array(np.asarray(values))


def _applied(primitive: Any, given: dict[str, Any], arguments: list[np.ndarray]) -> list[np.ndarray]:
    name = primitive.name
    inner = given.get("jaxpr", given.get("call_jaxpr"))
    if inner is not None:  # a function in the function
        return _evaluated(inner.jaxpr, inner.consts, arguments)
    if name in ELEMENTWISE:
        return [_each(ELEMENTWISE[name], *arguments)]
    if name == "integer_pow":
        return [_each(lambda x: x ** given["y"], *arguments)]
    if name == "iota":
        return [_numbers(primitive.bind(**given))]
    if name == "reduce_sum":
        return [_sum(arguments[0], [int(axis) for axis in given["axes"]])]
    if name == "dot_general":
        return [_product(*arguments, *given["dimension_numbers"])]
    if name in MOVING:
        moved = MOVING[name](*arguments, **given)
        return moved if primitive.multiple_results else [moved]
    if name in PLACING:
        return _placed(primitive, given, arguments)
    raise NotImplementedError(f"the primitive {name} is no algebra")


def _each(function: Callable[..., Any], *arguments: np.ndarray) -> np.ndarray:
    """The function of each element."""
    arrays = np.broadcast_arrays(*arguments)
    out = np.empty(arrays[0].shape, dtype=object)
    values = [function(*row) for row in zip(*(array.flat for array in arrays), strict=True)]
    for k, value in enumerate(values):
        out.flat[k] = value
    return out


def _sum(array: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """Sums over axes."""
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    rows = array.transpose([*kept, *axes]).reshape(*(array.shape[axis] for axis in kept), -1)
    out = np.empty(rows.shape[:-1], dtype=object)
    for place in np.ndindex(out.shape):
        out[place] = sum(rows[place].tolist(), 0.0)
    return out


def _product(a: np.ndarray, b: np.ndarray, contracted: Any, batch: Any) -> np.ndarray:
    """Sums of products over common axes: the axes of batches, then those of a and those of b that are left."""
    parts, left = [], []
    for array, summed, common in zip((a, b), contracted, batch, strict=True):
        free = [axis for axis in range(array.ndim) if axis not in (*summed, *common)]
        order = [*common, *free, *summed]
        sizes = [int(np.prod([array.shape[axis] for axis in axes])) for axes in (common, free, summed)]
        parts.append(array.transpose(order).reshape(sizes))
        left.append([array.shape[axis] for axis in free])
    shape = [a.shape[axis] for axis in batch[0]] + left[0] + left[1]
    return np.asarray(parts[0] @ parts[1].swapaxes(1, 2)).reshape(shape)


def _placed(primitive: Any, given: dict[str, Any], arguments: list[np.ndarray]) -> list[np.ndarray]:
    """Where a primitive that moves numbers puts them: it is applied to their places."""
    import jax.numpy as jnp

    places, pool, first = [], [], 0
    for k, argument in enumerate(arguments):
        if k == PLACING[primitive.name]:
            places.append(jnp.asarray(argument.astype(np.int32)))
            continue
        places.append(jnp.arange(first, first + argument.size, dtype=jnp.int32).reshape(argument.shape))
        pool += list(argument.flat)
        first += argument.size
    results = primitive.bind(*places, **given)
    numbers = _array(pool)
    return [
        numbers[np.asarray(result)] if result.shape else _array([numbers[int(result)]]).reshape(())
        for result in (results if primitive.multiple_results else [results])
    ]
