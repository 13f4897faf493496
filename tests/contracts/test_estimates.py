"""What the estimate of every family must hold: one meaning of each field, a mask, a certificate of its own values.

A new family joins by a project file in `JOBS`.
"""

import json
from dataclasses import dataclass

import numpy as np
import pytest

import poinsot
from poinsot.estimate import Estimate, fit_of
from poinsot.io import identify_json
from poinsot.io.results import to_text

JOBS = {
    "least-squares": "examples/arm/job.toml",
    "semidefinite": "examples/arm/physical.toml",
    "filter": "examples/arm/track.toml",
    "optimal-estimation": "examples/quadruped/job.toml",
    "joint-smoothing": "examples/furuta/job.toml",
    "impacts": "examples/throw/job.toml",
}


@dataclass(frozen=True, eq=False)
class Solved:
    name: str
    estimate: Estimate


@pytest.fixture(scope="module", params=JOBS)
def solved(request) -> Solved:
    if request.param == "joint-smoothing":
        pytest.importorskip("jax")
    if request.param == "impacts":
        pytest.importorskip("casadi")
    project = poinsot.Project.load(JOBS[request.param])
    run = poinsot.track if request.param == "filter" else poinsot.identify
    found = run(project)
    return Solved(request.param, found if isinstance(found, Estimate) else found.estimate)


def test_the_certificate_holds_at_the_estimate(solved):
    assert solved.estimate.certificate().holds


def test_the_certificate_fails_one_standard_deviation_off(solved):
    """Along one identifiable value: the estimate's own values are certified, not a solution kept elsewhere."""
    estimate = solved.estimate
    free = np.flatnonzero(estimate.identifiable & np.isfinite(estimate.std) & (estimate.std > 0))
    tried = [int(free[0]), int(free[len(free) // 2]), int(free[-1])]
    for place in dict.fromkeys(tried):
        values = estimate.values.copy()
        values[place] += estimate.std[place]
        assert not estimate.updated(values=values).certificate().holds, estimate.names[place]


def test_fields_have_one_meaning(solved):
    estimate = solved.estimate
    assert estimate.status.converged
    assert 1 <= estimate.condition_number < np.inf
    assert estimate.std_kind in ("white", "coloured")
    stated = estimate.white_std if estimate.std_kind == "white" else estimate.coloured_std
    known = estimate.identifiable
    if stated is not None:
        np.testing.assert_allclose(stated[known], estimate.std[known], rtol=1e-12)
    if estimate.white_std is not None and estimate.coloured_std is not None:  # computed each, no copies
        assert not np.array_equal(estimate.white_std[known], estimate.coloured_std[known])
    assert np.isfinite(estimate.std[known]).all()
    assert estimate.rows > 0 and estimate.iterations >= 1
    assert all(np.isfinite(estimate.values[known]))


def test_errors_count_what_was_measured_and_nothing_else(solved):
    for fit in (solved.estimate.fit, *solved.estimate.validation):
        read = np.isfinite(fit.measured)
        assert np.array_equal(read, fit.mask) and read.any()
        # one relative error of columns with different units: each by the standard deviation of its noise
        scale = np.broadcast_to(
            1.0 if fit.noise is None or len(set(fit.units)) == 1 else fit.noise, read.shape
        )
        e, z = ((fit.measured - fit.predicted) / scale)[read], (fit.measured / scale)[read]
        assert fit.relative_error_percent == pytest.approx(
            100 * np.linalg.norm(e) / np.linalg.norm(z), rel=1e-9
        )
        np.testing.assert_array_equal(fit.readings_per_joint, read.sum(axis=0))
        for column in np.flatnonzero(read.any(axis=0)):
            e = (fit.measured - fit.predicted)[read[:, column], column]
            assert fit.rms_per_joint[column] == pytest.approx(np.sqrt(np.mean(e**2)), rel=1e-9)


def test_what_a_family_cannot_say_is_null(solved):
    content = json.loads(to_text(identify_json(solved.estimate)))
    for row in content["parameters"]:
        for key, values in (
            ("std_white", solved.estimate.white_std),
            ("std_coloured", solved.estimate.coloured_std),
        ):
            assert values is not None or row[key] is None


# ------------------------------------------------------------------------------------------------ the mask by itself


def test_missing_readings_are_no_perfect_predictions(rng):
    """One reading in sixteen: the same relative error and lag-1 between readings as if nothing were missing."""
    N = 16_000
    e = np.zeros(N)
    for k in range(1, N):
        e[k] = 0.999 * e[k - 1] + rng.standard_normal()
    predicted = 100 * np.sin(np.linspace(0, 60, N))[:, None]
    whole = fit_of(
        np.arange(N) / 100, ("a",), ("rad",), predicted + e[:, None], predicted, speeds=None, counts=[N]
    )
    sparse = np.full((N, 1), np.nan)
    sparse[::16] = (predicted + e[:, None])[::16]
    some = fit_of(np.arange(N) / 100, ("a",), ("rad",), sparse, predicted, speeds=None, counts=[N])
    # 1000 of 16 000 samples of an error with a correlation time of 1000 samples: 16 independent ones, a few percent
    assert some.relative_error_percent == pytest.approx(whole.relative_error_percent, rel=0.05)
    assert some.whiteness[0].lag1 == pytest.approx(0.999**16, abs=0.02)
    assert some.readings_per_joint.tolist() == [1000]
    assert np.isnan(some.residuals).sum() == N - 1000


def test_recordings_are_not_joined_at_their_ends(rng):
    """A jump between two recordings is no correlation within one."""
    e = np.concatenate([rng.standard_normal(500) + 50, rng.standard_normal(500) - 50])[:, None]
    one = fit_of(np.arange(1000.0), ("a",), ("m",), e, 0 * e, speeds=None, counts=[500, 500])
    assert abs(one.whiteness[0].lag1) < 0.15  # 4.7 standard deviations of white noise


def test_rows_without_an_order_have_no_autocorrelation(rng):
    e = rng.standard_normal((50, 1))
    fit = fit_of(np.arange(50.0), ("a",), ("m",), e, 0 * e, speeds=None, counts=[50], ordered=False)
    assert fit.autocorrelation.shape == (1, 0) and fit.whiteness == ()
