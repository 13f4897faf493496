"""Optimal estimation over the last N nodes, sample after sample: a moving horizon (Rao, Rawlings and Lee 2001).

Each new sample adds a node, and beyond N nodes the oldest leaves. What it knew of the next one and of theta becomes the
arrival cost. With the quadratic model of the first stage, arrival cost and residuals there,

    1/2 y^T H y + g^T y,   y = (dx, dw, dtheta),     dx' = A dx + B dw + C dtheta + gap

y is normal with mean -H^-1 g and covariance H^-1, and so are (x', theta) through the dynamics,

    mean  T (-H^-1 g) + (gap, 0),     covariance  T H^-1 T^T + diag(0, Q),     T = [A B C; 0 0 1]

which is one step of an extended Kalman filter, taken where the horizon has smoothed the state. Q, the random walk of
theta in that time, lets a payload that is picked up be seen. The iteration starts at the last solution, so a full step
a sample is enough (Diehl, Bock and Schloeder 2005), without a line search. A contact that closes is two nodes.

The motion of a run has each node as it was when it left the horizon, known from N samples after it, and the last nodes
as they are at the end. Residuals there, with the process noise, have as many degrees of freedom as there are readings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge
from threadpoolctl import ThreadpoolController

from ...arrays import Columns, States, Vector
from ...estimate import Estimate, Status
from ...estimate.motions import ParameterHistory
from ...exceptions import InvalidMethod, NotIdentifiable
from ...models.contacts.contact_dynamics import Linearized
from ...ranges import Count, Positive
from ...solve import Method, ProgressCallback, Replay, Stop, report, stop_requested
from .arrival import ArrivalSystem
from .ddp import ShootingSolution, posterior
from .direction import ShootingIterate, ShootingSearch, linearized, linearized_arrival
from .estimation import OptimalEstimationProblem
from .problem import (
    GaussianPrior,
    ShootingProblem,
    StageLinearization,
    Trajectories,
    TrajectoryModel,
    scaled_inverse,
)
from .rollout import Evaluation
from .summary import EstimateSummary

DAMPINGS = 0.0, 1e-3, 1e-1
"""Tried one after the other until there is a minimum, relative to the diagonal."""
BLAS = ThreadpoolController()
"""Kept: to look for the loaded libraries takes as long as a step of a small robot."""


class Window(TrajectoryModel):
    """Some stages of a longer chain; its last node has no residuals, which need commands and belong to the next stage.

    Args:
        chain: the longer one. first, last: the window's nodes.
    """

    def __init__(self, chain: TrajectoryModel, first: int, last: int):
        self.chain, self.first = chain, first
        self.manifold, self.theta_size = chain.manifold, chain.theta_size
        self.noise_std, self.noisy = chain.noise_std[first:last], chain.noisy[first:last]

    def evaluate(self, first: int, x: States, w: Columns, theta: Vector) -> tuple[States, np.ndarray]:
        return self.chain.evaluate(self.first + first, x, w, theta)

    def linearize(self, first: int, x: States, w: Columns, theta: Vector) -> StageLinearization:
        return self.chain.linearize(self.first + first, x, w, theta)

    def last(self, x: Vector, theta: Vector, slopes: bool = False) -> Linearized:
        return Linearized(np.zeros((1, 0)), np.zeros((1, 0, self.manifold.degrees)))


@dataclass(frozen=True, eq=False)
class Horizon:
    """What a moving horizon knows after a sample.

    Args:
        first: node of the chain at which it begins.
        problem: of its nodes, with the arrival cost.
        at: states, noise and theta.
        system: equations of its first state and theta, all later nodes eliminated, where the last step began.
    """

    first: int
    problem: ShootingProblem
    at: Trajectories
    system: ArrivalSystem


@dataclass(frozen=True, eq=False)
class MovingHorizon(Method):
    """Optimal estimation over the last nodes.

    Args:
        walk: (p,) standard deviation by which each component of theta changes in the square root of a second.
        nodes: N of the horizon.
        iterations: Gauss-Newton steps for each node.
        longest: radius of the trust region of theta, as root mean square of its components in units of the problem's
            scale.
        closing: standard deviation of speeds that a closing contact leaves open [m/s], [rad/s]: an exact impact would
            say that some speeds are known without error.
    """

    walk: Vector
    nodes: Annotated[int, Ge(3)] = 50
    iterations: Count = 1
    longest: Positive = 0.3
    closing: Positive = 1e-3

    name = "moving-horizon"
    citations = ("martinez2024", "rao2001", "diehl2005")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (np.isfinite(self.walk).all() and np.min(self.walk, initial=0.0) >= 0):
            raise InvalidMethod("walk needs standard deviations of at least 0")

    def init(self, problem: ShootingProblem) -> Horizon:
        """The horizon of the first stage.

        Args:
            problem: of one recording, with priors of its first state and of theta that leave nothing open.
        """
        (chain,), (arrival,) = problem.models, problem.arrivals
        at = Trajectories((arrival.mean[None],), (chain.noise_std[:0],), problem.prior.mean)
        return self._solved(chain, 0, problem, at)

    def update(self, chain: TrajectoryModel, horizon: Horizon, duration: float) -> Horizon:
        """The horizon one stage later.

        Args:
            chain: with that stage; stages of the horizon are as they were.
            horizon: before it.
            duration: of the stage [s], in which theta walks; 0 of an impact.
        """
        first, problem, at = horizon.first, horizon.problem, horizon.at
        if len(at.x[0]) >= self.nodes:
            arrival, prior = self._left(chain, horizon, duration)
            problem, first = replace(problem, arrivals=(arrival,), prior=prior), first + 1
            at = replace(at, x=(at.x[0][1:],), w=(at.w[0][1:],))
        return self._solved(chain, first, problem, at)

    def solve(
        self,
        problem: OptimalEstimationProblem,
        *,
        progress: ProgressCallback | None = None,
        stop: Stop | None = None,
        on_sample: Callable[[Mapping[str, Any]], object] | None = None,
    ) -> Estimate:
        """The estimate after all samples of a recording, and the motion on the way.

        Args:
            problem: of one recording, with priors of its first state and of all parameters.
            progress: called after each stage. stop: asked before each whether to end; `Status.interrupted` then.
            on_sample: takes the parameters after each sample, with standard deviations.

        Raises:
            InvalidMethod: if there is another recording, or something is not known before the first sample.
            NotIdentifiable: if a horizon has no minimum.
        """
        shooting, (model, *others) = problem.shooting, (*problem.models, *problem.held_out)
        if others:
            raise InvalidMethod(f"a moving horizon goes along one recording: leave out {others[0].name!r}")
        if model.arrival is None:
            raise InvalidMethod("a moving horizon needs start_std = [positions, speeds], of the first state")
        if shooting.prior.rank < len(shooting.prior.mean):
            raise InvalidMethod(
                "a moving horizon needs a prior of every open parameter: prior_std, and [priors] of those of joints"
            )
        parameters, names = problem.parameters, problem.parameters.physical_names
        errors = parameters.sensor_errors(shooting.prior.mean)
        for sensor in (some.sensor for some in model.readings):
            for late in errors.delays(sensor.quantity, sensor.frames):
                raise InvalidMethod(
                    f'a moving horizon takes readings to be of their time: leave {late} out, and write method = "none" '
                    f"and delays = {{ {sensor.quantity} = 0.002 }}, of each late quantity, in [preprocessing]"
                )
        times, closes = model.times[model.samples], np.append(model.resets, False)
        # of the nodes that have left: state, covariance, noise and theta
        left: list[tuple[np.ndarray, ...]] = []
        history: list[tuple[Any, ...]] = []
        now = before = self.init(shooting)
        for node, duration in enumerate(np.diff(times).tolist(), start=1):
            if node > 1 and stop_requested(stop):
                break
            if node > 1:
                now, before = self.update(model, now, duration), now
                report(progress, "moving horizon", fraction=(node - 1) / (model.stages - 1))
            at = before.at
            if now.first > before.first:
                left.append((at.x[0][0], before.system.covariances()[1][0], at.w[0][0], at.theta))
            # a foot lands: the sample has another node
            if closes[node]:
                continue
            slope = parameters.physical_slope(now.at.theta)
            P_tt = now.system.covariances()[0]
            estimated = parameters.physical(now.at.theta), np.sqrt(np.diag(slope @ P_tt @ slope.T))
            history.append((times[node], *estimated))
            if on_sample is not None:
                values, std = (dict(zip(names, row.tolist(), strict=True)) for row in estimated)
                line = {"time": float(times[node]), "recording": model.name}
                on_sample(line | {"parameters": values, "std": std})
        at_end, w = posterior(now.problem, now.at), np.pad(now.at.w[0], ((0, 1), (0, 0)))
        left += zip(now.at.x[0], at_end.states[0], w, np.tile(now.at.theta, (len(w), 1)), strict=True)
        last = len(left) - 1
        run = model.part(0, int(model.samples[last]) + 1)
        x, spread, w, thetas = (np.array(column)[: run.stages + 1] for column in zip(*left, strict=True))
        at = Trajectories((x,), (w[:-1],), now.at.theta)
        status = Status.solved if last == model.stages else Status.interrupted
        start, null = Evaluation(at, (), np.nan), at_end.unobservable
        solution = ShootingSolution(at, np.nan, status, (), start, null, shooting)
        summary = EstimateSummary((run,), problem.known, solution, replace(at_end, states=(spread,)), thetas)
        along, estimates, stds = map(np.array, zip(*history, strict=True))
        return summary.estimate().updated(
            ParameterHistory(names, along, estimates, np.sqrt(summary.widening) * stds),
            method=self.name,
            problem=Replay(problem, self),
            citations=self.citations,
            examiner=summary.examine,
            iterations=last * self.iterations,
        )

    def _solved(
        self, chain: TrajectoryModel, first: int, problem: ShootingProblem, at: Trajectories
    ) -> Horizon:
        """The horizon with one more node, after full Gauss-Newton steps, theta within the trust region."""
        last, (x,), (w,) = first + len(at.w[0]), at.x, at.w
        still = 0 * chain.noise_std[last : last + 1]
        ahead, _ = chain.evaluate(last, x[-1:], still, at.theta)
        at = Trajectories((np.concatenate([x, ahead]),), (np.concatenate([w, still]),), at.theta)
        problem = replace(problem, models=(Window(chain, first, last + 1),))
        radius = self.longest * np.sqrt(len(at.theta))
        with BLAS.limit(limits=1, user_api="blas"):  # matrices are small: threads only cost
            for _ in range(self.iterations):
                now = ShootingIterate(ShootingSearch(problem, radius=radius), Evaluation(at, (), 0.0))
                direction = next(filter(None, map(now.direction, DAMPINGS)), None)
                if direction is None:
                    raise NotIdentifiable("the horizon has no minimum: give more nodes, or narrower priors")
                step, system = direction.step, direction.arrival
                x = problem.models[0].manifold.integrate(at.x[0], step.x[0])
                at = Trajectories((x,), (at.w[0] + step.w[0],), at.theta + step.theta)
        return Horizon(first, problem, at, system)

    def _left(
        self, chain: TrajectoryModel, horizon: Horizon, duration: float
    ) -> tuple[GaussianPrior, GaussianPrior]:
        """Arrival cost of the second node, and prior of theta, after the first node has left."""
        (x,), (w,), theta, problem = horizon.at.x, horizon.at.w, horizon.at.theta, horizon.problem
        stage = linearized(problem.models[0], x[:2], w[:1], theta, 0)
        n, m, p = stage.sizes
        off = theta - problem.prior.mean
        before = linearized_arrival(chain, problem.arrivals[0], x[0], off)
        noisy = bool(stage.noisy[0])
        L_ww = stage.L_ww[0] if noisy else np.eye(m)
        V_xx, V_xt = before.V_xx + stage.L_xx[0], before.V_xt + stage.L_xt[0]
        L_xw, L_wt, V_tt = stage.L_xw[0], stage.L_wt[0], problem.prior.information + stage.L_tt
        H = np.block([[V_xx, L_xw, V_xt], [L_xw.T, L_ww, L_wt], [V_xt.T, L_wt.T, V_tt]])
        prior_t = problem.prior.information @ off + before.V_t + stage.l_t
        g = np.concatenate([before.V_x + stage.l_x[0], stage.l_w[0] if noisy else np.zeros(m), prior_t])
        T = np.block([[stage.A[0], stage.B[0] * noisy, stage.C[0]], [np.zeros((p, n + m)), np.eye(p)]])
        covariance = scaled_inverse(H)
        mean = -T @ (covariance @ g) + np.concatenate([stage.gap[0], np.zeros(p)])
        floor = np.full(n, 0.0 if noisy else self.closing)
        spread = T @ covariance @ T.T + np.diag(np.concatenate([floor, self.walk * np.sqrt(duration)]) ** 2)
        known = scaled_inverse(spread)
        known = 0.5 * (known + known.T)
        state = chain.manifold.integrate(x[1:2], mean[None, :n])[0]
        arrival = GaussianPrior(state, known[:n, :n], known[:n, n:])
        return arrival, GaussianPrior(theta + mean[n:], known[n:, n:])
