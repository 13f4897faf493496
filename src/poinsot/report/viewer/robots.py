"""A robot that moves: links by forward kinematics, and the forces at its contacts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin

from ...arrays import Configurations
from ...models.robot.articulated import Articulated
from ...project import Run
from ...project.prediction import PredictionJob
from ...recording import Recording
from .subject import Subject, ViewedMotion, shown_channels


class ViewedRobot(Subject):
    """A robot, with lines from each link's frame to those of its children."""

    def __init__(self, robot: Articulated):
        self.robot, self.bodies = robot, robot.bodies
        self.described = dict(zip(robot.bodies, robot.inertials, strict=True))
        ends: dict[str, list[np.ndarray]] = {}
        for parent, T_wb in zip(robot.parents, robot.placements, strict=True):
            if parent:
                T_wp = robot.placements[robot.bodies.index(parent)]
                ends.setdefault(parent, []).append(
                    np.stack([np.zeros(3), (np.linalg.inv(T_wp) @ T_wb)[:3, 3]])
                )
        self.lines = {body: np.stack(points) for body, points in ends.items()}

    def runs(self, job: PredictionJob, data_dir: Path | None) -> Sequence[Run]:
        """The recordings; none for a floating base, whose pose joint sensors do not measure."""
        return () if self.robot.floating_base else job.project.runs(self.robot, data_dir)

    def recorded(self, run: Run) -> ViewedMotion | None:
        """The motion, where a recording has the position of every joint."""
        robot, recording = self.robot, run.recording
        if len(recording.joints("position")) < len(robot.joints):
            return None
        q = robot.configurations(robot.train.joint_positions(recording.stack("position", robot.joints)))
        return self._motion(run.name, recording, q)

    def estimated(self, name: str, path: Recording) -> ViewedMotion:
        """The motion of joints, and of a floating base."""
        robot = self.robot
        q = np.tile(robot.neutral, (len(path), 1))
        first, turning = robot.coordinates
        for joint, freedom in zip(robot.joints, robot.actuated, strict=True):
            place, values = first[freedom], path[f"position.{joint}"]
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
        return self._motion(name, path, q)

    def _motion(self, name: str, recording: Recording, q: Configurations) -> ViewedMotion:
        robot = self.robot
        data = robot.model.createData()
        placements = np.empty((len(q), len(robot.bodies), 4, 4))
        contacts = [channel.split(".")[1] for channel in recording.channels if channel.startswith("force.")]
        frames = {frame: robot.model.getFrameId(frame) for frame in dict.fromkeys(contacts)}
        forces = {frame: np.full((len(q), 2, 3), np.nan) for frame in frames}
        for frame, values in forces.items():
            for k, axis in enumerate("xyz"):
                channel = f"force.{frame}.{axis}"
                values[:, 1, k] = np.where(recording.mask(channel), recording[channel], np.nan)
        for t, configuration in enumerate(q):
            pin.framesForwardKinematics(robot.model, data, configuration)
            placements[t] = [data.oMi[i].homogeneous for i in robot.body_joints]
            for frame, number in frames.items():
                place = data.oMf[number]
                # from axes of the frame
                forces[frame][t] = place.translation, place.rotation @ forces[frame][t, 1]
        channels = shown_channels(recording)
        return ViewedMotion(name, recording.time, placements, channels, recording.units, forces)
