"""The contact-aided invariant filter against finite differences, dense integration and analytic trajectories."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from poinsot import LegOdometry, OdometrySample, SampleVerdict
from poinsot.estimators.online.filter import Gate
from poinsot.estimators.online.leg_odometry import BIASES, gammas
from poinsot.exceptions import InvalidMethod
from poinsot.models.rotations import skew

GRAVITY = np.array([0.0, 0.0, -9.81])
FEET = np.array([[0.2, 0.15, -0.3], [0.2, -0.15, -0.3], [-0.2, 0.0, -0.3]])


class Swaying:
    """An analytic motion: the unit sways over its feet, p(t) and a rotation vector r(t) of sines."""

    def __init__(self, rng):
        self.size = rng.uniform(0.02, 0.05, 3), rng.uniform(0.1, 0.2, 3)
        self.omega = rng.uniform(3, 8, 3), rng.uniform(3, 8, 3)

    def place(self, t):
        return self.size[0] * np.sin(self.omega[0] * t)

    def velocity(self, t):
        return self.size[0] * self.omega[0] * np.cos(self.omega[0] * t)

    def rotation(self, t):
        return Rotation.from_rotvec(self.size[1] * np.sin(self.omega[1] * t))

    def inertial(self, t, h=1e-5):
        """What ideal sensors read: R^T (p'' - g), and the rate by a symmetric difference of the rotation."""
        acceleration = -self.size[0] * self.omega[0] ** 2 * np.sin(self.omega[0] * t)
        rate = (self.rotation(t - h).inv() * self.rotation(t + h)).as_rotvec() / (2 * h)
        return np.concatenate([rate, self.rotation(t).inv().apply(acceleration - GRAVITY)])


def sample(time, inertial, feet, closed=None, rotations=None, radii=None):
    """A sample of legs that encoders measure along x, y and z."""
    F = len(feet)
    slopes = np.eye(3 * F).reshape(F, 3, 3 * F)
    rotations = np.tile(np.eye(3), (F, 1, 1)) if rotations is None else rotations
    closed = np.ones(F, dtype=bool) if closed is None else np.array(closed)
    return OdometrySample(
        time, inertial, feet, slopes, rotations, closed, np.zeros(F) if radii is None else radii
    )


def seen(motion, t, feet):
    """Places of feet in the unit's frame."""
    return motion.rotation(t).inv().apply(feet - motion.place(t))


def standing(rng, filter_=None):
    """A belief with a covariance and a state that are nowhere special, and the sample after it."""
    motion, filter_ = Swaying(rng), filter_ or LegOdometry()
    first = sample(0.0, motion.inertial(0.3), seen(motion, 0.3, FEET))
    belief = filter_.init(
        first, motion.place(0.3) + np.array([1.0, 2.0, 0.5]), motion.rotation(0.3).as_matrix()
    )
    belief.X[:, 3] = [0.5, -0.3, 0.2]
    return belief, sample(0.01, motion.inertial(0.31), seen(motion, 0.31, FEET)), filter_


def moved(belief, xi):
    """Exp(xi) X by the exponential of a matrix, and biases plus zeta."""
    columns = belief.X.shape[1] - 3
    A = np.zeros((3 + columns, 3 + columns))
    A[:3, :3], A[:3, 3:] = skew(xi[:3]), xi[3:-6].reshape(-1, 3).T
    from scipy.linalg import expm

    E = expm(A)
    X = np.column_stack([E[:3, :3] @ belief.X[:, :3], E[:3, :3] @ belief.X[:, 3:] + E[:3, 3:]])
    return replace(belief, X=X, bias=belief.bias + xi[BIASES])


def error(true, of):
    """xi of true = Exp(xi) X^, to first order, and zeta."""
    turned = Rotation.from_matrix(true.X[:, :3] @ of.X[:, :3].T).as_rotvec()
    G0, G1, _ = gammas(turned)
    rest = np.linalg.solve(G1, true.X[:, 3:] - G0 @ of.X[:, 3:])
    return np.concatenate([turned, rest.T.ravel(), true.bias - of.bias])


