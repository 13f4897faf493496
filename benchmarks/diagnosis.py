"""Power and size of the checks of a result: corrupted recordings of four robots, and clean ones.

    python benchmarks/diagnosis.py [--robot NAME] [--cases WORDS] [--clean N] [--workers N] [--quick] [--json PATH]

Each corruption of `support/corruptions.py`, at each strength, is applied to the arm of the examples, a TX40, a UR10e
and a simulated Panda, and `identify` is run as the command line runs it. A corruption is

    found     the project is refused, or its result is not to be used, or it was corrected with a right cause;
              of a mild strength a warning with a right cause will do
    named     a right cause is among the first two findings, or in the refusal's message
    silent    the result is trusted
    wrong by  the largest change of a parameter from the uncorrupted estimate, in standard deviations of both: a
              corruption that moves nothing by much harms nobody

Clean recordings are simulated: motions as recorded or random, torques by Pinocchio, friction, noise of 0.5 to 5 % of
each torque, half of it coloured with a memory of 0.02 to 0.3 s. With the true bodies as description every verdict but
`trusted` is a false alarm; with bodies within a factor of two in mass and 30 degrees in the direction of the centre of
mass, every `not-to-be-used` and refusal. Intervals hold 95 % (Clopper and Pearson).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import support  # noqa: F401  BLAS on one thread, before NumPy
from scipy.special import betaincinv
from support.corruptions import BENIGN, CORRUPTIONS, Corruption
from support.report import machine
from support.robots_to_diagnose import ROBOTS
from support.scenes import Scene, rough, simulated
from threadpoolctl import threadpool_limits

CLEAN, QUICK_CLEAN = 200, 10
WRONG = 4.0
"""Change of a parameter that its interval does not explain [standard deviations]."""
FALSE_ALARMS = 0.02
"""At most, of clean recordings with the true description."""


# -- one run -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """One run: a corruption of one strength, or a clean recording.

    Args:
        kind: `corrupted`, `benign`, `clean`, `rough`.
        case: name of the corruption, "" of clean recordings.
        strength: its label; of clean recordings the number that seeds it.
    """

    robot: str
    kind: str
    case: str
    strength: str


@dataclass(frozen=True)
class Outcome:
    """Verdict of identify on one task.

    Args:
        trust: the verdict, `refused` or `crashed`.
        findings: (cause, severity), gravest first; of a refusal its causes.
        message: the first finding's, or the refusal's.
        seconds: processor time of identify.
        wrong_by: largest change from the uncorrupted estimate [standard deviations]; NaN where there are no numbers.
    """

    task: Task
    trust: str
    findings: tuple[tuple[str, str], ...]
    message: str
    seconds: float
    wrong_by: float = float("nan")

    @property
    def causes(self) -> list[str]:
        return [cause for cause, _ in self.findings]


@cache
def _scene(robot: str) -> Scene:
    return ROBOTS[robot]()


@cache
def _corruption(kind: str, name: str) -> Corruption:
    return next(
        corruption for corruption in (BENIGN if kind == "benign" else CORRUPTIONS) if corruption.name == name
    )


@cache
def _uncorrupted(robot: str) -> dict[str, tuple[float, float]]:
    """Parameter -> value and standard deviation."""
    from poinsot.project import identify

    with tempfile.TemporaryDirectory() as folder:
        return _numbers(identify(_scene(robot).write(Path(folder))))


def _numbers(estimate: Any) -> dict[str, tuple[float, float]]:
    return {
        name: (value, std)
        for name, value, std in zip(estimate.names, estimate.values, estimate.std, strict=True)
    }


def _wrong_by(robot: str, estimate: Any) -> float:
    known = _uncorrupted(robot)
    changes = [
        abs(value - known[name][0]) / np.hypot(std, known[name][1])
        for name, (value, std) in _numbers(estimate).items()
        if name in known and std > 0
    ]
    return float(np.nanmax(changes)) if changes else float("nan")


def run(task: Task) -> Outcome | None:
    """Identify; None where the scene has nothing to corrupt in this way."""
    scene = _scene(task.robot)
    if task.kind in ("clean", "rough"):
        seed = int(task.strength)
        rng = np.random.default_rng([seed, list(ROBOTS).index(task.robot)])
        true = simulated(scene, scene.urdf, rng, random=seed % 2 == 1)
        changed: Scene | None = true
        if task.kind == "rough":
            from dataclasses import replace

            changed = replace(true, urdf=rough(scene.urdf, rng))
    else:
        corruption = _corruption(task.kind, task.case)
        rng = np.random.default_rng(0)
        changed = corruption.change(scene, rng, *corruption.strengths[task.strength])
    return None if changed is None else _identified(task, changed)


def _identified(task: Task, scene: Scene) -> Outcome:
    from poinsot.exceptions import PoinsotError
    from poinsot.io.results import identify_json
    from poinsot.project import identify

    begin = time.process_time()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")
        try:
            project = scene.write(Path(folder))
            begin = time.process_time()
            estimate = identify(project)
            content = identify_json(estimate)
        except PoinsotError as error:
            seconds = time.process_time() - begin
            causes = tuple(
                (cause, "refusal") for cause in re.findall(r"\[([a-z]+(?:-[a-z]+)*)\]", str(error))
            )
            return Outcome(task, "refused", causes, str(error), seconds)
        except Exception as error:  # whatever it is, users would see a traceback
            return Outcome(
                task, "crashed", (), f"{type(error).__name__}: {error}", time.process_time() - begin
            )
    seconds = time.process_time() - begin
    wrong_by = _wrong_by(task.robot, estimate) if task.kind in ("corrupted", "benign") else float("nan")
    findings = content.get("findings", [])
    message = findings[0]["message"] if findings else ""
    return Outcome(
        task, content.get("trust", "trusted"), tuple((finding["cause"], finding["severity"]) for finding in findings),
        message, seconds, wrong_by,
    )  # fmt: skip


# -- what it means -----------------------------------------------------------------------------------------------------


def is_named(outcome: Outcome) -> bool:
    causes = _corruption("corrupted", outcome.task.case).causes
    first = outcome.causes if outcome.trust == "refused" else outcome.causes[:2]
    return bool(causes & set(first))


def is_found(outcome: Outcome) -> bool:
    mild = outcome.task.strength in _corruption("corrupted", outcome.task.case).mild
    if outcome.trust in ("refused", "not-to-be-used"):
        return True
    return is_named(outcome) and (outcome.trust == "corrected" or (mild and outcome.trust == "with-care"))


def is_false_alarm(outcome: Outcome) -> bool:
    if outcome.task.kind == "rough":
        return outcome.trust not in ("trusted", "with-care", "corrected")
    return outcome.trust != "trusted"


def interval(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Exact interval of a share k of n (Clopper and Pearson)."""
    tail = (1 - level) / 2
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - tail))
    return low, high


