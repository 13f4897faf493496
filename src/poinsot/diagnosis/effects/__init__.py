"""Systematic effects, one class each; `EFFECTS` lists them.

effect      what an effect is, and the derivatives that all share
efforts     gains, cross-talk, drift, delay
friction    friction that the model lacks, and torques that depend on position
geometry    zeros, encoders, lengths, the base, elastic joints, the clock
"""

from .effect import Column, Effect, Linearization
from .efforts import (
    CrossTalk,
    Delay,
    Gain,
    GainWithSpeed,
    OffsetDrift,
    RecordingDelay,
    RecordingGain,
    RecordingOffset,
    Saturation,
)
from .friction import (
    FrictionCurve,
    LateReversal,
    LoadFriction,
    Offset,
    RecordingFriction,
    Ripple,
    Spring,
    Warming,
)
from .geometry import (
    Axis,
    Clock,
    Eccentricity,
    Elasticity,
    Length,
    MotionCoupling,
    RecordingClock,
    RecordingZero,
    Tilt,
    Zero,
)

EFFECTS: tuple[Effect, ...] = (
    Zero(),
    Gain(),
    Delay(),
    Tilt(),
    Clock(),
    Length(),
    Axis(),
    Eccentricity(),
    MotionCoupling(),
    CrossTalk(),
    Warming(),
    OffsetDrift(),
    GainWithSpeed(),
    Saturation(),
    LateReversal(),
    FrictionCurve(),
    LoadFriction(),
    Elasticity(),
    Offset(),
    Spring(),
    Ripple(),
)
"""Effects that all recordings share."""

RECORDING_EFFECTS: tuple[Effect, ...] = (
    RecordingZero(),
    RecordingGain(),
    RecordingDelay(),
    RecordingOffset(),
    RecordingClock(),
    RecordingFriction(),
)
"""Effects that differ between recordings."""

__all__ = ["EFFECTS", "RECORDING_EFFECTS", "Column", "Effect", "Linearization"]
