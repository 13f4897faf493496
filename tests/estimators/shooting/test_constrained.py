"""Equality constraints at the nodes, against the dense KKT equations."""

from dataclasses import replace

import numpy as np
import pytest

from estimators.shooting.problems import dense, random_problem
from poinsot.estimators.shooting import constrained, lq_solution
from poinsot.estimators.shooting.lq import Rows
from poinsot.exceptions import InvalidMethod, NotIdentifiable

CLOSE = {"rtol": 1e-8, "atol": 1e-8}

SHAPES = {
    "none": {},
    "fewer rows than noise": {"constraints": 1},
    "more rows than noise in a short chain": {"T": 2, "constraints": 2, "m": 1, "n": 5, "p": 4},
    "phases": {"constraints": 1, "resets": (3, 7)},
    "one recording": {"constraints": 2, "chains": 1},
    "no noise at all": {"T": 4, "n": 8, "constraints": 1, "resets": range(4)},
    "no theta": {"p": 0, "constraints": 1},
    "no priors": {"constraints": 1, "prior": False, "arrival": False},
}


def assert_solves(problem):
    reference = dense(problem)
    z = reference.solve()
    np.testing.assert_allclose(reference.J @ z, reference.c, atol=1e-8)  # it can be solved at all
    found = constrained.solve(problem)
    np.testing.assert_allclose(found.theta, z[: reference.p], **CLOSE)
    for i, chain in enumerate(problem.chains):
        np.testing.assert_allclose(found.x[i], z[reference.x[i]], **CLOSE)
        noisy = chain.stages.noisy
        np.testing.assert_allclose(found.w[i][noisy], z[reference.w[i]][noisy], **CLOSE)
    np.testing.assert_allclose(found.constant, reference.value(z), rtol=1e-8)
    return found


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_equals_the_dense_equations(rng, shape):
    for _ in range(3):
        assert_solves(random_problem(rng, **shape))


def test_without_rows_it_is_the_recursion(rng):
    problem = random_problem(rng, resets=(2,))
    found, other = constrained.solve(problem), lq_solution.solve(problem)
    np.testing.assert_allclose(found.theta, other.theta, **CLOSE)
    np.testing.assert_allclose(found.constant, other.constant, rtol=1e-9)


def with_rows(problem, change):
    """The first chain's rows (E, F, G, e), changed."""
    chain = problem.chains[0]
    rows = chain.stages.rows
    changed = Rows(*change(rows.E.copy(), rows.F.copy(), rows.G.copy(), rows.e.copy()))
    return replace(
        problem, chains=(replace(chain, stages=replace(chain.stages, rows=changed)), *problem.chains[1:])
    )


def test_rows_of_states_alone_are_passed_on(rng):
    """A row without w binds the noise of the stages before it."""

    def states_only(E, F, G, e):
        F[:] = 0
        E[::2] = e[::2] = G[::2] = 0  # every other stage has none
        return E, F, G, e

    assert_solves(with_rows(random_problem(rng, constraints=1, m=3), states_only))


def test_rows_of_theta_alone_bind_theta(rng):
    def theta_only(E, F, G, e):
        E[:], F[:] = 0, 0
        G[:, :, :], e[:] = [1.0, 2.0, -1.0], 0.7  # the same at every stage
        return E, F, G, e

    found = assert_solves(with_rows(random_problem(rng, constraints=1, chains=1), theta_only))
    assert found.theta @ [1.0, 2.0, -1.0] == pytest.approx(0.7)


def test_what_nothing_sees_stays_zero(rng):
    see = rng.standard_normal((4, 2))
    found = constrained.solve(random_problem(rng, p=4, prior=False, see=see, constraints=1))
    assert found.unseen.shape == (4, 2)
    np.testing.assert_allclose(found.unseen.T @ found.theta, 0, atol=1e-9)


def test_contradictions_are_told(rng):
    def contradict(E, F, G, e):
        E[:], F[:] = 0, 0
        G[:] = [1.0, 2.0, -1.0]
        e[:] = np.arange(len(e))[:, None]
        return E, F, G, e

    with pytest.raises(InvalidMethod, match="contradict each other"):
        constrained.solve(with_rows(random_problem(rng, constraints=1, chains=1), contradict))


def test_noise_without_cost_is_told(rng):
    problem = random_problem(rng, chains=1)
    chain = problem.chains[0]
    s = chain.stages
    B, L_ww = s.B.copy(), s.L_ww.copy()
    B[:, :, 1] = 0
    L_ww[:, 1], L_ww[:, :, 1] = 0, 0
    mute = replace(s, B=B, L_ww=L_ww, L_xw=0 * s.L_xw, L_wt=0 * s.L_wt, l_w=0 * s.l_w)
    with pytest.raises(NotIdentifiable, match="give its covariance"):
        constrained.solve(replace(problem, chains=(replace(chain, stages=mute),)))
