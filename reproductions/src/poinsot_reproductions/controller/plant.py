"""The arm in MuJoCo, and the loop around it: every millisecond a reading, a torque, a current.

    tau = model(q_d, v_d, a_d) + K (q_d - q) + D (v_d - v)        current = tau / gain

q is read from the encoders, v is their difference behind a low-pass, and `model` is what the controller knows.
Physics take four steps for each one of the controller, with the current of its beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import mujoco
import numpy as np
import polars as pl

from poinsot import Recording
from poinsot.arrays import JointSamples, Times, Vector
from poinsot.estimators.online.belief import Tick

from ..simulated_recordings import fourier_motion
from .arm import COUNT, HOME, LINKS, NOISE, column, urdf

TICK_S = 1e-3
STEPS = 4
"""Steps of the physics in a tick."""
VELOCITY_HZ = 100.0
"""Cutoff of the low-pass of velocities."""
SMOOTHING = 1 - np.exp(-2 * np.pi * VELOCITY_HZ * TICK_S)
"""Part of a difference to a new velocity that the low-pass follows at once."""

HARMONICS_OF_PERIOD = 3
"""Of a motion that is repeated, for its shorter duration."""
MAX_SPEED = 2.5
"""Of the joints in a desired motion [rad/s]."""
MAX_ACCELERATION = np.array([4.0, 4.0, 4.0, 12.0, 12.0, 12.0])
"""Of the joints in a desired motion [rad/s^2]: motors move the arm so with a payload of a tenth of its mass."""

PAYLOAD_SIZE = (0.12, 0.12, 0.12)
"""Of a box of the payload's inertia [m]."""
PAYLOAD_PLACE = (0.0, 0.14, 0.03)
"""Centre of the payload in the frame of the flange [m]."""


class Motion(NamedTuple):
    """A desired motion. `time`: (T,). `q`, `v`, `a`: (T, n)."""

    time: Times
    q: JointSamples
    v: JointSamples
    a: JointSamples


def drawn_motion(
    rng: np.random.Generator, seconds: float, *, harmonics: int = 5, amplitude: float = 0.6
) -> Motion:
    """A random motion about the arm's home, from rest to rest, at every tick."""
    time, q, v, a = fourier_motion(
        len(LINKS), seconds, 1 / TICK_S, rng, harmonics=harmonics, amplitude=amplitude
    )
    smaller = np.minimum(1.0, MAX_SPEED / np.abs(v).max(axis=0))
    smaller = np.minimum(smaller, MAX_ACCELERATION / np.abs(a).max(axis=0))
    return Motion(time, HOME + smaller * q, smaller * v, smaller * a)


