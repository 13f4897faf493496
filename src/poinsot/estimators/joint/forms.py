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
from functools import cached_property
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...arrays import Vector
from ...exceptions import InvalidMethod, InvalidModel
from ...models.maximal import Model, State, double_precision
from ...models.maximal.bodies import minus, plus
from ...models.maximal.precision import Controls, Numbers, Scalar, Theta
from ...models.maximal.reduced import Balance, configurations, gaps, loops, moved, rotation_vectors
from .step_functions import StepFunctions

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


TOGETHER = 8
"""Steps in a batch of a chunk: intermediate results then fit into the first cache. 16 take three times as long, 1
twice."""


class Form(ABC):
    """The errors of a step of a model."""

    size: int
    """Numbers in a state."""
    degrees: int
    """Numbers in the tangent of a state."""
    rows: int
    """Number of errors of a step."""
    has_coordinates: ClassVar[bool] = False
    """Whether states are joint coordinates and their rates, and steps of simulations may have errors."""

    def __init__(self, model: Model):
        self.model = model
        self._moved = jax.jit(lambda x, d: (jax.vmap(self.plus)(x, d),))

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
    def readings(self, x: Row, theta: Theta) -> Float[Array, "s"]:
        """h(x)."""

    def inertia(self, x: Row, theta: Theta) -> Float[Array, "n n"]:
        """Factor from defects of the motion to errors of a step; the identity where errors are defects."""
        return jnp.eye(self.rows)

    @abstractmethod
    def linearized(
        self,
        samples: tuple[np.ndarray, ...],
        theta: Vector,
        reference: Vector | None = None,
        soft: Vector | None = None,
    ) -> list[np.ndarray]:
        """e (N, m), A and B (N, m, d) and P (N, m, p) of samples: states, those that follow, controls, readings, steps.

        With a reference, step errors are scaled to M(reference) M(theta)^-1 e, so that they do not shrink with inertia.
        `soft`: as in `Model.balance`, of the reduced form; None: 0.
        """

    @abstractmethod
    def inertias(self, x: States, theta: Vector) -> np.ndarray:
        """(N, n, n) inertia of all states."""

    @abstractmethod
    def read(self, x: States, theta: Vector) -> Float[np.ndarray, "N s"]:
        """h(x) of all states."""

    @abstractmethod
    def simulated(
        self, x: States, u: np.ndarray, h: np.ndarray, theta: np.ndarray, errors: np.ndarray | None = None
    ) -> np.ndarray:
        """(W, T + 1, size) W simulations from states x (W, size), u (W, T, inputs) held over steps h (W, T) [s].

        Args:
            theta: (p,), or (W, p), a row a simulation.
            errors: (W, T, rows) errors of steps; None: 0. Forms by bodies, whose errors are external impulses, take 0
                only: these would move bodies across their joints.
        """

    def by_inertia(
        self, e: Float[Array, "rows"], x: Row, theta: Theta, reference: Theta
    ) -> Float[Array, "rows"]:
        """Errors of a step from x scaled to M(reference) M(theta)^-1 e, so that they do not shrink with inertia."""
        M, M_ref = self.inertia(x, theta), self.inertia(x, reference)
        return jnp.ravel((M_ref @ jnp.linalg.solve(M, e.reshape(-1, len(M)).T)).T)

    def of_samples(
        self, samples: tuple[Array, ...], theta: Array, together: int, reference: Array | None = None
    ) -> tuple[Array, Array, Array, Array]:
        """e, A, B and P, in JAX, of states, those that follow, controls, readings and steps, a row a sample, and theta
        (p,); `together` is the number of samples in a batch.
        """

        def linearize_sample(sample: tuple[Array, ...]) -> tuple[Array, Array, Array, Array]:
            x, y, u, z, h = sample
            zero = jnp.zeros(self.degrees)

            def errors(d: Array, d_next: Array, theta: Array) -> tuple[Array, Array]:
                start, end = self.plus(x, d), self.plus(y, d_next)
                # the difference first, then without full turns: in [-pi, pi] for any turn of the state
                away = self.model.reading_errors(self.readings(start, theta), z)
                step = self.step_errors(start, end, u, theta, h)
                if reference is not None:
                    step = self.by_inertia(step, start, theta, reference)
                e = jnp.concatenate([step, away])
                return e, e

            slopes, e = jax.jacrev(errors, argnums=(0, 1, 2), has_aux=True)(zero, zero, theta)
            return e, *slopes

        rows: tuple[Array, Array, Array, Array] = jax.lax.map(linearize_sample, samples, batch_size=together)
        return rows

    @double_precision
    def moved(self, x: States, d: Float[np.ndarray, "N degrees"]) -> States:
        """x [+] d of all states."""
        return in_chunks(self._moved, len(x), x, d)[0]

    def start_errors(self, x: Row, theta: Theta, h: Scalar) -> Float[Array, "_"]:
        """Constraint violation of the first state (3.16, 3.17), as impulses; empty without multipliers."""
        return jnp.zeros(0)

    def of_start(self, x: Array, theta: Array, h: Array) -> tuple[Array, Array, Array]:
        """Errors of the first state and their derivatives, in JAX; maybe none."""

        def errors(d: Array, theta: Array) -> Array:
            return self.start_errors(self.plus(x, d), theta, h)

        zero = jnp.zeros(self.degrees)
        by_x, by_theta = jax.jacrev(errors, argnums=(0, 1))(zero, theta)
        return errors(zero, theta), by_x, by_theta

    @cached_property
    def _start(self) -> Callable[..., Any]:
        return jax.jit(self.of_start)

    @double_precision
    def start_linearized(self, x: Row, theta: Vector, h: float) -> tuple[np.ndarray, ...] | None:
        """The same, compiled; None of a form whose states violate nothing."""
        return tuple(map(np.asarray, self._start(x, theta, h)))


