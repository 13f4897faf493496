"""Hostile files and arguments on the command line: one sentence on one line, exit code 2, and nothing lost."""

import json
import os
import re
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from poinsot import cli
from synthetic_job import JOB, URDF, write_job

LINK = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
ARM = Path(__file__).parents[2] / "examples" / "arm"


def refused(result: tuple[int, str, str], sentence: str = "") -> str:
    code, _, err = result
    assert code == 2, err
    assert err.startswith("poinsot: ")
    assert err.count("\n") == 1
    assert len(err) <= 401
    assert err[:-1].isprintable()
    assert sentence in err
    return err


# --------------------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    "content",
    [
        "<mujoco><worldbody>"
        + '<body><joint type="hinge"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>' * 20_000
        + "</body>" * 20_000
        + "</worldbody></mujoco>",
        "<robot name='c'>"
        + "".join(f"<link name='l{k}'>{LINK}" for k in range(20_001))
        + "".join(
            f"<joint name='j{k}' type='revolute'><parent link='l{k}'/><child link='l{k + 1}'/><axis xyz='0 0 1'/>"
            "<limit lower='-1' upper='1' velocity='1' effort='1'/></joint>"
            for k in range(20_000)
        )
        + "</robot>",
    ],
    ids=["nested bodies", "chain of joints"],
)
@pytest.mark.parametrize("verb", ["excite", "repair"])
def test_descriptions_without_end_do_not_reach_a_native_parser(poinsot, tmp_path, verb, content):
    (tmp_path / "deep.xml").write_text(content)
    refused(poinsot(verb, tmp_path / "deep.xml"), "more than")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-7", "utf-8", "cp037"])
@pytest.mark.parametrize("declared", ["utf-16", "utf-7", "utf-8", "nonsense"])
def test_no_encoding_hides_a_document_type(poinsot, tmp_path, encoding, declared):
    entities = '<!DOCTYPE robot [<!ENTITY a "bb"><!ENTITY b "&a;&a;">]>'
    text = URDF.replace('<?xml version="1.0"?>', f'<?xml version="1.0" encoding="{declared}"?>{entities}')
    (tmp_path / "x.urdf").write_bytes(text.replace('name="table"', 'name="&b;"').encode(encoding))
    for verb in ("repair", "excite"):
        refused(poinsot(verb, tmp_path / "x.urdf"))


@pytest.mark.parametrize("declared", ["utf-16", "utf-7", "nonsense", "ascii"])
def test_a_declared_encoding_changes_nothing(poinsot, tmp_path, declared):
    text = URDF.replace('<?xml version="1.0"?>', f'<?xml version="1.0" encoding="{declared}"?>')
    (tmp_path / "x.urdf").write_text(text)
    assert poinsot("repair", tmp_path / "x.urdf")[0] == 0


@pytest.mark.parametrize("verb", ["excite", "repair", "identify", "inspect", "track"])
def test_only_regular_files_are_read(poinsot, tmp_path, verb):
    """A pipe would wait for ever, and /dev/zero has no end."""
    os.mkfifo(tmp_path / "pipe.toml")
    os.mkfifo(tmp_path / "pipe.urdf")
    for name in ("/dev/zero", tmp_path / f"pipe.{'urdf' if verb in ('excite', 'repair') else 'toml'}"):
        refused(poinsot(verb, name), "not a regular file")


@pytest.mark.parametrize(
    ("pattern", "number"),
    [
        ('ixx="[^"]*"', 'ixx="1e308"'),
        ('mass value="[^"]*"', 'mass value="1e308"'),
        ('ixx="[^"]*"', 'ixx="nan"'),
    ],
)
def test_impossible_numbers_of_a_description(poinsot, tmp_path, pattern, number):
    (tmp_path / "x.urdf").write_text(re.sub(pattern, number, URDF))
    refused(poinsot("repair", tmp_path / "x.urdf"))
    refused(poinsot("excite", tmp_path / "x.urdf"))


def test_csv_files(poinsot, tmp_path):
    job = write_job(tmp_path)
    good = (tmp_path / "run.csv").read_text().splitlines()
    bad = {
        "more than one column": [good[0].replace("phi", "x"), *good[1:]],
        "is no table": [good[0].replace("t,", "t" * 140_000 + ","), *good[1:]],
        "instead of a number": [*good[:5], "1" * 140_000 + "x,1,1,1,1", *good[5:]],
        "is no table of numbers": ["root:x:0:0:secret", "nobody:secret"],
    }
    for sentence, lines in bad.items():
        (tmp_path / "run.csv").write_text("\n".join(lines) + "\n")
        for verb in (
            ["identify", job],
            ["new", tmp_path / "table.urdf", tmp_path / "run.csv", "-y", "-o", tmp_path / "n"],
        ):
            code, _, err = poinsot(*verb)
            if verb[0] == "identify" or code:
                said = refused((code, "", err), sentence if verb[0] == "identify" else "")
                assert "secret" not in said


