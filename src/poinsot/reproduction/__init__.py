"""One file per paper: its tables and figures, the paper's numbers beside ours."""

from . import emps, tx40
from .case import Case, Reproduction

CASES = {case.name: case for case in (tx40.CASE, emps.CASE)}

__all__ = ["CASES", "Case", "Reproduction"]
