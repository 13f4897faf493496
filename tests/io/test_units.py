import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from poinsot.exceptions import UnknownUnit
from poinsot.io.units import QUANTITY_UNITS, UNITS, check_quantity, convert, find_unit, units_of

numbers = arrays(float, st.integers(0, 20), elements=st.floats(-1e6, 1e6))
units = st.sampled_from(sorted(UNITS))


@given(numbers, units)
def test_what_is_converted_once_is_in_si_units(values, unit):
    converted, si = convert(values, unit)
    again, same = convert(converted, si)
    assert same == si
    assert again is converted


@given(numbers, units)
def test_conversion_is_affine(values, unit):
    known = find_unit(unit)
    converted, si = convert(values, unit)
    assert si == known.si
    # One rounding for the product and one for the sum.
    np.testing.assert_allclose(converted, known.factor * values + known.offset, rtol=4e-16, atol=1e-300)


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (1.0, "rev", math.tau),
        (360.0, "deg", math.tau),
        (60.0, "rpm", math.tau),
        (1.0, "g", 9.80665),
        (1000.0, "mN m", 1.0),
        (250.0, "ms", 0.25),
        (0.0, "degC", 273.15),
        (500.0, "mA", 0.5),
    ],
)
def test_known_values(value, unit, expected):
    assert convert(np.array([value]), unit)[0][0] == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("written", "meant"),
    [("Nm", "N m"), ("N·m", "N m"), ("N*m", "N m"), (" N  m ", "N m"), ("mNm", "mN m"), ("°", "deg"), ("°/s", "deg/s"),
     ("µs", "us"), ("μs", "us"), ("m/s²", "m/s^2"), ("rad/s**2", "rad/s^2"), ("°C", "degC")],
)  # fmt: skip
def test_spellings(written, meant):
    assert find_unit(written) == UNITS[meant]


def test_an_unknown_unit_names_the_nearest():
    with pytest.raises(UnknownUnit, match=r"'degrees/s' of channel 'x'; did you mean 'deg/s'\?"):
        find_unit("degrees/s", " of channel 'x'")


def test_milli_and_mega_are_not_confused():
    with pytest.raises(UnknownUnit):
        find_unit("MA")


def test_a_torque_is_not_measured_in_amperes():
    with pytest.raises(UnknownUnit, match="a torque is not measured in it"):
        check_quantity("torque.elbow", "A")
    check_quantity("torque.elbow", "kN m")
    check_quantity("torque.slide", "N")
    check_quantity("anything", "A")


@pytest.mark.parametrize("quantity", sorted(QUANTITY_UNITS))
def test_every_quantity_has_units(quantity):
    assert set(QUANTITY_UNITS[quantity]) <= set(units_of(quantity)) < set(UNITS)
