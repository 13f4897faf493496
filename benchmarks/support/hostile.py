"""What cannot break poinsot: processes that are killed at random moments, and files that are damaged at random.

    python benchmarks/support/hostile.py --inputs 1000000       # make fuzz
    python benchmarks/support/hostile.py --guided csv           # by atheris: make fuzz FUZZ_FLAGS="--guided csv"

Each format is attacked in a process of its own (`hostile_inputs`), so that a crash is counted and the next one goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.hostile_inputs import CORPUS, SECONDS, TARGETS

INPUTS, KILLS = 20_800, 54
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}


def figures(inputs: int = INPUTS, kills: int = KILLS, seed: int = 0) -> dict[str, int]:
    """Counts: of kills, truncated files and failed reruns, and of inputs, exceptions and crashes."""
    from support import hostile_kills

    with tempfile.TemporaryDirectory() as folder:
        killed = subprocess.run(
            [sys.executable, hostile_kills.__file__, str(kills), str(seed), folder],
            *(), capture_output=True, text=True, env=ENVIRONMENT, check=False,
        )  # fmt: skip
        if killed.returncode:
            raise RuntimeError(f"the kills could not be counted: {killed.stderr[-2000:]}")
        return json.loads(killed.stdout.splitlines()[-1]) | fuzz(inputs, seed, Path(folder))


def fuzz(inputs: int, seed: int, folder: Path, names: tuple[str, ...] = tuple(TARGETS)) -> dict[str, int]:
    """Attack each format with its share of the inputs; findings stay in the folder."""
    total = sum(TARGETS[name].share for name in names)
    found = {"fuzzed": 0, "fuzz_exceptions": 0, "fuzz_crashes": 0}
    for name in names:
        count = -int(-inputs * TARGETS[name].share // total)
        here = folder / name
        here.mkdir(parents=True, exist_ok=True)
        began, crashes = time.perf_counter(), attack_format(name, count, seed, here)
        exceptions = len(list(here.glob(f"exception-{seed}.*.trace")))
        each = 1e3 * (time.perf_counter() - began) / count
        print(
            f"{name}: {count} inputs, {exceptions} exceptions, {crashes} crashes, {each:.1f} ms each",
            flush=True,
        )
        found["fuzzed"] += count
        found["fuzz_exceptions"] += exceptions
        found["fuzz_crashes"] += crashes
    return found


def attack_format(name: str, count: int, seed: int, folder: Path) -> int:
    """The number of inputs that crashed the process that read them, or stopped it for good."""
    from support import hostile_inputs

    left, crashes, progress = count, 0, folder / "progress"
    while left > 0:
        progress.write_bytes(bytes(8))
        command = [
            sys.executable,
            hostile_inputs.__file__,
            name,
            str(left),
            f"{seed}.{crashes}",
            str(folder),
        ]
        with (folder / "stderr").open("wb") as errors:
            process = subprocess.Popen(command, stdout=errors, stderr=errors, env=ENVIRONMENT)
        done, since = 0, time.monotonic()
        while (code := process.poll()) is None:
            time.sleep(0.2)
            now = struct.unpack("<q", progress.read_bytes())[0]
            if now != done:
                done, since = now, time.monotonic()
            # an alarm has ended whatever Python was doing long before
            elif time.monotonic() - since > 10 * SECONDS:
                process.kill()
        done = struct.unpack("<q", progress.read_bytes())[0]
        if code:
            crashes += 1
            content = (folder / f"input{TARGETS[name].suffix}").read_bytes()
            (folder / f"crash-{seed}-{crashes}{TARGETS[name].suffix}").write_bytes(content)
            (folder / f"crash-{seed}-{crashes}.stderr").write_bytes((folder / "stderr").read_bytes()[-5000:])
            if not done:
                raise RuntimeError(f"{name}: nothing was read: {(folder / 'stderr').read_text()[-2000:]}")
        left -= done
    return crashes


def guided(name: str, arguments: list[str]) -> None:
    """Coverage-guided, until something other than a `PoinsotError` comes of an input, or for ever."""
    import atheris

    with atheris.instrument_imports(include=["poinsot", "xml", "tomllib", "csv"]):
        from support import hostile_inputs

        target = hostile_inputs.TARGETS[name]
        folder = Path(tempfile.mkdtemp())
        os.chdir(folder)
        (folder / "seeds").mkdir()
        if name in hostile_inputs.PARSED_BY_FORK:
            hostile_inputs.parse_by_fork()
        for k, data in enumerate(hostile_inputs.corpus_of(name)):
            (folder / "seeds" / str(k)).write_bytes(data)
            path = folder / f"input{target.suffix}"
            path.write_bytes(data)
            hostile_inputs.answer(target, path)

    def one(data: bytes) -> None:
        path.write_bytes(data)
        outcome, trace = hostile_inputs.answer(target, path)
        if outcome == "exception":
            raise RuntimeError(trace)

    atheris.Setup([sys.argv[0], *arguments, str(folder / "seeds")], one)
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="default: the time, for other inputs each time"
    )
    parser.add_argument("--only", nargs="*", choices=[*TARGETS], default=[*TARGETS])
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"), help="where findings are kept")
    parser.add_argument(
        "--guided", choices=[*TARGETS], help="by atheris; further arguments are those of libFuzzer"
    )
    options, others = parser.parse_known_args()
    if options.guided:
        guided(options.guided, others)
        return
    found = fuzz(options.inputs, options.seed, options.out.absolute(), tuple(options.only))
    print(json.dumps(found))
    if found["fuzz_exceptions"] or found["fuzz_crashes"]:
        sys.exit(f"the inputs are in {options.out}; mend what they found, and add them to {CORPUS}")


if __name__ == "__main__":
    main()
