"""The random walk as a smoother of recordings: the differentiation that it wraps, and what it says about its ratio."""

import math

import numpy as np
import pytest

from poinsot.exceptions import InvalidMethod, InvalidSignals
from poinsot.recording import Recording
from poinsot.signals.bandwidth import propose_filters, ratio_for_cutoff
from poinsot.signals.random_walk import GeneralizedRandomWalk
from poinsot.signals.random_walk_smoother import (
    LogNormalPrior,
    RandomWalkSmoother,
    differentiate,
    maximum_likelihood_nvr,
    settling_samples,
)

RATE_HZ = 1000.0
each_order = pytest.mark.parametrize("order", [2, 3])


def recording_of(positions, rate_hz=RATE_HZ, **more):
    """Joints j1, j2, ... with positions (T, n) and torques that count the samples."""
    T = len(positions)
    channels = {f"position.j{k + 1}": p for k, p in enumerate(positions.T)}
    channels |= {f"torque.j{k + 1}": np.arange(T) + 10.0 * k for k in range(positions.shape[1])}
    units = {name: "rad" if name.startswith("position") else "N m" for name in channels}
    return Recording(np.arange(T) / rate_hz, channels, units, **more)


def swing(T=4000, joints=2, rate_hz=RATE_HZ):
    """(T, joints) positions, velocities, accelerations: two sines each, at full speed at both ends."""
    time = np.arange(T)[:, None] / rate_hz
    w = 2 * np.pi * np.array([1.1, 1.7, 0.6, 2.3])[:joints]
    W = 2.3 * w
    q = np.sin(w * time) + 0.2 * np.sin(W * time)
    v = w * np.cos(w * time) + 0.2 * W * np.cos(W * time)
    a = -(w**2) * np.sin(w * time) - 0.2 * W**2 * np.sin(W * time)
    return q, v, a


# ---------------------------------------------------------------------------------------------------- what it computes


@each_order
@pytest.mark.parametrize("ratio", [1e-5, [1e-3, 1e-6]], ids=["one", "one a joint"])
def test_equal_to_differentiate(order, ratio, rng):
    q = swing()[0] + 1e-3 * rng.normal(size=(4000, 2))
    signals = RandomWalkSmoother(order, ratio, cut_edges=False).apply(recording_of(q))
    expected = differentiate(q, RATE_HZ, order=order, nvr=np.asarray(ratio))
    for name in ("q", "v", "a"):
        # the rate is read off a clock, to rounding, and to the second power
        np.testing.assert_allclose(getattr(signals, name), getattr(expected, name), rtol=1e-10, atol=1e-12)
    for k, name in enumerate(("q_std", "v_std", "a_std")):
        np.testing.assert_allclose(getattr(signals, name), expected.std[..., k], rtol=1e-10)
    np.testing.assert_array_equal(signals.tau[:, 1], np.arange(4000) + 10.0)
    assert signals.joints == ("j1", "j2")
    assert signals.decimation is None


def test_a_list_of_one_ratio_each_is_the_ratio_of_all(rng):
    q = swing()[0] + 1e-3 * rng.normal(size=(4000, 2))
    one = RandomWalkSmoother(2, 1e-4).apply(recording_of(q))
    both = RandomWalkSmoother(2, (1e-4, 1e-4)).apply(recording_of(q))
    np.testing.assert_array_equal(one.a, both.a)
    assert one.steps == both.steps


@each_order
def test_window_and_decimation_are_those_of_any_smoother(order, rng):
    q = swing()[0] + 1e-3 * rng.normal(size=(4000, 2))
    method = RandomWalkSmoother(order, 1e-4, decimate_hz=20.0, decimation_order=4, window_s=(1.0, 3.0))
    signals = method.apply(recording_of(q, metadata={"steps": ["read"]}))
    assert signals.time[0] == 1.0
    assert len(signals) == 2000
    assert (signals.decimation.factor, signals.decimation.order) == (20, 4)
    assert [step.split()[0] for step in signals.steps] == ["read", "integrated", "cut", "kept", "decimated"]
    assert f"order {order}" in signals.steps[1]
    assert "ratio 0.0001" in signals.steps[1]
    assert ("twice" in signals.steps[1]) == (order == 2)


# --------------------------------------------------------------------------------------------------- how well it knows


