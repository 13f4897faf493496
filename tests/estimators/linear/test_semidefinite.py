"""Physically possible least squares: data first, prior for the rest; equal to references, with proof and covariance."""

from dataclasses import replace
from functools import partial

import numpy as np
import pinocchio as pin
import pytest

from poinsot.accuracy import Accuracy
from poinsot.estimators.linear.constraints import BodyConstraint, Box, Constraints
from poinsot.estimators.linear.essential import EssentialParameters
from poinsot.estimators.linear.least_squares import LeastSquares
from poinsot.estimators.linear.semidefinite import SemidefiniteLeastSquares
from poinsot.estimators.linear.whitening import Whitened, prior_moments
from poinsot.exceptions import ImpossibleBody, InvalidMethod
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.inertia.divergence import AffineInvariant, Entropic, Euclidean
from poinsot.inertia.parameters import is_consistent, pseudo_inertia
from poinsot.models.robot.drive import Coupling, Drive
from poinsot.regression.inverse_dynamics import inverse_dynamics
from poinsot.regression.system import reduce
from references.dense_regression import signals_of, smooth_motion, stacked
from references.robots import chain, own_parameters

ARM = chain("zyy", [0, 0.1, 0.4])
MOTORS = chain("zyy", [0, 0.1, 0.4], drive=Drive(rotor_inertia=True))
DIVERGENCES = {"entropic": Entropic(), "euclidean": Euclidean(), "affine-invariant": AffineInvariant()}


FIRST = partial(SemidefiniteLeastSquares, weighing="data")
"""The data first."""


def problem_of(rng, robot=ARM, noise=0.05, samples=150, theta=None, **more):
    """Recordings of an exact laboratory: there is only noise."""
    theta = own_parameters(robot, np.random.default_rng(5)) if theta is None else theta
    motion = smooth_motion(robot, samples, rng)
    return inverse_dynamics(
        robot,
        signals_of(robot, theta, motion, noise * rng.standard_normal((samples, 3))),
        accuracy=Accuracy(exact=True),
        **more,
    )


def perturbed(robot, rng, relative=0.3):
    """Prior bodies that are not the truth, but possible: their pseudo-inertias are stretched."""
    prior = {}
    for name, pi in zip(robot.bodies, robot.inertials, strict=True):
        theta = LogCholesky().from_inertial(pi) + relative * rng.standard_normal(10) * np.array(
            [1, *6 * [0.3], *3 * [0.05]]
        )
        prior[name] = LogCholesky().to_inertial(theta).tolist()
    return prior


def shrunk(robot, rng):
    """Parameters that no robot has: bodies that would turn by themselves."""
    theta = own_parameters(robot, rng)
    for body in range(len(robot.bodies)):
        theta[10 * body + 4 : 10 * body + 10] *= -0.3
    return theta


# -- data first ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_base_values_of_possible_least_squares_stay_exactly_as_they_are(rng, divergence):
    problem = problem_of(rng, MOTORS, noise=0.01)
    free = LeastSquares().solve(problem)
    estimate = FIRST(prior=perturbed(MOTORS, rng, 0.1), divergence=divergence).solve(problem)
    np.testing.assert_allclose((estimate.values - free.values) / free.std, 0, atol=1e-6)
    assert estimate.fit.relative_error_percent == pytest.approx(free.fit.relative_error_percent, rel=1e-9)
    assert all(body.physically_consistent for body in estimate.bodies)
    assert "Least squares is physically possible:" in " ".join(estimate.notes)
    assert estimate.certificate().holds


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_what_the_data_do_not_show_is_as_close_to_the_prior_as_can_be(rng, divergence):
    """The divergence has no slope along any direction that does not move the base values."""
    problem = problem_of(rng, noise=0.01)
    prior = perturbed(ARM, rng, 0.1)
    estimate = FIRST(prior=prior, divergence=divergence).solve(problem)
    K = reduce(problem, 1e-5).base.map[:, :30]
    N = np.linalg.svd(K)[2][np.linalg.matrix_rank(K) :].T
    pi = estimate.full_parameters.values[:30].reshape(3, 10)
    slope = DIVERGENCES[divergence].gradient(pi, np.array(list(prior.values()))).ravel()
    np.testing.assert_allclose(N.T @ slope, 0, atol=2e-4 * np.linalg.norm(slope))
    assert np.linalg.norm(slope) > 1e-3


