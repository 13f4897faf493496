"""Tables of bodies: mass properties, uncertainty, and their change by the data."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan

import numpy as np

from ..estimate import Body
from ..inertia.parameters import is_consistent
from .blocks import Cell, Table, TableColumn
from .body_facts import change, prior_of, spread
from .numbers import UNKNOWN, significant, value_text
from .origins import ORIGINS, is_measured, origin
from .tables import assumed_or_measured, share_cell

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
    return Table(
        title=title,
        columns=(
            TableColumn("Body", code=True),
            TableColumn("Mass [kg]", numeric=True),
            TableColumn("Centre of mass x, y, z\u00a0[m]", numeric=True),
            TableColumn("Inertia about it xx, yy, zz\u00a0[kg\u00a0m²]", numeric=True),
            TableColumn("xy, xz, yz [kg\u00a0m²]", numeric=True),
            TableColumn("Least eigenvalue of its pseudo-inertia", numeric=True),
            TableColumn("Verdict"),
        ),
        rows=tuple(_body_row(body) for body in bodies),
        caption="Centre of mass and axes in the body's frame. A body is possible if its pseudo-inertia (4 by 4) has "
        "no negative eigenvalue: positive mass, and principal moments that satisfy the triangle inequality."
        + remarks,
    )


def change_table(bodies: Sequence[Body], title: str = "") -> Table | None:
    """Change of each body by the data; None where there is no prior."""
    if all(body.prior_share is None and prior_of(body) is None for body in bodies):
        return None
    return Table(
        title=title,
        columns=(
            TableColumn("Body", code=True),
            TableColumn("Before the data"),
            TableColumn("Mass before [kg]", numeric=True),
            TableColumn("Mass ratio", numeric=True),
            TableColumn("Centre of mass moved by [cm]", numeric=True),
            TableColumn("Distance from before", numeric=True),
            TableColumn("Where from", numeric=True),
            TableColumn("Verdict"),
        ),
        rows=tuple(_change_row(body) for body in bodies),
        caption="Mass ratio: now over before. Distance: of the pseudo-inertias, affine-invariant, so that no unit and "
        "no frame changes it; 0 is the same body, and one that is r times as heavy, all else scaled with it, is "
        f"2 |ln r| away. The shares are means over the ten directions of a body. {ORIGINS}",
    )


def _body_row(body: Body) -> tuple[Cell, ...]:
    std, I = spread(body), body.inertia_at_com
    triples: list[list[tuple[float, float]] | None] = [None, None, None]
    if body.center_of_mass is not None:
        triples[0] = [
            (float(c), float(s)) for c, s in zip(body.center_of_mass, std.center_of_mass, strict=True)
        ]
    if I is not None:
        I = np.where(np.abs(I) < ROUNDING * np.abs(I).max(), 0.0, I)
        entries = [
            [(float(I[r, c]), float(std.inertia_at_com[r, c])) for r, c in places]
            for places in (((0, 0), (1, 1), (2, 2)), ((0, 1), (0, 2), (1, 2)))
        ]
        triples[1:] = entries
    eigenvalue = body.min_pseudo_inertia_eigenvalue
    return (
        Cell(body.name),
        assumed_or_measured(
            UNKNOWN if body.mass is None else value_text(body.mass, std.mass), body.prior_share
        ),
        *(
            assumed_or_measured(
                UNKNOWN if triple is None else ", ".join(value_text(v, s) for v, s in triple),
                body.prior_share,
            )
            for triple in triples
        ),
        Cell(UNKNOWN if eigenvalue is None else significant(eigenvalue, 3)),
        possible_cell(body.physically_consistent),
    )


def _change_row(body: Body) -> tuple[Cell, ...]:
    prior, moved = prior_of(body), change(body)
    ratio, shift, distance = moved or (nan, nan, nan)
    return (
        Cell(body.name),
        Cell("– not known") if prior is None else possible_cell(bool(is_consistent(prior))),
        Cell(UNKNOWN if prior is None else significant(float(prior[0]))),
        *(
            Cell(UNKNOWN if isnan(x) else significant(x, digits, padded=True))
            for x, digits in ((ratio, 3), (100 * shift, 2), (distance, 2))
        ),
        share_cell(body.prior_share),
        verdict_cell(body),
    )


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
    return Cell(f"{word.mark} possible, {word.value}", tone="good" if word.measured else "assumed")
