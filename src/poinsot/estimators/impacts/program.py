"""Motion, impulses, J/m and friction of one drop as a nonlinear program (Gabiccini et al., Eqs. 23 to 27).

    minimize    sum_i |(q(t_i) - q_i) / sigma|^2  +  rho sum_k Gamma_k  (+ a little that keeps steps even)

over poses, velocities, impulses, J/m, mu and the durations of steps, subject to

    q_{k+1} = q_k + h_k v_k + h_k^2 a / 2,     v_{k+1} = v_k + h_k a + M^-1 G(q_{k+1}) c_{k+1}
    0 <= g(q_k), c_n, c_+, c_-, lambda,    0 <= mu c_n - c_+ - c_-,    0 <= +-T^T v + lambda
    Gamma = c_n g + lambda (mu c_n - c_+ - c_-) + c_+ (T^T v + lambda) + c_- (-T^T v + lambda)

Frames are joined by `steps` flights whose durations h_k >= 0 have a given sum. rho rises in stages; each one begins
at the solution of the last one. docs/concepts/impacts.md says what differs from the paper's program. J/m and mu are
unknowns of each step, equal to those of the next, so that the time to solve is proportional to the number of steps.

The mass is 1: only J/m and impulses per mass act (Gabiccini et al., Sect. 5.2). Where a known force f acts, a = M^-1 f
beside gravity, and 1/m is an unknown like J/m. Restitution is not assumed; it is computed from the solution. The unit
of length is the body's size, and that of time is the time in which it moves by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Float, Vector
from ...exceptions import MissingExtra
from ...models.planar.body import GRAVITY, Wall, wall_array
from ...models.planar.shapes import Shape
from .shooting import MAX_MASS_RATIO, Shooting, lifted_mass

try:
    import casadi
except ImportError as error:
    raise MissingExtra("impacts", "casadi") from error

PENALTIES, TOLERANCE = (10.0, 1000.0), 1e-3
"""rho of each stage, and the solver's tolerance; a start of something else needs no more."""
EVEN = 1e-2
"""Weight of the deviation of steps from even ones: without it their durations are not determined in flight."""
LEAST_INERTIA = 1e-3
"""Least J/m, in squares of the body's size."""
IMPULSE_FROM, SLOWEST = 0.01, 0.03
"""Least impulse, relative to the largest, and least normal speed, relative to the body's, that give a restitution."""


@dataclass(frozen=True, eq=False)
class ProgramFit:
    """What the program found; K nodes, C contacts.

    Args:
        times: (K,) of the nodes [s]. frames: (N,) which of them are frames.
        poses, velocities: (K, 3), velocities after the node's impulse. before: (K, 3) velocities before it.
        impulses: (K, C, 2) normal and tangential, by mass [m/s].
        inertia_to_mass: [m^2]. friction: mu. mass: that a known force shows, or that was known [kg]; else None.
        chi_square: of the frames. gamma: violation of the complementarity, in units of the program.
        converged: whether the last stage ended well. iterations: of all stages.
        restitutions: of the impacts, in their order.
    """

    times: Float[np.ndarray, "K"]
    frames: np.ndarray
    poses: Float[np.ndarray, "K 3"]
    velocities: Float[np.ndarray, "K 3"]
    before: Float[np.ndarray, "K 3"]
    impulses: Float[np.ndarray, "K C 2"]
    inertia_to_mass: float
    friction: float
    mass: float | None
    chi_square: float
    gamma: float
    converged: bool
    iterations: int
    restitutions: Vector


def solve_program(
    drop: Shooting, inertia_to_mass: float, friction: float, steps: int = 2, max_iterations: int = 80
) -> ProgramFit:
    """The solution from initial values of J/m [m^2] and mu, and the frames themselves.

    Args:
        drop: frames, shape, walls, known forces and mass; its drag is left out. Where the mass is estimated it starts
            from the one whose weight equals the forces.
        steps: between two frames. max_iterations: of a stage.
    """
    program = _Program(drop, steps)
    problem, bounds, read = program.build()
    # expanded to scalar operations, exact Hessians of a step cost less; "sb" suppresses IPOPT's banner
    ipopt = {"print_level": 0, "sb": "yes", "max_iter": max_iterations, "tol": TOLERANCE}
    options = {"print_time": False, "expand": True, "ipopt": ipopt}
    solver = casadi.nlpsol("impacts", "ipopt", problem, options)
    solution: Any = program.start(inertia_to_mass, friction)
    iterations = 0
    for rho in PENALTIES:
        solution = solver(x0=solution, p=rho, **bounds)["x"]
        iterations += int(solver.stats()["iter_count"])
    return program.result(read(solution), bool(solver.stats()["success"]), iterations)