def share(k: int, n: int) -> str:
    if n == 0:
        return "-"
    low, high = interval(k, n)
    return f"{k}/{n} = {100 * k / n:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


# -- tables ------------------------------------------------------------------------------------------------------------


def _of(outcomes: Sequence[Outcome], robot: str, *kinds: str) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.task.robot == robot and outcome.task.kind in kinds]


def table(robot: str, outcomes: Sequence[Outcome], verbose: bool) -> list[str]:
    corrupted = _of(outcomes, robot, "corrupted")
    lines = [f"== {robot}"]
    if corrupted:
        lines.append(
            f"  {'corruption':<32} {'runs':>4} {'found':>6} {'named':>6} {'silent':>6}   not found, or misnamed"
        )
    for case in dict.fromkeys(outcome.task.case for outcome in corrupted):
        runs = [outcome for outcome in corrupted if outcome.task.case == case]
        found, named = (sum(map(test, runs)) for test in (is_found, is_named))
        silent = sum(outcome.trust == "trusted" for outcome in runs)
        wrong = [
            f"{outcome.task.strength or case}: {outcome.trust} {', '.join(outcome.causes[:2])}".strip()
            + (f" ({outcome.wrong_by:.1f} std)" if outcome.trust in ("trusted", "with-care") else "")
            for outcome in runs
            if verbose or not is_found(outcome) or not is_named(outcome)
        ]
        lines.append(f"  {case:<32} {len(runs):>4} {found:>6} {named:>6} {silent:>6}   {'; '.join(wrong)}")
    if corrupted:
        n = len(corrupted)
        lines.append(f"  found  {share(sum(map(is_found, corrupted)), n)}")
        lines.append(f"  named  {share(sum(map(is_named, corrupted)), n)}")
        silent = [outcome for outcome in corrupted if outcome.trust == "trusted"]
        lines.append(f"  silent {share(len(silent), n)}")
        lines.append(
            f"    of these wrong by more than {WRONG:g} std: {sum(outcome.wrong_by > WRONG for outcome in silent)}"
        )
    for outcome in _of(outcomes, robot, "benign"):
        name = f"{outcome.task.case} {outcome.task.strength}".strip()
        lines.append(
            f"  harmless: {name:<32} {outcome.trust} {', '.join(f'{c} ({s})' for c, s in outcome.findings)}"
        )
    for kind, name in (("clean", "clean, true description"), ("rough", "clean, rough description")):
        runs = _of(outcomes, robot, kind)
        if not runs:
            continue
        alarms = [outcome for outcome in runs if is_false_alarm(outcome)]
        lines.append(f"  false alarms, {name}: {share(len(alarms), len(runs))}")
        verdicts = Counter(outcome.trust for outcome in runs)
        lines.append(
            f"    verdicts: {', '.join(f'{verdict} {count}' for verdict, count in verdicts.most_common())}"
        )
        # of each check in how many recordings it raised something graver than a note
        raised = Counter(pair for outcome in runs for pair in set(outcome.findings) if pair[1] != "note")
        for (cause, severity), count in raised.most_common():
            lines.append(f"    {cause} ({severity}): {share(count, len(runs))}")
        if alarms:
            lines.append(f"    seeds: {', '.join(outcome.task.strength for outcome in alarms[:20])}")
    every = [outcome.seconds for outcome in outcomes if outcome.task.robot == robot]
    clean = [outcome.seconds for outcome in _of(outcomes, robot, "clean", "rough", "benign")]
    if clean:
        lines.append(
            f"  identify, clean: median {median(clean):.2f} s, slowest {max(clean):.2f} s of processor time"
        )
    if corrupted:
        seconds = [outcome.seconds for outcome in corrupted]
        lines.append(f"  identify, corrupted: median {median(seconds):.2f} s, slowest {max(seconds):.2f} s")
    lines.append(f"  {len(every)} runs, {sum(every):.0f} s of processor time")
    return lines


