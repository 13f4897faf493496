"""Effects of the measured torques: gains, cross-talk, drift, delay."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..cause import Cause
from .effect import Effect, EffectColumn, Linearization

GAIN = Cause(
    "torque-scale",
    "The torque of one joint, or of all, is in another unit than declared, or its gain is wrong.",
    "Correct the unit or scale of torque, or gain in [drive].",
)
GAIN_CHANGE = Cause(
    "gain-change",
    "The torque gain changes with time, speed or torque: another range, a warm sensor, saturation, another load.",
    "Identify from the part before or after the change: between_s.",
)
DELAY = Cause(
    "delay",
    "Torques were recorded later (or earlier) than positions: inertia and friction absorb the difference.",
    "Write the delay in [preprocessing]: delays = { torque = ... } [s].",
)
DRIFT = Cause(
    "offset-drift",
    "The offset of a torque drifts during a recording.",
    "Record with a warm sensor, or identify from shorter parts: between_s.",
)
OFFSET = Cause(
    "torque-offset",
    "The offset of a torque differs between recordings.",
    'Have it estimated: per_recording = ["offset"] in [method].',
)
CROSS_TALK = Cause(
    "cross-talk",
    "A joint's torque reading contains a part of its neighbour's.",
    "Calibrate the sensors with one joint loaded at a time.",
)


def delayed(at: Linearization, k: int) -> np.ndarray:
    """(N, n) change of a channel's torque per second of delay."""
    slopes = [
        -np.gradient(tau[:, k], part.signals.time) for tau, part in zip(at.predicted, at.parts, strict=True)
    ]
    return at.own(k, slopes)


class Gain(Effect):
    """The gain of one torque against the others'."""

    name, cause = "gain", GAIN
    sentence = "The gain of the torque of joint {joint} is off by {size} against the other joints"
    unchecked = "the gain of the torque of joint {joint} against the other joints'"
    relative = True

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        percent = at.accuracy.of("gain_percent")
        if len(at.driven) < 2:
            return
        for k in at.driven:
            yield EffectColumn(
                self, at.joint(k), percent / 100 * at.channel(k, [1.0] * len(at.parts))[..., None], percent
            )


class GainWithSpeed(Effect):
    """A gain that changes with speed, of the torque carried: friction is what readings show of it at each speed."""

    name, cause = "gain-with-speed", GAIN_CHANGE
    sentence = "The gain of the torque of joint {joint} changes with speed, by {size} at the largest speed"
    of_model = True

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        percent = at.accuracy.of("gain_with_speed_percent")
        for k in at.driven:
            fast = [np.abs(v[:, k]) / at.top_speed[k] for v in at.speed]
            column = percent / 100 * at.channel(k, fast, at.carried)
            yield EffectColumn(self, at.joint(k), column[..., None], percent)


class Saturation(Effect):
    """A gain that changes with torque, of the torque carried."""

    name, cause = "saturation", GAIN_CHANGE
    sentence = "The gain of the torque of joint {joint} changes with torque, by {size} at the largest torque"
    of_model = True

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        percent = at.accuracy.of("saturation_percent")
        top = np.max([np.abs(tau).max(axis=0) for tau in at.predicted], axis=0) + 1e-300
        for k in at.driven:
            high = [(tau[:, k] / top[k]) ** 2 for tau in at.predicted]
            column = percent / 100 * at.channel(k, high, at.carried)
            yield EffectColumn(self, at.joint(k), column[..., None], percent)


class CrossTalk(Effect):
    """A part of the neighbours' torques."""

    name, cause = "cross-talk", CROSS_TALK
    sentence = "The torque of joint {joint} contains {size} of a neighbour's"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        percent = at.accuracy.of("cross_talk_percent")
        for k in at.driven:
            beside = [j for j in (k - 1, k + 1) if j in at.driven]
            columns = [at.own(k, [tau[:, j] for tau in at.predicted]) for j in beside]
            if columns:
                yield EffectColumn(self, at.joint(k), percent / 100 * np.stack(columns, axis=2), percent)


class LateTorque(Effect):
    """Torques that are late against positions."""

    name, cause, unit, together = "delay", DELAY, "ms", True
    sentence = "The torque of {joint} is late by {size} against the positions"
    unchecked = "the delay of the torque of joint {joint}"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        ms = at.accuracy.of("delay_ms")
        for k in at.driven:
            yield EffectColumn(self, at.joint(k), ms / 1e3 * delayed(at, k)[..., None], ms)


class OffsetDrift(Effect):
    """An offset that changes linearly with time."""

    name, cause = "drift", DRIFT
    sentence = "The offset of the torque of joint {joint} drifts by {size} of its torque (rms) in a recording"
    of_model = True

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        percent = at.accuracy.of("drift_percent")
        for k in at.driven:
            column = at.own(k, [at.rms[k] * (2 * x[:, 0] - 1) for x in at.progress])
            yield EffectColumn(self, at.joint(k), percent / 100 * column[..., None], percent)


class RecordingGain(Effect):
    """Gains that differ between recordings."""

    name, cause = "recording-gain", GAIN
    sentence = "The gain of the torque of joint {joint} differs by {size}"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        percent = at.accuracy.of("recording_gain_percent")
        for k in at.driven:
            column = percent / 100 * at.channel(k, [1.0] * len(at.parts))[..., None]
            for number in range(len(at.parts)):
                yield EffectColumn(self, at.joint(k), at.of_recording(column, number), percent, number)


class RecordingOffset(Effect):
    """Offsets that differ between recordings."""

    name, cause = "recording-offset", OFFSET
    sentence = "The offset of the torque of joint {joint} differs by {size} of its torque (rms)"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        percent = at.accuracy.of("recording_offset_percent")
        for k in at.driven:
            column = (
                percent / 100 * at.own(k, [np.full(len(tau), at.rms[k]) for tau in at.predicted])[..., None]
            )
            for number in range(len(at.parts)):
                yield EffectColumn(self, at.joint(k), at.of_recording(column, number), percent, number)


class RecordingDelay(Effect):
    """Delays that differ between recordings."""

    name, cause, unit = "recording-delay", DELAY, "ms"
    sentence = "The torque of joint {joint} is late by {size}"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        ms = at.accuracy.of("recording_delay_ms")
        for k in at.driven:
            column = ms / 1e3 * delayed(at, k)[..., None]
            for number in range(len(at.parts)):
                yield EffectColumn(self, at.joint(k), at.of_recording(column, number), ms, number)
