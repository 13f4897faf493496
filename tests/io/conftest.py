"""Parsers in forks of this process instead of new ones: they start fast, and know what a test has replaced."""

import os
import subprocess
import sys
import tempfile
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
    sys.stdout.flush()
    child = os.fork()
    if not child:
        code = 1
        try:
            for number, file in enumerate(files):
                os.dup2(file.fileno(), number)
            sys.argv = ["-c", *command[3:]]
            sys.stdin, sys.stdout, sys.stderr = (os.fdopen(k, mode) for k, mode in enumerate("rww"))
            exec(command[2], {})
            code = 0
        except SystemExit as leaving:
            sys.stderr.write(str(leaving.code))
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    texts = [file.seek(0) or file.read() for file in files[1:]]
    for file in files:
        file.close()
    return subprocess.CompletedProcess(command, code, *texts)
