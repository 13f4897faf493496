"""Events against closed forms and against steps that are made smaller."""

import numpy as np
import pytest

from poinsot.models.planar import Ellipse, PlanarBody, Wall, floor, rectangle
from poinsot.models.planar.body import GRAVITY
from poinsot.models.planar.events import moved
from poinsot_reproductions.impacts.stepping import simulate

LEFT = Wall(0.0, 0.0, -np.pi / 2)
ELLIPSE, SMALL = Ellipse(1.5, 1.0), Ellipse(0.05, 0.025)
SQUARE, SHARP = rectangle(0.06, 0.06, 0.004), rectangle(0.06, 0.06)
IN_AIR = PlanarBody(SMALL, 0.064, 4.84e-5, 0.3, 0.2, (0.5, 0.7))


def after(body, walls, pose, velocity, times):
    return moved(body, walls, np.array(pose, float), np.array(velocity, float), np.asarray(times, float))


def ball(friction=0.0, restitution=0.0, drag=(0.0, 0.0)):
    return PlanarBody(Ellipse(0.1, 0.1), 2.0, 0.01, friction, restitution, drag)


def test_a_bouncing_ball_to_rounding():
    height, restitution = 0.8, 0.7
    speeds = np.sqrt(2 * height * GRAVITY) * restitution ** np.arange(5)
    times = np.sqrt(2 * height / GRAVITY) + np.concatenate([[0], np.cumsum(2 * speeds[1:] / GRAVITY)])
    q, _, impacts = after(
        ball(0.3, restitution), [floor(0.2)], [0, 0.3 + height, 0], [0, 0, 0], [0.0, 1.2, 1.9]
    )
    found = impacts.times[:5]
    # gaps close to within 1e-9 m
    np.testing.assert_allclose(found, times, atol=1e-8)
    np.testing.assert_allclose(impacts.before[:5], np.outer(speeds, [0, -1, 0]), atol=1e-7)
    np.testing.assert_allclose(impacts.after[:5], np.outer(restitution * speeds, [0, 1, 0]), atol=1e-7)
    np.testing.assert_allclose(impacts.impulses[:5, 0], 2 * (1 + restitution) * speeds, rtol=1e-7)
    np.testing.assert_allclose(impacts.impulses[:5, 1], 0.0, atol=1e-12)
    s = 1.2 - times[1]
    assert times[1] < 1.2 < times[2]
    assert q[1, 1] == pytest.approx(0.3 + speeds[2] * s - GRAVITY * s**2 / 2, abs=1e-7)


def test_flight_with_drag_is_the_exponential():
    k, turn, t = 0.8, 1.7, np.linspace(0, 1, 7)
    q, v, impacts = after(ball(drag=(k, turn)), [floor(-99.0)], [1, 2, 3], [3, -1, 5], t)
    E, E_turn = (1 - np.exp(-k * t)) / k, (1 - np.exp(-turn * t)) / turn
    np.testing.assert_allclose(q[:, 0], 1 + 3 * E, atol=1e-12)
    np.testing.assert_allclose(q[:, 1], 2 - E - GRAVITY * (t - E) / k, atol=1e-12)
    np.testing.assert_allclose(q[:, 2], 3 + 5 * E_turn, atol=1e-12)
    np.testing.assert_allclose(v[:, 1], -np.exp(-k * t) - GRAVITY * E, atol=1e-12)
    assert not len(impacts.times)


def test_flight_with_very_little_drag_is_flight():
    few = after(ball(drag=(1e-9, 1e-9)), [floor(-99.0)], [1, 2, 3], [3, -1, 5], [0, 0.5])
    none = after(ball(), [floor(-99.0)], [1, 2, 3], [3, -1, 5], [0, 0.5])
    np.testing.assert_allclose(few[0], none[0], atol=1e-8)


def test_a_sliding_block_stops_where_friction_stops_it():
    friction, speed = 0.35, 1.5
    body = PlanarBody(rectangle(0.3, 0.1), 0.7, 0.7 * 0.1 / 12, friction)
    stops = speed / (friction * GRAVITY)
    q, v, _ = after(body, [floor()], [0, 0.05, 0], [speed, 0, 0], [0, 0.5 * stops, 1.0])
    np.testing.assert_allclose(v[1], [0.5 * speed, 0, 0], atol=1e-9)
    np.testing.assert_allclose(v[2], 0.0, atol=1e-9)
    # within the step of 0.5 ms in which it stops, that is 0.5 ms * mu g * 0.5 ms
    assert q[2, 0] == pytest.approx(speed**2 / (2 * friction * GRAVITY), abs=1e-6)


