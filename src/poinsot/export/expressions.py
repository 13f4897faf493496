"""Arithmetic that is recorded instead of computed, and its straight-line code.

An `Expression` stands for a number that is known when the code runs. What is known now is a Python float, so that
sums, products and functions of known numbers are folded as they are written, and 0 x, 1 x and x + 0 leave no code.
Ufuncs of NumPy on an expression, or on arrays of them, call its methods: `np.exp(x)` is `x.exp()`. A function of
numbers that uses NumPy, as a friction law, is recorded by calling it.

Equal subexpressions are one: value numbering, by operation and operands, before anything is printed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

Value: TypeAlias = "Expression | float"
"""A number: known now, or when the code runs."""

FUNCTIONS = ["sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "arctan"]
"""Functions of one number, by NumPy's names."""


class Expression:
    """A number that is known when the code runs.

    Args:
        operation: a sign of arithmetic or comparison, the name of a function, or the text of an input.
        operands: what it is computed from; none: it is an input.
    """

    __slots__ = ("operands", "operation")

    def __init__(self, operation: str, *operands: Value):
        self.operation, self.operands = operation, operands

    @property
    def _negated(self) -> Value | None:
        """x of -x."""
        return self.operands[0] if self.operation == "-" and len(self.operands) == 1 else None

    def __add__(self, other: Value) -> Value:
        if not isinstance(other, Expression):
            return self if other == 0 else Expression("+", self, float(other))
        if (negated := other._negated) is not None:
            return self - negated
        if (negated := self._negated) is not None:
            return other - negated
        return Expression("+", self, other)

    __radd__ = __add__

    def __sub__(self, other: Value) -> Value:
        if isinstance(other, Expression):
            negated = other._negated
            return Expression("-", self, other) if negated is None else self + negated
        return self if other == 0 else Expression("-", self, float(other))

    def __rsub__(self, other: float) -> Value:
        return -self if other == 0 else Expression("-", float(other), self)

    def __neg__(self) -> Value:
        if self.operation == "-":
            return self.operands[0] if len(self.operands) == 1 else self.operands[1] - self.operands[0]
        return Expression("-", self)

    def __mul__(self, other: Value) -> Value:
        if isinstance(other, Expression):
            if (negated := self._negated) is not None:
                return -(negated * other)
            if (negated := other._negated) is not None:
                return -(self * negated)
            return Expression("*", self, other)
        if other == 0:
            return 0.0
        if other < 0:  # signs go into sums
            return -(self * -other)
        if other == 1:
            return self
        if (negated := self._negated) is not None:
            return -(negated * other)
        if self.operation == "*" and not isinstance(self.operands[0], Expression):
            return self.operands[1] * (float(other) * self.operands[0])
        return Expression("*", float(other), self)

    __rmul__ = __mul__

    def __truediv__(self, other: Value) -> Value:
        if isinstance(other, Expression):
            return Expression("/", self, other)
        return self if other == 1 else Expression("/", self, float(other))

    def __rtruediv__(self, other: float) -> Value:
        return 0.0 if other == 0 else Expression("/", float(other), self)

    def __pow__(self, exponent: float) -> Value:
        if exponent in (0, 1, 2, 3):
            return math.prod([self] * int(exponent), start=1.0)
        return Expression("pow", self, float(exponent))

    def __abs__(self) -> Value:
        return Expression("abs", self)

    def __lt__(self, other: Value) -> Value:
        return Expression("<", self, other)

    def __gt__(self, other: Value) -> Value:
        return Expression(">", self, other)

    def __le__(self, other: Value) -> Value:
        return Expression("<=", self, other)

    def __ge__(self, other: Value) -> Value:
        return Expression(">=", self, other)

    def __bool__(self) -> NoReturn:
        raise TypeError("a branch on a number that is not known yet")

    def __getattr__(self, name: str) -> Callable[[], Expression]:
        if name in FUNCTIONS:
            return lambda: Expression(name, self)
        raise AttributeError(f"no function {name!r} of a number that is not known yet")


def inputs(name: str, size: int) -> list[Value]:
    """Elements of an array that the code is given: `q[0]`, `q[1]`, ..."""
    return [Expression(f"{name}[{k}]") for k in range(size)]


def dot(x: Sequence[Value], y: Sequence[Value]) -> Value:
    """x . y"""
    return sum((a * b for a, b in zip(x, y, strict=True)), start=0.0)


