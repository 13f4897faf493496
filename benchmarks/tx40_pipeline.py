"""TX40, classical: from two CSV files and a URDF to 61 parameters with their statistics.

    python benchmarks/tx40_pipeline.py [--json PATH] [--rounds N] [--save-baseline]

poinsot            read, filter, regressor, decimate, least squares, honest standard deviations, fit, groupings
NumPy and SciPy    the same numbers by a script of 90 lines around a loop over Pinocchio's regressor
FIGAROH, example   its pipeline as its own TX40 example sets it up, with 26 times the rows
FIGAROH            its pipeline bent to the task of the others: 50 Hz, decimation by 200, 61 parameters, no validation

The peers are in `peers/tx40_numpy.py` and `peers/tx40_figaroh.py`, each with what it does.

All run in this process after a first run that is not counted. As processes, each is started anew: imports included,
Numba's cache and the files warm, and poinsot writes its page, which the others do not.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import numpy as np
from support import needs
from support.report import Agreement, Limit, Ratio, deliver, options
from support.timing import Program, poinsot_identify, process, side_by_side
from support.tx40 import identify

HERE = Path(__file__).parent
FIGAROH_NAMES = {"Ia": "ia", "fs": "fc"} | {f"I{axes}": axes for axes in ("xx", "xy", "xz", "yy", "yz", "zz")}
FIGAROH_COUPLING = {"Iam6": "iam6", "fvm6": "fvm6", "fsm6": "fcm6"}


def main() -> None:
    arguments = options(__doc__)
    folder = needs.recording("staubli_tx40")
    needs.package("figaroh")
    from peers import tx40_figaroh, tx40_numpy

    figaroh, example = tx40_figaroh.identify, partial(tx40_figaroh.identify, as_published=True)
    programs = {
        "poinsot": Program(lambda: identify(folder), turns=5),
        "NumPy and SciPy": Program(lambda: tx40_numpy.identify(folder)),
        "FIGAROH": Program(lambda: figaroh(folder)),
        "FIGAROH, example": Program(lambda: example(folder)),
    }
    rounds = arguments.rounds or 5
    warm, results = side_by_side(programs, rounds)
    cold, _ = side_by_side(_processes(folder), rounds)

    def times(peer: str, at_least: float | None = None) -> Ratio:
        return Ratio(f"{peer} / poinsot", warm[peer] / warm["poinsot"], at_least=at_least)

    ours = cold["poinsot identify, page, process"]
    ratios = [times("NumPy and SciPy", 2), times("FIGAROH, example", 20), times("FIGAROH")]
    ratios += [
        Ratio(f"{peer} / poinsot", seconds / ours) for peer, seconds in cold.items() if seconds is not ours
    ]
    deliver(
        "tx40_pipeline",
        arguments,
        warm | cold,
        ratios,
        [
            Agreement("61 parameters, NumPy and SciPy [std]", _from_numpy(results), 1e-6),
            # FIGAROH decimates by a filter of order 8 and pads the ends otherwise
            Agreement("61 parameters, FIGAROH, both order 8 [std]", _from_figaroh(results, folder), 0.5),
        ],
        limits=[Limit("poinsot identify, page, process", ours.processor, 4)],
    )


def _processes(folder: Path) -> dict[str, Program]:
    def cold(*command: str) -> Program:
        return Program(lambda: process(*command))

    job, peers = HERE.parent / "examples/tx40.toml", HERE / "peers"
    return {
        "poinsot identify, page, process": Program(lambda: poinsot_identify(job, folder)),
        "NumPy and SciPy, process": cold(str(peers / "tx40_numpy.py"), str(folder)),
        "FIGAROH, process": cold(str(peers / "tx40_figaroh.py"), str(folder)),
        "FIGAROH, example, process": cold(str(peers / "tx40_figaroh.py"), str(folder), "--as-published"),
    }


def _from_numpy(results: dict) -> float:
    """Largest difference of a parameter, in its standard deviations."""
    ours, peer = results["poinsot"], results["NumPy and SciPy"]
    values = dict(zip(peer["names"], peer["values"], strict=True))
    theirs = np.array([values[name.removesuffix("r")] for name in ours.names])
    return float(np.max(np.abs(theirs - ours.values) / ours.white_std))


def _from_figaroh(results: dict, folder: Path) -> float:
    """The same, where the peer groups its base parameters otherwise: ours are a linear map of its."""
    ours, peer = identify(folder, decimation_order=8), results["FIGAROH"]
    base = ours.problem.base
    K_peer = np.zeros((len(peer["values"]), base.map.shape[1]))
    columns = [base.parameters.names.index(_our_name(name)) for name in peer["standard_parameters"]]
    K_peer[:, columns] = peer["map"]
    change = base.map @ np.linalg.pinv(K_peer)
    if not np.allclose(change @ K_peer, base.map, atol=1e-6):
        sys.exit("FIGAROH's base parameters do not span poinsot's")
    return float(np.max(np.abs(change @ peer["values"] - ours.values) / ours.white_std))


def _our_name(name: str) -> str:
    """`Ixx_joint_3` is xx3."""
    if name in FIGAROH_COUPLING:
        return FIGAROH_COUPLING[name]
    symbol, _, joint = name.partition("_joint_")
    return FIGAROH_NAMES.get(symbol, symbol) + joint


if __name__ == "__main__":
    main()
