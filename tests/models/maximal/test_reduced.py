from functools import cache
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.spatial.transform import Rotation

from models.maximal import mechanisms
from models.maximal.test_impulses import evaluated, slopes
from models.maximal.test_model import cart_pole, double_pendulum, pinocchios
from poinsot.exceptions import InvalidModel
from poinsot.models.maximal import (
    Ball,
    Coulomb,
    Free,
    Hinge,
    LoadDependent,
    Mechanism,
    Motor,
    RigidBody,
    Slider,
    double_precision,
    reduced,
)
from poinsot_reproductions.discrete.rollout import state_of

U = 0.3


def furuta(stiffness):
    return mechanisms.furuta(
        drag=(1e-3, 1e-4),
        friction=(Coulomb(0.01), LoadDependent(1e-3, 1.0, stick_drag=1e3)),
        motor=Motor(0.1, 1e-4),
        **stiffness,
    )


def driven_pendulum():
    body = RigidBody("bob", 0.5, [[4e-3, 1e-4, 0], [1e-4, 4e-3, 2e-4], [0, 2e-4, 1e-3]], (0.02, 0.05, -0.3))
    hinge = Hinge("pivot", "world", "bob", point=(0, 0, 0.1), axis=(1, 0.2, 0), drag=0.05, offset=0.1,
                  friction=Coulomb(0.05, excess=0.03, decay=0.2), motor=Motor(0.5, 2e-3))  # fmt: skip
    return Mechanism([body], [hinge])


def carriage():
    return mechanisms.carriage(Coulomb(0.5, excess=0.2, decay=0.3), Motor(2.0, 0.1), 0.8, 0.1)


MECHANISMS = {
    "hinge": (driven_pendulum, (-0.8,), (2.0,)),
    "slider": (carriage, (0.2,), (1.5,)),
    "double pendulum": (double_pendulum, (1.0, -0.5), (0.5, -1.0)),
    "cart pole": (cart_pole, (0.2, 2.0), (-0.3, 1.0)),
}
each_mechanism = pytest.mark.parametrize("which", MECHANISMS)
H, DURATION = 0.02, 0.2
AT_H, AT_HALF = np.arange(11) * H, np.arange(21) * H / 2


def accelerations(mechanism, torque=lambda t: 0.0):
    """(t, y, rate) -> acceleration by Pinocchio, with motors, drag, dry friction in motion, and a torque beside."""
    model = pinocchios(mechanism)
    data = model.createData()

    def resistance(joint, speed):
        law = joint.friction or Coulomb()
        level = law.level + law.excess * np.exp(-law.decay * speed**2)
        drive = joint.motor.gain * U if joint.motor else 0.0
        return drive + joint.offset - joint.drag * speed - level * np.sign(speed)

    def acceleration(t, y, rate):
        tau = np.array([resistance(j, v) for j, v in zip(mechanism.joints, rate, strict=True)]) + torque(t)
        return pin.aba(model, data, y, rate, tau)

    return acceleration


def exact(acceleration, y, rate):
    """Coordinates and rates at the ends of steps of H / 2, (21, n) each."""
    n = len(y)

    def slope(t, state):
        return np.concatenate([state[n:], acceleration(t, state[:n], state[n:])])

    start = np.concatenate([y, rate])
    found = solve_ivp(slope, (0, DURATION), start, "DOP853", AT_HALF, rtol=1e-12, atol=1e-12)
    return found.y[:n].T, found.y[n:].T


@cache
def compiled(make):
    """Moments of a batch of steps of the mechanism."""
    model = make().model()

    def moments(before, after, h):
        u = jnp.full(model.structure.controls, U)
        return jax.vmap(lambda a, b, h: model.reduced_errors(a, b, u, model.theta, h))(before, after, h)

    return jax.jit(moments)


@double_precision
def moments(make, y, rate):
    """(10, 2, n) of steps of H, (20, 2, n) of H / 2."""
    parts = [(x[:-2:2], x[2::2]) for x in (y, rate)], [(x[:-1], x[1:]) for x in (y, rate)]
    (y_0, y_1), (r_0, r_1) = (
        [np.concatenate(pair) for pair in zip(*(part[k] for part in parts), strict=True)] for k in (0, 1)
    )
    h = np.repeat([H, H / 2], [10, 20])
    found = np.asarray(compiled(make)((y_0, r_0), (y_1, r_1), h))
    return found[:10], found[10:]


