"""Guess the channel of each column of a log from the words of its header.

A header is split into words: `/joint_states/elbow_flex/position` has joint, states, elbow, flex, position. The name of
a joint and the words of a quantity are removed; the words that distinguish columns of one quantity are their labels.
A label is matched to a joint

    by name      the joint's name is in the header, or the label has words that only this joint has
    by number    the label is a number: joints are counted in the robot's order, or by leg in logs of Unitree's
                 quadrupeds, from 0 if there is a 0, else from 1
    by order     the remaining columns and joints are matched in their order

and columns of all quantities with the same label belong to the same joint.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from ..exceptions import UnknownUnit
from ..io.units import check_quantity
from ..quantities import FRAME_QUANTITIES, XYZ
from ..recording import CONTACT, EFFORTS, THRUST

Label: TypeAlias = frozenset[str]
"""Words that distinguish a column from others of its quantity."""


def words_of(name: str) -> tuple[str, ...]:
    """The words and numbers of a name, in lower case.

    >>> words_of("/joint_states/elbowFlex/q[2]")
    ('joint', 'states', 'elbow', 'flex', 'q', '2')
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return tuple(re.findall(r"[a-z]+|\d+", apart.lower()))


BY_NAME, BY_NUMBER, BY_ORDER = "by name", "by number", "by order"
LISTED = tomllib.loads(Path(__file__).with_name("header_words.toml").read_text(encoding="utf-8"))
COMMANDS, COMMANDED_EFFORTS, COMMAND_FILES, MEASURED, OTHER, BY_LEG, BASE, FEET = (
    Label(LISTED[group].split())
    for group in (
        *("commands", "commanded_efforts", "command_files", "measured", "other", "by_leg"),
        *("base", "feet"),
    )
)
XYZ_LABEL = Label(XYZ)
SIDES = {"left": "l", "right": "r"}
"""Words of sides, and as names of links shorten them."""
LEGS: list[str] = LISTED["legs"].split()


@dataclass(frozen=True)
class ColumnGuess:
    """A column of a log, and its guessed channel, `quantity.joint` or `quantity.frame.end`. `reason`: by name,
    number or order. `unit`: unit that its header names; None: it names none.
    """

    column: str
    channel: str
    reason: str
    unit: str | None = None

    @property
    def quantity(self) -> str:
        return self.channel.partition(".")[0]

    @property
    def owner(self) -> str:
        """Its joint, or its frame and end."""
        return self.channel.partition(".")[2]

    @property
    def is_command(self) -> bool:
        """Whether its header says that it was commanded or computed, and not measured."""
        return not (COMMANDS | COMMANDED_EFFORTS).isdisjoint(words_of(self.column))

    def assigned_to_other(self, pair: tuple[str, str]) -> ColumnGuess:
        """The same column, assigned to the other joint of a pair."""
        other = pair[self.owner == pair[0]]
        reason = f"{BY_ORDER}, and exchanged as the robot's dynamics ask"
        return replace(self, channel=f"{self.quantity}.{other}", reason=reason)


