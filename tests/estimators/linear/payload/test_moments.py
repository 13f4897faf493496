from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimators.linear.payload.moments import moments, same_motions, total_moments, whitening
from poinsot.exceptions import NotIdentifiable
from poinsot.regression.system import reduce
from poinsot.signals.decimation import Decimation
from references.loaded_arm import coloured, drawn, problem, recorded


@pytest.fixture(scope="module")
def case():
    found = problem(drawn(0, white=0.1), held={"mL": 3.0})
    system = reduce(found, 1e-5)
    return found, system, whitening(system)


def blocks(case, residuals=None, block_s=None):
    found, system, R = case
    residuals = np.random.default_rng(0).standard_normal((1200, 4)) if residuals is None else residuals
    return moments(found, system.columns, R, residuals, block_s)


def test_the_total_is_that_of_all_rows(case):
    found, _, R = case
    rows = list(found.rows())
    h = np.concatenate([np.broadcast_to(each.held, each.y.shape) for each in rows])
    W = np.concatenate([each.W for each in rows])
    y = np.concatenate([each.y for each in rows]) + h
    expected = [
        Z.T @ Z for j in range(4) for Z in [np.column_stack([W[:, j] @ np.linalg.inv(R), h[:, j], y[:, j]])]
    ]
    np.testing.assert_allclose(
        total_moments(found, case[1].columns, R), expected, atol=1e-9 * np.abs(expected).max()
    )


def test_the_columns_are_nearly_orthonormal(case):
    """Each joint's rows in units of its efforts: the sum over joints of W^T W is then 1."""
    found, system, R = case
    M = total_moments(found, system.columns, R)
    efforts = system.residual_squares(np.zeros(system.size))
    WW = np.einsum("j,jab->ab", 1 / efforts, M[:, :-2, :-2])
    np.testing.assert_allclose(WW, np.eye(len(WW)), atol=1e-9)


@pytest.mark.parametrize("block_s", [None, 1.0, 7.3])
def test_the_blocks_make_the_total(case, block_s):
    found, system, R = case
    folded = blocks(case, block_s=block_s)
    expected = total_moments(found, system.columns, R)
    np.testing.assert_allclose(folded.blocks.sum(axis=0), expected, atol=1e-12 * np.abs(expected).max())
    assert sum(found.row_counts) == 1200


def test_with_and_without_the_load_one_motion_is_drawn_together(case):
    found, _system, R = case
    folded = blocks(case, block_s=2.0)
    assert same_motions(found) == [[0, 1]]
    assert len(folded.blocks) == 30 and folded.block_s == pytest.approx(2.0)
    assert folded.stretch == pytest.approx(1 / 30)
    first = np.concatenate([Z[:20] for Z in _rows(found, R)])
    np.testing.assert_allclose(folded.blocks[0], np.einsum("tna,tnb->nab", first, first), atol=1e-12)


def _rows(found, R):
    """[W R^-1, h, y] (N, n, k + 2) of each recording."""
    parts = {0: [], 1: []}
    for rows in found.rows():
        h = np.broadcast_to(rows.held, rows.y.shape)
        parts[rows.part].append(
            np.concatenate([rows.W @ np.linalg.inv(R), h[:, :, None], (rows.y + h)[:, :, None]], axis=2)
        )
    return [np.concatenate(each) for each in parts.values()]


def test_other_motions_are_drawn_by_themselves():
    found = problem([recorded(False), recorded(True, seed=4)], held={"mL": 3.0})
    assert same_motions(found) == [[0], [1]]
    system = reduce(found, 1e-5)
    folded = moments(found, system.columns, whitening(system), np.zeros((1200, 4)), 2.0)
    np.testing.assert_array_equal(folded.motions, np.repeat([0, 1], 30))


def test_a_motion_cut_short_or_shaken_is_the_same():
    free, loaded = recorded(False), recorded(True)
    shaken = replace(loaded, q=loaded.q + 0.02 * np.random.default_rng(0).standard_normal(loaded.q.shape))
    assert same_motions(problem([free, loaded.cut(0, 550, "")])) == [[0, 1]]
    assert same_motions(problem([free, shaken])) == [[0, 1]]
    assert same_motions(problem([free, loaded.cut(0, 250, "")])) == [[0], [1]]


def test_a_block_is_twice_as_long_as_residuals_remember(case):
    rng = np.random.default_rng(1)
    short, long = (
        blocks(case, np.concatenate([coloured(rng, 600, memory, 1.0) for _ in range(2)])).block_s
        for memory in (0.2, 8.0)
    )
    assert 0.2 <= short < 1.5 < 2.0 < long <= 5.0  # twelve blocks at least in 60 s


def test_decimated_rows_are_further_apart():
    signals = [replace(each, decimation=Decimation(2, cut_edges=False)) for each in drawn(0)]
    found = problem(signals, held={"mL": 3.0})
    system = reduce(found, 1e-5)
    folded = moments(found, system.columns, whitening(system), np.zeros((600, 4)), 2.0)
    assert len(folded.blocks) == 30 and folded.block_s == pytest.approx(2.0)
    assert same_motions(found) == [[0, 1]]


def test_draws_have_as_many_blocks_of_each_motion_as_there_are():
    found = problem([recorded(False), recorded(True, seed=4)], held={"mL": 3.0})
    system = reduce(found, 1e-5)
    folded = moments(found, system.columns, whitening(system), np.zeros((1200, 4)), 3.0)
    marks = np.zeros((len(folded.blocks), 1, 2, 2))
    marks[folded.motions == 0, 0, 0, 0] = marks[folded.motions == 1, 0, 1, 1] = 1.0
    drawn_marks = list(replace(folded, blocks=marks).resampled(70, np.random.default_rng(0)))
    assert len(drawn_marks) == 70
    np.testing.assert_allclose(drawn_marks, np.tile(np.diag([20.0, 20.0]), (70, 1, 1, 1)))


def test_the_mean_of_the_draws_is_the_total(case):
    """Each block is drawn once on average: the mean of 2000 draws is within 5 standard errors, entry by entry."""
    folded = blocks(case, block_s=2.0)
    some = replace(folded, blocks=folded.blocks[:, :, -3:, -3:])
    drawn_totals = np.array(list(some.resampled(2000, np.random.default_rng(0))))
    error = drawn_totals.std(axis=0) / np.sqrt(2000)
    assert np.all(np.abs(drawn_totals.mean(axis=0) - some.blocks.sum(axis=0)) < 5 * error + 1e-12)


def test_too_short_a_recording_says_so():
    signals = [each.cut(0, 20, "") for each in drawn(0)]
    found = problem(signals, held={"mL": 3.0})
    system = reduce(found, 1e-5)
    with pytest.raises(NotIdentifiable, match="20 rows of one recording are too few for standard deviations"):
        moments(found, system.columns, whitening(system), np.zeros((40, 4)))


def test_few_blocks_widen_intervals(case):
    assert blocks(case, block_s=5.0).widening > blocks(case, block_s=1.0).widening > 1.0
    assert blocks(case, block_s=1e9).stretch == pytest.approx(1 / 12)