def orders(coarse, fine):
    """(2,) of the root mean squares of both moments, over all steps."""
    sizes = [np.sqrt(np.mean(part**2, axis=(0, 2))) for part in (coarse, fine)]
    return np.log2(sizes[0] / sizes[1])


@each_mechanism
def test_nothing_else_acts_in_an_exact_motion(which):
    """The second moment is of fourth order in h, the first, all of the impulse, of fifth: fourth as a force."""
    make, y, rate = MECHANISMS[which]
    y, rate = exact(accelerations(make()), y, rate)
    assert np.abs(rate).min() > 0.02, "dry friction is never at its kink"
    coarse, fine = moments(make, y, rate)
    np.testing.assert_allclose(orders(coarse, fine), [5, 4], atol=0.3)
    # of torques of some 1 N m and of h = 0.02 s: a torque of 4e-4 N m in the second moment
    assert np.abs(coarse[:, 0]).max() < 1e-6
    assert np.abs(coarse[:, 1]).max() < 1e-5


TOP = RigidBody("top", 0.6, [[4e-3, 2e-4, 0], [2e-4, 3.5e-3, -1e-4], [0, -1e-4, 2e-3]], (0.02, 0.01, -0.15))
PIVOT = (0.1, -0.2, 0.3)


def spun(drag, level, omega):
    """Quaternions and angular velocities in the world of a body on a ball joint at `PIVOT`, by Euler's equations."""
    arm, J, m = np.array(TOP.center) - PIVOT, TOP.inertia_matrix, TOP.mass

    def slope(_, state):
        e, w = state[:4] / np.linalg.norm(state[:4]), state[4:]
        R = Rotation.from_quat(e).as_matrix()
        r = R @ arm
        inertia = R @ J @ R.T + m * (r @ r * np.eye(3) - np.outer(r, r))
        torque = np.cross(r, [0, 0, -9.81 * m]) - drag * w - level * np.sign(w)
        spin = 0.5 * np.append(e[3] * w + np.cross(w, e[:3]), -w @ e[:3])
        return np.append(spin, np.linalg.solve(inertia, torque - np.cross(w, inertia @ w)))

    start = np.append(Rotation.from_rotvec([1.0, -0.6, 0.4]).as_quat(), omega)
    found = solve_ivp(slope, (0, DURATION), start, "DOP853", AT_HALF, rtol=1e-12, atol=1e-12)
    return Rotation.from_quat(found.y[:4].T), found.y[4:].T


def on_ball(ends=("world", "top")):
    return Mechanism([TOP], [Ball("hook", *ends, point=PIVOT, drag=4e-3, friction=Coulomb(2e-3))])


def held_by_the_body():
    """The same joint, with the world as its child."""
    return on_ball(("top", "world"))


def tossed():
    return Mechanism([TOP], [Free("air", "world", "top", point=PIVOT)])


@pytest.mark.parametrize("make", [on_ball, held_by_the_body])
def test_nothing_else_acts_on_a_ball_that_turns_several_times(make):
    """At 40 rad/s, more than a turn: the rotation vector jumps. Friction by direction, along the parent's axes."""
    reverse = make is held_by_the_body
    e, omega = spun(4e-3, 0.0 if reverse else 2e-3, (6.0, -4.0, 40.0))
    y = e.as_rotvec()
    assert np.abs(np.diff(y, axis=0)).max() > 3 and np.abs(omega).min() > 0.05
    if reverse:  # friction along the body's axes would be another one
        y, omega = -y, -e.inv().apply(omega)
        make = frictionless_reversed
    coarse, fine = moments(make, y, omega)
    np.testing.assert_allclose(orders(coarse, fine), [5, 4], atol=0.4)
    # a thousandth of momenta of some 0.8 N m s, in steps of 0.8 rad
    assert np.abs(coarse[:, 0]).max() < 1e-3


