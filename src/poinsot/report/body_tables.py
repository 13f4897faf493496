"""Tables of bodies: mass properties, uncertainty, and their change by the data."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

import numpy as np

from ..estimate import Body
from ..inertia.parameters import is_consistent
from .blocks import Cell, Table
from .body_facts import change, prior_of, spread
from .numbers import UNKNOWN, significant, value_text
from .tables import assumed_or_measured, share_cell, table
from .verdicts import ORIGINS, is_measured, origin

ROUNDING = 1e-12
"""Ratio of a product of inertia to the moments below which it is shown as zero."""


def body_table(bodies: Sequence[Body], title: str = "") -> Table:
    """Mass properties body by body."""
    remarks = ""
    if any(body.covariance is not None for body in bodies):
        remarks += (
            " Numbers end where their standard deviations do; files for other programs have them in full."
        )
    if not all(is_measured(body.prior_share) for body in bodies):
        remarks += " In brackets: no measurement, but what was known before."
    return table(
        [_body_row(body) for body in bodies],
        title=title,
        code=("Body",),
        caption="Centre of mass and axes in the body's frame. A body is possible if its pseudo-inertia (4 by 4) has "
        "no negative eigenvalue: positive mass, and principal moments that satisfy the triangle inequality."
        + remarks,
    )


def change_table(bodies: Sequence[Body], title: str = "") -> Table | None:
    """Change of each body by the data; None where there is no prior."""
    if all(body.prior_share is None and prior_of(body) is None for body in bodies):
        return None
    return table(
        [_change_row(body) for body in bodies],
        title=title,
        code=("Body",),
        caption="Mass ratio: now over before. Distance: of the pseudo-inertias, affine-invariant, so that no unit and "
        "no frame changes it; 0 is the same body, and one that is r times as heavy, all else scaled with it, is "
        f"2 |ln r| away. The shares are means over the ten directions of a body. {ORIGINS}",
    )


def _body_row(body: Body) -> dict[str, str | Cell]:
    std, I = spread(body), body.inertia_at_com
    if I is not None:
        # Rounding of a product of inertia that is zero would be shown with four digits.
        I = np.where(np.abs(I) < ROUNDING * np.abs(I).max(), 0.0, I)

    def shown(values: Any, stds: Any) -> Cell:
        if values is None:
            return Cell(UNKNOWN)
        pairs = zip(np.ravel(values).tolist(), np.ravel(stds).tolist(), strict=True)
        return assumed_or_measured(", ".join(value_text(v, s) for v, s in pairs), body.prior_share)

    moments, products = ([0, 1, 2], [0, 1, 2]), ([0, 0, 1], [1, 2, 2])
    eigenvalue = body.min_pseudo_inertia_eigenvalue
    return {
        "Body": body.name,
        "Mass [kg]": shown(body.mass, std.mass),
        "Centre of mass x, y, z\u00a0[m]": shown(body.center_of_mass, std.center_of_mass),
        "Inertia about it xx, yy, zz\u00a0[kg\u00a0m²]": shown(
            I if I is None else I[moments], std.inertia_at_com[moments]
        ),
        "xy, xz, yz [kg\u00a0m²]": shown(I if I is None else I[products], std.inertia_at_com[products]),
        "Least eigenvalue of its pseudo-inertia": UNKNOWN
        if eigenvalue is None
        else significant(eigenvalue, 3),
        "Verdict": possible_cell(body.physically_consistent),
    }


def _change_row(body: Body) -> dict[str, str | Cell]:
    prior, moved = prior_of(body), change(body)
    ratio, shift, distance = moved or (nan, nan, nan)
    return {
        "Body": body.name,
        "Before the data": Cell("– not known")
        if prior is None
        else possible_cell(bool(is_consistent(prior))),
        "Mass before [kg]": UNKNOWN if prior is None else significant(float(prior[0])),
        "Mass ratio": significant(ratio, 3, padded=True),
        "Centre of mass moved by [cm]": significant(100 * shift, 2, padded=True),
        "Distance from before": significant(distance, 2, padded=True),
        "Where from": share_cell(body.prior_share),
        "Verdict": verdict_cell(body),
    }


def possible_cell(consistent: bool | None) -> Cell:
    """Whether the body is physically possible."""
    words, tone = {
        None: ("– not determined", "none"),
        True: ("● possible", "good"),
        False: ("✕ impossible", "bad"),
    }[consistent]
    return Cell(words, tone=tone)


def verdict_cell(body: Body) -> Cell:
    """Whether the body is physically possible, and the origin of its values."""
    word = origin(body.prior_share)
    if not body.physically_consistent or word is None:
        return possible_cell(body.physically_consistent)
    return Cell(f"{word.mark} possible, {word.value}", tone=word.tone)
