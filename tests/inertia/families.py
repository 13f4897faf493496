"""The charts, the divergences, and the bodies that their laws are tested over."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import strategies as st

from poinsot import inertia
from poinsot.inertia.divergence import AffineInvariant, Entropic, Euclidean

EPS = float(np.finfo(float).eps)

CHARTS = tuple(inertia.find_chart(name) for name in inertia.chart_names())
each_chart = pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: type(chart).__name__)

DIVERGENCES = (Euclidean(), Entropic(), AffineInvariant())
each_divergence = pytest.mark.parametrize("divergence", DIVERGENCES, ids=lambda it: type(it).__name__)

SHAPES = {
    "sphere": (1, 1, 1),
    "needle": (1, 1e-3, 1e-3),
    "plate": (1, 1, 1e-3),
    "ruler": (1, 0.1, 1e-3),
    "brick": (1, 0.5, 0.3),
}


def numbers(low, high):
    return st.floats(low, high, allow_nan=False, allow_subnormal=False)


def thetas(size=2.0):
    """Coordinates in any chart.

    At size 2 the factor U has a diagonal of at least e^-2 and other entries of at most 2, so |U| |U^-1| < 1e5 and the
    eigenvalues of J = U U^T, which spread over 1e10, have four digits left.
    """
    return st.lists(numbers(-size, size), min_size=10, max_size=10).map(np.array)


@dataclass(frozen=True)
class SolidEllipsoid:
    """What pi is, from its definition as an integral, whatever poinsot does: J = T diag(L, m) T^T."""

    mass: float
    semi_axes: np.ndarray
    R: np.ndarray
    center: np.ndarray

    @property
    def T(self):
        return np.block([[self.R, self.center[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])

    @property
    def J(self):
        return self.T @ np.diag([*self.mass * self.semi_axes**2 / 5, self.mass]) @ self.T.T

    @property
    def pi(self):
        return _pi(self.J)


def from_factor(theta):
    """pi of J = e^(2 alpha) U U^T, by matrices. (Strategies must not call poinsot, whose annotations are checked.)"""
    e1, e2, e3 = np.exp(theta[1:4])
    s12, s23, s13, t1, t2, t3 = theta[4:]
    U = np.exp(theta[0]) * np.array([[e1, s12, s13, t1], [0, e2, s23, t2], [0, 0, e3, t3], [0, 0, 0, 1]])
    return _pi(U @ U.T)


def _pi(J):
    xx, yy, zz = np.diag(J)[:3]
    return np.array([J[3, 3], *J[:3, 3], yy + zz, -J[0, 1], xx + zz, -J[0, 2], -J[1, 2], xx + yy])


def rotation(quaternion):
    x, y, z, w = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def vectors(size, length):
    return st.lists(numbers(-size, size), min_size=length, max_size=length).map(np.array)


def rotations():
    return vectors(1, 4).filter(lambda q: np.linalg.norm(q) > 0.1).map(rotation)


def placements(size=1.0):
    def placed(R, p):
        return np.block([[R, p[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])

    return st.builds(placed, rotations(), vectors(size, 3))


@st.composite
def ellipsoids(draw, shapes=tuple(SHAPES), offset=10.0):
    """From 1e-6 to 1e5 kg, as light as foam and as heavy as gold, up to `offset` sizes from the frame's origin."""
    mass = 10 ** draw(numbers(-6, 5))
    density = 10 ** draw(numbers(1.5, 4.3))
    ratios = np.array(SHAPES[draw(st.sampled_from(shapes))])
    size = (mass / (density * 4 / 3 * np.pi * ratios.prod())) ** (1 / 3)
    R = draw(st.one_of(st.just(np.eye(3)), rotations()))
    return SolidEllipsoid(mass, size * ratios, R, size * draw(vectors(offset, 3)))


def scale(pi):
    """(..., 10) the size that rounding errors of pi are relative to: m, sqrt(m tr I) >= |h|, and tr I."""
    trace = np.abs(pi[..., [4, 6, 9]]).sum(axis=-1)
    m = np.abs(pi[..., 0])
    return np.stack([m, *3 * (np.sqrt(m * trace),), *6 * (trace,)], axis=-1)


def richardson(f, x, step):
    """df/dx (..., len(x)) by central differences; the error is of fourth order in the steps. f takes batches of x."""
    e = np.diag(np.broadcast_to(step, len(x)))
    values = f(x + np.concatenate([e, -e, e / 2, -e / 2])).reshape(4, len(x), *f(x).shape)
    d = np.diag(e).reshape(-1, *np.ones(values.ndim - 2, dtype=int))
    wide, narrow = (values[0] - values[1]) / (2 * d), (values[2] - values[3]) / d
    return np.moveaxis((4 * narrow - wide) / 3, 0, -1)
