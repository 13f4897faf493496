"""Samples as JSON lines: one object a line, from a file, from one that grows, or from standard input.

    {"time": 0.01, "position": [...], "torque": [...], "velocity": [...], "wrenches": {"foot": [...]}}

SI units; joints in the robot's order, at the side where the drive is measured. `current` or `voltage` may take the
place of `torque`; velocities and wrenches (6, about the body's origin, in its frame) are optional. A floating base
has `base_position` (3), `base_orientation` (4, x y z w) and `base_velocity` (6, linear and angular, in its frame).
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import LARGEST, Vector
from ..exceptions import InvalidRecording, UnreadableFile, check_known, listing
from ..recording import EFFORTS
from .sources import existing_file

BASE = {"base_position": 3, "base_orientation": 4, "base_velocity": 6}
KEYS = ("time", "position", "velocity", *EFFORTS, "wrenches", *BASE)
POLL_S = 0.05
"""Interval of polling a growing file."""


@dataclass(frozen=True, eq=False)
class SampleLine:
    """The numbers of one line, NaN for null. `time`: [s]. `position`, `effort`: (n,), (m,). `velocity`: (n,) or None.
    `wrenches`: body -> (6,). `base`: of `base_position` and the like, those that are given.
    """

    time: float
    position: Vector
    effort: Vector
    velocity: Vector | None = None
    wrenches: dict[str, Vector] = field(default_factory=dict)
    base: dict[str, Vector] = field(default_factory=dict)


@dataclass(frozen=True)
class Layout:
    """Of every line: numbers of positions and efforts, whether the base's state; `bodies` that wrenches act on."""

    joints: int
    motors: int
    floating_base: bool = False
    bodies: tuple[str, ...] | None = None

    def parse(self, line: str) -> SampleLine:
        """Parse one line; an `InvalidRecording` says what is wrong with it."""
        try:
            content = json.loads(line)
        # what it is instead is not told: it may be a line of any file
        except (ValueError, RecursionError):
            raise InvalidRecording("it is not JSON") from None
        if not isinstance(content, dict):
            raise InvalidRecording(
                'it is not an object like {"time": 0.0, "position": [...], "torque": [...]}'
            )
        for key in content:
            check_known(key, KEYS, "unknown key", "known are", InvalidRecording, 20)
        efforts = [key for key in EFFORTS if key in content]
        if len(efforts) != 1:
            raise InvalidRecording(
                f"it needs exactly one of {listing(EFFORTS)}, and has {listing(efforts) or 'none'}"
            )
        wrenches = content.get("wrenches", {})
        if not isinstance(wrenches, dict):
            raise InvalidRecording('wrenches must be an object like {"foot": [fx, fy, fz, mx, my, mz]}')
        for body in wrenches if self.bodies is not None else ():
            check_known(body, self.bodies or (), "a wrench acts on", "the robot has", InvalidRecording)
        base = {
            key: _numbers(content, key, BASE[key]) for key in BASE if self.floating_base or key in content
        }
        n = self.joints
        return SampleLine(
            float(_numbers(content, "time", None)[0]),
            _numbers(content, "position", n),
            _numbers(content, efforts[0], self.motors),
            _numbers(content, "velocity", n) if "velocity" in content else None,
            {body: _numbers(wrenches, body, 6) for body in wrenches},
            base,
        )


def _numbers(content: dict[str, Any], key: str, count: int | None) -> Vector:
    """(count,) numbers, or one without a count; null is NaN."""
    if key not in content:
        raise InvalidRecording(f"it has no {key!r}")
    value = content[key] if count is not None else [content[key]]
    if not isinstance(value, list) or len(value) != (count or 1):
        raise InvalidRecording(f"{key!r} must be a list of {count} numbers")
    numbers = [math.nan if item is None else item for item in value]
    # JSON's true is an int in Python.
    if not all(isinstance(item, (int, float)) and not isinstance(item, bool) for item in numbers):
        must = "be a number" if count is None else "hold numbers, or null where there is none"
        raise InvalidRecording(f"{key!r} must {must}")
    if any(abs(item) > LARGEST for item in numbers):
        raise InvalidRecording(f"{key!r} has a number beyond {LARGEST:g}")
    return np.array(numbers, dtype=float)


class SampleStream:
    """The samples of a stream of lines. The first one must be right; later ones that are not are counted and left out.

    Args:
        name: of the file, for messages; `-` is standard input.
        follow: whether to wait for lines that are still to be written.
    """

    def __init__(self, name: str, layout: Layout, *, follow: bool = False):
        self.name, self.layout, self.follow = name, layout, follow
        self.bad = 0
        self.first_bad = ""
        if name != "-":
            existing_file(Path(name))

    def __iter__(self) -> Iterator[SampleLine]:
        """Raise an `InvalidRecording` if the first line is no sample."""
        right = 0
        for number, line in enumerate(self._lines(), start=1):
            if not line.strip():
                continue
            try:
                sample = self.layout.parse(line)
            except InvalidRecording as error:
                where = "standard input" if self.name == "-" else self.name
                said = f"line {number} of {where} is no sample: {error}"
                # a first line that is wrong means another layout of all, a later one an accident
                if not right:
                    raise InvalidRecording(said) from None
                self.bad += 1
                self.first_bad = self.first_bad or said
                continue
            right += 1
            yield sample

    def _lines(self) -> Iterator[str]:
        if self.name == "-":
            yield from sys.stdin
            return
        try:
            # A damaged line is a sample that is left out, not the end of the stream.
            with Path(self.name).open(encoding="utf-8", errors="replace") as file:
                yield from growing_lines(file, self.follow)
        except OSError as error:
            raise UnreadableFile(f"cannot read {self.name}: {error.strerror or error}") from None


def growing_lines(file: Any, follow: bool, wait: Callable[[float], None] = time.sleep) -> Iterator[str]:
    """Complete lines of an open text file, and those that are appended if `follow`; a last one without end if not."""
    begun = ""
    while True:
        line = file.readline()
        # A writer may be in the middle of a line: what has begun waits for its end.
        begun += line
        if begun.endswith("\n"):
            yield begun
            begun = ""
        elif not line:
            if not follow:
                if begun:
                    yield begun
                return
            wait(POLL_S)
