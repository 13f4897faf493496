"""`identify` with `[method] name = "impacts"`: tracked poses, or markers, of a [body] that strikes [[walls]] -> an
estimate.

A recording's positions are of `x`, `y` and `angle` of the body's frame, whose origin is the center of mass, y up and
angles counterclockwise; or of points of it that a tracker follows, `left.x`, `left.y`, ..., whose places in the
body's frame [body.markers] says. A frame of which something is missing is left out.

`torque` of `x`, `y` and `angle`, or of some of them, is a known force at the center of mass and its moment [N], [N],
[N m], each row's held to the next: it makes mass and inertia known by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ..arrays import Indices, Vector
from ..estimate.motions import POSE
from ..exceptions import InvalidProject, listing
from ..solve import report
from ..stopwatch import Stopwatch
from .preparation import condition
from .recordings import Run
from .settings import Settings
from .settings.bodies_and_walls import (
    CircleSettings,
    EllipseSettings,
    PolygonSettings,
    RectangleSettings,
    WallSettings,
)
from .settings.preprocessing import RawSettings

if TYPE_CHECKING:
    from ..estimate import Estimate
    from ..estimators.complementarity.estimation import ImpactsEstimation
    from ..estimators.complementarity.pooled_estimation import PooledEstimation
    from ..estimators.complementarity.problem import ImpactsProblem
    from ..models.planar import Shape
    from ..recording import Recording
    from ..solve import ProgressCallback, Stop
    from .job import Project

QUARTER_TURN, OFTEN = np.pi / 2, 0.25
"""An angle that changes by more, between more than this part of the frames, is none in radians."""
FORCES = {"x": "N", "y": "N", "angle": "N m"}
"""What may act, beside gravity."""


def estimate_from_impacts(
    project: Project, data_dir: Path | None, progress: ProgressCallback | None, stop: Stop | None
) -> Estimate:
    """From a project file to an estimate.

    Raises:
        PoinsotError: one sentence about what to mend.
    """
    settings, watch = project.settings, Stopwatch()
    body = settings.body
    assert body is not None

    def say(stage: str) -> None:
        report(progress, stage)

    say("reading the recordings")
    names = tuple(f"{marker}.{axis}" for marker in body.markers for axis in "xy") or tuple(POSE)
    runs = project.recordings(names, tuple(FORCES), data_dir)
    watch.lap("read")
    problem, warnings = build_problem(project, runs)
    watch.lap("problem")
    estimate = build_estimation(settings, len(problem.drops)).solve(problem, say)
    return estimate.updated(
        warnings=(*warnings, *estimate.warnings),
        settings={"project": settings.model_dump(mode="json", exclude_unset=True)},
        seconds=watch.beside(estimate.seconds),
    )


def build_estimation(settings: Settings, drops: int) -> ImpactsEstimation | PooledEstimation:
    """[method] -> the estimator: of one drop by its motion, of several by the impacts of all.

    Raises:
        InvalidProject: if something is said that has no use.
    """
    from ..estimators.complementarity.pooled import PooledImpacts
    from ..estimators.complementarity.pooled_estimation import PooledEstimation

    method: Any = settings.method
    if settings.priors:
        raise InvalidProject(
            '[priors] have no use in "impacts", which takes nothing for known of J/m; leave them out'
        )
    if drops > 1:
        for key in ("noise", "drag", "steps"):
            if key in method.model_fields_set:
                raise InvalidProject(
                    f"method.{key} is for one drop by itself; of {drops} drops it is found: leave it out"
                )
        return PooledEstimation(PooledImpacts(settings.held), method.seed)
    if settings.held:
        raise InvalidProject(
            "[held] is for several drops, whose geometry is estimated, and there is one: leave "
            f"{listing(settings.held)} out"
        )
    from ..estimators.complementarity.drop import DropIdentification
    from ..estimators.complementarity.estimation import ImpactsEstimation

    noise = method.noise
    return ImpactsEstimation(
        DropIdentification(
            None if noise is None else (noise.position, noise.position, noise.angle),
            (method.drag[0], method.drag[1]),
            method.steps,
            method.seed,
        )
    )


def build_problem(project: Project, runs: Sequence[Run]) -> tuple[ImpactsProblem, list[str]]:
    """Recordings and what is known -> the problem, and what to warn of.

    Raises:
        PoinsotError: if a recording lacks what is needed, or cannot be right.
    """
    from ..estimators.complementarity.flights import FEWEST, Drop
    from ..estimators.complementarity.problem import ImpactsProblem
    from ..models.planar import Wall

    settings = project.settings
    body, preprocessing = settings.body, settings.preprocessing
    assert body is not None and isinstance(preprocessing, RawSettings)
    drops, warnings = [], []
    for run in runs:
        if run.role != "identification":
            raise InvalidProject(
                f"recording {run.name!r} is for validation, which impacts has no use for: each drop is tested by "
                "what is left of it; leave the role out"
            )
        recording = condition(preprocessing, run).recording
        if run.window_s is not None:
            recording = recording.between(*run.window_s)
        poses = (
            _from_markers(recording, body.markers, run.name) if body.markers else _poses(recording, run.name)
        )
        whole = np.isfinite(poses).all(axis=1)
        forces = _forces(recording, np.flatnonzero(whole), run.name)
        times, poses = np.asarray(recording.time, dtype=float)[whole], poses[whole]
        if len(poses) < FEWEST:
            raise InvalidProject(
                f"recording {run.name!r} has {len(poses)} frames in which nothing is missing, of {len(whole)}; it "
                f"takes at least {FEWEST}"
            )
        if np.mean(np.abs(np.diff(poses[:, 2])) > QUARTER_TURN) > OFTEN:
            raise InvalidProject(
                f"recording {run.name!r}: the angle changes by more than a quarter turn from frame to frame; if it is "
                'in degrees, say so with unit = "deg"'
            )
        if not whole.all():
            warnings.append(
                f"{int((~whole).sum())} of {len(whole)} frames of {run.name} are incomplete and left out."
            )
        unwrapped = np.unwrap(poses[:, 2])
        if not body.markers and np.abs(unwrapped - poses[:, 2]).max(initial=0.0) > np.pi:
            warnings.append(
                f"The angle of {run.name} wraps, and was taken to go on by less than half a turn a frame."
            )
        drops.append(Drop(run.name, times, np.column_stack([poses[:, :2], unwrapped]), forces))
    walls = tuple(Wall(wall.x, wall.y, wall.slope) for wall in settings.walls or [WallSettings()])
    if not settings.walls:
        warnings.append("There are no [[walls]], so the floor was taken to be level, at y = 0.")
    return ImpactsProblem(tuple(drops), build_shape(body), walls, body.mass, body.name), warnings


def build_shape(body: Any) -> Shape:
    """[body] -> its outline.

    Raises:
        InvalidModel: if there is none like that.
    """
    from ..models.planar import Circle, Ellipse, Polygon, SmoothCurve, rectangle

    if isinstance(body, EllipseSettings):
        return Ellipse(*body.half_axes)
    if isinstance(body, CircleSettings):
        return Circle(body.radius)
    if isinstance(body, RectangleSettings):
        width, height = body.sides if isinstance(body.sides, list) else (body.sides, body.sides)
        return rectangle(width, height, body.corner_radius)
    if isinstance(body, PolygonSettings):
        return Polygon(np.array(body.vertices, dtype=float), body.corner_radius)
    return SmoothCurve(body.mean, body.cosines, body.sines, body.center)


def _column(recording: Recording, name: str, unit: str, run: str) -> Vector:
    if f"position.{name}" not in recording.channels:
        found = listing(joint for joint in recording.joints("position"))
        raise InvalidProject(
            f"recording {run!r} has no position of {name!r}, only of {found}; give columns for all that is "
            "needed, or name them with joints = [...]"
        )
    return _values(recording, f"position.{name}", unit, run)


def _values(recording: Recording, channel: str, unit: str, run: str) -> Vector:
    """(T,) of a channel, NaN where it is not to be trusted."""
    if recording.units[channel] != unit:
        raise InvalidProject(
            f"recording {run!r}: {channel} is in {recording.units[channel]}, and {unit} is what it must be: mend its "
            "unit"
        )
    return np.where(recording.mask(channel), recording[channel], np.nan)


def _forces(recording: Recording, frames: Indices, run: str) -> Float[np.ndarray, "K 3"] | None:
    """(N - 1, 3) their means over the intervals between frames (N,), rows of the recording; None if there are none.

    Raises:
        InvalidProject: if one is missing in between.
    """
    from ..estimators.complementarity.flights import held_mean

    if not any(f"torque.{axis}" in recording.channels for axis in FORCES):
        return None
    rows = np.zeros((len(recording), 3))
    for k, (axis, unit) in enumerate(FORCES.items()):
        if f"torque.{axis}" in recording.channels:
            rows[:, k] = _values(recording, f"torque.{axis}", unit, run)
    if not len(frames):
        return None
    rows = rows[frames[0] : frames[-1]]
    if not np.isfinite(rows).all():
        raise InvalidProject(
            f"recording {run!r}: forces are missing in {int((~np.isfinite(rows)).any(axis=1).sum())} rows; give them "
            "in all, or say hold = true where they are written only when they change"
        )
    time = np.asarray(recording.time[frames[0] : frames[-1] + 1], dtype=float)
    return held_mean(time, rows, frames - frames[0])


def _poses(recording: Recording, run: str) -> np.ndarray:
    return np.column_stack([_column(recording, name, unit, run) for name, unit in POSE.items()])


def _from_markers(recording: Recording, markers: Mapping[str, Sequence[float]], run: str) -> np.ndarray:
    """(N, 3) poses that bring the markers nearest to where they were seen (least squares)."""
    seen = np.stack(
        [
            _column(recording, f"{name}.x", "m", run) + 1j * _column(recording, f"{name}.y", "m", run)
            for name in markers
        ],
        axis=1,
    )
    places = np.array([complex(*place) for place in markers.values()])
    middle, center = seen.mean(axis=1), places.mean()
    turned = (seen - middle[:, None]) @ np.conj(places - center)
    turned = np.where(turned == 0, np.nan, turned)
    position = middle - turned / np.abs(turned) * center
    return np.column_stack([position.real, position.imag, np.angle(turned)])
