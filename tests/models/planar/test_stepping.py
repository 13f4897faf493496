"""Steps against motions that are known in closed form, contacts that close together, and what is refused."""

import numpy as np
import pytest

from poinsot.exceptions import InvalidModel
from poinsot.models.planar import Ellipse, PlanarBody, SmoothCurve, Wall, floor, rectangle
from poinsot.models.planar.body import GRAVITY
from poinsot_reproductions.impacts.stepping import Law, simulate

each_law = pytest.mark.parametrize("law", list(Law))
LEFT = Wall(0.0, 0.0, -np.pi / 2)


def run(body, walls, pose, velocity, step, seconds, law=Law.RESTITUTION, **more):
    motion = simulate(
        body, walls, np.array(pose, dtype=float), np.array(velocity, dtype=float), step, seconds, law, **more
    )
    assert motion.unsolved == 0
    return motion


def ball(friction=0.0, restitution=0.0, radius=0.1, **more):
    return PlanarBody(Ellipse(radius, radius), 2.0, 0.5 * 2.0 * radius**2, friction, restitution, **more)


def block(width, height, friction, restitution=0.0, corner_radius=0.0):
    mass = 0.7
    return PlanarBody(
        rectangle(width, height, corner_radius),
        mass,
        mass * (width**2 + height**2) / 12,
        friction,
        restitution,
    )


# ------------------------------------------------------------------------------------------------------- closed forms


def test_flight_is_implicit_eulers():
    """q_k = q_0 + k h v_0 + k (k + 1) / 2 h^2 a, turning at its rate."""
    h, k = 1e-3, np.arange(301)
    motion = run(block(0.1, 0.2, 0.3), [floor(-9.0)], [1, 2, 0.5], [3, 1, -4], h, 0.3)
    np.testing.assert_allclose(motion.poses[:, 0], 1 + 3 * k * h, atol=1e-12)
    np.testing.assert_allclose(motion.poses[:, 1], 2 + k * h - k * (k + 1) / 2 * h**2 * GRAVITY, atol=1e-12)
    np.testing.assert_allclose(motion.poses[:, 2], 0.5 - 4 * k * h, atol=1e-12)
    np.testing.assert_allclose(motion.times, k * h, atol=1e-15)
    assert not motion.impulses.any()
    assert motion.struck.size == 0


def bounces(height, restitution, count):
    """Times and speeds just before each bounce."""
    fall, speed = np.sqrt(2 * height / GRAVITY), np.sqrt(2 * height * GRAVITY)
    times, speeds = [fall], [speed]
    for _ in range(count - 1):
        speeds.append(restitution * speeds[-1])
        times.append(times[-1] + 2 * speeds[-1] / GRAVITY)
    return np.array(times), np.array(speeds)


def test_a_bouncing_ball():
    height, restitution = 0.8, 0.7
    times, speeds = bounces(height, restitution, 5)
    errors = []
    for h in (1e-3, 1e-4, 1e-5):
        motion = run(ball(restitution=restitution), [floor(0.2)], [0, 0.3 + height, 0], [1, 0, 0], h, 2.0)
        struck = motion.struck[:5]
        errors.append(np.abs(motion.times[struck] - times).max())
        # a bounce is up to a step late, and each that was before it
        assert errors[-1] < 10 * h
        np.testing.assert_allclose(
            motion.impulses[struck, 0, 0], 2.0 * (1 + restitution) * speeds, atol=2.0 * 10 * GRAVITY * h
        )
        assert not motion.impulses[:, :, 1].any()
    assert errors[2] < 0.05 * errors[0]


def test_a_contact_that_opens_does_not_fall_back_into_the_wall():
    """Slower than gravity's g h it comes to a halt; restitution is of velocities into the wall alone."""
    h = 1e-3
    motion = run(ball(restitution=1.0), [floor()], [0, 0.1, 0], [0, 0.5 * GRAVITY * h, 0], h, h)
    np.testing.assert_allclose(motion.velocities[1], 0.0, atol=1e-12)


