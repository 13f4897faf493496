"""Pendulums that are known exactly, estimated."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from estimators.joint import swings
from estimators.joint.test_bordered import dense
from poinsot.estimate import Status
from poinsot.estimators.joint import JointSmoothing, JointSmoothingProblem, Record, at_held_out
from poinsot.estimators.joint.smoothing import RecordEquations, compiled_linearizer
from poinsot.exceptions import InvalidMethod, InvalidSignals
from poinsot.models.maximal import Encoder, Hinge, LoadDependent, Mechanism, PlaneContact, RigidBody
from poinsot.parameters import Normal

TIMES = np.arange(300) * 0.01
METHOD = JointSmoothing(weight=1e8, noise=swings.NOISE, tolerance=1e-12)
PIVOT = ("bob.Jxx", "pivot.drag")


def swing(rng, name="swing", y=1.5, rate=0.0, times=TIMES, u=None, theta=None, **kind):
    """A record of a free or driven swing."""
    motion = swings.exact(swings.theta() if theta is None else theta, times, y, rate, u)
    return swings.read(name, times, motion, rng, u, **kind)


def commands(times, rng):
    """Held for a quarter of a second each, of up to 2 units: 1 N m."""
    return 2 * rng.uniform(-1, 1, len(times))[(times / 0.25).astype(int)]


def weighted(method, fit, records, model=None):
    """Errors and slopes where a fit ended."""
    linearizer = compiled_linearizer(model or swings.model(), method.form)
    root, form = np.sqrt(method.weight), linearizer.form
    roots = np.concatenate([np.full(form.rows, root), 1 / np.array(method.noise)])
    found = []
    for record, path in zip(records, fit.paths, strict=True):
        x = np.concatenate([path.coordinates, path.rates], axis=1)
        each = linearizer.all_of([record], [x], fit.theta)[0].weighted(np.tile(roots, (len(x), 1)), root)
        found.append(each.opened(fit.open))
    return found


def at(fit, records, names=PIVOT, **given):
    """The problem that begins where a fit ended."""
    return JointSmoothingProblem(swings.model(), records, fit.theta, names, guess=fit.paths, **given)


def stationarity(method, problem):
    """Where a problem begins."""
    return RecordEquations(method, problem).start().stationarity()


def test_a_swing_tells_what_swings(rng):
    """All that a driven pendulum shows, in many chunks: its gain is known, or all could shrink."""
    times = np.arange(600) * 0.01
    u = commands(times, rng)
    known = ("bob.mass", "pivot.gain", "pivot.shaft_inertia", *swings.DRY)
    names = [name for name in swings.FREE if name not in known]
    truth = swings.theta(zero=0.05, sine=0.02, cosine=-0.01)
    record = swing(rng, times=times, u=u, theta=swings.theta())
    angle = record.z[:, 0]
    clean = swings.exact(swings.theta(), times, 1.5, 0.0, u)[0]
    angle += 0.05 + 0.02 * np.sin(clean) - 0.01 * np.cos(clean)
    fit = METHOD.solve(JointSmoothingProblem(swings.model(), [record], open=names))
    assert fit.converged
    assert fit.status is Status.solved
    assert len(fit.history) == fit.iterations + 1
    costs = [each.cost for each in fit.history]
    assert all(after < before for before, after in pairwise(costs))
    assert costs[-1] == pytest.approx(fit.cost, rel=1e-12)
    error = fit.theta - truth
    assert (np.abs(error[fit.open]) < 4 * fit.std[fit.open]).all()
    assert not fit.unobservable
    assert set(fit.values) == set(swings.FREE)

    path = fit.paths[0]
    assert path.states is None
    assert np.abs(path.coordinates[:, 0] - clean).max() < 2e-3
    assert np.nanmean(path.observation_errors**2) == pytest.approx(1e-6, rel=0.2)
    assert np.isnan(path.observation_errors[:, 1]).all()
    assert path.cost == pytest.approx(
        np.nansum((path.observation_errors / swings.NOISE) ** 2) + 1e8 * np.sum(path.step_errors**2), rel=1e-9
    )


def test_it_ends_where_a_dense_method_would(rng):
    """Gauss and Newton's dense step from there is nothing, and the information is the dense Schur complement."""
    records = [swing(rng, "one", times=TIMES[:60]), swing(rng, "two", 0.5, 2.0, TIMES[:45] * 1.5)]
    fit = METHOD.solve(JointSmoothingProblem(swings.model(), records, open=PIVOT))
    parts = [dense(each) for each in weighted(METHOD, fit, records)]
    (one, e_1), (two, e_2) = parts
    n_1, n_2 = one.shape[1] - 2, two.shape[1] - 2
    J = np.block([
        [one[:, :n_1], np.zeros((len(one), n_2)), one[:, n_1:]],
        [np.zeros((len(two), n_1)), two[:, :n_2], two[:, n_2:]],
    ])  # fmt: skip
    e = np.concatenate([e_1, e_2])
    assert fit.cost == pytest.approx(e @ e / 105, rel=1e-9)
    step = np.linalg.lstsq(J, -e)[0]
    assert (np.abs(step[-2:]) < 1e-3 * fit.std[fit.open]).all()
    assert np.abs(step[:-2]).max() < 1e-5
    corner = np.linalg.qr(J, mode="r")[-2:, -2:]
    np.testing.assert_allclose(fit.sensitivity.information, corner.T @ corner, rtol=1e-5)


