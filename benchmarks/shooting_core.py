"""The solver without its model: seconds and memory a node, on a motion of ANYmal's size whose derivatives cost nothing.

    python benchmarks/shooting_core.py [--nodes 1000 10000 100000] [--noise 18]

36 states, 10 parameters, 33 residuals. What is printed is one whole iteration (linear-quadratic problem, Riccati
recursion, arrival, forward pass, rollout), its parts, and the memory that N nodes take beyond what none does.
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from poinsot.estimators.shooting.ddp import DDP
from poinsot.estimators.shooting.direction import ShootingIterate, ShootingSearch, linearized, linearized_end
from poinsot.estimators.shooting.problem import (
    GaussianPrior,
    ShootingProblem,
    StageLinearization,
    Trajectories,
    TrajectoryModel,
)
from poinsot.estimators.shooting.riccati import backward
from poinsot.estimators.shooting.rollout import FeasibilityDriven, MultipleShooting, evaluate, stretches
from poinsot.models.contacts.contact_dynamics import Linearized
from poinsot_reproductions.optimal_estimation.flat_space import FlatSpace

STATES, PARAMETERS, ROWS = 36, 10, 33


@dataclass
class Linear(TrajectoryModel):
    """One stage again and again: x' = A x + B w + C theta, r = H x + D theta - z."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    H: np.ndarray
    D: np.ndarray
    z: np.ndarray

    def __post_init__(self):
        N = len(self.z) - 1
        self.manifold = FlatSpace(STATES)
        self.noise_std = np.broadcast_to(0.1, (N, self.B.shape[1]))
        self.noisy = np.ones(N, dtype=bool)
        self.theta_size = PARAMETERS

    def evaluate(self, first, x, w, theta):
        r = x @ self.H.T + self.D @ theta - self.z[first : first + len(x)]
        return x @ self.A.T + w @ self.B.T + self.C @ theta, r

    def linearize(self, first, x, w, theta):
        f, r = self.evaluate(first, x, w, theta)
        same = (
            np.broadcast_to(each, (len(x), *each.shape)) for each in (self.A, self.B, self.C, self.H, self.D)
        )
        f_x, f_w, f_theta, r_x, r_theta = (np.ascontiguousarray(each) for each in same)
        return StageLinearization(f, f_x, f_w, f_theta, r, r_x, None, r_theta)

    def last(self, x, theta, slopes=False):
        return Linearized((self.H @ x + self.D @ theta - self.z[-1])[None], self.H[None], None, self.D[None])


def problem(nodes: int, noise: int) -> tuple[ShootingProblem, Trajectories]:
    rng = np.random.default_rng(1)
    turn = np.linalg.qr(rng.standard_normal((STATES, STATES)))[0]
    motion = Linear(
        0.99 * turn,
        rng.standard_normal((STATES, noise)),
        0.1 * rng.standard_normal((STATES, PARAMETERS)),
        rng.standard_normal((ROWS, STATES)),
        rng.standard_normal((ROWS, PARAMETERS)),
        rng.standard_normal((nodes, ROWS)),
    )
    guess = Trajectories((np.zeros((nodes, STATES)),), (np.zeros((nodes - 1, noise)),), np.zeros(PARAMETERS))
    nothing = GaussianPrior.flat(np.zeros(STATES)), GaussianPrior.flat(np.zeros(PARAMETERS))
    return ShootingProblem((motion,), nothing[:1], nothing[1]), guess


def best(run, rounds: int = 7) -> float:
    """Shortest processor time [s]."""
    seconds = []
    for _ in range(rounds):
        started = time.process_time()
        run()
        seconds.append(time.process_time() - started)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--noise", type=int, default=18)
    arguments = parser.parse_args()
    with threadpool_limits(limits=1, user_api="blas"):
        warm, guess = problem(400, arguments.noise)
        DDP().solve(warm, guess)
        parts(*problem(1_000, arguments.noise))
        for nodes in arguments.nodes:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            case, guess = problem(nodes, arguments.noise)
            started = time.process_time()
            found = DDP(max_iterations=2, step_tolerance=1e-300).solve(case, guess)
            passes = found.iterations + 1  # the last finds that it is there
            seconds = (time.process_time() - started) / passes
            kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            print(
                f"{nodes:7d} nodes: {1e6 * seconds / nodes:6.1f} us a node and iteration ({passes} in fresh memory), "
                f"{kilobytes / nodes:5.1f} kB a node more than before"
            )


def parts(case: ShootingProblem, guess: Trajectories) -> None:
    motion, x, w = case.models[0], guess.x[0], guess.w[0]
    first, last = stretches(motion)[0]
    T = last - first
    stages = linearized(motion, x[: last + 1], w[:last], guess.theta, first)
    end = linearized_end(motion, x[-1], guess.theta)
    now = evaluate(case, guess)
    direction = ShootingIterate(ShootingSearch(case), now).direction()
    short = replace(stages)
    timings = {
        "model": (lambda: motion.linearize(0, x[:last], w[:last], guess.theta), T),
        "model and linear-quadratic problem": (
            lambda: linearized(motion, x[: last + 1], w[:last], guess.theta, 0),
            T,
        ),
        "Riccati recursion": (lambda: backward(short, end), T),
        "direction, all in all": (
            lambda: ShootingIterate(ShootingSearch(case), now).direction(),
            motion.stages,
        ),
        "multiple shooting": (lambda: MultipleShooting().roll(case, now, direction, 1.0), motion.stages),
        "feasibility-driven": (
            lambda: FeasibilityDriven().roll(case, now, direction, 1.0),
            motion.stages,
        ),
    }
    for name, (run, stages_run) in timings.items():
        print(f"{name:36s} {1e6 * best(run) / stages_run:6.1f} us a node")


if __name__ == "__main__":
    main()
