"""What a filter believes between two samples, and what a sample did to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from ...arrays import Matrix, Vector


@dataclass(frozen=True, eq=False)
class Sample:
    """One tick of a robot's state estimator.

    Args:
        time: [s].
        q, v, a: (nq,), (n,), (n,) configuration, velocity, acceleration.
        tau: (n,) measured efforts, 0 where there is no motor; rows that are not finite are not trusted.
        wrenches: body -> (6,) measured force and moment from outside, in the body's frame.
        trusted: (n,) rows to use; None: all.
    """

    time: float
    q: Vector
    v: Vector
    a: Vector
    tau: Vector
    wrenches: Mapping[str, Vector] = field(default_factory=dict)
    trusted: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class InitialBelief:
    """What a filter began with.

    Args:
        x: (d,) coordinates.
        whitening: (k, 4, 4) W with W^T J W = 1 of each body, by which others are compared with it; (0, 4, 4) where
            coordinates are no chart.
    """

    x: Vector
    whitening: np.ndarray


@dataclass(frozen=True, eq=False)
class Belief:
    """State of a filter: x ~ N(x, B B^T).

    Args:
        time: [s]; NaN before the first sample.
        x: (d,) coordinates of the open bodies.
        root: (d, d) B.
        unit: (d, d) root of the covariance of bodies that are known to a factor of 1 +- 1, which drift is a part of.
        start: what it began with, where it goes back to when it is lost.
        seen: (d, d) information of the last seconds' samples, H^T R^-1 H with older ones forgotten.
        surprise: y^T S^-1 y per row, averaged over the last seconds; 1 if all is as assumed.
        rejected: samples that did not pass the gate, less those that did since then; at least 0.
        doubts: how many samples still pass whatever they say, after the gate had to open again.
    """

    time: float
    x: Vector
    root: Matrix
    unit: Matrix
    seen: Matrix
    start: InitialBelief
    surprise: float = 1.0
    rejected: int = 0
    doubts: int = 0

    @property
    def covariance(self) -> Matrix:
        """(d, d)"""
        return self.root @ self.root.T


class SampleVerdict(Enum):
    """What became of a sample."""

    accepted = "accepted"
    gated = "improbable: its innovation did not pass the gate"
    late = "not later than the one before"
    unusable = "not finite, or without a trusted row"
    reopened = "improbable for too long: the covariance was enlarged until samples pass again"
    restarted = (
        "it would have made a body a million times heavier, lighter, larger or smaller, or found one so small that "
        "nothing moves it any more: begun again"
    )


@dataclass(frozen=True, eq=False)
class Innovation:
    """What a sample said that was not expected.

    Args:
        square: y^T S^-1 y; chi-square with `rows` degrees of freedom if all is as assumed (seed 004, Eq. 22).
        rows: how many were trusted.
        threshold: what the square may be; infinite without a gate.
        log_likelihood: of the sample's efforts before they were used.
    """

    verdict: SampleVerdict
    square: float
    rows: int
    threshold: float = np.inf
    log_likelihood: float = np.nan
