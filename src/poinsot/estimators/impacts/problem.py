"""The problem of thrown bodies: tracked poses of a body with a known outline, in one drop or many, and known walls.

Units, vertical axis, size and first pose are checked. In flight a body accelerates downwards by 9.81 m/s^2, and by no
more at any time, since walls only push. So a low quantile of the accelerations, from parabolas fitted to short windows
of frames, determines the unit of the poses.

docs/concepts/impacts.md and docs/project_file.md say which channels it has. A frame of which a reading is missing is
left out; forces [N], [N], [N m] of a row are held to the next. Each row of a table of impacts becomes a drop of six
frames, three of the flight that ends with its pose and velocity and three of the one that begins with them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...accuracy import CAREFUL, Accuracy
from ...arrays import Brief, Float, Indices, Matrix, Vector
from ...diagnosis.throws import diagnose_throws, quadratics
from ...estimate import (
    Certificate,
    Diagnosis,
    Estimate,
    EstimatedParameters,
    Provenance,
    Status,
    Uncertainty,
    condition_numbers,
    extras_of,
)
from ...estimate.extras import Extra
from ...estimate.motions import POSE, EstimatedMotion, Scene, SensorFit, path_of
from ...estimate.uncertainty import SystematicErrors
from ...exceptions import InvalidMethod, InvalidModel, InvalidRecording, InvalidSignals, listing
from ...models.planar.body import GRAVITY, Wall, contacts_at, floor, wall_array
from ...models.planar.drop import Drop, of_center
from ...models.planar.shapes import DIRECTIONS, Shape
from ...recording import IMPACT_VELOCITIES, Recording
from .flights import FEWEST, integrals

AGREES = 1e-6
"""Relative differences below this, of derived values and of poses in standard deviations, are rounding."""
WITHOUT_MASS = "Without a known mass or force only J/m and impulses by mass result; give mass for J and N s."


def impulse_unit(mass: float | None) -> tuple[float, str]:
    """Factor and unit of impulses that are computed for a body of mass 1; without a known mass they stay by mass."""
    return (1.0, "m/s") if mass is None else (mass, "N s")


class SolvedMotion(Extra, ABC):
    """The unknowns of an estimate that are not parameters, and the certificate that needs them."""

    @abstractmethod
    def certify(self, problem: ImpactsProblem, estimate: Estimate) -> Certificate:
        """Optimality and feasibility at the estimate's own values."""


def motion_of(
    name: str, times: Vector, quantities: Mapping[str, Matrix], sensor: SensorFit
) -> EstimatedMotion:
    """A motion from `position` (N, 3) and perhaps `velocity` of x, y [m] and the angle [rad]."""
    path = path_of(
        name,
        times,
        (
            (f"{quantity}.{axis}", unit if quantity == "position" else f"{unit}/s", column, None)
            for quantity, values in quantities.items()
            for (axis, unit), column in zip(POSE.items(), values.T, strict=True)
        ),
    )
    return EstimatedMotion(name, path, (sensor,))


def estimated_parameters(
    owner: str,
    rows: Sequence[tuple[str, str, str, float, bool]],
    covariance: Matrix,
    coloured: bool,
    systematic: SystematicErrors | None = None,
) -> EstimatedParameters:
    """Parameters of a body.

    Args:
        rows: name, unit, kind, value and whether it is identifiable, of each. covariance: of them.
        coloured: whether standard deviations hold whatever the correlation of residuals. systematic: errors of the
            laboratory.
    """
    names, units, kinds, values, identifiable = zip(*rows, strict=True)
    readings, correlation = (None, covariance) if coloured else (covariance, None)
    sources = Uncertainty(readings, correlation, systematic)
    return EstimatedParameters(
        names=names,
        units=units,
        owners=(owner,) * len(rows),
        kinds=kinds,
        values=np.array(values),
        groupings=names,
        identifiable=np.array(identifiable),
        uncertainty=sources,
    )


