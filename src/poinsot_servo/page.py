"""The actuators on the page: a table to copy into a simulator, ratios, and every joint's motion."""

from __future__ import annotations

import numpy as np

from poinsot.estimate import Estimate
from poinsot.report import Section, table_of_rows
from poinsot.report.blocks import section_of
from poinsot.report.figures.curves import effort_grid

from .actuator import DESCRIPTIONS
from .result import Actuators


def actuator_section(estimate: Estimate) -> Section | None:
    """What a simulator needs of each joint, and measured beside simulated positions."""
    found = estimate.extra(Actuators)
    if found is None:
        return None
    used = [
        name
        for name in DESCRIPTIONS
        if any(getattr(each, name) not in (0.0, np.inf) for each in found.actuators)
    ]
    several = set(found.friction_laws.values()) != {"M1"}
    rows = [
        {"joint": each.name}
        | ({"law of dry friction": found.friction_laws[each.name]} if several else {})
        | {name: f"{getattr(each, name):.5g}" for name in used}
        | {"scale of torques": "known" if found.scale_known[each.name] else "not known: ratios only"}
        for each in found.actuators
    ]
    ratios = [
        {"joint": r.joint, "ratio": r.name, "value": f"{r.value:.4g}", "std": f"{r.std:.2g}", "unit": r.unit}
        for r in found.ratios
        if r.identifiable
    ]
    errors = [
        {"recording": name} | {joint: f"{1e3 * rms:.3g}" for joint, rms in joints.items()}
        for name, joints in found.rms.items()
    ]
    return section_of(
        "Actuators",
        f"{len(found.actuators)} joints, simulated open loop from their commands over whole recordings.",
        table_of_rows(rows, title="For a simulator", caption="In SI units; inf: no limit was reached."),
        table_of_rows(ratios, title="Ratios to the stiffness") if ratios else None,
        table_of_rows(errors, title="Root mean square error of the simulated position [mrad]"),
        effort_grid(estimate.fit),
    )
