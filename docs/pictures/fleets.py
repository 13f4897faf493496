"""What differs between robots of a fleet, and between days: the logs of the page on many logs, pooled."""

import numpy as np
from drawing import BLUE, GREEN, GREY, ORANGE, axes, picture

from poinsot import random_effects

STD = 0.01
"""Standard deviation of each estimate, as its own log states it. [N m s/rad]"""
TRUTH = {"robot": 0.06, "day": 0.03}
"""Simulated standard deviations between robots, and between days of one. [N m s/rad]"""


@picture
def fleet_effects():
    rng = np.random.default_rng(0)
    robots, days = (
        np.repeat(["a", "b", "c", "d", "e", "f"], 3),
        ["Monday", "Tuesday", "Friday"] * 6,
    )
    viscous = (
        0.50 + np.repeat(TRUTH["robot"] * rng.standard_normal(6), 3) + TRUTH["day"] * rng.standard_normal(18)
    )
    values = viscous + STD * rng.standard_normal(18)
    found = random_effects(values, np.full(18, STD), list(robots), days)
    figure, (left, right) = axes(1, 2, 2.9, width_ratios=(2, 1))
    low, high = found.next_interval_95
    left.axhspan(low, high, color=GREY, alpha=0.12, lw=0, label="where the next robot is likely to be, 95 %")
    left.axhline(found.mean, color=GREY, lw=1, label=f"the fleet, {found.mean:.3f}")
    place = np.repeat(np.arange(6), 3) + np.tile([-0.22, 0, 0.22], 6)
    left.errorbar(place, values, 1.96 * STD, fmt="o", ms=3, color=BLUE, lw=1, label="a log of one day, 95 %")
    for k, (mean, _) in enumerate(found.robots.values()):
        label = "a robot's own value" if k == 0 else None
        left.plot([k - 0.35, k + 0.35], [mean, mean], color=ORANGE, lw=2, label=label)
    left.set_xticks(range(6), found.robots)
    left.set_xlabel("robot")
    left.set_ylabel("viscous friction [N m s/rad]")
    left.set_ylim(0.28, 0.84)
    left.legend(fontsize=7, loc="upper left", ncols=2)
    for k, (level, spread) in enumerate(found.spreads.items()):
        a, b = spread.interval_95
        right.plot([k, k], [a, b], color=BLUE, lw=3, solid_capstyle="butt", label="95 %" if k == 0 else None)
        right.plot([k], [spread.std], "o", color=BLUE, ms=5)
        right.plot(
            [k - 0.2, k + 0.2], 2 * [TRUTH[level]], color=GREEN, lw=2, label="simulated" if k == 0 else None
        )
    right.set_xticks(range(len(found.spreads)), [f"between\n{level}s" for level in found.spreads])
    right.set_xlim(-0.5, len(found.spreads) - 0.5)
    right.set_ylim(0, 0.085)
    right.set_ylabel("standard deviation [N m s/rad]")
    right.legend(fontsize=7)
    return figure
