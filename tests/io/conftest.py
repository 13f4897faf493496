"""Parsers in forks of this process instead of new ones: they start fast, and know what a test has replaced."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

import poinsot.io.parser


@pytest.fixture
def forked_parsers(monkeypatch):
    """Parsers run in forks of this process."""
    shim = SimpleNamespace(run=run_in_fork, TimeoutExpired=subprocess.TimeoutExpired)
    monkeypatch.setattr(poinsot.io.parser, "subprocess", shim)


def run_in_fork(command, **options):
    """As `subprocess.run` of `python -c`; Polars, which has threads, is not to be forked."""
    if "polars" in command[2]:
        return subprocess.run(command, **options)
    files = [tempfile.TemporaryFile() for _ in range(3)]  # noqa: SIM115  (closed below)
    files[0].write(options["input"])
    files[0].seek(0)
    # the limit of memory counts what this process has mapped, with JAX gigabytes
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    code = re.sub(r"RLIMIT_AS, \((\d+)", lambda limit: f"RLIMIT_AS, ({int(limit[1]) + mapped}", command[2])
    sys.stdout.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # JAX warns of forks; the child never calls it
        child = os.fork()
    if not child:
        status = 1
        try:
            for number, file in enumerate(files):
                os.dup2(file.fileno(), number)
            sys.argv = ["-c", *command[3:]]
            sys.stdin, sys.stdout, sys.stderr = (os.fdopen(k, mode) for k, mode in enumerate("rww"))
            exec(code, {})
            status = 0
        except SystemExit as leaving:
            sys.stderr.write(str(leaving.code))
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    status = exit_code(child)
    texts = [file.seek(0) or file.read() for file in files[1:]]
    for file in files:
        file.close()
    return subprocess.CompletedProcess(command, status, *texts)


def exit_code(child, longest_s=120.0):
    """Exit code of a child that is killed if it does not end: a fork may wait for a lock that nobody holds."""
    until = time.monotonic() + longest_s
    while time.monotonic() < until:
        number, status = os.waitpid(child, os.WNOHANG)
        if number:
            return os.waitstatus_to_exitcode(status)
        time.sleep(1e-3)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
