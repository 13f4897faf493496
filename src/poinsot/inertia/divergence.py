"""Divergences between bodies, by their pseudo-inertias, with gradients.

    Euclidean          |J - J0|_F^2                                     convex in pi (quadratic)
    Entropic           tr(J0^-1 J) - log det(J0^-1 J) - 4               convex in pi, not in pi0
    AffineInvariant    |log(J0^-1/2 J J0^-1/2)|_F^2 = sum log^2 lambda   not convex in pi

The last two depend only on lambda, the eigenvalues of J0^-1 J: they are invariant to frames, units and affine
transformations of space, and infinite on the boundary of the possible set. The entropic one is the Bregman
divergence of -log det, twice the Kullback-Leibler divergence of zero-mean Gaussians with covariances J and J0 (Lee,
Wensing and Park 2020); in a convex program it is written tr(J0^-1 J) - log det J. The affine-invariant one is the
squared length of the geodesic between J0 and J (Lee and Park 2018): convex along geodesics, but not along straight
lines, since log^2 lambda is concave where lambda > e; so it cannot be used in a convex program. Near pi0 the two
agree up to a factor,

    AffineInvariant = 2 Entropic = dpi^T G dpi   to second order,   G_kl = tr(J0^-1 E_k J0^-1 E_l),  E_k = dJ/dpi_k,

and a convex program uses the quadratic form with `metric(pi0)` = G instead.

With J0 = L L^T, mu = lambda - 1 are the eigenvalues of L^-1 (J - J0) L^-T = V diag(mu) V^T. Both are sums of f(mu), so

    df/dJ = W diag(f'(mu)) W^T,  W = L^-T V

and no digits cancel where the bodies are close. J0 is scaled to a unit diagonal first, which changes neither.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from ..arrays import Float
from ..exceptions import ImpossibleBody
from .parameters import gradient_from_pseudo_inertia, inconsistencies, pseudo_inertia

Bodies: TypeAlias = Float[np.ndarray, "... 10"]
Values: TypeAlias = Float[np.ndarray, "..."]


class Divergence(ABC):
    """A squared distance of bodies pi from a reference body, both (..., 10): 0 where they are the same, else > 0."""

    convex: ClassVar[bool]
    """Whether it is convex in pi, so that a convex program may use it."""

    @abstractmethod
    def between(self, pi: Bodies, reference: Bodies) -> Values:
        """(...,) divergence of pi from the reference."""

    @abstractmethod
    def gradient(self, pi: Bodies, reference: Bodies) -> Bodies:
        """(..., 10) its derivative by pi."""


@dataclass(frozen=True)
class Euclidean(Divergence):
    """|J - J0|_F^2: adds [kg], [kg m] and [kg m^2] unscaled, so it depends on the frame and the unit of length."""

    convex: ClassVar[bool] = True

    def between(self, pi: Bodies, reference: Bodies) -> Values:
        """(...,) |J - J0|_F^2."""
        return np.asarray(np.sum(pseudo_inertia(pi - reference) ** 2, axis=(-2, -1)))

    def gradient(self, pi: Bodies, reference: Bodies) -> Bodies:
        """(..., 10) from df/dJ = 2 (J - J0)."""
        return gradient_from_pseudo_inertia(2 * pseudo_inertia(pi - reference))


class _Spectral(Divergence):
    """sum of f(mu); infinite, with a gradient of NaN, where pi is not a body with extent in all directions."""

    def between(self, pi: Bodies, reference: Bodies) -> Values:
        """(...,) the sum of f(mu)."""
        values = np.sum(self._f(_spectrum(pi, reference)[0]), axis=-1)
        return np.where(np.isnan(values), np.inf, values)

    def gradient(self, pi: Bodies, reference: Bodies) -> Bodies:
        """(..., 10) from df/dJ = W diag(f') W^T."""
        mu, W = _spectrum(pi, reference)
        return gradient_from_pseudo_inertia((W * self._slope(mu)[..., None, :]) @ np.swapaxes(W, -1, -2))

    @abstractmethod
    def _f(self, mu: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _slope(self, mu: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class Entropic(_Spectral):
    """tr(J0^-1 J) - log det(J0^-1 J) - 4: f = mu - log(1 + mu)."""

    convex: ClassVar[bool] = True

    def _f(self, mu: np.ndarray) -> np.ndarray:
        # where digits of the difference would cancel, its series mu^2/2 - mu^3/3 + ...
        return np.where(np.abs(mu) < 1e-2, np.polyval(_SERIES, mu), mu - np.log1p(mu))

    def _slope(self, mu: np.ndarray) -> np.ndarray:
        return mu / (1 + mu)


@dataclass(frozen=True)
class AffineInvariant(_Spectral):
    """sum of log^2 lambda, whose root is a distance: f = log^2(1 + mu)."""

    convex: ClassVar[bool] = False

    def _f(self, mu: np.ndarray) -> np.ndarray:
        return np.asarray(np.log1p(mu) ** 2)

    def _slope(self, mu: np.ndarray) -> np.ndarray:
        return 2 * np.log1p(mu) / (1 + mu)


def metric(pi: Float[np.ndarray, "*batch 10"]) -> Float[np.ndarray, "*batch 10 10"]:
    """(..., 10, 10) G of the affine-invariant distance at bodies (..., 10): ds^2 = dpi^T G dpi.

    Raises `ImpossibleBody` if a body is impossible, flat or a point.
    """
    W = _whitening(pi)
    M = np.swapaxes(W, -1, -2)[..., None, :, :] @ _BASIS @ W[..., None, :, :]
    M = M.reshape(*M.shape[:-2], 16)
    return M @ np.swapaxes(M, -1, -2)


_BASIS = pseudo_inertia(np.eye(10))
_SERIES = [(-1) ** k / k for k in range(10, 1, -1)] + [0.0, 0.0]


def _whitening(reference: np.ndarray) -> np.ndarray:
    """W (..., 4, 4) with W^T J0 W = 1."""
    J0 = pseudo_inertia(reference)
    diagonal = np.diagonal(J0, axis1=-2, axis2=-1)
    if (diagonal > 0).all():  # False for NaN
        s = 1 / np.sqrt(diagonal)
        try:
            L = np.linalg.cholesky(s[..., :, None] * J0 * s[..., None, :])
            return s[..., :, None] * np.swapaxes(np.linalg.inv(L), -1, -2)
        except np.linalg.LinAlgError:
            pass
    rows = np.reshape(reference, (-1, 10))
    reasons = next(filter(None, map(inconsistencies, rows)), None)
    raise ImpossibleBody(reasons or ["a body to compare with is flat or a point"], "the reference")


def _spectrum(pi: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """mu (..., 4) and W (..., 4, 4): W^T J0 W = 1, W^T (J - J0) W = diag(mu); mu is NaN where J is not > 0."""
    W = _whitening(reference)
    M = np.swapaxes(W, -1, -2) @ pseudo_inertia(pi - reference) @ W
    # `eigh` refuses the whole batch if one matrix is not finite
    finite = np.isfinite(M).all(axis=(-2, -1))[..., None]
    mu, V = np.linalg.eigh(np.where(finite[..., None], M, 0.0))
    return np.where(finite & (mu[..., :1] > -1), mu, np.nan), W @ V
