"""The compiled steps of a rollout, with sensitivities; `rollout` has the equations.

Parameters are at the places of `NAMES` in theta; `slots` gives each its column among the sensitivities. Those that
nobody asked for share one column more, which is thrown away.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays import Matrix, Times, Vector
from ...kernels import njit
from ..friction.law import COUNT, DRY, EFFORT, FIRST, SLOPES, effort_at, slopes_at

NAMES: tuple[str, ...] = (
    "stiffness", "derivative_gain", "velocity_gain", "damping", "coulomb", "armature", "torque_limit", "no_load_speed",
    "delay", "lag", "zero", "dead_band", "backlash", "start_position", "start_velocity",
)  # fmt: skip
"""What a rollout depends on, by its place in theta; parameters of further laws of friction and its levels follow."""

KP, KD, KV, B, FC, ARMATURE, LIMIT, NO_LOAD, DELAY, LAG, ZERO, DEAD, PLAY, START_Q, START_V = range(
    len(NAMES)
)
FURTHER = len(NAMES)

DIVERGED = 1e4
"""A simulation ends where a position is beyond this [rad]; it is NaN from there."""

COMPILED: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**COMPILED)
def _seek(time, s, j):
    """The last sample at or before s, from j on; -1 before the first."""
    while j + 1 < len(time) and time[j + 1] <= s:
        j += 1
    return j


@njit(**COMPILED)
def _command(time, command, integral, hold, s, j):
    """The command at s, and its integral up to there."""
    if j < 0:
        return command[0], (s - time[0]) * command[0]
    ds = s - time[j]
    if hold or j + 1 >= len(time):
        return command[j], integral[j] + ds * command[j]
    rate = (command[j + 1] - command[j]) / (time[j + 1] - time[j])
    return command[j] + rate * ds, integral[j] + ds * command[j] + 0.5 * rate * ds * ds


@njit(**COMPILED)
def _integral(time, command, hold):
    """(T,) of the command from the first sample to each."""
    found = np.zeros(len(time))
    for i in range(len(time) - 1):
        mean = command[i] if hold else 0.5 * (command[i] + command[i + 1])
        found[i + 1] = found[i] + (time[i + 1] - time[i]) * mean
    return found


@njit(**COMPILED)
def soft(x: float, c: float) -> float:
    """x with a dead band of this half-width."""
    return x - c if x > c else (x + c if x < -c else 0.0)


@njit(**COMPILED)
def _play(r, w, play):
    """The play of w from r, and to which side it was moved; 2: there is no play."""
    if play == 0.0:
        return w, 2
    if r < w - 0.5 * play:
        return w - 0.5 * play, -1
    if r > w + 0.5 * play:
        return w + 0.5 * play, 1
    return r, 0


@njit(**COMPILED)
def _bounded(m, limit, line, v):
    """The torque within the bounds of the motor at speed v, and at which of them it is."""
    top, bottom = limit - line * max(v, 0.0), -limit - line * min(v, 0.0)
    if m > top:
        return top, 1
    if m < bottom:
        return bottom, -1
    return m, 0


@njit(**COMPILED)
def _level_of_position(levels, knots, q):
    """The part of dry friction that depends on position: value, slope, the knot before, the weight of the next."""
    if len(knots) == 0:
        return 0.0, 0.0, 0, 0.0
    left = 0
    while left + 2 < len(knots) and q > knots[left + 1]:
        left += 1
    if len(knots) == 1:
        return levels[0], 0.0, 0, 0.0
    width = knots[left + 1] - knots[left]
    weight = min(max((q - knots[left]) / width, 0.0), 1.0)
    low, high = levels[left], levels[left + 1]
    slope = (high - low) / width if 0.0 < weight < 1.0 else 0.0
    return low + weight * (high - low), slope, left, weight


@njit(**COMPILED)
def _new_speed(base, c, v, h, hF, I, D, b, ahead, limit, line):
    """v+, numerator and denominator, the motor's torque and its branch.

    Branches: 0 within the bounds, 1 and -1 at the limit, 2 and -2 on the speed-torque line.
    """
    behind = 1.0 - ahead
    num, den = base + h * (c - behind * D * v), I + ahead * h * (D + b)
    v1 = soft(num, hF) / den
    m, side = _bounded(c - D * (behind * v + ahead * v1), limit, line, behind * v + ahead * v1)
    if side == 0:
        return v1, den, m, 0
    num, den = base + side * h * limit, I + ahead * h * b
    v1 = soft(num, hF) / den
    if line > 0 and side * (behind * v + ahead * v1) > 0:
        num, den = num - h * line * behind * v, den + ahead * h * line
        v1 = soft(num, hF) / den
        return v1, den, side * limit - line * (behind * v + ahead * v1), 2 * side
    return v1, den, side * limit, side


@njit(**COMPILED)
def _implicit_share(theta, time, counts, inertia):
    """theta of the equations: 1/2, and nearer to 1 where damping is fast against the step."""
    longest = 0.0
    for i in range(len(counts)):
        longest = max(longest, (time[i + 1] - time[i]) / counts[i])
    speed = longest * (theta[KD] + theta[KV] + theta[B]) / (theta[ARMATURE] + inertia.min())
    return 0.5 if speed <= 2.0 else 1.0 - 1.0 / speed


@njit(**COMPILED)
def _command_slopes(S, slots, h, alpha, beta, lag, play_moves, middle_moves, late, slope_m, d_a, d_b):
    """Sensitivities of w+, r+ and r at the middle: rows 4, 5, 6 of S."""
    slope = (d_b - d_a) / h
    d_late = -d_a + lag * slope
    for a in range(S.shape[1]):
        S[4, a] = alpha * S[2, a]
        S[5, a] = alpha * S[2, a] if play_moves != 0 else S[3, a]
        S[6, a] = beta * S[2, a] if middle_moves != 0 else S[3, a]
    by_delay, by_lag = d_b - lag * slope + alpha * d_late, 0.0
    middle_by_delay, middle_by_lag = 0.5 * (d_a + d_b) - lag * slope + beta * d_late, 0.0
    if lag > 0:
        by_lag = (alpha - 1.0) * slope_m + alpha * h / lag**2 * late
        middle_by_lag = (beta - 1.0) * slope_m + ((1.0 - alpha) / h - alpha / lag) * late
    S[4, slots[DELAY]] += by_delay
    S[4, slots[LAG]] += by_lag
    if play_moves != 0:
        S[5, slots[DELAY]] += by_delay
        S[5, slots[LAG]] += by_lag
    if middle_moves != 0:
        S[6, slots[DELAY]] += middle_by_delay
        S[6, slots[LAG]] += middle_by_lag
    S[5, slots[PLAY]] += 0.5 * play_moves if abs(play_moves) == 1 else 0.0
    S[6, slots[PLAY]] += 0.5 * middle_moves if abs(middle_moves) == 1 else 0.0


@njit(**COMPILED)
def _friction_slopes(
    S, by, theta, laws, slots, u, h, v, m0, l, qm, l_slope, side, line, ed, responds, rate, position_slope, left,
    weight, knots,
):  # fmt: skip
    """Sensitivities of the level of dry friction and of the effort of smooth laws: rows 7 and 8 of S.

    `by`: for the slopes of each law by v, m, l, q and its parameters.
    """
    kp, kd, kv = u * theta[KP], u * theta[KD], u * theta[KV]
    for k in range(len(laws)):
        p, out = theta.ctypes.data + 8 * laws[k, FIRST], by.ctypes.data + 8 * by.shape[1] * k
        slopes_at(laws[k, SLOPES], v, m0, l, qm, p, out)
    smooth = len(laws) > 0 and laws[:, DRY].min() == 0
    for row in range(7, 9 if smooth else 8):
        by_v, by_m, by_l, by_q = 0.0, 0.0, 0.0, position_slope if row == 7 else 0.0
        for k in range(len(laws)):
            if laws[k, DRY] == (row == 7):
                by_v, by_m, by_l, by_q = by_v + by[k, 0], by_m + by[k, 1], by_l + by[k, 2], by_q + by[k, 3]
        # by the speed, the middle of the position, that of the setpoint, and the change of the setpoint
        by_q, by_r, by_rate = by_q + by_l * l_slope, 0.0, 0.0
        if side == 0:
            by_r, by_rate = by_m * responds**2 * kp, by_m * kd / h
            by_v, by_q = by_v - by_m * (kd + kv), by_q - by_r
        elif line > 0 and v * side > 0:
            by_v -= by_m * line
        by_v += 0.5 * h * by_q
        for a in range(S.shape[1]):
            S[row, a] = by_v * S[1, a] + by_q * S[0, a] + by_r * S[6, a] + by_rate * (S[5, a] - S[3, a])
        if by_m == 0.0:
            continue
        if side == 0:
            S[row, slots[KP]] += u * by_m * ed
            S[row, slots[KD]] += u * by_m * (rate - v)
            S[row, slots[KV]] -= u * by_m * v
            S[row, slots[ZERO]] += by_m * kp * responds**2
            S[row, slots[DEAD]] -= by_m * kp * responds
        elif line > 0 and v * side > 0:
            S[row, slots[LIMIT]] += by_m * (u * side - v / theta[NO_LOAD])
            S[row, slots[NO_LOAD]] += by_m * line / theta[NO_LOAD] * v
        else:
            S[row, slots[LIMIT]] += u * by_m * side
    S[7, slots[FC]] += 1.0
    for k in range(len(laws)):
        for i in range(laws[k, COUNT]):
            S[7 if laws[k, DRY] else 8, slots[laws[k, FIRST] + i]] += by[k, 4 + i]
    levels = len(theta) - len(knots)
    if len(knots) > 0:
        S[7, slots[levels + left]] += 1.0 - weight
    if len(knots) > 1:
        S[7, slots[levels + left + 1]] += weight


@njit(**COMPILED)
def _motion_slopes(S, theta, slots, u, h, I, slope, ahead, line, branch, ed, responds, rate, v, v1, den):
    """Sensitivities of position and speed, rows 0 and 1 of S, after the step; those of the setpoint move on."""
    kp, kd, b, D, behind = u * theta[KP], u * theta[KD], theta[B], u * (theta[KD] + theta[KV]), 1.0 - ahead
    vm = behind * v + ahead * v1
    if v1 == 0.0:  # the joint rests
        for a in range(S.shape[1]):
            S[0, a] += 0.5 * h * S[1, a]
            S[1, a], S[2, a], S[3, a] = 0.0, S[4, a], S[5, a]
        return
    # by the speed, the middle of the position, that of the setpoint, and the change of the setpoint
    by_v, by_q, by_r, by_rate = I - behind * h * b, -h * slope, 0.0, 0.0
    if branch == 0:
        by_r = responds**2 * h * kp
        by_v, by_q, by_rate = by_v - behind * h * D, by_q - by_r, kd
    elif abs(branch) == 2:
        by_v -= behind * h * line
    by_v += 0.5 * h * by_q
    against, half, inverse = (h if v1 > 0 else -h), 0.5 * h, 1.0 / den
    for a in range(S.shape[1]):
        q, v_, r1 = S[0, a], S[1, a], S[5, a]
        new = (
            by_v * v_ + by_q * q + by_r * S[6, a] + by_rate * (r1 - S[3, a]) - against * S[7, a] - h * S[8, a]
        )
        new = inverse * new
        S[0, a], S[1, a], S[2, a], S[3, a] = q + half * (v_ + new), new, S[4, a], r1
    # numerator - v+ denominator by each parameter itself
    _add(S, slots[ARMATURE], half, inverse * (v - v1))
    _add(S, slots[B], half, -inverse * h * vm)
    if branch == 0:
        _add(S, slots[KP], half, inverse * h * u * ed)
        _add(S, slots[KD], half, inverse * h * u * (rate - vm))
        _add(S, slots[KV], half, -inverse * h * u * vm)
        _add(S, slots[ZERO], half, inverse * by_r)
        _add(S, slots[DEAD], half, -inverse * h * kp * responds)
    else:
        _add(S, slots[LIMIT], half, inverse * u * (h if branch > 0 else -h))
        if abs(branch) == 2:
            _add(S, slots[LIMIT], half, -inverse * h * vm / theta[NO_LOAD])
            _add(S, slots[NO_LOAD], half, inverse * h * vm * line / theta[NO_LOAD])


@njit(**COMPILED)
def _add(S, slot, half, change):
    """A change of the new speed, and with it of the position."""
    S[0, slot] += half * change
    S[1, slot] += change


@njit(**COMPILED)
def roll(
    theta: Vector, laws: np.ndarray, knots: Vector, slots: np.ndarray, time: Times, counts: np.ndarray,
    commanded: Times, command: Vector, hold: bool, inertia: Vector, load: Vector, slope: Vector, posture: Vector,
    static: Vector, supply: Vector, position: Vector, sensitivities: Matrix, rates: Matrix, fine_q: Vector,
    fine_v: Vector, torque: Vector,
) -> tuple[int, int]:  # fmt: skip
    """Fill the outputs of `rollout.roll_out`; the numbers of steps at a bound of the motor, and at rest.

    `laws`: table of the further laws of friction (`friction.law`). `supply` and `rates`, (K + 1, a) sensitivities
    of velocities, may be empty.
    """
    lag, play, dead, u = theta[LAG], theta[PLAY], theta[DEAD], 1.0
    limit, D = theta[LIMIT], theta[KD] + theta[KV]
    line = limit / theta[NO_LOAD] if np.isfinite(limit) and np.isfinite(theta[NO_LOAD]) else 0.0
    wanted = sensitivities.shape[1]
    ahead, integral = _implicit_share(theta, time, counts, inertia), _integral(commanded, command, hold)

    q, v = theta[START_Q], theta[START_V]
    # sensitivities of q, v, w, r; of w+, r+, r at the middle; of dry friction's level and of smooth laws
    S = np.zeros((9, wanted + 1))
    S[0, slots[START_Q]] = S[1, slots[START_V]] = S[7, slots[FC]] = 1.0
    by = np.zeros((len(laws), 4 + (laws[:, COUNT].max() if len(laws) else 0)))
    levels = theta[len(theta) - len(knots) :]
    h = (time[1] - time[0]) / counts[0]
    s_a = time[0] - 0.5 * h - theta[DELAY]
    j = _seek(commanded, s_a, -1)
    u_a, C_a = _command(commanded, command, integral, hold, s_a, j)
    j = _seek(commanded, s_a + h, j)
    u_b, C_b = _command(commanded, command, integral, hold, s_a + h, j)
    m_a, d_a = (C_b - C_a) / h, -(u_b - u_a) / h
    w, r = m_a, m_a
    S[2, slots[DELAY]] = S[3, slots[DELAY]] = d_a
    u_a, C_a, s_a = u_b, C_b, s_a + h

    position[0], fine_q[0], fine_v[0] = q, q, v
    sensitivities[0] = S[0, :wanted]
    if len(rates):
        rates[0] = S[1, :wanted]
    saturated, stuck, k = 0, 0, 0
    for i in range(len(counts)):
        h = (time[i + 1] - time[i]) / counts[i]
        alpha = math.exp(-h / lag) if lag > 0 else 0.0
        beta = lag * (1.0 - alpha) / h
        for step in range(counts[i]):
            # the command
            s = time[i] + (step + 1.5) * h - theta[DELAY]
            j = _seek(commanded, s, j)
            u_b, C_b = _command(commanded, command, integral, hold, s, j)
            m_b, d_b = (C_b - C_a) / (s - s_a), -(u_b - u_a) / (s - s_a)
            slope_m = (m_b - m_a) / h
            late = w - m_a + lag * slope_m
            w1 = m_b - lag * slope_m + alpha * late
            r1, moves = _play(r, w1, play)
            rm, middle_moves = _play(r, 0.5 * (m_a + m_b) - lag * slope_m + beta * late, play)
            # the controller
            if len(supply):
                u = supply[k]
                limit, D = u * theta[LIMIT], u * (theta[KD] + theta[KV])
            rate, qm = (r1 - r) / h, q + 0.5 * h * v
            ed = soft(rm + theta[ZERO] - qm, dead)
            responds = 1 if ed > 0 or dead == 0.0 else (-1 if ed < 0 else 0)
            c = u * (theta[KP] * ed + theta[KD] * rate)
            # dry friction, with the speed of before and the torque that follows from it
            m0, side = _bounded(c - D * v, limit, line, v)
            l = static[k] + slope[k] * (qm - posture[k])
            extra, position_slope, left, weight = _level_of_position(levels, knots, qm)
            F, resistance = theta[FC] + extra, theta[B] * (1.0 - ahead) * v
            for n in range(len(laws)):
                found = effort_at(laws[n, EFFORT], v, m0, l, qm, theta.ctypes.data + 8 * laws[n, FIRST])
                if laws[n, DRY]:
                    F += found
                else:
                    resistance += found
            # the motion
            I = theta[ARMATURE] + inertia[k]
            base = I * v - h * (load[k] + slope[k] * (qm - posture[k]) + resistance)
            v1, den, torque[k], branch = _new_speed(base, c, v, h, h * F, I, D, theta[B], ahead, limit, line)
            saturated += branch != 0
            stuck += v1 == 0.0
            if wanted > 0:
                _command_slopes(S, slots, h, alpha, beta, lag, moves, middle_moves, late, slope_m, d_a, d_b)
                if len(knots) or len(laws):
                    _friction_slopes(
                        S, by, theta, laws, slots, u, h, v, m0, l, qm, slope[k], side, line, ed, responds, rate,
                        position_slope, left, weight, knots,
                    )  # fmt: skip
                _motion_slopes(
                    S, theta, slots, u, h, I, slope[k], ahead, line, branch, ed, responds, rate, v, v1, den
                )
            q, v, w, r = q + 0.5 * h * (v + v1), v1, w1, r1
            u_a, C_a, s_a, m_a, d_a = u_b, C_b, s, m_b, d_b
            k += 1
            fine_q[k], fine_v[k] = q, v
            if len(rates):
                rates[k] = S[1, :wanted]
        if not abs(q) < DIVERGED:
            position[i + 1 :], fine_q[k:], fine_v[k:], torque[k:] = np.nan, np.nan, np.nan, np.nan
            return saturated, stuck
        position[i + 1] = q
        sensitivities[i + 1] = S[0, :wanted]
    return saturated, stuck
