"""The setpoint of a controller between the commands that it gets, and the times at which it got them.

A command u that is held until the next one changes in steps, and the rate of a step is an impulse: what a gain on it
gives, cut at a torque limit, depends on the step of the simulation and on nothing in the robot. Controllers do not have
impulses. They plan a motion to the new command, interpolate, or take differences over a period of their own. With this
time as the ramp T, the setpoint is the mean of the last T of what was commanded,

    s(t) = 1/T integral of u from t - T to t,        s'(t) = (u(t) - u(t - T)) / T

a line from one command to the next where T is the time between them. On average the setpoint is T / 2 later than u.

Commands have one of three clocks. Where a log has them in a message of their own, its stamps are their times. Where it
has them on the rows of the positions, these are, unless the command changes on another clock: such a log stamps each
change with the next row, late by 0 to one interval h of the log, by h / 2 on average. Changes of a command with a
regular clock of its own lie on a line,

    stamp_k = t_0 + n_k P + h / 2 + a residual within h / 2

whose fit gives the times of the changes, t_0 + n_k P (`regular_changes`). Where stamps are on the line exactly, command
and log have one clock, and stamps are right.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ...arrays import Times, Vector

SAME_TIME_S = 1e-9
"""Ends of ramps as near as this to each other are one [s]."""


MIN_CHANGES = 50
"""Changes of a command from which a clock of its own is looked for."""

WITHIN, SPREAD = 0.75, 0.15
"""Largest residual of the stamps, and least standard deviation of those from two clocks [intervals of the log]."""


def regular_changes(time: Times, command: Vector) -> tuple[Vector, float] | None:
    """Times of a held command's changes, and their period, where it has a regular clock that is not the log's.

    Args:
        time, command: (T,) samples of the log.

    Returns:
        (C,) times at which the samples of `np.flatnonzero(np.diff(command)) + 1` were commanded [s]; period [s].
    """
    changed = np.flatnonzero(np.diff(command)) + 1
    if len(changed) < MIN_CHANGES:
        return None
    stamps, h = time[changed], float(np.median(np.diff(time)))
    period = float(np.median(np.diff(stamps)))
    if period < 1.5 * h:
        return None
    numbers, line = np.zeros(len(stamps)), np.array([period, stamps[0]])
    for _ in range(3):
        numbers = np.concatenate([[0.0], np.cumsum(np.maximum(np.round(np.diff(stamps) / line[0]), 1))])
        line = np.polyfit(numbers, stamps, 1)
    residuals = (stamps - np.polyval(line, numbers)) / h
    if np.abs(residuals).max() > WITHIN or residuals.std() < SPREAD:
        return None
    return np.polyval(line, numbers) - 0.5 * h, float(line[0])


@dataclass(frozen=True, eq=False)
class Commands:
    """What a controller was commanded, and when.

    Args:
        time: (C,) increasing [s]. values: (C,) commanded then [rad], the first one before.
        hold: whether a command is held until the next; else it is linear between them.
        clock: whose times these are: rows of the log, the regular clock that fits them, or stamps of the commands.
    """

    time: Times
    values: Vector
    hold: bool
    clock: Literal["rows", "fitted", "stamps"] = "rows"

    @staticmethod
    def of_rows(time: Times, values: Vector, *, hold: bool) -> Commands:
        """Commands (T,) on the rows of a log, at times (T,): on the regular clock of their changes where it has one."""
        time, values = np.ascontiguousarray(time, dtype=float), np.ascontiguousarray(values, dtype=float)
        regular = regular_changes(time, values) if hold else None
        if regular is None:
            return Commands(time, values, hold)
        kept = np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1])
        return Commands(np.concatenate([time[:1], regular[0]]), values[kept], hold, "fitted")

    @property
    def period(self) -> float:
        """Median time from a command to the next [s]."""
        return float(np.median(np.diff(self.time)))

    def shifted(self, seconds: float) -> Commands:
        """The same, so much later [s]."""
        return replace(self, time=self.time + seconds)

    def at(self, time: Times) -> Vector:
        """(T,) the command at times (T,)."""
        if not self.hold:
            return np.interp(time, self.time, self.values)
        return self.values[np.maximum(np.searchsorted(self.time, time, side="right") - 1, 0)]

    def setpoint(self, ramp: float = 0.0) -> Setpoint:
        """What a controller with this ramp tracks [s]; it is of no effect where commands are linear."""
        return Setpoint.of(self.time, self.values, hold=self.hold, ramp=ramp)


@dataclass(frozen=True, eq=False)
class Setpoint:
    """What a controller tracks.

    Args:
        time: (S,) increasing [s]. position: (S,) then [rad], the first one before.
        hold: whether it keeps its value until the next; else it is linear between them.
    """

    time: Times
    position: Vector
    hold: bool

    @staticmethod
    def of(time: Times, command: Vector, *, hold: bool, ramp: float = 0.0) -> Setpoint:
        """The setpoint of commands (T,) at times (T,).

        Args:
            hold: whether a command is held until the next; else it is linear between them, and there is no ramp.
            ramp: T of the equations [s].
        """
        time, command = np.ascontiguousarray(time, dtype=float), np.ascontiguousarray(command, dtype=float)
        if not hold or ramp == 0.0:
            return Setpoint(time, command, hold)
        ends = np.sort(np.concatenate([time, time + ramp]))
        ends = ends[np.diff(ends, prepend=-np.inf) > SAME_TIME_S]
        held = Setpoint(time, command, hold)
        return Setpoint(ends, (held.integral(ends) - held.integral(ends - ramp)) / ramp, False)

    def integral(self, at: Times) -> Vector:
        """(K,) of the position from the first time to times (K,) [rad s]."""
        interval, position = np.diff(self.time), self.position
        rate = np.zeros(len(position)) if self.hold else np.append(np.diff(position) / interval, 0.0)
        until = np.concatenate([[0.0], np.cumsum(interval * (position[:-1] + 0.5 * interval * rate[:-1]))])
        k = np.clip(np.searchsorted(self.time, at, side="right") - 1, 0, len(position) - 1)
        ds = at - self.time[k]
        # before the first time the position is constant
        return until[k] + ds * (position[k] + 0.5 * rate[k] * np.maximum(ds, 0.0))
