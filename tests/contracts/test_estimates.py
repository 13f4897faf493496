"""What the estimate of every family must hold: one meaning of each field, a mask, a certificate of its own values.

A new family joins by a project file in `JOBS`.
"""

import json
from dataclasses import dataclass
from html import escape

import numpy as np
import pytest

import poinsot
from poinsot.estimate import Estimate, fit_of
from poinsot.exceptions import InvalidMethod
from poinsot.io.results import identify_json, to_text
from poinsot.report.sections import sections

JOBS = {
    "least-squares": "examples/arm/job.toml",
    "semidefinite": "examples/arm/physical.toml",
    "filter": "examples/arm/track.toml",
    "leg-odometry": "examples/quadruped/odometry.toml",
    "optimal-estimation": "examples/quadruped/job.toml",
    "moving-horizon": "examples/quadruped/horizon.toml",
    "joint-smoothing": "examples/furuta/job.toml",
    "impacts": "examples/throw/job.toml",
}


@dataclass(frozen=True, eq=False)
class Solved:
    name: str
    estimate: Estimate
    project: poinsot.Project


@pytest.fixture(scope="module", params=JOBS)
def solved(request) -> Solved:
    if request.param == "joint-smoothing":
        pytest.importorskip("jax")
    project = poinsot.Project.load(JOBS[request.param])
    run = poinsot.track if request.param in ("filter", "leg-odometry", "moving-horizon") else poinsot.identify
    found = run(project)
    return Solved(request.param, found if isinstance(found, Estimate) else found.estimate, project)


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
        if estimate.systematic_std is not None:  # what moves beyond chance comes on top
            stated = np.hypot(stated, estimate.systematic_std)
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
        if not z.any():  # nothing that an error could be relative to
            assert not np.isfinite(fit.relative_error_percent)
            continue
        expected = 100 * np.linalg.norm(e) / np.linalg.norm(z)
        if not {"rad", "m"} & set(fit.units):
            assert fit.relative_error_percent == pytest.approx(expected, rel=1e-9)
        else:  # positions are about their mean, whose place says nothing
            assert fit.relative_error_percent >= expected
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


def test_the_headline_claims_nothing_that_a_line_below_it_denies(solved, tmp_path):
    estimate = solved.estimate
    known = sum(
        bool(k) and percent < 30
        for k, percent in zip(estimate.identifiable, estimate.relative_std_percent, strict=True)
    )
    assert estimate.headline.startswith(
        estimate.diagnosis.verdict[:1].upper() + estimate.diagnosis.verdict[1:]
    )
    found = [extra.found() for extra in estimate.extras.values() if extra.found()]
    assert all(sentence in estimate.headline for sentence in found)
    assert found or f"{known} of {len(estimate.names)} parameter" in estimate.headline
    assert ("was held out" in estimate.headline) == (not estimate.validation)
    errors = [fit.relative_error_percent for fit in estimate.validation]
    assert not errors or f"predicted to {max(errors):.3g} %" in estimate.headline
    grave = [each for each in estimate.findings if each.severity and not each.corrected]
    assert not grave or grave[0].message[:40] in estimate.headline
    # the same sentence everywhere
    content = identify_json(estimate)
    assert content["headline"] == estimate.headline == content["text"].splitlines()[0]
    assert (
        content["next"] == estimate.next_step
        and content["text"].splitlines()[1] == f"Next: {estimate.next_step}"
    )
    page = poinsot.write_report(estimate, tmp_path / "page.html").read_text()
    assert escape(estimate.headline, quote=False) in page.replace("&#34;", '"').replace("&#39;", "'")
    assert escape(estimate.headline) in estimate._repr_html_()


def test_the_sections_that_a_method_names_are_all_that_have_something_to_say(solved):
    """Otherwise the page of `poinsot identify` would lack what `write_report` shows."""
    named = [each.title for each in sections(solved.estimate, solved.project.settings.method.row.sections)]
    assert named == [each.title for each in sections(solved.estimate)]


# ------------------------------------------------------------------------------------------------ the mask by itself


def test_an_angle_of_many_turns_has_no_small_error(rng):
    """Of two recordings that begin at other turns, the error is relative to the motion of each."""
    swing = np.tile(np.sin(np.linspace(0, 20, 500)), 2)
    turns = np.repeat([326.0, 104.0], 500)
    measured, speed = (turns + swing)[:, None], 10 + np.cos(np.linspace(0, 20, 1000))[:, None]
    columns = np.hstack([measured, speed])
    predicted = columns + [0.1, 0.1] * rng.standard_normal((1000, 2))
    fit = fit_of(
        np.arange(1000) / 100,
        ("a", "b"),
        ("rad", "rad/s"),
        columns,
        predicted,
        speeds=None,
        counts=[500, 500],
    )
    errors = 100 * np.linalg.norm(predicted - columns, axis=0)
    centred = swing - swing[:500].mean()
    sizes = [np.linalg.norm(centred), np.linalg.norm(speed)]
    np.testing.assert_allclose(fit.relative_error_percent_per_joint, errors / sizes)
    assert fit.error_text == f"{fit.relative_error_percent:.2f} %"
    lost = fit_of(
        np.arange(2.0), ("a",), ("N m",), np.ones((2, 1)), np.full((2, 1), np.nan), speeds=None, counts=[2]
    )
    assert lost.error_text == "unknown, since the prediction is not finite"


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


def test_it_reads_back_as_it_was_written(solved, tmp_path):
    """Columns of all parameters to rounding; a text of what the result holds."""
    (tmp_path / "result.json").write_text(json.dumps(identify_json(solved.estimate)))
    back, estimate = poinsot.read_estimate(tmp_path), solved.estimate
    for name in ("values", "std", "covariance", "white_std", "coloured_std", "next_recording_std"):
        written, read = getattr(estimate, name), getattr(back, name)
        assert (written is None) == (read is None), name
        if written is not None:
            # raising a variance to itself rounds
            np.testing.assert_allclose(read, written, rtol=1e-9, atol=1e-12 * np.nanmax(np.abs(written)))
    for name in (
        "names",
        "units",
        "owners",
        "kinds",
        "groupings",
        "status",
        "trust",
        "unchecked",
        "warnings",
    ):
        assert getattr(back, name) == getattr(estimate, name), name
    assert [str(finding) for finding in back.findings] == [str(finding) for finding in estimate.findings]
    assert [str(body) for body in back.bodies] == [str(body) for body in estimate.bodies]
    with pytest.raises(InvalidMethod, match="holds no samples"):
        back.certificate()