@pytest.mark.parametrize("name", ["secret.toml", "secret.urdf", "secret.jsonl", "secret.json"])
def test_no_line_of_another_file_is_told(poinsot, tmp_path, name):
    (tmp_path / name).write_text("root:x:0:0:secret-word\nnobody:secret-word\n")
    shutil.copytree(ARM, tmp_path / "arm")
    track = (tmp_path / "arm" / "track.toml").read_text().replace('robot_from = "job.toml"', "")
    (tmp_path / "arm" / "track.toml").write_text(track)
    verbs = {
        "secret.toml": ["identify", tmp_path / name],
        "secret.urdf": ["excite", tmp_path / name],
        "secret.jsonl": ["track", tmp_path / "arm" / "track.toml", "--stream", tmp_path / name],
        "secret.json": ["predict", tmp_path / name, ARM / "validation.csv"],
    }
    assert "secret-word" not in refused(poinsot(*verbs[name]))


@pytest.mark.parametrize(
    "header",
    [
        "{",
        "((((",
        "[" * 500,
        "-" * 3000 + "1",
        "'''",
        "\tx\n  y",
        "{'descr': ',,,', 'fortran_order': False, 'shape': (1,)}",
    ],
    ids=range(7),
)
def test_broken_headers_of_arrays(poinsot, tmp_path, header):
    about = {"channels": [{"name": "position.slide", "unit": "m", "masked": False}], "metadata": {}}
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(80)
    with zipfile.ZipFile(tmp_path / "run.npz", "w") as archive:
        archive.writestr("header.json", json.dumps({"schema": "poinsot.recording/1", **about}))
        archive.writestr("time.npy", array)
        archive.writestr("channel_0.npy", array)
    job = write_job(tmp_path)
    start = JOB.index('path = "run.csv"')
    job.write_text(JOB[:start] + 'path = "run.npz"\n\n' + JOB[JOB.index("[preprocessing]") :])
    refused(poinsot("identify", job), "damaged")


# ------------------------------------------------------------------------------------------------------------ settings


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name = "least-squares"', "name = []"),
        ('name = "least-squares"', "name = {}"),
        ("[robot]", ".".join("a" * 2000) + " = 1\n[robot]"),
        ("[robot]", "x = " + "[" * 2000 + "]" * 2000 + "\n[robot]"),
        ("cutoff_hz = 40", "cutoff_hz = 1e-308"),
        ("cutoff_hz = 40", "cutoff_hz = 1e-30"),
        ("cutoff_hz = 40", f"cutoff_hz = {'9' * 5000}"),
        ("decimate_hz = 20", "decimate_hz = 1e-308"),
        ('path = "run.csv"', f'path = "run.csv"\nstart_s = {"9" * 400}'),
        ('path = "run.csv"', f'path = "run.csv"\nskip_lines = {"9" * 400}'),
        ('path = "run.csv"', f'path = "{"n" * 300}.csv"'),
        ('path = "run.csv"', 'path = "a\\u0000b.csv"'),
        ('path = "run.csv"', 'path = "a\\nb.csv"'),
        ('path = "table.urdf"', f'path = "{"n" * 300}.urdf"'),
        ('path = "run.csv"', 'path = "run.csv"\ndelimiter = "é"'),
        ('path = "run.csv"', 'path = "run.csv"\ndelimiter = "\\""'),
        ("[preprocessing]", f'[output]\nreport = "{"n" * 300}.html"\n[preprocessing]'),
    ],
    ids=range(17),
)
def test_settings(poinsot, tmp_path, old, new):
    job = write_job(tmp_path)
    job.write_text(JOB.replace(old, new, 1))
    refused(poinsot("identify", job, "--out", tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--information-weight", "inf"],
        ["--information-weight", "1e308"],
        ["--duration", "1e-9"],
        ["--duration", "1e12"],
        ["--rate-hz", "1e-9"],
        ["--rate-hz", "1e300"],
        ["--velocity-limit", "1e-320"],
        ["--torque-noise", "1e-320"],
        ["--resume", "/dev/zero"],
    ],
    ids=" ".join,
)
def test_excite(poinsot, tmp_path, arguments):
    refused(poinsot("excite", ARM / "arm.urdf", "--max-seconds", "1", *arguments))


@pytest.mark.parametrize("option", ["--out", "--json"])
def test_names_that_no_system_takes_are_refused_before_the_work(poinsot, tmp_path, monkeypatch, option):
    job = write_job(tmp_path)
    monkeypatch.setattr("poinsot.project.identify", lambda *_, **__: pytest.fail("it was computed"))
    for name in ("n" * 300, "/".join(["d" * 200] * 30), "/".join("d" * 2100)):
        refused(poinsot("identify", job, option, tmp_path / name), "too long")


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": [1]},
        {"parameters": [{}]},
        {"parameters": [{"name": "a", "kind": "inertia", "value": "x"}]},
        {"parameters": [{"name": "a", "kind": "inertia", "value": 10**400}]},
        {"full_parameters": 5},
        {"fit": 5},
        {"settings": 5},
        {"drive_gains": 5},
    ],
    ids=str,
)
def test_results(poinsot, tmp_path, change):
    job = write_job(tmp_path)
    assert poinsot("identify", job, "--json", tmp_path / "result.json")[0] == 0
    content = json.loads((tmp_path / "result.json").read_text())
    (tmp_path / "result.json").write_text(json.dumps(content | change))
    refused(poinsot("predict", tmp_path / "result.json", tmp_path / "other.csv"))


