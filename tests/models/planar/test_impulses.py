"""One contact by its modes, several by Lemke's method, and both against every combination of modes."""

import numpy as np
import pytest

from poinsot.models.planar.impulses import (
    ENERGETIC,
    LAWS,
    NEWTON,
    along_normal_impulse,
    apply_impulses,
    one_contact,
    opposing_slip_before,
)
from references.planar import impulses_by_modes, impulses_by_small_steps, random_contacts, violation

FLOOR_N, FLOOR_T = np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])


def together(N, T, W, v, b, mu):
    c = np.full((len(N), 2), np.nan)
    return c, apply_impulses(N, T, np.arange(len(N)), W, v.copy(), b, mu, c)


def by_lemke(N, T, W, v, b, mu):
    """One contact as one of two, of which the other is far from closing."""
    never = np.array([[10 * (np.abs(N) @ np.abs(v)).max() + 1.0, 0.0]])
    c, found = together(np.vstack([N, N]), np.vstack([T, T]), W, v, np.vstack([b, never]), mu)
    assert found
    np.testing.assert_array_equal(c[1], 0.0)
    return c[:1]


def problems(rng, how_many, count, longest=10.0, spread=np.pi, restitution=True):
    """Closing contacts with levers to 10 m at a gyration radius of 1 m, friction 0 to 2."""
    while how_many:
        N, T = random_contacts(rng, count, spread, longest)
        v = rng.normal(size=3)
        if (N @ v >= 0).all():
            continue
        epsilon = rng.choice([0.0, 0.0, 0.3, 1.0]) if restitution else 0.0
        b = np.column_stack([epsilon * np.minimum(N @ v, 0.0), np.zeros(count)])
        mu = rng.choice([0.0, rng.uniform(0, 2)], p=[0.1, 0.9])
        W = np.array([1.0, 1.0, 10 ** rng.uniform(-1, 1)])
        how_many -= 1
        yield N, T, W, v, b, mu


def velocity_after(N, T, W, v, c):
    return v + W * (N.T @ c[:, 0] + T.T @ c[:, 1])


def test_one_contact_has_one_solution_and_all_find_it(rng):
    steep = 0
    for N, T, W, v, b, mu in problems(rng, 2000, 1):
        c_n, c_t, found = one_contact(N[0], T[0], W, v, b[0], mu)
        modes = impulses_by_modes(N, T, W, v, b, mu)
        size = np.abs(modes).max()
        assert found
        for mode in modes:  # several where it is between two modes
            np.testing.assert_allclose(mode, [[c_n, c_t]], atol=1e-6 * size)
        np.testing.assert_allclose(by_lemke(N, T, W, v, b, mu), [[c_n, c_t]], atol=1e-6 * size)
        steep += mu * abs(N[0] * W @ T[0]) > N[0] * W @ N[0]
    assert steep > 20  # Painleve's case is among them


@pytest.mark.parametrize("count", [2, 3, 4, 8])
def test_several_contacts_meet_all_conditions(count, rng):
    unsolved = 0
    for N, T, W, v, b, mu in problems(rng, 600, count, restitution=False):
        c, found = together(N, T, W, v, b, mu)
        unsolved += not found
        # Lemke's ties are 1e-9 of the largest q, and the smallest lever's row is up to 1e-4 of it
        assert not found or violation(N, T, W, v, b, mu, c) < 1e-5
        assert not found or energy_gain(N, T, W, v, c) < 1e-6
    assert unsolved <= 1  # of problems of rank 3 with up to 32 unknowns


@pytest.mark.parametrize("count", [2, 3])
def test_several_contacts_are_one_of_their_modes(count, rng):
    """Impulses may not be the only ones, but where the velocity after them is, both agree."""
    compared = 0
    for N, T, W, v, b, mu in problems(rng, 150, count, longest=2.0, restitution=False):
        c, found = together(N, T, W, v, b, mu)
        after = [velocity_after(N, T, W, v, mode) for mode in impulses_by_modes(N, T, W, v, b, mu)]
        assert found
        if after:
            compared += 1
            ours = velocity_after(N, T, W, v, c)
            assert min(np.abs(each - ours).max() for each in after) < 1e-5 * np.abs(v).max()
    assert compared > 120


@pytest.mark.parametrize("count", [1, 2, 3])
def test_restitution_between_walls_that_do_not_jam(count, rng):
    for N, T, W, v, b, mu in problems(rng, 500, count, longest=2.0, spread=0.3):
        mu = min(
            mu, 0.5
        )  # cones that lean at most 27 degrees, on walls at most 17: no sum of impulses is nothing
        c, found = together(N, T, W, v, b, mu)
        assert found
        assert violation(N, T, W, v, b, mu, c) < 1e-5


def energy_gain(N, T, W, v, c):
    """Of the kinetic energy that there was."""
    after = velocity_after(N, T, W, v, c)
    return (after**2 / W).sum() / (v**2 / W).sum() - 1


