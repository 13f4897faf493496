"""The TX40 job, as `examples/tx40.toml` states it, in Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import poinsot

JOINTS = [f"joint_{k}" for k in range(1, 7)]
RATE_HZ = 5000


def read(folder: Path) -> poinsot.Recording:
    columns = [f"Joint_{k}" for k in range(1, 7)]
    return poinsot.read_recording(
        [
            poinsot.Source(
                folder / file,
                {f"{quantity}.{joint}": (c, unit) for joint, c in zip(JOINTS, columns, strict=True)},
            )
            for file, quantity, unit in (
                ("pos_read_data.csv", "position", "rad"),
                ("curr_data.csv", "torque", "N m"),
            )
        ],
        rate_hz=RATE_HZ,
    )


def robot(folder: Path) -> poinsot.Articulated:
    drive = poinsot.Drive(
        reduction=[32, 32, 45, -48, 45, 32],
        couplings=(poinsot.Coupling("joint_6", "joint_5", 32),),
        side="motor",
        position_offset=[0, -np.pi / 2, np.pi / 2, 0, 0, 0],
        rotor_inertia=True,
    )
    return poinsot.load_robot(folder / "tx40.urdf", drive=drive)


def identify(
    folder: Path,
    urdf: Path | None = None,
    window_s: tuple[float, float] | None = (0.5, 7.3),
    decimation_order: int = 4,
) -> poinsot.Estimate:
    """From files to estimate: 50 Hz, decimation by 200, 61 base parameters by ordinary least squares.

    Args:
        urdf: folder of the description, where it is not that of the recording.
    """
    smoother = poinsot.ButterworthDecimation(
        cutoff_hz=50, decimate_hz=10, decimation_order=decimation_order, cut_edges=False, window_s=window_s
    )
    signals = smoother.apply(read(folder))
    return poinsot.LeastSquares().solve(poinsot.inverse_dynamics(robot(urdf or folder), signals))
