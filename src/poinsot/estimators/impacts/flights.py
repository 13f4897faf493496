"""Free flights of a tracked planar body, in which nothing but gravity and drag acts, and rests after them.

Between impacts each coordinate s of the center of mass (or the angle) obeys, with drag k and a small random
acceleration of spectral density w (friction on a pane, air, slow errors of the tracker),

    ds = v dt        dv = -(gamma + k v) dt + sqrt(w) dB        y = s + noise of standard deviation sigma

with gamma = 9.81 m/s^2 along y and 0 elsewhere. Over a time T, with f = (1 - e^(-k T)) / k and b = (T - f) / k,

    s' = s + f v - gamma b      v' = e^(-k T) v - gamma f      Q = w [ T^3/3  T^2/2 ]
                                                                    [ T^2/2  T     ]

The tracked point is at o from the center of mass in the body's frame, so y_xy = p + R(theta) o: it circles about a
parabola. A Kalman filter starts without a prior from the first two frames, and keeps the first state beside the
current one. It gives the mean and the covariance C (4, 4) of both ends, (s, v)_first and (s, v)_last, given all frames
of the flight, and whitened innovations e, two fewer than frames. The likelihood of the frames is

    -2 log L = |e|^2 + log det + |(first, last) - mean|^2_C

exactly. The gains do not depend on y, so derivatives of y by a parameter pass through the same filter as y itself.

**Division of a drop.** Every frame belongs to one flight or to none. The division into successive flights is the one
that minimizes

    sum over flights (FLIGHT + |e|^2) + sum over frames outside flights SKIPPED

with e the innovations of a flight. Dynamic programming finds it: best(j), the least cost of the first j frames, is
best(i) plus a flight of frames i to j - 1. A filter starts at every frame and runs until
its |e|^2 is hopeless, so the time is proportional to the number of frames and the length of a flight. Then

- two flights with at most two frames between them are joined if that costs less: those frames were misread;
- a flight that a body without gravity explains better is rejected: the body rests or rolls;
- frames after the body has come to rest are excluded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import minimize

from ...arrays import Float, Indices, Matrix, Vector
from ...kernels import njit
from ...models.planar.body import GRAVITY
from ...models.planar.drop import GIVEN, Drop, of_center, tracker_noise
from ...solve import Stop, stop_requested
from .collisions import OF_FLIGHTS, ContactGeometry, Resting, S

NO_DRAG = 1e-6
"""A drag below this counts as 0 [1/s]: the closed form divides by it, and the difference is below rounding."""
OUTLIER = 3.0
"""Innovations beyond this many standard deviations count as this many where noise is estimated."""
FEWEST = 8
"""Least number of frames of a drop that is identified."""


def integrals(times: Vector, held: Float[np.ndarray, "K 3"], ends: Vector) -> Float[np.ndarray, "E 3"]:
    """(E - 1, 3) integrals between `ends` of values (N - 1, 3) that are held from one of times (N,) to the next."""
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(held * np.diff(times)[:, None], axis=0)])
    return np.diff(np.column_stack([np.interp(ends, times, sums[:, k]) for k in range(3)]), axis=0)


FALL = np.array([0.0, -GRAVITY, 0.0])
STRAY = 4.5
"""Largest distance of a frame of the first flight from where least squares have it, in standard deviations."""


def first_flight(times: Vector, poses: Matrix, noise: Vector) -> tuple[int, Float[np.ndarray, "2 3"], float]:
    """Number of frames of the first flight, two at least; pose and velocity at a time, which are uncorrelated; that
    time [s].

    In flight p + g s^2 / 2 is a straight line, s the time from the mean of the frames. The flight is as long as frames
    are on such a line.

    Args:
        times: (N,) [s]. poses: (N, 3). noise: (3,) standard deviations of a frame [m], [m], [rad].
    """
    count, state, middle = 0, np.zeros((2, 3)), 0.0
    for n in range(2, len(times) + 1):
        mean = float(np.mean(times[:n]))
        s = times[:n] - mean
        rising, B = poses[:n] - 0.5 * np.outer(s**2, FALL), np.column_stack([np.ones(n), s])
        c: Matrix = np.linalg.lstsq(B, rising, rcond=None)[0]
        if (np.abs(rising - B @ c) > STRAY * noise).any():
            break
        count, state, middle = n, c, mean
    return count, state, middle


@dataclass(frozen=True, eq=False)
class FlightModel:
    """Parameters that all flights share.

    Args:
        offset: (2,) of the tracked point from the center of mass, in the body's frame [m].
        drag: (2,) linear and angular [1/s]. noise: (3,) standard deviations of x, y [m] and the angle [rad] in a frame.
        wander: (3,) spectral densities of the random acceleration [m^2/s^3], [m^2/s^3], [rad^2/s^3].
    """

    offset: Vector = field(default_factory=lambda: np.zeros(2))
    drag: Vector = field(default_factory=lambda: np.zeros(2))
    noise: Vector = field(default_factory=lambda: np.zeros(3))
    wander: Vector = field(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True, eq=False)
class Flight:
    """The states at both ends of a flight, given its frames.

    Args:
        frames: (n,) their indices in the drop. first, last: times of the first and the last [s].
        mean: (12,) x, y, theta and their rates at the first frame, the same at the last. covariance: (12, 12).
        by_shared: (12, 4) derivatives of the mean by offset and drag. innovations: (3 n - 6,) whitened.
        innovations_by_shared: (3 n - 6, 4).
    """

    frames: Indices
    first: float
    last: float
    mean: Vector
    covariance: Matrix
    by_shared: Matrix
    innovations: Vector
    innovations_by_shared: Matrix


@njit(cache=True)
def glide(k: float, T: float) -> tuple[float, float, float]:
    """f, b and e^(-k T); T may be negative."""
    if abs(k) < NO_DRAG:
        return T, 0.5 * T * T, 1.0
    # T - f cancels all but (k T)^2 / 2 of T: for short times the series of b is more accurate
    decay = np.exp(-k * T)
    f = -np.expm1(-k * T) / k
    return f, (T - f) / k if abs(k * T) > 1e-4 else T * T * (0.5 - k * T / 6), decay


@njit(cache=True)
def filtered(
    t: np.ndarray, Y: np.ndarray, fall: np.ndarray, k: float, variance: float, wander: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Filter one coordinate of a flight.

    Args:
        t: (n,) times, n >= 2. Y: (n, m) readings, a column each. fall: (m,) gamma of each column.

    Returns:
        (m, 4) s and v at the first frame, then at the last; (4, 4) their covariance; (n - 2, m) whitened innovations;
        the logarithm of the determinant of their covariance.
    """
    n, m = Y.shape
    x, e, log = np.empty((m, 4)), np.empty((n - 2, m)), 0.0
    T = t[1] - t[0]
    f, b, decay = glide(k, T)
    for j in range(m):
        v = (Y[1, j] - Y[0, j] + fall[j] * b) / f
        x[j, 0], x[j, 1], x[j, 2], x[j, 3] = Y[0, j], v, Y[1, j], decay * v - fall[j] * f
    # errors of the first and the second state by the noise of both frames and by the effect of w on s and v in between
    L = np.zeros((4, 4))
    L[0, 0] = 1.0
    L[1, 0], L[1, 1], L[1, 2] = -1 / f, 1 / f, 1 / f
    L[2, 1] = 1.0
    L[3, 0], L[3, 1], L[3, 2], L[3, 3] = -decay / f, decay / f, decay / f, -1.0
    D = np.zeros((4, 4))
    D[0, 0] = D[1, 1] = variance
    D[2, 2], D[2, 3], D[3, 2], D[3, 3] = wander * T**3 / 3, wander * T**2 / 2, wander * T**2 / 2, wander * T
    P = L @ D @ L.T
    F = np.eye(4)
    for i in range(2, n):
        T = t[i] - t[i - 1]
        f, b, decay = glide(k, T)
        F[2, 3], F[3, 3] = f, decay
        P = F @ P @ F.T
        P[2, 2] += wander * T**3 / 3
        P[2, 3] += wander * T**2 / 2
        P[3, 2] += wander * T**2 / 2
        P[3, 3] += wander * T
        # the gain also updates the first state, so that in the end it is conditioned on all frames
        S = P[2, 2] + variance
        K = P[:, 2] / S
        log += np.log(S)
        for j in range(m):
            x[j, 2] += f * x[j, 3] - fall[j] * b
            x[j, 3] = decay * x[j, 3] - fall[j] * f
            surprise = Y[i, j] - x[j, 2]
            e[i - 2, j] = surprise / np.sqrt(S)
            for a in range(4):
                x[j, a] += K[a] * surprise
        for a in range(4):
            for c in range(4):
                P[a, c] -= S * K[a] * K[c]
    # rounding leaves P slightly asymmetric, and the callers factorize it
    return x, 0.5 * (P + P.T), e, log


