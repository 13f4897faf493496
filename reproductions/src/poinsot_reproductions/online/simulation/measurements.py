"""Measurements of a robot's state estimator: the plant's state, delayed, rounded and with noise (1 kHz).

A filter needs accelerations, which are not measured. Over a window of m ticks of length h they are

    a = (v_k - v_{k-m}) / (m h),   efforts and wrenches averaged over the same ticks,   q, v of the window's middle,

so everything has the same age, m h / 2 (Foster et al. 2024, Sect. III-D). With m odd the middle is the mean of two
ticks.

A force sensor that lags behind by a time constant L makes M a + c = tau + J^T f wrong by that lag, most of all in an
impact, and in a loop that answers at once to its estimate. Efforts and velocities go through the same low pass,

    x_k <- x_{k-1} + (1 - exp(-h / L)) (x_k - x_{k-1}),

before they are averaged and differenced: the equation is linear in them, and M, c and J hardly change in a time L.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy import linalg

from poinsot.arrays import Vector
from poinsot.estimators.online.belief import Sample, Tick
from poinsot.exceptions import InvalidMethod

from .plant import Plant


@dataclass(frozen=True)
class StateSensors:
    """Standard deviations per tick of white noise, step sizes and delay; 0 is perfect.

    Args:
        position: of joints [rad] or [m]. position_step: of encoders.
        velocity: of joints [rad/s] or [m/s].
        base_position [m], base_orientation [rad], base_velocity [m/s], base_rate [rad/s]: of the base's estimate.
        wander: of a slow error of the base's velocity [m/s]: estimators of walking robots do no better.
        wander_time: time constant of that error's two low passes [s].
        effort: [N m] or [N]. force [N], moment [N m]: of the feet's sensors.
        force_lag: time constant of the feet's sensors' low pass [s].
        delay_ticks: age of a state when it arrives.
    """

    position: float = 2e-5
    position_step: float = 1e-5
    velocity: float = 3e-4
    base_position: float = 1e-4
    base_orientation: float = 1e-4
    base_velocity: float = 1e-4
    base_rate: float = 3e-4
    wander: float = 2e-3
    wander_time: float = 0.5
    effort: float = 0.1
    force: float = 1.0
    moment: float = 0.1
    force_lag: float = 0.003
    delay_ticks: int = 1

    def __post_init__(self) -> None:
        if min(vars(self).values()) < 0:
            raise InvalidMethod("sensors need standard deviations, steps and a delay of at least 0")


def passed(step: float, lag: float) -> float:
    """How much of a change a low pass lets through in a step: 1 without lag [s]."""
    return 1.0 if lag == 0 else 1 - float(np.exp(-step / lag))


class Wander:
    """Slow, smooth errors: white noise through two low passes of one time constant, stationary from the start.

    Args:
        std: of each error. size: how many there are. step, time: a tick's and the time constant [s].
    """

    def __init__(self, std: float, size: int, step: float, time: float, rng: np.random.Generator):
        part = passed(step, time)
        self._A = np.array([[1 - part, 0.0], [part * (1 - part), 1 - part]])
        b = np.array([part, part**2])
        # its stationary covariance, so that the error is as large at the first tick as later
        P = linalg.solve_discrete_lyapunov(self._A, np.outer(b, b))
        scale = std / np.sqrt(P[1, 1])
        self._b, self._rng = scale * b, rng
        self._x = scale * np.linalg.cholesky(P) @ rng.standard_normal((2, size))

    def __call__(self) -> Vector:
        """(size,) a tick later."""
        self._x = self._A @ self._x + np.outer(self._b, self._rng.standard_normal(self._x.shape[1]))
        return self._x[1]


class StateEstimator:
    """Read a plant each tick; readings are `delay_ticks` old.

    A tick has the state at its time and the efforts and wrenches of the step that led away from it.
    """

    def __init__(self, plant: Plant, sensors: StateSensors, rng: np.random.Generator):
        self._plant, self._sensors, self._rng = plant, sensors, rng
        model = plant.robot.model
        s, base = sensors, plant.robot.floating_base
        self._position_std = np.full(model.nv, s.position)
        self._velocity_std = np.full(model.nv, s.velocity)
        self._effort_std = np.full(model.nv, s.effort)
        if base:
            self._position_std[:3], self._position_std[3:6] = s.base_position, s.base_orientation
            self._velocity_std[:3], self._velocity_std[3:6] = s.base_velocity, s.base_rate
            # nothing drives the base: its effort is known to be zero
            self._effort_std[:6] = 0.0
        # joints that turn without limit have cosine and sine in q, which an encoder does not round
        joints = [joint for joint in model.joints if joint.nq == 1]
        self._encoders = np.array([joint.idx_q for joint in joints], dtype=np.int64)
        self._wrench_std = np.repeat([s.force, s.moment], 3)
        self._passed = passed(plant.timestep, s.force_lag)
        self._felt: dict[str, Vector] = {}
        self._wander = (
            Wander(s.wander, 3, plant.timestep, s.wander_time, rng) if base and s.wander > 0 else None
        )
        self._waiting: deque[Tick] = deque(maxlen=s.delay_ticks + 1)

    def read(self, time: float, q: Vector, v: Vector, tau: Vector, wrenches: Mapping[str, Vector]) -> Tick:
        """Take in the truth of a tick and give the newest that has arrived; the oldest there is at the start."""
        rng, n = self._rng, len(v)
        # one draw a tick, whatever is noisy: the same seed gives the same noise to every sensor
        noise = rng.standard_normal((3, n))
        v = v + self._velocity_std * noise[1]
        if self._wander is not None:
            v[:3] += self._wander()
        q = pin.integrate(self._plant.robot.model, q, self._position_std * noise[0])
        if self._sensors.position_step:
            step = self._sensors.position_step
            q[self._encoders] = step * np.round(q[self._encoders] / step)
        for foot, wrench in wrenches.items():
            # the first reading is that of a sensor at rest
            last = self._felt.get(foot, wrench)
            self._felt[foot] = last + self._passed * (wrench - last)
        read = Tick(
            time,
            q,
            v,
            tau + self._effort_std * noise[2],
            {foot: w + self._wrench_std * rng.standard_normal(6) for foot, w in self._felt.items()},
        )
        self._waiting.append(read)
        return self._waiting[0]


class Differentiator:
    """Turns measurements of a window into samples for a filter, all signals of the same age.

    Args:
        ticks: in the window.
        force_lag: of the feet's sensors, which efforts and velocities are made to share [s].
    """

    def __init__(self, model: pin.Model, ticks: int, force_lag: float = 0.0):
        if ticks < 1:
            raise InvalidMethod(f"a window needs at least 1 tick, not {ticks}")
        self._model, self._lag = model, force_lag
        self._window: deque[Tick] = deque(maxlen=ticks + 1)
        self._late: deque[tuple[Vector, Vector]] = deque(maxlen=ticks + 1)

    def add(self, measurement: Tick) -> None:
        """One more tick."""
        v, tau = measurement.v, measurement.tau
        if self._window:
            part = passed(measurement.time - self._window[-1].time, self._lag)
            late_v, late_tau = self._late[-1]
            # forces lag already; velocities and efforts are made to lag as they do
            v, tau = late_v + part * (v - late_v), late_tau + part * (tau - late_tau)
        self._late.append((v, tau))
        self._window.append(measurement)

    def sample(self) -> Sample | None:
        """The sample of the window's middle; None while the window fills."""
        window = self._window
        if len(window) < (window.maxlen or 0):
            return None
        first, last = window[0], window[-1]
        steps = list(window)[:-1]  # the last state's step has not been driven yet
        half = len(steps) // 2
        # an odd number of ticks has its middle between two of them
        if len(steps) % 2:
            q = pin.interpolate(self._model, window[half].q, window[half + 1].q, 0.5)
            v = (window[half].v + window[half + 1].v) / 2
        else:
            q, v = window[half].q, window[half].v
        late = list(self._late)
        return Sample(
            time=(first.time + last.time) / 2,
            q=q,
            v=v,
            a=(late[-1][0] - late[0][0]) / (last.time - first.time),
            tau=np.mean([tau for _, tau in late[:-1]], axis=0),
            wrenches={foot: np.mean([m.wrenches[foot] for m in steps], axis=0) for foot in first.wrenches},
        )