def cross(x: Sequence[Value], y: Sequence[Value]) -> list[Value]:
    """x x y, three numbers each."""
    return [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]


def plus(*vectors: Sequence[Value]) -> list[Value]:
    """The sum of vectors of one length."""
    return [sum(row, start=0.0) for row in zip(*vectors, strict=True)]


def times(M: Sequence[Sequence[Value]], x: Sequence[Value]) -> list[Value]:
    """M x"""
    return [dot(row, x) for row in M]


PRECEDENCE = {"<": 1, ">": 1, "<=": 1, ">=": 1, "+": 2, "-": 2, "*": 3, "/": 3}
ATOM = 9


@dataclass(frozen=True)
class Language:
    """How an expression is written. `functions`: of NumPy -> name in the language. `statement`: a line that gives a
    name a value, with `{name}` and `{value}`. `comparison`: 1 where `{condition}` holds, else 0.
    """

    functions: Mapping[str, str]
    statement: str
    comparison: str


LONG = 80
"""An expression with more characters has a name, so that lines can be read and brackets are not nested deeply."""


def statements(language: Language, outputs: Mapping[str, Value]) -> Iterator[str]:
    """Lines that compute the outputs, by their targets; what is used more than once, or is long, has a name."""
    canonical: dict[tuple[Any, ...], Expression] = {}
    same: dict[int, Value] = {}
    uses: Counter[int] = Counter()
    roots = [value for value in outputs.values() if isinstance(value, Expression)]
    ordered: list[Expression] = []
    for node in _in_order(roots):
        operands = tuple(_same(operand, same) for operand in node.operands)
        keys = [(True, id(o)) if isinstance(o, Expression) else (False, o) for o in operands]
        key = node.operation, *(sorted(keys) if node.operation in ("+", "*") else keys)
        if key not in canonical:
            canonical[key] = Expression(node.operation, *operands)
            ordered.append(canonical[key])
            uses.update(id(operand) for operand in operands)
        same[id(node)] = canonical[key]
    uses.update(id(same[id(root)]) for root in roots)
    texts: dict[int, tuple[str, int]] = {}
    named = 0
    for node in ordered:
        text, precedence = _text(node, language, texts)
        if node.operands and (uses[id(node)] > 1 or len(text) > LONG):
            name, named = f"t{named}", named + 1
            yield language.statement.format(name=name, value=text)
            text, precedence = name, ATOM
        texts[id(node)] = text, precedence
    for target, value in outputs.items():
        yield f"{target} = {_operand(_same(value, same), texts)[0]}"


def _same(value: Value, same: Mapping[int, Value]) -> Value:
    return same[id(value)] if isinstance(value, Expression) else value


def _in_order(roots: Sequence[Expression]) -> Iterator[Expression]:
    """All nodes, operands before what is computed from them; no recursion, which long chains would exhaust."""
    seen: set[int] = set()
    stack: list[tuple[Expression, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, complete = stack.pop()
        if complete:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack += [(o, False) for o in reversed(node.operands) if isinstance(o, Expression)]


def _operand(value: Value, texts: Mapping[int, tuple[str, int]]) -> tuple[str, int]:
    """Text and precedence of an operand."""
    if isinstance(value, Expression):
        return texts[id(value)]
    return repr(float(value)), ATOM if value >= 0 else PRECEDENCE["-"]


def _text(node: Expression, language: Language, texts: Mapping[int, tuple[str, int]]) -> tuple[str, int]:
    operation, operands = node.operation, [_operand(operand, texts) for operand in node.operands]
    if not operands:
        return operation, ATOM
    if operation not in PRECEDENCE:
        inside = ", ".join(text for text, _ in operands)
        return f"{language.functions[operation]}({inside})", ATOM
    own = PRECEDENCE[operation]
    if len(operands) == 1:
        return f"-{_enclosed(*operands[0], own + 1)}", own
    left, right = operands
    # x - (y - z), but x + y + z: sums are associative to rounding only, as the order of evaluation is from the left
    text = f"{_enclosed(*left, own)} {operation} {_enclosed(*right, own + 1)}"
    return (language.comparison.format(condition=text), ATOM) if own == 1 else (text, own)


def _enclosed(text: str, precedence: int, least: int) -> str:
    return text if precedence >= least else f"({text})"
