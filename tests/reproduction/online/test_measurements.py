"""A state estimate is the delayed truth with the specified noise; all signals of a sample have the same age."""

from pathlib import Path

import numpy as np
import pytest

from poinsot.estimators.online.belief import Tick
from poinsot.exceptions import InvalidMethod
from poinsot.models.robot.articulated import load_robot
from poinsot_reproductions.online.simulation.measurements import (
    Differentiator,
    StateEstimator,
    StateSensors,
    Wander,
)
from poinsot_reproductions.online.simulation.plant import Plant
from references.robots import described

ARM = Path(__file__).parents[3] / "examples" / "arm" / "arm.urdf"
PERFECT = dict.fromkeys(vars(StateSensors()), 0)


@pytest.fixture(scope="module")
def plant():
    return Plant(load_robot(ARM))


def test_it_is_as_late_as_specified(plant, rng):
    estimator = StateEstimator(plant, StateSensors(**PERFECT | {"delay_ticks": 2}), rng)
    n = plant.robot.model.nv
    ones = np.ones(n)
    read = [estimator.read(k * 1e-3, k * ones, -k * ones, 2 * k * ones, {}) for k in range(6)]
    assert [tick.time for tick in read[2:]] == [0.0, 0.001, 0.002, 0.003]
    np.testing.assert_array_equal(read[-1].q, np.full(n, 3))
    np.testing.assert_array_equal(read[-1].tau, np.full(n, 6))


def test_noise_is_as_large_as_specified():
    robot = described("talos_data/robots/talos_reduced.urdf", floating_base=True)
    plant = Plant(robot)
    sensors = StateSensors(
        position=0.01, position_step=0.0, velocity=0.1, base_position=0.02, base_orientation=0.03,
        base_velocity=0.2, base_rate=0.3, effort=0.5, force=2.0, moment=0.7, delay_ticks=0,
    )  # fmt: skip
    estimator = StateEstimator(plant, sensors, np.random.default_rng(1))
    q, zero = plant.q, np.zeros(38)
    ticks = [estimator.read(0.0, q, zero, zero, {"foot": np.zeros(6)}) for _ in range(2000)]
    close = {"rel": 5 / np.sqrt(2 * 2000)}  # five standard deviations of a standard deviation
    assert np.std([t.q[7] for t in ticks]) == pytest.approx(0.01, **close)
    assert np.std([t.q[0] for t in ticks]) == pytest.approx(0.02, **close)
    assert np.std([2 * t.q[3] for t in ticks]) == pytest.approx(0.03, **close)
    for at, std in ((0, 0.2), (3, 0.3), (6, 0.1)):
        assert np.std([t.v[at] for t in ticks]) == pytest.approx(std, **close)
    assert np.std([t.tau[6] for t in ticks]) == pytest.approx(0.5, **close)
    assert not any(t.tau[:6].any() for t in ticks)
    for at, std in ((0, 2.0), (5, 0.7)):
        assert np.std([t.wrenches["foot"][at] for t in ticks]) == pytest.approx(std, **close)


def test_encoders_round_and_foot_sensors_lag(plant, rng):
    sensors = StateSensors(**PERFECT | {"position_step": 0.01, "force_lag": 0.005})
    estimator = StateEstimator(plant, sensors, rng)
    n = plant.robot.model.nv
    q = rng.uniform(-1, 1, n)
    estimator.read(0.0, q, np.zeros(n), np.zeros(n), {"foot": np.zeros(6)})
    for k in range(1, 6):
        tick = estimator.read(k * 1e-3, q, np.zeros(n), np.zeros(n), {"foot": np.ones(6)})
    np.testing.assert_allclose(tick.q, 0.01 * np.round(q / 0.01))
    np.testing.assert_allclose(tick.wrenches["foot"], 1 - np.exp(-1))  # one time constant after a step


@pytest.mark.parametrize("ticks", [1, 2, 3, 4])
def test_all_signals_of_a_sample_are_of_its_time(plant, ticks):
    """Constant acceleration: the difference is exact, and q, v are those of the window's middle."""
    model, h = plant.robot.model, 1e-3
    n = model.nv
    a0, v0 = np.linspace(1, 2, n), np.linspace(-1, 1, n)
    window = Differentiator(model, ticks)
    for k in range(ticks + 1):
        assert window.sample() is None
        t = k * h
        window.add(
            Tick(t, v0 * t + a0 * t**2 / 2, v0 + a0 * t, a0 * (t + h / 2), {"foot": np.full(6, t + h / 2)})
        )
    sample, middle = window.sample(), ticks * h / 2
    assert sample.time == pytest.approx(middle)
    np.testing.assert_allclose(sample.a, a0)
    np.testing.assert_allclose(sample.v, v0 + a0 * middle)
    # between two ticks q is their mean: off by a h^2 / 8
    np.testing.assert_allclose(sample.q, v0 * middle + a0 * middle**2 / 2, atol=2 * h**2 / 8 + 1e-15)
    np.testing.assert_allclose(sample.tau, a0 * middle)  # a step's effort counts at the step's middle
    np.testing.assert_allclose(sample.wrenches["foot"], middle)


def test_efforts_and_accelerations_lag_like_the_feets_sensors(plant, rng):
    """A unit mass with a = tau + f, all three jumping about: the samples obey that only if all have the same lag."""
    model, h, lag = plant.robot.model, 1e-3, 0.004
    n = model.nv
    matched, plain = Differentiator(model, 3, lag), Differentiator(model, 3)
    v, felt, part = np.zeros(n), np.zeros(6), 1 - np.exp(-h / lag)
    wrong = []
    for k in range(40):
        tau, f = rng.standard_normal(n), 100 * rng.standard_normal()
        felt = felt + part * (np.full(6, f) - felt)
        for window in (matched, plain):
            window.add(Tick(k * h, np.zeros(n), v, tau, {"foot": felt}))
        v = v + h * (tau + f)
        if k > 30:  # what the low passes began with is e^-8 of itself
            left = [s.a - s.tau - s.wrenches["foot"][0] for s in (matched.sample(), plain.sample())]
            wrong.append(np.abs(left).max(axis=1))
    assert np.max([w[0] for w in wrong]) < 100 * np.exp(-30 * h / lag)
    assert np.max([w[1] for w in wrong]) > 10


def test_a_wander_is_stationary_slow_and_as_large_as_specified():
    wander = Wander(0.02, 20_000, 1e-3, 0.5, np.random.default_rng(0))
    x = np.array([wander().copy() for _ in range(50)])
    five = 5 / np.sqrt(2 * 20_000)  # standard deviations of a standard deviation
    assert x[0].std() == pytest.approx(0.02, rel=five)
    assert x[-1].std() == pytest.approx(0.02, rel=five)
    # two low passes in a row: the rate's standard deviation is the error's over the time constant
    assert ((x[1] - x[0]) / 1e-3).std() == pytest.approx(0.02 / 0.5, rel=five + 2e-3)
    assert np.corrcoef(x[0], x[-1])[0, 1] == pytest.approx((1 + 0.1) * np.exp(-0.1), abs=0.01)


def test_what_means_nothing_is_refused(plant):
    with pytest.raises(InvalidMethod, match="at least 0"):
        StateSensors(velocity=-1.0)
    with pytest.raises(InvalidMethod, match="at least 1 tick"):
        Differentiator(plant.robot.model, 0)