def match_columns(
    columns: Sequence[str], joints: Sequence[str], frames: Sequence[str], rotors: Sequence[str] = ()
) -> list[ColumnGuess]:
    """Guess the channels of columns from their headers; one column per channel, in the order of the file.
    `columns`: headers of a log. `joints`: joints of the robot, in its order. `frames`: links that may have sensors.
    `rotors`: of a robot that flies.
    """
    if state := _state_of_free_body(columns, joints):
        headers = {state.get(column, column): column for column in columns if state.get(column, column)}
        return [
            replace(guess, column=headers[guess.column], reason=OF_STATE)
            if guess.column in state.values()
            else guess
            for guess in match_columns([*headers], joints, frames, rotors)
        ]
    guesses: dict[str, ColumnGuess] = {}
    # a name is a label too
    owners = {Label([joint]): (joint, BY_NAME) for joint in joints}
    labels: dict[tuple[bool, str], dict[str, Label]] = {}
    units: dict[str, str | None] = {}
    counted: dict[str, dict[str, Label]] = {CONTACT: {}, THRUST: {}}
    for column in columns:
        joint, rest = _find_joint(words_of(column), joints)
        quantity, used = _find_quantity(rest)
        commanded = not COMMANDS.isdisjoint(rest)
        if quantity in counted:
            counted[quantity][column] = Label(words_of(column)) - used
            continue
        if quantity in FRAME_QUANTITIES:
            guess = _guess_channel(column, quantity, Label(words_of(column)) - used, frames)
            if guess is not None:
                guesses.setdefault(guess.channel, guess)
            continue
        units[column], unit_words = unit_in_name(column, quantity or "position")
        if not OTHER.isdisjoint(rest):
            continue
        named = quantity or commanded or (joint and (unit_words | MEASURED).issuperset(rest))
        if named and not (commanded and quantity == "velocity"):
            label = Label(rest) - used - COMMANDS - MEASURED - unit_words
            if label - XYZ_LABEL and joint.lower() in ("", *XYZ) and {*_axes_of(column)} <= {*columns}:
                continue  # a vector in space
            labels.setdefault((commanded, quantity), {})[column] = Label([joint]) if joint else label
    if any(not BY_LEG.isdisjoint(words_of(column)) for column in columns):
        joints, frames = (
            sorted(names, key=lambda name: LEGS.index(name[:2]) if name[:2] in LEGS else len(LEGS))
            for names in (joints, frames)
        )
    feet = [frame for frame in frames if not FEET.isdisjoint(words_of(frame))]
    guesses |= _match_counted(CONTACT, counted[CONTACT], feet, frames)
    guesses |= _match_counted(THRUST, counted[THRUST], rotors, rotors)
    first = min(map(_first_number, labels.values()), default=1)
    # positions first, since most joints have one; measurements before commands
    for kind in sorted(labels, key=lambda kind: (kind != (False, "position"), kind[0], -len(labels[kind]))):
        (commanded, quantity), given = kind, labels[kind]
        unnamed = {label for label in given.values() if label not in owners}
        common = Label.intersection(*unnamed) if len(unnamed) > 1 else Label()
        own = {column: label if label in owners else label - common for column, label in given.items()}
        new = [label for label in own.values() if label not in owners]
        if not quantity:  # elements of a list, which has a layout too
            new = [label for label in new if len(label) == 1 and min(label).isdigit()] or new
        # a command without a quantity may be of any: accepted only with one for each joint
        if quantity or len(new) == len({channel for channel in guesses if channel.startswith("position.")}):
            taken = {owners[label][0] for label in own.values() if label in owners}
            owners |= _match_labels(new, joints, taken, first)
        if commanded and quantity not in EFFORTS:
            quantity = "position_command"
        for column in (column for column, label in own.items() if label in owners):
            joint, reason = owners[own[column]]
            guess = ColumnGuess(column, f"{quantity or 'position'}.{joint}", reason, units[column])
            guesses.setdefault(guess.channel, guess)
    return sorted(guesses.values(), key=lambda guess: columns.index(guess.column))


OF_STATE = f"{BY_NUMBER}, as in a simulator's state, in which a free base comes first"


def _state_of_free_body(columns: Sequence[str], joints: Sequence[str]) -> dict[str, str]:
    """Header -> a name of what it is, of MuJoCo's `qpos` and `qvel` of a robot with a free base: place and quaternion
    (w first), or twist, which has no name here, and then its joints; empty: there is no such state.
    """
    named: dict[str, str] = {}
    bases = {"qpos": [f"base_pos_{axis}" for axis in XYZ] + [f"base_quat_{axis}" for axis in "wxyz"]}
    bases["qvel"] = [""] * 6
    quantities = {"qpos": "position", "qvel": "velocity"}
    for word, base in bases.items():
        numbers = {
            column: int(words[-1])
            for column in columns
            if word in (words := words_of(column)) and words[-1].isdigit() and COMMANDS.isdisjoint(words)
        }
        if len(numbers) == len(base) + len(joints):
            meanings = [*base, *(f"{joint}/{quantities[word]}" for joint in joints)]
            named |= dict(zip(sorted(numbers, key=numbers.__getitem__), meanings, strict=True))
    return named if any(named.values()) else {}


def _first_number(group: Mapping[str, Label]) -> int:
    """0 if a label that tells columns apart is 0, else 1."""
    common = Label.intersection(*group.values()) if len(group) > 1 else Label()
    return 0 if any("0" in label - common for label in group.values()) else 1


def _axes_of(column: str) -> list[str]:
    """Headers of x, y and z of the vector of which it is one; none that exists if it does not end in an axis."""
    name, axis = column[:-1], column[-1:]
    axes = XYZ if axis in XYZ else tuple("XYZ")
    return [name + end for end in axes] if axis in axes and not name[-1:].isalnum() else [""]


