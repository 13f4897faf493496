"""Many recordings, many machines, and nothing that breaks it: measured, each for itself.

    python benchmarks/scale.py [--rows N] [--json PATH] [--only NAME ...]

streaming   least squares of a seven-axis arm from a log of 10^7 rows in Parquet files, two processes: largest memory,
            its growth from a tenth of the log, and what this makes of 10^8 rows; other files and block sizes
cluster     a study on two Dask workers, of which one is killed, against the same study in this process
hostile     processes that are killed at random moments (a study too), and damaged files (`support/hostile.py`)
filter      one update of ten parameters on Talos, beside filterpy with Pinocchio (`online.py` has the rest)
cold        processor time of `poinsot identify` on the TX40, from process start to page
day         what `poinsot track` runs, for `--hours` of a seven-axis arm at 1 kHz: growth of memory after a tenth,
            largest difference of the belief's clock from the samples', and bodies that are not physical

`make bench` leaves it out: it takes a quarter of an hour.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from support import needs

JOINTS = tuple(f"a{k}" for k in range(1, 8))
RATE_HZ = 1000.0
PERIOD = 100_000
"""Samples after which the motion repeats; noise does not."""
LARGEST = 100_000_000
FILES = 16
WORKERS = 2
DRAWS = 24


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--hours", type=float, default=1.0, help="simulated, of `day`")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="*", default=list(PARTS), choices=list(PARTS))
    arguments = parser.parse_args()
    figures: dict[str, Any] = {}
    for name in arguments.only:
        begun = time.perf_counter()
        numbers = PARTS[name](arguments.hours if name == "day" else arguments.rows)
        shown = ", ".join(f"{key} {value:.4g}" for key, value in numbers.items())
        print(f"{name}: {shown} ({time.perf_counter() - begun:.0f} s)", flush=True)
        figures |= numbers
    if arguments.json:
        arguments.json.write_text(
            json.dumps({"schema": "poinsot.benchmark-scale/1", "figures": figures}, indent=1)
        )


# ----------------------------------------------------------------------------------------------------------- streaming


def streaming(rows: int) -> dict[str, float]:
    """Memory of the whole and of a tenth, each in a process of its own; agreement of other partitions."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "arm.urdf").write_text(arm())
        tenth = rows // 10
        write_log(folder, rows)
        small = _streamed(folder, tenth, "small", 2**16)
        large = _streamed(folder, rows, "large", 2**16)
        # the tenth again: other files, other blocks, another number of workers
        again = folder / "again"
        again.mkdir()
        shutil.copy(folder / "arm.urdf", again)
        table = pl.scan_parquet(sorted(folder.glob("log_*.parquet"))).head(tenth).collect()
        cuts = [0, tenth // 7, tenth // 2 + 1, tenth]
        for k, (first, last) in enumerate(pairwise(cuts)):
            table[first:last].write_parquet(again / f"log_{k:03d}.parquet", row_group_size=30_000)
        del table
        other = _streamed(again, tenth, "other", 50_000, workers=1)
    values, others = (np.array(result["values"]) for result in (small, other))
    slope = (large["mb"] - small["mb"]) / (rows - tenth)
    return {
        "rows": rows,
        "peak_mb": large["mb"],
        "worker_mb": large["worker_mb"],
        "mb_at_1e8_rows": large["mb"] + slope * (LARGEST - rows),
        "partition_difference": float(np.abs(values - others).max() / np.abs(values).max()),
        "streaming_s": large["seconds"],
        "parameters": len(values),
    }


def _streamed(folder: Path, rows: int, name: str, block: int, workers: int = WORKERS) -> dict[str, Any]:
    out = folder / f"{name}.json"
    command = [
        sys.executable,
        __file__,
        "--stream",
        str(folder),
        str(rows),
        str(block),
        str(workers),
        str(out),
    ]
    subprocess.run(command, check=True)
    return dict(json.loads(out.read_text()))


def stream(folder: Path, rows: int, block: int, workers: int, out: Path) -> None:
    """The process that is measured: largest memory of this one, and of as many workers as the largest."""
    import poinsot
    from poinsot.io.parquet import ParquetLog
    from poinsot.studies.streaming import stream_least_squares
    from poinsot.studies.study import processes

    channels = {f"position.{joint}": (f"q_{joint}", "rad") for joint in JOINTS}
    channels |= {f"torque.{joint}": (f"tau_{joint}", "N m") for joint in JOINTS}
    log = ParquetLog(_files_with(folder, rows), channels, ("t", "s"))
    method = poinsot.ButterworthDecimation(cutoff_hz=20.0, decimate_hz=10.0)
    robot = poinsot.load_robot(folder / "arm.urdf", friction=poinsot.ViscousCoulomb())
    begun = time.perf_counter()
    with processes(workers) as pool:
        estimate = stream_least_squares(robot, log, method, executor=pool, block=block)
    largest = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    content = {
        "mb": (largest[0] + workers * largest[1]) / 1024,
        "seconds": time.perf_counter() - begun,
        "parent_mb": largest[0] / 1024,
        "worker_mb": largest[1] / 1024,
        "values": estimate.values.tolist(),
        "relative_error_percent": estimate.fit.relative_error_percent,
    }
    out.write_text(json.dumps(content))


def _files_with(folder: Path, rows: int) -> list[Path]:
    """The first files that hold so many rows; files are cut so that a tenth of them ends with one."""
    files, count = [], 0
    for path in sorted(folder.glob("log_*.parquet")):
        if count < rows:
            files.append(path)
            count += pl.scan_parquet(path).select(pl.len()).collect().item()
    if count != rows:
        raise SystemExit(f"{folder} has no files of {rows} rows together")
    return files


def arm() -> str:
    """A seven-axis arm; masses fall towards its tip."""
    text = '<robot name="arm"><link name="l0"/>'
    for k, joint in enumerate(JOINTS):
        mass, roll = 5.0 - 0.6 * k, (0.0, 1.5708, -1.5708)[0 if not k else 1 + k % 2]
        text += (
            f'<link name="l{k + 1}"><inertial><origin xyz="0.01 {0.02 * (k % 3 - 1)} 0.08"/><mass value="{mass}"/>'
            f'<inertia ixx="{0.01 * mass}" iyy="{0.012 * mass}" izz="{0.006 * mass}" '
            'ixy="1e-4" ixz="-2e-4" iyz="3e-4"/>'
            f'</inertial></link><joint name="{joint}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/>'
            f'<origin xyz="0 0 0.18" rpy="{roll} 0 0"/><axis xyz="0 0 1"/>'
            '<limit lower="-3" upper="3" effort="200" velocity="3"/></joint>'
        )
    return text + "</robot>"


def write_log(folder: Path, rows: int) -> None:
    """The log in files, the first tenth in files of its own; torques by Pinocchio, with friction and noise."""
    import pinocchio as pin

    rng = np.random.default_rng(0)
    model = pin.buildModelFromUrdf(str(folder / "arm.urdf"))
    data, time_s = model.createData(), np.arange(PERIOD) / RATE_HZ
    # whole periods of the repetition, so that the motion goes on without a step
    w = 2 * np.pi * rng.integers(10, 120, (7, 6)) / (PERIOD / RATE_HZ)
    angle = w[..., None] * time_s + rng.uniform(0, 2 * np.pi, (7, 6, 1))
    terms = ((w**0, np.sin), (w, np.cos), (-(w**2), np.sin))
    q, v, a = (np.einsum("jk, jkt -> tj", 0.15 * c, f(angle)) for c, f in terms)
    tau = np.array([pin.rnea(model, data, *sample) for sample in zip(q, v, a, strict=True)])
    tau += 2.0 * v + 1.5 * np.sign(v)
    tenth = rows // 10
    edges = [*np.linspace(0, tenth, 3).astype(int), *np.linspace(tenth, rows, FILES - 1).astype(int)[1:]]
    for k, (first, last) in enumerate(pairwise(edges)):
        at = np.arange(first, last)
        columns = {"t": at / RATE_HZ}
        noise = rng.standard_normal((2, len(at), 7))
        for j, joint in enumerate(JOINTS):
            columns[f"q_{joint}"] = q[at % PERIOD, j] + 2e-6 * noise[0, :, j]
            columns[f"tau_{joint}"] = tau[at % PERIOD, j] + 0.3 * noise[1, :, j]
        pl.DataFrame(columns).write_parquet(folder / f"log_{k:03d}.parquet", row_group_size=2**16)


# ------------------------------------------------------------------------------------------------------------- cluster


def draw(seed: int) -> dict[str, Any]:
    """A task with digits: the smallest singular values of random matrices, for a second."""
    rng, begun = np.random.default_rng(seed), time.perf_counter()
    smallest = [np.linalg.svd(rng.standard_normal((80, 60)), compute_uv=False)[-1] for _ in range(40)]
    time.sleep(max(0.4 - (time.perf_counter() - begun), 0.0))
    return {"smallest": np.array(smallest)}


def cluster(_: int) -> dict[str, float]:
    """Largest difference of a study whose worker was killed."""
    needs.package("distributed")
    from distributed import LocalCluster
    from scale import draw as task  # workers import it by the name of this file

    from poinsot.studies.study import Serial, Study, cluster as dask

    study, lines = Study({str(k): k for k in range(DRAWS)}, task), []
    alone = study.run(Serial())
    os.environ["PYTHONPATH"] = f"{Path(__file__).parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as local,
        dask(local.scheduler_address) as executor,
    ):

        def kill(line: str) -> None:
            lines.append(line)
            if len(lines) == DRAWS // 3:
                os.kill(next(iter(local.workers.values())).pid, signal.SIGKILL)

        results = study.run(executor, say=kill)
    apart = max(float(np.abs(alone[name]["smallest"] - results[name]["smallest"]).max()) for name in alone)
    return {"worker_killed_difference": apart, "workers_killed": 1}


