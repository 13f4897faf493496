"""Small motions with all that the solver has to cope with: manifolds, resets, residuals of w and theta, null spaces."""

from dataclasses import dataclass

import numpy as np
from scipy import optimize
from scipy.spatial.transform import Rotation

from poinsot.estimators.shooting.problem import (
    GaussianPrior,
    ShootingProblem,
    StageLinearization,
    Trajectories,
    TrajectoryModel,
)
from poinsot.estimators.shooting.rollout import evaluated, stage_cost
from poinsot.models.contacts.contact_dynamics import Linearized
from poinsot.models.robot.configuration_space import Manifold
from poinsot_reproductions.optimal_estimation.flat_space import FlatSpace

H = 0.05


@dataclass
class Pendulum(TrajectoryModel):
    """x = (q, v), theta = (log(g / l), friction, gain): a motor drives it, an encoder and an accelerometer watch.

    v' = v + h a + w,  q' = q + h v',  a = -e^theta_0 sin q - theta_1 v + theta_2 u
    At `resets` it hits a stop: v' = -v / 2, without noise.
    """

    u: np.ndarray
    encoder: np.ndarray
    accelerometer: np.ndarray
    resets: tuple = ()
    sigma: tuple = (0.01, 0.1, 0.02)  # encoder, accelerometer, w
    last_encoder: float = 0.0

    def __post_init__(self):
        N = len(self.u)
        self.manifold = FlatSpace(2)
        self.noise_std = np.full((N, 1), self.sigma[2])
        self.noisy = ~np.isin(np.arange(N), self.resets)
        self.theta_size = 3

    def _a(self, first, x, theta):
        q, v = x.T
        return -np.exp(theta[0]) * np.sin(q) - theta[1] * v + theta[2] * self.u[first : first + len(x)]

    def evaluate(self, first, x, w, theta):
        q, v = x.T
        a = self._a(first, x, theta)
        stretch = slice(first, first + len(x))
        noisy = self.noisy[stretch]
        speed = np.where(noisy, v + H * a + w[:, 0], -0.5 * v)
        f = np.stack([np.where(noisy, q + H * speed, q), speed], axis=1)
        felt = (a + w[:, 0] / H - self.accelerometer[stretch]) / self.sigma[1]
        r = [(q - self.encoder[stretch]) / self.sigma[0], np.where(noisy & np.isfinite(felt), felt, 0.0)]
        return f, np.stack(r, axis=1)

    def linearize(self, first, x, w, theta):
        f, r = self.evaluate(first, x, w, theta)
        T = len(x)
        q, v = x.T
        zero, one = np.zeros(T), np.ones(T)
        stretch = slice(first, first + T)
        noisy = self.noisy[stretch]
        a_q = -np.exp(theta[0]) * np.cos(q)
        a_v = np.full(T, -theta[1])
        a_t = np.stack([-np.exp(theta[0]) * np.sin(q), -v, self.u[stretch]], axis=1)
        v_x = np.where(noisy[:, None], np.stack([H * a_q, 1 + H * a_v], axis=1), [0.0, -0.5])
        v_t = np.where(noisy[:, None], H * a_t, 0.0)
        f_x = np.stack([np.stack([one, zero], 1) + H * noisy[:, None] * v_x, v_x], axis=1)
        f_w = np.stack([H * one, one], axis=1)[:, :, None] * noisy[:, None, None]
        f_t = np.stack([H * v_t, v_t], axis=1)
        seen = (noisy & np.isfinite(self.accelerometer[stretch])) / self.sigma[1]
        r_x = np.stack(
            [np.stack([one, zero], 1) / self.sigma[0], np.stack([a_q, a_v], 1) * seen[:, None]], axis=1
        )
        r_w = np.stack([zero, seen / H], axis=1)[:, :, None]
        r_t = np.stack([np.zeros((T, 3)), a_t * seen[:, None]], axis=1)
        return StageLinearization(f, f_x, f_w, f_t, r, r_x, r_w, r_t)

    def last(self, x, theta, slopes=False):
        return Linearized(
            (x[None, :1] - self.last_encoder) / self.sigma[0], np.array([[[1.0, 0.0]]]) / self.sigma[0]
        )