def test_records_share_theta(rng):
    """The same record twice is half the covariance, and nothing else."""
    record = swing(rng)
    once, twice = (
        METHOD.solve(JointSmoothingProblem(swings.model(), n * [record], open=PIVOT)) for n in (1, 2)
    )
    np.testing.assert_allclose(twice.theta, once.theta, rtol=1e-6)
    np.testing.assert_allclose(twice.sensitivity.information, 2 * once.sensitivity.information, rtol=1e-5)
    # states take their degrees of freedom from each record, the two parameters take theirs from both together
    one, two = once.sensitivity.freedom, twice.sensitivity.freedom
    assert np.sum(two - 2 * one) == pytest.approx(2, rel=1e-6)
    variances = 2 * twice.std[twice.open] ** 2 / once.std[once.open] ** 2
    ratios = (2 * one / two)[np.isfinite(two) & (two > 1e-3)]
    assert (ratios.min() - 1e-6 < variances).all() and (variances < ratios.max() + 1e-6).all()
    np.testing.assert_allclose(twice.paths[1].coordinates, once.paths[0].coordinates, atol=1e-7)


def test_ten_times_off_is_near_enough(rng):
    record = swing(rng)
    near = METHOD.solve(JointSmoothingProblem(swings.model(), [record], open=PIVOT))
    for factor in (10.0, 0.1):
        start = swings.theta(Jxx=factor * 4e-3, drag=factor * 0.02)
        far = METHOD.solve(JointSmoothingProblem(swings.model(), [record], start, PIVOT))
        assert far.converged
        assert np.abs(far.history[0].theta - start).max() == 0
        np.testing.assert_allclose(far.theta, near.theta, rtol=1e-5)


