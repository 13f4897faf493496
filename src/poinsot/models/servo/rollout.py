"""Exact simulation of one actuator along the load of its mechanism, with sensitivities.

Within a step of length h from t to t + h, everything is taken at its middle, so that what is found does not depend on
the step (second order). The delayed setpoint u (`setpoint`) enters by its means m over windows of length h about both
ends,

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

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Float

from ...arrays import Matrix, Times, Vector
from ..friction.law import law_table
from .actuator import LEVEL, Actuator, servo_laws
from .kernel import FURTHER, NAMES, roll
from .setpoint import Setpoint

SHIFT_S = 1e-3
"""To either side, for the acceleration where a velocity is measured [s]."""


@dataclass(frozen=True, eq=False)
class JointLoad:
    """What the mechanism takes of one joint at the middle of every step, along a posture.

    Args:
        inertia: (K,) M_jj [kg m^2]. load: (K,) everything else at the posture [N m]. slope: (K,) of it by the joint's
            own position [N m/rad]. posture: (K,) the joint's own position there [rad].
        static: (K,) the part of `load` that needs no acceleration: gravity and products of velocities [N m].
    """

    inertia: Vector
    load: Vector
    slope: Vector
    posture: Vector
    static: Vector

    def resampled(self, times: Times, at: Vector) -> JointLoad:
        """The same, linear between its times (K,), at others."""
        return JointLoad(*(np.interp(at, times, getattr(self, each.name)) for each in fields(self)))


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
        return cls(
            np.asarray(time, dtype=float), np.maximum(1, np.ceil(intervals / longest - 1e-9)).astype(np.int64)
        )

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
class ActuatorRollout:
    """A simulated motion of one joint.

    Args:
        position: (T,) at the samples [rad]. sensitivities: (T, a) by the parameters that were asked for.
        velocity, acceleration: (V,) at the times that were asked for [rad/s], [rad/s^2]. rates: (V, a) sensitivities
            of the velocities.
        fine_position, fine_velocity: (K + 1,) at the beginning of every step and the end of the last [rad], [rad/s].
        torque: (K,) of the motor [N m]. saturated, stuck: parts of the steps.
    """

    position: Vector
    velocity: Vector
    acceleration: Vector
    sensitivities: Float[np.ndarray, "T _"]
    rates: Float[np.ndarray, "_ _"]
    fine_position: Vector
    fine_velocity: Vector
    torque: Vector
    saturated: float
    stuck: float


def rollout_parameters() -> tuple[str, ...]:
    """What a rollout depends on, in the order of theta, before the levels of a friction that varies with position."""
    return (*NAMES, *(name for law in servo_laws()[2:] for name in law.names))


def place_of(parameter: str) -> int:
    """Place of a parameter in theta."""
    names = rollout_parameters()
    if parameter.startswith(LEVEL):
        return len(names) + int(parameter.removeprefix(LEVEL))
    return names.index(parameter)


def parameter_vector(actuator: Actuator, position: float, velocity: float) -> Vector:
    """(p,) the numbers of `rollout_parameters`, and the levels of friction after them."""
    known = {**actuator.numbers, "start_position": position, "start_velocity": velocity}
    return np.array([*(known[name] for name in rollout_parameters()), *actuator.friction_levels])


def active_laws(theta: Vector, wanted: Sequence[int] = ()) -> np.ndarray:
    """Table of the laws of friction, beside damping and Coulomb friction, that have an effect or wanted slopes."""
    place, first, active = FURTHER, {}, []
    for law in servo_laws()[2:]:
        own = range(place, place + len(law.parameters))
        if law.is_active(dict(zip(law.names, theta[place : own.stop], strict=True))) or set(own) & set(
            wanted
        ):
            active.append(law)
        first[law.name], place = place, own.stop
    return law_table(tuple(active), first)


def roll_out(
    theta: Vector,
    steps: Steps,
    setpoint: Setpoint,
    load: JointLoad,
    *,
    supply: Vector | None = None,
    knots: Vector | tuple[float, ...] = (),
    wanted: tuple[int, ...] = (),
    velocity_at: Vector | None = None,
) -> ActuatorRollout:
    """Simulate one joint under its recorded command.

    Args:
        theta: (p,) see `parameter_vector`.
        setpoint: of its commands, at times on the clock of the samples.
        supply: (K,) supply voltage over the nominal one at the middle of every step; None: 1.
        knots: friction_positions. wanted: places in theta of the parameters whose sensitivities are computed.
        velocity_at: (V,) times at which velocities and their sensitivities are computed [s]; None: none are.
    """
    T, K = len(steps.time), int(steps.counts.sum())
    slots = np.full(len(theta), len(wanted), dtype=np.int64)
    slots[list(wanted)] = np.arange(len(wanted))
    position, fine_q, fine_v = np.empty(T), np.empty(K + 1), np.empty(K + 1)
    sensitivities, torque = np.zeros((T, len(wanted))), np.empty(K)
    fine_rates = np.zeros((0 if velocity_at is None or not wanted else K + 1, len(wanted)))
    loads = load.inertia, load.load, load.slope, load.posture, load.static
    saturated, stuck = roll(
        *_writeable(theta), active_laws(theta, wanted), *_writeable(np.asarray(knots)), slots,
        *_writeable(steps.time), steps.counts, *_writeable(setpoint.time, setpoint.position), bool(setpoint.hold),
        *_writeable(*loads, np.empty(0) if supply is None else supply),
        position, sensitivities, fine_rates, fine_q, fine_v, torque,
    )  # fmt: skip
    velocity, acceleration, rates = np.empty(0), np.empty(0), np.empty((0, len(wanted)))
    if velocity_at is not None:
        fine = np.append(steps.times, steps.time[-1])
        velocity, after, before = (
            np.interp(velocity_at + shift, fine, fine_v) for shift in (0.0, SHIFT_S, -SHIFT_S)
        )
        acceleration = (after - before) / (2 * SHIFT_S)
        if len(fine_rates):
            rates = interpolated(fine, fine_rates, velocity_at)
    return ActuatorRollout(
        position,
        velocity,
        acceleration,
        sensitivities,
        rates,
        fine_q,
        fine_v,
        torque,
        saturated / K,
        stuck / K,
    )


def _writeable(*arrays: Vector) -> list[Vector]:
    """The same arrays, copied where they are read-only or strided: for another type the kernel is compiled again."""
    return [np.require(array, float, ("C", "W")) for array in arrays]


def interpolated(time: Times, values: Matrix, at: Vector) -> Matrix:
    """(K, n) columns of values (T, n), linear between samples."""
    k = np.clip(np.searchsorted(time, at, side="right") - 1, 0, len(time) - 2)
    weight = np.clip((at - time[k]) / (time[k + 1] - time[k]), 0.0, 1.0)[:, None]
    return (1.0 - weight) * values[k] + weight * values[k + 1]
