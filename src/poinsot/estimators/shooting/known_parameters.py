"""What is known of a robot's parameters beforehand, mapped to theta (seed 001, Sect. VI-A).

Knowledge is of quantities g(theta) that mean something, each a mean and a standard deviation:

    m.trunk  cx.trunk  cy.trunk  cz.trunk        mass [kg] and centre of mass in the body's frame [m]
    mx.trunk ... zz.trunk                        the other nine of pi, about the body frame's origin
    fv3, ia3, thrust, ...                        parameters of joints and gains that are open

theta_bar is the theta nearest to the description's with g(theta_bar) = mean, and with G the slope of g there

    information = G^T diag(1 / std^2) G

Besides, each coordinate of the charts of open bodies can be assumed to be within some distance of the description's:
in log-Cholesky coordinates 0.3 says "most likely within a third". Both are told apart: what was assumed does not count
as knowledge when an estimate says what is identifiable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...arrays import Matrix, Vector
from ...exceptions import InvalidMethod, listing, nearest
from ...models.open_parameters import OpenParameters
from ...parameters import INERTIAL_SYMBOLS, Normal
from .problem import Known

CENTERS = ("cx", "cy", "cz")
MOST_STEPS, LONGEST, EXACT = 100, 0.5, 1e-10
"""To the theta with the given means: how many, how long in theta, and how close in standard deviations is exact."""


@dataclass(frozen=True, eq=False)
class KnownParameters:
    """What is known of theta.

    Args:
        parameters: of which theta is.
        quantities: name -> mean and standard deviation, in its own unit.
        chart_std: of each coordinate of the open bodies' charts, around the description; None: nothing is assumed.

    Raises:
        InvalidMethod: if a quantity is none of this theta, or no possible body has the means.
    """

    parameters: OpenParameters
    quantities: Mapping[str, Normal] = field(default_factory=dict)
    chart_std: float | None = None

    def __post_init__(self) -> None:
        known = tuple(self._rows)
        for name in self.quantities:
            if name not in known:
                of = f"open are {listing(known, 30)}" if known else "no parameters are open"
                raise InvalidMethod(f"nothing can be known of {name!r}{nearest(name, known)}: {of}")
        if self.chart_std is not None and not (np.isfinite(self.chart_std) and self.chart_std > 0):
            raise InvalidMethod(f"the standard deviation assumed must be above 0, not {self.chart_std:g}")

    @property
    def _rows(self) -> dict[str, tuple[int, int]]:
        """Name of each quantity that there is -> place of its body or -1, place in pi, of its centre, or in theta."""
        p = self.parameters
        rows: dict[str, tuple[int, int]] = {}
        for k, body in enumerate(p.bodies):
            rows |= {f"{symbol}.{body}": (k, i) for i, symbol in enumerate(INERTIAL_SYMBOLS)}
            rows |= {f"{symbol}.{body}": (k, 10 + i) for i, symbol in enumerate(CENTERS)}
        first = 10 * len(p.bodies)
        return rows | {name: (-1, first + i) for i, name in enumerate((*p.joints, *p.gains))}

    def of(self, theta: Vector) -> tuple[Vector, Matrix]:
        """g and G of the quantities of which something is known."""
        p, rows = self.parameters, self._rows
        values = p.values(theta)
        g, G = np.empty(len(self.quantities)), np.zeros((len(self.quantities), p.size))
        for at, name in enumerate(self.quantities):
            body, place = rows[name]
            if body < 0:
                g[at], G[at, place] = theta[place], 1.0
                continue
            pi, cut = values.bodies[body], slice(10 * body, 10 * body + 10)
            slope = np.eye(10) if values.slope is None else values.slope[body]
            if place < 10:
                g[at], G[at, cut] = pi[place], slope[place]
            else:
                axis = place - 9
                g[at] = pi[axis] / pi[0]
                G[at, cut] = (slope[axis] - g[at] * slope[0]) / pi[0]
        return g, G

    @property
    def assumed(self) -> Matrix:
        """(p, p) information of what is assumed."""
        information = np.zeros((self.parameters.size, self.parameters.size))
        if self.chart_std is not None:
            places = range(10 * len(self.parameters.bodies))
            information[places, places] = self.chart_std**-2
        return information

    def known(self) -> Known:
        """theta_bar with all information.

        Raises:
            InvalidMethod: if no possible body has the means.
        """
        mean = np.array([each.mean for each in self.quantities.values()])
        std = np.array([each.std for each in self.quantities.values()])
        theta = self.parameters.nominal_theta.copy()
        for _ in range(MOST_STEPS):
            g, G = self.of(theta)
            away = (mean - g) / std
            if np.abs(away).max(initial=0.0) < EXACT:
                break
            step = np.linalg.lstsq(G / std[:, None], away, rcond=1e-12)[0]
            theta = theta + step * min(1.0, LONGEST / np.abs(step).max())
        else:
            asked = listing(f"{name} = {each.mean:g}" for name, each in self.quantities.items())
            raise InvalidMethod(
                f"no possible body has {asked}: mend what is known of its mass, centre of mass and moments"
            )
        G = self.of(theta)[1]
        return Known(theta, self.assumed + G.T @ (G / (std**2)[:, None]))
