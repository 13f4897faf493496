"""`make bench-check`: every script that has ratios in `baseline.json`, of which none may have lost 20 %.

Scripts go on where one fails; the last lines say which did, and the exit status is 1 then.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[1]


def main(names: list[str]) -> None:
    """Check these scripts; none: all that have ratios."""
    baseline = json.loads((BENCHMARKS / "baseline.json").read_text())
    failed = []
    for name in names or [benchmark for benchmark, ratios in baseline.items() if ratios]:
        print(f"== {name}", flush=True)
        if subprocess.run([sys.executable, BENCHMARKS / f"{name}.py", "--check"], check=False).returncode:
            failed.append(name)
    if failed:
        sys.exit(f"a promise is broken, results differ, or a ratio has lost 20 %: {', '.join(failed)}")


if __name__ == "__main__":
    main(sys.argv[1:])