def test_a_bound_holds_with_the_right_sign(rng):
    """A torque that drives along the rate: viscous friction would be below 0, and is 0, or where a bound allows."""
    truth = swings.theta(drag=-0.004)
    record = swing(rng, theta=truth, y=0.8)
    fit = METHOD.solve(JointSmoothingProblem(swings.model(), [record], open=PIVOT))
    assert fit.converged
    assert fit.values["pivot.drag"] == 0.0
    (of,) = weighted(METHOD, fit, [record])
    slope = np.einsum("kmp,km->p", of.by_theta, of.e)
    size = np.sqrt(fit.sensitivity.information.diagonal())
    assert abs(slope[0]) < 1e-2 * size[0]
    assert slope[1] > 10 * size[1], "less drag would lower the cost"

    inside = METHOD.solve(
        JointSmoothingProblem(swings.model(), [record], open=PIVOT, lower={"pivot.drag": -1.0})
    )
    assert inside.values["pivot.drag"] == pytest.approx(-0.004, abs=4 * inside.std[3])
    assert inside.cost < fit.cost
    upper = METHOD.solve(JointSmoothingProblem(
        swings.model(), [record], swings.theta(drag=-0.01), PIVOT,
        lower={"pivot.drag": -1.0}, upper={"pivot.drag": -0.006},
    ))  # fmt: skip
    assert upper.values["pivot.drag"] == -0.006


def test_what_is_not_open_stays(rng):
    record = swing(rng)
    start = swings.theta(Jxx=5e-3, drag=0.03)
    fit = METHOD.solve(JointSmoothingProblem(swings.model(), [record], start, ["pivot.drag"]))
    others = [k for k, name in enumerate(swings.FREE) if name != "pivot.drag"]
    np.testing.assert_array_equal(fit.theta[others], start[others])
    assert not fit.covariance[others].any()
    assert not fit.robust_covariance[others].any()
    assert fit.std[3] > 0

    held = METHOD.solve(JointSmoothingProblem(swings.model(), [record], start, ()))
    np.testing.assert_array_equal(held.theta, start)
    assert held.converged
    assert held.cost > fit.cost
    assert not held.unobservable
    assert not held.covariance.any()
    again = at_held_out(METHOD, swings.model(), [record], fit.theta)
    assert again.cost == pytest.approx(fit.cost, rel=1e-9)


def test_sums_that_no_record_tells_apart_are_named(rng):
    """A shaft turns as the body does; and a sine of the eccentricity is nothing like them."""
    names = ["pivot.shaft_inertia", "pivot.drag", "bob.Jxx"]
    fit = METHOD.solve(JointSmoothingProblem(swings.model(), [swing(rng)], open=names))
    assert fit.converged
    assert len(fit.unobservable) == 1
    (direction,) = fit.unobservable
    assert set(direction) == {"pivot.shaft_inertia", "bob.Jxx"}
    assert direction["bob.Jxx"] == pytest.approx(-direction["pivot.shaft_inertia"], rel=1e-4)
    for std in (fit.std, fit.robust_std):
        assert np.isnan(std[[2, 6]]).all()
        assert np.isfinite(std[3])
    one = METHOD.solve(
        JointSmoothingProblem(swings.model(), [swing(np.random.default_rng(20240229))], open=PIVOT)
    )
    assert fit.std[3] == pytest.approx(one.std[3], rel=1e-2)
    assert fit.values["bob.Jxx"] + fit.values["pivot.shaft_inertia"] == pytest.approx(
        one.values["bob.Jxx"] + 1e-3, rel=1e-4
    )


def test_a_parameter_that_moves_nothing_is_named(rng):
    """The gain of a motor that never ran."""
    fit = METHOD.solve(JointSmoothingProblem(swings.model(), [swing(rng)], open=[*PIVOT, "pivot.gain"]))
    assert fit.unobservable == [{"pivot.gain": pytest.approx(1.0)}]
    assert fit.values["pivot.gain"] == 0.5
    assert np.isnan(fit.std[5])
    assert np.isfinite(fit.std[[2, 3]]).all()


