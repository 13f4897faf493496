"""Notes and warnings on an estimated load and on drive gains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....estimate import NORMAL_95, DriveGains, Estimate, Payload
from ....estimate.fit import MOVING
from ....exceptions import listing
from ....regression.inverse_dynamics import InverseDynamics
from .moments import Moments
from .values import QUANTITIES


def with_load(estimate: Estimate, payload: Payload, gains: DriveGains, said: Sequence[str]) -> Estimate:
    """An estimate with its load and the drives' gains, and what there is to note about them.

    Args:
        said: further notes, that come first.
    """
    missing = [name for name in QUANTITIES if name not in (*payload.identifiable, *payload.known)]
    notes, warnings = [*estimate.notes, *said], list(estimate.warnings)
    shown = gains.identified or "1" not in gains.units  # where torques were measured, gains are plain ones
    if shown:
        notes += _poorly_known(gains)
        if np.any(gains.values < 0):
            names = np.array(gains.joints)[gains.values < 0].tolist()
            warnings.append(
                f"the drive gain of {listing(names)} is negative: the current counts the other way"
            )
    if missing:
        notes.append(
            f"These recordings do not determine {listing(_together(missing), 20)} of the load to a third of its own "
            "size: their intervals are given all the same."
        )
    problem = estimate.problem
    if isinstance(problem, InverseDynamics) and np.any(np.abs(problem.speeds) <= MOVING):
        notes.append(
            f"At standstill (joints slower than {MOVING:g} rad/s or m/s) dry friction is anything up to its Coulomb "
            "value, either way: efforts are indeterminate there, so errors are also given for moving joints alone."
        )
    if payload.physically_consistent is False:
        warnings.append(
            f"no real body is this load: {payload.reasons[0]}; possible = true gives the body that fits best"
        )
    return estimate.updated(payload, gains if shown else None, notes=tuple(notes), warnings=tuple(warnings))


def how(estimate: Estimate, gains: DriveGains, moments: Moments, draws: int) -> str:
    """How intervals came about, and what white residuals would have made of them."""
    motions = len(np.unique(moments.motions))
    std, white = (
        (estimate.std, estimate.white_std) if gains.white_std is None else (gains.std, gains.white_std)
    )
    assert white is not None
    ratio = float(np.median(std[white > 0] / white[white > 0])) if (white > 0).any() else 1.0
    return (
        f"Intervals are from {draws} draws of {len(moments.blocks)} blocks of {moments.block_s:.2g} s, taken from "
        f"{'one motion' if motions == 1 else f'{motions} motions'} (recordings of the same motion are drawn together); "
        f"for white residuals they would be {max(ratio, 1 / ratio):.1f} times {'shorter' if ratio > 1 else 'longer'} "
        "(median)."
    )


def _poorly_known(gains: DriveGains) -> list[str]:
    said = []
    by_gravity = np.ones(len(gains.values), dtype=bool) if gains.by_gravity is None else gains.by_gravity
    for k in np.flatnonzero(gains.poorly_known & gains.identified):
        why = "" if by_gravity[k] else ": gravity never loads this joint, only inertia does"
        percent = 100 * NORMAL_95 * gains.std[k] / abs(gains.values[k])
        said.append(
            f"The drive gain of {gains.joints[k]} is poorly known, to +- {percent:.0f} % (95 %){why}."
        )
    return said


def _together(names: Sequence[str]) -> list[str]:
    """`inertia_at_com` for all its entries."""
    together = []
    for name in names:
        whole = name.partition(".")[0]
        # nine names of entries are no easier to read than the name of the whole
        entries = [other for other in QUANTITIES if other.partition(".")[0] == whole]
        together.append(whole if set(entries) <= set(names) else name)
    return list(dict.fromkeys(together))
