"""Exact simulation of one actuator along the load of its mechanism, with sensitivities.

Within a step of length h from t to t + h, everything is taken at its middle, so that what is found does not depend on
the step (second order). The delayed command u enters by its means m over windows of length h about both ends,

    m(t) = 1/h integral of u(s - delay) ds from t - h/2 to t + h/2        so that the delay is continuous
    w+   = m+ - lag m' + exp(-h / lag) (w - m + lag m'),  m' = (m+ - m) / h          exact for m linear within the step
    r    = play of w about the middle of the step and at its end:  r+ = clip(r, w+ - backlash / 2, w+ + backlash / 2)
    e    = dead_band(r_middle + zero - q_middle),        q_middle = q + h v / 2
    M(v) = clip(stiffness e + derivative_gain ((r+ - r) / h - v) - velocity_gain v,  bounds of the motor at v)

The new speed v+ solves

    I (v+ - v) / h = M(v_) - damping v_ - F sign(v+) - load,       v_ = (1 - theta) v + theta v+
    I = armature + M_jj,    load = l + s (q_middle - q_l),         q+ = q + h (v + v+) / 2

where l is what the mechanism takes along the posture q_l (gravity, and coupling to the other joints), and s its slope.
theta is 1/2, and nearer to 1 where damping is fast against the step. The right side falls with v+, so there is one
solution; where it lies between -F and F at v+ = 0 the joint sticks, v+ is exactly 0. On each branch M is linear,

    v+ = soft(I v + h (M_0 - (1 - theta) (M_1 + damping) v - load), h F) / (I + theta h (M_1 + damping)),
    M(v) = M_0 - M_1 v,   soft(x, c) = sign(x) max(|x| - c, 0)

All of this is continuous and piecewise smooth in every parameter; sensitivities are those of the branch taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numba import njit

from poinsot.arrays import Times, Vector

from .actuator import PARAMETERS, Actuator

ROLLOUT_PARAMETERS: tuple[str, ...] = (*PARAMETERS, "start_position", "start_velocity")
"""What a rollout depends on, before the levels of a friction that varies with position."""

STIFFNESS, DERIVATIVE, VELOCITY, DAMPING, COULOMB, STICTION, STRIBECK, LOAD, ARMATURE, LIMIT, NO_LOAD, DELAY, LAG, ZERO, \
    DEAD_BAND, BACKLASH, START_Q, START_V = range(len(ROLLOUT_PARAMETERS))  # fmt: skip
DIVERGED = 1e4
"""A simulation ends where a position is beyond this [rad]; it is NaN from there."""

LEVELS = len(ROLLOUT_PARAMETERS)


@dataclass(frozen=True, eq=False)
class JointLoad:
    """What the mechanism takes of one joint at the middle of every step, along a posture.

    Args:
        inertia: (K,) M_jj [kg m^2]. load: (K,) everything else at the posture [N m]. slope: (K,) of it by the joint's
            own position [N m/rad]. posture: (K,) the joint's own position there [rad].
    """

    inertia: Vector
    load: Vector
    slope: Vector
    posture: Vector


@dataclass(frozen=True, eq=False)
class Steps:
    """The samples of a recording and the steps of a simulation between them.

    Args:
        time: (T,) of the samples [s]. counts: (T - 1,) steps from each sample to the next.
    """

    time: Times
    counts: np.ndarray

    @classmethod
    def of(cls, time: Times, longest: float) -> Steps:
        """Steps of at most this length [s], all of one length between two samples."""
        intervals = np.diff(time)
        return cls(np.asarray(time, dtype=float), np.maximum(1, np.ceil(intervals / longest - 1e-9)).astype(np.int64))

    @property
    def lengths(self) -> Vector:
        """(K,) of the steps [s]."""
        return np.repeat(np.diff(self.time) / self.counts, self.counts)

    @property
    def middles(self) -> Times:
        """(K,) of the steps [s]."""
        return self.times + 0.5 * self.lengths

    @property
    def times(self) -> Times:
        """(K,) at which steps begin [s]."""
        first = np.repeat(np.cumsum(self.counts) - self.counts, self.counts)
        return np.repeat(self.time[:-1], self.counts) + (np.arange(self.counts.sum()) - first) * self.lengths


@dataclass(frozen=True, eq=False)
class Rollout:
    """A simulated motion of one joint.

    Args:
        position: (T,) at the samples [rad]. sensitivities: (T, a) by the parameters that were asked for.
        fine_position, fine_velocity: (K + 1,) at the beginning of every step and the end of the last [rad], [rad/s].
        torque: (K,) of the motor [N m]. saturated, stuck: parts of the steps.
    """

    position: Vector
    sensitivities: Float[np.ndarray, "T _"]
    fine_position: Vector
    fine_velocity: Vector
    torque: Vector
    saturated: float
    stuck: float


def parameter_vector(actuator: Actuator, position: float, velocity: float) -> Vector:
    """(p,) the numbers of `ROLLOUT_PARAMETERS`, and the levels of friction after them."""
    values = actuator.values
    return np.array([*(values[name] for name in PARAMETERS), position, velocity, *actuator.friction_levels])


def roll_out(
    theta: Vector,
    steps: Steps,
    command: Vector,
    load: JointLoad,
    *,
    knots: Vector | tuple[float, ...] = (),
    wanted: tuple[int, ...] = (),
    hold: bool = True,
) -> Rollout:
    """Simulate one joint under its recorded command.

    Args:
        theta: (p,) see `parameter_vector`.
        command: (T,) at the samples [rad]. hold: whether it keeps its value until the next one; else it is linear
            between samples.
        knots: friction_positions. wanted: places in theta of the parameters whose sensitivities are computed.
    """
    T, K = len(steps.time), int(steps.counts.sum())
    slots = np.full(len(theta), -1, dtype=np.int64)
    slots[list(wanted)] = np.arange(len(wanted))
    position, fine_q, fine_v = np.empty(T), np.empty(K + 1), np.empty(K + 1)
    sensitivities, torque = np.zeros((T, len(wanted))), np.empty(K)
    saturated, stuck = _roll(
        np.ascontiguousarray(theta, dtype=float), np.asarray(knots, dtype=float), slots, steps.time, steps.counts,
        np.ascontiguousarray(command, dtype=float), hold, load.inertia, load.load, load.slope, load.posture,
        position, sensitivities, fine_q, fine_v, torque,
    )  # fmt: skip
    return Rollout(position, sensitivities, fine_q, fine_v, torque, saturated / K, stuck / K)


@njit(cache=True, nogil=True)
def _seek(time, s, j):
    """The last sample at or before s, from j on; -1 before the first."""
    while j + 1 < len(time) and time[j + 1] <= s:
        j += 1
    return j


@njit(cache=True, nogil=True)
def _command(time, command, integral, hold, s, j):
    """The command at s, and its integral up to there."""
    if j < 0:
        return command[0], (s - time[0]) * command[0]
    ds = s - time[j]
    if hold or j + 1 >= len(time):
        return command[j], integral[j] + ds * command[j]
    rate = (command[j + 1] - command[j]) / (time[j + 1] - time[j])
    return command[j] + rate * ds, integral[j] + ds * command[j] + 0.5 * rate * ds * ds


@njit(cache=True, nogil=True)
def _soft(x, c):
    return x - c if x > c else (x + c if x < -c else 0.0)


@njit(cache=True, nogil=True)
def _roll(
    theta, knots, slots, time, counts, command, hold, inertia, load, slope, posture, position, sensitivities, fine_q, fine_v,
    torque,
):  # fmt: skip
    kp, kd, kv, b, fc, fs, vs, fl = theta[0], theta[1], theta[2], theta[3], theta[4], theta[5], theta[6], theta[7]
    armature, limit, no_load, delay = theta[8], theta[9], theta[10], theta[11]
    lag, zero, dead, play = theta[12], theta[13], theta[14], theta[15]
    speed_line = limit / no_load if np.isfinite(limit) and np.isfinite(no_load) else 0.0
    na, D = sensitivities.shape[1], kd + kv

    integral = np.zeros(len(time))
    for i in range(len(time) - 1):
        mean = command[i] if hold else 0.5 * (command[i] + command[i + 1])
        integral[i + 1] = integral[i] + (time[i + 1] - time[i]) * mean

    fastest = 0.0
    for i in range(len(counts)):
        fastest = max(fastest, (time[i + 1] - time[i]) / counts[i])
    fastest *= (D + b) / (armature + inertia.min())
    ahead = 0.5 if fastest <= 2.0 else 1.0 - 1.0 / fastest
    behind = 1.0 - ahead

    q, v, w, r = theta[16], theta[17], command[0], command[0]
    d_q, d_v, d_w, d_r = np.zeros(na), np.zeros(na), np.zeros(na), np.zeros(na)
    d_w1, d_r1, d_rm, d_num, d_den, d_F, d_m0 = (
        np.zeros(na), np.zeros(na), np.zeros(na), np.zeros(na), np.zeros(na), np.zeros(na), np.zeros(na),
    )  # fmt: skip
    if slots[16] >= 0:
        d_q[slots[16]] = 1.0
    if slots[17] >= 0:
        d_v[slots[17]] = 1.0
    position[0], fine_q[0], fine_v[0] = q, q, v
    sensitivities[0] = d_q
    saturated, stuck, k = 0, 0, 0
    h = (time[1] - time[0]) / counts[0]
    s_a = time[0] - 0.5 * h - delay
    j = _seek(time, s_a, -1)
    u_a, S_a = _command(time, command, integral, hold, s_a, j)
    j = _seek(time, s_a + h, j)
    u_b, S_b = _command(time, command, integral, hold, s_a + h, j)
    m_a, d_m_a = (S_b - S_a) / h, -(u_b - u_a) / h
    w, r = m_a, m_a
    if slots[11] >= 0:
        d_w[slots[11]] = d_r[slots[11]] = d_m_a
    u_a, S_a, s_a = u_b, S_b, s_a + h
    for i in range(len(counts)):
        h = (time[i + 1] - time[i]) / counts[i]
        alpha = math.exp(-h / lag) if lag > 0 else 0.0
        beta = lag * (1.0 - alpha) / h
        for step in range(counts[i]):
            s = time[i] + (step + 1.5) * h - delay
            j = _seek(time, s, j)
            u_b, S_b = _command(time, command, integral, hold, s, j)
            m_b, d_m_b = (S_b - S_a) / (s - s_a), -(u_b - u_a) / (s - s_a)
            # lag, play, dead band
            slope_m = (m_b - m_a) / h
            late = w - m_a + lag * slope_m
            w1 = m_b - lag * slope_m + alpha * late
            wm = 0.5 * (m_a + m_b) - lag * slope_m + beta * late
            r1, moves = r, 0
            if r < w1 - 0.5 * play:
                r1, moves = w1 - 0.5 * play, -1
            elif r > w1 + 0.5 * play:
                r1, moves = w1 + 0.5 * play, 1
            rm, moves_m = r, 0
            if r < wm - 0.5 * play:
                rm, moves_m = wm - 0.5 * play, -1
            elif r > wm + 0.5 * play:
                rm, moves_m = wm + 0.5 * play, 1
            if play == 0.0:
                r1, rm = w1, wm
                moves, moves_m = (moves if moves != 0 else 2), (moves_m if moves_m != 0 else 2)
            rate = (r1 - r) / h
            qm = q + 0.5 * h * v
            e = rm + zero - qm
            ed, responds = 0.0, 0
            if e > dead:
                ed, responds = e - dead, 1
            elif e < -dead:
                ed, responds = e + dead, -1
            # the level of dry friction, with the speed of before and the torque that follows from it
            top, bottom = limit - speed_line * max(v, 0.0), -limit - speed_line * min(v, 0.0)
            m0, clipped = kp * ed + kd * (rate - v) - kv * v, 0
            if m0 > top:
                m0, clipped = top, 1
            elif m0 < bottom:
                m0, clipped = bottom, -1
            bump = math.exp(-((v / vs) ** 2)) if fs > 0 or slots[5] >= 0 else 0.0
            F = fc + fl * abs(m0) + fs * bump
            left, weight = 0, 0.0
            if len(knots) > 0:
                while left + 2 < len(knots) and qm > knots[left + 1]:
                    left += 1
                if len(knots) > 1:
                    weight = min(max((qm - knots[left]) / (knots[left + 1] - knots[left]), 0.0), 1.0)
                    F += weight * theta[18 + left + 1]
                F += (1.0 - weight) * theta[18 + left]
            # the branch of the motor's torque
            I = armature + inertia[k]
            base = I * v - h * (load[k] + slope[k] * (qm - posture[k]) + behind * b * v)
            c = kp * ed + kd * rate
            num, den, branch = base + h * (c - behind * D * v), I + ahead * h * (D + b), 0
            v1 = _soft(num, h * F) / den
            vm = behind * v + ahead * v1
            m = c - D * vm
            if m > limit - speed_line * max(vm, 0.0):
                branch, num, den = 1, base + h * limit, I + ahead * h * b
                v1 = _soft(num, h * F) / den
                vm = behind * v + ahead * v1
                if vm > 0 and speed_line > 0:
                    branch, num, den = 2, num - h * speed_line * behind * v, den + ahead * h * speed_line
                    v1 = _soft(num, h * F) / den
                    vm = behind * v + ahead * v1
                m = limit - speed_line * max(vm, 0.0)
            elif m < -limit - speed_line * min(vm, 0.0):
                branch, num, den = -1, base - h * limit, I + ahead * h * b
                v1 = _soft(num, h * F) / den
                vm = behind * v + ahead * v1
                if vm < 0 and speed_line > 0:
                    branch, num, den = -2, num - h * speed_line * behind * v, den + ahead * h * speed_line
                    v1 = _soft(num, h * F) / den
                    vm = behind * v + ahead * v1
                m = -limit - speed_line * min(vm, 0.0)
            torque[k] = m
            saturated += branch != 0
            stuck += v1 == 0.0
            if na > 0:
                for a in range(na):
                    d_w1[a], d_rm[a] = alpha * d_w[a], beta * d_w[a]
                if slots[11] >= 0:
                    d_slope = (d_m_b - d_m_a) / h
                    d_late = -d_m_a + lag * d_slope
                    d_w1[slots[11]] += d_m_b - lag * d_slope + alpha * d_late
                    d_rm[slots[11]] += 0.5 * (d_m_a + d_m_b) - lag * d_slope + beta * d_late
                if slots[12] >= 0 and lag > 0:
                    d_w1[slots[12]] += (alpha - 1.0) * slope_m + alpha * h / lag**2 * late
                    d_rm[slots[12]] += (beta - 1.0) * slope_m + ((1.0 - alpha) / h - alpha / lag) * late
                for a in range(na):
                    d_r1[a] = d_w1[a] if moves != 0 else d_r[a]
                    d_rm[a] = d_rm[a] if moves_m != 0 else d_r[a]
                if slots[15] >= 0:
                    if moves == 1 or moves == -1:
                        d_r1[slots[15]] += 0.5 * moves
                    if moves_m == 1 or moves_m == -1:
                        d_rm[slots[15]] += 0.5 * moves_m
                # of the level
                for a in range(na):
                    d_m0[a] = 0.0
                    if clipped == 0:
                        d_m0[a] = -D * d_v[a] + kd * (d_r1[a] - d_r[a]) / h
                        if responds != 0:
                            d_m0[a] += kp * (d_rm[a] - d_q[a] - 0.5 * h * d_v[a])
                    elif speed_line > 0 and v * clipped > 0:
                        d_m0[a] = -speed_line * d_v[a]
                if clipped == 0:
                    if slots[0] >= 0:
                        d_m0[slots[0]] += ed
                    if slots[1] >= 0:
                        d_m0[slots[1]] += rate - v
                    if slots[2] >= 0:
                        d_m0[slots[2]] -= v
                    if slots[13] >= 0 and responds != 0:
                        d_m0[slots[13]] += kp
                    if slots[14] >= 0:
                        d_m0[slots[14]] -= kp * responds
                else:
                    if slots[9] >= 0:
                        d_m0[slots[9]] += clipped - (v / no_load if v * clipped > 0 and speed_line > 0 else 0.0)
                    if slots[10] >= 0 and v * clipped > 0 and speed_line > 0:
                        d_m0[slots[10]] += speed_line / no_load * v
                sign_m = 1.0 if m0 > 0 else (-1.0 if m0 < 0 else 0.0)
                inside = len(knots) > 1 and 0.0 < weight < 1.0
                for a in range(na):
                    d_F[a] = fl * sign_m * d_m0[a]
                    if fs > 0:
                        d_F[a] -= fs * bump * 2.0 * v / vs**2 * d_v[a]
                    if inside:
                        d_F[a] += (theta[18 + left + 1] - theta[18 + left]) / (knots[left + 1] - knots[left]) * (
                            d_q[a] + 0.5 * h * d_v[a]
                        )
                if slots[4] >= 0:
                    d_F[slots[4]] += 1.0
                if slots[5] >= 0:
                    d_F[slots[5]] += bump
                if slots[6] >= 0:
                    d_F[slots[6]] += fs * bump * 2.0 * v * v / vs**3
                if slots[7] >= 0:
                    d_F[slots[7]] += abs(m0)
                if len(knots) > 0:
                    if slots[18 + left] >= 0:
                        d_F[slots[18 + left]] += 1.0 - weight
                    if len(knots) > 1 and slots[18 + left + 1] >= 0:
                        d_F[slots[18 + left + 1]] += weight
                # of numerator and denominator
                for a in range(na):
                    d_num[a] = (I - behind * h * b) * d_v[a] - h * slope[k] * (d_q[a] + 0.5 * h * d_v[a])
                    d_den[a] = 0.0
                    if branch == 0:
                        d_num[a] += kd * (d_r1[a] - d_r[a]) - behind * h * D * d_v[a]
                        if responds != 0:
                            d_num[a] += h * kp * (d_rm[a] - d_q[a] - 0.5 * h * d_v[a])
                    elif branch == 2 or branch == -2:
                        d_num[a] -= behind * h * speed_line * d_v[a]
                if slots[8] >= 0:
                    d_num[slots[8]] += v
                    d_den[slots[8]] += 1.0
                if slots[3] >= 0:
                    d_num[slots[3]] -= behind * h * v
                    d_den[slots[3]] += ahead * h
                if branch == 0:
                    if slots[0] >= 0:
                        d_num[slots[0]] += h * ed
                    if slots[1] >= 0:
                        d_num[slots[1]] += h * (rate - behind * v)
                        d_den[slots[1]] += ahead * h
                    if slots[2] >= 0:
                        d_num[slots[2]] -= behind * h * v
                        d_den[slots[2]] += ahead * h
                    if slots[13] >= 0 and responds != 0:
                        d_num[slots[13]] += h * kp
                    if slots[14] >= 0:
                        d_num[slots[14]] -= h * kp * responds
                else:
                    if slots[9] >= 0:
                        d_num[slots[9]] += h if branch > 0 else -h
                    if branch == 2 or branch == -2:
                        if slots[9] >= 0:
                            d_num[slots[9]] -= behind * h * v / no_load
                            d_den[slots[9]] += ahead * h / no_load
                        if slots[10] >= 0:
                            d_num[slots[10]] += behind * h * v * speed_line / no_load
                            d_den[slots[10]] -= ahead * h * speed_line / no_load
                sign = 1.0 if v1 > 0 else -1.0
                for a in range(na):
                    before = d_v[a]
                    d_v[a] = 0.0 if v1 == 0.0 else (d_num[a] - sign * h * d_F[a] - v1 * d_den[a]) / den
                    d_q[a] += 0.5 * h * (before + d_v[a])
                    d_w[a], d_r[a] = d_w1[a], d_r1[a]
            q, v, w, r = q + 0.5 * h * (v + v1), v1, w1, r1
            u_a, S_a, s_a, m_a, d_m_a = u_b, S_b, s, m_b, d_m_b
            k += 1
            fine_q[k], fine_v[k] = q, v
        if not abs(q) < DIVERGED:
            position[i + 1 :], fine_q[k:], fine_v[k:], torque[k:] = np.nan, np.nan, np.nan, np.nan
            return saturated, stuck
        position[i + 1] = q
        sensitivities[i + 1] = d_q
    return saturated, stuck
