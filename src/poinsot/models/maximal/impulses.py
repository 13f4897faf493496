"""The discrete equations of motion, term by term (Lacoursiere 2007, Eqs. 2.8 to 2.25 and Appendix F).

From x_k = (q, v) to v+ = v_{k+1} over a step h, all matrices at q:

    M v+ = M v + h (f + f_g) + G^T lambda + F^T phi + C^T lambda_c,     f_g = -(0, omega x J omega) for each body

held directions (2.8 to 2.11; 2.8 with its symbols restored):

    Sigma lambda + G v+ = -(4/h) Upsilon g + Upsilon G v,   Upsilon = 1 / (1 + 4 tau/h),   Sigma = (4/h^2) eps Upsilon

The linear prediction g + h G v+ overlooks that constraints curve: a step of speed v along a circle of radius l leaves
it by (h v)^2 / 2 l, and drawing it back is work done on the constraint's damper, so SPOOK brakes motion in proportion
to h. On the curve, velocities are chords, G v = (h/2) k before and G v+ = -(h/2) k after, k = G' v; taking

    -(h/2) (1 + Upsilon) k

to the right-hand side keeps the motion on it (an option; the paper has it not).

Free directions, with speeds y = F v and y+ = F v+ (F.2 and F.3, solved for the multiplier so that a drag or a shaft of
zero is no exception):

    phi = -h b y+ + J_s (y - y+) + h (K u + off) + phi_d
    phi_d = clip(-h b_s y+, -U, U),     U = h fc(y)  or  mu(y) sum of weights |lambda|,  fc(y) = fc + dfc exp(-zeta y^2)

contacts, with the gap c and the speeds C v of the contact point along the plane's normal and in it:

    lambda_n = max(0, -(4/h) Upsilon c + Upsilon C_n v - C_n v+) / Sigma
    lambda_t = clip(-h b_s C_t v+, -mu lambda_n, mu lambda_n)

`clip` and `max` are the solutions of the complementarity conditions (2.21, 2.24) *when v+ is known*: then they do not
couple, each is a problem in one unknown (2.31), with Sigma_c and Delta = 1 / (h b_s) above zero making it unique.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..friction import dry_level
from .bodies import State, move
from .constraints import Geometry, geometry, momenta, rates
from .precision import Numbers, Scalar
from .quaternions import cross, exp, matrix, turn, turn_back
from .structure import Structure
from .values import Values


class Multipliers(NamedTuple):
    """Impulses of joints and contacts in one step.

    Args:
        held: (j, 6) lambda [N s], [N m s]; 0 in free directions.
        free: (j, 6) phi; 0 in held directions.
        dry: (j, 6) the part of it that is dry friction.
        contact: (c, 3) two along the plane, one normal [N s].
    """

    held: Float[Array, "j 6"]
    free: Float[Array, "j 6"]
    dry: Float[Array, "j 6"]
    contact: Float[Array, "c 3"]


def upsilon(relaxation: Float[Numbers, "k"], h: Scalar) -> Float[Array, "k"]:
    """1 / (1 + 4 tau/h)."""
    return 1 / (1 + 4 * jnp.asarray(relaxation) / h)


def regularization(values: Values, h: Scalar) -> tuple[Float[Array, "j 6"], Float[Array, "j 1"]]:
    """Sigma of the six directions, and Upsilon."""
    Y = upsilon(values.relaxation, h)[:, None]
    eps = jnp.repeat(jnp.asarray(values.compliance), 3, axis=1)
    return jnp.asarray(4 / h**2 * eps * Y), Y


def held_targets(
    structure: Structure, values: Values, at: Geometry, x: State, before: Float[Array, "j 6"], h: Scalar
) -> Float[Array, "j 6"]:
    """The right-hand side of the held directions, `before` being their speeds G v."""
    _, Y = regularization(values, h)
    target = -4 / h * Y * at.g + Y * before
    if structure.curvature:
        target = target - h / 2 * (1 + Y) * _bend(structure, values, x)
    return target


def _bend(structure: Structure, values: Values, x: State) -> Float[Array, "j 6"]:
    """k = G' v: how fast the speeds change when the bodies move on at their velocities."""
    v = jnp.asarray(x.velocity)

    def speeds(time: Array) -> Array:
        return rates(structure, geometry(structure, values, move(x, v, time)), v)[0]

    bend: Array = jax.jvp(speeds, (jnp.zeros(()),), (jnp.ones(()),))[1]
    return bend


def contact_regularization(values: Values, h: Scalar) -> tuple[Float[Array, "c"], Float[Array, "c"]]:
    """Sigma and Upsilon of contacts."""
    Y = upsilon(values.contact_relaxation, h)
    return jnp.asarray(4 / h**2 * values.contact_compliance * Y), Y


