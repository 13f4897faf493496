import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from poinsot.exceptions import UnwritableOutput
from poinsot.io.writing import atomic_path, check_folder, output_folder, write_text


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_the_file_appears_when_it_is_complete(tmp_path):
    with atomic_path(tmp_path / "a.json") as temporary:
        temporary.write_text("half")
        assert temporary.suffix == ".json"
        assert not (tmp_path / "a.json").exists()
    assert names(tmp_path) == ["a.json"]


@pytest.mark.parametrize("interruption", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_what_stood_there(tmp_path, interruption):
    write_text(tmp_path / "a.txt", "before")

    def fail():
        with atomic_path(tmp_path / "a.txt") as temporary:
            temporary.write_text("half")
            raise interruption

    with pytest.raises(interruption):
        fail()
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "before"


def test_a_pipe_or_device_is_written_to_and_not_replaced(tmp_path):
    """As root a renamed file would take the place of /dev/null itself."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as other_end:
        read = other_end.submit(pipe.read_text)
        write_text(pipe, "whole")
        assert read.result(timeout=10) == "whole"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert names(tmp_path) == ["pipe"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "a.txt")
    for text in ("once", "twice"):  # the first time there is no file yet
        write_text(tmp_path / "link", text)
        assert (tmp_path / "deep" / "a.txt").read_text() == text
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "deep") == ["a.txt"]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(UnwritableOutput, match=r"there is no folder .*nowhere"):
        write_text(tmp_path / "nowhere" / "a.txt", "")


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UnwritableOutput, match="is not a folder"):
        write_text(tmp_path / "file" / "a.txt", "")
    with pytest.raises(UnwritableOutput, match="is not a folder"):
        output_folder(tmp_path / "file" / "deep")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(UnwritableOutput, match="it is a folder"):
        write_text(tmp_path, "")


def test_no_permission_is_said(tmp_path, monkeypatch):
    # The tests may run as root, who may write anywhere: ask the system to say no.
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(UnwritableOutput, match="no permission"):
        write_text(tmp_path / "a.txt", "")
    with pytest.raises(UnwritableOutput, match="no permission"):
        check_folder(tmp_path / "new")


def test_a_full_disk_is_said(tmp_path, monkeypatch):
    def no_space(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", no_space)
    with pytest.raises(UnwritableOutput, match="No space left"):
        write_text(tmp_path / "a.txt", "x")
    assert names(tmp_path) == []


def test_an_output_folder_is_made_with_its_parents(tmp_path):
    assert output_folder(tmp_path / "a" / "b").is_dir()
