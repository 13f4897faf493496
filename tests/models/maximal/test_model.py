"""Against dynamics that nobody here wrote, Pinocchio's and MuJoCo's, and what a model promises."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from models.maximal import mechanisms
from models.maximal.test_impulses import evaluated
from poinsot.exceptions import InvalidModel
from poinsot.models.maximal import Hinge, Mechanism, Motor, RigidBody, Slider, State
from poinsot.models.maximal.bodies import minus, plus
from poinsot_reproductions.discrete.rollout import energy, simulate, state_of


def double_pendulum():
    return Mechanism(
        [
            RigidBody("upper", 0.7, (6e-3, 7e-3, 1e-3), center=(0.01, 0, -0.15)),
            RigidBody("lower", 0.4, (4e-3, 3e-3, 2e-3), center=(0, 0, -0.45)),
        ],
        [
            Hinge("hip", "world", "upper", axis=(1, 0, 0), **mechanisms.STIFF),
            Hinge("knee", "upper", "lower", point=(0, 0, -0.3), axis=(1, 0.2, 0), **mechanisms.STIFF),
        ],
    )


def cart_pole():
    return Mechanism(
        [
            RigidBody("cart", 1.0, (1e-2, 1e-2, 1e-2)),
            RigidBody("pole", 0.4, (4e-3, 4e-3, 2e-3), center=(0, 0, -0.3)),
        ],
        [
            Slider("rail", "world", "cart", axis=(0, 1, 0), **mechanisms.STIFF),
            Hinge("pivot", "cart", "pole", axis=(1, 0, 0), motor=Motor(1.0, 5e-3), **mechanisms.STIFF),
        ],
    )


MECHANISMS = {
    "double pendulum": (double_pendulum, (1.0, -0.5), (0.5, -1.0)),
    "furuta": (lambda: mechanisms.furuta(**mechanisms.STIFF), (0.3, 2.5), (1.0, 0.0)),
    "cart pole": (cart_pole, (0.2, 2.0), (-0.3, 1.0)),
}
each_mechanism = pytest.mark.parametrize("which", MECHANISMS)


def pinocchios(mechanism):
    """The same chain by Pinocchio: every frame is the world's in the reference configuration."""
    model = pin.Model()
    model.gravity.linear = np.array(mechanism.gravity, dtype=float)
    carrier = {"world": (0, np.zeros(3))}
    for joint in mechanism.joints:
        parent, origin = carrier[joint.parent]
        point, axis = np.array(joint.point), np.array(joint.axis) / np.linalg.norm(joint.axis)
        kind = (
            pin.JointModelRevoluteUnaligned if isinstance(joint, Hinge) else pin.JointModelPrismaticUnaligned
        )
        k = model.addJoint(parent, kind(axis), pin.SE3(np.eye(3), point - origin), joint.name)
        body = next(body for body in mechanism.bodies if body.name == joint.child)
        inertia = pin.Inertia(body.mass, np.array(body.center) - point, body.inertia_matrix)
        model.appendBodyToJoint(k, inertia, pin.SE3.Identity())
        carrier[joint.child] = (k, point)
        if joint.motor is not None:
            model.armature[model.joints[k].idx_v] = joint.motor.shaft_inertia
    return model


def mujocos(mechanism):
    """The same chain by MuJoCo."""

    def vector(values):
        return " ".join(f"{float(x)!r}" for x in values)

    def tree(parent, origin):
        text = ""
        for joint in (j for j in mechanism.joints if j.parent == parent):
            body = next(body for body in mechanism.bodies if body.name == joint.child)
            point, J = np.array(joint.point), body.inertia_matrix
            kind = "hinge" if isinstance(joint, Hinge) else "slide"
            shaft = joint.motor.shaft_inertia if joint.motor else 0.0
            text += f"""<body name="{body.name}" pos="{vector(point - origin)}">
                <joint name="{joint.name}" type="{kind}" axis="{vector(joint.axis)}" armature="{shaft}"/>
                <inertial pos="{vector(np.array(body.center) - point)}" mass="{body.mass}"
                    fullinertia="{vector([J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]])}"/>
                {tree(body.name, point)}</body>"""
        return text

    option = f'<option timestep="2e-4" integrator="RK4" gravity="{vector(mechanism.gravity)}"/>'
    world = tree("world", np.zeros(3))
    return mujoco.MjModel.from_xml_string(f"<mujoco>{option}<worldbody>{world}</worldbody></mujoco>")


def by_pinocchio(mechanism, y, rate, times):
    model = pinocchios(mechanism)
    data, n = model.createData(), model.nv

    def slope(_, state):
        return np.concatenate([state[n:], pin.aba(model, data, state[:n], state[n:], np.zeros(n))])

    start = np.concatenate([y, rate])
    found = solve_ivp(slope, (0, times[-1]), start, "DOP853", times, rtol=1e-10, atol=1e-10)
    return found.y[:n].T


