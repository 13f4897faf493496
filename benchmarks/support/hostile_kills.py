"""`kill -9` at random moments of `identify`, `track`, `excite` and a study (a fleet on two workers), each in a folder
that has results of before.

After each kill every file under its final name must be whole, and the next run must succeed and leave nothing but its
outputs, nor finished tasks in the cache. A run is a fork of this process, which has imported everything, so that the
moments lie in poinsot's own work.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ARM = Path(__file__).resolve().parents[2] / "examples" / "arm"


def run(arguments: list[str], kill_after_s: float | None = None) -> int | None:
    """The exit code of `poinsot` with these arguments; None: it was killed."""
    from poinsot import cli

    child = os.fork()
    if not child:
        with open("output", "a") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            os._exit(cli.main(arguments))
    if kill_after_s is not None:
        time.sleep(kill_after_s)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    return None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)


def whole(path: Path) -> bool:
    """Whether a file ends as its format does."""
    if path.suffix in (".npz", ".checkpoint"):
        return zipfile.is_zipfile(path) and zipfile.ZipFile(path).testzip() is None
    if path.suffix == ".parquet":
        return path.read_bytes()[-4:] == b"PAR1"
    text = path.read_text()
    checks: dict[str, Callable[[], bool]] = {
        ".json": lambda: bool(json.loads(text)),
        ".jsonl": lambda: text.endswith("\n") and all(json.loads(line) for line in text.splitlines()),
        ".html": lambda: text.rstrip().endswith("</html>"),
        ".urdf": lambda: text.rstrip().endswith("</robot>"),
        ".csv": lambda: text.endswith("\n") and len({line.count(",") for line in text.splitlines()}) == 1,
    }
    try:
        return checks[path.suffix]()
    except ValueError:
        return False


def write_fleet(folder: Path) -> Path:
    """Write the arm's recording as the logs of three robots, each without another second, and a project file for all.

    In a fork: threads of Polars in this process would be missing in every fork that follows.
    """
    job = folder / "fleet.toml"
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0
        return job
    import polars as pl

    (folder / "logs").mkdir()
    rows = pl.read_csv(folder / "identification.csv", comment_prefix="#")
    for k in range(3):
        rows.slice(250 * k, len(rows) - 500).write_parquet(
            folder / "logs" / f"unit{k + 1}_2026-05-04.parquet"
        )
    head, _, rest = (folder / "job.toml").read_text().partition("[[recordings]]")
    recording, _, rest = rest.partition("[[recordings]]")
    preprocessing = rest[rest.index("[preprocessing]") :]
    logs = recording.replace("identification.csv", "logs/*.parquet")
    job.write_text(f"{head}[[recordings]]{logs}{preprocessing}")
    os._exit(0)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def main(kills: int, seed: int, folder: Path) -> dict[str, int]:
    """Kill each verb in turn."""
    shutil.copytree(ARM, folder / "arm")
    os.chdir(folder / "arm")
    import pinocchio  # noqa: F401  (imported here, and so in every fork)

    from poinsot import report  # noqa: F401
    from poinsot.excitation import design, search  # noqa: F401
    from poinsot.studies.store import CACHE

    assert run(["identify", "job.toml", "--json", "robot.json"]) == 0, Path("output").read_text()
    Path("track.toml").write_text(Path("track.toml").read_text().replace("job.toml", "robot.json"))
    verbs = {
        "identify": ["identify", "job.toml", "--out", "identified", "--json", "identified/other.json"],
        "track": ["track", "track.toml", "--out", "tracked"],
        "excite": [
            "excite",
            "arm.urdf",
            "--duration",
            "4",
            "--starts",
            "1",
            "--max-seconds",
            "1.5",
            "--out",
            "excited",
        ],
        "study": ["identify", str(write_fleet(Path.cwd())), "--workers", "2", "--out", "fleet"],
    }
    stores = {*CACHE.glob("fleet-*.jsonl")}  # of studies of others
    rng, took, complete = random.Random(seed), {}, {}
    for name, arguments in verbs.items():
        began = time.perf_counter()
        assert run(arguments) == 0, Path("output").read_text()[-2000:]
        took[name] = time.perf_counter() - began
        complete[name] = files(Path(arguments[arguments.index("--out") + 1]))
    counts = {"kills": 0, "kills_truncated": 0, "reruns_failed": 0}
    while counts["kills"] < kills:
        name = list(verbs)[counts["kills"] % len(verbs)]
        arguments = verbs[name]
        out = Path(arguments[arguments.index("--out") + 1])
        # half of the moments in the last fifth, in which files are written
        start = rng.choice((0.0, 0.8))
        if run(arguments, took[name] * rng.uniform(start, 1.1)) is not None:
            continue  # it had ended before
        counts["kills"] += 1
        broken = [path for path in files(out) if not path.name.startswith(".") and not whole(path)]
        if broken:
            print(f"{name}: truncated {[*map(str, broken)]}", file=sys.stderr)
            counts["kills_truncated"] += 1
        began = time.perf_counter()
        code, left = run(arguments), sorted({*files(out)} ^ {*complete[name]})
        left += sorted({*CACHE.glob("fleet-*.jsonl")} - stores)
        took[name] = 0.5 * (took[name] + time.perf_counter() - began)
        if code != 0 or left:
            print(
                f"{name}: exit {code}, left {[*map(str, left)]}: {Path('output').read_text()[-500:]}",
                file=sys.stderr,
            )
            counts["reruns_failed"] += 1
    return counts


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]).resolve())))
