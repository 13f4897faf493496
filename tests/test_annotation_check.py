"""Annotations are checked in the first calls of a function in each test, and more and more rarely after these."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier

import jaxtyping
import numpy as np
import pytest
from jaxtyping import Float

from annotation_check import CALLS, checked, next_test

X, Y = np.zeros(3), np.zeros(4)


@checked
def total(x: Float[np.ndarray, "n"], y: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    """Their sum, or what does not have its shape."""
    return x + y if x.size < 9 else np.zeros(2)


class Named:
    @checked
    def method(self, x: int) -> str:
        return str(x)

    @classmethod
    @checked
    def of_class(cls, x: int) -> str:
        return str(x)

    @staticmethod
    @checked
    def alone(x: int) -> str:
        return str(x)

    @property
    @checked
    def value(self) -> str:
        return 3

    @checked
    def items(self, x: int) -> Iterator[int]:
        yield x


@checked
@dataclass
class Pair:
    a: Float[np.ndarray, "n"]
    b: Float[np.ndarray, "n"]


def refused(call, *arguments) -> bool:
    try:
        call(*arguments)
    except (jaxtyping.TypeCheckError, ValueError) as error:
        return isinstance(error, jaxtyping.TypeCheckError)
    return False


def test_arguments_and_results_are_checked_in_the_first_calls():
    for _ in range(CALLS // 4):
        assert not refused(total, X, X)
        assert refused(total, X, Y) and refused(total, X, 3.0)
        assert refused(total, np.zeros(9), np.zeros(9))


def test_later_calls_are_checked_where_their_number_is_a_power_of_two():
    numbers = [k for k in range(1, 20 * CALLS) if refused(total, X, Y)]
    assert numbers == [*range(1, CALLS + 1), *(CALLS * 2**k for k in range(1, 5))]
    next_test()
    assert refused(total, X, Y)


def test_every_kind_of_function_is_checked():
    named = Named()
    for call in (named.method, Named.of_class, Named.alone, named.items, Named.method.__get__(named)):
        assert refused(call, "no number") and not refused(call, 3)
    assert list(named.items(3)) == [3]
    assert refused(lambda: named.value)
    assert refused(Pair, X, Y) and not refused(Pair, X, X)
    assert Pair(X, b=X).b is X
    assert total.__name__ == "total" and total.__doc__.startswith("Their sum")


def test_functions_of_poinsot_are_checked_and_kernels_are_not(rng):
    from poinsot.inertia import parameters
    from poinsot.models import friction
    from poinsot.models.robot import torque_regressor
    from poinsot.recording import Recording

    assert refused(parameters.pseudo_inertia, np.zeros(9))
    assert refused(Recording, 3, {}, {})
    assert hasattr(friction.ViscousCoulomb.columns, "counts_calls")
    kernels = [value for value in vars(torque_regressor).values() if hasattr(value, "py_func")]
    assert kernels and not any(hasattr(kernel.py_func, "counts_calls") for kernel in kernels)


@pytest.mark.usefixtures("unchecked")
def test_nothing_is_checked_where_a_test_says_so():
    assert not refused(total, np.zeros(1), Y)


@pytest.fixture
def impatient():
    """Threads that take turns a thousand times as often."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("impatient")
def test_first_calls_in_several_threads_are_checked():
    for _ in range(20):
        together = Barrier(CALLS)

        @checked
        def half(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
            return x / 2

        def call(_: int, half=half, together=together) -> bool:
            together.wait()
            return refused(half, 3.0)

        with ThreadPoolExecutor(CALLS) as pool:
            assert all(pool.map(call, range(CALLS)))
