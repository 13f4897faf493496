"""Ticks of a robot from a recording, or from lines of a stream: joint side, complete configurations and efforts.

A missing reading is NaN, and so is the effort of a joint whose motor has no channel; a joint without a motor has a
known effort of zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from ...arrays import JointSamples, Vector
from ...exceptions import InvalidSignals
from ...io.json_lines import Layout, SampleLine
from ...models.robot.articulated import Articulated
from ...recording import Recording
from ...signals.preparation import effort_of
from .belief import Tick


def configuration_of(robot: Articulated) -> Callable[[Vector], Vector]:
    """Function from joint positions (n,), or a floating base's whole configuration, to the configuration (nq,)."""
    if robot.floating_base:
        return lambda q: q
    return lambda positions: robot.configurations(positions[None])[0]


def line_layout(robot: Articulated) -> Layout:
    """The values that every line of a stream must have."""
    return Layout(len(robot.joints), int(robot.train.driven.sum()), robot.floating_base, robot.bodies)


def recording_ticks(robot: Articulated, recording: Recording, name: str = "") -> Iterator[Tick]:
    """Ticks of a recording; samples that are not valid are NaN.

    Args:
        recording: recording with `position.<joint>` of all joints, `velocity.<joint>` of all or none, and one kind of
            effort. name: name of the recording, for messages.

    Raises:
        InvalidSignals: if the robot has a floating base, a joint has no position, or there is not exactly one kind of
            effort.
    """
    where = f"recording {name!r}" if name else "the recording"
    if robot.floating_base:
        raise InvalidSignals(
            f"{where}: the robot has a floating base, for which recordings have no columns; "
            "give its samples as JSON lines with --stream"
        )
    train, joints = robot.train, robot.joints
    quantity, with_effort = effort_of(recording)
    missing = [joint for joint in joints if joint not in recording.joints("position")]
    if missing:
        raise InvalidSignals(f"{where} has no position of joint {missing[0]!r}: give its column")

    def measured(quantity: str, names: tuple[str, ...]) -> JointSamples:
        columns = np.full((len(recording), len(joints)), np.nan)
        for joint in names:
            channel = f"{quantity}.{joint}"
            columns[:, joints.index(joint)] = recording.readings(channel)
        return columns

    position = train.joint_positions(measured("position", joints))
    effort = _joint_efforts(robot, measured(quantity, with_effort))
    # if only some joints have velocities, none are used: all of v must have the same origin
    complete = set(joints) <= set(recording.joints("velocity"))
    velocity = train.joint_velocities(measured("velocity", joints if complete else ()))
    for k, time in enumerate(recording.time):
        yield Tick(float(time), position[k], velocity[k], effort[k])


def stream_ticks(robot: Articulated, lines: Iterable[SampleLine]) -> Iterator[Tick]:
    """Ticks of the lines of a stream.

    Raises InvalidSignals if the robot has a floating base and a line no velocities.
    """
    train, driven = robot.train, np.flatnonzero(robot.train.driven)
    for line in lines:
        efforts = np.full((1, len(robot.joints)), np.nan)
        # a stream has efforts of driven joints only, in the order of the joints
        efforts[0, driven] = line.effort
        effort = _joint_efforts(robot, efforts)[0]
        position = train.joint_positions(line.position[None])[0]
        velocity = np.full(len(position), np.nan)
        if line.velocity is not None:
            velocity = train.joint_velocities(line.velocity[None])[0]
        if robot.floating_base:
            if line.velocity is None:
                raise InvalidSignals("a robot with a floating base needs the velocities of its joints too")
            base = line.base
            position = np.concatenate([base["base_position"], base["base_orientation"], position])
            velocity = np.concatenate([base["base_velocity"], velocity])
            # zero effort of the base is a measurement too: six rows of the filter
            effort = np.concatenate([np.zeros(6), effort])
        yield Tick(line.time, position, velocity, effort, line.wrenches)


def _joint_efforts(robot: Articulated, efforts: JointSamples) -> JointSamples:
    """(T, n) joint torques of measured efforts; NaN for joints that a motor without a reading drives, and no others."""
    train = robot.train
    missing = np.isnan(efforts) & train.driven
    # on the motor side a coupled joint needs the readings of all motors that drive it
    drives = train.reduction != 0 if train.drive.side == "motor" else np.eye(len(robot.joints))
    torques = train.joint_torques(np.where(np.isnan(efforts), 0.0, efforts))
    return np.where(missing.astype(float) @ drives > 0, np.nan, torques)
