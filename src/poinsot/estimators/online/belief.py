"""Values of a filter: ticks, samples and their bias, the belief between two samples, and a sample's innovation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np

from ...arrays import Brief, Matrix, Vector

NO_SAMPLES = (
    "there was no sample to process: the recording is shorter than a window, or than the calibration, or has gaps "
    "throughout; check window_s, calibrate_s and the clock"
)


@dataclass(frozen=True, eq=False, repr=False)
class Sample(Brief):
    """One tick of a robot's state estimator.

    Args:
        time: [s].
        q, v, a: (nq,), (n,), (n,) configuration, velocity, acceleration.
        tau: (n,) measured efforts, NaN where there is no reading, 0 where there is no motor [N m] or [N].
        wrenches: body -> (6,) measured force and moment from outside, in the body's frame [N], [N m].
        trusted: (n,) rows to use; None: all that are finite.
    """

    time: float
    q: Vector
    v: Vector
    a: Vector
    tau: Vector
    wrenches: Mapping[str, Vector] = field(default_factory=dict)
    trusted: np.ndarray | None = None

    @property
    def readings(self) -> Vector:
        """(n,) efforts, NaN where there is no reading to be trusted."""
        tau = np.asarray(self.tau, float)
        return tau if self.trusted is None else np.where(self.trusted, tau, np.nan)


@dataclass(frozen=True, eq=False)
class Tick:
    """Output of a robot's state estimator: a sample without acceleration.

    Args:
        time: [s]. q, v, tau: (nq,), (n,), (n,); v is NaN where velocities are not measured.
        wrenches, trusted: as in `Sample`.
    """

    time: float
    q: Vector
    v: Vector
    tau: Vector
    wrenches: Mapping[str, Vector] = field(default_factory=dict)
    trusted: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class RecordedSample:
    """A sample, and where it is from.

    Args:
        sample: the sample on the filter's clock, which continues from one recording to the next.
        recording: name of its recording. time: time on the recording's own clock [s].
    """

    sample: Sample
    recording: str
    time: float


@dataclass(frozen=True, eq=False)
class Bias:
    """Constant efforts that the model does not explain.

    Args:
        value: (n,) mean of the residuals; 0 for an effort that was never read.
        std: (n,) standard deviation of a sample about it, by which to choose a filter's noise; 0 for the same.
        samples: number of samples in the window with a reading.
    """

    value: Vector
    std: Vector
    samples: int


@dataclass(frozen=True, eq=False)
class InitialBelief:
    """The initial coordinates of a filter, to which it returns at a restart.

    Args:
        x: (d,) coordinates.
        unit: (d, d) lower triangular root of the covariance of bodies that are known to a factor of 1 +- 1, the unit
            of drift.
        whitening: (k, 4, 4) W with W^T J W = 1 for the pseudo-inertia J of each body, for comparison of other bodies
            with it; (0, 4, 4) where the coordinates are not a chart.
    """

    x: Vector
    unit: Matrix
    whitening: np.ndarray


class Belief(NamedTuple):
    """State of a filter: x ~ N(x, B B^T). A tuple with one array, as these are made at every tick.

    Args:
        time: [s]; NaN before the first sample.
        state: (2 d + 1, d) `x`, `root` and `information`, one below the other.
        start: the initial coordinates of the filter.
        surprise: y^T S^-1 y per row, averaged over the last seconds; 1 if assumptions hold.
        rejected: number of rejected samples less that of accepted ones since then; at least 0.
        unchecked: number of next samples that pass the gate with any innovation, after it was reopened.
    """

    time: float
    state: Matrix
    start: InitialBelief
    surprise: float = 1.0
    rejected: int = 0
    unchecked: int = 0

    @property
    def x(self) -> Vector:
        """(d,) coordinates of the open bodies."""
        return self.state[0]

    @property
    def root(self) -> Matrix:
        """(d, d) B, lower triangular."""
        return self.state[1 : 1 + self.state.shape[1]]

    @property
    def information(self) -> Matrix:
        """(d, d) sum of H^T R^-1 H of the last seconds' samples, older ones forgotten exponentially."""
        return self.state[1 + self.state.shape[1] :]

    @property
    def unit(self) -> Matrix:
        """(d, d) `InitialBelief.unit`."""
        return self.start.unit

    @property
    def covariance(self) -> Matrix:
        """(d, d) P = B B^T."""
        return self.root @ self.root.T

    def having(self, x: Vector | None = None, root: Matrix | None = None) -> Belief:
        """The same with other coordinates, or another lower triangular root of the covariance."""
        x, root = self.x if x is None else x, self.root if root is None else root
        return self._replace(state=np.vstack((x, root, self.information)))


class SampleVerdict(Enum):
    """Whether and how a filter used a sample; the value is a phrase for messages."""

    accepted = "accepted"
    gated = "improbable: its innovation did not pass the gate"
    late = "not later than the one before"
    unusable = "not finite, or without a trusted row"
    reopened = "improbable for too long: the covariance was enlarged until samples pass again"
    restarted = (
        "it would have made a body a million times heavier, lighter, larger or smaller, or found one so small that "
        "no sample changes it any more: filter restarted"
    )


class Innovation(NamedTuple):
    """Difference of a sample from its prediction.

    Args:
        verdict: whether the sample was used.
        square: y^T S^-1 y; chi-square with `rows` degrees of freedom if assumptions hold (Foster et al. 2024, Eq. 22).
        rows: number of effort rows that were read and trusted.
        threshold: largest square that the gate accepts; infinite without a gate.
        log_likelihood: log-likelihood of the sample's efforts, from the belief before it.
        predicted: (F, 3) predicted positions of feet in the inertial unit's frame, NaN for others [m].
    """

    verdict: SampleVerdict
    square: float
    rows: int
    threshold: float = np.inf
    log_likelihood: float = np.nan
    predicted: np.ndarray | None = None
