"""Mechanisms simulated from a state of joint coordinates given by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from poinsot.exceptions import InvalidModel, check_known, listing
from poinsot.models.maximal import Model, State, double_precision, impulses, lcp
from poinsot.models.maximal.precision import Scalar, Theta


@dataclass(frozen=True, eq=False)
class Simulation:
    """What `simulate` gives.

    Args:
        times: (T,) [s], from 0.
        states: (T, l, ...).
        rescued: steps in which Lemke's method did not end and the projected Newton method found the impulses.
        failed: steps in which neither did.
    """

    times: Float[np.ndarray, "T"]
    states: State
    rescued: int
    failed: int


@double_precision
def state_of(model: Model, *, rates: dict[str, float] | None = None, **coordinates: float) -> State:
    """The state with these joint coordinates, by name (others 0), in NumPy.

    Args:
        rates: joint coordinate -> rate [rad/s] or [m/s].
        coordinates: joint coordinate -> value [rad] or [m].

    Raises:
        InvalidModel: if there is none of a name, or joints that close loops are left open.
    """
    names = [name for name, _ in model.mechanism.coordinates]
    for name in (*coordinates, *(rates or {})):
        check_known(name, names, "no joint coordinate", "the mechanism has")
    y, rate = (np.array([given.get(name, 0.0) for name in names]) for given in (coordinates, rates or {}))
    # `assemble` closes a tree; joints that close loops are closed only if the coordinates close them
    x, gap = _assembled(model)(y, rate, model.theta)
    gap = np.abs(np.asarray(gap))
    if gap.max(initial=0.0) > 1e-6:
        joint = model.mechanism.joints[int(np.argmax(gap.max(axis=1)))].name
        raise InvalidModel(
            f"with these coordinates joint {joint!r} is open by {gap.max():.3g}; give coordinates that close it"
        )
    return State(*(np.array(part) for part in x))


@double_precision
def simulate(
    model: Model,
    x: State,
    h: float,
    steps: int,
    u: Float[np.ndarray, "T _"] | None = None,
    theta: Float[np.ndarray, "p"] | None = None,
    every: int = 1,
) -> Simulation:
    """Step on from x in steps of h [s], keeping every so many.

    Args:
        steps: states to come.
        u: (steps, n) controls, each held from one kept state to the next; None: all 0.
        theta: (p,); None: as the mechanism has it.
        every: time steps from one kept state to the next.

    Raises:
        InvalidModel: if u does not fit, or h or a count is not above 0.
    """
    controls = model.structure.controls
    if not (h > 0 and steps > 0 and every > 0):
        raise InvalidModel(f"a simulation needs h, steps and every above 0, not {h}, {steps} and {every}")
    u = np.zeros((steps, controls)) if u is None else u
    if u.shape != (steps, controls):
        raise InvalidModel(
            f"the controls need {steps} rows of {controls} ({listing(model.mechanism.inputs)}), not {u.shape}"
        )
    theta = model.theta if theta is None else theta
    states, methods = _simulated(model)(x, u, theta, h, every=every)
    last = State(
        *(np.concatenate([np.asarray(a)[None], np.asarray(b)]) for a, b in zip(x, states, strict=True))
    )
    counts = np.asarray(methods).sum(axis=0)
    return Simulation(h * every * np.arange(steps + 1), last, int(counts[0]), int(counts[1]))


@double_precision
def read_coordinates(
    model: Model, y: Float[np.ndarray, "T n"], rate: Float[np.ndarray, "T n"], theta: Float[np.ndarray, "p"]
) -> Float[np.ndarray, "T s"]:
    """What sensors read along joint coordinates [rad], [m] and their rates."""
    return np.asarray(jax.vmap(model.observe_coordinates, in_axes=(0, 0, None))(y, rate, theta))


def energy(model: Model, x: State, theta: Theta) -> Float[Array, ""]:
    """Kinetic, with that of motors' shafts, and potential, 0 with all centres of mass at the origin [J]."""
    mechanism, v = model.at(x, theta), jnp.asarray(x.velocity)
    kinetic = 0.5 * jnp.sum(v * impulses.inertia_times(mechanism, v))
    shafts = jnp.where(model.structure.free, mechanism.values.shaft[:, None] * mechanism.speeds[1] ** 2, 0.0)
    return kinetic + 0.5 * jnp.sum(shafts) - jnp.sum(impulses.weights(mechanism.values) * x.position)


def constraint_errors(model: Model, x: State, theta: Theta) -> Float[Array, "j 6"]:
    """g of each joint's held translations [m] and rotations [-]; 0 in free directions."""
    return jnp.where(model.structure.held, model.at(x, theta).at.g, 0.0)


# what is compiled is kept


@lru_cache(maxsize=64)
def _assembled(model: Model) -> Callable[..., Any]:
    def closed(y: Array, rate: Array, theta: Array) -> tuple[State, Array]:
        x = model.assemble(y, rate, theta)
        return x, constraint_errors(model, x, theta)

    return jax.jit(closed)


@lru_cache(maxsize=64)
def _simulated(model: Model) -> Callable[..., Any]:
    @partial(jax.jit, static_argnames="every")
    def run(x: State, u: Array, theta: Array, h: Scalar, every: int) -> tuple[State, Array]:
        def once(_: Any, state: tuple[State, Array], u: Array) -> tuple[State, Array]:
            x, counts = state
            x, report = model.step_with_report(x, u, theta, h)
            return x, counts + jnp.stack([report.method == lcp.NEWTON, report.method == lcp.FAILED])

        def keep(x: State, u: Array) -> tuple[State, tuple[State, Array]]:
            start = (x, jnp.zeros(2, int))
            if every == 1:  # without a loop, which takes as long to compile as the step itself
                x, counts = once(0, start, u)
            else:
                x, counts = jax.lax.fori_loop(0, every, partial(once, u=u), start)
            return x, (x, counts)

        x = State(*(jnp.asarray(part) for part in x))
        return jax.lax.scan(keep, x, u)[1]

    return run
