"""Sensors of a legged robot at 1 kHz, with noise and with the defects of real ones, and a recording at nodes of them.

    readings    encoders, orientation, gyro, accelerometer, commanded torques, forces on feet; every millisecond
    at nodes    every D = `NODE`: samples, means over D, or over both intervals about a node, weighted by a triangle

A step of optimal estimation has v_k+1 = v_k + D a(q_k, v_k, u_k) and q_k+1 = q_k [+] D v_k+1. So v_k is the mean
velocity from node k - 1 to k: the difference of positions, and the mean of a gyro, over this interval. And a at node k
is the second difference of positions, which is the mean of the acceleration over both intervals about it, weighted by
a triangle; so u_k is such a mean of torques, and the acceleration that a unit has integrated to velocities, averaged
over intervals and differenced again, is too.

A foot stands where it has touched the ground for `EDGE` and will for as long. Between touching and standing the model
does not hold: such nodes are doubtful, and have no readings of speeds and accelerations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.ndimage import binary_dilation, binary_erosion, uniform_filter1d
from scipy.spatial.transform import Rotation

from poinsot.arrays import Times, Vector, carried_on
from poinsot.recording import Recording

from .sensor_defects import USUAL, Defects

NODE = 7
"""Samples from one node to the next of a walk, an odd number, so that means are centred."""
EDGE = 25
"""Samples at both ends of a stance in which a foot comes to rest, or leaves it: it does not count as standing."""
IMU = "imu_link"


@dataclass(frozen=True)
class SensorQuality(Defects):
    """Standard deviations of a reading, and defects; all but commands are late.

    Args:
        position: of encoders [rad]. orientation [rad], gyro [rad/s], accelerometer [m/s^2]: of the inertial unit.
        torque: of commands against what motors give [N m].
        force: of normal forces of feet [N], of which contacts are made.
        bias_walk: standard deviation by which both biases change in a second, relative to them.
    """

    position: float = 2e-4
    orientation: float = 2e-3
    gyro: float = 3e-3
    accelerometer: float = 0.03
    torque: float = 0.1
    force: float = 0.5
    bias_walk: float = 0.0

    @property
    def bias_walks(self) -> tuple[float, float]:
        """By how much the biases of gyro [rad/s] and accelerometer [m/s^2] change in a second."""
        return self.bias_walk * self.gyro_bias, self.bias_walk * self.accelerometer_bias


CLEAN = SensorQuality()
DEFECTS = SensorQuality(**vars(USUAL), bias_walk=0.1)


@dataclass(frozen=True, eq=False)
class Moved:
    """What there is to read, every millisecond.

    Args:
        time: (S,) [s].
        joints: (S, j) positions [rad].
        orientation: (S, 4) of the inertial unit, x, y, z, w.
        gyro, acceleration: (S, 3), (S, 3) angular velocity and specific force, in the unit's axes.
        torque: (S, j) [N m]. force: (S, feet) normal [N].
    """

    time: Times
    joints: Float[np.ndarray, "S j"]
    orientation: Float[np.ndarray, "S 4"]
    gyro: Float[np.ndarray, "S 3"]
    acceleration: Float[np.ndarray, "S 3"]
    torque: Float[np.ndarray, "S j"]
    force: Float[np.ndarray, "S feet"]

    def earlier(self, samples: int) -> Moved:
        """The same if all sensors were later than commands by so many samples."""
        S, time = len(self.time), {"time": self.time, "torque": self.torque}
        kept = np.clip(np.arange(S) + samples, 0, S - 1)
        moved = {name: values[kept] for name, values in vars(self).items() if name not in time}
        return Moved(**moved, **time)


@dataclass(frozen=True, eq=False)
class TrueMotion:
    """What a robot with a floating base did, without noise.

    Args:
        time: (S,) [s].
        q, v: (S, nq), (S, n) its states.
        tau: (S, n) efforts in the step from each.
        force: (S, feet) of each contact in that step, normal ones of feet [N].
    """

    time: Times
    q: Float[np.ndarray, "S nq"]
    v: Float[np.ndarray, "S n"]
    tau: Float[np.ndarray, "S n"]
    force: Float[np.ndarray, "S feet"]


def moved(motion: TrueMotion, unit: Vector) -> Moved:
    """What sensors of a robot have to read.

    Args:
        motion: of the robot.
        unit: (3,) where in the base the inertial unit is, whose axes are the base's.
    """
    time, q, v = motion.time, motion.q, motion.v
    turned = Rotation.from_quat(q[:, 3:7])
    # the unit's speed in the world; its differences are what an accelerometer integrates in a sample
    speed = turned.apply(v[:, :3] + np.cross(v[:, 3:6], unit))
    steps = np.diff(speed, axis=0) / np.diff(time)[:, None] + [0.0, 0.0, 9.81]
    specific = turned[:-1].inv().apply(steps)
    return Moved(
        time,
        q[:, 7:],
        q[:, 3:7],
        v[:, 3:6],
        np.concatenate([specific, specific[-1:]]),
        motion.tau[:, 6:],
        motion.force,
    )


def read(motion: Moved, quality: SensorQuality, rng: np.random.Generator) -> Moved:
    """The same as sensors of a quality read it; NaN where a sample was dropped."""
    S, dt = len(motion.time), float(motion.time[1] - motion.time[0])

    def noise(std: float, size: int) -> np.ndarray:
        return std * rng.standard_normal((S, size))

    def bias(std: float) -> np.ndarray:
        walk = quality.bias_walk * std * np.sqrt(dt) * rng.standard_normal((S, 3))
        return std * rng.standard_normal(3) + np.cumsum(walk, axis=0)

    askew = quality.turn(rng)
    joints = quality.quantized(motion.joints + noise(quality.position, motion.joints.shape[1]))
    turned = (
        Rotation.from_quat(motion.orientation) * askew * Rotation.from_rotvec(noise(quality.orientation, 3))
    )
    gyro = askew.inv().apply(motion.gyro) + bias(quality.gyro_bias) + noise(quality.gyro, 3)
    acceleration = askew.inv().apply(motion.acceleration) + bias(quality.accelerometer_bias)
    readings = [
        joints,
        turned.as_quat(),
        gyro,
        acceleration + noise(quality.accelerometer, 3),
        motion.force + noise(quality.force, motion.force.shape[1]),
    ]
    for each in readings:
        each[quality.delay :] = each[: S - quality.delay].copy()
        quality.drop(each, rng)
    joints, orientation, gyro, acceleration, force = readings
    torque = motion.torque + noise(quality.torque, motion.torque.shape[1])
    return Moved(motion.time, joints, orientation, gyro, acceleration, torque, force)


# ------------------------------------------------------------------------------------------------------------- at nodes


def at_nodes(
    readings: Moved,
    joints: Sequence[str],
    feet: Sequence[str],
    closes_above: float,
    standing: tuple[float, float] | None,
    *,
    node: int = NODE,
    edge: int = EDGE,
    unsteady: tuple[int, int] = (0, 0),
    unit: str = IMU,
) -> tuple[Recording, Bool[np.ndarray, "K"]]:
    """A recording with a sample at each node, and which nodes are doubtful.

    Args:
        readings: every millisecond.
        joints, feet: their names.
        closes_above: normal force above which a foot is taken to stand; it is in the air again below half of it [N].
        standing: from when to when the robot stands still, when a gyro reads its bias [s]; None: it is left in.
        node: samples from one node to the next, an odd number.
        edge: samples at both ends of a stance in which a foot does not count as standing; 0 where a gripper closes.
        unsteady: samples after a foot begins to stand, and before it ceases to, that are doubtful too.
        unit: frame of the inertial unit.
    """
    nodes = np.arange(node, len(readings.time) - node, node)
    bias = np.zeros(3)
    if standing is not None:
        still = (readings.time >= standing[0]) & (readings.time < standing[1])
        bias = np.nanmean(readings.gyro[still], axis=0)
    q, before = readings.joints[nodes], readings.joints[nodes - node]
    dt = node * float(readings.time[1] - readings.time[0])
    triangle = 1.0 - np.abs(np.arange(-node + 1, node)) / node
    orientation = readings.orientation[nodes]
    # the mean over the interval before a node; a sample is that of its own millisecond
    gyro = _about(readings.gyro - bias, nodes - node // 2, np.ones(node))
    # an effort or acceleration is that from its sample to the next, half a sample later
    torque = _about(readings.torque, nodes, triangle)
    acceleration = _about(readings.acceleration, nodes, triangle)
    touches = touching(readings.force, closes_above, node)
    stands = binary_erosion(touches, np.ones((2 * edge + 1, 1)), border_value=1)
    closed = stands[nodes]
    # within a node's interval
    surely = binary_erosion(touches, np.ones((2 * max(edge, 1) + 1, 1)), border_value=1)
    doubtful = binary_dilation((touches & ~surely).any(axis=1), np.ones(2 * node + 1))
    for change in np.flatnonzero((stands[1:] != stands[:-1]).any(axis=1)):
        doubtful[change : change + 1 + unsteady[0] * (stands[change + 1] & ~stands[change]).any()] = True
        doubtful[change + 1 - unsteady[1] * (stands[change] & ~stands[change + 1]).any() : change + 1] = True
    doubtful = doubtful[nodes]
    # speeds and accelerations change there within a node
    for moving in (gyro, acceleration):
        moving[doubtful] = np.nan
    velocity = np.where(doubtful[:, None], np.nan, (q - before) / dt)
    columns = {
        **named("position", joints, q, "rad"),
        **named("velocity", joints, velocity, "rad/s"),
        **named("torque", joints, torque, "N m"),
        **named(f"orientation.{unit}", "xyzw", orientation, "1"),
        **named(f"gyro.{unit}", "xyz", gyro, "rad/s"),
        **named(f"accelerometer.{unit}", "xyz", acceleration, "m/s^2"),
        **named("contact", feet, closed.astype(float), "1"),
    }
    recording = Recording(
        readings.time[nodes],
        {name: np.nan_to_num(values) for name, (values, _) in columns.items()},
        {name: unit for name, (_, unit) in columns.items()},
        {name: np.isfinite(values) for name, (values, _) in columns.items()},
    )
    return recording, doubtful


def touching(force: np.ndarray, closes_above: float, over: int = NODE) -> Bool[np.ndarray, "S feet"]:
    """Which feet touch the ground, with hysteresis, by the mean force over so many samples.

    Args:
        force: (S, feet) normal [N]. closes_above: as of `at_nodes` [N]. over: samples.
    """
    smooth = uniform_filter1d(np.stack([carried_on(column, 0.0) for column in force.T], axis=1), over, axis=0)
    # between both thresholds a foot stays as it was
    said = np.where(smooth > closes_above, 1.0, np.where(smooth < closes_above / 2, 0.0, np.nan))
    return np.stack([carried_on(column, 1.0) == 1 for column in said.T], axis=1)


def named(
    quantity: str, ends: Sequence[str], values: np.ndarray, unit: str
) -> dict[str, tuple[np.ndarray, str]]:
    """Channel -> values (S,) and their unit, of the columns of values (S, m)."""
    return {f"{quantity}.{end}": (values[:, k], unit) for k, end in enumerate(ends)}


def _about(values: np.ndarray, nodes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(K, m) weighted means of the samples (S, m) about each node.

    A sample that is missing is interpolated: the mean of the others would be that of another time.
    """
    k, there = np.arange(len(values)), np.isfinite(values).all(axis=1)
    filled = np.stack([np.interp(k, k[there], column[there]) for column in values.T], axis=1)
    places = np.clip(nodes[:, None] + np.arange(len(weights)) - len(weights) // 2, 0, len(values) - 1)
    return np.einsum("w, kwm -> km", weights / weights.sum(), filled[places])
