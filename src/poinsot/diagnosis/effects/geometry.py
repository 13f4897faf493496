"""Effects of geometry and of the clock: zeros, encoders, lengths, the base, elastic joints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import numpy as np

from ...arrays import Vector
from ..case import mapped
from ..cause import Cause
from .effect import Effect, EffectColumn, Linearization
from .friction import MISSING

DEGREE = np.pi / 180

NOTHING = 1e-9
"""Part of the torque (rms) below which a change is rounding."""

ZERO = Cause(
    "joint-zero",
    "The zero of a joint differs from the description.",
    "Add the offset: position_offset in [drive].",
)
GRAVITY = Cause(
    "gravity",
    "Gravity has another direction (a base or first axis that is tilted or hangs) or another size than declared.",
    "Correct gravity in [robot]: [m/s^2] in the frame of the robot's base.",
)
DESCRIPTION = Cause(
    "description",
    "An axis or a length of the robot differs from the description.",
    "Measure it, and correct the origin of the joint in the description.",
)
CLOCK = Cause(
    "clock-scale",
    "The sampling rate differs from the declared one: gravity and inertia disagree by its square.",
    "Correct rate_hz, or the unit of the time column.",
)
ELASTIC = Cause(
    "elasticity",
    "A joint yields under its torque: its link moves differently from its encoder.",
    "Measure at the link, or identify from a slower motion.",
)
UNIT_GAIN = Cause(
    "unit-scale",
    "The scale of an axis of the gyro or of the accelerometer is off.",
    "Calibrate it: turn the robot by known angles, and rest it on its sides.",
)


def turning(at: Linearization) -> Iterator[tuple[int, int]]:
    """(number of the reading, joint) of joints that turn."""
    for number, k in enumerate(at.readings):
        if at.robot.position_units[k] == "rad":
            yield number, k


class ZeroOffset(Effect):
    """An offset of each revolute joint."""

    name, cause, unit = "zero", ZERO, "deg"
    sentence = "The zero of joint {joint} is off by {size}"
    unchecked = "the zero of joint {joint}"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        deg = at.accuracy.of("zero_deg")
        for number, k in turning(at):
            column = at.shifted(number, lambda _: (1.0, 0.0, 0.0))
            yield EffectColumn(self, at.robot.joints[k], deg * DEGREE * column[..., None], deg)


class RecordingZero(Effect):
    """Zeros that differ between recordings."""

    name, cause, unit = "recording-zero", ZERO, "deg"
    sentence = "The zero of joint {joint} differs by {size}"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        deg = at.accuracy.of("recording_zero_deg")
        for number, k in turning(at):
            column = deg * DEGREE * at.shifted(number, lambda _: (1.0, 0.0, 0.0))[..., None]
            for recording in range(len(at.parts)):
                yield EffectColumn(
                    self, at.robot.joints[k], at.of_recording(column, recording), deg, recording
                )


class Eccentricity(Effect):
    """An encoder whose disc is not centred: an error with each turn."""

    name, cause, unit = "eccentricity", ZERO, "deg"
    sentence = "The encoder of joint {joint} errs by {size} with each turn"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        deg = at.accuracy.of("eccentricity_deg")
        for number, k in turning(at):
            columns = []
            for phase in (0.0, np.pi / 2):

                def wave(part: int, joint: int = k, phase: float = phase) -> tuple[np.ndarray, ...]:
                    q, v, a = (x[:, joint] for x in at.motion[part])
                    s, c = np.sin(q + phase), np.cos(q + phase)
                    return s, c * v, c * a - s * v**2

                columns.append(at.shifted(number, wave))  # type: ignore[arg-type]
            yield EffectColumn(self, at.robot.joints[k], deg * DEGREE * np.stack(columns, axis=2), deg)


class Elasticity(Effect):
    """A link behind its encoder by torque over stiffness."""

    name, cause, unit, of_model = "elasticity", ELASTIC, "deg", True
    sentence = "Joint {joint} yields under its torque, by {size} (rms)"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        deg = at.accuracy.of("elasticity_deg")
        for number, k in turning(at):
            if at.load(0, k) is None:
                continue

            def behind(part: int, joint: int = k) -> tuple[np.ndarray, ...]:
                load = cast("np.ndarray", at.load(part, joint))
                time = at.parts[part].signals.time
                rate = np.gradient(load, time)
                return -load, -rate, -np.gradient(rate, time)

            column = at.shifted(number, behind)  # type: ignore[arg-type]
            yield EffectColumn(self, at.robot.joints[k], deg * DEGREE * column[..., None], deg)


class MotionCoupling(Effect):
    """A joint that moves a little with the one before."""

    name, cause = "coupling", MISSING
    sentence = "Joint {joint} moves with the joint before it, by {size} of its motion"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        percent = at.accuracy.of("coupling_percent")
        if at.robot.closure is not None:
            return
        for number, k in turning(at):
            if k and at.robot.position_units[k - 1] == "rad":

                def neighbour(part: int, k: int = k) -> tuple[np.ndarray, ...]:
                    q, v, a = at.motion[part]
                    return q[:, k - 1], v[:, k - 1], a[:, k - 1]

                column = at.shifted(number, neighbour)  # type: ignore[arg-type]
                yield EffectColumn(self, at.robot.joints[k], percent / 100 * column[..., None], percent)


class Tilt(Effect):
    """A base that is not level."""

    name, cause, unit = "tilt", GRAVITY, "deg"
    sentence = "The base is tilted by {size} against the declared gravity"
    unchecked = "the tilt of the base (direction of gravity)"
    step = 1e-3

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        deg, model = at.accuracy.of("base_deg"), at.robot.model
        gravity = np.array(model.gravity.linear)
        size = float(np.linalg.norm(gravity))
        if at.robot.floating_base or not size > 0:
            return
        columns = []
        for across in np.linalg.svd(gravity[None])[2][1:]:
            tilted = model.copy()
            tilted.gravity.linear = gravity + self.step * size * across
            columns.append(at.rows(at.difference(at.with_model(tilted), self.step)))
        yield EffectColumn(self, "", deg * DEGREE * np.stack(columns, axis=2), deg)


class Placement(Effect):
    """The placement of a joint in its parent's frame, changed along or about axes."""

    cause = DESCRIPTION
    step = 1e-3

    def moved(self, at: Linearization, k: int, turn: Vector, shift: Vector) -> np.ndarray:
        """(N, n) derivative of the torque by joint k's placement, turned about and shifted along axes of its frame."""
        model = at.robot.model.copy()
        place = model.jointPlacements[k + 1]
        K = np.cross(np.eye(3), turn)  # of the cross product with turn
        R = np.eye(3) + np.sin(self.step) * K + (1 - np.cos(self.step)) * K @ K
        place.translation = place.translation + self.step * place.rotation @ shift
        place.rotation = place.rotation @ R
        return at.rows(at.difference(at.with_model(model), self.step))

    def joints(self, at: Linearization) -> range:
        """All but the first one, whose placement is that of the base; none where bodies do not form a tree."""
        model, robot = at.robot.model, at.robot
        plain = not robot.floating_base and robot.closure is None and model.nv == model.njoints - 1
        return range(1, model.nv if plain else 1)