class Model(Protocol):
    """What a controller knows of the arm."""

    def __call__(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """(n,) torques at the joints that a motion takes [N m]."""


@dataclass(frozen=True, eq=False)
class Trace:
    """A run of the loop.

    Args:
        motion: the desired one. q: (T, n) true positions. read: (T, n) positions of the encoders [rad].
        current: (T, n) commanded [A].
    """

    motion: Motion
    q: JointSamples
    read: JointSamples
    current: JointSamples

    @property
    def error(self) -> JointSamples:
        """(T, n) desired less true positions [rad]."""
        return self.motion.q - self.q

    def rms(self, start_s: float = 0.0, stop_s: float = np.inf) -> float:
        """Root mean square of the tracking error of all joints between two times [rad]."""
        inside = (self.motion.time >= start_s) & (self.motion.time < stop_s)
        return float(np.sqrt(np.mean(self.error[inside] ** 2)))

    @property
    def effort_share(self) -> float:
        """Largest commanded torque, relative to its joint's limit."""
        return float(np.max(np.abs(self.current) * column("gain") / column("limit")))

    @property
    def recording(self) -> Recording:
        """What the controller logs."""
        channels = {f"position.{link.joint}": self.read[:, k] for k, link in enumerate(LINKS)}
        channels |= {f"current.{link.joint}": self.current[:, k] for k, link in enumerate(LINKS)}
        units = {name: "rad" if name.startswith("position") else "A" for name in channels}
        return Recording(self.motion.time, channels, units)

    def write_log(self, path: Path) -> None:
        """Write the log as a table with the columns t, q1 to q6 [rad] and i1 to i6 [A]."""
        columns = {f"q{k}": row for k, row in enumerate(self.read.T.astype(np.float32), start=1)}
        columns |= {f"i{k}": row for k, row in enumerate(self.current.T.astype(np.float32), start=1)}
        table = pl.DataFrame({"t": self.motion.time, **columns})
        table.write_parquet(path, compression="zstd", compression_level=19)


class Plant:
    """The arm with its drives, and a payload that it does not yet hold.

    Args:
        masses: (n,) of the links [kg]; None: the true ones.
    """

    def __init__(self, masses: Vector | None = None):
        spec = mujoco.MjSpec.from_string(urdf(column("mass") if masses is None else masses))
        spec.compiler.fusestatic = False  # else the flange would contain the payload
        spec.option.timestep = TICK_S / STEPS
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        payload = spec.body(LINKS[-1].link).add_body(name="payload", pos=PAYLOAD_PLACE)
        payload.mass, payload.inertia, payload.explicitinertial = 1e-9, [1e-12] * 3, True
        for link in LINKS:
            motor = spec.add_actuator(name=link.joint, target=link.joint)
            motor.trntype, motor.gear[0] = mujoco.mjtTrn.mjTRN_JOINT, link.gain
        self.model = spec.compile()
        self.model.jnt_limited[:] = 0
        self.model.dof_armature[:], self.model.dof_damping[:] = column("rotor"), column("viscous")
        self.model.dof_frictionloss[:] = column("dry")
        # dry friction that holds: no creep
        self.model.dof_solref[:] = (2 * self.model.opt.timestep, 1.0)
        self.model.dof_solimp[:] = (0.9999, 0.9999, 0.001, 0.5, 2.0)
        self.data = mujoco.MjData(self.model)

    def rest(self, q: Vector) -> None:
        """Begin at rest in this posture (n,), without a payload."""
        self.hold(1e-9)
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = q

    def hold(self, mass: float) -> None:
        """Hold a payload of this mass [kg] from now on."""
        body = self.model.body("payload").id
        x, y, z = (side**2 / 12 for side in PAYLOAD_SIZE)
        self.model.body_mass[body] = mass
        self.model.body_inertia[body] = mass * np.array([y + z, x + z, x + y])

    def tick(self, current: Vector) -> None:
        """Move for a tick with the motors' currents (n,) [A]."""
        self.data.ctrl[:] = current
        for _ in range(STEPS):
            mujoco.mj_step(self.model, self.data)

    @property
    def q(self) -> Vector:
        """(n,) true positions [rad]."""
        return np.array(self.data.qpos)


class Pickup(NamedTuple):
    """A payload that the arm holds from a time on. `time`: [s]. `mass`: [kg]."""

    time: float
    mass: float


@dataclass(eq=False)
class Loop:
    """The loop along a motion; its ticks are consumed by whoever estimates meanwhile.

    Args:
        model: of the feedforward; it may be replaced between two ticks.
        rng: of the motors' noise.
    """

    plant: Plant
    motion: Motion
    model: Model
    rng: np.random.Generator
    pickup: Pickup | None = None

    def __post_init__(self) -> None:
        shape = self.motion.q.shape
        self.q, self.read, self.current = (np.full(shape, np.nan) for _ in range(3))
        self._speed = np.zeros(len(LINKS))

    def ticks(self) -> Iterator[Tick]:
        """Move through the motion: time, read positions and commanded torques after each tick."""
        motion, plant, n = self.motion, self.plant, len(LINKS)
        gain, limit = column("gain"), column("limit")
        noise = NOISE * limit / gain * self.rng.standard_normal(motion.q.shape)
        plant.rest(motion.q[0])
        self._speed[:] = 0.0
        for k, time in enumerate(motion.time.tolist()):
            if self.pickup is not None and k == round(self.pickup.time / TICK_S):
                plant.hold(self.pickup.mass)
            self.q[k] = plant.q
            self.read[k] = COUNT * np.round(self.q[k] / COUNT)
            tau = np.clip(self._torque(k), -limit, limit)
            self.current[k] = tau / gain
            plant.tick(self.current[k] + noise[k])
            yield Tick(time, self.read[k], np.full(n, np.nan), tau)

    def _torque(self, k: int) -> Vector:
        """(n,) commanded torques at tick k."""
        q, v, a = (each[k] for each in self.motion[1:])
        change = self.read[k] - self.read[max(k - 1, 0)]
        self._speed += SMOOTHING * (change / TICK_S - self._speed)
        feedback = column("stiffness") * (q - self.read[k]) + column("damping") * (v - self._speed)
        return self.model(q, v, a) + feedback

    def run(self) -> Trace:
        """Move through the whole motion."""
        for _ in self.ticks():
            pass
        return self.trace

    @property
    def trace(self) -> Trace:
        """The run so far, NaN after it."""
        return Trace(self.motion, self.q, self.read, self.current)
