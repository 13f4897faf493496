"""The papers' cases that `poinsot reproduce` runs, a file or a package each: the paper's numbers beside ours.

The entry points of this distribution (group `poinsot.reproductions`) name the cases.
"""

from .case import Curves, PartedCase, RecordedCase, Reproduction

__all__ = ["Curves", "PartedCase", "RecordedCase", "Reproduction"]
