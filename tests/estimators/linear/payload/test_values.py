import numpy as np
import pytest

from poinsot.estimators.linear.payload.values import (
    QUANTITIES,
    matrix,
    payload_of,
    quantities,
)
from poinsot.inertia.parameters import center_of_mass, from_physical, inertia_at_com
from references.loaded_arm import LOAD

NOTHING = np.zeros(10, dtype=bool)


def draws(pi, std, count=4000, seed=0):
    return pi + std * np.random.default_rng(seed).standard_normal((count, 10))


def test_centre_and_moments_are_those_of_the_body(rng):
    pi = LOAD + 0.1 * rng.standard_normal((5, 10)) * np.abs(LOAD)
    np.testing.assert_allclose(quantities(pi)[:, 1:4], center_of_mass(pi))
    for each, six in zip(pi, quantities(pi)[:, 4:], strict=True):
        np.testing.assert_allclose(matrix(six), inertia_at_com(each), atol=1e-14)


def test_what_is_not_determined_spoils_no_more_than_depends_on_it():
    pi = LOAD.copy()
    pi[3] = np.nan  # m c_z
    found = payload_of("tool", pi, draws(pi, 1e-3), NOTHING)
    np.testing.assert_array_equal(np.isnan(found.center_of_mass), [False, False, True])
    # xx = Ixx - m (y^2 + z^2) needs z; xy = Ixy + m x y does not
    np.testing.assert_array_equal(
        np.isnan(found.inertia_at_com), [[True, False, True], [False, True, True], [True, True, False]]
    )
    assert found.physically_consistent is None and "center_of_mass.z" not in found.identifiable
    assert found.mass == 3.0 and "mass" in found.identifiable


def test_without_a_mass_there_is_no_centre():
    pi = np.full(10, np.nan)
    pi[1] = 0.2
    found = payload_of("tool", pi, draws(pi, 1e-3), NOTHING)
    assert np.isnan(found.mass) and np.isnan(found.center_of_mass).all() and not found.identifiable


def test_standard_deviations_are_the_spread_of_the_draws():
    std = 0.01 * np.abs(LOAD) + 1e-4
    found = payload_of("tool", LOAD, draws(LOAD, std), NOTHING)
    wider = payload_of("tool", LOAD, draws(LOAD, std), NOTHING, 1.5)
    # 4000 draws know a standard deviation to 1.1 %: four of that
    assert found.mass_std == pytest.approx(std[0], rel=0.05)
    x_std = np.hypot(std[1], LOAD[1] / LOAD[0] * std[0]) / LOAD[0]
    assert found.center_of_mass_std[0] == pytest.approx(x_std, rel=0.05)
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), std, rtol=0.05)
    assert wider.mass_std == pytest.approx(1.5 * found.mass_std)
    np.testing.assert_allclose(wider.covariance, 2.25 * found.covariance)
    low, high = found.mass_interval
    assert (3 - low, high - 3) == pytest.approx((1.96 * found.mass_std,) * 2, rel=1e-3)


def test_a_mass_that_is_known_has_no_uncertainty():
    held = NOTHING.copy()
    held[0] = True
    sample = draws(LOAD, 0.01 * np.abs(LOAD))
    sample[:, 0] = 3.0
    found = payload_of("tool", LOAD, sample, held)
    assert found.known == ("mass",) and "mass" not in found.identifiable
    assert found.mass_std == 0 and found.mass_interval == (3.0, 3.0)
    assert not found.covariance[0].any() and not found.covariance[:, 0].any()


def test_a_centre_is_known_with_mass_and_first_moment():
    held = NOTHING.copy()
    held[:3] = True
    sample = draws(LOAD, 0.01 * np.abs(LOAD))
    sample[:, :3] = LOAD[:3]
    assert payload_of("tool", LOAD, sample, held).known == ("mass", "center_of_mass.x", "center_of_mass.y")
    held[:] = True
    assert payload_of("tool", LOAD, np.tile(LOAD, (30, 1)), held).known == QUANTITIES


@pytest.mark.parametrize(("relative", "seen"), [(0.1, True), (0.25, False)])
def test_a_mass_is_determined_within_a_third(relative, seen):
    """1.96 x 0.17 is a third."""
    std = np.full(10, 1e-6)
    std[0] = 3 * relative
    assert ("mass" in payload_of("tool", LOAD, draws(LOAD, std), NOTHING).identifiable) is seen


def test_a_centre_at_the_origin_can_be_determined():
    """Its own size is then how far the matter reaches: 0.1 m here."""
    pi = from_physical(2.0, np.zeros(3), 2.0 * 2 / 3 * 0.01 * np.eye(3))
    for std, seen in ((0.01, True), (0.03, False)):
        found = payload_of("tool", pi, draws(pi, [1e-6, *3 * (2.0 * std,), *6 * (1e-6,)]), NOTHING)
        assert ("center_of_mass.x" in found.identifiable) is seen
    assert found.physically_consistent


def test_inertia_is_determined_where_it_is_a_bodys():
    std = np.array([1e-6] * 4 + [1e-4] * 6)
    sure = payload_of("tool", LOAD, draws(LOAD, std), NOTHING)
    assert set(QUANTITIES) == set(sure.identifiable) and sure.physically_consistent
    assert sure.min_pseudo_inertia_eigenvalue > 0
    impossible = LOAD.copy()
    impossible[4] -= 0.1
    found = payload_of("tool", impossible, draws(impossible, std), NOTHING)
    assert found.physically_consistent is False and found.reasons
    assert set(found.identifiable) == set(QUANTITIES[:4])
