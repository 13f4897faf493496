"""A study gives the same digits however it is run, killed and resumed."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # workers import the tasks from there

from tasks import draw, kill_once, slow_draw, square

from poinsot.studies.store import Store
from poinsot.studies.study import Serial, Study, StudyInterrupted, chosen, cluster, processes

SQUARES = {str(k): k for k in range(8)}


def sum_of(done):
    return sum(done.values())


def same(one, other):
    assert one.keys() == other.keys()
    for name, each in one.items():
        assert each["mean"] == other[name]["mean"]
        np.testing.assert_array_equal(each["values"], other[name]["values"])


@pytest.fixture
def importable(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")


def test_every_executor_gives_the_same(importable):
    study = Study({f"draw {k}": k for k in range(6)}, draw)
    alone = study.run(Serial())
    assert list(alone) == list(study.tasks)
    with ThreadPoolExecutor(3) as threads:
        same(alone, study.run(threads))
    with processes(2) as pool:
        same(alone, study.run(pool))
    with chosen(workers=2):
        same(alone, study.run())


def test_a_study_that_was_stopped_goes_on(tmp_path):
    store, asked, said = Store("squares", {"seed": 1}, tmp_path), [], []

    def counted(k):
        asked.append(k)
        return square(k)

    study = Study(SQUARES, counted, sum_of)
    with pytest.raises(StudyInterrupted, match=r"was stopped; 3 of 8 results are kept in .*: run it again"):
        study.run(Serial(), store, stop=lambda: len(asked) == 3)
    assert study.run(Serial(), Store("squares", {"seed": 1}, tmp_path), say=said.append) == 140
    assert sorted(asked) == list(range(8))
    assert said[-1] == "8 of 8 solved, 3 from before"
    assert not store.path.exists()


def test_a_store_belongs_to_its_settings_and_version(tmp_path, monkeypatch):
    store = Store("a", {"seed": 1}, tmp_path)
    assert Store("a", {"seed": 2}, tmp_path).path != store.path
    monkeypatch.setattr("poinsot.studies.store.__version__", "another")
    assert Store("a", {"seed": 1}, tmp_path).path != store.path


def test_a_store_cut_at_any_byte_keeps_the_records_before_and_takes_new_ones(tmp_path):
    store, results = Store("cut", {}, tmp_path), {str(k): draw(k) for k in range(3)}
    ends = []
    for task, result in results.items():
        store.add(task, result)
        ends.append(store.path.stat().st_size)
    whole = store.path.read_bytes()
    for size in range(len(whole) + 1):
        store.path.write_bytes(whole[:size])
        # the last line feed is no part of a record
        kept = sum(end - 1 <= size for end in ends)
        assert list(store.read()) == list(results)[:kept], size
        store.add("new", {"mean": 1.5})
        assert list(store.read()) == [*list(results)[:kept], "new"], size
    store.path.write_bytes(whole)
    same(store.read(), results)
    store.add("0", {"mean": 0.0})  # twice: the first counts
    same(store.read(), results)


@pytest.mark.parametrize("damage", [b"\0" * 40, b"\xff\xfe[[[", b"00000003 00000000 [1]\n", b"[" * 100_000])
def test_a_damaged_store_is_no_traceback(tmp_path, damage):
    store = Store("damaged", {}, tmp_path)
    store.path.write_bytes(damage)
    assert store.read() == {}
    store.add("1", 2)
    assert store.read() == {"1": 2}


def test_results_as_a_table(tmp_path):
    store = Store("table", {}, tmp_path)
    for k in range(4):
        store.add(f"draw {k}", {"mean": draw(k)["mean"], "seed": k})
    store.write_parquet(tmp_path / "table.parquet")
    table = pl.read_parquet(tmp_path / "table.parquet")
    assert table.columns == ["task", "mean", "seed"]
    assert table["mean"].to_list() == [draw(k)["mean"] for k in range(4)]


def test_a_task_that_fails_is_its_own_error():
    with pytest.raises(TypeError):
        Study({"a": "text"}, square).run(Serial())


def test_a_killed_process_is_a_sentence_and_a_state_to_go_on_from(tmp_path, importable):
    mark = tmp_path / "mark"
    tasks = {str(k): (k, str(mark) if k == 4 else None) for k in range(6)}
    store = Store("killed", {}, tmp_path)
    with (
        pytest.raises(StudyInterrupted, match=r"lost its workers .* of 6 results are kept"),
        processes(1) as pool,
    ):
        Study(tasks, kill_once).run(pool, store)
    kept = store.read()
    assert 0 < len(kept) < 6
    with processes(1) as pool:
        same(Study(tasks, kill_once).run(pool, store), {name: draw(k) for name, (k, _) in tasks.items()})


def test_workers_end_when_their_parent_is_killed(tmp_path, importable):
    program = (
        "import tasks, os\nfrom poinsot.studies.study import Study, processes\n"
        "if __name__ == '__main__':\n"
        "    with processes(2) as pool:\n"
        "        for k in range(2): pool.submit(tasks.wait_forever, k)\n"
        "        pool.submit(os.getpid); import time; time.sleep(2)\n"
        "        print(*pool._processes, flush=True); time.sleep(600)\n"
    )
    (tmp_path / "parent.py").write_text(program)
    with subprocess.Popen(
        [sys.executable, tmp_path / "parent.py"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        workers = [int(each) for each in parent.stdout.readline().split()]
        assert len(workers) == 2
        parent.kill()
    for _ in range(100):
        if not any(_runs(each) for each in workers):
            break
        time.sleep(0.1)
    assert not any(_runs(each) for each in workers)


def _runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


# ---------------------------------------------------------------------------------------------------------------- Dask


@pytest.fixture
def dask(importable):
    """A scheduler and two workers, processes of their own."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as found,
    ):
        yield found


def test_a_worker_that_is_killed_changes_no_digit(dask, tmp_path):
    study = Study({f"draw {k}": k for k in range(8)}, slow_draw)
    said = []

    def kill(what):
        said.append(what)
        if len(said) == 2:
            worker = next(iter(dask.workers.values()))
            os.kill(worker.pid, signal.SIGKILL)

    with cluster(dask.scheduler_address) as executor:
        found = study.run(executor, Store("dask", {}, tmp_path), say=kill)
    same(found, {name: draw(k) for name, k in study.tasks.items()})
    assert len(said) == 8


def test_a_scheduler_that_goes_away_is_a_sentence_and_a_state_to_go_on_from(dask, tmp_path):
    study, store = Study({f"draw {k}": k for k in range(12)}, slow_draw), Store("gone", {}, tmp_path)
    said = []

    def close(what):
        said.append(what)
        if len(said) == 3:
            dask.close(timeout=5)

    with (
        pytest.raises(StudyInterrupted, match=r"of 12 results are kept in"),
        cluster(dask.scheduler_address) as executor,
    ):
        study.run(executor, store, say=close)
    kept = len(store.read())
    assert 3 <= kept < 12
    said.clear()
    same(study.run(Serial(), store, say=said.append), {name: draw(k) for name, k in study.tasks.items()})
    assert len(said) == 12 - kept


def test_without_a_scheduler():
    pytest.importorskip("distributed")
    with (
        pytest.raises(StudyInterrupted, match="no Dask scheduler at tcp://127"),
        cluster("tcp://127.0.0.1:9"),
    ):
        pass
