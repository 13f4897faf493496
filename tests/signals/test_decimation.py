"""Decimation: equal to MATLAB's `decimate` where that works, and to the closed form where it does not."""

import tracemalloc
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import signal

from poinsot.exceptions import InvalidMethod, InvalidSignals
from poinsot.signals.decimation import PASSBAND, RIPPLE_DB, Decimation
from references.decimation import low_passed, matlab_order


def by_scipy(u, factor, order):
    """Filter every sample forwards and backwards, then keep every M-th, the last sample among them."""
    sos = signal.cheby1(order, RIPPLE_DB, PASSBAND / factor, output="sos")
    return signal.sosfiltfilt(sos, u, axis=0, padtype="odd", padlen=3 * order)[
        (len(u) - 1) % factor :: factor
    ]


def in_pieces(decimation, u, chunk):
    pieces = (u[first:last] for first, last in decimation.spans(len(u), chunk))
    return list(decimation.apply(pieces, len(u)))


# SciPy's own rounding grows with the factor (poles at a distance of 1 / M from 1 in a cascade): measured against the
# closed form below, it is wrong by 3e-11 at M = 200 and order 8, on samples of size 5.
@pytest.mark.parametrize("factor", [2, 3, 7, 10, 20, 200])
@pytest.mark.parametrize("order", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("extra", [0, 1, "half", -1])
def test_equal_to_filtering_every_sample(factor, order, extra, rng):
    uncut = Decimation(factor, order, cut_edges=False)
    extra = factor // 2 if extra == "half" else extra
    u = 5 + rng.standard_normal((9 * factor + 3 * order + extra, 3))
    np.testing.assert_allclose(uncut(u), by_scipy(u, factor, order), atol=1e-10)


@pytest.mark.parametrize("samples", [25, 26, 33, 57, 100, 101, 111, 112, 113, 250])
def test_equal_to_filtering_every_sample_at_any_length(samples, rng):
    u = rng.standard_normal((samples, 2)).cumsum(axis=0)
    np.testing.assert_allclose(Decimation(7, cut_edges=False)(u), by_scipy(u, 7, 8), atol=1e-11)


def test_equal_to_matlabs_direct_form_where_that_is_sound(rng):
    """MATLAB's `decimate`: filtfilt with [b, a], 3 (length - 1) samples of odd reflection, y(nbeg:r:end)."""
    factor = 5
    u = rng.standard_normal(311)
    b, a = signal.cheby1(8, RIPPLE_DB, PASSBAND / factor)
    first = factor - (factor * -(-len(u) // factor) - len(u))  # MATLAB's nbeg, counted from 1
    matlab = signal.filtfilt(b, a, u, padlen=3 * (len(b) - 1))[first - 1 :: factor]
    # the direct form of order 8 at M = 5 loses some 7 of 16 digits: its poles are within 0.3 of each other
    np.testing.assert_allclose(Decimation(factor, cut_edges=False)(u[:, None])[:, 0], matlab, atol=1e-7)


@pytest.mark.parametrize(
    ("factor", "order"), [(2, 8), (10, 8), (200, 4), (200, 8), (1000, 4), (1000, 8), (1000, 12)]
)
def test_exact_at_any_factor(factor, order, rng):
    decimation = Decimation(factor, order, cut_edges=False)
    silence = decimation._blocks_until(1e-16) * factor
    u = np.zeros((2 * silence + 40 * factor, 2))
    u[silence:-silence] = 5 + rng.standard_normal((40 * factor, 2))
    expected = low_passed(u, factor, order)[(len(u) - 1) % factor :: factor]
    # 1000 samples of size 5 are summed in each block: rounding 1e-16 * 5 * sqrt(1000) a block, over some 100 blocks
    np.testing.assert_allclose(decimation(u), expected, atol=2e-11)


@pytest.mark.parametrize("chunk", [1, 7, 40, 100, 1024, 10**6])
@pytest.mark.parametrize(
    ("factor", "order", "samples"), [(2, 8, 4001), (3, 2, 777), (20, 4, 9999), (200, 8, 20100)]
)
@pytest.mark.parametrize("cut_edges", [True, False])
def test_pieces_change_nothing(factor, order, samples, chunk, cut_edges, rng):
    decimation = Decimation(factor, order, cut_edges)
    u = rng.standard_normal((samples, 2)).cumsum(axis=0)
    pieces = in_pieces(decimation, u, chunk)
    whole = decimation(u)
    assert [first for first, _ in pieces] == [0, *np.cumsum([len(rows) for _, rows in pieces])[:-1]]
    assert len(whole) == decimation.rows(samples) == len(decimation.kept_indices(samples))
    np.testing.assert_allclose(
        np.concatenate([rows for _, rows in pieces]), whole, rtol=0, atol=1e-12 * np.abs(u).max()
    )


@pytest.mark.parametrize("chunk", [1, 5, 23, 25, 1000])
def test_pieces_end_where_blocks_end_and_hold_the_reflected_ends(chunk):
    for samples in range(75, 140):
        decimation = Decimation(3, 8, cut_edges=False)
        spans = list(decimation.spans(samples, chunk))
        sizes = np.diff(spans, axis=1)[:, 0]
        assert (spans[0][0], spans[-1][1]) == (0, samples)
        assert all(stop == start for (_, stop), (start, _) in pairwise(spans))
        assert all((samples - stop) % 3 == 0 for _, stop in spans)
        assert min(sizes[0], sizes[-1]) > decimation.padding


def test_kept_samples_are_the_last_of_their_blocks():
    uncut = Decimation(10, cut_edges=False)
    np.testing.assert_array_equal(uncut.kept_indices(35), [4, 14, 24, 34])
    np.testing.assert_array_equal(uncut.kept_indices(40), [9, 19, 29, 39])
    np.testing.assert_array_equal(uncut.kept_indices(41), [0, 10, 20, 30, 40])


def test_cut_edges_are_rows_left_out(rng):
    cut, uncut = Decimation(5), Decimation(5, cut_edges=False)
    u = rng.standard_normal((800, 1))
    edge = cut.edge_rows
    assert edge > 0
    np.testing.assert_allclose(cut(u), uncut(u)[edge:-edge], atol=1e-13)
    np.testing.assert_array_equal(cut.kept_indices(800), uncut.kept_indices(800)[edge:-edge])
    assert cut.rows(800) == uncut.rows(800) - 2 * edge


@pytest.mark.parametrize("factor", [2, 3, 10, 50, 200, 1000])
@pytest.mark.parametrize("order", [2, 3, 4, 8])
def test_what_lies_beyond_the_ends_hardly_reaches_the_rows_that_are_left(factor, order):
    """A blow at the first sample moves the rows left by some percent of what it moves the rows cut.

    The slowest mode has decayed to 1 %; where kept samples fall on zeros of the response it shows less of its peak.
    """
    cut = Decimation(factor, order)
    samples = factor * (2 * cut.edge_rows + 20)
    for place in (0, -1):
        blow = np.zeros((samples, 1))
        blow[place] = 1.0
        assert np.abs(cut(blow)).max() <= 0.05 * np.abs(replace(cut, cut_edges=False)(blow)).max()


def test_linear_and_blind_to_the_direction_of_time(rng):
    decimation = Decimation(4, 6, cut_edges=False)
    u, w = rng.standard_normal((2, 161, 1))  # 161 = 40 * 4 + 1: the kept samples are the same backwards
    np.testing.assert_allclose(decimation(2 * u - 3 * w), 2 * decimation(u) - 3 * decimation(w), atol=1e-12)
    # zero phase up to the ends: forwards then backwards and backwards then forwards differ by the transients only
    middle = slice(decimation._blocks_until(1e-13), -decimation._blocks_until(1e-13))
    u = rng.standard_normal((2001, 1))
    np.testing.assert_allclose(decimation(u[::-1])[::-1][middle], decimation(u)[middle], atol=1e-12)


def test_a_constant_and_a_slow_line_pass():
    """An even order has its ripple at 0: the gain is -0.05 dB forwards and again backwards. An odd order has none."""
    line = np.linspace(3, 4, 4000)[:, None]
    for order, gain in ((3, 1.0), (8, 10 ** (-2 * RIPPLE_DB / 20))):
        decimation = Decimation(20, order)
        np.testing.assert_allclose(decimation(np.ones((4000, 1))), gain, rtol=1e-12)
        kept = line[decimation.kept_indices(4000)]
        # the odd reflection continues a line, but the filter's state at its start is that of a constant: 1 % edges
        np.testing.assert_allclose(decimation(line), gain * kept, atol=1e-2 * 24 * 20 / 4000)


def test_a_tone_above_the_new_nyquist_frequency_is_gone():
    time = np.arange(20000)
    tone = np.sin(2 * np.pi * 0.6 / 10 * time)[
        :, None
    ]  # 1.2 times the new Nyquist frequency, aliases if it stays
    assert (
        np.abs(Decimation(10)(tone)).max() < 2e-4
    )  # Chebyshev of order 8 at 1.5 of its edge: -76 dB, both ways


def test_memory_does_not_grow_with_the_length(rng):
    decimation = Decimation(20)
    block = rng.standard_normal((2000, 30))

    def peak(repetitions):
        samples = 2000 * repetitions
        tracemalloc.start()
        rows = sum(len(r) for _, r in decimation.apply((block for _ in range(repetitions)), samples))
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert rows == decimation.rows(samples)
        return size

    peak(2)  # the filter's own matrices, made once
    assert peak(150) < 1.2 * peak(15)


def test_the_order_that_matlab_falls_back_to():
    assert matlab_order(200) == 4  # Brunot et al. (2017); see ../shared/data/README.md
    assert matlab_order(10) == 8
    assert matlab_order(2) == 8
    assert matlab_order(200, 3) == 3
    orders = [matlab_order(factor) for factor in (2, 10, 20, 50, 100, 200, 1000)]
    assert orders == sorted(orders, reverse=True)


@pytest.mark.parametrize("factor", [10, 200])
def test_short_recordings_are_refused_with_the_length_that_would_do(factor, rng):
    for decimation in (Decimation(factor), Decimation(factor, cut_edges=False)):
        needed = max((2 * decimation.edge_rows + 1) * factor, decimation.padding + 1)
        with pytest.raises(InvalidSignals, match=f"at least {needed} are needed"):
            decimation(rng.standard_normal((min(needed - factor, 24), 1)))
        assert len(decimation(rng.standard_normal((needed, 1)))) == decimation.rows(needed) >= 1


def test_settings_that_make_no_sense_are_refused():
    for factor, order in ((1, 8), (0, 8), (-3, 8), (10, 0)):
        with pytest.raises(InvalidMethod, match="at least 2"):
            Decimation(factor, order)
    for passband_hz in (0.0, -1.0, 500.0, 600.0, np.nan):
        with pytest.raises(InvalidMethod, match="Nyquist frequency 500 Hz"):
            Decimation.to_passband(passband_hz, 1000.0)


def test_the_factor_for_a_passband():
    assert Decimation.to_passband(10, 5000) == Decimation(200)  # Brunot et al. (2017), good knowledge
    assert Decimation.to_passband(100, 5000, order=4) == Decimation(20, 4)  # and poor
    assert Decimation.to_passband(400, 1000) is None
    for rate_hz in (100.0, 1000.0, 5000.0, 1 / 0.003):
        for factor in range(2, 60):
            assert Decimation.to_passband(PASSBAND * rate_hz / 2 / factor, rate_hz).factor == factor
