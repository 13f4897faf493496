"""The discrete equations of motion, term by term (Lacoursiere 2007, Eqs. 2.8 to 2.25 and Appendix F).

**Constraints** have violations, their rates, and momenta that their impulses give to bodies.
Of a joint with frames a (on A, origin x_a) and b (on B), R_a = [e_1 e_2 e_3], R_b = [b_1 b_2 b_3], d = x_b - x_a, and
arms from the centres of mass s_a = x_a - r_A, s_b = x_b - r_B, the six directions are

    translations  g_i = e_i . d              rate  e_i . (x_b' - x_a' - omega_A x d)
    rotations     g_4 = e_3 . b_2,           rate  n . (omega_B - omega_A),  n = b_2 x e_3
                  g_5 = -e_3 . b_1,                                          n = e_3 x b_1
                  g_6 = e_2 . b_1                                            n = b_1 x e_2

(F.1 with its axis along z). The rate is the Jacobian times the velocities, and an impulse lambda along a direction acts
on B as the force f (f = e_i lambda, or none) and torque s_b x f + n lambda, on A as -f and -(s_a + d) x f - n lambda.
In a free rotation n is the joint's axis e_i itself.

A contact with columns (t1, t2, n) of its frame has rates along them of the point p = r + s, v + omega x s, and its gap
is n . p - height.

**A step.** From x_k = (q, v) to v+ = v_{k+1} over a step h, all matrices at q:

    M v+ = M v + h (f + f_g) + G^T lambda + F^T phi + C^T lambda_c,     f_g = -(0, omega x J omega) for each body

held directions (2.8 to 2.11; 2.8 with its symbols restored):

    Sigma lambda + G v+ = -(4/h) Upsilon g + Upsilon G v,   Upsilon = 1 / (1 + 4 tau/h),   Sigma = (4/h^2) eps Upsilon

The linear prediction g + h G v+ neglects that constraints curve: a step of speed v along a circle of radius l leaves
it by (h v)^2 / 2 l, and the correction does work on the constraint's damper, so SPOOK brakes motion in proportion
to h. On the curve, velocities are chords, G v = (h/2) k before and G v+ = -(h/2) k after, k = G' v; taking

    -(h/2) (1 + Upsilon) k

to the right-hand side keeps the motion on it (an option that the paper does not have).

Free directions, with speeds y = F v and y+ = F v+ (F.2 and F.3, solved for the multiplier so that a drag or a shaft of
zero is allowed):

    phi = -h b y+ + J_s (y - y+) + h (K u + off) + phi_d
    phi_d = clip(-h b_s y+, -U, U),     U = h fc(y)  or  mu(y) sum of weights |lambda|,  fc(y) = fc + dfc exp(-zeta y^2)

contacts, with the gap c and the speeds C v of the contact point along the plane's normal and in it:

    lambda_n = max(0, -(4/h) Upsilon c + Upsilon C_n v - C_n v+) / Sigma
    lambda_t = clip(-h b_s C_t v+, -mu lambda_n, mu lambda_n)

end stops, with the gap c = +-(stop - y) and its rate C v = -+F v,

    lambda_s = max(0, a - C v+) / Sigma,     a = max(-c/h, -e C v)  if the stop is reached, c + h C v < 0,  else -c/h

so that the gap does not close further than to 0 (inelastic), and an impact returns e times the speed (Newton),

`clip` and `max` are the solutions of the complementarity conditions (2.21, 2.24) *when v+ is known*: then they do not
couple, each is a problem in one unknown (2.31), with Sigma_c and Delta = 1 / (h b_s) above zero making it unique.

**SPOOK**, one step forward (Eqs. 2.8 to 2.28). Free directions first. With phi = s (c - y+), written out as phi = k - s
y+,

    s = h b + J_s,    k = J_s y + h (K u + off)

drag and motor are eliminated from the unknowns (they are linear in v+, and s may be 0): M -> M + F^T s F, and F^T k
joins the impulses. The rest is the mixed complementarity problem (2.26) with the unknowns

    lambda_A   held directions of joints whose dry friction does not depend on them
    n >= 0     contacts; end stops; and, twice, held directions whose size enters friction: g >= 0 and -g >= 0, so that
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

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
from jaxtyping import Array, Float

from . import lcp
from .bodies import State, move
from .precision import BodyVelocities, Controls, Numbers, Scalar
from .quaternions import conjugate, cross, exp, log, matrix, multiply, quaternion_of, turn, turn_back
from .values import Structure, Values, friction_parts, gather


class Geometry(NamedTuple):
    """Geometry of a mechanism at one configuration, in the world's axes.

    Args:
        rotation: (l + 1, 3, 3) of bodies and world. axes: (j, 3, 3) R_a.
        normals: (j, 3, 3) rows n of the held rotations. parent_arm: (j, 3) s_a + d [m]. child_arm: (j, 3) s_b [m].
        g: (j, 6) [m], [-]. contact_arm: (c, 3) [m]. gap: (c,) [m].
    """

    rotation: Float[Array, "_ 3 3"]
    axes: Float[Array, "j 3 3"]
    normals: Float[Array, "j 3 3"]
    parent_arm: Float[Array, "j 3"]
    child_arm: Float[Array, "j 3"]
    g: Float[Array, "j 6"]
    contact_arm: Float[Array, "c 3"]
    gap: Float[Array, "c"]


def geometry(structure: Structure, values: Values, x: State) -> Geometry:
    """Geometry of the configuration of x."""
    one = jnp.eye(3, dtype=x.position.dtype)[None]
    R = jnp.concatenate([matrix(jnp.asarray(x.quaternion)), one])
    r = jnp.concatenate([jnp.asarray(x.position), jnp.zeros_like(one[0, :1])])
    c = jnp.concatenate([jnp.asarray(values.center), jnp.zeros_like(one[0, :1])])
    A, B = structure.parent, structure.child

    R_A, R_B = gather(R, A), gather(R, B)
    Ra, Rb = product(R_A, structure.parent_frame), product(R_B, structure.child_frame)
    s_a = turn(R_A, structure.parent_point - gather(c, A))
    s_b = turn(R_B, structure.child_point - gather(c, B))
    d = gather(r, B) + s_b - gather(r, A) - s_a
    e2, e3 = Ra[..., 1], Ra[..., 2]
    b1, b2 = Rb[..., 0], Rb[..., 1]
    # products of axes, not angles: smooth everywhere, and small rotations about held axes are equal to them
    rotations = [(e3 * b2).sum(-1), -(e3 * b1).sum(-1), (e2 * b1).sum(-1)]
    normals = jnp.stack([cross(b2, e3), cross(e3, b1), cross(b1, e2)], axis=-2)
    g = jnp.concatenate([turn_back(Ra, d), jnp.stack(rotations, axis=-1)], axis=-1)

    s_c = turn(gather(R, structure.contact_body), structure.contact_point - gather(c, structure.contact_body))
    p_c = gather(r, structure.contact_body) + s_c
    gap = (structure.contact_frame[:, :, 2] * p_c).sum(-1) - structure.contact_height
    return Geometry(R, Ra, normals, s_a + d, s_b, g, s_c, gap)


@dataclass(frozen=True, eq=False)
class Instant:
    """A mechanism with its numbers in one state. Terms of the equations of motion are computed once, on demand."""

    # It belongs to the trace in which it is created. If it is kept for a later call of a compiled function, or first
    # computes a property inside an inner trace (`jvp`, `scan`), it leaks tracers.

    structure: Structure
    values: Values
    x: State

    @cached_property
    def at(self) -> Geometry:
        return geometry(self.structure, self.values, self.x)

    @cached_property
    def speeds(self) -> tuple[Array, Array, Array]:
        """`rates` at the state's own velocities."""
        return rates(self, self.x.velocity)

    @cached_property
    def jacobians(self) -> tuple[Array, Array, Array]:
        """`rates` as matrices (j, 6, n), (j, 6, n) and (c, 3, n), n = 6 l."""
        l = self.structure.bodies
        # rates are linear in velocities: their derivative at any velocity is their matrix
        slopes = jax.jacfwd(partial(rates, self))(jnp.zeros((l, 6), float))
        held, free, contact = (slope.reshape(*slope.shape[:2], 6 * l) for slope in slopes)
        return held, free, contact

    @cached_property
    def held_jacobian(self) -> Float[Array, "h n"]:
        """G: the rows of the held directions."""
        return picked(self.jacobians[0], np.flatnonzero(self.structure.held))