SHARED_STEPS = 4
"""Gauss-Newton steps: innovations are nearly linear in offset and drag."""
STEP_OF_DRAG = 1e-3
"""Step of central differences by drag [1/s]; the filter is smooth in it on a scale of 1/T, at least some 1/s."""


def _coordinate(a: int, t: Vector, poses: Matrix, model: FlightModel) -> tuple[Matrix, Matrix, Matrix, float]:
    """Mean (4, 1 + 4), covariance, innovations (n - 2, 1 + 4): the value, then by offset x, y, drag linear, angular."""
    c, s = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    by_offset = ((-c, s), (-s, -c), (0 * c, 0 * c))[a]
    y = poses[:, a] + by_offset[0] * model.offset[0] + by_offset[1] * model.offset[1]
    k, variance, wander = model.drag[int(a == 2)], model.noise[a] ** 2, model.wander[a]
    Y, gamma = np.column_stack([y, *by_offset]), np.array([GRAVITY if a == 1 else 0.0, 0.0, 0.0])
    x, C, e, log = filtered(t, Y, gamma, k, variance, wander)
    sides = (k + STEP_OF_DRAG, k - STEP_OF_DRAG)
    more, less = (filtered(t, Y[:, :1], gamma[:1], side, variance, wander) for side in sides)
    mean, innovations = np.zeros((4, 5)), np.zeros((len(t) - 2, 5))
    mean[:, :3], innovations[:, :3] = x.T, e
    mean[:, 3 + int(a == 2)] = (more[0][0] - less[0][0]) / (2 * STEP_OF_DRAG)
    innovations[:, 3 + int(a == 2)] = (more[2][:, 0] - less[2][:, 0]) / (2 * STEP_OF_DRAG)
    return mean, C, innovations, log


