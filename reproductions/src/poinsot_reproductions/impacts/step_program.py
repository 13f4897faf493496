"""One step of the motion as the paper writes it: a nonlinear program (Gabiccini et al., Eqs. 5, 6, 20), by CasADi.

    min    |c_t^T (T~^T v+ + E lambda)|^2 + |lambda^T (mu c_n - E^T c_t)|^2       c_t = (c_+, c_-)
    over   v+, c_n, c_t, lambda
    with   M (v+ - v) = G(q) c + h f
           c_t >= 0,   lambda >= 0,   T~^T v+ + E lambda >= 0,   mu c_n - E^T c_t >= 0
           0 <= c_n <= H z,     -H (1 - z) <= N^T (v+ + epsilon v) <= H (1 - z)

(the last of the paper's inequalities of friction is misprinted; q+ = q + h v+ is put in). z says which contacts act,
z = 1 where g(q) <= 0 and N^T v <= 0. It is the reference of `stepping`'s exact steps and agrees with them where one
contact acts. They differ where the program is silent or contradicts itself:

    z = 0 for a closed gap that opens, even where gravity would close it within the step: the program lets it fall for
    a step, the exact one holds it
    several contacts at once: their equations contradict each other; a body that is about to leave, too

H is the largest impulse and velocity that there can be. The program is degenerate, for its complementarity is squared:
to a tolerance of IPOPT's, products are 0 to about its square root.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from poinsot.arrays import Vector
from poinsot.exceptions import InvalidModel, MissingExtra
from poinsot.models.planar.body import GRAVITY, PlanarBody, Wall, contacts_at

try:
    import casadi
except ImportError as error:
    raise MissingExtra("bench", "casadi") from error

TOLERANCE = 1e-13
"""Of IPOPT."""
CLEAR = 10.0
"""H, against the largest velocity that there is."""
QUIET = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": False}


@dataclass(frozen=True, eq=False)
class ProgramStep:
    """What one program gives.

    Args:
        velocity: (3,) after the step.
        impulses: (C, 2) normal and tangential [N s].
        acts: (C,) z.
        residual: root of the objective, in units of momentum times velocity.
        converged: as IPOPT says.
    """

    velocity: Vector
    impulses: Float[np.ndarray, "C 2"]
    acts: Bool[np.ndarray, "C"]
    residual: float
    converged: bool


class StepProgram:
    """Steps of h seconds of one body among walls; built once, solved for each step.

    Raises:
        InvalidModel: if the step is not above 0 s.
    """

    def __init__(self, body: PlanarBody, walls: Sequence[Wall], step: float) -> None:
        if not 0 < step < np.inf:
            raise InvalidModel("the step must be above 0 s")
        self.body, self.walls, self.step = body, walls, step
        self.count = len(body.shape.parts) * len(walls)
        self._solver, self._bounds = self._built()

    def _built(self) -> tuple[Any, dict[str, np.ndarray]]:
        # v in units of 1 m/s and 1 rad/s, impulses per mass
        C, body = self.count, self.body
        v_after, c_n = casadi.SX.sym("v", 3), casadi.SX.sym("c_n", C)
        plus, minus, slip = casadi.SX.sym("c_+", C), casadi.SX.sym("c_-", C), casadi.SX.sym("lambda", C)
        v, free, z = casadi.SX.sym("v0", 3), casadi.SX.sym("free", 3), casadi.SX.sym("z", C)
        N, T, H = casadi.SX.sym("N", 3, C), casadi.SX.sym("T", 3, C), casadi.SX.sym("H")
        W = casadi.DM(body.mass / body.inertias)
        spare = body.friction * c_n - plus - minus
        rises, falls = T.T @ v_after + slip, -T.T @ v_after + slip
        products = casadi.vertcat(casadi.dot(plus, rises) + casadi.dot(minus, falls), casadi.dot(slip, spare))
        returns = N.T @ (v_after + body.restitution * v)
        conditions = casadi.vertcat(
            v_after - free - W * (N @ c_n + T @ (plus - minus)),
            spare,
            rises,
            falls,
            H * z - c_n,
            returns + H * (1 - z),
            H * (1 - z) - returns,
        )
        unknowns = casadi.vertcat(v_after, c_n, plus, minus, slip)
        program = {
            "x": unknowns,
            "f": casadi.sumsqr(products),
            "g": conditions,
            "p": casadi.vertcat(v, free, z, casadi.vec(N), casadi.vec(T), H),
        }
        options = QUIET | {"ipopt.tol": TOLERANCE, "ipopt.mu_target": 0.0, "ipopt.max_iter": 1000}
        bounds = {
            "lbx": np.concatenate([np.full(3, -np.inf), np.zeros(4 * C)]),
            "lbg": np.zeros(3 + 6 * C),
            "ubg": np.concatenate([np.zeros(3), np.full(6 * C, np.inf)]),
        }
        return casadi.nlpsol("step", "ipopt", program, options), bounds

    def __call__(self, pose: Vector, velocity: Vector) -> ProgramStep:
        """The step from a pose (3,) and a velocity (3,), under gravity and drag."""
        C, body = self.count, self.body
        g, N, T = contacts_at(pose, body.shape, self.walls)
        N, T = N.T, T.T
        k = np.array([body.drag[0], body.drag[0], body.drag[1]])
        free = velocity + self.step * (np.array([0.0, -GRAVITY, 0.0]) - k * velocity)
        z = (g <= 0) & (N.T @ velocity <= 0)
        slip = np.abs(T.T @ free)
        largest = CLEAR * (
            np.abs(N.T @ velocity).max() + np.abs(N.T @ free).max() + np.abs(velocity).max() + 1
        )
        guess = np.concatenate([free, np.full(3 * C, 1e-2 * largest), slip + 1e-2 * largest])
        parameters = np.concatenate(
            [velocity, free, z.astype(float), N.ravel(order="F"), T.ravel(order="F"), [largest]]
        )
        solution = self._solver(x0=guess, p=parameters, **self._bounds)
        x = np.array(solution["x"]).ravel()
        c_n, plus, minus = x[3 : 3 + 3 * C].reshape(3, C)
        return ProgramStep(
            x[:3],
            body.mass * np.column_stack([c_n, plus - minus]),
            z,
            body.mass * np.sqrt(max(float(solution["f"]), 0.0)),
            bool(self._solver.stats()["success"]),
        )
