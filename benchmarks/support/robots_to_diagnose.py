"""The four robots of the benchmark of diagnosis, as scenes.

arm     the example: both simulated recordings of three joints, in degrees, without a clock
tx40    measured at the motors of a Stäubli TX40, 5 kHz, one recording, wrist coupling
ur10e   measured currents of a UR10e with its published gains, a clock with jitter, one recording and one held out
panda   simulated by Pinocchio with the description of example-robot-data: seven joints, two recordings
"""

from __future__ import annotations

import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from . import needs
from .scenes import Recorded, Scene, Truth, load_scene, simulated

ROOT = Path(__file__).parents[2]
CATALOGUE = Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"

UR10E = """
[robot]
path = "ur10e.urdf"

[drive]
gain = [14.87, 13.26, 11.13, 10.62, 11.03, 11.47]     # published [N m/A]

[friction]
law = "viscous-coulomb"
offset = true

[[recordings]]
name = "free"
path = "free.csv"
header = false
rows = [194, 4966]
time = { column = 0, unit = "s" }
position = { columns = [1, 2, 3, 4, 5, 6], unit = "rad" }
current = { columns = [13, 14, 15, 16, 17, 18], unit = "A" }

[[recordings]]
name = "point to point"
role = "validation"
path = "validation.csv"
header = false
rows = [699, 4200]
time = { column = 0, unit = "s" }
position = { columns = [1, 2, 3, 4, 5, 6], unit = "rad" }
current = { columns = [13, 14, 15, 16, 17, 18], unit = "A" }

[preprocessing]
method = "butterworth-decimation"
resample_hz = 100
cutoff_hz = 5
decimate_hz = 3

[method]
name = "least-squares"
weighting = "per-joint"
"""


def arm() -> Scene:
    folder = ROOT / "examples" / "arm"
    truth = Truth(
        viscous=np.array([3.0, 2.5, 1.2]),
        coulomb=np.array([2.0, 2.4, 1.1]),
        offset=np.array([0.0, 0.3, 0.0]),
        rotor=np.array([0.12, 0.15, 0.06]),
        encoder_step=2 * np.pi / 2**14,
    )
    joints = ("waist", "shoulder", "elbow")
    return load_scene("arm", (folder / "job.toml").read_text(), [folder], joints, (1, 2), truth)


def tx40() -> Scene:
    folder = needs.recording("staubli_tx40")
    truth = Truth(  # what the recording says, rounded
        viscous=np.array([8.0, 5.6, 2.0, 1.1, 1.8, 0.66]),
        coulomb=np.array([6.9, 7.9, 6.3, 2.4, 2.9, 0.3]),
        offset=np.array([0.24, 1.1, 0.1, -0.1, 0.1, 0.18]),
        rotor=np.array([0.38, 0.3, 0.09, 0.03, 0.04, 0.01]),
        encoder_step=1e-3,
    )
    job, joints = (ROOT / "examples" / "tx40.toml").read_text(), [f"joint_{k}" for k in range(1, 7)]
    return load_scene("tx40", job, [folder], joints, (1, 2), truth)


def ur10e() -> Scene:
    folder = needs.recording("ur10e")
    truth = Truth(
        viscous=np.array([28.0, 17.5, 12.0, 3.6, 2.5, 3.2]),
        coulomb=np.array([21.0, 20.0, 7.5, 2.8, 3.4, 2.7]),
        offset=np.array([-0.2, -1.0, 0.1, 0.0, 0.0, 0.0]),
        rotor=np.zeros(6),
        encoder_step=1e-4,
    )
    joints = ["shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"]
    return load_scene("ur10e", UR10E, [folder], [f"{joint}_joint" for joint in joints], (1, 2), truth)


def panda() -> Scene:
    urdf = (CATALOGUE / "panda_description" / "urdf" / "panda.urdf").read_text()
    truth = Truth(
        viscous=np.array([0.4, 0.6, 0.4, 0.5, 0.25, 0.2, 0.2]),
        coulomb=np.array([0.5, 0.6, 0.5, 0.6, 0.35, 0.3, 0.3]),
        offset=np.array([0.1, -0.2, 0.1, 0.2, -0.1, 0.05, 0.0]),
        rotor=np.zeros(7),
        encoder_step=2 * np.pi / 2**18,
    )
    content = {
        "robot": {"locked": {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}},
        "friction": {"law": "viscous-coulomb", "offset": True},
        "preprocessing": {"method": "butterworth-decimation", "cutoff_hz": 20, "decimate_hz": 10},
        "method": {"name": "least-squares", "weighting": "per-joint"},
    }
    # Ranges that the random motions fill: 70 % of the limits, at sines of 0.1 to 0.3 Hz.
    middle = np.array([0.0, 0.0, 0.0, -1.57, 0.0, 1.87, 0.0])
    half = 0.7 * np.array([2.0, 1.76, 2.0, 1.4, 2.0, 1.8, 2.0])
    clock = np.arange(0, 12, 1 / 250)
    hertz = np.array([0.25, 0.3, 0.27, 0.33, 0.36, 0.4, 0.45])
    shape = middle + half * np.sin(2 * np.pi * hertz * clock[:, None])
    recorded = tuple(
        Recorded({"name": role, "role": role, "rate_hz": 250.0}, shape, np.zeros_like(shape))
        for role in ("identification", "validation")
    )
    joints = tuple(f"panda_joint{k}" for k in range(1, 8))
    still = Scene("panda", content, recorded, urdf, joints, "rad", "torque", "N m", (1, 3), truth)
    return simulated(still, urdf, np.random.default_rng(11), random=True)


ROBOTS: Mapping[str, Callable[[], Scene]] = {"arm": arm, "tx40": tx40, "ur10e": ur10e, "panda": panda}