def test_gammas_are_sums_of_powers(rng):
    for size in (1e-9, 5e-3, 1.1e-2, 0.3, 2.0):
        S = skew(size * rng.standard_normal(3))
        terms, powers = [np.eye(3)], np.eye(3)
        for j in range(1, 40):
            powers = powers @ S / j
            terms.append(powers)
        factors = [
            np.prod(1.0 / (np.arange(1, k + 1)[None] + np.arange(40)[:, None]), axis=1) for k in range(3)
        ]
        for found, factor in zip(gammas(S[[2, 0, 1], [1, 2, 0]]), factors, strict=True):
            np.testing.assert_allclose(found, np.einsum("j, jab -> ab", factor, terms), rtol=0, atol=2e-9)


def test_the_covariance_moves_by_the_slopes_of_the_step(rng):
    """P+ = F P F^T without noise, F by central differences of the step itself."""
    belief, after, _ = standing(rng)
    quiet = LegOdometry(inertial_noise=(1e-12, 1e-12), foot_walk=0.0, bias_walk=(0.0, 0.0))
    d, h = len(belief.covariance), 1e-5
    expected = quiet.predict(belief, after)
    F = np.empty((d, d))
    for k, direction in enumerate(h * np.eye(d)):
        both = [error(quiet.predict(moved(belief, s * direction), after), expected) for s in (1, -1)]
        F[:, k] = (both[0] - both[1]) / (2 * h)
    A = rng.standard_normal((d, d))
    P = A @ A.T
    found = quiet.predict(replace(belief, covariance=P), after).covariance
    # slopes by biases leave out terms of (w dt)^2 / 24, 1e-5 of them at 1 rad/s and 10 ms
    np.testing.assert_allclose(found, F @ P @ F.T, rtol=1e-4, atol=1e-5)


def test_feet_creep_together_where_the_robot_pushes():
    filter_ = LegOdometry(foot_walk=0.0, foot_creep=(0.01, 0.001))
    feet, rest = FEET.copy(), np.array([0, 0, 0, 0, 0, 9.81])
    push = rest + np.array([0, 0, 0, 3.0, 4.0, 2.0])

    def grown(inertial):
        begun = filter_.init(sample(0.0, inertial, feet), np.zeros(3), np.eye(3))
        with_, without = (
            each.predict(begun, sample(1e-3, inertial, feet)).covariance[9:-6, 9:-6]
            for each in (filter_, replace(filter_, foot_creep=(0.0, 0.0)))
        )
        return with_ - without

    np.testing.assert_allclose(grown(rest), 0.0, atol=1e-18)
    a = np.array([3.0, 4.0, 0.0]) / 9.81
    one = 1e-3 * (np.outer(a, a) + np.diag([0, 0, (2 / 9.81) ** 2]))
    together, alone = 0.01**2 * one, 0.001**2 * one
    expected = np.kron(np.ones((3, 3)), together) + np.kron(np.eye(3), alone)
    np.testing.assert_allclose(grown(push), expected, atol=1e-15)


def test_feet_give_way_to_acceleration_and_load():
    """Friction before it slips drags feet against what the unit gains in velocity, and load presses them in."""
    filter_, rest = LegOdometry(foot_compliance=(2e-3, 5e-5)), np.array([0, 0, 0, 0, 0, 9.81])
    pushes = [rest, *(rest + np.array([0, 0, 0, 3.0, -4.0, upward]) for upward in (2.0, 6.0))]
    begun = filter_.init(sample(0.0, pushes[0], FEET), np.zeros(3), np.eye(3))
    belief = begun
    for k, inertial in enumerate(pushes[1:], 1):
        belief = filter_.predict(belief, sample(1e-3 * k, inertial, FEET))
    gained = belief.X[:, 3] - begun.X[:, 3]
    expected = [-2e-3 * gained[0], -2e-3 * gained[1], -5e-5 * 6.0]
    np.testing.assert_allclose(belief.X[:, 5:] - begun.X[:, 5:], np.tile(expected, (3, 1)).T, atol=1e-12)


