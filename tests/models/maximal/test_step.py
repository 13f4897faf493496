import jax
import jax.numpy as jnp
import numpy as np
import pytest

from models.maximal import mechanisms
from models.maximal.test_impulses import evaluated, slopes
from poinsot.models.maximal import (
    Coulomb,
    LoadDependent,
    Mechanism,
    Motor,
    RigidBody,
    impulses,
    lcp,
)
from poinsot.models.maximal.bodies import State, minus, plus
from poinsot_reproductions.discrete.rollout import simulate, state_of

H = 1e-2


@pytest.fixture(scope="module")
def everything():
    return mechanisms.everything().model()


def dense_step(model, x, u, h):
    """2.26 with every row in it, F.2 and F.3 too, as one matrix; its modes are asked of the step itself."""
    moving = model.structure.moving

    def parts(x):
        here = model.at(x, model.theta)
        values, joint = here.values, moving // 6
        p = impulses.inertia_times(here, x.velocity) + h * impulses.forces(here)
        F = impulses.picked(here.jacobians[1], moving)
        A, B = impulses.bilateral_rows(here, h), impulses.unilateral_rows(here, h)
        tau = impulses.drive(model.structure, values, u)[joint, 0]
        return impulses.mass_matrix(here), jnp.ravel(p), F, values.drag[joint], values.shaft[joint], tau, A, B

    return evaluated(parts, x)


@pytest.mark.parametrize("seed", range(3))
def test_a_step_solves_the_whole_system(everything, seed):
    """Eqs. 2.26, F.2 and F.3 before anything is eliminated, with the active set that the step's impulses show."""
    rng = np.random.default_rng(seed)
    model = everything
    x = mechanisms.shaken(model, rng, 1e-4)
    u = np.array([0.5, -1.0])
    M, p, F, drag, shaft, tau, (A, Sigma_A, a), (B, Sigma_B, b) = dense_step(model, x, u, H)
    after, report = evaluated(lambda x: model.step_with_report(x, u, model.theta, H), x)
    assert report.method in (lcp.LEMKE, lcp.TRIVIAL)
    v = after.velocity.ravel()

    # drag rows (F.2) and motor rows (F.3), their multipliers known from v+
    y, y_after = F @ x.velocity.ravel(), F @ v
    by_drag, by_motor = -H * drag * y_after, shaft * (y - y_after) + H * tau
    rest = M @ v - p - F.T @ (by_drag + by_motor)  # what lambda_A and lambda_B gave
    lambda_A = np.linalg.solve(Sigma_A, a - A @ v)
    given = rest - A.T @ lambda_A
    # lambda_B from its own conditions at v+: unique, as Sigma_B is regular
    z = evaluated(lcp.solve, Sigma_B, B @ v - b).z
    scale = np.abs(M @ v).max() + np.abs(p).max()
    np.testing.assert_allclose(B.T @ z, given, atol=1e-9 * scale)


def test_forward_and_inverse_undo_each_other(everything, rng):
    """The step's velocity takes no external impulse, whichever way it is asked."""
    states = mechanisms.shaken(everything, rng, 1e-4, count=50)
    u = np.array([0.2, 1.0])

    def there_and_back(x):
        y, report = everything.step_with_report(x, u, everything.theta, H)
        errors = everything.impulse_errors(x, y, u, everything.theta, H)
        return y, errors, everything.implicit_errors(x, y, u, everything.theta, H), report

    y, explicit, implicit, report = evaluated(jax.vmap(there_and_back), states)
    assert (report.method != lcp.FAILED).all()
    scale = np.abs(y.velocity).max()
    # 1e-13 of velocities, over Sigma of some 1e-2: the configuration's are differences of positions over h
    assert np.abs(explicit[0]).max() < 1e-10 * scale
    assert np.abs(explicit[1]).max() < 1e-9 * scale
    assert max(np.abs(part).max() for part in implicit) < 1e-11 * scale


