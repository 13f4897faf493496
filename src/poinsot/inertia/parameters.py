"""The ten inertial parameters of a body, their meaning and consistency (Martinez et al. 2024, Eqs. 4 to 8).

    pi = (m, h, I),  h = m c,  I about the body frame's origin
    I_c = I - m (|c|^2 1 - c c^T) = R diag(D) R^T      (Steiner; D the principal moments)
    Sigma = tr(I)/2 1 - I,   J = [[Sigma, h], [h^T, m]]

With rho the density, J is the integral of rho [p; 1] [p; 1]^T, so it is linear in pi, J_a = T_ab J_b T_ab^T in another
frame, and the parameters of bodies in one frame add. The difference of two bodies may be impossible.

Some real body has these parameters if and only if J is positive semidefinite: m > 0 and Sigma_c = Sigma - h h^T / m is
positive semidefinite (or m = 0, h = 0 and Sigma is). Sigma_c has the axes of I_c and the eigenvalues

    L_x = (D_y + D_z - D_x) / 2,  and so on,

so the condition is the three triangle inequalities D_x <= D_y + D_z, ..., which imply that no D is negative (Eq. 7).
Exactly then a uniform solid ellipsoid has these parameters: its semi-axes are a_i = sqrt(5 L_i / m) along R.

**The nearest possible body** to ten impossible parameters depends on the frame and on the length l [m] that makes
moments comparable with mass,

    J~ = S J S,   S = diag(1/l, 1/l, 1/l, 1),   J~' = argmin |J~' - J~|_F  subject to  J~' >= floor,

and the nearest positive semidefinite matrix is J~ = V diag(lambda) V^T with lambda' = max(lambda, floor).

    m > 0     At the centre of mass J = diag(Sigma_c, m): mass and centre of mass stay, and Sigma_c = V diag(L) V^T
              becomes V diag(max(L, floor)) V^T, independent of l and of the body's frame.
    m <= 0    There is no centre of mass: the body frame's J~ is projected, with l = sqrt(sum |L| / |m|), L of Sigma,
              and all ten numbers change. The same holds where a length is given.

The floor is `FLOOR` times the sum of |L| (or |lambda|): far enough from the boundary for every chart, for numbers
written as text, and for simulators that check triangle inequalities to the last digit. At the centre of mass it is
larger for a body so far from its frame's origin that rounding of I there would exceed it.

Only the Euclidean norm defines a nearest body: entropic and affine-invariant divergences are infinite between a
possible body and an impossible one.

Descriptions often give a link a mass and no size. Such a body is on the boundary of the possible set: no chart contains
it and divergences from it are infinite. Along each principal axis without extent it gets that of a solid ball of its
mass,

    L_min = m r^2 / 5,    m = 4/3 pi r^3 rho

which keeps mass and centre of mass, and every axis that has extent.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import numpy as np

from ..arrays import Bool, Float, Inertial, Int, PseudoInertia, Vector
from ..estimate import Body
from ..exceptions import ImpossibleBody, InvalidMethod, InvalidModel

ROUNDING = 32 * float(np.finfo(float).eps)
"""Rounding error of a second moment, relative to tr I about the frame's origin: Sigma adds three moments of inertia,
Steiner's term is subtracted, and eigenvalues of a 3 x 3 matrix have errors of about ten ulp of the largest."""


LEAST_MOMENT = 1e-3
"""Least second moment of a completed inertia, by its trace."""


def inertia_matrix(pi: Inertial) -> Float[np.ndarray, "*batch 3 3"]:
    """(..., 3, 3) I about the body frame's origin [kg m^2]."""
    xx, xy, yy, xz, yz, zz = np.moveaxis(np.asarray(pi)[..., 4:], -1, 0)
    return np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=-1).reshape(*xx.shape, 3, 3)


