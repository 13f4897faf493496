"""A load is as well known as the drive gains that weigh it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..estimate import DriveGains, Finding, Payload, Severity, Unchecked
from .case import Examination
from .check import Cause, Check

EXACT = Cause(
    "exact-gains",
    "Drive gains count as exact, and the load's interval leaves their uncertainty out.",
    "Write gain_std = ... in [method], or gains_from = the job that identified the gains.",
)


@dataclass(frozen=True)
class LoadGains(Check):
    """Gains that were given scale the load: no recording of this robot contradicts them.

    With all gains times s, robot and load times s fit the recordings as well: only the description's masses, known to a
    factor of two, say otherwise (`TorqueScale`).
    """

    causes = (EXACT,)

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        load, gains = case.estimate.extra(Payload), case.estimate.extra(DriveGains)
        if load is None or "mass" in load.known:
            return
        if gains is None:
            yield Unchecked(
                "the load's scale", "torques count as exact: an error of 10 % is one of 10 % of the mass"
            )
        elif not np.any(gains.std > 0):
            said = (
                f"The load's {load.mass:.4g} kg +- {1.96 * load.mass_std:.2g} take the drive gains for exact: an error "
                "of 10 % in them is one of 10 % in the mass, and these recordings do not show it."
            )
            yield EXACT.finding(Severity.warning, said, "", load.link)
        elif not gains.identified:
            percent = 196 * float(np.median(gains.std / np.abs(gains.values)))
            reason = f"gains were given, to +- {percent:.2g} % (median), and these recordings do not determine them"
            yield Unchecked("the load's scale", reason)