def rates(
    here: Instant, velocity: BodyVelocities
) -> tuple[Float[Array, "j 6"], Float[Array, "j 6"], Float[Array, "c 3"]]:
    """Speeds in the held directions, in the free ones (the translations are the same), and of contacts."""
    structure, at = here.structure, here.at
    v = jnp.concatenate([jnp.asarray(velocity), jnp.zeros((1, 6), float)])  # the world, body l, is at rest
    v_a, v_b = gather(v, structure.parent), gather(v, structure.child)
    spin = v_b[:, 3:] - v_a[:, 3:]
    # x_b' - x_a' - omega_A x d = v_B + omega_B x s_b - v_A - omega_A x (s_a + d)
    slip = v_b[:, :3] + cross(v_b[:, 3:], at.child_arm) - v_a[:, :3] - cross(v_a[:, 3:], at.parent_arm)
    along = turn_back(at.axes, slip)
    held = jnp.concatenate([along, turn(at.normals, spin)], axis=-1)
    free = jnp.concatenate([along, turn_back(at.axes, spin)], axis=-1)
    v_c = gather(v, structure.contact_body)
    contact = turn_back(structure.contact_frame, v_c[:, :3] + cross(v_c[:, 3:], at.contact_arm))
    return held, free, contact


def joint_coordinates(here: Instant) -> Float[Array, "n"]:
    """y: angles in (-pi, pi], displacements, rotation vectors of balls; joint by joint."""
    structure, parts = here.structure, []
    e = jnp.concatenate([jnp.asarray(here.x.quaternion), jnp.array([[0.0, 0.0, 0.0, 1.0]])])
    for k, free in enumerate(structure.free):
        e_a = multiply(e[int(structure.parent[k])], quaternion_of(structure.parent_frame[k]))
        e_b = multiply(e[int(structure.child[k])], quaternion_of(structure.child_frame[k]))
        relative = multiply(conjugate(e_a), e_b)  # from frame b to frame a
        if structure.is_hinge[k]:
            # e and -e are the same rotation; with w >= 0 the angle is in [-pi, pi]
            half = jnp.where(relative[3] < 0, -1.0, 1.0)
            parts.append(2 * jnp.arctan2(half * relative[2], half * relative[3])[None])
        elif free.any():
            parts.append(here.at.g[k, np.flatnonzero(free[:3])])
            parts += [log(relative)] if structure.is_ball[k] else []
    return jnp.concatenate(parts) if parts else jnp.zeros(0)