def test_a_lost_encoder_reading_loses_no_roll(rng):
    """A foot that is a ball has rolled on while its encoders were not read."""
    filter_, still = LegOdometry(), np.concatenate([[0.1, 0.2, 0.0], -GRAVITY])
    turns = [np.tile(Rotation.from_rotvec([0, 0.05 * k, 0.02 * k]).as_matrix(), (3, 1, 1)) for k in range(5)]
    ends = []
    for lost in (False, True):
        belief = filter_.init(
            sample(0.0, still, FEET, rotations=turns[0], radii=np.full(3, 0.02)), np.zeros(3), np.eye(3)
        )
        for k in range(1, 5):
            rotations = np.full((3, 3, 3), np.nan) if lost and k in (2, 3) else turns[k]
            belief = filter_.predict(
                belief, sample(0.01 * k, still, FEET, rotations=rotations, radii=np.full(3, 0.02))
            )
        ends.append(belief.X[:, 5:])
    # four turns about axes that differ by 0.02 rad add up to the whole one, to their commutators
    np.testing.assert_allclose(ends[1], ends[0], atol=0.02 * 0.2 * 0.02)
    assert np.abs(ends[0][0] - FEET[:, 0]).min() > 3e-3


def test_a_belief_is_carried_to_a_sample_without_readings_of_the_unit():
    filter_, fast = LegOdometry(start_std=(1e-3, 1.0)), np.concatenate([np.zeros(3), -GRAVITY])
    belief = filter_.init(sample(0.0, fast, FEET), np.zeros(3), np.eye(3))
    belief.X[:, 3] = [1.0, 0.0, -2.0]
    lost = sample(1e-3, np.full(6, np.nan), FEET)
    same, _ = filter_.update(belief, lost)
    carried = filter_.carried_to(same, lost)
    np.testing.assert_allclose(carried.X[:, 4], [1e-3, 0, -2e-3], atol=1e-12)
    assert (np.diag(carried.covariance)[6:9] > np.diag(same.covariance)[6:9]).all()
    assert filter_.carried_to(carried, lost) is carried


def test_slopes_of_the_state_do_not_depend_on_the_state(rng):
    """The invariant error: without biases, F is exact far from the estimate."""
    belief, after, _ = standing(rng)
    quiet = LegOdometry(inertial_noise=(1e-12, 1e-12), foot_walk=0.0, bias_walk=(0.0, 0.0))
    far = np.concatenate([0.5 * rng.standard_normal(len(belief.covariance) - 6), np.zeros(6)])
    far[:3] = [0.0, 0.0, 0.7]
    step = error(quiet.predict(moved(belief, far), after), quiet.predict(belief, after))
    dt = after.time - belief.sample.time
    true = moved(belief, far)
    # of a turn about gravity the velocity error is carried to the place, and nothing else changes
    expected = error(true, belief)
    expected[6:9] += dt * expected[3:6]
    np.testing.assert_allclose(step, expected, atol=1e-9)


