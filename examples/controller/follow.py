"""Drive the simulated arm with its identified model: C code of `poinsot export` in a loop of 1 kHz.

poinsot identify examples/controller/job.toml --out arm
python examples/controller/follow.py arm      # identifies first if no result is given

The arm follows a new motion by PD control with feedforward, tau = model(q_d, v_d, a_d) + K (q_d - q) + D (v_d - v).
The feedforward is `arm_inverse_dynamics_with` of the exported code: with the masses of the description, which are 20 to
50 % off, with the identified parameters, and with the true ones.
"""

import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import poinsot
from poinsot_reproductions.controller import arm
from poinsot_reproductions.controller.exported import export_dynamics
from poinsot_reproductions.controller.plant import Loop, Plant, drawn_motion

HERE = Path(__file__).parent


def main(result=None):
    with TemporaryDirectory() as folder:
        if result is None:
            result = Path(folder, "result.json")
            poinsot.write_estimate(poinsot.identify(HERE / "job.toml"), result)
        dynamics = export_dynamics(result, Path(folder), print)
        robot, true = arm.loaded(HERE / arm.DESCRIPTION), arm.column("mass")
        models = {
            "description": arm.known_parameters(robot, arm.described_masses()),
            "identified": dynamics.parameters,
            "truth": arm.known_parameters(robot, true),
        }
        plant, motion = Plant(), drawn_motion(np.random.default_rng(2), 10.0)
        for name, parameters in models.items():
            model = partial(dynamics.torque, parameters)
            trace = Loop(plant, motion, model, np.random.default_rng(3)).run()
            print(f"{name:<12} rms tracking error {1e3 * trace.rms():.3f} mrad")


if __name__ == "__main__":
    main(*(Path(path, "result.json") for path in sys.argv[1:2]))