def test_whole_turns_make_no_difference(rng):
    """Of readings each for itself, of a pendulum that goes round."""
    record = swing(rng, y=0.0, rate=16.0)
    assert record.z[:, 0].max() > 4 * np.pi, "it goes round"
    wrapped = (record.z[:, 0] + np.pi) % (2 * np.pi) - np.pi
    anyhow = record.z[:, 0] + 2 * np.pi * rng.integers(-3, 3, len(TIMES))
    once = METHOD.solve(JointSmoothingProblem(swings.model(), [record], open=PIVOT))
    for angle in (wrapped, anyhow):
        z = np.column_stack([angle, record.z[:, 1]])
        other = METHOD.solve(
            JointSmoothingProblem(swings.model(), [Record("turned", TIMES, record.u, z)], open=PIVOT)
        )
        np.testing.assert_allclose(other.theta, once.theta, rtol=1e-7)
        turns = (other.paths[0].coordinates - once.paths[0].coordinates) / (2 * np.pi)
        assert np.abs(turns - np.round(turns[0])).max() < 1e-7
        assert np.ptp(np.round(turns)) == 0


def test_an_encoder_off_its_centre_is_told(rng):
    """Zero and eccentricity of a pendulum that goes round and then swings, ten standard deviations and more of them."""
    names = [*PIVOT, "pivot encoder.zero", "pivot encoder.sine", "pivot encoder.cosine"]
    motion = swings.exact(swings.theta(drag=0.05), TIMES, 0.0, 16.0)
    record = swings.read("disc", TIMES, motion, rng)
    record.z[:, 0] += 0.1 + 0.03 * np.sin(motion[0]) - 0.02 * np.cos(motion[0])
    fit = METHOD.solve(JointSmoothingProblem(swings.model(), [record], open=names))
    error = (fit.theta - swings.theta(drag=0.05, zero=0.1, sine=0.03, cosine=-0.02))[fit.open]
    assert (np.abs(error) < 4 * fit.std[fit.open]).all()
    assert (fit.std[7:] < 2e-3).all()
    blind = METHOD.solve(JointSmoothingProblem(swings.model(), [record], open=[*PIVOT, "pivot encoder.zero"]))
    assert blind.cost > 10 * fit.cost


def test_long_gaps_and_uneven_steps(rng):
    """The equation of motion bridges a third of a swing that nobody read, and steps of 5 to 20 ms."""
    times = np.cumsum(rng.uniform(5e-3, 20e-3, 240))
    record = swing(rng, times=times, rates=True)
    record.z[100:130] = np.nan
    fit = METHOD.solve(JointSmoothingProblem(swings.model(), [record], open=PIVOT))
    assert fit.converged
    truth = swings.exact(swings.theta(), times, 1.5, 0.0)
    assert np.abs(fit.paths[0].coordinates[:, 0] - truth[0]).max() < 5e-3
    assert np.abs(fit.paths[0].rates[:, 0] - truth[1]).max() < 5e-2
    error = (fit.theta - swings.theta())[fit.open]
    assert (np.abs(error) < 4 * fit.std[fit.open]).all()


def test_what_is_known_beforehand_counts_as_readings_do(rng):
    """A sharp prior holds, a wide one is nothing, and between them the information is the sum."""
    record = swing(rng)
    free = METHOD.solve(JointSmoothingProblem(swings.model(), [record], open=PIVOT))
    for std, expected in ((1e-9, 0.03), (10.0, free.values["pivot.drag"])):
        fit = METHOD.solve(
            JointSmoothingProblem(
                swings.model(), [record], open=PIVOT, priors={"pivot.drag": Normal(0.03, std)}
            )
        )
        assert fit.values["pivot.drag"] == pytest.approx(expected, rel=1e-5)
    S = free.sensitivity.information
    std = 1 / np.sqrt(S[1, 1])
    mean = free.values["pivot.drag"] + 0.1 * std  # so near that all is linear
    both = METHOD.solve(
        JointSmoothingProblem(swings.model(), [record], open=PIVOT, priors={"pivot.drag": Normal(mean, std)})
    )
    prior = np.diag([0, 1 / std**2])
    step = np.linalg.solve(S + prior, prior @ [0, mean - free.values["pivot.drag"]])
    np.testing.assert_allclose((both.theta - free.theta)[both.open], step, rtol=2e-2)
    np.testing.assert_allclose(both.sensitivity.information, S + prior, rtol=1e-3)


