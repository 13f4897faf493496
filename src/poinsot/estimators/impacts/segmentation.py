"""Division of a drop into flights, in which nothing but gravity and drag acts.

Every frame belongs to one flight or to none. The division into successive flights is the one that minimizes

    sum over flights (FLIGHT + |e|^2) + sum over frames outside flights SKIPPED

with e the whitened innovations of a flight's frames (`flights`). Dynamic programming finds it: best(j), the least
cost of the first j frames, is best(i) plus a flight of frames i to j - 1. A filter starts at every frame and runs until
its |e|^2 is hopeless, so the time is proportional to the number of frames and the length of a flight. Then

- two flights with at most two frames between them are joined if that costs less: those frames were misread;
- a flight that a body without gravity explains better is rejected: the body rests or rolls;
- frames after the body has come to rest are excluded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Indices, Matrix, Vector
from ...kernels import njit
from ...models.planar.body import GRAVITY
from ...models.planar.drop import GIVEN, Drop, of_center, tracker_noise
from ...solve import Stop, stop_requested
from .flights import FlightModel, calibrated, filtered, glide

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