# --------------------------------------------------------------------------------------------- no output is an input


@pytest.mark.parametrize(
    ("arguments", "lost"),
    [
        (["track", "track.toml", "--stream", "log.jsonl", "--publish", "log.jsonl"], "log.jsonl"),
        (["track", "track.toml", "--stream", "log.jsonl", "--publish", "link.jsonl"], "log.jsonl"),
        (["track", "track.toml", "--publish", "picking_up.csv"], "picking_up.csv"),
        (["track", "track.toml", "--publish", "identification.csv"], "identification.csv"),
        (["identify", "job.toml", "--json", "identification.csv"], "identification.csv"),
        (["identify", "job.toml", "--json", "job.toml"], "job.toml"),
        (["identify", "output.toml", "--out", "."], "identification.csv"),
        (["inspect", "job.toml", "--json", "identification.csv"], "identification.csv"),
        (["repair", "arm.urdf", "--json", "arm.urdf"], "arm.urdf"),
        (["excite", "arm.urdf", "--report", "arm.urdf"], "arm.urdf"),
        (["predict", "identification.csv", "picking_up.csv", "--out", "picking_up.csv"], "picking_up.csv"),
        (
            ["new", "arm.urdf", "identification.csv", "--force", "-o", "identification.csv"],
            "identification.csv",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_no_output_is_an_input(poinsot, tmp_path, monkeypatch, arguments, lost):
    folder = shutil.copytree(ARM, tmp_path / "arm")
    monkeypatch.chdir(folder)
    Path("log.jsonl").write_text('{"time": 0, "position": [0, 0, 0], "torque": [0, 0, 0]}\n')
    os.link("log.jsonl", "link.jsonl")
    Path("output.toml").write_text(Path("job.toml").read_text() + '[output]\nreport = "identification.csv"\n')
    before = Path(lost).read_bytes()
    refused(poinsot(*arguments), "would be lost")
    assert Path(lost).read_bytes() == before


def test_published_lines_of_before_stay_until_a_sample_is_accepted(poinsot, tmp_path, monkeypatch):
    monkeypatch.chdir(shutil.copytree(ARM, tmp_path / "arm"))
    track = Path("track.toml").read_text().replace('robot_from = "job.toml"', "")
    Path("track.toml").write_text(track)
    Path("log.jsonl").write_text("no sample\n")
    Path("published.jsonl").write_text("before\n")
    refused(
        poinsot("track", "track.toml", "--stream", "log.jsonl", "--publish", "published.jsonl"), "no sample"
    )
    assert Path("published.jsonl").read_text() == "before\n"


# --------------------------------------------------------------------------------------------------- the last resort


def test_a_defect_is_one_sentence_and_a_trace_in_a_file(poinsot, tmp_path, monkeypatch):
    job = write_job(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a defect\nof two lines")

    monkeypatch.setattr("poinsot.project.identify", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, out, err = poinsot("identify", job, "--out", tmp_path / "out")
    assert (code, out) == (70, "")
    assert err.count("\n") == 1
    assert len(err) <= 401
    assert "ZeroDivisionError: a defect of two lines" in err
    (trace,) = tmp_path.glob("poinsot-trace-*.txt")
    assert str(trace) in err
    assert "in fail" in trace.read_text()
    assert not (tmp_path / "out").exists()


def test_the_message_of_an_error_is_one_line_that_a_terminal_can_show():
    from poinsot.exceptions import MAX_MESSAGE, ChannelNotFound, PoinsotError

    assert str(PoinsotError("a\n b\x1b[31m\ud800")) == "a b?[31m?"
    assert str(PoinsotError("x" * 5000 + " do this")).endswith("x do this")
    assert len(str(PoinsotError("x" * 5000))) == MAX_MESSAGE
    assert "\n" not in str(ChannelNotFound("a\nb", ["c\nd"]))


def test_a_full_disk_behind_standard_output_is_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout", open("/dev/full", "w"))  # noqa: SIM115  (closed by the system)
    assert cli.main(["identify", str(write_job(tmp_path))]) == 2
    assert "No space left" in capsys.readouterr().err


def test_readings_beyond_all_sizes_are_named(poinsot, tmp_path):
    job = write_job(tmp_path)
    lines = (tmp_path / "run.csv").read_text().splitlines()
    cells = lines[7].split(",")
    lines[7] = ",".join([cells[0], "1e300", *cells[2:]])
    (tmp_path / "run.csv").write_text("\n".join(lines))
    assert np.isfinite(1e300)
    refused(poinsot("identify", job), "line 8 of the file")
