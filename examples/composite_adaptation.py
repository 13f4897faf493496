"""Composite adaptation: a filter that the tracking error of a controller updates as well (Slotine and Li 1989).

A controller that follows q_r with a sliding error s = v - v_r, tau = Y_r(q, v, v_r, a_r) pi_hat - K s, has an error
that depends on the errors of the bodies: with Y_r pi = M a_r + C(q, v) v_r + g and e = x_hat - x,

    M s' + C s + K s = Y_r (pi_hat - pi) = H_r e,   H_r = Y_r D,  D = dpi/dx

The filter, in continuous time, has x_hat' = -P H^T R^-1 H e and (P^-1)' = H^T R^-1 H - P^-1 Q P^-1. With a term of
the task's error,

    x_hat' = -P H^T R^-1 H e - gamma P H_r^T s

V = s^T M s / 2 + e^T P^-1 e / (2 gamma) falls where x does not change: M' - 2 C is skew, s^T H_r e cancels, and

    V' = -s^T K s - (|R^-1/2 H e|^2 + |Q^1/2 P^-1 e|^2) / (2 gamma)

so s -> 0 whatever the motion, and H e -> 0: the first needs no excitation, the second no controller. (That P stays
below P_max makes Q smaller, but not less than 0.) On a chart H_r e is linear for small e; with P proportional to the
inverse of the metric, the task's term is the natural law of Lee, Kwon and Park (2018), in coordinates, which needs no
small e. Every belief is a physically possible body.

C comes from the filter's own inverse dynamics. Its velocity terms are b(v) = C(q, v) v, quadratic, so by polarization

    Y_r = 2 Y(q, (v + v_r) / sqrt 8, a_r / 2) - Y(q, (v - v_r) / 2, 0)

which is exact, and skew, for joints of one freedom each. With a floating base or ball joints it lacks a term that is
quadratic in s, which K s outweighs near the reference.

The example is an arm that follows sines with a load in its hand, with and without the task's term.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

import poinsot
from poinsot.arrays import Matrix, Vector
from poinsot.estimators.online.belief import Belief, Innovation, Sample
from poinsot.estimators.online.filter import Filter
from poinsot.exceptions import InvalidMethod, InvalidSignals

ARM = "examples/arm/arm.urdf"
LINK, LOAD = "forearm", 3.0
"""Where the arm carries how much more than it is described with [kg]."""
RATE, GAIN, DAMPING = 333.0, 5.0, 20.0
"""Samples a second; of the position's error in v_r [1/s]; K [N m s]."""


@dataclass(frozen=True, eq=False)
class TaskReference:
    """Reference of a controller when a sample was taken.

    Args:
        velocity: (n,) v_r, as a rule that of the trajectory less a gain times the position's error.
        acceleration: (n,) a_r, its derivative.
    """

    velocity: Vector
    acceleration: Vector


@dataclass(frozen=True, eq=False)
class CompositeAdaptation:
    """A filter, and an update by the task's error beside its own.

    Args:
        filter: of the open bodies.
        gain: gamma, of the task's term; 0: the filter alone [1/J].
        longest_hold_s: for how long an error of the task is taken as constant after its sample; a gap in the samples
            is longer, and nothing is known of the error in it [s].

    Raises:
        InvalidMethod: if the gain is negative or not finite.
    """

    filter: Filter
    gain: float
    longest_hold_s: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.gain < math.inf:
            raise InvalidMethod(f"the gain of the task's error must be at least 0, not {self.gain:g}")

    def init(self, pi: np.ndarray | None = None) -> Belief:
        """The belief before the first sample, as of the filter."""
        return self.filter.init(pi)

    def step(
        self, belief: Belief, sample: Sample, reference: TaskReference | None = None
    ) -> tuple[Belief, Innovation]:
        """The filter's step, then the task's term over the same interval; None: no task.

        Raises:
            InvalidSignals: if sample or reference are not of this robot.
        """
        after, innovation = self.filter.step(belief, sample)
        # a sample that is late leaves the time where it was
        dt = after.time - belief.time
        if reference is None or not dt > 0:
            return after, innovation
        return self.task_update(after, sample, reference, min(dt, self.longest_hold_s)), innovation

    def run(
        self, samples: Iterable[tuple[Sample, TaskReference | None]], belief: Belief | None = None
    ) -> Iterator[tuple[Belief, Innovation]]:
        """Belief and innovation after each sample, as they come."""
        belief = self.init() if belief is None else belief
        for sample, reference in samples:
            belief, innovation = self.step(belief, sample, reference)
            yield belief, innovation

    def task_update(self, belief: Belief, sample: Sample, reference: TaskReference, dt: float) -> Belief:
        """The task's term alone: x <- x - gamma P H_r^T s dt; a reference that is not finite changes nothing.

        Args:
            dt: for how long the error is taken as constant [s].

        Raises:
            InvalidSignals: if the reference is not of this robot.
        """
        safe = self.filter.safeguards
        n = self.filter.torques.robot.model.nv
        if not (np.shape(reference.velocity) == np.shape(reference.acceleration) == (n,)):
            raise InvalidSignals(f"a task's reference has {n} velocities and {n} accelerations")
        s = np.asarray(sample.v, dtype=float) - reference.velocity
        Y, D = reference_regressor(self.filter, sample, reference), self.filter.jacobian(belief.x)
        H = np.einsum("nkr,krc->nkc", Y.reshape(len(Y), len(D), 10), D).reshape(Y.shape)
        # without forming P
        step = -self.gain * dt * belief.root @ (belief.root.T @ (H.T @ s))
        longest = np.abs(step).max()
        # a reference may be missing for some ticks: the filter alone goes on
        if not np.isfinite(longest):
            return belief
        x = belief.x + step * (
            safe.longest_step / longest if self.filter.curved and longest > safe.longest_step else 1.0
        )
        return belief.having(x) if self.filter.is_plausible(belief, x) else belief


