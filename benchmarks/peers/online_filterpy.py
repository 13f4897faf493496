"""The peer of `online.py`: the extended filter of Foster et al. (2024) written with filterpy, Pinocchio and NumPy.

What one would write with these: Pinocchio's regressor of which the open body's columns are taken, its inverse dynamics
with that body's inertia zeroed and the feet's wrenches put in, the log-Cholesky chart on 4 x 4 matrices, and filterpy's
filter in Joseph's form. The drift is bounded as in poinsot, so that both are the same filter.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from filterpy.kalman import ExtendedKalmanFilter


def _moments(J: np.ndarray) -> np.ndarray:
    """(..., 10) pi of pseudo-inertias (..., 4, 4)."""
    return np.reshape(J, (*J.shape[:-2], 16)) @ _TEN


_TEN = np.zeros((16, 10))
"""J.ravel() @ _TEN = pi: m, h, then tr(Sigma) 1 - Sigma."""
_TEN[15, 0] = _TEN[3, 1] = _TEN[7, 2] = _TEN[11, 3] = 1
_TEN[[5, 10], 4] = _TEN[[0, 10], 6] = _TEN[[0, 5], 9] = 1
_TEN[1, 5] = _TEN[2, 7] = _TEN[6, 8] = -1

_ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))


def _factor(theta: np.ndarray) -> np.ndarray:
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = theta
    e1, e2, e3 = np.exp([d1, d2, d3])
    return np.exp(alpha) * np.array([[e1, s12, s13, t1], [0, e2, s23, t2], [0, 0, e3, t3], [0, 0, 0, 1]])


def inertial(theta: np.ndarray) -> np.ndarray:
    U = _factor(theta)
    return _moments(U @ U.T)


def jacobian(theta: np.ndarray) -> np.ndarray:
    U = _factor(theta)
    dU = np.zeros((10, 4, 4))
    dU[0] = U
    for k, (r, c) in enumerate(_ENTRIES, start=1):
        dU[k, r, c] = U[r, c] if r == c else U[3, 3]
    half = dU @ U.T
    return _moments(half + half.transpose(0, 2, 1)).T


class Peer:
    """One open body of a robot.

    Args:
        model: Pinocchio's. joint: that carries the open body. feet: joints that wrenches act on.
        x, P: (10,), (10, 10) of the first belief. noise: standard deviation of an effort.
        Q: covariance that a tick adds.
        decay: factor by which a tick reduces deviations.
    """

    def __init__(self, model, joint, feet, x, P, noise, Q, decay):
        self.model, self.joint, self.feet = model, joint, feet
        self.data = model.createData()
        self.nominal = model.copy()
        self.nominal.inertias[joint] = pin.Inertia.Zero()
        self.nominal_data = self.nominal.createData()
        self.columns = slice(10 * (joint - 1), 10 * joint)
        self.forces = pin.StdVec_Force()
        self.forces.extend([pin.Force.Zero()] * model.njoints)
        self.filter = ExtendedKalmanFilter(10, model.nv)
        self.filter.x, self.filter.P = x.copy(), P.copy()
        self.filter.R, self.filter.Q, self.filter.F = noise**2 * np.eye(model.nv), Q, decay * np.eye(10)
        self.filter.predict_x = lambda u=0: None  # F concerns only the covariance

    def step(self, q, v, a, tau, wrenches):
        for joint, wrench in zip(self.feet, wrenches, strict=True):
            self.forces[joint] = pin.Force(wrench)
        Y = pin.computeJointTorqueRegressor(self.model, self.data, q, v, a)[:, self.columns]
        nominal = pin.rnea(self.nominal, self.nominal_data, q, v, a, self.forces)
        self.filter.predict()
        self.filter.update(tau - nominal, lambda x: Y @ jacobian(x), lambda x: Y @ inertial(x))