def second_moments(pi: Inertial) -> Float[np.ndarray, "*batch 3 3"]:
    """(..., 3, 3) Sigma = tr(I)/2 1 - I, the integral of rho p p^T about the body frame's origin [kg m^2]."""
    I = inertia_matrix(pi)
    return 0.5 * np.trace(I, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - I


def pseudo_inertia(pi: Inertial) -> PseudoInertia:
    """(..., 4, 4) J = [[Sigma, h], [h^T, m]]."""
    pi = np.asarray(pi)
    J = np.empty((*pi.shape[:-1], 4, 4))
    J[..., :3, :3] = second_moments(pi)
    J[..., :3, 3] = J[..., 3, :3] = pi[..., 1:4]
    J[..., 3, 3] = pi[..., 0]
    return J


def center_of_mass(pi: Inertial) -> Float[np.ndarray, "*batch 3"]:
    """(..., 3) c = h / m [m]."""
    return pi[..., 1:4] / pi[..., :1]


def inertia_at_com(pi: Inertial) -> Float[np.ndarray, "*batch 3 3"]:
    """(..., 3, 3) I_c, axes of the body frame [kg m^2]."""
    return inertia_matrix(pi) - _steiner(pi[..., 0], center_of_mass(pi))


def from_physical(
    mass: float | Float[np.ndarray, "*batch"],
    center_of_mass: Float[np.ndarray, "*batch 3"],
    inertia_at_com: Float[np.ndarray, "*batch 3 3"],
) -> Inertial:
    """pi from mass [kg], centre of mass (..., 3) [m] and the symmetric inertia about it (..., 3, 3) [kg m^2]."""
    m = np.asarray(mass, dtype=float)
    I = inertia_at_com + _steiner(m, center_of_mass)
    return np.concatenate([m[..., None], m[..., None] * center_of_mass, _six(I)], axis=-1)


def from_pseudo_inertia(J: PseudoInertia) -> Inertial:
    """pi from the symmetric J (..., 4, 4): the inverse of `pseudo_inertia`, I = tr(Sigma) 1 - Sigma."""
    Sigma = J[..., :3, :3]
    I = np.trace(Sigma, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - Sigma
    return np.concatenate([J[..., 3, 3:], J[..., :3, 3], _six(I)], axis=-1)


def gradient_from_pseudo_inertia(G: PseudoInertia) -> Inertial:
    """(..., 10) df/dpi from the symmetric G = df/dJ (df = tr(G dJ)): the adjoint of `pseudo_inertia`."""
    trace = np.trace(G[..., :3, :3], axis1=-2, axis2=-1)
    xx, xy, yy, xz, yz, zz = np.moveaxis(_six(G[..., :3, :3]), -1, 0)
    I = [0.5 * trace - xx, -2 * xy, 0.5 * trace - yy, -2 * xz, -2 * yz, 0.5 * trace - zz]
    return np.concatenate([G[..., 3, 3:], 2 * G[..., :3, 3], np.stack(I, axis=-1)], axis=-1)


def _steiner(m: np.ndarray, c: np.ndarray) -> np.ndarray:
    """(..., 3, 3) m (|c|^2 1 - c c^T)."""
    square = np.sum(c * c, axis=-1)[..., None, None] * np.eye(3)
    return np.asarray(m)[..., None, None] * (square - c[..., :, None] * c[..., None, :])


def _six(I: np.ndarray) -> np.ndarray:
    """(..., 6) xx, xy, yy, xz, yz, zz of a symmetric (..., 3, 3)."""
    return np.stack([I[..., r, c] for r, c in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))], axis=-1)


