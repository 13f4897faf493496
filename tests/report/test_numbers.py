"""Values cut where their uncertainty ends, and what is not a number never looks like one."""

from math import inf, nan

import pytest
from hypothesis import given, strategies as st

from poinsot.report.numbers import (
    UNKNOWN,
    count_text,
    interval_text,
    percent_text,
    plus_minus,
    seconds_text,
    significant,
    std_text,
    unit_text,
    value_text,
)


@pytest.mark.parametrize(
    ("value", "std", "text"),
    [
        (8.0689, 0.0557, "8.07 ± 0.06"),
        (8.0689, 0.0161, "8.069 ± 0.016"),
        (8.0689, 0.0354, "8.069 ± 0.035"),
        (8.0689, 0.0355, "8.07 ± 0.04"),
        (8.0689, 0.0987, "8.07 ± 0.10"),
        (8.0689, 3.1, "8.1 ± 3.1"),
        (56789.0, 1234.0, "56800 ± 1200"),
        (-0.0004, 0.06, "0.00 ± 0.06"),
        (0.0, 0.2, "0.00 ± 0.20"),
        (3.217e-7, 4e-9, "(3.22 ± 0.04)e-7"),
        (-6.02e23, 2e20, "(-6.0200 ± 0.0020)e23"),
        (1.0, 1e-13, "1 ± 1.0e-13"),
        (2.5, 0.0, "2.5 ± 0"),
        (2.5, nan, "2.5 ± –"),
        (2.5, inf, "2.5 ± ∞"),
        (nan, nan, "– ± –"),
        (-inf, 1.0, "-∞ ± 1.0"),
        (5e-324, 5e-324, "(5 ± 5)e-324"),
    ],
)
def test_a_value_ends_where_its_standard_deviation_does(value, std, text):
    assert plus_minus(value, std) == text


@given(
    st.floats(1e-250, 1e250).flatmap(lambda v: st.sampled_from([v, -v])),
    st.floats(1e-6, 1e6),
)
def test_what_is_printed_is_the_value_to_a_part_of_its_standard_deviation(value, ratio):
    std = abs(value) * ratio
    # Two digits of the deviation are kept at most: the last place is at most 1/3.55 of it, and rounding half of that.
    assert abs(float(value_text(value, std)) - value) <= 0.1409 * std * (1 + 1e-9)
    assert float(std_text(value, std)) == pytest.approx(std, rel=0.1409)


def test_interval():
    assert interval_text(8.0689, 0.0557) == "[7.96, 8.18]"
    assert interval_text(nan, 0.1) == interval_text(1.0, inf) == UNKNOWN


@pytest.mark.parametrize(
    ("percent", "text"),
    [(0.69, "0.69 %"), (28.17, "28.2 %"), (99.96, "100 %"), (9.996, "10.0 %"), (0.0, "0.00 %"), (1e-9, "< 0.01 %"),
     (4e5, "> 999 %"), (inf, "∞ %"), (nan, UNKNOWN)],
)  # fmt: skip
def test_percentages(percent, text):
    assert percent_text(percent) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (4.2e-5, "42 µs"),
        (0.0123, "12.3 ms"),
        (0.99951, "1 s"),
        (59.96, "60 s"),
        (125.2, "2 min 5 s"),
    ],
)
def test_durations(seconds, text):
    assert seconds_text(seconds) == text


def test_significant_digits():
    assert [significant(v) for v in (1234567.0, 0.25, -1.5e-12, nan, inf)] == [
        "1.235e6",
        "0.25",
        "-1.5e-12",
        "–",
        "∞",
    ]
    assert [significant(v, 3, padded=True) for v in (0.25, 250.0, 0.0, 1e9)] == [
        "0.250",
        "250",
        "0.00",
        "1.00e9",
    ]


def test_units_and_counts():
    assert unit_text("kg m^2") == "kg\u00a0m²"
    assert unit_text("1") == ""
    assert count_text(24841) == "24\u202f841"