@pytest.mark.parametrize("noise", [1e-4, 1e-2])
def test_order_2_claims_the_scatter_that_noise_leaves(noise, rng):
    """Between repetitions of one motion, away from the ends; smoothing the motion itself is no part of it."""
    q = swing(T=2000, joints=1)[0]
    method = RandomWalkSmoother(2, 1e-2)  # smooths 2e-6 of the motion away, which would pass for noise
    repetitions = 100
    noisy = q + noise * rng.normal(size=(2000, repetitions))
    signals = method.apply(recording_of(noisy))
    smooth = method.apply(recording_of(q))
    T = len(signals)
    for name in ("q", "v", "a"):
        errors = (getattr(signals, name) - getattr(smooth, name))[T // 4 : -T // 4]
        claimed = getattr(signals, f"{name}_std")[T // 4 : -T // 4]
        # 750 samples correlated over some 6 / omega = 19 of them (omega = ratio^(1/4)): 40 independent ones a column
        z2 = np.mean((errors / claimed) ** 2)
        assert abs(z2 - 1) < 4 * math.sqrt(2 / (40 * repetitions))


def test_order_3_claims_its_error_where_the_motion_is_its_walk(rng):
    ratio, T, joints, noise = 1e-6, 3000, 40, 1e-3
    jerk = noise * math.sqrt(ratio) * rng.normal(size=(T, joints))
    acceleration = np.cumsum(jerk, axis=0)
    q = np.cumsum(np.cumsum(acceleration, axis=0), axis=0)
    signals = RandomWalkSmoother(3, ratio, cut_edges=False).apply(
        recording_of(q + noise * rng.normal(size=q.shape))
    )
    for k in (T // 3, T // 2, T - 1):  # at the end, too
        z2 = np.mean(((signals.q - q)[k] / signals.q_std[k]) ** 2)
        assert abs(z2 - 1) < 4 * math.sqrt(2 / joints)


@each_order
def test_standard_deviations_have_the_unit_of_their_signal(order, rng):
    q = swing()[0] + 1e-3 * rng.normal(size=(4000, 2))
    one = RandomWalkSmoother(order, 1e-4).apply(recording_of(q))
    slow = RandomWalkSmoother(order, 1e-4).apply(recording_of(q, rate_hz=RATE_HZ / 2))
    large = RandomWalkSmoother(order, 1e-4).apply(recording_of(100 * q))
    for power, name in enumerate(("q_std", "v_std", "a_std")):
        np.testing.assert_allclose(getattr(slow, name), getattr(one, name) / 2**power, rtol=1e-9)
        np.testing.assert_allclose(getattr(large, name), 100 * getattr(one, name), rtol=1e-9)


# ------------------------------------------------------------------------------------------------------------ the ends


@each_order
@pytest.mark.parametrize("cutoff_hz", [10.0, 40.0])
def test_what_the_ends_reach_is_cut(order, cutoff_hz):
    """A motion cut out of a longer one, smoothed, against the longer one smoothed."""
    q = swing(T=8000)[0]
    method = RandomWalkSmoother(order, cutoff_hz=cutoff_hz)
    whole = method.apply(recording_of(q))
    part = method.apply(recording_of(q[3000:5500]))
    edge = settling_samples(ratio_for_cutoff(cutoff_hz, RATE_HZ, order), order)
    assert len(part) == 2500 - 2 * edge
    uncut = RandomWalkSmoother(order, cutoff_hz=cutoff_hz, cut_edges=False).apply(recording_of(q[3000:5500]))
    first = 3000 - round(whole.time[0] * RATE_HZ)
    for name in ("q", "v", "a"):
        there = getattr(whole, name)[first : first + 2500]
        wrong = np.abs(getattr(uncut, name) - there).max(axis=1)
        # 1 % of a transient whose waves may be twice as high as its beginning
        assert wrong[edge:-edge].max() < 0.02 * max(wrong[0], wrong[-1])
        assert name == "q" or wrong[edge // 5] > 0.02 * wrong[0]  # and not much more is cut than that


def test_settling_is_the_slowest_mode_of_the_normal_equations():
    """(1 + D^T D / ratio) x = 0 has solutions z^k: found here from the dense matrix, as the decay of its inverse."""
    for order, ratio in ((2, 1e-3), (3, 1e-3), (3, 1e-6)):
        T = 400
        D = np.diff(np.eye(T), order, axis=0)
        response = np.linalg.inv(np.eye(T) + D.T @ D / ratio)[0]  # to an impulse at the end
        envelope = np.maximum.accumulate(np.abs(response[::-1]))[::-1]
        settled = int(np.argmax(envelope < 0.01 * envelope[0]))
        # modes of complex pairs beat: the envelope is within the wave of one period
        found = settling_samples(ratio, order) * (4.61 / 6.64 if order == 2 else 1)  # of one pass
        assert 0.5 * settled <= found <= 2 * settled


def test_too_short_for_its_ends():
    q = swing(T=300)[0]
    with pytest.raises(InvalidSignals, match="too few for a random walk with a cutoff of 1 Hz"):
        RandomWalkSmoother(2, cutoff_hz=1.0).apply(recording_of(q))
    assert len(RandomWalkSmoother(2, cutoff_hz=1.0, cut_edges=False).apply(recording_of(q))) == 300


# ----------------------------------------------------------------------------------------------------------- the ratio


@each_order
def test_a_cutoff_is_a_ratio_at_the_rate_of_the_recording(order, rng):
    q = swing()[0]
    by_cutoff = RandomWalkSmoother(order, cutoff_hz=[30.0, 60.0]).apply(recording_of(q))
    ratios = [ratio_for_cutoff(cutoff, RATE_HZ, order) for cutoff in (30.0, 60.0)]
    by_ratio = RandomWalkSmoother(order, ratios).apply(recording_of(q))
    np.testing.assert_allclose(by_cutoff.a, by_ratio.a, rtol=1e-6, atol=1e-6)
    assert "for cutoff_hz = 30 to 60" in by_cutoff.steps[0]
    assert "as by a Butterworth filter at 30 to 60 Hz" in by_ratio.steps[0]


def test_the_paper_s_ratio_away_from_the_paper_s_rate_is_warned_of():
    """1e-5 at 5 kHz is a cutoff of 33 Hz, at 100 Hz one of 0.7 Hz."""
    at_5_khz = RandomWalkSmoother().apply(recording_of(swing(T=20_000, rate_hz=5000.0)[0], rate_hz=5000.0))
    assert at_5_khz.warnings == ()
    assert "33 Hz" in at_5_khz.steps[0]
    at_100_hz = RandomWalkSmoother().apply(recording_of(swing(T=2000, rate_hz=100.0)[0], rate_hz=100.0))
    (warning,) = at_100_hz.warnings
    assert "cutoff of 0.66 Hz is below twice the bandwidth" in warning
    assert "j1 needs" in warning
    assert "j2 needs" in warning


@each_order
def test_maximum_likelihood_is_that_of_the_walk(order, rng):
    q = np.round(swing()[0] / 1e-3) * 1e-3
    method = RandomWalkSmoother(order, "maximum-likelihood", prior=LogNormalPrior(1e-5, 1.0))
    found = maximum_likelihood_nvr(
        q, GeneralizedRandomWalk.integrated(order), prior=method.prior, search=(3e-4, 0.5)
    )
    np.testing.assert_array_equal(method.maximum_likelihood(q).nvr, found.nvr)
    signals = method.apply(recording_of(q))
    direct = RandomWalkSmoother(order, found.nvr.tolist()).apply(recording_of(q))
    np.testing.assert_array_equal(signals.a, direct.a)
    assert "by maximum likelihood" in signals.steps[0]


def test_a_believable_maximum_likelihood_has_no_warning(rng):
    """Positions that are the walk of order 2, of 20 kHz over what matters, seen through white noise."""
    x = np.cumsum(np.cumsum(1e-9 * rng.normal(size=(20_000, 2)), axis=0), axis=0)
    y = x + 1e-5 * rng.normal(size=x.shape)
    signals = RandomWalkSmoother(2, "maximum-likelihood", cut_edges=False).apply(recording_of(y))
    assert not [warning for warning in signals.warnings if "maximum likelihood" in warning]


def test_maximum_likelihood_that_follows_steps_is_warned_of():
    """Coarse steps look like motion to the likelihood: a joint that is read in steps of 0.1, and one that is not."""
    q = swing(T=8000)[0]
    q[:, 0] = 0.1 * np.round(q[:, 0] / 0.1)
    warnings = RandomWalkSmoother(2, "maximum-likelihood").apply(recording_of(q)).warnings
    assert any(
        warning.startswith("noise variance ratio of j1 by maximum likelihood (") for warning in warnings
    )


def test_tx40_is_warned_of_as_the_paper_warns(shared_data):
    from poinsot_reproductions import tx40

    recording = tx40.recording(shared_data("staubli_tx40"))
    signals = RandomWalkSmoother(2, "maximum-likelihood").apply(recording)
    about = [warning for warning in signals.warnings if "maximum likelihood" in warning]
    assert [warning.split()[4] for warning in about] == list(signals.joints)
    assert all("follows noise" in warning or "noise is treated as motion" in warning for warning in about)
    assert RandomWalkSmoother(2).apply(recording).warnings == ()
    proposed = propose_filters(recording)
    for order in (2, 3):
        assert (
            RandomWalkSmoother(order, cutoff_hz=proposed.cutoff_hz_per_joint.tolist())
            .apply(recording)
            .warnings
            == ()
        )


def test_tx40_with_the_proposed_ratio(shared_data):
    """As good as with the ratio that the paper chose by hand, in Table 2's measure and all parameters of Table 1."""
    from poinsot.estimators.linear.least_squares import LeastSquares
    from poinsot.regression.inverse_dynamics import inverse_dynamics
    from poinsot_reproductions import tx40
    from poinsot_reproductions.tx40_tables import TABLE_1

    folder = shared_data("staubli_tx40")
    recording = tx40.recording(folder)
    proposed = propose_filters(recording)
    for order, column in ((2, 1), (3, 2)):
        signals = RandomWalkSmoother(
            order,
            cutoff_hz=proposed.cutoff_hz,
            decimate_hz=proposed.decimate_hz,
            decimation_order=tx40.DECIMATION_ORDER,
            cut_edges=False,
            window_s=tx40.WINDOW_S,
        ).apply(recording)
        estimate = LeastSquares().solve(inverse_dynamics(tx40.robot(folder), signals))
        assert estimate.fit.relative_error_percent == pytest.approx(5.1, abs=0.1)
        values = {
            name.removesuffix("r"): value for name, value in zip(estimate.names, estimate.values, strict=True)
        }
        assert max(abs(values[name] - cells[column][0]) for name, cells in TABLE_1.items()) < 0.1


# ------------------------------------------------------------------------------------------------------------ the door


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"order": 1}, "order must be 2"),
        ({"ratio": "maximum"}, "'maximum-likelihood', not 'maximum'"),
        ({"highest_cutoff": 1.5}, "highest_cutoff must lie between"),
        ({"highest_cutoff": 1e-4}, "highest_cutoff must lie between"),
        ({"ratio": 1e-4, "cutoff_hz": 5.0}, "not both"),
        ({"ratio": "maximum-likelihood", "cutoff_hz": 5.0}, "not both"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(InvalidMethod, match=message):
        RandomWalkSmoother(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ratio": [1e-5, 1e-5, 1e-5]}, "3 values of ratio for 2 joints; give one for all or one for each"),
        ({"ratio": [1e-5]}, "1 values of ratio for 2 joints"),
        ({"ratio": 0.0}, "ratio must be positive and finite, not 0"),
        ({"ratio": [1e-5, -1e-5]}, "must be positive"),
        ({"ratio": float("nan")}, "must be positive"),
        ({"cutoff_hz": [5.0, 6.0, 7.0]}, "3 values of cutoff_hz for 2 joints"),
        ({"cutoff_hz": -5.0}, "cutoff_hz must be positive"),
        ({"cutoff_hz": 500.0}, "between 0 and the Nyquist frequency 500 Hz"),
    ],
)
def test_ratios_that_do_not_fit_the_recording(settings, message):
    with pytest.raises(InvalidMethod, match=message):
        RandomWalkSmoother(**settings).apply(recording_of(swing()[0]))


def test_recordings_that_cannot_be_smoothed():
    q = swing()[0]
    with pytest.raises(InvalidSignals, match="at least 3 valid samples"):
        RandomWalkSmoother(2, 1.0, cut_edges=False).apply(recording_of(q[:2]))
    mask = {"position.j1": np.arange(4000) != 7}
    with pytest.raises(InvalidSignals, match=r"'position\.j1' has invalid samples"):
        RandomWalkSmoother().apply(recording_of(q, valid=mask))
