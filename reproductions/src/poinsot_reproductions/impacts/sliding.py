"""Figs. 11 and 12: an ellipse that slides, turns, and from some friction on takes off.

It sets out flat on the floor with 15 m/s along it, with impulse-restitution complementarity. Friction turns it forward.
Where it turns fast enough, the floor cannot follow the outline any more, and it takes off.

Energy. While it slides every step takes some of it; in flight a step takes m g^2 h^2 / 2, which is implicit Euler's;
and without friction none is lost at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say
from .paper_ellipse import SLIDE, drift_of, ellipse, height_along, moves
from .stepping import Motion

FRICTIONS = tuple(np.round(np.arange(0.0, 1.01, 0.1), 1).tolist())
SHOWN = (0.0, 0.3, 0.4, 0.8)
STEP, SECONDS = 1e-3, 2.0
CLEAR = 1e-3
"""A gap as wide as that is no contact any more [m]."""
SOON, LATER = 1.0, 2.0
"""Within which it takes off [s]."""
PAPER_TAKES_OFF = 0.4
HALVINGS = 12


def run(
    seed: int = 0,
    frictions: Sequence[float] = FRICTIONS,
    step: float = STEP,
    halvings: int = HALVINGS,
    say: Say = lambda _: None,
) -> Reproduction:
    """Slides over friction; nothing of it is random.

    Args:
        seed: of no use here.
        frictions: rising.
        step: h [s].
        halvings: of the interval in which take-off begins; 0: it is not looked for.
    """
    watch = Stopwatch()
    say("sliding")
    motions = {friction: moves(ellipse(friction), SLIDE, step, SECONDS) for friction in frictions}
    watch.lap("slides")
    say("where take-off begins")
    begins = {within: least_friction(within, step, halvings) for within in (SOON, LATER)}
    watch.lap("where take-off begins")
    rows = [_row(friction, motion, step) for friction, motion in motions.items()]
    figures = _figures(rows, begins, step)
    rows.append(
        {
            "name": "least of these frictions with a take-off within 1 s",
            "paper": PAPER_TAKES_OFF,
            "ours": figures["takes_off_from_friction"],
            "unit": "1",
        }
    )
    return Reproduction(
        "impacts",
        "003",
        "An ellipse that slides and takes off",
        f"It takes off within 1 s from friction {figures['takes_off_from_friction']} on (paper: {PAPER_TAKES_OFF}), "
        f"and up to {figures['stays_up_to_friction']} it stays on the floor for 2 s. "
        + (
            "Energy falls in every step in which it slides."
            if figures["energy_falls_while_sliding"]
            else "Energy does not fall in every step in which it slides."
        ),
        tuple(rows),
        {"Take-off and energy": [_table_row(row) for row in rows[:-1]]},
        figures,
        {
            "take-off within 1 s begins at friction": _rounded(begins[SOON]),
            "take-off within 2 s begins at friction": _rounded(begins[LATER]),
            "step [s]": step,
            "lost by a step of flight, m g^2 h^2 / 2 [J]": round(drift_of(step, step), 7),
        },
        notes=(
            "Between those frictions it takes off at its second or third swing, after the paper's plots end.",
            f"Take-off is where the gap is above {1e3 * CLEAR:g} mm for the first time.",
        ),
        seconds=watch.seconds,
        curves=_pictures(motions),
    )


def takes_off(motion: Motion) -> float | None:
    """When the gap is first clear [s]; None if it never is."""
    clear = np.flatnonzero(motion.gaps[:, 0] > CLEAR)
    return float(motion.times[clear[0]]) if len(clear) else None


def least_friction(within: float, step: float = STEP, halvings: int = HALVINGS) -> float | None:
    """From which on it takes off within so many seconds, as far as halvings tell; None without any."""
    low, high = 0.0, 1.0
    for _ in range(halvings):
        friction = 0.5 * (low + high)
        if takes_off(moves(ellipse(friction), SLIDE, step, within)) is None:
            low = friction
        else:
            high = friction
    return high if halvings else None


def _row(friction: float, motion: Motion, step: float) -> dict[str, Any]:
    off = takes_off(motion)
    change = np.diff(motion.energy)
    borne = motion.impulses[:, 0, 0] > 0
    flies = ~borne
    if off is not None:
        # of steps until it lands again: of an impact the next case tells
        lands = np.flatnonzero(borne & (motion.times[:-1] > off))
        until = int(lands[0]) if len(lands) else len(change)
        borne[until:], flies[until:] = False, False
    return {
        "name": f"friction {friction:g}",
        "friction": friction,
        "paper": None,
        "ours": off,
        "unit": "s",
        "takes_off_seconds": off,
        "slides_seconds": step * int(borne.sum()),
        "largest_change_sliding_j": float(change[borne].max()),
        "smallest_change_sliding_j": float(change[borne].min()),
        "change_flying_j": [float(change[flies].min()), float(change[flies].max())] if flies.any() else None,
        "energy_j": {
            "start": float(motion.energy[0]),
            "1 s": float(motion.energy[round(SOON / step)]),
            "2 s": float(motion.energy[-1]),
        },
        "deepest_mm": 1e3 * abs(min(float(motion.gaps.min()), 0.0)),
    }


def _figures(
    rows: Sequence[Mapping[str, Any]], begins: Mapping[float, float | None], step: float
) -> dict[str, Any]:
    def soon(row: Mapping[str, Any]) -> bool:
        return row["ours"] is not None and row["ours"] <= SOON

    late = [row["friction"] for row in rows if not soon(row)]
    after = [row["friction"] for row in rows if row["friction"] > max(late, default=-1.0)]
    off = [row["friction"] for row in rows if row["ours"] is not None]
    before = [row["friction"] for row in rows if row["friction"] < min(off, default=np.inf)]
    rough = [row for row in rows if row["friction"] > 0]
    flying = [abs(change + drift_of(step, step)) for row in rows for change in row["change_flying_j"] or ()]
    return {
        "takes_off_from_friction": min(after, default=None),
        "stays_up_to_friction": max(before, default=None),
        "takes_off_seconds": {f"{row['friction']:g}": row["ours"] for row in rows},
        "take_off_within_1s_begins_at_friction": begins[SOON],
        "take_off_within_2s_begins_at_friction": begins[LATER],
        "largest_change_sliding_j": max((row["largest_change_sliding_j"] for row in rough), default=None),
        "energy_falls_while_sliding": all(row["largest_change_sliding_j"] < 0 for row in rough),
        "flight_beside_drift_j": max(flying, default=None),
        "change_without_friction_j": max(
            (abs(row["energy_j"]["2 s"] - row["energy_j"]["start"]) for row in rows if row["friction"] == 0),
            default=None,
        ),
    }


def _table_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "friction": f"{row['friction']:g}",
        "takes off [s]": "stays" if row["ours"] is None else f"{row['ours']:.3f}",
        "energy after 1 s [J]": f"{row['energy_j']['1 s']:.1f}",
        "change of a step while sliding [J]": (
            f"{row['smallest_change_sliding_j']:.3g} to {row['largest_change_sliding_j']:.3g}"
        ),
        "deepest in the floor [mm]": f"{row['deepest_mm']:.2f}",
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _pictures(motions: Mapping[float, Motion]) -> dict[str, Curves]:
    shown = {friction: motion for friction, motion in motions.items() if friction in SHOWN}
    first = next(iter(motions.values()))
    x = np.linspace(0, max(motion.poses[-1, 0] for motion in shown.values()), 500)
    names = {friction: f"friction {friction:g}" for friction in shown}
    until = first.times <= SOON
    return {
        "Path of the center of mass (Fig. 11)": Curves(
            x, "m", {names[k]: height_along(motion, x) for k, motion in shown.items()}, "x [m]"
        ),
        "Energy (Fig. 12)": Curves(
            first.times[until], "J", {names[k]: motion.energy[until] for k, motion in shown.items()}
        ),
        "Angle": Curves(first.times, "rad", {names[k]: motion.poses[:, 2] for k, motion in shown.items()}),
    }
