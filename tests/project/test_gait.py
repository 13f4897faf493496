"""Gait files: schedules from phases and rows, and what is refused, with the line."""

import re

import numpy as np
import pytest

from poinsot.exceptions import InvalidModel, InvalidProject, UnreadableFile
from poinsot.models.contacts.contacts import PointContact
from poinsot.project.gait import read_gait

FEET = (PointContact("left"), PointContact("right"))

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


def of(text):
    """`"#."`: the first contact closed, the second open; one word a sample."""
    return np.array([[mark == "#" for mark in word] for word in text.split()], dtype=bool)


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
        ("gait.toml", "repeat = ", "line 1: not valid TOML"),
        (
            "gait.toml",
            "speed = 2\n" + PHASE,
            "line 1: unknown key 'speed'; known are start_s, repeat, phase",
        ),
        ("gait.toml", "", "the key 'phase' is missing"),
        ("gait.toml", "phase = []", "line 1: phase: needs at least 1 entries"),
        ("gait.toml", "repeat = 0\n" + PHASE, "line 1: repeat: must be at least 1, not 0"),
        ("gait.toml", "repeat = true\n" + PHASE, "repeat: must be a whole number"),
        ("gait.toml", "start_s = nan\n" + PHASE, "start_s: must be a finite number"),
        ("gait.toml", "[[phase]]\nduration_s = 1\n", "line 1: phase[0]: the key 'contacts' is missing"),
        (
            "gait.toml",
            PHASE + PHASE.replace("1", "-1"),
            "line 5: phase[1].duration_s: must be greater than 0",
        ),
        ("gait.toml", PHASE.replace('["left"]', '"left"'), "phase[0].contacts: must be a list"),
        ("gait.toml", PHASE.replace('["left"]', "[]"), "no phase names a contact"),
        ("gait.csv", "", "needs a header `time,FOOT,...` and a row"),
        ("gait.csv", "time,left\n", "needs a header `time,FOOT,...` and a row"),
        ("gait.csv", "t,left\n0,1\n", "needs a header"),
        ("gait.csv", "time,left\n0,2\n", "row 2 needs a time and a 0 or 1 for each of left"),
        ("gait.csv", "time,left\nsoon,1\n", "times must be numbers"),
        ("gait.csv", "time,left\n1,1\n1,0\n", "must be finite and increase"),
        ("gait.txt", PHASE, "its name must end in .toml or .csv"),
    ],
)
def test_files_that_are_no_gait_are_refused(gait, name, text, message):
    with pytest.raises(InvalidProject, match=re.escape(message)):
        read_gait(gait(text, name))


def test_a_gait_file_that_is_not_there_or_not_text_is_refused(tmp_path):
    with pytest.raises(UnreadableFile, match=r"none\.toml"):
        read_gait(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\x80\xff")
    with pytest.raises(InvalidProject, match="line 1: not text in UTF-8"):
        read_gait(tmp_path / "binary.toml")
