"""A written mechanism moves in MuJoCo as the reduced form moves it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from models.maximal import mechanisms
from poinsot.estimators.joint.smoothing import compiled_linearizer
from poinsot.exceptions import InvalidModel
from poinsot.models.maximal import (
    Ball,
    Coulomb,
    Fixed,
    Hinge,
    Mechanism,
    Motor,
    PlaneContact,
    RigidBody,
    Slider,
    Stops,
)
from poinsot.models.maximal.mjcf import mechanism_mjcf, time_step

mujoco = pytest.importorskip("mujoco")
INTERVAL, SECONDS = 0.004, 1.0


def backwards():
    """A slider whose child is the world, and an arm on a body with a frame of its own."""
    frame = np.eye(4)
    frame[:3, :3], frame[:3, 3] = Rotation.from_rotvec((0.2, -0.5, 0.3)).as_matrix(), (0.1, 0.0, 0.2)
    cart = RigidBody("cart", 1.2, np.diag([0.01, 0.02, 0.015]), (0.01, 0.02, -0.03), frame)
    arm = RigidBody("arm", 0.4, np.diag([3e-3, 3e-3, 1e-3]), (0.02, 0.01, -0.2))
    rail = Slider(
        "rail", "cart", "world", axis=(1, 0.1, 0), drag=0.8, friction=Coulomb(0.4), motor=Motor(2.0, 0.1)
    )
    pivot = Hinge("pivot", "cart", "arm", (0.1, 0, 0.2), axis=(0, 1, 0.2), drag=0.01, friction=Coulomb(0.01),
                  motor=Motor(0.5, 2e-3), offset=0.02)  # fmt: skip
    return Mechanism([cart, arm], [rail, pivot], gravity=(0.5, 0, -9.7), name="tree & co.")


def test_it_moves_as_the_reduced_form_does():
    mechanism = backwards()
    text, notes = mechanism_mjcf(mechanism, INTERVAL)
    assert not notes
    model = mujoco.MjModel.from_xml_string(text)
    data, N = mujoco.MjData(model), round(SECONDS / INTERVAL)
    t = INTERVAL * np.arange(N)
    u = np.column_stack([0.8 * np.sin(7 * t), 0.4 * np.cos(5 * t)])
    form = compiled_linearizer(mechanism.model(), "reduced").form
    x = np.array([[0.05, 0.8, -0.3, 1.0]])
    states = form.simulated(x, u[None], np.full((1, N), INTERVAL), np.zeros(0))[0]
    names, read = ["rail", "pivot"], []
    for k, name in enumerate(names):
        data.joint(name).qpos[:], data.joint(name).qvel[:] = x[0, k], x[0, 2 + k]
    assert [model.actuator(k).name for k in range(2)] == names
    for controls in u:
        data.ctrl[:] = controls
        for _ in range(round(INTERVAL / model.opt.timestep)):
            mujoco.mj_step(model, data)
        read.append([data.joint(name).qpos[0] for name in names])
    assert np.ptp(states[:, 0]) > 0.1 and np.ptp(states[:, 1]) > 1.0
    np.testing.assert_allclose(read, states[1:, :2], atol=1e-3)


@pytest.mark.parametrize("restitution", [0.0, 0.1, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("give", [0.0, 3e-3])
def test_a_body_leaves_a_stop_as_it_should(restitution, give):
    """Without other forces: with the restitution, from where the motions before and after meet."""
    stops = Stops(upper=0.2, restitution=restitution, give=give)
    slider = Slider("rail", "world", "car", axis=(1, 0, 0), stops=stops)
    mechanism = Mechanism([RigidBody("car", 3.0, (0.01, 0.01, 0.01))], [slider], gravity=(0, 0, 0))
    model = mujoco.MjModel.from_xml_string(mechanism_mjcf(mechanism, INTERVAL)[0])
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = 0.0, 1.5
    for _ in range(round(0.6 / model.opt.timestep)):
        mujoco.mj_step(model, data)
    speed = data.qvel[0]
    assert -speed / 1.5 == pytest.approx(max(restitution, 0.01), abs=0.015)
    # y = 1.5 t before, and y = qpos + speed (t - now) after
    t = (data.qpos[0] - speed * data.time) / (1.5 - speed)
    hardest = 20 * model.opt.timestep
    assert 1.5 * t - 0.2 == pytest.approx(give * (1.5 - speed), abs=0.02 * give + hardest * (give == 0))
    form = compiled_linearizer(mechanism.model(), "reduced").form
    h = np.full((1, 150), INTERVAL)
    states = form.simulated(np.array([[0.0, 1.5]]), np.zeros((1, 150, 0)), h, np.zeros(0))[0]
    np.testing.assert_allclose(states[-1], [data.qpos[0], speed], atol=0.02)


def test_loops_and_balls_hold():
    body = RigidBody("bob", 0.5, np.diag([4e-3, 4e-3, 1e-3]), (0, 0, -0.3))
    other = RigidBody("rod", 0.2, np.diag([1e-3, 1e-3, 1e-4]), (0, 0.1, 0))
    glue, loop = Fixed("glue", "bob", "rod"), Hinge("loop", "world", "rod", (0, 0.2, 0))
    # a loop is closed at a ball, if it has one; at a hinge it takes two points
    for hook, equalities in ((Hinge("hook", "world", "bob"), 2), (Ball("hook", "world", "bob"), 1)):
        text = mechanism_mjcf(Mechanism([body, other], [hook, glue, loop]), 0.01)[0]
        model = mujoco.MjModel.from_xml_string(text)
        assert (model.nbody, model.njnt, model.neq) == (3, 1, equalities)
        assert model.jnt_type[0] == mujoco.mjtJoint.mjJNT_HINGE
    text = mechanism_mjcf(Mechanism([body, other], [Ball("hook", "world", "bob"), glue]), 0.01)[0]
    model = mujoco.MjModel.from_xml_string(text)
    assert (model.njnt, model.neq, model.jnt_type[0]) == (1, 0, mujoco.mjtJoint.mjJNT_BALL)


def test_the_time_step_divides_the_interval():
    for interval in (0.004, 0.01, 1 / 240, 3e-5):
        parts = interval / time_step(interval)
        assert parts == pytest.approx(round(parts)) and time_step(interval) <= 5e-5


def test_what_the_format_lacks_is_said():
    rail = replace(
        mechanisms.carriage(Coulomb(0.5, excess=0.2, decay=0.3), Motor(), 0.8, 0.1).joints[0],
        offset=0.1,
        motor=None,
    )
    carriage = replace(mechanisms.carriage(None, Motor(), 0.8, 0.1), joints=[rail])
    notes = mechanism_mjcf(carriage, 0.01)[1]
    assert "coulomb_excess" in notes[0] and "offset" in notes[1]
    touching = replace(carriage, contacts=[PlaneContact("floor", carriage.bodies[0].name, (0, 0, 0))])
    with pytest.raises(InvalidModel, match="contacts"):
        mechanism_mjcf(touching, 0.01)
