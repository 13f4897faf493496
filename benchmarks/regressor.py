"""The torque regressor of a recording: poinsot's batch kernel beside a loop over Pinocchio's.

    python benchmarks/regressor.py [--json PATH] [--rounds N] [--save-baseline]

poinsot      `regressor_entries` in stretches of 500 samples into one buffer, as identification streams a recording
             (the blocks that are not zero by structure), and `dense_regressor`, all of it in new memory each time
Pinocchio    `computeJointTorqueRegressor` in a Python loop, the result left in its own buffer

States are random, 4000 samples. TX40 (6 joints), Panda (9 with its fingers), Solo12 (12 joints and a floating base).
"""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pinocchio as pin
import support  # noqa: F401  BLAS on one thread, before NumPy
from support import needs
from support.report import Agreement, Ratio, deliver, options
from support.timing import Program, side_by_side

from poinsot.models.robot.articulated import Articulated, load_robot
from poinsot.models.robot.torque_regressor import dense_regressor, regressor_entries

SAMPLES, STRETCH = 4000, 500
CATALOGUE = "cmeel.prefix/share/example-robot-data/robots"


def main() -> None:
    arguments = options(__doc__)
    programs, agreements = {}, []
    robots = _robots()
    for name, robot in robots.items():
        states = robot.random_states(SAMPLES, np.random.default_rng(0))
        agreements.append(Agreement(f"{name}, entries [largest of its sample]", _apart(robot, states), 1e-12))
        programs |= _programs(name, robot, states)
    seconds, _ = side_by_side(programs, arguments.rounds or 5)
    ratios = [
        Ratio(
            f"Pinocchio / poinsot, {name}{kind}",
            seconds[f"{name}, Pinocchio"] / seconds[f"{name}, poinsot{kind}"],
            bound,
        )
        for name in robots
        for kind, bound in (("", 3), (", dense", None))
    ]
    notes = [
        f"{program}: {1e6 * duration.processor / SAMPLES:.2f} us a sample"
        for program, duration in seconds.items()
    ]
    deliver("regressor", arguments, seconds, ratios, agreements, notes)


def _robots() -> dict[str, Articulated]:
    try:
        catalogue = Path(str(metadata.distribution("example-robot-data").locate_file(CATALOGUE)))
    except metadata.PackageNotFoundError:
        sys.exit(
            "Panda and Solo12 are read from the package example-robot-data: pip install 'poinsot[robots]'"
        )
    robots = {
        "Panda": load_robot(catalogue / "panda_description/urdf/panda.urdf"),
        "Solo12, floating": load_robot(catalogue / "solo_description/robots/solo12.urdf", floating_base=True),
    }
    tx40 = needs.RECORDINGS / "staubli_tx40/tx40.urdf"
    return ({"TX40": load_robot(tx40)} if tx40.exists() else {}) | robots


def _programs(name: str, robot: Articulated, states: tuple[np.ndarray, ...]) -> dict[str, Program]:
    tree, model = robot.tree, robot.model
    buffer = np.empty((STRETCH, 10 * len(tree.pairs[0])))
    data = model.createData()
    stretches = [tuple(x[t : t + STRETCH] for x in states) for t in range(0, SAMPLES, STRETCH)]
    samples = list(zip(*states, strict=True))

    def entries() -> None:
        for stretch in stretches:
            regressor_entries(tree, *stretch, out=buffer)

    def dense() -> None:
        for stretch in stretches:
            dense_regressor(tree, *stretch)

    def pinocchio() -> None:
        for q, v, a in samples:
            pin.computeJointTorqueRegressor(model, data, q, v, a)

    return {
        f"{name}, poinsot": Program(entries, turns=20),
        f"{name}, poinsot, dense": Program(dense, turns=20),
        f"{name}, Pinocchio": Program(pinocchio, turns=3),
    }


def _apart(robot: Articulated, states: tuple[np.ndarray, ...]) -> float:
    """Largest difference to Pinocchio's over the first samples, relative to each sample's largest entry."""
    dofs, bodies = robot.tree.pairs
    data = robot.model.createData()
    apart = 0.0
    for q, v, a in zip(*(x[:100] for x in states), strict=True):
        expected = pin.computeJointTorqueRegressor(robot.model, data, q, v, a).reshape(robot.model.nv, -1, 10)
        ours = regressor_entries(robot.tree, q[None], v[None], a[None]).reshape(-1, 10)
        apart = max(apart, np.abs(ours - expected[dofs, bodies]).max() / np.abs(expected).max())
    return float(apart)


if __name__ == "__main__":
    main()
