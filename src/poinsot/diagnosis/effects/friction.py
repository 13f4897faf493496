"""Effects of joints: friction that the model lacks, and torques that depend on position."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..cause import Cause
from .effect import SLOW, Effect, EffectColumn, Linearization

MISSING = Cause(
    "missing-term",
    "Residuals of a joint depend on a variable that the model does not contain in this form.",
    "Add the term: another friction law, a spring, a coupling; or exclude the motion that excites it.",
)
WARMING = Cause(
    "friction-drift",
    "Friction changes during a recording: a gear warms.",
    "Record with a warm robot, identify from a part with between_s, or write [[robot.efforts]] "
    'law = "warming-friction" where a temperature was recorded.',
)
LATE = Cause(
    "reversal-lag",
    "Friction follows reversals of the motion late: presliding, sticking or backlash.",
    "No action is required; intervals include it. Friction at low speed needs a slower motion.",
)

POSITION_REMEDY = (
    'Write [[robot.efforts]] law = "spring", "counterbalance", "ripple" or "known", with joint = "{joint}".'
)

STRIBECK = 0.1
"""Stribeck's speed, as part of the largest speed."""

NO_GROWTH = 1e-3
"""Part of friction that grows with speed, relative to all of it, below which its law has none."""


def smooth_sign(at: Linearization, k: int, part: int) -> np.ndarray:
    return np.tanh(at.speed[part][:, k] / (SLOW * at.top_speed[k]))


def mean_friction(at: Linearization, k: int) -> float:
    return float(np.mean([np.abs(f[:, k]).mean() for f in at.friction]))


def mean_viscous_friction(at: Linearization, k: int) -> float:
    """The part of `mean_friction` that grows with speed; all of it where the law has no such part."""
    u = np.abs(np.concatenate([v[:, k] for v in at.speed])) / at.top_speed[k]
    f = np.abs(np.concatenate([f[:, k] for f in at.friction]))
    moving, mean = u > STRIBECK, mean_friction(at, k)
    varies = moving.any() and np.ptp(u[moving]) > 0
    slope = float(np.polyfit(u[moving], f[moving], 1)[0]) if varies else 0.0
    viscous = abs(slope) * float(u.mean())
    return min(viscous, mean) if viscous > NO_GROWTH * mean else mean


class Warming(Effect):
    """Friction that changes with time: linearly, and fast at first."""

    name, cause, together = "warming", WARMING, True
    sentence = "Friction of {joint} changes by {size} during a recording"
    unchecked = "warming of the friction of joint {joint}"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        percent = at.accuracy.of("friction_warming_percent")
        profiles = (lambda x: x - 0.5, lambda x: np.exp(-4 * x) - (1 - np.exp(-4)) / 4)
        for k in at.driven:
            columns = [
                at.own(k, [f[:, k] * profile(x[:, 0]) for f, x in zip(at.friction, at.progress, strict=True)])
                for profile in profiles
            ]
            yield EffectColumn(self, at.joint(k), percent / 100 * np.stack(columns, axis=2), percent)


class LoadFriction(Effect):
    """Friction that grows with the torque that a gear carries."""

    name, cause, of_model, together = "load-friction", MISSING, True, True
    sentence = "Friction of {joint} follows its load, by {size} of the torque carried"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        percent = at.accuracy.of("friction_load_percent")
        for k in at.driven:
            column = at.own(
                k, [np.abs(load[:, k]) * smooth_sign(at, k, part) for part, load in enumerate(at.carried)]
            )
            yield EffectColumn(self, at.joint(k), percent / 100 * column[..., None], percent)


class CurvedFriction(Effect):
    """Friction that rises towards standstill, and viscous friction that is curved: each relative to its mean."""

    name, cause, of_model, together = "friction-curve", MISSING, True, True
    sentence = "Friction of {joint} is not viscous and Coulomb: it is off by {size}"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        percent = at.accuracy.of("friction_curve_percent")
        for k in at.driven:
            size, viscous = mean_friction(at, k), mean_viscous_friction(at, k)
            u = [v[:, k] / at.top_speed[k] for v in at.speed]
            slow = at.own(
                k,
                [
                    size * smooth_sign(at, k, part) * np.exp(-((x / STRIBECK) ** 2))
                    for part, x in enumerate(u)
                ],
            )
            curved = at.own(k, [viscous * x * np.abs(x) for x in u])
            yield EffectColumn(self, at.joint(k), percent / 100 * np.stack([slow, curved], axis=2), percent)


class LateReversal(Effect):
    """Friction as of a moment before: dry friction that follows reversals late."""

    name, cause, unit, together = "reversal", LATE, "ms", True
    sentence = "Friction of {joint} follows reversals of its motion {size} late"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        ms = at.accuracy.of("reversal_ms")
        time = [part.signals.time for part in at.parts]
        for k in at.driven:
            slopes = [-np.gradient(f[:, k], t) for f, t in zip(at.friction, time, strict=True)]
            yield EffectColumn(self, at.joint(k), ms / 1e3 * at.own(k, slopes)[..., None], ms)


class Offset(Effect):
    """A constant torque, which a law of friction may have."""

    name, cause, of_model = "offset", MISSING, True
    sentence = "A constant torque acts at joint {joint}, of {size} of its torque (rms)"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        percent = at.accuracy.of("offset_percent")
        for k in at.driven:
            column = at.own(k, [np.full(len(tau), at.rms[k]) for tau in at.predicted])
            yield EffectColumn(self, at.joint(k), percent / 100 * column[..., None], percent)

    def remedy(self) -> str:
        return "Write offset = true in [friction]."


class PositionTorque(Effect):
    """A torque proportional to position."""

    name, cause, of_model = "spring", MISSING, True
    sentence = (
        "A position-dependent effort at joint {joint} grows with position, by {size} of its torque (rms)"
    )

    def remedy(self) -> str:
        return POSITION_REMEDY

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        percent = at.accuracy.of("spring_percent")
        for k in () if at.robot.floating_base else at.driven:
            q = [q[:, k] for q in at.position]
            mean, spread = np.concatenate(q).mean(), np.concatenate(q).std() + 1e-12
            column = at.own(k, [at.rms[k] * (x - mean) / spread for x in q])
            yield EffectColumn(self, at.joint(k), percent / 100 * column[..., None], percent)


class TurnRipple(Effect):
    """A torque that repeats with each turn."""

    name, cause, of_model = "ripple", MISSING, True
    sentence = (
        "A position-dependent effort at joint {joint} repeats with its turns, with {size} of its torque (rms)"
    )

    def remedy(self) -> str:
        return POSITION_REMEDY

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        percent = at.accuracy.of("ripple_percent")
        for k in () if at.robot.floating_base else at.driven:
            columns = [
                at.own(k, [at.rms[k] * wave(q[:, k]) for q in at.position]) for wave in (np.sin, np.cos)
            ]
            yield EffectColumn(self, at.joint(k), percent / 100 * np.stack(columns, axis=2), percent)


class RecordingFriction(Effect):
    """Friction that differs between recordings."""

    name, cause = "recording-friction", WARMING
    sentence = "Friction of joint {joint} differs by {size}"

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        percent = at.accuracy.of("recording_friction_percent")
        for k in at.driven:
            column = percent / 100 * at.own(k, [f[:, k] for f in at.friction])[..., None]
            for number in range(len(at.parts)):
                yield EffectColumn(self, at.joint(k), at.of_recording(column, number), percent, number)
