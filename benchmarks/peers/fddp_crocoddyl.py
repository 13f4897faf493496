"""The peer of `optimal_estimation.py`: iterations of crocoddyl's FDDP, in a process and an environment of its own.

The first line of standard input is the case, as JSON: description, contact frames and how many rows each has, state,
nodes and time step. Every further line asks for one round; the answer is a line of JSON, processor seconds of each part
on one thread, three times. An iteration is what `solve` does from its second one on: derivatives, backward pass,
and a step of length 1 with its dynamics and costs; the first one has the dynamics of the guess in addition.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import crocoddyl
import numpy as np
import pinocchio as pin


def main() -> None:
    prepare, parts = solver_parts(**json.loads(sys.stdin.readline()))
    print(json.dumps({"crocoddyl": crocoddyl.__version__, "pinocchio": pin.__version__}), flush=True)
    for _ in sys.stdin:
        print(json.dumps({name: timed(prepare, run) for name, run in parts.items()}), flush=True)


def timed(prepare: Callable[[], object], run: Callable[[], object], times: int = 3) -> list[float]:
    """[s]"""
    seconds = []
    for _ in range(times):
        prepare()
        started = time.process_time()
        run()
        seconds.append(time.process_time() - started)
    return seconds


def solver_parts(
    path: str, frames: list[str], rows: int, x: list[float], nodes: int, dt: float
) -> tuple[Callable[[], object], dict[str, Callable[[], object]]]:
    """Setup, then the timed part. Costs are the cheapest ones: state and torques, weighted."""
    model = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFloatingBase(state)
    x_0 = np.array(x)
    costs = crocoddyl.CostModelSum(state, actuation.nu)
    of_state = crocoddyl.ResidualModelState(state, x_0, actuation.nu)
    of_torques = crocoddyl.ResidualModelControl(state, actuation.nu)
    costs.addCost("state", crocoddyl.CostModelResidual(state, of_state), 1e-1)
    costs.addCost("torques", crocoddyl.CostModelResidual(state, of_torques), 1e-3)
    contacts = crocoddyl.ContactModelMultiple(state, actuation.nu)
    for name in frames:
        frame, gains = model.getFrameId(name), np.zeros(2)
        if rows == 3:
            contact = crocoddyl.ContactModel3D(state, frame, np.zeros(3), pin.LOCAL, actuation.nu, gains)
        else:
            still = pin.SE3.Identity()
            contact = crocoddyl.ContactModel6D(state, frame, still, pin.LOCAL, actuation.nu, gains)
        contacts.addContact(name, contact)
    dynamics = crocoddyl.DifferentialActionModelContactFwdDynamics(
        state, actuation, contacts, costs, 0.0, True
    )
    stage = crocoddyl.IntegratedActionModelEuler(dynamics, dt)
    problem = crocoddyl.ShootingProblem(
        x_0, [stage] * nodes, crocoddyl.IntegratedActionModelEuler(dynamics, 0.0)
    )
    problem.nthreads = 1
    rng = np.random.default_rng(0)
    xs = [x_0] + [state.integrate(x_0, 1e-3 * rng.standard_normal(state.ndx)) for _ in range(nodes)]
    us = [stage.quasiStatic(problem.runningDatas[0], x_0)] * nodes
    solver = crocoddyl.SolverFDDP(problem)
    solver.solve(xs, us, 1, False, 1e-9)  # memory is taken here
    assert solver.stepLength == 1.0, "the peer did not take its step"

    def prepare() -> None:
        """The dynamics of the guess, of which a step has left others, and a direction."""
        solver.setCandidate(xs, us, False)
        problem.calc(xs, us)
        solver.computeDirection(True)

    def iteration() -> None:
        solver.computeDirection(True)
        solver.tryStep(1.0)

    return prepare, {
        "iteration": iteration,
        "dynamics and costs": lambda: problem.calc(xs, us),
        "their derivatives": lambda: problem.calcDiff(xs, us),
        "backward pass": solver.backwardPass,
        "step": lambda: solver.tryStep(1.0),
    }


if __name__ == "__main__":
    main()