def by_mujoco(mechanism, y, rate, times):
    model = mujocos(mechanism)
    data = mujoco.MjData(model)
    data.qpos, data.qvel = y, rate
    out = [np.array(y)]
    for span in np.diff(times):
        mujoco.mj_step(model, data, round(span / model.opt.timestep))
        out.append(data.qpos.copy())
    return np.array(out)


def named(model, values):
    return dict(zip((name for name, _ in model.mechanism.coordinates), values, strict=True))


@each_mechanism
def test_trajectories_are_pinocchios_and_mujocos(which):
    """SPOOK is of first order: its error halves with the step, and two steps extrapolated leave the second order."""
    make, y, rate = MECHANISMS[which]
    model = make().model()
    x = state_of(model, rates=named(model, rate), **named(model, y))
    found = []
    for h, every in ((1e-3, 20), (5e-4, 40), (2.5e-4, 80)):
        motion = simulate(model, x, h, 50, every=every)
        found.append(model.joint_motion(motion.states)[0])
    truth = by_pinocchio(model.mechanism, y, rate, motion.times)
    np.testing.assert_allclose(by_mujoco(model.mechanism, y, rate, motion.times), truth, atol=1e-6)

    coarse, half, quarter = (np.abs(part - truth).max() for part in found)
    assert 1.9 < coarse / half < 2.1
    assert 1.9 < half / quarter < 2.1
    extrapolated = np.abs(2 * found[1] - found[0] - truth).max()
    better = np.abs(2 * found[2] - found[1] - truth).max()
    assert np.ptp(truth, axis=0).min() > 0.15, "it moves"
    assert better < 2e-4
    assert 3 < extrapolated / better < 5


@each_mechanism
def test_frequencies_are_pinocchios(which):
    """Eigenvalues of one step about hanging at rest; a step h makes (2/h) asin(w h/2) of w, w (1 + (w h)^2 / 24)."""
    model = MECHANISMS[which][0]().model()
    h, x = 1e-3, state_of(model)
    l = len(model.mechanism.bodies)

    def after(d):
        y = model.step(plus(State(*map(jnp.asarray, x)), d.reshape(l, 12)), np.zeros(model.structure.controls),
                       model.theta, h)  # fmt: skip
        return jnp.ravel(minus(y, State(*map(jnp.asarray, x))))

    modes = np.linalg.eigvals(evaluated(jax.jacfwd(after), np.zeros(12 * l)))
    assert np.abs(modes).max() < 1 + 1e-7
    slow = np.sort(np.abs(np.angle(modes[np.abs(modes) > 0.99])) / h)
    other = pinocchios(model.mechanism)
    data, y = other.createData(), np.zeros(other.nv)
    M = pin.crba(other, data, y)
    M = np.triu(M) + np.triu(M, 1).T
    K = pin.computeGeneralizedGravityDerivatives(other, data, y)
    expected = np.sort(np.sqrt(np.abs(np.linalg.eigvals(np.linalg.solve(M, K)))))
    assert len(slow) == 2 * len(expected)
    for got, want in zip(slow[::2], expected, strict=True):
        # a freedom without gravity has the double eigenvalue 1, which rounding of 1e-12 splits by its root
        assert got == pytest.approx(
            want * (1 + (want * h) ** 2 / 24), rel=2e-6, abs=5e-3 if want < 1e-6 else 0.0
        )


def lost(mechanism, h, curvature):
    """The part of a swing's energy that is gone after 10 s, from one second's mean to another's."""
    model = mechanism.model(curvature=curvature)
    states = simulate(model, state_of(model, pivot=2.5), h, 1000, every=round(1e-2 / h)).states
    E = evaluated(jax.vmap(lambda x: energy(model, x, model.theta)), states)
    swing = E[0] + 0.5 * 9.81 * 0.3  # above hanging at rest
    return (E[:100].mean() - E[-100:].mean()) / swing, np.abs(E - E[0]).max() / swing


def test_energy_of_a_stiff_pendulum_stays():
    """It oscillates in proportion to the step, as that of symplectic steps does, and drifts by a thousandth of that."""
    for h in (2e-3, 1e-3):
        drift, oscillation = lost(mechanisms.pendulum(**mechanisms.STIFF), h, curvature=False)
        assert 1 < oscillation / h < 5
        assert abs(drift) < 0.1 * oscillation


def test_curvature_takes_the_steps_own_damping_away():
    """What a soft pendulum loses to its constraint's damper should not depend on the step: SPOOK's does."""
    soft = mechanisms.pendulum(**mechanisms.SOFT)
    plain, curved = ([lost(soft, h, curvature)[0] for h in (2e-3, 1e-3)] for curvature in (False, True))
    assert plain[0] - plain[1] > 0.01
    assert abs(curved[0] - curved[1]) < 0.1 * (plain[0] - plain[1])


