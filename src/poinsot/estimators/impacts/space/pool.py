"""The least-squares problem of many tosses of one body: flights, and the impacts that join them.

Unknown are theta (`kernels`), the state of each flight at its middle, and the instant of each impact. Residuals:

    frames      place and rotation less the motion, by the tracker's noise
    continuity  place and rotation are those of both flights at the instant of an impact
    gap         the corner that strikes is on the plane
    lever       (J/m) (w+ - w-) = R^T (r x (v+ - v-))
    law         v+ - v- is the impulse of friction and restitution (`models.spatial.impacts`)
    slide       friction along the plane decelerates by mu g_n, g_n being gravity across the plane
    priors      of what a laboratory surveys: floor, tracked point, corner radius; of gravity

Standard deviations of the groups are estimated: of a group with residuals e and the trace of its influence,
sigma^2 = sum of w e^2 / (N - trace), w the weights of Student's t. Lever and law are errors relative to the jump of the
velocity. States and instants of a toss appear in no other, so they are eliminated toss by toss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ....arrays import Float, Vector
from ....models.spatial.flights import spun
from .flights import Toss, TossFlight, TossSlide, flights_of, slides_of, window
from .kernels import (
    FRICTION,
    GRAVITY_RATIO,
    HEIGHT,
    RADIUS,
    ROWS,
    SHIFT,
    STEP,
    TILT_X,
    TILT_Y,
    S,
    flight_derivatives,
    impact_derivatives,
    impact_residuals,
    inertia_of,
    plane_normal,
)

GROUPS = (
    "place",
    "rotation",
    "instant_place",
    "instant_rotation",
    "gap",
    "lever",
    "normal",
    "along",
    "slide",
)
"""What has a standard deviation of its own, the first two of the tracker."""
OF_ROWS = np.array([2, 2, 2, 3, 3, 3, 4, 5, 5, 5, 6, 7, 7])
"""Group of each row of an impact."""
OF_SLIDES = GROUPS.index("slide")
RELATIVE = OF_ROWS >= 5
"""TossRows whose standard deviation is relative to the jump of the velocity."""
FREEDOM = 4.0
"""nu of Student's t."""
GAUSSIAN = {1: 1.2034, 2: 1.1730, 3: 1.1502}
"""By number of components, the factor on residuals with which Gaussian ones of standard deviation 1 have w z^2 = n."""


@dataclass(eq=False)
class Strike:
    """An impact between flights `before` and `before` + 1 of a toss, at time `t` [s], with a corner of the body.

    Args:
        size: of the jump of the velocity, to which tolerances are relative [m/s]. why: reason for which the impact does
            not count; "": it counts.
    """

    before: int
    t: float
    corner: int
    size: float
    why: str = ""


@dataclass(eq=False)
class TossState:
    """Flights, impacts and slides of one toss."""

    toss: Toss
    flights: list[TossFlight]
    impacts: list[Strike]
    slides: list[TossSlide]


@dataclass(frozen=True, eq=False)
class ContactScene:
    """Corners (C, 3), their `inwards` (C, 3), the plane (4, 3) of `kernels.impact_residuals`, gravity (3,) [m/s^2]."""

    corners: Float[np.ndarray, "C 3"]
    inwards: Float[np.ndarray, "C 3"]
    plane: Float[np.ndarray, "4 3"]
    gravity: Vector

    def lowest(self, theta: Vector, p: Vector, R: np.ndarray) -> tuple[np.ndarray, Vector]:
        """Order of corners by their gaps, and gaps [m]."""
        n = plane_normal(self.plane[1], self.plane[2:], theta[TILT_X : TILT_X + 2])
        places = (self.corners + theta[SHIFT : SHIFT + 3] - theta[RADIUS] * self.inwards) @ R.T + p
        gaps = (places - self.plane[0]) @ n - theta[RADIUS] - theta[HEIGHT]
        return np.argsort(gaps), gaps

    def braked(self, theta: Vector, slide: TossSlide) -> float:
        """Friction of theta less the one by which a slide is decelerated."""
        n = plane_normal(self.plane[1], self.plane[2:], theta[TILT_X : TILT_X + 2])
        g = theta[GRAVITY_RATIO] * self.gravity
        along = slide.velocity - (slide.velocity @ n) * n
        along /= np.linalg.norm(along)
        return float(theta[FRICTION] - (g - slide.acceleration) @ along / -(g @ n))


