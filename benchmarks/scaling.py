"""Ten times the samples: how much more time, how much more memory?

    python benchmarks/scaling.py [--json PATH] [--rounds N] [--save-baseline]

The TX40 recording (9 s, 45 000 samples, standing still at the same place before and after) is written once, and ten
times end to end; both are identified from their files, taking turns: by `poinsot identify` with its page, as a process,
and in this process, where hardly anything but the samples costs.

Memory is the largest resident set of a process of its own, once and ten times, the difference divided by that of the
recordings' arrays (13 numbers of 8 bytes a sample), for a process that only reads, and for one that identifies.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from support import needs
from support.report import Ratio, deliver, options
from support.timing import Program, poinsot_identify, process, side_by_side
from support.tx40 import identify, read

TIMES = 10
MEMORY = 3.2
"""The recording (13 numbers a sample) and q, v, a and tau (24) are 2.85; nothing else of that length may be kept."""

EXAMPLES = Path(__file__).parents[1] / "examples"
FILES = ("pos_read_data.csv", "curr_data.csv")


def main() -> None:
    arguments = options(__doc__)
    source = needs.recording("staubli_tx40")
    with tempfile.TemporaryDirectory() as scratch:
        short, long = (_repeated(source, Path(scratch) / f"{times}x", times) for times in (1, TIMES))
        job = Path(scratch) / "tx40.toml"
        job.write_text((EXAMPLES / "tx40.toml").read_text().replace("window_s", "# window_s"))
        shutil.copy(source / "tx40.urdf", scratch)
        once, often = "45 000 samples", "450 000 samples"
        programs = {
            once: Program(lambda: identify(short, source, window_s=None), turns=5),
            often: Program(lambda: identify(long, source, window_s=None)),
            f"{once}, process": Program(lambda: poinsot_identify(job, short)),
            f"{often}, process": Program(lambda: poinsot_identify(job, long)),
        }
        seconds, _ = side_by_side(programs, arguments.rounds or 5)
        growth = {task: _growth(task, short, long, source) for task in ("read", "identify")}
    deliver(
        "scaling",
        arguments,
        seconds,
        [
            Ratio(
                "time, 10 x the samples, process",
                seconds[f"{often}, process"] / seconds[f"{once}, process"],
                at_most=TIMES,
            ),
            Ratio("time, 10 x the samples", seconds[often] / seconds[once], at_most=TIMES),
            Ratio("memory to read / recording", growth["read"]),
            Ratio("memory to identify / recording", growth["identify"], at_most=MEMORY),
        ],
    )


def _repeated(source: Path, folder: Path, times: int) -> Path:
    """A folder with the same recording several times end to end."""
    folder.mkdir()
    for name in FILES:
        header, body = (source / name).read_text().split("\n", 1)
        (folder / name).write_text(header + "\n" + (body.rstrip("\n") + "\n") * times)
    return folder


def _growth(task: str, short: Path, long: Path, source: Path) -> float:
    """Bytes of the process for each byte of the recording."""
    once, often = (
        json.loads(process(__file__, "--peak", task, str(folder), str(source))) for folder in (short, long)
    )
    return (often["peak"] - once["peak"]) / (often["recording"] - once["recording"])


def _peak(task: str, folder: Path, source: Path) -> dict[str, int]:
    """Largest resident set of this process after its work, and the size of the recording. [bytes]"""
    recording = read(folder)
    size = recording.time.nbytes + sum(samples.nbytes for samples in recording.channels.values())
    if task == "identify":
        del recording
        identify(folder, source, window_s=None)
    return {"peak": _largest_resident_set(), "recording": size}


def _largest_resident_set() -> int:
    """Largest memory of only this program [bytes]; `getrusage` would also count the process that started it."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        print(json.dumps(_peak(sys.argv[2], *map(Path, sys.argv[3:]))))
    else:
        main()
