"""Covariance of theta where residuals are correlated in time: a sandwich over blocks (Huber 1967; White 1980).

What a model of contact leaves out, ground that sinks or a foot that rolls, lasts for many samples. With R_i the change
of all residuals when theta_i moves and states and noise follow, C = (R^T R)^-1 is the covariance by white residuals r,

    C (sum over blocks b of s_b s_b^T) C,    s_b = R_b^T r_b

that by residuals which are independent from block to block only. Of both each direction keeps the larger one, since few
blocks may also show a variance that is too small by chance.

No block shows what is wrong in all of them alike: that the readings of a row are not taken at one instant. A logger
asks one device after the other within a period, so the clock of each quantity is somewhere within a step, with a
standard deviation of 1 / sqrt(12) steps. What these clocks would do to theta adds to its covariance.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ...arrays import Matrix
from .noise_levels import NoiseLevels

CLOCK_STD = 12**-0.5
"""Of the instant of a reading within a step [steps]."""
BLOCKS = 20
"""Of a recording: a tenth of a second in a log of two, which is longer than a foot takes to come to rest."""


def block_covariance(levels: NoiseLevels, covariance: Matrix) -> tuple[Matrix, float]:
    """(p, p) the larger one of both covariances in each direction, and the largest factor between their variances.

    Args:
        levels: of a solution. covariance: (p, p) by white residuals, positive definite.
    """
    if not len(covariance):
        return covariance, 1.0
    std = np.sqrt(np.diag(covariance))
    L = np.linalg.cholesky(covariance / np.outer(std, std))
    scores = np.concatenate([_scores(levels, k, std) for k in range(len(levels.models))])
    # influence of each block on theta, in a basis in which white residuals have the covariance 1
    values, vectors = linalg.eigh(L.T @ scores.T @ scores @ L)
    wide = std[:, None] * (L @ vectors) * np.sqrt(np.maximum(values, 1.0))
    return np.asarray(wide @ wide.T), float(np.maximum(values, 1.0).max())


def clock_covariance(levels: NoiseLevels) -> Matrix:
    """(p, p) covariance of theta by the clocks of quantities and efforts, each within a step of that of the row."""
    steps = [levels.by_clock(quantity, CLOCK_STD) for quantity in levels.clocks]
    of_theta = np.array([step for step in steps if step is not None]).reshape(-1, len(levels.at.theta))
    return np.asarray(of_theta.T @ of_theta)


def _scores(levels: NoiseLevels, k: int, std: np.ndarray) -> np.ndarray:
    """(BLOCKS, p) s_b of a recording, for theta in units of std."""
    table, model = levels.tables[k], levels.models[k]
    weighted = table.readings * np.sqrt(table.weights_of_readings) * (table.of_readings != "")
    noise = table.noise * np.sqrt(table.weights_of_noise) * (table.of_noise != "")
    of_nodes, moved = np.empty((len(weighted), len(std))), np.empty((len(std), len(std)))
    for i, step in enumerate(levels.followed(std)):
        of_nodes[:, i] = np.sum(levels.moved_readings(k, step) * weighted, axis=1)
        of_nodes[:-1, i] += np.sum(step.w[k] / model.noise_std * noise, axis=1)
        moved[i] = step.theta / std
    # a step moves the other components a little, too
    of_theta = np.linalg.solve(moved, of_nodes.T).T
    return np.stack([part.sum(axis=0) for part in np.array_split(of_theta, min(BLOCKS, len(of_theta)))])