class CompiledForm(Form):
    """A form whose steps have loops: functions of all samples are compiled."""

    def __init__(self, model: Model):
        super().__init__(model)
        self._read = jax.jit(lambda x, theta: (jax.vmap(self.readings, in_axes=(0, None))(x, theta),))
        self._inertias = jax.jit(lambda x, theta: (jax.vmap(self.inertia, in_axes=(0, None))(x, theta),))
        simulated = jax.vmap(self._steps)
        self._simulated = jax.jit(lambda *given: (simulated(*given),))
        self._linearized: Callable[..., Any] = jax.jit(
            lambda *given: self.of_samples(given[:-2], given[-2], TOGETHER, given[-1])
        )

    @abstractmethod
    def step(self, x: Row, u: Controls, theta: Theta, h: Scalar) -> Float[Array, "size"]:
        """The next state after x by the model without process noise."""

    @double_precision
    def linearized(
        self,
        samples: tuple[np.ndarray, ...],
        theta: Vector,
        reference: Vector | None = None,
        soft: Vector | None = None,
    ) -> list[np.ndarray]:
        return in_chunks(self._linearized, len(samples[0]), *samples, last=(theta, reference))

    @double_precision
    def inertias(self, x: States, theta: Vector) -> np.ndarray:
        return in_chunks(self._inertias, len(x), x, last=(theta,))[0]

    @double_precision
    def read(self, x: States, theta: Vector) -> Float[np.ndarray, "N s"]:
        return in_chunks(self._read, len(x), x, last=(theta,))[0]

    @double_precision
    def simulated(
        self, x: States, u: np.ndarray, h: np.ndarray, theta: np.ndarray, errors: np.ndarray | None = None
    ) -> np.ndarray:
        if errors is not None:
            raise InvalidMethod("only steps of the reduced form have errors that a simulation takes")
        # padded to whole strides, which compile once; added steps are as long as the last
        T, more = h.shape[1], -h.shape[1] % STRIDE
        u, h = (
            np.pad(part, [(0, 0), (0, more)] + [(0, 0)] * (part.ndim - 2), mode="edge") for part in (u, h)
        )
        theta, parts = np.broadcast_to(theta, (len(x), theta.shape[-1])), [x[:, None]]
        for first in range(0, T, STRIDE):
            cut = slice(first, first + STRIDE)
            given = parts[-1][:, -1], u[:, cut], h[:, cut], theta
            parts += in_chunks(self._simulated, len(x), *given, size=LANES)
        return np.concatenate(parts, axis=1)[:, : T + 1]

    def _steps(self, x: Array, u: Array, h: Array, theta: Array) -> Array:
        """(T, size) states after x."""

        def advance(x: Array, given: tuple[Array, Array]) -> tuple[Array, Array]:
            x = self.step(x, given[0], theta, given[1])
            return x, x

        return jax.lax.scan(advance, x, (u, h))[1]