def momenta(
    here: Instant, held: Float[Array, "j 6"], free: Float[Array, "j 6"], contact: Float[Array, "c 3"]
) -> Float[Array, "l 6"]:
    """Momenta of the bodies from impulses along the directions of `rates`: the transpose of `rates` [N s], [N m s]."""
    # the transpose by reverse mode, so that it cannot differ from `rates` by a sign
    at_rest = jnp.zeros((here.structure.bodies, 6), float)
    given: Array = jax.vjp(partial(rates, here), at_rest)[1]((held, free, contact))[0]
    return given


def picked(rows: Float[Array, "j 6 n"], places: np.ndarray) -> Float[Array, "_ n"]:
    """Rows 6 joint + direction."""
    return rows.reshape(-1, rows.shape[-1])[places]


def product(A: Float[Numbers, "*batch 3 3"], B: Float[Numbers, "*batch 3 3"]) -> Array:
    """A B, as sums: batches of small matrix products are slow."""
    return jnp.sum(jnp.asarray(A)[..., :, :, None] * jnp.asarray(B)[..., None, :, :], axis=-2)


class Multipliers(NamedTuple):
    """Impulses of joints and contacts in one step.

    Args:
        held: (j, 6) lambda [N s], [N m s]; 0 in free directions. free: (j, 6) phi; 0 in held directions.
        dry: (j, 6) the part of it that is dry friction. contact: (c, 3) two along the plane, one normal [N s].
    """

    held: Float[Array, "j 6"]
    free: Float[Array, "j 6"]
    dry: Float[Array, "j 6"]
    contact: Float[Array, "c 3"]


def held_rows(here: Instant, h: Scalar) -> tuple[Float[Array, "j 6"], Float[Array, "j 6"]]:
    """Sigma and the right-hand side of the six directions of each joint."""
    structure, values = here.structure, here.values
    compliance, relaxation = jnp.repeat(values.compliance, 3, axis=1), jnp.asarray(values.relaxation)[:, None]
    Sigma, target = _soft(compliance, relaxation, here.at.g, here.speeds[0], h)
    if structure.curvature:
        v = jnp.asarray(here.x.velocity)

        def speeds(time: Array) -> Array:
            return rates(Instant(structure, values, move(here.x, v, time)), v)[0]

        # at constant velocities: k does not contain the accelerations, which G v+ already does
        bend: Array = jax.jvp(speeds, (jnp.zeros(()),), (jnp.ones(()),))[1]
        target = target - h / 2 * (1 + _upsilon(relaxation, h)) * bend
    return Sigma, target


