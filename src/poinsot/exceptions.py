"""Errors that poinsot raises: one root, and messages that name what would have worked.

The command line prints the message of a `PoinsotError` unchanged and exits with code 2, so each is one sentence that a
user can act on. A bug in poinsot is never a `PoinsotError`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches


def listing(names: Iterable[str], limit: int = 12) -> str:
    """`a, b, c` or `a, b, ... (40 in all)`."""
    names = list(names)
    if not names:
        return "none"
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown}, ... ({len(names)} in all)"


def nearest(word: str, candidates: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the closest candidate, or an empty string."""
    matches = get_close_matches(word, list(candidates), n=1, cutoff=0.5)
    return f"; did you mean {matches[0]!r}?" if matches else ""


MAX_MESSAGE = 400
"""Maximum length of a message. [characters]"""


def one_line(text: str) -> str:
    """Put the text on one printable line; cut the middle out of a text longer than `MAX_MESSAGE`."""
    text = "".join(character if character.isprintable() else "?" for character in " ".join(text.split()))
    return text if len(text) <= MAX_MESSAGE else f"{text[:250]} ... {text[255 - MAX_MESSAGE :]}"


class PoinsotError(Exception):
    """Root of all errors that a user can correct. The message is one line, even if names in it have line breaks."""

    def __init__(self, message: object = ""):
        super().__init__(one_line(str(message)))


class MissingExtra(PoinsotError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, extra: str, package: str):
        super().__init__(
            f"this needs the package {package!r}, which is not installed: "
            f"run `pip install 'poinsot[{extra}]'`"
        )


class InvalidRecording(PoinsotError):
    """The samples of a recording contradict each other."""


class ChannelNotFound(InvalidRecording):
    """A requested channel is not in the recording."""

    def __init__(self, name: str, available: Collection[str]):
        super().__init__(
            f"no channel {name!r}{nearest(name, available)}; the recording has {listing(available)}"
        )


class UnknownUnit(PoinsotError):
    """A unit that the reader does not know."""

    def __init__(self, unit: str, known: Collection[str], where: str = ""):
        super().__init__(
            f"unknown unit {unit!r}{where}{nearest(unit, known)}; known are {listing(known, 60)}"
        )


class UnreadableFile(PoinsotError):
    """A file is missing, damaged, or not of the format of its ending."""


class InvalidProject(PoinsotError):
    """An invalid project file."""


class InvalidModel(PoinsotError):
    """A robot description or drive train that is invalid or contradicts itself."""


class ImpossibleBody(InvalidModel):
    """Physically impossible inertial parameters, with reasons in sentences and the name of the body, if it has one."""

    def __init__(self, reasons: Iterable[str], name: str = ""):
        self.reasons = tuple(reasons)
        which = f"{name}: " if name else ""
        super().__init__(f"{which}no real body has this inertia: {'; '.join(self.reasons)}")


class InvalidSignals(PoinsotError):
    """A recording that cannot be filtered or used for regression."""


class InvalidMethod(PoinsotError):
    """A method whose settings contradict themselves or the problem."""


class NotIdentifiable(PoinsotError):
    """The data do not determine a requested quantity."""


class UntrustedResult(PoinsotError):
    """A robot description was requested from a result that must not be used."""


class UnwritableOutput(PoinsotError):
    """An output file cannot be written."""


def check_known(
    name: str,
    known: Iterable[str],
    missing: str,
    owner: str,
    error: type[PoinsotError] = InvalidModel,
    limit: int = 12,
) -> int:
    """Index of a name among the known ones; errors are like `no link 'fot'; did you mean 'foot'?; the robot has foot`.

    Args:
        missing: text before the name, e.g. `"no link"`. owner: text before the known ones, e.g. `"the robot has"`.
        limit: maximum number of known names that are listed.
    """
    if name not in (known := tuple(known)):
        raise error(f"{missing} {name!r}{nearest(name, known)}; {owner} {listing(known, limit)}")
    return known.index(name)