def change_frame(
    T_ab: Float[np.ndarray, "... 4 4"], pi_b: Float[np.ndarray, "... 10"]
) -> Float[np.ndarray, "... 10"]:
    """(..., 10) pi_a, the same body seen in frame a: J_a = T_ab J_b T_ab^T.

    Args:
        T_ab: (..., 4, 4) placement of frame b in frame a, [[R, p], [0, 1]] with p in [m].
        pi_b: (..., 10) the body in frame b.

    Raises `InvalidModel` if T_ab is not a rotation and a translation.
    """
    R = T_ab[..., :3, :3]
    # 1e-6: a placement written with seven digits is still one
    rigid = (
        np.allclose(R @ np.swapaxes(R, -1, -2), np.eye(3), rtol=0, atol=1e-6)
        and np.all(np.linalg.det(R) > 0)
        and np.allclose(T_ab[..., 3, :], [0, 0, 0, 1], rtol=0, atol=0)
        and bool(np.isfinite(T_ab).all())
    )
    if not rigid:
        raise InvalidModel(
            "a change of frame needs [[R, p], [0, 0, 0, 1]] with a rotation R (R R^T = 1, det R = 1)"
        )
    return from_pseudo_inertia(T_ab @ pseudo_inertia(pi_b) @ np.swapaxes(T_ab, -1, -2))


def principal_moments(pi: Inertial) -> tuple[Float[np.ndarray, "*batch 3"], Float[np.ndarray, "*batch 3 3"]]:
    """(..., 3) D [kg m^2] and (..., 3, 3) R with I_c = R diag(D) R^T.

    The axes, columns of the rotation R, are named after the axes of the body frame that they are closest to.
    """
    return closest_axes(*np.linalg.eigh(inertia_at_com(pi)))


_ORDERS = np.array(list(permutations(range(3))))
_PARITY = np.linalg.det(np.eye(3)[_ORDERS])


def closest_axes(
    D: Float[np.ndarray, "*batch 3"], R: Float[np.ndarray, "*batch 3 3"]
) -> tuple[Float[np.ndarray, "*batch 3"], Float[np.ndarray, "*batch 3 3"]]:
    """Order and orient principal axes, the columns of R (..., 3, 3), so that R has the least angle of all 24 choices.

    Args:
        D: (..., 3) values along the axes, reordered with them.
    """
    own = R[..., np.arange(3), _ORDERS]  # the diagonal of R in each order
    sign = np.where(own < 0, -1.0, 1.0)
    mirrored = np.linalg.det(R)[..., None] * _PARITY * sign.prod(axis=-1) < 0
    # where R would be a reflection, the axis of the least component keeps its direction
    least = np.abs(own).min(axis=-1)
    best = np.argmax(np.abs(own).sum(axis=-1) - 2 * least * mirrored, axis=-1)[..., None]
    order = _ORDERS[best[..., 0]]
    sign, own = (np.take_along_axis(x, best[..., None], axis=-2)[..., 0, :] for x in (sign, own))
    keeps = np.arange(3) == np.argmin(np.abs(own), axis=-1)[..., None]
    sign = np.where(np.take_along_axis(mirrored, best, axis=-1) & keeps, -sign, sign)
    D, R = np.take_along_axis(D, order, axis=-1), np.take_along_axis(R, order[..., None, :], axis=-1)
    return D, R * sign[..., None, :]


def completed_inertia(
    I: Float[np.ndarray, "3 3"], known: Bool[np.ndarray, "3 3"]
) -> Float[np.ndarray, "3 3"]:
    """An inertia of a real body about its centre of mass that agrees with I where it is known.

    Elsewhere it differs from I by the least sum of squares of relative changes; products of inertia are relative to the
    geometric means of both moments.

    The result is I if a real body has it, or if no real body has the known entries.
    """
    from scipy.optimize import minimize

    def least_second_moment(I: np.ndarray) -> tuple[float, Vector]:
        """Its size and its axis."""
        L, R = np.linalg.eigh(0.5 * np.trace(I) * np.eye(3) - I)
        return float(L[0]), R[:, 0]

    if least_second_moment(I)[0] >= 0 or known.all() or not np.trace(I) > 0:
        return I
    least = LEAST_MOMENT * np.trace(I)
    moments = np.maximum(np.diag(I), least)
    a, b = (part[~known[np.triu_indices(3)]] for part in np.triu_indices(3))
    size = np.sqrt(moments[a] * moments[b])

    def changed(by: Vector) -> np.ndarray:
        found = I.copy()
        found[a, b] = found[b, a] = I[a, b] + by * size
        return found

    def room(by: Vector) -> float:
        return (least_second_moment(changed(by))[0] - least) / np.trace(I)

    def slope(by: Vector) -> Vector:
        axis = least_second_moment(changed(by))[1]
        of_entries = np.where(a == b, 0.5 - axis[a] ** 2, -2 * axis[a] * axis[b])
        return np.asarray(of_entries * size / np.trace(I))

    result = minimize(
        lambda by: by @ by,
        np.zeros(len(size)),
        jac=lambda by: 2 * by,
        constraints={"type": "ineq", "fun": room, "jac": slope},
        method="SLSQP",
    )
    return changed(result.x) if least_second_moment(changed(result.x))[0] >= 0.5 * least else I


