"""Guess which column of a log is which channel, from the words of its header.

A header is split into words: `/joint_states/elbow_flex/position` has the words joint, states, elbow, flex, position. The
name of a joint and the words of a quantity are taken out; what distinguishes the rest from other columns of the quantity
is the column's label. A label is matched to a joint

    by name      the joint's name is in the header, or the label has words that only this joint has
    by number    the label is a number: joints are counted in the robot's order, from 0 if there is a 0, else from 1
    by order     of the columns and of the joints that are left

and columns of all quantities with the same label belong to the same joint.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ..exceptions import InvalidRecording, UnknownUnit
from ..io.units import check_quantity, find_unit
from ..quantities import FRAME_QUANTITIES
from ..recording import CONTACT, EFFORTS

Label: TypeAlias = frozenset[str]
"""Words that tell a column from others of its quantity."""

BY_NAME, BY_NUMBER, BY_ORDER = "by name", "by number", "by order"

COMMANDS = frozenset(
    "command commands commanded cmd target goal desired des ref reference setpoint action".split()
)
MEASURED = frozenset("actual measured meas joint joints state states motor motors observation".split())
"""Words that do not tell columns of one quantity apart, and name none."""

WORDS: Mapping[str, tuple[str, ...]] = {
    "gyro": ("gyro", "gyroscope", "angular velocity", "angular vel"),
    "accelerometer": ("accelerometer", "acc", "accel", "linear acceleration"),
    "orientation": ("orientation", "quat", "quaternion"),
    CONTACT: ("contact", "contacts"),
    "torque": ("torque", "torques", "tau", "effort", "efforts", "trq"),
    "current": ("current", "currents", "cur", "i", "iq", "amps"),
    "voltage": ("voltage", "voltages", "volt", "volts"),
    "velocity": ("velocity", "velocities", "vel", "v", "dq", "qd", "qdot", "qvel", "speed", "omega"),
    "position": ("position", "positions", "pos", "q", "qpos", "angle", "angles", "theta"),
}
"""Quantity -> words of headers, each alternative with all of its words; earlier ones come first."""

CLOCK_WORDS = ("time", "timestamp", "stamp", "t", "clock")
EARLIEST_DATE_S = 5e8
"""A clock that begins later counts from 1970: this is 1985. [s]"""

SLOWEST_HZ = 5.0
"""A clock in seconds whose samples are further apart is taken to count milliseconds, and so on."""


@dataclass(frozen=True)
class ColumnGuess:
    """A column of a log, and what it is taken for.

    Args:
        channel: `quantity.joint`, or `quantity.frame.end`.
        reason: `by name`, `by number` or `by order`.
        unit: that its header names; None: it names none.
        commanded: whether it is an effort that was commanded, of use where none was measured.
    """

    column: str
    channel: str
    reason: str
    unit: str | None = None
    commanded: bool = False

    @property
    def quantity(self) -> str:
        return self.channel.partition(".")[0]

    @property
    def owner(self) -> str:
        """Its joint, or its frame and what follows."""
        return self.channel.partition(".")[2]

    def given_to(self, pair: tuple[str, str]) -> ColumnGuess:
        """The same of the other of two joints, since the robot explains efforts better so."""
        other = pair[self.owner == pair[0]]
        return replace(
            self,
            channel=f"{self.quantity}.{other}",
            reason=f"{BY_ORDER}, exchanged as the robot's motion asks",
        )


def words_of(name: str) -> tuple[str, ...]:
    """The words and numbers of a name, in lower case.

    >>> words_of("/joint_states/elbowFlex/q[2]")
    ('joint', 'states', 'elbow', 'flex', 'q', '2')
    """
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return tuple(re.findall(r"[a-z]+|\d+", parted.lower()))


def match_columns(columns: Sequence[str], joints: Sequence[str], frames: Sequence[str]) -> list[ColumnGuess]:
    """Guess what columns are, as far as their headers say it.

    Args:
        columns: headers of a log. joints: of the robot, in its order.
        frames: links of the robot, of which a sensor may be at one.
    """
    found: list[ColumnGuess] = []
    # kind of column -> column -> its label, quantity and unit
    labels: dict[str, dict[str, tuple[Label, str, str | None]]] = {}
    for column in columns:
        rest, joint = _without_joint(words_of(column), joints)
        quantity, used = _quantity(rest)
        commanded = not COMMANDS.isdisjoint(rest)
        if (not (quantity or commanded or (joint and not rest))) or (commanded and quantity == "velocity"):
            continue
        if quantity in FRAME_QUANTITIES or quantity == CONTACT:
            found += _at_frame(column, quantity, {*words_of(column)} - used, frames)
            continue
        unit, unit_words = unit_in_name(column, quantity or "position")
        kind = f"commanded {quantity}" if commanded else quantity
        if commanded and quantity not in EFFORTS:
            quantity = "position_command"
        if joint:
            found.append(ColumnGuess(column, f"{quantity or 'position'}.{joint}", BY_NAME, unit, commanded))
        else:
            label = frozenset(rest) - used - COMMANDS - MEASURED - unit_words
            labels.setdefault(kind, {})[column] = label, quantity, unit
    owners: dict[Label, tuple[str, str]] = {}
    # positions first, as most joints have one
    for kind in sorted(labels, key=lambda each: (each != "position", -len(labels[each]))):
        given = labels[kind]
        common = (
            frozenset.intersection(*(label for label, *_ in given.values())) if len(given) > 1 else Label()
        )
        own = {column: label - common for column, (label, *_) in given.items()}
        quantity = next(iter(given.values()))[1]
        new = [label for label in own.values() if label not in owners]
        # a command without a quantity may be of anything: then only with one for each joint
        if kind != "commanded " or len(new) == len(
            [each for each in found if each.channel.startswith("position.")]
        ):
            taken = {
                each.channel.partition(".")[2] for each in found if each.channel.startswith(f"{quantity}.")
            }
            owners |= _owners(new, joints, taken)
        for column in [column for column, label in own.items() if label in owners]:
            joint, reason = owners[own[column]]
            channel, commanded = f"{quantity}.{joint}", kind.startswith("commanded")
            found.append(ColumnGuess(column, channel, reason, given[column][2], commanded))
    return _one_each(found, columns)


def _without_joint(words: tuple[str, ...], joints: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The words without those of the joint that they name, and this joint: the one of most words; or ""."""
    named = [joint for joint in joints if _part(words, words_of(joint)) >= 0]
    if not named:
        return words, ""
    joint = max(named, key=lambda each: len(words_of(each)))
    at = _part(words, words_of(joint))
    return words[:at] + words[at + len(words_of(joint)) :], joint


