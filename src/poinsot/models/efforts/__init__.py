"""Efforts of a joint beside bodies, drive and friction, linear in their parameters.

effort       `JointEffort`: parameters, columns, slopes by position, and the channels that it depends on
positional   of position: `Spring`, `Counterbalance`, `Ripple`
channels     of recorded channels: `KnownEffort`, `CurrentCurve`, `WarmingFriction`
this file    `EFFORTS`: every law by its name in a project file; adding one is its file and a line in it
"""

from .channels import (
    CurrentCurve as CurrentCurve,
    KnownEffort as KnownEffort,
    WarmingFriction as WarmingFriction,
)
from .effort import EffortParameter as EffortParameter, JointEffort as JointEffort
from .positional import Counterbalance as Counterbalance, Ripple as Ripple, Spring as Spring

EFFORTS: dict[str, type[JointEffort]] = {
    "spring": Spring,
    "counterbalance": Counterbalance,
    "ripple": Ripple,
    "known": KnownEffort,
    "current-curve": CurrentCurve,
    "warming-friction": WarmingFriction,
}


def nonnegative_kinds() -> tuple[str, ...]:
    """Kinds of parameters of effort laws that are never below 0 in a real joint."""
    return tuple(kind for law in EFFORTS.values() for kind in law.nonnegative)
