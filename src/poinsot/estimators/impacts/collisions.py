"""Residuals of an impact: continuity, contact and consistency of the flights on both sides of it.

At the instant tau, the flight before ends in (p-, theta-, v-, omega-) and the one after begins in (p+, theta+, v+,
omega+). With the mean pose of both, the body's angle theta + phi, the struck part's center c about the
shape's center e, all in the body's frame, and the part's support h in the direction psi = alpha - pi/2 - theta - phi
(`models.planar.shapes`),

    GQ  = R(theta + phi) (c + e) - h n + h' t

    continuity      p+ - p- = 0,  theta+ - theta- = 0
    contact         g = (p - p_0) . n + GQ . n - f = lambda u_n,     u_n = n . v- + omega- t . GQ
    consistency     omega+ - omega- - cross(GQ, v+ - v-) / (J/m) = 0          (Eqs. 31 and 32)

with f the wall's unevenness at the contact (`collisions.PARAMETERS`). The impulses by mass are the jumps of the linear
velocity, c_n = n . (v+ - v-) and c_t = t . (v+ - v-); they are not unknowns. A real impact takes time. The wall deforms
from first contact on, and the center of the impulse, tau, is later than that by the lag lambda, when an undisturbed
body would be lambda |u_n| inside the wall. The wall acts as a spring with a force ~ depth^(n - 1) on the effective mass
of the struck point, which is b^2 = 1 / (1 + x^2 / (J/m)) of the body's for a lever x along the wall. So the depth is
proportional to (b |u_n|)^(2 / n), and with 2 / n = 1 + p, where p = 0 for a linear spring and -1 for a hard wall under
a soft layer,

    lambda = lambda_1 b^(1 + p) |u_n|^p,    |u_n| in m/s

While the force acts the body turns as well. The lever of the whole impulse is that of the mean angle, weighted by the
force. For a bounce without loss this lies lambda / (n + 2) (omega+ - omega-) beyond the angle at tau: lambda / 4 for a
linear spring, whose force is a half sine, and 2 (1 + p) / (2 + p) times that otherwise. The consistency takes GQ there.

The contact is not a point, and the outline differs a little from the drawn one, so each residual has a tolerance. If
the centers of the normal impulse, of the tangential one and of their moment differ by dt, positions differ by
dt |jump of the rate|; a contact that is displaced by ds along the wall adds ds |v+ - v-| / (J/m) to the jump of omega.

A tracker that loses a fast body may skip a frame: then the frame after the impact is later by Delta than its clock
says, the same in all residuals of that impact.

**At rest** a body touches the floor, so the mean pose (p, theta) of the frames at rest determines the floor's height:

    e = (p - p_0) . n + GQ . n - f - lift = w

A polygon lies on two corners, a body without corners on one point. The position of a side does not depend on the
corners' radius. So rest determines the height of the floor in a drop, and heights above it at impacts on corners the
radius. No impulse acts at rest, so there is no lag. `lift` is the mean distance by which sides bulge between their
corners, dust beneath them included. w is the rest of it, from side to side and from drop to drop, and contains the
noise of the mean pose, a hundredth of a millimetre.

Derivatives are complex steps, exact to rounding: r(x + i h) = r(x) + i h r'(x) for h of 1e-20. Tabulated functions, the
support and the wall's unevenness, take complex arguments by their own derivatives. Columns are (before 6, tau, Delta,
after 6, theta); theta has the declared parameters (`collisions.PARAMETERS`), then the modes of the wall's unevenness.

**Parameters** are declared once, with unit, scale, prior and bounds. theta holds them in this order, and after them
modes of the deviation of the wall from a straight line, a smooth curve along it, the same in all drops. At s from its
point the wall is higher than the line by

    f(s) = sum_j z_j phi_j(s),    phi = B(s) U Lambda^(-1/2)

with B cubic splines on equally spaced knots, D the second differences of their coefficients, and U Lambda U^T = D^T D
without its two eigenvalues of 0: they belong to the line itself, its height and its slope. So all z_j have the same
variance q if second differences have (an integrated random walk), and q is a tolerance (`pool`). Beyond the
last knots f is constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial.polynomial import polyval
from scipy.interpolate import BSpline
from scipy.special import factorial

from ...arrays import Bool, Float, Inexact, Int, Matrix, Vector
from ...kernels import njit
from ...models.planar.body import Wall
from ...models.planar.shapes import Polygon, Shape, support_of

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
        curves, slopes = (curve(inside) for curve in self._curves)
        return np.asarray(curves), np.asarray(slopes * ((s > low) & (s < high))[:, None])

    @cached_property
    def _curves(self) -> tuple[BSpline, BSpline]:
        curves = BSpline(self.knots, self.modes, DEGREE)
        return curves, curves.derivative()


def unevenness(low: float, high: float, spacing: float) -> Unevenness:
    """From `low` to `high` along the wall, with knots at most `spacing` apart [m]."""
    steps = max(int(np.ceil((high - low) / spacing)), 2)
    knots = low + (high - low) / steps * np.arange(-DEGREE, steps + DEGREE + 1)
    differences: Matrix = np.diff(np.eye(steps + DEGREE), 2, axis=0)
    values, directions = np.linalg.eigh(differences.T @ differences)
    # eigenvalues rise: the first two are those of height and slope
    return Unevenness(knots, directions[:, 2:] / np.sqrt(values[2:]))


Numbers = Inexact[np.ndarray, "_"]
"""Real, or complex in a complex step."""
Shared = Inexact[np.ndarray, "s *each"]
"""theta (s,) of all impacts, or (s, I) of each: all complex steps are one call with as many copies of the impacts."""
OWN, LOST = 14, 7
"""Columns of an impact's derivatives before those by theta, and the one of Delta among them."""
TURNED = 0.25
"""Distance of the mean angle from the angle at tau, over the lag times the jump of omega, for a linear spring."""
SLOW = 0.05
"""Speed after some milliseconds of free fall; added in squares, so that slow contacts have a finite lag [m/s]."""
COMPLEX_STEP = 1e-20
GLIDE, SINK = 1 / factorial(np.arange(1, 13)), 1 / factorial(np.arange(2, 14))
"""Series of f / T and b / T^2 (`flights`) in -k T; the closed forms divide by k^2, which may be 0. Twelve terms are
exact to rounding up to |k T| of 1."""


