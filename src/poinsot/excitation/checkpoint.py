"""Checkpoints: the state of a search in a file, from which a later run resumes exactly.

The file also has the inputs of the search. A run with other inputs is refused; the error names the first that differs.
"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from os.path import isfile
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import InvalidMethod, UnreadableFile
from ..io.npz import DAMAGED
from ..io.results import plain
from ..io.writing import atomic_path
from .design import OptimalExcitation
from .problem import ExcitationProblem
from .search import SearchState

FORMAT = "poinsot.excitation-search/1"
LIMITS = ("lower", "upper", "velocity", "acceleration", "torque")
OF_PROBLEM = ("duration_s", "rate_hz", "clearances", "torque_std", "start")
OF_METHOD = ("criterion", "seed", "information_weight", "legs")
ARRAYS = ("coefficients", "times", "multipliers", "best")


def write_checkpoint(
    path: str | Path, state: SearchState, problem: ExcitationProblem, method: OptimalExcitation
) -> None:
    """Write the state of a search, completely or not at all."""
    numbers = {field.name: getattr(state, field.name) for field in fields(state) if field.name not in ARRAYS}
    arrays = {name: getattr(state, name) for name in ARRAYS if getattr(state, name) is not None}
    # json keeps every digit, and infinity, which the strict JSON of results does not allow
    text = json.dumps({"format": FORMAT, "state": numbers, "job": _job(problem, method)})
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(file, text=np.array(text), **arrays)


def read_checkpoint(path: str | Path, problem: ExcitationProblem, method: OptimalExcitation) -> SearchState:
    """The state in which a search for this problem by this method stopped. A later run may have more starts."""
    path = Path(path)
    if not isfile(path):
        raise UnreadableFile(f"there is no checkpoint {path} to resume from")
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            content = json.loads(str(file["text"]))
            arrays = {name: file[name] for name in ARRAYS if name in file}
        if content["format"] != FORMAT:
            raise UnreadableFile(f"{path} is a checkpoint of another version of poinsot; start anew")
        state = SearchState(**content["state"], **arrays)
    except DAMAGED:
        raise UnreadableFile(f"{path} is not a checkpoint of a search for a motion") from None
    for key, wanted in _job(problem, method).items():
        if content["job"].get(key) != wanted:
            raise InvalidMethod(
                f"{path} belongs to another search: {key} is {_short(content['job'].get(key))} there and "
                f"{_short(wanted)} here; use the same, or start anew"
            )
    # a search that was done continues if there are more starts now
    return replace(state, done=state.done and state.start + 1 >= method.starts)


def _job(problem: ExcitationProblem, method: OptimalExcitation) -> dict[str, Any]:
    """All that a search depends on, as plain values."""
    robot = {"robot": problem.robot.name, "joints": problem.robot.joints}
    other = {"basis": repr(method.basis), "parameters": problem.base.names, "model": problem.theta}
    own = {
        name: getattr(owner, name)
        for owner, names in ((problem, OF_PROBLEM), (method, OF_METHOD))
        for name in names
    }
    limits = {name: getattr(problem.limits, name) for name in LIMITS}
    return dict(plain({**robot, **own, **limits, **other, "watched": problem.collisions.pairs}))


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