def is_consistent(pi: Inertial) -> Bool[np.ndarray, "*batch"]:
    """(...,) whether some real body has these parameters, flat ones and points included, to rounding."""
    pi = np.asarray(pi, dtype=float)
    finite = np.isfinite(pi).all(axis=-1)
    pi = np.where(finite[..., None], pi, 0.0)
    m, h = pi[..., 0], pi[..., 1:4]
    weightless = (m == 0) & (h == 0).all(axis=-1)
    L = np.linalg.eigvalsh(second_moments_at_com(pi))
    return np.asarray(finite & ((m > 0) | weightless) & (L[..., 0] >= -_rounding(pi)))


def inconsistencies(pi: Vector) -> tuple[str, ...]:
    """Why no real body has the parameters (10,), in sentences; empty exactly where `is_consistent`."""
    if is_consistent(pi):
        return ()
    if not np.isfinite(pi).all():
        return ("some of its ten parameters are not finite",)
    m, h = float(pi[0]), pi[1:4]
    mass = []
    if m < 0:
        mass.append(f"its mass is {m:.4g} kg, below 0")
    if m == 0 and h.any():
        mass.append(f"its mass is 0 but its first moment is {_vector(h)} kg m")
    if m > 0:
        I, point = inertia_at_com(pi), f"its centre of mass {_vector(center_of_mass(pi))} m"
    else:
        I, point = inertia_matrix(pi), "its frame's origin"
    return (*mass, *_broken_inequalities(I, point, float(_rounding(pi)), needed=not mass))


def _broken_inequalities(I: np.ndarray, point: str, rounding: float, needed: bool) -> list[str]:
    """Inequalities that the principal moments of I about a point violate, in words; at least one if `needed`."""
    D, R = closest_axes(*np.linalg.eigh(I))
    aligned = np.abs(R).max(axis=0) > 1 - 1e-6
    name = [
        f"D{axis}" if aligned[i] else f"D{axis} (axis {_vector(R[:, i])})" for i, axis in enumerate("xyz")
    ]
    violations = [
        f"about {point} the principal moment {name[i]} is {D[i]:.4g} kg m^2, below 0"
        for i in range(3)
        if D[i] < -rounding
    ]
    if violations:
        return violations  # a negative moment breaks triangle inequalities too, which adds no information
    L = 0.5 * D.sum() - D
    for i in range(3):
        if L[i] < -rounding or (needed and i == np.argmin(L)):
            j, k = sorted({0, 1, 2} - {i})
            violations.append(
                f"about {point} the principal moment {name[i]} = {D[i]:.4g} kg m^2 exceeds "
                f"{name[j]} + {name[k]} = {D[j] + D[k]:.4g} kg m^2 by {-2 * L[i]:.4g} kg m^2"
            )
    return violations


def second_moments_at_com(pi: np.ndarray) -> np.ndarray:
    """(..., 3, 3) Sigma_c; Sigma where m <= 0."""
    m, h = pi[..., 0], pi[..., 1:4]
    part = np.where(m > 0, 1 / np.where(m > 0, m, 1.0), 0.0)[..., None] * h
    return second_moments(pi) - part[..., :, None] * h[..., None, :]


def _rounding(pi: np.ndarray) -> np.ndarray:
    return np.asarray(ROUNDING * np.abs(pi[..., [4, 6, 9]]).sum(axis=-1))


