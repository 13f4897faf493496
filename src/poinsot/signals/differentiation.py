"""Velocity and acceleration by random-walk smoothing, IRWSM 1 and IRWSM 2 (Brunot et al. 2017, Sect. 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import JointSamples
from ..exceptions import InvalidMethod
from .random_walk import GeneralizedRandomWalk, SmoothedStates, smooth


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Position and its time derivatives at the sample times.

    Args:
        q, v, a: (T, n) [unit of y], [unit/s], [unit/s^2].
        covariance: (T, n, 3, 3) of (q, v, a), defined in `differentiate`.
        noise_variance: (n,) sigma_e^2 of the measurement.
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    covariance: np.ndarray
    noise_variance: np.ndarray

    @property
    def std(self) -> np.ndarray:
        """(T, n, 3), of q, v and a."""
        return np.sqrt(np.diagonal(self.covariance, axis1=-2, axis2=-1))


def differentiate(y: JointSamples, rate_hz: float, *, order: int, nvr: float | np.ndarray) -> Derivatives:
    """Differentiate measured positions twice (Brunot et al. 2017, Sect. 4.1).

    order 2, IRWSM 1: the integrated random walk twice, from position to velocity and from velocity to acceleration. Its
    covariance is that of the measurement noise after both passes, computed from the response to an impulse in the
    middle of the record: the scatter between repetitions of one motion. It does not contain the larger values near the
    ends, nor the smoothing error of the motion, for which the walk of order 2, whose acceleration is white, has no
    bound. sigma_e^2 is the variance that the first pass rejects: Eq. 22 at a given NVR would count motion that is
    unlikely under the walk as noise.

    order 3, IRWSM 2: the walk of order 3 once. Its covariance is that of the state given all samples (Eqs. 21, 22), at
    every sample; it contains the ends and the smoothing error.

    The forward differences Delta x(k), Delta^2 x(k) of the model belong to t_k + dt/2 and t_k + dt. Here they are
    centred on the sample: v = (x_{k+1} - x_{k-1}) / (2 dt) and, for order 3, a = (x_{k+1} - 2 x_k + x_{k-1}) / dt^2.

    Args:
        y: (T, n) positions, uniformly sampled.
        rate_hz: sampling rate.
        order: 2 or 3.
        nvr: scalar or (n,), for both passes; 1e-5 at 5 kHz in the paper.

    Raises:
        InvalidMethod: if the order is not 2 or 3, or an NVR is negative or not finite.
        InvalidSignals: if samples are not finite, or too few.
    """
    if order not in (2, 3):
        raise InvalidMethod(f"differentiation needs a walk of order 2 (IRWSM 1) or 3 (IRWSM 2), not {order}")
    q_v_a, covariance, noise_variance = (_twice if order == 2 else _once)(y, nvr)
    scale = rate_hz ** np.arange(3)
    q, v, a = np.moveaxis(q_v_a * scale, -1, 0)
    return Derivatives(q, v, a, covariance * np.outer(scale, scale), noise_variance)


def _once(y: np.ndarray, nvr: float | np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v, a per sample: x_{k-1}, x_k and x_{k+1} follow from the state at k - 1 without noise."""
    # from states before k: x_k = x + Dx, and the central difference (x_{k+1} - x_{k-1}) / 2 = Dx + D2x / 2
    C = np.array([[1, 1, 0], [0, 1, 0.5], [0, 0, 1]])
    smoothed = _smooth_from_before(y, 3, nvr)
    P = (C @ smoothed.unit_covariance[:, :-1] @ C.T).swapaxes(0, 1)[:, smoothed.group]
    return smoothed.states[:-1] @ C.T, smoothed.noise_variance[:, None, None] * P, smoothed.noise_variance


def _twice(y: np.ndarray, nvr: float | np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v, a per sample, each derivative the mean of the forward differences on both sides."""
    ratios, group = np.unique(np.broadcast_to(nvr, y.shape[1:]), return_inverse=True)
    impulse = np.zeros((len(y), len(ratios)))
    impulse[len(y) // 2] = 1.0
    q_v_a, response = _two_passes(y, nvr), _two_passes(impulse, ratios)
    # trace of (1 - H)^T (1 - H) per sample, H the smoother: far from the ends it is a convolution
    rejected = np.sum((impulse - response[..., 0]) ** 2, axis=0)[group]
    noise_variance = np.mean((y - q_v_a[..., 0]) ** 2, axis=0) / rejected
    P = np.einsum("tgi, tgj -> gij", response, response)[group]
    covariance = np.broadcast_to(noise_variance[:, None, None] * P, (*y.shape, 3, 3))
    return q_v_a, covariance, noise_variance


def _two_passes(y: np.ndarray, nvr: float | np.ndarray) -> np.ndarray:
    """(T, n, 3) q, v, a."""
    position = _smooth_from_before(y, 2, nvr).states
    # forward differences belong half a sample later: the mean of two is centred
    v = (position[1:, :, 1] + position[:-1, :, 1]) / 2
    velocity = _smooth_from_before(v, 2, nvr).states
    a = (velocity[1:, :, 1] + velocity[:-1, :, 1]) / 2
    return np.stack([position[1:, :, 0], v, a], axis=-1)


def _smooth_from_before(y: np.ndarray, order: int, nvr: float | np.ndarray) -> SmoothedStates:
    """Smoothed states from one (missing) sample before the first on."""
    # with one sample before the first, each sample has a forward difference on either side
    measured = np.arange(-1, len(y)) >= 0
    return smooth(np.concatenate([y[:1], y]), GeneralizedRandomWalk.integrated(order), nvr, measured)
