"""Expressions of traced functions have the values and derivatives that JAX computes."""

import casadi as ca
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from poinsot.models.maximal import double_precision
from poinsot.models.maximal.expressions import column, symbols, traced

CASES = {
    "moves": lambda x: jnp.stack([x[::-1], jnp.roll(x, 2), x.at[np.array([1, 4])].set(0.5)]).T[2:],
    "gathers": lambda x: jnp.pad(x[np.array([3, 0, 5])], (1, 2), constant_values=2.0),
    "products": lambda x: jnp.einsum("bij,bjk->ikb", x.reshape(1, 2, 3), jnp.tan(x).reshape(1, 3, 2)),
    "sums": lambda x: jnp.sum(x.reshape(2, 3) ** 3, axis=1) / jnp.sqrt(1 + jnp.square(x[:2])),
    "cases": lambda x: jnp.where((x > 0.2) | ~(x < 1), jnp.sin(x), jnp.clip(3 * x, -0.1, 0.1)),
    "angles": lambda x: jnp.arctan2(x[:3], x[3:]) + x[:3] - jnp.round(5 * x[:3]),
    "batches": lambda x: jax.vmap(lambda a: jnp.cross(a, jnp.ones(3)) * jnp.tanh(a).sum())(x.reshape(2, 3)),
    "slopes": lambda x: jax.grad(lambda y: jnp.exp(-jnp.abs(y)).prod() * y[0] ** 2.5)(jnp.abs(x) + 1.0),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives_are_those_of_jax(name):
    function, x = CASES[name], np.random.default_rng(3).normal(size=6)
    a = symbols("a", 6)
    y = column(traced(function, a))
    of_casadi = ca.Function("f", [column(a)], [y, ca.jacobian(y, column(a))])
    value, slope = (np.array(part) for part in of_casadi(x))
    flat = double_precision(lambda x: jnp.ravel(function(jnp.asarray(x))))
    assert np.allclose(value[:, 0], flat(x), rtol=1e-12, atol=1e-14)
    assert np.allclose(slope, double_precision(jax.jacfwd(flat))(x), rtol=1e-10, atol=1e-12)


def test_loops_are_no_algebra():
    with pytest.raises(NotImplementedError, match="while"):
        traced(lambda x: jax.lax.fori_loop(0, x[0].astype(int), lambda k, y: y + k, x[0]), symbols("a", 1))
