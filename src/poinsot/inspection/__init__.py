"""Inspect recordings before an estimation: facts, and findings with remedies.

    clock       rate, jitter, gaps
    channels    range, resolution, repeated and saturated samples, missing values
    motion      peak speeds against the model's limits, standstills

A finding names the key of the project file that solves it. Single samples are checked as in an examination of a result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Brief
from ..diagnosis import SAMPLE_CHECKS
from ..diagnosis.case import samples_of
from ..estimate import Finding, Severity
from ..estimate.finding import ordered
from ..exceptions import InvalidRecording, listing
from ..io.results import plain
from ..recording import EFFORTS, IMPACT_VELOCITIES, Recording
from ..signals.bandwidth import FilterProposal
from .channels import ChannelFacts, channel_facts, channel_findings, rounding_findings
from .clocks import rate_of_arrival
from .motion import ClockFacts, MotionFacts, clock_facts, clock_findings, motion_facts, motion_findings

INSPECT_SCHEMA = "poinsot.inspect/1"


@dataclass(frozen=True, eq=False, repr=False)
class Inspection(Brief):
    """Facts and findings of one recording, the worst finding first. `filters`: filters proposed from the
    motion's spectrum; None: not computed.
    """

    name: str
    clock: ClockFacts
    motion: MotionFacts
    channels: tuple[ChannelFacts, ...]
    findings: tuple[Finding, ...]
    steps: tuple[str, ...] = ()
    filters: FilterProposal | None = None

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The recording as a whole, in words."""
        clock, motion = self.clock, self.motion
        jitter = f"rms {1e3 * clock.rms_jitter_s:.3g} ms, largest {1e3 * clock.largest_jitter_s:.3g} ms"
        # an interval is a difference of two rounded times
        rounding = 4 * np.spacing(abs(clock.start_s) + clock.duration_s)
        facts = [
            ("duration", f"{clock.duration_s:.6g} s"),
            ("samples", f"{clock.samples}"),
            ("rate", f"{clock.rate_hz:.6g} Hz"),
            ("jitter", jitter if clock.largest_jitter_s > rounding else "none"),
            ("gaps", str(len(clock.gaps_s)) if clock.gaps_s else "none"),
        ]
        if motion.joints:
            still = sum(stop - start for start, stop in motion.still_s)
            periods = f"{len(motion.still_s)} period{'' if len(motion.still_s) == 1 else 's'}"
            facts.append(("standing still", f"{still:.3g} s in {periods}" if still else "never"))
            moved = np.flatnonzero(motion.moving)
            if len(moved):
                first, last = (clock.start_s + k * clock.interval_s for k in moved[[0, -1]])
                facts.append(("motion", f"{first:.2f} s to {last:.2f} s"))
        if motion.window_s is not None:
            facts.append(("proposed window_s", f"[{motion.window_s[0]:.2f}, {motion.window_s[1]:.2f}]"))
        if self.filters is not None:
            decimate_hz = self.filters.decimate_hz
            facts.append(("proposed cutoff_hz", f"{self.filters.cutoff_hz:g}"))
            facts.append(("proposed decimate_hz", "none" if decimate_hz is None else f"{decimate_hz:g}"))
        return tuple(facts)

    @property
    def harmless(self) -> bool:
        """Whether there is no error and no warning."""
        return all(finding.severity is Severity.note for finding in self.findings)

    def with_findings(self, *findings: Finding) -> Inspection:
        """The inspection with more findings."""
        return replace(self, findings=ordered((*self.findings, *findings)))

    @property
    def rows(self) -> tuple[dict[str, Any], ...]:
        """One row a channel, in words."""
        return tuple(
            {
                "channel": channel.name,
                "unit": channel.unit,
                "minimum": channel.minimum,
                "maximum": channel.maximum,
                "peak speed": channel.peak_speed,
                "limit": channel.speed_limit,
                "step": f"{channel.digits} digits" if channel.digits else channel.step,
                "repeated [%]": channel.repeated_percent,
                "stale [%]": channel.stale_percent,
                "masked": channel.invalid,
            }
            for channel in self.channels
        )

    def __str__(self) -> str:
        lines = [f"{self.name}: " + ", ".join(f"{name} {value}" for name, value in self.facts)]
        return "\n".join([*lines, *(f"{finding.severity.name} {finding}" for finding in self.findings)])


