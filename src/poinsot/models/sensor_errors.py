"""Errors of sensors as parameters of a robot: biases, misalignments and delays, each with a name.

    bias.gyro.imu.x       b of a channel, in its unit
    bias.gyro.imu.x@run:2 b at a knot, 2 s after the first sample of the recording `run`: a bias that walks
    misalignment.imu.x    m of a frame [rad]: a rotation vector, in the frame's axes, of all sensors at it
    delay.imu             d [s] of all sensors at a frame, of a quantity (`delay.position`), or of all (`delay.all`);
                          they add up, and are negative where commands act late

A reading is z(t) = h(x(t - d); R_wf Exp(m)) + b. With the axes turned exactly and the delay to first order,

    z [-] h(x(t)) - b + d h'(t),    its slopes by b -1, by m -h_turn Jr(m), by d h'

where a turn phi of the frame in its own axes changes h by h_turn phi, and Exp(m + dm) = Exp(m) Exp(Jr(m) dm). h' is the
rate of the predicted reading along a motion that is known before (`Readings.rates`). What is left out is d^2 h'' / 2,
omega d / 2 of the delay at a frequency omega. A parabola is no better: the noise of the motion is in h''.

A bias that walks is a Brownian motion from `bias.gyro.imu.x` at the first sample. Its values at knots are parameters
with independent increments N(0, walk^2 D), D the time between knots. Between two knots it is its mean given both, a
straight line. What is left out is a bridge, whose mean over D has the variance walk^2 D / 12. That of readings with
noise sigma at f samples a second has sigma^2 / (D f), twelve times as much for D = sigma / (walk sqrt(f)).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

from ..arrays import Matrix, Vector
from ..exceptions import InvalidMethod, InvalidModel, check_known
from ..parameters import Normal
from ..quantities import FRAME_QUANTITIES, XYZ
from ..recording import Recording
from .robot.articulated import Articulated
from .robot.configuration_space import left_slopes

BIAS, MISALIGNMENT, DELAY = KINDS = "bias", "misalignment", "delay"
"""First parts of the names of errors."""
OF_JOINTS = "position", "velocity"
KNOT = "@"
"""Begins what follows the name of a bias at a knot."""


def owner_and_unit(robot: Articulated, name: str) -> tuple[str, str]:
    """Sensor, frame or quantity of an error, `gyro.imu` of `bias.gyro.imu.x`, and its SI unit.

    Raises:
        InvalidModel: if there is no such error.
    """
    kind, _, owner = name.partition(KNOT)[0].partition(".")
    (frame, _, end), (quantity, _, joint) = owner.rpartition("."), owner.partition(".")
    if kind == DELAY and owner:
        return owner, "s"
    if kind == MISALIGNMENT and frame and end in XYZ:
        return frame, "rad"
    if kind == BIAS and quantity in OF_JOINTS and joint in robot.joints:
        unit = robot.position_units[robot.actuated[robot.joints.index(joint)]]
        return quantity, unit if quantity == "position" else f"{unit}/s"
    listed = FRAME_QUANTITIES.get(quantity)
    if kind == BIAS and listed is not None and not listed.is_orientation and end in listed.ends:
        # forces before moments
        return frame, listed.units[listed.ends.index(end) // 3]
    raise InvalidModel(
        f"no error of a sensor {name!r}: write bias.QUANTITY.FRAME.x, bias.position.JOINT, misalignment.FRAME.x, or "
        "delay.FRAME"
    )


def misalignments(frame: str) -> tuple[str, ...]:
    """(3,) names of the components of a frame's misalignment."""
    return tuple(f"{MISALIGNMENT}.{frame}.{axis}" for axis in XYZ)


@dataclass(frozen=True)
class SensorErrors:
    """Values of errors by name, and the indices in theta of open errors; errors without a value are 0."""

    values: Mapping[str, float] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)

    def of(self, names: Sequence[str]) -> Vector:
        """(k,) values of errors."""
        return np.array([self.values.get(name, 0.0) for name in names])

    def at_knot(self, channels: Sequence[str], knot: str) -> list[str]:
        """Names of the biases of channels at a knot; at the first sample for biases that do not walk."""
        biases = [f"{BIAS}.{channel}" for channel in channels]
        return [f"{bias}{knot}" if f"{bias}{knot}" in self.values else bias for bias in biases]

    def delays(self, quantity: str, frames: Sequence[str]) -> tuple[str, ...]:
        """Names of the delays of a sensor of a quantity at frames."""
        names = (f"{DELAY}.{owner}" for owner in (*frames, quantity, "all"))
        return tuple(name for name in names if name in self.values)

    def alignment(self, frame: str) -> Matrix | None:
        """(3, 3) Exp(m) of the sensors at a frame; None: they are as described."""
        names = misalignments(frame)
        if self.values.keys().isdisjoint(names):
            return None
        return np.asarray(Rotation.from_rotvec(self.of(names)).as_matrix())

    def open_alignment(self, frame: str) -> dict[int, Vector]:
        """Place in theta of an open component of a frame's misalignment -> (3,) turn of the axes by it, of Jr(m)."""
        names = misalignments(frame)
        # Jr(m) = Jl(-m)
        turn = np.linalg.inv(left_slopes(-self.of(names)[None])[0])
        return {self.places[name]: turn[:, k] for k, name in enumerate(names) if name in self.places}


