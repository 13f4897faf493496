"""The setpoint of a controller between the commands that it gets.

A command u that is held until the next one changes in steps, and the rate of a step is an impulse: what a gain on it
gives, cut at a torque limit, depends on the step of the simulation and on nothing in the robot. Controllers do not have
impulses. They plan a motion to the new command, interpolate, or take differences over a period of their own. With this
time as the ramp T, the setpoint is the mean of the last T of what was commanded,

    s(t) = 1/T integral of u from t - T to t,        s'(t) = (u(t) - u(t - T)) / T

a line from one command to the next where T is the time between them. On average the setpoint is T / 2 later than u.

A log that samples a held command faster than it changes, on another clock, stamps each change with the next sample:
late by 0 to one interval h of the log, by h / 2 on average. Changes of a command with a clock of its own lie on a line,

    stamp_k = t_0 + n_k P + h / 2 + a residual within h / 2

whose fit gives the times of the changes, t_0 + n_k P (`regular_changes`). Where stamps are on the line exactly, command
and log have one clock, and stamps are right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poinsot.arrays import Times, Vector

SAME_TIME_S = 1e-9
"""Ends of ramps as near as this to each other are one [s]."""


MIN_CHANGES = 50
"""Changes of a command from which a clock of its own is looked for."""

WITHIN, SPREAD = 0.75, 0.15
"""Largest residual of the stamps, and least standard deviation of those from two clocks [intervals of the log]."""


def regular_changes(time: Times, command: Vector) -> tuple[Times, float] | None:
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
        if hold and (regular := regular_changes(time, command)) is not None:
            kept = np.concatenate([[0], np.flatnonzero(np.diff(command)) + 1])
            time, command = np.concatenate([time[:1], regular[0]]), command[kept]
        if not hold or ramp == 0.0:
            return Setpoint(time, command, hold)
        ends = np.sort(np.concatenate([time, time + ramp]))
        ends = ends[np.diff(ends, prepend=-np.inf) > SAME_TIME_S]
        integral = np.concatenate([[0.0], np.cumsum(np.diff(time) * command[:-1])])

        def integrated(at: Times) -> Vector:
            k = np.clip(np.searchsorted(time, at, side="right") - 1, 0, len(time) - 1)
            return integral[k] + (at - time[k]) * command[k]

        return Setpoint(ends, (integrated(ends) - integrated(ends - ramp)) / ramp, False)
