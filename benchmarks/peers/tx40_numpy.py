"""The TX40 identification as one writes it without a package: NumPy, SciPy, and Pinocchio's regressor in a loop.

Run by itself: `python benchmarks/peers/tx40_numpy.py FOLDER`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import pinocchio as pin
from scipy import signal

RATE_HZ = 5000
FACTOR = 200
KEPT = slice(2500, 36500)  # 0.5 s to 7.3 s

INERTIAL = ("m", "mx", "my", "mz", "xx", "xy", "yy", "xz", "yz", "zz")
COLUMNS = [INERTIAL.index("zz")]
COLUMNS += [10 * i + k for i in range(1, 6) for k in (1, 2, 4, 5, 7, 8, 9)]
NAMES = [f"{INERTIAL[c % 10]}{c // 10 + 1}" for c in COLUMNS]
NAMES += ["ia3", "ia4", "ia5", "ia6", "iam6", "fvm6", "fcm6"]
NAMES += [f"{symbol}{j}" for symbol in ("fv", "fc", "off") for j in range(1, 7)]


def identify(folder: Path) -> dict:
    seconds = {}
    started = time.perf_counter()

    def stage(name: str) -> None:
        nonlocal started
        now = time.perf_counter()
        seconds[name] = now - started
        started = now

    p = np.loadtxt(folder / "pos_read_data.csv", delimiter=",", skiprows=1)
    c = np.loadtxt(folder / "curr_data.csv", delimiter=",", skiprows=1)
    stage("read")

    model = pin.buildModelFromUrdf(str(folder / "tx40.urdf"))
    data = model.createData()
    N = np.diag([32.0, 32, 45, -48, 45, 32])
    N[5, 4] = 32
    q = np.linalg.solve(N, p.T).T + np.array([0, -np.pi / 2, np.pi / 2, 0, 0, 0])
    tau = c @ N
    q = signal.sosfiltfilt(signal.butter(4, 50, fs=RATE_HZ, output="sos"), q, axis=0)
    v = np.gradient(q, 1 / RATE_HZ, axis=0)
    a = np.gradient(v, 1 / RATE_HZ, axis=0)
    q, v, a, tau = q[KEPT], v[KEPT], a[KEPT], tau[KEPT]
    stage("signals")

    W = np.zeros((len(q), 6, len(NAMES)))
    for k in range(len(q)):
        W[k, :, : len(COLUMNS)] = pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])[:, COLUMNS]
    at = NAMES.index
    for j in (2, 3, 4, 5):
        W[:, j, at(f"ia{j + 1}")] = a[:, j]
    for j, other in ((4, 5), (5, 4)):
        W[:, j, at("iam6")] = a[:, other]
        W[:, j, at("fvm6")] = v[:, other]
        W[:, j, at("fcm6")] = np.sign(v[:, 4] + v[:, 5])
    for j in range(6):
        W[:, j, at(f"fv{j + 1}")] = v[:, j]
        W[:, j, at(f"fc{j + 1}")] = np.sign(v[:, j])
        W[:, j, at(f"off{j + 1}")] = 1
    stage("regressor")

    sos = signal.cheby1(4, 0.05, 0.8 / FACTOR, output="sos")
    W = signal.sosfiltfilt(sos, W, axis=0, padlen=12)[FACTOR - 1 :: FACTOR].reshape(-1, len(NAMES))
    y = signal.sosfiltfilt(sos, tau, axis=0, padlen=12)[FACTOR - 1 :: FACTOR].ravel()
    stage("decimate")

    theta = np.linalg.lstsq(W, y)[0]
    e = y - W @ theta
    covariance = e @ e / (len(y) - len(theta)) * np.linalg.inv(W.T @ W)
    stage("solve")
    return {
        "names": NAMES,
        "values": theta.tolist(),
        "std": np.sqrt(np.diag(covariance)).tolist(),
        "rows": len(y),
        "relative_error_percent": float(100 * np.linalg.norm(e) / np.linalg.norm(y)),
        "seconds": seconds,
    }


if __name__ == "__main__":
    result = identify(Path(sys.argv[1]))
    print(json.dumps(result))