def test_the_truth_as_prior_is_what_comes_back(rng):
    """Noise-free data and the true bodies as prior: everything is the truth, what no motion shows included.

    The divergence is flat there: a gap of 1e-9 leaves sqrt(2e-9) of a prior body open.
    """
    problem = problem_of(rng, noise=0.0)
    estimate = FIRST().solve(problem)
    np.testing.assert_allclose(
        estimate.full_parameters.values, own_parameters(ARM, np.random.default_rng(5)), atol=5e-5
    )


def test_impossible_data_become_the_closest_possible_bodies(rng):
    cp = pytest.importorskip("cvxpy")
    problem = problem_of(rng, theta=shrunk(ARM, np.random.default_rng(5)))
    estimate = FIRST(allowance=1e-3).solve(problem)
    W, y = stacked(problem)
    W, y = W.reshape(-1, W.shape[-1]), y.ravel()
    R, z = np.linalg.qr(W)[1], np.linalg.qr(W)[0].T @ y
    K = problem.base.map
    theta = cp.Variable(K.shape[1])
    possible = [theta[30:][np.array(problem.parameters.kinds[30:]) != "offset"] >= 0]
    basis = pseudo_inertia(np.eye(10))
    for body in range(3):
        J = cp.Variable((4, 4), PSD=True)
        possible.append(J == sum(theta[10 * body + k] * basis[k] for k in range(10)))
    scale = np.linalg.norm(z)
    square = cp.Problem(cp.Minimize(cp.sum_squares((R @ K @ theta - z) / scale)), possible).solve(
        solver="CLARABEL"
    )
    best = np.sqrt(square * scale**2 + y @ y - z @ z)
    found = np.linalg.norm(estimate.fit.residuals)
    # the allowance, MIN_RADIUS of a standard deviation, and MARGIN of each body are given away
    assert best <= found * (1 + 1e-6)
    np.testing.assert_allclose(found, best, rtol=2e-3)
    assert found > 1.5 * np.linalg.norm(LeastSquares().solve(problem).fit.residuals)
    assert all(body.min_pseudo_inertia_eigenvalue > 0 for body in estimate.bodies)
    assert any("contradict every possible set of bodies" in warning for warning in estimate.warnings)
    assert estimate.certificate().holds


def test_allowance_is_how_much_further_the_prior_may_go(rng):
    problem = problem_of(rng, theta=shrunk(ARM, np.random.default_rng(5)))
    free = np.sum(LeastSquares().solve(problem).fit.residuals ** 2)

    def distance(allowance):
        solved = FIRST(allowance=allowance).solve(problem)
        return np.sqrt(np.sum(solved.fit.residuals**2) - free), solved

    (closest, thin), (further, thick) = distance(1e-3), distance(0.2)
    np.testing.assert_allclose(further / closest, 1.2 / 1.001, rtol=1e-3)
    assert min(b.min_pseudo_inertia_eigenvalue for b in thick.bodies) > min(
        b.min_pseudo_inertia_eigenvalue for b in thin.bodies
    )


@pytest.mark.parametrize("weighing", ["both", "data"])
def test_an_estimate_that_is_not_the_optimum_proves_nothing(rng, weighing):
    for theta in (None, shrunk(ARM, np.random.default_rng(5))):
        estimate = SemidefiniteLeastSquares(prior=perturbed(ARM, rng, 0.1), weighing=weighing).solve(
            problem_of(rng, theta=theta)
        )
        certificate = estimate.certificate()
        assert certificate.holds
        assert certificate.dual <= certificate.primal + 1e-6 * (1 + certificate.primal)
        moved = estimate.updated(
            replace(estimate.full_parameters, values=1.01 * estimate.full_parameters.values)
        )
        assert not moved.certificate().holds


# -- whether before how: shares and covariances ------------------------------------------------------------------


