"""Real recordings of other groups: the verdict on each, and whether estimates of one mechanism agree with each other.

    python benchmarks/real_recordings.py [DATA] [--only NAME] [--json FILE]

Each mechanism in `DATA` (`../shared/data` unless given) is identified from two or more parts: recordings, or stretches
of one. Printed are the verdict and the findings of each part, and how many values of each part's estimate lie within
the intervals for the next recording of every other part's.
"""

from __future__ import annotations

import argparse
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import poinsot
from poinsot.project import Project

ROOT = pathlib.Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"


def robot(name: str) -> str:
    folder = pathlib.Path(sys.prefix)
    return str(next(folder.rglob(f"example-robot-data/robots/**/{name}")))


def tx40(data: pathlib.Path) -> Iterator[tuple[str, str]]:
    job = (EXAMPLES / "tx40.toml").read_text().replace("decimate_hz = 10", "decimate_hz = 20")
    for name, window in {
        "first half": "[0.55, 3.9]",
        "second half": "[3.9, 7.3]",
        "whole": "[0.55, 7.3]",
    }.items():
        yield name, job.replace("[0.55, 7.3]", window)


def emps(data: pathlib.Path) -> Iterator[tuple[str, str]]:
    job = (EXAMPLES / "emps.toml").read_text().replace('"emps.urdf"', f'"{EXAMPLES / "emps.urdf"}"')
    yield from stretches(job, {"first half": "[0, 12.4]", "second half": "[12.4, 25]", "whole": "[0, 25]"})


UR10E = """
[robot]
path = "ur10e.urdf"

[friction]
law = "viscous-coulomb"
offset = true

[[recordings]]
path = "<path>"
header = false
rows = <rows>
time = { column = 0, unit = "s" }
position = { columns = [1, 2, 3, 4, 5, 6], unit = "rad" }
current = { columns = [13, 14, 15, 16, 17, 18], unit = "A" }

[drive]
gain = [14.87, 13.26, 11.13, 10.62, 11.03, 11.47]

[preprocessing]
method = "butterworth-decimation"
resample_hz = 100
cutoff_hz = "auto"
decimate_hz = "auto"

[method]
name = "least-squares"
weighting = "per-joint"
"""


def ur10e(data: pathlib.Path) -> Iterator[tuple[str, str]]:
    for name, path, rows in (
        ("free, first half", "free.csv", "[194, 2580]"),
        ("free, second half", "free.csv", "[2580, 4966]"),
        ("point to point", "validation.csv", "[700, 4200]"),
    ):
        yield name, UR10E.replace("<path>", path).replace("<rows>", rows)


def begun(*paths: str | pathlib.Path) -> str:
    """The project file that `poinsot new` writes."""
    with tempfile.TemporaryDirectory() as folder:
        job = pathlib.Path(folder) / "job.toml"
        command = [
            str(pathlib.Path(sys.executable).parent / "poinsot"),
            "new",
            *map(str, paths),
            "-y",
            "--out",
            str(job),
        ]
        run = subprocess.run(command, capture_output=True, text=True)
        if not job.exists():
            raise poinsot.PoinsotError(f"new: {run.stderr.strip()}")
        text = job.read_text()
        return re.sub(r'"((?:\.\./)+[^"]*)"', lambda m: f'"{(job.parent / m[1]).resolve()}"', text)


