"""Residuals of the equations of motion in one step, in four forms, in JAX.

A form defines the state and the residuals (docs/concepts/joint_smoothing.md compares them):

    explicit   bodies, (p_v, p_q): external impulses by velocity and by configuration (2.29, 3.7, 3.8), Lacoursiere's
    implicit   bodies, M (v+ - v*) with v* the velocity after a step forward: bounded whatever the compliance
    reduced    joint coordinates and rates of a tree: two moments of unmodelled efforts, of fourth order in h
    forward    bodies, phi(x_k) [-] x_{k+1}: the state residuals of Lacoursiere (Sect. 3.1), as in a Kalman smoother

A state is a row of numbers; its tangent is smaller where there are rotations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...exceptions import InvalidMethod, InvalidModel
from ...models.maximal import Model, State, double_precision
from ...models.maximal.bodies import minus, plus
from ...models.maximal.precision import Controls, Numbers, Scalar, Theta
from .stops import stopped_step

NEWTON_STEPS = 6
"""Newton iterations of a step: quadratic convergence takes three, a reversal of dry friction one or two more."""
LANES, STRIDE = 8, 32
"""Simulations side by side, and steps in one call of the compiled function; 16 side by side take four times as long."""
SAMPLES = 512
"""Samples in one call of a compiled function."""
States = Float[np.ndarray, "N size"]
"""States of a record, a row a sample."""
Motion = Float[np.ndarray, "N n"]
"""Joint coordinates [rad], [m], or their rates, a row a sample."""
Row = Float[Numbers, "size"]
"""One state x."""
Tangent = Float[Numbers, "degrees"]
"""A change d of a state, x [+] d."""


def in_chunks(
    call: Callable[..., Any], count: int, *arrays: Any, last: tuple[Any, ...] = (), size: int | None = None
) -> list[np.ndarray]:
    """Results of `call(*arrays, *last)` for all samples, in chunks of fixed size, so that any length is compiled once.

    `call` takes `size` rows of arrays (count, ...), None: `SAMPLES`, and `last`, and gives a tuple of arrays, a row a
    sample.
    """
    parts, size = [], size or SAMPLES
    for first in range(0, count, size):
        # padded with the last sample: a shorter array would compile the function again
        cut = np.minimum(np.arange(first, first + size), count - 1)
        results = call(*(array[cut] for array in arrays), *last)
        parts.append([np.asarray(part)[: count - first] for part in results])
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


class Form(ABC):
    """The errors of a step of a model."""

    size: int
    """Numbers in a state."""
    degrees: int
    """Numbers in the tangent of a state."""
    rows: int
    """Number of errors of a step."""

    def __init__(self, model: Model):
        self.model = model
        self._read = jax.jit(lambda x, theta: (jax.vmap(self.readings, in_axes=(0, None))(x, theta),))
        self._inertias = jax.jit(lambda x, theta: (jax.vmap(self.inertia, in_axes=(0, None))(x, theta),))
        self._moved = jax.jit(lambda x, d: (jax.vmap(self.plus)(x, d),))
        simulated = jax.vmap(self._steps, in_axes=(0, 0, 0, None))
        self._simulated = jax.jit(lambda *given: (simulated(*given),))

    @abstractmethod
    def pack(self, y: Motion, rate: Motion, theta: Theta, states: State | None = None) -> States:
        """States that satisfy the joint constraints; or the bodies' given states, where the form has them."""

    @abstractmethod
    def unpack(self, x: States, theta: Theta) -> tuple[Motion, Motion, State | None]:
        """Joint coordinates, their rates, and the bodies' states where these are estimated."""

    @abstractmethod
    def plus(self, x: Row, d: Tangent) -> Float[Array, "size"]:
        """x [+] d."""

    @abstractmethod
    def step_errors(self, x: Row, y: Row, u: Controls, theta: Theta, h: Scalar) -> Float[Array, "rows"]:
        """Errors of the step from x to y."""

    @abstractmethod
    def step(self, x: Row, u: Controls, theta: Theta, h: Scalar) -> Float[Array, "size"]:
        """The next state after x by the model without process noise."""

    @abstractmethod
    def readings(self, x: Row, theta: Theta) -> Float[Array, "s"]:
        """h(x)."""

    def by_inertia(
        self, e: Float[Array, "rows"], x: Row, theta: Theta, reference: Theta
    ) -> Float[Array, "rows"]:
        """Errors of a step from x scaled to M(reference) M(theta)^-1 e, so that they do not shrink with inertia."""
        M, M_ref = self.inertia(x, theta), self.inertia(x, reference)
        return jnp.ravel((M_ref @ jnp.linalg.solve(M, e.reshape(-1, len(M)).T)).T)

    def inertia(self, x: Row, theta: Theta) -> Float[Array, "n n"]:
        """Factor from defects of the motion to errors of a step; the identity where errors are defects."""
        return jnp.eye(self.rows)

    def start_errors(self, x: Row, theta: Theta, h: Scalar) -> Float[Array, "_"]:
        """Constraint violation of the first state (3.16, 3.17), as impulses; empty without multipliers."""
        return jnp.zeros(0)

    @double_precision
    def inertias(self, x: States, theta: Theta) -> np.ndarray:
        """(N, n, n) inertia of all states."""
        return in_chunks(self._inertias, len(x), x, last=(theta,))[0]

    @double_precision
    def read(self, x: States, theta: Theta) -> Float[np.ndarray, "N s"]:
        """h(x) of all states."""
        return in_chunks(self._read, len(x), x, last=(theta,))[0]

    @double_precision
    def simulated(self, x: States, u: np.ndarray, h: np.ndarray, theta: Theta) -> np.ndarray:
        """(W, T + 1, size) W simulations from states x (W, size), u (W, T, inputs) held over steps h (W, T) [s]."""
        # padded to whole strides, which compile once; added steps are as long as the last
        T, more = h.shape[1], -h.shape[1] % STRIDE
        u, h = (
            np.pad(part, [(0, 0), (0, more)] + [(0, 0)] * (part.ndim - 2), mode="edge") for part in (u, h)
        )
        parts = [x[:, None]]
        for first in range(0, T, STRIDE):
            cut = slice(first, first + STRIDE)
            given = parts[-1][:, -1], u[:, cut], h[:, cut]
            parts += in_chunks(self._simulated, len(x), *given, last=(theta,), size=LANES)
        return np.concatenate(parts, axis=1)[:, : T + 1]

    def _steps(self, x: Array, u: Array, h: Array, theta: Array) -> Array:
        """(T, size) states after x."""

        def advance(x: Array, given: tuple[Array, Array]) -> tuple[Array, Array]:
            x = self.step(x, given[0], theta, given[1])
            return x, x

        return jax.lax.scan(advance, x, (u, h))[1]

    @double_precision
    def moved(self, x: States, d: Float[np.ndarray, "N degrees"]) -> States:
        """x [+] d of all states."""
        return in_chunks(self._moved, len(x), x, d)[0]


