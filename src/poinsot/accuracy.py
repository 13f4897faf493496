"""What a careful laboratory gets wrong: standard deviations of systematic errors of recordings, robots and models.

They are the prior of every systematic effect that an examination estimates beside the parameters. A laboratory that
knows better says so, row by row or with `exact`; an effect of zero is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .ranges import NotNegative


@dataclass(frozen=True)
class Accuracy:
    """Standard deviations of systematic errors; names end in their units.

    Args:
        exact: whether the laboratory has none of these errors; the others are then not used.
        zero_deg: zero of a joint: a mark or an end stop found by eye.
        base_deg: inclination of the base: a floor, or a table without a level.
        gain_percent: torque constant of a motor or sensitivity of a sensor, each by itself.
        common_gain_percent: the same for all joints together; it scales all values, see `std_absolute`.
        gain_with_speed_percent: change of a gain up to the largest speed (back EMF), of the torque carried: what
            friction takes is defined by the readings.
        saturation_percent: change of a gain at the largest torque (magnetic saturation).
        cross_talk_percent: torque of a neighbouring joint in a reading.
        drift_percent: drift of a torque's offset over a recording, relative to the torque (rms).
        offset_percent: constant torque that the law of friction lacks, relative to the torque (rms).
        delay_ms: efforts against positions: filters and buses.
        clock_percent: rate of the clock.
        length_mm, length_percent: distance between joints, whichever is larger: drawings and tolerances.
        floor_mm, floor_deg: height and slope of the floor that a thrown body strikes.
        tracked_point_mm: tracked point of a thrown body from its center of mass, along x and along y.
        axis_deg: direction of a joint's axis.
        unit_deg: orientation of an inertial unit: its seat and its housing.
        unit_gain_percent: scale of an axis of a gyro or accelerometer: an uncalibrated one.
        eccentricity_deg: error of an encoder that repeats with each turn.
        elasticity_deg: deflection of a joint under its torque (rms).
        coupling_percent: motion of a joint with its neighbour's: belts and differentials.
        spring_percent, ripple_percent: torque that depends on position, linearly or once per turn, relative to the
            torque (rms): cables, counterbalances, gears.
        friction_warming_percent: change of friction during a recording.
        friction_load_percent: friction that grows with the torque that a gear carries.
        friction_curve_percent: rise of friction towards standstill (Stribeck), relative to its mean, and curvature of
            viscous friction with speed, relative to its own.
        reversal_ms: friction that follows the direction of motion late: presliding, sticking, backlash.
        recording_gain_percent, recording_offset_percent, recording_zero_deg, recording_delay_ms,
            recording_friction_percent, recording_clock_percent: differences between recordings.
    """

    exact: bool = False
    zero_deg: NotNegative = 0.5
    base_deg: NotNegative = 1.0
    gain_percent: NotNegative = 5.0
    common_gain_percent: NotNegative = 5.0
    gain_with_speed_percent: NotNegative = 5.0
    saturation_percent: NotNegative = 5.0
    cross_talk_percent: NotNegative = 2.0
    drift_percent: NotNegative = 3.0
    offset_percent: NotNegative = 3.0
    delay_ms: NotNegative = 2.0
    clock_percent: NotNegative = 0.3
    length_mm: NotNegative = 3.0
    length_percent: NotNegative = 0.5
    floor_mm: NotNegative = 5.0
    floor_deg: NotNegative = 1.0
    tracked_point_mm: NotNegative = 5.0
    axis_deg: NotNegative = 0.3
    unit_deg: NotNegative = 1.0
    unit_gain_percent: NotNegative = 1.0
    eccentricity_deg: NotNegative = 0.15
    elasticity_deg: NotNegative = 0.1
    coupling_percent: NotNegative = 1.0
    spring_percent: NotNegative = 3.0
    ripple_percent: NotNegative = 2.0
    friction_warming_percent: NotNegative = 15.0
    friction_load_percent: NotNegative = 5.0
    friction_curve_percent: NotNegative = 20.0
    reversal_ms: NotNegative = 10.0
    recording_gain_percent: NotNegative = 2.0
    recording_offset_percent: NotNegative = 3.0
    recording_zero_deg: NotNegative = 0.1
    recording_delay_ms: NotNegative = 1.0
    recording_friction_percent: NotNegative = 10.0
    recording_clock_percent: NotNegative = 0.1

    def between_recordings(self) -> Accuracy:
        """Of one recording against others of the same robot, with whose parameters it is compared."""
        same = {
            name: getattr(self, f"recording_{name}")
            for name in ("zero_deg", "gain_percent", "delay_ms", "clock_percent")
        }
        return replace(
            self, **same, base_deg=self.recording_zero_deg, length_mm=0.0, length_percent=0.0, axis_deg=0.0
        )

    def of(self, name: str) -> float:
        """Standard deviation by name, in its unit; 0 where the laboratory is exact."""
        return 0.0 if self.exact else float(getattr(self, name))


CAREFUL = Accuracy()
"""What a careful laboratory gets wrong."""
