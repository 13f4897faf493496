"""Motion from event to event: flights are exact, and impacts at their exact times.

A flight under gravity, constant forces and linear drag k has a closed form. With a the acceleration without drag,

    v(s) = v + (a - k v) E,   q(s) = q + s v + (a - k v) F,    E = (1 - e^(-k s)) / k,   F = (s - E) / k

(E = s and F = s^2 / 2 for k = 0). Where a gap closes within a step, its root is found, the closed contacts receive
their impulses there (`impulses`), and the flight continues. Poses are then smooth functions of the initial
state and the parameters as long as the sequence of events is the same; fixed steps would add a jitter of h v to them.
`estimators.impacts.shooting` differentiates them.

A contact that closes more slowly than `SLOW` does not bounce. It stays closed with a normal velocity of 0, and steps of
h follow it until its impulse would pull. A step takes the directions of its impulses halfway, ends with velocities
along the wall, and removes the remaining gap: its error is of second order in h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...arrays import Float, Int, Vector
from ...kernels import njit
from .body import GRAVITY, PlanarBody, Wall, World, contacts
from .impulses import ENERGETIC, SLIP_BEFORE, along_normal_impulse, apply_impulses, opposing_slip_before

SLOW = 0.02
"""Normal velocity below which an impact is not followed by a flight [m/s]."""
STEP, FLIGHT_STEP = 5e-4, 2e-3
"""Step while a contact stays closed, and interval at which gaps are evaluated in flight [s]."""
MAX_GAP, ROOT_TOLERANCE = 1e-9, 1e-13
"""Gap of a closed contact, and gap to which an instant of contact is solved, above the rounding of poses [m]."""
EVENTS_PER_STEP = 20
MAX_SECANTS = 60
"""Largest number of secant steps to the instant at which a gap closes."""


@dataclass(frozen=True, eq=False)
class ImpactEvents:
    """The impacts of a motion in order of time; E of them, one for each contact that closes.

    Args:
        times: (E,) [s]. contacts: (E,) index of the contact, wall by wall and part by part as in `body`.
        poses, before, after: (E, 3) pose at the impact, and velocities before and after it.
        impulses: (E, 2) normal and tangential [N s].
    """

    times: Float[np.ndarray, "E"]
    contacts: Int[np.ndarray, "E"]
    poses: Float[np.ndarray, "E 3"]
    before: Float[np.ndarray, "E 3"]
    after: Float[np.ndarray, "E 3"]
    impulses: Float[np.ndarray, "E 2"]


def moved(
    body: PlanarBody,
    walls: Sequence[Wall],
    pose: Vector,
    velocity: Vector,
    times: Vector,
    most: int = 256,
    forces: Float[np.ndarray, "K 3"] | None = None,
) -> tuple[Float[np.ndarray, "T 3"], Float[np.ndarray, "T 3"], ImpactEvents]:
    """Poses and velocities at increasing times, the first of which is the start, and the first `most` impacts.

    Args:
        pose: (3,) of the center of mass [m], [m], [rad]. velocity: (3,) its rate.
        forces: (T - 1, 3) beside gravity, each constant from one time to the next [N], [N], [N m].
    """
    q, v = np.empty((len(times), 3)), np.empty((len(times), 3))
    q[0], v[0] = pose, velocity
    log, which = np.empty((most, 12)), np.empty(most, dtype=np.int64)
    world = body.world(walls, np.zeros((1, 3)) if forces is None else forces)
    count = min(follow(world, np.asarray(times, float), q, v, log, which), most)
    log = log[:count]
    return q, v, ImpactEvents(log[:, 0], which[:count], log[:, 1:4], log[:, 4:7], log[:, 7:10], log[:, 10:])


class _Now(NamedTuple):
    """State of the simulation, and work arrays.

    Args:
        q, v, a: (3,) pose, velocity, and acceleration without drag and contact.
        g, N, T: (C,), (C, 3) gaps and directions at the pose. touching: (C,) which contacts stay closed.
        q_next, ..., T_next: the same after a step. N_half, T_half: directions halfway.
        closed: (C,) indices of contacts that receive impulses. b, c: (C, 2) of these, see `impulses`.
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    g: np.ndarray
    N: np.ndarray
    T: np.ndarray
    touching: np.ndarray
    aside: np.ndarray
    q_next: np.ndarray
    v_next: np.ndarray
    g_next: np.ndarray
    N_next: np.ndarray
    T_next: np.ndarray
    N_half: np.ndarray
    T_half: np.ndarray
    closed: np.ndarray
    b: np.ndarray
    c: np.ndarray


