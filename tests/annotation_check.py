"""Every annotation of poinsot is checked whenever a test calls the function: `Float[np.ndarray, "T n"]` is a promise.

jaxtyping's import hook puts `jaxtyped` and beartype around each function and dataclass. Three things are added to it:

- Numba compiles a function from its own bytecode and cannot see through a wrapper, so functions under Numba's
  decorators are left as they are.
- A protocol can only be checked if it is runtime-checkable, so while tests run every one is.
- An annotation that beartype cannot read leaves its function unchecked. (Polars' `type[pl.DataType]` is one: its
  metaclass prints it by two names.)
"""

import ast
from collections.abc import Callable

import beartype
import jaxtyping
from beartype.roar import BeartypeDecorHintException
from jaxtyping import _import_hook as import_hook  # private, but there is no other way to add to it

NUMBA_DECORATORS = frozenset(
    {"_compiled", "cfunc", "guvectorize", "jit", "njit", "overload", "stencil", "vectorize"}
)

# An int may be given where a float is asked for, as static type checkers allow.
_check = beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))


def check(function: Callable) -> Callable:
    """`function`, made to raise if its arguments or its result are not what they are annotated as."""
    try:
        return _check(function)
    except BeartypeDecorHintException:
        return function


def install() -> None:
    """Check all that is imported from poinsot and its reproductions from now on."""
    import_hook.JaxtypingTransformer = _Transformer
    jaxtyping.install_import_hook(["poinsot", "poinsot_reproductions"], f"{__name__}.check")


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