def _one_each(found: Iterable[ColumnGuess], columns: Sequence[str]) -> list[ColumnGuess]:
    """One column a channel, in the order of the file: a measured one before a commanded one."""
    chosen: dict[str, ColumnGuess] = {}
    for each in sorted(found, key=lambda each: (each.commanded, columns.index(each.column))):
        chosen.setdefault(each.channel, each)
    return sorted(chosen.values(), key=lambda each: columns.index(each.column))


def _part(words: Sequence[str], part: Sequence[str]) -> int:
    """Where `part` begins among the words; -1: nowhere."""
    n = len(part)
    return next((k for k in range(len(words) - n + 1) if n and tuple(words[k : k + n]) == tuple(part)), -1)


def _quantity(words: Sequence[str]) -> tuple[str, frozenset[str]]:
    """The quantity that words name, and which of them do; "" for none."""
    for quantity, alternatives in WORDS.items():
        for each in alternatives:
            if {*each.split()} <= {*words}:
                return quantity, frozenset(each.split())
    return "", frozenset()


def _at_frame(column: str, quantity: str, label: Collection[str], frames: Sequence[str]) -> list[ColumnGuess]:
    """A sensor at a frame: that which the header names, else the first `imu`, else the first frame; feet by name."""
    of_frames = {frame: {*words_of(frame)} for frame in frames}
    if quantity == CONTACT:
        feet = [frame for frame, words in of_frames.items() if {*label} - {"foot"} <= words]
        named = [frame for frame in feet if "foot" in of_frames[frame]] or (feet if len(feet) == 1 else [])
        return [ColumnGuess(column, f"{CONTACT}.{frame}", BY_NAME) for frame in named[:1]]
    end = next(
        (word for word in reversed(words_of(column)) if word[-1] in FRAME_QUANTITIES[quantity].ends), ""
    )
    axis = end[-1:] if end in (end[-1:], f"q{end[-1:]}") else ""
    named = [frame for frame, words in of_frames.items() if words and words <= {*label}]
    imus = [frame for frame, words in of_frames.items() if "imu" in words]
    frame, reason = next(((each[0], why) for each, why in ((named, BY_NAME), (imus, "by the frame's name"),
                          (list(frames), BY_ORDER)) if each), ("", ""))  # fmt: skip
    return [ColumnGuess(column, f"{quantity}.{frame}.{axis}", reason)] if axis and frame else []


