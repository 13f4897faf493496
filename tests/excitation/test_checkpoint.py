"""A search in a file goes on where it stopped, and refuses what it does not belong to."""

from dataclasses import fields, replace

import numpy as np
import pytest

from poinsot.exceptions import InvalidMethod, UnreadableFile, UnwritableOutput
from poinsot.excitation.design import read_checkpoint, write_checkpoint


def test_a_state_survives_the_file_to_the_last_digit(problem, method, states, tmp_path):
    assert states[0].best is None and states[-2].best is not None
    for state in (states[0], states[-2]):
        write_checkpoint(tmp_path / "search.checkpoint", state, problem, method)
        read = read_checkpoint(tmp_path / "search.checkpoint", problem, method)
        for each in fields(state):
            assert np.array_equal(getattr(read, each.name), getattr(state, each.name)), each.name
    assert {path.name for path in tmp_path.iterdir()} == {"search.checkpoint"}


def test_what_goes_on_from_a_file_ends_where_the_whole_does(problem, method, states, designed, tmp_path):
    path = tmp_path / "search.checkpoint"
    write_checkpoint(path, states[-5], problem, method)
    resumed = method.solve(problem, resume=read_checkpoint(path, problem, method))
    assert np.array_equal(resumed.q, designed.q)
    assert resumed.state.iterations == designed.state.iterations


def test_more_starts_may_be_asked_for_later(problem, method, states, tmp_path):
    state = states[-1]
    write_checkpoint(tmp_path / "c", state, problem, method)
    again = read_checkpoint(tmp_path / "c", problem, method)
    assert again.done
    more = replace(method, starts=3)
    *_, last = more.search(problem, read_checkpoint(tmp_path / "c", problem, more))
    assert last.start == 2 and last.iterations > state.iterations


def test_another_search_is_told_what_is_different(problem, method, states, tmp_path):
    path = tmp_path / "search.checkpoint"
    write_checkpoint(path, states[0], problem, method)
    with pytest.raises(InvalidMethod, match="belongs to another search: seed is 0 there and 7 here"):
        read_checkpoint(path, problem, replace(method, seed=7))
    with pytest.raises(InvalidMethod, match=r"duration_s is 4\.0 there and 5\.0 here"):
        read_checkpoint(path, replace(problem, duration_s=5.0), method)


def test_files_that_are_no_checkpoints_are_refused(problem, method, states, tmp_path):
    with pytest.raises(UnreadableFile, match="there is no checkpoint"):
        read_checkpoint(tmp_path / "none", problem, method)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(UnreadableFile, match="is not a checkpoint"):
        read_checkpoint(tmp_path / "text", problem, method)
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(UnreadableFile, match="is not a checkpoint"):
        read_checkpoint(tmp_path / "other.npz", problem, method)
    whole = tmp_path / "whole"
    write_checkpoint(whole, states[0], problem, method)
    (tmp_path / "half").write_bytes(whole.read_bytes()[:1000])
    with pytest.raises(UnreadableFile, match="is not a checkpoint"):
        read_checkpoint(tmp_path / "half", problem, method)


def test_nothing_is_written_where_nothing_can_be(problem, method, states, tmp_path):
    with pytest.raises(UnwritableOutput):
        write_checkpoint(tmp_path / "no folder" / "c", states[0], problem, method)
