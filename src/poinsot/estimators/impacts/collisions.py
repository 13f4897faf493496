"""Residuals of an impact: continuity, contact and consistency of the flights on both sides of it.

At the instant tau, the flight before ends in (p-, theta-, v-, omega-) and the one after begins in (p+, theta+, v+,
omega+). With the mean pose of both, the body's angle theta + phi, the struck part's center c about the
shape's center e, all in the body's frame, and the part's support h in the direction psi = alpha - pi/2 - theta - phi
(`models.planar.shapes`),

    GQ  = R(theta + phi) (c + e) - h n + h' t

    continuity      p+ - p- = 0,  theta+ - theta- = 0
    contact         g = (p - p_0) . n + GQ . n - f = lambda u_n,     u_n = n . v- + omega- t . GQ
    consistency     omega+ - omega- - cross(GQ, v+ - v-) / (J/m) = 0          (Eqs. 31 and 32)

with f the wall's unevenness at the contact (`contact_parameters`). The impulses by mass are the jumps of the linear
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
With GQ' the derivative of GQ by the angle,

    GQ' = k x R (c + e) + h' n - h'' t,    dg = n . dp + n . GQ' dtheta = n . dp + cross(GQ, n) dtheta

A tracker that loses a fast body may skip a frame: then the frame after the impact is later by Delta than its clock
says, the same in all residuals of that impact.

Columns of derivatives are (before 6, tau, Delta, after 6, theta), in the order of the band of `chain`; theta has the
declared parameters (`contact_parameters`), then the modes of the wall's unevenness.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Bool, Float, Int, Matrix, Vector
from ...kernels import njit
from ...models.planar.contact import Wall
from ...models.planar.shapes import Polygon, Shape, support_of
from .contact_parameters import (
    ANGLE,
    HEIGHT,
    INERTIA,
    LAG,
    OF_CORNERS,
    OF_FLIGHTS,
    OF_OUTLINE,
    POWER,
    SHAPE_OFFSET,
    SLOPE,
    S,
    Unevenness,
)

OWN, LOST = 14, 7
"""Columns of an impact's derivatives before those by theta, and the one of Delta among them."""
TURNED = 0.25
"""Distance of the mean angle from the angle at tau, over the lag times the jump of omega, for a linear spring."""
SLOW = 0.05
"""Speed after some milliseconds of free fall; added in squares, so that slow contacts have a finite lag [m/s]."""


@dataclass(frozen=True, eq=False)
class Collision:
    """Residuals of I impacts, with intermediate quantities.

    Args:
        r: (I, 5) continuity [m], [m], [rad], gap [m], consistency [rad/s].
        by: (I, 5, 14 + s) derivatives, columns as above.
        GQ: (I, 2) lever of the impulse [m]. before, after: (I, 6) states at tau. normal, tangent: (2,) of the wall.
    """

    r: Float[np.ndarray, "I 5"]
    by: Float[np.ndarray, "I 5 c"]
    GQ: Float[np.ndarray, "I 2"]
    before: Float[np.ndarray, "I 6"]
    after: Float[np.ndarray, "I 6"]
    normal: Vector
    tangent: Vector

    @property
    def jump(self) -> Float[np.ndarray, "I 3"]:
        """Jump of the velocity and of the angular velocity."""
        return self.after[:, 3:] - self.before[:, 3:]

    def contact_velocity(self, of: Float[np.ndarray, "I 6"]) -> Float[np.ndarray, "I 2"]:
        """(normal, tangential) velocity of the contact point [m/s]."""
        u = of[:, 3:5] + of[:, 5:6] * np.column_stack([-self.GQ[:, 1], self.GQ[:, 0]])
        return np.column_stack([u @ self.normal, u @ self.tangent])


