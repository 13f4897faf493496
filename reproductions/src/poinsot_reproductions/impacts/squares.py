"""Simulated squares with the defects of the real drops: J/m of 400 and 900 mm^2 through the same estimate.

Nothing of the estimator is in the generator: the floor gives way, forces act over small steps, and there are no
instants of impact (`bouncing_square`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from poinsot.stopwatch import Stopwatch

from ..case import Reproduction, Say
from .bouncing_square import Throws
from .pooled_drops import pooled

TRUTHS = (400.0, 900.0)
"""[mm^2]"""
DROPS = 60


def run(
    seed: int, truths: Sequence[float] = TRUTHS, drops: int = DROPS, say: Say = lambda _: None
) -> Reproduction:
    """Each of them.

    Args:
        seed: of throws, floors and noise. truths: J/m [mm^2]. drops: of each.
    """
    watch, rows = Stopwatch(), []
    for truth in truths:
        thrown = Throws(inertia_to_mass=1e-6 * truth)
        of = int(np.random.default_rng([seed, round(truth)]).integers(2**31))
        say(f"{truth:g} mm^2")
        _, figures, _ = pooled(thrown.drops(drops, of), seed, say)
        low, high = figures["interval_mm2"]
        rows.append(
            {
                "name": f"J/m {truth:g} mm^2",
                "truth": truth,
                "ours": figures["inertia_to_mass_mm2"],
                "error_percent": 100 * (figures["inertia_to_mass_mm2"] / truth - 1),
                "interval_mm2": [low, high],
                "covered": low <= truth <= high,
                "corner_radius_mm": figures["corner_radius_mm"],
                "corner_radius_truth_mm": 1e3 * thrown.corner_radius,
                "impacts_used": figures["impacts_used"],
                "unit": "mm^2",
            }
        )
        watch.lap(f"{truth:g} mm^2")
    largest = max(abs(row["error_percent"]) for row in rows)
    return Reproduction(
        "impacts",
        "003",
        "Simulated squares with the defects of real drops",
        f"J/m comes back within {largest:.1f} %.",
        tuple(rows),
        {"Simulated squares": [_readable(row) for row in rows]},
        {"largest_error_percent": largest, "covered": sum(row["covered"] for row in rows)},
        seconds=watch.seconds,
    )


def _readable(row: dict[str, Any]) -> dict[str, Any]:
    low, high = row["interval_mm2"]
    return {
        "truth [mm^2]": f"{row['truth']:g}",
        "found [mm^2]": f"{row['ours']:.1f}",
        "error": f"{row['error_percent']:+.2f} %",
        "95 %": f"{low:.0f} to {high:.0f}",
        "corner radius [mm]": f"{row['corner_radius_mm']:.2f} ({row['corner_radius_truth_mm']:g})",
        "impacts": row["impacts_used"],
    }
