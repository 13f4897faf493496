"""An identified model in the loop: an arm of six axes in MuJoCo, driven by the C code of its own identification.

arm             the robot, the description that its designers have of it, and the file of its identification
plant           the robot in MuJoCo with its drives and encoders, and the loop around it
exported        the C code of a result, compiled and called
feedforward     tracking error with the model of the description, the identified and the true one
payload         a load that is picked up in motion, estimated by a filter, in the feedforward a second later
comparison      pairs of logs of an unchanged and of a changed robot, compared
elastic         joints with springs between motor and link, with encoders at the links and without

Each part has its headline numbers in `figures`, under names that no other part has, so that the case has them together.
Nothing of a part is imported before it runs.
"""

from __future__ import annotations

from ..case import PartedCase, simulated_in

PARTS = "feedforward", "payload", "comparison", "elastic"
"""Modules beside this one, each with `run(seed, *, say) -> Reproduction`."""

CONTROLLER = PartedCase(
    "controller",
    "An identified model in the controller, and two results compared",
    {name: simulated_in(__name__, name) for name in PARTS},
    figures_by_part=False,
)
