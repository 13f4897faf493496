"""Mixtures about minima, on sums of squares whose answer is known."""

import numpy as np
import pytest
from scipy import stats

from poinsot.estimate import Status
from poinsot.estimators.impacts.shooting import (
    PRIOR_STD,
    MixturePosterior,
    Shooting,
    ShootingFit,
    further_minima,
)
from poinsot.models.planar import Ellipse, floor

P = 9


class Linear(Shooting):
    """Errors A (theta - center) of the nearest of some centers, each with a sum of squares of its own beside."""

    def __init__(self, A, centers, depths=(0.0,)):
        super().__init__(np.arange(10.0), np.zeros((10, 3)), np.ones(3), Ellipse(0.05, 0.025), [floor()])
        for name, value in (("A", A), ("centers", centers), ("depths", depths)):
            object.__setattr__(self, name, value)

    def residuals(self, theta, _frames=None):
        which = int(np.argmin(np.linalg.norm(theta - self.centers, axis=1)))
        return self.A @ (theta - self.centers[which])

    def jacobian(self, _theta, _e):
        return self.A

    def sums_of_squares(self, thetas, _frames=None):
        sums = np.zeros(len(thetas))
        for k, theta in enumerate(thetas):
            which = int(np.argmin(np.linalg.norm(theta - self.centers, axis=1)))
            sums[k] = np.sum(self.residuals(theta, 10) ** 2) + self.depths[which]
        return sums

    def bounds(self):
        return np.full(P, -np.inf), np.full(P, np.inf)

    def shot(self, which):
        return ShootingFit(
            self.centers[which], self.depths[which], np.zeros((10, 3)), Status.solved, 0, "complementarity"
        )

    def fit(self, theta, frames=None, method=None):
        return self.shot(int(np.argmin(np.linalg.norm(theta - self.centers, axis=1))))

    def distinct(self, shots):
        return list({tuple(shot.theta): shot for shot in sorted(shots, key=lambda s: s.chi_square)}.values())


@pytest.fixture
def A():
    return 30 * np.random.default_rng(0).standard_normal((30, P))


def test_one_minimum_is_least_squares(A):
    of = Linear(A, np.zeros((1, P)))
    found = MixturePosterior.of(of, [of.shot(0)])
    np.testing.assert_allclose(
        found.covariance, np.linalg.inv(A.T @ A + np.diag(1 / PRIOR_STD[:P] ** 2)), rtol=1e-9
    )
    std = np.sqrt(found.covariance[6, 6])
    np.testing.assert_allclose(found.interval(6), [-1.96 * std, 1.96 * std], rtol=1e-3)


def test_shares_are_those_of_integrals_and_intervals_those_of_the_mixture(A):
    centers = np.zeros((2, P))
    centers[1, 6] = 0.3
    of = Linear(A, centers, (0.0, 2.0))
    found = MixturePosterior.of(of, [of.shot(1), of.shot(0)])
    np.testing.assert_allclose(found.shares, [1 / (1 + np.exp(-1)), np.exp(-1) / (1 + np.exp(-1))])
    std = np.sqrt(found.covariances[0, 6, 6])
    assert found.covariance[6, 6] == pytest.approx(std**2 + found.shares[1] * 0.3**2)
    low, high = found.interval(6)
    samples = np.random.default_rng(1).standard_normal(400_000) * std
    samples += np.where(np.random.default_rng(2).uniform(size=400_000) < found.shares[1], 0.3, 0.0)
    np.testing.assert_allclose([low, high], np.quantile(samples, [0.025, 0.975]), atol=0.02 * std)


def test_a_flat_minimum_has_a_larger_share(A):
    """Of equal depth, by the width of what is as good: half the slope, twice as wide."""
    of = Linear(A, np.zeros((1, P)))
    steep, flat = of.shot(0), of.shot(0)
    half = Linear(A @ np.diag([1, 1, 1, 1, 1, 1, 0.5, 1, 1]), np.zeros((1, P)))
    logs = [
        0.5 * np.linalg.slogdet(MixturePosterior.of(o, [s]).covariance)[1]
        for o, s in ((of, steep), (half, flat))
    ]
    assert logs[1] - logs[0] == pytest.approx(np.log(2), rel=0.01)


def test_what_is_not_seen_is_as_wide_as_it_may_be(A):
    A[:, 7] = 0.0
    of = Linear(A, np.zeros((1, P)))
    assert np.sqrt(MixturePosterior.of(of, [of.shot(0)]).covariance[7, 7]) == pytest.approx(PRIOR_STD[7])


def test_minima_that_are_worth_nothing_are_left_out(A):
    centers = np.zeros((2, P))
    centers[1, 6] = 0.3
    of = Linear(A, centers, (0.0, 30.0))
    assert len(MixturePosterior.of(of, [of.shot(0), of.shot(1)]).shares) == 1


def test_samples_are_as_wide_as_asked(A):
    of = Linear(A, np.zeros((1, P)))
    found = MixturePosterior.of(of, [of.shot(0)])
    drawn = found.samples(4000, 2.0, np.random.default_rng(0))
    z = np.linalg.solve(np.linalg.cholesky(found.covariance), drawn.T)
    assert np.sum(z**2) / 4 == pytest.approx(4000 * P, rel=4 * np.sqrt(2 / (4000 * P)))
    assert stats.kstest(z[6] / 2, "norm").pvalue > 1e-3


def test_a_deeper_minimum_nearby_is_found(A):
    centers = np.zeros((2, P))
    centers[1, 6] = 0.02
    of = Linear(A, centers, (5.0, 0.0))
    found = further_minima(of, [of.shot(0)], np.random.default_rng(0))
    assert found[0].chi_square == 0.0 and found[0].theta[6] == 0.02
