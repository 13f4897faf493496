"""Systematic effects, one class each; `EFFECTS` lists them.

effect      what an effect is, and the derivatives that all share
efforts     gains, cross-talk, drift, delay
friction    friction that the model lacks, and torques that depend on position
geometry    zeros, encoders, lengths, the base, elastic joints, the clock
"""

from .effect import Effect, EffectColumn, Linearization
from .efforts import (
    CrossTalk,
    Gain,
    GainWithSpeed,
    LateTorque,
    OffsetDrift,
    RecordingDelay,
    RecordingGain,
    RecordingOffset,
    Saturation,
)
from .friction import (
    CurvedFriction,
    LateReversal,
    LoadFriction,
    Offset,
    PositionTorque,
    RecordingFriction,
    TurnRipple,
    Warming,
)
from .geometry import (
    Axis,
    ClockRate,
    Eccentricity,
    Elasticity,
    JointPlace,
    MotionCoupling,
    RecordingClock,
    RecordingZero,
    Tilt,
    ZeroOffset,
)

EFFECTS: tuple[Effect, ...] = (
    ZeroOffset(),
    Gain(),
    LateTorque(),
    Tilt(),
    ClockRate(),
    JointPlace(),
    Axis(),
    Eccentricity(),
    MotionCoupling(),
    CrossTalk(),
    Warming(),
    OffsetDrift(),
    GainWithSpeed(),
    Saturation(),
    LateReversal(),
    CurvedFriction(),
    LoadFriction(),
    Elasticity(),
    Offset(),
    PositionTorque(),
    TurnRipple(),
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

__all__ = ["EFFECTS", "RECORDING_EFFECTS", "Effect", "EffectColumn", "Linearization"]
