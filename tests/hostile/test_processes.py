"""Processes that are killed, terminated or out of disk: old outputs stay, and nothing else is left."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from poinsot.io.writing import atomic_path, write_text
from poinsot.studies.study import end_with_parent
from synthetic_job import write_job

ROOT = Path(__file__).parents[2]
ARM = ROOT / "examples" / "arm"
COMMAND = [sys.executable, "-m", "poinsot"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -------------------------------------------------------------------------------------------------------- killed


def write_slowly(path: Path) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text("half")
        (path.parent / "begun").touch()
        time.sleep(60)


def test_what_a_killed_process_left_is_removed_by_the_next_that_writes_there(tmp_path):
    write_text(tmp_path / "result.json", "before")
    (tmp_path / ".notes.partial.txt").write_text("of somebody else")
    process = get_context("spawn").Process(target=write_slowly, args=(tmp_path / "result.json",))
    process.start()
    while not (tmp_path / "begun").exists():
        time.sleep(0.02)
    (tmp_path / "begun").unlink()
    write_text(tmp_path / "other.json", "whole")  # the first process lives, and so does its file
    assert len(names(tmp_path)) == 4
    process.kill()
    process.join()
    assert (tmp_path / "result.json").read_text() == "before"
    write_text(tmp_path / "other.json", "again")
    assert names(tmp_path) == [".notes.partial.txt", "other.json", "result.json"]


def test_kills_at_random_moments_truncate_nothing(tmp_path):
    if not (ROOT / "benchmarks").exists():
        pytest.skip("benchmarks/ is not in source distributions")
    script = ROOT / "benchmarks" / "support" / "hostile_kills.py"
    done = subprocess.run(
        [sys.executable, str(script), "3", "1", str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1]) == {"kills": 3, "kills_truncated": 0, "reruns_failed": 0}


def sleep_with_parent() -> int:
    end_with_parent()
    return os.getpid()


def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, time\nfrom concurrent.futures import ProcessPoolExecutor\n"
        "from multiprocessing import get_context\nfrom poinsot.studies.study import end_with_parent\n"
        "def work(_):\n    print(os.getpid(), flush=True)\n    time.sleep(60)\n"
        "if __name__ == '__main__':\n"
        "    with ProcessPoolExecutor(2, get_context('spawn'), end_with_parent) as pool:\n"
        "        list(pool.map(work, range(2)))\n"
    )
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        workers = [int(parent.stdout.readline()) for _ in range(2)]
        parent.kill()
        parent.wait()
        assert parent.stdout.read() == ""  # until the last worker has closed it too
    assert not any(Path(f"/proc/{worker}/stat").exists() and alive(worker) for worker in workers)


def alive(process: int) -> bool:
    """Ended processes that nobody has waited for are zombies."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_process_without_parent_goes_on():
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert pool.submit(sleep_with_parent).result() != os.getpid()
    end_with_parent()


def test_termination_is_an_interruption(tmp_path):
    """The search is in its first seconds, and says how to resume it."""
    arguments = ["excite", str(ARM / "arm.urdf"), "--starts", "1000", "--out", str(tmp_path / "out")]
    run = subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.PIPE, text=True)
    while not any(path.name.endswith(".checkpoint") for path in tmp_path.rglob("*")):
        time.sleep(0.1)
        assert run.poll() is None
    run.send_signal(signal.SIGTERM)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    *steps, last = err.splitlines()
    assert last.startswith("poinsot: interrupted") and all(" s  searching" in step for step in steps)
    assert names(tmp_path / "out") == ["excite.checkpoint"]


# ------------------------------------------------------------------------------------------------------------ disks


SMALL_FILES = ["bash", "-c", 'ulimit -f 4; exec "$@"', "bash"]
"""As on a full disk: no file may be longer than a page. A shell sets it, since a process with JAX must not fork."""


@pytest.mark.parametrize("verb", ["identify", "track", "excite"])
def test_a_full_disk_is_one_sentence_and_old_outputs_stay(tmp_path, verb):
    arm, out = shutil.copytree(ARM, tmp_path / "arm"), tmp_path / "out"
    (arm / "track.toml").write_text((arm / "track.toml").read_text().replace('robot_from = "job.toml"', ""))
    arguments = {
        "identify": ["identify", str(arm / "job.toml")],
        "track": ["track", str(arm / "track.toml")],
        "excite": ["excite", str(arm / "arm.urdf"), "--starts", "1", "--max-seconds", "1"],
    }[verb]
    out.mkdir()
    old = {name: f"old {name}" for name in ("report.html", "result.json", "trajectory.csv", "excite.html")}
    for name, text in old.items():
        (out / name).write_text(text)
    done = subprocess.run(
        [*SMALL_FILES, *COMMAND, *arguments, "--out", str(out)],
        *(), capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},  # which Python 3.11 would cut short, for all who come after
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("poinsot: cannot write")
    assert done.stderr.count("\n") == 1
    assert {name: (out / name).read_text() for name in old} == old
    assert set(names(out)) - {"published.jsonl"} == set(old)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_disk_that_is_full_or_read_only(tmp_path):
    disk, job = tmp_path / "disk", write_job(tmp_path)
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=False)
    if mounted.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        for options, sentence in (("size=64k", "No space left"), ("ro", "no permission to write")):
            subprocess.run(["mount", "-o", f"remount,{options}", disk], check=True)
            done = subprocess.run(
                [*COMMAND, "identify", str(job), "--out", str(disk)],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 2
            assert done.stderr.startswith("poinsot: cannot write")
            assert sentence in done.stderr
            assert names(disk) == []
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_folder_that_vanishes_during_the_work_is_made_again_or_named(poinsot, tmp_path, monkeypatch):
    import poinsot.project as project

    job, identify = write_job(tmp_path), project.identify
    (tmp_path / "there").mkdir()

    def vanish(*arguments: object, **options: object) -> object:
        shutil.rmtree(tmp_path / "there", ignore_errors=True)
        return identify(*arguments, **options)

    monkeypatch.setattr(project, "identify", vanish)
    code, _, err = poinsot("identify", job, "--json", tmp_path / "there" / "result.json")
    assert code == 2
    assert "there is no folder" in err
    assert poinsot("identify", job, "--out", tmp_path / "there")[0] == 0


def test_the_manifest_fits_the_files_of_one_run(poinsot, tmp_path):
    job, out = write_job(tmp_path), tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("of somebody else")
    assert poinsot("identify", job, "--out", out)[0] == 0
    manifest = json.loads((out / "poinsot.manifest.json").read_text())
    assert manifest["schema"] == "poinsot.manifest/1"
    assert sorted(manifest["files"]) == ["report.html", "result.json"]
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
    assert (out / "mine.txt").read_text() == "of somebody else"