@dataclass(frozen=True, eq=False)
class Collision:
    """Residuals of I impacts, with intermediate quantities.

    Args:
        r: (I, 5) continuity [m], [m], [rad], gap [m], consistency [rad/s].
        GQ: (I, 2) lever of the impulse [m]. before, after: (I, 6) states at tau. normal, tangent: (2,) of the wall.
        place: (I,) of the contact along the wall [m].

    Normal and tangent are (2, I) where each impact has its own theta.
    """

    r: Inexact[np.ndarray, "I 5"]
    GQ: Inexact[np.ndarray, "I 2"]
    before: Inexact[np.ndarray, "I 6"]
    after: Inexact[np.ndarray, "I 6"]
    normal: Inexact[np.ndarray, "2 *each"]
    tangent: Inexact[np.ndarray, "2 *each"]
    place: Numbers

    @property
    def jump(self) -> Inexact[np.ndarray, "I 3"]:
        """Jump of the velocity and of the angular velocity."""
        return self.after[:, 3:] - self.before[:, 3:]

    def contact_velocity(self, of: Inexact[np.ndarray, "I 6"]) -> Inexact[np.ndarray, "I 2"]:
        """(normal, tangential) velocity of the contact point [m/s]."""
        u = of[:, 3:5] + of[:, 5:6] * np.column_stack([-self.GQ[:, 1], self.GQ[:, 0]])
        return np.column_stack([u @ self.normal, u @ self.tangent])


