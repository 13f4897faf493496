"""The motion of coordinates that no sensor reads, against MuJoCo."""

import mujoco
import numpy as np

from poinsot.estimators.joint import JointSmoothing, JointSmoothingProblem, Record
from poinsot.estimators.joint.smoothing import RecordEquations
from poinsot.models.maximal import Encoder, Hinge, Mechanism, Motor, RigidBody, Slider

RATE, NOISE = 100, 2e-4
CART = (
    '<mujoco><compiler angle="radian"/><option timestep="0.0002" integrator="RK4"/><worldbody><body name="cart">'
    '<joint name="rail" type="slide" axis="1 0 0" damping="0.3"/><inertial pos="0 0 0" mass="0.6" diaginertia="1 1 1"/>'
    '<body name="rod"><joint name="pivot" axis="0 1 0" damping="0.001"/>'
    '<inertial pos="0 0 -0.2" mass="0.3" diaginertia="0.002 0.002 0.001"/></body></body></worldbody>'
    '<actuator><motor joint="rail"/></actuator></mujoco>'
)


def test_a_pendulum_that_turns_over_is_followed_by_its_cart(rng):
    """It begins at rest 2 rad from where it hangs, a force moves the cart, and only the cart is read."""
    model = mujoco.MjModel.from_xml_string(CART)
    data = mujoco.MjData(model)
    data.qpos[1] = 2.0
    q, u = [], 9 * np.sin(np.arange(3 * RATE) * 5 / RATE)
    for force in u:
        q.append(data.qpos.copy())
        data.ctrl[:] = force
        mujoco.mj_step(model, data, round(1 / RATE / model.opt.timestep))
    q = np.array(q)
    bodies = [
        RigidBody("cart", 0.6, (1.0, 1.0, 1.0)),
        RigidBody("rod", 0.3, (2e-3, 2e-3, 1e-3), center=(0, 0, -0.2)),
    ]
    joints = [
        Slider("rail", "world", "cart", axis=(1, 0, 0), drag=0.3, motor=Motor()),
        Hinge("pivot", "cart", "rod", axis=(0, 1, 0), drag=0.001),
    ]
    mechanism = Mechanism(bodies, joints, sensors=[Encoder("rail")])
    record = Record(
        "run",
        np.arange(len(q)) / RATE,
        u[:, None],
        q[:, :1] + NOISE * rng.standard_normal((len(q), 1)),
    )
    problem = JointSmoothingProblem(mechanism.model(["rail.drag"]), [record])
    start = RecordEquations(JointSmoothing(noise=(NOISE,)), problem).start()
    pivot = start.equations.form.unpack(start.x[0], start.theta)[0][:, 1]
    assert np.ptp(q[:, 1]) > 2 * np.pi
    off = np.abs(pivot - q[:, 1])
    # an initial guess: it counts the turns, and most of it is near
    assert off.max() < np.pi / 2 and np.median(off) < 0.05