def flight(drop: Drop, frames: Indices, model: FlightModel) -> Flight:
    """The flight of these frames, at least two."""
    t, poses = drop.times[frames], drop.poses[frames]
    mean, covariance, by_shared, e = np.zeros(12), np.zeros((12, 12)), np.zeros((12, 4)), []
    for a in range(3):
        at = np.array([a, 3 + a, 6 + a, 9 + a])
        x, C, innovations, _ = _coordinate(a, t, poses, model)
        mean[at], by_shared[at], covariance[np.ix_(at, at)] = x[:, 0], x[:, 1:], C
        e.append(innovations)
    stacked = np.concatenate(e)
    return Flight(
        frames, float(t[0]), float(t[-1]), mean, covariance, by_shared, stacked[:, 0], stacked[:, 1:]
    )


def calibrated(
    pieces: Sequence[tuple[Drop, Indices]], model: FlightModel, free: Sequence[bool] = (True,) * 4
) -> FlightModel:
    """Offset and drag, of which some are free, then noise and wander from flights, each by their likelihood.

    Args:
        pieces: drops and the frames of a flight in them, three at least in each.
    """
    return _noises(pieces, _shared(pieces, model, np.array(free)) if any(free) else model)


def _shared(pieces: Sequence[tuple[Drop, Indices]], model: FlightModel, free: np.ndarray) -> FlightModel:
    """Offset and drag by Gauss-Newton steps, with the cost 2 OUTLIER^2 (sqrt(1 + (e / OUTLIER)^2) - 1)."""
    scale = np.array([1e-3, 1e-3, 1.0, 1.0])[free]
    for _ in range(SHARED_STEPS):
        flown = [flight(drop, frames, model) for drop, frames in pieces]
        e = np.concatenate([one.innovations for one in flown])
        E = np.concatenate([one.innovations_by_shared for one in flown])[:, free] * scale
        root = (1 + (e / OUTLIER) ** 2) ** -0.25
        step = np.zeros(4)
        step[free] = -scale * np.linalg.lstsq(root[:, None] * E, root * e, rcond=None)[0]
        model = replace(model, offset=model.offset + step[:2], drag=model.drag + step[2:])
    return model


