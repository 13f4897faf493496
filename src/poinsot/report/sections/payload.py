"""The load that a link carries, the drive gains (effort per unit of current), and friction over speed."""

from __future__ import annotations

from math import isfinite, nan

from ...estimate import DriveGains, Estimate, FrictionCurves, Payload
from ..blocks import Cell, FigureGrid, Section, Table, section_of
from ..figures.curves import curve_figure, with_interval
from ..numbers import interval_text, percent_text, plus_minus, significant
from ..tables import table, value_cells
from ..words import number_of

POSSIBLE = {True: "physically possible", False: "physically impossible", None: "not determined as a whole"}


def payload_section(estimate: Estimate) -> Section | None:
    """Load and drive gains; None where neither was estimated."""
    payload, gains = estimate.extra(Payload), estimate.extra(DriveGains)
    if payload is None and gains is None:
        return None
    return section_of(
        "Payload",
        _lead(payload, gains),
        None if payload is None else _payload_table(payload),
        None if gains is None else _gain_table(gains),
    )


def _lead(payload: Payload | None, gains: DriveGains | None) -> str:
    sentences = []
    if payload is not None:
        if "mass" in payload.known:
            sentences.append(f"The load on {payload.link} is known to weigh {significant(payload.mass)} kg.")
        elif isfinite(payload.mass):
            sentences.append(
                f"The load on {payload.link} weighs {plus_minus(payload.mass, payload.mass_std)} kg "
                f"(95 %: {interval_text(payload.mass, payload.mass_std)})."
            )
        else:
            sentences.append(f"The recordings do not determine the mass of the load on {payload.link}.")
    if gains is not None and gains.identified:
        well = int((~gains.poorly_known).sum())
        sentences.append(f"{well} of {len(gains.joints)} drive gains are known to 5 % or better.")
    return " ".join(sentences)


def _payload_table(payload: Payload) -> Table:
    """Quantity by quantity, with the verdict on each."""
    rows = [_row(payload, "mass", "mass", payload.mass, payload.mass_std, "kg")]
    for k, axis in enumerate("xyz"):
        value, std = float(payload.center_of_mass[k]), float(payload.center_of_mass_std[k])
        rows.append(_row(payload, f"center_of_mass.{axis}", f"centre of mass, {axis}", value, std, "m"))
    for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)):
        axes = f"{'xyz'[i]}{'xyz'[j]}"
        value, std = float(payload.inertia_at_com[i, j]), float(payload.inertia_at_com_std[i, j])
        words = f"inertia about the centre of mass, {axes}"
        rows.append(_row(payload, f"inertia_at_com.{axes}", words, value, std, "kg m^2"))
    return table(
        rows,
        title="The load",
        caption=f"In the frame of {payload.link}. Determined: the 95 % interval is within a third of the load's own "
        "size (its mass; the distance of its matter from the frame's origin; its largest principal moment). All ten "
        f"parameters together: {POSSIBLE[payload.physically_consistent]}.",
    )


def _row(
    payload: Payload, name: str, words: str, value: float, std: float, unit: str
) -> dict[str, str | Cell]:
    if name in payload.known:
        verdict = Cell("– known before", tone="none")
    elif not isfinite(value):
        verdict = Cell("✕ not identifiable", tone="bad")
    elif name in payload.identifiable:
        verdict = Cell("● determined", tone="good")
    else:
        verdict = Cell("○ hardly determined", tone="fair")
    # a value that is not determined has no standard deviation either, regardless of its covariance
    return {
        "Quantity": words,
        **value_cells(value, std if isfinite(value) else nan, unit),
        "Verdict": verdict,
    }


def _gain_table(gains: DriveGains) -> Table:
    """Motor by motor."""
    rows: list[dict[str, str | Cell]] = []
    for k, joint in enumerate(gains.joints):
        value, std, poor = float(gains.values[k]), float(gains.std[k]), bool(gains.poorly_known[k])
        words, tone = ("○ poorly known", "fair") if poor else ("● known", "good")
        if not gains.identified:
            words, tone = "– given", "fair" if poor else "none"
        elif gains.by_gravity is not None and not gains.by_gravity[k]:
            words += ", only by inertia: gravity does not act on this joint"
        percent = percent_text(100 * std / abs(value) if value else nan)
        cells = value_cells(value, std, gains.units[k])
        rows.append({"Joint": joint, **cells, "Relative std": percent, "Verdict": Cell(words, tone=tone)})
    return table(
        rows,
        title="Drive gains",
        code=("Joint",),
        caption="Effort per unit of the measured quantity. Poorly known: above 5 %, since the effort of a joint is its "
        "current times its gain."
        + ("" if gains.identified else " These were given, with the standard deviations given."),
    )


def friction_section(estimate: Estimate) -> Section | None:
    """Friction curve of each joint, with its 95 % band."""
    curves = estimate.extra(FrictionCurves)
    if curves is None:
        return None
    panels = []
    for curve in curves:
        lines = with_interval("friction", curve.effort, curve.std)
        # An effort in N belongs to a prismatic joint.
        along = f"speed [{'m/s' if curve.unit == 'N' else 'rad/s'}]"
        panels.append(curve_figure(curve.joint, curve.unit, curve.speed, lines, along=along))
    return Section(
        "Friction",
        f"Effort against the motion of {number_of(len(panels), 'joint')}, over the speeds of the recordings.",
        (FigureGrid(panels=tuple(panels)),),
    )