def frictionless_reversed():
    return Mechanism([TOP], [Ball("hook", "top", "world", point=PIVOT, drag=4e-3)])


def test_nothing_else_acts_on_a_body_in_flight():
    """Its centre of mass falls, and it turns without torque."""
    arm, J = np.array(TOP.center) - PIVOT, TOP.inertia_matrix

    def slope(_, state):
        e, w = state[:4] / np.linalg.norm(state[:4]), state[4:]
        R = Rotation.from_quat(e).as_matrix()
        spin = 0.5 * np.append(e[3] * w + np.cross(w, e[:3]), -w @ e[:3])
        inertia = R @ J @ R.T
        return np.append(spin, np.linalg.solve(inertia, -np.cross(w, inertia @ w)))

    start = [0, 0, 0, 1, 9.0, -12.0, 15.0]
    found = solve_ivp(slope, (0, DURATION), start, "DOP853", AT_HALF, rtol=1e-12, atol=1e-12).y.T
    e, omega = Rotation.from_quat(found[:, :4]), found[:, 4:]
    centre = np.outer(AT_HALF, [1.0, 0.5, 3.0]) - np.outer(AT_HALF**2 / 2, [0, 0, 9.81])
    velocity = [1.0, 0.5, 3.0] - np.outer(AT_HALF, [0, 0, 9.81])
    y = np.concatenate([centre - e.apply(arm) + arm, e.as_rotvec()], axis=1)
    rate = np.concatenate([velocity - np.cross(omega, e.apply(arm)), omega], axis=1)
    coarse, fine = moments(tossed, y, rate)
    np.testing.assert_allclose(orders(coarse, fine), [5, 4], atol=0.4)
    # of a weight whose impulse in a step is 0.1 N s
    assert np.abs(coarse).max() < 1e-3


@pytest.mark.parametrize("which", ["hinge", "double pendulum"])
def test_what_else_acts_is_told_by_its_moments(which):
    """A torque that the mechanism does not know: int f dt and sqrt(3) 2/h int f (t - t_m) dt."""
    make, y, rate = MECHANISMS[which]
    size = 0.2 * (1 + np.arange(len(y)))

    def f(t):
        return size * (0.5 + np.sin(10 * t))

    y, rate = exact(accelerations(make(), f), y, rate)
    both = []
    for times, found in zip((AT_H, AT_HALF), moments(make, y, rate), strict=True):
        expected = np.array([_moments_of(f, a, b) for a, b in pairwise(times)])
        both.append(found - expected)
    np.testing.assert_allclose(orders(*both), [5, 4], atol=0.4)
    size = np.abs(expected).max(axis=(0, 2))  # over steps of H / 2
    assert (np.abs(both[1]).max(axis=(0, 2)) < [1e-3, 0.1] * size).all()


def _moments_of(f, a, b):
    """(2, n) by quadrature."""
    middle = (a + b) / 2
    first = [quad(lambda t, k=k: f(t)[k], a, b)[0] for k in range(len(f(0)))]
    second = [quad(lambda t, k=k: f(t)[k] * (t - middle), a, b)[0] for k in range(len(f(0)))]
    return np.array([first, np.sqrt(3) * 2 / (b - a) * np.array(second)])


def test_moments_of_white_forces_are_independent_and_as_large():
    """Of an impulse at some time of a step of a free carriage; white forces have them at all times.

    sum over n times of moments times moments^T / n is diag(1, 1 - 1 / n^2).
    """
    model, n = mechanisms.carriage().model(), 100
    speed = 1 / model.mechanism.bodies[0].mass
    way = speed * H * (np.arange(n) + 0.5) / n

    def moments(way):
        ends = (jnp.zeros(1), jnp.zeros(1)), (way[None], jnp.array([speed]))
        return model.reduced_errors(*ends, jnp.zeros(0), model.theta, H)[:, 0]

    each = evaluated(jax.vmap(moments), way)
    np.testing.assert_allclose(each.T @ each / n, np.diag([1, 1 - 1 / n**2]), atol=1e-12)