def sensor_error_priors(
    recordings: Iterable[Recording],
    bias_std: Mapping[str, float] | None = None,
    misalignment_std: Mapping[str, float] | None = None,
    delay_std_s: Mapping[str, float] | None = None,
) -> dict[str, Normal]:
    """Name -> prior, about 0, of the errors that sensors of recordings may have, the same in all of them.

    Args:
        recordings: recordings whose channels show which sensors exist.
        bias_std: quantity (`gyro`), or quantity and frame or joint (`gyro.imu`) -> standard deviation of the bias of
            each of its channels, in their unit; not of orientations, which may be misaligned.
        misalignment_std: frame -> standard deviation of each component of its rotation vector [rad].
        delay_std_s: quantity, frame, or `all` -> standard deviation of the delay [s].

    Raises:
        InvalidMethod: if a key is no such sensor of the recordings.
    """
    # setting -> key -> names of parameters
    known: dict[str, dict[str, dict[str, None]]] = {"bias_std": {}, "misalignment_std": {}, "delay_std_s": {}}
    biases, turns, delays = known.values()
    delays["all"] = {f"{DELAY}.all": None}
    for recording in recordings:
        sensors = [(quantity, joint) for quantity in OF_JOINTS for joint in recording.joints(quantity)]
        for quantity in FRAME_QUANTITIES:
            sensors += [(quantity, frame) for frame in recording.frames(quantity)]
        for quantity, place in sensors:
            delays[quantity] = {f"{DELAY}.{quantity}": None}
            if quantity not in (*OF_JOINTS, "force"):
                turns[place], delays[place] = dict.fromkeys(misalignments(place)), {f"{DELAY}.{place}": None}
            own = f"{quantity}.{place}"
            names = {
                f"{BIAS}.{name}": None for name in recording.channels if f"{name}.".startswith(f"{own}.")
            }
            for key in (quantity, own) if quantity != "orientation" else ():
                biases[key] = biases.get(key, {}) | names
    priors, levels = dict[str, Normal](), (bias_std or {}, misalignment_std or {}, delay_std_s or {})
    for (setting, sensors_of), given in zip(known.items(), levels, strict=True):
        for key, std in given.items():
            check_known(key, sensors_of, f"{setting} names", "the recordings have", InvalidMethod, 20)
            priors |= {name: Normal(0.0, std) for name in sensors_of[key]}
    return priors


def bias_walk_priors(
    recordings: Mapping[str, Recording], biases: Iterable[str], walk: Mapping[str, float], knots_s: float
) -> dict[str, Normal]:
    """Name of each bias at a knot -> prior of its difference from the knot before.

    Args:
        recordings: by name; each has knots of its own, at equal distances from its first to its last sample.
        biases: names of errors that are open, of which some walk.
        walk: quantity, or quantity and frame or joint -> standard deviation by which the bias of each of its channels
            changes in the square root of a second, in its unit over root s.
        knots_s: largest time between knots [s].

    Raises:
        InvalidMethod: if no bias of a key is open.
    """
    priors, known = dict[str, Normal](), tuple(biases)
    for key, level in walk.items():
        walking = [name for name in known if f"{name}.".startswith(f"{BIAS}.{key}.")]
        if not walking:
            raise InvalidMethod(f"bias_walk names {key!r}, whose bias is not open: add it to bias_std")
        for name, recording in recordings.items():
            length = float(recording.time[-1] - recording.time[0])
            count = max(1, int(np.ceil(length / knots_s - 1e-9)))
            prior = Normal(0.0, level * np.sqrt(length / count))
            times = length * np.arange(1, count + 1) / count
            measured = [bias for bias in walking if bias.partition(".")[2] in recording.channels]
            priors |= {f"{bias}{KNOT}{name}:{t:g}": prior for bias in measured for t in times}
    return priors


def knots_of(errors: Iterable[str], name: str, times: Vector) -> dict[str, Vector]:
    """Map suffixes of bias names, one a knot of the recording, to (T,) weights; the first sample has the suffix ""."""
    knots = (error.partition(KNOT) for error in errors)
    own = dict.fromkeys(at + knot for _, at, knot in knots if knot.rpartition(":")[0] == name)
    at = np.linspace(times[0], times[-1], 1 + len(own))
    return {knot: np.interp(times, at, one) for knot, one in zip(("", *own), np.eye(len(at)), strict=True)}
