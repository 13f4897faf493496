"""Defects of recordings with and without a load: the payload is not to be used, and the cause is named."""

from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimate import Trust
from poinsot.estimators.linear.payload.draws import Resampling
from poinsot.estimators.linear.payload.identification import PayloadIdentification
from poinsot.models.robot.drive import Drive
from references.loaded_arm import GAINS, LOAD, arm, drawn, problem

KNOWN = replace(arm(), drive=Drive(gain=tuple(GAINS.tolist())))


def solved(change=lambda signals: signals, gain_std=0.2):
    method = PayloadIdentification(gain_std=gain_std, resampling=Resampling(draws=20))
    return method.solve(problem([change(each) for each in drawn(0, white=0.02)], robot=KNOWN))


def current(change):
    return lambda signals: replace(signals, tau=change(signals.tau))


def noise(tau):
    return np.random.default_rng(2).standard_normal(tau.shape) * np.sqrt(np.mean(tau**2, axis=0))


def spikes(tau):
    rng = np.random.default_rng(3)
    at = rng.random(len(tau)) < 0.05
    size = 5 * np.sqrt(np.mean(tau**2, axis=0))
    return tau + at[:, None] * rng.choice([-1.0, 1.0], (len(tau), 1)) * size


def gain_from_half_way(tau):
    return tau * np.where(np.arange(len(tau)) < len(tau) // 2, 1.0, 1.3)[:, None]


def in_radians(signals):
    return replace(signals, q=np.radians(signals.q), v=np.radians(signals.v), a=np.radians(signals.a))


def still(signals):
    return replace(signals, q=np.tile(signals.q[:1], (len(signals), 1)), v=0 * signals.v, a=0 * signals.a)


def test_a_clean_load_is_trusted_with_its_scale_unchecked():
    estimate = solved()
    assert estimate.findings == () and estimate.trust is Trust.trusted
    assert abs(estimate.payload.mass - LOAD[0]) < 2 * estimate.payload.mass_std
    (scale,) = [each for each in estimate.unchecked if each.what == "the load's scale"]
    assert "gains were given, to +- 3.7 %" in scale.reason


def test_gains_that_count_as_exact_are_a_warning():
    estimate = solved(gain_std=None)
    assert estimate.trust is Trust.with_care
    assert [finding.cause for finding in estimate.findings] == ["exact-gains"]
    assert "gain_std" in estimate.findings[0].remedy


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (current(noise), "torque-noise"),
        (current(lambda tau: 1e3 * tau), "torque-scale"),
        (in_radians, "angle-unit"),
        (current(lambda tau: tau * [1, -1, 1, 1]), "sign"),
        (current(spikes), "poor-fit"),
        (current(gain_from_half_way), "gain-change"),
        (still, "torque-noise"),
    ],
)
def test_a_defect_is_named(change, cause):
    estimate = solved(change)
    assert estimate.trust is Trust.not_to_be_used
    assert cause in [finding.cause for finding in estimate.findings[:2]]