def impacts_estimate(
    problem: ImpactsProblem,
    parameters: EstimatedParameters,
    status: Status,
    normal: Matrix,
    examined: Mapping[str, Any],
    extras: Sequence[Extra],
    friction: tuple[float, float],
    energy: Mapping[str, tuple[Vector, Vector]],
    laws: Mapping[str, float],
    walls: Sequence[Wall],
    provenance: Provenance,
    **rest: Any,
) -> Estimate:
    """The estimate of a problem.

    Args:
        normal: of the identifiable parameters that are not derived from others, all other unknowns eliminated.
        examined: fields of `diagnosis.throws.ThrownBody` that only the method knows.
        friction: mu and NaN, or NaN and its lower bound where it is not identifiable.
        energy: of recordings: times [s], and energies [J], or [J/kg] without a known mass.
        laws: log-likelihood of each law of restitution. walls: where they were found.
        rest: further fields of the estimate.
    """
    condition, scaled = condition_numbers(normal)
    scene = Scene(problem.shape.outline(), wall_array(walls), *friction, energy, laws)
    return Estimate(
        method="",
        robot=problem.name,
        parameters=parameters,
        status=Status.partly if status.converged and not parameters.identifiable.all() else status,
        condition_number=condition,
        scaled_condition_number=scaled,
        problem=problem,
        examiner=problem.examiner(**examined),
        extras=extras_of(*extras, scene),
        provenance=replace(provenance, warnings=(*problem.warnings, *provenance.warnings)),
        **rest,
    )


QUARTER_TURN, FREQUENT = np.pi / 2, 0.25
"""An angle that changes by more than a quarter turn, between more than this part of the frames, is not in radians."""
FORCES = {"x": "N", "y": "N", "angle": "N m"}
"""Known forces beside gravity, and their units."""
FEWEST_IMPACTS = 4
"""Least number of rows of a table of impacts."""
INTERVAL, INSTANT = 1e-3, 1e-6
"""Between frames that stand for a velocity, and between the last one before an impact and the first one after [s]."""


def pose_channels(markers: Mapping[str, Sequence[float]] | None) -> tuple[str, ...]:
    """Names after `position.` of the channels that a drop is made of."""
    return tuple(f"{marker}.{axis}" for marker in markers or () for axis in "xy") or tuple(POSE)


def drop_of(
    recording: Recording,
    name: str,
    markers: Mapping[str, Sequence[float]] | None = None,
    fewest: int = FEWEST,
) -> tuple[Drop, list[str]]:
    """The drop of a recording, and warnings about it.

    Args:
        name: of the drop. markers: name -> (x, y) in the body's frame [m]; None: the recording has poses.
        fewest: least number of frames.
    """
    if markers:
        poses = _poses_of_markers(recording, markers, name)
    else:
        columns = (_values(recording, f"position.{axis}", unit, name) for axis, unit in POSE.items())
        poses = np.column_stack(list(columns))
    whole, warnings = np.isfinite(poses).all(axis=1), []
    forces = _forces(recording, np.flatnonzero(whole), name)
    times, poses = np.asarray(recording.time, dtype=float)[whole], poses[whole]
    if len(poses) < fewest:
        raise InvalidRecording(
            f"recording {name!r} has {len(poses)} complete frames of {len(whole)}; it needs at least {fewest}"
        )
    if np.mean(np.abs(np.diff(poses[:, 2])) > QUARTER_TURN) > FREQUENT:
        raise InvalidRecording(
            f"[angle-unit] recording {name!r}: the angle changes by more than a quarter turn from frame to frame; if "
            'it is in degrees, write unit = "deg"'
        )
    if not whole.all():
        warnings.append(
            f"{int((~whole).sum())} of {len(whole)} frames of {name} are incomplete and excluded."
        )
    unwrapped = np.unwrap(poses[:, 2])
    if not markers and np.abs(unwrapped - poses[:, 2]).max(initial=0.0) > np.pi:
        warnings.append(
            f"The angle of {name} wraps; it was unwrapped, assuming less than half a turn per frame."
        )
    return Drop(name, times, np.column_stack([poses[:, :2], unwrapped]), forces), warnings


