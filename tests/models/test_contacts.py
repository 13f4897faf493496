"""Schedules of contacts from channels, forces and gait files, and what is refused."""

import numpy as np
import pytest

from poinsot.exceptions import InvalidModel, InvalidSignals, UnreadableFile
from poinsot.models.contacts import (
    ContactSchedule,
    Phase,
    PointContact,
    SurfaceContact,
    read_gait,
    schedule_from_channels,
    schedule_from_forces,
)

FEET = (PointContact("left"), PointContact("right"))


def of(text):
    """`"#."`: the first contact closed, the second open; one word a sample."""
    return np.array([[mark == "#" for mark in word] for word in text.split()], dtype=bool)


# ------------------------------------------------------------------------------------------------------------ phases


def test_phases_and_resets():
    schedule = ContactSchedule(FEET, of("## ## #. .. .. .# ## #. ##"))
    assert schedule.phases == (
        Phase(0, 2, (0, 1)),
        Phase(2, 3, (0,)),
        Phase(3, 5, ()),
        Phase(5, 6, (1,), (1,)),
        Phase(6, 7, (0, 1), (0,)),
        Phase(7, 8, (0,)),
        Phase(8, 9, (0, 1), (1,)),
    )
    assert [phase.first for phase in schedule.resets] == [5, 6, 8]
    assert schedule.modes == ((0, 1), (0,), (), (1,))
    np.testing.assert_array_equal(schedule.mode_of, [0, 0, 1, 2, 2, 3, 0, 1, 0])
    assert schedule.contacts_of((1,)) == FEET[1:]
    assert len(schedule) == 9


def test_a_change_of_feet_at_one_sample_is_a_reset_by_the_new_foot():
    phases = ContactSchedule(FEET, of("#. .#")).phases
    assert phases[1] == Phase(1, 2, (1,), (1,))


def test_a_phase_without_support_is_allowed_and_said():
    notes = ContactSchedule((*FEET, SurfaceContact("hand")), of("##. ... #..")).notes()
    assert notes == (
        "in 1 of 3 phases (1 of 3 samples) no contact is closed: the robot flies",
        "these contacts never close: hand",
    )
    assert ContactSchedule(FEET, of("## #.")).notes() == ()
    assert ContactSchedule((), np.zeros((3, 0), dtype=bool)).notes() == ()


def test_a_robot_without_contacts_has_one_phase():
    schedule = ContactSchedule((), np.zeros((5, 0), dtype=bool))
    assert schedule.phases == (Phase(0, 5, ()),)
    assert schedule.modes == ((),)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("#. #. .. #. #. #.", "#. #. #. #. #. #."),
        (".. #. #. #. .. ..", "#. #. #. #. .. .."),
        ("#. #. #. #. #. ..", "#. #. #. #. #. #."),
        ("#. #. .. #. .. ..", "#. #. #. #. .. .."),
        ("#. .. #. .. #. ..", None),
        ("#.", "#."),
    ],
)
def test_flicker_is_joined_to_what_was_before(before, after):
    steady = ContactSchedule(FEET, of(before)).without_flicker(2)
    if after is None:  # nothing lasts: whatever comes of it lasts
        assert min(phase.last - phase.first for phase in steady.phases) >= 2
    else:
        np.testing.assert_array_equal(steady.closed, of(after))


def test_schedules_are_checked():
    with pytest.raises(InvalidModel, match="name each contact frame once"):
        ContactSchedule((FEET[0], FEET[0]), of("##"))
    with pytest.raises(InvalidSignals, match="3 columns cannot be that of 2 contacts"):
        ContactSchedule(FEET, of("###"))
    with pytest.raises(InvalidSignals, match="at least one sample"):
        ContactSchedule(FEET, np.zeros((0, 2), dtype=bool))


# ---------------------------------------------------------------------------------------------- channels and forces


def test_channels_become_columns_in_the_order_of_the_contacts():
    right, left = np.array([0.0, 1, np.nan, 0]), np.array([True, True, False, False])
    schedule = schedule_from_channels(FEET, {"right": right, "left": left})
    np.testing.assert_array_equal(schedule.closed, of("#. ## .# .."))
    alone = schedule_from_channels(FEET, {"right": right})
    np.testing.assert_array_equal(alone.closed, of(".. .# .# .."))


def test_forces_close_and_open_with_hysteresis():
    left = np.array([0.0, 15, 25, 15, 12, 9, 15, 19, 21, np.nan, 0])
    schedule = schedule_from_forces(FEET, {"left": left, "right": 0 * left}, 20.0)
    np.testing.assert_array_equal(schedule.closed[:, 0], [0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0])
    assert not schedule.closed[:, 1].any()
    sharp = schedule_from_forces(FEET, {"left": left}, 20.0, 20.0)
    np.testing.assert_array_equal(sharp.closed[:, 0], [0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0])