def friction_level(values: Values, speed: Float[Array, "j 6"]) -> Float[Array, "j 6"]:
    """level + excess exp(-decay speed^2) of each direction (4.1): an effort, or a coefficient."""
    level, excess, decay = (
        jnp.asarray(number)[:, None] for number in (values.level, values.excess, values.decay)
    )
    friction: Array = dry_level(speed, level, excess, decay)
    return friction


def drive(structure: Structure, values: Values, u: Float[Numbers, "_"]) -> Float[Array, "j 1"]:
    """K u + off of each joint [N m] or [N]."""
    given = jnp.concatenate([jnp.asarray(u), jnp.zeros(1, float)])
    signal = jnp.stack([given[k] for k in structure.driven.tolist()]) if len(structure.driven) else given[:0]
    return (jnp.asarray(values.gain) * signal + jnp.asarray(values.offset))[:, None]


def multipliers(
    structure: Structure,
    values: Values,
    at: Geometry,
    x: State,
    after: Float[Numbers, "l 6"],
    u: Float[Numbers, "_"],
    h: Scalar,
) -> Multipliers:
    """All impulses of the step from x to the velocities `after` (2.30, 2.31)."""
    before_held, before_free, before_contact = rates(structure, at, x.velocity)
    after_held, after_free, after_contact = rates(structure, at, after)
    Sigma, _ = regularization(values, h)
    owed = held_targets(structure, values, at, x, before_held, h) - after_held
    held = jnp.where(structure.held, owed / Sigma, 0.0)

    free = -h * values.drag[:, None] * after_free + values.shaft[:, None] * (before_free - after_free)
    free = free + h * drive(structure, values, u)
    dry = jnp.zeros_like(free)
    if structure.dry.any():
        level = friction_level(values, before_free)
        load = jnp.sum(structure.weight * jnp.abs(held), axis=1, keepdims=True)
        most = level * jnp.where(structure.load[:, None], load, h)
        creep = -h * values.stick[:, None] * after_free
        dry = jnp.where(structure.free & structure.dry[:, None], jnp.clip(creep, -most, most), 0.0)
    free = jnp.where(structure.free, free, 0.0) + dry

    Sigma_c, Y_c = contact_regularization(values, h)
    owed = -4 / h * Y_c * at.gap + Y_c * before_contact[:, 2] - after_contact[:, 2]
    normal = jnp.maximum(0.0, owed) / Sigma_c
    bound = (jnp.asarray(values.contact_friction) * normal)[:, None]
    along = jnp.clip(-h * values.contact_stick[:, None] * after_contact[:, :2], -bound, bound)
    return Multipliers(held, free, dry, jnp.concatenate([along, normal[:, None]], axis=1))


def inertia_times(values: Values, at: Geometry, velocity: Float[Numbers, "l 6"]) -> Float[Array, "l 6"]:
    """M v [N s], [N m s]."""
    R = at.rotation[:-1]
    body = turn_back(R, velocity[:, 3:])
    spin = turn(R, turn(symmetric(values.inertia), body))
    return jnp.concatenate([values.mass[:, None] * velocity[:, :3], spin], axis=-1)


def symmetric(six: Float[Numbers, "*batch 6"]) -> Float[Array, "*batch 3 3"]:
    """The matrix of xx, xy, yy, xz, yz, zz."""
    xx, xy, yy, xz, yz, zz = (six[..., k] for k in range(6))
    rows = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)


def gravity(values: Values) -> Float[Array, "3"]:
    """[m/s^2], turned by the tilt."""
    return turn(matrix(exp(jnp.asarray(values.tilt))), jnp.asarray(values.gravity))


def forces(values: Values, at: Geometry, velocity: Float[Numbers, "l 6"]) -> Float[Array, "l 6"]:
    """f + f_g: weight, and the gyroscopic torque -omega x J omega [N], [N m]."""
    weight = values.mass[:, None] * gravity(values)
    spin = inertia_times(values, at, velocity)[:, 3:]
    return jnp.concatenate([weight, -cross(jnp.asarray(velocity)[:, 3:], spin)], axis=-1)


def external_impulse(
    structure: Structure,
    values: Values,
    at: Geometry,
    x: State,
    after: Float[Numbers, "l 6"],
    u: Float[Numbers, "_"],
    h: Scalar,
) -> Float[Array, "l 6"]:
    """What it takes beside all of the above to get from the velocity of x to `after` (2.29, times h) [N s], [N m s]."""
    given = multipliers(structure, values, at, x, after, u, h)
    gained = inertia_times(values, at, after - x.velocity)
    return (
        gained
        - h * forces(values, at, x.velocity)
        - momenta(structure, at, given.held, given.free, given.contact)
    )
