"""What the robot carries, and what its drives make of a current."""

from __future__ import annotations

from math import isfinite, nan

from ...estimate import DriveGains, Estimate, Payload
from ..blocks import Cell, PageBlock, Section, Table, TableColumn
from ..numbers import (
    UNKNOWN,
    interval_text,
    percent_text,
    plus_minus,
    significant,
    std_text,
    unit_text,
    value_text,
)

POSSIBLE = {True: "could be real", False: "no real body", None: "not determined as a whole"}


def payload_section(estimate: Estimate) -> Section | None:
    """Only where a load or drive gains were looked for."""
    payload, gains = estimate.extra(Payload), estimate.extra(DriveGains)
    if payload is None and gains is None:
        return None
    blocks: list[PageBlock] = []
    if payload is not None:
        blocks.append(_payload_table(payload))
    if gains is not None:
        blocks.append(_gain_table(gains))
    return Section("Payload", _lead(payload, gains), tuple(blocks))


def _lead(payload: Payload | None, gains: DriveGains | None) -> str:
    said = []
    if payload is not None:
        if "mass" in payload.known:
            said.append(f"The load on {payload.link} is known to weigh {significant(payload.mass)} kg.")
        elif isfinite(payload.mass):
            said.append(
                f"The load on {payload.link} weighs {plus_minus(payload.mass, payload.mass_std)} kg "
                f"(95 %: {interval_text(payload.mass, payload.mass_std)})."
            )
        else:
            said.append(f"The recordings do not show what the load on {payload.link} weighs.")
    if gains is not None and gains.identified:
        well = int((~gains.poorly_known).sum())
        said.append(f"{well} of {len(gains.joints)} drive gains are known to 5 % or better.")
    return " ".join(said)


def _payload_table(payload: Payload) -> Table:
    """Quantity by quantity, with the verdict on each."""
    rows = [_row(payload, "mass", "mass", payload.mass, payload.mass_std, "kg")]
    for k, axis in enumerate("xyz"):
        name = f"center_of_mass.{axis}"
        value, std = float(payload.center_of_mass[k]), float(payload.center_of_mass_std[k])
        rows.append(_row(payload, name, f"centre of mass, {axis}", value, std, "m"))
    for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)):
        axes = f"{'xyz'[i]}{'xyz'[j]}"
        value, std = float(payload.inertia_at_com[i, j]), float(payload.inertia_at_com_std[i, j])
        name = f"inertia_at_com.{axes}"
        rows.append(_row(payload, name, f"inertia about the centre of mass, {axes}", value, std, "kg m^2"))
    return Table(
        title="The load",
        columns=(
            TableColumn("Quantity"),
            TableColumn("Value", numeric=True),
            TableColumn("Std", numeric=True),
            TableColumn("Unit"),
            TableColumn("95 % interval", numeric=True),
            TableColumn("Verdict"),
        ),
        rows=tuple(rows),
        caption=f"In the frame of {payload.link}. Determined: the 95 % interval is within a third of the load's own "
        "size (its mass; how far its matter is from the frame's origin; its largest principal moment). All ten "
        f"parameters together: {POSSIBLE[payload.physically_consistent]}.",
    )


def _row(payload: Payload, name: str, words: str, value: float, std: float, unit: str) -> tuple[Cell, ...]:
    if name in payload.known:
        verdict = Cell("– known before", tone="none")
    elif not isfinite(value):
        verdict = Cell("✕ not identifiable", tone="bad")
    elif name in payload.identifiable:
        verdict = Cell("● determined", tone="good")
    else:
        verdict = Cell("○ hardly seen", tone="fair")
    shown = isfinite(value)
    return (
        Cell(words),
        Cell(value_text(value, std) if shown else UNKNOWN),
        Cell(std_text(value, std) if shown else UNKNOWN),
        Cell(unit_text(unit)),
        Cell(interval_text(value, std) if shown and std > 0 else UNKNOWN),
        verdict,
    )


def _gain_table(gains: DriveGains) -> Table:
    """Motor by motor."""
    return Table(
        title="Drive gains",
        columns=(
            TableColumn("Joint", code=True),
            TableColumn("Gain", numeric=True),
            TableColumn("Std", numeric=True),
            TableColumn("Unit"),
            TableColumn("95 % interval", numeric=True),
            TableColumn("Relative std", numeric=True),
            TableColumn("Verdict"),
        ),
        rows=tuple(_gain_row(gains, k) for k in range(len(gains.joints))),
        caption="Effort per unit of what was measured. Poorly known: above 5 %, for all that a joint's currents say is "
        "scaled by its gain."
        + ("" if gains.identified else " These were given, with the standard deviations given."),
    )


def _gain_row(gains: DriveGains, k: int) -> tuple[Cell, ...]:
    value, std = float(gains.values[k]), float(gains.std[k])
    poor = bool(gains.poorly_known[k])
    inertial = gains.by_gravity is not None and not gains.by_gravity[k]
    verdict = "○ poorly known" if poor else "● known"
    if inertial and gains.identified:
        verdict += ", by inertia alone: gravity never loads this joint"
    return (
        Cell(gains.joints[k]),
        Cell(value_text(value, std)),
        Cell(std_text(value, std)),
        Cell(unit_text(gains.units[k])),
        Cell(interval_text(value, std) if std > 0 else UNKNOWN),
        Cell(percent_text(100 * std / abs(value) if value else nan)),
        Cell(
            verdict if gains.identified else "– given",
            tone="fair" if poor else "good" if gains.identified else "none",
        ),
    )
