"""How a mechanism moved: states with their uncertainty, what sensors should have read, forces at contacts.

A motion that was estimated is a `Recording` like one that was measured: its channels have the same names, and those of
standard deviations begin with `std.`. So it is stored, plotted and read again like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from .arrays import Vector
from .recording import Recording

STD = "std."
"""What the channels of standard deviations begin with."""


@dataclass(frozen=True, eq=False)
class SensorFit:
    """What a sensor read, and what it should have read along the estimated motion.

    Args:
        name: of the sensor.
        channels, units: (width,) of what it reads.
        measured, expected: (S, width); NaN in the former where nothing was read.
        components: (m,) names of what a difference of readings has; those of an orientation are three.
        normalized: (S, m) differences in standard deviations of the sensor; NaN where nothing was read.
    """

    name: str
    channels: tuple[str, ...]
    units: tuple[str, ...]
    measured: Float[np.ndarray, "S width"]
    expected: Float[np.ndarray, "S width"]
    components: tuple[str, ...]
    normalized: Float[np.ndarray, "S m"]

    @property
    def rms_per_component(self) -> Vector:
        """(m,) root mean square of `normalized`; NaN where nothing was read."""
        read = np.isfinite(self.normalized)
        squares = np.where(read, self.normalized, 0.0) ** 2
        with np.errstate(invalid="ignore"):
            return np.asarray(np.sqrt(squares.sum(axis=0) / read.sum(axis=0)))

    @property
    def rms(self) -> float:
        """Of all components together; 1 is what the noise that was said explains."""
        return rms_of([self])


def rms_of(fits: Sequence[SensorFit]) -> float:
    """Root mean square of all residuals, in standard deviations; NaN where nothing was read."""
    read = np.concatenate([fit.normalized[np.isfinite(fit.normalized)] for fit in fits])
    return float(np.sqrt(np.mean(read**2))) if len(read) else float("nan")


@dataclass(frozen=True, eq=False)
class EstimatedMotion:
    """How a mechanism moved in one recording.

    Args:
        name: of the recording.
        path: states at its samples, with standard deviations, and forces at contacts (invalid where one is open).
        sensors: what was read beside what should have been.
        contacts: frames, of which `path` has `force.FRAME.x`, ...
        disturbance: what the model lacked -> root mean square of the process noise that it took, in its standard
            deviations: `command.JOINT`, `velocity.JOINT`. At most about 1 if what was said of it is right.
    """

    name: str
    path: Recording
    sensors: tuple[SensorFit, ...]
    contacts: tuple[str, ...] = ()
    disturbance: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Convergence:
    """How an iteration came to its end; I iterations, the guess first.

    Args:
        cost: (I + 1,) half of chi-square. infeasibility: (I + 1,) sum of the gaps in the dynamics.
        values: (I + 1, b) of the parameters.
    """

    cost: Vector
    infeasibility: Vector
    values: Float[np.ndarray, "I b"]


POSE = {"x": "m", "y": "m", "angle": "rad"}
"""What the pose of a planar body is made of, and its units."""


@dataclass(frozen=True)
class Impact:
    """A body struck a wall.

    Args:
        recording: of which. time: [s].
        contact: what struck what, in words.
        normal, tangential: impulses, in `unit`: N s where the mass is known, m/s (by mass) where it is not.
        restitution: by how much of its normal velocity the struck point left; NaN where it came too slowly to tell.
        mode: `"slides"` or `"sticks"` at its end; `""` where the data do not say.
        energy: lost [J], or by mass [J/kg].
        share: what part of the information on J/m it carried, of a drop by itself with the frames until the next one, 0
            to 1; NaN where that is not known.
    """

    recording: str
    time: float
    contact: str
    normal: float
    tangential: float
    unit: str
    restitution: float
    mode: str
    energy: float
    share: float = float("nan")


@dataclass(frozen=True, eq=False)
class Scene:
    """What a planar body looks like, and what it strikes.

    Args:
        outline: (k, 2) of the body, about its center of mass, counterclockwise [m].
        walls: (w, 3) a point and the slope of each [m], [m], [rad]; the body is on the left.
        friction: mu, of the cone; NaN where only a bound is known, then `least_friction` is that.
        energy: name of the recording -> (times [s], energy [J] or [J/kg]).
    """

    outline: Float[np.ndarray, "k 2"]
    walls: Float[np.ndarray, "w 3"]
    friction: float
    least_friction: float = float("nan")
    energy: Mapping[str, tuple[Vector, Vector]] = field(default_factory=dict)