class ReducedForm(Form):
    """Joint coordinates and their rates, (y, y'), with quaternions of balls in place of their rotation vectors."""

    has_coordinates = True

    def __init__(self, model: Model):
        super().__init__(model)
        structure = model.structure
        if len(structure.contact_body):
            raise InvalidMethod("the reduced form does not support contacts; write form = 'implicit'")
        try:
            model.needs_joined_bodies("the reduced form")
        except InvalidModel as error:
            raise InvalidMethod(f"{error}; write form = 'implicit'") from None
        self.structure, self.n = structure, int(structure.free.sum())
        self.m = self.n + int(structure.is_ball.sum())  # numbers of a configuration
        self.size, self.degrees, self.rows = self.m + self.n, 2 * self.n, 2 * self.n
        joints = np.repeat(np.arange(len(structure.free)), structure.free.sum(axis=1))
        self.closing = np.isin(joints, loops(structure)).astype(float)
        # in a state, of each coordinate and each rate
        self.places = np.concatenate([structure.places, self.m + np.arange(self.n)])

    def pack(self, y: Motion, rate: Motion, theta: Theta, states: State | None = None) -> States:
        return np.concatenate([configurations(self.structure, y), rate], axis=1)

    def unpack(self, x: States, theta: Theta) -> tuple[Motion, Motion, State | None]:
        return rotation_vectors(self.structure, x[:, : self.m]), x[:, self.m :], None

    def plus(self, x: Row, d: Tangent) -> Float[Array, "size"]:
        if self.m == self.n:
            return jnp.asarray(x) + jnp.asarray(d)
        q = moved(self.structure, x[: self.m], d[: self.n])
        return jnp.concatenate([q, x[self.m :] + d[self.n :]])

    def step_errors(self, x: Row, y: Row, u: Controls, theta: Theta, h: Scalar) -> Float[Array, "rows"]:
        m = self.m
        return jnp.ravel(self.model.reduced_errors((x[:m], x[m:]), (y[:m], y[m:]), u, theta, h))

    def balance(
        self, x: Row, y: Row, u: Controls, theta: Theta, h: Scalar, soft: Numbers | float = 0.0
    ) -> Balance:
        """The balance of a step, with the forces of loops; `soft` as in `Model.balance`."""
        m = self.m
        return self.model.balance((x[:m], x[m:]), (y[:m], y[m:]), u, theta, h, soft)

    def drift(self, x: Row, h: Scalar) -> Tangent:
        """Change of a state in h [s] by its rates."""
        return jnp.concatenate([h * jnp.asarray(x)[self.m :], jnp.zeros(self.n)])

    def inertia(self, x: Row, theta: Theta) -> Float[Array, "n n"]:
        M = self.model.joint_inertia(jnp.asarray(x)[: self.m], theta)
        # coordinates of joints that close loops carry nothing
        return M + jnp.diag(self.closing) if self.closing.any() else M

    def readings(self, x: Row, theta: Theta) -> Float[Array, "s"]:
        return self.model.observe_coordinates(x[: self.m], x[self.m :], theta)

    def start_errors(self, x: Row, theta: Theta, h: Scalar) -> Float[Array, "_"]:
        """Gaps of loops in the first state, and their rates, as impulses."""
        if not loops(self.structure):
            return jnp.zeros(0)
        x, values = jnp.asarray(x), self.model.values(theta)

        def gap(d: Array) -> Array:
            return gaps(self.structure, values, moved(self.structure, x[: self.m], d))

        g, rate = jax.jvp(gap, (jnp.zeros(self.n),), (x[self.m :],))
        return jnp.mean(jnp.asarray(values.mass)) * jnp.concatenate([g / h, rate])

    def start_linearized(self, x: Row, theta: Vector, h: float) -> tuple[np.ndarray, ...] | None:
        # joint coordinates of a tree violate no constraint
        return self.functions.start(np.asarray(x), theta, h) if loops(self.structure) else None

    @cached_property
    def functions(self) -> StepFunctions:
        """All samples at once."""
        return StepFunctions(self)

    def linearized(
        self,
        samples: tuple[np.ndarray, ...],
        theta: Vector,
        reference: Vector | None = None,
        soft: Vector | None = None,
    ) -> list[np.ndarray]:
        return self.functions.linearized(
            samples, theta, reference, np.zeros(self.n) if soft is None else soft
        )

    def doubts(
        self, samples: tuple[np.ndarray, ...], theta: Vector, soft: Vector
    ) -> Float[np.ndarray, "N rows"]:
        """Standard deviations of impulses of dry friction whose direction speeds leave open; samples as of
        `linearized`.
        """
        return np.tile(self.functions.doubts(samples, theta, soft), 2)

    def inertias(self, x: States, theta: Vector) -> np.ndarray:
        return self.functions.inertias(x, theta)

    def read(self, x: States, theta: Vector) -> Float[np.ndarray, "N s"]:
        return self.functions.read(x, theta)

    def simulated(
        self, x: States, u: np.ndarray, h: np.ndarray, theta: np.ndarray, errors: np.ndarray | None = None
    ) -> np.ndarray:
        return self.functions.simulated(x, u, h, theta, errors)


class ExplicitForm(CompiledForm):
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
