"""Consistency of a covariance: normalized squared errors against chi-square, and coverage of intervals.

With e the error and P its covariance, e^T P^-1 e is chi-square of as many degrees of freedom as e has, if the problem
is linear over the errors. Where some directions Z are unobservable (eigenvalues of the information that are zero; P is
zero there, and the estimate stays at its initial guess) only directions orthogonal to them count,

    e_s = B^T e,   P_s = B^T P B,   B^T Z = 0,   B^T B = 1        and the squared error is e_s^T P_s^-1 e_s

Dynamics are linear in pi and not in a chart's theta. Where a recording leaves coordinates open by a good part of what
it takes to bend the chart, squared errors of theta have a heavier tail than chi-square, and those of pi(theta), with
covariance D P D^T, D = dpi/dtheta, have not.

A quantity g(theta) has the standard deviation sqrt(g_theta P g_theta^T), to first order; one that changes along Z has
none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import linalg, stats

from poinsot.arrays import Inertial, Matrix, Vector
from poinsot.estimate import NORMAL_95
from poinsot.inertia.parameters import center_of_mass, inertia_at_com, slopes_at_com
from poinsot.models.robot.open_parameters import OpenParameters

INTERVAL, BAND = 0.95, 0.99
TAILS = 0.5 - 0.5 * BAND, 0.5 + 0.5 * BAND
PHYSICAL = ("mass", "cx", "cy", "cz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""[kg], [m], and about the centre of mass [kg m^2]."""
PHYSICAL_UNITS = dict(zip(PHYSICAL, ("kg", "m", "m", "m", *["kg m^2"] * 6), strict=True))
UNMOVED = 1e-6
"""A quantity whose slope along unobservable directions is a smaller part of its whole slope is observable."""


# ------------------------------------------------------------------------------------------------- one estimate


def inertial_error(parameters: OpenParameters, theta: Vector) -> tuple[Vector, Matrix]:
    """(p,) error of theta with the open bodies' pi in place of their coordinates, and (p, p) its slope by theta."""
    return parameters.physical(theta) - parameters.physical(
        parameters.nominal_theta
    ), parameters.physical_slope(theta)


def squared_error(e: Vector, P: Matrix, unobservable: Matrix | None = None) -> tuple[float, int]:
    """Compute e^T P^-1 e and its degrees of freedom, orthogonal to the unobservable directions (d, z)."""
    if unobservable is not None and unobservable.shape[1]:
        B = linalg.null_space(unobservable.T)
        e, P = B.T @ e, B.T @ P @ B
    scale = np.sqrt(np.diag(P))
    white = linalg.solve_triangular(np.linalg.cholesky(P / np.outer(scale, scale)), e / scale, lower=True)
    return float(white @ white), len(e)


def errors_in_std(
    parameters: OpenParameters, theta: Vector, P: Matrix, unobservable: Matrix
) -> dict[str, float | None]:
    """Each coordinate's and each physical quantity's error in standard deviations; None where it is unobservable.

    Args:
        parameters: whose nominal values are the truth, and of which bodies are open.
        theta: (p,) estimated. P: (p, p) its covariance. unobservable: (p, z) directions.
    """
    assert parameters.chart is not None
    e, slopes, names = (
        list(theta - parameters.nominal_theta),
        list(np.eye(len(theta))),
        list(parameters.names),
    )
    for k, body in enumerate(parameters.bodies):
        ten = slice(10 * k, 10 * k + 10)
        pi = parameters.chart.to_inertial(theta[ten])
        e += list(physical(pi) - physical(parameters.all_inertials[parameters.places[k]]))
        by_theta = np.zeros((10, len(theta)))
        by_theta[:, ten] = physical_slopes(pi) @ parameters.chart.jacobian(theta[ten])
        slopes += list(by_theta)
        names += [f"{name}.{body}" for name in PHYSICAL]
    alone = f".{parameters.bodies[0]}" if len(parameters.bodies) == 1 else ""
    return {
        name.removesuffix(alone): float(error / np.sqrt(slope @ P @ slope))
        if np.linalg.norm(slope @ unobservable) <= UNMOVED * np.linalg.norm(slope)
        else None
        for name, error, slope in zip(names, e, slopes, strict=True)
    }


def physical(pi: Inertial) -> Float[np.ndarray, "10"]:
    """Mass, centre of mass and inertia about it of pi (10,), as `PHYSICAL` names them."""
    I_c = inertia_at_com(pi)
    return np.concatenate([pi[:1], center_of_mass(pi), I_c[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]])


def physical_slopes(pi: Inertial) -> Float[np.ndarray, "10 10"]:
    """Slopes of `physical` by pi (10,)."""
    return slopes_at_com(pi)[:, [0, 1, 2, 3, 4, 5, 8, 6, 9, 12]].T


# ------------------------------------------------------------------------------------------------------ many estimates


def mean_in_band(pairs: Sequence[tuple[float, int]]) -> dict[str, Any]:
    """The mean of squared errors, the band that it should be in, and how likely their spread about it is.

    A sum of chi-squares has the sum of their degrees of freedom; mapped by their own distribution they are uniform.
    """
    squares, degrees = np.array(pairs).T
    uniform = stats.chi2.cdf(squares, degrees)
    return {
        "degrees": float(degrees.mean()),
        "nees_mean": float(squares.mean()),
        "band": [float(edge) / len(squares) for edge in stats.chi2.ppf(TAILS, degrees.sum())],
        "chi_square_p": float(stats.kstest(uniform, "uniform").pvalue),
    }


def covered_band(count: int, quantities: int = 1) -> list[float]:
    """Shares between which those of `count` intervals are, with a probability of 99 % for all quantities at once.

    Each is outside with a probability of 1 % over their number, however they depend on each other.
    """
    tail = 0.5 * (1.0 - BAND) / quantities
    return [float(edge) / count for edge in stats.binom.ppf((tail, 1.0 - tail), count, INTERVAL)]


def rms(errors: Sequence[float] | Vector) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(errors))))


def errors_by_name(solved: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Errors in standard deviations, by name, of quantities that are identifiable in every recording."""
    off = {name: [result["off"][name] for result in solved] for name in solved[0]["off"]}
    return {name: values for name, values in off.items() if None not in values}


def held(off: Sequence[float], half_width: float = NORMAL_95) -> float:
    """Share of intervals that hold the truth.

    Args:
        off: errors in standard deviations. half_width: half width of the intervals, in standard deviations.
    """
    return float(np.mean(np.abs(off) <= half_width))


def share_of(off: Mapping[str, Sequence[float]], name: str, half_width: float) -> float:
    """`held` of one of several quantities."""
    return held(off[name], half_width)


def coverage(solved: Sequence[Mapping[str, Any]], level: float = INTERVAL) -> dict[str, float]:
    """Share of the intervals that hold the truth, by name, of quantities that are identifiable in every recording."""
    half_width = stats.norm.ppf(0.5 + 0.5 * level)
    return {name: held(values, half_width) for name, values in errors_by_name(solved).items()}
