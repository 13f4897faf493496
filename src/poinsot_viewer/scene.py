"""The scene of a result: bodies as ellipsoids, before the data and identified, along the motions of its robot.

A body is the uniform ellipsoid with its ten parameters: c + R diag(a) u with u on the unit sphere, in its frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin
from jaxtyping import Float

from poinsot.arrays import Configurations, Matrix, Times
from poinsot.estimate import Body
from poinsot.exceptions import ImpossibleBody, InvalidProject, UnreadableFile
from poinsot.inertia.parameters import equivalent_ellipsoid
from poinsot.io.npz import read_npz
from poinsot.models.articulated import Articulated
from poinsot.project.prediction import PredictionJob
from poinsot.recording import Recording
from poinsot.report.figures.ellipsoids import unit_sphere

MERIDIANS, PARALLELS = 20, 12


@dataclass(frozen=True, eq=False)
class Surface:
    """An ellipsoid. `body`: body whose frame is used. `vertices`: (v, 3) [m]. `faces`: (f, 3). `share`: the prior's
    share, 0 to 1.
    """

    body: str
    vertices: Matrix
    faces: np.ndarray
    share: float = 0.0


@dataclass(frozen=True, eq=False)
class Motion:
    """The robot along a recording.

    Args:
        name: name of the recording.
        time: (T,) [s].
        q: (T, nq) configurations.
        placements: (T, l, 4, 4) T_wb of each body.
        forces: frame of a contact -> (T, 2, 3) its position [m], and the force on the robot [N]; NaN where open.
        channels: name -> (T,) values to plot. units: their units.
    """

    name: str
    time: Times
    q: Configurations
    placements: Float[np.ndarray, "T l 4 4"]
    forces: Mapping[str, Float[np.ndarray, "T 2 3"]]
    channels: Mapping[str, np.ndarray]
    units: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Scene:
    """The scene of a result. `robot`: robot with its project's drive. `identified`, `before`: ellipsoids. `recorded`,
    `estimated`: motions, one of which may be empty.
    """

    robot: Articulated
    identified: tuple[Surface, ...]
    before: tuple[Surface, ...]
    recorded: tuple[Motion, ...]
    estimated: tuple[Motion, ...]


def read_scene(path: Path, data_dir: Path | None = None) -> Scene:
    """Read a result, its project, its recordings, and the motions that were written beside it.

    Args:
        path: result that `poinsot identify --out FOLDER` wrote. data_dir: folder of the recordings and the description.

    Raises:
        UnreadableFile: if a file is missing or damaged, or the result has neither a robot nor a motion.
        InvalidProject: if its project has no robot.
    """
    job = PredictionJob(path, path, data_dir)
    if job.project.settings.robot is None:
        raise InvalidProject(
            f"{path} is of a [mechanism] or a thrown [body], and `poinsot view` shows results of a [robot]: its page, "
            f"which draws the motion, opens with `poinsot open {path}`"
        )
    folder = data_dir or path.parent
    robot = job.project.robot(folder)
    bodies = {row["name"]: row for row in job.result.get("bodies", ())}
    described = dict(zip(robot.bodies, robot.inertials, strict=True))
    before = {name: bodies.get(name, {}).get("prior") or pi for name, pi in described.items()}
    found = {name: row.get("inertial") for name, row in bodies.items() if name in described}
    shares = {name: row.get("prior_share") or 0.0 for name, row in bodies.items()}
    recorded = () if robot.floating_base else tuple(_recorded(job, robot, data_dir))
    estimated = tuple(
        _estimated(robot, each)
        for file in sorted(path.parent.glob("motion*.npz"))
        if (each := read_npz(file)).metadata.get("estimated") is not None
    )
    if estimated:
        named = {motion.name: motion for motion in recorded}
        both = [named[motion.name] for motion in estimated if motion.name in named]
        recorded = tuple(both) if len(both) == len(estimated) else ()
    if not recorded and not estimated:
        raise UnreadableFile(
            f"{path} has no motion to show: write it with `poinsot identify JOB.toml --out FOLDER`, "
            "and view the result in that folder"
        )
    return Scene(robot, _surfaces(found, shares), _surfaces(before, {}), recorded, estimated)


def identified_surfaces(bodies: Sequence[Body]) -> tuple[Surface, ...]:
    """Ellipsoids of the bodies of an estimate, those that have ten parameters."""
    shares = {each.name: each.prior_share or 0.0 for each in bodies}
    return _surfaces({each.name: each.inertial for each in bodies}, shares)


def _surfaces(inertials: Mapping[str, object], shares: Mapping[str, float]) -> tuple[Surface, ...]:
    """Surfaces of physically possible bodies."""
    sphere, faces = unit_sphere(MERIDIANS, PARALLELS)
    found = []
    for name, pi in inertials.items():
        if pi is None:
            continue
        try:
            ellipsoid = equivalent_ellipsoid(np.asarray(pi, dtype=float))
        except ImpossibleBody:
            continue
        vertices = ellipsoid.center + sphere @ (ellipsoid.axes * ellipsoid.semi_axes).T
        found.append(Surface(name, vertices, faces, shares.get(name, 0.0)))
    return tuple(found)


def _recorded(job: PredictionJob, robot: Articulated, data_dir: Path | None) -> Iterator[Motion]:
    """Recordings with a position of every joint."""
    for run in job.project.runs(robot, data_dir):
        recording = run.recording
        if len(recording.joints("position")) < len(robot.joints):
            continue
        q = robot.configurations(robot.train.joint_positions(recording.stack("position", robot.joints)))
        yield _motion(robot, run.name, recording, q)


def _estimated(robot: Articulated, path: Recording) -> Motion:
    q = np.tile(robot.neutral, (len(path), 1))
    first, turning = robot.coordinates
    for name, freedom in zip(robot.joints, robot.actuated, strict=True):
        place, values = first[freedom], path[f"position.{name}"]
        if turning[freedom]:
            q[:, place], q[:, place + 1] = np.cos(values), np.sin(values)
        else:
            q[:, place] = values
    if robot.floating_base:
        base = robot.bodies[0]
        for k, axis in enumerate("xyz"):
            q[:, k] = path[f"frame_position.{base}.{axis}"]
        for k, axis in enumerate("xyzw"):
            q[:, 3 + k] = path[f"orientation.{base}.{axis}"]
    return _motion(robot, str(path.metadata["estimated"]), path, q)


def _motion(robot: Articulated, name: str, recording: Recording, q: Configurations) -> Motion:
    data = robot.model.createData()
    placements = np.empty((len(q), len(robot.bodies), 4, 4))
    contacts = [channel.split(".")[1] for channel in recording.channels if channel.startswith("force.")]
    frames = {each: robot.model.getFrameId(each) for each in dict.fromkeys(contacts)}
    forces = {each: np.full((len(q), 2, 3), np.nan) for each in frames}
    for each, values in forces.items():
        for k, axis in enumerate("xyz"):
            channel = f"force.{each}.{axis}"
            values[:, 1, k] = np.where(recording.mask(channel), recording[channel], np.nan)
    for t, configuration in enumerate(q):
        pin.framesForwardKinematics(robot.model, data, configuration)
        placements[t] = [placement.homogeneous for placement in list(data.oMi)[1:]]
        for each, number in frames.items():
            place = data.oMf[number]
            forces[each][t] = place.translation, place.rotation @ forces[each][t, 1]  # from axes of the frame
    shown = {channel: values for channel, values in recording.channels.items() if channel[:4] != "std."}
    return Motion(name, recording.time, q, placements, forces, shown, recording.units)
