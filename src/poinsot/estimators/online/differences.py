"""Accelerations online: central differences of velocities, one tick late (Foster et al. 2024, Sect. III-D).

    a(t_k) = (v(t_k+1) - v(t_k-1)) / (t_k+1 - t_k-1)

is known at t_k+1. The filter then gets the whole sample of t_k: a late acceleration beside the newest torque costs more
than the tick of delay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ...arrays import Vector
from .belief import Sample


@dataclass(frozen=True, eq=False)
class Tick:
    """Output of a robot's state estimator: a sample without acceleration.

    Args:
        time: [s]. q, v, tau: (nq,), (n,), (n,); v is NaN where velocities are not measured.
        wrenches, trusted: as in `Sample`.
    """

    time: float
    q: Vector
    v: Vector
    tau: Vector
    wrenches: Mapping[str, Vector] = field(default_factory=dict)
    trusted: np.ndarray | None = None


def with_accelerations(ticks: Iterable[Tick], longest_gap_s: float = 0.1) -> Iterator[Sample]:
    """Samples one tick late; none across a gap, or where clocks run backwards.

    Args:
        ticks: in the order of time; those with a time that is not finite or not later are left out.
        longest_gap_s: between the two velocities of a difference [s].
    """
    before: Tick | None = None
    now: Tick | None = None
    for after in ticks:
        if not np.isfinite(after.time) or (now is not None and after.time <= now.time):
            continue
        if before is not None and now is not None and after.time - before.time <= longest_gap_s:
            a = (after.v - before.v) / (after.time - before.time)
            yield Sample(now.time, now.q, now.v, a, now.tau, now.wrenches, now.trusted)
        before, now = now, after