def test_shares_say_what_is_from_the_data_and_what_from_the_prior(rng):
    estimate = FIRST().solve(problem_of(rng, MOTORS))
    share = dict(zip(estimate.full_parameters.names, estimate.full_parameters.prior_share, strict=True))
    assert np.all((estimate.full_parameters.prior_share >= 0) & (estimate.full_parameters.prior_share <= 1))
    for unseen in (
        "m1",
        "mx1",
        "xx1",
        "xy1",
    ):  # a vertical axis shows nothing of these but what zz1 tells of them
        assert share[unseen] > 0.95
    for seen in ("fv1", "fc2", "off3", "mx3", "xy3", "xz2"):
        assert share[seen] == pytest.approx(0.0, abs=0.05)
    assert 0.01 < share["m2"] < 0.999
    first, second, third = (body.prior_share for body in estimate.bodies)
    assert first > second > third > 0


@pytest.mark.parametrize("noise", [0.05, 3.0])
def test_share_is_the_part_of_the_variance_that_the_prior_removes(rng, noise):
    """1 - variance / variance without the prior, in each direction in which data and prior are uncorrelated."""
    problem = problem_of(rng, noise=noise)
    method = SemidefiniteLeastSquares()
    estimate, reduced = method.solve(problem), method._reduced(problem)
    T = reduced.coordinates.T @ reduced.prior_root
    information, V = np.linalg.eigh(T.T @ reduced.K.T @ reduced.R.T @ reduced.R @ reduced.K @ T)
    with np.errstate(divide="ignore"):
        without = 1 / np.maximum(information, 0.0)
        removed = 1 - (1 / (1 + np.maximum(information, 0.0))) / without
    expected = (T @ V) ** 2 @ removed / np.sum(T**2, axis=1)
    np.testing.assert_allclose(estimate.full_parameters.prior_share, expected, atol=1e-6)


def test_a_mass_that_the_data_leave_open_is_not_what_noise_makes_of_it(rng):
    """With few noisy rows the data alone may say anything; weighed, the description counts, and says so."""
    problem, prior = problem_of(rng, noise=10.0, samples=40), perturbed(ARM, rng)
    truth = own_parameters(ARM, np.random.default_rng(5))[:30:10]
    errors, std = [], []
    for weighing in ("data", "both"):
        estimate = SemidefiniteLeastSquares(prior=prior, weighing=weighing).solve(problem)
        errors.append(np.abs([body.mass for body in estimate.bodies] / truth - 1).max())
        std.append(estimate.full_parameters.std[:30:10] / truth)
    assert errors[1] < errors[0] and std[1].max() < 2 < std[0].max()
    assert np.all(estimate.full_parameters.prior_share[:30:10] > 0.3)


def test_moments_of_the_prior_are_those_of_bodies_drawn_another_way(rng):
    """Masses by a log-normal factor, centres of mass by a part of their distance and of the body's extent."""
    std, direction, count = 0.4, 20.0, 40_000
    coordinates = Whitened(ARM.inertials, np.zeros(0))
    M = prior_moments(coordinates, std, direction)
    for body, pi in enumerate(ARM.inertials):
        L = coordinates.factors[body]
        np.testing.assert_allclose(L @ L.T, pseudo_inertia(pi), atol=1e-12)
        V, c = L[:3, :3] / L[3, 3], L[:3, 3] / L[3, 3]
        mass = pi[0] * np.exp(std * rng.standard_normal(count))
        reach = np.tan(np.radians(direction)) * np.linalg.norm(c)
        shift = reach * rng.standard_normal((count, 3)) + rng.standard_normal(
            (count, 3)
        ) @ V.T * std / np.sqrt(2)
        np.testing.assert_allclose(M[body, 9, 9], np.mean((mass / pi[0] - 1) ** 2), rtol=0.1)
        # J's last column over the root of the prior's mass: L (X e_4), whose second moments are those of m c
        h = mass[:, None] * (c + shift) - pi[1:4]
        block = L[:3] @ np.array([[M[body, i, j] * v * w for j, w in LAST] for i, v in LAST]) @ L[:3].T
        ours = L[3, 3] ** 2 * block
        scale = np.sqrt(np.diag(ours))
        np.testing.assert_allclose(
            h.T @ h / count / np.outer(scale, scale), ours / np.outer(scale, scale), atol=0.1
        )


LAST = ((6, 1 / np.sqrt(2)), (7, 1 / np.sqrt(2)), (8, 1 / np.sqrt(2)), (9, 1.0))
"""Where the last column of X is in its vector, with the factor that the vector has more."""


