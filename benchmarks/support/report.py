"""Report of a benchmark: seconds, ratios with their bounds, agreement of the results; as text and as JSON.

A ratio is bounded by what is promised and compared with `baseline.json`, the ratios of the commit. The exit status is 1
if a promise is broken or results disagree. That a ratio is worse than the baseline by more than `LOSS` is said; with
`--check` it makes the exit status 1 too.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from .timing import Seconds

BASELINE = Path(__file__).parents[1] / "baseline.json"
LOSS = 0.2
"""Part of a ratio that may be lost."""


@dataclass(frozen=True)
class Ratio:
    """One number to compare.

    Args:
        name: numerator and denominator.
        value: value in this run.
        at_least, at_most: promised bounds.
    """

    name: str
    value: float
    at_least: float | None = None
    at_most: float | None = None

    @property
    def kept(self) -> bool:
        above, below = self.at_least, self.at_most
        return bool((above is None or self.value >= above) and (below is None or self.value <= below))

    @property
    def promise(self) -> str:
        if self.at_least is not None:
            return f"at least {self.at_least:g}"
        return f"at most {self.at_most:g}" if self.at_most is not None else ""

    def worse_than(self, baseline: float) -> bool:
        if self.at_most is None:
            return self.value < (1 - LOSS) * baseline
        # of nothing there is no part
        return 0 < baseline < (1 - LOSS) * self.value


@dataclass(frozen=True)
class Agreement:
    """How far two programs' results are apart.

    Args:
        name: the compared quantity, with its unit.
        value: largest difference.
        at_most: largest difference that counts as agreement.
    """

    name: str
    value: float
    at_most: float

    @property
    def kept(self) -> bool:
        return bool(self.value <= self.at_most)


@dataclass(frozen=True)
class Limit:
    """Processor time that is promised as such; it has no place among ratios."""

    name: str
    seconds: float
    at_most: float

    @property
    def kept(self) -> bool:
        return self.seconds <= self.at_most


@dataclass(frozen=True)
class Row:
    """Time a node, of poinsot and of a peer.

    Args:
        what: was done.
        ours_us_per_node, peer_us_per_node: processor time [us].
        peer: its name and version.
        ratio: ours by the peer's; below 1 poinsot is faster.
    """

    what: str
    ours_us_per_node: float
    peer: str
    peer_us_per_node: float
    ratio: float


def options(
    description: str, full: str | None = None, counts: Mapping[str, str] | None = None
) -> argparse.Namespace:
    """The command line that every benchmark has.

    Args:
        description: its first line is shown.
        full: help text of `--full`; None: there is no such option.
        counts: other numbers that can be given, and what they are.
    """
    parser = argparse.ArgumentParser(description=description.strip().splitlines()[0])
    parser.add_argument("--json", metavar="PATH", help="write the numbers here; - is standard output")
    if full is not None:
        parser.add_argument("--full", action="store_true", help=full)
    parser.add_argument("--rounds", type=int, help="how often each program runs")
    for name, text in (counts or {}).items():
        parser.add_argument(f"--{name}", type=int, metavar="N", help=text)
    parser.add_argument(
        "--save-baseline", action="store_true", help=f"make these ratios the ones in {BASELINE.name}"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help=f"exit with 1 if a ratio is worse than in {BASELINE.name} by {LOSS:.0%}%",
    )
    return parser.parse_args()


def deliver(
    name: str,
    arguments: argparse.Namespace,
    seconds: Mapping[str, Seconds],
    ratios: Sequence[Ratio],
    agreements: Sequence[Agreement] = (),
    notes: Sequence[str] = (),
    limits: Sequence[Limit] = (),
    rows: Sequence[Any] = (),
) -> None:
    """Print, write, compare with the baseline, and leave with the exit status."""
    known = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    baseline = known.get(name, {})
    out = sys.stderr if arguments.json == "-" else sys.stdout
    print(_text(seconds, ratios, agreements, notes, limits, baseline), file=out)
    content = {
        "schema": "poinsot.benchmark/1",
        "name": name,
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "seconds": {program: asdict(duration) for program, duration in seconds.items()},
        "ratios": [
            asdict(ratio) | {"kept": ratio.kept, "baseline": baseline.get(ratio.name)} for ratio in ratios
        ],
        "agreements": [asdict(agreement) | {"kept": agreement.kept} for agreement in agreements],
        "limits": [asdict(limit) | {"kept": limit.kept} for limit in limits],
        "rows": [asdict(row) for row in rows],
        "notes": list(notes),
    }
    if arguments.json == "-":
        print(json.dumps(content, indent=2))
    elif arguments.json:
        Path(arguments.json).write_text(json.dumps(content, indent=2) + "\n")
    if arguments.save_baseline:
        known[name] = {ratio.name: float(f"{ratio.value:.3g}") for ratio in ratios}
        BASELINE.write_text(json.dumps(dict(sorted(known.items())), indent=2) + "\n")
    lost = [r.name for r in ratios if r.name in baseline and r.worse_than(baseline[r.name])]
    broken = not all(number.kept for number in (*ratios, *agreements, *limits))
    sys.exit(broken or bool(arguments.check and lost))


def machine() -> dict[str, Any]:
    """Where the numbers come from."""
    packages = {}
    for package in (
        "poinsot",
        "numpy",
        "scipy",
        "numba",
        "pin",
        "polars",
        "figaroh",
        "mujoco",
        "filterpy",
        "statsmodels",
    ):
        try:
            packages[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "packages": packages,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _text(
    seconds: Mapping[str, Seconds],
    ratios: Sequence[Ratio],
    agreements: Sequence[Agreement],
    notes: Sequence[str],
    limits: Sequence[Limit],
    baseline: Mapping[str, float],
) -> str:
    width = max(map(len, [*seconds, *(number.name for number in (*ratios, *agreements, *limits))]))
    lines = [f"  {'median':<{width}}  {'processor':>10}  {'passed':>10}"]
    for name, agreement in seconds.items():
        lines.append(
            f"  {name:<{width}}  {_duration(agreement.processor):>10}  {_duration(agreement.passed):>10}"
        )
    lines += ["", f"  {'ratio':<{width}}  {'this run':>10}  {'baseline':>10}  promised"]
    for ratio in ratios:
        before = baseline.get(ratio.name)
        verdict = "" if ratio.kept else "   BROKEN"
        if before is not None and ratio.worse_than(before):
            verdict += "   worse than the baseline"
        shown = f"{before:.3g}" if before is not None else "-"
        lines.append(f"  {ratio.name:<{width}}  {ratio.value:>10.3g}  {shown:>10}  {ratio.promise}{verdict}")
    for limit in limits:
        verdict = "" if limit.kept else "   BROKEN"
        lines.append(
            f"  {limit.name:<{width}}  {_duration(limit.seconds):>10}  {'':>10}  at most {limit.at_most:g} s{verdict}"
        )
    if agreements:
        lines += ["", f"  {'same result':<{width}}  {'difference':>10}  {'allowed':>10}"]
    for agreement in agreements:
        verdict = "" if agreement.kept else "  DIFFERENT"
        lines.append(
            f"  {agreement.name:<{width}}  {agreement.value:>10.2g}  {agreement.at_most:>10.2g}{verdict}"
        )
    return "\n".join([*lines, *(["", *(f"  {note}" for note in notes)] if notes else [])])


def _duration(value: float) -> str:
    if value < 1e-3:
        return f"{1e6 * value:.0f} us"
    return f"{1e3 * value:.1f} ms" if value < 1 else f"{value:.2f} s"
