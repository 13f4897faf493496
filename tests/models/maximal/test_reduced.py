import jax
import numpy as np
import pinocchio as pin
import pytest

from models.maximal import mechanisms
from models.maximal.test_impulses import evaluated, slopes
from models.maximal.test_model import MECHANISMS, pinocchios
from poinsot.exceptions import InvalidModel
from poinsot.models.maximal import Coulomb, Hinge, LoadDependent, Mechanism, Motor, RigidBody


@pytest.mark.parametrize("which", MECHANISMS)
def test_the_reduced_balance_is_inverse_dynamics(which, rng):
    """Over h, as h goes to 0, it is Pinocchio's torque: the error halves with h."""
    model = MECHANISMS[which][0]().model()
    other = pinocchios(model.mechanism)
    data = other.createData()
    u = np.zeros(model.structure.controls)
    y, rate, acceleration = rng.standard_normal((3, 2))
    torque = pin.rnea(other, data, y, rate, acceleration)
    errors = []
    for h in (1e-4, 5e-5):
        after = rate + h * acceleration
        impulse = evaluated(
            lambda a, h=h: model.reduced_error((y, rate), a, u, model.theta, h), (y + h * after, after)
        )
        errors.append(np.abs(impulse / h - torque).max())
    scale = np.abs(torque).max()
    assert errors[0] < 1e-2 * scale
    assert errors[1] == pytest.approx(errors[0] / 2, rel=0.05)


def furuta(stiffness):
    return mechanisms.furuta(
        drag=(1e-3, 1e-4),
        friction=(Coulomb(0.01), LoadDependent(1e-3, 1.0, stick_drag=1e3)),
        motor=Motor(0.1, 1e-4),
        **stiffness,
    )


def test_a_stiff_step_balances():
    """What SPOOK does with compliance 1e-12 is what the reduced balance asks for, to the order of the step."""
    model = furuta(mechanisms.STIFF).model()
    x = model.state(shoulder=0.3, elbow=2.0, rates={"shoulder": 1.0, "elbow": -2.0})
    size = []
    for h in (1e-3, 5e-4):
        states = model.simulate(x, h, 200, u=np.full((200, 1), 0.5)).states
        y, rate = model.joint_motion(states)

        def balance(before, after, h=h):
            return model.reduced_error(before, after, np.array([0.5]), model.theta, h)

        errors = evaluated(jax.vmap(balance), (y[:-1], rate[:-1]), (y[1:], rate[1:])) / h
        size.append(np.abs(errors[50 : round(0.1 / h)]).max())
    # of torques of some 0.1 N m: friction 0.01, motor 0.05, weight 0.4
    assert size[0] < 4e-3
    assert 1.7 < size[0] / size[1] < 2.3


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


def test_slopes_of_the_reduced_balance_are_finite_differences(rng):
    mechanism = furuta(mechanisms.SOFT)
    names = ["arm.Jzz", "arm.mass", "pendulum.cz", "pendulum.Jyy", "shoulder.drag", "shoulder.coulomb",
             "elbow.friction", "shoulder.gain", "shoulder.shaft_inertia", "world.tilt_y"]  # fmt: skip
    model = mechanism.model(names)
    start = np.concatenate([rng.standard_normal(8), [0.5], model.theta])

    def balance(d):
        y, rate, y_after, rate_after, u, theta = np.split(np.arange(len(start)), [2, 4, 6, 8, 9])
        s = start + d
        return model.reduced_error((s[y], s[rate]), (s[y_after], s[rate_after]), s[u], s[theta], 1e-2)

    _, exact, difference = slopes(balance, len(start))
    assert np.abs(exact - difference).max() < 1e-8 * np.abs(exact).max()
    assert (np.abs(exact).max(axis=1) > 0).all()


def test_loops_and_loose_bodies_have_no_reduced_balance():
    bodies = [RigidBody(name, 1.0, (0.1, 0.1, 0.1)) for name in ("a", "b")]
    loose = Mechanism(bodies, [Hinge("one", "world", "a")]).model()
    loop = Mechanism(bodies, [Hinge("one", "world", "a"), Hinge("two", "a", "b", point=(1, 0, 0)),
                              Hinge("three", "b", "world", point=(2, 0, 0))]).model()  # fmt: skip
    nothing = np.zeros(3), np.zeros(3)
    with pytest.raises(InvalidModel, match="every body joined to the world"):
        loose.reduced_error(nothing, nothing, np.zeros(0), loose.theta, 1e-3)
    with pytest.raises(InvalidModel, match="without loops"):
        loop.reduced_error(nothing, nothing, np.zeros(0), loop.theta, 1e-3)
    with pytest.raises(InvalidModel, match="is open by"):
        loop.state(one=0.3)
