"""How well the model fits and predicts, and which variables the residuals follow.

A rigid model with friction leaves 1 % of a simulated torque, 4 to 10 % of an industrial arm's joints.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..estimate import Estimate, Finding, Severity, Unchecked
from .case import Examination, Solved
from .check import Cause, Check

POSITION, SPEED, TIME, NOTHING = "its position", "its speed", "time", "no variable: they have a mean"

POSSIBLE_BODIES = "Write in [method] the name of the method that finds possible bodies"
"""Remedy; `project/methods` puts the line to write in its place."""


class TorqueNoise(Check):
    """Explained variance of each joint, about its mean.

    Class variables:
        error: adjusted R^2 below which the torque of a joint is noise.
    """

    error = 0.2

    causes = (
        Cause(
            "torque-noise",
            "The torque is unrelated to the motion: another signal, another recording, or noise.",
            "Check the torque columns, and that positions and torques are from the same recording.",
        ),
    )

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        if case.explained:
            return
        solved = case.declared
        W, y = solved.dense.W, solved.dense.y
        passive = case.problem.robot.drive.passive
        names, variance = case.problem.robot.effort_names, np.var(y, axis=0)
        left = max(solved.rows - W.shape[2] / len(names), 1.0)
        r2 = 1 - np.sum(solved.residuals**2, axis=0) / left / variance
        of_noise = (variance > 0) & (r2 < self.error) & [joint not in passive for joint in names]
        if noisy := [joint for joint, is_noise in zip(names, of_noise, strict=True) if is_noise]:
            worst = r2[of_noise].min()
            everything = len(noisy) == sum(joint not in passive for joint in names)
            yield self.causes[0].finding(
                Severity.error,
                f"The motion explains {max(100 * worst, 0):.2g} % of the variance of the torque of "
                f"{'all joints' if everything else ', '.join(noisy)}: it is noise, or another signal.",
                where="" if everything else ", ".join(noisy),
                evidence=50.0 * len(noisy),
            )


class HeldOutError(Check):
    """Relative error on held-out recordings against that of the fit.

    Class variables:
        warning_times, error_times: how many times the fit's error.
        warning, error: relative errors below which it does not matter.
    """

    warning_times, error_times = 2.5, 5.0
    warning, error = 0.05, 0.25

    causes = (
        Cause(
            "held-out",
            "The estimate predicts held-out recordings much worse than it fits the others.",
            "Use the method that finds possible bodies from a prior, a more exciting motion, or a more complete model.",
            symptom=True,
        ),
    )

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        yield from self.look_at(case.estimate)

    def look_at(self, estimate: Estimate) -> Iterator[Finding | Unchecked]:
        """Findings about an estimate of any family."""
        fitted = estimate.fit.relative_error_percent / 100
        if not estimate.validation:
            yield Unchecked(
                "prediction of other motions", 'no recording was held out; give one the role "validation"'
            )
        for fit in estimate.validation:
            error = fit.relative_error_percent / 100
            times = error / max(fitted, 1e-12)
            if times < self.warning_times or error < self.warning:
                continue
            grave = times >= self.error_times and error >= self.error
            yield self.causes[0].finding(
                Severity.error if grave else Severity.warning,
                f"{fit.recording or 'A held-out recording'} is predicted with an error of {100 * error:.3g} %, "
                f"{times:.2g} times the error of the fit ({100 * fitted:.3g} %).",
                f"{POSSIBLE_BODIES}, or record a more exciting motion.",
                fit.recording,
                evidence=times,
            )


class PoorFit(Check):
    """The relative error, and which variable explains residuals.

    Class variables:
        warning, error: relative errors of all joints together.
        explains: part of a joint's squared residuals that a variable must explain to be named.
        smallest: part of a joint's torque (rms) that the variable must explain.
        friction: the same part for speed, for a warning: no law of two parameters is better.
        alone: the same part for any variable, for a warning even if parameters do not change with it.
        moved: standard deviations by which parameters must change with it for a warning.
        held_away: largest error of the estimate's own values, relative to the error of least squares.
    """

    warning, error = 0.1, 0.35
    explains = 0.25
    smallest = 0.02
    friction = 0.05
    alone = 0.05
    moved = 4.0
    held_away = 1.5

    causes = (
        Cause(
            "poor-fit",
            "The model leaves more of the torque unexplained than a rigid robot with friction does.",
            "Examine the residuals of the named joint, and extend the model or correct the data.",
            symptom=True,
        ),
        Cause(
            "missing-term",
            "Residuals of a joint depend on a variable that the model does not contain in this form.",
            "Add the term: another friction law, a spring, a coupling; or exclude the motion that excites it.",
        ),
    )

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        # residuals beside a defect still count: a delay of 10 ms must not hide a missing spring
        solved = case.best
        error = solved.relative_error
        terms = list(self._terms(case, solved)) if len(solved.theta) == len(case.declared.theta) else []
        if error > self.warning:
            yield Finding(
                "poor-fit",
                Severity.error if error > self.error else Severity.warning,
                f"The model leaves {100 * error:.3g} % of the torque unexplained"
                f"{' beside the defect above' if case.explained else ''}; 4 to 10 % are usual for industrial arms.",
                "Find the joint and variable that residuals depend on; check signs, units and the description.",
                evidence=100 * error,
            )
        # values that are not those of least squares: constraints, priors or a caller set them
        dense, free = case.declared.dense, case.declared.relative_error
        place = [case.problem.base.index(name) for name in case.estimate.names]
        off = np.linalg.norm(dense.y - dense.W[:, :, place] @ case.estimate.values)
        own = float(off) / max(float(np.linalg.norm(dense.y)), 1e-300)
        if not own <= max(self.warning, self.held_away * free):  # NaN is not
            yield Finding(
                "poor-fit",
                Severity.warning if own <= self.error else Severity.error,
                f"The values of this estimate leave {100 * own:.3g} % of the torque unexplained, least squares "
                f"{100 * free:.3g} %."
                if np.isfinite(own)
                else "Values of this estimate are not finite.",
                "Correct what keeps them away from least squares: constraints, priors, or values that were replaced.",
                evidence=100 * own if np.isfinite(own) else 1e9,
            )
        yield from terms

    def _terms(self, case: Examination, solved: Solved) -> Iterator[Finding]:
        q, v = case.joint_motion
        if len(q) != solved.rows or case.problem.robot.floating_base:
            return
        std = {name: float(x) for name, x in zip(case.estimate.names, case.estimate.std, strict=True)}
        own_std = np.array([std.get(name, np.inf) for name in case.problem.base.names])
        for k, joint in enumerate(case.problem.robot.effort_names):
            found = {
                name: max(
                    (_explained(solved, columns, k) for columns in groups), key=lambda explained: explained[0]
                )
                for name, groups in _variables(q[:, k], v[:, k]).items()
            }
            best = max(found, key=lambda name: found[name][0])
            share, shift = found[best]
            ratio = float(solved.ratio[k])
            # a term changes parameters of other joints too, and so may explain more than this joint's residuals
            share = min(max(share, 0.0), 1.0)
            part = ratio * np.sqrt(share)  # of the joint's torque (rms)
            if share < self.explains or part < self.smallest:
                continue
            moved = float(np.max(np.abs(shift) / own_std))
            severity = Severity.note
            if part > self.alone or (moved > self.moved and (best != SPEED or part > self.friction)):
                severity = Severity.error if part > TERMS[best][1] else Severity.warning
            yield Finding(
                "missing-term",
                severity,
                f"{TERMS[best][0]} at joint {joint}: residuals depend on {best}, which explains {100 * share:.3g} % of "
                f"their squares, {100 * part:.2g} % of the torque; a term for it would change parameters by up to "
                f"{moved:.2g} standard deviations.",
                TERMS[best][2].format(joint=joint),
                joint,
                evidence=100 * part,
            )


TERMS = {
    POSITION: (
        "A position-dependent effort",
        0.05,
        "Something that depends on position is missing (a spring, a counterbalance, ripple, a cable): "
        'write [[robot.efforts]] law = "spring", "counterbalance", "ripple" or "known", with joint = "{joint}".',
    ),
    SPEED: (
        "Another law of friction",
        0.1,
        "Friction is not viscous and Coulomb here: try another law in [friction].",
    ),
    TIME: (
        "An effort that changes with time",
        0.1,
        "Something drifts (friction that warms, an offset): identify from a part with between_s, or write "
        '[[robot.efforts]] law = "warming-friction", joint = "{joint}" where a temperature was recorded.',
    ),
    NOTHING: ("A constant effort", 0.1, "Write offset = true in [friction]."),
}
"""For each variable: the missing term, the part of a joint's torque from which it is an error (gravity absorbs part
of a term that depends on position), and the remedy."""


def _variables(q: np.ndarray, v: np.ndarray) -> dict[str, list[np.ndarray]]:
    """Variables on which a joint's torque may depend beside its model: sets of columns (N, r), tested separately."""
    x = (q - q.min()) / max(float(np.ptp(q)), 1e-12)
    turns = 2 * np.pi * x[:, None] * np.arange(0.5, 3.5, 0.5)
    u, t = v / max(float(np.abs(v).max()), 1e-12), np.linspace(-1, 1, len(q))
    direction = np.sign(u)
    slow = [direction * np.exp(-np.abs(u) / width) for width in (0.05, 0.2)]
    # ripple: frequencies half a period over the joint's range apart, closer than which sinusoids are alike
    fine = [2 * np.pi * cycles * x for cycles in np.arange(3.5, 20.5, 0.5)]
    smooth = np.concatenate([x[:, None], x[:, None] ** 2, np.sin(turns), np.cos(turns)], axis=1)
    return {
        POSITION: [smooth, *(np.stack([np.sin(phase), np.cos(phase)], axis=1) for phase in fine)],
        SPEED: [np.stack([u * np.abs(u), u**3, *slow], axis=1)],
        TIME: [np.stack([t, t**2, t * direction, t * u], axis=1)],
        NOTHING: [np.ones((len(q), 1))],
    }