def _owners(
    labels: Sequence[Label], joints: Sequence[str], taken: Collection[str]
) -> dict[Label, tuple[str, str]]:
    """Label -> joint, none of those taken, and reason."""
    left = list(dict.fromkeys(labels))
    of_joints = {joint: frozenset(words_of(joint)) for joint in joints}
    common = frozenset.intersection(*of_joints.values()) if len(joints) > 1 else Label()
    free = {joint: words - common for joint, words in of_joints.items() if joint not in taken}
    found: dict[Label, tuple[str, str]] = {}
    numbers = {
        label: int(next(iter(label))) for label in left if len(label) == 1 and next(iter(label)).isdigit()
    }
    # numbers from 0 would otherwise meet names from 1
    if left and len(numbers) == len(left) and not {*left} <= {*free.values()}:
        first = 0 if 0 in numbers.values() else 1
        places = {label: number - first for label, number in numbers.items()}
        return {
            label: (joints[k], BY_NUMBER)
            for label, k in places.items()
            if k < len(joints) and joints[k] in free
        }
    for fits in (Label.__eq__, lambda label, words: label < words or words < label):
        for label in left:
            near = [joint for joint, words in free.items() if label and words and fits(label, words)]
            if label not in found and len(near) == 1:
                found[label] = near[0], BY_NAME
                del free[near[0]]
    left = [label for label in left if label not in found]
    return (
        found
        if len(left) > len(free)
        else found | {a: (b, BY_ORDER) for a, b in zip(left, free, strict=False)}
    )


def unit_in_name(column: str, quantity: str) -> tuple[str | None, frozenset[str]]:
    """The unit that a header names, in brackets or after its last underscore, and its words.

    >>> unit_in_name("q1 [deg]", "position")[0], unit_in_name("tau_1", "torque")[0]
    ('deg', None)
    """
    bracket = re.search(r"[\[(]([^\])\d][^\])]*)[\])]\s*$", column)
    text = bracket[1] if bracket else column.rpartition("_")[2]
    try:
        check_quantity(f"{quantity}.*", text)
    except UnknownUnit:
        return None, Label()
    named = bracket or (len(text) > 1 and text != column and not text.isdigit())
    return (text, Label(words_of(text))) if named else (None, Label())


def find_clock(columns: Sequence[str]) -> list[str]:
    """Columns that may be the clock by their headers, the likeliest first: those that name least besides."""
    named = [each for each in columns if not {*CLOCK_WORDS}.isdisjoint(words_of(each))]
    return sorted(named, key=lambda each: (len({*words_of(each)} - {"header"}), columns.index(each)))


def clock_unit(column: str, ticks: np.ndarray) -> tuple[str, str]:
    """The unit of a clock and the reason: its header, the date that it would count, or its interval.

    Raises:
        InvalidRecording: if it does not increase from row to row.
    """
    steps = np.diff(ticks)
    if not (len(steps) and np.isfinite(ticks).all() and (steps > 0).all()):
        raise InvalidRecording(f"the column {column!r} does not increase from row to row")
    named, _ = unit_in_name(column, "time")
    if named is not None and find_unit(named).si == "s":
        return named, "its header names it"
    interval, units = float(np.median(steps)), ("s", "ms", "us", "ns")
    if ticks[0] > EARLIEST_DATE_S:  # in ms, us and ns a date has 3, 6 and 9 digits more
        unit = units[min(int(np.log10(ticks[0] / EARLIEST_DATE_S) / 3), 3)]
    else:
        unit = next((each for each in units if interval * find_unit(each).factor * SLOWEST_HZ <= 1), "ns")
    return unit, f"a step is then {1e3 * interval * find_unit(unit).factor:.4g} ms"