def impact_quantities(hit: Collision) -> tuple[Vector, Vector, Vector, Vector, Bool[np.ndarray, "I"]]:
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
    state: Float[np.ndarray, "I 6"], T: Vector, drag: Vector, gravity: float
) -> tuple[
    Float[np.ndarray, "I 6"], Float[np.ndarray, "I 6 6"], Float[np.ndarray, "I 6"], Float[np.ndarray, "I 6 2"]
]:
    """States (I, 6) after T (I,), which may be negative, and derivatives by the state, by T, and by drag."""
    I = len(T)
    out, by, rate, by_drag = np.empty((I, 6)), np.zeros((I, 6, 6)), np.empty((I, 6)), np.zeros((I, 6, 2))
    for a in range(3):
        k, gamma = drag[int(a == 2)], gravity if a == 1 else 0.0
        f, b, decay, f_k, b_k = _glides(k, T)
        s, v = state[:, a], state[:, 3 + a]
        out[:, a], out[:, 3 + a] = s + f * v - gamma * b, decay * v - gamma * f
        by[:, a, a], by[:, a, 3 + a], by[:, 3 + a, 3 + a] = 1.0, f, decay
        rate[:, a], rate[:, 3 + a] = out[:, 3 + a], -gamma - k * out[:, 3 + a]
        by_drag[:, a, int(a == 2)] = f_k * v - gamma * b_k
        by_drag[:, 3 + a, int(a == 2)] = -T * decay * v - gamma * f_k
    return out, by, rate, by_drag


def _glides(k: float, T: Vector) -> tuple[Vector, Vector, Vector, Vector, Vector]:
    """f, b, e^(-k T) and the derivatives of f and b by k, (I,) each, by series; k T is some thousandths between frames.

    f = T sum (-k T)^i / (i + 1)!,   b = T^2 sum (-k T)^i / (i + 2)!
    """
    # the closed forms divide by k^2, which may be 0 or tiny; twelve terms are exact to rounding up to |k T| of 1
    f, b, f_k, b_k = np.zeros_like(T), np.zeros_like(T), np.zeros_like(T), np.zeros_like(T)
    power, slope, factorial = np.ones_like(T), np.zeros_like(T), 1.0
    for i in range(12):
        factorial *= i + 1
        f, b = f + power / factorial, b + power / (factorial * (i + 2))
        f_k, b_k = f_k + slope / factorial, b_k + slope / (factorial * (i + 2))
        slope = -T * ((i + 1) * power)
        power = -k * T * power
    return T * f, T * T * b, np.exp(-k * T), T * f_k, T * T * b_k


OF_LEVERS = [*OF_OUTLINE, ANGLE, SLOPE]
"""Components of theta that levers depend on."""