@pytest.mark.parametrize(("weighing", "noise"), [("data", 0.0005), ("both", 0.3)])
def test_covariance_is_that_of_simulated_truth(weighing, noise):
    """Truth drawn from the prior, data from the truth: normalized squared errors of bodies are chi-square.

    Trusted first, the data must be good enough for bodies to stay in the neighbourhood that is linear.
    """
    rng = np.random.default_rng(3)
    std, trials = 0.03, 60
    squares = []
    centers = ARM.inertials
    for _ in range(trials):
        theta = own_parameters(ARM, np.random.default_rng(5))
        for body in range(3):
            L = np.linalg.cholesky(pseudo_inertia(centers[body]))
            E = rng.standard_normal((4, 4))
            X = np.eye(4) + 2 * std * (
                np.triu(E, 1) / np.sqrt(2) + np.triu(E, 1).T / np.sqrt(2) + np.diag(np.diag(E))
            )
            J = L @ X @ L.T
            I = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
            theta[10 * body : 10 * body + 10] = [
                J[3, 3],
                *J[:3, 3],
                *I[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]],
            ]
        problem = problem_of(rng, noise=noise, theta=theta, samples=120)
        estimate = SemidefiniteLeastSquares(weighing=weighing, divergence="entropic", prior_std=std).solve(
            problem
        )
        e = (estimate.full_parameters.values - theta)[:30]
        C = estimate.full_parameters.covariance[:30, :30]
        scale = 1 / np.sqrt(np.diag(C))
        squares.append((scale * e) @ np.linalg.solve(scale[:, None] * C * scale, scale * e))
    # the mean of 60 chi-square numbers of 30 degrees of freedom scatters by sqrt(60 / 60) = 1, and the honest
    # covariance of the residuals by a few per cent; differences between few short blocks only widen it
    assert 15 < np.mean(squares) < 30 + 4


def test_covariance_of_a_body_is_that_of_its_chart(rng):
    estimate = SemidefiniteLeastSquares().solve(problem_of(rng))
    for number, body in enumerate(estimate.bodies):
        D = LogCholesky().jacobian(LogCholesky().from_inertial(body.inertial))
        ten = slice(10 * number, 10 * number + 10)
        np.testing.assert_allclose(
            D @ body.covariance @ D.T,
            estimate.full_parameters.covariance[ten, ten],
            rtol=1e-6,
            atol=1e-9 * np.abs(estimate.full_parameters.covariance[ten, ten]).max(),
        )
        draws = rng.multivariate_normal(LogCholesky().from_inertial(body.inertial), body.covariance, 100)
        assert is_consistent(LogCholesky().to_inertial(np.clip(draws, -8, 8))).all()


def test_bodies_know_their_place_and_their_prior(rng):
    prior = perturbed(ARM, rng)
    estimate = SemidefiniteLeastSquares(prior=prior).solve(problem_of(rng))
    assert [body.parent for body in estimate.bodies] == ["", *ARM.bodies[:2]]
    np.testing.assert_allclose(estimate.bodies[2].placement[:3, 3], [0.5, 0, 0], atol=1e-12)
    np.testing.assert_allclose(estimate.bodies[1].prior, prior[ARM.bodies[1]])


def test_weighing_both_lies_between_data_and_prior(rng):
    problem = problem_of(rng, noise=0.5)
    free, prior = LeastSquares().solve(problem), perturbed(ARM, rng, 0.1)

    def moved(std):
        estimate = SemidefiniteLeastSquares(prior=prior, prior_std=std).solve(problem)
        assert estimate.certificate().holds
        return np.linalg.norm((estimate.values - free.values) / free.coloured_std), np.mean(
            estimate.full_parameters.prior_share
        )

    (sure, sure_share), (vague, vague_share) = moved(0.01), moved(1.0)
    assert sure > 1.1 * vague
    assert sure_share > vague_share


# -- constraints -------------------------------------------------------------------------------------------------


