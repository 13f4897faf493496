"""Motion from event to event: flights are exact, impacts happen when they happen (beside `stepping`'s fixed steps).

A flight under gravity, forces that are held for a while and linear drag k has a closed form, with a the acceleration
without drag,

    v(s) = v + (a - k v) E,   q(s) = q + s v + (a - k v) F,    E = (1 - e^(-k s)) / k,   F = (s - E) / k

(E = s and F = s^2 / 2 for k = 0). Where a gap closes within a step, its root is found, the closed contacts take their
impulses there (`impulses`, restitution), and the flight goes on. Poses are then smooth functions of where and how the
body began and of its parameters, but for changes of the sequence of events, which fixed steps would add a jitter of
h v to: `estimators.complementarity.shooting` uses it.

A contact that closes more slowly than `SLOW` bounces no more: it stays closed, its normal velocity 0, and
steps of h follow it until it would pull, with impulses in the directions halfway, velocities that end along the wall
where the step ends, and what gap is left taken out: errors of second order in h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numba import njit

from ...arrays import Vector
from .contact import contacts
from .impulses import closed_contacts
from .stepping import GRAVITY, Body
from .walls import Wall, wall_array

SLOW = 0.02
"""Normal velocity below which an impact is not followed by a flight [m/s]."""
STEP, LOOK = 5e-4, 2e-3
"""While a contact stays closed, and between looks at gaps in flight [s]."""
CLOSED = 1e-9
"""Gap of a closed contact [m]."""
EVENTS_PER_STEP = 20
HALVINGS = 60


@dataclass(frozen=True, eq=False)
class Impacts:
    """In their order; E of them, one for each contact that closes.

    Args:
        times: (E,) [s]. contacts: (E,) wall by wall, in each part by part.
        poses, before, after: (E, 3) the pose then, and the velocities.
        impulses: (E, 2) normal and tangential [N s].
    """

    times: Float[np.ndarray, "E"]
    contacts: Int[np.ndarray, "E"]
    poses: Float[np.ndarray, "E 3"]
    before: Float[np.ndarray, "E 3"]
    after: Float[np.ndarray, "E 3"]
    impulses: Float[np.ndarray, "E 2"]


def moved(
    body: Body,
    walls: Sequence[Wall],
    pose: Vector,
    velocity: Vector,
    times: Vector,
    most: int = 256,
    forces: Float[np.ndarray, "K 3"] | None = None,
) -> tuple[Float[np.ndarray, "T 3"], Float[np.ndarray, "T 3"], Impacts]:
    """Poses and velocities at rising times, of which the first is when it begins, and the first `most` impacts.

    Args:
        body, walls: what strikes what.
        pose: (3,) of the center of mass [m], [m], [rad]. velocity: (3,) its rate.
        forces: (T - 1, 3) beside gravity, each held from one time to the next [N], [N], [N m].
    """
    planes = wall_array(walls)
    q, v = np.empty((len(times), 3)), np.empty((len(times), 3))
    q[0], v[0] = pose, velocity
    log, which = np.empty((most, 12)), np.empty(most, dtype=np.int64)
    setting = np.array([body.inertia / body.mass, body.friction, *body.drag])
    pushes = np.zeros((1, 3)) if forces is None else np.ascontiguousarray(forces / body.inertias)
    restitutions = np.array([body.restitution], dtype=float)
    geometry = body.shape.parts, body.shape.harmonics, planes
    clock = np.asarray(times, float)
    count = min(follow(*geometry, setting, pushes, restitutions, clock, q, v, log, which), most)
    log = log[:count]
    return (
        q,
        v,
        Impacts(log[:, 0], which[:count], log[:, 1:4], log[:, 4:7], log[:, 7:10], body.mass * log[:, 10:]),
    )


@njit(cache=True)
def _fly(q, v, s, place, q_out, v_out):
    """Pose and velocity after s seconds of flight."""
    for i in range(3):
        k = place.setting[2] if i < 2 else place.setting[3]
        a = place.a[i] - k * v[i]
        if k * s > 1e-8:
            E = (1.0 - np.exp(-k * s)) / k
            F = (s - E) / k
        else:
            E, F = s, 0.5 * s * s
        q_out[i] = q[i] + s * v[i] + a * F
        v_out[i] = v[i] + a * E


class _Place(NamedTuple):
    """What strikes what: parts, harmonics and walls as in `contact`, W (3,) inverse masses, `follow`'s setting, and
    a (3,), the acceleration of gravity and of the force that is held.
    """

    parts: np.ndarray
    harmonics: np.ndarray
    walls: np.ndarray
    W: np.ndarray
    setting: np.ndarray
    a: np.ndarray


class _Now(NamedTuple):
    """Where it is: q, v (3,), gaps (C,), N and T (C, 3) there, which contacts stay closed; and room to work."""

    q: np.ndarray
    v: np.ndarray
    g: np.ndarray
    N: np.ndarray
    T: np.ndarray
    touching: np.ndarray
    q_next: np.ndarray
    v_next: np.ndarray
    g_next: np.ndarray
    N_half: np.ndarray
    T_half: np.ndarray
    N_next: np.ndarray
    T_next: np.ndarray
    closed: np.ndarray
    N_closed: np.ndarray
    T_closed: np.ndarray
    b: np.ndarray
    c: np.ndarray


@njit(cache=True)
def follow(
    parts: np.ndarray,
    harmonics: np.ndarray,
    walls: np.ndarray,
    setting: np.ndarray,
    pushes: np.ndarray,
    restitutions: np.ndarray,
    times: np.ndarray,
    q_at: np.ndarray,
    v_at: np.ndarray,
    log: np.ndarray,
    which: np.ndarray,
) -> int:
    """Writes poses and velocities at times (T,) after the first, and impacts; how many there were.

    Setting: (J / m, mu, linear drag, angular drag). Pushes: (T - 1, 3) accelerations beside gravity's, each held from
    one time to the next, or (1, 3) all along. Restitutions: of each impact in turn, the last of all that follow.
    Impulses are per mass.
    """
    C = len(parts) * len(walls)
    place = _Place(parts, harmonics, walls, np.array([1.0, 1.0, 1.0 / setting[0]]), setting, np.empty(3))
    now = _Now(
        q_at[0].copy(),
        v_at[0].copy(),
        np.empty(C),
        np.empty((C, 3)),
        np.empty((C, 3)),
        np.zeros(C, dtype=np.bool_),
        np.empty(3),
        np.empty(3),
        np.empty(C),
        np.empty((C, 3)),
        np.empty((C, 3)),
        np.empty((C, 3)),
        np.empty((C, 3)),
        np.empty(C, dtype=np.int64),
        np.empty((C, 3)),
        np.empty((C, 3)),
        np.zeros((C, 2)),
        np.empty((C, 2)),
    )
    t, events, impacts = times[0], 0, 0
    contacts(now.q, parts, harmonics, walls, now.g, now.N, now.T)
    for k in range(1, len(times)):
        place.a[:] = pushes[min(k, len(pushes)) - 1]
        place.a[1] -= GRAVITY
        tries, most = 0, EVENTS_PER_STEP * (int((times[k] - t) / STEP) + 1)
        while t < times[k]:
            tries += 1
            if tries > most:
                q_at[k:], v_at[k:] = np.nan, np.nan
                return events  # a stuck simulation must not hang
            left, dt = times[k] - t, STEP if now.touching.any() else LOOK
            dt = left if left < 1.5 * dt else dt
            if now.touching.any():
                slid = _slide(place, now, dt)
                t = t + slid if slid < left else times[k]
                if not _closes(now):
                    continue
                dt = 0.0
            else:
                flown = _fly_on(place, now, dt)
                if flown < 0.0:
                    t = t + dt if dt < left else times[k]
                    continue
                t, dt = t + flown, flown
            epsilon = restitutions[min(impacts, len(restitutions) - 1)]
            count, slow = _strike(place, now, epsilon)
            impacts += not slow
            for j in range(count if not slow else 0):
                if now.c[j, 0] > 0.0:
                    if events < len(which):
                        log[events, 0], which[events] = t, now.closed[j]
                        log[events, 1:4], log[events, 4:7], log[events, 7:10] = now.q, now.v, now.v_next
                        log[events, 10], log[events, 11] = now.c[j, 0], now.c[j, 1]
                    events += 1
            now.v[:] = now.v_next
            if not now.touching.any() and dt == 0.0:
                now.touching[now.closed[:count]] = True
        q_at[k], v_at[k] = now.q, now.v
    return events


@njit(cache=True)
def _slide(place: _Place, now: _Now, dt: float) -> float:
    """A step with contacts that stay closed, dt or until another gap closes; those that pull open. How long it was."""
    count = _held(place, now, dt)
    if _closes(now) and _least(now.g_next, now.touching) < -CLOSED:
        return 0.0
    aside = now.touching | (now.g <= CLOSED)  # also what is closed and opens
    free, free_next = _least(now.g, aside), _least(now.g_next, aside)
    if free_next < -CLOSED:
        low, high, g_low, g_high = 0.0, dt, free, free_next
        for _ in range(HALVINGS):
            dt = low + (high - low) * min(max(g_low / (g_low - g_high), 0.05), 0.95)
            count = _held(place, now, dt)
            free_next = _least(now.g_next, aside)
            if abs(free_next) < 0.5 * CLOSED:
                break
            if free_next > 0.0:
                low, g_low = dt, free_next
            else:
                high, g_high = dt, free_next
    for j in range(count):
        if now.c[j, 0] <= 0.0:
            now.touching[now.closed[j]] = False
    now.q[:], now.v[:] = now.q_next, now.v_next
    contacts(now.q, place.parts, place.harmonics, place.walls, now.g, now.N, now.T)
    for j in range(count):
        i = now.closed[j]
        if now.touching[i] or now.g[i] < 0.0:  # out along the wall's normal
            for axis in range(2):
                now.q[axis] -= now.g[i] * now.N[i, axis]
            contacts(now.q, place.parts, place.harmonics, place.walls, now.g, now.N, now.T)
    return dt


@njit(cache=True)
def _held(place: _Place, now: _Now, dt: float) -> int:
    """Writes pose, velocity and gaps after dt with contacts that touch held, c being 0 where they pull; how many."""
    for i in range(3):
        now.q_next[i] = now.q[i] + 0.5 * dt * now.v[i]
    contacts(now.q_next, place.parts, place.harmonics, place.walls, now.g_next, now.N_half, now.T_half)
    _fly(now.q, now.v, dt, place, now.q_next, now.v_next)
    contacts(now.q_next, place.parts, place.harmonics, place.walls, now.g_next, now.N_next, now.T_next)
    count = 0
    for i in range(len(now.g)):
        if now.touching[i]:
            now.N_closed[count], now.T_closed[count], now.closed[count] = now.N_half[i], now.T_half[i], i
            now.b[count, 0] = (now.N_next[i, 2] - now.N_half[i, 2]) * now.v_next[2]
            now.b[count, 1] = (now.T_next[i, 2] - now.T_half[i, 2]) * now.v_next[2]
            count += 1
    W, c = place.W, now.c[:count]
    if not closed_contacts(
        now.N_closed[:count], now.T_closed[:count], W, now.v_next, now.b[:count], place.setting[1], c
    ):
        c[:] = 0.0
    for j in range(count):
        for i in range(3):
            push = W[i] * (now.N_closed[j, i] * c[j, 0] + now.T_closed[j, i] * c[j, 1])
            now.v_next[i] += push
            now.q_next[i] += 0.5 * dt * push
    contacts(now.q_next, place.parts, place.harmonics, place.walls, now.g_next, now.N_next, now.T_next)
    return count


@njit(cache=True)
def _least(g: np.ndarray, aside: np.ndarray) -> float:
    """The least gap of all contacts but those."""
    least = np.inf
    for i in range(len(g)):
        if not aside[i]:
            least = min(least, g[i])
    return least


@njit(cache=True)
def _closes(now: _Now) -> bool:
    """Whether a contact that is not held is closed and closes further."""
    for i in range(len(now.g)):
        N, v = now.N[i], now.v
        if not now.touching[i] and now.g[i] <= CLOSED and N[0] * v[0] + N[1] * v[1] + N[2] * v[2] < 0.0:
            return True
    return False


@njit(cache=True)
def _fly_on(place: _Place, now: _Now, dt: float) -> float:
    """A flight of dt, or until a gap closes; how long until then, or -1 where none does."""
    _fly(now.q, now.v, dt, place, now.q_next, now.v_next)
    contacts(now.q_next, place.parts, place.harmonics, place.walls, now.g_next, now.N, now.T)
    closes = now.g_next.min() < 0.0
    if closes:
        dt = _until_closed(place, now, dt)
        _fly(now.q, now.v, dt, place, now.q_next, now.v_next)
    now.q[:], now.v[:] = now.q_next, now.v_next
    contacts(now.q, place.parts, place.harmonics, place.walls, now.g, now.N, now.T)
    return dt if closes else -1.0


@njit(cache=True)
def _strike(place: _Place, now: _Now, epsilon: float) -> tuple[int, bool]:
    """All contacts that are closed take their impulses, v_next is the velocity then; how many, and if it was slow."""
    count, fastest = 0, 0.0
    for i in range(len(now.g)):
        speed = now.N[i, 0] * now.v[0] + now.N[i, 1] * now.v[1] + now.N[i, 2] * now.v[2]
        if now.g[i] <= CLOSED or now.touching[i]:
            now.N_closed[count], now.T_closed[count], now.closed[count] = now.N[i], now.T[i], i
            now.b[count, 0], now.b[count, 1] = min(speed, 0.0), 0.0
            fastest = min(fastest, speed)
            count += 1
    slow = fastest > -SLOW
    for j in range(count):
        now.b[j, 0] *= 0.0 if slow else epsilon
    c, W = now.c[:count], place.W
    if not closed_contacts(
        now.N_closed[:count], now.T_closed[:count], W, now.v, now.b[:count], place.setting[1], c
    ):
        c[:] = 0.0
    now.v_next[:] = now.v
    for j in range(count):
        for i in range(3):
            now.v_next[i] += W[i] * (now.N_closed[j, i] * c[j, 0] + now.T_closed[j, i] * c[j, 1])
    for j in range(count):
        N, v = now.N_closed[j], now.v_next
        now.touching[now.closed[j]] = N[0] * v[0] + N[1] * v[1] + N[2] * v[2] <= SLOW * epsilon + 1e-12
    return count, slow


@njit(cache=True)
def _until_closed(place: _Place, now: _Now, dt: float) -> float:
    """Seconds until the first gap closes, of those that are below 0 after dt."""
    earliest, g_end = dt, now.g_next.copy()
    for i in range(len(now.g)):
        if g_end[i] >= 0.0:
            continue
        if now.g[i] <= CLOSED:
            return 0.0
        low, high, g_low, g_high = 0.0, earliest, now.g[i], g_end[i]
        if earliest < dt:
            g_high = _gap_after(place, now, earliest, i)
            if g_high >= 0.0:
                continue
        for _ in range(HALVINGS):
            s = low + (high - low) * min(max(g_low / (g_low - g_high), 0.05), 0.95)
            gap = _gap_after(place, now, s, i)
            if gap > 0.0:
                low, g_low = s, gap
            else:
                high, g_high = s, gap
            if abs(gap) < 0.5 * CLOSED:
                high = s
                break
        earliest = high
    return earliest


@njit(cache=True)
def _gap_after(place: _Place, now: _Now, s: float, contact: int) -> float:
    """Of one contact after s seconds of flight."""
    _fly(now.q, now.v, s, place, now.q_next, now.v_next)
    contacts(now.q_next, place.parts, place.harmonics, place.walls, now.g_next, now.N, now.T)
    return now.g_next[contact]