class JointPlace(Placement):
    """Translations of a joint's placement."""

    name, unit = "length", "mm"
    sentence = "The place of joint {joint} differs from the description by {size}"
    unchecked = "the geometry: the place of joint {joint} in the description"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        mm, percent = at.accuracy.of("length_mm"), at.accuracy.of("length_percent")
        for k in self.joints(at) if mm or percent else ():
            place = np.array(at.robot.model.jointPlacements[k + 1].translation)
            size = max(mm, 10 * percent * float(np.linalg.norm(place)))
            columns = [size / 1e3 * self.moved(at, k, np.zeros(3), axis) for axis in np.eye(3)]
            shown = [column for column in columns if np.abs(column).max() > NOTHING * at.rms.max()]
            if shown:
                yield EffectColumn(self, at.robot.joints[k], np.stack(shown, axis=2), size)


class Axis(Placement):
    """Rotations of a joint's axis."""

    name, unit = "axis", "deg"
    sentence = "The axis of joint {joint} differs from the description by {size}"
    unchecked = "the axis of joint {joint} in the description"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        deg = at.accuracy.of("axis_deg")
        for k in self.joints(at) if deg else ():
            across = np.linalg.svd(at.robot.tree.axis[k][None])[2][1:]
            columns = [deg * DEGREE * self.moved(at, k, axis, np.zeros(3)) for axis in across]
            shown = [column for column in columns if np.abs(column).max() > NOTHING * at.rms.max()]
            if shown:
                yield EffectColumn(self, at.robot.joints[k], np.stack(shown, axis=2), deg)


def faster(at: Linearization) -> np.ndarray:
    """(N, n) change of the torque per relative change of the clock's rate."""
    step = 1e-3
    other = mapped(at.problem, lambda s: replace(s, v=s.v * (1 + step), a=s.a * (1 + step) ** 2))
    return at.rows(at.difference(other, step))


class ClockRate(Effect):
    """The rate of the clock."""

    name, cause = "clock", CLOCK
    sentence = "The clock's rate is off by {size}"
    unchecked = "the rate of the clock"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        percent = at.accuracy.of("clock_percent")
        if not at.robot.floating_base:
            yield EffectColumn(self, "", percent / 100 * faster(at)[..., None], percent)


class RecordingClock(Effect):
    """Rates of the clock that differ between recordings."""

    name, cause = "recording-clock", CLOCK
    sentence = "The clock's rate differs by {size}"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        percent = at.accuracy.of("recording_clock_percent")
        if at.robot.floating_base:
            return
        column = percent / 100 * faster(at)[..., None]
        for number in range(len(at.parts)):
            yield EffectColumn(self, "", at.of_recording(column, number), percent, number)
