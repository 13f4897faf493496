"""`[method] name = "impacts"`: parameters of a [body] that hits [[walls]], from tracked poses or markers.

`ImpactsProblem.from_recordings` says which channels a recording needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from ...exceptions import InvalidProject, listing
from ...stopwatch import Stopwatch
from ..settings.bodies_and_walls import PlanarBodySettings, SpatialBodySettings
from ..settings.fields import NotNegative, Positive, SettingsTable
from .motion import MotionMethod, prepared

if TYPE_CHECKING:
    from ...estimators.impacts.method import ImpactIdentification
    from ...estimators.impacts.problem import ImpactsProblem
    from ...estimators.impacts.space.method import TossIdentification
    from ...estimators.impacts.space.problem import TossesProblem
    from ..job import Job
    from ..prediction import Prediction, PredictionJob
    from ..settings import Settings


class TrackerNoiseSettings(SettingsTable):
    """Standard deviations of a tracked pose: `position` [m], `angle` [rad]."""

    position: Positive
    angle: Positive


class ImpactsMethod(MotionMethod):
    """`poinsot.estimators.impacts`: J/m, friction and restitution of a [body] that hits [[walls]].

    `noise`: standard deviations of the tracker; without it, they are estimated. `drag`: linear and angular [1/s].
    `steps`: without effect, for files of earlier versions. `seed`: seed of the random starts of the search.
    `restitution`: law of restitution.
    """

    noise: TrackerNoiseSettings | None = None
    drag: Annotated[list[NotNegative], Field(min_length=2, max_length=2)] = [0.0, 0.0]
    steps: int | None = Field(None, ge=1)
    seed: int = Field(0, ge=0)
    restitution: Literal["auto", "newton", "poisson", "energetic"] = "auto"

    def problem(self, job: Job, watch: Stopwatch) -> ImpactsProblem | TossesProblem:
        from ...estimators.impacts.problem import ImpactsProblem
        from ...estimators.impacts.space.problem import TossesProblem

        settings, body = job.settings, job.settings.body
        assert body is not None
        job.say("reading the recordings")
        runs = job.project.recordings(body.axes, body.forces, job.data_dir)
        watch.lap("read")
        for run in runs:
            if run.role != "identification":
                raise InvalidProject(
                    f"recording {run.name!r} is for validation, which impacts does not support: each drop is tested by "
                    "its residuals; delete the line with role"
                )
        recordings = {run.name: prepared(settings, run) for run in runs}
        walls = tuple(wall.value() for wall in settings.walls)
        known: dict[str, Any] = {"mass": body.mass, "name": body.name, "accuracy": settings.accuracy.value()}
        if isinstance(body, SpatialBodySettings):
            return TossesProblem.from_recordings(
                recordings, body.corners(job.project.path.parent), walls, **known
            )
        return ImpactsProblem.from_recordings(
            recordings, body.outline(), walls, markers=body.markers, **known
        )

    def predict(self, job: PredictionJob) -> Prediction:
        import numpy as np

        from ...estimate.motions import POSE
        from ...estimators.impacts.prediction import FLIGHT_FRAMES, predict_throw
        from ...estimators.impacts.problem import FORCES, drop_of, pose_channels
        from ...estimators.impacts.shooting import GEOMETRY
        from ...models.planar import floor
        from ...models.planar.body import with_floor_moved
        from ..prediction import CLOCK, Prediction, read_motion

        body, name = job.project.settings.body, job.motion.name
        if job.wanted != ("torque",):
            raise InvalidProject(f"a thrown body has no {listing(job.wanted)}; omit the option")
        if isinstance(body, SpatialBodySettings):
            return self._predict_toss(job, body)
        assert isinstance(body, PlanarBodySettings)
        joints = pose_channels(body.markers)
        units = {f"position.{joint}": POSE.get(joint, "m") for joint in joints}
        recording = read_motion(job, units, joints, tuple(FORCES), "mask")
        values = {row["name"]: (row["value"], row["std"]) for row in job.result["parameters"]}
        scene, notes = job.result["scene"], []
        if values["friction"][0] is None:
            values["friction"] = scene["least_friction"], 0.0
            notes.append(f"The lower bound {scene['least_friction']:.3g} of friction was used as its value.")
        drop, warnings = drop_of(recording, name, body.markers, FLIGHT_FRAMES)
        simulation = job.result.get("simulation", {})
        noise, law = np.array(simulation.get("noise", drop.noise)), simulation.get("law", "complementarity")
        times = recording.time[recording.time >= drop.times[0]]
        given = simulation.get("geometry", [0.0] * len(GEOMETRY))
        height, slope, *offset = (
            values.get(name, (known, 0.0))[0] or 0.0 for name, known in zip(GEOMETRY, given, strict=True)
        )
        walls = tuple(wall.value() for wall in job.project.settings.walls) or (floor(),)
        walls = with_floor_moved(walls, height, slope)
        motion = predict_throw(drop, times, body.outline(), walls, values, noise, law, np.array(offset))
        notes.append(
            f"Frames until {motion.until:.4g} s are a flight and were used; the motion after them is predicted."
        )
        columns, rows = {CLOCK: times}, []
        measured = np.flatnonzero(drop.times > motion.until)
        error = motion.poses[np.searchsorted(times, drop.times[measured])] - drop.poses[measured]
        half = 0.5 * (motion.high - motion.low)[times > motion.until]
        rms = [np.sqrt(np.mean(x**2, axis=0)) if len(x) else [None] * 3 for x in (half, error)]
        for k, (axis, unit) in enumerate(POSE.items()):
            for ending, poses in (("", motion.poses), (".low", motion.low), (".high", motion.high)):
                columns[f"position.{axis}{ending}"] = poses[:, k]
            rows.append({"axis": axis, "unit": unit, "half_interval": rms[0][k], "rms_error": rms[1][k]})
        named = {column: "s" if column == CLOCK else POSE[column.split(".")[1]] for column in columns}
        return Prediction(columns, named, tuple(rows), (*warnings, *notes))

    def _predict_toss(self, job: PredictionJob, body: SpatialBodySettings) -> Prediction:
        import numpy as np

        from ...estimators.impacts.space.fitting import scene_of
        from ...estimators.impacts.space.method import theta_of
        from ...estimators.impacts.space.prediction import predict_toss
        from ...estimators.impacts.space.problem import AXES, BODY, TossesProblem
        from ...models.rotations import log, to_quaternion
        from ...models.spatial.impacts import LAWS
        from ..prediction import CLOCK, Prediction, read_motion

        settings, name = job.project.settings, job.motion.name
        ends = [f"orientation.{BODY}.{end}" for end in (*AXES, "w")]
        units = {f"position.{axis}": "m" for axis in AXES} | dict.fromkeys(ends, "1")
        recording = read_motion(job, units, body.axes, body.forces, "mask")
        walls = tuple(wall.value() for wall in settings.walls)
        problem = TossesProblem.from_recordings(
            {name: recording}, body.corners(job.folder or job.project.path.parent), walls
        )
        known = [row for row in job.result["parameters"] if row["value"] is not None]
        values = {row["name"]: row["value"] for row in known}
        places = [k for k, row in enumerate(job.result["parameters"]) if row["std"] is not None]
        names = [job.result["parameters"][k]["name"] for k in places]
        covariance = np.array([row["covariance"] for row in known], dtype=float)[np.ix_(places, places)]
        theta, spread = theta_of(values, names, covariance)
        law = job.result["scene"]["restitution_law"]
        notes = []
        if law is None:
            law = max(
                job.result["scene"]["restitution_laws"], key=job.result["scene"]["restitution_laws"].get
            )
            notes.append(f"The tosses do not say which law of restitution holds; {law} was used.")
        (toss,), times = problem.tosses, np.asarray(recording.time, dtype=float)
        motion = predict_toss(
            toss, times, scene_of(problem), theta, spread, LAWS.index(law), problem.shape.size
        )
        notes.append(
            f"Frames until {motion.until:.4g} s are a flight and were used; the motion after them is predicted."
        )
        columns, named = {CLOCK: times}, {CLOCK: "s"}
        for k, axis in enumerate(AXES):
            for ending, values_of in (("", motion.places), (".low", motion.low), (".high", motion.high)):
                columns[f"position.{axis}{ending}"], named[f"position.{axis}{ending}"] = values_of[:, k], "m"
        columns |= dict(zip(ends, to_quaternion(motion.rotations).T, strict=True))
        named |= dict.fromkeys(ends, "1")
        ahead, at = times > motion.until, np.searchsorted(times, toss.times)
        compared = toss.times > motion.until
        away = (motion.places[at] - toss.places)[compared]
        turned = np.linalg.norm(log(np.swapaxes(motion.rotations[at], 1, 2) @ toss.rotations), axis=1)[
            compared
        ]

        def size(x: np.ndarray) -> float | None:
            return float(np.sqrt(np.mean(x**2))) if len(x) else None

        half = 0.5 * (motion.high - motion.low)[ahead]
        rows = [
            {"axis": axis, "unit": "m", "half_interval": size(half[:, k]), "rms_error": size(away[:, k])}
            for k, axis in enumerate(AXES)
        ]
        rows.append(
            {
                "axis": "rotation",
                "unit": "rad",
                "half_interval": size(motion.turn[ahead]),
                "rms_error": size(turned),
            }
        )
        return Prediction(columns, named, tuple(rows), (*problem.warnings, *notes))

    def solver(
        self, settings: Settings, problem: ImpactsProblem | TossesProblem
    ) -> ImpactIdentification | TossIdentification:
        from ...estimators.impacts.method import ImpactIdentification
        from ...estimators.impacts.space.method import TossIdentification

        if settings.priors:
            raise InvalidProject('"impacts" uses no priors on J/m; delete [priors]')
        if isinstance(settings.body, SpatialBodySettings):
            idle = [name for name in ("noise", "drag", "steps", "seed") if name in self.model_fields_set]
            if idle or settings.held:
                raise InvalidProject(
                    f"a body in space is fitted without {listing(idle or settings.held)}: delete it"
                )
            return TossIdentification(self.restitution)
        noise = None if self.noise is None else (self.noise.position,) * 2 + (self.noise.angle,)
        return ImpactIdentification(
            noise, (self.drag[0], self.drag[1]), self.seed, settings.held, restitution=self.restitution
        )
