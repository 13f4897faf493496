"""Rotations in JAX: unit quaternions (x, y, z, w) and rotation vectors.

Lacoursiere (2007), Eqs. 2.13 to 2.15, 3.23, 3.24, D.2.

With psi a rotation vector, |psi| its angle,

    Exp(psi) = (s psi, c),   s = sin(|psi|/2) / |psi|,   c = cos(|psi|/2)

|psi| has no derivative at zero, but s and c do: they are functions of |psi|^2. The tangent is (D.9, D.10, rearranged)

    d(s psi) = s dpsi + r (psi . dpsi) psi,   dc = -s/2 (psi . dpsi),   r = (c/2 - s) / |psi|^2

and at zero d Exp = (dpsi / 2, 0). For small angles s and r are their series. Rotations turn by the world's axes:
e [+] psi = Exp(psi) e and e' [-] e = Log(e' e^-1), as the angular velocity is that of the world's axes.

Cayley's coordinates of a rotation, rho = 2 tan(angle / 2) along its axis, are those of less than half a turn by
rational functions alone, which cost less where derivatives of derivatives are taken:

    Cay(rho) = (rho / 2, 1) / |(rho / 2, 1)|
    omega = C(rho) rho' = (rho' + rho x rho' / 2) / (1 + |rho|^2 / 4),      C(rho)^T = C(-rho)
    rho' = omega - rho x omega / 2 + (rho . omega) rho / 4
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.spatial.transform import Rotation

from .precision import Numbers

NEAR = 0.02
"""Squared angle [rad^2] below which the series are used; their next terms are 1e-18 there."""


@jax.custom_jvp
def exp(psi: Float[Numbers, "*batch 3"]) -> Float[Array, "*batch 4"]:
    """Exp(psi) of rotation vectors [rad]."""
    psi = jnp.asarray(psi)
    s, c, _ = _coefficients(psi)
    return jnp.concatenate([s * psi, c], axis=-1)


@exp.defjvp
def _exp_tangent(primals: tuple[Numbers], tangents: tuple[Array]) -> tuple[Array, Array]:
    psi, d = jnp.asarray(primals[0]), tangents[0]
    s, c, r = _coefficients(psi)
    along = jnp.sum(psi * d, axis=-1, keepdims=True)
    return jnp.concatenate([s * psi, c], axis=-1), jnp.concatenate(
        [s * d + r * along * psi, -0.5 * s * along], axis=-1
    )


def _coefficients(psi: Array) -> tuple[Array, Array, Array]:
    """s, c, r (..., 1)."""
    a = jnp.sum(psi * psi, axis=-1, keepdims=True)
    near = a < NEAR
    # both branches of `where` are differentiated: the far one must be finite at zero too
    angle = jnp.sqrt(jnp.where(near, 1.0, a))
    x = a / 4
    s_near = 0.5 * (1 - x / 6 * (1 - x / 20 * (1 - x / 42 * (1 - x / 72))))
    c_near = 1 - x / 2 * (1 - x / 12 * (1 - x / 30 * (1 - x / 56)))
    r_near = -1 / 24 * (1 - x / 10 * (1 - x / 28 * (1 - x / 54 * (1 - x / 88))))
    s_far, c_far = jnp.sin(angle / 2) / angle, jnp.cos(angle / 2)
    r_far = (c_far / 2 - s_far) / jnp.where(near, 1.0, a)
    return jnp.where(near, s_near, s_far), jnp.where(near, c_near, c_far), jnp.where(near, r_near, r_far)


def log(e: Float[Numbers, "*batch 4"]) -> Float[Array, "*batch 3"]:
    """The rotation vector [rad] of a unit quaternion, of angle at most pi (3.23); smooth but at pi."""
    # of e and -e the one with the smaller angle; at pi the two meet, which is the jump
    e = jnp.where(e[..., 3:] < 0, -1.0, 1.0) * e
    v, w = e[..., :3], e[..., 3:]
    a = jnp.sum(v * v, axis=-1, keepdims=True)
    near = a < NEAR / 4
    size = jnp.sqrt(jnp.where(near, 1.0, a))
    t = a / jnp.where(near, w * w, 1.0)  # tan^2 of half the angle
    series = 1 - t * (1 / 3 - t * (1 / 5 - t * (1 / 7 - t * (1 / 9 - t * (1 / 11 - t / 13)))))
    factor = jnp.where(near, 2 / jnp.where(near, w, 1.0) * series, 2 * jnp.arctan2(size, w) / size)
    return factor * v


def cayley(rho: Float[Numbers, "*batch 3"]) -> Float[Array, "*batch 4"]:
    """Cay(rho) of Cayley's coordinates."""
    rho = jnp.asarray(rho)
    return unit(jnp.concatenate([rho / 2, jnp.ones_like(rho[..., :1])], axis=-1))