TRUE = np.array([np.log(9.81 / 0.7), 0.3, 4.0])


def pendulum(rng, N=60, resets=(), theta=TRUE, prior=None, exact=False):
    """A problem of one recording, its truth, and the recording's states."""
    u = np.sin(np.linspace(0, 9, N)) + 0.5 * np.sin(np.linspace(0, 31, N))
    blank = np.zeros(N)
    motion = Pendulum(u, blank, blank, resets)
    x, w = np.empty((N + 1, 2)), motion.sigma[2] * rng.standard_normal((N, 1)) * motion.noisy[:, None]
    w *= not exact
    x[0] = 0.8, -0.5
    felt = np.empty(N)
    for k in range(N):
        x[k + 1] = motion.evaluate(k, x[k : k + 1], w[k : k + 1], theta)[0][0]
        felt[k] = (motion._a(k, x[k : k + 1], theta) + w[k, 0] / H)[0]
    noise = 0.0 if exact else 1.0
    encoder = x[:, 0] + noise * motion.sigma[0] * rng.standard_normal(N + 1)
    felt += noise * motion.sigma[1] * rng.standard_normal(N)
    felt[::3] = np.nan  # a slower sensor
    motion = Pendulum(u, encoder[:-1], felt, resets, last_encoder=encoder[-1])
    return motion, Trajectories((x,), (w,), theta), encoder


def pendulum_problem(rng, recordings=1, prior_std=None, **keywords):
    made = [pendulum(rng, **keywords) for _ in range(recordings)]
    motions = tuple(motion for motion, *_ in made)
    mean = np.array([2.0, 0.0, 2.0])
    prior = (
        GaussianPrior.flat(mean)
        if prior_std is None
        else GaussianPrior.from_covariance(TRUE, np.full(3, prior_std**2))
    )
    arrivals = tuple(GaussianPrior(x.x[0][0], np.diag([0.0, 1 / 0.3**2])) for _, x, _ in made)
    x = tuple(np.stack([encoder, np.gradient(encoder, H)], axis=1) for *_, encoder in made)
    w = tuple(np.zeros((motion.stages, 1)) for motion in motions)
    truth = Trajectories(
        tuple(each.x[0] for _, each, _ in made), tuple(each.w[0] for _, each, _ in made), TRUE
    )
    return ShootingProblem(motions, arrivals, prior), Trajectories(x, w, mean), truth


class Rotations(Manifold):
    """(quaternion x y z w, angular velocity): 7 numbers, 6 directions, changes in the body's axes."""

    size, degrees = 7, 6

    def integrate(self, x, d):
        q = Rotation.from_quat(x[:, :4]) * Rotation.from_rotvec(np.array(d[:, :3]))
        return np.concatenate([q.as_quat(), x[:, 4:] + d[:, 3:]], axis=1)

    def difference(self, x, y):
        d = (Rotation.from_quat(x[:, :4]).inv() * Rotation.from_quat(y[:, :4])).as_rotvec()
        return np.concatenate([d, y[:, 4:] - x[:, 4:]], axis=1)

    def difference_jacobians(self, x, y):
        d = self.difference(x, y)[:, :3]
        by_x, by_y = -np.tile(np.eye(6), (len(x), 1, 1)), np.tile(np.eye(6), (len(x), 1, 1))
        by_y[:, :3, :3] = np.linalg.inv(right_jacobian(d))
        by_x[:, :3, :3] = -np.linalg.inv(right_jacobian(-d))
        return by_x, by_y


def skew(a):
    S = np.zeros((len(a), 3, 3))
    S[:, 0, 1], S[:, 0, 2], S[:, 1, 2] = -a[:, 2], a[:, 1], -a[:, 0]
    return S - S.transpose(0, 2, 1)


def right_jacobian(d):
    """Exp(d + dd) = Exp(d) Exp(J dd)."""
    angle = np.linalg.norm(d, axis=1)[:, None, None]
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    a = np.where(small, 0.5 - angle**2 / 24, (1 - np.cos(safe)) / safe**2)
    b = np.where(small, 1 / 6 - angle**2 / 120, (safe - np.sin(safe)) / safe**3)
    S = skew(d)
    return np.eye(3) - a * S + b * S @ S


