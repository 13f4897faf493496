"""Which law of restitution the impacts of pooled drops obey.

The pooled problem estimates the velocities on both sides of each impact without a law. A law gives the impulses
c(v; mu, epsilon) of an impact by the velocity v before it. With the measured impulses by mass c = P (v+ - v), P the
rows n and t, the covariances C and C+ of v and v+ from their flights, and F = dc(v) / dv,

    e = c - c(v; mu, epsilon),        S = P C+ P^T + (P + F) C (P + F)^T

Each e is Student's t about 0 with the scale s^2 S, since real impacts scatter; s is that under the likeliest law. mu
and epsilon of each law maximize its likelihood.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from ...arrays import Float, Int, Vector
from ...estimate.motions import likely_law
from ...kernels import njit
from ...models.planar.impulses import LAWS, RESTITUTIONS, along_normal_impulse

AUTO = "auto"
"""The law of restitution under which the data are likeliest."""
FREEDOM = 4.0
"""nu of Student's t of an impact."""
STARTS = (0.1, 0.3), (0.3, 0.3), (0.3, 0.7), (0.7, 0.5)
"""mu and epsilon from which the likelihood is maximized."""
FIRST_SCALE, LEAST_SCALE = 1.6, 1.0
"""Of s; impacts do not scatter less than their flights say."""
SURE = 3.0
"""Standard errors by which s is above 1 where impacts scatter on their own."""
STEP = 1e-5
"""Of differences by the velocity before an impact [m/s], and by its spin times the radius of gyration."""


@dataclass(frozen=True, eq=False)
class PooledImpulses:
    """I impacts of a body of mass 1.

    Args:
        N, T: (I, 3) directions of the impulses. inertia: J/m [m^2].
        before: (I, 3) velocities. impulses: (I, 2) normal and tangential [m/s].
        before_covariance, after_covariance: (I, 3, 3) of the velocities.
        drop: (I,) number of the drop.
    """

    N: Float[np.ndarray, "I 3"]
    T: Float[np.ndarray, "I 3"]
    inertia: float
    before: Float[np.ndarray, "I 3"]
    impulses: Float[np.ndarray, "I 2"]
    before_covariance: Float[np.ndarray, "I 3 3"]
    after_covariance: Float[np.ndarray, "I 3 3"]
    drop: Int[np.ndarray, "I"]

    def without(self, drop: int, inertia: float) -> PooledImpulses:
        """Those of the other drops, with the J/m that these give."""
        others = self.drop != drop
        rest = {name: value[others] for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        return replace(self, **rest, inertia=inertia)

    def distances(self, law: int, mu: float, epsilon: float) -> tuple[Vector, Vector]:
        """(I,) e^T S^-1 e and log det S."""
        body, values = (self.N, self.T, self.inertia), (mu, epsilon, law)
        steps = STEP * np.array([1.0, 1.0, 1 / np.sqrt(self.inertia)])
        here = predicted_impulses(*body, self.before, *values)
        ahead = [predicted_impulses(*body, self.before + step, *values) for step in np.diag(steps)]
        F = (np.stack(ahead, axis=2) - here[:, :, None]) / steps
        P = np.zeros((len(here), 2, 3))
        P[:, 0, :2], P[:, 1, :2] = self.N[:, :2], self.T[:, :2]
        S = P @ self.after_covariance @ P.transpose(0, 2, 1)
        S += (P + F) @ self.before_covariance @ (P + F).transpose(0, 2, 1)
        e = self.impulses - here
        return np.einsum("ij,ij->i", e, np.linalg.solve(S, e[:, :, None])[:, :, 0]), np.linalg.slogdet(S)[1]

    def unlikely(self, law: int, mu: float, epsilon: float, scale: float) -> float:
        """-log L, up to a constant."""
        square, log = self.distances(law, mu, epsilon)
        spread = 0.5 * (FREEDOM + 2) * np.log1p(square / (FREEDOM * scale**2))
        return float(np.sum(spread + 0.5 * log + 2 * np.log(scale)))


@njit(cache=True)
def predicted_impulses(
    N: np.ndarray, T: np.ndarray, inertia: float, before: np.ndarray, mu: float, epsilon: float, law: int
) -> np.ndarray:
    """(I, 2) impulses under a law by velocities (I, 3) before; 0 where the contact does not close."""
    W, c = np.array([1.0, 1.0, 1.0 / inertia]), np.zeros((len(N), 2))
    for i in range(len(N)):
        if N[i, 0] * before[i, 0] + N[i, 1] * before[i, 1] + N[i, 2] * before[i, 2] < 0.0:
            c[i, 0], c[i, 1] = along_normal_impulse(N[i], T[i], W, before[i], mu, epsilon, law)
    return c


@dataclass(frozen=True)
class LawFit:
    """mu and epsilon that maximize the likelihood of a law of restitution.

    Args:
        scale: s. likelihood: its logarithm, up to a constant that all laws share.
    """

    name: str
    friction: float
    restitution: float
    scale: float
    likelihood: float

    def holds(self, impulses: PooledImpulses) -> bool:
        """Whether impacts scatter about it as their flights do: s, from two components of each, is not above 1."""
        return bool(self.scale - LEAST_SCALE < SURE * self.scale / np.sqrt(4 * len(impulses.drop)))

    def refitted(self, impulses: PooledImpulses) -> LawFit:
        """To other impulses, with the same scale."""
        return _fitted(impulses, self.name, (self.friction, self.restitution), self.scale)


def compared(restitution: str) -> list[str]:
    """The laws of restitution that a setting leaves: one, or with `AUTO` all."""
    return [name for name in RESTITUTIONS if restitution in (AUTO, name)]


def fitted_laws(impulses: PooledImpulses, names: Sequence[str]) -> tuple[LawFit, ...]:
    """These laws of restitution, the likeliest first."""
    free = [_fitted(impulses, name, start, None) for name in names for start in STARTS]
    scale = max(free, key=_likelihood).scale
    best = (max((fit for fit in free if fit.name == name), key=_likelihood) for name in names)
    return tuple(
        sorted((replace(fit, scale=scale).refitted(impulses) for fit in best), key=_likelihood)[::-1]
    )


def _likelihood(fit: LawFit) -> float:
    return fit.likelihood


def _fitted(impulses: PooledImpulses, name: str, start: tuple[float, float], scale: float | None) -> LawFit:
    """From mu and epsilon; `scale` None: it is free."""

    def values(x: Vector) -> tuple[float, float, float]:
        return abs(float(x[0])), float(np.clip(x[1], 0, 1)), scale or max(float(np.exp(x[2])), LEAST_SCALE)

    law, x = LAWS.index(name), start if scale else (*start, np.log(FIRST_SCALE))
    accurate = {"xatol": 1e-6, "fatol": 1e-6}
    best = minimize(lambda x: impulses.unlikely(law, *values(x)), x, method="Nelder-Mead", options=accurate)
    return LawFit(name, *values(best.x), -float(best.fun))


def law_note(likelihoods: Mapping[str, float], law: str) -> str:
    """How far the data decide between laws of restitution; law: of impact, that the estimate obeys."""
    best, *others = sorted(likelihoods, key=likelihoods.__getitem__, reverse=True)
    gains = ", ".join(f"e^{likelihoods[best] - likelihoods[name]:.3g} times ({name})" for name in others)
    friction = f"; friction acts by the law {law}" if law not in likelihoods else ""
    if likely_law(likelihoods) is None:
        return f"The laws of restitution explain the frames alike: {best} is likelier by {gains}{friction}."
    return f"The law of restitution is {best}: the frames are likelier by {gains}{friction}."
