"""Start-up: a verb imports what it uses. Times depend on the machine, modules do not."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

SLOW = {
    "scipy",  # 0.15 s of processor time, and 0.5 s with scipy.stats
    "numba",  # 0.3 s with the first kernel; kernels that are kept need it no more
    "jaxtyping",
    "plotly.graph_objects",  # a page needs plotly's bundle only
    "jax",
    "casadi",
    "mujoco",
    "mcap",
    "rosbags",
}
NUMERICAL = {"numpy", "scipy", "numba", "pinocchio", "polars", "pydantic", "jinja2"}


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
        capture_output=True, text=True, check=True, env=plain, cwd=ROOT,
    )  # fmt: skip
    _, exit_code, threads, *modules = run.stdout.splitlines()[-1].split()
    return set(modules), threads, int(exit_code)


def test_help_imports_nothing_numerical():
    modules, _, exit_code = modules_after("--help")
    assert exit_code == 0
    assert not modules & NUMERICAL


def test_identifying_an_arm_and_writing_its_page_imports_nothing_slow(tmp_path):
    modules_after("identify", "examples/arm/job.toml")  # keeps kernels
    modules, threads, exit_code = modules_after("identify", "examples/arm/job.toml", "--out", tmp_path)
    assert exit_code == 0
    assert list(tmp_path.glob("*.html"))
    assert "numpy" in modules  # the list is that of the process that identified
    assert not modules & SLOW
    assert threads == "1"


def test_what_is_set_for_blas_is_kept():
    code = "import os; from poinsot.cli import main; main(); print(os.environ['OPENBLAS_NUM_THREADS'])"
    run = subprocess.run(
        [sys.executable, "-c", code, "--version"],
        capture_output=True, text=True, check=True, env=os.environ | {"OPENBLAS_NUM_THREADS": "3"},
    )  # fmt: skip
    assert run.stdout.split()[-1] == "3"
