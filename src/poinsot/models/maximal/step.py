"""SPOOK: one step forward (Lacoursiere 2007, Eqs. 2.8 to 2.28; the equations are in `impulses`).

Free directions first. With phi = s (c - y+), written out as phi = k - s y+,

    s = h b + J_s,    k = J_s y + h (K u + off)

the drag and the motor leave the list of unknowns (they are linear in v+, and s may be 0): M -> M + F^T s F, and F^T k
joins the impulses. What is left is the mixed complementarity problem (2.26) with the unknowns

    lambda_A   held directions of joints whose dry friction does not ask for them
    n >= 0     contacts; and, twice, those held directions whose size friction does ask for: g >= 0 and -g >= 0, so that
               n_+ - n_- is the impulse and n_+ + n_- its size (Sigma > 0 leaves at most one of the two above 0)
    t >= 0     friction, twice in each of its directions D: t_+ - t_- is the impulse
    sigma >= 0 the slip speed that its bound lets happen

    w_n = C v+ + Sigma n - (-(4/h) Upsilon c + Upsilon C v)
    w_t = +-D v+ + Delta t + sigma
    w_sigma = h fc + U n - t_+ - t_-

Each direction has its own sigma: a box. Then (2.27) is S lambda + b = w with S = G M^-1 G^T + Sigma of all these rows,
solved in `mixed_lcp`, and (2.28) gives v+.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
from jaxtyping import Array, Float, Int

from . import mixed_lcp
from .bodies import State, move
from .constraints import Geometry, geometry, jacobians, rates
from .impulses import (
    contact_regularization,
    drive,
    forces,
    friction_level,
    held_targets,
    inertia_times,
    regularization,
    symmetric,
)
from .precision import Numbers, Scalar
from .quaternions import turn
from .structure import Structure
from .values import Values


class StepReport(NamedTuple):
    """How a step's complementarity problem was solved.

    Args:
        method: `lcp.TRIVIAL`, `LEMKE`, `NEWTON` or `FAILED`; trivial too where there is no such problem.
        residual: of that problem.
        pivots: of Lemke's method.
    """

    method: Int[Array, ""]
    residual: Float[Array, ""]
    pivots: Int[Array, ""]


class _Rows(NamedTuple):
    """Which rows of the constraints are where in the unknowns; constants.

    Args:
        bilateral: (a,) held rows 6 joint + direction of lambda_A, joint by joint; `blocks`: how many of each joint.
        load: (m,) held rows whose size friction asks for.
        dry: (f,) free rows 6 joint + direction with dry friction.
        moving: (g,) all free rows.
    """

    bilateral: np.ndarray
    blocks: tuple[int, ...]
    load: np.ndarray
    dry: np.ndarray
    moving: np.ndarray


def _rows(structure: Structure) -> _Rows:
    held = structure.held & ~structure.load[:, None]
    loaded = structure.held & structure.load[:, None]
    dry = structure.free & structure.dry[:, None]
    blocks = tuple(int(n) for n in held.sum(axis=1) if n)
    bilateral, load, dry, moving = (np.flatnonzero(rows) for rows in (held, loaded, dry, structure.free))
    return _Rows(bilateral, blocks, load, dry, moving)


class _Here(NamedTuple):
    """What rows are made of: the geometry, the matrices of `rates`, the speeds before the step, and of held directions
    (6 j,) Sigma and the right-hand side.
    """

    at: Geometry
    held: Array
    free: Array
    contact: Array
    before: tuple[Array, Array, Array]
    Sigma: Array
    target: Array


def _here(structure: Structure, values: Values, x: State, h: Scalar) -> _Here:
    at = geometry(structure, values, x)
    before = rates(structure, at, x.velocity)
    Sigma, _ = regularization(values, h)
    target = held_targets(structure, values, at, x, before[0], h)
    return _Here(at, *jacobians(structure, at), before, jnp.ravel(Sigma), jnp.ravel(target))


def forward(
    structure: Structure, values: Values, x: State, u: Float[Numbers, "_"], h: Scalar
) -> tuple[State, StepReport]:
    """x_{k+1} = phi(x_k, u_k), and how it was found."""
    here = _here(structure, values, x, h)
    rows = _rows(structure)
    M, momentum = _with_drives(structure, values, here, x, u, h, rows)
    A, Sigma_A, a = _bilateral(here, rows)
    B, Sigma_B, b = _unilateral(structure, values, here, rows, h)

    G = jnp.concatenate([A, B])
    factor = jax.scipy.linalg.cho_factor(M)
    solved = jax.scipy.linalg.cho_solve(factor, jnp.concatenate([G, momentum[None]]).T)
    by_impulses, free = solved[:, :-1], solved[:, -1]  # M^-1 G^T, and v+ without any multiplier
    S = G @ by_impulses + jax.scipy.linalg.block_diag(Sigma_A, Sigma_B)
    rest = G @ free - jnp.concatenate([a, b])
    impulses, solution = mixed_lcp.solve(S, rest, rows.blocks, len(b))
    after = free + by_impulses @ impulses
    report = StepReport(solution.method, solution.residual, solution.pivots)
    return move(x, after.reshape(-1, 6), h), report


def mass_matrix(values: Values, at: Geometry) -> Float[Array, "n n"]:
    """M of all bodies (2.4)."""
    R = at.rotation[:-1]
    J = R @ symmetric(values.inertia) @ jnp.swapaxes(R, -1, -2)
    m = jnp.asarray(values.mass)[:, None, None] * jnp.eye(3)
    nothing = jnp.zeros_like(J)
    blocks = jnp.concatenate([jnp.concatenate([m, nothing], 2), jnp.concatenate([nothing, J], 2)], 1)
    l = len(blocks)
    return (jnp.eye(l)[:, None, :, None] * blocks[:, :, None, :]).reshape(6 * l, 6 * l)


def mass_with_drives(structure: Structure, values: Values, at: Geometry, h: Scalar) -> Float[Array, "n n"]:
    """M + F^T s F: the bodies with drags and shafts as they are in a step."""
    return _drives(structure, values, at, jacobians(structure, at)[1], h, _rows(structure))[0]


def _drives(
    structure: Structure, values: Values, at: Geometry, free: Array, h: Scalar, rows: _Rows
) -> tuple[Array, Array]:
    """M + F^T s F, and F."""
    F, joint = _picked(free, rows.moving), rows.moving // 6
    s = h * jnp.asarray(values.drag)[joint] + jnp.asarray(values.shaft)[joint]
    return mass_matrix(values, at) + F.T @ (s[:, None] * F), F


def _with_drives(
    structure: Structure,
    values: Values,
    here: _Here,
    x: State,
    u: Float[Numbers, "_"],
    h: Scalar,
    rows: _Rows,
) -> tuple[Array, Array]:
    """M + F^T s F, and M v + h (f + f_g) + F^T k."""
    v = jnp.asarray(x.velocity)
    momentum = jnp.ravel(inertia_times(values, here.at, v) + h * forces(values, here.at, v))
    M, F = _drives(structure, values, here.at, here.free, h, rows)
    k = values.shaft[:, None] * here.before[1] + h * drive(structure, values, u)
    return M, momentum + F.T @ jnp.ravel(k)[rows.moving]


def _bilateral(here: _Here, rows: _Rows) -> tuple[Array, Array, Array]:
    """A, Sigma_A and a of A v+ + Sigma_A lambda = a."""
    mine = rows.bilateral
    return _picked(here.held, mine), jnp.diag(here.Sigma[mine]), here.target[mine]


def _unilateral(
    structure: Structure, values: Values, here: _Here, rows: _Rows, h: Scalar
) -> tuple[Array, Array, Array]:
    """B, Sigma_B and b of B v+ + Sigma_B lambda_B - b = w: normals, friction, slip speeds."""
    n = 6 * structure.bodies
    c = len(structure.contact_body)
    if not (len(rows.load) + len(rows.dry) + c):
        return jnp.zeros((0, n)), jnp.zeros((0, 0)), jnp.zeros(0)
    Sigma_c, Y_c = contact_regularization(values, h)

    N, target, Sigma_h = _picked(here.held, rows.load), here.target[rows.load], here.Sigma[rows.load]
    normals = jnp.concatenate([N, -N, here.contact[:, 2]])
    Sigma_n = jnp.concatenate([Sigma_h, Sigma_h, Sigma_c])
    approach = -4 / h * Y_c * here.at.gap + Y_c * here.before[2][:, 2]
    b_n = jnp.concatenate([target, -target, approach])

    D = jnp.concatenate([_picked(here.free, rows.dry), here.contact[:, :2].reshape(2 * c, n)])
    stick = jnp.concatenate([jnp.asarray(values.stick)[rows.dry // 6], jnp.repeat(values.contact_stick, 2)])
    U, bound = _friction_bounds(structure, values, here, rows, h)

    t = len(bound)
    one, nothing = jnp.eye(t), jnp.zeros((t, t))
    Delta = jnp.diag(1 / (h * stick))
    friction = jnp.block([[Delta, nothing, one], [nothing, Delta, one], [-one, -one, nothing]])
    Sigma = jax.scipy.linalg.block_diag(jnp.diag(Sigma_n), friction).at[len(b_n) + 2 * t :, : len(b_n)].set(U)
    B = jnp.concatenate([normals, D, -D, jnp.zeros((t, n))])
    return B, Sigma, jnp.concatenate([b_n, jnp.zeros(2 * t), -bound])


def _friction_bounds(
    structure: Structure, values: Values, here: _Here, rows: _Rows, h: Scalar
) -> tuple[Array, Array]:
    """U and h fc of the bounds U n + h fc of each direction of friction: of joints, then of contacts."""
    c, joint = len(structure.contact_body), rows.dry // 6
    level = jnp.ravel(friction_level(values, here.before[1]))[rows.dry]
    by_load = structure.load[joint]
    own = structure.weight.ravel()[rows.load] * (rows.load // 6 == joint[:, None])
    mu = level[:, None] * np.where(by_load[:, None], own, 0.0)
    mu_c = np.repeat(np.eye(c), 2, axis=0) * jnp.asarray(values.contact_friction)
    U = jax.scipy.linalg.block_diag(jnp.concatenate([mu, mu], axis=1), mu_c)
    return U, jnp.concatenate([jnp.where(by_load, 0.0, h * level), jnp.zeros(2 * c)])


def _picked(rows: Float[Array, "j 6 n"], places: np.ndarray) -> Array:
    """Rows 6 joint + direction."""
    return rows.reshape(-1, rows.shape[-1])[places]


def kinetic_energy(values: Values, at: Geometry, velocity: Float[Numbers, "l 6"]) -> Array:
    """Of bodies, without shafts [J]."""
    v = jnp.asarray(velocity)
    body = jnp.sum(at.rotation[:-1] * v[:, 3:, None], axis=-2)
    spin = jnp.sum(body * turn(symmetric(values.inertia), body), axis=-1)
    return 0.5 * jnp.sum(values.mass * jnp.sum(v[:, :3] ** 2, axis=-1) + spin)
