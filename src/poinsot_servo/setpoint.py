"""The setpoint of a controller between the commands that it gets.

A command u that is held until the next one changes in steps, and the rate of a step is an impulse: what a gain on it
gives, cut at a torque limit, depends on the step of the simulation and on nothing in the robot. Controllers do not have
impulses. They plan a motion to the new command, interpolate, or take differences over a period of their own. With this
time as the ramp T, the setpoint is the mean of the last T of what was commanded,

    s(t) = 1/T integral of u from t - T to t,        s'(t) = (u(t) - u(t - T)) / T

a line from one command to the next where T is the time between them. On average the setpoint is T / 2 later than u.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poinsot.arrays import Times, Vector

SAME_TIME_S = 1e-9
"""Ends of ramps as near as this to each other are one [s]."""


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
        integral = np.concatenate([[0.0], np.cumsum(np.diff(time) * command[:-1])])

        def integrated(at: Times) -> Vector:
            k = np.clip(np.searchsorted(time, at, side="right") - 1, 0, len(time) - 1)
            return integral[k] + (at - time[k]) * command[k]

        return Setpoint(ends, (integrated(ends) - integrated(ends - ramp)) / ramp, False)
