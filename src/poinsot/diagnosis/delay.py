"""Delays of torques relative to positions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ..arrays import JointSamples, Vector
from ..estimate import Finding
from ..exceptions import InvalidSignals
from ..regression.inverse_dynamics import InverseDynamics
from ..signals.alignment import Delay
from ..signals.signals import Signals
from .case import joints_of, mapped, recordings_of
from .corrections import LARGEST_S, Nuisance, best_differences, differences, longest_delay
from .effects.efforts import DELAY
from .effects.friction import LateReversal
from .examination import Examination
from .explanations import UNMOVED, Candidate, Explained, Explanation, severity_of


def one_undelayed(signals: Signals, delay_s: float, joint: int) -> JointSamples:
    """Torques with that of one joint taken at t + delay, by linear interpolation."""
    tau = signals.tau.copy()
    tau[:, joint] = np.interp(signals.time + delay_s, signals.time, tau[:, joint])
    return tau


class TorqueDelay(Explanation):
    """A delay common to all torques, and one of each joint's.

    Class variables:
        warning_deg, error_deg: phase lag of the delay at the highest frequency of the rows.
    """

    warning_deg, error_deg = 6.0, 30.0

    cause = DELAY

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        joints, rate = joints_of(case.thin), max(signals.rate_hz for signals in recordings_of(case.thin))
        together = replace(
            differences([Nuisance("delay")], longest_delay(case.thin, LARGEST_S)),
            cause=self.cause,
            finding=self._finding,
            step=min(0.2 / rate, 1e-3),
            matters=self.warning_deg / 360 / case.highest_hz,
            rivals=(LateReversal.name,),
        )
        yield together
        for k, joint in enumerate(joints if len(joints) > 1 else ()):

            def change(problem: InverseDynamics, x: Vector, _: Vector, k: int = k) -> InverseDynamics:
                return mapped(problem, lambda s: replace(s, tau=one_undelayed(s, x[0], k)))

            yield replace(together, where=(joint,), change=change, motion=UNMOVED)

    def _finding(self, case: Examination, explained: Explained) -> Finding:
        delay, std = float(explained.nuisance[0]), float(explained.std[0])
        phase = 360 * case.highest_hz * abs(delay)
        (joint,) = explained.candidate.where or ("",)
        late = "late" if delay > 0 else "early"
        effort = recordings_of(case.problem)[0].effort
        name, whose = (f'"{effort}.{joint}"', f"{effort} of joint {joint}") if joint else (effort, effort)
        return self.cause.finding(
            severity_of(phase, self.warning_deg, self.error_deg),
            f"The {whose} is {1e3 * abs(delay):.3g} +- {1.96e3 * std:.2g} ms {late} against the positions: without "
            "the delay",
            f"Write delays = {{ {name} = {delay:.4f} }} in [preprocessing].",
            joint,
        )


def estimate_effort_delay(problem: InverseDynamics, largest_s: float = 0.02) -> Delay:
    """Estimate by how much the efforts lag behind the motion, from the robot's dynamics.

    Smooth and decimate as for identification; `align(recording, {"torque": delay.seconds})` then brings the efforts
    forward, or `corrections.correct` does both. Other effects missing in the model can look like a delay.

    Args:
        problem: the problem that `inverse_dynamics` returns.
        largest_s: delays between -largest_s and largest_s are tried [s].

    Raises:
        InvalidSignals: if the recording is too short, or the residual is smallest at the end of the range.
    """
    signals = recordings_of(problem)
    if min(len(recording) / recording.rate_hz for recording in signals) < 4 * largest_s:
        raise InvalidSignals(f"the recordings are too short to look for delays up to {largest_s:g} s")
    if problem.equations <= 2 * len(problem.base):
        raise InvalidSignals(
            f"{problem.equations} equations for {len(problem.base)} parameters leave no residuals that determine a "
            "delay; decimate less or record longer"
        )
    case, explained = best_differences(problem, [Nuisance("delay")], largest_s)
    return Delay(
        float(explained.nuisance[0]),
        float(explained.std[0]),
        max(recording.rate_hz for recording in signals),
        explained.solved.relative_error,
        case.declared.relative_error,
    )