def inspect(
    recording: Recording,
    limits: Mapping[str, float] | None = None,
    *,
    velocity_map: np.ndarray | None = None,
    passive: Sequence[str] = (),
    name: str = "recording",
    any_turn: bool = False,
    standstills: bool = True,
) -> Inspection:
    """Inspect a recording before estimating from it.

    Args:
        recording: recording with channels named `quantity.joint`.
        limits: joint -> largest speed that the model allows [rad/s] or [m/s].
        velocity_map: (n, n) from measured velocities to joint velocities, in the order of the recording's positions;
            the inverse reduction matrix where positions are the motors'. None: positions are the joints'.
        passive: joints without a motor, which need no effort.
        name: name of the recording.
        any_turn: whether angles may be known modulo full turns and at any times, by a method that estimates the motion.
        standstills: whether standstills are reported; a regression needs that.

    Raises:
        InvalidRecording: if the map does not fit the recording's joints.
    """
    if any_turn:
        recording = unwrapped(recording)
    joints = recording.joints("position")
    if velocity_map is not None and velocity_map.shape != (len(joints), len(joints)):
        raise InvalidRecording(
            f"the drive has {len(velocity_map)} joints, the recording has positions of {len(joints)}: {listing(joints)}"
        )
    clock = clock_facts(recording)
    motion = motion_facts(recording, velocity_map)
    channels = {name: channel_facts(recording, name, motion.moving) for name in recording.channels}
    for joint, peak in zip(joints, motion.peak_speeds.tolist(), strict=True):
        limit, position = (limits or {}).get(joint, 0.0), f"position.{joint}"
        # URDF has 0 where no limit is known.
        known = limit if np.isfinite(limit) and limit > 0 else None
        channels[position] = replace(channels[position], peak_speed=peak, speed_limit=known)
    rate_hz = rate_of_arrival(recording.time, recording.stack("position")) if joints else None
    findings = [
        *clock_findings(clock, not any_turn, rate_hz),
        *motion_findings(motion, recording, standstills),
    ]
    impacts = bool(recording.joints(IMPACT_VELOCITIES[0]))  # rows of impacts are not a motion
    findings = [] if impacts else findings
    efforts = {joint for quantity in (*EFFORTS, "position_command") for joint in recording.joints(quantity)}
    if without := [joint for joint in joints if joint not in (*efforts, *passive)]:
        message = f"There is no torque, current or voltage for {listing(without)}."
        remedy = f"Name the column, or list what has no motor: passive = {json.dumps(without)} in [drive]; "
        remedy += f"or motors that were not measured: not_measured = {json.dumps(without)} in the table of the efforts."
        findings.append(Finding("missing-effort", Severity.warning, message, remedy))
    samples = samples_of(recording, passive)
    for check in SAMPLE_CHECKS if motion.moves else ():
        sample_findings = check.look_at(samples, "the recording")
        findings += [finding for finding in sample_findings if finding.where not in motion.resting]
    for channel in () if impacts else channels.values():
        quantity, _, joint = channel.name.partition(".")
        rests = quantity == "position" and joint in motion.resting
        findings += channel_findings(
            channel, len(recording), clock.rate_hz, rests=rests, passive=joint in passive or any_turn
        )
    if not any_turn:
        findings += rounding_findings(tuple(channels.values()))
    return Inspection(name, clock, motion, tuple(channels.values()), ordered(findings), recording.steps)


def unwrapped(recording: Recording) -> Recording:
    """The recording with unwrapped angles, which change by less than half a turn per sample."""
    channels = {
        name: np.unwrap(values) if name.startswith("position.") and recording.units[name] == "rad" else values
        for name, values in recording.channels.items()
        if name not in recording.valid  # a masked sample may have any value
    }
    return replace(recording, channels={**recording.channels, **channels})


def inspect_json(inspections: tuple[Inspection, ...] | list[Inspection]) -> dict[str, Any]:
    """Inspections as plain values, schema `poinsot.inspect/1`."""
    recordings = [
        {
            "name": inspection.name,
            **asdict(inspection.clock),
            "still_s": inspection.motion.still_s,
            "window_s": inspection.motion.window_s,
            "filters": None if inspection.filters is None else asdict(inspection.filters),
            "channels": [asdict(channel) for channel in inspection.channels],
            "findings": [
                plain(finding)
                | {"channel": finding.where or None}
                | {"sentence": f"{finding.message} {finding.remedy}".rstrip()}
                for finding in inspection.findings
            ],
            "steps": inspection.steps,
        }
        for inspection in inspections
    ]
    return plain({"schema": INSPECT_SCHEMA, "recordings": recordings})
