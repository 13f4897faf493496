from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from models.maximal import mechanisms
from poinsot.models.maximal import double_precision, impulses, lcp
from poinsot.models.maximal.bodies import State, plus
from poinsot_reproductions.discrete.rollout import constraint_errors

H = 1e-2


@pytest.fixture(scope="module")
def model():
    return mechanisms.everything().model(["wrist.drag"])


def evaluated(function, *arguments):
    """The function compiled and run in double precision, in NumPy."""

    @double_precision
    def run():
        return jax.tree.map(np.asarray, jax.jit(function)(*arguments))

    return run()


def test_rates_are_how_fast_the_constraints_change(model, rng):
    """g of joints and gaps of contacts, by central differences along the motion: h^2 = 1e-10 and 1e-16 / 1e-5."""
    x = mechanisms.shaken(model, rng, 0.1)
    h = 1e-5

    def here(x):
        return model.at(x, model.theta)

    def all_three(x):
        d = jnp.concatenate([h * x.velocity, jnp.zeros_like(x.velocity)], axis=-1)
        return here(plus(x, d)).at, here(plus(x, -d)).at, here(x).speeds

    ahead, behind, (held, free, contact) = evaluated(all_three, x)
    np.testing.assert_allclose((ahead.g - behind.g) / (2 * h), held, atol=1e-9)
    np.testing.assert_allclose((ahead.gap - behind.gap) / (2 * h), contact[:, 2], atol=1e-9)
    np.testing.assert_array_equal(held[:, :3], free[:, :3])


def test_free_rates_are_the_joints_own(model, rng):
    """From states assembled with given rates."""
    n = len(model.mechanism.coordinates)
    y, rate = rng.uniform(-0.5, 0.5, (2, n))

    def back(y, rate):
        x = model.assemble(y, rate, model.theta)
        return (
            *model.motion(x, model.theta),
            constraint_errors(model, x, model.theta),
        )

    y_back, rate_back, g = evaluated(back, y, rate)
    np.testing.assert_allclose(y_back, y, atol=1e-14)
    np.testing.assert_allclose(rate_back, rate, atol=1e-14)
    np.testing.assert_allclose(g, 0.0, atol=1e-15)


def test_momenta_are_the_transpose_of_rates_and_jacobians_are_both(model, rng):
    x = mechanisms.shaken(model, rng, 0.1)
    held, free, contact = (
        rng.standard_normal((4, 6)),
        rng.standard_normal((4, 6)),
        rng.standard_normal((1, 3)),
    )

    def all_three(x, held, free, contact):
        here = model.at(x, model.theta)
        return here.speeds, impulses.momenta(here, held, free, contact), here.jacobians

    rates, momenta, matrices = evaluated(all_three, x, held, free, contact)
    v = x.velocity.ravel()
    for rate, G in zip(rates, matrices, strict=True):
        np.testing.assert_allclose(G @ v, rate, atol=1e-14)
    G_held, G_free, C = matrices
    given = np.einsum("jkn,jk->n", G_held, held) + np.einsum("jkn,jk->n", G_free, free)
    np.testing.assert_allclose(momenta.ravel(), given + np.einsum("ckn,ck->n", C, contact), atol=1e-13)


def test_dry_friction_is_the_complementarity_problem_of_each_joint(model, rng):
    """2.31 by Lemke's method equals the closed form: v+ given, Sigma_B lambda + B v+ - b = w."""
    structure = model.mechanism.structure
    states = mechanisms.shaken(model, rng, 1e-4, count=100)
    after = states.velocity + 0.02 * rng.standard_normal(states.velocity.shape)
    # from creeping to sliding, from free to pressed
    after = after * 10.0 ** rng.uniform(-6, 0, (100, 1, 1))

    def both(x, after):
        here = model.at(x, model.theta)
        B, Sigma, b = impulses.unilateral_rows(here, H)
        solution = lcp.solve(Sigma, B @ jnp.ravel(after) - b)
        n, t = 2 * len(structure.load_rows) + 1, len(structure.dry_rows) + 2
        z = solution.z
        given = impulses.multipliers(here, after, np.zeros(structure.controls), H)
        by_lcp = z[n : n + t] - z[n + t : n + 2 * t]
        closed = jnp.concatenate([jnp.ravel(given.dry)[structure.dry_rows], given.contact[0, :2]])
        return by_lcp, closed, z[n - 1], given.contact[0, 2], solution.method

    one, other, normal, again, method = evaluated(jax.vmap(both), states, after)
    assert (method != lcp.FAILED).all()
    np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(normal, again, rtol=1e-8, atol=1e-11)
    assert 0.1 < (normal > 0).mean() < 0.9, "some touch, some do not"


def slopes(function, size, step=1e-6):
    """function(0), its slopes (rows: along each axis), and the same by central differences."""

    def exact():
        zero = jnp.zeros(size)
        return function(zero), jax.lax.map(lambda d: jax.jvp(function, (zero,), (d,))[1], jnp.eye(size))

    ends = evaluated(partial(jax.lax.map, function), step * np.concatenate([np.eye(size), -np.eye(size)]))
    return *evaluated(exact), (ends[:size] - ends[size:]) / (2 * step)


@pytest.mark.parametrize("which", ["x", "after", "theta"])
def test_slopes_of_external_impulses_are_finite_differences(which, rng):
    """Away from the kinks, in all states, velocities after the step, and every number that the mechanism has."""
    mechanism = mechanisms.everything()
    names = [name for name in mechanism.entries if not name.startswith("world.gravity")]
    model = mechanism.model(names)
    x = mechanisms.shaken(model, rng, 1e-3)
    after = x.velocity + 0.1 * rng.standard_normal(x.velocity.shape)
    u = np.array([0.3, -0.2])
    size = len(names) if which == "theta" else after.size * (2 if which == "x" else 1)

    def impulse(d):
        y, v, theta = x, after, jnp.asarray(model.theta)
        if which == "x":
            y = plus(State(*map(jnp.asarray, x)), d.reshape(-1, 12))
        elif which == "after":
            v = after + d.reshape(-1, 6)
        else:
            theta = theta * (1 + d) + 1e-3 * d * (theta == 0)
        return impulses.external_impulse(model.at(y, theta), v, u, H)

    value, exact, difference = slopes(impulse, size)
    # rounding: 1e-16 of the largest terms over the step of 1e-6, and curvature 1e-12 of slopes of order 1e3
    scale = np.abs(exact).max() + np.abs(value).max()
    assert np.abs(exact - difference).max() <= 1e-7 * scale
    moved = np.abs(exact).reshape(size, -1).max(axis=1)
    if which == "theta":
        still = {names[k] for k in np.flatnonzero(moved == 0)}
        # what sensors read; a contact that may be open; stick drags where all slides; gravity is along z; no excess
        silent = {name for name in names if "encoder" in name or "rate" in name or name.startswith("tip.")}
        silent |= {name for name in names if name.endswith("stick_drag")} | {"world.tilt_z", "neck.decay"}
        assert still <= silent
    else:
        assert (moved > 0).all()
