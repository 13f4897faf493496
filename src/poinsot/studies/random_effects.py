"""What differs between robots, and between days: random effects in estimates whose standard deviations are known.

Log l of robot i on day j of that robot gives an estimate with a standard deviation s_l,

    y_l = mu + u_i + d_ij + e_l,     u ~ N(0, tau_robot^2),   d ~ N(0, tau_day^2),   e_l ~ N(0, tau_log^2 + s_l^2),

where tau_log is what differs between logs of one day beyond what s_l says. Levels are treated from the finest one: the
members of a group have values m_k with variances v_k, and

    Q(t) = sum_k w_k (m_k - m_group)^2,  w_k = 1 / (v_k + t),  m_group = sum w_k m_k / sum w_k,  v_group = 1 / sum w_k

is chi-square with (members - groups) degrees of freedom at t = tau^2 (generalized Q; Viechtbauer 2007). Solving
Q(t) = q for q drawn from that distribution gives t its generalized fiducial distribution (Iyer, Wang and Mathew
2004), given those of the finer levels, which decide m_k and v_k; the fleet's mean follows as m_fleet + sqrt(v_fleet) z.
Intervals are percentiles of these draws, values solve Q(t) = degrees of freedom (Paule and Mandel 1982). A level whose
groups have one member each cannot be separated from the next coarser one, and is absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.stats import chi2

from ..arrays import Vector

LEVELS = ("log", "day", "robot")
"""Levels at which parameters differ, from the finest one."""
BETWEEN = {"robot": "robots", "day": "days", "log": "logs of a day"}
"""Level -> what differs at it, in words."""

DRAWS = 4000
"""Number of draws of the fiducial distribution: percentiles of 2.5 % are off by 0.25 % of probability."""

MAX_NEWTON_STEPS = 60


@dataclass(frozen=True)
class Spread:
    """Standard deviation of the effects of one level.

    Args:
        std, interval_95: tau and its interval. p_value: probability of such data if tau is 0.
        members, groups: how many effects, in how many groups of the next level.
    """

    json_keys: ClassVar = {"differs": "differs"}

    std: float
    interval_95: tuple[float, float]
    p_value: float
    members: int
    groups: int

    @property
    def differs(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.interval_95[0] > 0


@dataclass(frozen=True)
class RandomEffects:
    """One parameter of a fleet.

    Args:
        mean, std, interval_95: mean of the fleet, from which robots are drawn.
        spreads: level of `LEVELS` -> what differs at it, of those that can be separated.
        next_interval_95: where one more log of one more robot would be, measured without error.
        robots: robot -> its mean and standard deviation over its days and logs.
    """

    mean: float
    std: float
    interval_95: tuple[float, float]
    spreads: Mapping[str, Spread]
    next_interval_95: tuple[float, float]
    robots: Mapping[str, tuple[float, float]]


def random_effects(
    values: Vector, std: Vector, robots: Sequence[str], days: Sequence[str], *, common_std: float = 0.0
) -> RandomEffects:
    """Pool estimates of one parameter, and separate what differs.

    Args:
        values, std: (L,) estimates of the logs, and their standard deviations > 0 by chance only.
        robots, days: (L,) robot and day of each log.
        common_std: standard deviation of an error that all logs share, which no pooling makes smaller.
    """
    y, v = (np.asarray(array, dtype=np.float64) for array in (values, std))
    rng, names = np.random.default_rng(0), list(dict.fromkeys(robots))
    scale = float(np.median(v))  # of order one, whatever the unit
    first = float(y[0])
    m, v = (y - first)[None] / scale, (v / scale)[None] ** 2
    day_of, robot_of = _parents(list(zip(robots, days, strict=True)))
    spreads: dict[str, Spread] = {}
    between: np.ndarray = np.zeros(DRAWS)
    per_robot: dict[str, tuple[float, float]] = {}
    parents = (day_of, robot_of, np.zeros(len(names), dtype=int))
    for level, parent in zip(LEVELS, parents, strict=True):
        freedom = len(parent) - (parent.max() + 1)
        t = np.zeros((1, 1))
        if freedom:
            # the last row is the value, after the draws
            t = solve_spread(m, v, parent, np.append(rng.chisquare(freedom, DRAWS), freedom))
            low, high = np.percentile(t[:DRAWS], [2.5, 97.5])
            q = generalized_q(m[-1:], v[-1:], parent, np.zeros((1, 1)))[0].item()
            spreads[level] = Spread(
                scale * float(np.sqrt(t[-1, 0])),
                (scale * float(np.sqrt(low)), scale * float(np.sqrt(high))),
                float(chi2.sf(q, freedom)),
                len(parent),
                int(parent.max() + 1),
            )
            between = between + t[:DRAWS, 0]
        if level == "robot":
            per_robot = {
                name: (float(first + scale * m[-1, k]), float(scale * np.sqrt(v[-1, k])))
                for k, name in enumerate(names)
            }
        m, v = _group_means(m, v, parent, t)
    shared = common_std / scale
    drawn = m[:DRAWS, 0] + np.sqrt(v[:DRAWS, 0] + shared**2) * rng.standard_normal(DRAWS)
    following = drawn + np.sqrt(between) * rng.standard_normal(DRAWS)

    def interval(draws: np.ndarray) -> tuple[float, float]:
        low, high = np.percentile(draws, [2.5, 97.5])
        return first + scale * float(low), first + scale * float(high)

    return RandomEffects(
        float(first + scale * m[-1, 0]),
        float(scale * np.sqrt(v[-1, 0] + shared**2)),
        interval(drawn),
        spreads,
        interval(following),
        per_robot,
    )


def generalized_q(m: np.ndarray, v: np.ndarray, parent: np.ndarray, t: np.ndarray) -> tuple[Any, Any]:
    """Q(t) and its derivative, (D,); m, v: (D or 1, K), t: (D, 1)."""
    w = 1.0 / (v + t)
    means, _ = _group_means(m, v, parent, t)
    e = m - means[:, parent]
    return (w * e**2).sum(1), -((w * e) ** 2).sum(1)


def solve_spread(m: np.ndarray, v: np.ndarray, parent: np.ndarray, q: np.ndarray) -> np.ndarray:
    """(D, 1) t >= 0 with Q(t) = q, 0 where Q(0) is less.

    Q(t) = sum z_i^2 / (lambda_i + t) for some z and lambda, so 1 / Q is concave: Newton's steps on it rise from 0 to
    the solution, and never pass it.
    """
    t = np.zeros((len(q), 1))
    for _ in range(MAX_NEWTON_STEPS):
        Q, slope = generalized_q(m, v, parent, t)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = (1.0 / q - 1.0 / Q) / (-slope / Q**2)
        step = np.where(np.isfinite(step), np.maximum(step, 0.0), 0.0)
        t = t + step[:, None]
        if (step <= 1e-10 * t[:, 0]).all():
            break
    return t


def _group_means(
    m: np.ndarray, v: np.ndarray, parent: np.ndarray, t: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(D, G) means of the groups and their variances."""
    w = 1.0 / (v + t)
    belongs = np.equal.outer(parent, np.arange(parent.max() + 1)).astype(np.float64)
    total = w @ belongs
    return (w * m) @ belongs / total, 1.0 / total


def _parents(labels: list[tuple[str, str]]) -> tuple[np.ndarray, np.ndarray]:
    """Log -> index of its day of its robot; day -> index of its robot, in the order in which they come."""
    days = list(dict.fromkeys(labels))
    robots = list(dict.fromkeys(robot for robot, _ in labels))
    return (
        np.array([days.index(label) for label in labels]),
        np.array([robots.index(robot) for robot, _ in days]),
    )