@pytest.mark.parametrize(
    ("rate", "force"),
    [(-1.0, 300.0), (-0.5, 250.0), (0.4, -400.0), (-0.3, 50.0), (0.2, 0.0), (0.3, 20.0), (1.0, -30.0)],
)
def test_a_step_in_which_a_carriage_stops_or_reverses_is_exact(rate, force):
    """Under a constant force: it goes back where the force exceeds friction, rests where not, or goes on."""
    level, stick = 80.0, 1e9
    model = mechanisms.carriage(Coulomb(level, stick_drag=stick), Motor(1.0)).model()
    mass = model.mechanism.bodies[0].mass
    before = (force - np.sign(rate) * level) / mass
    stops = -rate / before
    if 0 < stops < H:
        after = np.sign(force) * max(abs(force) - level, 0.0) / mass
        way, end = rate * stops / 2 + after * (H - stops) ** 2 / 2, after * (H - stops)
        end += force / stick if after == 0 else 0.0  # it creeps with the force
    else:
        way, end = rate * H + before * H**2 / 2, rate + before * H

    def moments(way, end):
        ends = (jnp.zeros(1), jnp.array([rate])), (way[None], end[None])
        return model.reduced_errors(*ends, jnp.array([force]), model.theta, H)[:, 0]

    assert np.abs(evaluated(moments, np.array(way), np.array(end))).max() < 1e-5 * level * H


def test_friction_takes_the_load_of_the_bearing():
    """A pendulum's bearing carries m (a - g); the size is |its vertical part| + |its horizontal part|."""
    mass, length, inertia, mu, radius = 0.5, 0.3, 4e-3 + 0.5 * 0.3**2, 0.1, 0.05

    def acceleration(_, y, rate):
        s, c, found = np.sin(y), np.cos(y), np.zeros(1)
        for _ in range(30):  # the load asks for the acceleration, of which it changes a little
            sideways = mass * length * (found * c - rate**2 * s)
            upwards = mass * (length * (found * s + rate**2 * c) + 9.81)
            load = radius * (np.abs(sideways) + np.abs(upwards))
            found = -(mass * 9.81 * length * s + mu * load * np.sign(rate)) / inertia
        return found

    y, rate = exact(acceleration, (-1.2,), (2.0,))
    assert y.max() < -0.1 and rate.min() > 1.0, "no kink: the horizontal part changes its sign at the bottom"
    coarse, fine = moments(rubbing_pendulum, y, rate)
    np.testing.assert_allclose(orders(coarse, fine), [5, 4], atol=0.4)
    # the friction's own impulse is some h 0.1 0.05 5 = 5e-4
    assert np.abs(coarse[:, 0]).max() < 1e-7
    assert np.abs(coarse[:, 1]).max() < 1e-6


def rubbing_pendulum():
    return mechanisms.pendulum(LoadDependent(0.1, 0.05))


@pytest.mark.parametrize("compliance", [1e-3, 1e-5, 1e-9, 1e-12])
def test_implicit_errors_stay_bounded_where_explicit_ones_do_not(compliance, rng):
    """An error of 1e-4 in the state that follows, across the constraints: explicit errors grow like 1 / compliance."""
    stiffness = {"compliance": compliance, "rotation_compliance": compliance, "relaxation": 0.02}
    model = mechanisms.furuta(**stiffness).model()
    x = mechanisms.shaken(model, rng, 0.0)
    off = 1e-4 * rng.standard_normal((2, 6))
    h, u = 1e-2, np.zeros(0)

    def errors(x):
        y = model.step(x, u, model.theta, h)
        y = y._replace(velocity=y.velocity + off)
        explicit = model.impulse_errors(x, y, u, model.theta, h)[0]
        return explicit, model.implicit_errors(x, y, u, model.theta, h)[0], model.mass_matrix(x, model.theta)

    explicit, implicit, M = evaluated(errors, x)
    np.testing.assert_allclose(implicit.ravel(), M @ off.ravel(), atol=1e-10)
    stiff = 1e-4 * h**2 / (4 * compliance / 9)
    assert np.abs(explicit).max() > 0.05 * stiff
    assert np.abs(implicit).max() < 1e-3


