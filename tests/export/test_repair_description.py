"""Which links of published descriptions are impossible, and that repaired ones are robots that programs take."""

import numpy as np
import pinocchio as pin
import pytest

from export.test_mjcf import ARM as MJCF_ARM, body_of, compiled
from export.test_urdf import ARM, changed_lines
from poinsot.exceptions import InvalidModel, UnreadableFile, UnwritableOutput
from poinsot.export.reading import open_description
from poinsot.export.repair_description import repair, repair_json
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.inertia.parameters import is_consistent
from poinsot.models.robot.articulated import load_robot
from references.robots import DESCRIPTIONS

WELL_KNOWN = ("anymal.urdf", "go1.urdf", "hyq_no_sensors.urdf", "panda.urdf", "tiago.urdf", "ur10_robot.urdf")
ALL = sorted(DESCRIPTIONS.rglob("*.urdf"))
PUBLISHED = [path for k, path in enumerate(ALL) if k % 4 == 0 or path.name in WELL_KNOWN]


@pytest.fixture
def broken(tmp_path):
    """The arm with an upper link of which Izz is far too large, and a fore link of negative mass."""
    path = tmp_path / "arm.urdf"
    text = ARM.replace('izz="0.09"', 'izz="0.9"').replace('<mass value="1"/>', '<mass value="-1"/>')
    path.write_text(text)
    return path


def violation(I_c):
    """By how much the principal moments break the textbook's inequalities."""
    D = np.linalg.eigvalsh(I_c)
    return max(-D[0], D[2] - D[0] - D[1])


@pytest.mark.skipif(not PUBLISHED, reason="needs published descriptions (pip install 'poinsot[robots]')")
def test_published_descriptions_are_judged_as_the_textbook_does_and_repaired(tmp_path, subtests):
    """The verdict against numbers read by Pinocchio's own class; some of the best-known models are impossible."""
    impossible = {}
    for path in PUBLISHED:
        with subtests.test(path.name):
            found = repair(path)
            for link in found.links:
                if link.old is None or link.old[0] <= 0:
                    continue
                body = pin.Inertia.FromDynamicParameters(link.old)
                excess = violation(body.inertia)
                # what is as close to the border as Steiner's term is rounded may go either way
                assert link.was_consistent == (excess <= 0) or abs(excess) < 1e-13 * link.old[[4, 6, 9]].sum()
            changed = {link.name for link in found.impossible}
            if not changed:
                assert found.description.text.data == path.read_bytes()
                continue
            new = repair(_written(found, tmp_path))
            assert new.impossible == ()
            for old, link in zip(found.links, new.links, strict=True):
                if old.name not in changed:
                    np.testing.assert_equal(link.old, old.old)
                else:
                    LogCholesky().from_inertial(link.old)
            impossible[path.name] = changed
    assert impossible["anymal.urdf"] and "base" in impossible["go1.urdf"]
    assert "ur10_robot.urdf" not in impossible and "panda.urdf" not in impossible


def _written(repair, folder):
    path = folder / repair.source.name
    repair.write(path)
    return path


def test_only_impossible_links_change(broken):
    found = repair(broken)
    assert [link.name for link in found.impossible] == ["upper", "fore"]
    assert [link.was_consistent for link in found.links] == [True, False, False, True]
    removed, added = changed_lines(open_description(broken), found.description)
    assert len(removed) == len(added) == 2
    assert "inertia" in removed[0] and 'mass value="-1"' in removed[1]


def test_the_verdict_says_why_and_how_far(broken):
    _, upper, fore, tool = repair(broken).links
    assert "exceeds" in upper.reasons[0] and fore.reasons == ("its mass is -1 kg, below 0",)
    assert 0 < upper.distance < 1 and 0 < fore.distance <= 1 and tool.distance == 0
    np.testing.assert_allclose(upper.new[:4], upper.old[:4], rtol=1e-15)
    assert tool.old is None and tool.new is None


def test_a_length_lets_the_mass_move(broken):
    _, upper, *_ = repair(broken, length=0.1).links
    assert upper.new[0] != upper.old[0] and is_consistent(upper.new)


def test_the_repaired_robot_is_read(broken, tmp_path):
    repair(broken).write(tmp_path / "mended.urdf")
    robot = load_robot(tmp_path / "mended.urdf")
    assert is_consistent(robot.inertials).all() and repair(tmp_path / "mended.urdf").impossible == ()


def test_mujoco_takes_the_repaired_robot(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(MJCF_ARM.replace('diaginertia="0.1 0.12 0.05"', 'diaginertia="0.1 0.12 0.5"'))
    found = repair(path)
    assert [link.name for link in found.impossible] == ["upper"]
    with pytest.raises(ValueError, match="inertia must satisfy A"):
        compiled(path.read_text())
    mended = body_of(compiled(found.description.text.data), "upper")
    np.testing.assert_allclose(mended, found.impossible[0].new, rtol=0, atol=1e-11)


def test_the_json(broken):
    content = repair_json(repair(broken))
    assert content["schema"] == "poinsot.repair/1" and content["description"] == "arm.urdf"
    assert content["impossible"] == 2
    base, upper, fore, _ = content["bodies"]
    assert base == {
        "name": "base", "was_consistent": True, "reason": None, "distance": 0.0, "old": None, "new": None,
    }  # fmt: skip
    assert upper["was_consistent"] is False and "exceeds" in upper["reason"] and upper["distance"] > 0
    assert upper["old"]["mass"] == upper["new"]["mass"] == 2.5
    assert set(fore["new"]) == {"mass", "center_of_mass", "inertia_at_com"}


def test_a_mass_of_zero_has_no_center(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.replace('<mass value="1"/>', '<mass value="0"/>'))
    fore = repair_json(repair(path))["bodies"][2]
    assert fore["was_consistent"] and fore["old"]["center_of_mass"] is None


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ('value="1"', 'value="inf"', UnreadableFile, "needs a finite number, not 'inf'"),
        ("<robot", "<html", UnreadableFile, "not well-formed XML"),
        ('link name="tool"', 'link name="fore"', InvalidModel, "two links .* are named 'fore'"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path, old, new, error, message):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.replace(old, new))
    with pytest.raises(error, match=message):
        repair(path)


def test_the_source_stays(broken):
    with pytest.raises(UnwritableOutput, match="it is the source"):
        repair(broken).write(broken)