@dataclass(frozen=True, eq=False)
class TossEquations:
    """Normal equations with states and instants eliminated, by toss.

    Args:
        H: (D, S, S), b: (D, S) of theta. cost: -log-likelihood of all residuals. steps: of each toss, local step and
            its derivative by theta. sums: (G, 3) of each group: sum of w e^2, number of rows, trace of the influence.
    """

    H: np.ndarray
    b: np.ndarray
    cost: float
    steps: list[tuple[np.ndarray, np.ndarray]]
    sums: np.ndarray


class TossRows(NamedTuple):
    """Residuals of a toss: derivatives A by states and instants, B by theta, e in standard deviations, the group and
    the weight of each, and -log-likelihood.
    """

    A: np.ndarray
    B: np.ndarray
    e: np.ndarray
    groups: np.ndarray
    weights: np.ndarray
    loss: float


@dataclass(frozen=True, eq=False)
class Pool:
    """The problem of many tosses.

    Args:
        std: (G,) of `GROUPS`. law: of restitution. prior: (S,) mean and (S,) std of theta; infinite std: none.
    """

    geometry: ContactScene
    std: Vector
    law: int
    prior: tuple[Vector, Vector]

    def linearized(self, theta: Vector, states: Sequence[TossState]) -> TossEquations:
        """The problem at theta and states, which are eliminated."""
        H, b, steps = [], [], []
        cost, sums = 0.0, np.zeros((len(GROUPS), 3))
        for state in states:
            A, B, e, groups, weights, loss = self._rows(theta, state)
            cost += loss
            r = np.sqrt(weights)
            A, B, e = A * r[:, None], B * r[:, None], e * r
            N = A.T @ A
            N[np.diag_indices(len(N))] += 1e-9 * np.diag(N) + 1e-300
            C = np.linalg.inv(N)
            K = C @ (A.T @ B)
            k = C @ (A.T @ e)
            left, rest = B - A @ K, e - A @ k
            H.append(B.T @ left)
            b.append(B.T @ rest)
            steps.append((k, K))
            own = np.sum((A @ C) * A, axis=1)
            for group in range(len(GROUPS)):
                mine = groups == group
                sums[group] += [np.sum(e[mine] ** 2), np.sum(weights[mine] > 0), np.sum(own[mine])]
        return TossEquations(np.array(H), np.array(b), cost, steps, sums)

    def _rows(self, theta: Vector, state: TossState) -> TossRows:
        F, I = len(state.flights), len(state.impacts)
        columns = 12 * F + I
        A, B, e, groups, weights = [], [], [], [], []
        loss = 0.0
        for k, flight in enumerate(state.flights):
            r, by_state, by_theta = flight_derivatives(
                theta,
                self.geometry.gravity,
                flight.p,
                flight.v,
                flight.R,
                flight.w,
                *window(state.toss, flight),
            )
            group = np.tile(np.repeat([0, 1], 3), len(r))
            scale = self.std[group]
            own = np.zeros((len(group), columns))
            own[:, 12 * k : 12 * k + 12] = by_state.reshape(-1, 12) / scale[:, None]
            A.append(own)
            B.append(by_theta.reshape(-1, S) / scale[:, None])
            z = (r.ravel() / scale).reshape(-1, 2, 3)
            size = (GAUSSIAN[3] * z) ** 2 @ np.ones(3)
            w = GAUSSIAN[3] ** 2 * (FREEDOM + 3) / (FREEDOM + size)
            loss += float(np.sum(0.5 * (FREEDOM + 3) * np.log1p(size / FREEDOM))) + float(
                np.sum(np.log(scale))
            )
            e.append(z.ravel())
            groups.append(group)
            weights.append(np.repeat(w.ravel(), 3))
        for k, impact in enumerate(state.impacts):
            r, _, local, by_theta = impact_derivatives(theta, *self._impact(state, impact))
            scale = self.std[OF_ROWS] * np.where(RELATIVE, impact.size, 1.0)
            used = np.full(ROWS, not impact.why)
            z = np.where(used, r / scale, 0.0)
            w = np.zeros(ROWS)
            for group in np.unique(OF_ROWS):
                mine = OF_ROWS == group
                n = int(np.sum(mine & used))
                if n:
                    c = GAUSSIAN[n]
                    size2 = float(np.sum((c * z[mine]) ** 2))
                    w[mine] = c * c * (FREEDOM + n) / (FREEDOM + size2)
                    loss += 0.5 * (FREEDOM + n) * np.log1p(size2 / FREEDOM) + n * np.log(scale[mine][0])
            own = np.zeros((ROWS, columns))
            at = 12 * impact.before
            own[:, at : at + 24] = local[:, :24] / scale[:, None]
            own[:, 12 * F + k] = local[:, 24] / scale
            A.append(own)
            B.append(by_theta / scale[:, None])
            e.append(z)
            groups.append(OF_ROWS)
            weights.append(w)
        for slide in state.slides:
            z = self.geometry.braked(theta, slide)
            own = np.zeros((1, S))
            for k in (GRAVITY_RATIO, TILT_X, TILT_Y, FRICTION):
                moved = theta.copy()
                moved[k] += STEP
                own[0, k] = (self.geometry.braked(moved, slide) - z) / STEP
            # the deceleration is known as well as its frames say, and differs from slide to slide
            scale = float(np.hypot(self.std[OF_SLIDES], slide.std / np.linalg.norm(self.geometry.gravity)))
            size2 = (GAUSSIAN[1] * z / scale) ** 2
            loss += 0.5 * (FREEDOM + 1) * np.log1p(size2 / FREEDOM) + np.log(scale)
            A.append(np.zeros((1, columns)))
            B.append(own / scale)
            e.append(np.array([z / scale]))
            groups.append(np.array([OF_SLIDES]))
            weights.append(np.array([GAUSSIAN[1] ** 2 * (FREEDOM + 1) / (FREEDOM + size2)]))
        of_states, of_theta, residuals, of_groups, of_weights = map(
            np.concatenate, (A, B, e, groups, weights)
        )
        return TossRows(of_states, of_theta, residuals, of_groups, of_weights, loss)

    def errors(self, theta: Vector, states: Sequence[TossState]) -> np.ndarray:
        """(I, ROWS) residuals of all impacts, those of single corners or not, in standard deviations."""
        rows = [
            self.residuals(theta, state, impact) / (self.std[OF_ROWS] * np.where(RELATIVE, impact.size, 1.0))
            for state in states
            for impact in state.impacts
        ]
        return np.array(rows).reshape(-1, ROWS)

    def residuals(self, theta: Vector, state: TossState, impact: Strike) -> Vector:
        """(ROWS,) residuals of an impact in SI units."""
        return impact_residuals(theta, *self._impact(state, impact))[0]

    def _impact(self, state: TossState, impact: Strike) -> tuple[Any, ...]:
        """Arguments after theta of `kernels.impact_residuals`."""
        geometry, (a, b) = self.geometry, state.flights[impact.before : impact.before + 2]
        corner = np.array([geometry.corners[impact.corner], geometry.inwards[impact.corner]])
        sides = (x for f in (a, b) for x in (f.rates, f.R, impact.t - f.middle))
        return geometry.gravity, geometry.plane, corner, self.law, *sides

    def prior_rows(self, theta: Vector) -> tuple[np.ndarray, np.ndarray, float]:
        mean, std = self.prior
        h = np.where(np.isfinite(std), 1 / np.maximum(std, 1e-12) ** 2, 0.0)
        off = theta - mean
        return np.diag(h), h * off, 0.5 * float(h @ off**2)


