"""Efforts of a joint beside bodies, drive and friction, linear in their parameters.

effort       `JointEffort`: parameters, columns, slopes by position, and the channels that it reads
positional   of position: `Spring`, `Counterbalance`, `Ripple`
channels     of recorded channels: `KnownEffort`, `CurrentCurve`, `WarmingFriction`
listed       `EFFORTS`: every law by its name in a project file; adding one is its file and a line there
"""

from .channels import CurrentCurve, KnownEffort, WarmingFriction
from .effort import EffortParameter, JointEffort
from .listed import EFFORTS, nonnegative_kinds
from .positional import Counterbalance, Ripple, Spring

__all__ = [
    "EFFORTS",
    "Counterbalance",
    "CurrentCurve",
    "EffortParameter",
    "JointEffort",
    "KnownEffort",
    "Ripple",
    "Spring",
    "WarmingFriction",
    "nonnegative_kinds",
]