@njit(cache=True)
def _supports(parts: np.ndarray, harmonics: np.ndarray, psi: np.ndarray) -> np.ndarray:
    """(I, 3) h, h' and h'' of each part about its own center."""
    h = np.empty((len(psi), 3))
    for i in range(len(psi)):
        h[i] = support_of(parts[i], harmonics, psi[i])
    return h


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

    def parts(self, shared: Vector) -> tuple[Float[np.ndarray, "P 4"], Float[np.ndarray, "3 P 4"]]:
        """Parts and their derivatives by `OF_CORNERS`, in which they are linear."""
        sharp, by = self._sharp
        return sharp + np.tensordot(shared[OF_CORNERS], by, 1), by

    @cached_property
    def _sharp(self) -> tuple[Float[np.ndarray, "P 4"], Float[np.ndarray, "3 P 4"]]:
        by = np.zeros((3, *self.shape.parts.shape))
        if not isinstance(self.shape, Polygon):
            return self.shape.parts, by
        # circles in corners are linear in their radius, so one difference of any size is the exact derivative
        sharp, radius = Polygon(self.shape.vertices).parts, 1e-3 * float(np.ptp(self.shape.vertices))
        by[0] = (Polygon(self.shape.vertices, radius).parts - sharp) / radius
        by[1, :, :2] = sharp[:, :2] * [1.0, -1.0]
        by[2, :, :2] = sharp[:, 1::-1]
        return sharp, by

    def directions(self, shared: Vector) -> tuple[Vector, Vector]:
        """(2,) tangent and normal of the wall."""
        alpha = self.wall.slope + shared[SLOPE]
        return np.array([np.cos(alpha), np.sin(alpha)]), np.array([-np.sin(alpha), np.cos(alpha)])

    def levers(
        self, angles: Vector, part: Int[np.ndarray, "I"], shared: Vector
    ) -> tuple[Float[np.ndarray, "I 2"], Float[np.ndarray, "7 I 2"]]:
        """GQ and its derivatives by `OF_LEVERS`, at tracked angles (I,) of the body [rad]."""
        parts, by_corners = self.parts(shared)
        t, n = self.directions(shared)
        theta = angles + shared[ANGLE]
        c, s = np.cos(theta), np.sin(theta)
        R = np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)
        center = np.einsum("iab,ib->ia", R, parts[part, :2] + shared[SHAPE_OFFSET])
        psi = self.wall.slope + shared[SLOPE] - 0.5 * np.pi - theta
        h = _supports(parts[part], self.shape.harmonics, psi)
        corners = np.einsum("iab,kib->kia", R, by_corners[:, part, :2])
        corners -= by_corners[:, part, 2:3] * n
        by_angle = np.column_stack([-center[:, 1], center[:, 0]]) + h[:, 1:2] * n - h[:, 2:] * t
        by_slope = (h[:, :1] + h[:, 2:]) * t
        by_outline = corners[0], R[:, :, 0], R[:, :, 1], corners[1], corners[2]
        return center - h[:, :1] * n + h[:, 1:2] * t, np.stack([*by_outline, by_angle, by_slope])

    def gaps(
        self, poses: Float[np.ndarray, "I 3"], part: Int[np.ndarray, "I"], shared: Vector, height: Vector
    ) -> tuple[Vector, Matrix, Matrix, Matrix, Float[np.ndarray, "7 I 2"]]:
        """Gaps (I,) of parts at poses of the center of mass, their derivatives by theta (I, s) and by the position (I,
        2); levers (I, 2) and their derivatives (7, I, 2).

        The derivative by the pose's angle is that by `ANGLE`, and that by a drop's own height (I,) of the floor that by
        `HEIGHT`.
        """
        (t, n), (GQ, GQ_by) = self.directions(shared), self.levers(poses[:, 2], part, shared)
        point = poses[:, :2] - np.array([self.wall.x, self.wall.y + shared[HEIGHT]]) + GQ
        point[:, 1] -= height
        bumps, rising = np.zeros((len(part), 0)), np.zeros(len(part))
        if self.uneven is not None:
            bumps, slopes = self.uneven.at(point @ t)
            rising = slopes @ shared[S:]
        by = np.zeros((len(part), len(shared)))
        # across the wall, less the rise of the uneven wall
        across = n - rising[:, None] * t
        by[:, OF_LEVERS] = np.einsum("kia,ia->ik", GQ_by, across)
        by[:, HEIGHT] = -across[:, 1]
        # n turns to -t and t to n
        by[:, SLOPE] -= point @ t + rising * (point @ n)
        by[:, S:] = -bumps
        return point @ n - bumps @ shared[S:], by, across, GQ, GQ_by


def lags(shared: Vector, brevity: Vector, approach: Vector) -> tuple[Vector, Vector, Vector, Vector, float]:
    """Lags lambda (I,) of impacts [s] and their derivatives by u_n, lambda_1 and p; 2 (1 + p) / (2 + p), the part of
    the lag that turns the lever.
    """
    # |u_n| to a negative power has a pole at 0
    soft = approach**2 + SLOW**2
    by_lag = brevity ** (1 + shared[POWER]) * soft ** (0.5 * shared[POWER])
    value = shared[LAG] * by_lag
    return (
        value,
        value * shared[POWER] * approach / soft,
        by_lag,
        value * (np.log(brevity) + 0.5 * np.log(soft)),
        2 * (1 + float(shared[POWER])) / (2 + float(shared[POWER])),
    )


