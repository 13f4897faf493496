"""Rows of recordings, or lines of a stream, as ticks of a robot: joint side, complete configurations and efforts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..exceptions import InvalidProject, InvalidSignals
from ..io.json_lines import Layout, SampleLine

if TYPE_CHECKING:
    from ..estimators.online.differences import Tick
    from ..models.articulated import Articulated
    from .recordings import Run


def layout_of(robot: Articulated) -> Layout:
    """What every line of a stream must hold."""
    return Layout(len(robot.joints), int(robot.train.driven.sum()), robot.floating_base)


def ticks_of_run(robot: Articulated, run: Run) -> Iterator[Tick]:
    """Of a recording; samples that are not valid are not finite.

    Raises:
        InvalidProject: if the robot has a floating base, whose motion a project file cannot name.
        InvalidSignals: if a joint has no position, or there is not exactly one kind of effort.
    """
    from ..estimators.online.differences import Tick
    from ..signals.preparation import effort_of

    if robot.floating_base:
        raise InvalidProject(
            f"recording {run.name!r}: the robot has a floating base, which recordings have no columns for; "
            "give its samples as JSON lines with --stream"
        )
    recording, train, joints = run.recording, robot.train, robot.joints
    quantity, driven = effort_of(recording)
    missing = [joint for joint in joints if joint not in recording.joints("position")]
    if missing:
        raise InvalidSignals(
            f"recording {run.name!r} has no position of joint {missing[0]!r}: name its column"
        )

    def measured(quantity: str, names: tuple[str, ...]) -> np.ndarray:
        columns = np.zeros((len(recording), len(joints)))
        for joint in names:
            channel = f"{quantity}.{joint}"
            columns[:, joints.index(joint)] = np.where(recording.mask(channel), recording[channel], np.nan)
        return columns

    position = train.joint_positions(measured("position", joints))
    effort = train.joint_torques(measured(quantity, driven))
    complete = set(joints) <= set(recording.joints("velocity"))
    unknown = np.full(position.shape, np.nan)
    velocity = train.joint_velocities(measured("velocity", joints)) if complete else unknown
    for k, time in enumerate(recording.time):
        yield Tick(float(time), position[k], velocity[k], effort[k])


def ticks_of_lines(robot: Articulated, lines: Iterable[SampleLine]) -> Iterator[Tick]:
    """Of a stream."""
    from ..estimators.online.differences import Tick

    train, driven = robot.train, np.flatnonzero(robot.train.driven)
    for line in lines:
        effort = np.zeros(len(robot.joints))
        effort[driven] = line.effort
        effort = train.joint_torques(effort[None])[0]
        position = train.joint_positions(line.position[None])[0]
        measured = line.velocity is not None
        velocity = np.full(len(position), np.nan)
        if line.velocity is not None:
            velocity = train.joint_velocities(line.velocity[None])[0]
        if robot.floating_base:
            if not measured:
                raise InvalidSignals("a robot with a floating base needs the velocities of its joints too")
            base = line.base
            position = np.concatenate([base["base_position"], base["base_orientation"], position])
            velocity = np.concatenate([base["base_velocity"], velocity])
            effort = np.concatenate([np.zeros(6), effort])
        yield Tick(line.time, position, velocity, effort, line.wrenches)