class _Program:
    """Symbols and numbers of one solve."""

    def __init__(self, known: Shooting, steps: int):
        self.steps, self.times, self.measured = steps, known.times, known.poses
        self.spans = np.diff(self.times)
        self.rough = np.diff(self.measured, axis=0) / self.spans[:, None]
        self.length = known.shape.size
        self.speed = max(
            float(np.sqrt(np.mean(np.sum(self.rough[:, :2] ** 2, axis=1)))), np.sqrt(GRAVITY * self.length)
        )
        self.unit = np.array([self.length, self.length, 1.0])
        self.time = self.length / self.speed
        self.noise = np.asarray(known.noise, float) / self.unit
        self.contact = contact_functions(known.shape, known.walls)
        self.contacts = self.contact.size1_out(0)
        self.count = steps * len(self.spans)
        self.even = np.repeat(self.spans / self.time / steps, steps)
        forces = np.zeros((len(self.spans), 3)) if known.forces is None else known.forces
        self.mass = known.mass
        self.sought = known.mass_is_estimated
        self.shared = 2 + self.sought  # how many unknowns all steps share
        # the unit of mass: the given one, or that whose weight equals the force, and then 1/m is near 1
        self.mass_unit = lifted_mass(forces, known.shape) if self.sought else known.mass or 1.0
        scaled = forces / self.mass_unit * self.time**2 * self.unit / self.length**2
        # held over all steps between two frames
        self.pushes = np.repeat(scaled, steps, axis=0)

    def _step(self) -> Any:
        """(q, v) at both ends, c, lambda, h, f, (J/m, mu, 1/m) -> equations, inequalities, Gamma, v before c."""
        C, L = self.contacts, self.length
        q, v, q_end, v_end = (casadi.SX.sym(name, 3) for name in ("q", "v", "q_end", "v_end"))
        c, slack = casadi.SX.sym("c", 3 * C), casadi.SX.sym("lambda", C)
        h, f, theta = casadi.SX.sym("h"), casadi.SX.sym("f", 3), casadi.SX.sym("theta", self.shared)
        inertia, mu = theta[0], theta[1]
        lightness = theta[2] if self.sought else 1
        g, N, T = self.contact(q_end * casadi.DM(self.unit))
        g, N[2, :], T[2, :] = g / L, N[2, :] / L, T[2, :] / L
        c_n, c_plus, c_minus = c[:C], c[C : 2 * C], c[2 * C :]
        W = casadi.vertcat(1, 1, 1 / inertia)
        a = lightness * W * f + casadi.vertcat(0, -GRAVITY * self.time**2 / L, 0)
        push = W * (casadi.mtimes(N, c_n) + casadi.mtimes(T, c_plus - c_minus))
        left = casadi.vertcat(q + h * v + h**2 / 2 * a - q_end, v + h * a + push - v_end)
        slip = casadi.mtimes(T.T, v_end)
        cone = mu * c_n - c_plus - c_minus
        least = casadi.vertcat(g, cone, slip + slack, -slip + slack)
        gamma = casadi.dot(casadi.vertcat(c_n, slack, c_plus, c_minus), least)
        inputs = [q, v, q_end, v_end, c, slack, h, f, theta]
        return casadi.Function("step", inputs, [left, least, gamma, v + h * a])

    def build(self) -> tuple[dict[str, Any], dict[str, Any], Any]:
        """Unknowns, cost and constraints; their bounds; and what `result` reads, as a function of the unknowns."""
        K, C, n = self.count, self.contacts, self.steps
        q, v = casadi.MX.sym("q", 3, K + 1), casadi.MX.sym("v", 3, K + 1)
        c, slack, h = casadi.MX.sym("c", 3 * C, K), casadi.MX.sym("lambda", C, K), casadi.MX.sym("h", 1, K)
        theta, rho = casadi.MX.sym("theta", self.shared, K), casadi.MX.sym("rho")
        ends = q[:, :-1], v[:, :-1], q[:, 1:], v[:, 1:]
        left, least, gamma, before = self._step().map(K)(*ends, c, slack, h, self.pushes.T, theta)
        gamma, spans = casadi.sum2(gamma), self.spans / self.time
        sums = casadi.sum1(casadi.reshape(h, n, K // n)).T - spans
        # poses are nodes of the program at every n-th step
        misfit = (q[:, ::n] - casadi.DM((self.measured / self.unit).T)) / casadi.DM(self.noise)
        chi_square = casadi.sumsqr(misfit)
        cost = chi_square + rho * gamma + EVEN * casadi.sumsqr(h / casadi.DM(self.even).T - 1)
        x = casadi.veccat(q, v, c, slack, h, theta)
        g = casadi.veccat(left, sums, theta[:, 1:] - theta[:, :-1], least)
        inf, lowest = np.inf, [LEAST_INERTIA, 0.0, 1 / MAX_MASS_RATIO][: self.shared]
        most = [1.0, 5.0, MAX_MASS_RATIO][: self.shared]
        free, equal = 6 * (K + 1), 6 * K + len(spans) + self.shared * (K - 1)
        bounds = {
            "lbx": np.concatenate([np.full(free, -inf), np.zeros(4 * C * K + K), np.tile(lowest, K)]),
            "ubx": np.concatenate([np.full(free + 4 * C * K, inf), np.repeat(spans, n), np.tile(most, K)]),
            "lbg": np.zeros(equal + 4 * C * K),
            "ubg": np.concatenate([np.zeros(equal), np.full(4 * C * K, inf)]),
        }
        read = casadi.Function("read", [x], [q, v, before, c, h, theta[:, 0], gamma, chi_square])
        return {"x": x, "f": cost, "g": g, "p": rho}, bounds, read

    def start(self, inertia_to_mass: float, friction: float) -> Vector:
        """The frames, linearly interpolated, and small impulses everywhere, so that no product of Gamma starts at 0."""
        K, C = self.count, self.contacts
        clock = np.concatenate([[0.0], np.cumsum(self.even)]) * self.time + self.times[0]
        q = np.column_stack([np.interp(clock, self.times, self.measured[:, k]) for k in range(3)])
        rates = np.column_stack(
            [np.interp(clock, 0.5 * (self.times[1:] + self.times[:-1]), self.rough[:, k]) for k in range(3)]
        )
        return np.concatenate(
            [
                (q / self.unit).ravel(),
                (rates * self.time / self.unit).ravel(),
                np.full(3 * C * K, 0.01),
                np.full(C * K, 0.1),
                self.even,
                np.tile([inertia_to_mass / self.length**2, friction, 1.0][: self.shared], K),
            ]
        )

    def result(self, solution: Sequence[Any], converged: bool, iterations: int) -> ProgramFit:
        """From what `build` reads at the solution."""
        q, v, before, c, h, theta, gamma, chi_square = (part.full().T for part in solution)
        K, C = self.count, self.contacts
        c_n, c_plus, c_minus = c[:, :C], c[:, C : 2 * C], c[:, 2 * C :]
        impulses = np.zeros((K + 1, C, 2))
        impulses[1:, :, 0], impulses[1:, :, 1] = c_n, c_plus - c_minus
        rate = self.unit / self.time
        q, v, before = q * self.unit, v * rate, np.concatenate([v[:1], before]) * rate
        normals = np.array([self.contact(pose)[1].full().T for pose in q])
        came, left = (np.einsum("kcd,kd->kc", normals, u) for u in (before, v))
        # soft contacts leave small impulses everywhere, whose ratios of velocities mean nothing
        real = (impulses[:, :, 0] > IMPULSE_FROM * c_n.max()) & (came < -SLOWEST * self.speed)
        return ProgramFit(
            self.times[0] + np.concatenate([[0.0], np.cumsum(h)]) * self.time,
            np.arange(0, K + 1, self.steps),
            q,
            v,
            before,
            impulses * self.speed,
            float(theta[0, 0] * self.length**2),
            float(theta[0, 1]),
            self.mass_unit / float(theta[0, 2]) if self.sought else self.mass,
            chi_square.item(),
            gamma.item(),
            converged,
            iterations,
            np.clip(-left[real] / came[real], 0.0, 1.0),
        )


def contact_functions(shape: Shape, walls: Sequence[Wall]) -> Any:
    """`planar.body.contacts` in symbols: a function q (3,) -> (g (C,), N (3, C), T (3, C)), in the same order."""
    q = casadi.SX.sym("q", 3)
    gaps, normals, tangents = [], [], []
    for x, y, alpha in wall_array(walls):
        t, n = casadi.DM([np.cos(alpha), np.sin(alpha)]), casadi.DM([-np.sin(alpha), np.cos(alpha)])
        phi = alpha - casadi.pi / 2 - q[2]
        for c_x, c_y, a, b in shape.parts:
            r = casadi.vertcat(
                casadi.cos(q[2]) * c_x - casadi.sin(q[2]) * c_y,
                casadi.sin(q[2]) * c_x + casadi.cos(q[2]) * c_y,
            )
            h = a if a == b else casadi.sqrt((a * casadi.cos(phi)) ** 2 + (b * casadi.sin(phi)) ** 2)
            for k, (cosine, sine) in enumerate(shape.harmonics, start=2):
                h += cosine * casadi.cos(k * phi) + sine * casadi.sin(k * phi)
            h = casadi.SX(h)  # a circle's is a number, which has no Jacobian
            slope = -casadi.jacobian(h, q[2])  # by phi, which falls as theta grows
            gaps.append(casadi.dot(q[:2] - casadi.DM([x, y]) + r, n) - h)
            normals.append(casadi.vertcat(n, r[0] * n[1] - r[1] * n[0] + slope))
            tangents.append(casadi.vertcat(t, r[0] * t[1] - r[1] * t[0] + h))
    return casadi.Function(
        "contact", [q], [casadi.vertcat(*gaps), casadi.horzcat(*normals), casadi.horzcat(*tangents)]
    )
