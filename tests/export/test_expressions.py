"""Recorded arithmetic: what is known is folded, what is equal is computed once, and the code has the same value."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from poinsot.export.expressions import Expression, cross, dot, inputs, statements
from poinsot.export.python_source import NUMPY


def run(values, **arrays):
    """Values of expressions by their code."""
    names = {f"out[{k}]": value for k, value in enumerate(values)}
    scope = {"np": np, "out": np.zeros(len(values)), **arrays}
    exec("\n".join(statements(NUMPY, names)), scope)
    return scope["out"]


def lines(*values):
    return list(statements(NUMPY, {f"out[{k}]": value for k, value in enumerate(values)}))


def test_known_numbers_leave_no_code():
    (x,) = inputs("x", 1)
    assert x * 0.0 == 0.0 and 0.0 * x == 0.0 and 0.0 / x == 0.0
    for same in (x + 0.0, 0.0 + x, x - 0.0, 1.0 * x, x / 1.0, x**1, -1.0 * (-x)):
        assert same is x
    assert lines(2.0 * (3.0 * x)) == ["out[0] = 6.0 * x[0]"]
    assert lines(0.5, x * 0.0 + 2.0) == ["out[0] = 0.5", "out[1] = 2.0"]


def test_signs_go_into_sums():
    x, y = inputs("x", 2)
    assert lines(x + -2.0 * y, x - -y, 0.0 - x, -x * y - 1.0) == [
        "out[0] = x[0] - 2.0 * x[1]",
        "out[1] = x[0] + x[1]",
        "out[2] = -x[0]",
        "out[3] = -x[0] * x[1] - 1.0",
    ]
    values = [x + -2.0 * y, x - -y, -x + y, -(x - y), -x * -y, (2.0 * x) * -3.0]
    assert run(values, x=np.array([2.0, 5.0])).tolist() == [-8, 7, 3, 3, 10, -12]


def test_equal_expressions_are_computed_once():
    x, y = inputs("x", 2)
    twice = lines(np.sin(x) * y, y * np.sin(x) + 1.0)
    assert sum("sin" in line for line in twice) == 1 and len(twice) == 3


def test_brackets_keep_the_meaning():
    x, y, z = inputs("x", 3)
    at = np.array([1.5, -2.25, 3.5])
    values = [
        x - (y - z),
        x / (y * z),
        x / y / z,
        (x + y) * -z,
        -(x + y),
        2.0 - (1.0 - x),
        x * (y / z),
        -x - y,
    ]
    a, b, c = at
    wanted = [a - (b - c), a / (b * c), a / b / c, (a + b) * -c, -(a + b), 2 - (1 - a), a * (b / c), -a - b]
    np.testing.assert_allclose(run(values, x=at), wanted, rtol=1e-15)


@given(
    st.lists(st.floats(-3, 3).filter(lambda x: abs(x) > 1e-3 or x == 0), min_size=9, max_size=9),
    st.lists(st.booleans(), min_size=9, max_size=9),
)
def test_code_has_the_value_of_the_numbers(numbers, known):
    """Whatever is known in advance: the cross product of two vectors on a third, with functions and comparisons."""

    def formula(x):
        a, b, c = x[:3], x[3:6], x[6:]
        turned = dot(cross(a, b), c)
        return [
            turned,
            np.sin(turned) * c[0] + np.cos(a[0]),
            (a[1] > b[1]) * 2.0 - abs(turned) ** 2,
            -turned / 3.0,
        ]

    recorded = inputs("x", 9)
    mixed = [
        number if fixed else symbol for number, fixed, symbol in zip(numbers, known, recorded, strict=True)
    ]
    np.testing.assert_allclose(
        run(formula(mixed), x=np.array(numbers)), formula(numbers), rtol=1e-12, atol=1e-12
    )


def test_a_branch_is_refused():
    (x,) = inputs("x", 1)
    with pytest.raises(TypeError, match="not known yet"):
        _ = 1.0 if x > 0.0 else 2.0
    with pytest.raises((AttributeError, TypeError), match="arcsinh"):
        np.arcsinh(x)


def test_long_chains_need_no_recursion():
    (x,) = inputs("x", 1)
    value = x
    for _ in range(5000):
        value = Expression("+", value, 1.0)
    assert run([value * value], x=np.array([1.0])) == [5001.0**2]
