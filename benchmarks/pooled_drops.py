"""Many drops of one square: time per drop, which must not grow with their number.

    python benchmarks/pooled_drops.py [--json PATH] [--save-baseline]

Simulated drops (forces of a compliant contact in steps of microseconds, not the estimator's model), 60 to 480 of them,
all of `ImpactIdentification.solve`: flights, J/m and geometry, halves, held-out impacts and assumptions. Time per
drop of 480 may be 1.2 times that of 60.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from support.report import Agreement, Ratio, deliver, options
from support.timing import Seconds

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from poinsot.estimators.impacts.method import ImpactIdentification
from poinsot.estimators.impacts.problem import ImpactsProblem
from poinsot.models.planar import floor, rectangle
from references.bouncing import SIDE, Throws

COUNTS = (60, 120, 240, 480)
GROWTH = 1.2
"""Time per drop of the most drops by that of the fewest, at most."""


def main() -> None:
    arguments = options(__doc__)
    throws = Throws()
    problems = {
        count: ImpactsProblem(tuple(throws.drops(count, seed=3)), rectangle(SIDE, SIDE), (floor(),))
        for count in COUNTS
    }
    # compiled once, before anything is timed
    few = ImpactsProblem(problems[60].drops[:6], rectangle(SIDE, SIDE), (floor(),))
    ImpactIdentification(rounds=5).solve(few)
    each, seconds, results = {}, {}, {}
    for count, problem in problems.items():  # each once: together they take minutes
        processor, passed = time.process_time(), time.perf_counter()
        results[count] = ImpactIdentification().solve(problem)
        processor, passed = time.process_time() - processor, time.perf_counter() - passed
        seconds[f"{count} drops"], each[count] = Seconds(processor, passed), processor / count
        print(f"{count} drops: {processor:.1f} s, {1e3 * processor / count:.0f} ms a drop", flush=True)
    ratios = [
        Ratio(f"time per drop, {count} / {COUNTS[0]}", each[count] / each[COUNTS[0]], at_most=GROWTH)
        for count in COUNTS[1:]
    ]
    seconds |= {f"a drop of {count}": Seconds(value, value) for count, value in each.items()}
    off = [abs(result["J/m"] / throws.inertia_to_mass - 1) for result in results.values()]
    deliver("pooled_drops", arguments, seconds, ratios, [Agreement("J/m, part of it", max(off), 0.03)])


if __name__ == "__main__":
    main()
