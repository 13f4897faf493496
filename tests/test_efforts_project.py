"""[[robot.efforts]]: a heavy arm whose hydraulic counterbalance is known by its geometry alone, simulated by MuJoCo."""

import json
import runpy
import shutil
from pathlib import Path

import pytest

import poinsot
from poinsot.exceptions import InvalidProject

EXAMPLE = Path(__file__).parents[1] / "examples/counterbalance"
EFFORT = '[[robot.efforts]]\nlaw = "counterbalance"\njoint = "joint_2"\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counterbalance")
    for name in ("robot.urdf", "job.toml"):
        shutil.copy(EXAMPLE / name, folder)
    runpy.run_path(str(EXAMPLE / "record.py"))["main"](folder)
    text = (folder / "job.toml").read_text()
    begin, end = text.index("[[robot.efforts]]"), text.index("[friction]")
    (folder / "without.toml").write_text(text[:begin] + text[end:])
    return folder


def test_with_the_term_another_motion_is_predicted(folder, tmp_path, poinsot):
    code, _, err = poinsot("identify", folder / "job.toml", "--json", tmp_path / "result.json")
    assert code == 0, err
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["trust"] == "trusted"
    assert result["validation"]["relative_error_percent"] < 1  # at most 5 is asked for
    found = {row["name"]: row for row in result["parameters"]}
    row = found["cb0_2"]
    # p0 A of the gas law; its slope by the length is n p0 A^2 L0 / V0
    assert abs(row["value"] - 16e6 * 3.2e-3) < 3 * row["std"] and row["std"] < 2000
    assert (row["kind"], row["unit"], row["owner"]) == ("counterbalance", "N", "joint_2")
    code, out, err = poinsot("predict", tmp_path / "result.json", folder / "another.parquet")
    assert code == 0 and "joint_2" in out, err


def test_without_it_the_finding_names_joint_and_variable(folder):
    estimate = poinsot.identify(poinsot.Project.load(folder / "without.toml"))
    first = estimate.findings[0]
    assert first.cause == "missing-term" and first.where == "joint_2"
    assert first.message.startswith("A position-dependent effort at joint joint_2")
    assert 'joint = "joint_2"' in first.remedy


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (('law = "counterbalance"', 'law = "counterbalence"'), "'counterbalance'"),
        (("degree = 6", "degre = 6"), "unknown key 'degre'.*'degree'"),
        (("degree = 6", 'degree = "six"'), "degree"),
        (("fixed = [-0.40, 0.0, -0.16]", "fixed = [-0.40, 0.0]"), "fixed"),
        (('joint = "joint_2"', 'joint = "joint_7"'), "joint 'joint_7'.*joint_6"),
    ],
)
def test_mistakes_are_one_sentence(folder, change, sentence):
    text = (folder / "job.toml").read_text()
    assert change[0] in text
    (folder / "wrong.toml").write_text(text.replace(*change, 1))
    with pytest.raises((InvalidProject, poinsot.PoinsotError), match=sentence):
        poinsot.Project.load(folder / "wrong.toml").robot()