def stretches(job: str, between: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The job with its recording cut to each of these intervals [s]."""
    for name, interval in between.items():
        yield name, job.replace("[[recordings]]\n", f"[[recordings]]\nbetween_s = {interval}\n")


def lbr_med(data: pathlib.Path) -> Iterator[tuple[str, str]]:
    job = begun(data / "med7.urdf", data / "measurements_0_13s.parquet")
    yield from stretches(
        job,
        {
            "to 10.2 s": "[6.5, 10.2]",
            "from 10.2 s": "[10.2, 13.4]",
            "whole": "[0, 14]",
        },
    )


def so101(data: pathlib.Path) -> Iterator[tuple[str, str]]:
    for name in ("multisine", "chirp_sweep", "trapezoidal_profile", "step_response"):
        job = (EXAMPLES / "so101/job.toml").read_text()
        yield (
            name,
            job.replace('"so101.urdf"', f'"{EXAMPLES / "so101/so101.urdf"}"')
            .replace("multisine.parquet", f"{name}.parquet")
            .replace('name = "multisine"', f'name = "{name}"'),
        )


def bam(servo: str, *names: str) -> Callable[[pathlib.Path], Iterator[tuple[str, str]]]:
    def parts(data: pathlib.Path) -> Iterator[tuple[str, str]]:
        for name in names:
            yield name, begun(data / f"pendulum_{servo}.urdf", data / f"{servo}_{name}.parquet")

    return parts


def aliengo(data: pathlib.Path) -> Iterator[tuple[str, str]]:
    for numbers in ((0, 5, 12, 17), (3, 10, 16, 22)):
        yield (
            f"steps {numbers}",
            begun(data / "aliengo_fixed.xml", *(data / f"traj_{k}.parquet" for k in numbers)),
        )


def go2(data: pathlib.Path) -> Iterator[tuple[str, str]]:
    job = begun(robot("go2.urdf"), data / "in_the_air.parquet")
    yield from stretches(job, {"first half": "[0, 14]", "second half": "[14, 24]"})


def drops(data: pathlib.Path) -> Iterator[tuple[str, str]]:
    for name, numbers in {"drops 1 to 15": range(1, 16), "drops 16 to 30": range(16, 31)}.items():
        paths = [str(data / f"drop_{k:03d}.csv") for k in numbers]
        yield name, begun(*paths, "--rate-hz", "250", "--shape", "rectangle", "--size", "sides=[0.06, 0.06]")


def pendulum(data: pathlib.Path) -> Iterator[tuple[str, str]]:
    urdf = """<robot name="pendulum"><link name="base"/><link name="rod">
<inertial><origin xyz="0 0 -0.5"/><mass value="0.6"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="pivot" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint></robot>"""
    file = pathlib.Path(tempfile.mkdtemp()) / "pendulum.urdf"
    file.write_text(urdf)
    job = begun(file, data / "ddp.csv")
    yield from stretches(job, {"first half": "[0, 3]", "second half": "[3, 6.1]", "whole": "[0, 7]"})


def furuta(data: pathlib.Path) -> Iterator[tuple[str, str]]:
    job = (EXAMPLES / "furuta_swings.toml").read_text()
    first, second = re.split(r"\n\[\[recordings\]\]\nname = \"smaller swings\"\n", job)
    method = second[second.index("[method]") :]
    for name, between in {"1.5 to 9.5 s": "[1.5, 9.5]", "9.5 to 17.5 s": "[9.5, 17.5]"}.items():
        yield name, first.replace("[1.5, 9.5]", between) + "\n" + method


MECHANISMS: dict[str, tuple[str, Callable[[pathlib.Path], Iterator[tuple[str, str]]]]] = {
    "TX40": ("staubli_tx40", tx40),
    "EMPS": ("emps", emps),
    "UR10e": ("ur10e", ur10e),
    "LBR Med": ("lbr_med", lbr_med),
    "pendulum": ("pendulum", pendulum),
    "Furuta": ("furuta", furuta),
    "XL330 kp 200": ("bam_servos", bam("xl330", "kp200_sin_sin", "kp200_sin_time_square")),
    "XL330 kp 800": ("bam_servos", bam("xl330", "kp800_sin_sin", "kp800_sin_time_square")),
    "STS3250": ("bam_servos", bam("sts3250", "kp32_sin_sin", "kp32_sin_time_square")),
    "SO-101": ("so101", so101),
    "Go2": ("go2", go2),
    "Aliengo": ("aliengo_air", aliengo),
    "drops": ("square_drops", drops),
}


def identified(text: str, data: pathlib.Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = pathlib.Path(folder) / "job.toml"
        path.write_text(text)
        before = time.process_time()
        try:
            estimate = Project.load(path).identify(data)
            poinsot.write_estimate(estimate, path.parent / "result.json")
        except poinsot.PoinsotError as error:
            return {"trust": "refused", "error": str(error)}
        return json.loads((path.parent / "result.json").read_text()) | {"cpu_s": time.process_time() - before}


def inside(a: dict[str, Any], b: dict[str, Any]) -> tuple[int, int, list[str]]:
    """How many values of b lie in the intervals for the next recording of a, of how many, and which do not."""
    first, second = ({p["name"]: p for p in r.get("parameters", ())} for r in (a, b))
    count, within, outside = 0, 0, []
    for name in first.keys() & second.keys():
        p, q = first[name], second[name]
        std = p.get("std_next_recording") or p["std"]
        if (
            None in (p["value"], q["value"])
            or not std
            or not p.get("identifiable", True)
            or not q.get("identifiable", True)
        ):
            continue
        count += 1
        z = abs(p["value"] - q["value"]) / std
        within += z <= 1.96
        if z > 1.96:
            outside.append(f"{name} {z:.1f}")
    return within, count, sorted(outside)


def row(name: str, part: str, r: dict[str, Any]) -> Iterator[str]:
    """Lines of one part: its verdict, and its findings."""
    fit = r.get("fit") or {}
    error = fit.get("relative_error_percent") or 0.0
    yield f"{name:12} {part:24} {r['trust']:14} fit {error:6.2f} % {r.get('cpu_s', 0):6.1f} s {r.get('error', '')}"
    for finding in r.get("findings", ()):
        said = f"{finding['message'][:260]} | {finding.get('remedy', '')[:200]}"
        yield f"    {finding['severity']:8} {finding['cause']}: {said}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="?", default=str(ROOT.parent / "shared/data"))
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    for name, (folder, parts) in MECHANISMS.items():
        data = pathlib.Path(arguments.data) / folder
        if arguments.only.lower() not in name.lower():
            continue
        if not data.exists():
            print(f"{name}: {data} is missing")
            continue
        estimates = results[name] = {}
        try:
            for part, text in parts(data):
                estimates[part] = identified(text, data)
                print("\n".join(row(name, part, estimates[part])), flush=True)
        except poinsot.PoinsotError as error:
            print(f"{name}: {error}")
        total = np.zeros(2)
        for (i, a), (j, b) in itertools.permutations(estimates.items(), 2):
            if "whole" not in (i, j):
                within, count, outside = inside(a, b)
                total += within, count
                print(f"    {j} within {i}: {within}/{count} {outside[:8]}")
        print(f"{name}: agree {total[0]:.0f} of {total[1]:.0f}", flush=True)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results))


if __name__ == "__main__":
    main()
