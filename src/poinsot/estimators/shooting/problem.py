"""The estimation problem, and the model of one recording (Martinez et al. 2024, Eqs. 1 and 16).

    min   1/2 |x_0 [-] xbar_0|^2 + 1/2 |theta - thetabar|^2             priors, weighed with their information
          + (x_0 [-] xbar_0)^T X (theta - thetabar)                     where they are not independent
          + sum_k  1/2 |w_k / sigma_k|^2 + 1/2 |r_k(x_k, w_k; theta)|^2 + 1/2 |r_N(x_N; theta)|^2
    s.t.  x_{k+1} = f_k(x_k, w_k; theta)

once for each recording, with theta shared. r are residuals of the sensors in units of their standard deviation: twice
the cost is chi-square. w is process noise; a reset map has none. A `TrajectoryModel` is one recording: f and r with
their derivatives, evaluated at many nodes in one call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ...arrays import Bool, Brief, Columns, Float, Matrix, States, Vector
from ...exceptions import InvalidMethod
from ...models.contacts.contact_dynamics import Linearized
from ...models.robot.configuration_space import Manifold


@dataclass(frozen=True, eq=False)
class StageLinearization:
    """f and r of consecutive stages, with derivatives by x (in its tangent), w and theta.

    Args:
        f: (T, nx) next states. f_x, f_w, f_theta: (T, n, n), (T, n, m), (T, n, p), in the tangent at f.
        r: (T, rows). r_x: (T, rows, n). r_w, r_theta: (T, rows, m), (T, rows, p); None where they are zero.
    """

    f: States
    f_x: Float[np.ndarray, "T n n"]
    f_w: Float[np.ndarray, "T n m"]
    f_theta: Float[np.ndarray, "T n p"]
    r: Float[np.ndarray, "T rows"]
    r_x: Float[np.ndarray, "T rows n"]
    r_w: Float[np.ndarray, "T rows m"] | None = None
    r_theta: Float[np.ndarray, "T rows p"] | None = None


class TrajectoryModel(ABC):
    """Dynamics and residuals along one recording: N stages and a last node.

    `manifold` is where states live, `noise_std` (N, m) the standard deviations of w, `noisy` (N,) False where a stage
    has none (a reset map), `theta_size` is p. `first` is the number of the first of consecutive stages.

    A missing sample has a residual of 0 with derivatives of 0. At states without a finite value the model returns NaN
    and does not raise: the solver then tries a shorter step.
    """

    manifold: Manifold
    noise_std: Float[np.ndarray, "N m"]
    noisy: Bool[np.ndarray, "N"]
    theta_size: int

    def evaluate(
        self, first: int, x: States, w: Columns, theta: Vector
    ) -> tuple[States, Float[np.ndarray, "T rows"]]:
        """f and r of consecutive stages."""
        at = self.linearize(first, x, w, theta)
        return at.f, at.r

    @abstractmethod
    def linearize(self, first: int, x: States, w: Columns, theta: Vector) -> StageLinearization:
        """The same with derivatives."""

    @abstractmethod
    def last(self, x: Vector, theta: Vector, slopes: bool = False) -> Linearized:
        """(1, rows) r of the last node, x (nx,), with derivatives by x and theta if `slopes`."""

    @property
    def stages(self) -> int:
        """N."""
        return len(self.noisy)


@dataclass(frozen=True, eq=False)
class GaussianPrior:
    """A normal distribution of an arrival state or of theta, known before the data.

    Args:
        mean: (nx,) or (p,).
        information: (n, n) or (p, p) inverse covariance; zero where nothing is known.
        cross: (n, p) X, of an arrival state with theta; None: they are independent.

    Raises:
        InvalidMethod: if the information is not symmetric and positive semidefinite, or something is not finite.
    """

    mean: Vector
    information: Matrix
    cross: Matrix | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean).all() and np.isfinite(self.information).all()):
            raise InvalidMethod(
                "priors of states and parameters must be finite; information 0 says that nothing is known"
            )
        I = self.information
        if (
            I.ndim != 2
            or len(I) != I.shape[1]
            or np.abs(I - I.T).max(initial=0.0) > 1e-9 * np.abs(I).max(initial=0.0)
            or np.linalg.eigvalsh(unit_diagonal(I)[0]).min(initial=0.0) < -1e-9
        ):
            raise InvalidMethod("information must be a symmetric matrix without negative eigenvalues")

    @property
    def rank(self) -> int:
        """Of the information, whatever its units."""
        return int(np.linalg.matrix_rank(unit_diagonal(self.information)[0], tol=1e-9))

    @classmethod
    def flat(cls, mean: Vector, degrees: int | None = None) -> GaussianPrior:
        """No information: `mean` is only the initial guess.

        Args:
            mean: (nx,) or (p,). degrees: d, where a change has fewer components than the mean.
        """
        size = len(mean) if degrees is None else degrees
        return cls(mean, np.zeros((size, size)))

    @classmethod
    def from_covariance(cls, mean: Vector, covariance: np.ndarray) -> GaussianPrior:
        """The distribution with this mean and covariance.

        Args:
            mean: (nx,) or (p,).
            covariance: (d, d), or (d,) variances.

        Raises:
            InvalidMethod: if the covariance is not positive definite.
        """
        covariance = np.diag(covariance) if covariance.ndim == 1 else covariance
        scaled, _ = unit_diagonal(covariance)
        if not np.isfinite(scaled).all() or np.linalg.eigvalsh(scaled).min(initial=np.inf) <= 0:
            raise InvalidMethod(
                "a covariance must be positive definite; leave out what is not known, and hold what is known exactly"
            )
        return cls(mean, scaled_inverse(covariance))


def unit_diagonal(M: Matrix) -> tuple[Matrix, Vector]:
    """M / (d d^T), and d, the root of its diagonal: units of components differ by orders of magnitude."""
    d = np.sqrt(np.where(np.diag(M) > 0, np.diag(M), 1.0))
    return M / np.outer(d, d), d


def scaled_inverse(M: Matrix) -> Matrix:
    """Inverse of a symmetric matrix with a positive diagonal, whatever the units of its components."""
    scaled, d = unit_diagonal(M)
    return np.asarray(np.linalg.inv(scaled) / np.outer(d, d))


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Values of all unknowns.

    Args:
        x: (N + 1, nx) states of each recording. w: (N, m) process noise of each.
        theta: (p,).
    """

    x: tuple[np.ndarray, ...]
    w: tuple[np.ndarray, ...]
    theta: Vector