@njit(cache=True)
def follow(
    world: World, times: np.ndarray, q_at: np.ndarray, v_at: np.ndarray, log: np.ndarray, which: np.ndarray
) -> int:
    """Write poses and velocities at times (T,) after the first, and impacts; return the number of impacts.

    A row of the log is (time, pose, velocity before, velocity after, impulses), `which` the contact.
    """
    C = len(world.parts) * len(world.walls)
    directions = np.empty((6, C, 3))
    now = _Now(
        q_at[0].copy(),
        v_at[0].copy(),
        np.empty(3),
        np.empty(C),
        directions[0],
        directions[1],
        np.zeros(C, dtype=np.bool_),
        np.zeros(C, dtype=np.bool_),
        np.empty(3),
        np.empty(3),
        np.empty(C),
        directions[2],
        directions[3],
        directions[4],
        directions[5],
        np.empty(C, dtype=np.int64),
        np.zeros((C, 2)),
        np.empty((C, 2)),
    )
    t, events = times[0], 0
    contacts(now.q, world.parts, world.harmonics, world.walls, now.g, now.N, now.T)
    for k in range(1, len(times)):
        now.a[:] = world.pushes[min(k, len(world.pushes)) - 1]
        now.a[1] -= GRAVITY
        tries, most = 0, EVENTS_PER_STEP * (int((times[k] - t) / STEP) + 1)
        while t < times[k]:
            tries += 1
            if tries > most:
                # a simulation that makes no progress must not hang: NaN makes its cost infinite
                q_at[k:], v_at[k:] = np.nan, np.nan
                return events
            left, dt = times[k] - t, STEP if now.touching.any() else FLIGHT_STEP
            # the last step is up to 1.5 times as long, so that no tiny one remains
            dt = left if left < 1.5 * dt else dt
            if now.touching.any():
                slid = _slide(world, now, dt)
                # exactly times[k], since t + left may differ from it by rounding
                t = t + slid if slid < left else times[k]
                if not _is_closing(now):
                    continue
                dt = 0.0
            else:
                flown = _fly_on(world, now, dt)
                if flown < 0.0:
                    t = t + dt if dt < left else times[k]
                    continue
                t, dt = t + flown, flown
            count, slow = _strike(world, now)
            for j in range(count if not slow else 0):
                if now.c[j, 0] > 0.0:
                    if events < len(which):
                        log[events, 0], which[events] = t, now.closed[j]
                        log[events, 1:4], log[events, 4:7], log[events, 7:10] = now.q, now.v, now.v_next
                        log[events, 10:] = now.c[j]
                    events += 1
            now.v[:] = now.v_next
            # an impact after no time that leaves no contact closed would repeat forever
            if not now.touching.any() and dt == 0.0:
                now.touching[now.closed[:count]] = True
        q_at[k], v_at[k] = now.q, now.v
    return events


@njit(cache=True, inline="always")
def _fly(world: World, now: _Now, s: float) -> None:
    """Write pose, velocity, gaps and directions after s seconds of flight."""
    # arrays are taken from tuples once, here and below: each access counts a reference, 9 ns in a loop
    drag, q, v, a, q_next, v_next = world.drag, now.q, now.v, now.a, now.q_next, now.v_next
    for i in range(3):
        k = drag[i]
        # below 1e-8, s - E loses all its digits
        if k * s > 1e-8:
            E = (1.0 - np.exp(-k * s)) / k
            F = (s - E) / k
        else:
            E, F = s, 0.5 * s * s
        slope = a[i] - k * v[i]
        q_next[i] = q[i] + s * v[i] + slope * F
        v_next[i] = v[i] + slope * E
    contacts(q_next, world.parts, world.harmonics, world.walls, now.g_next, now.N_next, now.T_next)


