"""Bodies of a result with another weight of the prior, solved again while one watches.

For `semidefinite` with `weighing = "both"`: a body that is 1 + epsilon times its prior costs epsilon^2 / (2 std^2), so
a smaller standard deviation is a larger weight. Rows are read once; a solution of six links takes less than 0.1 s.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...estimate import Estimate
from ...estimators.linear.semidefinite import SemidefiniteLeastSquares
from ...exceptions import PoinsotError
from ...project.job import Job
from ...project.prediction import PredictionJob
from ...regression.inverse_dynamics import InverseDynamics
from ...stopwatch import Stopwatch
from .scene import identified_surfaces
from .subject import Surface


@dataclass(frozen=True, eq=False)
class PriorWeight:
    """A problem that is solved again with another prior. `method`: the method of the result."""

    problem: InverseDynamics
    method: SemidefiniteLeastSquares

    def solve(self, prior_std: float) -> tuple[tuple[Surface, ...], str]:
        """Ellipsoids of the identified bodies, and a text about them. `prior_std`: standard deviation of the logarithm
        of a body. A prior without a solution gives no ellipsoid, and the text says why.
        """
        started = time.perf_counter()
        try:
            estimate = replace(self.method, prior_std=prior_std).solve(self.problem)
        except PoinsotError as error:
            return (), str(error)
        return identified_surfaces(estimate.bodies), _text(estimate, time.perf_counter() - started)


def _text(estimate: Estimate, seconds: float) -> str:
    """A table of masses and of the prior's share in each, in Markdown."""
    rows = [
        f"| {body.name} | {body.mass:.4g} | {100 * (body.prior_share or 0.0):.0f} % |"
        for body in estimate.bodies
    ]
    head = ["| body | mass [kg] | from the prior |", "|---|---|---|"]
    fitted = f"relative error {estimate.fit.relative_error_percent:.3g} %, solved in {1e3 * seconds:.0f} ms"
    return "\n".join([*head, *rows, "", fitted])


def read_prior_weight(path: Path, data_dir: Path | None = None) -> Callable[[], PriorWeight] | None:
    """A function that reads the problem of a result again; None: its method has no weight of a prior.

    Args:
        path: result that `poinsot identify --out FOLDER` wrote. data_dir: folder of the recordings and the description.
    """
    project = PredictionJob(path, path, data_dir).project
    method: Any = project.settings.method
    job = Job(project, data_dir)
    if not method.weighs_prior:
        return None
    return lambda: PriorWeight(method.problem(job, Stopwatch())[0], method.build(job))