BAD_METHODS = {
    "weight": ({"weight": 0.0}, "must be above 0, not 0"),
    "noise": ({"noise": (1e-3, 0.0)}, "noise of each sensor must be above 0"),
    "iterations": ({"max_iterations": 0}, "max_iterations must be at least 1"),
    "tolerance": ({"tolerance": 1.0}, "tolerance between 0 and 1"),
}


@pytest.mark.parametrize("which", BAD_METHODS)
def test_numbers_without_a_meaning(which):
    given, reason = BAD_METHODS[which]
    with pytest.raises(InvalidMethod, match=reason):
        JointSmoothing(**given)


BAD_FITS = {
    "parameter": ({"open": ["pivot.drg"]}, r"no free parameter 'pivot\.drg'; did you mean 'pivot\.drag'\?.*has"),
    "bound": ({"lower": {"bob.Jxy": 0.0}}, "no free parameter 'bob.Jxy'.*did you mean 'bob.Jxx'"),
    "theta": ({"theta": np.zeros(3)}, "theta needs 11 finite numbers: bob.mass, bob.cz"),
    "nan": ({"theta": np.full(11, np.nan)}, "11 finite numbers"),
    "outside": ({"upper": {"pivot.drag": 0.01}}, "the guess of 'pivot.drag' is outside its bounds"),
    "twice": ({"open": ["pivot.drag", "pivot.drag"]}, "'pivot.drag' .*once"),
    "prior": ({"priors": {"pivot.drg": Normal(0, 1)}}, "did you mean 'pivot.drag'"),
}  # fmt: skip


@pytest.mark.parametrize("which", BAD_FITS)
def test_fits_that_cannot_be(which, rng):
    given, reason = BAD_FITS[which]
    with pytest.raises(InvalidMethod, match=reason):
        METHOD.solve(JointSmoothingProblem(swings.model(), [swing(rng, times=TIMES[:10])], **given))


def test_methods_and_records_that_do_not_fit_the_mechanism(rng):
    record = swing(rng, times=TIMES[:10])
    with pytest.raises(InvalidSignals, match="at least one record"):
        METHOD.solve(JointSmoothingProblem(swings.model(), []))
    with pytest.raises(InvalidMethod, match="noise needs 2 numbers, one per sensor"):
        JointSmoothing(noise=[1e-3]).solve(JointSmoothingProblem(swings.model(), [record]))
    with pytest.raises(InvalidMethod, match=r"no form 'reducd'; did you mean 'reduced'.*explicit"):
        JointSmoothing(form="reducd").solve(JointSmoothingProblem(swings.model(), [record]))
    with pytest.raises(
        InvalidSignals, match="swing has 2 controls and 2 readings; pendulum has 1 motors and 2 sensors"
    ):
        METHOD.solve(
            JointSmoothingProblem(
                swings.model(), [Record("swing", record.times, np.zeros((10, 2)), record.z)]
            )
        )


def test_what_the_reduced_form_is_not_for():
    """Contacts, loads in loops and loose bodies: the sentence names a form that is."""
    bodies = [RigidBody(name, 1.0, (0.1, 0.1, 0.1)) for name in ("a", "b")]
    first, second = Hinge("one", "world", "a"), Hinge("two", "a", "b", point=(1, 0, 0))
    third = Hinge("three", "b", "world", point=(2, 0, 0), friction=LoadDependent(0.1, 1.0, stick_drag=1e3))
    record = Record("short", TIMES[:5], np.zeros((5, 0)), np.zeros((5, 1)))
    for joints, contacts in (
        ([first, second], [PlaneContact("tip", "b", (0, 0, 0))]),
        ([first, second, third], []),
        ([first], []),
    ):
        model = Mechanism(bodies, joints, contacts, [Encoder("one")]).model(["one.drag"])
        with pytest.raises(InvalidMethod, match="form = 'implicit'"):
            JointSmoothing().solve(JointSmoothingProblem(model, [record]))