# ------------------------------------------------------------------------------------------------ hostile, filter, cold


def hostile(_: int) -> dict[str, float]:
    from support.hostile import figures

    return dict(figures())


def filter_step(_: int) -> dict[str, float]:
    """Median of one step, and how many times the peer takes."""
    out = Path(tempfile.mkdtemp()) / "online.json"
    subprocess.run(
        [sys.executable, Path(__file__).parent / "online.py", "--json", out],
        check=False,
        stdout=subprocess.DEVNULL,
    )
    content = json.loads(out.read_text())
    ratio = next(entry["value"] for entry in content["ratios"] if entry["name"] == "filterpy / poinsot")
    return {
        "filter_median_us": 1e6 * content["seconds"]["one step, median"]["processor"],
        "filter_ratio": ratio,
    }


def cold(_: int) -> dict[str, float]:
    """Least processor time of seven runs, byte code and kernels cached."""
    source = needs.recording("staubli_tx40")
    job = Path(__file__).parents[1] / "examples" / "tx40.toml"
    command = [sys.executable, "-m", "poinsot", "identify", str(job), "--data", str(source), "--out"]
    # a container may forbid to keep byte code: every process would then compile all that it imports
    keeping = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    spent = []
    for _ in range(7):
        with tempfile.TemporaryDirectory() as out:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([*command, out], check=True, capture_output=True, env=keeping)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {"cold_processor_s": min(spent)}