@each_law
def test_a_sliding_block_stops_where_friction_stops_it(law):
    friction, speed, h = 0.35, 1.5, 1e-4
    motion = run(block(0.3, 0.1, friction), [floor()], [0, 0.05, 0], [speed, 0, 0], h, 1.0, law)
    stops = speed / (friction * GRAVITY)
    moving = motion.times < stops - h
    # two corners bear it: while friction slides, by mu m g h in sum
    np.testing.assert_allclose(motion.impulses[:, :, 0].sum(axis=1), 0.7 * GRAVITY * h, rtol=1e-9)
    np.testing.assert_allclose(
        motion.impulses[moving[1:], :, 1].sum(axis=1), -friction * 0.7 * GRAVITY * h, rtol=1e-9
    )
    # the front corner bears more, for friction acts half a height below the center: (F / 2) (1 +- mu height / width)
    bears = motion.impulses[moving[1:]][:, :, 0] / (0.7 * GRAVITY * h)
    lean = friction * 0.1 / 0.3
    np.testing.assert_allclose(
        np.sort(bears, axis=1)[:, -2:], np.tile([(1 - lean) / 2, (1 + lean) / 2], (len(bears), 1)), atol=1e-8
    )
    assert motion.poses[-1, 0] == pytest.approx(speed**2 / (2 * friction * GRAVITY), abs=2 * speed * h)
    np.testing.assert_allclose(motion.velocities[-1], 0.0, atol=1e-9)
    np.testing.assert_allclose(motion.poses[:, 2], 0.0, atol=1e-9)


def test_a_block_too_tall_for_its_friction_tips_while_it_slides():
    """Beyond mu height / width = 1 the rear corner leaves."""
    for height, tips in ((0.2, False), (0.5, True)):
        motion = run(block(0.2, height, 0.6), [floor()], [0, height / 2, 0], [3, 0, 0], 1e-4, 0.2)
        assert (motion.poses[-1, 2] < -0.01) == tips


@pytest.mark.parametrize(("friction", "slides"), [(0.25, True), (0.35, False)])
@each_law
def test_a_block_on_a_slope_rests_within_the_cone_and_slides_beyond(friction, slides, law):
    alpha, h = -0.3, 1e-4  # tan 0.3 = 0.309
    motion = run(
        block(0.3, 0.1, friction),
        [floor(0.0, alpha)],
        [0, 0.05 / np.cos(alpha), alpha],
        [0, 0, 0],
        h,
        0.5,
        law,
    )
    along = motion.velocities[-1, :2] @ [np.cos(alpha), np.sin(alpha)]
    expected = 0.5 * GRAVITY * (np.sin(-alpha) - friction * np.cos(alpha)) if slides else 0.0
    assert along == pytest.approx(
        expected, abs=20 * GRAVITY * h
    )  # a corner that is open for a step slips for it


@pytest.mark.parametrize("friction", [0.05, 0.5])
@each_law
def test_a_ball_rolls_down_a_slope_or_slips(friction, law):
    """It rolls up to tan alpha = mu (1 + m r^2 / J) = 3 mu."""
    alpha, h = 0.4, 1e-5
    motion = run(ball(friction), [floor(0.0, alpha)], [0, 0.1 / np.cos(alpha), 0], [0, 0, 0], h, 0.5, law)
    v_t = motion.velocities[-1, :2] @ [np.cos(alpha), np.sin(alpha)]
    if np.tan(alpha) < 3 * friction:
        assert v_t == pytest.approx(-0.5 * GRAVITY * np.sin(alpha) / 1.5, rel=1e-3)
        assert motion.velocities[-1, 2] == pytest.approx(-v_t / 0.1, rel=1e-6)
    else:
        assert v_t == pytest.approx(-0.5 * GRAVITY * (np.sin(alpha) - friction * np.cos(alpha)), rel=1e-3)
        assert motion.velocities[-1, 2] == pytest.approx(
            0.5 * friction * GRAVITY * np.cos(alpha) / (0.5 * 0.1), rel=1e-3
        )


def test_a_ball_that_slips_rolls_in_the_end_at_two_thirds_of_its_speed():
    motion = run(ball(0.3), [floor()], [0, 0.1, 0], [2, 0, 0], 1e-4, 1.0)
    np.testing.assert_allclose(motion.velocities[-1], [4 / 3, 0, -4 / 3 / 0.1], rtol=1e-3, atol=1e-9)
    rolls = np.flatnonzero(motion.velocities[:, 0] + 0.1 * motion.velocities[:, 2] < 1e-9)[0]
    assert motion.times[rolls] == pytest.approx(2 / 3 / (0.3 * GRAVITY), abs=2e-4)  # slip falls at 3 mu g


def test_a_ball_at_rest_turns_on_by_rolling_alone():
    """A circle that turns has the same support, so the floor bears m g h a step and friction nothing."""
    motion = run(ball(0.3), [floor()], [0, 0.1, 0], [1, 0, -10], 1e-3, 1.0)
    np.testing.assert_allclose(motion.impulses[:, 0], np.tile([2 * GRAVITY * 1e-3, 0], (1000, 1)), atol=1e-12)


