"""Whatever sensors, clocks and loads do: what is published is a body that can be, at every tick, and finds back."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from estimators.online.test_filters import ARM, CHARTS, LINK, NOISE, own, samples_of
from poinsot.estimators.online.belief import SampleVerdict
from poinsot.estimators.online.correction import plausible
from poinsot.estimators.online.filter import ExtendedKalmanFilter, Gate
from poinsot.estimators.online.tracking import RateLimit
from poinsot.exceptions import InvalidMethod, InvalidModel, InvalidSignals
from poinsot.inertia.parameters import from_pseudo_inertia, is_consistent
from poinsot.models.robot.link_torques import LinkTorques
from references.robots import chain

TORQUES = LinkTorques(ARM, LINK)
TRUTH = own(TORQUES)
RATE = 333.0
RECOVERY, UNGATED_RECOVERY = 600, 2000
"""Samples in which an estimate is to be back: 1.8 s, and 6 s without a gate after a change by a factor of 100."""
each_setting = pytest.mark.parametrize(
    ("chart", "gate"),
    [(chart, gate) for chart in CHARTS for gate in (None, Gate())],
    ids=[f"{type(chart).__name__}-{gate}" for chart in CHARTS for gate in ("open", "gated")],
)


def filter_of(chart, gate, drift=0.3):
    return ExtendedKalmanFilter(TORQUES, NOISE, drift=drift, chart=chart, gate=gate)


def masses_of(filter_, samples, belief=None):
    """Last belief and estimated masses (T,), with every published body looked at."""
    belief = filter_.init() if belief is None else belief
    limit, published = RateLimit(), filter_.inertial(belief.x)
    estimates, published_bodies = [], []
    for sample in samples:
        belief, _ = filter_.step(belief, sample)
        published = limit.next(published, filter_.inertial(belief.x), 1 / RATE)
        estimates.append(filter_.inertial(belief.x)[0, 0])
        published_bodies.append(published[0])
    assert np.isfinite(published_bodies).all() and np.isfinite(belief.root).all()
    assert is_consistent(np.array(published_bodies)).all()
    return belief, np.array(estimates)


def later(samples, by):
    return [replace(each, time=each.time + by) for each in samples]


TROUBLES = {
    "nan effort": lambda s, u: replace(s, tau=s.tau * np.array([np.nan, 1, 1])),
    "no effort": lambda s, u: replace(s, tau=np.full(3, np.nan)),
    "infinite effort": lambda s, u: replace(s, tau=s.tau * np.array([1, np.inf, 1])),
    "nan position": lambda s, u: replace(s, q=np.full(3, np.nan)),
    "infinite velocity": lambda s, u: replace(s, v=np.full(3, -np.inf)),
    "spike of effort": lambda s, u: replace(s, tau=s.tau + 1e6 * u),
    "spike of acceleration": lambda s, u: replace(s, a=s.a + 1e6 * u),
    "spike of velocity": lambda s, u: replace(s, v=1e6 * s.v),
    "overflow": lambda s, u: replace(s, v=1e200 * s.v, a=1e300 * s.a),
    "saturated": lambda s, u: replace(s, tau=np.clip(s.tau, -1, 1)),
    "late": lambda s, u: replace(s, time=s.time - 1),
    "clock ahead": lambda s, u: replace(s, time=s.time + 1e9),
    "clock back": lambda s, u: replace(s, time=s.time - 1e9),
    "clock not finite": lambda s, u: replace(s, time=np.nan),
    "nothing trusted": lambda s, u: replace(s, trusted=np.zeros(3, dtype=bool)),
    "bad wrench": lambda s, u: replace(s, wrenches={LINK[0]: np.full(6, np.nan)}),
}


@pytest.mark.parametrize("gate", [None, Gate(patience=10)], ids=["open", "gated"])
@pytest.mark.parametrize("chart", CHARTS, ids=[type(chart).__name__ for chart in CHARTS])
@settings(max_examples=8)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.tuples(st.sampled_from(sorted(TROUBLES)), st.integers(1, 20)), min_size=1, max_size=5),
)
def test_no_sequence_of_troubles_makes_a_body_that_cannot_be(chart, gate, seed, troubles):
    """Stretches of one trouble after the other, with a good sample between: published bodies are looked at."""
    rng = np.random.default_rng(seed)
    names = [name for name, count in troubles for name in ("", *[name] * count)]
    samples = [
        TROUBLES[name](sample, rng.standard_normal(3)) if name else sample
        for name, sample in zip(names, samples_of(TORQUES, TRUTH, rng, len(names)), strict=True)
    ]
    masses_of(filter_of(chart, gate), samples)


@each_setting
def test_it_finds_back_after_every_trouble(chart, gate):
    """Two seconds in which every third sample is troubled, each in its own way; then good ones."""
    rng = np.random.default_rng(8)
    good = list(samples_of(TORQUES, TRUTH, rng, 500 + RECOVERY))
    samples = good.copy()
    for k in range(100, 500, 3):
        samples[k] = TROUBLES[rng.choice(sorted(TROUBLES))](samples[k], rng.standard_normal(3))
    _, masses = masses_of(filter_of(chart, gate), samples)
    # as a filter that had no trouble; the truth in the mean only, from which that filter too wanders by up to 8 %
    _, untroubled = masses_of(filter_of(chart, gate), good)
    np.testing.assert_allclose(masses[-100:], untroubled[-100:], rtol=0.1)
    assert np.sqrt(np.mean((masses[-100:] / TRUTH[0, 0] - 1) ** 2)) < 0.1


@each_setting
@pytest.mark.parametrize(
    ("effort", "seed"),
    [(50.0, 1), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((1e6, 1), (50.0, 11)))],
)
def test_it_finds_back_after_a_saturated_sensor(chart, gate, effort, seed):
    """Also where a wrong belief lets one sample in thirty pass, so that few are rejected in a row."""
    rng = np.random.default_rng(seed)
    samples = list(samples_of(TORQUES, TRUTH, rng, 500 + RECOVERY))
    for k in range(100, 500):
        samples[k] = replace(samples[k], tau=np.full(3, effort))
    _, masses = masses_of(filter_of(chart, gate), samples)
    np.testing.assert_allclose(masses[-100:], TRUTH[0, 0], rtol=0.1)


@each_setting
def test_a_body_a_hundred_times_heavier_is_followed_and_back(chart, gate):
    rng, count = np.random.default_rng(2), RECOVERY if gate else UNGATED_RECOVERY
    light, heavy, again = (
        later(samples_of(TORQUES, factor * TRUTH, rng, samples), at)
        for factor, samples, at in ((1, 200, 0), (100, count, 2), (1, RECOVERY, 9))
    )
    _, masses = masses_of(filter_of(chart, gate, drift=0.1), light + heavy + again)
    np.testing.assert_allclose(masses[150 + count : 200 + count], 100 * TRUTH[0, 0], rtol=0.1)
    np.testing.assert_allclose(masses[-50:], TRUTH[0, 0], rtol=0.1)


@each_setting
def test_ten_minutes_of_standstill_do_not_wind_up(chart, gate):
    """The covariance stays where `largest_std` says, and the next motion does not throw the estimate far."""
    rng = np.random.default_rng(3)
    filter_ = filter_of(chart, gate, drift=0.5)
    belief, _ = masses_of(filter_, samples_of(TORQUES, TRUTH, rng, 300))
    (still,) = samples_of(TORQUES, TRUTH, rng, 1, noise=0.0, still=True)
    rest = (
        replace(still, time=1 + t, tau=still.tau + NOISE * rng.standard_normal(3))
        for t in np.arange(0, 600, 2.0)
    )
    belief, _ = masses_of(filter_, rest, belief)
    relative = np.linalg.svd(np.linalg.solve(belief.unit, belief.root), compute_uv=False)
    assert 0.9 < relative[0] <= 1 + 1e-9
    _, masses = masses_of(filter_, later(samples_of(TORQUES, TRUTH, rng, 300), 602), belief)
    assert 0.5 < masses.min() / TRUTH[0, 0] and masses.max() / TRUTH[0, 0] < 2
    np.testing.assert_allclose(masses[-100:], TRUTH[0, 0], rtol=0.15)


def test_drift_is_the_random_walk_where_little_is_unknown_and_ends_at_the_largest():
    filter_ = ExtendedKalmanFilter(TORQUES, NOISE, initial_std=0.1, drift=0.2, largest_std=2.0)
    start = filter_.init()._replace(time=0.0)
    grown = [filter_.predict(start, t) for t in (1e-3, 1e6)]
    relative = [np.linalg.svd(np.linalg.solve(b.unit, b.root), compute_uv=False) for b in grown]
    # 1 - e^-x = x to x^2 / 2, with x = 1e-3 * 0.04 / 4 beside 1
    np.testing.assert_allclose(relative[0] ** 2, 0.01 + 1e-3 * 0.04, rtol=1e-4)
    np.testing.assert_allclose(relative[1], 2.0, rtol=1e-9)


@pytest.mark.parametrize("chart", CHARTS, ids=[type(chart).__name__ for chart in CHARTS])
def test_a_link_that_no_joint_moves_keeps_what_it_was(chart):
    """A body on a vertical axis: its mass and height move no effort, whatever it does."""
    robot = chain("z", [0.0])
    torques = LinkTorques(robot, robot.bodies)
    filter_ = ExtendedKalmanFilter(torques, NOISE, drift=0.3, chart=chart)
    rng = np.random.default_rng(0)
    mass = own(torques)[0, 0]
    for belief, _ in filter_.run(samples_of(torques, own(torques), rng, 1000)):
        assert is_consistent(filter_.inertial(belief.x)).all()
    assert 0.3 < filter_.inertial(belief.x)[0, 0] / mass < 3
    gradient = filter_.jacobian(belief.x)[0][0]
    assert np.linalg.norm(gradient @ belief.root) > 0.3 * filter_.inertial(belief.x)[0, 0]


@pytest.mark.parametrize("chart", CHARTS, ids=[type(chart).__name__ for chart in CHARTS])
def test_a_round_body_is_no_trouble(chart):
    """Turns of a ball move nothing: its covariance is finite all the same, and a load of another shape is found."""
    ball = np.array([[0.5, 0, 0, 0, 1e-3, 0, 1e-3, 0, 0, 1e-3]])
    filter_ = filter_of(chart, Gate())
    belief = filter_.init(ball)
    assert np.isfinite(belief.root).all()
    rng = np.random.default_rng(0)
    belief, _ = list(filter_.run(samples_of(TORQUES, TRUTH, rng, RECOVERY), belief))[-1]
    np.testing.assert_allclose(filter_.inertial(belief.x)[0, 0], TRUTH[0, 0], rtol=0.1)


# -- clocks ------------------------------------------------------------------------------------------------------------


def test_late_samples_are_left_out_and_a_clock_that_was_set_is_followed(rng):
    filter_ = filter_of(CHARTS[0], None)
    samples = list(samples_of(TORQUES, TRUTH, rng, 20))
    belief, _ = filter_.step(filter_.init(), replace(samples[0], time=100.0))
    for time in (100.0, 99.9, 100.0 - 0.99 * filter_.safeguards.clock_jump_s):
        same, innovation = filter_.step(belief, replace(samples[1], time=time))
        assert innovation.verdict is SampleVerdict.late and same is belief
    anew, innovation = filter_.step(belief, replace(samples[1], time=99.0 - filter_.safeguards.clock_jump_s))
    assert (
        innovation.verdict is SampleVerdict.accepted and anew.time == 99.0 - filter_.safeguards.clock_jump_s
    )


def test_repeated_samples_count_once(rng):
    filter_ = filter_of(CHARTS[0], Gate())
    samples = list(samples_of(TORQUES, TRUTH, rng, 50))
    once = [belief for belief, _ in filter_.run(samples)][-1]
    run = list(filter_.run([each for each in samples for _ in range(3)]))
    np.testing.assert_array_equal(run[-1][0].x, once.x)
    assert sum(i.verdict is SampleVerdict.late for _, i in run) == 100


# -- what belongs to a sample ----------------------------------------------------------------------------------------


def test_samples_in_any_arrays_of_numbers_are_the_same(rng, unchecked):
    filter_ = filter_of(CHARTS[0], None)
    good = next(samples_of(TORQUES, TRUTH, rng))
    expected, _ = filter_.step(filter_.init(), good)
    for make in (list, lambda x: np.repeat(x, 2)[::2], lambda x: np.array(x, dtype=">f8")):
        arrays = {name: make(getattr(good, name)) for name in ("q", "v", "a", "tau")}
        found, _ = filter_.step(filter_.init(), replace(good, **arrays))
        np.testing.assert_array_equal(found.state, expected.state)
    still = [
        filter_.step(filter_.init(), replace(good, v=v))[0].state for v in (np.zeros(3), np.zeros(3, int))
    ]
    np.testing.assert_array_equal(*still)
    for array in (good.q, good.v, good.a, good.tau):
        array.flags.writeable = False
    np.testing.assert_array_equal(filter_.step(filter_.init(), good)[0].state, expected.state)


@pytest.mark.parametrize("field", ["q", "v", "a", "tau", "trusted"])
def test_a_sample_of_another_robot_is_named(rng, field, unchecked):
    filter_ = filter_of(CHARTS[0], None)
    good = next(samples_of(TORQUES, TRUTH, rng))
    wrong = np.ones(5, dtype=bool) if field == "trusted" else np.zeros(5)
    with pytest.raises(InvalidSignals, match="3 velocities"):
        filter_.step(filter_.init(), replace(good, **{field: wrong}))


def test_read_only_and_strided_samples_are_as_good(rng):
    filter_ = filter_of(CHARTS[0], None)
    good = next(samples_of(TORQUES, TRUTH, rng))
    strided = {name: np.repeat(getattr(good, name), 2)[::2] for name in ("q", "v", "a", "tau")}
    for each in strided.values():
        each.flags.writeable = False
    one, _ = filter_.step(filter_.init(), good)
    other, _ = filter_.step(filter_.init(), replace(good, **strided))
    np.testing.assert_array_equal(one.x, other.x)
    np.testing.assert_array_equal(good.tau, strided["tau"])


def test_a_filter_of_an_unknown_link_names_the_nearest():
    with pytest.raises(InvalidModel, match=f"did you mean '{ARM.bodies[2]}'"):
        LinkTorques(ARM, (ARM.bodies[2] + "x",))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"largest_std": 0.1, "initial_std": 0.3}, "largest_std must be at least initial_std"),
        ({"largest_std": np.inf}, "largest_std"),
        ({"memory_s": 0.0}, "memory_s"),
        ({"noise": np.nan}, "above 0"),
        ({"bias": np.nan}, "finite"),
    ],
)
def test_settings_that_mean_nothing_are_refused(values, words):
    with pytest.raises(InvalidMethod, match=words):
        ExtendedKalmanFilter(TORQUES, **({"noise": 1.0} | values))


def test_a_body_is_plausible_where_all_eigenvalues_are_within_the_bounds(rng):
    """Against eigenvalues, for bodies of any size and for matrices that no body has."""
    seen = set()
    for _ in range(300):
        W = np.triu(rng.standard_normal((1, 4, 4)))
        root = rng.standard_normal((4, 4)) * 10 ** rng.uniform(-2, 2)
        J = root @ np.diag(np.where(rng.random(4) < 0.1, -1, 1)) @ root.T
        sizes = np.linalg.eigvalsh(W[0].T @ J @ W[0])
        least, largest = 10 ** rng.uniform(-6, 0), 10 ** rng.uniform(1, 6)
        # eigenvalues and factors are rounded by a few ulp of the largest entry
        if min(abs(sizes[0] - least), abs(sizes[-1] - largest)) < 1e-13 * abs(sizes).max():
            continue
        expected = bool(least < sizes[0] and sizes[-1] < largest)
        assert plausible(W, from_pseudo_inertia(J)[None], least, largest) is expected
        seen.add(expected)
    assert seen == {True, False}
    assert not plausible(np.eye(4)[None], np.full((1, 10), np.nan), 1e-6, 1e6)
    assert not plausible(np.eye(4)[None], np.full((1, 10), np.inf), 1e-6, 1e6)