def collide(
    first: Float[np.ndarray, "I 6"],
    second: Float[np.ndarray, "I 6"],
    since: Vector,
    until: Vector,
    brevity: Vector,
    part: Int[np.ndarray, "I"],
    height: Vector,
    shared: Vector,
    geometry: ContactGeometry,
) -> Collision:
    """Residuals of I impacts and their derivatives.

    Args:
        first, second: (I, 6) states at the last frame before and at the first one after.
        since: (I,) tau less the time of `first` [s]. until: the time of `second` less tau, lost time added.
        brevity: (I,) b of each. part: of the outline that is struck. height: of the drop's floor above that of all [m].
    """
    I = len(part)
    J, drag = float(shared[INERTIA]), shared[OF_FLIGHTS][2:]
    A, A_x, A_t, A_k = carried(first, since, drag, geometry.gravity)
    B, B_x, B_t, B_k = carried(second, -until, drag, geometry.gravity)
    t, n = geometry.directions(shared)
    mid = 0.5 * (A[:, :3] + B[:, :3])
    gap, gap_by, across, GQ, GQ_by = geometry.gaps(mid, part, shared, height)
    dv, dw = B[:, 3:5] - A[:, 3:5], B[:, 5] - A[:, 5]
    approach = A[:, 3:5] @ n + A[:, 5] * (GQ @ t)
    lag, lag_by_approach, lag_by_lag, lag_by_power, acts = lags(shared, brevity, approach)
    turning = TURNED * acts
    lever, lever_by = geometry.levers(mid[:, 2] + turning * lag * dw, part, shared)
    moment = lever[:, 0] * dv[:, 1] - lever[:, 1] * dv[:, 0]

    r = np.empty((I, 5))
    r[:, :3], r[:, 3], r[:, 4] = B[:, :3] - A[:, :3], gap - lag * approach, dw - moment / J
    # derivatives by the states at tau (A 6, B 6) and by theta; the sixth row is u_n, through which the lag depends on
    # both, and by which the chain rule below continues
    at = np.zeros((I, 6, 12))
    own = np.zeros((I, 6, len(shared)))
    own[:, 3] = gap_by
    own[:, 4, OF_LEVERS] = (lever_by[:, :, 1] * dv[:, 0] - lever_by[:, :, 0] * dv[:, 1]).T / J
    own[:, 4, INERTIA] = moment / J**2
    own[:, 5, OF_LEVERS] = A[:, 5:6] * (GQ_by @ t).T
    # n turns to -t and t to n
    own[:, 5, SLOPE] += A[:, 5] * (GQ @ n) - A[:, 3:5] @ t
    turned = -J * own[:, 4, ANGLE]
    at[:, :3, :3], at[:, :3, 6:9] = -np.eye(3), np.eye(3)
    for side, sign in ((0, -1.0), (6, 1.0)):
        at[:, 3, side : side + 2] = 0.5 * across
        at[:, 3:, side + 2] = 0.5 * own[:, 3:, ANGLE]
        at[:, 4, side + 3], at[:, 4, side + 4] = sign * lever[:, 1] / J, -sign * lever[:, 0] / J
        at[:, 4, side + 5] = sign * (1 - turning * lag * turned / J)
    at[:, 5, 3:5], at[:, 5, 5] = n, GQ @ t
    # the lag changes the lever of the consistency, and the lag times u_n is the depth in the gap
    by_lag = np.stack([-approach, -turning * dw * turned / J], axis=1)
    by_approach = by_lag * lag_by_approach[:, None] - np.column_stack([lag, np.zeros(I)])
    at[:, 3:5] += by_approach[:, :, None] * at[:, None, 5]
    own[:, 3:5] += by_approach[:, :, None] * own[:, None, 5]
    own[:, 3:5, LAG] += by_lag * lag_by_lag[:, None]
    own[:, 3:5, POWER] += by_lag * lag_by_power[:, None]
    own[:, 4, POWER] -= TURNED * 2 / (2 + shared[POWER]) ** 2 * lag * dw * turned / J
    at, own = at[:, :5], own[:, :5]
    own[:, :, OF_FLIGHTS.stop - 2 : OF_FLIGHTS.stop] = at[:, :, :6] @ A_k + at[:, :, 6:] @ B_k
    by_second = at[:, :, 6:] @ B_t[:, :, None]
    by = np.concatenate(
        [
            at[:, :, :6] @ A_x,
            at[:, :, :6] @ A_t[:, :, None] + by_second,
            # the state after is carried back over `until`, which Delta makes longer and tau shorter
            -by_second,
            at[:, :, 6:] @ B_x,
            own,
        ],
        axis=2,
    )
    return Collision(r, by, lever, A, B, n, t)
