"""One file per paper: its tables and figures, the paper's numbers beside ours."""

from . import emps, tx40
from .case import Case, Curves, Reproduction, SimulatedCase
from .online import ONLINE

CASES = {case.name: case for case in (tx40.CASE, emps.CASE)}
"""Computed from recordings."""

SIMULATED = {case.name: case for case in (ONLINE,)}
"""Computed from nothing but a seed."""

__all__ = ["CASES", "SIMULATED", "Case", "Curves", "Reproduction", "SimulatedCase"]
