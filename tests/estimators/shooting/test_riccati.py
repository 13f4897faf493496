"""The recursion against the dense KKT equations, on random problems."""

from dataclasses import replace

import numpy as np
import pytest

from estimators.shooting.problems import (
    LinearQuadratic,
    dense,
    join,
    posterior,
    random_chain,
    random_problem,
    solve,
    tail,
)
from poinsot.estimators.shooting.riccati import backward
from poinsot.exceptions import InvalidMethod, NotIdentifiable

# Rounding: conditions of these problems reach 1e5, of 1e-16 each.
CLOSE = {"rtol": 1e-9, "atol": 1e-9}

SHAPES = {
    "plain": {},
    "one recording": {"chains": 1},
    "three recordings": {"chains": 3},
    "phases": {"resets": (0, 5, 6, 11)},
    "no noise at all": {"resets": range(12)},
    "one stage": {"T": 1},
    "one state": {"n": 1, "m": 1, "p": 1},
    "more noise than states": {"n": 2, "m": 5},
    "no theta": {"p": 0},
    "no noise columns": {"m": 0, "resets": range(12)},
    "no priors": {"prior": False, "arrival": False},
}


def value_at(V, x, theta):
    square = x @ V.V_xx @ x + theta @ V.V_tt @ theta
    return square / 2 + x @ V.V_xt @ theta + V.V_x @ x + V.V_t @ theta + V.constant


def assert_solves(problem, null_space):
    reference = dense(problem)
    z = reference.solve()
    found = solve(problem, null_space=null_space)
    np.testing.assert_allclose(found.theta, z[: reference.p], **CLOSE)
    for i, chain in enumerate(problem.chains):
        np.testing.assert_allclose(found.x[i], z[reference.x[i]], **CLOSE)
        noisy = chain.stages.noisy
        np.testing.assert_allclose(found.w[i][noisy], z[reference.w[i]][noisy], **CLOSE)
        np.testing.assert_array_equal(found.w[i][~noisy], 0)
    np.testing.assert_allclose(found.constant, reference.value(z), **CLOSE)


