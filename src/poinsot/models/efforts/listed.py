"""The list of effort laws by their names in a project file."""

from __future__ import annotations

from .channels import CurrentCurve, KnownEffort, WarmingFriction
from .effort import JointEffort
from .positional import Counterbalance, Ripple, Spring

EFFORTS: dict[str, type[JointEffort]] = {
    "spring": Spring,
    "counterbalance": Counterbalance,
    "ripple": Ripple,
    "known": KnownEffort,
    "current-curve": CurrentCurve,
    "warming-friction": WarmingFriction,
}


def nonnegative_kinds() -> tuple[str, ...]:
    """Kinds of parameters of effort laws that no real joint has below 0."""
    return tuple(kind for law in EFFORTS.values() for kind in law.nonnegative)
