"""Slow and obviously right: the generalized random walk smoother as the paper writes it, and as dense linear algebra.

x_{k+1} = A x_k + G eta_k     y_k = x_k[0] + e_k     noise in units of sigma_e
"""

from dataclasses import dataclass
from decimal import Decimal, localcontext
from itertools import pairwise
from math import comb

import numpy as np


@dataclass(frozen=True)
class Smoothed:
    """states (T, n_x), covariance (T, n_x, n_x) with sigma_e^2, noise_variance, log_likelihood of one column."""

    states: np.ndarray
    covariance: np.ndarray
    noise_variance: float
    log_likelihood: float


def kalman_smoother(y, A, G, valid, P_0):
    """Eqs. 13-22 line by line, started from x = 0 with the covariance P_0 sigma_e^2; a missing sample has h = 0."""
    T, n_x = len(y), len(A)
    I, Q = np.eye(n_x), G @ G.T
    x_predicted, P_predicted = np.zeros((T, n_x)), np.zeros((T, n_x, n_x))
    x, P = np.zeros((T, n_x)), np.zeros((T, n_x, n_x))
    h = valid[:, None] * I[0]
    epsilon, nu = np.zeros(T), np.ones(T)
    for k in range(T):
        x_predicted[k] = A @ x[k - 1] if k else np.zeros(n_x)  # 13
        P_predicted[k] = A @ P[k - 1] @ A.T + Q if k else P_0 * I  # 14
        epsilon[k] = valid[k] * y[k] - h[k] @ x_predicted[k]
        nu[k] = 1 + h[k] @ P_predicted[k] @ h[k]
        g = P_predicted[k] @ h[k] / nu[k]  # 16
        x[k] = x_predicted[k] + g * epsilon[k]  # 15
        # 17 in Joseph's form: the plain difference of numbers of the size of P_0 loses digits
        P[k] = (I - np.outer(g, h[k])) @ P_predicted[k] @ (I - np.outer(g, h[k])).T + np.outer(g, g) * valid[
            k
        ]

    after = np.flatnonzero(valid)[n_x:]  # the samples that the start does not explain
    sigma2 = np.sum(epsilon[after] ** 2 / nu[after]) / len(after)  # 22

    x_smooth, P_smooth, lam = x.copy(), sigma2 * P, np.zeros(n_x)
    for k in range(T - 1, 0, -1):
        lam = (I - P[k] @ np.outer(h[k], h[k])).T @ (
            A.T @ lam - h[k] / sigma2 * epsilon[k]
        )  # 20: lambda(k-1)
        x_smooth[k - 1] = np.linalg.solve(A, x_smooth[k] + sigma2 * Q @ lam)  # 19
        gain = np.linalg.solve(P_predicted[k], A @ P[k - 1]).T
        P_smooth[k - 1] = sigma2 * P[k - 1] + gain @ (P_smooth[k] - sigma2 * P_predicted[k]) @ gain.T  # 21

    # prediction errors: as P_0 grows, the first n_x of them have log nu -> log P_0 + what the diffuse likelihood keeps
    log_nu = np.log(nu[valid]).sum() - n_x * np.log(P_0)
    log_likelihood = -len(after) / 2 * (np.log(2 * np.pi * sigma2) + 1) - log_nu / 2
    return Smoothed(x_smooth, P_smooth, sigma2, log_likelihood)


def state_maps(T, A, G):
    """(T, n_x, n_x + m (T - 1)): every state as a linear function of z = (x_0, eta_0, eta_1, ...)."""
    n_x, m = G.shape
    maps = np.zeros((T, n_x, n_x + m * (T - 1)))
    maps[0, :, :n_x] = np.eye(n_x)
    for k in range(T - 1):
        maps[k + 1] = A @ maps[k]
        maps[k + 1, :, n_x + m * k : n_x + m * (k + 1)] = G
    return maps


def dense_smoother(y, A, G, valid):
    """Least squares over z, and the likelihood of y as a Gaussian vector with a flat prior on x_0."""
    n_x = len(A)
    maps = state_maps(len(y), A, G)
    H, z_size = maps[valid, 0], maps.shape[2]
    residuals = len(H) - n_x
    M = np.vstack([H, np.eye(z_size)[n_x:]])
    z = np.linalg.lstsq(M, np.concatenate([y[valid], np.zeros(z_size - n_x)]))[0]
    sigma2 = (np.sum((y[valid] - H @ z) ** 2) + np.sum(z[n_x:] ** 2)) / residuals
    cov = maps @ np.linalg.inv(M.T @ M) @ maps.swapaxes(1, 2)

    X, V = H[:, :n_x], np.eye(len(H)) + H[:, n_x:] @ H[:, n_x:].T  # y = X x_0 + e, e ~ N(0, sigma_e^2 V)
    information = X.T @ np.linalg.solve(V, X)
    log_determinants = np.linalg.slogdet(V).logabsdet + np.linalg.slogdet(information).logabsdet
    log_likelihood = -residuals / 2 * (np.log(2 * np.pi * sigma2) + 1) - log_determinants / 2
    return Smoothed(maps @ z, sigma2 * cov, sigma2, log_likelihood)


def smoothing_matrix(T, A, G, valid):
    """(T, n_x, T): the smoothed states are this times y."""
    maps = state_maps(T, A, G)
    H, n_x = maps[:, 0] * valid[:, None], len(A)
    M = H.T @ H
    M[n_x:, n_x:] += np.eye(len(M) - n_x)
    return maps @ np.linalg.solve(M, H.T)


def sixty_digits(y, order, nvr):
    """States of the walk of `order` by Cholesky of I + D^T D / nvr, D the differences of that order, in 60 digits.

    A list of `order` arrays; the i-th has i values fewer than y.
    """
    T, difference = len(y), [(-1) ** (order - i) * comb(order, i) for i in range(order + 1)]
    with localcontext() as context:
        context.prec = 60
        weight = 1 / Decimal(nvr)
        band = [[Decimal(offset == 0) for offset in range(order + 1)] for _ in range(T)]  # band[i][j - i]
        for k in range(T - order):
            for i in range(order + 1):
                for j in range(i, order + 1):
                    band[k + i][j - i] += weight * difference[i] * difference[j]
        x = [Decimal(float(value)) for value in y]
        for i in range(T):
            for offset in range(1, min(order, T - 1 - i) + 1):
                factor = band[i][offset] / band[i][0]
                for other in range(offset, order + 1):
                    band[i + offset][other - offset] -= factor * band[i][other]
                x[i + offset] -= factor * x[i]
        for i in range(T - 1, -1, -1):
            for offset in range(1, min(order, T - 1 - i) + 1):
                x[i] -= band[i][offset] * x[i + offset]
            x[i] /= band[i][0]
        states = [x]
        for _ in range(order - 1):
            states.append([b - a for a, b in pairwise(states[-1])])
        return [np.array(state, dtype=float) for state in states]


def simulate(rng, A, G, samples, columns):
    """States (T, columns, n_x) and measurements (T, columns) with sigma_e = 1."""
    x = np.zeros((samples, columns, len(A)))
    x[0] = rng.normal(size=x[0].shape)
    for k in range(samples - 1):
        x[k + 1] = x[k] @ A.T + rng.normal(size=(columns, G.shape[1])) @ G.T
    return x, x[..., 0] + rng.normal(size=(samples, columns))
