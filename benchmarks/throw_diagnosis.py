"""Findings of the examination of throws: clean throws, and throws with one thing wrong.

    python benchmarks/throw_diagnosis.py [--clean N] [--wrong N]

Throws are simulated with the exact stepper (`tests/references/throws.py`) and identified each by itself. Printed is,
per corruption, how many are not trusted (or refused), and in how many the right cause is among the first two.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from poinsot.models.planar import floor
from references.throws import CORRUPTIONS, examined, throw

FALSE_ALARMS = 0.02
"""Part of clean throws that may be distrusted."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clean", type=int, default=100)
    parser.add_argument("--wrong", type=int, default=10)
    arguments = parser.parse_args()
    alarms = {}
    for seed in range(arguments.clean):
        drop, shape = throw(seed)
        trust, causes = examined(drop, shape, floor())
        if trust != "trusted":
            alarms[seed] = causes
    print(f"clean: {len(alarms)} of {arguments.clean} not trusted {alarms}", flush=True)
    print(f"{'corruption':<32} {'not trusted':>12} {'named':>6}  first causes")
    distrusted = named = count = 0
    for name, (right, change, wall) in CORRUPTIONS.items():
        verdicts = []
        for seed in range(arguments.wrong):
            drop, shape = throw(seed)
            verdicts.append(examined(change(drop), shape, wall))
        bad = sum(trust != "trusted" for trust, _ in verdicts)
        good = sum(any(cause in right for cause in causes[:2]) for _, causes in verdicts)
        firsts = sorted({",".join(causes[:2]) for _, causes in verdicts})
        print(f"{name:<32} {bad:>12} {good:>6}  {'; '.join(firsts)}", flush=True)
        distrusted, named, count = distrusted + bad, named + good, count + len(verdicts)
    print(f"not trusted {distrusted} of {count}, rightly named {named}")
    sys.exit(len(alarms) > FALSE_ALARMS * arguments.clean)


if __name__ == "__main__":
    main()