def _vector(v: np.ndarray) -> str:
    return f"({', '.join(f'{x:.3g}' for x in np.where(np.abs(v) < 5e-4 * np.abs(v).max(), 0.0, v))})"


def body(name: str, pi: Vector | None) -> Body:
    """A body from its ten parameters (10,); None: the data do not determine them."""
    if pi is None:
        return Body(name)
    reasons = inconsistencies(pi)
    least = float(np.linalg.eigvalsh(pseudo_inertia(pi))[0])
    center, inertia = (None, None) if pi[0] == 0 else (center_of_mass(pi), inertia_at_com(pi))
    return Body(name, float(pi[0]), center, inertia, not reasons, least, reasons, pi)


def slopes_at_com(pi: Vector) -> Float[np.ndarray, "10 13"]:
    """(10, 13) derivatives of mass, centre of mass and inertia about it, row after row, by pi; a row for each of pi."""
    m, h = pi[0], pi[1:4]
    E = np.eye(10)
    dm, dh, dI = E[:, 0], E[:, 1:4], inertia_matrix(E)
    about_origin = (h @ h) * np.eye(3) - np.outer(h, h)
    outer = dh[:, :, None] * h
    steiner = 2 * (dh @ h)[:, None, None] * np.eye(3) - outer - np.swapaxes(outer, 1, 2)
    dI_c = dI - steiner / m + about_origin * dm[:, None, None] / m**2
    dc = dh / m - h * dm[:, None] / m**2
    return np.concatenate([dm[:, None], dc, dI_c.reshape(10, 9)], axis=1)


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """A uniform solid ellipsoid; batches (...). Its second moments about its centre are L_i = m a_i^2 / 5.

    Args:
        mass: (...) [kg]. center: (..., 3) in the body frame [m].
        axes: (..., 3, 3) R, the principal axes in the body frame as columns, each named after the closest body axis.
        semi_axes: (..., 3) along them [m].
    """

    mass: np.ndarray
    center: np.ndarray
    axes: np.ndarray
    semi_axes: np.ndarray

    def surface(self, directions: Float[np.ndarray, "V 3"]) -> Float[np.ndarray, "*batch V 3"]:
        """(..., V, 3) points of the surface, in the body frame, for points (V, 3) of the unit sphere [m]."""
        radii = self.axes * self.semi_axes[..., None, :]
        return np.asarray(self.center[..., None, :] + directions @ np.swapaxes(radii, -1, -2))


def equivalent_ellipsoid(pi: Inertial) -> Ellipsoid:
    """The ellipsoid that has the parameters of bodies (..., 10) with a mass; a flat body has a semi-axis of 0.

    Raises:
        ImpossibleBody: if there is none, for the reasons that `inconsistencies` gives.
    """
    bad = ~(is_consistent(pi) & (pi[..., 0] > 0))
    if bad.any():
        first = pi[tuple(np.argwhere(bad)[0])]
        raise ImpossibleBody(inconsistencies(first) or ["its mass is 0"])
    m = pi[..., 0]
    D, R = principal_moments(pi)
    L = 0.5 * D.sum(axis=-1, keepdims=True) - D
    return Ellipsoid(np.asarray(m), center_of_mass(pi), R, np.sqrt(5 * np.maximum(L, 0.0) / m[..., None]))


FLOOR = 1e-6
"""Least second moment (or eigenvalue of J~) of a repaired body, relative to the sum of their sizes."""

ALUMINIUM = 2700.0
"""Density [kg/m^3]."""

THIN = 1e-4
"""Fraction of the ball's second moment below which an axis has no extent (a sheet a hundredth as thick as the ball)."""


class Nearest(NamedTuple):
    """The nearest possible body and its distance.

    Args:
        inertial: (10,) pi; unchanged where the given numbers are possible.
        distance: |J~' - J~|_F / |J~|_F, 0 where unchanged.
    """

    inertial: Vector
    distance: float


