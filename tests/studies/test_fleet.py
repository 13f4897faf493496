"""`poinsot identify` of a fleet: one estimate each, pooled, and what differs, on one page and for scripts."""

import json
import pickle
from contextlib import contextmanager

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from poinsot.cli import main
from poinsot.exceptions import InvalidProject, UnreadableFile
from poinsot.io.log_names import find_logs
from poinsot.project import Project
from poinsot.schemas import read_schema
from poinsot.studies.fleet import Fleet
from poinsot.studies.random_effects import random_effects
from poinsot.studies.study import CHOSEN, Serial, chosen
from simulated_fleet import BETWEEN_DAYS, BETWEEN_ROBOTS, VISCOUS, write_fleet


@contextmanager
def chosen_serial():
    given = CHOSEN.set(Serial())
    yield
    CHOSEN.reset(given)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three robots on two days each; the last log is damaged."""
    folder = tmp_path_factory.mktemp("fleet")
    write_fleet(folder, 3, 2, np.random.default_rng(0), seconds=4.0)
    (folder / "logs" / "unit03_2026-05-05.parquet").write_bytes(b"PAR1 and nothing else")
    return folder


@pytest.fixture(scope="module")
def outputs(folder):
    """What the command writes."""
    with chosen_serial():
        assert main(["-q", "identify", str(folder / "job.toml"), "--out", str(folder / "out")]) == 0
    return folder / "out"


def test_one_estimate_each_pooled_on_one_page(outputs):
    content = json.loads((outputs / "result.json").read_text())
    assert content["schema"] == "poinsot.fleet/1"
    assert (content["logs"], content["robots"], content["days"], content["refused"]) == (6, 3, 6, 1)
    assert set(content) == set(read_schema("fleet")["properties"])
    refused = [each for each in content["estimates"] if each["refused"]]
    assert [each["log"] for each in refused] == ["logs/unit03_2026-05-05.parquet"]
    parameters = {each["name"]: each for each in content["parameters"]}
    for name in ("fv1", "fv2", "fv3"):
        found = parameters[name]
        assert found["logs"] == 5
        assert found["between"].keys() == {"day", "robot"}
        # what is pooled are the estimates themselves
        rows = [
            (each["robot"], each["day"], row)
            for each in content["estimates"]
            if not each["refused"]
            for row in each["parameters"]
            if row["name"] == name
        ]
        robots, days, rows = zip(*rows, strict=True)
        values, std = ([row[key] for row in rows] for key in ("value", "std_coloured"))
        again = random_effects(np.array(values), np.array(std), robots, days)
        assert found["value"] == pytest.approx(again.mean, rel=1e-9)
        assert found["between"]["robot"]["std"] == pytest.approx(again.spreads["robot"].std, rel=1e-9)
    page = (outputs / "report.html").read_text()
    assert "unit03" in page
    assert "not pooled" in page


def test_each_estimate_is_that_of_its_log_alone(folder, outputs):
    fleet = Fleet.of(Project.load(folder / "job.toml"))
    alone = fleet.project_of(fleet.logs[2].paths[0]).identify()
    content = json.loads((outputs / "result.json").read_text())
    rows = content["estimates"][2]["parameters"]
    assert [row["value"] for row in rows] == pytest.approx(list(alone.values), rel=1e-12)


def test_a_pattern_finds_the_project_beside_it(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    with chosen_serial():
        assert main(["identify", "logs/unit01*.parquet"]) == 0
    said = capsys.readouterr().out
    assert "2 logs of 1 robot" in said
    assert "what differs between robots cannot be told" in said


def test_errors_are_one_sentence(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["identify", "logs/*.parquet"]) == 2
    assert "without a project file" in capsys.readouterr().err
    job = str(folder / "job.toml")
    assert main(["identify", job, "--logs", "nothing/*.csv"]) == 2
    assert "no file fits" in capsys.readouterr().err
    assert main(["identify", job, "--logs", "{robot}_{date}.parquet"]) == 2
    assert "{date}" in capsys.readouterr().err
    log = str(folder / "logs" / "unit01_2026-05-04.parquet")
    assert main(["identify", job, "--json", log]) == 2
    assert pl.read_parquet(log).height > 0


def test_a_log_in_several_files_is_read_in_blocks(folder, tmp_path):
    table = pl.read_parquet(folder / "logs" / "unit01_2026-05-04.parquet")
    parts = tmp_path / "logs" / "unit01"
    parts.mkdir(parents=True)
    table[:300].write_parquet(parts / "part_0.parquet")
    table[300:].write_parquet(parts / "part_1.parquet")
    project = Project.load(folder / "job.toml")
    fleet = Fleet(project, folder, find_logs(tmp_path, "logs/{robot}/part_{part}.parquet"))
    assert [len(log.paths) for log in fleet.logs] == [2]
    (record,) = fleet.estimate(Serial(), tmp_path).records
    whole = Fleet.of(project).project_of(folder / "logs" / "unit01_2026-05-04.parquet").identify()
    found = [row["value"] for row in record["parameters"]]
    np.testing.assert_allclose(found, whole.values, rtol=1e-9, atol=1e-9 * np.abs(whole.values).max())


def test_names_say_robot_and_day(tmp_path):
    for name in ("a/go1-7_20260504.csv", "a/go1-7_20260505.csv", "b/left arm 2026.05.04.csv", "b/plain.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = [(log.robot, log.day) for log in find_logs(tmp_path, "**/*.csv")]
    assert found == [
        ("a/go1-7", "2026-05-04"),
        ("a/go1-7", "2026-05-05"),
        ("b/left arm", "2026-05-04"),
        ("b/plain", ""),
    ]
    found = [(log.robot, log.day) for log in find_logs(tmp_path, "a/{robot}_{day}.csv")]
    assert found == [("go1-7", "20260504"), ("go1-7", "20260505")]
    with pytest.raises(UnreadableFile, match="no file fits"):
        find_logs(tmp_path, "*.mcap")


def test_several_recordings_are_no_template(folder):
    project = Project.load(folder / "job.toml")
    twice = project.settings.model_copy(update={"recordings": project.settings.recordings * 2})
    with pytest.raises(InvalidProject, match="one recording for identification"):
        Fleet.of(Project(project.path, twice))


def test_tasks_reach_other_processes(folder):
    fleet = Fleet.of(Project.load(folder / "job.toml"))
    assert pickle.loads(pickle.dumps(fleet.project_of(fleet.logs[0].paths[0]))).settings.recordings[0].path


@pytest.mark.slow
def test_intervals_contain_what_robots_were_simulated_with(tmp_path):
    """End to end: 40 fleets of 6 robots on 2 days; intervals contain the truth as often as they say."""
    hits = {"mean": 0, "robot": 0, "day": 0}
    with chosen(2):
        for k in range(40):
            folder = tmp_path / str(k)
            write_fleet(folder, 6, 2, np.random.default_rng(100 + k), seconds=6.0)
            found = Fleet.of(Project.load(folder / "job.toml")).estimate(folder=tmp_path)
            for each in found.parameters:
                if each.name in ("fv1", "fv2", "fv3"):
                    low, high = each.effects.interval_95
                    hits["mean"] += low <= VISCOUS <= high
                    for level, tau in (("robot", BETWEEN_ROBOTS), ("day", BETWEEN_DAYS)):
                        low, high = each.effects.spreads[level].interval_95
                        hits[level] += low <= tau <= high
    low, _ = binom.ppf([0.001, 0.999], 120, 0.95)
    assert all(each >= low for each in hits.values()), hits