@pytest.mark.parametrize("null_space", [True, False], ids=["null space", "schur"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_equals_the_dense_equations(rng, shape, null_space):
    for _ in range(3):
        assert_solves(random_problem(rng, **shape), null_space)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_posterior_is_the_dense_inverse(rng, shape):
    problem = random_problem(rng, **shape)
    reference = dense(problem)
    covariance = reference.covariance()
    found = posterior(problem)
    p = reference.p
    np.testing.assert_allclose(found.theta, covariance[:p, :p], **CLOSE)
    for where, states, crosses in zip(reference.x, found.states, found.states_theta, strict=True):
        for k, rows in enumerate(where):
            np.testing.assert_allclose(states[k], covariance[np.ix_(rows, rows)], **CLOSE)
            np.testing.assert_allclose(crosses[k], covariance[np.ix_(rows, range(p))], **CLOSE)


def test_value_functions_are_what_the_rest_costs(rng):
    """V_k(x, theta) against the dense minimum of the tail with both given: any error in a block shows."""
    chain = random_chain(rng, T=5, resets=(3,))
    found = backward(chain.stages, chain.end)
    for t in range(5):
        problem = LinearQuadratic((tail(chain, t),), np.zeros((3, 3)), np.zeros(3))
        reference = dense(problem)
        free = np.setdiff1d(np.arange(len(reference.g)), [*range(3), *reference.x[0][0]])
        V = replace(backward(tail(chain, t).stages, chain.end).value, constant=0.0)

        def cost(x, theta, reference=reference, free=free):
            z = np.zeros(len(reference.g))
            z[:3], z[reference.x[0][0]] = theta, x
            H, g, J, c = reference.H, reference.g, reference.J, reference.c
            K = np.block([[H[np.ix_(free, free)], J[:, free].T], [J[:, free], np.zeros((len(J), len(J)))]])
            right = np.concatenate([-(g + H @ z)[free], c - J @ z])
            z[free] = np.linalg.solve(K, right)[: len(free)]
            return reference.value(z)

        x, theta = rng.standard_normal(4), rng.standard_normal(3)
        at_zero = cost(np.zeros(4), np.zeros(3))
        np.testing.assert_allclose(value_at(V, x, theta), cost(x, theta) - at_zero, rtol=1e-9)
        if t == 0:
            np.testing.assert_allclose(value_at(found.value, x, theta), cost(x, theta), rtol=1e-9)


def test_stretches_in_a_row_are_one_chain(rng):
    first, second = random_chain(rng, T=7), random_chain(rng, T=5)
    whole = backward(join([first.stages, second.stages]), second.end)
    late = backward(second.stages, second.end)
    early = backward(first.stages, late.value)
    np.testing.assert_allclose(early.policy.gains, whole.policy.gains[:7], **CLOSE)
    np.testing.assert_allclose(late.policy.gains, whole.policy.gains[7:], **CLOSE)
    for name in ("V_xx", "V_xt", "V_tt", "V_x", "V_t", "constant"):
        np.testing.assert_allclose(getattr(early.value, name), getattr(whole.value, name), **CLOSE)


def test_damping_adds_to_the_diagonal(rng):
    chain = random_chain(rng)
    s = chain.stages
    diagonal = np.einsum("tii->ti", s.L_ww)[:, :, None] * np.eye(3)
    plain = backward(replace(s, L_ww=s.L_ww + 0.7 * diagonal), chain.end)
    damped = backward(s, chain.end, damping=0.7)
    np.testing.assert_allclose(damped.policy.gains[:, :, -1], plain.policy.gains[:, :, -1], **CLOSE)
    np.testing.assert_allclose(damped.value.V_xx, plain.value.V_xx, **CLOSE)
    # far damping makes the step short, and never uphill
    problem = LinearQuadratic((chain,), np.zeros((3, 3)), np.zeros(3))
    problem = replace(problem, chains=(replace(chain, stages=replace(s, gap=0 * s.gap)),))
    reference = dense(problem)
    lengths = []
    for damping in (0.0, 1.0, 1e2, 1e6):
        found = solve(problem, damping=damping)
        z = np.zeros(len(reference.g))
        z[:3], z[reference.x[0]], z[reference.w[0]] = found.theta, found.x[0], found.w[0]
        assert reference.g @ z < 0
        lengths.append(np.linalg.norm(z))
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] < 1e-2 * lengths[0]


@pytest.mark.parametrize("shape", [{}, {"chains": 1, "resets": (0, 4)}], ids=["two", "phases"])
def test_what_nothing_sees_stays_zero(rng, shape):
    """theta acts through two combinations of four: the step has no part in the other two, and is optimal."""
    see = rng.standard_normal((4, 2))
    problem = random_problem(rng, p=4, prior=False, see=see, **shape)
    found = solve(problem)
    assert found.unobservable.shape == (4, 2)
    np.testing.assert_allclose(see.T @ found.unobservable, 0, atol=1e-8)
    np.testing.assert_allclose(found.unobservable.T @ found.theta, 0, atol=1e-9)
    reference = dense(problem)
    z = reference.solve()
    np.testing.assert_allclose(see.T @ found.theta, see.T @ z[:4], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.x[0], z[reference.x[0]], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.constant, reference.value(z), rtol=1e-9)
    covariance = posterior(problem).theta
    np.testing.assert_allclose(see.T @ covariance @ see, dense_seen(problem, see), rtol=1e-7)
    with pytest.raises(NotIdentifiable, match="no single minimum"):
        # rounding may leave a pivot just above zero, so the parameter is taken out altogether
        solve(random_problem(rng, p=1, prior=False, see=np.zeros((1, 1))), null_space=False)


def dense_seen(problem, see):
    """Covariance of see^T theta, with any value for the rest."""
    reference = dense(problem)
    Z = reference.basis
    return see.T @ (Z @ np.linalg.pinv(Z.T @ reference.H @ Z, rcond=1e-11) @ Z.T)[:4, :4] @ see


def test_what_the_arrival_state_makes_up_for_is_not_seen(rng):
    """An encoder's offset with the angle unknown: V_tt is regular, its Schur complement is not."""
    chain = random_chain(rng, T=6, n=2, m=2, p=2, arrival=False)
    s, e, n = chain.stages, chain.end, 2
    z = np.zeros
    # x' = x + w, and all that is measured is x + theta (2 and 2): x - theta is free
    L = np.broadcast_to(np.eye(2), (6, 2, 2)).copy()
    shared = rng.standard_normal((7, 2))
    s = replace(
        s, A=L, B=L, C=z((6, 2, 2)), gap=z((6, 2)), L_xx=L, L_xw=z((6, 2, 2)), L_xt=L, L_ww=L, L_wt=z((6, 2, 2)),
        L_tt=6 * np.eye(2), l_x=shared[:6], l_w=z((6, 2)), l_t=shared[:6].sum(axis=0),
    )  # fmt: skip
    e = replace(e, V_xx=np.eye(n), V_xt=np.eye(n), V_tt=np.eye(n), V_x=shared[6], V_t=shared[6])
    problem = LinearQuadratic((replace(chain, stages=s, end=e),), z((2, 2)), z(2))
    found = solve(problem)
    assert found.unobservable.shape == (2, 2)
    np.testing.assert_array_equal(found.theta, 0)
    np.testing.assert_allclose(found.constant, dense(problem).value(dense(problem).solve()), rtol=1e-9)


def test_ranks_do_not_depend_on_units(rng):
    see = rng.standard_normal((4, 3))
    scale = np.array([1e-8, 1.0, 1e4, 1e-2])
    problem = random_problem(rng, p=4, prior=False, see=scale[:, None] * see)
    assert solve(problem).unobservable.shape == (4, 1)
    assert solve(random_problem(rng, p=4, prior=False, see=np.diag(scale))).unobservable.shape == (4, 0)


def test_an_indefinite_stage_is_named(rng):
    chain = random_chain(rng)
    L_ww = chain.stages.L_ww.copy()
    L_ww[4] -= 1e6 * np.eye(3)
    broken = replace(chain.stages, L_ww=L_ww)
    assert backward(broken, chain.end).broke_at == 4
    assert backward(chain.stages, chain.end).broke_at is None
    with pytest.raises(NotIdentifiable, match="no single minimum"):
        solve(LinearQuadratic((replace(chain, stages=broken),), np.zeros((3, 3)), np.zeros(3)))


def test_checks_at_the_door(rng, unchecked):
    chain = random_chain(rng)
    s = chain.stages
    with pytest.raises(InvalidMethod, match="l_x of the linear-quadratic problem holds a number"):
        replace(chain, stages=replace(s, l_x=np.full((12, 4), np.nan)))
    with pytest.raises(InvalidMethod, match="cannot end in"):
        replace(chain, end=random_chain(rng, n=5).end)
    with pytest.raises(InvalidMethod, match="at least one chain"):
        LinearQuadratic((), np.zeros((3, 3)), np.zeros(3))
    with pytest.raises(InvalidMethod, match="must each have its 2 parameters"):
        LinearQuadratic((chain,), np.zeros((2, 2)), np.zeros(2))