@pytest.mark.parametrize("soft", [0.0, 3.0])
def test_slopes_of_the_moments_are_finite_differences(soft, rng):
    """Creeping and sliding: both laws of dry friction, in all states, the control, and numbers of every kind."""
    names = ["arm.Jzz", "arm.mass", "pendulum.cz", "pendulum.Jyy", "shoulder.drag", "shoulder.coulomb",
             "elbow.friction", "shoulder.gain", "shoulder.shaft_inertia", "world.tilt_y"]  # fmt: skip
    model = furuta(mechanisms.SOFT).model(names)
    start = np.concatenate([rng.standard_normal(8), [0.5], model.theta])
    y, rate, y_after, rate_after, u, theta = np.split(np.arange(len(start)), [2, 4, 6, 8, 9])

    def balance(d):
        s = start + d
        ends = (s[y], s[rate]), (s[y_after], s[rate_after])
        return model.balance(*ends, s[u], s[theta], 1e-2, jnp.full(2, soft)).without_forces()

    _, exact, difference = slopes(balance, len(start))
    size = np.abs(exact).max(axis=0)
    assert (np.abs(exact - difference) < 1e-7 * size).all()
    assert (np.abs(exact).max(axis=(1, 2)) > 0).all()


def test_slopes_at_balls_are_finite_differences(rng):
    """A ball on a slider and a hinge on the ball, in all states and numbers of several kinds."""
    bodies = [
        TOP,
        RigidBody("car", 1.0, (0.01, 0.01, 0.01)),
        RigidBody("tip", 0.3, (2e-3, 2e-3, 2e-3), (0, 0.1, -0.3)),
    ]
    joints = [
        Hinge("end", "top", "tip", point=(0, 0, -0.2), axis=(1, 1, 0)),
        Ball("hook", "car", "top", point=PIVOT, drag=4e-3, friction=Coulomb(0.5)),
        Slider("rail", "world", "car", axis=(1, 0, 0.2)),
    ]
    names = ["top.Jxy", "top.mass", "tip.cz", "hook.drag", "hook.coulomb", "world.tilt_x"]
    model = Mechanism(bodies, joints).model(names)
    n, structure = 5, model.structure
    q = evaluated(lambda y: reduced.configuration(structure, y), rng.standard_normal(n))
    rate, ahead = rng.standard_normal(n), 0.1 * rng.standard_normal(n)

    def balance(d):
        x, y = reduced.moved(structure, q, d[:n]), reduced.moved(structure, q, ahead + d[n : 2 * n])
        ends = (x, rate + d[2 * n : 3 * n]), (y, rate + d[3 * n : 4 * n])
        return model.reduced_errors(*ends, np.zeros(0), model.theta + d[4 * n :], 2e-2)

    _, exact, difference = slopes(balance, 4 * n + len(names))
    size = np.abs(exact).max(axis=0)
    assert (np.abs(exact - difference) < 1e-6 * size).all()
    assert (np.abs(exact).max(axis=(1, 2)) > 0).all()


def test_loose_bodies_and_loads_in_loops_have_no_reduced_balance():
    bodies = [RigidBody(name, 1.0, (0.1, 0.1, 0.1)) for name in ("a", "b")]
    first, second = Hinge("one", "world", "a"), Hinge("two", "a", "b", point=(1, 0, 0))
    nothing = np.zeros(3), np.zeros(3)
    for joints, reason in (
        ([first], "every body joined to the world"),
        (
            [
                first,
                second,
                Hinge(
                    "three", "b", "world", point=(2, 0, 0), friction=LoadDependent(0.1, 1.0, stick_drag=1e3)
                ),
            ],
            "friction without loads, or no loops",
        ),
    ):
        model = Mechanism(bodies, joints).model()
        with pytest.raises(InvalidModel, match=reason):
            model.reduced_errors(nothing, nothing, np.zeros(0), model.theta, 1e-3)
    looped = [first, second, Hinge("three", "b", "world", point=(2, 0, 0))]
    with pytest.raises(InvalidModel, match="is open by"):
        state_of(Mechanism(bodies, looped).model(), one=0.3)