@dataclass(frozen=True, eq=False, repr=False)
class ShootingProblem(Brief):
    """Recordings that share theta.

    Args:
        models: one for each recording.
        arrivals: prior of the first state of each.
        prior: of theta.
        scale: (p,) typical change of each component of theta in one step; None: 1, as in a chart of bodies.

    Raises:
        InvalidMethod: if a recording has no stage, or sizes do not match.
    """

    models: tuple[TrajectoryModel, ...]
    arrivals: tuple[GaussianPrior, ...]
    prior: GaussianPrior
    scale: Vector | None = None

    def __post_init__(self) -> None:
        p = len(self.prior.mean)
        if self.scale is not None and (self.scale.shape != (p,) or not np.all(self.scale > 0)):
            raise InvalidMethod(f"scale needs a number above 0 for each of {p} parameters")
        if not self.models or len(self.models) != len(self.arrivals):
            raise InvalidMethod("give at least one recording, and a prior of the first state of each")
        for model, arrival in zip(self.models, self.arrivals, strict=True):
            if model.stages < 1:
                raise InvalidMethod(
                    "a horizon of one node has no dynamics to estimate from; give at least two samples"
                )
            if not np.all(model.noise_std[model.noisy] > 0):
                raise InvalidMethod(
                    "standard deviations of the noise must be above 0; a stage without noise is not noisy"
                )
            sizes = (
                model.theta_size,
                len(arrival.mean),
                len(arrival.information),
                len(self.prior.information),
            )
            if sizes != (p, model.manifold.size, model.manifold.degrees, p):
                raise InvalidMethod(
                    f"priors must match the model: {model.theta_size} parameters and states of {model.manifold.size} "
                    f"numbers that change in {model.manifold.degrees}"
                )

    @property
    def natural_scale(self) -> Vector:
        """(p,) `scale`."""
        return np.ones(len(self.prior.mean)) if self.scale is None else self.scale

    def require(self, guess: Trajectories) -> None:
        """Check an initial guess.

        Raises:
            InvalidMethod: if its shapes differ from the problem's, or it is not finite.
        """
        shapes = [(m.stages + 1, m.manifold.size) for m in self.models]
        noise = [m.noise_std.shape for m in self.models]
        if (
            [x.shape for x in guess.x] != shapes
            or [w.shape for w in guess.w] != noise
            or guess.theta.shape != self.prior.mean.shape
        ):
            raise InvalidMethod(
                f"the initial guess must have states {shapes}, noise {noise} and {len(self.prior.mean)} parameters"
            )
        # checked at the door: a NaN would show as a divergence after the first step
        if not all(np.isfinite(part).all() for part in (*guess.x, *guess.w, guess.theta)):
            raise InvalidMethod(
                "the initial guess holds NaN or infinity; start from the measurements, or from a state at rest"
            )
