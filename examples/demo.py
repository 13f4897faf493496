"""The main job on an embedded example: simulate an arm, record it badly, identify it, write the page.

Run it with `make demo`. The truth is known here, so the estimate can be held against it.
"""

import shutil
import sys
from pathlib import Path

import numpy as np

import poinsot
from poinsot.io import atomic_path
from poinsot.simulation import Sensors, fourier_motion, model_parameters, simulate_recording

HERE = Path(__file__).parent
FRICTION = {"fv1": 3.0, "fc1": 2.0, "fv2": 2.5, "fc2": 2.4, "off2": 0.3, "fv3": 1.2, "fc3": 1.1}
ROTORS = {"ia1": 0.12, "ia2": 0.15, "ia3": 0.06}


def record(robot, theta, path: Path, rng: np.random.Generator) -> None:
    """Ten seconds at 1 kHz: an encoder of 2^14 steps a turn, torques with 0.3 N m of noise."""
    motion = fourier_motion(3, 10.0, 1000.0, rng, amplitude=0.8)
    sensors = Sensors(torque_std=0.3, position_step=2 * np.pi / 2**14)
    recording = simulate_recording(robot, theta, motion, sensors, rng)
    q, tau = np.degrees(recording.stack("position")), recording.stack("torque")
    with atomic_path(path) as temporary:
        np.savetxt(
            temporary, np.hstack([q, tau]), "%.6g", ",", header="q1,q2,q3,tau1,tau2,tau3", comments=""
        )


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("arm.urdf", "job.toml"):
        shutil.copyfile(HERE / "arm" / name, folder / name)
    robot = poinsot.load_robot(folder / "arm.urdf", drive=poinsot.Drive(rotor_inertia=True))
    theta = model_parameters(robot, **FRICTION, **ROTORS)
    rng = np.random.default_rng(7)
    for name in ("identification.csv", "validation.csv"):
        record(robot, theta, folder / name, rng)

    estimate = poinsot.identify(poinsot.Project.load(folder / "job.toml"))
    page = poinsot.write_report(estimate, folder / "report.html")

    truth = estimate.problem.base.map @ theta
    print(f"{'parameter':<10}{'truth':>10}{'estimate':>11}{'+- std':>9}  unit")
    for name, true, value, std, unit in zip(
        estimate.names, truth, estimate.values, estimate.std, estimate.units, strict=True
    ):
        print(f"{name:<10}{true:>10.4f}{value:>11.4f}{std:>9.4f}  {unit}")
    print(
        f"\ntorques explained to {estimate.fit.relative_error_percent:.2f} %, on a motion it has not seen to "
        f"{estimate.validation[0].relative_error_percent:.2f} %"
    )
    print(f"the same from the command line: poinsot identify {folder / 'job.toml'}")
    print(f"the page: {page}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "poinsot-demo"))
