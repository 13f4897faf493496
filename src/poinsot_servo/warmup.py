"""What `poinsot warmup` compiles for robots with position commands."""

from __future__ import annotations

import numpy as np

from poinsot.models.articulated import Articulated
from poinsot.recording import Recording

from .output_error import OutputError
from .problem import ActuatorProblem
from .search import Search


def warm_up(robot: Articulated) -> None:
    """Identify the actuator of a robot with one joint, `joint`, that follows its commands 60 ms late."""
    t = np.arange(150) / 50
    positions = {
        f"{kind}.joint": 0.4 * np.sin(2 * (t - late)) + 0.1 * np.sin(9 * (t - late))
        for kind, late in (("position_command", 0.0), ("position", 0.06))
    }
    recording = Recording(t, positions, dict.fromkeys(positions, "rad"))
    OutputError(Search(draws=2)).solve(ActuatorProblem(robot, {"warmup": recording}))
