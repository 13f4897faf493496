"""End stops: steps against exact events, steps in contact, and a pendulum that hits its stops."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from poinsot.estimators.joint import JointEstimation, JointSmoothing, JointSmoothingProblem, Record
from poinsot.estimators.joint.contacts import StopContact, _bounce, _stop_position
from poinsot.estimators.joint.smoothing import compiled_linearizer
from poinsot.estimators.joint.stops import touching
from poinsot.exceptions import InvalidMethod, InvalidModel
from poinsot.models.maximal import Encoder, Hinge, Mechanism, Motor, RateSensor, RigidBody, Stops
from poinsot.project import Project

FREE = (
    "bob.Jxx",
    "pivot.drag",
    "pivot.lower_stop",
    "pivot.upper_stop",
    "pivot.stop_restitution",
)
LOWER, UPPER, RESTITUTION, DRAG, GAIN = -0.5, 0.7, 0.4, 0.05, 0.5
MASS, CENTER, INERTIA, SHAFT = 0.5, 0.3, 4e-3, 1e-3
H, NOISE = 0.01, 1e-4


@cache
def model():
    """A pendulum between two stops; one program for all tests."""
    stops = Stops(LOWER, UPPER)
    hinge = Hinge("pivot", "world", "bob", axis=(1, 0, 0), drag=DRAG, motor=Motor(GAIN, SHAFT), stops=stops)
    body = RigidBody("bob", MASS, (INERTIA, INERTIA, 1e-3), center=(0, 0, -CENTER))
    return Mechanism([body], [hinge], sensors=[Encoder("pivot")], name="pendulum").model(FREE)


def theta(**changed):
    values = np.array([INERTIA, DRAG, LOWER, UPPER, RESTITUTION])
    for name, value in changed.items():
        values[[each.endswith(f".{name}") for each in FREE].index(True)] = value
    return values


def bouncing(y, rate, u):
    """Coordinates and rates at the samples, by the scalar equation of motion up to each impact, from (y, rate)."""
    inertia, found = INERTIA + MASS * CENTER**2 + SHAFT, [(y, rate)]
    for command in u:
        left = H
        while left > 0:

            def slope(_, state, command=command):
                effort = GAIN * command - DRAG * state[1] - 9.81 * MASS * CENTER * np.sin(state[0])
                return state[1], effort / inertia

            events = [lambda _, s, e=end: s[0] - e for end in (LOWER, UPPER)]
            for event, direction in zip(events, (-1, 1), strict=True):
                event.terminal, event.direction = True, direction
            way = solve_ivp(slope, (0, left), (y, rate), events=events, rtol=1e-9, atol=1e-11)
            (y, rate), left = way.y[:, -1], left - way.t[-1]
            if way.status == 1:
                # off the stop by less than rounding, so that the next event is the next impact
                y, rate = np.clip(y, LOWER + 1e-10, UPPER - 1e-10), -RESTITUTION * rate
        found.append((y, rate))
    return np.array(found)


@cache
def swung():
    """Commands and the motion: of some forty impacts."""
    t = H * np.arange(600)
    u = 3.5 * np.sin(2 * np.pi * 0.7 * t) + 2.0 * np.sin(2 * np.pi * 1.9 * t + 1)
    return t, u, bouncing(0.1, 0.0, u[:-1])


def record(rng, readings=None):
    t, u, motion = swung()
    z = motion[:, :1] if readings is None else readings
    return Record("swung", t, u[:, None], z + NOISE * rng.standard_normal(z.shape))


def test_simulated_impacts_are_those_of_the_exact_motion():
    # a = 19 rad/s^2 near the stop and v = 2.6 rad/s: the mean speed is reached a h^2 / 8 v = 9e-5 s early, which moves
    # the motion after it by (1 + e) v = 3.6 and its speed by (1 + e) a = 27 times as much; 0.23 s are left
    form = compiled_linearizer(model(), "reduced").form
    exact = bouncing(0.5, 4.0, np.zeros(30))
    x = form.simulated(np.array([[0.5, 4.0]]), np.zeros((1, 30, 1)), np.full((1, 30), H), theta())[0]
    assert exact[:, 0].max() > UPPER - 2 * H and (np.diff(np.sign(exact[:, 1])) != 0).sum() == 1
    assert np.abs(x[:, 0] - exact[:, 0]).max() < 1e-3
    assert abs(x[-1, 1] - exact[-1, 1]) < 5e-3


def test_no_step_passes_a_stop(rng):
    form = compiled_linearizer(model(), "reduced").form
    start = np.column_stack([rng.uniform(LOWER, UPPER, 16), 20 * rng.standard_normal(16)])
    u = 10 * rng.standard_normal((16, 40, 1))
    x = form.simulated(start, u, np.full((16, 40), H), theta())
    assert (x[:, :, 0] >= LOWER - 1e-9).all() and (x[:, :, 0] <= UPPER + 1e-9).all()


def test_steps_in_maximal_coordinates_bounce_as_well():
    form = compiled_linearizer(model(), "implicit").form
    h, T = 1e-3, 256
    x = form.simulated(form.pack(np.array([[0.5]]), np.array([[4.0]]), theta()), np.zeros((1, T, 1)),
                       np.full((1, T), h), theta())[0]  # fmt: skip
    y, rate, _ = form.unpack(x, theta())
    before = np.flatnonzero(rate[:, 0] < 0)[0]
    assert y.max() <= UPPER + 1e-6
    assert rate[before, 0] == pytest.approx(-RESTITUTION * rate[before - 1, 0], rel=1e-2)


def test_steps_that_may_touch_a_stop():
    # extrapolated readings reach 1.1 between the third and the fourth, where neither is above 0.9
    z = np.array([0.2, 0.5, 0.8, 0.8, 0.5, 0.2, 0.95, 0.2])[:, None]
    of = Record("bounce", H * np.arange(8), np.zeros((8, 1)), z)
    touched = touching(model(), of, theta(), np.array([[-np.inf, 0.9]]))
    assert np.flatnonzero(touched).tolist() == [2, 5, 6]
    assert not touching(model(), of, theta(), np.array([[-np.inf, np.inf]])).any()


def test_arcs_meet_where_the_joint_bounced():
    # 1.0 at t = 0.02 with 2.0, and back with -1.0; accelerations -3 and 5
    before = np.array([1.0 - 2.0 * 0.02 - 3 * 0.02**2 / 2, 2.0 + 3 * 0.02, -3.0])
    after = np.array([1.0 - 1.0 * 0.03 + 5 * 0.03**2 / 2, -1.0 + 5 * 0.03, 5.0])
    found = _bounce(before, after, 0.05, None, NOISE)
    assert found is not None
    np.testing.assert_allclose([found.position, found.before, found.after], [1.0, 2.0, -1.0], atol=1e-9)


def solved(problem):
    return JointEstimation(JointSmoothing(weight=1e8, noise=(NOISE,))).solve(problem)


@cache
def estimated():
    begun = theta(Jxx=8e-3, drag=0.1, lower_stop=-0.6, upper_stop=0.75)
    of = record(np.random.default_rng(0))
    return solved(JointSmoothingProblem(model(), [of], begun, upper={"pivot.stop_restitution": 1.0}))


def test_parameters_of_a_pendulum_that_hits_its_stops():
    estimate = estimated()
    assert estimate.status.converged
    off, std = np.abs(estimate.values - theta()), estimate.std
    assert (off < 4 * std).all(), dict(zip(FREE, zip(off, std, strict=True), strict=True))
    assert (std < [6e-4, 2e-3, 1e-3, 1e-3, 0.05]).all(), std
    assert estimate.certificate().holds
    assert "end-stop" not in {finding.cause for finding in estimate.findings}


def test_stops_that_nobody_declared_are_found(rng):
    hinge = Hinge("pivot", "world", "bob", axis=(1, 0, 0), drag=0.06, motor=Motor(GAIN, SHAFT))
    body = RigidBody("bob", MASS, (5e-3, 5e-3, 1e-3), center=(0, 0, -CENTER))
    free = Mechanism([body], [hinge], sensors=[Encoder("pivot")], name="pendulum").model(FREE[:2])
    estimate = solved(JointSmoothingProblem(free, [record(rng)]))
    lower, upper = estimate.provenance.corrected
    assert lower.cause == upper.cause == "end-stop" and lower.corrected and upper.where == "pivot"
    assert "pivot meets a stop at -0.5 " in lower.message and "pivot meets a stop at 0.7 " in upper.message
    assert (np.abs(estimate.values - theta()[:2]) < 4 * estimate.std).all()


def test_a_stop_that_gives_way_is_known_with_its_give():
    """A hard floor at p + g (1 + e) v for a car that arrives with v is the same as one at p that gives way by g."""
    p, e, g, speeds = 0.3, 0.4, 4e-3, np.array([0.5, 1.0, 1.5, 2.0, 0.8, 1.7])
    contacts = [StopContact(p + g * (1 + e) * v, 1e-5, v, -e * v) for v in speeds.tolist()]
    position, give, weights = _stop_position(contacts, H)
    assert position.mean == pytest.approx(p, abs=4 * position.std)
    assert give.mean == pytest.approx(g, abs=4 * give.std + 1e-6)
    assert give.std < 0.02 * g and (weights > 0.9).all()


def test_a_stop_out_of_reach_is_not_determined(rng):
    t, u, _ = swung()
    form = compiled_linearizer(model(), "reduced").form
    far = theta(lower_stop=-3.0, upper_stop=3.0)
    x = form.simulated(np.array([[0.1, 0.0]]), 0.2 * u[None, :-1, None], np.full((1, len(t) - 1), H), far)[0]
    of = Record("gentle", t, 0.2 * u[:, None], x[:, :1] + NOISE * rng.standard_normal((len(t), 1)))
    fit = solved(JointSmoothingProblem(model(), [of], theta()))
    known = dict(zip(fit.names, fit.parameters.identifiable.tolist(), strict=True))
    assert known["bob.Jxx"] and known["pivot.drag"]
    assert not known["pivot.upper_stop"] and not known["pivot.lower_stop"]
    assert fit["pivot.upper_stop"] > x[:, 0].max() - 3 * NOISE  # at least the farthest reading
    notes = [finding for finding in fit.findings if finding.cause == "end-stop"]
    assert len(notes) == 2 and all("does not meet its" in finding.message for finding in notes)


def test_stops_of_a_joint_that_is_not_read(rng):
    hinge = Hinge("pivot", "world", "bob", axis=(1, 0, 0), stops=Stops(LOWER, UPPER))
    mechanism = Mechanism(
        [RigidBody("bob", MASS, (INERTIA,) * 3, (0, 0, -CENTER))], [hinge], sensors=[RateSensor("pivot")]
    )
    of = Record("rates", H * np.arange(20), np.zeros((20, 0)), rng.standard_normal((20, 1)))
    with pytest.raises(InvalidMethod, match="give a column of position"):
        solved(JointSmoothingProblem(mechanism.model(["bob.Jxx"]), [of]))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "lower or upper"),
        ({"lower": 1.0, "upper": 0.0}, "below the upper"),
        ({"upper": 1.0, "restitution": 1.5}, "from 0 to 1"),
    ],
)
def test_stops_that_are_none(given, words):
    with pytest.raises(InvalidModel, match=words):
        Stops(**given)


def test_the_example_declares_its_stops():
    mechanism = Project.load(Path(__file__).parents[3] / "examples/cart/job.toml").mechanism()
    assert mechanism.unknown_stops == ("rail.stop_restitution", "rail.stop_give")
    assert {"rail.lower_stop", "rail.upper_stop"} < set(mechanism.entries)
