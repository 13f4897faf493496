"""Bodies: standard deviations of their mass properties, their change by the data, and tables of both.

Standard deviations of centre of mass and inertia follow to first order (`slopes_at_com`) from the covariance of pi, and
this from the covariance of the body's log-Cholesky coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan, sqrt
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Vector
from ..estimate import Body
from ..exceptions import ImpossibleBody
from ..inertia.charts.log_cholesky import LogCholesky
from ..inertia.divergence import AffineInvariant
from ..inertia.parameters import center_of_mass, is_consistent, slopes_at_com
from .blocks import Cell, Table
from .numbers import UNKNOWN, significant, value_text
from .tables import assumed_or_measured, share_cell, table
from .verdicts import ORIGINS, is_measured, origin

ROUNDING = 1e-12
"""Ratio of a product of inertia to the moments below which it is shown as zero."""


class BodyChange(NamedTuple):
    """Change of a body from the prior to the estimate; NaN where the prior was physically impossible.

    The shift is of the centre of mass [m], the distance the affine-invariant one; it is infinite from a body to a flat
    one.
    """

    mass_ratio: float
    shift: float
    distance: float


def prior_of(body: Body) -> Vector | None:
    """(10,) pi of the prior; None where it is incomplete."""
    return body.prior if body.prior is not None and np.isfinite(body.prior).all() else None


def spread(body: Body) -> Vector:
    """(13,) standard deviations of mass [kg], centre of mass [m] and inertia about it [kg m^2]; NaN where unknown."""
    unknown = np.full(13, nan)
    if body.inertial is None or body.covariance is None:
        return unknown
    try:
        D = LogCholesky().jacobian(LogCholesky().from_inertial(body.inertial))
    except ImpossibleBody:
        return unknown
    covariance = D @ body.covariance @ D.T
    slopes = slopes_at_com(body.inertial)
    # A variance of zero may be negative by rounding.
    return np.sqrt(np.maximum(np.einsum("ka,kl,la->a", slopes, covariance, slopes), 0.0))


def change(body: Body) -> BodyChange | None:
    """Change by the data; None where prior or estimate is unknown."""
    prior = prior_of(body)
    if body.inertial is None or prior is None:
        return None
    # A centre of mass needs a mass; `not >` also takes NaN out.
    if not (prior[0] > 0 and body.inertial[0] > 0):
        return BodyChange(nan, nan, nan)
    shift = float(np.linalg.norm(center_of_mass(body.inertial) - center_of_mass(prior)))
    try:
        distance = sqrt(float(AffineInvariant().between(body.inertial, prior)))
    except ImpossibleBody:
        distance = nan
    return BodyChange(float(body.inertial[0] / prior[0]), shift, distance)


def body_table(bodies: Sequence[Body], title: str = "") -> Table:
    """Mass properties body by body."""
    remarks = ""
    if any(body.covariance is not None for body in bodies):
        remarks = " Numbers are rounded to their standard deviations; exported files have all digits."
    if not all(is_measured(body.prior_share) for body in bodies):
        remarks += " In brackets: from the prior, not measured."
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
        caption="Mass ratio: estimate over prior. Distance: affine-invariant distance of the pseudo-inertias, which "
        "depends on no unit or frame; it is 0 for the same body, and 2 |ln r| for one with all ten parameters r times "
        f"as large. The shares are means over the ten directions of a body. {ORIGINS}",
    )


def _body_row(body: Body) -> dict[str, str | Cell]:
    std, I = spread(body), body.inertia_at_com
    if I is not None:
        # Rounding of a product of inertia that is zero would be shown with four digits.
        I = np.where(np.abs(I) < ROUNDING * np.abs(I).max(), 0.0, I)

    def shown(values: Any, stds: Any, entries: slice | list[int] = slice(None)) -> Cell:
        if values is None:
            return Cell(UNKNOWN)
        pairs = zip(np.ravel(values)[entries].tolist(), np.ravel(stds)[entries].tolist(), strict=True)
        return assumed_or_measured(", ".join(value_text(v, s) for v, s in pairs), body.prior_share)

    eigenvalue = body.min_pseudo_inertia_eigenvalue
    return {
        "Body": body.name,
        "Mass [kg]": shown(body.mass, std[0]),
        "Centre of mass x, y, z\u00a0[m]": shown(body.center_of_mass, std[1:4]),
        "Inertia about it xx, yy, zz\u00a0[kg\u00a0m²]": shown(I, std[4:], [0, 4, 8]),
        "xy, xz, yz [kg\u00a0m²]": shown(I, std[4:], [1, 2, 5]),
        "Least eigenvalue of its pseudo-inertia": significant(nan if eigenvalue is None else eigenvalue, 3),
        "Verdict": possible_cell(body.physically_consistent),
    }


def _change_row(body: Body) -> dict[str, str | Cell]:
    prior, moved = prior_of(body), change(body)
    ratio, shift, distance = moved or (nan, nan, nan)
    before = Cell("– not known") if prior is None else possible_cell(bool(is_consistent(prior)))
    word, verdict = origin(body.prior_share), possible_cell(body.physically_consistent)
    if body.physically_consistent and word is not None:
        verdict = Cell(f"{word.mark} possible, {word.value}", tone=word.tone)
    return {
        "Body": body.name,
        "Before the data": before,
        "Mass before [kg]": significant(nan if prior is None else float(prior[0])),
        "Mass ratio": significant(ratio, 3, padded=True),
        "Centre of mass moved by [cm]": significant(100 * shift, 2, padded=True),
        "Distance from before": significant(distance, 2, padded=True),
        "Where from": share_cell(body.prior_share),
        "Verdict": verdict,
    }


def possible_cell(consistent: bool | None) -> Cell:
    """Whether the body is physically possible."""
    if consistent is None:
        return Cell("– not determined", tone="none")
    return Cell("● possible", tone="good") if consistent else Cell("✕ impossible", tone="bad")
