"""A chart of inertia: coordinates theta without bounds for the physically possible bodies.

A parametrization maps theta in R^10 onto the ten parameters pi of a real body that has extent in all directions
(J > 0), so an estimator can change theta freely and every iterate is physical. Its Jacobian dpi/dtheta maps
derivatives by pi (torques are linear in pi) to derivatives by theta. At the singularities of a chart some directions
of theta do not change pi: the null directions, which an estimator must leave out.

Every chart also comes as kernels `to_inertial_kernel(theta, pi)` and `jacobian_kernel(theta, D)` of its module, for one
body, to be called from other compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..arrays import Float, Inertial
from ..exceptions import ImpossibleBody, InvalidMethod
from ..kernels import njit
from .parameters import inconsistencies, principal_moments, second_moments_at_com


@dataclass(frozen=True)
class Kernels:
    """A chart's maps over (N, 10) rows, which they write into their second argument.

    Args:
        to_inertial: theta to pi (N, 10). jacobian: theta to dpi/dtheta (N, 10, 10).
        from_inertial: pi to theta; returns the number of rows before the first that is no body of the chart. A filter
            does not use it.
    """

    to_inertial: Callable[[np.ndarray, np.ndarray], None]
    jacobian: Callable[[np.ndarray, np.ndarray], None]
    from_inertial: Callable[[np.ndarray, np.ndarray], int] = lambda pi, theta: 0


def over_rows(kernel: Callable[..., None]) -> Callable[[np.ndarray, np.ndarray], None]:
    """Apply a kernel of one body to all (N, ...) rows."""

    @njit(cache=True, error_model="numpy")
    def rows(theta, written):
        for b in range(len(theta)):
            kernel(theta[b], written[b])

    return rows


class Parametrization:
    """A chart: bodies (..., 10) as functions of coordinates theta (..., 10)."""

    theta_names: ClassVar[tuple[str, ...]]
    """Names of the ten coordinates, in order."""

    kernels: ClassVar[Kernels]

    lengths: ClassVar[slice]
    """The coordinates that are lengths (or first moments)."""

    def to_inertial(self, theta: Float[np.ndarray, "*batch 10"]) -> Inertial:
        """(..., 10) pi of coordinates (..., 10)."""
        return _map_rows(self.kernels.to_inertial, theta, (10,))

    def jacobian(self, theta: Float[np.ndarray, "*batch 10"]) -> Float[np.ndarray, "*batch 10 10"]:
        """(..., 10, 10) dpi/dtheta, a row for each of pi."""
        return _map_rows(self.kernels.jacobian, theta, (10, 10))

    def from_inertial(self, pi: Inertial) -> Float[np.ndarray, "*batch 10"]:
        """(..., 10) coordinates of bodies; if several theta are the same body, one of them.

        Raises:
            ImpossibleBody: for the reasons that `inconsistencies` gives, or if a body is flat or a point.
        """
        pi = _check_ten(pi, "pi")
        theta = np.empty(pi.shape)
        # a kernel cannot raise an error with a reason: it stops, and the reason is determined here
        done = self.kernels.from_inertial(pi.reshape(-1, 10), theta.reshape(-1, 10))
        if done < theta.size // 10:
            failed = pi.reshape(-1, 10)[done]
            name = f"body {done} of {theta.size // 10}" if pi.ndim > 1 else ""
            raise ImpossibleBody(inconsistencies(failed) or [_border_reason(failed)], name)
        return theta

    def natural_scale(self, pi: Inertial) -> Float[np.ndarray, "*batch 10"]:
        """(..., 10) scale of a step in each coordinate: logarithms and angles by 1, lengths by the body's size. A
        larger shear or shift may reach the boundary of the chart.
        """
        scale = np.ones(pi.shape)
        scale[..., self.lengths] = size_of(pi)[..., None]
        return scale


def _map_rows(
    kernel: Callable[[np.ndarray, np.ndarray], None], theta: np.ndarray, shape: tuple[int, ...]
) -> np.ndarray:
    """Apply a kernel to all rows of (..., 10); each result has this shape."""
    theta = _check_ten(theta, "theta")
    out = np.empty((*theta.shape[:-1], *shape))
    kernel(theta.reshape(-1, 10), out.reshape(-1, *shape))
    return out


def _check_ten(x: np.ndarray, name: str) -> np.ndarray:
    """Make the array contiguous and check that it has ten numbers a body, since kernels do not check."""
    x = np.ascontiguousarray(x, dtype=float)
    if x.ndim == 0 or x.shape[-1] != 10:
        raise InvalidMethod(f"{name} has ten numbers a body, shape (..., 10), not {x.shape}")
    return x


def _border_reason(pi: np.ndarray) -> str:
    """The reason why a possible body is in no chart."""
    if pi[0] == 0:
        return "its mass is 0, and a chart holds bodies with mass"
    D, _ = principal_moments(pi)
    L = 0.5 * D.sum() - D
    flat = ", ".join(axis for axis, L_i in zip("xyz", L, strict=True) if L_i <= 1e-12 * abs(D).sum())
    return (
        f"it has no extent along its principal axis {flat or 'of least extent'}, to rounding; give it a little, since "
        f"a chart holds only bodies with extent in all directions"
    )


def size_of(pi: Inertial) -> np.ndarray:
    """(...) sizes of bodies [m]: the geometric mean of the radii of gyration along their three principal axes."""
    return np.asarray(np.linalg.det(second_moments_at_com(pi) / pi[..., 0, None, None]) ** (1 / 6))
