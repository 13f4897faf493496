"""Cone programs: equal to CVXPY's, and bounds that hold whatever multipliers they are given."""

import sys

import numpy as np
import pytest

from poinsot.estimators.linear.conic import (
    Cone,
    ConeProgram,
    ConicStatus,
    Membership,
    matrix_of,
    side,
    vector_of,
)
from poinsot.exceptions import MissingExtra


def random_program(rng, n=7):
    """One membership of every cone, all satisfied by a point at random."""
    x = rng.standard_normal(n)
    M = rng.standard_normal((n, n - 2))
    members = []
    inside = {
        Cone.zero: np.zeros(2),
        Cone.nonnegative: rng.uniform(0, 1, 5),
        Cone.second_order: np.array([2.0, 0.5, -0.3, 0.2]),
        Cone.semidefinite: vector_of(np.cov(rng.standard_normal((4, 9)))),
        Cone.exponential: np.array([0.3, 0.7, 4.0]),
    }
    for cone, s in inside.items():
        F = rng.standard_normal((len(s), n))
        members.append(Membership(cone.name, cone, F, s - F @ x))
    members.append(
        Membership("bounds", Cone.nonnegative, np.concatenate([np.eye(n), -np.eye(n)]), np.full(2 * n, 9.0))
    )
    return ConeProgram(M @ M.T, rng.standard_normal(n), tuple(members), constant=1.5)


def with_cvxpy(program):
    """The same optimum by a modelling language."""
    import cvxpy as cp

    x = cp.Variable(len(program.q))
    demands = []
    for each in program.memberships:
        s = each.F @ x + each.g
        if each.cone is Cone.zero:
            demands.append(s == 0)
        elif each.cone is Cone.nonnegative:
            demands.append(s >= 0)
        elif each.cone is Cone.second_order:
            demands.append(cp.SOC(s[0], s[1:]))
        elif each.cone is Cone.exponential:
            demands.append(cp.ExpCone(s[0], s[1], s[2]))
        else:
            k = side(len(each.g))
            S = cp.Variable((k, k), symmetric=True)
            demands.append(S >> 0)
            place = 0
            for j in range(k):
                for i in range(j + 1):
                    demands.append(S[i, j] == s[place] / (1 if i == j else np.sqrt(2)))
                    place += 1
    cost = 0.5 * cp.quad_form(x, cp.psd_wrap(program.P)) + program.q @ x + program.constant
    return cp.Problem(cp.Minimize(cost), demands).solve(solver="CLARABEL")


def test_optimum_is_cvxpys_and_proves_itself():
    pytest.importorskip("cvxpy")
    for seed in range(3):
        program = random_program(np.random.default_rng(seed))
        optimum = program.solve()
        assert optimum.status is ConicStatus.solved
        primal, dual, violation = program.bound(optimum.x, optimum.multipliers)
        np.testing.assert_allclose(primal, with_cvxpy(program), rtol=1e-6, atol=1e-7)
        assert abs(primal - dual) < 1e-6
        assert violation < 1e-7


def test_start_changes_nothing_but_what_tolerances_refer_to(rng):
    program = random_program(rng)
    plain, started = program.solve(), program.solve(rng.standard_normal(7))
    np.testing.assert_allclose(plain.x, started.x, atol=1e-5)


def test_no_multipliers_prove_more_than_is_true(rng):
    """The bound holds for points no further from 0 than the one asked about: ask at the optimum."""
    program = random_program(rng)
    optimum = program.solve()
    best = program.cost(optimum.x)
    for _ in range(200):
        wrong = [z + 0.3 * rng.standard_normal(len(z)) for z in optimum.multipliers]
        assert program.bound(optimum.x, wrong)[1] <= best + 1e-6


def test_point_outside_is_told_by_how_much(rng):
    program = random_program(rng)
    optimum = program.solve()
    far = optimum.x + 3.0
    assert program.bound(far, optimum.multipliers)[2] > 0.1


def test_what_excludes_itself_is_infeasible():
    above = Membership("x >= 1", Cone.nonnegative, np.eye(1), -np.ones(1))
    below = Membership("x <= 0", Cone.nonnegative, -np.eye(1), np.zeros(1))
    assert ConeProgram(np.eye(1), np.zeros(1), (above, below)).solve().status is ConicStatus.infeasible


def test_symmetric_matrices_as_vectors_keep_their_scalar_product(rng):
    A, B = rng.standard_normal((2, 5, 5))
    A, B = A + A.T, B + B.T
    np.testing.assert_allclose(vector_of(A) @ vector_of(B), np.trace(A @ B))
    np.testing.assert_allclose(matrix_of(vector_of(A)), A)
    assert side(len(vector_of(A))) == 5


def test_without_clarabel_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    program = ConeProgram(
        np.eye(1), np.zeros(1), (Membership("x >= 1", Cone.nonnegative, np.eye(1), -np.ones(1)),)
    )
    with pytest.raises(MissingExtra, match=r"poinsot\[sdp\]"):
        program.solve()
