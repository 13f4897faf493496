"""Efforts of a joint beside bodies, drive and friction, linear in their parameters.

effort       `JointEffort`: parameters, columns, slopes by position, and the channels that it reads
positional   of position: `Spring`, `Counterbalance`, `Ripple`
channels     of recorded channels: `KnownEffort`, `CurrentCurve`, `WarmingFriction`

Adding one is its file and a line of `EFFORTS`.
"""

from .channels import CurrentCurve, KnownEffort, WarmingFriction
from .effort import EffortParameter, JointEffort
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

EFFORTS: dict[str, type[JointEffort]] = {
    "spring": Spring,
    "counterbalance": Counterbalance,
    "ripple": Ripple,
    "known": KnownEffort,
    "current-curve": CurrentCurve,
    "warming-friction": WarmingFriction,
}
"""Every law by its name in a project file."""


def nonnegative_kinds() -> tuple[str, ...]:
    """Kinds of parameters of effort laws that no real joint has below 0."""
    return tuple(kind for law in EFFORTS.values() for kind in law.nonnegative)
