"""Every annotation of poinsot is checked in each test that calls the function: `Float[np.ndarray, "T n"]` is a promise.

jaxtyping's import hook puts `jaxtyped` and beartype around each function and dataclass. Four things are added to it:

- A check takes some 50 us, and tests call small functions a hundred thousand times. So each test begins to count anew,
  and a function is checked in the first `CALLS` calls of it in a test, and after these in every call whose number is
  a power of two.
- Numba compiles a function from its own bytecode and cannot see through a wrapper, so functions under Numba's
  decorators are left as they are.
- A protocol can only be checked if it is runtime-checkable, so while tests run every one is.
- An annotation that beartype cannot read leaves its function unchecked. (Polars' `type[pl.DataType]` is one: its
  metaclass prints it by two names.)
"""

import ast
import functools
import inspect
import threading
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any, TypeVar

import beartype
import jaxtyping
from beartype.roar import BeartypeDecorHintException

# private, but there is no other way to add to them
from jaxtyping import _decorator, _import_hook as import_hook

NUMBA_DECORATORS = frozenset(
    {"_compiled", "cfunc", "guvectorize", "jit", "njit", "overload", "stencil", "vectorize"}
)

CALLS = 8
"""First calls of a function in a test, all of which are checked."""

_test = 0
"""Number of the test that runs."""

_one_at_a_time = threading.RLock()
"""While checks are built, the function has another signature."""

Decorated = TypeVar("Decorated", bound=Callable)

# An int may be given where a float is asked for, as static type checkers allow.
_check = beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))


def check(function: Callable) -> Callable:
    """`function`, made to raise if its arguments or its result are not what they are annotated as."""
    try:
        return _check(function)
    except BeartypeDecorHintException:
        return function


def checked(decorated: Decorated) -> Decorated:
    """`decorated`, a function or a class, with `check` in the calls that are to be checked; of a class, to make one."""
    if isinstance(decorated, type):
        if is_dataclass(decorated) and not hasattr(decorated.__init__, "counts_calls"):
            decorated.__init__ = checked(decorated.__init__)
        return decorated
    checks, signature = None, _signature(decorated)
    test, calls = _test, 0

    @functools.wraps(decorated)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        nonlocal checks, test, calls
        if test != _test:
            test, calls = _test, 0
        calls += 1
        if calls <= CALLS or not calls & (calls - 1):
            if checks is None:
                with _one_at_a_time:  # a method may call the function first in several threads
                    checks = checks or _checks(decorated, signature)
            return checks(*args, **kwargs)
        return decorated(*args, **kwargs)

    call.counts_calls = True
    return call


def _signature(function: Callable) -> inspect.Signature:
    """Annotations as objects: names that exist when the function is defined; others say nothing."""
    signature = inspect.signature(function)
    resolve = functools.partial(_decorator._destring_annotation, ns=function.__globals__)
    return signature.replace(
        parameters=[
            each.replace(annotation=resolve(each.annotation)) for each in signature.parameters.values()
        ],
        return_annotation=resolve(signature.return_annotation),
    )


def _checks(function: Callable, signature: inspect.Signature) -> Callable:
    """The function with its checks: a millisecond of work, which functions that no test calls do without."""
    function.__signature__ = signature
    try:
        return jaxtyping.jaxtyped(function, typechecker=check)
    finally:
        del function.__signature__


def next_test() -> None:
    """Check the first calls of every function again."""
    global _test
    _test += 1


def install() -> None:
    """Check all that is imported from poinsot and its reproductions from now on."""
    import_hook.JaxtypingTransformer = _Transformer
    import_hook.Typechecker.get_ast = _decoration
    jaxtyping.install_import_hook(["poinsot", "poinsot_reproductions"], f"{__name__}.checked")


def _decoration(typechecker: import_hook.Typechecker) -> ast.expr:
    """The decorator that the hook writes: `checked` alone, which applies `jaxtyped` itself."""
    return ast.parse(f"jaxtyping._import_hook.Typechecker.lookup[{typechecker.hash!r}]", mode="eval").body


class _Transformer(import_hook.JaxtypingTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        is_kernel = any(_name(decorator) in NUMBA_DECORATORS for decorator in node.decorator_list)
        return node if is_kernel else super().visit_FunctionDef(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        if any(_name(base) == "Protocol" for base in node.bases):
            node.decorator_list.append(ast.parse("__import__('typing').runtime_checkable", mode="eval").body)
        return super().visit_ClassDef(node)


def _name(node: ast.AST) -> str:
    """`njit` for `njit`, `numba.njit` and `numba.njit(cache=True)` alike."""
    if isinstance(node, ast.Call | ast.Subscript):
        return _name(node.func if isinstance(node, ast.Call) else node.value)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