# ----------------------------------------------------------------------------------------------------------------- day

LOAD_KG = 0.7
MASSES_AT_ONCE = 1000


def day(hours: float) -> dict[str, float]:
    """A filter of the last link's mass properties; each hour begins with a load, which is off half an hour later."""
    import pinocchio as pin

    import poinsot
    from poinsot.estimators.online.belief import Sample
    from poinsot.estimators.online.filter import ExtendedKalmanFilter
    from poinsot.estimators.online.tracking import RateLimit, Tracker
    from poinsot.inertia.parameters import pseudo_inertia
    from poinsot.models.robot.link_torques import LinkTorques

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "arm.urdf").write_text(arm())
        robot = poinsot.load_robot(Path(folder) / "arm.urdf")
    rng, data = np.random.default_rng(0), robot.model.createData()
    w = 2 * np.pi * rng.integers(1, 12, (7, 4)) / 20.0
    angle = w[..., None] * np.arange(20_000) / RATE_HZ + rng.uniform(0, 2 * np.pi, (7, 4, 1))
    terms = ((w**0, np.sin), (w, np.cos), (-(w**2), np.sin))
    q, v, a = (np.ascontiguousarray(np.einsum("jk, jkt -> tj", 0.2 * c, f(angle))) for c, f in terms)
    heavy = robot.model.copy()
    heavy.appendBodyToJoint(
        7, pin.Inertia(LOAD_KG, np.array([0.0, 0.0, 0.1]), 0.002 * np.eye(3)), pin.SE3.Identity()
    )
    loaded = (heavy, heavy.createData())
    # pin.rnea returns its own buffer
    efforts = [
        np.array([pin.rnea(*of, *sample).copy() for sample in zip(q, v, a, strict=True)])
        for of in ((robot.model, data), loaded)
    ]
    # of another length than the motion, so that pairs do not repeat
    noise = 0.05 * rng.standard_normal((20_011, 7))
    torques = LinkTorques(robot, (robot.bodies[-1],))
    tracker = Tracker(ExtendedKalmanFilter(torques, 0.05), RateLimit(3.0))
    described = torques.described[0, 0]
    count, per_hour = round(hours * 3600 * RATE_HZ), 3_600_000
    bodies, impossible, drift, least, late, first_mb = [], 0, 0.0, np.inf, [], 0.0
    busy = time.process_time()
    for k in range(count):
        at, stamp = k % 20_000, k / RATE_HZ
        tau = efforts[k % per_hour < per_hour // 2][at] + noise[k % 20_011]
        bodies.append(tracker.update(Sample(stamp, q[at], v[at], a[at], tau)).bodies[0])
        if len(bodies) == MASSES_AT_ONCE or k == count - 1:
            least_each = np.linalg.eigvalsh(pseudo_inertia(np.stack(bodies)))[:, 0]
            impossible += int(np.count_nonzero(~(least_each > 0)))
            least, bodies = min(least, float(least_each.min())), []
            drift = max(drift, abs(tracker.belief.time - stamp))
            if k % (per_hour // 2) == per_hour // 2 - 1:
                truth = described + LOAD_KG * (k % per_hour < per_hour // 2)
                late.append(abs(tracker.filter.inertial(tracker.belief.x)[0, 0] - truth))
                grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - first_mb
                spent = time.process_time() - busy
                print(
                    f"{stamp / 3600:.1f} h, {1e6 * spent / (k + 1):.1f} us a sample, {grown:.1f} MB, "
                    f"{late[-1]:.2g} kg off, {impossible} impossible",
                    flush=True,
                )
        if k == count // 10:
            first_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "tracked_samples": count,
        "tracked_growth_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - first_mb,
        "tracked_clock_difference_s": drift,
        "tracked_not_physical": impossible,
        "tracked_least_eigenvalue": least,
        "tracked_largest_mass_error_kg": max(late, default=float("nan")),
        "tracked_us": 1e6 * (time.process_time() - busy) / count,
    }


PARTS = {
    "streaming": streaming,
    "cluster": cluster,
    "hostile": hostile,
    "filter": filter_step,
    "cold": cold,
    "day": day,
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--stream"]:
        stream(Path(sys.argv[2]), *map(int, sys.argv[3:6]), Path(sys.argv[6]))
    else:
        main()
