"""One file per paper: its tables and figures, the paper's numbers beside ours."""

from . import emps, tx40
from .case import Case, Curves, PartedCase, Reproduction
from .discrete import DISCRETE
from .impacts import IMPACTS
from .online import ONLINE
from .optimal_estimation import OPTIMAL_ESTIMATION

CASES = {case.name: case for case in (tx40.CASE, emps.CASE)}
"""Computed from recordings."""

PARTED = {case.name: case for case in (ONLINE, OPTIMAL_ESTIMATION, DISCRETE, IMPACTS)}
"""With parts, computed from a seed or from recordings."""

__all__ = ["CASES", "PARTED", "Case", "Curves", "PartedCase", "Reproduction"]