def test_one_contact_without_restitution_never_adds_energy(rng):
    for N, T, W, v, b, mu in problems(rng, 2000, 1, restitution=False):
        c, _ = together(N, T, W, v, b, mu)
        assert energy_gain(N, T, W, v, c) < 1e-12


def test_friction_opposes_the_slip_that_remains(rng):
    for N, T, W, v, b, mu in problems(rng, 2000, 1):
        c, _ = together(N, T, W, v, b, mu)
        slip = T[0] @ velocity_after(N, T, W, v, c)
        assert c[0, 1] * slip <= 1e-9 * np.abs(c).max() * np.abs(T[0]).max() * np.abs(v).max()


def test_restitution_without_friction_keeps_its_part_of_the_energy(rng):
    """The loss is (1 - epsilon^2) (N^T v)^2 / (2 N^T M^-1 N)."""
    for N, T, W, v, _, _ in problems(rng, 300, 1):
        for epsilon in (0.0, 0.4, 1.0):
            approach = N[0] @ v
            c, _ = together(N, T, W, v, np.array([[epsilon * approach, 0.0]]), 0.0)
            after = velocity_after(N, T, W, v, c)
            assert N[0] @ after == pytest.approx(-epsilon * approach, rel=1e-9)
            loss = (1 - epsilon**2) * approach**2 / (2 * (N[0] ** 2 @ W))
            gained = 0.5 * (after**2 / W).sum() - 0.5 * (v**2 / W).sum()
            assert gained == pytest.approx(-loss, abs=1e-12 * (v**2 / W).sum())


def test_newtons_restitution_may_add_energy_with_friction():
    """A rod that strikes at a slant while its tip slides (Kane and Levinson): what `Motion` says of it holds."""
    found = [
        energy_gain(N, T, W, v, together(N, T, W, v, b, mu)[0])
        for N, T, W, v, b, mu in problems(np.random.default_rng(0), 2000, 1)
        if b[0, 0] < 0 and mu > 0
    ]
    assert max(found) > 1e-3


def test_a_contact_that_leaves_is_left_alone():
    c, found = together(
        FLOOR_N[None], FLOOR_T[None], np.ones(3), np.array([3.0, 0.0, 1.0]), np.zeros((1, 2)), 0.5
    )
    assert found
    np.testing.assert_array_equal(c, 0.0)
    c, found = together(
        np.array([FLOOR_N, FLOOR_N]),
        np.array([FLOOR_T, FLOOR_T]),
        np.ones(3),
        np.array([3.0, 1.0, 1.0]),
        np.zeros((2, 2)),
        0.5,
    )
    assert found
    np.testing.assert_array_equal(c, 0.0)


def test_what_is_jammed_between_two_walls_stops():
    """It flies at one with the other behind it, both closed: it can leave neither at a fifth of the speed."""
    left, right = np.array([1.0, 0.0, 0.0]), np.array([-1.0, 0.0, 0.0])
    N, T = np.array([left, right]), np.array([[0.0, -1.0, 0.0], [0.0, 1.0, 0.0]])
    v = np.array([-1.0, 0.0, 0.0])
    b = np.column_stack([0.2 * np.minimum(N @ v, 0.0), np.zeros(2)])
    c, found = together(N, T, np.ones(3), v, b, 0.0)
    assert found
    np.testing.assert_allclose(velocity_after(N, T, np.ones(3), v, c), 0.0, atol=1e-12)


def test_a_square_that_falls_flat_stops_flat_and_bounces_flat():
    """Its two corners share the impulse as its symmetry has it, or as they like, but it does not turn."""
    N = np.array([[0.0, 1.0, -0.5], [0.0, 1.0, 0.5]])
    T = np.array([[1.0, 0.0, 0.5], [1.0, 0.0, 0.5]])
    W = np.array([1.0, 1.0, 6.0])
    for epsilon in (0.0, 0.5, 1.0):
        v = np.array([0.0, -2.0, 0.0])
        c, found = together(N, T, W, v, np.column_stack([epsilon * (N @ v), np.zeros(2)]), 0.4)
        assert found
        np.testing.assert_allclose(velocity_after(N, T, W, v, c), [0.0, 2 * epsilon, 0.0], atol=1e-9)


def test_a_ball_in_a_corner_comes_back_out_of_it():
    N = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    T = np.array([[1.0, 0.0, 0.1], [0.0, -1.0, 0.1]])
    W, v = np.array([1.0, 1.0, 200.0]), np.array([-3.0, -2.0, 0.0])
    c, found = together(N, T, W, v, np.column_stack([0.8 * (N @ v), np.zeros(2)]), 0.0)
    assert found
    np.testing.assert_allclose(velocity_after(N, T, W, v, c), [2.4, 1.6, 0.0], atol=1e-12)


