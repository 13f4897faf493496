"""Torques that are late or early against the positions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import JointSamples
from ..estimate import Finding
from ..signals.decimation import PASSBAND
from ..signals.signals import Signals
from .case import Examination
from .changes import UNMOVED, joints_of, mapped, recordings_of
from .check import Cause
from .explanations import Candidate, Explained, Explanation, improvement, severity_of


def one_undelayed(signals: Signals, delay_s: float, joint: int) -> JointSamples:
    """Torques, that of one joint taken at t + delay, between samples by a straight line."""
    tau = signals.tau.copy()
    tau[:, joint] = np.interp(signals.time + delay_s, signals.time, tau[:, joint])
    return tau


def undelayed(signals: Signals, delay_s: float, whole_s: float) -> Signals:
    """Torque at t + delay beside the motion at t: whole samples by index, the rest by moving the smooth motion."""
    rate = 1 / float(np.median(np.diff(signals.time)))
    k = round(whole_s * rate)
    h = k / rate - delay_s  # the motion is taken at t + h
    jerk = np.gradient(signals.a, axis=0) * rate
    q = signals.q + h * signals.v + 0.5 * h**2 * signals.a
    v = signals.v + h * signals.a + 0.5 * h**2 * jerk
    a = signals.a + h * jerk
    T = len(signals)
    motion, torque = (slice(0, T - k), slice(k, T)) if k >= 0 else (slice(-k, T), slice(0, T + k))
    return replace(
        signals,
        time=signals.time[motion],
        q=q[motion],
        v=v[motion],
        a=a[motion],
        tau=signals.tau[torque],
        q_std=None,
        v_std=None,
        a_std=None,
    )


@dataclass(frozen=True)
class TorqueDelay(Explanation):
    """One delay of all torques, and one of each joint's.

    Args:
        warning_deg, error_deg: phase that the delay makes at the highest frequency of the rows.
        largest_s: of the search, to either side.
    """

    warning_deg: float = 6.0
    error_deg: float = 30.0
    largest_s: float = 0.25

    cause = Cause(
        "delay",
        "Torques were recorded later (or earlier) than positions: inertia and friction take up the difference.",
        "Write the delay in [preprocessing]: delays = { torque = ... } [s].",
    )

    def candidates(self, case: Examination) -> Iterable[Candidate]:
        signals = recordings_of(case.thin)
        longest = min(self.largest_s, 0.1 * min(len(each) / each.rate_hz for each in signals))
        starts = [(float(d),) for d in np.linspace(-longest, longest, 21)]
        step = min(0.2 / max(each.rate_hz for each in signals), 1e-3)
        if case.thin.robot.floating_base:
            return
        matters = self.warning_deg / 360 / highest_hz(case)
        joints = joints_of(case.thin)
        which: list[int | None] = [None, *(range(len(joints)) if len(joints) > 1 else ())]
        for k in which:
            yield Candidate(
                self,
                () if k is None else (joints[k],),
                # the same whole samples on both sides of a finite difference, or there would be other rows
                (lambda problem, x, near: mapped(problem, lambda s: undelayed(s, x[0], near[0])))
                if k is None
                else lambda problem, x, _, k=k: mapped(  # type: ignore[misc]
                    problem, lambda s: replace(s, tau=one_undelayed(s, x[0], k))
                ),
                starts,
                step,
                matters,
                largest_step=0.02,
                motion=None if k is None else UNMOVED,
            )

    def finding(self, case: Examination, explained: Explained) -> Finding:
        delay, std = float(explained.nuisance[0]), float(explained.std[0])
        phase = 360 * highest_hz(case) * abs(delay)
        (joint,) = explained.candidate.where or ("",)
        late = "late" if delay > 0 else "early"
        effort = recordings_of(case.problem)[0].effort
        name, whose = (f'"{effort}.{joint}"', f"{effort} of joint {joint}") if joint else (effort, effort)
        return Finding(
            self.cause.name,
            severity_of(phase, self.warning_deg, self.error_deg),
            f"The {whose} is {1e3 * abs(delay):.3g} +- {1.96e3 * std:.2g} ms {late} against the positions: without "
            f"the delay, {improvement(case, explained)}.",
            f"Write delays = {{ {name} = {delay:.4f} }} in [preprocessing].",
            joint,
        )


def highest_hz(case: Examination) -> float:
    """End of the pass-band of the rows [Hz]."""
    rates = []
    for each in recordings_of(case.problem):
        factor = each.decimation.factor if each.decimation is not None else 1
        rates.append(PASSBAND * each.rate_hz / factor / 2)
    cutoff = getattr(recordings_of(case.problem)[0].method, "cutoff_hz", None)
    return min(max(rates), float(np.max(cutoff)) if cutoff is not None else np.inf)