def _find_joint(words: tuple[str, ...], joints: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The joint that words name (the longest name, or ""), and the other words."""
    for joint in sorted(joints, key=lambda joint: -len(words_of(joint))):
        name = words_of(joint)
        for k in range(len(words) - len(name) + 1) if name else ():
            if words[k : k + len(name)] == name:
                return joint, words[:k] + words[k + len(name) :]
    return "", words


def names_quantity(name: str, quantity: str = "") -> bool:
    """Whether words of a header, or of a file's name, name a quantity, or a command; or this `quantity`."""
    words = words_of(name)
    if quantity:
        return _find_quantity(words)[0] == quantity
    return bool(_find_quantity(words)[0]) or not COMMANDS.isdisjoint(words)


def _find_quantity(words: Sequence[str]) -> tuple[str, Label]:
    """The quantity that words name, and the words that name it; "" for none. A position is that of the base if a word
    says so, beside an axis.
    """
    of_base = not BASE.isdisjoint(words) and words[-1] in XYZ
    for quantity, alternatives in LISTED["quantities"].items():
        if quantity == "frame_position" and not of_base:
            continue
        for alternative in map(str.split, alternatives):
            if {*alternative} <= {*words}:
                return quantity, Label(alternative)
    return "", Label()


def _guess_channel(column: str, quantity: str, label: Label, frames: Sequence[str]) -> ColumnGuess | None:
    """A sensor at the frame that the header names, else at the first frame where it says that it is of the base, else
    at the first `imu`, else at the first frame.
    """
    of_frames = {frame: Label(words_of(frame)) for frame in frames}
    ends = FRAME_QUANTITIES[quantity].ends
    axis = next((word[-1] for word in words_of(column)[::-1] if word.removeprefix("q") in ends), "")
    named = [frame for frame, words in of_frames.items() if words <= label]
    imus = [frame for frame, words in of_frames.items() if "imu" in words]
    imus = [] if not BASE.isdisjoint(label) and "imu" not in label else imus
    frame = next(iter([*named, *imus, *frames]), "")
    reason = (
        BY_NAME if frame in named else "as the frame is called so" if frame in imus else "the first of all"
    )
    return ColumnGuess(column, f"{quantity}.{frame}.{axis}", reason) if axis and frame else None


def _match_counted(
    quantity: str, columns: Mapping[str, Label], listed: Sequence[str], owners: Sequence[str]
) -> dict[str, ColumnGuess]:
    """Channels of a quantity at owners that headers count, or name by their words. `columns`: column -> words besides
    the quantity. `listed`: owners in the order of numbers, which come first too where words name several.
    """
    labels = {column: label - FEET - {"z"} for column, label in columns.items() if label.isdisjoint("xy")}
    common = Label.intersection(*labels.values()) if len(labels) > 1 else Label()
    numbers = {column: min(own) for column, label in labels.items() if len(own := label - common) == 1}
    if len(numbers) == len(listed) and all(number.isdigit() for number in numbers.values()):
        in_order = sorted(numbers, key=lambda column: int(numbers[column]))
        return {
            f"{quantity}.{owner}": ColumnGuess(column, f"{quantity}.{owner}", BY_NUMBER)
            for column, owner in zip(in_order, listed, strict=True)
        }
    found: dict[str, ColumnGuess] = {}
    for column, label in labels.items():
        sides = Label(SIDES.get(word, word) for word in label)
        fitting = [owner for owner in owners if sides <= {*words_of(owner)} or label <= {*words_of(owner)}]
        if at := [owner for owner in fitting if owner in listed] or fitting:
            found.setdefault(f"{quantity}.{at[0]}", ColumnGuess(column, f"{quantity}.{at[0]}", BY_NAME))
    return found


def _match_labels(
    labels: Sequence[Label], joints: Sequence[str], taken: Collection[str], first: int
) -> dict[Label, tuple[str, str]]:
    """Match labels to joints that are not taken: label -> (joint, reason). `first`: number of the first joint."""
    left = list(dict.fromkeys(labels))
    of_joints = {joint: Label(words_of(joint)) for joint in joints}
    common = Label.intersection(*of_joints.values()) if len(joints) > 1 else Label()
    free = {joint: words - common for joint, words in of_joints.items() if joint not in taken}
    numbers = {label: int(min(label)) - first for label in left if len(label) == 1 and min(label).isdigit()}
    # beside numbers for all, others are variants; numbers from 0 would otherwise match names from 1
    if left and len(numbers) >= min(len(left), len(free)) and not {*left} <= {*free.values()}:
        places = {label: joints[k] for label, k in numbers.items() if k < len(joints)}
        return {label: (joint, BY_NUMBER) for label, joint in places.items() if joint in free}
    matches: dict[Label, tuple[str, str]] = {}
    for fits in (Label.__eq__, lambda label, words: label < words or words < label):
        for label in left:
            near = [joint for joint, words in free.items() if label and words and fits(label, words)]
            if label not in matches and len(near) == 1:
                matches[label] = near[0], BY_NAME
                del free[near[0]]
    left = [label for label in left if label not in matches]
    if len(left) > len(free):
        return matches
    return matches | {a: (b, BY_ORDER) for a, b in zip(left, free, strict=False)}


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
