"""Contact geometry in CasADi, for nonlinear programs: `contact` in symbols (Gabiccini et al., Eqs. 3 and 21)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...exceptions import MissingExtra
from .contact import Wall, wall_array
from .shapes import Shape

try:
    import casadi
except ImportError as error:
    raise MissingExtra("impacts", "casadi") from error


def contact_functions(shape: Shape, walls: Sequence[Wall]) -> Any:
    """A CasADi function q (3,) -> (g (C,), N (3, C), T (3, C)), contacts ordered as in `contact`."""
    q = casadi.SX.sym("q", 3)
    gaps, normals, tangents = [], [], []
    for x, y, alpha in wall_array(walls):
        t, n = casadi.DM([np.cos(alpha), np.sin(alpha)]), casadi.DM([-np.sin(alpha), np.cos(alpha)])
        phi = alpha - casadi.pi / 2 - q[2]
        for c_x, c_y, a, b in shape.parts:
            r = casadi.vertcat(
                casadi.cos(q[2]) * c_x - casadi.sin(q[2]) * c_y,
                casadi.sin(q[2]) * c_x + casadi.cos(q[2]) * c_y,
            )
            h = a if a == b else casadi.sqrt((a * casadi.cos(phi)) ** 2 + (b * casadi.sin(phi)) ** 2)
            for k, (cosine, sine) in enumerate(shape.harmonics, start=2):
                h += cosine * casadi.cos(k * phi) + sine * casadi.sin(k * phi)
            h = casadi.SX(h)  # a circle's is a number, which has no Jacobian
            slope = -casadi.jacobian(h, q[2])  # by phi, which falls as theta grows
            gaps.append(casadi.dot(q[:2] - casadi.DM([x, y]) + r, n) - h)
            normals.append(casadi.vertcat(n, r[0] * n[1] - r[1] * n[0] + slope))
            tangents.append(casadi.vertcat(t, r[0] * t[1] - r[1] * t[0] + h))
    return casadi.Function(
        "contact", [q], [casadi.vertcat(*gaps), casadi.horzcat(*normals), casadi.horzcat(*tangents)]
    )
