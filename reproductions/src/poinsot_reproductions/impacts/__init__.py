"""Gabiccini and Fusco (2019): planar bodies that strike walls, simulated, and identified from their motion.

stepping       motion in steps, with its energies: the paper's simulation
paper_ellipse  the paper's ellipse of 10 kg
impulse        Figs. 6 to 10: impulses by time step and formulation
sliding        Figs. 11 and 12: friction that makes it take off
restitution    Figs. 13 and 14: energy over impacts
table          Table 1, Figs. 17 to 19: J/m of a thrown ellipse over friction and frame rate
statistics     intervals of many throws against the truth
drops          Sect. 6.2 on real drops of a square
squares        the same on simulated ones, of known J/m (`bouncing_square`)
pooled_drops   what both of these do

Nothing of a case is imported before it runs.
"""

from __future__ import annotations

from ..case import PartedCase, measured_in, simulated_in

IMPACTS = PartedCase(
    "impacts",
    "On state and inertial parameter estimation of planar rigid bodies subject to unscheduled frictional impacts",
    {
        "impulse": simulated_in(__name__, "impulse"),
        "sliding": simulated_in(__name__, "sliding"),
        "restitution": simulated_in(__name__, "restitution"),
        "table": simulated_in(__name__, "table"),
        "statistics": simulated_in(__name__, "statistics"),
        "squares": simulated_in(__name__, "squares"),
        "drops": measured_in(__name__, "drops", ("drop_001.csv",)),
    },
)
