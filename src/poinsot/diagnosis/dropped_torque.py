"""Stretches in which the torque is a constant that it cannot be: zero, the last value, or the end of its range.

The parameters of the whole recording predict the torque of the stretch well enough to tell, for a stretch is short.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..arrays import JointSamples
from ..estimate import Finding, Severity, Unchecked
from .case import Case
from .changes import recordings_of
from .check import Cause, Check


@dataclass(frozen=True)
class DroppedTorque(Check):
    """Runs of one value.

    Args:
        shortest_s: of a run [s]; readings repeat themselves for less.
        shortest: samples of a run.
        wrong: part of a joint's torque (rms) by which a run must differ from the prediction, and from the residuals
            outside by a factor of `beyond`.
        error: share of the samples; below it is a warning.
    """

    shortest_s: float = 0.02
    shortest: int = 5
    wrong: float = 0.1
    beyond: float = 3.0
    error: float = 0.01

    of_samples = True
    causes = (
        Cause(
            "dropped-torque",
            "The torque is zero, or stays at one value, while the robot moves.",
            "Cut the stretch out: between_s, or two recordings.",
        ),
        Cause(
            "saturation",
            "The torque stays at the end of its range.",
            "Cut the stretch out, or widen the sensor's range: what is beyond was not recorded.",
        ),
    )

    def look(self, case: Case) -> Iterator[Finding | Unchecked]:
        for number, signals in enumerate(recordings_of(case.problem), start=1):
            least = max(self.shortest, int(np.ceil(self.shortest_s * signals.rate_hz)))
            dropped: dict[str, list[tuple[str, int, int, float]]] = {}
            predicted: JointSamples | None = None
            for k, joint in enumerate(signals.joints):
                if joint in case.problem.robot.drive.passive:
                    continue
                tau = signals.tau[:, k]
                found = runs(tau, least)
                if not found:
                    continue
                if predicted is None:
                    predicted = raw_prediction(case, number - 1)
                e = tau - predicted[:, k]
                inside = np.zeros(len(tau), dtype=bool)
                for first, last in found:
                    inside[first:last] = True
                outside = float(np.sqrt(np.mean(e[~inside] ** 2))) if not inside.all() else 0.0
                size = float(np.sqrt(np.mean(predicted[:, k] ** 2)))
                for first, last in found:
                    off = float(np.sqrt(np.mean(e[first:last] ** 2)))
                    if off < self.wrong * size or off < self.beyond * outside:
                        continue
                    value = float(tau[first])
                    at_end = value != 0 and value in (tau.min(), tau.max())
                    cause = "saturation" if at_end else "dropped-torque"
                    dropped.setdefault(cause, []).append(
                        (joint, first, last, off / max(outside, 1e-12 * size))
                    )
            for cause, each in dropped.items():
                samples = np.zeros(len(signals), dtype=bool)
                for _, first, last, _ in each:
                    samples[first:last] = True
                share = float(samples.mean())
                joints = list(dict.fromkeys(joint for joint, *_ in each))
                first, last = each[0][1], each[0][2]
                value = float(signals.tau[first, signals.joints.index(each[0][0])])
                yield Finding(
                    cause,
                    Severity.error if share >= self.error else Severity.warning,
                    f"The torque of {', '.join(joints)} in recording {number} stays at one value for {100 * share:.2g} "
                    f"% of the time while the robot moves: {value:.3g} from {signals.time[first]:.4g} to "
                    f"{signals.time[last - 1]:.4g} s.",
                    f"Cut the stretch out: between_s = [{signals.time[0]:.4g}, {signals.time[first]:.4g}] and a second "
                    f"recording from {signals.time[last - 1]:.4g} s on.",
                    ", ".join(joints),
                    evidence=100 * share * max(ratio for *_, ratio in each),
                )


def runs(x: np.ndarray, least: int) -> list[tuple[int, int]]:
    """(first, last + 1) of stretches of at least so many equal values."""
    ends = np.flatnonzero(np.diff(x) != 0) + 1
    edges = np.concatenate([[0], ends, [len(x)]])
    long = np.flatnonzero(np.diff(edges) >= least)
    return [(int(edges[k]), int(edges[k + 1])) for k in long]


def raw_prediction(case: Case, number: int) -> JointSamples:
    """(T, n) torque as the sensors would read it, by the parameters of the estimate, sample by sample."""
    problem, part = case.problem, case.problem.parts[number]
    theta = np.zeros(len(problem.parameters))
    base = np.zeros(len(problem.base))
    for name, value, seen in zip(
        case.estimate.names, case.estimate.values, case.estimate.identifiable, strict=True
    ):
        base[problem.base.index(name)] = value if seen else 0.0
    theta[problem.base.chosen] = base
    theta += np.where(problem.parameters.free, 0.0, problem.parameters.held_values)
    rows, columns = problem._regressor.structure
    spread = np.zeros((len(rows), problem.robot.model.nv))
    spread[np.arange(len(rows)), rows] = theta[columns]
    out = np.empty((len(part), problem.robot.model.nv))
    for first in range(0, len(part), 4096):
        q, v, a, _ = part.joint_side(first, min(first + 4096, len(part)))
        out[first : first + 4096] = problem._regressor.entries(q, v, a) @ spread
    train = problem.robot.train
    effort = out @ np.linalg.inv(train.reduction) if train.drive.side == "motor" else out
    effort = effort / train.gain
    return effort[:, np.argsort(part.order)]
