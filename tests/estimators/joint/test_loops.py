"""Loops in joint coordinates, against the equations of a planar linkage with multipliers, whose tree is Pinocchio's."""

from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from models.maximal.test_model import pinocchios
from poinsot.estimators.joint import JointSmoothing, JointSmoothingProblem, Record
from poinsot.estimators.joint.closing import closed
from poinsot.estimators.joint.smoothing import compiled_linearizer
from poinsot.exceptions import InvalidModel
from poinsot.models.maximal import Ball, Encoder, Hinge, Mechanism, Motor, RigidBody, double_precision

A, D = np.zeros(2), np.array([0.5, 0.05])
B, C = np.array([0.03, 0.12]), np.array([0.45, 0.32])
DRAG = {"crank": 0.004, "pin": 0.002, "rocker": 0.003, "tip": 0.005}
OPEN = ("rocker_bar.Jyy", "crank.drag", "coupler_bar.cz")


def at(point):
    return (point[0], 0.0, point[1])


def bar(name, p, q, mass):
    middle = np.array(at((p + q) / 2)) + np.array([0.01, 0.0, 0.02])
    return RigidBody(name, mass, np.diag([1e-3, 2e-3, 1.5e-3]), middle)


def linkage(tip="ball", backwards=False):
    """A four-bar linkage in the plane y = 0; its last joint is a ball without friction, or a hinge with drag."""
    bodies = [bar("crank_bar", A, B, 0.3), bar("coupler_bar", B, C, 0.25), bar("rocker_bar", C, D, 0.4)]
    axis = {"axis": (0, 1, 0)}
    ends = ("rocker_bar", "coupler_bar") if backwards else ("coupler_bar", "rocker_bar")
    last = (
        Ball("tip", *ends, point=at(C))
        if tip == "ball"
        else Hinge("tip", *ends, point=at(C), drag=DRAG["tip"], **axis)
    )
    joints = [
        Hinge("crank", "world", "crank_bar", drag=DRAG["crank"], motor=Motor(1.0, 1e-3), **axis),
        Hinge("pin", "crank_bar", "coupler_bar", point=at(B), drag=DRAG["pin"], **axis),
        last,
        Hinge("rocker", "world", "rocker_bar", point=at(D), drag=DRAG["rocker"], **axis),
    ]
    return Mechanism(bodies, joints, sensors=[Encoder("crank")])


