"""The structure of the source, read and not run: imports, names of classes, who names a method."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

from poinsot.project.methods import METHODS

SOURCE = Path(__file__).resolve().parents[2] / "src" / "poinsot"
FILES = {
    ".".join(("poinsot", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}


@cache
def parsed(module):
    return ast.parse(FILES[module].read_text())


def is_type_checking(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def package_of(module):
    return module if FILES[module].name == "__init__.py" else module.rpartition(".")[0]


@cache
def imports_of(module):
    """Modules of the package that a module imports, in functions too but not for type checking; and names taken."""
    tree = parsed(module)
    skipped = {id(inner) for node in ast.walk(tree) if is_type_checking(node) for inner in ast.walk(node)}
    modules, names = set(), []
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = package_of(module).split(".")
            home = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
            home = ".".join(part for part in (home, node.module or "") if part)
            for alias in node.names:
                is_module = f"{home}.{alias.name}" in FILES
                modules.add(f"{home}.{alias.name}" if is_module else home)
                if not is_module and home in FILES:
                    names.append((home, alias.name))
    return {name for name in modules if name in FILES and name != module}, names


def circles(graph):
    """Strongly connected components of more than one node (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            part = []
            while not part or part[-1] != node:
                part.append(stack.pop())
            if len(part) > 1:
                found.append(tuple(sorted(part)))

    for node in graph:
        if node not in index:
            visit(node)
    return found


def test_circles_are_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == [("b", "c")]


def test_imports_have_no_circles():
    assert not circles({module: imports_of(module)[0] for module in FILES})


def test_no_module_takes_the_private_names_of_another():
    taken = {
        (module, home): name
        for module in FILES
        for home, name in imports_of(module)[1]
        if name.startswith("_") and not name.startswith("__")
    }
    assert not taken


def public_classes():
    """Class name -> modules that define it."""
    homes = defaultdict(list)
    for module in sorted(FILES.keys() - {MIRRORS}):
        for node in parsed(module).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(module)
    return homes


MIRRORS = "poinsot.schemas.results"
"""Types of JSON, named as the classes that they describe."""


def test_a_class_name_stands_for_one_class():
    several = {name: homes for name, homes in public_classes().items() if len(homes) > 1}
    assert not several


def values_of(module):
    """(line, text) of string literals that are values: neither docstrings nor annotations."""
    skipped = {
        id(inner)
        for node in ast.walk(parsed(module))
        for inner in ast.walk(
            getattr(node, "annotation", None) or getattr(node, "returns", None) or ast.Pass()
        )
    } | {id(node.value) for node in ast.walk(parsed(module)) if isinstance(node, ast.Expr)}
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.lineno, node.value


ESTIMATORS = ("poinsot.estimators", "poinsot.project.methods")
"""An estimator gives its estimate a name, and a method of the project file has one."""
ALSO_WORDS = {"payload", "filter", "impacts", "actuators"}
"""Names that are keys of results and kinds of parameters too; only in quotes are they methods'."""


def test_no_code_outside_of_the_methods_names_one():
    named = [
        f"{module}, line {line}: {text!r}"
        for module in FILES
        if not module.startswith(ESTIMATORS)
        for line, text in values_of(module)
        if text in METHODS.keys() - ALSO_WORDS or any(f'"{name}"' in text for name in METHODS)
    ]
    assert named == []