def test_friction_of_either_law_is_in_the_cone_and_the_laws_differ_only_where_slip_reverses(rng):
    reversed_slips = 0
    for N, T, W, v, b, mu in problems(rng, 2000, 1):
        n, t = N[0], T[0]
        c_n, c_t, _ = one_contact(n, t, W, v, b[0], mu)
        p_n, p_t = opposing_slip_before(n, t, W, v, c_n, c_t, mu)
        before, after = t @ v, t @ velocity_after(N, T, W, v, np.array([[c_n, c_t]]))
        assert abs(p_t) <= mu * p_n * (1 + 1e-9)
        if before * after > 0 or abs(c_t) < mu * c_n * (1 - 1e-6):
            assert (p_n, p_t) == (c_n, c_t)
            continue
        if (p_n, p_t) == (c_n, c_t):
            continue
        # the same restitution, with friction on the side that opposes the slip before
        after_n = [n @ velocity_after(N, T, W, v, np.array([p])) for p in ((c_n, c_t), (p_n, p_t))]
        assert after_n[1] == pytest.approx(after_n[0], abs=1e-9 * (1 + abs(n @ v)))
        assert p_t * before <= 0
        reversed_slips += 1
    assert reversed_slips > 20


def inside(rng, how_many):
    """Impacts of one contact with friction and restitution, many of which stop or reverse the slip."""
    for N, T, W, v, _, mu in problems(rng, how_many, 1):
        yield N[0], T[0], W, v, mu, rng.uniform(0, 1)


def jams(N, T, W, v, mu):
    """Whether the normal velocity falls while the slip lasts."""
    return (N * W) @ N < mu * np.sign(T @ v) * ((N * W) @ T)


@pytest.mark.parametrize("law", LAWS[:3])
def test_the_impact_inside_the_impact_is_the_limit_of_small_steps(law, rng):
    kinds = {"slid": 0, "stopped": 0, "reversed": 0, "jammed": 0}
    for N, T, W, v, mu, epsilon in inside(rng, 600):
        c = np.array(along_normal_impulse(N, T, W, v, mu, epsilon, LAWS.index(law)))
        before, after = T @ v, T @ (v + W * (N * c[0] + T * c[1]))
        if jams(N, T, W, v, mu):
            kind = "jammed"
        else:
            kind = "stopped" if abs(after) < 1e-9 else ("slid" if before * after > 0 else "reversed")
        kinds[kind] += 1
        if kinds[kind] > 12:
            continue
        coarse, fine = (impulses_by_small_steps(N, T, W, v, mu, epsilon, law, n) for n in (50, 500))
        # errors are of first order in the step: ten times as many steps leave a tenth
        size = np.abs(c).max()
        assert np.abs(fine - c).max() < 0.02 * size
        assert np.abs(fine - c).max() < 0.5 * np.abs(coarse - c).max() + 4e-3 * size
    assert min(kinds.values()) >= 5, kinds


def test_the_laws_of_restitution_agree_where_slip_keeps_its_direction(rng):
    different = 0
    for N, T, W, v, mu, epsilon in inside(rng, 2000):
        c = np.array([along_normal_impulse(N, T, W, v, mu, epsilon, law) for law in range(3)])
        slides = np.abs(np.abs(c[:, 1]) - mu * c[:, 0]) < 1e-9 * c[:, 0]
        if slides.all() and (c[:, 1] * (T @ v) <= 0).all():
            np.testing.assert_allclose(c, c[[0, 0, 0]], rtol=1e-7)
        else:
            different += np.ptp(c[:, 0]) > 1e-3 * c[0, 0]
    assert different > 100


def test_no_impact_with_energetic_restitution_adds_energy_and_some_of_newtons_do(rng):
    gained = {NEWTON: 0.0, ENERGETIC: 0.0}
    for N, T, W, v, mu, epsilon in inside(rng, 2000):
        for law in gained:
            c = along_normal_impulse(N, T, W, v, mu, epsilon, law)
            after = v + W * (N * c[0] + T * c[1])
            gained[law] = max(gained[law], np.sum((after**2 - v**2) / W) / np.sum(v**2 / W))
    assert gained[ENERGETIC] < 1e-12
    assert gained[NEWTON] > 0.01


@pytest.mark.parametrize("law", range(3))
def test_velocities_after_an_impact_are_continuous(law, rng):
    """A millionth of all that an impact depends on moves its impulses by no more than a thousandth."""
    for N, T, W, v, mu, epsilon in inside(rng, 500):
        if N @ v > -0.05:
            continue
        step = 1e-6 * rng.normal(size=5)
        near = (v + step[:3], max(mu + step[3], 0.0), min(max(epsilon + step[4], 0.0), 1.0))
        here, there = (np.array(along_normal_impulse(N, T, W, *at, law)) for at in ((v, mu, epsilon), near))
        assert np.abs(there - here).max() < 1e-3
