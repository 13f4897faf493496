"""Optimal estimation over the last N nodes, sample after sample: a moving horizon (Rao, Rawlings and Lee 2001).

Each new sample adds a node, and beyond N nodes the oldest leaves. What it knew of the next one and of theta becomes the
arrival cost. With the quadratic model of the first stage, arrival cost and residuals there,

    1/2 y^T H y + g^T y,   y = (dx, dw, dtheta),     dx' = A dx + B dw + C dtheta + gap

y is normal with mean -H^-1 g and covariance H^-1, and so are (x', theta) through the dynamics,

    mean  T (-H^-1 g) + (gap, 0),     covariance  T H^-1 T^T + diag(0, Q),     T = [A B C; 0 0 1]

which is one step of an extended Kalman filter, taken where the horizon has smoothed the state. Q, the random walk of
theta in that time, lets a payload that is picked up be seen. The iteration starts at the last solution, so a full step
a sample is enough (Diehl, Bock and Schloeder 2005), without a line search. A contact that closes is two nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from poinsot.arrays import Columns, Matrix, States, Vector
from poinsot.estimators.shooting.arrival import ArrivalSystem
from poinsot.estimators.shooting.direction import LinearizedProblem
from poinsot.estimators.shooting.local import Evaluation, linearized, linearized_arrival
from poinsot.estimators.shooting.problem import (
    GaussianPrior,
    LastNodeLinearization,
    ShootingProblem,
    StageLinearization,
    Trajectories,
    TrajectoryModel,
)
from poinsot.estimators.shooting.rollout import evaluate
from poinsot.exceptions import InvalidMethod
from poinsot.solve import ProgressCallback, Stop, report, stop_requested

DAMPINGS = 0.0, 1e-3, 1e-1
"""Tried one after the other until there is a minimum, relative to the diagonal."""


class Window(TrajectoryModel):
    """Some stages of a longer chain; its last node has no residuals, which need commands and belong to the next stage.

    Args:
        chain: the longer one. first, last: the window's nodes.
    """

    def __init__(self, chain: TrajectoryModel, first: int, last: int):
        self.chain, self.first = chain, first
        self.manifold, self.parameters = chain.manifold, chain.parameters
        self.noise_std, self.noisy = chain.noise_std[first:last], chain.noisy[first:last]

    def evaluate(self, first: int, x: States, w: Columns, theta: Vector) -> tuple[States, np.ndarray]:
        return self.chain.evaluate(self.first + first, x, w, theta)

    def evaluate_last(self, x: Vector, theta: Vector) -> Vector:
        return np.zeros(0)

    def linearize(self, first: int, x: States, w: Columns, theta: Vector) -> StageLinearization:
        return self.chain.linearize(self.first + first, x, w, theta)

    def linearize_last(self, x: Vector, theta: Vector) -> LastNodeLinearization:
        return LastNodeLinearization(np.zeros(0), np.zeros((0, self.manifold.degrees)))


@dataclass(frozen=True, eq=False)
class Horizon:
    """What a moving horizon knows after a sample.

    Args:
        first: node of the chain at which it begins.
        problem: of its nodes, with the arrival cost.
        at: states, noise and theta.
    """

    first: int
    problem: ShootingProblem
    at: Trajectories

    @property
    def last(self) -> int:
        """Node at which it ends."""
        return self.first + len(self.at.x[0]) - 1

    @property
    def theta(self) -> Vector:
        return self.at.theta

    @property
    def covariance(self) -> Matrix:
        """(p, p) of theta; zero in unobservable directions."""
        return self.system.covariances()[0]

    @property
    def system(self) -> ArrivalSystem:
        """The equations of its first state and theta, all later nodes eliminated.

        Raises:
            InvalidMethod: if the problem has no minimum here.
        """
        found = LinearizedProblem(self.problem, evaluate(self.problem, self.at)).direction()
        if found is None:
            raise InvalidMethod(
                "the horizon has no minimum here: give more nodes or a prior of the parameters"
            )
        return found.arrival


@dataclass(frozen=True, eq=False)
class MovingHorizon:
    """Optimal estimation over the last nodes.

    Args:
        walk: (p,) standard deviation by which each parameter changes in the square root of a second, in its chart.
        nodes: N of the horizon.
        iterations: Gauss-Newton steps for each node.
        longest: radius of the trust region of theta, as root mean square of its components in its chart.
        closing: standard deviation of speeds that a closing contact leaves open [m/s], [rad/s]: an exact impact would
            say that some speeds are known without error.
    """

    walk: Vector
    nodes: int = 50
    iterations: int = 1
    longest: float = 0.3
    closing: float = 1e-3

    def __post_init__(self) -> None:
        if self.nodes < 3 or self.iterations < 1:
            raise InvalidMethod("a moving horizon needs at least 3 nodes and 1 iteration")
        if not (np.isfinite(self.walk).all() and np.min(self.walk, initial=0.0) >= 0 and self.closing > 0):
            raise InvalidMethod("walk needs standard deviations of at least 0, closing one above 0")

    def init(self, chain: TrajectoryModel, arrival: GaussianPrior, prior: GaussianPrior) -> Horizon:
        """The horizon of the first stage.

        Args:
            chain: dynamics and residuals of all stages so far.
            arrival: of the first state.
            prior: of theta.
        """
        x, _ = chain.evaluate(0, arrival.mean[None], 0 * chain.noise_std[:1], prior.mean)
        at = Trajectories((np.concatenate([arrival.mean[None], x]),), (0 * chain.noise_std[:1],), prior.mean)
        return self._solved(Horizon(0, ShootingProblem((Window(chain, 0, 1),), (arrival,), prior), at))

    def update(self, chain: TrajectoryModel, horizon: Horizon, duration: float) -> Horizon:
        """The horizon one stage later.

        Args:
            chain: with that stage; stages of the horizon are as they were.
            horizon: before it.
            duration: of the stage [s], in which theta walks; 0 of an impact.
        """
        last, (x,), (w,) = horizon.last, horizon.at.x, horizon.at.w
        still = 0 * chain.noise_std[last : last + 1]
        ahead, _ = chain.evaluate(last, x[-1:], still, horizon.theta)
        first, problem = horizon.first, horizon.problem
        if len(x) >= self.nodes:
            arrival, prior = self._left(chain, horizon, duration)
            problem, first, x, w = replace(problem, arrivals=(arrival,), prior=prior), first + 1, x[1:], w[1:]
        window = Window(chain, first, last + 1)
        at = Trajectories((np.concatenate([x, ahead]),), (np.concatenate([w, still]),), horizon.theta)
        return self._solved(Horizon(first, replace(problem, models=(window,)), at))

    def run(
        self,
        problem: ShootingProblem,
        durations: Vector,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
    ) -> list[Horizon]:
        """The horizons after each stage of a recording.

        Args:
            problem: of one recording, with priors of its first state and of theta.
            durations: (N,) of its stages [s]; 0 of impacts.
            progress: called after each stage. stop: asked before each whether to end.
        """
        (chain,), (arrival,) = problem.models, problem.arrivals
        horizons = [self.init(chain, arrival, problem.prior)]
        for stage in range(1, chain.stages):
            if stop_requested(stop):
                break
            horizons.append(self.update(chain, horizons[-1], float(durations[stage])))
            report(progress, "moving horizon", fraction=stage / (chain.stages - 1))
        return horizons

    def _solved(self, horizon: Horizon) -> Horizon:
        """Full Gauss-Newton steps, theta within the trust region.

        Raises:
            InvalidMethod: if there is no minimum even with damping.
        """
        problem, at = horizon.problem, horizon.at
        radius = self.longest * np.sqrt(len(at.theta))
        with threadpool_limits(limits=1, user_api="blas"):  # matrices are small: threads only cost
            for _ in range(self.iterations):
                linear = LinearizedProblem(problem, Evaluation(at, (), 0.0), radius=radius)
                found = next(filter(None, map(linear.direction, DAMPINGS)), None)
                if found is None:
                    raise InvalidMethod(
                        "the horizon has no minimum: give more nodes, or a prior of the parameters"
                    )
                x = problem.models[0].manifold.integrate(at.x[0], found.step.x[0])
                at = Trajectories((x,), (at.w[0] + found.step.w[0],), at.theta + found.step.theta)
        return replace(horizon, at=at)

    def _left(
        self, chain: TrajectoryModel, horizon: Horizon, duration: float
    ) -> tuple[GaussianPrior, GaussianPrior]:
        """Arrival cost of the second node, and prior of theta, after the first node has left."""
        (x,), (w,), theta, problem = horizon.at.x, horizon.at.w, horizon.theta, horizon.problem
        stage = linearized(problem.models[0], x[:2], w[:1], theta, 0)
        n, m, p = stage.sizes
        off = theta - problem.prior.mean
        before = linearized_arrival(chain, problem.arrivals[0], x[0], off)
        noisy = bool(stage.noisy[0])
        L_ww = stage.L_ww[0] if noisy else np.eye(m)
        H = np.block(
            [
                [before.V_xx + stage.L_xx[0], stage.L_xw[0], before.V_xt + stage.L_xt[0]],
                [stage.L_xw[0].T, L_ww, stage.L_wt[0]],
                [(before.V_xt + stage.L_xt[0]).T, stage.L_wt[0].T, problem.prior.information + stage.L_tt],
            ]
        )
        prior_t = problem.prior.information @ off + before.V_t + stage.l_t
        g = np.concatenate([before.V_x + stage.l_x[0], stage.l_w[0] if noisy else np.zeros(m), prior_t])
        T = np.block([[stage.A[0], stage.B[0] * noisy, stage.C[0]], [np.zeros((p, n + m)), np.eye(p)]])
        # units differ by orders of magnitude
        d = 1 / np.sqrt(np.diag(H))
        covariance = d[:, None] * np.linalg.inv(d[:, None] * H * d) * d
        mean = -T @ (covariance @ g) + np.concatenate([stage.gap[0], np.zeros(p)])
        floor = np.full(n, 0.0 if noisy else self.closing)
        spread = T @ covariance @ T.T + np.diag(np.concatenate([floor, self.walk * np.sqrt(duration)]) ** 2)
        s = np.sqrt(np.diag(spread))
        known = np.linalg.inv(spread / np.outer(s, s)) / np.outer(s, s)
        known = 0.5 * (known + known.T)
        state = chain.manifold.integrate(x[1:2], mean[None, :n])[0]
        arrival = GaussianPrior(state, known[:n, :n], known[:n, n:])
        return arrival, GaussianPrior(theta + mean[n:], known[n:, n:])