class ReducedForm(Form):
    """Joint coordinates and their rates, (y, y')."""

    def __init__(self, model: Model):
        super().__init__(model)
        structure = model.structure
        if len(structure.contact_body):
            raise InvalidMethod("the reduced form does not support contacts; write form = 'implicit'")
        try:
            model.needs_a_tree("the reduced form")
        except InvalidModel as error:
            raise InvalidMethod(f"{error}; write form = 'implicit'") from None
        self.n = int(structure.free.sum())
        self.size = self.degrees = self.rows = 2 * self.n

    def pack(self, y: Motion, rate: Motion, theta: Theta, states: State | None = None) -> States:
        return np.concatenate([y, rate], axis=1)

    def unpack(self, x: States, theta: Theta) -> tuple[Motion, Motion, State | None]:
        return x[:, : self.n], x[:, self.n :], None

    def plus(self, x: Row, d: Tangent) -> Float[Array, "size"]:
        return jnp.asarray(x + d)

    def step_errors(self, x: Row, y: Row, u: Controls, theta: Theta, h: Scalar) -> Float[Array, "rows"]:
        n = self.n
        return jnp.ravel(self.model.reduced_errors((x[:n], x[n:]), (y[:n], y[n:]), u, theta, h))

    def step(self, x: Row, u: Controls, theta: Theta, h: Scalar) -> Float[Array, "size"]:
        def solve(begin: Array, held: Array, target: Array) -> Array:
            def newton(_: Any, y: Array) -> Array:
                e, slope = errors(y), jax.jacfwd(errors)(y)
                return y - jnp.linalg.solve(slope, e)

            def errors(y: Array) -> Array:
                return jnp.where(held, y - target, self.step_errors(x, y, u, theta, h))

            return jax.lax.fori_loop(0, NEWTON_STEPS, newton, begin)

        x = jnp.asarray(x)
        if self.model.structure.ends:
            return stopped_step(self.model, solve, x, theta, h)
        none = jnp.zeros(self.size)
        return solve(x + jnp.concatenate([h * x[self.n :], jnp.zeros(self.n)]), none > 0, none)

    def inertia(self, x: Row, theta: Theta) -> Float[Array, "n n"]:
        return self.model.joint_inertia(jnp.asarray(x)[: self.n], theta)

    def readings(self, x: Row, theta: Theta) -> Float[Array, "s"]:
        return self.model.observe_coordinates(x[: self.n], x[self.n :], theta)