def impact_quantities(hit: Collision) -> tuple[Numbers, Numbers, Numbers, Numbers, Bool[np.ndarray, "I"]]:
    """Normal and tangential impulses by mass [m/s], restitution -u_n+ / u_n-, |c_t| / c_n, and whether slip keeps its
    sign through the impact; each (I,), NaN where a divisor is 0.
    """
    before, after = hit.contact_velocity(hit.before), hit.contact_velocity(hit.after)
    normal, tangential = hit.jump[:, :2] @ hit.normal, hit.jump[:, :2] @ hit.tangent
    slides = (before[:, 1] * after[:, 1] > 0) & (tangential * before[:, 1] < 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        restitution = np.where(before[:, 0] != 0, -after[:, 0] / before[:, 0], np.nan)
        ratio = np.where(normal != 0, np.abs(tangential / normal), np.nan)
    return normal, tangential, restitution, ratio, slides


def carried(
    state: Inexact[np.ndarray, "I 6"], T: Numbers, drag: Inexact[np.ndarray, "2 *each"], gravity: float
) -> np.ndarray:
    """States (I, 6) after T (I,) [s], which may be negative."""
    T, fall = T[:, None], np.array([0.0, gravity, 0.0])
    z = -T * drag[[0, 0, 1]].T
    s, v, f = state[:, :3], state[:, 3:], T * polyval(z, GLIDE)
    return np.hstack([s + f * v - T * T * polyval(z, SINK) * fall, np.exp(z) * v - f * fall])


@njit(cache=True)
def _supports(parts: np.ndarray, harmonics: np.ndarray, psi: np.ndarray) -> np.ndarray:
    """(I, 3) h, h' and h'' of each part about its own center."""
    h = np.empty((len(psi), 3))
    for i in range(len(psi)):
        h[i] = support_of(parts[i], harmonics, psi[i])
    return h


def _continued(value: np.ndarray, slope: np.ndarray | float, at: np.ndarray) -> np.ndarray:
    """A function with this value and slope at the real part of `at`, at `at`."""
    return value + 1j * slope * at.imag if np.iscomplexobj(at) else value


@dataclass(frozen=True, eq=False)
class ContactGeometry:
    """Outline, wall and gravity of an impact; a polygon may differ from the drawn one by `OF_CORNERS`.

    Args:
        shape: as drawn, about its own center. wall: that is struck. gravity: [m/s^2].
        uneven: deviation of the wall from a line; None: none. Theta has its modes after the declared parameters.
    """

    shape: Shape
    wall: Wall
    gravity: float
    uneven: Unevenness | None = None

    @property
    def has_corners(self) -> bool:
        return isinstance(self.shape, Polygon)

    def parts(
        self, shared: Shared, part: slice | Int[np.ndarray, "I"] = slice(None)
    ) -> Inexact[np.ndarray, "P 4"]:
        """Parts of the outline, or those of impacts; linear in `OF_CORNERS`."""
        sharp, by = self._sharp
        return sharp[part] + np.sum(shared[OF_CORNERS].reshape(3, -1, 1) * by[:, part], axis=0)

    @cached_property
    def _sharp(self) -> tuple[Inexact[np.ndarray, "P 4"], Inexact[np.ndarray, "3 P 4"]]:
        by = np.zeros((3, *self.shape.parts.shape))
        if not isinstance(self.shape, Polygon):
            return self.shape.parts, by
        # circles in corners are linear in their radius, so one difference of any size is the exact derivative
        sharp, radius = Polygon(self.shape.vertices).parts, 1e-3 * float(np.ptp(self.shape.vertices))
        by[0] = (Polygon(self.shape.vertices, radius).parts - sharp) / radius
        by[1, :, :2] = sharp[:, :2] * [1.0, -1.0]
        by[2, :, :2] = sharp[:, 1::-1]
        return sharp, by

    def directions(
        self, shared: Shared
    ) -> tuple[Inexact[np.ndarray, "2 *each"], Inexact[np.ndarray, "2 *each"]]:
        """Tangent and normal of the wall."""
        alpha = self.wall.slope + shared[SLOPE]
        return np.array([np.cos(alpha), np.sin(alpha)]), np.array([-np.sin(alpha), np.cos(alpha)])

    def levers(
        self, angles: Numbers, part: Int[np.ndarray, "I"], shared: Shared
    ) -> Inexact[np.ndarray, "I 2"]:
        """GQ at tracked angles (I,) of the body [rad]."""
        parts, (t, n) = self.parts(shared, part), self.directions(shared)
        theta = angles + shared[ANGLE]
        (x, y), c, s = (parts[:, :2] + shared[SHAPE_OFFSET].T).T, np.cos(theta), np.sin(theta)
        psi = self.wall.slope + shared[SLOPE] - 0.5 * np.pi - theta
        real = np.ascontiguousarray(parts.real), self.shape.harmonics, np.ascontiguousarray(psi.real)
        h, slope, bend = _supports(*real).T
        # only circles, whose half axis is the support, change with theta
        h, slope = _continued(_continued(h, slope, psi), 1.0, parts[:, 2]), _continued(slope, bend, psi)
        return np.column_stack([c * x - s * y, s * x + c * y]) - h[:, None] * n.T + slope[:, None] * t.T

    def gaps(
        self, poses: Inexact[np.ndarray, "I 3"], part: Int[np.ndarray, "I"], shared: Shared, height: Numbers
    ) -> tuple[Numbers, Inexact[np.ndarray, "I 2"], Numbers]:
        """Gaps (I,) of parts at poses of the center of mass, levers, and places of the contacts along the wall (I,).

        The derivative by a drop's own height (I,) of the floor is that by `HEIGHT`.
        """
        (t, n), GQ = self.directions(shared), self.levers(poses[:, 2], part, shared)
        point = poses[:, :2] + GQ
        point[:, 0] -= self.wall.x
        point[:, 1] -= self.wall.y + shared[HEIGHT] + height
        gap, place = np.sum(point * n.T, axis=1), np.sum(point * t.T, axis=1)
        if self.uneven is not None:
            bumps, slopes = (np.sum(x * shared[S:].T, axis=1) for x in self.uneven.at(place.real))
            gap = gap - _continued(bumps, slopes.real, place)
        return gap, GQ, place


def lags(shared: Shared, brevity: Numbers, approach: Numbers) -> Numbers:
    """Lags lambda (I,) of impacts [s]."""
    # |u_n| to a negative power has a pole at 0
    soft = approach**2 + SLOW**2
    return np.asarray(shared[LAG] * brevity ** (1 + shared[POWER]) * soft ** (0.5 * shared[POWER]))


def turning_share(power: float | complex | np.ndarray) -> Any:
    """Part of the lag, times the jump of omega, by which the lever turns on."""
    return TURNED * 2 * (1 + power) / (2 + power)


@dataclass(frozen=True, eq=False)
class Encounters:
    """I impacts before their instants are known.

    Args:
        first, second: (I, 6) states at the last frame before and at the first one after.
        since: (I,) tau less the time of `first` [s]. until: the time of `second` less tau, lost time added.
        brevity: (I,) b of each. part: of the outline that is struck. height: of the drop's floor above that of all [m].
    """

    first: Inexact[np.ndarray, "I 6"]
    second: Inexact[np.ndarray, "I 6"]
    since: Numbers
    until: Numbers
    brevity: Numbers
    part: Int[np.ndarray, "I"]
    height: Numbers

    def collide(self, shared: Shared, geometry: ContactGeometry) -> Collision:
        """Residuals at theta."""
        J, drag = shared[INERTIA], shared[OF_FLIGHTS][2:]
        A = carried(self.first, self.since, drag, geometry.gravity)
        B = carried(self.second, -self.until, drag, geometry.gravity)
        t, n = geometry.directions(shared)
        mid = 0.5 * (A[:, :3] + B[:, :3])
        gap, GQ, place = geometry.gaps(mid, self.part, shared, self.height)
        jump = B[:, 3:] - A[:, 3:]
        approach = np.sum(A[:, 3:5] * n.T, axis=1) + A[:, 5] * np.sum(GQ * t.T, axis=1)
        lag = lags(shared, self.brevity, approach)
        angle = mid[:, 2] + turning_share(shared[POWER]) * lag * jump[:, 2]
        lever = geometry.levers(angle, self.part, shared)
        moment = lever[:, 0] * jump[:, 1] - lever[:, 1] * jump[:, 0]
        r = np.column_stack([B[:, :3] - A[:, :3], gap - lag * approach, jump[:, 2] - moment / J])
        return Collision(r, lever, A, B, n, t, place)

    def derivatives(self, shared: Numbers, geometry: ContactGeometry) -> Inexact[np.ndarray, "I 5 c"]:
        """(I, 5, 14 + s) derivatives of the residuals, columns as above."""
        I, s = len(self.part), len(shared)
        by = np.zeros((I, 5, OWN + s))
        d = 1j * COMPLEX_STEP * np.repeat(np.eye(OWN + S, OWN), I, axis=0)
        first, second, since, until, brevity, part, height = (
            np.tile(x, (OWN + S, *[1] * (x.ndim - 1))) for x in vars(self).values()
        )
        states = first + d[:, :6], second + d[:, 8:], since + d[:, 6], until - d[:, 6] + d[:, LOST]
        hit = Encounters(*states, brevity, part, height).collide(_moved(shared, I, OWN), geometry)
        by[:, :, : OWN + S] = np.moveaxis(hit.r.imag.reshape(OWN + S, I, 5), 0, -1) / COMPLEX_STEP
        if geometry.uneven is not None:
            by[:, 3, OWN + S :] = -geometry.uneven.at(hit.place[:I].real)[0]
        return by


def _moved(shared: Numbers, impacts: int, unmoved: int = 0) -> Inexact[np.ndarray, "s I"]:
    """theta of each impact: without a step, `unmoved` times, then by a complex step of each declared parameter."""
    steps = np.eye(len(shared), unmoved + S, unmoved)
    return np.repeat(shared[:, None] + 1j * COMPLEX_STEP * steps, impacts, axis=1)


@dataclass(frozen=True, eq=False)
class Resting:
    """Contacts of bodies at rest, N of them.

    Args:
        drop, part: (N,) index of the drop, not decreasing, and of the part that touches. poses: (N, 3) as tracked.
    """

    drop: Int[np.ndarray, "N"]
    part: Int[np.ndarray, "N"]
    poses: Inexact[np.ndarray, "N 3"]

    def residuals(
        self, shared: Shared, heights: Numbers, geometry: ContactGeometry
    ) -> tuple[Numbers, Numbers]:
        """e (N,) of each contact at theta and heights (D,) of the drops' floors, and its place along the wall."""
        o, theta, center = shared[OF_FLIGHTS], self.poses[:, 2], self.poses.astype(shared.dtype)
        c, s = np.cos(theta), np.sin(theta)
        center[:, :2] -= np.column_stack([c * o[0] - s * o[1], s * o[0] + c * o[1]])
        gap, _, place = geometry.gaps(center, self.part, shared, heights[self.drop])
        return gap - shared[LIFT], place

    def derivatives(
        self, shared: Numbers, heights: Numbers, geometry: ContactGeometry
    ) -> Inexact[np.ndarray, "N s"]:
        """Derivatives of e by theta; that by its drop's height is that by the floor's."""
        by = np.zeros((N := len(self.part), len(shared)))
        copies = Resting(np.tile(self.drop, S), np.tile(self.part, S), np.tile(self.poses, (S, 1)))
        residuals, place = copies.residuals(_moved(shared, N), heights, geometry)
        by[:, :S] = residuals.imag.reshape(S, N).T / COMPLEX_STEP
        if geometry.uneven is not None:
            by[:, S:] = -geometry.uneven.at(place[:N].real)[0]
        return by
