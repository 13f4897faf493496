"""The command: exit codes, one sentence on standard error, and nothing half-written."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from poinsot import cli
from synthetic_job import JOB, TRUTH, write_job


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


# ----------------------------------------------------------------------------------------------------------- good runs


def test_identify_prints_and_writes(poinsot, tmp_path):
    job = write_job(tmp_path)
    code, out, err = poinsot(
        "identify", job, "--out", tmp_path / "out" / "deep", "--json", tmp_path / "result.json"
    )
    assert (code, err) == (0, "")
    assert all(name in out for name in TRUTH)
    assert files(tmp_path / "out") == {
        "deep",
        *(f"deep/{name}" for name in ("poinsot.manifest.json", "report.html", "result.json")),
    }
    content = json.loads((tmp_path / "result.json").read_text())
    assert content == json.loads((tmp_path / "out" / "deep" / "result.json").read_text())
    assert content["schema"] == "poinsot.identify/1"


@pytest.mark.parametrize("verb", ["identify", "inspect"])
def test_the_json_may_lie_in_the_folder_that_out_makes(poinsot, tmp_path, verb):
    """Or in one above it; in any other folder that does not exist it is refused before the work."""
    job, out = write_job(tmp_path), tmp_path / "new" / "deep"
    for path in (out / "r.json", tmp_path / "new" / "r.json"):
        code, _, err = poinsot(verb, job, "--out", out, "--json", path)
        assert (code, err) == (0, "")
        assert json.loads(path.read_text())["schema"] == f"poinsot.{verb}/1"
        shutil.rmtree(tmp_path / "new")
    refused(poinsot(verb, job, "--out", out, "--json", out / "deeper" / "r.json"), "there is no folder")
    assert not (tmp_path / "new").exists()


def test_identify_says_more_than_the_table(poinsot, tmp_path):
    job = write_job(tmp_path)
    change_text("job.toml", "least-squares", "essential-parameters")(tmp_path)
    table = np.loadtxt(tmp_path / "other.csv", delimiter=",", skiprows=1)
    table[:, 1:3] = 0.3
    np.savetxt(tmp_path / "other.csv", table, delimiter=",", header="t,x,phi,f,tau", comments="")
    _, out, _ = poinsot("identify", job)
    lines = out.splitlines()
    (held_out,) = [line for line in lines if line.startswith("held out: relative error ")]
    assert held_out.endswith("% on held out")
    assert "warning: Nothing moves in held out: it determines no friction or inertia of any joint." in lines
    assert any(line.startswith("note: ") and "essential" in line for line in lines)
    assert lines[-1] == "nothing was written; --out FOLDER writes the page and the result for scripts"
    _, out, _ = poinsot("identify", job, "--out", tmp_path / "out")
    assert out.splitlines()[-1].startswith(f"written: {tmp_path / 'out' / 'report.html'}")
    assert "nothing was written" not in out


def test_the_json_of_identify(poinsot, tmp_path):
    code, out, _ = poinsot("identify", write_job(tmp_path), "--json", "-")
    assert code == 0
    content = json.loads(out)  # and nothing else
    assert {"converged", "message"} <= content["status"].keys()
    assert content["status"]["converged"] is True
    assert {p["name"] for p in content["parameters"]} == set(TRUTH)
    wanted = {"name", "value", "std", "relative_std_percent", "unit", "identifiable", "grouping", "owner", "kind",
              "std_white", "std_coloured"}  # fmt: skip
    assert all(wanted <= parameter.keys() for parameter in content["parameters"])
    assert {"relative_error_percent", "relative_error_percent_per_joint"} <= content["fit"].keys()
    assert content["validation"]["relative_error_percent"] < 1
    assert content["validation"]["recordings"][0]["recording"] == "held out"
    assert {"read", "signals", "regressor", "solve", "total"} <= content["seconds"].keys()
    assert isinstance(content["rows"], int)
    assert isinstance(content["iterations"], int)
    assert content["condition_number"] >= 1
    for body in content["bodies"]:
        assert {"name", "mass", "center_of_mass", "inertia_at_com", "physically_consistent",
                "min_pseudo_inertia_eigenvalue"} <= body.keys()  # fmt: skip


def test_without_validation_there_is_null(poinsot, tmp_path):
    text = JOB[: JOB.index('[[recordings]]\nname = "held out"')] + JOB[JOB.index("[preprocessing]") :]
    _, out, _ = poinsot("identify", write_job(tmp_path, text), "--json", "-")
    assert json.loads(out)["validation"] is None


def test_names_of_outputs(poinsot, tmp_path):
    job = write_job(tmp_path, JOB + '\n[output]\nreport = "page.html"\nresult = "numbers.json"\n')
    poinsot("identify", job, "--out", tmp_path / "out")
    assert files(tmp_path / "out") == {"page.html", "numbers.json", "poinsot.manifest.json"}


def test_inspect_prints_and_writes(poinsot, tmp_path):
    code, out, err = poinsot(
        "inspect", write_job(tmp_path), "--out", tmp_path / "out", "--json", tmp_path / "i.json"
    )
    assert (code, err) == (0, "")
    assert "500 Hz" in out
    assert files(tmp_path / "out") == {
        *("inspect.html", "inspect_2.html", "inspect.json", "poinsot.manifest.json")
    }
    content = json.loads((tmp_path / "i.json").read_text())
    assert content["schema"] == "poinsot.inspect/1"
    assert [run["name"] for run in content["recordings"]] == ["run", "held out"]
    filters, nothing = (run["filters"] for run in content["recordings"])
    assert nothing is None
    asked = f"cutoff_hz = {filters['cutoff_hz']:g}, decimate_hz = {filters['decimate_hz']:g} and"
    assert f"note [filter] The motion asks for {asked}" in out
    assert asked in (tmp_path / "out" / "inspect.html").read_text()
    assert "nothing stands in the way of an estimation" in out


def test_inspect_json_alone(poinsot, tmp_path):
    code, out, _ = poinsot("inspect", write_job(tmp_path), "--json", "-")
    assert code == 0
    assert json.loads(out)["schema"] == "poinsot.inspect/1"


def test_version_and_help(poinsot):
    from poinsot import __version__

    assert poinsot("--version") == (0, f"poinsot {__version__}\n", "")
    code, out, _ = poinsot("--help")
    assert code == 0
    assert all(verb in out for verb in ("inspect", "identify", "reproduce"))
    for verb in ("inspect", "identify", "reproduce"):
        code, out, _ = poinsot(verb, "--help")
        assert code == 0
        assert "--json" in out


def verbs_in(text):
    """Lines of the help under the headings of verbs."""
    return [line for line in text.partition("\nStart:\n")[2].splitlines() if line.startswith("  ")]


def test_help_lists_verbs_in_the_order_of_their_use(poinsot):
    verbs = [line.split()[0] for line in verbs_in(poinsot("--help")[1])]
    assert verbs[:6] == ["new", "inspect", "identify", "track", "show", "open"] and "warmup" in verbs[6:]


def test_hidden_files_are_not_proposed(poinsot, tmp_path):
    (tmp_path / ".job.toml").touch()
    (tmp_path / "arm.toml").touch()
    code, _, err = poinsot("identify", tmp_path / "job.toml")
    assert code == 2 and "arm.toml" in err and ".job.toml" not in err


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom poinsot import cli\nassert cli.main(['--help']) == 0\n"
        "print(*sorted({'numba', 'pinocchio', 'polars', 'plotly', 'pydantic', 'scipy', 'numpy'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == ""


def test_reproduce(poinsot, tmp_path, shared_data):
    code, out, err = poinsot(
        "reproduce", "emps", "--data", shared_data("emps"), "--json", "-", "--out", tmp_path / "out"
    )
    assert (code, err) == (0, "")
    content = json.loads(out)
    assert content["schema"] == "poinsot.reproduce/1"
    assert {"name", "seed", "rows", "figures", "seconds"} <= content.keys()
    assert {row["name"] for row in content["rows"]} == {"M", "Fv", "Fc", "offset"}
    assert files(tmp_path / "out") == {"emps.html", "emps.json", "poinsot.manifest.json"}


# ----------------------------------------------------------------------------------------------------------- bad input


def csv_lines(path: Path) -> list[list[str]]:
    return [line.split(",") for line in path.read_text().splitlines()]


def change_cell(row: int, column: int, text: str):
    def change(folder: Path) -> None:
        lines = csv_lines(folder / "run.csv")
        lines[row][column] = text
        (folder / "run.csv").write_text("\n".join(",".join(line) for line in lines) + "\n")

    return change


def change_text(file: str, old: str, new: str):
    def change(folder: Path) -> None:
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new))

    return change


def cut_rows(count: int):
    def change(folder: Path) -> None:
        lines = (folder / "run.csv").read_text().splitlines()
        (folder / "run.csv").write_text("\n".join(lines[: count + 1]) + "\n")

    return change


def constant_torque(value: float):
    def change(folder: Path) -> None:
        table = np.loadtxt(folder / "run.csv", delimiter=",", skiprows=1)
        table[:, 4] = value
        np.savetxt(folder / "run.csv", table, delimiter=",", header="t,x,phi,f,tau", comments="")

    return change


def append(text: str):
    def change(folder: Path) -> None:
        (folder / "job.toml").write_text((folder / "job.toml").read_text() + text)

    return change


def cut_out(first: int, last: int):
    def change(folder: Path) -> None:
        lines = (folder / "run.csv").read_text().splitlines()
        (folder / "run.csv").write_text("\n".join([*lines[: first + 1], *lines[last + 1 :]]) + "\n")

    return change


def append_to(file: str, line: str, more: str):
    """Another line of TOML before the one that begins so."""
    return change_text(file, f"\n{line}", f"\n{more}\n{line}")


def still(folder: Path) -> None:
    table = np.loadtxt(folder / "run.csv", delimiter=",", skiprows=1)
    table[:, 1:3] = 0.3
    np.savetxt(folder / "run.csv", table, delimiter=",", header="t,x,phi,f,tau", comments="")


def noise_without_motion(folder: Path) -> None:
    """Torques that have nothing to do with the motion: no parameter explains them."""
    table = np.loadtxt(folder / "run.csv", delimiter=",", skiprows=1)
    table[:, 3:] = np.random.default_rng(5).standard_normal((len(table), 2))
    np.savetxt(folder / "run.csv", table, delimiter=",", header="t,x,phi,f,tau", comments="")
    essential = 'name = "essential-parameters"\nmax_relative_std_percent = 1.0\nkeep = []'
    change_text("job.toml", 'name = "least-squares"', essential)(folder)


BAD = {
    "missing project": (lambda folder: (folder / "job.toml").unlink(), "no file"),
    "missing recording": (lambda folder: (folder / "run.csv").unlink(), "run.csv"),
    "wrong delimiter": (change_text("run.csv", ",", ";"), 'set delimiter = ";"'),
    "missing column": (change_text("job.toml", '["f", "tau"]', '["g", "tau"]'), "no column 'g'"),
    "unknown unit": (change_text("job.toml", "mN m", "mNn"), "did you mean"),
    "unknown key": (change_text("job.toml", "cutoff_hz", "cutoff"), "did you mean 'cutoff_hz'?"),
    "text in a number": (
        change_cell(10, 3, "many"),
        "run.csv: column 'f' holds the text 'many' instead of a number in row 9 (counted from 0; line 11 of the file)",
    ),
    "NaN": (
        change_cell(10, 3, "nan"),
        "column 'f' (channel 'torque.slide') is empty or not a number in row 9",
    ),
    "infinity": (change_cell(10, 3, "inf"), "is infinite in row 9"),
    "clock backwards": (change_cell(10, 0, "1"), "the clock 't' runs backwards in row 9"),
    "clock repeats": (change_cell(10, 0, "16"), "the clock 't' repeats in row 9"),
    "jittered clock": (change_cell(10, 0, "19.5"), "resample"),
    "too few samples": (cut_rows(12), "too few"),
    "one sample": (cut_rows(1), "1 row is left"),
    "no samples": (cut_rows(0), "0 rows are left"),
    "cutoff above Nyquist": (change_text("job.toml", "cutoff_hz = 40", "cutoff_hz = 251"), "Nyquist"),
    "joint without a channel": (
        change_text("job.toml", '["x", "phi"], unit = ["mm", "deg"]', '["x"], unit = "mm"'),
        "position has 1 columns",
    ),
    "channel without a joint": (
        change_text("job.toml", '["x", "phi"]', '["x", "phi", "f"]'),
        "position has 3 columns",
    ),
    "wrong number of ratios": (append("[drive]\nreduction = [1, 2, 3]\n"), "reduction has 3 values"),
    "singular reduction matrix": (append("[drive]\nreduction = [0, 1]\n"), "singular"),
    "no moving joint": (change_text("table.urdf", "prismatic", "fixed"), "joint"),
    "all-zero torque": (constant_torque(0.0), "all zero"),
    "constant torque": (constant_torque(2.5), "constant"),
    "full parameters": (
        change_text("job.toml", 'name = "least-squares"', 'name = "least-squares"\nparameters = "full"'),
        "determine",
    ),
    "standstill": (still, "nothing moves in 'run'"),
    "floating base": (
        change_text("job.toml", 'path = "table.urdf"', 'path = "table.urdf"\nfloating_base = true'),
        "line 3: robot.floating_base: must be false: 'least-squares' needs the motion of the base",
    ),
    "gap": (
        lambda folder: (
            cut_out(2000, 2100)(folder),
            append_to("job.toml", "cutoff_hz", "resample_hz = 500")(folder),
        ),
        "channel 'position.slide' has invalid samples, the first at 4 s, 100 in all: cut the recording to a part",
    ),
    "part of a recording that is not there": (
        change_text("job.toml", 'path = "run.csv"', 'path = "run.csv"\nbetween_s = [100, 200]'),
        "the window 100 s to 200 s holds 0 samples",
    ),
    "empty essential set": (noise_without_motion, ""),
    "robot is no robot": (change_text("table.urdf", "robot", "rabbit"), "table.urdf"),
    "robot is no XML": (change_text("table.urdf", "</robot>", ""), "table.urdf"),
    "robot with an entity": (
        change_text("table.urdf", '<?xml version="1.0"?>', '<!DOCTYPE r [<!ENTITY a SYSTEM "/etc/passwd">]>'),
        "table.urdf",
    ),
}

IN_INSPECT = {
    "missing project",
    "missing recording",
    "wrong delimiter",
    "missing column",
    "unknown unit",
    "unknown key",
    "text in a number",
    "NaN",
    "infinity",
    "clock backwards",
    "clock repeats",
    "one sample",
    "no samples",
    "joint without a channel",
    "channel without a joint",
    "wrong number of ratios",
    "singular reduction matrix",
    "robot is no robot",
    "robot is no XML",
    "robot with an entity",
}


def refused(result: tuple[int, str, str], sentence: str) -> None:
    code, out, err = result
    assert code == 2, err
    assert out == ""
    assert err.startswith("poinsot: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert sentence in err


@pytest.mark.parametrize("case", BAD)
def test_bad_input_to_identify(poinsot, tmp_path, case):
    change, sentence = BAD[case]
    job = write_job(tmp_path)
    change(tmp_path)
    before = files(tmp_path)
    refused(poinsot("identify", job, "--out", tmp_path / "out", "--json", tmp_path / "result.json"), sentence)
    assert files(tmp_path) == before


@pytest.mark.parametrize("case", sorted(IN_INSPECT))
def test_bad_input_to_inspect(poinsot, tmp_path, case):
    change, sentence = BAD[case]
    job = write_job(tmp_path)
    change(tmp_path)
    before = files(tmp_path)
    refused(poinsot("inspect", job, "--out", tmp_path / "out", "--json", tmp_path / "result.json"), sentence)
    assert files(tmp_path) == before


@pytest.mark.parametrize("verb", ["inspect", "identify"])
def test_unwritable_outputs(poinsot, tmp_path, verb):
    job = write_job(tmp_path)
    (tmp_path / "file").write_text("")
    before = files(tmp_path)
    refused(poinsot(verb, job, "--out", tmp_path / "file"), "is not a folder")
    refused(poinsot(verb, job, "--out", tmp_path / "file" / "deep"), "is not a folder")
    refused(poinsot(verb, job, "--json", tmp_path / "nowhere" / "r.json"), "there is no folder")
    refused(poinsot(verb, job, "--json", tmp_path), "it is a folder")
    refused(poinsot(verb, job, "--data", tmp_path / "nowhere"), "there is no folder")
    refused(poinsot(verb, job, "--data", tmp_path / "file"), "is not a folder")
    assert files(tmp_path) == before


ARM = Path(__file__).parents[1] / "examples/arm"
LOSING = {
    "identify, a recording": ("identify", "job.toml", "--json", "identification.csv"),
    "identify, the project file": ("identify", "job.toml", "--json", "job.toml"),
    "identify, the description": ("identify", "job.toml", "--json", "arm.urdf"),
    "identify, a link to a recording": ("identify", "job.toml", "--json", "link.csv"),
    "identify, a second name of a recording": ("identify", "job.toml", "--json", "same.csv"),
    "inspect": ("inspect", "job.toml", "--json", "identification.csv"),
    "track": ("track", "track.toml", "--publish", "picking_up.csv"),
    "track, the stream": ("track", "track.toml", "--stream", "log.jsonl", "--publish", "log.jsonl"),
    "excite": ("excite", "arm.urdf", "--json", "arm.urdf"),
    "predict": ("predict", "log.jsonl", "validation.csv", "--out", "validation.csv"),
}


@pytest.mark.parametrize("arguments", LOSING.values(), ids=list(LOSING))
def test_an_output_is_never_an_input(poinsot, tmp_path, monkeypatch, arguments):
    for file in ARM.iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("log.jsonl").write_text("{}\n")
    Path("link.csv").symlink_to("identification.csv")
    os.link("identification.csv", "same.csv")
    before = {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    refused(poinsot(*arguments), "it is read here, and would be lost")
    assert before == {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}


def test_a_report_named_as_a_recording_is_refused(poinsot, tmp_path):
    """[output] may name files in the folder of the recordings."""
    for file in ARM.iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    job = tmp_path / "job.toml"
    job.write_text(job.read_text() + '\n[output]\nresult = "identification.csv"\n')
    refused(poinsot("identify", job, "--out", tmp_path), "would be lost")
    assert (tmp_path / "identification.csv").read_bytes() == (ARM / "identification.csv").read_bytes()


def test_a_page_that_fails_leaves_nothing_half_written(poinsot, tmp_path, monkeypatch):
    job = write_job(tmp_path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    code, _, err = poinsot("identify", job, "--json", tmp_path / "r.json")
    assert code == 2
    assert "No space left on device" in err
    assert not [name for name in files(tmp_path) if "json" in name]


def test_unknown_case(poinsot, tmp_path):
    refused(poinsot("reproduce", "tx400", "--data", tmp_path), "did you mean 'tx40'?")
    refused(poinsot("reproduce", "tx40"), "say where they are with --data")
    refused(poinsot("reproduce", "tx40", "--data", tmp_path), "pos_read_data.csv")


def test_reproduce_without_its_distribution_says_what_to_install(poinsot, monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: ())
    refused(poinsot("reproduce", "tx40"), "`pip install poinsot-reproductions`")


@pytest.mark.parametrize(
    "arguments",
    [["identify"], ["identify", "a", "b"], ["estimate", "job.toml"], ["identify", "--jason", "-"]],
)
def test_wrong_usage(poinsot, arguments):
    code, out, err = poinsot(*arguments)
    assert code == 2
    assert out == ""
    assert "Traceback" not in err


def test_ctrl_c(tmp_path):
    """A real interrupt, while the recording is read: exit code 130, one sentence, no file."""
    job = write_job(tmp_path)
    code = (
        "import sys, time\nfrom poinsot import cli, project\n"
        "def slow(*_):\n    print('reading', flush=True)\n    time.sleep(60)\n"
        "project.Project.load = slow\nsys.exit(cli.main(sys.argv[1:]))"
    )
    before = files(tmp_path)
    run = subprocess.Popen(
        [sys.executable, "-c", code, "identify", str(job), "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.stdout.readline() == "reading\n"
    time.sleep(0.1)
    os.kill(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=300)
    assert run.returncode == 130
    assert err == "poinsot: interrupted; nothing was left half-written\n"
    assert files(tmp_path) == before


def test_the_installed_command(tmp_path):
    """As a user runs it: its own process, standard error no terminal, so no progress on it."""
    job = write_job(tmp_path)
    change_text("job.toml", "cutoff_hz", "cutoff")(tmp_path)
    command = [sys.executable, "-c", "import sys; from poinsot.cli import main; sys.exit(main())"]
    run = subprocess.run([*command, "identify", str(job)], capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr.count("\n") == 1


def test_the_package_runs_as_a_module():
    run = subprocess.run(
        [sys.executable, "-m", "poinsot", "identify", "no.toml"], capture_output=True, text=True
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("poinsot: ") and "no.toml" in run.stderr


def test_a_pipe_has_a_line_of_progress_every_few_seconds(monkeypatch, capsys):
    import time

    monkeypatch.setattr(cli.shell, "SILENT_S", 0.05)
    with cli.shell.progress() as say:
        say("solving")
        end = time.process_time() + 1.0
        while time.process_time() < end:
            pass
    said = capsys.readouterr()
    assert said.out == "" and re.fullmatch(r"( +\d+ s  solving\n)+", said.err)


def test_progress_is_shown_to_people_only(monkeypatch, capsys):
    import io

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with cli.shell.progress() as say:
        say("solving")
    assert capsys.readouterr().out == ""


def test_quiet_and_verbose(poinsot, tmp_path):
    job = write_job(tmp_path)
    assert poinsot("identify", job, "-q", "--json", tmp_path / "r.json") == (0, "", "")
    assert (tmp_path / "r.json").exists()
    assert poinsot("-q", "identify", job)[1] == ""
    code, out, err = poinsot("identify", job, "--verbose")
    assert code == 0 and "Trusted" in out
    assert re.fullmatch(r"( +[\d.]+ s  [^\n]+\n)+", err) and "smoothing" in err and "solving" in err
    assert poinsot("identify", job)[2] == ""  # asked for once, and not for good


def test_time_left():
    from poinsot.cli.shell import time_left
    from poinsot.solve import Progress

    assert time_left(Progress("moving horizon", fraction=0.25), 10.0) == "30 s left: "
    assert time_left(Progress("trials", fraction=0.3), 60.0) == "2 min left: "
    assert time_left(Progress("iterating", iteration=3), 60.0) == ""
    assert time_left(Progress("reading", fraction=0.5), 0.1) == "" == time_left("reading", 3.0)


def test_colours_at_a_terminal_alone(poinsot, tmp_path, monkeypatch):
    from poinsot.cli.shell import echo

    said = []
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("typer.secho", lambda line, **look: said.append((line, look["fg"])))
    echo("Not to be used (scale)\nname  value\nm1  4\nwarning: beware\nnote: so it is")
    assert [fg for _, fg in said] == ["red", None, None, "yellow", "bright_black"]
    monkeypatch.undo()
    assert "\x1b" not in poinsot("identify", write_job(tmp_path))[1]


@pytest.mark.slow
def test_warmup_compiles_what_the_first_runs_need(poinsot, tmp_path):
    """In a process of its own, as kernels of this one are compiled already."""
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    root = Path(__file__).resolve().parents[1]

    def run(*arguments):
        command = [sys.executable, "-m", "poinsot", *map(str, arguments)]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, cwd=root)
        # nothing but lines of progress, of a run that takes seconds
        assert re.fullmatch(rb"( +\d+ s  [^\n]+\n)*", done.stderr) or arguments == ("warmup",)
        return {path.name: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")}

    def kernel_of(name):
        return name.partition("-")[0].rpartition(".")[2]

    compiled = run("warmup")
    assert compiled
    assert run("identify", "examples/arm/job.toml") == compiled
    assert run("identify", "examples/so101/job.toml", "--out", tmp_path / "so101") == compiled
    # kernels that a filter calls, and that take little time to compile
    for kernel, kept in (("_run", 0), ("plausible", 500)):
        path, *_ = (path for path in tmp_path.rglob("*.nbc") if kernel_of(path.name) == kernel)
        path.write_bytes(path.read_bytes()[:kept])
        compiled[path.name] = path.stat().st_mtime_ns
    again = run("track", "examples/arm/track.toml")
    assert again.keys() == compiled.keys()
    renewed = {kernel_of(name) for name in again if again[name] != compiled[name]}
    assert renewed == {"_run", "plausible"}
    assert poinsot("warmup", "--quiet") == (0, "", "")


def test_many_files_of_a_kind_are_told_in_short():
    from poinsot.cli.shell import _few

    motions = [f"drop_{k}-motion.npz" for k in range(60)]
    told = _few(Path("out"), ["report.html", *motions, "result.json"])
    assert told == ["out/report.html", "out/drop_0-motion.npz and 59 more .npz files", "out/result.json"]
    assert _few(Path("out"), motions[:2]) == [f"out/{name}" for name in motions[:2]]


def test_the_help_of_every_verb_is_whole(poinsot):
    lines = verbs_in(poinsot("--help")[1])
    assert len(lines) >= 10
    assert all(line.endswith(".") and not line.endswith("...") for line in lines)


def test_a_result_that_is_missing_is_one_sentence(poinsot, tmp_path):
    code, _, err = poinsot("predict", tmp_path / "resul.json", tmp_path / "motion.csv")
    assert code == 2 and err.startswith("poinsot: no file") and err.count("\n") == 1
