"""End stops: the steps of a record in which a joint may touch one, and steps of a simulation that do not pass them.

A step in contact has an impulse of the stop, of any size and at any time in the step, so that its balance says nothing:
such steps have no residuals (`Linearizer.all_of`). The motion consists then of arcs between contacts that only readings
connect, and parameters follow from the arcs. Which steps these are follows from the readings z_k of the joint and the
positions from which contact is assumed: those that end there, and those that reach it where readings before and after
are extrapolated,

    max(z_k, z_{k+1}, min(2 z_k - z_{k-1}, 2 z_{k+1} - z_{k+2})) >= position,      outward of the stop

A step without contact that counts as one costs information only. So nothing depends on the states, and the residuals
are as smooth as those of a mechanism without stops.

**A step forward** is first taken without stops. A coordinate that would pass a stop at p, or p + g (1 + e) v of one
that gives way (`Stops`), arrives there at tau with a speed v, leaves with -e v, and the other coordinates solve the
same balance with it.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...arrays import Bool, Matrix, Vector, interpolated
from ...models.maximal import Encoder, Model
from ...models.maximal.precision import Scalar, Theta
from .problem import Record

UNSURE = 6.0
"""Distance of readings from a stop within which a contact cannot be excluded, in standard deviations: differences of
two extrapolated readings have sqrt(10)."""
SIDES = np.array([-1.0, 1.0])
"""Outward directions of lower and upper stops."""


def position_noise(model: Model, noise: Vector) -> Vector:
    """(n,) least noise of the encoders of each joint coordinate, from that of all sensors (s,); NaN without one."""
    names, found = (
        [name for name, _ in model.mechanism.coordinates],
        np.full(len(model.mechanism.coordinates), np.nan),
    )
    for sensor, level in zip(model.mechanism.sensors, noise, strict=True):
        if isinstance(sensor, Encoder):
            place = names.index(sensor.joint)
            found[place] = np.fmin(found[place], level)
    return found


def read_positions(model: Model, record: Record, theta: Vector) -> Float[np.ndarray, "N n"]:
    """Readings of joint coordinates by encoders, interpolated, without their zeros; NaN without an encoder."""
    names, known = (
        [name for name, _ in model.mechanism.coordinates],
        dict(zip(model.free, theta, strict=True)),
    )
    y = np.full((len(record.times), len(names)), np.nan)
    for k, sensor in enumerate(model.mechanism.sensors):
        z = record.z[:, k]
        if isinstance(sensor, Encoder) and np.isfinite(z).any():
            z = interpolated(record.times, z, bool(model.angular[k]))
            y[:, names.index(sensor.joint)] = z - known.get(f"{sensor.label}.zero", sensor.zero)
    return y


def reached(y: Float[np.ndarray, "N n"]) -> Float[np.ndarray, "N n 2"]:
    """How far outward the step after each sample reaches at either side, see above; -inf after the last sample."""
    z = y[:, :, None] * SIDES
    before = np.concatenate([z[:1], 2 * z[1:] - z[:-1]])[:-1]
    after = np.concatenate([2 * z[:-1] - z[1:], z[-1:]])[1:]
    steps = np.maximum(np.maximum(z[:-1], z[1:]), np.minimum(before, after))
    return np.concatenate([steps, np.full((1, *z.shape[1:]), -np.inf)])


def declared_stops(model: Model, theta: Vector) -> Float[np.ndarray, "n 2"]:
    """Positions of the end stops of each joint coordinate; -inf and inf where there is none."""
    values = model.mechanism.starting(dict(zip(model.free, theta.tolist(), strict=True))).values
    found = np.tile([-np.inf, np.inf], (len(model.mechanism.coordinates), 1))
    for end in model.structure.ends:
        found[end.coordinate, end.side] = np.asarray(values.stop)[end.joint, end.side]
    return found


def touching(model: Model, record: Record, theta: Vector, stops: Matrix) -> Bool[np.ndarray, "N"]:
    """Whether the step after each sample may touch one of the stops (n, 2)."""
    if not np.isfinite(stops).any():
        return np.zeros(len(record.times), dtype=bool)
    # NaN of joints without an encoder is never reached
    return np.asarray((reached(read_positions(model, record, theta)) >= stops * SIDES).any(axis=(1, 2)))


def at_stops(
    model: Model, x: Float[Array, "size"], free: Float[Array, "size"], theta: Theta, h: Scalar
) -> tuple[Float[Array, "size"], Float[Array, "size"]]:
    """Which coordinates and rates after a step from those of x follow from end stops, 1 or 0, and their values.

    Args:
        free: those after the same step without stops.
    """
    values, n = model.values(theta), model.structure.free.sum()
    held, target = [jnp.zeros(())] * (2 * n), [jnp.zeros(())] * (2 * n)
    for end in model.structure.ends:
        place, sign = end.coordinate, end.sign
        p = sign * jnp.asarray(values.stop)[end.joint, end.side]
        restitution = jnp.asarray(values.stop_restitution)[end.joint]
        (y_0, v_0), (y_1, v_1) = ((sign * state[place], sign * state[n + place]) for state in (x, free))
        p = p + jnp.asarray(values.stop_give)[end.joint] * (1 + restitution) * jnp.maximum(v_1, 0.0)
        passed = (y_1 > p) & (v_1 > 0)
        tau = jnp.clip((p - y_0) / jnp.where(passed & (y_1 > y_0), y_1 - y_0, 1.0), 0.0, 1.0)
        rest, gained = (1 - tau) * h, (v_1 - v_0) / h
        back = -restitution * jnp.maximum(v_0 + gained * tau * h, 0.0)
        # what accelerates the joint acts after the impact, too, but not into the stop
        after = p + jnp.minimum(back + gained * rest / 2, 0) * rest, jnp.minimum(back + gained * rest, 0)
        for k, value in zip((place, n + place), after, strict=True):
            held[k] = jnp.where(passed, 1.0, held[k])
            target[k] = jnp.where(passed, sign * value, target[k])
    return jnp.stack(held), jnp.stack(target)
