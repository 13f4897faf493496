"""Real flights of a Crazyflie: its mass and inertia from rotor speeds, an IMU and motion capture.

The thrust stand says what a rotor's speed lifts, each flight says mass and inertia by optimal estimation of all its
states, and a balance says what the vehicle weighs. With the weighed mass given, the flights say what a rotor lifts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say
from .crazyflie_flight import AXES, BAND, STEP, files_of
from .crazyflie_model import ACCELEROMETER, GYRO, POSITION, PUSH, TURN
from .crazyflie_stand import FILE, GRAM_FORCE, MODEL, ThrustCoefficient, calibrate, grams_per_rpm2
from .crazyflie_weighing import WEIGHED, Interval, Weighing, weigh

FLIGHTS = {"circle": "circle_34p7g", "figure8": "figure8_34p7g"}
FILES = (FILE, *(file for name in FLIGHTS.values() for file in files_of(name)))
NOMINAL = {"Jx": 16.57e-6, "Jy": 16.66e-6, "Jz": 29.26e-6}
"""[kg m^2]"""
HELD = "center of mass"
"""What no flight is asked for, see `crazyflie_model`."""
COEFFICIENT_UNIT = "g/rpm^2"


def run(data: Path, say: Say) -> Reproduction:
    """Masses, inertias and thrust coefficients of both flights, beside what was weighed and is nominal.

    Args:
        data: folder with `FILES`.
        say: takes sentences about the progress.
    """
    watch = Stopwatch()
    say("thrust stand")
    stand = calibrate(data / FILE)
    watch.lap("stand")
    flights = {}
    for name, files in FLIGHTS.items():
        say(f"flight {name}")
        flights[name] = weigh(data, files, stand)
        watch.lap(name)
    rows = tuple(row for name, flight in flights.items() for row in _rows(name, flight))
    figures = _figures(stand, flights)
    return Reproduction(
        "optimal-estimation",
        "001",
        "Flights of a Crazyflie: mass and inertia from rotor speeds, IMU and motion capture",
        _lead(flights),
        rows,
        {
            "Mass, inertia and thrust coefficient": rows,
            "Thrust coefficient by treatment of the stand": _treatments(stand),
            "What the mass of a flight depends on": _mass_rows(flights),
            "Residuals": _residual_rows(flights),
        },
        figures,
        {
            "flights differ in mass by [%]": round(figures["flights_differ_percent"], 2),
            "flights differ in thrust coefficient by [%]": round(
                figures["thrust_coefficient"]["flights_differ_percent"], 2
            ),
            "not identifiable": ", ".join(figures["not_identifiable"]),
        },
        curves={
            f"{what}, {name}": curves for name, flight in flights.items() for what, curves in _curves(flight)
        },
        notes=_notes(stand, flights),
        seconds=watch.seconds,
    )


def _lead(flights: Mapping[str, Weighing]) -> str:
    masses = " and ".join(f"{1e3 * flight.free.mass:.1f} g ({name})" for name, flight in flights.items())
    low = 1e3 * min(flight.mass_interval[0] for flight in flights.values())
    high = 1e3 * max(flight.mass_interval[1] for flight in flights.values())
    return (
        f"The flights say {masses}, and with the systematic of the thrust stand {low:.1f} to {high:.1f} g; the balance "
        f"says {1e3 * WEIGHED:.1f} g."
    )


# ------------------------------------------------------------------------------------------------------------- tables


def _row(name: str, reference: float, ours: float, interval: Interval, unit: str) -> dict[str, Any]:
    return {
        "name": name,
        "reference": reference,
        "ours": ours,
        "difference_percent": 100 * (ours / reference - 1),
        "low": interval[0],
        "high": interval[1],
        "unit": unit,
    }


def _rows(name: str, flight: Weighing) -> Iterator[dict[str, Any]]:
    """Of a flight: mass, what of its inertia is identifiable, and the coefficient beside the stand's."""
    free = flight.free
    yield _row(f"mass, {name}", 1e3 * WEIGHED, 1e3 * free.mass, _times(flight.mass_interval, 1e3), "g")
    for axis, (symbol, nominal) in enumerate(NOMINAL.items()):
        if symbol not in free.unidentified:
            ours = float(free.inertia[axis])
            yield _row(f"{symbol}, {name}", nominal, ours, flight.inertia_interval(axis), "kg m^2")
    factor = grams_per_rpm2(1.0)
    yield _row(
        f"thrust coefficient with the mass given, {name}",
        factor * flight.stand.value,
        factor * flight.given.coefficient,
        _times(flight.coefficient_interval, factor),
        COEFFICIENT_UNIT,
    )


