"""What a terminal shows: lines of its width, short tables, the verdict and the next step first, and no spinner."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ARM = ROOT / "examples" / "arm"
CONTROL = re.compile(r"\x1b\[[?\d;]*[A-Za-z]")
ERASED = re.compile(r"\x1b\[2K|\x1b\[K|\x1b\[J")
SPINNER = set("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
VERDICT = r"\b(trusted|with care|corrected|not to be used)\b"


def in_terminal(columns: int, *words: object) -> tuple[int, list[str]]:
    """Exit code, and the lines that stay, of a command in a terminal of so many columns."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    left_out = "COLUMNS", "LINES", "NO_COLOR", "CI"
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    process = subprocess.Popen(
        [sys.executable, "-m", "poinsot", *map(str, words)],
        stdin=side,
        stdout=side,
        stderr=side,
        env=environment | {"TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(side)
    said = b""
    try:
        while piece := os.read(main, 65536):
            said += piece
    except OSError:  # the other side is closed
        pass
    os.close(main)
    text = said.decode()
    # what stands before the last erasure is progress
    shown = ERASED.split(text)[-1]
    lines = [CONTROL.sub("", line).rstrip("\r") for line in shown.split("\n")]
    return process.wait(), [line for line in lines if line.strip()]


def rows_of_longest_table(lines: list[str]) -> int:
    longest = rows = 0
    for line in [*lines, ""]:
        if rows and line.startswith(" " * 8):  # the row before goes on
            continue
        rows = rows + 1 if len(re.split(r"\s{2,}", line.strip())) >= 3 else 0
        longest = max(longest, rows - 1)
    return longest


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("terminal") / "arm"
    code, lines = in_terminal(80, "identify", ARM / "job.toml", "--out", folder)
    assert code == 0
    return folder, lines


def is_well_shown(columns: int, lines: list[str], *wanted: str) -> None:
    first = lines[:6]
    assert all(any(re.search(pattern, line, re.I) for line in first) for pattern in wanted), first
    assert max(map(len, lines)) <= columns, max(lines, key=len)
    assert not SPINNER & set("".join(lines))
    assert rows_of_longest_table(lines) <= 12


def test_identify(result):
    _, lines = result
    is_well_shown(80, lines, VERDICT, r"^next: ")
    assert any("more rows: --all" in line for line in lines)


@pytest.mark.parametrize("columns", [80, 120])
def test_show(result, columns):
    folder, _ = result
    code, lines = in_terminal(columns, "show", folder)
    assert code == 0
    is_well_shown(columns, lines, VERDICT, r"^next: ")


def test_all_rows_on_request(result):
    folder, _ = result
    _, lines = in_terminal(120, "show", folder, "--all")
    assert rows_of_longest_table(lines) == 25


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("inspect", ARM / "job.toml"), "^next: "),
        (("repair", ARM / "cad.urdf"), "impossible"),
        (("predict", "RESULT/result.json", ARM / "validation.csv"), VERDICT),
        (("export", "RESULT", "--to", "json", "--out", "OUT"), "written"),
        (("compare", "RESULT", "RESULT"), "differ|agree|alike"),
        (
            (
                "new",
                ARM / "arm.urdf",
                ARM / "identification.csv",
                "--rate-hz",
                "250",
                "-o",
                "OUT/j.toml",
                "-y",
            ),
            "^next: ",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
@pytest.mark.parametrize("columns", [80, 120])
def test_verbs(result, tmp_path, columns, words, wanted):
    folder, _ = result
    words = [str(word).replace("RESULT", str(folder)).replace("OUT", str(tmp_path)) for word in words]
    code, lines = in_terminal(columns, *words)
    assert code == 0, lines
    is_well_shown(columns, lines, wanted)