def turned(angle, v):
    """A turn about y, which takes z to x."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, s], [-s, c]]) @ v


def gap(q):
    """Of crank, pin and rocker: between the tips of coupler and rocker."""
    coupler = A + turned(q[0], B - A) + turned(q[0] + q[1], C - B)
    return coupler - D - turned(q[2], C - D)


def jacobian(q):
    """By complex steps."""
    return np.array([gap(q + 1e-30j * e).imag / 1e-30 for e in np.eye(3)]).T


@cache
def exact(tip="ball", torque=0.3, steps=200, h=0.005):
    """Times, coordinates of crank, pin and rocker, and their rates."""
    mechanism = linkage(tip)
    chain = Mechanism(mechanism.bodies, [j for j in mechanism.joints if j.name != "tip"])
    model = pinocchios(chain)
    data = model.createData()
    drags = np.diag([DRAG["crank"], DRAG["pin"], DRAG["rocker"]])
    if tip == "hinge":
        rate = np.array([1.0, 1.0, -1.0])
        drags = drags + DRAG["tip"] * np.outer(rate, rate)

    def slope(t, state):
        q, v = state[:3], state[3:]
        M, bias = pin.crba(model, data, q), pin.nle(model, data, q, v)
        M = np.triu(M) + np.triu(M, 1).T
        J = jacobian(q)
        change = (jacobian(q + 1e-6 * v) - jacobian(q - 1e-6 * v)) / 2e-6
        force = np.array([torque * np.cos(6 * t), 0.0, 0.0]) - drags @ v - bias
        whole = np.block([[M, -J.T], [J, np.zeros((2, 2))]])
        stable = -change @ v - 20 * J @ v - 100 * gap(q)
        return np.concatenate([v, np.linalg.solve(whole, np.concatenate([force, stable]))[:3]])

    times = np.arange(steps + 1) * h
    found = solve_ivp(slope, (0, times[-1]), np.zeros(6), "DOP853", times, rtol=1e-11, atol=1e-11).y
    return times, found[:3].T, found[3:].T


def states(form, y, rate, tip):
    """Coordinates in the order of the joints: crank, pin, tip if it is a hinge, rocker."""
    if tip == "hinge":
        sign = -1.0 if form.model.mechanism.joints[2].parent == "rocker_bar" else 1.0
        y, rate = (
            np.column_stack([x[:, :2], sign * (x[:, 2] - x[:, 0] - x[:, 1]), x[:, 2]]) for x in (y, rate)
        )
    return form.pack(y, rate, form.model.theta)


@pytest.mark.parametrize(
    ("tip", "backwards"), [("ball", False), ("ball", True), ("hinge", False), ("hinge", True)]
)
def test_nothing_else_acts_in_an_exact_motion(tip, backwards):
    """The second moment is of fourth order in h, the first of fifth or less than rounding."""
    mechanism = linkage(tip, backwards)
    form = compiled_linearizer(mechanism.model(OPEN), "reduced").form
    assert form.n == (3 if tip == "ball" else 4)
    times, y, rate = exact(tip, torque=0.0)
    x, theta, sizes = states(form, y, rate, tip), form.model.theta, []
    for stride in (4, 2):
        rows = x[::stride]
        h, zero = np.full(len(rows) - 1, stride * times[1]), np.zeros((len(rows) - 1, 1))
        e = form.linearized((rows[:-1], rows[1:], zero, zero, h), theta)[0][:, : form.rows]
        sizes.append(np.sqrt(np.mean(e.reshape(-1, 2, form.n) ** 2, axis=(0, 2))))
    order = np.log2(sizes[0] / sizes[1])
    assert order[0] > 4.5 and order[1] == pytest.approx(4.0, abs=0.3), (order, sizes)
    assert not np.abs(form.start_linearized(x[7], theta, 1.0)[0]).max() > 1e-7

    # any change of one coordinate, or one rate, opens the loop
    for k in range(form.degrees):
        d = np.zeros(form.degrees)
        d[k] = 1e-3
        away = form.moved(x[7:8], d[None])[0]
        assert np.abs(form.start_linearized(away, theta, 1.0)[0]).max() > 1e-6


@pytest.mark.parametrize("tip", ["ball", "hinge"])
def test_slopes_are_finite_differences(tip, rng):
    form = compiled_linearizer(linkage(tip).model(OPEN), "reduced").form
    _, y, rate = exact(tip)
    x, theta = states(form, y, rate, tip)[:21:5], form.model.theta
    x = form.moved(x, 1e-3 * rng.standard_normal((len(x), form.degrees)))
    u, z, h = rng.standard_normal((len(x), 1)), rng.standard_normal((len(x), 1)), np.full(len(x), 0.02)
    after = np.concatenate([x[1:], x[-1:]])

    def errors(d_0=0.0, d_1=0.0, d_theta=0.0):
        ends = (
            form.moved(part, np.zeros((len(x), form.degrees)) + d) for part, d in ((x, d_0), (after, d_1))
        )
        return form.linearized((*ends, u, z, h), theta + d_theta)[0]

    e, *slopes = form.linearized((x, after, u, z, h), theta)
    for place, slope in zip(("d_0", "d_1", "d_theta"), slopes, strict=True):
        for k in range(slope.shape[2]):
            d = 1e-6 * np.eye(slope.shape[2])[k] * (theta[k] if place == "d_theta" else 1.0)
            difference = (errors(**{place: d}) - errors(**{place: -d})) / (2 * d[k])
            scale = np.abs(slope).max(axis=(0, 2)) + 1e-9
            assert (np.abs(slope[:, :, k] - difference) < 1e-5 * scale).all(), (place, k)
    # and the functions that JAX compiles
    own = np.asarray(double_precision(form.step_errors)(x[0], after[0], u[0], theta, h[0]))
    np.testing.assert_allclose(own, e[0, : form.rows], atol=1e-4 * np.abs(own).max())


def test_a_simulation_closes_its_loops():
    form = compiled_linearizer(linkage().model(OPEN), "reduced").form
    times, y, rate = exact(torque=0.0)
    x, h = states(form, y, rate, "ball"), np.diff(times)[None]
    found = form.simulated(x[:1], np.zeros((1, h.size, 1)), h, form.model.theta)[0]
    np.testing.assert_allclose(found[:, :3], y, atol=1e-5)
    assert max(np.abs(gap(q)).max() for q in found[:, :3]) < 1e-9


def test_coordinates_of_a_loop_follow_from_one():
    model = linkage().model(OPEN)
    times, y, rate = exact()
    read = np.array([True, False, False])
    found, rates = closed(model, model.theta, y * read, read, np.diff(times))
    np.testing.assert_allclose(found, y, atol=1e-7)
    np.testing.assert_allclose(rates[1:-1], rate[1:-1], atol=0.05)


def test_parameters_of_a_loop(rng):
    times, y, _ = exact(steps=400)
    u = 0.3 * np.cos(6 * times)
    # the command is held over a step in the model
    held = np.append((u[1:] + u[:-1]) / 2, u[-1])
    z = y[:, :1] + 2e-4 * rng.standard_normal((len(y), 1))
    record = Record("swing", times, held[:, None], z)
    start = linkage().starting({"rocker_bar.Jyy": 3e-3, "crank.drag": 0.006, "coupler_bar.cz": 0.25})
    method = JointSmoothing(weight=1e11, noise=(2e-4,))
    fit = method.solve(JointSmoothingProblem(start.model(OPEN), [record]))
    truth = linkage().model(OPEN).theta
    assert fit.converged
    assert (np.abs(fit.theta - truth) < 3 * fit.robust_std).all(), (fit.theta, truth, fit.robust_std)
    assert (fit.robust_std < 0.05 * np.abs(truth)).all()


def test_torque_in_a_ball_that_has_no_coordinates():
    with pytest.raises(InvalidModel, match=r"tip\.drag is free, but tip closes a loop"):
        linkage().model(["tip.drag"])
    rubbing = linkage().starting({"tip.drag": 0.01})
    names = [name for name, _ in rubbing.coordinates]
    assert names == ["crank", "pin", "tip.x", "tip.y", "tip.z", "rocker"]
    rubbing.model(["tip.drag"])
