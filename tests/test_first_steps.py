"""What a new user gets wrong first, and what is said then: in one sentence, with the line to write and its section."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
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
    remedies = re.findall(
        r"((?:window_s|between_s|resample_hz|cutoff_hz|locked|passive) = \S.*)",
        out.partition("\nproposed for")[0],
    )
    assert remedies and all("[" in each.partition("=")[2] for each in remedies)


@pytest.fixture
def job(tmp_path):
    """The arm's job with a comment behind a number, in a folder of its own."""
    for name in ("arm.urdf", "identification.csv", "validation.csv"):
        shutil.copy(ARM / name, tmp_path)
    text = (ARM / "job.toml").read_text().replace("cutoff_hz = 20", "cutoff_hz = 20  # by hand")
    (tmp_path / "job.toml").write_text(text)
    return tmp_path / "job.toml"


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_proposals_are_written_into_the_project_file(poinsot, job, ending):
    job.write_bytes(job.read_text().replace("\n", ending).encode())
    before = job.read_text()
    code, out, _ = poinsot("inspect", job)
    assert (
        code == 0
        and out.startswith(f"Next: poinsot inspect {job} --apply writes")
        and job.read_text() == before
    )
    code, out, _ = poinsot("inspect", job, "--apply", "--json", job.parent / "inspect.json")
    assert code == 0 and "[[recordings]] number 2  window_s = [0.30, 9.69]  standstill" in out
    content = json.loads((job.parent / "inspect.json").read_text())
    assert content["applied"] and {"section": "[preprocessing]", "key": "cutoff_hz", "value": "3.4",
        "recording": None, "cause": "filter"} in content["proposals"]  # fmt: skip
    assert (job.parent / "job.toml.before").read_text() == before
    now = job.read_text()
    assert job.read_bytes().count(b"\r\n") == (ending == "\r\n") * now.count("\n")
    assert "cutoff_hz = 3.4  # by hand\n" in now and "decimate_hz = 2.3\n" in now
    # what was there before is there still, line by line, but for both filters
    assert [line for line in before.splitlines() if line not in now.splitlines()] == [
        "cutoff_hz = 20  # by hand",
        "decimate_hz = 10",
    ]
    runs = tomllib.loads(now)["recordings"]
    assert [run["window_s"] for run in runs] == [[0.35, 9.64], [0.3, 9.69]]
    _, out, _ = poinsot("inspect", job, "--apply")
    assert f"there is nothing to write into {job}" in out and job.read_text() == now
    assert not (job.parent / "job.toml.before1").exists()


def test_a_file_that_changed_meanwhile_is_not_written_to(poinsot, job, monkeypatch):
    seen = package.Project.inspect

    def change(project, data_dir=None):
        job.write_text(job.read_text() + "\n# from an editor\n")
        return seen(project, data_dir)

    monkeypatch.setattr(package.Project, "inspect", change)
    code, _, err = poinsot("inspect", job, "--apply")
    assert code == 2 and "was changed meanwhile" in err and "window_s" not in job.read_text()
    assert {path.name for path in job.parent.glob("job.toml*")} == {"job.toml"}


def test_a_file_that_lines_cannot_be_put_into_is_left_alone(poinsot, job):
    inline = (
        job.read_text()
        .replace("[preprocessing]\n", "")
        .replace('method = "butter', 'preprocessing.method = "butter')
    )
    head, _, rest = inline.partition("preprocessing.method")
    body, _, method = rest.partition("[method]")
    body = body.replace("cutoff_hz", "preprocessing.cutoff_hz").replace(
        "decimate_hz", "preprocessing.decimate_hz"
    )
    job.write_text(f"preprocessing.method{body}{head}[method]{method}")
    before = job.read_text()
    code, _, err = poinsot("inspect", job, "--apply")
    assert code == 2 and "write them yourself" in err and job.read_text() == before


def test_a_table_that_is_missing_is_added():
    from poinsot.estimate import Setting
    from poinsot.project.proposals import applied

    clock = Setting("[preprocessing]", "resample_hz", "100", None, "uneven-clock")
    text = applied('[method]\nname = "impacts"\n', [clock])
    assert tomllib.loads(text)["preprocessing"] == {"method": "none", "resample_hz": 100}


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
    from poinsot import kernels
    from poinsot.cli import shell

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(kernels, "private_folder", lambda: tmp_path)
    messages = []
    for _ in range(2):
        with shell.progress():
            pass
        messages.append("compiles inner loops" in capsys.readouterr().err)
        (tmp_path / "kernel.nbi").touch()
    assert messages == [True, False]


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
