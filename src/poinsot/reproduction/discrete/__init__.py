"""Seed 000: mechanisms in discrete time, states and parameters together, of which only some angles are measured.

paper_furuta    the paper's Furuta pendulum, and simulated recordings of it
synthetic       Figs. 6 and 7: sweeps over time step, compliance and weight on simulated swings
swing_up_13     Sect. 4.6 on simulated recordings: thirteen parameters, and how long they take
recordings      real recordings of another Furuta pendulum
pendulum        Tables 2 and 3: dry friction of one hinge, and of a slider
furuta          Table 4, Figs. 4 and 5: a driven Furuta pendulum

Nothing of a case is imported before it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from ..case import Measurement, PartedCase, Reproduction, Say, Simulation

FREE_SWINGS = "furuta/oscillations.csv"
DRIVEN = tuple(
    f"furuta/hardware_{what}.csv" for what in ("step_response_2V", "step_response_4V", "sin_response_2V_1s")
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


DISCRETE = PartedCase(
    "discrete-multibody",
    "Joint state and parameter estimation for regularized, time-discrete multibody dynamics",
    {
        "synthetic": _simulated("synthetic"),
        "pendulum": _measured("pendulum", (FREE_SWINGS, "pendulum/ddp.csv", "emps/DATA_EMPS.mat")),
        "furuta": _measured("furuta", (FREE_SWINGS, *DRIVEN)),
        "swing_up_13": _simulated("swing_up_13"),
    },
)
