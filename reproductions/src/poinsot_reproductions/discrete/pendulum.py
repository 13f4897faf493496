"""Tables 2 and 3 on real recordings: dry friction of a hinge by cross-validation; a driven hinge; a driven slider.

The paper lets a pendulum go five times and cross-validates three laws of friction between the recordings. Here one
recording of another pendulum is cut into windows (`pendulum_swings`, which has the rules by which windows, bounds and
kappa are chosen); then friction, inertia and weight of a pendulum with a motor (`pendulum_drive`), and the parameters
of the EMPS benchmark (`emps_axis`), each from positions and what drives them.
"""

from __future__ import annotations

from pathlib import Path

from poinsot.stopwatch import Stopwatch

from ..case import Reproduction, Say
from . import emps_axis, pendulum_drive
from .pendulum_comparison import compare
from .pendulum_page import report
from .recordings import oscillations


def run(data: Path, say: Say = lambda _: None) -> Reproduction:
    """Laws of friction of a pendulum, and parameters of two driven mechanisms.

    Args:
        data: folder of the recordings.
        say: takes sentences about the progress.
    """
    watch = Stopwatch()
    swings = compare(oscillations(data), say=say)
    watch.lap("free swings")
    say("pendulum with a motor")
    drive = pendulum_drive.identify(data)
    watch.lap("driven pendulum")
    say("EMPS")
    axis = emps_axis.identify(data)
    watch.lap("EMPS")
    return report(swings, drive, axis, watch.seconds)