def contact_rows(here: Instant, h: Scalar) -> tuple[Float[Array, "c"], Float[Array, "c"]]:
    """Sigma and the right-hand side of the normals of contacts."""
    values = here.values
    return _soft(values.contact_compliance, values.contact_relaxation, here.at.gap, here.speeds[2][:, 2], h)


def end_rows(here: Instant, h: Scalar) -> tuple[Float[Array, "e n"], Float[Array, "e"], Float[Array, "e"]]:
    """C, Sigma and the right-hand side of end stops."""
    structure, values, ends = here.structure, here.values, here.structure.ends
    if not ends:
        return jnp.zeros((0, 6 * structure.bodies)), jnp.zeros(0), jnp.zeros(0)
    joint, side = (np.array([end[k] for end in ends]) for k in range(2))
    sign, place = np.array([end.sign for end in ends]), [end.coordinate for end in ends]
    gap = sign * (jnp.asarray(values.stop)[joint, side] - joint_coordinates(here)[np.array(place)])
    rate = -sign * jnp.ravel(here.speeds[1])[structure.end_rows]
    back = -jnp.asarray(values.stop_restitution)[joint] * rate
    target = jnp.where(gap + h * rate < 0, jnp.maximum(-gap / h, back), -gap / h)
    turns = structure.is_hinge[joint].astype(int)
    Sigma = 4 / h**2 * jnp.asarray(values.compliance)[joint, turns]
    return jnp.asarray(-sign[:, None] * picked(here.jacobians[1], structure.end_rows)), Sigma, target


def _soft(compliance: Numbers, relaxation: Numbers, g: Array, speed: Array, h: Scalar) -> tuple[Array, Array]:
    """Sigma = (4/h^2) eps Upsilon, and -(4/h) Upsilon g + Upsilon G v."""
    Y = _upsilon(relaxation, h)
    return 4 / h**2 * jnp.asarray(compliance) * Y, -4 / h * Y * g + Y * speed


def _upsilon(relaxation: Numbers, h: Scalar) -> Array:
    return 1 / (1 + 4 * jnp.asarray(relaxation) / h)


def friction(
    structure: Structure, values: Values, speed: Float[Array, "j 6"]
) -> tuple[Float[Array, "j 6"], Float[Array, "j 6"]]:
    """Level of dry friction of each direction (4.1), an effort or a coefficient, and the effort of smooth laws."""
    level, smooth = friction_parts(structure.laws, jnp.asarray(values.friction)[:, None], speed, jnp)
    return jnp.asarray(level), jnp.asarray(smooth)


def drive(structure: Structure, values: Values, u: Controls) -> Float[Array, "j 1"]:
    """K u + off of each joint [N m] or [N]."""
    given = jnp.concatenate([jnp.asarray(u), jnp.zeros(1, float)])
    # a joint without a motor has the place -1: the zero at the end
    signal = jnp.stack([given[k] for k in structure.driven.tolist()]) if len(structure.driven) else given[:0]
    return (jnp.asarray(values.gain) * signal + jnp.asarray(values.offset))[:, None]


