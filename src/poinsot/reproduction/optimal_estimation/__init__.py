"""Seed 001: state and inertia together, over motion in and out of contact.

systems             robots, motions and what sensors read of them
guesses             where an estimator may begin
workers             processes for many solves, what they found kept on disk
parametrizations    Fig. 3: both charts, from bodies that are 70 % off
rollouts            Table I: single shooting, feasibility-driven, multiple shooting
statistics          errors against the covariance of the estimate, over many recordings
normalized_errors   how large errors are in units of their covariance, and what intervals hold

Nothing of a case is imported before it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from ..case import Measurement, PartedCase, Reproduction, Say, Simulation

FLIGHTS = (
    *(f"{flight}_34p7g_{what}.parquet" for flight in ("circle", "figure8") for what in ("mocap", "onboard")),
    "thrust_stand.csv",
)


def _simulated(name: str) -> Simulation:
    def run(seed: int, say: Say) -> Reproduction:
        result: Reproduction = import_module(f".{name}", __package__).run(seed, say=say)
        return result

    return Simulation(run)


def _measured(name: str, files: Sequence[str]) -> Measurement:
    def run(data: Path, say: Say) -> Reproduction:
        result: Reproduction = import_module(f".{name}", __package__).run(data, say=say)
        return result

    return Measurement(run, tuple(files))


OPTIMAL_ESTIMATION = PartedCase(
    "optimal-estimation",
    "Multi-contact inertial estimation and localization in legged robots",
    {
        "parametrizations": _simulated("parametrizations"),
        "rollouts": _simulated("rollouts"),
        "statistics": _simulated("statistics"),
        "crazyflie": _measured("crazyflie", FLIGHTS),
    },
)