def test_prediction_is_that_of_a_dense_integration(rng):
    motion, filter_ = Swaying(rng), LegOdometry()
    times = np.arange(0.0, 1.0005, 1e-3)
    first = sample(0.0, motion.inertial(0.0), seen(motion, 0.0, FEET))
    belief = filter_.init(first, motion.place(0.0), motion.rotation(0.0).as_matrix())
    belief.X[:, 3] = motion.velocity(0.0)
    start = belief
    for time in times[1:]:
        belief = filter_.predict(belief, sample(time, motion.inertial(time), seen(motion, time, FEET)))

    def rates(t, y):
        R, reading = y[:9].reshape(3, 3), motion.inertial(t)
        return np.concatenate([(R @ skew(reading[:3])).ravel(), R @ reading[3:] + GRAVITY, y[9:12]])

    y = np.concatenate([start.X[:, :3].ravel(), start.X[:, 3], start.X[:, 4]])
    dense = solve_ivp(rates, (0.0, 1.0), y, rtol=1e-9, atol=1e-10).y[:, -1]
    # means of readings are trapezoids, wrong by w^2 dt^2 / 12 of an oscillation, 5e-6 at 8 rad/s and 1 ms
    np.testing.assert_allclose(belief.X[:, :3].ravel(), dense[:9], atol=2e-5)
    # that turns an acceleration of some 10 m/s^2, which adds up for a second
    np.testing.assert_allclose(belief.X[:, 3], dense[9:12], atol=1e-4)
    np.testing.assert_allclose(belief.X[:, 4], dense[12:], atol=1e-4)


def test_a_ball_that_rolls_moves_its_centre(rng):
    """A foot that turns by a about y rolls by r a along x: the filter knows it from encoders."""
    radius, filter_ = 0.05, LegOdometry(position_noise=1e-5, start_std=(1e-4, 1e-4), bias_std=(1e-6, 1e-6))
    still = np.concatenate([np.zeros(3), -GRAVITY])

    def rolled(k):
        angle = 0.002 * k
        turned = np.tile(Rotation.from_rotvec([0.0, angle, 0.0]).as_matrix(), (3, 1, 1))
        feet = FEET + np.array([radius * angle, 0.0, 0.0])
        return sample(1e-2 * k, still, feet, rotations=turned, radii=np.full(3, radius))

    belief = filter_.init(rolled(0), np.zeros(3), np.eye(3))
    for k in range(1, 200):
        belief, innovation = filter_.update(belief, rolled(k))
        assert innovation.verdict is SampleVerdict.accepted
    np.testing.assert_allclose(belief.X[:, 4], 0.0, atol=1e-6)