def _noises(pieces: Sequence[tuple[Drop, Indices]], model: FlightModel) -> FlightModel:
    noise, wander = model.noise.copy(), model.wander.copy()
    for a in range(3):
        readings = [
            (drop.times[frames], of_center(drop, model.offset)[frames, a : a + 1]) for drop, frames in pieces
        ]
        known = readings, np.array([GRAVITY if a == 1 else 0.0]), model.drag[int(a == 2)]
        # logarithms of standard deviations: both stay positive, and their scales are alike. The wander starts from at
        # least the noise [1/s^(3/2)]: its logarithm must be finite
        z = np.log([noise[a], max(np.sqrt(wander[a]), noise[a])])
        options = {"xatol": 0.01, "fatol": 0.5, "maxiter": 80}
        best = minimize(_unlikely, z, known, method="Nelder-Mead", options=options)
        noise[a], wander[a] = np.exp(best.x[0]), np.exp(2 * best.x[1])
    return replace(model, noise=noise, wander=wander)


def _unlikely(z: Vector, readings: Sequence[tuple[Vector, Matrix]], fall: Vector, k: float) -> float:
    total = 0.0
    for t, y in readings:
        _, _, e, log = filtered(t, y, fall, k, np.exp(2 * z[0]), np.exp(2 * z[1]))
        # clipped, so that one misread frame does not become the noise of all
        total += float(np.sum(np.minimum(e * e, OUTLIER**2))) + log
    return total


FLIGHT = 30.0
"""Cost of a flight. Its first two frames always fit, which saves 6, and its start is chosen freely."""
SKIPPED = 16.0
"""Cost of a frame outside flights; a frame of a flight costs 3 on average and, once in a thousand, 16."""
HOPELESS = 150.0
"""A flight whose cost exceeds this plus that of skipping its frames is not continued."""
MISREAD = 2
"""Frames in a row that may be misread in a flight."""
WEIGHTLESS = 6.0
"""Decrease of -2 log L by which a body at rest or rolling must explain frames better than one that falls."""
INFLATIONS = (6.0, 3.0, 1.5, 1.0, 1.0)
"""Factors on the noise, round by round: the tracked point circles about a parabola until its offset is estimated."""
LONG = 8
"""Least number of frames of a flight from which offset, drag and noise are estimated."""


@dataclass(frozen=True, eq=False)
class Segmented:
    """
    Args:
        drops: as given. flights: of each, the frames of each of its flights, in order.
        model: offset, drag, noise and wander, from the flights.
    """

    drops: tuple[Drop, ...]
    flights: tuple[tuple[Indices, ...], ...]
    model: FlightModel


