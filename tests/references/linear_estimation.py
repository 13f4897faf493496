"""Weighted, robust and Bayesian least squares on dense matrices, each by another road than poinsot's."""

import numpy as np
from scipy import optimize

MEDIAN = 0.6744897501960817


def posterior(W, y, sigma, mean, information):
    """theta and covariance of y = W theta + e, e_j with standard deviation sigma_j, theta ~ N(mean, information^-1)."""
    X, u = (W / sigma[:, None]).reshape(-1, W.shape[-1]), (y / sigma).ravel()
    H = X.T @ X + information
    return np.linalg.solve(H, X.T @ u + information @ mean), np.linalg.inv(H)


def weighted_by_joint(W, y, mean=None, information=None, steps=200):
    """theta, covariance and sigma_j, each from the other until both stand still.

    sigma_j^2 = |e_j|^2 / (N - k_j), k_j the part of joint j in the trace of the hat matrix.
    """
    k = W.shape[-1]
    mean = np.zeros(k) if mean is None else mean
    information = np.zeros((k, k)) if information is None else information
    sigma = y.std(axis=0)
    for _ in range(steps):
        theta, covariance = posterior(W, y, sigma, mean, information)
        hat = np.einsum("tjk,kl,tjl->j", W, covariance, W) / sigma**2
        sigma = np.sqrt(np.sum((y - W @ theta) ** 2, axis=0) / (len(y) - hat))
    return theta, covariance, sigma


def huber(W, y, sigma, threshold, mean, information):
    """argmin of 1/2 sum rho(e / sigma) + 1/2 |theta - mean|^2, a smooth convex sum, by trust regions."""

    def value(theta):
        x = (y - W @ theta) / sigma
        size = np.abs(x)
        rho = np.where(size <= threshold, 0.5 * x**2, threshold * size - 0.5 * threshold**2)
        return rho.sum() + 0.5 * (theta - mean) @ information @ (theta - mean)

    def slope(theta):
        x = np.clip((y - W @ theta) / sigma, -threshold, threshold)
        return -np.einsum("tjk,tj->k", W, x / sigma) + information @ (theta - mean)

    def curvature(theta):
        inside = np.abs(y - W @ theta) / sigma <= threshold
        return np.einsum("tjk,tj,tjl->kl", W, inside / sigma**2, W) + information

    start = posterior(W, y, sigma, mean, information)[0]
    found = optimize.minimize(
        value, start, jac=slope, hess=curvature, method="trust-exact", options={"gtol": 1e-10}
    )
    return found.x
