"""Parameters that all drops share: each declared once, with unit, scale, prior and bounds.

theta holds them in this order, and after them modes of the deviation of the wall from a straight line, a smooth curve
along it, the same in all drops. At s from its point the wall is higher than the line by

    f(s) = sum_j z_j phi_j(s),    phi = B(s) U Lambda^(-1/2)

with B cubic splines on equally spaced knots, D the second differences of their coefficients, and U Lambda U^T = D^T D
without its two eigenvalues of 0: they belong to the line itself, its height and its slope. So all z_j have the same
variance q if second differences have (an integrated random walk), and q is a tolerance (`pooled_problem`). Beyond the
last knots f is constant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline

from ...arrays import Float, Matrix, Vector

MODE_SCALE = 1e-5
"""Scale of a mode of the wall's unevenness [m]."""


@dataclass(frozen=True)
class ContactParameter:
    """One component of theta.

    Args:
        name, unit: of its value. meaning: in words.
        scale: typical change, which makes the normal equations well scaled.
        prior_std: about 0; infinite: no prior. lower, upper: bounds.
        by_size: whether prior and bounds are relative to the body's size, not in `unit`.
        corners: whether only a polygon has it.
    """

    name: str
    unit: str
    meaning: str
    scale: float
    prior_std: float = np.inf
    lower: float = -np.inf
    upper: float = np.inf
    by_size: bool = False
    corners: bool = False


PARAMETERS = (
    ContactParameter("inertia_to_mass", "m^2", "J/m", 1e-4),
    ContactParameter(
        "corner_radius", "m", "radius of the corners", 1e-3, 0.25, 0.0, 0.5, by_size=True, corners=True
    ),
    ContactParameter(
        "shape_offset_x", "m", "center of the shape from the center of mass", 1e-3, 0.1, by_size=True
    ),
    ContactParameter("shape_offset_y", "m", "the same along y", 1e-3, 0.1, by_size=True),
    ContactParameter("angle_offset", "rad", "angle of the body minus tracked angle", 1e-2, 0.1),
    ContactParameter("floor_height", "m", "height of the floor above the wall", 1e-3, 0.25, by_size=True),
    ContactParameter("floor_slope", "rad", "slope of the floor minus slope of the wall", 1e-2, 0.05),
    ContactParameter("contact_lag", "s", "lag of the impulse behind the touch, at 1 m/s", 1e-4, 1e-3),
    ContactParameter(
        "elongation", "1", "outline longer along x and shorter along y, by this part", 1e-3, 0.05,
        corners=True,
    ),
    ContactParameter(
        "skew", "1", "the same between the diagonals", 1e-3, 0.05, corners=True
    ),
    ContactParameter("resting_lift", "m", "height of a resting body above its corners", 1e-4, 0.01, by_size=True),
    ContactParameter("lag_power", "1", "power of the speed with which the lag grows", 0.1, 0.5, lower=-0.95, upper=1.0),
    # the last four are also determined by frames in flight: `OF_FLIGHTS`
    ContactParameter("tracked_offset_x", "m", "tracked point from the center of mass", 1e-3, 0.1, by_size=True),
    ContactParameter("tracked_offset_y", "m", "the same along y", 1e-3, 0.1, by_size=True),
    ContactParameter("linear_drag", "1/s", "drag of the velocity", 0.1, 1.0),
    ContactParameter("angular_drag", "1/s", "drag of the spin", 0.1, 1.0),
)  # fmt: skip
SHARED = tuple(parameter.name for parameter in PARAMETERS)
S = len(SHARED)
COLUMN = {name: k for k, name in enumerate(SHARED)}
"""Column of each parameter in theta."""
UNITS = tuple(parameter.unit for parameter in PARAMETERS)

INERTIA, ANGLE, LIFT = COLUMN["inertia_to_mass"], COLUMN["angle_offset"], COLUMN["resting_lift"]
HEIGHT, SLOPE = COLUMN["floor_height"], COLUMN["floor_slope"]
LAG, POWER = COLUMN["contact_lag"], COLUMN["lag_power"]

OF_CORNERS = [k for k, parameter in enumerate(PARAMETERS) if parameter.corners]
SHAPE_OFFSET = slice(COLUMN["shape_offset_x"], COLUMN["shape_offset_y"] + 1)
OF_FLIGHTS = slice(COLUMN["tracked_offset_x"], COLUMN["angular_drag"] + 1)
"""Parameters that frames in flight determine as well, in the order of `flights`: offset, then drag."""


def scales(count: int) -> Vector:
    """(s,) scale of each component of theta (s,)."""
    return np.append([parameter.scale for parameter in PARAMETERS], np.full(count - S, MODE_SCALE))


def prior_precisions(size: float) -> Vector:
    """(S,) precisions of the priors about 0, for a body of this size [m]; 0 where there is none."""
    std = [parameter.prior_std * (size if parameter.by_size else 1.0) for parameter in PARAMETERS]
    return np.asarray(1 / np.array(std) ** 2)


def bounds(size: float) -> tuple[Vector, Vector]:
    """(S,) lower and upper bounds, for a body of this size [m]."""
    limits = np.array([(parameter.lower, parameter.upper) for parameter in PARAMETERS])
    lower, upper = (limits * np.array([[size if parameter.by_size else 1.0] for parameter in PARAMETERS])).T
    return lower, upper


DEGREE = 3


@dataclass(frozen=True, eq=False)
class Unevenness:
    """Modes of a wall's deviation.

    Args:
        knots: (n + 4,) of the splines, equally spaced [m]. modes: (n, K) U Lambda^(-1/2).
    """

    knots: Float[np.ndarray, "k"]
    modes: Float[np.ndarray, "n K"]

    def at(self, s: Vector) -> tuple[Float[np.ndarray, "I K"], Float[np.ndarray, "I K"]]:
        """phi and phi' at (I,) places along the wall [m]."""
        low, high = self.knots[DEGREE], self.knots[-DEGREE - 1]
        inside = np.clip(s, low, high)
        curves = BSpline(self.knots, self.modes, DEGREE)
        slopes = curves.derivative()(inside) * ((s > low) & (s < high))[:, None]
        return np.asarray(curves(inside)), np.asarray(slopes)


def unevenness(low: float, high: float, spacing: float) -> Unevenness:
    """From `low` to `high` along the wall, with knots at most `spacing` apart [m]."""
    steps = max(int(np.ceil((high - low) / spacing)), 2)
    knots = low + (high - low) / steps * np.arange(-DEGREE, steps + DEGREE + 1)
    differences: Matrix = np.diff(np.eye(steps + DEGREE), 2, axis=0)
    values, directions = np.linalg.eigh(differences.T @ differences)
    # eigenvalues rise: the first two are those of height and slope
    return Unevenness(knots, directions[:, 2:] / np.sqrt(values[2:]))
