"""`poinsot repair`: what it prints and writes, and one sentence for what a user can mend."""

import json

import pytest

from export.test_urdf import ARM
from poinsot import cli


@pytest.fixture
def poinsot(capsys):
    def poinsot(*arguments):
        code = cli.main(["repair", *(str(argument) for argument in arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return poinsot


@pytest.fixture
def broken(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.replace('izz="0.09"', 'izz="0.9"'))
    return path


def test_it_says_which_links_are_impossible_and_why(poinsot, broken, tmp_path):
    code, out, err = poinsot(broken)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "arm.urdf: 1 of 2 links with inertia are impossible"
    assert [line.split()[:3] for line in lines[2:4]] == [
        ["upper", "2.5", "impossible"],
        ["fore", "1", "possible"],
    ]
    assert lines[4].startswith("upper: about its centre of mass (0.1, 0.2, 0.3) m the principal moment ")
    assert (
        lines[5] == "nothing was written; --out FOLDER writes the description with the nearest possible links"
    )
    assert {path.name for path in tmp_path.iterdir()} == {"arm.urdf"}


def test_a_possible_robot_is_told_so(poinsot, tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    code, out, _ = poinsot(tmp_path / "arm.urdf")
    assert code == 0 and out.splitlines()[0] == "arm.urdf: 0 of 2 links with inertia are impossible"
    assert "nothing was written" not in out


def test_it_writes_the_description_and_the_json(poinsot, broken, tmp_path):
    code, out, _ = poinsot(broken, "--out", tmp_path / "mended", "--json", tmp_path / "result.json")
    assert code == 0 and "nothing was written" not in out
    assert {path.name for path in (tmp_path / "mended").iterdir()} == {
        "arm.urdf",
        "poinsot.manifest.json",
        "repair.json",
    }
    content = json.loads((tmp_path / "result.json").read_text())
    assert content == json.loads((tmp_path / "mended" / "repair.json").read_text())
    assert content["schema"] == "poinsot.repair/1"
    assert {"name", "was_consistent", "reason", "distance", "old", "new"} == content["bodies"][0].keys()
    code, out, _ = poinsot(tmp_path / "mended" / "arm.urdf", "--json", "-")
    assert [body["was_consistent"] for body in json.loads(out)["bodies"]] == 4 * [True]


def test_a_length_may_be_given(poinsot, broken):
    code, out, _ = poinsot(broken, "--length", "0.1", "--json", "-")
    upper = json.loads(out)["bodies"][1]
    assert code == 0 and upper["new"]["mass"] != upper["old"]["mass"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none.urdf"], "there is no robot description at"),
        (["arm.urdf", "--out", "."], "it is the source, which is kept for comparison"),
        (["arm.urdf", "--json", "none/x.json"], "there is no folder"),
        (["arm.urdf", "--length", "0"], "must be positive, not 0.0 m"),
        (["notes.txt"], "is not well-formed XML"),
    ],
)
def test_what_a_user_can_mend_is_one_sentence(poinsot, broken, tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("a note")
    before = {path.name for path in tmp_path.iterdir()}
    code, out, err = poinsot(*arguments)
    assert code == 2 and out == "" and sentence in err and err.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == before
