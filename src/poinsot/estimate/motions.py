"""Estimated motions of a mechanism: states with their uncertainty, predicted sensor readings, contact forces.

A motion that was estimated is a `Recording` like one that was measured: its channels have the same names, and those of
standard deviations begin with `std.`. So it is stored, plotted and read again like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..arrays import Brief, Float, Vector
from ..recording import Recording
from .extras import Extra

if TYPE_CHECKING:
    from .estimate import Estimate

STD = "std."
"""Prefix of the channels of standard deviations."""


@dataclass(frozen=True, eq=False, repr=False)
class SensorFit(Brief):
    """Measured against predicted readings of one sensor along the estimated motion. `channels`, `units`: (width,) of
    its readings. `measured`: (S, width); NaN where nothing was read. `predicted`: (S, width). `components`: (m,) names
    of the components of a residual; an orientation has three. `normalized`: (S, m) residuals in standard deviations of
    the sensor; NaN where nothing was read.
    """

    json_keys: ClassVar = {key: key for key in ("readings", "rms", "rms_per_component")} | dict.fromkeys(
        ("units", "measured", "predicted", "normalized")
    )

    name: str
    channels: tuple[str, ...]
    units: tuple[str, ...]
    measured: Float[np.ndarray, "S width"]
    predicted: Float[np.ndarray, "S width"]
    components: tuple[str, ...]
    normalized: Float[np.ndarray, "S m"]

    @property
    def rms_per_component(self) -> Vector:
        """(m,) root mean square of `normalized`; NaN where nothing was read."""
        with np.errstate(invalid="ignore"):
            # 0 / 0 is NaN: never read.
            squares = np.sum(self.normalized**2, axis=0, where=(read := np.isfinite(self.normalized)))
            return np.asarray(np.sqrt(squares / read.sum(axis=0)))

    @property
    def rms(self) -> float:
        """Root mean square of all components together; 1 if the stated noise is right."""
        return rms_of([self])

    @property
    def readings(self) -> int:
        """Number of components that were read."""
        return int(np.isfinite(self.normalized).sum())


def rms_of(fits: Sequence[SensorFit]) -> float:
    """Root mean square of all residuals, in standard deviations; NaN where nothing was read."""
    read = np.concatenate([fit.normalized[np.isfinite(fit.normalized)] for fit in fits])
    return float(np.sqrt(np.mean(read**2))) if len(read) else float("nan")


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedMotion(Brief):
    """Estimated motion of a mechanism in one recording.

    Args:
        path: states at its samples, with standard deviations, and forces at contacts (invalid where one is open).
        sensors: measured against predicted readings.
        contacts: frames whose forces `path` has as `force.FRAME.x`, ...
        disturbance: name of a process noise (`command.JOINT`, `velocity.JOINT`) -> its root mean square in its stated
            standard deviations; at most about 1 if these are right.
    """

    name: str
    path: Recording
    sensors: tuple[SensorFit, ...]
    contacts: tuple[str, ...] = ()
    disturbance: Mapping[str, float] = field(default_factory=dict)


PathColumn = tuple[str, str, Vector, Vector | None]
"""Channel, unit, (S,) values, and (S,) standard deviations; None: unknown."""


def path_of(name: str, times: Vector, columns: Iterable[PathColumn]) -> Recording:
    """The path of a motion that was estimated from a recording of this name, masked where a value is not finite."""
    channels, units, valid = {}, {}, {}
    for channel, unit, values, std in columns:
        for key, numbers in ((channel, values), (STD + channel, std)):
            if numbers is None:
                continue
            channels[key], units[key], known = np.nan_to_num(numbers), unit, np.isfinite(numbers)
            if not known.all():
                valid[key] = known
    return Recording(times, channels, units, valid, {"estimated": name})


class EstimatedMotions(tuple[EstimatedMotion, ...], Extra):
    """The motion in each recording."""

    key = "motions"

    def as_json(self) -> list[dict[str, Any]]:
        """The sensors of each recording; the path is written as a recording of its own."""
        return [
            {
                "recording": motion.name,
                "samples": len(motion.path),
                "contacts": motion.contacts,
                "sensors": motion.sensors,
                "disturbances": [{"name": name, "rms": rms} for name, rms in motion.disturbance.items()],
            }
            for motion in self
        ]


def motions_of(estimate: Estimate) -> EstimatedMotions:
    """The motions that an estimate has; empty where its method estimates none."""
    return estimate.extra(EstimatedMotions) or EstimatedMotions()


@dataclass(frozen=True, eq=False, repr=False)
class Convergence(Brief, Extra):
    """Cost and parameters at each iteration, the initial guess first. `names`: (b,) of the parameters. `cost`: (I + 1,)
    half of chi-square. `infeasibility`: (I + 1,) sum of the gaps in the dynamics. `values`: (I + 1, b) of the
    parameters.
    """

    key = "convergence"

    names: tuple[str, ...]
    cost: Vector
    infeasibility: Vector
    values: Float[np.ndarray, "I b"]

    def as_json(self) -> dict[str, Any]:
        return {
            "cost": self.cost,
            "infeasibility": self.infeasibility,
            "parameters": dict(zip(self.names, self.values.T, strict=True)),
        }


@dataclass(frozen=True, eq=False, repr=False)
class NoiseSensitivity(Brief, Extra):
    """Change of parameters with other noise levels than those assumed, to first order in the change.

    Args:
        names: (b,). std: (b,) of the parameters; NaN where the data do not determine one.
        compute: noise level and factor on it -> (b,) change of the values; called on demand.
    """

    key = "sensitivity"

    names: tuple[str, ...]
    std: Vector
    compute: Callable[[], Mapping[tuple[str, float], Vector]] = field(repr=False)

    def as_json(self) -> list[dict[str, Any]]:
        """A row for each level, factor and parameter that the data determine; `moved` in its unit and in std."""
        rows = (
            (level, factor, name, float(move[k]), float(move[k] / self.std[k]))
            for (level, factor), move in self.compute().items()
            for k, name in enumerate(self.names)
            if self.std[k] > 0
        )
        keys = "level", "factor", "parameter", "moved", "moved_in_std"
        return [dict(zip(keys, row, strict=True)) for row in rows]


@dataclass(frozen=True, eq=False, repr=False)
class ParameterHistory(Brief, Extra):
    """Parameters after each sample, estimated from the samples up to it. `names`: (b,). `time`: (K,) [s].
    `values`, `std`: (K, b).
    """

    key = "history"

    names: tuple[str, ...]
    time: Vector
    values: Float[np.ndarray, "K b"]
    std: Float[np.ndarray, "K b"]

    def as_json(self) -> dict[str, Any]:
        values, std = (dict(zip(self.names, columns.T, strict=True)) for columns in (self.values, self.std))
        return {"time": self.time, "parameters": values, "std": std}


@dataclass(frozen=True)
class ContactChange:
    """Closing or opening of a contact. `recording`: its name. `frame`: frame of the contact. `closes`: or it opens.
    `given`: time in its channel [s]; None: not in the channel. `time`: from the readings [s]; None: it does not happen.
    `sample`: first sample at which it is closed, or open. `gain`: log-likelihood of the readings with it less without;
    NaN where the motion shows it and nothing was solved again.
    """

    recording: str
    frame: str
    closes: bool
    given: float | None
    time: float | None
    sample: int
    gain: float


class ContactChanges(tuple[ContactChange, ...], Extra):
    """Events of all contacts, as they were estimated, in the order of recordings and times."""

    key = "contact_events"


POSE = {"x": "m", "y": "m", "angle": "rad"}
"""Components of the pose of a planar body, and their units."""


@dataclass(frozen=True)
class Impact:
    """Impact of a body on a wall.

    Args:
        recording: its name. time: [s].
        contact: the wall, and corner, in contact, in words.
        normal, tangential: impulses, in `unit`: N s where the mass is known, m/s (by mass) where it is not.
        restitution: rebound over approach speed of the contact point; NaN where it approached too slowly.
        mode: `"slides"` or `"sticks"` at its end; `""` where the data do not say.
        energy: energy lost [J], or by mass [J/kg].
        share: part, 0 to 1, of a drop's information on J/m that is in this impact and the frames until the next one;
            NaN where unknown.
    """

    # Scripts see these names; in Python the unit is in the documentation.
    json_keys: ClassVar = dict.fromkeys(("time", "normal", "tangential", "energy")) | {
        "time_s": "time", "normal_impulse": "normal", "tangential_impulse": "tangential",
        "energy_lost": "energy",
    }  # fmt: skip

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


class Impacts(tuple[Impact, ...], Extra):
    """Impacts in the order of recordings and times."""

    key = "impacts"


@dataclass(frozen=True, eq=False, repr=False)
class Scene(Brief, Extra):
    """Outline of a planar body, and the walls that it strikes. `outline`: (k, 2) of the body, about its center of mass,
    counterclockwise [m]. `walls`: (w, 3) a point and the slope of each [m], [m], [rad]; the body is on the left.
    `friction`: coefficient mu; NaN where only its lower bound `least_friction` is known. `energy`: name of the
    recording -> (times [s], energy [J] or [J/kg]). `restitution_laws`: law of restitution -> log-likelihood of the
    frames under it.
    """

    key = "scene"
    json_keys: ClassVar = {"energy": None, "restitution_law": "restitution_law"}

    outline: Float[np.ndarray, "k 2"]
    walls: Float[np.ndarray, "w 3"]
    friction: float
    least_friction: float = float("nan")
    energy: Mapping[str, tuple[Vector, Vector]] = field(default_factory=dict)
    restitution_laws: Mapping[str, float] = field(default_factory=dict)

    @property
    def restitution_law(self) -> str | None:
        """The law of restitution that is likelier than each other one by e^3; None where none is."""
        return likely_law(self.restitution_laws)


@dataclass(frozen=True, eq=False, repr=False)
class TossScene(Brief, Extra):
    """What a body in space strikes, and by which law.

    Args:
        corners: (C, 3) of the body, before rounding [m]. point, normal: (3,) of the plane.
        restitution_laws: law of restitution -> log-likelihood of the frames under it.
    """

    key: ClassVar[str] = "scene"
    json_keys: ClassVar = {"restitution_law": "restitution_law"}

    corners: Float[np.ndarray, "C 3"]
    point: Vector
    normal: Vector
    friction: float
    restitution_laws: Mapping[str, float]

    @property
    def restitution_law(self) -> str | None:
        """The law that is likelier than each other one by e^3; None where none is."""
        return likely_law(self.restitution_laws)


DECISIVE = 3.0
"""Logarithm of the likelihood ratio from which a law counts as decided."""


def likely_law(likelihoods: Mapping[str, float]) -> str | None:
    """The name whose log-likelihood exceeds each other one by `DECISIVE`; None where none does."""
    if not likelihoods:
        return None
    best = max(likelihoods, key=likelihoods.__getitem__)
    others = [value for name, value in likelihoods.items() if name != best]
    return best if likelihoods[best] >= max(others, default=-np.inf) + DECISIVE else None