@njit(cache=True)
def _division(
    t: np.ndarray, poses: np.ndarray, drag: np.ndarray, noise: np.ndarray, wander: np.ndarray, fall: float
) -> np.ndarray:
    """(F, 2) begin and end of each flight, poses being of the center of mass."""
    N = len(t)
    best, before = np.full(N + 1, np.inf), np.full(N + 1, -1)
    best[0] = 0.0
    s, v, P = np.empty(3), np.empty(3), np.empty((3, 3))
    for i in range(N):
        if best[i] + SKIPPED < best[i + 1]:
            best[i + 1], before[i + 1] = best[i] + SKIPPED, 2 * i
        cost = 0.0
        for j in range(i + 1, N):
            T = t[j] - t[j - 1]
            for a in range(3):
                f, b, decay = glide(drag[1 if a == 2 else 0], T)
                gamma = fall if a == 1 else 0.0
                R, w = noise[a] ** 2, wander[a]
                if j == i + 1:
                    # without a prior, two frames determine the state exactly: they cost nothing
                    v0 = (poses[j, a] - poses[i, a] + gamma * b) / f
                    s[a], v[a] = poses[j, a], decay * v0 - gamma * f
                    P[a, 0], P[a, 1] = R, decay * R / f
                    P[a, 2] = decay**2 * (w * T**3 / 3 + 2 * R) / f**2 - decay * w * T**2 / f + w * T
                    continue
                s[a] += f * v[a] - gamma * b
                v[a] = decay * v[a] - gamma * f
                p, c, d = P[a, 0], P[a, 1], P[a, 2]
                P[a, 0] = p + 2 * f * c + f * f * d + w * T**3 / 3
                P[a, 1] = decay * (c + f * d) + w * T**2 / 2
                P[a, 2] = decay * decay * d + w * T
                S, e = P[a, 0] + R, poses[j, a] - s[a]
                cost += e * e / S
                gain_s, gain_v = P[a, 0] / S, P[a, 1] / S
                s[a] += gain_s * e
                v[a] += gain_v * e
                P[a, 2] -= gain_v * P[a, 1]
                P[a, 1] -= gain_s * P[a, 1]
                P[a, 0] -= gain_s * P[a, 0]
            if cost > HOPELESS + SKIPPED * (j - i):
                break
            if best[i] + FLIGHT + cost < best[j + 1]:
                best[j + 1], before[j + 1] = best[i] + FLIGHT + cost, 2 * i + 1
    # `before` holds twice the predecessor, plus 1 where a flight leads from it and not a skipped frame
    flights, count, j = np.empty((N, 2), dtype=np.int64), 0, N
    while j > 0:
        i = before[j] // 2
        if before[j] % 2 == 1:
            flights[count, 0], flights[count, 1] = i, j
            count += 1
        j = i
    return flights[:count][::-1].copy()


def divided(drop: Drop, model: FlightModel) -> tuple[Indices, ...]:
    """The frames of each flight of a drop, with the model of all flights."""
    poses = of_center(drop, model.offset)
    end = at_rest_from(poses, model.noise)
    t, poses = drop.times[:end], np.ascontiguousarray(poses[:end])
    if len(t) < 4:
        return ()
    pieces = [np.arange(i, j) for i, j in _division(t, poses, model.drag, model.noise, model.wander, GRAVITY)]
    merged: list[Indices] = []
    for frames in pieces:
        if merged and frames[0] - merged[-1][-1] <= MISREAD + 1:
            together = np.concatenate([merged[-1], frames])
            joined, *apart = (_costs(t, poses, piece, model) for piece in (together, merged[-1], frames))
            if sum(joined) < np.sum(apart) + FLIGHT:
                merged[-1] = together
                continue
        merged.append(frames)
    # x and the angle do not depend on gravity
    costs = [[_costs(t, poses, frames, model, g)[1] for g in (GRAVITY, 0.0)] for frames in merged]
    return tuple(f for f, (falls, rests) in zip(merged, costs, strict=True) if falls < rests + WEIGHTLESS)