def test_coordinates_come_back_from_states(rng):
    model = mechanisms.everything().model()
    names = [name for name, _ in model.mechanism.coordinates]
    assert names == ["wrist", "rail", "neck.x", "neck.y", "neck.z"]
    y, rate = rng.uniform(-1, 1, (2, 5))
    x = state_of(model, rates=dict(zip(names, rate, strict=True)), **dict(zip(names, y, strict=True)))
    states = State(*(part[None] for part in x))
    y_back, rate_back = model.joint_motion(states)
    np.testing.assert_allclose(y_back[0], y, atol=1e-14)
    np.testing.assert_allclose(rate_back[0], rate, atol=1e-14)


def test_surface_errors_are_least_squares_steps(rng):
    """-G^+ g leads to the surface to second order; the velocity less G^+ G v does not leave it."""
    model = mechanisms.furuta().model()
    x = mechanisms.shaken(model, rng, 1e-4)

    def errors(x):
        dq, dv = model.surface_errors(x, model.theta)
        there = plus(x, jnp.concatenate([dq, -dv], axis=1))
        dq_after, _ = model.surface_errors(there, model.theta)
        _, dv_after = model.surface_errors(State(x.position, x.quaternion, x.velocity - dv), model.theta)
        return dq, dv, dq_after, dv_after

    dq, dv, dq_after, dv_after = evaluated(errors, State(*map(jnp.asarray, x)))
    assert np.abs(dq).max() > 1e-5
    assert np.abs(dq_after).max() < 1e-2 * np.abs(dq).max()
    assert np.abs(dv).max() > 1e-2
    assert np.abs(dv_after).max() < 1e-12


def test_sensors_read_with_their_errors():
    mechanism = mechanisms.everything()
    model = mechanism.model(
        ["wrist encoder.zero", "wrist encoder.sine", "wrist encoder.cosine", "rail encoder.zero"]
    )
    np.testing.assert_array_equal(model.theta, [0.02, 0.01, -0.02, 0.1])
    x = state_of(model, wrist=0.8, rail=0.3, rates={"wrist": -2.0})
    read = evaluated(lambda x: model.observe(x, model.theta), x)
    np.testing.assert_allclose(read, [0.82 + 0.01 * np.sin(0.8) - 0.02 * np.cos(0.8), 0.4, -2.0], atol=1e-14)
    turned = read + np.array([4 * np.pi + 0.1, 0.2, 0.3])
    errors = evaluated(lambda x: model.reading_errors(model.observe(x, model.theta), turned), x)
    np.testing.assert_allclose(errors, [-0.1, -0.2, -0.3], atol=1e-14)
    slope = evaluated(
        jax.jacfwd(lambda theta: model.reading_errors(model.observe(x, theta), turned)), model.theta
    )
    expected = [[1, np.sin(0.8), np.cos(0.8), 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    np.testing.assert_allclose(slope, expected, atol=1e-14)


def test_batches_of_steps_are_steps(rng):
    model = mechanisms.furuta(drag=(1e-3, 1e-4)).model(["elbow.drag"])
    states = mechanisms.shaken(model, rng, count=3)

    def step(x):
        return model.step(x, np.zeros(0), model.theta, 1e-3)

    together, one_by_one = evaluated(
        lambda states: (jax.vmap(step)(states), jax.lax.map(step, states)), states
    )
    for one, other in zip(together, one_by_one, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-13)


def test_jax_is_left_as_it_was():
    model = mechanisms.pendulum().model()
    simulate(model, state_of(model, pivot=1.0), 1e-3, 3)
    assert jnp.zeros(1).dtype == jnp.float32
    assert not jax.config.jax_enable_x64


def test_what_a_model_says_no_to():
    model = mechanisms.furuta().model()
    with pytest.raises(InvalidModel, match=r"no joint coordinate 'elbo'; did you mean 'elbow'\?"):
        state_of(model, elbo=1.0)
    with pytest.raises(InvalidModel, match=r"above 0, not -0\.001"):
        simulate(model, state_of(model), -1e-3, 3)
    with pytest.raises(InvalidModel, match="need 3 rows of 0"):
        simulate(model, state_of(model), 1e-3, 3, u=np.zeros((3, 1)))
    with pytest.raises(InvalidModel, match=r"no parameter 'arm\.Jz'; did you mean"):
        mechanisms.furuta().model(["arm.Jz"])
    with pytest.raises(InvalidModel, match="named twice"):
        mechanisms.furuta().model(["arm.Jzz", "arm.Jzz"])
