"""The arm in its position loop: instruments remove the bias that the noise of encoders makes."""

from pathlib import Path

import pytest

from poinsot.exceptions import InvalidMethod
from poinsot_reproductions import closed_loop
from poinsot_reproductions.case import SimulatedCase
from poinsot_reproductions.controller import elastic


@pytest.mark.slow
def test_instruments_have_less_bias_than_least_squares():
    figures = closed_loop.run(4, lambda _: None, draws=4).figures
    # the mean of four draws is uncertain by half a standard deviation
    assert figures["instrumental_bias_std"] <= 2.0
    assert figures["instrumental_bias_std"] < figures["least_squares_bias_std"]


@pytest.mark.slow
def test_stiffness_of_elastic_joints_is_found():
    figures = elastic.figures(3)
    assert figures["stiffness_error_percent"] <= 3.0
    assert figures["elastic_heldout_percent"] <= 1.0


def test_a_simulated_case_has_no_parts_and_no_data():
    case = SimulatedCase("some", "", lambda seed, say: pytest.fail("it ran"))
    for part, data in (("part", None), (None, Path())):
        with pytest.raises(InvalidMethod, match="simulated as a whole"):
            case(part, None, data, lambda _: None)
