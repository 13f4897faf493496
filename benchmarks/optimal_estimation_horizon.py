"""Optimal estimation of ANYmal over longer and longer recordings: time and memory of a node.

    python benchmarks/optimal_estimation_horizon.py [--full] [--json PATH] [--rounds N] [--save-baseline]

Two iterations of `optimal_estimation.py`'s standing ANYmal, each length in a process of its own: 1 000 and 10 000,
with --full 100 000.
Memory is the largest that the process ever had, less the recording itself (readings, commands and the
guess), and less that of 1 000 nodes, in which are the interpreter, the kernels and the work on one stretch of nodes.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from statistics import median

import support  # noqa: F401  BLAS on one thread, before NumPy
from optimal_estimation import ROBOTS, Case
from support.report import Ratio, Row, deliver, options
from support.timing import Seconds, process

from poinsot.estimators.shooting.ddp import DDP
from poinsot.estimators.shooting.robot import RobotTrajectoryModel

NAME = "ANYmal, four points"
KILOBYTES = 30


def main() -> None:
    arguments = options(__doc__, full="100 000 nodes, some minutes")
    lengths = [1_000, 10_000, *([100_000] if arguments.full else [])]
    runs = {
        nodes: [json.loads(process(__file__, str(nodes))) for _ in range(arguments.rounds or 1)]
        for nodes in lengths
    }
    first = lengths[0]
    seconds, ratios, rows, notes = {}, [], [], []
    kilobytes = {nodes: median(run["kilobytes"] for run in each) for nodes, each in runs.items()}
    for nodes, each in runs.items():
        seconds[f"an iteration, {nodes} nodes"] = Seconds(
            median(run["processor"] for run in each), median(run["passed"] for run in each)
        )
    a_node = {n: each.processor / n for n, each in zip(lengths, seconds.values(), strict=True)}
    for nodes in lengths[1:]:
        ratio, memory = a_node[nodes] / a_node[first], (kilobytes[nodes] - kilobytes[first]) / (nodes - first)
        ratios += [
            Ratio(f"time of a node, {nodes} / {first}", ratio, at_most=1.2),
            Ratio(f"memory of a node, {nodes} nodes / {KILOBYTES} kB", memory / KILOBYTES, at_most=1),
        ]
        what = f"one iteration, {NAME}, {nodes} nodes"
        rows.append(Row(what, 1e6 * a_node[nodes], f"poinsot, {first} nodes", 1e6 * a_node[first], ratio))
        recording = median(run["recording"] for run in runs[nodes])
        notes.append(
            f"{nodes} nodes: {1e6 * a_node[nodes]:.0f} us and {memory:.1f} kB a node, "
            f"{recording:.1f} kB more for the recording"
        )
    deliver("optimal_estimation_horizon", arguments, seconds, ratios, notes=notes, rows=rows)


def measure(nodes: int) -> dict[str, float]:
    """Processor time and time that passes of an iteration [s], memory, and a node's recording [kB]."""
    warm = Case.standing(ROBOTS[NAME], 70)
    DDP(max_iterations=1).solve(warm.problem, warm.guess)
    case = Case.standing(ROBOTS[NAME], nodes)
    motion = case.problem.models[0]
    assert isinstance(motion, RobotTrajectoryModel)
    guess = case.guess
    kept = (motion.times, motion.u, motion.schedule.closed, *(some.values for some in motion.readings))
    recording = sum(part.nbytes for part in (*kept, *guess.x, *guess.w)) / 1e3
    processor, passed = time.process_time(), time.perf_counter()
    found = DDP(max_iterations=2, step_tolerance=1e-300).solve(case.problem, case.guess)
    each = found.iterations
    return {
        "processor": (time.process_time() - processor) / each,
        "passed": (time.perf_counter() - passed) / each,
        "kilobytes": _largest() - recording,
        "recording": recording / nodes,
    }


def _largest() -> float:
    """Memory that this process ever had [kB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1.024


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].isdigit():
        print(json.dumps(measure(int(sys.argv[1]))))
    else:
        main()