def test_drag_slows_as_the_exponential_does():
    h, k = 1e-4, np.array([2.0, 2.0, 5.0])
    motion = run(ball(drag=(2.0, 5.0)), [floor(-99.0)], [0, 0, 0], [3, 1, -4], h, 1.0)
    a = np.array([0, -GRAVITY, 0])
    v_0 = np.array([3, 1, -4.0])
    expected = a / k + (v_0 - a / k) * np.exp(-k)
    np.testing.assert_allclose(motion.velocities[-1], expected, atol=20 * h)


def test_forces_act_beside_gravity():
    h = 1e-3
    forces = np.tile([4.0, 2 * GRAVITY, 0.03], (500, 1))
    motion = run(ball(), [floor(-9.0)], [0, 0, 0], [0, 0, 0], h, 0.5, forces=forces)
    np.testing.assert_allclose(motion.velocities[-1], [1.0, 0.0, 1.5], atol=1e-12)


# ------------------------------------------------------------------------------------------------- several contacts


@each_law
@pytest.mark.parametrize("corner_radius", [0.0, 0.004])
def test_a_square_rests_flat_on_a_floor_and_in_a_corner(law, corner_radius):
    square = block(0.06, 0.06, 0.3, 0.5, corner_radius)
    for walls in ([floor()], [floor(), LEFT]):
        motion = run(square, walls, [0.03, 0.03, 0], [0, 0, 0], 1e-3, 0.5, law)
        np.testing.assert_allclose(motion.poses - motion.poses[0], 0.0, atol=1e-12)
        np.testing.assert_allclose(motion.impulses[:, :, 0].sum(axis=1), 0.7 * GRAVITY * 1e-3, rtol=1e-9)


def test_a_square_that_falls_flat_bounces_flat():
    motion = run(block(0.06, 0.06, 0.3, 0.5), [floor()], [0, 0.13, 0], [0, 0, 0], 1e-5, 0.3)
    struck = motion.struck[0]
    speed = np.sqrt(2 * GRAVITY * 0.1)
    np.testing.assert_allclose(motion.velocities[struck + 1], [0, 0.5 * speed, 0], atol=1e-3)
    np.testing.assert_allclose(motion.poses[:, [0, 2]], 0.0, atol=1e-9)


@each_law
def test_a_square_slides_into_a_corner_and_stays(law):
    motion = run(block(0.06, 0.06, 0.2, 0.0), [floor(), LEFT], [0.2, 0.03, 0], [-1.5, 0, 0], 1e-4, 0.5, law)
    np.testing.assert_allclose(motion.velocities[-1], 0.0, atol=1e-9)
    # speed^2 = 1.5^2 - 2 mu g 0.17 carries it to the wall; a step at 1.5 m/s is what it may go into it
    assert motion.poses[-1, 0] == pytest.approx(0.03, abs=2e-4)
    assert motion.poses[-1, 2] == pytest.approx(0.0, abs=1e-3)


def test_a_ball_into_a_corner():
    """Along the bisector it closes both within one step, and comes back along it."""
    start = 0.1 + 40 * 0.00995
    motion = run(ball(0.0, 0.6), [floor(), LEFT], [start, start, 0], [-40, -40, 0], 1e-4, 0.015)
    (struck,) = motion.struck
    assert (motion.impulses[struck, :, 0] > 0).all()
    np.testing.assert_allclose(motion.velocities[-1], [24, 24, 0], atol=0.2)  # and gravity's 0.15 m/s


@each_law
@pytest.mark.parametrize(
    "shape",
    [
        rectangle(0.06, 0.06, 0.004),
        rectangle(0.09, 0.05),
        Ellipse(0.05, 0.025),
        SmoothCurve(0.03, (0.002,), (0.001,)),
    ],
    ids=["round square", "rectangle", "ellipse", "smooth"],
)
def test_whatever_is_thrown_into_a_corner_comes_to_rest_in_it(law, shape, rng):
    walls = [floor(0.0, -0.3), Wall(0.0, 0.0, 0.8)]
    for _ in range(5):
        body = PlanarBody(shape, 0.3, 0.3 * 6e-4, 0.4, rng.uniform(0, 0.6))
        pose, velocity = [0.0, 0.25, rng.uniform(0, 6)], [*rng.normal(size=2), rng.normal() * 10]
        motion = run(body, walls, pose, velocity, 1e-4, 3.0, law)
        assert motion.gaps.min() > -2e-3
        # an ellipse rolls on for a while, which friction does not hinder
        assert motion.kinetic[-2000:].max() < 0.01 * motion.energy[0]