def stepped(state: TossState, step: Vector) -> TossState:
    flights = [flight.moved(step[12 * k : 12 * k + 12]) for k, flight in enumerate(state.flights)]
    late = step[12 * len(flights) :]
    impacts = [replace(impact, t=impact.t + float(s)) for impact, s in zip(state.impacts, late, strict=True)]
    return replace(state, flights=flights, impacts=impacts)


def minimized(
    pool: Pool, theta: Vector, states: list[TossState], most: int = 30, enough: float = 1e-3
) -> tuple[Vector, list[TossState], TossEquations, int]:
    """Levenberg and Marquardt's minimum."""
    damping, now = 1e-4, pool.linearized(theta, states)
    prior = pool.prior_rows(theta)
    k = 0
    for k in range(1, most + 1):
        H, b = now.H.sum(axis=0) + prior[0], now.b.sum(axis=0) + prior[1]
        for _ in range(8):
            scaled = H + damping * np.diag(np.diag(H)) + 1e-12 * np.eye(S)
            step = -np.linalg.solve(scaled, b)
            tried = theta + step
            moved = [
                stepped(state, -(own + of @ step)) for state, (own, of) in zip(states, now.steps, strict=True)
            ]
            new, of_new = pool.linearized(tried, moved), pool.prior_rows(tried)
            if new.cost + of_new[2] < now.cost + prior[2] + 1e-9:
                break
            damping = max(10 * damping, 1e-3)
        else:
            return theta, states, now, k
        gained = now.cost + prior[2] - new.cost - of_new[2]
        theta, states, now, prior = tried, moved, new, of_new
        damping = max(damping / 10, 1e-9)
        if gained < enough:
            break
    return theta, states, now, k


