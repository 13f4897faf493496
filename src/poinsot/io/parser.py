"""A parser in a process of its own: on some damaged files it crashes, or asks for more memory than there is."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import Any

from ..exceptions import UnreadableFile

LONGEST_S = 600
"""Maximum duration of reading a file [s]."""

MEMORY = 16 * 2**30
"""Maximum memory of the process that reads a file [B]."""

LIMITED = """
import sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (%d, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import ctypes, signal
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # when the process that waits for it dies
except (ImportError, ValueError, OSError, AttributeError):
    pass
try:
%s
except BaseException as error:
    sys.exit((str(error).strip().splitlines() or [type(error).__name__])[0])
"""

CALL = """
import pickle
from importlib import import_module
from poinsot.exceptions import PoinsotError
function = getattr(import_module(sys.argv[2]), sys.argv[3])
try:
    answer = function(*pickle.load(sys.stdin.buffer))
except PoinsotError as error:
    answer = type(error), str(error)
pickle.dump(answer, sys.stdout.buffer, protocol=5)
"""


def run_parser(
    code: str,
    path: Path,
    kind: str,
    *arguments: str,
    content: bytes = b"",
    memory: int = MEMORY,
    longest_s: float = LONGEST_S,
) -> bytes:
    """Standard output of Python code.

    Args:
        code: it finds the path and the further arguments in `sys.argv`.
        path, kind: the file and the name of its format.
        content: standard input of the code.
        memory, longest_s: maximum memory [B] and duration [s] of the process.

    Raises:
        UnreadableFile: if the code fails, crashes or takes too long.
    """
    command = [sys.executable, "-c", LIMITED % (memory, indent(code, "    ")), str(path), *arguments]
    try:
        done = subprocess.run(command, input=content, capture_output=True, timeout=longest_s, check=False)
    except subprocess.TimeoutExpired:
        raise UnreadableFile(f"{path} cannot be read as {kind} in {longest_s:.0f} s") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-1:] if done.returncode > 0 else []
        reason = (said or ["its reader crashed"])[0].rstrip(".:;")
        raise UnreadableFile(f"{path} cannot be read as {kind}, it may be damaged: {reason}")
    return done.stdout


def call_parser(
    function: Callable[..., Any], path: Path, kind: str, *arguments: Any, memory: int, longest_s: float
) -> Any:
    """What a function of a module returns for the arguments, called in a process of its own.

    Args:
        function: its arguments and its result can be pickled.
        path, kind, memory, longest_s: as of `run_parser`.

    Raises:
        PoinsotError: as the function; UnreadableFile as of `run_parser`.
    """
    names = function.__module__, function.__qualname__
    content = pickle.dumps(arguments)
    answer = pickle.loads(
        run_parser(CALL, path, kind, *names, content=content, memory=memory, longest_s=longest_s)
    )
    if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[0], type):
        raise answer[0].__new__(*answer)  # not called: the message is complete
    return answer
