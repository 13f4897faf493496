"""Schedules of contacts from channels and forces, and what is refused."""

import numpy as np
import pytest

from poinsot.exceptions import InvalidModel, InvalidSignals
from poinsot.models.contacts.contacts import (
    ContactSchedule,
    Phase,
    PointContact,
    SurfaceContact,
    schedule_from_channels,
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


def test_a_margin_holds_contacts_about_events_and_has_no_impacts():
    schedule = ContactSchedule(FEET, of("#. #. #. .. .. .. .. .# .# .#"), margin=1)
    np.testing.assert_array_equal(schedule.held, of("#. #. #. #. .. .. .# .# .# .#"))
    np.testing.assert_array_equal(schedule.settled, of("#. #. .. .. .. .. .. .. .# .#"))
    assert schedule.resets == ()
    assert [(phase.first, phase.closed) for phase in schedule.phases] == [(0, (0,)), (4, ()), (6, (1,))]
    with pytest.raises(InvalidModel, match="margin of contact events must be at least 0, not -1"):
        ContactSchedule(FEET, of("#."), margin=-1)


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
    schedule = schedule_from_channels(FEET, {"left": left, "right": 0 * left}, 20.0)
    np.testing.assert_array_equal(schedule.closed[:, 0], [0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0])
    assert not schedule.closed[:, 1].any()
    sharp = schedule_from_channels(FEET, {"left": left}, 20.0, 20.0)
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
            schedule_from_channels(FEET, {"left": ones}, *thresholds)


# ------------------------------------------------------------------------------------------------------------- gains


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"damping": -1.0}, "damping of contact 'left' must be at least 0, not -1"),
        ({"damping": np.nan}, "damping of contact 'left' must be at least 0"),
    ],
)
def test_gains_are_checked(settings, message):
    with pytest.raises(InvalidModel, match=message):
        PointContact("left", **settings)