@pytest.mark.parametrize("friction", [0.05, 0.5])
def test_a_ball_rolls_down_a_slope_or_slips(friction):
    alpha = 0.4
    q, v, _ = after(ball(friction), [floor(0.0, alpha)], [0, 0.1 / np.cos(alpha), 0], [0, 0, 0], [0, 0.5])
    t = np.array([np.cos(alpha), np.sin(alpha)])
    rolls = np.tan(alpha) < 3 * friction
    a = np.sin(alpha) / 1.5 if rolls else np.sin(alpha) - friction * np.cos(alpha)
    assert v[1, :2] @ t == pytest.approx(-0.5 * GRAVITY * a, rel=1e-6)
    assert (q[1] - q[0])[:2] @ t == pytest.approx(-0.5 * 0.25 * GRAVITY * a, rel=1e-5)
    spin = 0.5 * GRAVITY * (a if rolls else 2 * friction * np.cos(alpha)) / 0.1
    assert v[1, 2] == pytest.approx(spin, rel=1e-6)


def test_a_square_rests_flat_in_a_corner():
    body = PlanarBody(SQUARE, 1.0, 6e-4, 0.3, 0.5)
    q, v, impacts = after(body, [floor(), LEFT], [0.03, 0.03, 0], [0, 0, 0], [0, 0.1, 0.5])
    np.testing.assert_allclose(q - q[0], 0.0, atol=1e-9)
    np.testing.assert_allclose(v, 0.0, atol=1e-9)
    assert not len(impacts.times)


# Until they rattle: bounces below 0.02 m/s are followed by steps alone.
MOTIONS = {
    "thrown ellipse": (PlanarBody(ELLIPSE, 10, 2, 0.3, 0.5), [floor()], [0, 5, 0], [10, -3, -8], 1.4),
    "ellipse that slides": (PlanarBody(ELLIPSE, 10, 2, 0.2), [floor()], [0, 1, 0], [15, 0, 0], 1.0),
    "ellipse that takes off": (PlanarBody(ELLIPSE, 10, 2, 0.5), [floor()], [0, 1, 0], [15, 0, 0], 0.6),
    "ball that slips, then rolls": (ball(0.2), [floor()], [0, 0.1, 0], [3, 0, 0], 0.8),
    "square that slides": (
        PlanarBody(SHARP, 1, 6e-4, 0.1), [floor(0, -0.2)], [0, 0.03 / np.cos(0.2), -0.2], [0, 0, 0], 0.5,
    ),
    "thrown square": (PlanarBody(SQUARE, 1, 6e-4, 0.2, 0.3), [floor()], [0, 0.2, 0.3], [1, 0, 3], 0.33),
    "square between walls": (
        PlanarBody(SQUARE, 1, 6e-4, 0.3, 0.2), [floor(), LEFT], [0.1, 0.15, 0.4], [-1, 0, 2], 0.22,
    ),
    "ellipse in air": (IN_AIR, [floor()], [0, 0.1, -0.785], [3, -5, 0], 0.025),
}  # fmt: skip


@pytest.mark.parametrize(("body", "walls", "pose", "velocity", "seconds"), MOTIONS.values(), ids=MOTIONS)
def test_steps_that_are_made_smaller_come_near(body, walls, pose, velocity, seconds):
    times = np.linspace(0, seconds, 6)
    q, _, _ = after(body, walls, pose, velocity, times)
    size = body.shape.size
    off = []
    for h in (1e-4, 2.5e-6):
        motion = simulate(body, walls, np.array(pose, float), np.array(velocity, float), h, seconds)
        off.append(np.abs((motion.at(times) - q) / [size, size, 1]).max())
    # steps are wrong by h v and h omega an event; the number of events and what they make of it are within 100
    assert off[1] < 2.5e-6 * 100 * (1 + np.abs(velocity).max())
    assert off[1] < 0.2 * off[0]


def test_velocities_are_the_rates_of_poses():
    times = np.linspace(0, 0.5, 5001)
    for body, walls, pose, velocity, _ in list(MOTIONS.values())[:6]:
        q, v, impacts = after(body, walls, pose, velocity, times)
        rate = np.diff(q, axis=0) / np.diff(times)[:, None]
        smooth = ~np.isin(np.arange(5000), np.searchsorted(times, impacts.times) - 1)
        off = np.abs(rate - 0.5 * (v[1:] + v[:-1]))[smooth] / [1, 1, 10]
        # in rolling and sliding, steps of at most 0.5 ms and gaps of second order that are taken out
        assert np.quantile(off, 0.99) < 5e-3