def test_unusable_channels_are_refused():
    ones = np.ones(3)
    with pytest.raises(InvalidModel, match="no contact frame 'rigth'; did you mean 'right'"):
        schedule_from_channels(FEET, {"rigth": ones})
    with pytest.raises(InvalidSignals, match="contact channel of 'left' must be 0 or 1"):
        schedule_from_channels(FEET, {"left": 120 * ones})
    with pytest.raises(InvalidSignals, match="same number of samples, not left: 3, right: 2"):
        schedule_from_channels(FEET, {"left": ones, "right": ones[:2]})
    with pytest.raises(InvalidSignals, match="need the same number of samples"):
        schedule_from_channels(FEET, {})
    for thresholds in ((10.0, 20.0), (10.0, 0.0), (np.inf, 5.0), (np.nan, 1.0)):
        with pytest.raises(InvalidSignals, match="close above a force and open below a smaller one"):
            schedule_from_forces(FEET, {"left": ones}, *thresholds)


# ----------------------------------------------------------------------------------------------------------- gait files

TROT = """
start_s = 0.1
repeat = 2
[[phase]]
duration_s = 0.2
contacts = ["left"]
[[phase]]
duration_s = 0.1
contacts = []
[[phase]]
duration_s = 0.2
contacts = ["right", "left"]
"""


@pytest.fixture
def gait(tmp_path):
    def written(text, name="gait.toml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return written


def test_a_gait_of_phases_repeats(gait):
    times = 0.1 * np.arange(13)
    schedule = read_gait(gait(TROT)).schedule(FEET, times)
    np.testing.assert_array_equal(schedule.closed, of(".. #. #. .. ## ## #. #. .. ## ## ## ##"))


def test_a_gait_of_rows_holds_until_the_next(gait):
    path = gait("time,right,left\n0.1, 1,0\n0.3,1,1\n0.4,0,0\n", "gait.csv")
    schedule = read_gait(path).schedule(FEET, np.array([0.0, 0.1, 0.25, 0.3, 0.4, 9.0]))
    np.testing.assert_array_equal(schedule.closed, of(".. .# .# ## .. .."))


def test_a_gait_of_a_foot_that_is_not_there_is_refused(gait):
    with pytest.raises(InvalidModel, match="no contact frame 'left'"):
        read_gait(gait(TROT)).schedule(FEET[1:], np.zeros(1))


PHASE = '[[phase]]\nduration_s = 1\ncontacts = ["left"]\n'


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("gait.toml", "repeat = ", "is not valid TOML"),
        ("gait.toml", "speed = 2\n" + PHASE, "has 'speed'; a gait has start_s, repeat and"),
        ("gait.toml", "", r"has no \[\[phase\]\]"),
        ("gait.toml", "repeat = 0\n" + PHASE, "repeat must be a whole number from 1 on, not 0"),
        ("gait.toml", "repeat = true\n" + PHASE, "repeat must be a whole number"),
        ("gait.toml", "start_s = nan\n" + PHASE, "start_s must be a time"),
        ("gait.toml", "[[phase]]\nduration_s = 1\n", "phase 1 needs duration_s and contacts"),
        ("gait.toml", PHASE + PHASE.replace("1", "-1"), "duration_s of phase 2 must be above 0 s, not -1"),
        ("gait.toml", PHASE.replace('["left"]', '"left"'), "contacts of phase 1 must be a list"),
        ("gait.toml", PHASE.replace('["left"]', "[]"), "no phase names a contact"),
        ("gait.csv", "time,left\n", "needs a header `time,FOOT,...` and a row"),
        ("gait.csv", "t,left\n0,1\n", "needs a header"),
        ("gait.csv", "time,left\n0,2\n", "row 2 needs a time and a 0 or 1 for each of left"),
        ("gait.csv", "time,left\nsoon,1\n", "times must be numbers"),
        ("gait.csv", "time,left\n1,1\n1,0\n", "must be finite and increase"),
        ("gait.txt", PHASE, r"its name must end in .toml or .csv"),
    ],
)
def test_files_that_are_no_gait_are_refused(gait, name, text, message):
    with pytest.raises(UnreadableFile, match=message):
        read_gait(gait(text, name))


def test_a_gait_file_that_is_not_there_or_not_text_is_refused(tmp_path):
    with pytest.raises(UnreadableFile, match="there is no gait file at"):
        read_gait(tmp_path / "none.toml")
    with pytest.raises(UnreadableFile, match="cannot read the gait file"):
        read_gait(tmp_path)
    (tmp_path / "binary.toml").write_bytes(b"\x80\xff")
    with pytest.raises(UnreadableFile, match="cannot read the gait file"):
        read_gait(tmp_path / "binary.toml")


# ------------------------------------------------------------------------------------------------------------- gains


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"damping": -1.0}, "damping of contact 'left' must be at least 0, not -1"),
        ({"stiffness": np.nan}, "stiffness of contact 'left' must be at least 0"),
        ({"stiffness": 10.0}, "needs an anchor and a stiffness together"),
        ({"anchor": np.eye(4)}, "needs an anchor and a stiffness together"),
        ({"stiffness": 1.0, "anchor": np.eye(3)}, "must be a placement"),
        ({"stiffness": 1.0, "anchor": 2 * np.eye(4)}, "must be a placement"),
    ],
)
def test_gains_are_checked(settings, message):
    with pytest.raises(InvalidModel, match=message):
        PointContact("left", **settings)