def as_json(outcome: Outcome) -> dict[str, Any]:
    task = outcome.task
    judged = (
        {"found": is_found(outcome), "named": is_named(outcome)}
        if task.kind == "corrupted"
        else {"false_alarm": is_false_alarm(outcome)}
    )
    return asdict(task) | judged | {
        "trust": outcome.trust,
        "findings": [{"cause": cause, "severity": severity} for cause, severity in outcome.findings],
        "message": outcome.message,
        "seconds": outcome.seconds,
        "wrong_by": outcome.wrong_by if np.isfinite(outcome.wrong_by) else None,
    }  # fmt: skip


# -- the command -------------------------------------------------------------------------------------------------------


def tasks(arguments: argparse.Namespace) -> Iterator[Task]:
    words = [word for word in (arguments.cases or "").split(",") if word]
    for robot in arguments.robot or ROBOTS:
        for kind, listed in (("benign", BENIGN), ("corrupted", CORRUPTIONS)):
            for corruption in listed:
                strengths = [
                    label
                    for label in corruption.strengths
                    if arguments.cases != "-"
                    and (not words or any(word in f"{corruption.name}: {label}" for word in words))
                ]
                for label in strengths[:1] if arguments.quick else strengths:
                    yield Task(robot, kind, corruption.name, label)
        for kind in ("clean", "rough"):
            for seed in range(arguments.first, arguments.first + arguments.clean):
                yield Task(robot, kind, "", str(seed))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--robot", action="append", choices=list(ROBOTS), help="one of them; may be repeated")
    parser.add_argument(
        "--cases", metavar="WORDS", help="only corruptions with one of these words, by commas; '-': none"
    )
    parser.add_argument(
        "--clean", metavar="N", type=int, help=f"clean recordings of a robot ({CLEAN}), of each kind"
    )
    parser.add_argument(
        "--first", metavar="N", type=int, default=0, help="number of the first clean recording"
    )
    parser.add_argument("--workers", metavar="N", type=int, default=1, help="processes")
    parser.add_argument(
        "--quick", action="store_true", help=f"one strength each, {QUICK_CLEAN} clean recordings"
    )
    parser.add_argument(
        "--verbose", action="store_true", help="also what is found and named rightly, with messages"
    )
    parser.add_argument("--json", metavar="PATH", help="write every outcome here; - is standard output")
    arguments = parser.parse_args()
    if arguments.clean is None:
        arguments.clean = QUICK_CLEAN if arguments.quick else CLEAN
    return arguments


