"""Samples as JSON lines: what is right is read, what is wrong is named, what grows is waited for."""

import json

import numpy as np
import pytest

from poinsot.exceptions import InvalidRecording, UnreadableFile
from poinsot.io.json_lines import Layout, SampleStream, growing_lines

GOOD = {"time": 0.5, "position": [1, 2.0], "torque": [3, None]}


def parse(content, **layout):
    return Layout(2, 2, **layout).parse(json.dumps(content))


def test_numbers_and_null():
    sample = parse(GOOD | {"velocity": [0, 1], "wrenches": {"foot": [1, 2, 3, 4, 5, 6]}})
    assert sample.time == 0.5
    np.testing.assert_array_equal(sample.position, [1, 2])
    np.testing.assert_array_equal(sample.effort, [3, np.nan])
    np.testing.assert_array_equal(sample.velocity, [0, 1])
    np.testing.assert_array_equal(sample.wrenches["foot"], np.arange(1, 7))
    assert parse(GOOD).velocity is None


def test_a_floating_base():
    base = {"base_position": [0, 0, 1], "base_orientation": [0, 0, 0, 1], "base_velocity": [0] * 6}
    sample = parse(GOOD | base, floating_base=True)
    assert {key: len(value) for key, value in sample.base.items()} == {
        "base_position": 3,
        "base_orientation": 4,
        "base_velocity": 6,
    }
    with pytest.raises(InvalidRecording, match="it has no 'base_position'"):
        parse(GOOD, floating_base=True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (GOOD | {"torqe": [1, 2]}, "unknown key 'torqe'; did you mean 'torque'"),
        (GOOD | {"current": [1, 2]}, "exactly one of torque, current"),
        ({"time": 0, "position": [1, 2]}, "exactly one of torque, current.*none"),
        ({"position": [1, 2], "torque": [1, 2]}, "it has no 'time'"),
        (GOOD | {"position": [1]}, "'position' must be a list of 2 numbers"),
        (GOOD | {"time": [1]}, "'time' must be a number"),
        (GOOD | {"position": ["a", 2]}, "'position' must hold numbers"),
        (GOOD | {"wrenches": [1]}, "wrenches must be an object"),
        ([1], "it is not an object"),
    ],
)
def test_what_is_wrong_is_named(content, said):
    with pytest.raises(InvalidRecording, match=said):
        parse(content)


def test_the_first_line_must_be_right_and_later_ones_are_counted(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("\n" + json.dumps(GOOD) + "\nnot JSON\n" + json.dumps(GOOD) + "\n{}")
    stream = SampleStream(str(path), Layout(2, 2))
    assert len(list(stream)) == 2
    assert stream.bad == 2
    assert "line 3 of" in stream.first_bad
    path.write_text("not JSON\n")
    with pytest.raises(InvalidRecording, match=r"line 1 of .* is no sample: it is not JSON$"):
        list(SampleStream(str(path), Layout(2, 2)))
    with pytest.raises(UnreadableFile, match=r"nowhere\.jsonl"):
        SampleStream(str(tmp_path / "nowhere.jsonl"), Layout(2, 2))


def test_a_growing_file_is_read_line_by_whole_line(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("one\ntw")
    appended = iter(["o\nthr", "ee\n", KeyboardInterrupt])

    def wait(seconds):
        more = next(appended)
        if more is KeyboardInterrupt:
            raise more
        with path.open("a") as end:
            end.write(more)

    seen = []

    def read():
        with path.open() as file:
            for line in growing_lines(file, True, wait):
                seen.append(line)  # noqa: PERF402  the interruption is to find them

    with pytest.raises(KeyboardInterrupt):
        read()
    assert seen == ["one\n", "two\n", "three\n"]
    path.write_text("one\ntwo")
    with path.open() as file:
        assert list(growing_lines(file, False)) == ["one\n", "two"]
