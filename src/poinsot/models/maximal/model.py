"""The discrete dynamics of a mechanism as functions of states, controls and theta.

Terms of a step from x_k to x_{k+1} that estimators need, pure functions in JAX, to be differentiated and batched with
`jax.vmap` over a recording (under `double_precision`). A state is a `State` of l bodies; its tangent has 12 numbers a
body, `plus(x, d)`, `minus(x, y)` of `bodies`. The time step h is an argument like the rest, and compliances can be
in theta: sweeps compile nothing again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...arrays import Brief
from ...exceptions import InvalidModel
from . import assembly, impulses, lcp, reduced, step as steps
from .bodies import State, mean_velocity
from .constraints import Instant
from .precision import Controls, Coordinates, JointMotion, Scalar, Theta, double_precision
from .structure import Structure
from .values import Values

if TYPE_CHECKING:
    from .mechanism import Mechanism


@dataclass(frozen=True, eq=False, repr=False)
class Model(Brief):
    """A mechanism in discrete time, some of whose numbers are theta.

    Args:
        free: names of theta's parameters, in its order.
        curvature: whether steps follow curved constraints to second order, see `impulses`.
    """

    mechanism: Mechanism
    free: tuple[str, ...] = ()
    curvature: bool = False

    @cached_property
    def structure(self) -> Structure:
        """The constants of the mechanism."""
        return replace(self.mechanism.structure, curvature=self.curvature)

    def __post_init__(self) -> None:
        for name in self.free:
            if self.free.count(name) > 1:
                raise InvalidModel(f"parameter {name!r} is named twice; name each free parameter once")
        _ = self._places

    @cached_property
    def _places(self) -> np.ndarray:
        return np.array([self.mechanism.place(name) for name in self.free], dtype=np.int64)

    @cached_property
    def theta(self) -> Float[np.ndarray, "p"]:
        """Values of the free parameters as the mechanism has them."""
        return self.mechanism.values.flat()[self._places]

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Unit of each free parameter."""
        return tuple(self.mechanism.entries[name].unit for name in self.free)

    @cached_property
    def lower(self) -> Float[np.ndarray, "p"]:
        """Lower bounds of the free parameters: 0 or -inf."""
        return np.array([self.mechanism.entries[name].lower for name in self.free], dtype=float)

    def values(self, theta: Theta) -> Values:
        """All numbers of the mechanism, with those of theta."""
        base = self.mechanism.values
        numbers = jnp.asarray(base.flat())
        # in single precision, compliances of 1e-8 beside masses leave no digits
        assert numbers.dtype == jnp.float64, "call this under double_precision"
        return base.from_flat(numbers.at[self._places].set(theta) if len(self.free) else numbers)

    def at(self, x: State, theta: Theta) -> Instant:
        """The mechanism in a state."""
        return Instant(self.structure, self.values(theta), x)

    def step(self, x: State, u: Controls, theta: Theta, h: Scalar) -> State:
        """The state after h [s] under the controls u, phi(x_k, u_k; theta) (3.1)."""
        return self.step_with_report(x, u, theta, h)[0]

    def step_with_report(self, x: State, u: Controls, theta: Theta, h: Scalar) -> tuple[State, lcp.Solution]:
        """The state after h [s], and how the complementarity problem in it was solved."""
        return steps.forward(self.at(x, theta), u, h)

    def impulse_errors(
        self, x: State, y: State, u: Controls, theta: Theta, h: Scalar
    ) -> tuple[Float[Array, "l 6"], Float[Array, "l 6"]]:
        """The external impulses from x to its successor y: to its velocity (3.7), and to its configuration (3.8)."""
        here = self.at(x, theta)
        ends = jnp.asarray(y.velocity), mean_velocity(x, y, h)
        return impulses.external_impulse(here, ends[0], u, h), impulses.external_impulse(here, ends[1], u, h)

    def implicit_errors(
        self, x: State, y: State, u: Controls, theta: Theta, h: Scalar
    ) -> tuple[Float[Array, "l 6"], Float[Array, "l 6"]]:
        """M (v+ - v*) by velocity and by configuration, v* the velocity after a step (`reduced`)."""
        here = self.at(x, theta)
        expected = steps.forward(here, u, h)[0].velocity
        ends = jnp.asarray(y.velocity), mean_velocity(x, y, h)
        by_velocity, by_configuration = (impulses.inertia_times(here, end - expected) for end in ends)
        return by_velocity, by_configuration

    def reduced_errors(
        self, before: JointMotion, after: JointMotion, u: Controls, theta: Theta, h: Scalar
    ) -> Float[Array, "2 n"]:
        """Two moments of the external forces in a step, with infinitely stiff constraints [N m s] or [N s].

        Raises InvalidModel if joints close loops, are balls, or bodies are not joined to the world.
        """
        self.needs_a_tree("the balance in joint coordinates")
        return reduced.reduced_errors(self.structure, self.values(theta), before, after, u, h)

    def joint_inertia(self, y: Coordinates, theta: Theta) -> Float[Array, "n n"]:
        """M(y) of a tree, with shafts: momenta are M y' [kg m^2], [kg m] or [kg]."""
        return reduced.joint_inertia(self.structure, self.values(theta), y)

    def surface_errors(self, x: State, theta: Theta) -> tuple[Float[Array, "l 6"], Float[Array, "l 6"]]:
        """-G^+ g and G^+ G v: to the linearized constraints (3.16), and the velocity across them (3.17)."""
        here = self.at(x, theta)
        G, held = here.held_jacobian, np.flatnonzero(self.structure.held)
        off = jnp.stack([-jnp.ravel(here.at.g)[held], G @ jnp.ravel(jnp.asarray(x.velocity))], axis=1)
        back = (G.T @ jnp.linalg.solve(G @ G.T, off)).T.reshape(2, -1, 6)
        return back[0], back[1]

    def projected_mass(self, x: State, theta: Theta, h: Scalar) -> Float[Array, "n n"]:
        """M_Sigma = M + G^T Sigma^-1 G, n = 6 l, with drags and shafts as they are in a step (3.13)."""
        here = self.at(x, theta)
        Sigma = jnp.ravel(impulses.held_rows(here, h)[0])[np.flatnonzero(self.structure.held)]
        G = here.held_jacobian
        return steps.mass_with_drives(here, h) + G.T @ (G / Sigma[:, None])

    def mass_matrix(self, x: State, theta: Theta) -> Float[Array, "n n"]:
        """M of the bodies alone, n = 6 l."""
        return steps.mass_matrix(self.at(x, theta))

    def motion(self, x: State, theta: Theta) -> tuple[Float[Array, "n"], Float[Array, "n"]]:
        """y of the joints, and speeds in the free directions.

        Angles in (-pi, pi] [rad], displacements [m], rotation vectors of balls [rad]. The speeds of balls are angular
        velocities along the parent's axes [rad/s], [m/s].
        """
        here = self.at(x, theta)
        return assembly.joint_coordinates(here), jnp.ravel(here.speeds[1])[self.structure.moving]

    def observe(self, x: State, theta: Theta) -> Float[Array, "s"]:
        """h(x; theta), the predicted readings of the sensors (3.2)."""
        return self.observe_coordinates(*self.motion(x, theta), theta)

    def observe_coordinates(self, y: Coordinates, rate: Coordinates, theta: Theta) -> Float[Array, "s"]:
        """The same from joint coordinates [rad], [m] and their rates."""
        structure, values = self.structure, self.values(theta)
        if not len(structure.observed):
            return jnp.zeros(0)
        first = np.array([place.start for place in assembly.coordinates(structure)])[structure.observed]
        y, rate = jnp.asarray(y)[first], jnp.asarray(rate)[first]
        read = y + values.sine * jnp.sin(y) + values.cosine * jnp.cos(y)
        read = jnp.where(structure.is_hinge[structure.observed], read, y)
        return jnp.where(structure.is_rate, rate, read) + values.zero

    def nearest_turn(self, error: Float[Array, "s"]) -> Float[Array, "s"]:
        """Errors h(x; theta) - z of readings; of angles the nearest to zero that differs by full turns (3.6)."""
        # constant in derivatives: rounding has none, and its jump is not part of the error
        turns = 2 * jnp.pi * jnp.round(error / (2 * jnp.pi))
        return error - jnp.where(self.angular, jax.lax.stop_gradient(turns), 0.0)

    @property
    def angular(self) -> np.ndarray:
        """(s,) which readings are angles."""
        structure = self.structure
        return np.asarray(structure.is_hinge[structure.observed] & ~structure.is_rate)

    def assemble(self, y: Coordinates, rate: Coordinates, theta: Theta) -> State:
        """The state that closes every joint of the tree, from joint coordinates [rad], [m] and their rates.

        Bodies that no joints connect to the world stay in the reference configuration. Of a ball the rates are
        angular velocities along the parent's axes.
        """
        return assembly.placed(self.structure, self.values(theta), y, rate)[1]

    @double_precision
    def joint_motion(
        self, states: State, theta: Float[np.ndarray, "p"] | None = None
    ) -> tuple[Float[np.ndarray, "T n"], Float[np.ndarray, "T n"]]:
        """Joint coordinates [rad], [m] of states (T, ...), angles unwrapped, and their rates."""
        y, rate = self._observed(states, self.theta if theta is None else theta)
        y, angular = np.array(y), [unit == "rad" for _, unit in self.mechanism.coordinates]
        # angles alone: displacements may change by more than pi in a step
        y[:, angular] = np.unwrap(y[:, angular], axis=0)
        return y, np.array(rate)

    @cached_property
    def _observed(self) -> Any:
        return jax.jit(jax.vmap(self.motion, in_axes=(0, None)))

    def needs_a_tree(self, what: str) -> None:
        """Check that joint coordinates determine the state of all bodies.

        Raises InvalidModel if joints close loops, are balls, or leave a body loose; its message begins with `what`.
        """
        structure, reached = self.structure, len(assembly.tree(self.structure))
        for lacking, words in (
            (structure.is_ball.any(), "hinges and sliders"),
            (reached < structure.bodies, "every body joined to the world"),
            (reached < len(structure.parent), "joints without loops"),
        ):
            if lacking:
                raise InvalidModel(f"{what} needs {words}; keep the errors by body for this mechanism")
