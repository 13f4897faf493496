"""Residuals of impacts: derivatives, and their geometry against that of the models."""

import numpy as np
import pytest

from poinsot.estimators.impacts.collisions import (
    OWN,
    PARAMETERS,
    SHARED,
    ContactGeometry,
    Encounters,
    S,
    carried,
    lags,
    turning_share,
    unevenness,
)
from poinsot.estimators.impacts.flights import glide
from poinsot.models.planar import Ellipse, SmoothCurve, floor, rectangle
from poinsot.models.planar.body import contacts, wall_array

SHAPES = [rectangle(0.06, 0.05), Ellipse(0.05, 0.025), SmoothCurve(0.04, (2e-3,), (1e-3, 5e-4))]
SHARED_AT = np.array([6e-4, 1e-3, 5e-4, -3e-4, 0.02, 1e-3, 0.01, 4e-4, 5e-3, 2e-3, 0, -0.4, 0, 0, 0.4, 0.3])
UNEVEN = unevenness(-1.0, 1.0, 0.1)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_derivatives(rng, shape):
    I = 6
    first = rng.normal(size=(I, 6)) * [0.1, 0.1, 1, 1, 1, 10]
    second = first + rng.normal(size=(I, 6)) * [0.01, 0.01, 0.1, 1, 1, 10]
    since, brevity, above = rng.uniform(0, 4e-3, I), rng.uniform(0.5, 1, I), 1e-3 * rng.normal(size=I)
    until, part = 4e-3 - since, rng.integers(0, len(shape.parts), I)
    shared = np.append(SHARED_AT, 1e-4 * rng.normal(size=UNEVEN.modes.shape[1]))

    def at(z):
        states = (first + z[:6], second + z[8:14], since + z[6], until - z[6] + z[7], brevity, part, above)
        return Encounters(*states), shared + z[14:]

    step = np.concatenate([np.full(6, 1e-5), [1e-6, 1e-6], np.full(6, 1e-5), np.full(len(shared), 1e-6)])
    step[OWN] = 1e-8
    geometry = ContactGeometry(shape, floor(0.01, 0.1), 9.81, UNEVEN)

    def residuals(z):
        meeting, theta = at(z)
        return meeting.collide(theta, geometry).r

    meeting, theta = at(np.zeros(OWN + len(shared)))
    found = meeting.derivatives(theta, geometry)
    slopes = np.stack(
        [
            (residuals(h * e) - residuals(-h * e)) / (2 * h)
            for h, e in zip(step, np.eye(len(step)), strict=True)
        ],
        -1,
    )
    size = np.max(np.abs(slopes), axis=(0, 1)) + 1e-6
    assert np.max(np.abs(found - slopes) / size) < 1e-5


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_contact_is_that_of_the_models(rng, shape):
    """At one pose, without offsets, lag or jumps: the gap, and the moment of a unit impulse."""
    wall = floor(0.01, 0.2)
    shared = np.zeros(S)
    shared[0] = 1.0
    P = len(shape.parts)
    q = np.array([0.3, 0.05, rng.uniform(0, 6)])
    g, N, T = np.empty(P), np.empty((P, 3)), np.empty((P, 3))
    contacts(q, shape.parts, shape.harmonics, wall_array([wall]), g, N, T)
    first = np.tile(np.append(q, np.zeros(3)), (P, 1))
    zero, part = np.zeros(P), np.arange(P)
    states = (first, first, zero, zero, zero + 1, part, zero)
    hit = Encounters(*states).collide(shared, ContactGeometry(shape, wall, 0.0))
    np.testing.assert_allclose(hit.r[:, 3], g, atol=1e-15)
    np.testing.assert_allclose(hit.r[:, [0, 1, 2, 4]], 0, atol=1e-15)
    for direction, expected in ((hit.normal, N), (hit.tangent, T)):
        moment = hit.GQ[:, 0] * direction[1] - hit.GQ[:, 1] * direction[0]
        np.testing.assert_allclose(moment, expected[:, 2], atol=1e-15)


