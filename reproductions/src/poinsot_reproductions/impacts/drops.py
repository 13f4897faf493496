"""Sect. 6.2 on other recordings: a square of nominally 60 mm that falls on a floor, tracked at 250 frames a second.

Nothing of it was measured but its side. Its corners are round, it is longer than wide, the tracked point lies beside
the center of mass, the angle is off, the floor is neither level nor even nor where it should be and gives way, air
brakes, and impacts happen between frames: all that is estimated along with J/m, from all drops together, where they
strike and where they come to rest (`estimators.complementarity.pooled`), with no prior on J/m.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from poinsot import Column, Source, read_recording
from poinsot.models.planar.drop import Drop

from ..case import Reproduction, Say
from .pooled_drops import curves_of, pooled, rows_of, tables_of

RATE = 250.0
"""Frames a second."""
COLUMNS = {"position.x": ("x", "m"), "position.y": ("z", "m"), "position.angle": ("th", "rad")}
"""As stored: x, z and th; velocities, which the tracker made of them, are not used."""
PAPER = {"inertia_to_mass_mm2": 668.0, "rmse_percent": 19.0, "friction": 0.34}
"""Of the paper's ellipse, whose own is 756 mm^2."""


def read_drop(path: Path) -> Drop:
    """One file."""
    columns = {name: Column(column, unit) for name, (column, unit) in COLUMNS.items()}
    recording = read_recording(Source(path, columns), rate_hz=RATE)
    poses = np.column_stack([recording[name] for name in COLUMNS])
    return Drop(path.stem, np.asarray(recording.time, dtype=float), poses)


def run(data: Path, say: Say = lambda _: None) -> Reproduction:
    """All drops of a folder."""
    drops = [read_drop(path) for path in sorted(data.glob("drop_*.csv"))]
    fit, figures, seconds = pooled(drops, 0, say)
    J, (low, high) = figures["inertia_to_mass_mm2"], figures["interval_mm2"]
    return Reproduction(
        "impacts",
        "003",
        "Real drops of a square: inertia to mass, friction, restitution and geometry",
        f"J/m is {J:.0f} mm^2, 95 % from {low:.0f} to {high:.0f}, from {figures['impacts_used']} impacts of "
        f"{figures['drops_used']} drops; two halves of them agree within "
        f"{figures['halves_difference_percent']:.1f} % in 95 % of splits, and held-out impacts are predicted to "
        f"{figures['held_out_median_error_rad_s']:.2f} rad/s (median).",
        rows_of(fit),
        tables_of(fit, figures),
        figures,
        _facts(figures),
        curves=curves_of(fit, figures),
        notes=_notes(fit, figures),
        seconds=seconds,
    )


def _facts(figures: dict[str, Any]) -> dict[str, Any]:
    def quartiles(name: str) -> str:
        if figures[name] is None:
            return "not identifiable"
        low, high = figures[f"{name}_quartiles"]
        return f"{figures[name]:.3f}, quartiles {low:.3f} to {high:.3f}"

    error, jump = figures["held_out_median_error_rad_s"], figures["held_out_median_jump_rad_s"]
    before = figures["held_out_median_error_rad_s_from_the_state_before"]
    radius, std = figures["corner_radius_mm"], figures["corner_radius_std_mm"]
    sharp, rounded = figures["uniform_sharp_square_mm2"], figures["uniform_round_square_mm2"]
    return {
        "friction, sliding impacts": quartiles("friction"),
        "restitution": quartiles("restitution"),
        "corner radius": f"{radius:.2f} mm, standard deviation {std:.2f} mm",
        "held-out jumps of the spin, from the linear jump": f"{error:.2f} rad/s of {jump:.1f} (medians)",
        "the same from the state before alone": f"{before:.2f} rad/s",
        "a uniform square, sharp and with these corners": f"{sharp:.0f} and {rounded:.0f} mm^2",
        "the paper's ellipse of 756 mm^2": f"{PAPER['inertia_to_mass_mm2']:.0f} mm^2, rms "
        f"{PAPER['rmse_percent']:.0f} %, friction {PAPER['friction']}",
    }


def _notes(fit: Any, figures: dict[str, Any]) -> tuple[str, ...]:
    difference = figures["difference_to_sharp_square_percent"]
    sharp = figures["assumptions_mm2"]["sharp corners"]
    rounding = 100 * (figures["uniform_round_square_mm2"] / figures["uniform_sharp_square_mm2"] - 1)
    notes = (
        f"A uniform sharp square of this side would have {figures['uniform_sharp_square_mm2']:.0f} mm^2, which is an "
        f"assumption and no truth: J/m here is {difference:+.0f} % off it. Round corners explain {rounding:+.1f} "
        f"% of a uniform body's J/m; taken for sharp, the same impacts say {sharp:.0f} mm^2, since levers are "
        "longer then. What remains needs mass nearer to the middle, or another side; motion alone cannot tell which.",
        "Only J/m and impulses by mass follow from motion without a known mass or force.",
        "Held-out impacts: jumps of the spin from the measured jump of the linear velocity and the pose (Eq. 32), with "
        "J/m and geometry of the other drops; which impacts count, tolerances and flights are those of all drops.",
        "Friction is of impacts that slide in one direction; it does not act on J/m, since each tangential "
        "impulse is free.",
    )
    return (
        *notes,
        *(
            f"{name} is not identifiable from the drops; its value is the prior's."
            for name in fit.unobservable
        ),
    )