def test_external_impulse_is_projected_mass_times_velocity_error(rng):
    """3.13, without friction."""
    model = mechanisms.furuta(drag=(1e-3, 1e-4), motor=Motor(1.0, 1e-4)).model()
    x = mechanisms.shaken(model, rng)
    dv = 1e-3 * rng.standard_normal((2, 6))

    def both(x):
        y = model.step(x, np.zeros(1), model.theta, H)
        impulse = impulses.external_impulse(model.at(x, model.theta), y.velocity + dv, np.zeros(1), H)
        return jnp.ravel(impulse), model.projected_mass(x, model.theta, H) @ jnp.ravel(dv)

    one, other = evaluated(both, x)
    np.testing.assert_allclose(one, other, atol=1e-9 * np.abs(other).max())


def test_slopes_of_a_step_are_finite_differences(rng):
    """Of x_{k+1} by x_k, u and theta, through friction that slides and a contact that presses."""
    mechanism = mechanisms.pusher()
    names = ["car.mass", "pole.Jxy", "pole.cx", "pivot.friction", "rail.coulomb", "rail.drag", "rail.gain",
             "rail.shaft_inertia", "world.tilt_x", "pivot.compliance", "tip.friction"]  # fmt: skip
    model = mechanism.model(names)
    x = mechanisms.shaken(model, rng, 1e-4)
    u = np.array([0.5])
    l = len(mechanism.bodies)
    sizes = np.cumsum([12 * l, len(u)])

    def after(d):
        d_x, d_u, d_theta = jnp.split(d, sizes)
        theta = model.theta + np.maximum(np.abs(model.theta), 1e-3) * d_theta
        y = model.step(plus(State(*map(jnp.asarray, x)), d_x.reshape(l, 12)), u + d_u, theta, H)
        return jnp.ravel(minus(y, State(*map(jnp.asarray, base))))

    base = evaluated(lambda x: model.step(x, u, model.theta, H), x)
    size = sizes[-1] + len(names)

    _, exact, difference = slopes(after, size)
    assert np.abs(exact - difference).max() < 1e-7 * np.abs(exact).max()
    theta_slopes = np.abs(exact[sizes[-1] :]).max(axis=1)
    assert (theta_slopes > 0).all()


@pytest.mark.parametrize(("slope", "slides"), [(0.49, False), (0.51, True), (0.8, True)])
def test_a_block_slides_beyond_its_angle_of_friction(slope, slides):
    """mu = 0.5: at rest below tan = 0.5, and a = g (sin - mu cos) beyond."""
    tilt, mu = np.arctan(slope), 0.5
    model = BLOCKS.setdefault("model", mechanisms.block(mu).model(["world.gravity_x", "world.gravity_z"]))
    g = 9.81 * np.array([np.sin(tilt), -np.cos(tilt)])
    motion = simulate(model, state_of(model), 1e-3, 300, theta=g)
    assert motion.failed == 0
    speed = motion.states.velocity[:, 0, 0]
    if slides:
        expected = 9.81 * (np.sin(tilt) - mu * np.cos(tilt)) * motion.times
        # the corners sink in during the first relaxation time of 2 ms, carrying less than the weight
        assert abs(speed[-1] - expected[-1]) < 9.81 * 2e-3
        np.testing.assert_allclose(np.diff(speed)[100:], expected[1], rtol=1e-4)
    else:  # creeps at 1e-3 m/s times how much of the friction is used, over four corners
        assert 0 < speed[-1] < 1e-3
        assert abs(speed[-1] - speed[150]) < 1e-9


BLOCKS = {}


def test_a_pressed_contact_carries_the_weight_and_a_gap_nothing():
    model = BLOCKS.setdefault("model", mechanisms.block(0.5).model(["world.gravity_x", "world.gravity_z"]))
    down = np.array([0.0, -9.81])
    resting = simulate(model, state_of(model), 1e-3, 300, theta=down).states
    sunk = -resting.position[-1, 0, 2]
    # four springs of 1e-7 m/N
    assert sunk == pytest.approx(9.81 * 1e-7 / 4, rel=1e-3)
    x = state_of(model)
    x.position[0, 2] += 0.5
    falling = simulate(model, x, 1e-3, 100, theta=down).states
    assert falling.velocity[-1, 0, 2] == pytest.approx(-9.81 * 0.1, rel=1e-12)


