"""Many drops of a square, pooled: what they say of J/m, and how it moves with every assumption."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from poinsot.estimators.impacts.collisions import SHARED, UNITS
from poinsot.estimators.impacts.flights import segmented
from poinsot.estimators.impacts.pooled import Agreement, PooledFit, agreement, fitted_pool
from poinsot.models.planar import floor, rectangle
from poinsot.models.planar.drop import Drop
from poinsot.stopwatch import Stopwatch

from ..case import Curves

SIDE = 0.06
"""Of the square, nominal [m]."""
SHOWN = 40
"""Points of a distribution's curve."""
Say = Callable[[str], None]


def uniform_square(corner_radius: float) -> float:
    """J/m of a uniform square with round corners, by its area and its polar moment, corner by corner [m^2]."""
    a, r = SIDE / 2, corner_radius
    # a corner is a square r x r less a quarter of a circle; both about the square's middle
    quarter = np.pi * r**2 / 4
    x = a - r + 4 * r / (3 * np.pi)
    lost = r**2 - quarter
    of_squares = r**2 * 2 * (a - r / 2) ** 2 + r**4 / 6
    about_own = np.pi * r**4 / 8 - 2 * quarter * (4 * r / (3 * np.pi)) ** 2
    of_quarters = about_own + 2 * quarter * x**2
    return float((SIDE**4 / 6 - 4 * (of_squares - of_quarters)) / (SIDE**2 - 4 * lost))


def pooled(
    drops: Sequence[Drop], seed: int, say: Say
) -> tuple[PooledFit, dict[str, Any], Mapping[str, float]]:
    """The fit, its headline numbers, and how long each stage took."""
    watch = Stopwatch()
    say(f"{len(drops)} drops: flights and impacts")
    fit = fitted_pool(segmented(drops), rectangle(SIDE, SIDE), floor())
    watch.lap("solve")
    say("halves, held-out impacts, assumptions")
    agreed = agreement(fit, seed)
    watch.lap("agreement")
    return fit, _figures(fit, agreed, len(drops)), watch.seconds


def _figures(fit: PooledFit, agreed: Agreement, drops: int) -> dict[str, Any]:
    low, high = fit.inertia_interval
    sharp, rounded = 1e6 * SIDE**2 / 6, 1e6 * uniform_square(fit.value("corner_radius"))
    return {
        "inertia_to_mass_mm2": 1e6 * fit.inertia_to_mass,
        "interval_mm2": [1e6 * low, 1e6 * high],
        "halves_difference_percent": 100 * agreed.halves_difference,
        "halves_difference_percent_median": 100 * float(np.median(agreed.differences)),
        "held_out_median_error_rad_s": float(np.median(agreed.errors)),
        "held_out_median_error_rad_s_from_the_state_before": float(
            np.median([abs(each.from_before - each.jump_of_omega) for each in agreed.held_out])
        ),
        "held_out_median_jump_rad_s": float(np.median([abs(each.jump_of_omega) for each in agreed.held_out])),
        "friction": None if fit.friction is None else fit.friction.median,
        "friction_quartiles": None if fit.friction is None else [fit.friction.lower, fit.friction.upper],
        "friction_at_least": None if fit.friction is not None else fit.friction_bound,
        "restitution": fit.restitution.median,
        "restitution_quartiles": [fit.restitution.lower, fit.restitution.upper],
        "corner_radius_mm": 1e3 * fit.value("corner_radius"),
        "corner_radius_std_mm": 1e3 * fit.std("corner_radius"),
        "drops": drops,
        "drops_used": len({impact.drop for impact in fit.used}),
        "impacts": len(fit.impacts),
        "impacts_used": len(fit.used),
        "converged": fit.status.converged,
        "assumptions_mm2": {name: 1e6 * J for name, J in agreed.assumed.items()},
        "uniform_sharp_square_mm2": sharp,
        "uniform_round_square_mm2": rounded,
        "difference_to_sharp_square_percent": 100 * (1e6 * fit.inertia_to_mass / sharp - 1),
    }


def rows_of(fit: PooledFit) -> tuple[dict[str, Any], ...]:
    """One for each parameter that impacts share."""
    return tuple(
        {
            "name": name,
            "ours": float(value),
            "std": fit.std(name),
            "unit": unit,
            "held": name in fit.held,
        }
        for name, value, unit in zip(SHARED, fit.shared.tolist(), UNITS, strict=True)
    )


def tables_of(fit: PooledFit, figures: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """For people."""
    verdicts = [impact.verdict for impact in fit.impacts]
    J = figures["inertia_to_mass_mm2"]
    return {
        "What impacts share": [
            {
                "parameter": row["name"],
                "value": f"{row['ours']:.4g}",
                "std": "held" if row["held"] else f"{row['std']:.2g}",
                "unit": row["unit"],
            }
            for row in rows_of(fit)
        ],
        "J/m without a part of the geometry": [
            {"assumption": name, "J/m [mm^2]": f"{value:.1f}", "moves by": f"{100 * (value / J - 1):+.1f} %"}
            for name, value in figures["assumptions_mm2"].items()
        ],
        "Impacts": [
            {"verdict": verdict, "impacts": verdicts.count(verdict)}
            for verdict in sorted(set(verdicts), key=verdicts.count)[::-1]
        ],
    }


def curves_of(fit: PooledFit, figures: Mapping[str, Any]) -> dict[str, Curves]:
    """Distributions over impacts."""
    used = [impact for impact in fit.impacts if impact.used]
    part = np.linspace(0, 1, SHOWN)

    def quantiles(values: Sequence[float]) -> np.ndarray:
        return np.quantile(values, part) if len(values) else np.full(SHOWN, np.nan)

    sliding = [impact.friction_ratio for impact in used if impact.mode == "slides"]
    lines = {
        "restitution": quantiles([impact.restitution for impact in used]),
        "tangential by normal impulse, sliding": quantiles(sliding),
    }
    return {"Restitution and friction of impacts": Curves(part, "", lines, "part of the impacts below")}
