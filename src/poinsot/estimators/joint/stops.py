"""End stops in the reduced form: the impulse of a stop in a step is unknown, and complementary to its gap.

Along the outward direction of a stop at p, with the joint's coordinate and rate (y_0, v_0) and (y_1, v_1) at the ends
of a step, the moments e_1 and e_2 of the effort missing from the model (`models.maximal.reduced`) contain that of the
stop: an impulse lambda = -e_1 >= 0 against the outward direction, at an unknown time. Where the velocity jumps once,
the path is two straight lines, which meet (1 - tau) h before its end and at the distance c from the stop,

    1 - tau = (v_0 - dy/h) / (v_0 - v_1),     c = p - y_1 + v_1 (1 - tau) h

The stop acts only where the joint touches it: lambda >= 0, c >= 0, lambda c = 0, that is min(lambda, c) = 0. In
standard deviations, with kappa of the weight and sigma_c of the contact, this is the first residual of a step,

    r_1 = min(sqrt(kappa) lambda, c / sigma_c),      sigma_c = sigma_p + h |v_0 - v_1| / pi

Away from the stop it is the residual without one; at the stop it is the distance, and the impulse costs nothing.
sigma_p is the noise of the joint's encoder. A stop that gives way like a spring for a time T lets the joint pass by
|v_0 - v_1| T / pi at most, and contacts that are longer than a step are several impulses. What all impacts have in
common of it is a parameter, the stop's give g: c is the distance from p + g |v_0 - v_1|. The second residual is that
of the speed v_1 at the end (Newton's restitution e), by the speed v_a with which the contact began,

    r_2 = (v_1 + e v_a) / sigma_v,    sigma_v^2 = (v_a^2 + v_1^2) / 4 + (sigma_p / h)^2

in place of e_2, which the unknown time makes uninformative; with e v_a only in the step in which the joint leaves. It
is wide because a step may end within a contact.

Which of the two the minimum is, tau, |v_0 - v_1|, v_a and the standard deviations are constants of a search
(`Contacts`), in which residuals are then smooth. They are taken from the motion that it begins with, and again from
the one that it ends with, until the same steps touch the stops: an active set.

**A step forward** is first taken without stops. A coordinate that would pass a stop arrives there at tau with a speed
v, leaves with -e v from p + g (1 + e) v, and the other coordinates solve the same balance with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ...arrays import Vector
from ...models.maximal import Model
from ...models.maximal.precision import JointMotion, Scalar, Theta
from ...models.maximal.values import End, Values

BEGINS = 3.0
"""Impulse with which a contact begins, in standard deviations: smaller ones are noise."""
UNREAD = 1e-3
"""Standard deviation of the position of a stop of a joint without an encoder [rad], [m]."""


def stop_spreads(model: Model, noise: Vector) -> Vector:
    """(n,) sigma_p of each joint coordinate [rad] or [m], from the noise (s,) of the sensors."""
    names = [name for name, _ in model.mechanism.coordinates]
    spreads = np.full(len(names), UNREAD)
    for sensor, level in zip(model.mechanism.sensors, noise, strict=True):
        if not sensor.is_rate:
            spreads[names.index(sensor.joint)] = level
    return spreads


class Contacts(NamedTuple):
    """Which steps of a record touch which end stop, and the constants of their residuals.

    Args:
        active: (N, ends) whether the stop acts in the step after a sample. rest: (N, ends) (1 - tau) h [s].
        change: (N, ends) |v_0 - v_1|. spread: (N, ends) sigma_c.
        arrival: (N, ends) v_a where the joint leaves the stop, else 0. speed_spread: (N, ends) sigma_v.
    """

    active: Any
    rest: Any
    change: Any
    spread: Any
    arrival: Any
    speed_spread: Any

    def samples(self, cut: slice) -> Contacts:
        """Some of the samples."""
        return Contacts(*(part[cut] for part in self))

    @classmethod
    def joined(cls, records: Sequence[Contacts]) -> Contacts:
        """Of all records, one after the other."""
        return cls(*(np.concatenate(part) for part in zip(*records, strict=True)))

    @classmethod
    def none(cls, samples: int, ends: int) -> Contacts:
        """No step touches a stop."""
        zero, one = np.zeros((samples, ends)), np.ones((samples, ends))
        return cls(zero > 0, zero, zero, one, zero, one)

    @classmethod
    def of(
        cls,
        model: Model,
        motion: tuple[np.ndarray, np.ndarray],
        theta: Vector,
        steps: Vector,
        impulses: Float[np.ndarray, "N n"],
        spreads: Vector,
        before: Contacts | None = None,
    ) -> Contacts:
        """Contacts of a motion: steps whose missing impulse is larger than the distance from the stop.

        A contact begins with an impulse that is no noise (`BEGINS`), and lasts while it points away from the stop.

        Args:
            motion: coordinates and rates (N, n). steps: (N,) durations [s].
            impulses: (N, n) first moments of the effort that the model without stops lacks, in standard deviations.
            spreads: (n,) sigma_p [rad], [m]. before: contacts with which the motion was estimated; None: none.
        """
        values = model.mechanism.starting(dict(zip(model.free, theta.tolist(), strict=True))).values
        columns = []
        y, rate = (np.append(part, part[-1:], axis=0) for part in motion)
        for k, end in enumerate(model.structure.ends):
            place, sign = end.coordinate, end.sign
            p, _, give = (float(number) for number in _numbers(values, end))
            (y_0, y_1), (v_0, v_1) = ((sign * part[:-1, place], sign * part[1:, place]) for part in (y, rate))
            limit = spreads[place] / steps
            change, approach = np.abs(v_0 - v_1), np.maximum(v_0, 0.0)
            # speeds that differ by less than `limit`, or do not approach the stop, meet at the end of the step
            ballistic = (v_0 - (y_1 - y_0) / steps) * (v_0 - v_1) / (change**2 + limit**2)
            rest = steps * np.clip(ballistic, 0.0, 1.0) * approach / (approach + limit)
            spread = spreads[place] + steps * change / np.pi
            distance = (p + give * change - y_1 + v_1 * rest) / spread
            least = BEGINS if before is None else np.where(before.active[:, k], 0.0, BEGINS)
            active = -sign * impulses[:, place] > np.maximum(distance, least)
            active[-1] = False
            arrival = approach.copy()
            for i in np.flatnonzero(active[1:] & active[:-1]) + 1:  # a contact may last several steps
                arrival[i] = max(arrival[i], arrival[i - 1])
            speed_spread = np.sqrt((arrival**2 + v_1**2) / 4 + limit**2)
            leaves = ~np.append(active[1:], False) & (v_1 < 0)
            columns.append((active, rest, change, spread, np.where(leaves, arrival, 0.0), speed_spread))
        return cls(*(np.stack(part, axis=1) for part in zip(*columns, strict=True)))


def with_stops(
    model: Model, e: Float[Array, "m"], after: JointMotion, theta: Theta, root: Scalar, contacts: Contacts
) -> tuple[Float[Array, "m"], Bool[Array, "m"]]:
    """Residuals of a step where end stops act, over sqrt(kappa), and which of them do not depend on kappa.

    Args:
        e: (2 n,) the moments e_1 and e_2 of `reduced_errors`. root: sqrt(kappa). contacts: of the step, (ends,) each.
    """
    values, e = model.values(theta), e.reshape(2, -1)
    fixed = jnp.zeros(e.shape, bool)
    for k, end in enumerate(model.structure.ends):
        active, rest, change, spread, arrival, speed_spread = (jnp.asarray(part)[k] for part in contacts)
        place = end.coordinate
        y_1, v_1 = (end.sign * part[place] for part in after)
        p, restitution, give = _numbers(values, end)
        distance = (p + give * change - y_1 + v_1 * rest) / spread
        returned = (v_1 + restitution * arrival) / speed_spread
        e = e.at[:, place].set(jnp.where(active, jnp.stack([distance, returned]) / root, e[:, place]))
        fixed = fixed.at[:, place].set(fixed[:, place] | active)
    return jnp.ravel(e), jnp.ravel(fixed)


def stopped_step(
    model: Model,
    solve: Callable[[Array, Array, Array], Array],
    x: Float[Array, "size"],
    theta: Theta,
    h: Scalar,
) -> Float[Array, "size"]:
    """(y, y') after a step from x in which no stop is passed.

    Args:
        solve: (x_1, held, target) -> the next state with the rows `held` (2 n,) at their targets, from a guess x_1.
    """
    values, n = model.values(theta), len(x) // 2
    held, target = jnp.zeros(2 * n, bool), jnp.zeros(2 * n)
    free = solve(jnp.concatenate([x[:n] + h * x[n:], x[n:]]), held, target)
    for end in model.structure.ends:
        place, sign = end.coordinate, end.sign
        (y_0, v_0), (y_1, v_1) = ((sign * state[place], sign * state[n + place]) for state in (x, free))
        p, restitution, give = _numbers(values, end)
        reached = (y_1 > p) & (v_1 > 0)
        tau = jnp.clip((p - y_0) / jnp.where(reached & (y_1 > y_0), y_1 - y_0, 1.0), 0.0, 1.0)
        rest, gained = (1 - tau) * h, (v_1 - v_0) / h
        arrival = jnp.maximum(v_0 + gained * tau * h, 0.0)
        back = -restitution * arrival
        # what accelerates the joint acts after the impact, too, but not into the stop
        last = p + give * (arrival - back)
        at_stop = jnp.stack(
            [last + jnp.minimum(back + gained * rest / 2, 0) * rest, jnp.minimum(back + gained * rest, 0)]
        )
        places = jnp.array([place, n + place])
        held = held.at[places].set(held[places] | reached)
        target = target.at[places].set(jnp.where(reached, sign * at_stop, target[places]))
    return solve(jnp.where(held, target, free), held, target)


def _numbers(values: Values, end: End) -> tuple[Array, Array, Array]:
    """Position of a stop, outward, its restitution and its give."""
    p = end.sign * jnp.asarray(values.stop)[end.joint, end.side]
    return p, jnp.asarray(values.stop_restitution)[end.joint], jnp.asarray(values.stop_give)[end.joint]