def test_constraints_hold_in_the_estimate(rng):
    name = ARM.bodies[2]
    known = BodyConstraint(
        mass=(0.5, 0.6), center_of_mass=Box([-0.05, -0.05, -0.05], [0.0, 0.05, 0.05]), mirror=["y"]
    )
    constraints = Constraints({name: known}, total_mass=(4.0, 4.5))
    estimate = SemidefiniteLeastSquares(constraints=constraints).solve(problem_of(rng))
    body = estimate.bodies[2]
    assert 0.5 - 1e-6 <= body.mass <= 0.6 + 1e-6
    assert body.center_of_mass[0] <= 1e-6
    np.testing.assert_allclose(body.inertial[[2, 5, 8]], 0, atol=1e-7)
    assert 4.0 - 1e-6 <= sum(b.mass for b in estimate.bodies) <= 4.5 + 1e-6
    share = dict(zip(estimate.full_parameters.names, estimate.full_parameters.prior_share, strict=True))
    assert share["xy3"] == 1.0  # fixed, and so nothing that the data say
    assert estimate.certificate().holds


def test_held_parameters_stay_and_say_so(rng):
    held = {"m2": 1.9, "fv1": 0.4}
    estimate = SemidefiniteLeastSquares().solve(problem_of(rng, held=held))
    values = dict(zip(estimate.full_parameters.names, estimate.full_parameters.values, strict=True))
    for name, value in held.items():
        assert values[name] == value
    assert estimate.full_parameters.std[estimate.full_parameters.names.index("m2")] == pytest.approx(
        0, abs=1e-6
    )


def test_constraints_that_exclude_everything_are_named_and_no_others(rng):
    names = ARM.bodies
    constraints = Constraints(
        {names[1]: BodyConstraint(mass=(2.0, 3.0)), names[2]: BodyConstraint(mass=(0.1, 9.0))},
        total_mass=(0.5, 1.5),
    )
    with pytest.raises(InvalidMethod, match="relax one of them") as error:
        SemidefiniteLeastSquares(constraints=constraints).solve(problem_of(rng))
    assert f"a mass between 2 and 3 kg of {names[1]}" in str(error.value)
    assert "a total mass between 0.5 and 1.5 kg" in str(error.value)
    assert "0.1 and 9" not in str(error.value)


def test_friction_and_rotors_are_never_negative(rng):
    theta = own_parameters(MOTORS, np.random.default_rng(5))
    for name in ("fv2", "ia3"):
        theta[MOTORS.parameters.index(name)] = -0.05
    estimate = SemidefiniteLeastSquares().solve(problem_of(rng, MOTORS, theta=theta, noise=0.01))
    values = dict(zip(estimate.full_parameters.names, estimate.full_parameters.values, strict=True))
    # at the bound, and not at what the solver's tolerance leaves of it
    assert values["fv2"] == values["ia3"] == 0.0
    at = [estimate.full_parameters.names.index(name) for name in ("fv2", "ia3")]
    assert np.all(estimate.full_parameters.interval[at, 0] == 0.0)
    assert np.all(estimate.full_parameters.std[at] > 0)
    assert estimate.certificate().holds
    assert "inf" not in str(estimate)
    assert LeastSquares().solve(problem_of(rng, MOTORS, theta=theta, noise=0.01))["fv2"] < -0.03


def test_a_coupled_motor_takes_energy_with_both_of_its_joints(rng):
    robot = chain(
        "zyy",
        [0, 0.1, 0.4],
        drive=Drive(rotor_inertia=True, couplings=(Coupling("j3", "j2", 1.0),), coupled_friction=True),
    )
    theta = own_parameters(robot, np.random.default_rng(5))
    for name, value in (("fv2", 0.1), ("fv3", 0.1), ("fvm3", 0.5), ("ia2", 0.1), ("ia3", 0.1), ("iam3", 0.5)):
        theta[robot.parameters.index(name)] = value
    estimate = SemidefiniteLeastSquares().solve(problem_of(rng, robot, theta=theta, noise=0.01))
    values = dict(zip(estimate.full_parameters.names, estimate.full_parameters.values, strict=True))
    assert values["fv2"] * values["fv3"] >= values["fvm3"] ** 2 * (1 - 1e-6)
    assert values["ia2"] * values["ia3"] >= values["iam3"] ** 2 * (1 - 1e-6)


# -- with other methods, and in words ----------------------------------------------------------------------------


@pytest.mark.parametrize("weighting", ["per-joint", "robust"])
def test_weights_are_those_of_least_squares(rng, weighting):
    problem = problem_of(rng, noise=0.01)
    free = LeastSquares(weighting).solve(problem)
    estimate = FIRST(weighting).solve(problem)
    np.testing.assert_allclose((estimate.values - free.values) / free.std, 0, atol=1e-6)