def first_states(
    tosses: Sequence[Toss],
    geometry: ContactScene,
    theta: Vector,
    noise: Vector,
    size: float,
) -> list[TossState]:
    """Slides and flights, and impacts between neighbouring flights, at the instant at which both are at one place.

    Args:
        noise, size: as in `flights_of`.
    """
    states = []
    for toss in tosses:
        slides = slides_of(toss, geometry.plane[1], geometry.gravity, noise, size)
        own = flights_of(toss, slides, theta, geometry.gravity, noise, size)
        impacts = []
        for k, (a, b) in enumerate(pairwise(own)):
            if b.begin - a.end > MOST_SKIPPED:
                continue
            begin, end = toss.times[a.end - 1], toss.times[b.begin]
            t = 0.5 * (begin + end)
            for _ in range(3):
                (pa, va, Ra, _), (pb, vb, _, _) = (state_at(f, t, geometry, theta) for f in (a, b))
                jump = vb - va
                t = float(np.clip(t - (pb - pa) @ jump / max(float(jump @ jump), 1e-12), begin, end))
            pa, va, Ra, _ = state_at(a, t, geometry, theta)
            corner = int(geometry.lowest(theta, pa, Ra)[0][0])
            impacts.append(Strike(k, t, corner, float(np.linalg.norm(vb - va))))
        states.append(TossState(toss, own, impacts, slides))
    return states


MOST_SKIPPED = 2
"""Largest number of frames between the flights of one impact that belong to none."""


def state_at(
    flight: TossFlight, t: float, geometry: ContactScene, theta: Vector
) -> tuple[Vector, Vector, np.ndarray, Vector]:
    """Place, velocity, rotation and spin of a flight at a time."""
    s, fall = t - flight.middle, theta[GRAVITY_RATIO] * geometry.gravity
    J = inertia_of(theta[:6])
    R, w = spun(J, np.linalg.inv(J), flight.R, flight.w, s)
    return flight.p + s * flight.v + 0.5 * s * s * fall, flight.v + s * fall, R, w
