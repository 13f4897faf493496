"""What all tests share: annotations checked at run time, one BLAS thread, seeded randomness, and real recordings."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import hypothesis
import jaxtyping
import numpy as np
import pytest
import threadpoolctl

import annotation_check

annotation_check.install()

# No deadline: the first call of a kernel compiles it. On CI the examples are the same in every run.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_collection_finish() -> None:
    """What JAX compiles is kept: tests make the same functions of equal mechanisms many times, in two processes.

    JAX asks for its cache once, when it compiles for the first time.
    """
    if "jax" in sys.modules:
        from poinsot.models.maximal import keep_compiled

        keep_compiled()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Annotations are checked in the first calls of every function in each test."""
    annotation_check.next_test()


@pytest.fixture(scope="session", autouse=True)
def one_blas_thread() -> Iterator[None]:
    """Matrices are small here: BLAS threads only slow them down, more so beside pytest's own workers."""
    with threadpoolctl.threadpool_limits(limits=1, user_api="blas"):
        yield


@pytest.fixture(scope="session", autouse=True)
def json_outputs_match_their_schemas() -> Iterator[None]:
    """Whatever result a test has poinsot write as JSON, it is checked against the schema that it names."""
    from poinsot.io import results
    from poinsot.schemas import NAMES
    from references.json_schema import assert_matches_its_schema

    unchecked = results.to_text

    def to_text(content: Mapping[str, Any]) -> str:
        text = unchecked(content)
        if content.get("schema") in {f"poinsot.{name}/1" for name in NAMES}:
            assert_matches_its_schema(json.loads(text))
        return text

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "to_text", to_text)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_progress_in_pipes() -> Iterator[None]:
    """Standard error of a test has what a quick run says; lines of progress depend on the machine."""
    from poinsot.cli import shell

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shell, "SILENT_S", np.inf)
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, the same in every run."""
    return np.random.default_rng(20240229)


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """`shared_data("emps")` is the folder of a real recording; without it the test is skipped, which says so."""
    recordings = Path(__file__).resolve().parents[2] / "shared" / "data"

    def folder(name: str) -> Path:
        if not (recordings / name).is_dir():
            pytest.skip(f"needs the recordings in ../shared/data/{name}")
        return recordings / name

    return folder


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Annotations unchecked: for tests of what poinsot itself says to arguments of a wrong shape or type."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def poinsot(capsys):
    """Runs the command in this process: (exit code, standard output, standard error)."""

    from poinsot import cli

    def poinsot(*arguments) -> tuple[int, str, str]:
        code = cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return poinsot
