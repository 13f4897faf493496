"""Tolerances of pooled drops, which are estimated with the rest (`pooled_problem`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tolerances:
    """Standard deviations of the residuals of impacts and of bodies at rest.

    Args:
        instant: difference of the centers of normal, tangential and turning impulse [s].
        gap: outline and floor, from impact to impact [m].
        lever: place of the contact along the wall [m].
        spin: jump of omega, whatever the impulse [rad/s].
        floor: of the floor's height, from drop to drop [m].
        rest: of the height of a corner that a body at rest lies on [m].
        uneven: of second differences of the wall's unevenness, from knot to knot [m].
    """

    instant: float = 2e-4
    gap: float = 3e-4
    lever: float = 5e-4
    spin: float = 0.1
    floor: float = 3e-4
    rest: float = 1e-4
    uneven: float = 3e-5
