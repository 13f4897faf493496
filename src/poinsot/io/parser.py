"""A native parser in a process of its own: on some damaged files it crashes, or asks for more memory than there is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import indent

from ..exceptions import UnreadableFile

LONGEST_S = 600
MEMORY = 16 * 2**30
"""Of the process that reads a file [bytes]."""

LIMITED = f"""
import sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, resource.getrlimit(resource.RLIMIT_AS)[1]))
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


def run_parser(code: str, path: Path, kind: str, *arguments: str) -> bytes:
    """Standard output of Python code that has the path and the further arguments in `sys.argv`.

    Raises:
        UnreadableFile: if it fails, crashes or takes too long; `kind` names the format.
    """
    command = [sys.executable, "-c", LIMITED % indent(code, "    "), str(path), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=LONGEST_S, check=False)
    except subprocess.TimeoutExpired:
        raise UnreadableFile(f"{path} cannot be read as {kind} in {LONGEST_S} s") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-1:] if done.returncode > 0 else []
        reason = (said or ["its reader crashed"])[0].rstrip(".:;")
        raise UnreadableFile(f"{path} cannot be read as {kind}, it may be damaged: {reason}")
    return done.stdout