# ----------------------------------------------------------------------------------------------------- the two laws


def test_no_gap_is_below_0_after_a_step_with_the_law_of_gaps():
    """To second order in h: the step goes along N of where it began."""
    for h in (1e-3, 1e-4):
        motion = run(
            PlanarBody(Ellipse(1.5, 1.0), 10, 2, 0.3), [floor()], [0, 5, 0], [10, -3, -8], h, 2.0, Law.GAP
        )
        assert motion.gaps.min() > -0.5 * 100 * h**2  # half the turn's square of 8 to 10 rad/s, at 1.5 m


def test_restitution_halts_in_one_step_gaps_in_two():
    for law, steps in ((Law.RESTITUTION, 1), (Law.GAP, 2)):
        motion = run(
            PlanarBody(Ellipse(1.5, 1.0), 10, 2, 0.3), [floor()], [0, 10, 0], [0, 0, 0], 3e-3, 1.5, law
        )
        assert (motion.impulses[:, 0, 0] > 2 * 10 * GRAVITY * 3e-3).sum() == steps
        fell = np.sqrt(2 * GRAVITY * 9)
        assert motion.impulses[:, 0, 0].sum() == pytest.approx(10 * GRAVITY * motion.times[-1], rel=1e-9)
        assert motion.impulses[motion.struck[:2], 0, 0].sum() == pytest.approx(
            10 * fell, abs=3 * 10 * GRAVITY * 3e-3
        )


# --------------------------------------------------------------------------------------------------------- the door

BALL = ball()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PlanarBody(Ellipse(0.1, 0.1), 0.0, 1.0, 0.1), "the mass of a body must be above 0, not 0"),
        (
            lambda: PlanarBody(Ellipse(0.1, 0.1), 1.0, np.nan, 0.1),
            "the inertia of a body must be above 0, not nan",
        ),
        (
            lambda: PlanarBody(Ellipse(0.1, 0.1), 1.0, 1.0, -0.1),
            "friction and drag of a body must be at least 0",
        ),
        (
            lambda: PlanarBody(Ellipse(0.1, 0.1), 1.0, 1.0, 0.1, 0.0, (0.0, -1.0)),
            "friction and drag of a body must be at least 0",
        ),
        (lambda: PlanarBody(Ellipse(0.1, 0.1), 1.0, 1.0, 0.1, 0.0, (np.inf, 0.0)), "friction and drag"),
        (
            lambda: PlanarBody(Ellipse(0.1, 0.1), 1.0, 1.0, 0.1, 1.2),
            "restitution must be from 0 to 1, not 1.2",
        ),
        (lambda: run(BALL, [floor()], [0, 1, 0], [0, 0, 0], 0.0, 1.0), "the step must be above 0 s"),
        (lambda: run(BALL, [floor()], [0, 1, 0], [0, 0, 0], 2.0, 1.0), "no longer than the motion"),
        (lambda: run(BALL, [floor()], [0, 1, 0], [0, 0, 0], np.nan, 1.0), "the step must be above 0 s"),
        (lambda: run(BALL, [floor()], [0, 1, 0], [0, 0, 0], 0.1, np.inf), "no longer than the motion"),
        (lambda: run(BALL, [], [0, 1, 0], [0, 0, 0], 0.1, 1.0), "give at least one wall"),
        (lambda: run(BALL, [floor()], [0, np.nan, 0], [0, 0, 0], 0.1, 1.0), "three finite numbers each"),
        (lambda: run(BALL, [floor()], [0, 1], [0, 0, 0], 0.1, 1.0), "three finite numbers each"),
        (
            lambda: run(BALL, [floor()], [0, 0.098, 0], [0, 0, 0], 0.1, 1.0),
            "begins 2 mm inside a wall; lift it",
        ),
        (
            lambda: run(BALL, [floor()], [0, 1, 0], [0, 0, 0], 0.1, 1.0, forces=np.zeros((9, 3))),
            "forces need three numbers for each of the 10 steps",
        ),
        (
            lambda: run(BALL, [floor()], [0, 1, 0], [0, 0, 0], 0.1, 1.0, forces=np.full((10, 3), np.nan)),
            "forces must be finite",
        ),
    ],
)
def test_what_means_nothing_is_refused(make, message):
    with pytest.raises(InvalidModel, match=message):
        make()