def _times(interval: Interval, factor: float) -> Interval:
    return factor * interval[0], factor * interval[1]


def _treatments(stand: ThrustCoefficient) -> list[dict[str, Any]]:
    return [
        {
            "treatment": f"{name} (the model)" if name == MODEL else name,
            f"coefficient [{COEFFICIENT_UNIT}]": float(f"{grams_per_rpm2(value):.4g}"),
            "to the model [%]": round(100 * (value / stand.value - 1), 2),
        }
        for name, value in stand.treatments.items()
    ]


def _mass_rows(flights: Mapping[str, Weighing]) -> list[dict[str, Any]]:
    return [
        {
            "flight": name,
            "mass [g]": round(1e3 * flight.free.mass, 3),
            "posterior std [g]": round(1e3 * flight.free.mass_std, 3),
            "statistical, 95 % [g]": round(1e3 * flight.statistical, 3),
            "stretches [g]": ", ".join(f"{1e3 * mass:.2f}" for mass in flight.stretches),
            "without drag [g]": round(1e3 * flight.still.mass, 3),
            "drag x, y [N s/m]": ", ".join(f"{drag:.4f}" for drag in flight.free.drag),
            "iterations": flight.free.solution.iterations,
            "ending": flight.free.solution.status.name,
        }
        for name, flight in flights.items()
    ]


def _residual_rows(flights: Mapping[str, Weighing]) -> list[dict[str, Any]]:
    """Root mean squares in standard deviations."""
    return [
        {"flight": f"{name}{what}"} | {sensor: round(rms, 2) for sensor, rms in each.residuals.items()}
        for name, flight in flights.items()
        for what, each in (("", flight.free), (", without drag", flight.still))
    ]


# ------------------------------------------------------------------------------------------------- figures and curves


def _figures(stand: ThrustCoefficient, flights: Mapping[str, Weighing]) -> dict[str, Any]:
    """The headline numbers."""
    factor = grams_per_rpm2(1.0)
    unidentified = dict.fromkeys(name for flight in flights.values() for name in flight.free.unidentified)
    masses = {name: 1e3 * flight.free.mass for name, flight in flights.items()}
    coefficients = {name: factor * flight.given.coefficient for name, flight in flights.items()}
    return {
        "mass_g": masses,
        "mass_interval_g": {name: _list(flight.mass_interval, 1e3) for name, flight in flights.items()},
        "mass_statistical_interval_g": {
            name: _list((flight.free.mass - flight.statistical, flight.free.mass + flight.statistical), 1e3)
            for name, flight in flights.items()
        },
        "flights_differ_percent": _differ(masses.values()),
        "inertia_kg_m2": {name: _inertia(flight) for name, flight in flights.items()},
        "not_identifiable": [*unidentified, HELD],
        "thrust_coefficient": {
            "unit": COEFFICIENT_UNIT,
            "stand": factor * stand.value,
            "stand_interval": _list(stand.interval, factor),
            **coefficients,
            "flights_differ_percent": _differ(coefficients.values()),
        },
    }


def _inertia(flight: Weighing) -> dict[str, float | None]:
    """Jx, Jy, Jz; None where it is not identifiable."""
    free = flight.free
    return {
        symbol: None if symbol in free.unidentified else float(J)
        for symbol, J in zip(NOMINAL, free.inertia, strict=True)
    }


