"""Errors of the laboratory beside the estimate of a throw: columns, intervals, and when there are none."""

from dataclasses import replace

import numpy as np
import pytest

from poinsot.accuracy import Accuracy
from poinsot.estimators.impacts.drop import fitted_drops
from poinsot.estimators.impacts.effects import SimulatedFrames, fit_of_effects
from poinsot.models.planar import floor
from references.throws import throw


@pytest.fixture(scope="module")
def frames():
    drop, shape = throw(0)
    fit = fitted_drops([drop], shape, [floor()])
    return SimulatedFrames(fit.shooting, fit.theta, fit.predicted, fit.velocities, Accuracy())


def test_errors_of_a_laboratory_widen_and_none_do_not(frames):
    variances = [
        fit_of_effects(at).variances for at in (frames, replace(frames, accuracy=Accuracy(exact=True)))
    ]
    # the noise is estimated beside the effects; 435 readings give its variance to sqrt(2 / 435) = 7 %
    assert (variances[0] >= variances[1] * 0.93).all()
    assert variances[0][6] > 1.2 * variances[1][6]
    assert not fit_of_effects(frames).named


def test_covariances_of_values_are_projections_and_do_not_contain_what_only_states_are_off_by(frames):
    fit = fit_of_effects(frames)
    assert fit is not None
    np.testing.assert_allclose(fit.covariance_of(np.eye(fit.b)), fit.covariance, rtol=1e-12)
    chosen = 3.0 * np.eye(fit.b)[6:9]
    few = np.diag(fit.covariance_of(chosen))
    # no less than by chance, and no more than where first states are raised as well
    least = 9.0 * np.maximum(np.diag(fit.posterior[1]), 0.0)[6:9] / fit.norms[6:9] ** 2
    assert (few >= 0.999 * least).all()
    assert (few <= 9.001 * np.diag(fit.covariance)[6:9]).all()