SHIFTS = 19


def _explained(solved: Solved, columns: np.ndarray, k: int) -> tuple[float, np.ndarray]:
    """Part of joint k's squared residuals that its own columns explain, and the change (b,) of base parameters with
    them.

    What they explain of residuals that are as coloured, but moved in time, is chance: the most of it is taken off.
    """
    N, n = solved.residuals.shape
    Q = solved.whitened_basis.reshape(N, n, -1)[:, k]
    C = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    B = Q.T @ C
    d, V = np.linalg.eigh(C.T @ C - B.T @ B)
    V = V[:, d > 1e-6] / np.sqrt(d[d > 1e-6])  # columns in the span of the regressor explain nothing more
    e = solved.residuals[:, k] / solved.sigma[k]
    # a mean does not change with the shift: there is no chance to subtract
    moved = (e - e.mean())[np.arange(N)[:, None] - N * np.arange(SHIFTS + 1) // (SHIFTS + 1)]
    moved[:, 0] = e
    along = ((C - Q @ B) @ V).T @ moved
    explained = np.sum(along**2, axis=0)
    share = float(explained[0] - explained[1:].max()) / max(float(e @ e), 1e-300)
    delta = V @ along[:, 0]
    return share, solved.covariance @ (solved.dense.W[:, k].T @ (C @ delta)) / solved.sigma[k]
