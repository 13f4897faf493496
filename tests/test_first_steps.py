"""What a new user gets wrong first, and what is said then: in one sentence, with the line to write and its section."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import poinsot as package
from synthetic_job import write_job

ROOT = Path(__file__).resolve().parents[1]
ARM = ROOT / "examples/arm"


def test_a_robot_or_a_log_in_place_of_the_project_file(poinsot):
    for verb in ("identify", "inspect", "track"):
        code, _, err = poinsot(verb, ARM / "arm.urdf")
        assert code == 2 and f"poinsot new {ARM / 'arm.urdf'} LOG" in err and err.count("\n") == 1
    code, _, err = poinsot("identify", ARM / "identification.csv")
    assert code == 2 and f"poinsot new ROBOT.urdf {ARM / 'identification.csv'}" in err


def test_fewer_columns_than_joints_names_the_key_to_write(poinsot, tmp_path):
    text = (ARM / "job.toml").read_text().replace('"q1", "q2", "q3"', '"q1", "q2"')
    for file in ("arm.urdf", "identification.csv", "validation.csv"):
        (tmp_path / file).symlink_to(ARM / file)
    (tmp_path / "job.toml").write_text(text)
    code, _, err = poinsot("identify", tmp_path / "job.toml")
    assert code == 2 and "2 columns, but the robot has 3 joints" in err
    assert "in [robot], as in locked = { elbow = 0.0 }" in err


@pytest.mark.parametrize(
    ("before", "after", "section"),
    [
        ("[robot]", "[robot]\nrotor_inertia = true", "[drive]"),
        ("[robot]", "[robot]\nrate_hz = 250", "[[recordings]]"),
        ("[drive]", "[drive]\nweighting = 'robust'", "[method]"),
        ("[drive]", "[drive]\nlaw = 'viscous'", "[friction]"),
    ],
)
def test_an_unknown_key_says_in_which_section_it_lives(poinsot, tmp_path, before, after, section):
    key = re.findall(r"(\w+) =", after)[0]
    (tmp_path / "job.toml").write_text((ARM / "job.toml").read_text().replace(before, after, 1))
    code, _, err = poinsot("identify", tmp_path / "job.toml")
    assert code == 2 and f"unknown key '{key}'" in err
    assert re.search(rf"; {key} is a key of .*{re.escape(section)}", err)


def test_a_proposal_names_its_section(poinsot, tmp_path):
    _, out, _ = poinsot("inspect", ARM / "job.toml")
    assert "Set window_s = [0.35, 9.64] in [[recordings]]." in out and "takes in [preprocessing]" in out
    remedies = re.findall(r"((?:window_s|between_s|resample_hz|cutoff_hz|locked|passive) = \S.*)", out)
    assert remedies and all("[" in each.partition("=")[2] for each in remedies)


@pytest.mark.parametrize("arguments", [("-h",), ("identify", "-h"), ("new", "-h")])
def test_short_help(poinsot, arguments):
    code, out, _ = poinsot(*arguments)
    assert code == 0 and "Usage:" in out


def test_short_version_and_completion(poinsot):
    assert poinsot("-V")[1] == f"poinsot {package.__version__}\n"
    assert "--install-completion" in poinsot("-h")[1]


def test_dir_shows_public_names_only():
    code = "import poinsot; print([n for n in dir(poinsot) if n[0] != '_' and n not in poinsot.__all__])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_an_interrupt_while_modules_are_imported_is_one_line(tmp_path):
    """Typer's import is interrupted, as Ctrl-C would."""
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    run = subprocess.run(
        [sys.executable, "-m", "poinsot", "-h"],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
    )  # fmt: skip
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "poinsot: interrupted\n")


def test_the_first_run_says_once_that_it_compiles(monkeypatch, tmp_path, capsys):
    """At a terminal, and as long as there is no compiled code."""
    from poinsot.cli import shell

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(shell, "PACKAGE", tmp_path)
    said = []
    for _ in range(2):
        with shell.progress():
            pass
        said.append("compiles inner loops" in capsys.readouterr().err)
        (tmp_path / "__pycache__").mkdir(exist_ok=True)
        (tmp_path / "__pycache__/kernel.nbi").touch()
    assert said == [True, False]


def test_small_jitter_is_resampled_and_said(poinsot, tmp_path):
    """A standard deviation of a twentieth of an interval; half an interval is refused, with the line to write."""
    import numpy as np

    job = write_job(tmp_path)
    rng = np.random.default_rng(1)
    for part, code in ((0.035, 0), (0.5, 2)):
        for name in ("run.csv", "other.csv"):
            header = (tmp_path / name).read_text().partition("\n")[0]
            table = np.loadtxt(tmp_path / name, delimiter=",", skiprows=1)
            clock = np.arange(len(table)) + rng.uniform(-part, part, len(table)) * 0.99
            table[:, 0] = clock * np.median(np.diff(table[:, 0]))
            np.savetxt(tmp_path / name, table, delimiter=",", header=header, comments="", fmt="%.9f")
        found, _, err = poinsot("identify", job)
        assert found == code, err
    assert "resample_hz" in err
