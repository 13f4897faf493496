"""What two descriptions say differently: which rows there are, and what the percentages are relative to."""

import numpy as np
import pytest

from export.test_urdf import ARM, arm  # noqa: F401
from poinsot.exceptions import UnreadableFile
from poinsot.export.description import JointDynamics
from poinsot.export.differences import Change, compare_descriptions, differences
from poinsot.inertia.parameters import from_physical


def test_equal_descriptions_have_no_differences(arm, tmp_path):  # noqa: F811
    (tmp_path / "other.urdf").write_text(ARM.replace("An arm", "The same arm"))
    assert compare_descriptions(arm.path, tmp_path / "other.urdf") == ()


def test_ten_rows_a_link_and_one_a_joint_term(arm):  # noqa: F811
    I = np.array([[0.01, 0.001, 0], [0.001, 0.04, 0], [0, 0, 0.04]])
    arm = arm.edited({"fore": from_physical(2.0, np.array([0.3, 0.4, 0]), I)})
    I = np.array([[0.02, 0.002, 0], [0.002, 0.04, 0], [0, 0, 0.03]])
    new = arm.edited(
        {"fore": from_physical(3.0, np.array([0.3, 0.5, 0]), I)},
        {("upper", 0): JointDynamics(damping=1.0), ("fore", 0): JointDynamics(friction=0.5)},
    )
    rows = {(row.owner, row.quantity): row for row in differences(arm, new)}
    assert len(rows) == 12
    percent = {quantity: row.change_percent for (owner, quantity), row in rows.items() if owner == "fore"}
    assert percent == pytest.approx(
        {
            "mass": 50,
            "center of mass x": 0,
            "center of mass y": 20,  # of 0.5 m
            "center of mass z": 0,
            "inertia xx": 100,
            "inertia xy": 5,  # 0.001 of sqrt(0.01 0.04)
            "inertia yy": 0,
            "inertia xz": 0,
            "inertia yz": 0,
            "inertia zz": -25,
        },
        abs=1e-9,
    )
    assert rows["shoulder", "damping"] == Change("shoulder", "damping", "N m s/rad", 0.5, 1.0, 100.0)
    assert rows["elbow", "friction"] == Change("elbow", "friction", "N m", None, 0.5, None)
    assert (
        rows["fore", "inertia zz"].old == pytest.approx(0.04) and rows["fore", "inertia zz"].unit == "kg m^2"
    )


def test_what_was_not_there_has_no_percentage(arm):  # noqa: F811
    pi = from_physical(3.0, np.zeros(3), np.eye(3))
    for old, new in [(arm, arm.edited({"tool": pi})), (arm.edited({"tool": pi}), arm)]:
        rows = differences(old, new)
        assert len(rows) == 10 and all(row.change_percent is None for row in rows)
        assert {None} in ({row.old for row in rows}, {row.new for row in rows})


def test_from_nothing_to_something_has_no_percentage(arm):  # noqa: F811
    new = arm.edited({"fore": from_physical(1.0, np.array([0, 0, 0.1]), 0.01 * np.eye(3))})
    rows = {row.quantity: row.change_percent for row in differences(arm, new)}
    assert rows["center of mass z"] is None and rows["mass"] == 0


def test_sliding_joints_have_their_units(tmp_path):
    old = tmp_path / "old.xml"
    text = (
        '<mujoco><worldbody><body name="cart"><joint type="slide" damping="{}" frictionloss="1" armature="1"/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody></mujoco>'
    )
    old.write_text(text.format("1"))
    new = tmp_path / "new.xml"
    new.write_text(text.format("2").replace('frictionloss="1" armature="1"', 'frictionloss="2" armature="2"'))
    rows = compare_descriptions(old, new)
    assert [(row.owner, row.quantity, row.unit) for row in rows] == [
        ("joint of cart", "damping", "N s/m"),
        ("joint of cart", "friction", "N"),
        ("joint of cart", "armature", "kg"),
    ]


def test_a_file_that_is_none_is_told(arm, tmp_path):  # noqa: F811
    with pytest.raises(UnreadableFile, match="there is no robot description at"):
        compare_descriptions(arm.path, tmp_path / "none.urdf")
