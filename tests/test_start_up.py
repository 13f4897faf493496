"""Start-up: a verb imports what it uses. Times depend on the machine, modules do not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

SCIPY = {
    f"scipy.{part}" for part in ("interpolate", "io", "ndimage", "optimize", "signal", "spatial", "stats")
}
OPTIONAL = {"casadi", "clarabel", "distributed", "jax", "mcap", "mujoco", "rosbags", "viser"}
PAGES = {"jinja2", "plotly.graph_objects"}  # a page needs only the bundle of Plotly
HEAVY = (
    {"jaxtyping", "numba", "numpy", "pinocchio", "polars", "pydantic", "rich", "scipy"}
    | SCIPY
    | OPTIONAL
    | PAGES
)
"""Libraries that take 20 ms of processor time or more to import; those of SciPy beside what Numba needs of it."""

ROBOT = {"numpy", "pinocchio", "pydantic"}
KERNELS = {"numba", "scipy"}  # Numba imports scipy.linalg
ARM = "examples/arm"
ALLOWED = {
    ("--help",): {"pydantic"},  # by Typer, for options
    ("--version",): {"pydantic"},
    ("inspect", f"{ARM}/job.toml"): {*ROBOT, *KERNELS, "polars"},
    ("identify", f"{ARM}/job.toml", "--out", "OUT"): {*ROBOT, *KERNELS, "polars", "jinja2"},
    ("show", "RESULT"): {"numpy", "pydantic"},
    ("open", "RESULT"): {"pydantic"},
    ("predict", "RESULT/result.json", f"{ARM}/validation.csv"): {*ROBOT, *KERNELS, "polars"},
    ("repair", f"{ARM}/cad.urdf"): {*ROBOT, "scipy", "scipy.spatial"},  # rotations
}
"""Arguments of the command -> heavy libraries that it may import."""


def modules_after(*arguments):
    """Modules that the command has imported, the threads of BLAS that it allows, and its exit code."""
    code = (
        "import os, sys\n"
        "from poinsot.cli import main\n"
        "code = main()\n"
        "print('end', code, os.environ.get('OPENBLAS_NUM_THREADS'), *sys.modules)"
    )
    plain = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    run = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True, text=True, check=True, env=plain | {"BROWSER": "true"}, cwd=ROOT,
    )  # fmt: skip
    _, exit_code, threads, *modules = run.stdout.splitlines()[-1].split()
    return set(modules), threads, int(exit_code)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """The folder of a result of `identify`."""
    folder = tmp_path_factory.mktemp("result")
    assert modules_after("identify", f"{ARM}/job.toml", "--out", folder)[2] == 0
    return folder


@pytest.mark.parametrize("arguments", ALLOWED, ids=lambda arguments: arguments[0])
def test_a_verb_imports_only_the_heavy_libraries_that_it_uses(arguments, result, tmp_path):
    places = {"RESULT": str(result), "OUT": str(tmp_path)}
    full = [
        places.get(head, head) + slash + tail for head, slash, tail in (a.partition("/") for a in arguments)
    ]
    modules, _, exit_code = modules_after(*full)
    assert exit_code == 0
    assert modules & HEAVY <= ALLOWED[arguments]


def test_the_command_allows_one_thread_of_blas():
    assert modules_after("--version")[1] == "1"


def test_what_is_set_for_blas_is_unchanged():
    code = "import os; from poinsot.cli import main; main(); print(os.environ['OPENBLAS_NUM_THREADS'])"
    run = subprocess.run(
        [sys.executable, "-c", code, "--version"],
        capture_output=True, text=True, check=True, env=os.environ | {"OPENBLAS_NUM_THREADS": "3"},
    )  # fmt: skip
    assert run.stdout.split()[-1] == "3"
