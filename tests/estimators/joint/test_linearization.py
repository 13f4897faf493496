"""Slopes of all errors of a record against central differences, form by form."""

import numpy as np
import pytest

from estimators.joint import swings
from poinsot.estimators.joint import FORMS, Record, forms
from poinsot.estimators.joint.linearization import RecordLinearization
from poinsot.estimators.joint.smoothing import compiled_linearizer

N, STEP = 20, 1e-6


@pytest.fixture
def record(rng):
    """Steps from 5 to 15 ms, a third of the readings missing."""
    times = 0.3 + np.cumsum(rng.uniform(5e-3, 15e-3, N))
    z = 0.3 * rng.standard_normal((N, 2))
    z[rng.random((N, 2)) < 0.3] = np.nan
    return Record("short", times, rng.standard_normal((N, 1)), z)


def of_form(name):
    """Linearizer, and a theta that leaves nothing out; dry friction in the reduced form alone."""
    theta = swings.theta(coulomb=0.02, sine=0.03, cosine=-0.02, zero=0.1)
    if name == "reduced":
        return compiled_linearizer(swings.model(), name), theta
    return compiled_linearizer(swings.frictionless(), name), np.delete(
        theta, [swings.FREE.index(each) for each in swings.DRY]
    )


def moving(form, theta, rng):
    """States off the motion by some, and off the joints by 1e-4; now creeping, now sliding."""
    y = 0.8 * np.sin(np.arange(N) / 6)[:, None]
    rate = np.where(np.arange(N) % 3 == 0, 0.02, 1.0)[:, None] * rng.uniform(0.5, 1.0, (N, 1))
    x = form.pack(y, rate, theta)
    return form.moved(x, 1e-4 * rng.standard_normal((N, form.degrees)))


def differences(linearizer, record, x, theta, j, of_theta=False):
    """What changes with tangent j of each state, one half of the states at a time, or with a parameter."""
    form, columns = linearizer.form, []
    for half in (0, 1):
        d = np.zeros((N, form.degrees))
        if not of_theta:
            d[half::2, j] = STEP
        change = STEP * np.eye(len(theta))[j] if of_theta else np.zeros(len(theta))
        ends = [
            linearizer.all_of([record], [form.moved(x, sign * d)], theta + sign * change)[0]
            for sign in (1, -1)
        ]
        columns.append((ends[0].e - ends[1].e) / (2 * STEP))
        if ends[0].start is not None and not half:
            start = (ends[0].start[0] - ends[1].start[0]) / (2 * STEP)
        elif not half:
            start = None
    if of_theta:
        return columns[0], start
    even = (np.arange(N) % 2 == 0)[:, None]
    return np.where(even, *columns), np.where(even, *columns[::-1]), start


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "implicit" else ()) for name in FORMS]
)
def test_slopes_are_finite_differences(name, record, rng):
    """In two chunks, the second not full; errors of a row by rounding are 1e-12 of its largest slope, over 1e-6."""
    assert forms.SAMPLES < N < 2 * forms.SAMPLES
    linearizer, theta = of_form(name)
    form = linearizer.form
    x = moving(form, theta, rng)
    found = linearizer.all_of([record], [x], theta)[0]
    m, steps = found.e.shape[1], form.rows
    assert m == steps + 2

    missing = np.isnan(record.z)
    assert 5 < missing.sum() < 25
    for part in (found.e[:, steps:], found.by_x[:, steps:], found.by_theta[:, steps:]):
        assert not part[missing].any()
    assert found.e[:, steps:][~missing].all()
    assert found.by_x[:, steps:][~missing].any(axis=1).all()
    assert not found.by_next[:, steps:].any()
    for part in (found.e, found.by_x, found.by_next, found.by_theta):
        assert not part[-1, :steps].any()

    scale = np.abs(found.by_x).max(axis=(0, 2)) + 1e-3  # of each row
    for j in range(form.degrees):
        by_x, by_next, start = differences(linearizer, record, x, theta, j)
        assert (np.abs(found.by_x[:, :, j] - by_x) < 2e-6 * scale).all(), j
        assert (np.abs(found.by_next[:, :, j] - by_next) < 2e-6 * scale).all(), j
        if found.start is not None:
            size = np.abs(found.start[1]).max()
            np.testing.assert_allclose(found.start[1][:, j], start, atol=1e-6 * size)
    for j, parameter in enumerate(form.model.free):
        by_theta, start = differences(linearizer, record, x, theta, j, of_theta=True)
        size = np.abs(found.by_theta[:, :, j]).max()
        assert size > 0, parameter
        np.testing.assert_allclose(
            found.by_theta[:, :, j], by_theta, atol=2e-6 * (size + 1e-3), err_msg=parameter
        )
        if found.start is not None:
            np.testing.assert_allclose(found.start[2][:, j], start, atol=1e-6 * (np.abs(start).max() + 1))
    assert (found.start is None) == (name == "reduced")


def test_chunks_make_no_difference(record, rng, monkeypatch):
    linearizer, theta = of_form("reduced")
    x = moving(linearizer.form, theta, rng)
    chunked = linearizer.all_of([record], [x], theta)[0]
    monkeypatch.setattr(forms, "SAMPLES", 2 * N)
    whole = linearizer.all_of([record], [x], theta)[0]
    for name in ("e", "by_x", "by_next", "by_theta"):
        one, other = getattr(whole, name), getattr(chunked, name)
        np.testing.assert_allclose(one, other, atol=1e-13 * np.abs(one).max(), err_msg=name)


def test_weights_and_columns(rng):
    of = RecordLinearization(
        rng.standard_normal((4, 3)), *rng.standard_normal((2, 4, 3, 2)), rng.standard_normal((4, 3, 5)),
        (rng.standard_normal(2), rng.standard_normal((2, 2)), rng.standard_normal((2, 5))),
    )  # fmt: skip
    roots = rng.uniform(1, 2, (4, 3))
    weighted = of.weighted(roots, 3.0).opened(np.array([4, 1]))
    np.testing.assert_array_equal(weighted.e, roots * of.e)
    np.testing.assert_array_equal(weighted.by_next[2, 1], roots[2, 1] * of.by_next[2, 1])
    np.testing.assert_array_equal(weighted.by_theta[3, 0], roots[3, 0] * of.by_theta[3, 0, [4, 1]])
    np.testing.assert_array_equal(weighted.start[2], 3.0 * of.start[2][:, [4, 1]])
    expected = np.sum(weighted.e**2) + 9 * np.sum(of.start[0] ** 2)
    assert weighted.cost == pytest.approx(expected, rel=1e-14)