def _list(interval: Interval, factor: float) -> list[float]:
    return [factor * edge for edge in interval]


def _differ(values: Collection[float]) -> float:
    """By how much the largest is above the smallest [%]."""
    return 100 * (max(values) / min(values) - 1)


def _curves(flight: Weighing) -> Iterator[tuple[str, Curves]]:
    """Measured, and what the estimate expects there."""
    recorded, expected = flight.free.flight, flight.free.expected
    time = recorded.times - recorded.times[0]
    for sensor, values, axis, title, unit in (
        ("accelerometer", recorded.accelerometer, 2, "Specific force along z", "m/s^2"),
        ("gyro", recorded.gyro, 0, "Angular velocity about x", "rad/s"),
    ):
        yield title, Curves(time, unit, {"measured": values[:, axis], "estimated": expected[sensor][:, axis]})
    states = flight.free.solution.at.x[0]
    for axis, name in enumerate(AXES):
        lines = {"motion capture": recorded.position[:, axis], "estimated": states[:, axis]}
        yield f"Position {name}", Curves(time, "m", lines)


def _notes(stand: ThrustCoefficient, flights: Mapping[str, Weighing]) -> tuple[str, ...]:
    low, high = (
        f"{100 * (stand.treatments[name] / stand.value - 1):+.1f} % ({name})"
        for name in (pick(stand.treatments, key=stand.treatments.__getitem__) for pick in (min, max))
    )
    delays = "; ".join(
        f"{name}: rotor speeds {1e3 * flight.free.flight.rotor_delay:.1f} ms ahead of the gyro, motion capture "
        f"{1e3 * flight.free.flight.capture_delay:.1f} ms late"
        for name, flight in flights.items()
    )
    unfinished = [name for name, flight in flights.items() if not flight.free.solution.status.converged]
    return (
        f"The stand reads {stand.tare / GRAM_FORCE:.2f} gf at rest and lags by {stand.lag:.0f} rows, so that its "
        "ramps differ. The model takes both out; other treatments give "
        f"from {low} to {high}. No flight can make that smaller, as masses, inertias and drag are "
        f"proportional to the coefficient. {stand.dropped} rows with a rotor far from the others are left out.",
        *_difference_note(flights),
        f"Clocks differ, and filters delay ({delays}). Logged values have uneven intervals with gaps, in deg/s, g and "
        f"rpm, and are brought to steps of {1e3 * STEP:.0f} ms as means; positions are used where there are pictures.",
        "Orientations by motion capture are of the markers, which sit at an unknown angle: they begin the search and "
        "are not used in it.",
        f"Moments are used from {BAND[0]:.0f} to {BAND[1]:.0f} Hz: below, rotors that are not quite alike turn the "
        "vehicle as much as the controller does. A centre of mass off the middle does the same, so it is held there.",
        "Jz and the rotors' drag coefficient, which is estimated too, are not identifiable apart: yaw shows the ratio.",
        f"Standard deviations: position {POSITION:g} m, gyro {GYRO:g} rad/s, accelerometer {ACCELEROMETER:g} m/s^2; "
        f"thrust and moments lack {PUSH:g} m/s^2 and {TURN:g} rad/s^2 in a step. The statistical interval is from "
        "stretches wherever they differ by more than these say.",
        *(f"The estimate of {name} did not converge." for name in unfinished),
    )


def _difference_note(flights: Mapping[str, Weighing]) -> tuple[str, ...]:
    """Where flights differ by more than chance."""
    low, high = sorted(flights.values(), key=lambda flight: flight.free.mass)[:: len(flights) - 1]
    apart = high.free.mass - low.free.mass
    chance = float(np.hypot(low.statistical, high.statistical))
    if apart <= chance:
        return ()
    return (
        f"The flights differ by {1e3 * apart:.2f} g, where chance allows {1e3 * chance:.2f} g: the coefficient is not "
        "quite the same in both, in other air, at another battery voltage and speed.",
    )
