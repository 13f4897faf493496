"""A log that is read in blocks gives the estimate of the whole log, however it is cut and by whomever."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pinocchio as pin
import polars as pl
import pytest

import poinsot
from poinsot import ButterworthDecimation, InverseDynamics, LeastSquares
from poinsot.exceptions import InvalidMethod, InvalidRecording, UnreadableFile
from poinsot_fleet.parquet_log import ParquetLog
from poinsot_fleet.streaming import Blocks, stream_least_squares
from poinsot_fleet.study import Serial
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


def test_figures_have_some_rows_and_numbers_are_of_all(robot, table, whole, tmp_path, monkeypatch):
    monkeypatch.setattr("poinsot_fleet.streaming.SHOWN", 100)
    streamed = stream_least_squares(robot, log_of(table, tmp_path), METHOD, executor=Serial(), block=4_000)
    assert 50 <= len(streamed.fit.time) <= 100
    assert np.isin(np.round(streamed.fit.time, 9), np.round(whole.fit.time, 9)).all()
    for name in (
        "relative_error_percent",
        "relative_error_percent_per_joint",
        "moving_error_percent_per_joint",
    ):
        np.testing.assert_allclose(getattr(streamed.fit, name), getattr(whole.fit, name), rtol=1e-9)
    np.testing.assert_allclose(streamed.fit.autocorrelation, whole.fit.autocorrelation, atol=1e-9)
    np.testing.assert_allclose(streamed.coloured_std, whole.coloured_std, rtol=1e-6)


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
    with pytest.raises(UnreadableFile, match=r"text.parquet is no Parquet file"):
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