@njit(cache=True, inline="always")
def _arrive(now: _Now) -> None:
    """Take the pose after a step, with its gaps and directions, as the current one."""
    q, v, g, N, T = now.q, now.v, now.g, now.N, now.T
    q_next, v_next, g_next, N_next, T_next = now.q_next, now.v_next, now.g_next, now.N_next, now.T_next
    for k in range(3):
        q[k], v[k] = q_next[k], v_next[k]
        for i in range(len(g)):
            N[i, k], T[i, k] = N_next[i, k], T_next[i, k]
    for i in range(len(g)):
        g[i] = g_next[i]


@njit(cache=True, inline="always")
def _slide(world: World, now: _Now, dt: float) -> float:
    """Step with closed contacts for dt, or until another gap closes; release contacts that pull; return its length."""
    q, g, g_next, N, c = now.q, now.g, now.g_next, now.N, now.c
    touching, aside, closed = now.touching, now.aside, now.closed
    for i in range(len(g)):
        # also closed contacts that are opening: they do not end the step
        aside[i] = touching[i] or g[i] <= MAX_GAP
    low, high, g_low, g_high, count = 0.0, dt, _least_gap(g, aside), np.inf, 0
    for trial in range(MAX_SECANTS):
        count = _step_in_contact(world, now, dt)
        if trial == 0 and _is_closing(now) and _least_gap(g_next, touching) < -MAX_GAP:
            return 0.0
        gap = _least_gap(g_next, aside)
        if abs(gap) < ROOT_TOLERANCE or (trial == 0 and gap >= -MAX_GAP):
            break
        if gap > 0.0:
            low, g_low = dt, gap
        else:
            high, g_high = dt, gap
        dt = _secant(low, high, g_low, g_high)
    for j in range(count):
        if c[j, 0] <= 0.0:
            touching[closed[j]] = False
    _arrive(now)
    for j in range(count):
        i = closed[j]
        if touching[i] or g[i] < 0.0:
            # move the body along the wall's normal; a translation changes gaps, and no direction
            gap, n_x, n_y = g[i], N[i, 0], N[i, 1]
            q[0] -= gap * n_x
            q[1] -= gap * n_y
            for other in range(len(g)):
                g[other] -= gap * (n_x * N[other, 0] + n_y * N[other, 1])
    return dt


@njit(cache=True)
def _secant(low: float, high: float, g_low: float, g_high: float) -> float:
    """Time at which a gap closes by the secant, kept off the ends so that the bracket shrinks."""
    return low + (high - low) * min(max(g_low / (g_low - g_high), 0.05), 0.95)


@njit(cache=True, inline="always")
def _step_in_contact(world: World, now: _Now, dt: float) -> int:
    """Write pose, velocity and gaps after dt with the touching contacts held; return how many they are.

    c is 0 for contacts that would pull.
    """
    parts, harmonics, walls = world.parts, world.harmonics, world.walls
    q, v, q_next, v_next, g_next = now.q, now.v, now.q_next, now.v_next, now.g_next
    N_half, T_half, N_next, T_next = now.N_half, now.T_half, now.N_next, now.T_next
    touching, closed, b, count = now.touching, now.closed, now.b, 0
    for i in range(3):
        q_next[i] = q[i] + 0.5 * dt * v[i]
    contacts(q_next, parts, harmonics, walls, g_next, N_half, T_half)
    _fly(world, now, dt)
    for i in range(len(touching)):
        if touching[i]:
            closed[count] = i
            # impulses act along the directions halfway, and normal velocities vanish at the end: b is the difference
            b[count, 0] = (N_next[i, 2] - N_half[i, 2]) * v_next[2]
            b[count, 1] = (T_next[i, 2] - T_half[i, 2]) * v_next[2]
            count += 1
    # impulses act halfway: v_next without them moves the body for half of dt, and v_next with them for the other half
    for i in range(3):
        q_next[i] -= 0.5 * dt * v_next[i]
    apply_impulses(N_half, T_half, closed[:count], world.W, v_next, b, world.friction, now.c)
    for i in range(3):
        q_next[i] += 0.5 * dt * v_next[i]
    contacts(q_next, parts, harmonics, walls, g_next, N_next, T_next)
    return count


