"""SPOOK: one step forward (Lacoursiere 2007, Eqs. 2.8 to 2.28; the equations are in `impulses`).

Free directions first. With phi = s (c - y+), written out as phi = k - s y+,

    s = h b + J_s,    k = J_s y + h (K u + off)

drag and motor are eliminated from the unknowns (they are linear in v+, and s may be 0): M -> M + F^T s F, and F^T k
joins the impulses. The rest is the mixed complementarity problem (2.26) with the unknowns

    lambda_A   held directions of joints whose dry friction does not depend on them
    n >= 0     contacts; and, twice, held directions whose size enters friction: g >= 0 and -g >= 0, so that
               n_+ - n_- is the impulse and n_+ + n_- its size (Sigma > 0 leaves at most one of the two above 0)
    t >= 0     friction, twice in each of its directions D: t_+ - t_- is the impulse
    sigma >= 0 the slip speed at the friction bound

    w_n = C v+ + Sigma n - (-(4/h) Upsilon c + Upsilon C v)
    w_t = +-D v+ + Delta t + sigma
    w_sigma = h fc + U n - t_+ - t_-

Each direction has its own sigma: a box. Then (2.27) is S lambda + b = w with S = G M^-1 G^T + Sigma of all these rows,
solved in `lcp`, and (2.28) gives v+.
"""

from __future__ import annotations

from itertools import chain

import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
from jaxtyping import Array, Float

from . import lcp
from .bodies import State, move
from .constraints import Instant, picked
from .impulses import contact_rows, drive, forces, friction, held_rows, inertia_times, symmetric
from .precision import Controls, Scalar


def forward(here: Instant, u: Controls, h: Scalar) -> tuple[State, lcp.Solution]:
    """x_{k+1} = phi(x_k, u_k), and how its complementarity problem was solved; `lcp.TRIVIAL` if there is none."""
    structure, values = here.structure, here.values
    M = mass_with_drives(here, h)
    smooth = friction(structure, values, here.speeds[1])[1]
    k = values.shaft[:, None] * here.speeds[1] + h * (drive(structure, values, u) - smooth)
    F = picked(here.jacobians[1], structure.moving)
    p = jnp.ravel(inertia_times(here, here.x.velocity) + h * forces(here))
    p = p + F.T @ jnp.ravel(k)[structure.moving]
    A, Sigma_A, a = bilateral_rows(here, h)
    B, Sigma_B, b = unilateral_rows(here, h)

    # one factorization of M for all constraints and for the motion without them
    G = jnp.concatenate([A, B])
    solved = jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(M), jnp.concatenate([G, p[None]]).T)
    by_impulses, free = solved[:, :-1], solved[:, -1]  # M^-1 G^T, and v+ without any multiplier
    S = G @ by_impulses + jax.scipy.linalg.block_diag(Sigma_A, Sigma_B)
    rest = G @ free - jnp.concatenate([a, b])
    blocks = np.unique(structure.bilateral // 6, return_counts=True)[1]  # rows of each joint
    impulses, solution = lcp.solve_mixed(S, rest, blocks.tolist(), len(b))
    after = free + by_impulses @ impulses
    return move(here.x, after.reshape(-1, 6), h), solution


def mass_matrix(here: Instant) -> Float[Array, "n n"]:
    """M of all bodies (2.4)."""
    R = here.at.rotation[:-1]
    J = R @ symmetric(here.values.inertia) @ jnp.swapaxes(R, -1, -2)
    m = jnp.asarray(here.values.mass)[:, None, None] * jnp.eye(3)
    return jax.scipy.linalg.block_diag(*chain.from_iterable(zip(m, J, strict=True)))


def mass_with_drives(here: Instant, h: Scalar) -> Float[Array, "n n"]:
    """M + F^T s F: the bodies with drags and shafts as they are in a step."""
    moving, values = here.structure.moving, here.values
    F, joint = picked(here.jacobians[1], moving), moving // 6
    s = h * jnp.asarray(values.drag)[joint] + jnp.asarray(values.shaft)[joint]
    return mass_matrix(here) + F.T @ (s[:, None] * F)


def bilateral_rows(here: Instant, h: Scalar) -> tuple[Array, Array, Array]:
    """A, Sigma_A and a of A v+ + Sigma_A lambda = a."""
    mine = here.structure.bilateral
    Sigma, target = (jnp.ravel(part)[mine] for part in held_rows(here, h))
    return picked(here.jacobians[0], mine), jnp.diag(Sigma), target


def unilateral_rows(here: Instant, h: Scalar) -> tuple[Array, Array, Array]:
    """B, Sigma_B and b of B v+ + Sigma_B lambda_B - b = w: normals, friction, slip speeds."""
    structure, values = here.structure, here.values
    load, dry = structure.load_rows, structure.dry_rows
    n, c = 6 * structure.bodies, len(structure.contact_body)
    if not (len(load) + len(dry) + c):
        return jnp.zeros((0, n)), jnp.zeros((0, 0)), jnp.zeros(0)
    held, free, contact = here.jacobians
    Sigma_c, approach = contact_rows(here, h)
    Sigma_h, target = (jnp.ravel(part)[load] for part in held_rows(here, h))

    N = picked(held, load)
    # an impulse of either sign as two of one sign: complementarity has no absolute values
    normals = jnp.concatenate([N, -N, contact[:, 2]])
    Sigma_n = jnp.concatenate([Sigma_h, Sigma_h, Sigma_c])
    b_n = jnp.concatenate([target, -target, approach])

    D = jnp.concatenate([picked(free, dry), contact[:, :2].reshape(2 * c, n)])
    stick = jnp.concatenate([jnp.asarray(values.stick)[dry // 6], jnp.repeat(values.contact_stick, 2)])
    U, bound = _friction_bounds(here, h)

    t = len(bound)
    one, nothing = jnp.eye(t), jnp.zeros((t, t))
    Delta = jnp.diag(1 / (h * stick))
    # rows t_+, t_-, sigma: sigma enters the slip's conditions, the sum of impulses is bounded by U n + h fc
    friction = jnp.block([[Delta, nothing, one], [nothing, Delta, one], [-one, -one, nothing]])
    Sigma = jax.scipy.linalg.block_diag(jnp.diag(Sigma_n), friction).at[len(b_n) + 2 * t :, : len(b_n)].set(U)
    B = jnp.concatenate([normals, D, -D, jnp.zeros((t, n))])
    return B, Sigma, jnp.concatenate([b_n, jnp.zeros(2 * t), -bound])


def _friction_bounds(here: Instant, h: Scalar) -> tuple[Array, Array]:
    """U and h fc of the bounds U n + h fc of each direction of friction: of joints, then of contacts."""
    structure, values = here.structure, here.values
    load, dry = structure.load_rows, structure.dry_rows
    c, joint = len(structure.contact_body), dry // 6
    level = jnp.ravel(friction(structure, values, here.speeds[1])[0])[dry]
    by_load = structure.load[joint]
    own = structure.weight.ravel()[load] * (load // 6 == joint[:, None])
    mu = level[:, None] * np.where(by_load[:, None], own, 0.0)
    mu_c = np.repeat(np.eye(c), 2, axis=0) * jnp.asarray(values.contact_friction)
    # twice: lambda_B has the positive and the negative part of each held impulse, and its size is their sum
    U = jax.scipy.linalg.block_diag(jnp.concatenate([mu, mu], axis=1), mu_c)
    return U, jnp.concatenate([jnp.where(by_load, 0.0, h * level), jnp.zeros(2 * c)])
