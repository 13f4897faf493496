"""Servo robots that take position commands: two real ones, and simulated ones whose parameters are known.

known_truth    robots of six and twelve joints simulated in MuJoCo: intervals against the truth
so101          a LeRobot SO-101 arm: fit on two motions, predict the others
go2            a Unitree Go2 that hangs in the air: each half of the recording predicts the other

Nothing of a case is imported before it runs.
"""

from __future__ import annotations

from ..case import PartedCase, measured_in, simulated_in

ACTUATORS = PartedCase(
    "actuators",
    "Actuators of robots that take position commands, from their logs",
    {
        "known-truth": simulated_in(__name__, "known_truth"),
        "so101": measured_in(__name__, "so101", ("so101/multisine.parquet",)),
        "go2": measured_in(__name__, "go2", ("go2/in_the_air.parquet",)),
    },
)
