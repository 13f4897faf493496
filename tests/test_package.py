"""What the package promises as a whole: a light import, extras that say what to install, and a tidy repository."""

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from poinsot.exceptions import MissingExtra

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]

HEAVY = {"casadi", "cvxpy", "jax", "mujoco", "numba", "pinocchio", "plotly", "polars", "pydantic", "scipy"}


def test_import_is_light():
    code = f"import sys, poinsot; print(*sorted({HEAVY} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def test_missing_extra_says_what_to_install():
    error = MissingExtra("sdp", "cvxpy")
    assert isinstance(error, ImportError)
    assert "cvxpy" in str(error)
    assert re.search(r"pip install '?poinsot\[sdp\]", str(error))


def test_every_extra_that_is_asked_for_exists():
    asked = {
        extra
        for path in (ROOT / "src").rglob("*.py")
        for extra in re.findall(r"MissingExtra\(\s*\"(\w+)\"|poinsot\[(\w+)\]", path.read_text())
        for extra in extra
        if extra
    }
    assert asked <= set(EXTRAS)


def test_all_is_every_extra():
    (everything,) = map(Requirement, EXTRAS["all"])
    assert everything.extras == set(EXTRAS) - {"all"}


def requirements():
    """Name -> whether it is installed, of all that poinsot[all] brings, directly or not."""
    found = {}
    waiting = [Requirement(line) for extra in EXTRAS.values() for line in [*PROJECT["dependencies"], *extra]]
    while waiting:
        requirement = waiting.pop()
        for extra in {"", *requirement.extras}:
            key = canonicalize_name(requirement.name), extra
            if key in found or key[0] == "poinsot":
                continue
            try:
                lines = importlib.metadata.requires(key[0]) or []
                found[key] = True
            except importlib.metadata.PackageNotFoundError:
                lines = []
                found[key] = False
            needed = map(Requirement, lines)
            waiting += [r for r in needed if r.marker is None or r.marker.evaluate({"extra": extra})]
    return {name: installed for (name, _), installed in found.items()}


def test_constraints_cover_every_installed_dependency():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[^\s;@]+", pin) for pin in pins), "name==version, and nothing else"
    pinned = {pin.split("==")[0] for pin in pins}
    assert {name for name, installed in requirements().items() if installed} <= pinned


# Brackets keep the patterns from finding themselves here.
UNWANTED = {
    "the host of a package registry": r"py[p]i\.org|python[h]osted\.org|anaconda\.[o]rg|npmjs\.[c]om|index-[u]rl",
    "a download address": r"https?://\S+\.([w]hl|tar\.gz|zip)\b",
    "the marker of an unfinished merge": r"(?m)^(?:<{7}|>{7}) ",
    "an absolute path of a machine": r"(?<![\w.~$})/])/([w]ork|[r]oot|[h]ome|[U]sers)/\w",
}


def repository_files():
    """Everything that git tracks or would track."""
    git = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    run = subprocess.run(git, cwd=ROOT, capture_output=True, text=True)
    if run.returncode:
        pytest.skip("needs a git checkout")
    return [path for name in run.stdout.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.mark.parametrize("what", UNWANTED)
def test_no_file_names(what):
    unwanted = re.compile(UNWANTED[what].encode())
    assert {str(path) for path in repository_files() if unwanted.search(path.read_bytes())} == set()


def test_no_file_is_large():
    assert {str(path) for path in repository_files() if path.stat().st_size > 1_000_000} == set()
