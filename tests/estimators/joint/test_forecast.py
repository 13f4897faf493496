"""Motions predicted from commands: the band holds readings as often as it says, of draws that know nothing of it."""

from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimators.joint import JointSmoothing
from poinsot.estimators.joint.forecast import forecast
from poinsot.estimators.joint.problem import Record
from poinsot.estimators.joint.smoothing import compiled_linearizer
from poinsot.exceptions import InvalidSignals
from poinsot.models.maximal import Coulomb, Encoder, Hinge, Mechanism, Motor, RigidBody, Slider

H, N, READ = 0.01, 100, 40
NOISE, STD = 1e-3, np.array([1e-3, 0.02])


@pytest.fixture(scope="module")
def model():
    """A cart with a pendulum."""
    cart = RigidBody("cart", 1.0, np.diag([0.01, 0.01, 0.01]), (0, 0, 0))
    bob = RigidBody("bob", 0.3, np.diag([2e-3, 2e-3, 1e-3]), (0, 0, -0.25))
    rail = Slider(
        "rail", "world", "cart", axis=(1, 0, 0), drag=0.5, friction=Coulomb(0.3), motor=Motor(1.0, unit="N")
    )
    pivot = Hinge("pivot", "cart", "bob", axis=(0, 1, 0), drag=0.002)
    mechanism = Mechanism([cart, bob], [rail, pivot], sensors=[Encoder("rail", zero=0.02), Encoder("pivot")])
    return mechanism.model(["bob.Jyy", "rail.drag"])


@pytest.fixture(scope="module")
def drawn(model):
    """Records with readings to `READ`, and true readings, of mechanisms drawn by the covariance."""
    rng, form = np.random.default_rng(8), compiled_linearizer(model, "reduced").form
    t, found = H * np.arange(N), []
    u = 4 * np.sin(9 * t)[:, None]
    for _ in range(12):
        theta = model.theta + STD * rng.standard_normal(2)
        x = np.array([[0.0, 0.6, 0.2, -1.0]]) + 0.1 * rng.standard_normal((1, 4))
        states = form.simulated(x, u[None, :-1], np.full((1, N - 1), H), theta)[0]
        exact = form.read(states, theta)
        z = exact + NOISE * rng.standard_normal(exact.shape)
        found.append((Record("run", t, u, np.where(t[:, None] < READ * H, z, np.nan)), z, states))
    return found


def test_the_band_holds_readings(model, drawn):
    method, inside, zero = JointSmoothing(weight=1e10, noise=(NOISE, NOISE)), [], np.array([0.02, 0.0])
    for record, z, states in drawn:
        motion = forecast(method, model, record, model.theta, np.diag(STD**2))
        assert motion.until == READ and motion.is_fine
        inside.append((motion.readings_low < z) & (z < motion.readings_high))
        np.testing.assert_allclose(motion.readings, motion.coordinates + zero, atol=1e-12)
        np.testing.assert_allclose(motion.low + zero, motion.readings_low, atol=0.02)
        np.testing.assert_allclose(motion.coordinates[:READ], states[:READ, :2], atol=0.02)
    inside = np.array(inside)
    # errors of a motion belong together, so that twelve motions determine these shares to 0.02
    assert 0.9 < inside[:, :READ].mean() < 0.99
    assert 0.9 < inside[:, READ:].mean() < 0.99


def test_bands_grow_with_what_is_not_known(model, drawn):
    method, record = JointSmoothing(weight=1e10, noise=(NOISE, NOISE)), drawn[0][0]
    widths = []
    for weight, covariance in ((1e10, np.zeros((2, 2))), (1e10, np.diag(STD**2)), (1e5, np.zeros((2, 2)))):
        motion = forecast(replace(method, weight=weight), model, record, model.theta, covariance)
        widths.append((motion.high - motion.low)[-20:, 1].mean())
    assert widths[0] > 2 * 1.9 * NOISE
    assert widths[1] > 2 * widths[0] and widths[2] > 2 * widths[0]


def test_a_state_needs_readings(model, drawn):
    record = drawn[0][0]
    z = record.z.copy()
    z[3] = np.nan
    with pytest.raises(InvalidSignals, match="begins with 3 rows of readings"):
        forecast(JointSmoothing(), model, replace(record, z=z), model.theta, np.zeros((2, 2)))