def main() -> None:
    arguments = _arguments()
    requested = list(tasks(arguments))
    outcomes: list[Outcome] = []
    begin = time.perf_counter()

    def note(done: int, outcome: Outcome | None) -> None:
        if outcome is not None:
            outcomes.append(outcome)
            if arguments.verbose:
                line = f"{outcome.task.robot} {outcome.task.kind} {outcome.task.case} {outcome.task.strength}"
                print(f"  {line}: {outcome.trust} {outcome.findings} {outcome.message}", file=sys.stderr)
        if done % 10 == 0 or done == len(requested):
            passed = time.perf_counter() - begin
            print(
                f"\r  {done} of {len(requested)} runs, {passed:.0f} s ", end="", file=sys.stderr, flush=True
            )

    if arguments.workers == 1:
        for done, task in enumerate(requested, start=1):
            note(done, run(task))
    else:
        with ProcessPoolExecutor(arguments.workers, get_context("spawn")) as pool:
            for done, outcome in enumerate(pool.map(run, requested, chunksize=4), start=1):
                note(done, outcome)
    print(file=sys.stderr)
    out = sys.stderr if arguments.json == "-" else sys.stdout
    for robot in arguments.robot or ROBOTS:
        print("\n".join(table(robot, outcomes, arguments.verbose)), file=out)
    content = {
        "schema": "poinsot.benchmark.diagnosis/1",
        "machine": machine(),
        "outcomes": [as_json(outcome) for outcome in outcomes],
    }
    if arguments.json == "-":
        print(json.dumps(content, indent=1))
    elif arguments.json:
        Path(arguments.json).write_text(json.dumps(content, indent=1) + "\n")
    clean = [outcome for outcome in outcomes if outcome.task.kind == "clean"]
    too_many = [
        robot
        for robot in {outcome.task.robot for outcome in clean}
        # broken where more than 2 % is certain, so that few recordings do not fail by chance
        if interval(*_counted(clean, robot))[0] > FALSE_ALARMS
    ]
    sys.exit(bool(too_many))


def _counted(clean: Sequence[Outcome], robot: str) -> tuple[int, int]:
    runs = _of(clean, robot, "clean")
    return sum(map(is_false_alarm, runs)), len(runs)


if __name__ == "__main__":
    main()