@pytest.mark.parametrize("friction", [Coulomb(0.3), LoadDependent(0.1, 0.05)], ids=["constant", "load"])
def test_a_car_on_a_rail_brakes_at_the_rate_of_its_friction(friction):
    """A constant level takes level/m; the one by load takes mu of the weight that the rail carries."""
    model = mechanisms.carriage(friction).model()
    motion = simulate(model, state_of(model, rates={"rail": 1.0}), 1e-3, 100)
    level = 0.3 if isinstance(friction, Coulomb) else 0.1 * 2.0 * 9.81
    rate = np.diff(motion.states.velocity[:, 0, 0])[50:] / 1e-3
    np.testing.assert_allclose(rate, -level / 2.0, rtol=0.05 if isinstance(friction, LoadDependent) else 1e-9)


def test_stribeck_friction_falls_with_speed():
    """The deceleration at each speed is (fc + dfc exp(-zeta v^2)) / m (4.1)."""
    model = mechanisms.carriage(Coulomb(0.2, excess=0.3, decay=4.0)).model()
    motion = simulate(model, state_of(model, rates={"rail": 0.3}), 1e-3, 2000)
    speed = motion.states.velocity[:, 0, 0]
    level = -np.diff(speed) / 1e-3 * 2.0
    sliding = speed[1:] > 2e-3
    np.testing.assert_allclose(level[sliding], (0.2 + 0.3 * np.exp(-4 * speed[:-1] ** 2))[sliding], rtol=1e-9)
    assert speed[sliding.sum() + 5 :].max() < 1e-3, "then it sticks"


def test_breakaway_takes_the_level_at_rest_and_no_more():
    model = mechanisms.carriage(Coulomb(1.0, excess=0.5, decay=1e4), Motor()).model()
    for push, moves in ((1.45, False), (1.55, True)):
        motion = simulate(model, state_of(model), 1e-3, 300, u=np.full((300, 1), push))
        assert (motion.states.position[-1, 0, 0] > 1e-3) is np.bool_(moves)


def test_a_motor_turns_its_shaft_too():
    """F.3: (m + J_s) a = K u + offset - b v, in exact discrete form for a slider."""
    model = mechanisms.carriage(motor=Motor(3.0, 0.5), drag=0.7, offset=0.2).model()
    u = np.sin(np.arange(50.0))[:, None]
    motion = simulate(model, state_of(model), 1e-2, 50, u=u)
    v = 0.0
    for k in range(50):
        v = (2.5 * v + 1e-2 * (3.0 * u[k, 0] + 0.2)) / (2.5 + 1e-2 * 0.7)
        assert motion.states.velocity[k + 1, 0, 0] == pytest.approx(v, abs=1e-12)


def test_a_spinning_body_keeps_its_angular_momentum():
    """Gyroscopic torque: a free body tumbles, R J R^T omega stays, to the first order of the step."""
    model = Mechanism([RigidBody("book", 1.0, (1e-2, 2e-2, 2.9e-2))], gravity=(0, 0, 0)).model()
    x = state_of(model)
    x.velocity[0, 3:] = (0.1, 5.0, 0.2)
    drift = []
    for h in (1e-3, 5e-4):
        states = simulate(model, x, h, 400, every=round(1e-2 / h)).states

        def momentum(x):
            return impulses.inertia_times(model.at(x, model.theta), x.velocity)[0, 3:]

        L = evaluated(jax.vmap(momentum), states)
        drift.append(np.abs(L - L[0]).max() / np.linalg.norm(L[0]))
        e = states.quaternion[:, 0]
        assert (1 - 2 * (e[:, 0] ** 2 + e[:, 2] ** 2)).min() < -0.9, "it flips over"
    assert drift[0] < 0.02
    assert 1.7 < drift[0] / drift[1] < 2.3
