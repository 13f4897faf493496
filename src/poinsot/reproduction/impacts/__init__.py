"""Seed 003: planar bodies that strike walls, simulated, and identified from how they moved.

paper_ellipse  the paper's ellipse of 10 kg
impulse        Figs. 6 to 10: impulses by time step and formulation
sliding        Figs. 11 and 12: friction that makes it take off
restitution    Figs. 13 and 14: energy over impacts

Nothing of a case is imported before it runs.
"""

from __future__ import annotations

from ..case import PartedCase, simulated_in

IMPACTS = PartedCase(
    "impacts",
    "On state and inertial parameter estimation of planar rigid bodies subject to unscheduled frictional impacts",
    {
        "impulse": simulated_in(__name__, "impulse"),
        "sliding": simulated_in(__name__, "sliding"),
        "restitution": simulated_in(__name__, "restitution"),
    },
)