def impacts_of(recording: Recording, name: str) -> list[Drop]:
    """A drop for each row, an impact of which the velocities on both sides are known; rows with gaps are left out."""
    pose, before, after = (
        np.column_stack(
            [_values(recording, f"{what}.{axis}", unit + per, name) for axis, unit in POSE.items()]
        )
        for what, per in (("position", ""), *((quantity, "/s") for quantity in IMPACT_VELOCITIES))
    )
    whole = np.isfinite(np.hstack([pose, before, after])).all(axis=1)
    fall, drops = np.array([0.0, -GRAVITY, 0.0]), []
    for row in np.flatnonzero(whole):
        flown = [
            pose[row] + v * s + 0.5 * fall * s**2
            for v, times in ((before[row], (-2, -1, 0)), (after[row], (0, 1, 2)))
            for s in INTERVAL * np.array(times)
        ]
        clock = np.append(INTERVAL * np.arange(-2, 1), INSTANT + INTERVAL * np.arange(3))
        flights = np.arange(3), np.arange(3, 6)
        drops.append(Drop(f"{name} {row + 1}", recording.time[row] + clock, np.array(flown), flights=flights))
    if len(drops) < FEWEST_IMPACTS:
        raise InvalidRecording(
            f"recording {name!r} has {len(drops)} complete impacts; it needs at least "
            f"{FEWEST_IMPACTS}, since the scatter between them is the uncertainty"
        )
    return drops


def _values(recording: Recording, channel: str, unit: str, name: str) -> Vector:
    """(T,) of a channel, NaN where it is invalid."""
    if channel not in recording.channels:
        raise InvalidRecording(
            f"recording {name!r} has no position of {channel.removeprefix('position.')!r}, only of "
            f"{listing(recording.joints('position'))}; give columns for all that is needed, or name them with "
            "joints = [...]"
        )
    if recording.units[channel] != unit:
        raise InvalidRecording(
            f"recording {name!r}: {channel} is in {recording.units[channel]}, but must be in {unit}: correct "
            "its unit"
        )
    return recording.readings(channel)


def _forces(recording: Recording, frames: Indices, name: str) -> Float[np.ndarray, "K 3"] | None:
    """(N - 1, 3) means over the intervals between frames (N,), rows of the recording; None if there are no forces."""
    if not len(frames) or not any(f"torque.{axis}" in recording.channels for axis in FORCES):
        return None
    rows = np.zeros((len(recording), 3))
    for k, (axis, unit) in enumerate(FORCES.items()):
        if f"torque.{axis}" in recording.channels:
            rows[:, k] = _values(recording, f"torque.{axis}", unit, name)
    rows = rows[frames[0] : frames[-1]]
    missing = ~np.isfinite(rows).all(axis=1)
    if missing.any():
        raise InvalidRecording(
            f"recording {name!r}: forces are missing in {int(missing.sum())} rows; give them in all, or write hold = "
            "true if they are recorded only when they change"
        )
    time = np.asarray(recording.time[frames[0] : frames[-1] + 1], dtype=float)
    ends = time[frames - frames[0]]
    return np.asarray(integrals(time, rows, ends) / np.diff(ends)[:, None])


def _poses_of_markers(
    recording: Recording, markers: Mapping[str, Sequence[float]], name: str
) -> Float[np.ndarray, "N 3"]:
    """(N, 3) poses that bring the markers nearest to their measured positions (least squares)."""
    # the plane as complex numbers: the best rotation is the phase of the sum of products with conjugate places
    x, y = (
        np.stack([_values(recording, f"position.{marker}.{axis}", "m", name) for marker in markers], axis=1)
        for axis in "xy"
    )
    measured = x + 1j * y
    places = np.array([complex(*place) for place in markers.values()])
    middle, center = measured.mean(axis=1), places.mean()
    turned = (measured - middle[:, None]) @ np.conj(places - center)
    # without any phase, as where all markers coincide, there is no angle: the frame is left out
    turned = np.where(turned == 0, np.nan, turned)
    position = middle - turned / np.abs(turned) * center
    return np.column_stack([position.real, position.imag, np.angle(turned)])


