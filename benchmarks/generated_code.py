"""Inverse dynamics in C: the code that `poinsot export` writes beside Pinocchio's `rnea`, called from C++.

    python benchmarks/generated_code.py [--json PATH] [--rounds N] [--save-baseline]

poinsot      `NAME_inverse_dynamics` of the generated C99, gcc -O2: bodies, rotors, the coupled wrist and friction
Pinocchio    `pinocchio::rnea` in a C++ loop, g++ -O2, with the wheel's headers and library: bodies alone

Both loops are compiled, and are called once for all samples. The C++ takes two minutes to compile. It needs Eigen's
headers (`pip install cmeel-eigen`) and the robot in ../shared/data.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import numpy as np
import pinocchio as pin
import support  # noqa: F401  BLAS on one thread, before NumPy
from support import needs
from support.report import Agreement, Ratio, deliver, options
from support.timing import Program, side_by_side

import poinsot
from poinsot.export.c_source import CodeOrigin, c_files
from poinsot.export.routines import Routines
from poinsot.regression.dynamics import IdentifiedDynamics

SAMPLES = 20_000

C_LOOP = """
#include "arm.h"
void loop(long samples, const double *q, const double *v, const double *a, double *tau)
{
    for (long k = 0; k < samples; k++)
        arm_inverse_dynamics(q + 6 * k, v + 6 * k, a + 6 * k, tau + 6 * k);
}
"""
CPP_LOOP = """
#include <pinocchio/serialization.hpp>
#include <pinocchio/multibody.hpp>
#include <pinocchio/algorithm/rnea.hpp>
extern "C" void loop(const char *file, long samples, const double *q, const double *v, const double *a, double *tau)
{
    static pinocchio::Model model;
    if (model.njoints == 1) model.loadFromXML(file, "model");
    static pinocchio::Data data(model);
    Eigen::VectorXd x(6), y(6), z(6);
    for (long k = 0; k < samples; k++) {
        x = Eigen::Map<const Eigen::VectorXd>(q + 6 * k, 6);
        y = Eigen::Map<const Eigen::VectorXd>(v + 6 * k, 6);
        z = Eigen::Map<const Eigen::VectorXd>(a + 6 * k, 6);
        Eigen::Map<Eigen::VectorXd>(tau + 6 * k, 6) = pinocchio::rnea(model, data, x, y, z);
    }
}
"""
LIMITS = "-DBOOST_MPL_LIMIT_LIST_SIZE=30 -DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS -DBOOST_FUSION_INVOKE_MAX_ARITY=10"
"""Pinocchio's variant of joints has more alternatives than Boost's defaults allow."""


def main() -> None:
    arguments = options(__doc__)
    path = needs.RECORDINGS / "staubli_tx40/tx40.urdf"
    if not path.exists():
        sys.exit("needs ../shared/data/staubli_tx40/tx40.urdf")
    drive = poinsot.Drive(
        reduction=(32, 32, 45, -48, 45, 32),
        couplings=(poinsot.Coupling("joint_6", "joint_5", 32),),
        side="motor",
        rotor_inertia=True,
    )
    robot = poinsot.load_robot(path, drive=drive)
    theta = np.zeros(len(robot.parameters))
    theta[: robot.inertials.size] = robot.inertials.ravel()
    full = np.where(theta == 0, 0.1, theta)
    q, v, a = np.random.default_rng(0).uniform(-2, 2, (3, SAMPLES, 6))
    with tempfile.TemporaryDirectory() as folder:
        ours, alone = (
            _generated(Path(folder), name, robot, values)
            for name, values in (("all", full), ("bodies", theta))
        )
        peer = _pinocchio(Path(folder), robot)
        found = [np.empty((SAMPLES, 6)) for _ in range(3)]
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (q, v, a)]

        def program(loop: ctypes.CDLL, out: np.ndarray, *before: bytes) -> Program:
            to = out.ctypes.data_as(ctypes.c_void_p)
            return Program(lambda: loop.loop(*before, ctypes.c_long(SAMPLES), *pointers, to), turns=20)

        programs = {
            "poinsot, friction and rotors too": program(ours, found[0]),
            "poinsot": program(alone, found[1]),
            "Pinocchio in C++": program(peer, found[2], str(Path(folder) / "model.xml").encode()),
        }
        seconds, _ = side_by_side(programs, arguments.rounds or 5)
    apart = float(np.abs(found[1] - found[2]).max() / np.abs(found[2]).max())
    agreements = [Agreement("bodies alone [largest effort]", apart, 1e-12)]
    first, second, third = seconds.values()
    ratios = [
        Ratio("Pinocchio / poinsot with friction and rotors", third / first, 1 / 1.5),
        Ratio("Pinocchio / poinsot", third / second, None),
    ]
    notes = [f"{name}: {1e6 * each.processor / SAMPLES:.3f} us a call" for name, each in seconds.items()]
    deliver("generated_code", arguments, seconds, ratios, agreements, notes)


def _generated(folder: Path, name: str, robot, theta: np.ndarray) -> ctypes.CDLL:
    parameters = robot.parameters
    none = np.zeros((len(theta), len(theta)))
    dynamics = IdentifiedDynamics(robot, parameters, parameters.names, theta, none)
    folder = folder / name
    folder.mkdir()
    for file, text in c_files(Routines(dynamics), "arm", CodeOrigin("", "", "", "", "")).items():
        (folder / file).write_text(text)
    (folder / "loop.c").write_text(C_LOOP)
    _run(f"gcc -std=c99 -O2 -fPIC -shared loop.c arm.c -lm -o {name}.so", folder)
    return ctypes.CDLL(str(folder / f"{name}.so"))


def _pinocchio(folder: Path, robot) -> ctypes.CDLL:
    prefix = Path(pin.__file__).parents[4]
    try:
        eigen = Path(str(metadata.distribution("cmeel-eigen").locate_file("cmeel.prefix/include/eigen3")))
    except metadata.PackageNotFoundError:
        sys.exit("Eigen's headers are in the package cmeel-eigen: pip install cmeel-eigen")
    robot.model.saveToXML(str(folder / "model.xml"), "model")
    (folder / "loop.cpp").write_text(CPP_LOOP)
    boost = next((prefix / "lib").glob("libboost_serialization*.so*"))
    _run(
        f"g++ -std=c++17 -O2 -DNDEBUG {LIMITS} -fPIC -shared -I{prefix}/include -I{eigen} loop.cpp -L{prefix}/lib "
        f"-lpinocchio_default {boost} -Wl,-rpath,{prefix}/lib -o peer.so",
        folder,
    )
    return ctypes.CDLL(str(folder / "peer.so"))


def _run(command: str, folder: Path) -> None:
    done = subprocess.run(command.split(), cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command[:40]} ... failed: {done.stderr[-300:]}")


if __name__ == "__main__":
    main()
