"""TX40, physically possible: from the same 87 columns and 1014 rows to bodies that can be real.

    python benchmarks/semidefinite.py [--json PATH] [--rounds N] [--save-baseline]

poinsot      `_answer`: rows folded, closest possible bodies, prior for the rest; and the whole estimate, which adds
             covariance of coloured residuals, whiteness, shares and fit
FIGAROH      `physical_fit`: `build_problem` and `solve_direct_effort_fit`, its fit under the same matrix inequalities
             (PICOS and CVXOPT); it stops at the fit, with no covariance

FIGAROH's fit goes all the way to the border of what is possible, with a weak pull (1e-6) towards the prior; ours stays
`allowance` away from it, so relative errors differ by 0.03 points.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from support import needs
from support.report import Agreement, Limit, Ratio, deliver, options
from support.timing import Program, side_by_side
from support.tx40 import JOINTS, read, robot

import poinsot
from poinsot.estimators.linear.semidefinite import _answer
from poinsot.inertia.parameters import is_consistent
from poinsot.regression.inverse_dynamics import InverseDynamics

AXES = ("xx", "xy", "yy", "xz", "yz", "zz")


def main() -> None:
    arguments = options(__doc__)
    folder = needs.recording("staubli_tx40")
    needs.package("figaroh")
    from figaroh.identification import physical_fit

    problem = _problem(folder)
    W, tau = _rows(problem)
    names = [_figaroh_name(name, kind) for name, kind in _columns(problem)]
    prior = np.concatenate([_prior(problem).ravel(), np.zeros(len(names) - problem.robot.inertials.size)])

    def figaroh() -> np.ndarray:
        fit = physical_fit.build_problem(W, tau, names, JOINTS, prior=prior)
        return physical_fit.solve_direct_effort_fit(fit).theta

    def ours() -> poinsot.Estimate:
        return poinsot.SemidefiniteLeastSquares().solve(problem)

    def fit_alone() -> object:
        return _answer(poinsot.SemidefiniteLeastSquares()._reduced(problem))

    programs = {
        "poinsot, fit alone": Program(fit_alone, turns=5),
        "poinsot": Program(ours, turns=5),
        "FIGAROH, fit alone": Program(figaroh),
    }
    seconds, results = side_by_side(programs, arguments.rounds or 5)
    peer = seconds["FIGAROH, fit alone"]
    estimate, theta = results["poinsot"], results["FIGAROH, fit alone"]

    def error(parameters: np.ndarray) -> float:
        return float(100 * np.linalg.norm(tau - W @ parameters) / np.linalg.norm(tau))

    possible = is_consistent(estimate.full_parameters.values[:60].reshape(-1, 10))
    deliver(
        "semidefinite",
        arguments,
        seconds,
        [
            Ratio("FIGAROH / poinsot, fits", peer / seconds["poinsot, fit alone"], at_least=5),
            Ratio("FIGAROH's fit / poinsot's estimate", peer / seconds["poinsot"]),
        ],
        [
            Agreement(
                "relative errors, per cent", abs(error(estimate.full_parameters.values) - error(theta)), 0.05
            )
        ],
        [
            f"relative error: poinsot {error(estimate.full_parameters.values):.3f} %, FIGAROH {error(theta):.3f} %",
            f"masses: poinsot {_masses(estimate.full_parameters.values)} kg, FIGAROH {_masses(theta)} kg",
            f"possible bodies: poinsot {possible.sum()} of 6",
        ],
        [Limit("poinsot, seconds", seconds["poinsot"].passed, 2.0)],
    )


def _problem(folder: Path) -> InverseDynamics:
    smoother = poinsot.ButterworthDecimation(
        cutoff_hz=50, decimate_hz=10, decimation_order=4, cut_edges=False, window_s=(0.55, 7.3)
    )
    problem = poinsot.inverse_dynamics(robot(folder), smoother.apply(read(folder)))
    return problem


def _rows(problem: InverseDynamics) -> tuple[np.ndarray, np.ndarray]:
    """(N, p) all columns and (N,) torques: base columns times what they stand for."""
    rows = list(problem.rows())
    W = np.concatenate([row.W for row in rows])
    return W.reshape(-1, W.shape[-1]) @ problem.base.map, np.concatenate([row.y for row in rows]).ravel()


def _columns(problem: InverseDynamics) -> list[tuple[str, str]]:
    return list(zip(problem.parameters.names, problem.parameters.kinds, strict=True))


def _prior(problem: InverseDynamics) -> np.ndarray:
    from poinsot.inertia.parameters import with_extent

    return with_extent(problem.robot.inertials)[0]


def _figaroh_name(name: str, kind: str) -> str:
    """`Ixx_joint_3` of `xx3`; others keep theirs."""
    if kind != "inertia":
        return name
    symbol, joint = name[:-1], JOINTS[int(name[-1]) - 1]
    return f"{'I' if symbol in AXES else ''}{symbol}_{joint}"


def _masses(theta: np.ndarray) -> str:
    return ", ".join(f"{m:.2f}" for m in theta[:60:10])


if __name__ == "__main__":
    main()
