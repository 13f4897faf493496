"""The charts of inertia: coordinates theta to the ten parameters pi, and the Jacobian, for 20 000 bodies in one call.

    python benchmarks/charts.py [--json PATH] [--rounds N] [--save-baseline]

poinsot      each chart's `to_inertial` and `jacobian`, memory for the result included
Pinocchio    `LogCholeskyParameters(theta).toDynamicParameters()` and `.calculateJacobian()` in a loop over bodies

Promised are 10 million `to_inertial` a second on one core.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from support.report import Agreement, Limit, Ratio, deliver, options
from support.timing import Program, Seconds, side_by_side

from poinsot.inertia.charts.exponential_eigenvalue import ExponentialEigenvalue
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.inertia.charts.transposed_log_cholesky import TransposedLogCholesky
from poinsot.inertia.parametrization import Parametrization

BODIES = 20_000  # as many as have room in a core's cache
TEN_MILLION = 10_000_000
CHARTS: dict[str, Parametrization] = {
    "log-Cholesky": LogCholesky(),
    "transposed": TransposedLogCholesky(),
    "exponential eigenvalue": ExponentialEigenvalue(),
}


def main() -> None:
    arguments = options(__doc__)
    theta = np.random.default_rng(1).normal(scale=0.5, size=(BODIES, 10))
    programs = {}
    for name, chart in CHARTS.items():
        programs[f"{name}, parameters"] = Program(lambda chart=chart: chart.to_inertial(theta), turns=40)
        programs[f"{name}, Jacobian"] = Program(lambda chart=chart: chart.jacobian(theta), turns=20)
    for program in programs.values():
        program.run()
    peers = [pin.LogCholeskyParameters(row) for row in theta]
    programs["Pinocchio, parameters"] = Program(lambda: [peer.toDynamicParameters() for peer in peers])
    programs["Pinocchio, Jacobian"] = Program(lambda: [peer.calculateJacobian() for peer in peers])
    seconds, results = side_by_side(programs, arguments.rounds or 5)

    def against(quantity: str) -> tuple[Ratio, Agreement]:
        ours, theirs = f"log-Cholesky, {quantity}", f"Pinocchio, {quantity}"
        return (
            Ratio(f"Pinocchio in a loop / poinsot, {quantity}", seconds[theirs] / seconds[ours]),
            Agreement(f"{quantity}, relative to the largest", _apart(results[ours], results[theirs]), 1e-12),
        )

    ratios, agreements = zip(*map(against, ("parameters", "Jacobian")), strict=True)
    deliver(
        "charts",
        arguments,
        seconds,
        ratios,
        agreements,
        [f"{name}: {_millions(rate):.1f} million a second" for name, rate in seconds.items()],
        [
            Limit(f"10 million bodies, {name}", _for_ten_million(seconds[f"{name}, parameters"]), 1.0)
            for name in CHARTS
        ],
    )


def _millions(seconds: Seconds) -> float:
    """Bodies a second."""
    return 1e-6 * BODIES / seconds.processor


def _for_ten_million(seconds: Seconds) -> float:
    return TEN_MILLION / BODIES * seconds.processor


def _apart(ours: np.ndarray, theirs: list[np.ndarray]) -> float:
    """The largest difference of a body, relative to its largest number."""
    rows, peer_rows = ours.reshape(BODIES, -1), np.reshape(theirs, (BODIES, -1))
    return float(np.max(np.abs(rows - peer_rows).max(axis=1) / np.abs(peer_rows).max(axis=1)))


if __name__ == "__main__":
    main()