class ExplicitForm(Form):
    """Bodies: r, e, v of each in a row, and external impulses."""

    def __init__(self, model: Model):
        super().__init__(model)
        self.l = model.structure.bodies
        self._assembled = jax.jit(jax.vmap(model.assemble, in_axes=(0, 0, None)))
        self.size, self.degrees, self.rows = 13 * self.l, 12 * self.l, 12 * self.l

    @double_precision
    def pack(self, y: Motion, rate: Motion, theta: Theta, states: State | None = None) -> States:
        # given states keep errors of the constraints, which coordinates lack
        parts = states or in_chunks(self._assembled, len(y), y, rate, last=(theta,))
        return np.concatenate([np.asarray(part).reshape(len(y), -1) for part in parts], axis=1)

    def unpack(self, x: States, theta: Theta) -> tuple[Motion, Motion, State | None]:
        states = self.state(np.asarray(x))
        return *self.model.joint_motion(states, np.asarray(theta)), states

    def state(self, x: Float[Numbers, "*batch size"]) -> State:
        """The bodies' states in rows of numbers."""
        l, batch = self.l, x.shape[:-1]
        r, e, v = x[..., : 3 * l], x[..., 3 * l : 7 * l], x[..., 7 * l :]
        return State(r.reshape(*batch, l, 3), e.reshape(*batch, l, 4), v.reshape(*batch, l, 6))

    def plus(self, x: Row, d: Tangent) -> Float[Array, "size"]:
        return jnp.concatenate([jnp.ravel(part) for part in plus(self.state(x), d.reshape(self.l, 12))])

    def step_errors(self, x: Row, y: Row, u: Controls, theta: Theta, h: Scalar) -> Float[Array, "rows"]:
        return jnp.ravel(jnp.stack(self.model.impulse_errors(self.state(x), self.state(y), u, theta, h)))

    def readings(self, x: Row, theta: Theta) -> Float[Array, "s"]:
        return self.model.observe(self.state(x), theta)

    def start_errors(self, x: Row, theta: Theta, h: Scalar) -> Float[Array, "_"]:
        configuration, velocity = map(jnp.ravel, self.model.surface_errors(self.state(x), theta))
        M = self.start_mass(self.state(x), theta, h)
        return jnp.concatenate([M @ configuration / h, M @ velocity])

    def step(self, x: Row, u: Controls, theta: Theta, h: Scalar) -> Float[Array, "size"]:
        return jnp.concatenate([jnp.ravel(p) for p in self.model.step(self.state(x), u, theta, h)])

    def start_mass(self, state: State, theta: Theta, h: Scalar) -> Float[Array, "n n"]:
        """Factor from errors of the first state to impulses (3.13, 3.14)."""
        return self.model.projected_mass(state, theta, h)


class ImplicitForm(ExplicitForm):
    """Bodies, and M (v+ - v*)."""

    def step_errors(self, x: Row, y: Row, u: Controls, theta: Theta, h: Scalar) -> Float[Array, "rows"]:
        return jnp.ravel(jnp.stack(self.model.implicit_errors(self.state(x), self.state(y), u, theta, h)))

    def start_mass(self, state: State, theta: Theta, h: Scalar) -> Float[Array, "n n"]:
        return self.model.mass_matrix(state, theta)

    def inertia(self, x: Row, theta: Theta) -> Float[Array, "n n"]:
        return self.model.mass_matrix(self.state(jnp.asarray(x)), theta)


class ForwardForm(ExplicitForm):
    """Bodies, and phi(x_k) [-] x_{k+1}."""

    def step_errors(self, x: Row, y: Row, u: Controls, theta: Theta, h: Scalar) -> Float[Array, "rows"]:
        return jnp.ravel(minus(self.model.step(self.state(x), u, theta, h), self.state(y)))

    def start_errors(self, x: Row, theta: Theta, h: Scalar) -> Float[Array, "_"]:
        # states, not impulses: the weight kappa is then that of a state's error
        return jnp.concatenate([jnp.ravel(part) for part in self.model.surface_errors(self.state(x), theta)])


FORMS: dict[str, type[Form]] = {
    "reduced": ReducedForm,
    "explicit": ExplicitForm,
    "implicit": ImplicitForm,
    "forward": ForwardForm,
}
