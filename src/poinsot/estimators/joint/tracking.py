"""Initial guess of a motion from readings at frames: an extended Kalman smoother of a motion without forces.

Readings at frames are nonlinear in the joint coordinates, one of them may fit several configurations (a marker on a
pendulum does not see on which side of the vertical it is), and none may be complete. What decides is that a motion is
smooth. With white accelerations of density S in every coordinate,

    q_{k+1} = q_k [+] h q'_k,    Q = S [ h^3/3  h^2/2 ]
                                       [ h^2/2  h     ]

the filter takes each sample's readings by iterated updates, and a backward pass smooths (Rauch, Tung, Striebel 1965).
S and the direction of time are those of the largest likelihood. The filter begins at the configuration that fits the
first complete sample best, of those found from several places.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy.spatial.transform import Rotation

from ...arrays import Float, Vector
from ...models.maximal import Model, double_precision
from ...models.maximal.reduced import configurations, moved, rotation_vectors
from .problem import Record

DENSITIES = 10.0 ** np.arange(-3, 6)
"""Densities S that are tried [rad^2/s^3], [m^2/s^3]."""
LANES = 2 * len(DENSITIES)
"""Filters side by side: of each density, forwards and backwards in time."""
FIRST_STD, FIRST_RATE_STD = 1.0, 100.0
"""Standard deviations of the first state about its guess [rad], [m]; [rad/s], [m/s]."""
UPDATES = 3
"""Iterations of an update."""
TOGETHER = 256
"""Samples in one call of the compiled function."""


class MotionTracker:
    """The smoother of a model, compiled once."""

    def __init__(self, model: Model):
        self.model, self.structure = model, model.structure
        self.n = int(self.structure.free.sum())
        self.m = self.n + int(self.structure.is_ball.sum())
        self._filter = jax.jit(jax.vmap(self.filtered, in_axes=(0, 0, 0, None, None)))

    def plus(self, x: Array, d: Array) -> Array:
        """x [+] d of a state (q, q')."""
        return jnp.concatenate([moved(self.structure, x[: self.m], d[: self.n]), x[self.m :] + d[self.n :]])

    def errors(self, x: Array, theta: Array, z: Array, known: Array) -> tuple[Array, Array]:
        """(s,) errors of readings, 0 where there is none, and their derivative by a change of the state (s, 2 n)."""

        def away(d: Array) -> tuple[Array, Array]:
            at = self.plus(x, d)
            read = self.model.observe_coordinates(at[: self.m], at[self.m :], theta)
            e = jnp.where(known, self.model.reading_errors(read, z), 0.0)
            return e, e

        H, e = jax.jacfwd(away, has_aux=True)(jnp.zeros(2 * self.n))
        return e, H

    def filtered(
        self, start: tuple[Array, Array], samples: tuple[Array, ...], S: Array, theta: Array, noise: Array
    ) -> tuple[tuple[Array, Array], tuple[Array, ...]]:
        """The state predicted after some samples, and of each its state, update, covariance, likelihood, ..."""
        n = self.n
        one, none = jnp.eye(n), jnp.zeros((n, n))

        def process(now: tuple[Array, ...], row: tuple[Array, ...]) -> tuple[Any, None]:
            """An update by a single reading, 0 = e + h d + noise of variance R."""
            (d, P, likely), (h, e, R) = now, row
            e, gain = e + h @ d, P @ h
            C = h @ gain + R
            gain = gain / C
            # Joseph's form, which keeps P positive semidefinite
            rest = jnp.eye(2 * n) - jnp.outer(gain, h)
            P = rest @ P @ rest.T + R * jnp.outer(gain, gain)
            return (d - gain * e, P, likely - 0.5 * (e * e / C + jnp.log(C))), None

        def advance(carry: tuple[Array, Array], sample: tuple[Array, ...]) -> tuple[Any, Any]:
            (x, P), (z, known, h) = carry, sample
            R = jnp.where(known, noise**2, 1.0)

            def update(k: Any, now: tuple[Array, ...]) -> tuple[Array, ...]:
                """The change of x by all readings, linearized at the last one; its covariance; the likelihood."""
                e, H = self.errors(self.plus(x, now[0]), theta, z, known)
                (d, P_d, likely), _ = jax.lax.scan(
                    process, (0 * now[0], P, 0 * now[2]), (H, e - H @ now[0], R)
                )
                return d, P_d, jnp.where(k == 0, likely, now[2])

            d, P_at, likely = jax.lax.fori_loop(0, UPDATES, update, (jnp.zeros(2 * n), P, jnp.zeros(())))
            at = self.plus(x, d)
            F = jnp.block([[one, h * one], [none, one]])
            Q = S * jnp.block([[h**3 / 3 * one, h**2 / 2 * one], [h**2 / 2 * one, h * one]])
            P_next = F @ P_at @ F.T + Q
            x_next = self.plus(at, jnp.concatenate([h * at[self.m :], jnp.zeros(n)]))
            return (x_next, P_next), (at, d, P_at, P_next, likely)

        return jax.lax.scan(advance, start, samples)

    def first(self, theta: Vector, z: np.ndarray, noise: Vector) -> Vector:
        """(m + n,) state at rest whose configuration fits the sample of z (N, s) with the most readings.

        The filter finds it from several places, by the same sample again and again.
        """
        k = int(np.argmax(np.isfinite(z).sum(axis=1)))
        rng, y = np.random.default_rng(0), np.zeros((LANES, self.n))
        for own, _, turns in self.structure.parts:
            if turns:
                y[1:, own] = Rotation.random(LANES - 1, rng).as_rotvec()
        hinges = np.repeat(self.structure.is_hinge, self.structure.free.sum(axis=1))
        y[1:, hinges] = rng.uniform(-np.pi, np.pi, (LANES - 1, hinges.sum()))
        again = np.broadcast_to(z[k], (LANES, TOGETHER, z.shape[1]))
        samples = np.nan_to_num(again), np.isfinite(again), np.ones((LANES, TOGETHER))
        x = np.concatenate([configurations(self.structure, y), np.zeros((LANES, self.n))], axis=1)
        x, *_, likely = self._filter(self.begun(x), samples, np.ones(LANES), theta, noise)[1]
        x, fits = np.array(x[:, -1]), np.nan_to_num(np.asarray(likely[:, -1]), nan=-np.inf)
        x[:, self.m :] = 0.0
        # of those that fit as well, the one from the reference configuration
        return x[0] if fits[0] > fits.max() - np.isfinite(z[k]).sum() else x[np.argmax(fits)]

    def begun(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States and covariances with which lanes of the filter begin."""
        std = np.repeat([FIRST_STD, FIRST_RATE_STD], self.n)
        return x, np.tile(np.diag(std**2), (len(x), 1, 1))

    @double_precision
    def smoothed(
        self, record: Record, theta: Vector, noise: Vector
    ) -> tuple[Float[np.ndarray, "N n"], Float[np.ndarray, "N n"]]:
        """(N, n) joint coordinates and (N, n) rates."""
        z, h, N = record.z, record.steps, len(record.times)
        both = [(z, np.append(h, h[-1])), (z[::-1], np.append(h[::-1], h[0]))]
        x = np.array([self.first(theta, part, noise) for part, _ in both])
        lanes = [(way, S) for way in (0, 1) for S in DENSITIES]
        way, S = np.array([way for way, _ in lanes]), np.array([S for _, S in lanes])
        start = self.begun(x[way])
        samples = [np.stack([part[k] for part in both]) for k in (0, 1)]

        def run(keep: int | None) -> list[np.ndarray]:
            """Likelihoods of lanes, or what the filter finds in one of them."""
            carry, parts = start, []
            for begin in range(0, N, TOGETHER):
                at = np.minimum(np.arange(begin, begin + TOGETHER), N - 1)
                now = samples[0][:, at], samples[1][:, at]
                known = np.isfinite(now[0]) & (np.arange(begin, begin + TOGETHER) < N)[:, None]
                given = np.nan_to_num(now[0])[way], known[way], now[1][way]
                carry, found = self._filter(carry, given, S, theta, noise)
                part = found[4:] if keep is None else [each[keep] for each in found[:4]]
                axis = 1 if keep is None else 0
                parts.append(
                    [np.take(np.asarray(each), np.arange(min(TOGETHER, N - begin)), axis) for each in part]
                )
            return [np.concatenate(each, axis=axis) for each in zip(*parts, strict=True)]

        likely = np.nan_to_num(run(None)[0].sum(axis=1), nan=-np.inf)
        best = int(np.argmax(likely))
        x, d, P, P_next = run(best)
        backwards, h = bool(way[best]), both[way[best]][1]
        F = np.tile(np.eye(2 * self.n), (N, 1, 1))
        F[:, np.arange(self.n), self.n + np.arange(self.n)] = h[:, None]
        gain = np.linalg.solve(P_next, F @ P).swapaxes(1, 2)
        change = np.zeros_like(d)
        for k in range(N - 2, -1, -1):
            change[k] = gain[k] @ (d[k + 1] + change[k + 1])
        x = np.asarray(jax.vmap(self.plus)(jnp.asarray(x), jnp.asarray(change)))
        x = x[::-1] if backwards else x
        rate = -x[:, self.m :] if backwards else x[:, self.m :]
        return rotation_vectors(self.structure, x[:, : self.m]), rate


@lru_cache(maxsize=16)
def tracker(model: Model) -> MotionTracker:
    """The tracker of a model; compiled functions are kept."""
    return MotionTracker(model)