def _costs(t: Vector, poses: Matrix, frames: Indices, model: FlightModel, g: float = GRAVITY) -> list[float]:
    """|e|^2 of x, y and the angle in a flight of these frames."""
    known = zip((0.0, g, 0.0), model.drag[[0, 0, 1]], model.noise**2, model.wander, strict=True)
    t, columns = t[frames], np.ascontiguousarray(poses[frames].T)[:, :, None]
    few = len(frames) < 3
    return [
        0.0 if few else float(np.sum(filtered(t, y, np.array([gamma]), *rest)[2] ** 2))
        for y, (gamma, *rest) in zip(columns, known, strict=True)
    ]


RESTING_FRAMES = 10


def at_rest_from(poses: Matrix, noise: Vector) -> int:
    """The first frame from which nothing moves any more: all later frames lie within the noise about their median."""
    if (at := len(poses)) < 2 * RESTING_FRAMES:
        return at
    last = np.median(poses[-RESTING_FRAMES:], axis=0)
    # of thousands of frames, none is off by six standard deviations by chance
    away = np.flatnonzero((np.abs(poses - last) > 6 * noise).any(axis=1))
    begin = int(away[-1]) + 1 if len(away) else 0
    return begin if at - begin >= RESTING_FRAMES else at


def moving(drop: Drop) -> Drop:
    """The drop without all but the first `RESTING_FRAMES` in which it lies still: each would have to be simulated."""
    end = at_rest_from(drop.poses, drop.noise) + RESTING_FRAMES
    if end >= len(drop.times):
        return drop
    forces = None if drop.forces is None else drop.forces[: end - 1]
    return Drop(drop.name, drop.times[:end], drop.poses[:end], forces)


def segmented(
    drops: Sequence[Drop], free: Sequence[bool] = (True,) * 4, stop: Stop | None = None
) -> Segmented:
    """Flights of all drops, and the model that they share, each from the other in turn.

    Args:
        free: which of offset and drag are estimated. stop: ends the turns with what was found.
    """
    if all(drop.flights is not None for drop in drops):
        return Segmented(tuple(drops), tuple(drop.flights or () for drop in drops), FlightModel(noise=GIVEN))
    model = FlightModel(noise=tracker_noise(drops))
    flights: list[tuple[Indices, ...]] = []
    for k, inflation in enumerate(INFLATIONS):
        if k and stop_requested(stop):
            break
        # the wander grows by the square, so that the filter's gains stay the same
        wide = replace(model, noise=inflation * model.noise, wander=inflation**2 * model.wander)
        flights = [divided(drop, wide) for drop in drops]
        pieces = [(drop, f) for drop, of in zip(drops, flights, strict=True) for f in of if len(f) >= LONG]
        if pieces:
            model = calibrated(pieces, model, free)
    return Segmented(tuple(drops), tuple(flights), model)


LEVEL = 0.05
"""A part that is higher than the lowest one by less than this part of the size carries the body as well."""
NEAR = 0.1
"""A body whose lowest part is farther from the wall than this part of the size lies on something else."""


def resting(parted: Segmented, shared: Vector, geometry: ContactGeometry) -> Resting | None:
    """Contacts of all drops that came to rest; None if there are none."""
    shape, offset, level = geometry.shape, shared[OF_FLIGHTS][:2], replace(geometry, uneven=None)
    needed = 2 if geometry.has_corners else 1
    P, D = len(shape.parts), len(parted.drops)
    drop, part, poses = [], [], []
    for d, one in enumerate(parted.drops):
        begin = at_rest_from(of_center(one, offset), parted.model.noise)
        if begin == len(one.poses):
            continue
        pose = one.poses[begin:].mean(axis=0)
        every = Resting(np.full(P, d), np.arange(P), np.tile(pose, (P, 1)))
        gap = every.residuals(shared[:S], np.zeros(D), level)[0]
        carrying = np.flatnonzero(gap < gap.min() + LEVEL * shape.size)
        # a square that leans on something has one lowest corner, and one that lies elsewhere is far from the wall
        if len(carrying) == needed and abs(gap.min()) < NEAR * shape.size:
            drop += [d] * needed
            part += list(carrying)
            poses += [pose] * needed
    return Resting(np.array(drop), np.array(part), np.array(poses)) if drop else None