def unit(e: Float[Numbers, "*batch 4"]) -> Float[Array, "*batch 4"]:
    """e / |e|."""
    return jnp.asarray(e) / jnp.sqrt(jnp.sum(jnp.square(e), axis=-1, keepdims=True))


def angular_velocity(
    rho: Float[Numbers, "*batch 3"], rate: Float[Numbers, "*batch 3"]
) -> Float[Array, "*batch 3"]:
    """C(rho) rho': angular velocity [rad/s] of Cay(rho), along the axes that it turns to."""
    size = 1 + jnp.sum(jnp.square(rho), axis=-1, keepdims=True) / 4
    return (jnp.asarray(rate) + cross(rho, rate) / 2) / size


def cayley_rate(
    rho: Float[Numbers, "*batch 3"], omega: Float[Numbers, "*batch 3"]
) -> Float[Array, "*batch 3"]:
    """C(rho)^-1 omega: rate rho' [rad/s]."""
    along = jnp.sum(rho * omega, axis=-1, keepdims=True)
    return jnp.asarray(omega) - cross(rho, omega) / 2 + along * rho / 4


def multiply(a: Float[Numbers, "*batch 4"], b: Float[Numbers, "*batch 4"]) -> Float[Array, "*batch 4"]:
    """a b: first b, then a."""
    x1, y1, z1, w1 = (a[..., k] for k in range(4))
    x2, y2, z2, w2 = (b[..., k] for k in range(4))
    return jnp.stack(
        [
            w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
            w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
            w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
            w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
        ],
        axis=-1,
    )


def conjugate(e: Float[Numbers, "*batch 4"]) -> Float[Array, "*batch 4"]:
    """e^-1 of a unit quaternion."""
    return jnp.concatenate([-e[..., :3], e[..., 3:]], axis=-1)


def plus(e: Float[Numbers, "*batch 4"], psi: Float[Numbers, "*batch 3"]) -> Float[Array, "*batch 4"]:
    """e [+] psi = Exp(psi) e (2.14)."""
    return multiply(exp(psi), e)


def minus(a: Float[Numbers, "*batch 4"], b: Float[Numbers, "*batch 4"]) -> Float[Array, "*batch 3"]:
    """a [-] b = Log(a b^-1) (2.15)."""
    return log(multiply(a, conjugate(b)))


def matrix(e: Float[Numbers, "*batch 4"]) -> Float[Array, "*batch 3 3"]:
    """R of unit quaternions."""
    x, y, z, w = (e[..., k] for k in range(4))
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)


def turn(R: Float[Numbers, "*batch 3 3"], p: Float[Numbers, "*batch 3"]) -> Float[Array, "*batch 3"]:
    """R p, as three sums: batches of small matrix products are slow."""
    return jnp.sum(R * p[..., None, :], axis=-1)


def turn_back(R: Float[Numbers, "*batch 3 3"], p: Float[Numbers, "*batch 3"]) -> Float[Array, "*batch 3"]:
    """R^T p."""
    return jnp.sum(R * p[..., :, None], axis=-2)


def cross(a: Float[Numbers, "*batch 3"], b: Float[Numbers, "*batch 3"]) -> Float[Array, "*batch 3"]:
    """a x b."""
    ax, ay, az = (a[..., k] for k in range(3))
    bx, by, bz = (b[..., k] for k in range(3))
    return jnp.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def quaternion_of(R: np.ndarray) -> Array:
    """Quaternion of a constant rotation matrix."""
    return jnp.asarray(Rotation.from_matrix(R).as_quat())