@dataclass
class Tumbling(TrajectoryModel):
    """A free body with a gyro and, rarely, a compass; theta = logs of its principal inertias: only ratios can be seen.

    omega' = omega + h J^-1 (-omega x J omega) + w,  R' = R Exp(h omega')
    """

    gyro: np.ndarray
    compass: np.ndarray  # (N + 1, 4) quaternions, NaN where there is none
    sigma: tuple = (0.02, 0.01, 0.01)

    def __post_init__(self):
        N = len(self.gyro) - 1
        self.manifold = Rotations()
        self.noise_std = np.full((N, 3), self.sigma[2])
        self.noisy = np.ones(N, dtype=bool)
        self.theta_size = 3

    def _turn(self, omega, theta):
        J = np.exp(theta)
        return np.stack(
            [
                (J[j] - J[k]) / J[i] * omega[:, j] * omega[:, k]
                for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
            ],
            1,
        )

    def _residuals(self, first, x):
        stretch = slice(first, first + len(x))
        seen = np.isfinite(self.compass[stretch, 0])
        reference = np.where(seen[:, None], self.compass[stretch], [0, 0, 0, 1.0])
        off = (Rotation.from_quat(reference).inv() * Rotation.from_quat(x[:, :4])).as_rotvec()
        r = [
            (x[:, 4:] - self.gyro[stretch]) / self.sigma[0],
            np.where(seen[:, None], off, 0.0) / self.sigma[1],
        ]
        r_x = np.zeros((len(x), 6, 6))
        r_x[:, :3, 3:] = np.eye(3) / self.sigma[0]
        r_x[:, 3:, :3] = np.linalg.inv(right_jacobian(off)) * seen[:, None, None] / self.sigma[1]
        return np.concatenate(r, axis=1), r_x

    def evaluate(self, first, x, w, theta):
        omega = x[:, 4:] + H * self._turn(x[:, 4:], theta) + w
        if not (np.abs(omega) < 1e6).all():  # SciPy raises there; a model returns what is not a number
            return np.full_like(x, np.nan), np.full((len(x), 6), np.nan)
        R = Rotation.from_quat(x[:, :4]) * Rotation.from_rotvec(H * omega)
        return np.concatenate([R.as_quat(), omega], axis=1), self._residuals(first, x)[0]

    def linearize(self, first, x, w, theta):
        f, r = self.evaluate(first, x, w, theta)
        T, omega, J = len(x), x[:, 4:], np.exp(theta)
        turn = self._turn(omega, theta)
        o_o, o_t = np.tile(np.eye(3), (T, 1, 1)), np.zeros((T, 3, 3))
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            o_o[:, i, j] += H * (J[j] - J[k]) / J[i] * omega[:, k]
            o_o[:, i, k] += H * (J[j] - J[k]) / J[i] * omega[:, j]
            o_t[:, i, i] -= H * turn[:, i]
            o_t[:, i, j] += H * J[j] / J[i] * omega[:, j] * omega[:, k]
            o_t[:, i, k] -= H * J[k] / J[i] * omega[:, j] * omega[:, k]
        moved = H * f[:, 4:]
        Jr = H * right_jacobian(moved)
        f_x = np.zeros((T, 6, 6))
        f_x[:, :3, :3] = Rotation.from_rotvec(-moved).as_matrix()
        f_x[:, :3, 3:], f_x[:, 3:, 3:] = Jr @ o_o, o_o
        f_w = np.concatenate([Jr, np.tile(np.eye(3), (T, 1, 1))], axis=1)
        return StageLinearization(
            f, f_x, f_w, np.concatenate([Jr @ o_t, o_t], axis=1), r, self._residuals(first, x)[1]
        )

    def last(self, x, theta, slopes=False):
        return Linearized(*self._residuals(len(self.noisy), x[None]))


INERTIA = np.log([1.0, 1.6, 2.2])