def nearest_possible(pi: Vector, length: float | None = None) -> Nearest:
    """Find the possible body nearest to pi (10,).

    Args:
        pi: ten finite numbers.
        length: l [m], to measure the distance in the body's frame, where mass and centre of mass may change too; None:
            at the centre of mass, which keeps both. Where the mass is not positive it is measured in the body's frame.

    Raises:
        ImpossibleBody: if a number is not finite.
        InvalidMethod: if the length is not positive.
    """
    if length is not None and not 0 < length < np.inf:
        raise InvalidMethod(
            f"the length that makes moments comparable with mass must be positive, not {length} m"
        )
    if not np.isfinite(pi).all():
        raise ImpossibleBody(inconsistencies(pi))
    # a possible body is its own nearest, also one on the border, which the floor would move
    if is_consistent(pi):
        return Nearest(pi, 0.0)
    if length is None and pi[0] > 0:
        return _project_at_com(pi)
    length = _choose_length(pi) if length is None else length
    S = np.diag([1 / length, 1 / length, 1 / length, 1.0])
    J = S @ pseudo_inertia(pi) @ S
    eigenvalues, V = np.linalg.eigh(J)
    raised = np.maximum(eigenvalues, FLOOR * np.abs(eigenvalues).sum())
    S_inverse = np.diag(1 / np.diag(S))
    nearest = from_pseudo_inertia(S_inverse @ (V * raised) @ V.T @ S_inverse)
    return Nearest(nearest, float(np.linalg.norm(raised - eigenvalues) / np.linalg.norm(eigenvalues)))


def _project_at_com(pi: Vector) -> Nearest:
    m, I = float(pi[0]), inertia_at_com(pi)
    L, V = np.linalg.eigh(second_moments_at_com(pi))
    size = float(np.abs(L).sum())
    # far from the frame's origin I itself is rounded by more than the floor of a small body
    floor = max(FLOOR * size, 4 * ROUNDING * float(np.abs(pi[[4, 6, 9]]).sum()))
    raised = np.maximum(L, floor)
    change = (V * (raised - L)) @ V.T
    nearest = from_physical(m, center_of_mass(pi), I + np.trace(change) * np.eye(3) - change)
    # with l^2 = sum |L| / m, J~ = m diag(L / sum |L|, 1)
    distance = np.linalg.norm(raised - L) / np.hypot(np.linalg.norm(L), size)
    return Nearest(nearest, float(distance))


def _choose_length(pi: Vector) -> float:
    """A length scale [m] of the ten numbers: a radius of gyration, or the arm of the first moment."""
    m, h = abs(float(pi[0])), float(np.linalg.norm(pi[1:4]))
    size = float(np.abs(np.linalg.eigvalsh(second_moments(pi))).sum())
    length = 1.0
    if m and size:
        length = np.sqrt(size / m)
    elif m and h:
        length = h / m
    elif size and h:
        length = size / h
    return float(np.clip(length, 1e-6, 1e6))


def with_extent(pi: Inertial, density: float = ALUMINIUM) -> tuple[Inertial, Int[np.ndarray, "*batch"]]:
    """Bodies (..., 10) with extent everywhere, and (...,) how many principal axes of each had none.

    Args:
        pi: possible bodies with a mass. density: the ball's density [kg/m^3].
    """
    m = pi[..., 0]
    r = np.cbrt(3 * m / (4 * np.pi * density))
    ball = m * r**2 / 5
    D, R = principal_moments(pi)
    L = 0.5 * D.sum(axis=-1, keepdims=True) - D
    thin = L < THIN * ball[..., None]
    L = np.where(thin, ball[..., None], L)
    I = R * (L.sum(axis=-1, keepdims=True) - L)[..., None, :] @ np.swapaxes(R, -1, -2)
    extended = from_physical(m, center_of_mass(pi), I)
    count = np.asarray(thin.sum(axis=-1))
    # bodies with extent stay as they are to the last digit
    return np.where((count > 0)[..., None], extended, pi), count