def test_a_body_struck_by_an_impulse_is_consistent(rng):
    shape, J = rectangle(0.06, 0.06), 5e-4
    c = np.array([0.3, 1.2])
    before = np.array([[0.0, 0.04, 0.5, 0.2, -1.0, 3.0]])
    shared = np.zeros(S)
    shared[0] = J
    zero, part = np.zeros(1), np.zeros(1, dtype=np.int64)
    geometry = ContactGeometry(shape, floor(), 9.81)
    GQ = Encounters(before, before, zero, zero, zero + 1, part, zero).collide(shared, geometry).GQ[0]
    after = before + np.array([0, 0, 0, *c, (GQ[0] * c[1] - GQ[1] * c[0]) / J])
    hit = Encounters(before, after, zero, zero, zero + 1, part, zero).collide(shared, geometry)
    assert hit.r[0, 4] == pytest.approx(0, abs=1e-10)
    np.testing.assert_allclose(hit.jump[0, :2], c)


def test_states_are_carried_as_flights_are(rng):
    state, T, drag = rng.normal(size=(3, 6)), np.array([3e-3, -2e-3, 0.0]), np.array([0.4, 0.0])
    there = carried(state, T, drag, 9.81)
    for i in range(3):
        for a in range(3):
            f, b, decay = glide(drag[int(a == 2)], T[i])
            fall = 9.81 if a == 1 else 0.0
            assert there[i, a] == pytest.approx(state[i, a] + f * state[i, 3 + a] - fall * b, abs=1e-12)
            assert there[i, 3 + a] == pytest.approx(decay * state[i, 3 + a] - fall * f, abs=1e-12)


def test_each_parameter_is_declared_once():
    assert len(set(SHARED)) == S == len(SHARED_AT)
    assert all(each.scale > 0 and each.lower < each.upper for each in PARAMETERS)


def test_a_stretched_square_is_a_rectangle():
    shared = np.zeros(S)
    shared[SHARED.index("corner_radius")], shared[SHARED.index("elongation")] = 5e-3, 0.01
    np.testing.assert_allclose(
        ContactGeometry(rectangle(0.06, 0.06), floor(), 9.81).parts(shared),
        rectangle(0.0606, 0.0594, 5e-3).parts,
        atol=1e-12,
    )


@pytest.mark.parametrize(("power", "depths"), [(0.0, (1.0, 2.0)), (-0.5, (1.0, 2**0.5)), (-1.0, (1.0, 1.0))])
def test_depth_by_speed(power, depths):
    """In proportion for a spring, the same for a wall under a layer; speeds well above `SLOW`."""
    shared = np.zeros(S)
    shared[7], shared[SHARED.index("lag_power")] = 1e-3, power
    u = -np.array([2.0, 4.0])
    depth = -u * lags(shared, np.ones(2), u)
    np.testing.assert_allclose(depth / depth[0], depths, rtol=2e-3)


@pytest.mark.parametrize("n", [2, 4])
def test_a_body_turns_on_while_force_acts(n):
    """A bounce off force ~ depth^(n - 1), by small steps: how far the angle's mean, weighted by force, is beyond where
    flights meet. That is half the mean difference of two moments drawn from the force."""
    x, v, step, depth = 0.0, 1.0, 1e-4, []
    while x >= 0:
        v -= 0.5 * n * x ** (n - 1) * step
        x += v * step
        depth.append(max(x, 0.0))
    force = np.array(depth) ** (n - 1) / np.sum(np.array(depth) ** (n - 1))
    lag = np.sum(force * np.arange(len(force)) * step)
    done = np.cumsum(force)
    assert np.sum(done * (1 - done)) * step / lag == pytest.approx(turning_share(2 / n - 1), rel=1e-3)