def test_it_says_so_where_a_kink_ends_it():
    """Dry friction that sticks, in errors with kinks: `converged` is said where the cost is stationary, nowhere else.

    Where a step lowers the cost by less than 1e-7 of it, no column makes an angle with the errors whose cosine is more
    than the root of that, but for the damping.
    """
    motion = swings.exact(swings.theta(coulomb=0.1), TIMES, 1.5, 0.0)
    start = swings.theta(coulomb=0.1, stick_drag=50.0)
    converged = []
    for seed in (2, 3, 4):
        record = swings.read("swing", TIMES, motion, np.random.default_rng(seed))
        for weight in (1e8, 1e10):
            method = JointSmoothing(weight, swings.NOISE, doubts=False)
            fit = method.solve(
                JointSmoothingProblem(swings.model(), [record], start, [*PIVOT, "pivot.coulomb"])
            )
            slope = stationarity(method, at(fit, [record], [*PIVOT, "pivot.coulomb"]))
            # the cosine is at most the root of the tolerance, 3.2e-4, but for the damping
            assert slope < 4e-4 if fit.converged else fit.status is Status.stalled
            converged.append(fit.converged)
    assert any(converged)


def test_another_fits_paths_are_a_place_to_begin(rng):
    """Where the fit ended it stays; and paths of other records are refused."""
    record = swing(rng)
    fit = METHOD.solve(JointSmoothingProblem(swings.model(), [record], open=PIVOT))
    again = METHOD.solve(JointSmoothingProblem(swings.model(), [record], fit.theta, PIVOT, guess=fit.paths))
    assert again.iterations <= 1
    np.testing.assert_allclose(again.theta, fit.theta, rtol=1e-6)
    assert stationarity(METHOD, at(fit, [record])) < 1e-5
    off = METHOD.solve(
        JointSmoothingProblem(swings.model(), [record], open=PIVOT, upper={"pivot.drag": 0.02})
    )
    assert stationarity(METHOD, at(off, [record], upper={"pivot.drag": 0.02})) < 1e-5
    with pytest.raises(InvalidMethod, match="one per record, of the same length"):
        METHOD.solve(
            JointSmoothingProblem(swings.model(), [swing(rng, times=TIMES[:50])], open=PIVOT, guess=fit.paths)
        )


def test_a_limit_of_steps_is_told(rng):
    fit = JointSmoothing(weight=1e8, noise=swings.NOISE, max_iterations=1).solve(
        JointSmoothingProblem(swings.model(), [swing(rng)], swings.theta(Jxx=0.04), PIVOT)
    )
    assert not fit.converged
    assert fit.iterations == 1
    assert fit.status is Status.step_limit


def test_where_only_ratios_act_it_is_said(rng):
    """On a level floor nothing says how heavy a bob is: inertia, drag and gain together are unobservable."""
    times = np.arange(300) * 0.01
    u = commands(times, rng)
    level = swings.theta(mass=1e-12)  # no weight, so no known torque
    record = swing(rng, times=times, u=u, theta=level)
    ratios = ("bob.Jxx", "pivot.drag", "pivot.gain", "pivot.shaft_inertia")
    method = replace(METHOD, reference=level)
    free = method.solve(JointSmoothingProblem(swings.model(), [record], theta=level, open=ratios))
    assert any("pivot.gain" in each and "bob.Jxx" in each for each in free.unobservable)
    assert np.isnan(free.robust_std[[swings.FREE.index(name) for name in ratios]]).all()
    known = method.solve(
        JointSmoothingProblem(swings.model(), [record], theta=level, open=("bob.Jxx", "pivot.drag"))
    )
    assert not known.unobservable
