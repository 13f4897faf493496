"""The scene of a result: bodies as ellipsoids, before the data and identified, along the motions of what moves.

A body is the uniform ellipsoid with its ten parameters: c + R diag(a) u with u on the unit sphere, in its frame; a
thrown body is its outline. What moves is a `Subject`: a robot, a mechanism or a thrown body, each in a file of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ...estimate import Body
from ...exceptions import ImpossibleBody, UnreadableFile
from ...inertia.parameters import equivalent_ellipsoid
from ...io.npz import read_npz
from ...project.prediction import PredictionJob
from ...project.settings.bodies_and_walls import SpatialBodySettings
from ...recording import Recording
from ..figures.ellipsoids import unit_sphere
from .subject import Subject, Surface, ViewedMotion

MERIDIANS, PARALLELS = 20, 12


@dataclass(frozen=True, eq=False)
class ViewedScene:
    """The scene of a result. `bodies`, `lines`, `remarks`: as of `Subject`. `identified`, `before`: surfaces of bodies.
    `still`: surfaces of the world. `recorded`, `estimated`: motions, one of which may be empty.
    """

    bodies: tuple[str, ...]
    lines: Mapping[str, Float[np.ndarray, "k 2 3"]]
    identified: tuple[Surface, ...]
    before: tuple[Surface, ...]
    still: tuple[Surface, ...]
    recorded: tuple[ViewedMotion, ...]
    estimated: tuple[ViewedMotion, ...]
    remarks: tuple[str, ...] = ()


def read_scene(path: Path, data_dir: Path | None = None) -> ViewedScene:
    """Read a result, its project, its recordings, and the motions that were written beside it.

    Args:
        path: result that `poinsot identify --out FOLDER` wrote. data_dir: folder of the recordings and the description.

    Raises:
        UnreadableFile: if a file is missing or damaged, or the result has no motion.
    """
    job = PredictionJob(path, path, data_dir)
    subject = _subject(job, data_dir or path.parent)
    rows = {row["name"]: row for row in job.result.get("bodies", ()) if row["name"] in subject.bodies}
    before = {name: rows.get(name, {}).get("prior") or pi for name, pi in subject.described.items()}
    identified_inertials = {name: row.get("inertial") for name, row in rows.items()}
    shares = {name: row.get("prior_share") or 0.0 for name, row in rows.items()}
    recorded = tuple(motion for run in subject.runs(job, data_dir) if (motion := subject.recorded(run)))
    estimated = tuple(subject.estimated(name, motion) for name, motion in _estimated(path.parent))
    if estimated:
        named = {motion.name: motion for motion in recorded}
        matching = [named[motion.name] for motion in estimated if motion.name in named]
        recorded = tuple(matching) if len(matching) == len(estimated) else ()
    if not recorded and not estimated:
        raise UnreadableFile(
            f"{path} has no motion to show: write it with `poinsot identify JOB.toml --out FOLDER`, "
            "and view the result in that folder"
        )
    shapes = tuple(surface for surface in subject.shapes if surface.body)
    still = tuple(surface for surface in subject.shapes if not surface.body)
    identified = (*_surfaces(identified_inertials, shares), *shapes)
    return ViewedScene(
        subject.bodies,
        subject.lines,
        identified,
        _surfaces(before, {}),
        still,
        recorded,
        estimated,
        subject.remarks,
    )


def _subject(job: PredictionJob, folder: Path) -> Subject:
    settings = job.project.settings
    if settings.robot is not None:
        from .robots import ViewedRobot

        return ViewedRobot(job.project.robot(folder))
    if settings.mechanism is not None:
        from .mechanisms import ViewedMechanism

        return ViewedMechanism(job.project.mechanism(folder))
    if isinstance(settings.body, SpatialBodySettings):
        from .tosses import ViewedToss

        return ViewedToss(job, settings.body)
    from .throws import ViewedThrow

    return ViewedThrow(job)


def _estimated(folder: Path) -> Iterator[tuple[str, Recording]]:
    """Name of the recording and motion of each file beside a result."""
    for file in sorted(folder.glob("motion*.npz"), key=lambda file: (len(file.name), file.name)):
        motion = read_npz(file)
        if (name := motion.metadata.get("estimated")) is not None:
            yield str(name), motion


def identified_surfaces(bodies: Sequence[Body]) -> tuple[Surface, ...]:
    """Ellipsoids of the bodies of an estimate, those that have ten parameters."""
    shares = {body.name: body.prior_share or 0.0 for body in bodies}
    return _surfaces({body.name: body.inertial for body in bodies}, shares)


def _surfaces(inertials: Mapping[str, object], shares: Mapping[str, float]) -> tuple[Surface, ...]:
    """Surfaces of physically possible bodies."""
    sphere, faces = unit_sphere(MERIDIANS, PARALLELS)
    surfaces = []
    for name, pi in inertials.items():
        if pi is None:
            continue
        try:
            ellipsoid = equivalent_ellipsoid(np.asarray(pi, dtype=float))
        except ImpossibleBody:
            continue
        surfaces.append(Surface(name, ellipsoid.surface(sphere), faces, shares.get(name, 0.0)))
    return tuple(surfaces)
