"""A log that is read in blocks gives the estimate of the whole log, however it is cut and by whomever."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pinocchio as pin
import polars as pl
import pytest
from scipy.signal import lfilter

import poinsot
from poinsot import ButterworthDecimation, InverseDynamics, LeastSquares
from poinsot.estimate import Trust
from poinsot.exceptions import InvalidMethod, InvalidRecording, UnreadableFile
from poinsot.io.parquet import ParquetLog
from poinsot.statistics import autocorrelation, autocovariance
from poinsot.studies.streaming import Blocks, ResidualSums, stream_least_squares
from poinsot.studies.study import Serial
from simulated_fleet import ARM, JOINTS

RATE = 500.0
METHOD = ButterworthDecimation(cutoff_hz=20.0, decimate_hz=12.0)
CHANNELS = {f"position.{joint}": (f"q_{joint}", "deg") for joint in JOINTS} | {
    f"torque.{joint}": (f"tau_{joint}", "N m") for joint in JOINTS
}


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.urdf"
    path.write_text(ARM)
    return poinsot.load_robot(path)


@pytest.fixture(scope="module")
def table(robot):
    """30 s at 500 Hz, torques by Pinocchio, with friction and noise."""
    rng, time = np.random.default_rng(0), np.arange(15_013) / RATE
    w, phase = rng.uniform(1.0, 9.0, (3, 5)), rng.uniform(0, 6, (3, 5))
    angle = w[..., None] * time + phase[..., None]
    q, v, a = (
        np.einsum("jk, jkt -> tj", 0.2 * c, f(angle))
        for c, f in ((w**0, np.sin), (w, np.cos), (-(w**2), np.sin))
    )
    data = robot.model.createData()
    tau = np.array([pin.rnea(robot.model, data, *each) for each in zip(q, v, a, strict=True)])
    tau += 0.5 * v + 0.3 * np.sign(v) + 0.05 * rng.standard_normal(tau.shape)
    columns = {"t": time} | {f"q_{joint}": np.degrees(q[:, k]) for k, joint in enumerate(JOINTS)}
    return pl.DataFrame(columns | {f"tau_{joint}": tau[:, k] for k, joint in enumerate(JOINTS)})


def log_of(table, folder, cuts=()):
    """The table in files that end at these rows."""
    paths = []
    for k, (first, last) in enumerate(zip([0, *cuts], [*cuts, len(table)], strict=True)):
        paths.append(folder / f"part_{k}.parquet")
        table[first:last].write_parquet(paths[-1], row_group_size=1000)
    return ParquetLog(paths, CHANNELS, ("t", "s"))


@pytest.fixture(scope="module")
def whole(robot, table, tmp_path_factory):
    """The estimate of the whole log in memory."""
    log = log_of(table, tmp_path_factory.mktemp("whole"))
    recording = log.read(0, len(log))
    return LeastSquares(weighting="per-joint").solve(InverseDynamics(robot, recording, METHOD))


@pytest.mark.parametrize("block", [1_500, 2_048, 5_000, 100_000])
def test_blocks_give_the_estimate_of_the_whole(robot, table, whole, tmp_path, block):
    log = log_of(table, tmp_path, (4_000, 4_001, 9_999))
    streamed = stream_least_squares(robot, log, METHOD, executor=Serial(), block=block)
    assert streamed.names == whole.names
    np.testing.assert_allclose(
        streamed.values, whole.values, rtol=1e-9, atol=1e-9 * np.abs(whole.values).max()
    )
    assert streamed.rows == whole.rows
    np.testing.assert_allclose(streamed.fit.measured, whole.fit.measured, atol=1e-9)
    np.testing.assert_allclose(streamed.fit.predicted, whole.fit.predicted, atol=1e-9)
    assert streamed.fit.relative_error_percent == pytest.approx(whole.fit.relative_error_percent, rel=1e-9)
    np.testing.assert_allclose(streamed.coloured_std, whole.coloured_std, rtol=1e-6)
    np.testing.assert_allclose(streamed.white_std, whole.white_std, rtol=1e-9)


def test_figures_have_some_rows_and_numbers_are_of_all(robot, table, whole, tmp_path):
    # too few lags for the taper: residuals are summed once more
    given = {"block": 4_000, "shown": 100, "lags": 7}
    streamed = stream_least_squares(robot, log_of(table, tmp_path), METHOD, executor=Serial(), **given)
    assert 50 <= len(streamed.fit.time) <= 100
    assert np.isin(np.round(streamed.fit.time, 9), np.round(whole.fit.time, 9)).all()
    for name in (
        "relative_error_percent",
        "relative_error_percent_per_joint",
        "moving_error_percent_per_joint",
    ):
        np.testing.assert_allclose(getattr(streamed.fit, name), getattr(whole.fit, name), rtol=1e-9)
    np.testing.assert_allclose(streamed.fit.autocorrelation, whole.fit.autocorrelation, atol=1e-9)
    np.testing.assert_allclose(streamed.fit.rms_per_joint, whole.fit.rms_per_joint, rtol=1e-9)
    np.testing.assert_allclose(
        [each.p_value for each in streamed.fit.whiteness],
        [each.p_value for each in whole.fit.whiteness],
        rtol=1e-6,
    )
    np.testing.assert_allclose(streamed.coloured_std, whole.coloured_std, rtol=1e-8)


@pytest.mark.parametrize("lags", [1, 30, 200])
def test_sums_of_residuals_join(lags):
    """The mean is far from zero, and stretches are shorter than the lags, or one row."""
    rng = np.random.default_rng(1)
    e = 3.0 + lfilter([1.0], [1.0, -0.9], rng.standard_normal((2_000, 3)), axis=0)
    cuts = [0, 1, 2, 40, 900, 905, 2_000]
    found = ResidualSums.of(e[:1], lags)
    for first, last in pairwise(cuts[1:]):
        found = found.joined(ResidualSums.of(e[first:last], lags))
    np.testing.assert_allclose(found.autocovariance, autocovariance(e, lags), atol=1e-11)
    np.testing.assert_allclose(found.autocorrelation, autocorrelation(e, lags), atol=1e-11)
    assert found.count == 2_000


def test_colour_that_lasts_longer_than_a_block(robot, table, tmp_path):
    rng = np.random.default_rng(2)
    slow = lfilter([0.02], [1.0, -0.999], rng.standard_normal((len(table), 3)), axis=0)
    table = table.with_columns(
        **{f"tau_{joint}": table[f"tau_{joint}"] + slow[:, k] for k, joint in enumerate(JOINTS)}
    )
    log = log_of(table, tmp_path, (7_000,))
    whole = LeastSquares("per-joint").solve(InverseDynamics(robot, log.read(0, len(log)), METHOD))
    streamed = stream_least_squares(robot, log, METHOD, executor=Serial(), block=2_500, lags=5)
    np.testing.assert_allclose(streamed.coloured_std, whole.coloured_std, rtol=1e-7)


def test_held_out_errors_are_those_of_a_recording(robot, table, tmp_path):
    log = log_of(table, tmp_path)
    other = InverseDynamics(robot, log.read(0, len(log)), METHOD)
    streamed = stream_least_squares(
        robot, log, METHOD, executor=Serial(), block=4_000, validation={"other": log}
    )
    expected = other.predicted(LeastSquares("per-joint").solve(other), log.read(0, len(log)), "other")
    (found,) = streamed.validation
    assert found.recording == "other"
    assert found.relative_error_percent == pytest.approx(expected.relative_error_percent, rel=1e-8)


def _wrong(table, change):
    time = table["t"].to_numpy()
    return table.with_columns(**change({name: table[name].to_numpy() for name in table.columns}, time))


def _later(values, samples):
    return np.concatenate([np.full(samples, values[0]), values[:-samples]])


WRONG = {
    "delay": lambda c, t: {f"tau_{j}": _later(c[f"tau_{j}"], 10) for j in JOINTS},
    "saturation": lambda c, t: {"tau_two": np.clip(c["tau_two"], -2.0, 2.0)},
    "lost-samples": lambda c, t: {
        f"q_{j}": np.concatenate([c[f"q_{j}"][:9_000], c[f"q_{j}"][9_040:], np.repeat(c[f"q_{j}"][-1], 40)])
        for j in JOINTS
    },
    "position-jump": lambda c, t: {"q_one": c["q_one"] + 30.0 * (t > 11.0)},
}


@pytest.mark.parametrize("cause", WRONG)
def test_a_wrong_log_gets_a_finding(robot, table, tmp_path, cause):
    log = log_of(_wrong(table, WRONG[cause]), tmp_path)
    streamed = stream_least_squares(robot, log, METHOD, executor=Serial(), block=4_000)
    assert streamed.trust is not Trust.trusted
    assert cause in {each.cause for each in streamed.findings}


def test_a_sound_log_is_trusted(robot, table, tmp_path):
    streamed = stream_least_squares(robot, log_of(table, tmp_path), METHOD, executor=Serial(), block=4_000)
    assert streamed.trust is Trust.trusted, streamed.findings
    assert not streamed.findings


def test_files_and_workers_change_nothing(robot, table, tmp_path):
    found = []
    for name, cuts, executor in (
        ("a", (), Serial()),
        ("b", (1, 7_000, 15_012), Serial()),
        ("c", tuple(range(100, 15_000, 1_111)), ThreadPoolExecutor(3)),
    ):
        (tmp_path / name).mkdir()
        log = log_of(table, tmp_path / name, cuts)
        found.append(stream_least_squares(robot, log, METHOD, executor=executor, block=2_000))
    for other in found[1:]:
        np.testing.assert_array_equal(other.values, found[0].values)
        np.testing.assert_array_equal(other.covariance, found[0].covariance)


def test_processes_give_the_same(robot, table, tmp_path):
    log = log_of(table, tmp_path, (5_000,))
    alone = stream_least_squares(robot, log, METHOD, executor=Serial(), block=4_000)
    np.testing.assert_array_equal(stream_least_squares(robot, log, METHOD, block=4_000).values, alone.values)


def test_blocks_cover_the_log_and_rows_count_from_its_end(robot, table, tmp_path):
    blocks = Blocks(robot, log_of(table, tmp_path), METHOD, 3_000)
    spans = blocks.spans
    assert spans[0][0] == 0 and spans[-1][1] == len(table)
    assert all(one[1] == other[0] for one, other in pairwise(spans))
    assert all((len(table) - last) % blocks.factor == 0 for _, last in spans)


def test_what_a_log_cannot_be(robot, table, tmp_path):
    with pytest.raises(UnreadableFile, match="has no column 'tau_one'; it has"):
        log_of(table.drop("tau_one"), tmp_path)
    (tmp_path / "text.parquet").write_text("no parquet")
    with pytest.raises(UnreadableFile, match=r"text.parquet cannot be read as Parquet"):
        ParquetLog([tmp_path / "text.parquet"], CHANNELS, ("t", "s"))
    for change, said in (
        (table.filter(pl.col("t") != 10.0), "off a uniform clock"),
        (
            table.with_columns(
                pl.when(pl.col("t") == 5.0).then(None).otherwise(pl.col("q_two")).alias("q_two")
            ),
            "no number",
        ),
    ):
        with pytest.raises(InvalidRecording, match=said):
            stream_least_squares(robot, log_of(change, tmp_path), METHOD, executor=Serial(), block=3_000)
    with pytest.raises(InvalidRecording, match="order of time"):
        log_of(table.reverse(), tmp_path)
    log = log_of(table, tmp_path)
    with pytest.raises(InvalidMethod, match="robust"):
        stream_least_squares(robot, log, METHOD, estimator=LeastSquares("robust"), executor=Serial())
    with pytest.raises(InvalidMethod, match="no window"):
        stream_least_squares(robot, log, replace(METHOD, window_s=(1.0, 2.0)), executor=Serial())
