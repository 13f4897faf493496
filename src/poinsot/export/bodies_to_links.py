"""Assign the bodies of an estimate to the links of a description.

Links that are joined by fixed (or locked) joints are one body of the estimate, whose parameters are about the frame of
the joint that carries it. With T_bl the placement of link l in it,

    pi_b = sum over l of change_frame(T_bl, pi_l),

only one of its links changes: the body's own, or the heaviest if the own one is a placeholder. It gets the difference
to the others,

    pi_l = change_frame(T_bl^-1, pi_b - sum over the others),

if that is physically possible; otherwise it gets all of pi_b, and the inertia of the others is removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..arrays import Vector
from ..exceptions import InvalidModel, listing
from ..inertia.parameters import change_frame, is_consistent
from .description import Description

PLACEHOLDER = 0.01
"""A link with less than this fraction of its body's mass is a placeholder for a frame."""

UNCHANGED = 1e-13
"""A link whose parameters change by no more than this, relative to m, sqrt(m tr I) >= |h| and tr I, keeps its text."""


class Shares(NamedTuple):
    """New parameters of the links of a body.

    Args:
        inertials: link -> (10,) pi in its own frame, or None: inertia removed. Unchanged links are left out.
        note: a sentence for the user, or "".
    """

    inertials: dict[str, Vector | None]
    note: str = ""


def share(body: str, pi: Vector, placements: Mapping[str, np.ndarray], source: Description) -> Shares:
    """Compute the new parameters of the links of a body.

    Args:
        body: its name. pi: (10,) about the frame of its joint.
        placements: link -> (4, 4) T_bl, the body's own link first.
        source: the description with the present parameters.

    Raises:
        InvalidModel: if a link is missing in the description.
    """
    missing = [link for link in placements if link not in source.links]
    if missing:
        raise InvalidModel(
            f"{source.path} has no link {listing(missing)}, which the robot had when it was read"
        )
    own = {link: inertial for link in placements if (inertial := source.inertial(link)) is not None}
    shaped = [link for link in placements if source.has_shape_inertia(link)]
    masses = {link: float(own[link][0]) if link in own else 0.0 for link in placements}
    main, heaviest = next(iter(placements)), max(masses, key=lambda link: masses[link])
    # The frame of a joint is often a link of a gram, which should not carry the difference to all
    # others.
    carrier = heaviest if masses[main] < PLACEHOLDER * masses[heaviest] else main
    others = [l for l in placements if l != carrier and (l in shaped or (l in own and own[l].any()))]
    T_lb = np.linalg.inv(placements[carrier])
    if set(others).isdisjoint(shaped):
        rest = pi - sum((change_frame(placements[l], own[l]) for l in others), np.zeros(10))
        # An impossible whole, which only force=True brings here, has no possible remainder to ask
        # for.
        if (is_consistent(rest) and rest[0] > 0) or not is_consistent(pi):
            return Shares(_unless_same(carrier, change_frame(T_lb, rest), own))
        why = "since the remainder would be physically impossible"
    else:
        why = "since it was computed from shapes, not given as numbers"
    note = (
        f"{carrier} has the inertia of the whole body {body}; that of {listing(others)}, fixed to it, is removed, "
        f"{why}."
    )
    whole = change_frame(T_lb, pi)
    return Shares({**_unless_same(carrier, whole, own), **dict.fromkeys(others)}, note if others else "")


def _unless_same(link: str, pi: Vector, own: Mapping[str, Vector]) -> dict[str, Vector | None]:
    """The link's new parameters, if they differ from the present ones."""
    m, trace = abs(pi[0]), np.abs(pi[[4, 6, 9]]).sum()
    size = np.array([m, *3 * [np.sqrt(m * trace)], *6 * [trace]])
    kept = np.all(np.abs(pi - own.get(link, np.zeros(10))) <= UNCHANGED * size)
    return {} if kept else {link: pi}