def tumbling_problem(rng, N=60, known=False, off=0.4):
    """`known`: the mean of the logs is known, so that nothing is unobservable."""
    blank = Tumbling(np.zeros((N + 1, 3)), np.full((N + 1, 4), np.nan))
    x, w = np.empty((N + 1, 7)), blank.sigma[2] * rng.standard_normal((N, 3))
    x[0] = *Rotation.from_rotvec([0.3, -0.2, 0.5]).as_quat(), 1.0, 3.0, 0.4
    for k in range(N):
        x[k + 1] = blank.evaluate(k, x[k : k + 1], w[k : k + 1], INERTIA)[0][0]
    gyro = x[:, 4:] + blank.sigma[0] * rng.standard_normal((N + 1, 3))
    shaken = Rotation.from_quat(x[:, :4]) * Rotation.from_rotvec(
        blank.sigma[1] * rng.standard_normal((N + 1, 3))
    )
    compass = np.full((N + 1, 4), np.nan)
    compass[::7] = shaken.as_quat()[::7]
    motion = Tumbling(gyro, compass)
    mean = INERTIA + off * np.array([1.0, -0.5, -0.5])
    information = np.full((3, 3), 1e2 / 9) if known else np.zeros((3, 3))
    guess = x.copy()
    held = np.maximum.accumulate(np.where(np.isfinite(compass[:, 0]), np.arange(N + 1), 0))
    guess[:, :4], guess[:, 4:] = compass[held], gyro
    arrival = GaussianPrior(x[0], np.diag([0, 0, 0, 1.0, 1.0, 1.0]))
    problem = ShootingProblem((motion,), (arrival,), GaussianPrior(mean, information))
    return problem, Trajectories((guess,), (np.zeros((N, 3)),), mean), Trajectories((x,), (w,), INERTIA)


def dense_optimum(problem, start):
    """theta, cost and states by SciPy, on (theta, arrival states, w) with every recording simulated."""
    p = len(start.theta)
    sizes = [(m.manifold.degrees, m.noise_std[m.noisy].size) for m in problem.models]

    def unpack(z):
        theta, place, x, w = z[:p], p, [], []
        for motion, x_0, (n, m) in zip(problem.models, start.x, sizes, strict=True):
            first = motion.manifold.integrate(x_0[:1], z[None, place : place + n])
            noise = np.zeros_like(motion.noise_std)
            noise[motion.noisy] = (
                z[place + n : place + n + m].reshape(-1, noise.shape[1]) * motion.noise_std[motion.noisy]
            )
            place += n + m
            states = [first]
            for k in range(motion.stages):
                states.append(motion.evaluate(k, states[-1], noise[k : k + 1], theta)[0])
            x.append(np.concatenate(states))
            w.append(noise)
        return Trajectories(tuple(x), tuple(w), theta)

    def residuals(z):
        at = unpack(z)
        parts = [root(problem.prior.information) @ (at.theta - problem.prior.mean)]
        for motion, arrival, x, w in zip(problem.models, problem.arrivals, at.x, at.w, strict=True):
            d = motion.manifold.difference(arrival.mean[None], x[:1])[0]
            parts += [root(arrival.information) @ d, (w / motion.noise_std)[motion.noisy].ravel()]
            parts.append(motion.evaluate(0, x[:-1], w, at.theta)[1].ravel())
            parts.append(motion.last(x[-1], at.theta).value[0])
        return np.concatenate(parts)

    z = [start.theta]
    for motion, w, (n, _) in zip(problem.models, start.w, sizes, strict=True):
        z += [np.zeros(n), (w / motion.noise_std)[motion.noisy].ravel()]
    found = optimize.least_squares(
        residuals, np.concatenate(z), xtol=1e-12, ftol=1e-14, gtol=1e-12, x_scale="jac", method="lm"
    )
    J = optimize.approx_fprime(found.x, residuals, 1e-7)
    return unpack(found.x), found.cost, J


def root(M):
    values, vectors = np.linalg.eigh(M)
    return np.sqrt(np.clip(values, 0, None))[:, None] * vectors.T


def total_cost(problem, at):
    """Along consistent states."""
    along = 0.0
    for motion, x, w in zip(problem.models, at.x, at.w, strict=True):
        along += stage_cost(motion, 0, w, motion.evaluate(0, x[:-1], w, at.theta)[1])
    return evaluated(problem, at, (), along).cost