def test_impacts_do_what_their_impulses_do():
    body = MOTIONS["thrown square"][0]
    _, _, impacts = after(*MOTIONS["thrown square"][:4], [0, 0.3])
    assert len(impacts.times) > 1 and (np.diff(impacts.times) >= 0).all()
    for i in range(len(impacts.times)):
        if (impacts.times == impacts.times[i]).sum() > 1:
            continue  # two corners at once
        change = impacts.after[i] - impacts.before[i]
        assert change[1] == pytest.approx(impacts.impulses[i, 0] / body.mass, abs=1e-9)
        assert change[0] == pytest.approx(impacts.impulses[i, 1] / body.mass, abs=1e-9)
        assert abs(impacts.impulses[i, 1]) <= body.friction * impacts.impulses[i, 0] * (1 + 1e-9)


def test_poses_do_not_hang_on_when_they_are_asked_for():
    """Looks at gaps and steps of closed contacts begin anew at each time: to their own errors only."""
    body, walls, pose, velocity, _ = MOTIONS["thrown square"]
    once = after(body, walls, pose, velocity, [0.0, 0.3])[0][-1]
    often = after(body, walls, pose, velocity, np.linspace(0, 0.3, 301))[0][-1]
    np.testing.assert_allclose(once, often, atol=1e-4)


def test_only_the_first_impacts_are_told():
    body, walls, pose, velocity, _ = MOTIONS["thrown square"]
    q, v = np.array(pose, float), np.array(velocity, float)
    everything, some = (moved(body, walls, q, v, np.array([0.0, 0.5]), most)[2] for most in (256, 2))
    assert len(everything.times) > 2 == len(some.times)
    np.testing.assert_array_equal(everything.times[:2], some.times)
    np.testing.assert_array_equal(everything.after[:2], some.after)


FORCED = {
    "flight": (PlanarBody(SMALL, 0.064, 4.84e-5, 0.3, 0.2, (0.5, 0.7)), [2, 5, 0.1], 0.3, 6),
    "impacts": (PlanarBody(SMALL, 0.064, 4.84e-5, 0.3, 0.2), [0, 0.1, -0.785], 0.08, 9),
    "sliding": (PlanarBody(SQUARE, 1.0, 6e-4, 0.3, 0.2), [0, 0.03, 0.0], 0.3, 10),
}


@pytest.mark.parametrize(("body", "pose", "seconds", "count"), FORCED.values(), ids=FORCED)
def test_known_forces_push_as_they_do_in_small_steps(body, pose, seconds, count):
    rng = np.random.default_rng(1)
    times, h = np.linspace(0, seconds, count + 1), 1e-5
    forces = rng.standard_normal((count, 3)) * [0.5, 0.3, 2e-3] * body.mass / 0.064
    q = moved(body, [floor()], np.array(pose, float), np.array([1.0, -1, 3]), times, forces=forces)[0]
    steps = round(seconds / h)
    held = forces[np.minimum((np.arange(steps) + 0.5) * h / seconds * count, count - 1).astype(int)]
    motion = simulate(body, [floor()], np.array(pose, float), np.array([1.0, -1, 3]), h, seconds, forces=held)
    without = moved(body, [floor()], np.array(pose, float), np.array([1.0, -1, 3]), times)[0]
    size = [body.shape.size, body.shape.size, 1]
    assert np.abs((motion.at(times) - q) / size).max() < 0.02 * np.abs((q - without) / size).max()


def test_a_force_lifts_what_lies():
    """From 0.2 s on it pulls by twice the weight."""
    body, times = PlanarBody(SQUARE, 0.5, 3e-4, 0.3), np.array([0.0, 0.2, 0.5])
    forces = np.array([[0.0, 0, 0], [0, 2 * 0.5 * GRAVITY, 0]])
    q, v, _ = moved(body, [floor()], np.array([0, 0.03, 0.0]), np.zeros(3), times, forces=forces)
    np.testing.assert_allclose(q[1], [0, 0.03, 0], atol=1e-9)
    assert q[2, 1] == pytest.approx(0.03 + GRAVITY * 0.3**2 / 2, abs=1e-6)
    assert v[2, 1] == pytest.approx(0.3 * GRAVITY, abs=1e-9)