@njit(cache=True, inline="always")
def _least_gap(g: np.ndarray, aside: np.ndarray) -> float:
    """The least gap of the contacts that are not set aside."""
    least = np.inf
    for i in range(len(g)):
        if not aside[i]:
            least = min(least, g[i])
    return least


@njit(cache=True, inline="always")
def _is_closing(now: _Now) -> bool:
    """Whether a contact that is not held is closed and approaching."""
    g, N, v, touching = now.g, now.N, now.v, now.touching
    closes = False
    for i in range(len(g)):
        closes |= not touching[i] and g[i] <= MAX_GAP and _speed(N[i], v) < 0.0
    return closes


@njit(cache=True)
def _speed(N: np.ndarray, v: np.ndarray) -> float:
    """N^T v of one contact."""
    return N[0] * v[0] + N[1] * v[1] + N[2] * v[2]


@njit(cache=True)
def _fly_on(world: World, now: _Now, dt: float) -> float:
    """Fly for dt, or until a gap closes; return the time until then, -1 where none closes."""
    _fly(world, now, dt)
    closes = now.g_next.min() < 0.0
    # a gap that closes and opens again within dt is missed, which is why FLIGHT_STEP is short
    if closes:
        dt = _time_to_contact(world, now, dt)
        _fly(world, now, dt)
    _arrive(now)
    return dt if closes else -1.0


@njit(cache=True)
def _strike(world: World, now: _Now) -> tuple[int, bool]:
    """Write v_next after the impulses of all closed contacts; return how many they are, and whether they were slow."""
    count, fastest = 0, 0.0
    for i in range(len(now.g)):
        if now.g[i] <= MAX_GAP or now.touching[i]:
            speed = _speed(now.N[i], now.v)
            now.closed[count] = i
            now.b[count, 0], now.b[count, 1] = min(speed, 0.0), 0.0
            fastest = min(fastest, speed)
            count += 1
    slow = fastest > -SLOW
    now.b[:count, 0] *= 0.0 if slow else world.restitution
    now.v_next[:] = now.v
    closed = now.closed[:count]
    apply_impulses(now.N, now.T, closed, world.W, now.v_next, now.b, world.friction, now.c)
    if (world.law <= ENERGETIC or world.law == SLIP_BEFORE) and count == 1 and not slow:
        N, T, W, c = now.N[closed[0]], now.T[closed[0]], world.W, now.c[0]
        if world.law == SLIP_BEFORE:
            c[0], c[1] = opposing_slip_before(N, T, W, now.v, c[0], c[1], world.friction)
        else:
            c[0], c[1] = along_normal_impulse(N, T, W, now.v, world.friction, world.restitution, world.law)
        for k in range(3):
            now.v_next[k] = now.v[k] + W[k] * (N[k] * c[0] + T[k] * c[1])
    for j in range(count):
        i = now.closed[j]
        # a contact that separates more slowly than after the slowest bounce stays closed
        now.touching[i] = _speed(now.N[i], now.v_next) <= SLOW * world.restitution + 1e-12
    return count, slow


@njit(cache=True)
def _time_to_contact(world: World, now: _Now, dt: float) -> float:
    """Seconds until the first gap closes, of those that are below 0 after dt."""
    earliest, g_end = dt, now.g_next.copy()
    for i in range(len(now.g)):
        if g_end[i] >= 0.0:
            continue
        if now.g[i] <= MAX_GAP:
            return 0.0
        low, high, g_low, g_high = 0.0, earliest, now.g[i], g_end[i]
        if earliest < dt:
            _fly(world, now, earliest)
            g_high = now.g_next[i]
            if g_high >= 0.0:
                continue
        for _ in range(MAX_SECANTS):
            s = _secant(low, high, g_low, g_high)
            _fly(world, now, s)
            gap = now.g_next[i]
            if gap > 0.0:
                low, g_low = s, gap
            else:
                high, g_high = s, gap
            if abs(gap) < ROOT_TOLERANCE:
                high = s
                break
        earliest = high
    return earliest
