"""How well the model fits, and what explains the rest.

A rigid model with friction leaves 1 % of a simulated torque, 4 to 10 % of an industrial arm's joints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..estimate import Finding, Severity, Unchecked
from .case import Case, Solved
from .check import Cause, Check


@dataclass(frozen=True)
class PoorFit(Check):
    """The relative error, and which variable explains residuals.

    Args:
        warning, error: relative errors of all joints together.
        explains: part of a joint's squared residuals that a variable must explain to be named, where it is named.
        matters: relative error of a joint above which a named variable is a warning.
    """

    warning: float = 0.15
    error: float = 0.35
    explains: float = 0.25
    matters: float = 0.15

    causes = (
        Cause(
            "poor-fit",
            "The model leaves more of the torque unexplained than a rigid robot with friction does.",
            "Look at the residuals of the joint named, and add what the model lacks, or fix what is wrong in the data.",
        ),
        Cause(
            "missing-term",
            "Residuals of a joint follow a variable that the model does not contain in this form.",
            "Add the term: another friction law, a spring, a coupling; or exclude the motion that shows it.",
        ),
    )

    def look(self, case: Case) -> Iterator[Finding | Unchecked]:
        if case.explained:
            return
        solved = case.declared
        error = solved.relative_error
        terms = list(self._terms(case, solved))
        if error > self.warning:
            yield Finding(
                "poor-fit",
                Severity.error if error > self.error else Severity.warning,
                f"The model leaves {100 * error:.3g} % of the torque unexplained; of an industrial arm 4 to 10 %.",
                "See which joint and variable the residuals follow; check signs, units and the description.",
                evidence=100 * error,
            )
        yield from terms

    def _terms(self, case: Case, solved: Solved) -> Iterator[Finding]:
        q, v = joint_motion(case)
        names = case.problem.robot.effort_names
        if len(q) != solved.rows or case.problem.robot.floating_base:
            return
        t = np.linspace(-1, 1, len(q))
        for k, joint in enumerate(names):
            scale_q, scale_v = q[:, k] - q[:, k].mean(), v[:, k]
            variables = {
                "its position": np.stack([f(m * q[:, k]) for m in (1, 2) for f in (np.sin, np.cos)], axis=1)
                if case.problem.robot.position_units[k] == "rad"
                else np.stack([scale_q, scale_q**2], axis=1),
                "its speed": np.stack([scale_v * np.abs(scale_v), scale_v**3], axis=1),
                "time": np.stack([t, t * np.sign(scale_v)], axis=1),
            }
            best, share = "", 0.0
            for name, columns in variables.items():
                explained = _explained(solved, columns, k)
                if explained > share:
                    best, share = name, explained
            ratio = float(solved.ratio[k])
            if share < self.explains or ratio * np.sqrt(share) < 0.02:
                continue
            yield Finding(
                "missing-term",
                Severity.warning if ratio > self.matters else Severity.note,
                f"Residuals of joint {joint} follow {best}, which explains {100 * share:.2g} % of their squares "
                f"({100 * ratio:.3g} % of the torque).",
                "Add a term that depends on it, or leave the motion out that shows it.",
                joint,
                evidence=100 * share * ratio,
            )


def joint_motion(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """(N, n) positions and speeds of the thinned rows."""
    positions, speeds = [], []
    for part in case.thin.parts:
        q, v, _, _ = part.joint_side(0, len(part))
        kept = slice(None) if part.decimation is None else part.decimation.kept(len(part))
        positions.append(case.thin.robot.joint_positions(q)[kept])
        speeds.append(v[kept])
    return np.concatenate(positions), np.concatenate(speeds)


def _explained(solved: Solved, columns: np.ndarray, k: int) -> float:
    """Part of joint k's squared residuals that columns of its own explain, by chance less than r / N of them."""
    C = np.zeros((*solved.residuals.shape, columns.shape[1]))
    C[:, k] = columns / solved.sigma[k]
    C = C.reshape(-1, columns.shape[1])
    Q = solved.whitened_basis
    G, _ = np.linalg.qr(C - Q @ (Q.T @ C))
    e = (solved.residuals / solved.sigma).reshape(-1)
    own = float(np.sum((solved.residuals[:, k] / solved.sigma[k]) ** 2))
    chance = columns.shape[1] * float(np.mean(solved.rows / solved.effective_rows))
    return (float(np.sum((G.T @ e) ** 2)) - chance) / max(own, 1e-300)
