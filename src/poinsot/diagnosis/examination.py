"""The examined estimate: its problem as declared, changed by hypothetical defects, and with systematic effects."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np

from ..arrays import Vector
from ..recording import Recording
from ..regression.inverse_dynamics import InverseDynamics
from ..signals.decimation import PASSBAND
from .case import LARGEST_SAMPLES, DenseRows, Solved, at_rows, recorded, solve, thinned
from .systematic import SystematicFit, SystematicUncertainty


@dataclass(frozen=True, eq=False)
class Examination:
    """An estimate of the linear family and the problem that its checks solve again, or a problem without an estimate.

    Args:
        changed: the decimated problem with a defect removed; None: as the project declares it.
        solution: solution of `changed`. counted: (n,) effective rows, common to log-likelihoods that are compared.
        fitted: systematic errors of the estimate, if its estimator knows them.
    """

    estimate: Any
    problem: InverseDynamics
    changed: InverseDynamics | None = None
    solution: Solved | None = None
    counted: Vector | None = None
    fitted: SystematicUncertainty | None = None
    explained: list[Any] = field(default_factory=list)
    """The explanation that was accepted, if one was (`explanations.Explained`)."""
    spoiled: set[int] = field(default_factory=set)
    """Indices of recordings that have a defect of their own."""
    _last: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def thin(self) -> InverseDynamics:
        """The same problem with as few samples as the motion needs."""
        if self.changed is not None:
            return self.changed
        share = LARGEST_SAMPLES / max(sum(map(len, self.problem.parts)), 1)
        return self.problem.with_signals([thinned(part.signals, share) for part in self.problem.parts])

    @cached_property
    def coarse(self) -> Examination:
        """The same problem at one sample per row: enough to reject a change that fits far worse."""
        problem = self.thin.with_signals([at_rows(part.signals) for part in self.thin.parts])
        return Examination(self.estimate, problem, problem)

    @cached_property
    def declared(self) -> Solved:
        """The problem as the project declares it, solved."""
        return self.solution or self.solve(self.thin)

    @property
    def effective_rows(self) -> Vector:
        """(n,) N_j."""
        return self.declared.effective_rows if self.counted is None else self.counted

    @property
    def best(self) -> Solved:
        """The solution without the defect that explains the recording, if one does; else as declared."""
        return cast("Solved", self.explained[-1].solved) if self.explained else self.declared

    @cached_property
    def systematic(self) -> SystematicFit:
        """The declared problem with systematic effects."""
        if self.fitted is not None:
            return self.fitted.fit
        return SystematicFit.of(self.problem, self.declared.theta)

    def without(self, solved: Solved) -> Examination:
        """The same estimate with a defect removed: `solved` replaces the solution of the declared problem."""
        return Examination(self.estimate, self.problem, solved.problem, solved, self.effective_rows)

    def alone(self, recording: int) -> Examination:
        """One recording, as if there were no other."""
        problem, thin = (
            whole.with_signals([whole.parts[recording].signals]) for whole in (self.problem, self.thin)
        )
        return Examination(self.estimate, problem, thin)

    @cached_property
    def samples(self) -> tuple[Recording, ...]:
        """The recordings from which the signals were computed."""
        return tuple(recorded(part) for part in self.problem.parts)

    @cached_property
    def highest_hz(self) -> float:
        """End of the pass-band of the rows [Hz]."""
        rates, cutoffs = [], [np.inf]
        for signals in (part.signals for part in self.problem.parts):
            factor = signals.decimation.factor if signals.decimation is not None else 1
            rates.append(PASSBAND * signals.rate_hz / factor / 2)
            if (cutoff := getattr(signals.method, "cutoff_hz", None)) is not None:
                cutoffs.append(float(np.max(cutoff)))
        return min(max(rates), *cutoffs)

    def solve(self, problem: InverseDynamics, motion: Hashable = None) -> Solved:
        """Each joint's residuals at unit variance; see the head of the file.

        Args:
            motion: key of the change of the motion; two changes with the same key share their regressor.
        """
        if motion is not None and self._last.get("motion") == motion:
            return solve(problem, self._last["rows"].with_torques(problem))
        self._last.update(motion=motion, rows=(rows := DenseRows.of(problem)))
        return solve(problem, rows)

    @cached_property
    def time(self) -> np.ndarray:
        """(N,) of the rows [s], recordings one after the other."""
        return self.thin.predict(np.zeros(len(self.thin.base)))[0]

    @cached_property
    def joint_motion(self) -> tuple[np.ndarray, np.ndarray]:
        """(N, n) positions and speeds of the rows."""
        parts = self.thin.parts
        robot = self.thin.robot
        q = [robot.joint_positions(part.joint_side(0, len(part))[0])[part.kept] for part in parts]
        here = slice(None) if robot.floating_base else robot.equations
        return np.concatenate(q)[:, here], self.thin.speeds