def reference_regressor(filter_: Filter, sample: Sample, reference: TaskReference) -> Matrix:
    """(n, d) Y_r of the open bodies: Y_r pi = M a_r + C(q, v) v_r + g of them alone."""
    v, v_r, a_r = np.asarray(sample.v, float), reference.velocity, reference.acceleration
    # NaN in the reference, which `task_update` answers
    with np.errstate(invalid="ignore", over="ignore"):
        Y, _ = filter_.torques(np.asarray(sample.q, float), (v + v_r) / math.sqrt(8), a_r / 2)
        Z, _ = filter_.torques(np.asarray(sample.q, float), (v - v_r) / 2, np.zeros_like(v))
        return 2 * Y - Z


def follow(gain: float, seconds: float = 2.0) -> tuple[np.ndarray, float]:
    """Sliding errors (T, n) of the loaded arm under the controller, and the mass of its link at the end [kg].

    Args:
        gain: gamma; 0: the filter alone.
    """
    robot = poinsot.load_robot(ARM, friction=poinsot.NoFriction())
    bodies, n = tuple(robot.bodies), robot.model.nv
    k = bodies.index(LINK)
    # efforts so noisy that the filter alone takes seconds
    adaptation = CompositeAdaptation(
        poinsot.ExtendedKalmanFilter(
            poinsot.LinkTorques(robot, (LINK,)), 100.0, initial_std=0.5, drift=0.0, gate=None
        ),
        gain,
    )
    others = poinsot.ExtendedKalmanFilter(
        poinsot.LinkTorques(robot, tuple(b for b in bodies if b != LINK)), 1.0
    )
    known = np.delete(robot.inertials, k, axis=0).ravel()
    plant = robot.model.copy()
    plant.inertias[k + 1] += pin.Inertia(LOAD, plant.inertias[k + 1].lever, np.zeros((3, 3)))
    data, dt, rng = plant.createData(), 1 / RATE, np.random.default_rng(0)
    w, size = np.linspace(2.0, 4.0, n), np.full(n, 0.6)
    q, v, belief, sliding = np.zeros(n), size * w, adaptation.init(), []
    for t in np.arange(round(seconds * RATE)) * dt:
        q_d, v_d, a_d = size * np.sin(w * t), size * w * np.cos(w * t), -size * w**2 * np.sin(w * t)
        reference = TaskReference(v_d - GAIN * (q - q_d), a_d - GAIN * (v - v_d))
        current = Sample(t, q.copy(), v.copy(), np.zeros(n), np.zeros(n))
        tau = reference_regressor(others, current, reference) @ known - DAMPING * (v - reference.velocity)
        own = adaptation.filter.inertial(belief.x).ravel()
        tau = tau + reference_regressor(adaptation.filter, current, reference) @ own
        a = pin.aba(plant, data, q, v, tau)
        sample = Sample(t, q.copy(), v.copy(), a.copy(), tau + 100.0 * rng.standard_normal(n))
        belief, _ = adaptation.step(belief, sample, reference)
        sliding.append(v - reference.velocity)
        for _ in range(3):
            v = v + pin.aba(plant, data, q, v, tau) * dt / 3
            q = q + v * dt / 3
    return np.array(sliding), float(adaptation.filter.inertial(belief.x)[0, 0])


if __name__ == "__main__":
    for gain in (0.0, 1.0):
        sliding, mass = follow(gain)
        print(
            f"gain {gain:g}: rms of s {np.sqrt(np.mean(sliding**2)):.3f} rad/s, {LINK} at the end {mass:.2f} kg"
        )