WINDOW, WINDOW_FRAMES = 0.08, 5
"""Length of the window of a parabola [s], and its least number of frames."""
LOWEST = 0.1
"""Quantile of the accelerations: not the lowest, which noise may have made."""
KNOWN = 0.3
"""Largest relative standard deviation of an acceleration that counts as known."""
UNITS = {1000.0: "mm", 100.0: "cm", 39.37: "inches", 1e-3: "km"}
FASTEST, UPRIGHT = 1.25, (0.5, 1.25)
"""In parts of gravity: an acceleration that no body falls with, and the range of what is found where y points down."""
NEAR = 1.5
"""Factor within which an acceleration belongs to a unit."""
INSIDE, SMALL = 4.0, 5.0
"""Standard deviations of the tracker: how far inside a wall a body may begin to be, and how large it must be."""


@dataclass(frozen=True, eq=False, repr=False)
class ImpactsProblem(Brief):
    """Drops of one body, its outline, and the walls that it may hit.

    Args:
        drops: at least one; angles are unwrapped.
        shape: outline about the center of mass. walls: what the body may strike.
        mass: [kg]; None: not known, then only J/m and impulses by mass are identifiable (Gabiccini et al., Sect. 5.2),
            unless a drop has known forces.
        warnings: sentences about the drops that limit how far results can be trusted.
        accuracy: errors that the laboratory may have made; of a single drop, intervals contain them.

    Raises:
        InvalidSignals: if a drop is implausible; the message says why.
        InvalidMethod, InvalidModel: if the mass is not positive, or the center of mass is outside the outline.
    """

    drops: tuple[Drop, ...]
    shape: Shape
    walls: tuple[Wall, ...]
    mass: float | None = None
    name: str = "body"
    warnings: tuple[str, ...] = ()
    accuracy: Accuracy = CAREFUL

    def __post_init__(self) -> None:
        if not self.drops:
            raise InvalidSignals("there is no drop; give at least one")
        if self.mass is not None and not 0 < self.mass < np.inf:
            raise InvalidMethod(f"the mass of a body must be above 0 kg, not {self.mass:g}")
        # the origin is inside if the outline reaches beyond it in every direction
        if min(self.shape.support(phi).max() for phi in np.linspace(0, 2 * np.pi, DIRECTIONS)) <= 0:
            raise InvalidModel(
                f"the origin of {self.name}'s frame is not inside its outline; it is the center of mass, so move the "
                "outline to it"
            )
        for drop in self.drops:
            if drop.flights is None:
                self._check(drop)

    def _check(self, drop: Drop) -> None:
        """Raise `InvalidSignals` for a drop with wrong units, vertical axis, size or first pose."""
        name, poses, shape, noise = drop.name, drop.poses, self.shape, drop.noise
        a, std = accelerations(drop)
        fall, rise = np.quantile(a, LOWEST), np.quantile(-a, LOWEST)
        if std < KNOWN * abs(fall) and drop.forces is None:  # known forces accelerate as well
            for factor, unit in UNITS.items():
                if 1 / NEAR < -fall / GRAVITY / factor < NEAR:
                    raise InvalidSignals(
                        f"[length-unit] {name} falls at {-fall:.4g} m/s^2 in flight, some {factor:g} times gravity: "
                        f"its positions are in {unit}; say so, or multiply them by {1 / factor:.4g}"
                    )
            sure = std < KNOWN * abs(rise)
            if sure and -fall > FASTEST * GRAVITY and UPRIGHT[0] < -rise / GRAVITY < UPRIGHT[1]:
                raise InvalidSignals(
                    f"[sign] {name} accelerates downwards by {-fall:.4g} m/s^2, more than gravity does, and upwards by "
                    f"{-rise:.4g}: its y points down; let it point up, with scale = -1 for it and for the angle"
                )
        if shape.size < SMALL * noise[0]:
            raise InvalidSignals(
                f"[length-scale] the body reaches {1e3 * shape.size:.3g} mm and the tracker of {name} is off by "
                f"{1e3 * noise[0]:.3g} mm: give the shape in metres, or track it more closely"
            )
        gaps = contacts_at(poses[0], shape, self.walls)[0]
        allowed = INSIDE * np.hypot(noise[0], shape.size * noise[2])
        if gaps.min() < -allowed:
            flipped = contacts_at(poses[0] * [1.0, -1.0, -1.0], shape, self.walls)[0].min() > -allowed
            raise InvalidSignals(
                f"[wall] in {name} the body begins {-1e3 * gaps.min():.3g} mm inside wall "
                f"{1 + int(gaps.argmin()) // len(shape.parts)}; correct the wall, the shape or the origin of the poses"
                + (", or let y point up, with scale = -1 for it and for the angle" if flipped else "")
            )

    @classmethod
    def from_recordings(
        cls,
        recordings: Sequence[Recording] | Mapping[str, Recording],
        shape: Shape,
        walls: Sequence[Wall] = (),
        *,
        mass: float | None = None,
        name: str = "body",
        markers: Mapping[str, Sequence[float]] | None = None,
        accuracy: Accuracy = CAREFUL,
    ) -> ImpactsProblem:
        """The problem of recordings, a drop each, or a row for each impact; see the head of the file.

        Args:
            recordings: of which a mapping gives the names of the drops; else they are `drop 1`, `drop 2`, ...
            walls: none: a level floor at y = 0.
            mass: [kg]. name: of the body.
            markers: points of the body that the tracker follows, in its frame [m]; None: it gives poses.
            accuracy: errors that the laboratory may have made.

        Raises:
            InvalidRecording: if a recording lacks what is needed, or cannot be right.
        """
        if not isinstance(recordings, Mapping):
            recordings = {f"drop {k}": each for k, each in enumerate(recordings, 1)}
        drops, warnings = [], []
        given = [title for title, each in recordings.items() if each.joints(IMPACT_VELOCITIES[0])]
        if 0 < len(given) < len(recordings):
            raise InvalidRecording(
                f"{listing(given)} has velocities before and after impacts, but other recordings have frames; identify "
                "them separately"
            )
        for title, recording in recordings.items():
            if given:
                drops += impacts_of(recording, title)
                continue
            drop, found = drop_of(recording, title, markers)
            drops.append(drop)
            warnings += found
        if not walls:
            warnings.append("There are no walls: a level floor at y = 0 was assumed.")
        return cls(tuple(drops), shape, tuple(walls) or (floor(),), mass, name, tuple(warnings), accuracy)

    def examiner(self, **known: Any) -> Callable[[Estimate], Diagnosis]:
        """The function that diagnoses an estimate of this problem; `known` as in `diagnosis.throws.ThrownBody`."""
        declared: dict[str, Any] = {"throws": self.throws, "shape": self.shape, "walls": self.walls}
        return partial(diagnose_throws, **declared | known)

    @property
    def throws(self) -> list[Drop]:
        """Drops as the diagnosis reads them; those with a known force, which accelerates as well, are left out."""
        return [drop for drop in self.drops if drop.forces is None]

    def throws_about(self, offset: Vector) -> list[Drop]:
        """The same, of the center of mass, from which the tracked point is `offset` (2,) away [m]."""
        return [replace(drop, poses=of_center(drop, offset)) for drop in self.throws]

    def certify(self, estimate: Estimate) -> Certificate:
        """Optimality and feasibility at the estimate's own values, with its motion (`SolvedMotion.certify`).

        Raises:
            InvalidMethod: if it has none.
        """
        for extra in estimate.extras.values():
            if isinstance(extra, SolvedMotion):
                return extra.certify(self, estimate)
        raise InvalidMethod("this estimate has no motion; certify an estimate of ImpactIdentification")


def accelerations(drop: Drop) -> tuple[Vector, float]:
    """Accelerations of y in short windows of frames, and the standard deviation of one [m/s^2]."""
    N = len(drop.times)
    count = min(max(round(WINDOW / float(np.median(np.diff(drop.times)))), WINDOW_FRAMES), N)
    pieces, left = zip(*(quadratics(drop, k, k + count) for k in range(N - count + 1)), strict=True)
    noise = np.sqrt(np.median(np.sum(np.array(left)[:, :, 1] ** 2, axis=1)) / (count - 3))
    a, std = np.array([(piece.c[2, 1], np.sqrt(piece.covariance[2, 2])) for piece in pieces]).T
    return a, float(noise * np.median(std))
