"""The Electro-Mechanical Positioning System: the public benchmark of Janot, Gautier and Brunot (2019).

One carriage on a horizontal screw, F = M q'' + Fv q' + Fc sign(q') + offset, F = gtau * voltage. Butterworth filter of
order 4 at 100 Hz, central differences, decimation by 10, ordinary least squares.
"""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from poinsot import Column, Source, read_recording
from poinsot.estimate import Estimate
from poinsot.estimators.linear.least_squares import LeastSquares
from poinsot.models.robot.articulated import Articulated, load_robot
from poinsot.models.robot.drive import Drive
from poinsot.recording import Recording
from poinsot.regression.inverse_dynamics import inverse_dynamics
from poinsot.signals.butterworth import ButterworthDecimation
from poinsot.stopwatch import Stopwatch

from .case import RecordedCase, Reproduction

RATE_HZ = 1000.0
GAIN = 35.15065  # [N/V]
PUBLISHED = {
    "M": ("m1", 95.1089),
    "Fv": ("fv1", 203.5034),
    "Fc": ("fc1", 20.3935),
    "offset": ("off1", -3.1648),
}
SMOOTHING = ButterworthDecimation(cutoff_hz=100, decimate_hz=40, decimation_order=4)


def robot() -> Articulated:
    """One prismatic joint."""
    with as_file(files(__package__) / "robots" / "emps.urdf") as path:
        return load_robot(path, drive=Drive(gain=GAIN))


def recording(folder: Path) -> Recording:
    """Position and motor voltage, 25 s at 1 kHz."""
    channels = {"position.axis": Column("qm", "m"), "voltage.axis": Column("vir", "V")}
    return read_recording([Source(folder / "DATA_EMPS.mat", channels)], rate_hz=RATE_HZ)


def run(folder: Path) -> Reproduction:
    """M, Fv, Fc and offset beside the published ones."""
    watch = Stopwatch()
    measured = recording(folder)
    watch.lap("read")
    signals = SMOOTHING.apply(measured)
    watch.lap("signals")
    estimate = LeastSquares().solve(inverse_dynamics(robot(), signals))
    watch.lap("solve")
    rows = tuple(_row(estimate, name, symbol, value) for name, (symbol, value) in PUBLISHED.items())
    worst = max(abs(row["difference_percent"]) for row in rows)
    return Reproduction(
        "emps",
        "002",
        "Electro-Mechanical Positioning System (Janot, Gautier and Brunot 2019)",
        f"The largest difference to the published values is {worst:.2f} %.",
        rows,
        {"Parameters": rows},
        {"max_difference_percent": worst, "relative_error_percent": estimate.fit.relative_error_percent},
        {"relative error [%]": round(estimate.fit.relative_error_percent, 2)},
        {"Force measured and predicted": {"least squares": estimate.fit}},
        {"Force measured and predicted": "effort"},
        seconds=watch.seconds,
    )


def _row(estimate: Estimate, name: str, symbol: str, value: float) -> dict[str, Any]:
    place = estimate.names.index(symbol)
    ours = float(estimate.values[place])
    assert estimate.white_std is not None
    assert estimate.coloured_std is not None
    return {
        "name": name,
        "paper": value,
        "ours": ours,
        "difference_percent": 100 * (ours / value - 1),
        "unit": estimate.units[place],
        "ours_std_percent": float(100 * estimate.white_std[place] / abs(ours)),
        "ours_honest_std_percent": float(100 * estimate.coloured_std[place] / abs(ours)),
    }


CASE = RecordedCase("emps", "the published parameters of the EMPS benchmark", ("DATA_EMPS.mat",), run)
