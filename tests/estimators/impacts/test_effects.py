"""Errors of the laboratory beside the estimate of a throw: columns, intervals, and when there are none."""

from dataclasses import replace

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
