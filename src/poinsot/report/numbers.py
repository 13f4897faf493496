"""Numbers as text, rounded to their standard deviations.

A value is rounded at the last digit of its standard deviation, which by the rule of the Particle Data Group has one or
two digits: with its three leading digits between 100 and 354 it has two, up to 949 one, and from 950 it is 1.0 of the
next power of ten:

    >>> plus_minus(8.0689, 0.0557), plus_minus(8.0689, 0.0161), plus_minus(8.0689, 0.0987)
    ('8.07 ± 0.06', '8.069 ± 0.016', '8.07 ± 0.10')
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from math import floor, isfinite, isnan, log10

from ..estimate import NORMAL_95

UNKNOWN = "–"
"""Text for a number that does not exist."""

MOST_DIGITS = 8
"""Maximum number of significant digits of a value."""


def plus_minus(value: float, std: float) -> str:
    """`8.07 ± 0.06`; `(1.23 ± 0.04)e-7` where plain digits would be all zeros."""
    known = isfinite(value) and isfinite(std) and std > 0
    exponent = _common_exponent(value, std) if known else 0
    if exponent == 0:
        return f"{value_text(value, std)} ± {std_text(value, std)}"
    value, std = _shifted(value, exponent), _shifted(std, exponent)
    return f"({value_text(value, std)} ± {std_text(value, std)})e{exponent}"


def value_text(value: float, std: float) -> str:
    """The value, rounded at the last digit of its standard deviation; four digits where that is unknown.

    >>> value_text(-0.0306, 0.0086), value_text(56789.0, 1234.0), value_text(3.2e-7, 4e-9)
    ('-0.031', '56800', '3.200e-7')
    """
    if not isfinite(value):
        return _not_finite(value)
    if not isfinite(std) or std <= 0:
        return significant(value, MOST_DIGITS if std == 0 else 4)
    return _cut(value, std, _common_exponent(value, std))


def std_text(value: float, std: float) -> str:
    """The standard deviation, in the notation of its value."""
    if not isfinite(std):
        return _not_finite(std)
    if std == 0:
        return "0"
    if isfinite(value) and _too_precise(value, std):
        return significant(std, 2, padded=True)
    return _cut(std, std, _common_exponent(value if isfinite(value) else 0.0, std))


def interval_text(value: float, std: float, interval: Sequence[float] | None = None) -> str:
    """The 95 % interval: `interval`, or the interval of a normal distribution.

    >>> interval_text(8.0689, 0.0557)
    '[7.96, 8.18]'
    """
    if not isfinite(value) or not isfinite(std):
        return UNKNOWN
    low, high = (value - NORMAL_95 * std, value + NORMAL_95 * std) if interval is None else interval
    return f"[{value_text(low, std)}, {value_text(high, std)}]"


def significant(value: float, digits: int = 4, padded: bool = False) -> str:
    """The value to `digits` significant digits; with trailing zeros only if `padded`, as in columns.

    >>> significant(1234567.0), significant(12346.0), significant(1.5e-12), significant(2.0)
    ('1.235e6', '12350', '1.5e-12', '2')
    >>> significant(0.25), significant(0.25, 3, padded=True), significant(250.0, 3, padded=True)
    ('0.25', '0.250', '250')
    """
    if not isfinite(value):
        return _not_finite(value)
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    # Plain digits, of the rounded number: 9.9996 to four digits is 10.00 and has another exponent.
    if -5 < int(exponent) < 6:
        decimals = max(digits - 1 - int(exponent), 0)
        mantissa, exponent = f"{float(f'{mantissa}e{exponent}'):.{decimals}f}", "0"
    if not padded and "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return mantissa if int(exponent) == 0 else f"{mantissa}e{int(exponent)}"


def percent_text(percent: float) -> str:
    """Three digits or so: `0.69 %`, `28.2 %`, `> 999 %`.

    >>> percent_text(0.6912), percent_text(28.17), percent_text(0.0004), percent_text(4e5)
    ('0.69 %', '28.2 %', '< 0.01 %', '> 999 %')
    """
    if isnan(percent):
        return UNKNOWN
    size = abs(percent)
    # From this bound and those below on, the printed number would have one digit more.
    if size >= 999.5:
        return (
            ("> 999 %" if percent > 0 else "< -999 %") if isfinite(percent) else _not_finite(percent) + " %"
        )
    if 0 < size < 0.005:
        return "< 0.01 %" if percent > 0 else "> -0.01 %"
    decimals = 2 if size < 9.995 else 1 if size < 99.95 else 0
    return f"{percent:.{decimals}f} %"


def correlation_text(correlation: float) -> str:
    """Two decimals.

    >>> correlation_text(0.617), correlation_text(-0.004), correlation_text(float("nan"))
    ('0.62', '0.00', '–')
    """
    return UNKNOWN if isnan(correlation) else f"{round(correlation, 2) + 0.0:.2f}"


def probability_text(probability: float) -> str:
    """Two digits, or `< 0.0001`.

    >>> probability_text(0.2345), probability_text(3e-30)
    ('0.23', '< 0.0001')
    """
    return "< 0.0001" if probability < 1e-4 else significant(probability, 2)


def seconds_text(seconds: float) -> str:
    """A duration, in the unit that suits it.

    >>> seconds_text(4.2e-5), seconds_text(0.0123), seconds_text(1.239), seconds_text(125.0)
    ('42 µs', '12.3 ms', '1.24 s', '2 min 5 s')
    """
    if not isfinite(seconds):
        return _not_finite(seconds)
    if seconds == 0:
        return "0 s"
    if seconds < 0.9995e-3:
        return f"{1e6 * seconds:.3g} µs"
    if seconds < 0.9995:
        return f"{1e3 * seconds:.3g} ms"
    if seconds < 99.95:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def count_text(count: int) -> str:
    """A whole number, thousands set apart by a narrow space: `24 841`."""
    # A narrow space that does not break, as thousands are separated in SI.
    return f"{count:,}".replace(",", "\u202f")


def unit_text(unit: str) -> str:
    """The unit as it is printed, in one piece: `kg m²` for `kg m^2`; nothing for the pure number `1`."""
    if unit == "1":
        return ""
    for power, sign in (("^-1", "⁻¹"), ("^-2", "⁻²"), ("^2", "²"), ("^3", "³")):
        unit = unit.replace(power, sign)
    # In one piece: `N m` must not be broken over two lines.
    return unit.replace(" ", "\u00a0")


def _not_finite(value: float) -> str:
    return UNKNOWN if isnan(value) else "∞" if value > 0 else "-∞"


def _shifted(value: float, exponent: int) -> float:
    """value / 10^exponent; exact, and no overflow on the way for the smallest numbers."""
    # In decimals: 10.0**-exponent overflows for denormal numbers.
    return float(Decimal(value).scaleb(-exponent)) if exponent else value


def _common_exponent(value: float, std: float) -> int:
    """The power of ten to factor out; 0 where plain digits are legible."""
    largest = max(abs(value), std)
    exponent = floor(log10(largest)) if largest > 0 else 0
    return 0 if -4 <= exponent < 6 else exponent


def _too_precise(value: float, std: float) -> bool:
    return value != 0 and std < abs(value) * 10.0**-MOST_DIGITS


def _cut(value: float, std: float, exponent: int) -> str:
    if _too_precise(value, std):
        return significant(value, MOST_DIGITS)
    # From its text: the logarithm of 0.09999 and its three digits are on two sides of a power of ten.
    mantissa, power = f"{_shifted(std, exponent):.2e}".split("e")
    decimals = (1 if float(mantissa) < 3.55 else 0) - int(power)  # negative to the left of the point
    rounded = round(_shifted(value, exponent), decimals)
    text = f"{rounded + 0.0:.{max(decimals, 0)}f}"  # + 0.0 turns -0.0 into 0.0
    return text if exponent == 0 else f"{text}e{exponent}"
