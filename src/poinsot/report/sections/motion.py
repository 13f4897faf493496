"""The estimated motion: readings and predictions of sensors, contact forces, and convergence of the iteration."""

from __future__ import annotations

import numpy as np

from ...estimate import Estimate
from ...estimate.motions import Convergence, EstimatedMotion, SensorFit, motions_of
from ..blocks import Figure, FigureGrid, Section, section_of
from ..figures.curves import curve_figure, effort_grid
from ..numbers import count_text, significant
from ..tables import fit_table, table_of_rows
from ..words import number_of, series

MOST_LINES = 10
"""Maximum number of parameters in a figure; more lines cannot be distinguished."""


def motion_section(estimate: Estimate) -> Section | None:
    """Readings and predictions of each sensor, and residuals in standard deviations."""
    motions = motions_of(estimate)
    if not motions:
        return None
    samples = sum(len(motion.path) for motion in motions)
    lead = (
        f"One motion through {count_text(samples)} samples of {number_of(len(motions), 'recording')}, beside "
        "the readings of each sensor. A root mean square of 1 is the stated noise; more is model error."
    )
    residuals = tuple(_residuals(motion, fit) for motion in motions for fit in motion.sensors)
    return section_of(
        "Motion and sensors",
        lead,
        table_of_rows([row for motion in motions for row in _rows(motion)]),
        FigureGrid(title="Residuals in standard deviations", panels=residuals, shared_x=True),
        fit_table(estimate.fit, title="Component by component", column="component"),
        effort_grid(estimate.fit),
    )


def _rows(motion: EstimatedMotion) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for fit in motion.sensors:
        read = np.isfinite(fit.normalized)
        beyond = np.mean(np.abs(fit.normalized[read]) > 3) if read.any() else np.nan
        rows.append(
            {
                "recording": motion.name,
                "sensor": fit.name,
                "readings": int(read.sum()),
                "rms [std]": significant(fit.rms, 3),
                "beyond 3 std [%]": significant(100 * float(beyond), 2),
            }
        )
    return rows


def _residuals(motion: EstimatedMotion, fit: SensorFit) -> Figure:
    # Without the common prefix up to a point: the axis remains.
    stems = {name.rpartition(".")[0] for name in fit.components}
    shared = f"{stems.pop()}." if len(stems) == 1 else ""
    shown = {name.removeprefix(shared): fit.normalized[:, k] for k, name in enumerate(fit.components)}
    return curve_figure(f"{fit.name}: {motion.name}", "1", motion.path.time, shown)


def contacts_section(estimate: Estimate) -> Section | None:
    """Contact forces of the estimated motion."""
    panels = []
    for motion in motions_of(estimate):
        for frame in motion.contacts:
            lines = {axis: motion.path.readings(f"force.{frame}.{axis}") for axis in "xyz"}
            panels.append(curve_figure(f"{frame}: {motion.name}", "N", motion.path.time, lines))
    if not panels:
        return None
    frames = sorted({frame for motion in motions_of(estimate) for frame in motion.contacts})
    return Section(
        "Contact forces",
        f"Forces on the robot at {series(frames)} while the contact is closed, in the frame's axes.",
        (FigureGrid(panels=tuple(panels), shared_x=True),),
    )


def convergence_section(estimate: Estimate) -> Section | None:
    """Cost, gaps and parameters, iteration by iteration."""
    convergence = estimate.extra(Convergence)
    if convergence is None or len(convergence.cost) < 2:
        return None
    steps = np.arange(len(convergence.cost), dtype=float)
    # The lowest cost less itself, and a closed gap, are zero: they have no logarithm.
    cost = np.maximum(convergence.cost - convergence.cost.min(), 1e-12)
    gaps = np.maximum(convergence.infeasibility, 1e-16)
    decades = {"cost above the lowest": np.log10(cost), "sum of gaps in the dynamics": np.log10(gaps)}
    panels = [curve_figure("Cost and gaps, powers of ten", "1", steps, decades, along="iteration")]
    for owner in dict.fromkeys(estimate.owners):
        mine = [k for k, other in enumerate(estimate.owners) if other == owner][:MOST_LINES]
        # Relative to the result, so that lines of parameters of any size end at 0.
        away = convergence.values[:, mine] - convergence.values[-1, mine]
        size = np.abs(convergence.values[:, mine]).max(axis=0)
        percent = np.divide(100 * away, size, out=away, where=size > 0)
        lines = {estimate.names[k].removesuffix(f".{owner}"): percent[:, i] for i, k in enumerate(mine)}
        title = f"{owner or 'gains'}: difference from the result [% of the largest value]"
        panels.append(curve_figure(title, "%", steps, lines, along="iteration"))
    return Section(
        "Convergence",
        f"{number_of(len(steps) - 1, 'iteration')}, from a cost of {significant(float(convergence.cost[0]), 4)} to "
        f"{significant(float(convergence.cost[-1]), 4)}.",
        (FigureGrid(panels=tuple(panels)),),
    )