def multipliers(here: Instant, after: BodyVelocities, u: Controls, h: Scalar) -> Multipliers:
    """All impulses of the step to the velocities `after` (2.30, 2.31)."""
    structure, values, before = here.structure, here.values, here.speeds[1]
    after_held, after_free, after_contact = rates(here, after)
    Sigma, target = held_rows(here, h)
    # Sigma of free directions is above 0 too, so that the masked quotient has a finite derivative
    held = jnp.where(structure.held, (target - after_held) / Sigma, 0.0)

    # drag and shaft as forces, not as constraints: then they may be 0
    free = -h * values.drag[:, None] * after_free + values.shaft[:, None] * (before - after_free)
    level, smooth = friction(structure, values, before)
    free = free + h * (drive(structure, values, u) - smooth)
    dry = jnp.zeros_like(free)
    if structure.dry.any():
        # a coefficient bounds friction by impulses, a level by h times an effort
        load = jnp.sum(structure.weight * jnp.abs(held), axis=1, keepdims=True)
        most = level * jnp.where(structure.load[:, None], load, h)
        creep = -h * values.stick[:, None] * after_free
        dry = jnp.where(structure.free & structure.dry[:, None], jnp.clip(creep, -most, most), 0.0)
    free = jnp.where(structure.free, free, 0.0) + dry

    if structure.ends:
        C, Sigma_e, reached = end_rows(here, h)
        pushed = jnp.maximum(0.0, reached - C @ jnp.ravel(jnp.asarray(after))) / Sigma_e
        by_row = (
            jnp.zeros(free.size)
            .at[structure.end_rows]
            .add(-np.array([e.sign for e in structure.ends]) * pushed)
        )
        free = free + by_row.reshape(free.shape)

    Sigma_c, target = contact_rows(here, h)
    # with v+ known the conditions of complementarity do not couple: each is a clip
    normal = jnp.maximum(0.0, target - after_contact[:, 2]) / Sigma_c
    bound = (jnp.asarray(values.contact_friction) * normal)[:, None]
    along = jnp.clip(-h * values.contact_stick[:, None] * after_contact[:, :2], -bound, bound)
    return Multipliers(held, free, dry, jnp.concatenate([along, normal[:, None]], axis=1))


def momentum(values: Values, R: Float[Numbers, "l 3 3"], velocity: BodyVelocities) -> Float[Array, "l 6"]:
    """M v of bodies with the axes R [N s], [N m s]."""
    spin = turn(R, turn(symmetric(values.inertia), turn_back(R, velocity[:, 3:])))
    return jnp.concatenate([jnp.asarray(values.mass)[:, None] * velocity[:, :3], spin], axis=-1)


def inertia_times(here: Instant, velocity: BodyVelocities) -> Float[Array, "l 6"]:
    """M v [N s], [N m s]."""
    return momentum(here.values, here.at.rotation[:-1], velocity)


def symmetric(six: Float[Numbers, "*batch 6"]) -> Float[Array, "*batch 3 3"]:
    """The matrix of xx, xy, yy, xz, yz, zz."""
    xx, xy, yy, xz, yz, zz = (six[..., k] for k in range(6))
    rows = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)


def weights(values: Values) -> Float[Array, "l 3"]:
    """Weights of the bodies, with gravity turned by the tilt [N]."""
    gravity = turn(matrix(exp(jnp.asarray(values.tilt))), jnp.asarray(values.gravity))
    return jnp.asarray(values.mass)[:, None] * gravity


def forces(here: Instant) -> Float[Array, "l 6"]:
    """f + f_g: weight, and the gyroscopic torque -omega x J omega [N], [N m]."""
    v = jnp.asarray(here.x.velocity)
    return jnp.concatenate([weights(here.values), -cross(v[:, 3:], inertia_times(here, v)[:, 3:])], axis=-1)


def external_impulse(here: Instant, after: BodyVelocities, u: Controls, h: Scalar) -> Float[Array, "l 6"]:
    """External impulse, in addition to all of the above, of a step to `after` (2.29, times h) [N s], [N m s]."""
    given = multipliers(here, after, u, h)
    gained = inertia_times(here, after - here.x.velocity)
    return gained - h * forces(here) - momenta(here, given.held, given.free, given.contact)


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
    if not (len(load) + len(dry) + c + len(structure.ends)):
        return jnp.zeros((0, n)), jnp.zeros((0, 0)), jnp.zeros(0)
    held, free, contact = here.jacobians
    Sigma_c, approach = contact_rows(here, h)
    Sigma_h, target = (jnp.ravel(part)[load] for part in held_rows(here, h))

    N = picked(held, load)
    # an impulse of either sign as two of one sign: complementarity has no absolute values
    C, Sigma_e, reached = end_rows(here, h)
    normals = jnp.concatenate([N, -N, contact[:, 2], C])
    Sigma_n = jnp.concatenate([Sigma_h, Sigma_h, Sigma_c, Sigma_e])
    b_n = jnp.concatenate([target, -target, approach, reached])

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
    U = jnp.concatenate([U, jnp.zeros((len(U), len(structure.ends)))], axis=1)
    return U, jnp.concatenate([jnp.where(by_load, 0.0, h * level), jnp.zeros(2 * c)])