def run(rng, filter_, seconds=1.5, dt=5e-3, lifts=True):
    """Belief and truth at the end of a noisy motion in which feet lift off and touch down in turn."""
    motion, biases = Swaying(rng), np.repeat(filter_.bias_std, 3) * rng.standard_normal(6)
    times = np.arange(0.0, seconds, dt)
    tilt = np.append(filter_.start_std[0] * rng.standard_normal(2), 0.0)
    speed = filter_.start_std[1] * rng.standard_normal(3)
    feet, belief = FEET.copy(), None
    levels = np.repeat(filter_.inertial_noise, 3)
    for k, time in enumerate(times):
        closed = np.array([not (lifts and k // 40 % 4 == foot) for foot in range(3)])
        feet = feet + closed[:, None] * filter_.foot_walk * np.sqrt(dt) * rng.standard_normal((3, 3))
        feet[~closed] = FEET[~closed] + [0.0, 0.0, 0.05]
        read = seen(motion, time, feet) + filter_.position_noise * rng.standard_normal((3, 3))
        biases = biases + np.repeat(filter_.bias_walk, 3) * np.sqrt(dt) * rng.standard_normal(6)
        reading = motion.inertial(time) + biases + levels * rng.standard_normal(6)
        now = sample(time, reading, read, closed)
        if belief is None:
            R = Rotation.from_rotvec(-tilt) * motion.rotation(0.0)
            belief = filter_.init(now, motion.place(0.0), R.as_matrix())
            belief.X[:, 3] = motion.velocity(0.0) - speed
        else:
            belief, _ = filter_.update(belief, now)
    state = np.column_stack(
        [motion.rotation(times[-1]).as_matrix(), motion.velocity(times[-1]), motion.place(times[-1]), feet.T]
    )
    return belief, replace(belief, X=state, bias=biases)


def test_normalized_errors_are_chi_square():
    """Feet, biases and readings walk as stated: squared errors have the mean of chi-square, of all and of the pose."""
    filter_ = LegOdometry(start_std=(0.02, 0.05), bias_std=(0.01, 0.1), foot_walk=5e-3, gate=None)
    squares = []
    for seed in range(40):
        belief, true = run(np.random.default_rng(seed), filter_)
        xi, P = error(true, belief), belief.covariance
        parts = [np.arange(9), np.arange(3, 9), np.arange(len(P) - 6, len(P))]
        squares.append([xi[k] @ np.linalg.solve(P[np.ix_(k, k)], xi[k]) for k in parts])
    for mean, degrees in zip(np.mean(squares, axis=0), (9, 6, 6), strict=True):
        low, high = stats.chi2.ppf([0.001, 0.999], 40 * degrees) / 40
        assert low < mean < high


def test_an_outlier_is_gated_and_a_slip_is_followed(rng):
    """One foot reads 5 cm off: never used; when it stays there, the foot is placed anew, and the base has not moved."""
    filter_ = LegOdometry(gate=Gate(patience=5), start_std=(1e-3, 1e-3))
    still, off = np.concatenate([np.zeros(3), -GRAVITY]), FEET + np.outer([1, 0, 0], [0.05, 0, 0])
    belief = filter_.init(sample(0.0, still, FEET), np.zeros(3), np.eye(3))
    for k in range(1, 20):
        belief, innovation = filter_.update(belief, sample(0.01 * k, still, off if k == 10 else FEET))
        assert (innovation.verdict is SampleVerdict.gated) == (k == 10)
        assert innovation.rows == (6 if k == 10 else 9)
    verdicts = []
    for k in range(20, 40):
        belief, innovation = filter_.update(belief, sample(0.01 * k, still, off))
        verdicts.append(innovation.verdict)
    assert verdicts[:6] == [SampleVerdict.gated] * 6
    assert set(verdicts[6:]) == {SampleVerdict.accepted}
    np.testing.assert_allclose(belief.X[:, 5], off[0], atol=5e-3)
    np.testing.assert_allclose(belief.X[:, 4], 0.0, atol=5e-3)


def test_missing_readings(rng):
    filter_, still = LegOdometry(), np.concatenate([np.zeros(3), -GRAVITY])
    belief = filter_.init(sample(0.0, still, FEET), np.zeros(3), np.eye(3))
    lost = sample(0.01, np.full(6, np.nan), FEET)
    same, innovation = filter_.update(belief, lost)
    assert same is belief and innovation.verdict is SampleVerdict.unusable
    assert filter_.update(belief, replace(lost, time=0.0))[1].verdict is SampleVerdict.late
    # a foot that was not read stays where it is, and is compared again afterwards
    one = FEET.copy()
    one[1] = np.nan
    after, innovation = filter_.update(belief, sample(0.02, still, one))
    assert after.standing.all() and innovation.rows == 6
    assert np.isnan(innovation.predicted[1]).all() and np.isfinite(innovation.predicted[[0, 2]]).all()
    # nobody stands: the base falls freely in the belief, and its covariance grows
    flying, innovation = filter_.update(after, sample(0.03, still, FEET, closed=[False] * 3))
    assert innovation.rows == 0 and not flying.standing.any()
    rows = slice(9, 18)
    assert not flying.covariance[rows].any() and not flying.covariance[:, rows].any()
    back, _ = filter_.update(flying, sample(0.04, still, FEET))
    assert back.standing.all()
    assert np.linalg.eigvalsh(back.covariance)[0] > -1e-12


@pytest.mark.parametrize(
    "field",
    [
        "inertial_noise",
        "position_noise",
        "foot_walk",
        "foot_creep",
        "foot_compliance",
        "bias_std",
        "start_std",
    ],
)
def test_levels_are_standard_deviations(field):
    wrong = -1.0 if field in ("position_noise", "foot_walk") else (-1.0, 1.0)
    with pytest.raises(InvalidMethod, match=field):
        LegOdometry(**{field: wrong})
