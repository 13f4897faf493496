"""Draw the pictures of the documentation into a folder; those whose sources have not changed stay.

python docs/pictures/build.py              # all, into build/pictures
python docs/pictures/build.py arm signals  # these groups, whether changed or not

A group is a file of this folder. It runs in a process of its own, with what the package computes when it runs.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDER = ROOT / "build" / "pictures"
SOURCES = ("src", "reproductions/src", "examples")
ENDINGS = (".py", ".csv", ".parquet", ".toml", ".urdf")


def groups() -> list[str]:
    """Names of the files that draw pictures."""
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in ("build", "drawing"))


def build() -> list[Path]:
    """Draw what is missing or older than its sources; paths of all pictures, and of pages that they lead to."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    recordings = ROOT.parent / "shared" / "data"
    common = _digest(
        *(p for name in SOURCES for p in sorted((ROOT / name).rglob("*")) if p.suffix in ENDINGS),
        ROOT / "pyproject.toml",
        ROOT / "constraints.txt",
        HERE / "drawing.py",
        salt=f"recordings: {recordings.exists()}",
    )
    keys = {group: _digest(HERE / f"{group}.py", salt=common) for group in groups()}
    stale = [group for group, key in keys.items() if _drawn(group)[:1] != [key]]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for group, files in zip(stale, pool.map(_run, stale), strict=True):
            (FOLDER / f"{group}.txt").write_text("\n".join([keys[group], *files]))
    return [FOLDER / name for group in keys for name in _drawn(group)[1:]]


def _drawn(group: str) -> list[str]:
    """The key under which a group was drawn, and the names of its files; empty if one is missing."""
    listed = FOLDER / f"{group}.txt"
    lines = listed.read_text().splitlines() if listed.exists() else []
    return lines if all((FOLDER / name).exists() for name in lines[1:]) else []


def _run(group: str) -> list[str]:
    """Draw a group in a process of its own; names of its files."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    run = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), group],
        env=os.environ | threads,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if run.returncode:
        raise RuntimeError(f"docs/pictures/{group}.py does not run:\n{run.stderr}")
    return run.stdout.split()


def _draw(group: str) -> list[str]:
    """Draw a group here; names of its files."""
    sys.path.insert(0, str(HERE))
    from drawing import FILES, PICTURES, save

    spec = importlib.util.spec_from_file_location(group, HERE / f"{group}.py")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    for name, draw in PICTURES.items():
        save(draw(), FOLDER / f"{name}.svg")
    for name, write in FILES.items():
        write(FOLDER / name)
    return [f"{name}.svg" for name in PICTURES] + list(FILES)


def _digest(*paths: Path, salt: str = "") -> str:
    total = hashlib.sha256(salt.encode())
    for path in paths:
        total.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    if sys.argv[1:]:
        sys.stdout.write("\n".join(name for group in sys.argv[1:] for name in _draw(group)))
    else:
        build()
