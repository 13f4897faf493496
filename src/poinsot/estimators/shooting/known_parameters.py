"""Priors of physical parameters of a robot, mapped to theta (Martinez et al. 2024, Sect. VI-A).

A prior is a mean and a standard deviation of a physical quantity g(theta):

    m.trunk  cx.trunk  cy.trunk  cz.trunk        mass [kg] and centre of mass in the body's frame [m]
    mx.trunk ... zz.trunk                        the other nine of pi, about the body frame's origin
    fv3, ia3, thrust, ...                        parameters of joints and gains that are open
    bias.gyro.imu.x@run:2                        a bias at a knot, less that at the knot before

theta_bar is the theta nearest to the description's with g(theta_bar) = mean, and with G the slope of g there

    information = G^T diag(1 / std^2) G

Besides, `chart_std` is a standard deviation of each coordinate of the charts of open bodies around the description: 0.3
in log-Cholesky coordinates is about a third of the value. It is kept apart from the priors: an estimate does not call a
parameter identifiable that only `chart_std` determines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...arrays import Brief, Matrix, Vector
from ...exceptions import InvalidMethod, listing, nearest
from ...models.robot.open_parameters import OpenParameters
from ...models.sensor_errors import KNOT
from ...parameters import Normal
from .problem import GaussianPrior

CENTERS = ("cx", "cy", "cz")
MAX_ITERATIONS, LONGEST_STEP, TOLERANCE = 100, 0.5, 1e-10
"""Of the search for the theta with the given means: iterations, change of a component, distance in std."""


@dataclass(frozen=True, eq=False, repr=False)
class KnownParameters(Brief):
    """Priors of theta.

    Args:
        parameters: the robot and its open parameters.
        quantities: name -> mean and standard deviation, in its own unit.
        chart_std: of each coordinate of the open bodies' charts, around the description; None: no such prior.

    Raises:
        InvalidMethod: if a quantity is not a function of this theta, or no possible body has the means.
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
    def _rows(self) -> dict[str, tuple[int, int | None, int | None]]:
        """Name of each quantity -> place in the physical parameters of it, its divisor, and what is taken off."""
        p, before = self.parameters, dict[str, int]()
        rows: dict[str, tuple[int, int | None, int | None]] = {}
        for k, name in enumerate(p.physical_names):
            bias, _, knot = name.partition(KNOT)
            walk = f"{bias}{knot.rpartition(':')[0]}"
            rows[name] = k, None, before.get(walk, before.get(bias)) if knot else None
            before[walk] = k
        for k, body in enumerate(p.bodies):  # a centre of mass is m c over m
            rows |= {
                f"{symbol}.{body}": (10 * k + axis, 10 * k, None)
                for axis, symbol in enumerate(CENTERS, start=1)
            }
        return rows

    def of(self, theta: Vector) -> tuple[Vector, Matrix]:
        """g and G of the quantities that have a prior."""
        values, slopes = self.parameters.physical(theta), self.parameters.physical_slope(theta)
        rows = self._rows
        g, G = np.empty(len(self.quantities)), np.zeros((len(self.quantities), self.parameters.size))
        for at, name in enumerate(self.quantities):
            row, over, less = rows[name]
            g[at], G[at] = values[row], slopes[row]
            if less is not None:
                g[at], G[at] = g[at] - values[less], G[at] - slopes[less]
            if over is not None:
                g[at] /= values[over]
                G[at] = (slopes[row] - g[at] * slopes[over]) / values[over]
        return g, G

    @property
    def assumed(self) -> Matrix:
        """(p, p) information of `chart_std`."""
        information = np.zeros((self.parameters.size, self.parameters.size))
        if self.chart_std is not None:
            places = range(10 * len(self.parameters.bodies))
            information[places, places] = self.chart_std**-2
        return information

    def known(self) -> GaussianPrior:
        """The prior of theta: theta_bar with all information."""
        mean = np.array([prior.mean for prior in self.quantities.values()])
        std = np.array([prior.std for prior in self.quantities.values()])
        theta = self.parameters.nominal_theta.copy()
        for _ in range(MAX_ITERATIONS):
            g, G = self.of(theta)
            away = (mean - g) / std
            if np.abs(away).max(initial=0.0) < TOLERANCE:
                break
            # the shortest step: what no prior is about stays as described
            step = np.linalg.lstsq(G / std[:, None], away, rcond=1e-12)[0]
            # charts are exponential: a longer step may leave the range of numbers
            theta = theta + step * min(1.0, LONGEST_STEP / np.abs(step).max())
        else:
            asked = listing(f"{name} = {prior.mean:g}" for name, prior in self.quantities.items())
            raise InvalidMethod(
                f"no possible body has {asked}: mend what is known of its mass, centre of mass and moments"
            )
        G = self.of(theta)[1]
        return GaussianPrior(theta, self.assumed + G.T @ (G / (std**2)[:, None]))