def test_essential_parameters_are_what_possible_bodies_are_fitted_to(rng):
    problem = problem_of(rng, noise=0.8)
    essential = EssentialParameters().solve(problem)
    estimate = FIRST(essential=True).solve(problem)
    assert len(essential.names) < len(estimate.names)
    assert all(body.physically_consistent for body in estimate.bodies)
    # as far from the essential estimate as its distance says, in no more than that
    kept = [estimate.names.index(name) for name in essential.names]
    assert np.abs((estimate.values[kept] - essential.values) / essential.std).max() < 3
    assert any("essential parameters of" in note for note in estimate.notes)


def test_prior_that_no_body_has_is_named_and_can_be_repaired(rng):
    problem = problem_of(rng)
    bad = ARM.inertials[1].copy()
    bad[4] = -1.0
    with pytest.raises(ImpossibleBody, match=rf"the prior of {ARM.bodies[1]}: .*poinsot repair"):
        SemidefiniteLeastSquares(prior={ARM.bodies[1]: bad.tolist()}).solve(problem)
    with pytest.raises(ImpossibleBody, match="its mass is 0"):
        SemidefiniteLeastSquares(prior={ARM.bodies[1]: [0.0] * 10}).solve(problem)
    with pytest.raises(InvalidMethod, match="names body 'j9'"):
        SemidefiniteLeastSquares(prior={"j9": [0.0] * 10}).solve(problem)
    with pytest.raises(InvalidMethod, match="has 3 numbers"):
        SemidefiniteLeastSquares(prior={ARM.bodies[1]: [0.0] * 3}).solve(problem)


def test_prior_without_extent_gets_some_and_says_so(rng):
    point = np.array([1.0, 0.1, 0, 0, 0, 0, 0.01, 0, 0, 0.01])
    estimate = SemidefiniteLeastSquares(prior={ARM.bodies[2]: point.tolist()}).solve(problem_of(rng))
    assert any(
        f"The prior of {ARM.bodies[2]} has a mass but no extent" in warning for warning in estimate.warnings
    )


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"divergence": "entropy"}, "'affine-invariant'"),
        ({"weighing": "prior"}, "'both' or 'data'"),
        ({"weighing": "data", "divergence": "moments"}, 'write "entropic"'),
        ({"prior_direction_deg": 90.0}, "prior_direction_deg"),
        ({"prior_std": 0.0}, "above 0"),
        ({"allowance": 0.0}, "infinitely thin"),
        ({"weighting": "some"}, "weighting"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_settings_that_mean_nothing_are_refused(settings, words):
    with pytest.raises(InvalidMethod, match=words):
        SemidefiniteLeastSquares(**settings)


def test_trust_is_the_old_name_of_weighing():
    with pytest.warns(FutureWarning, match="write weighing = 'data'"):
        assert SemidefiniteLeastSquares(trust="data") == SemidefiniteLeastSquares(weighing="data")


def with_placeholders(robot, masses):
    """The robot as a description with these masses and the inertia of a body of 10 kg has it."""
    model = robot.model.copy()
    for joint, mass in zip(robot.body_joints, masses, strict=True):
        model.inertias[joint] = pin.Inertia(mass, np.zeros(3), np.eye(3))
    return replace(robot, model=model)


def test_placeholders_are_neither_prior_nor_scale(rng):
    """The result does not depend on their numbers, and has about the masses that the data show."""
    theta = own_parameters(ARM, np.random.default_rng(5))
    estimates = []
    for masses in ([1e-3] * 3, [5e-3, 2e-3, 1e-2]):
        problem = problem_of(np.random.default_rng(1), with_placeholders(ARM, masses), theta=theta)
        estimates.append(SemidefiniteLeastSquares().solve(problem))
    for one, other in zip(*(estimate.bodies for estimate in estimates), strict=True):
        assert one.mass == pytest.approx(other.mass, rel=1e-5)
        assert one.physically_consistent
    assert any("are placeholders, spread more thinly than air" in text for text in estimates[0].warnings)
    total = sum(body.mass for body in estimates[0].bodies)
    assert 0.3 < total / theta[[0, 10, 20]].sum() < 3
