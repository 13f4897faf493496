"""Motion of frames and its slopes, against Pinocchio's and against differences."""

import numpy as np
import pinocchio as pin
import pytest

from poinsot.exceptions import InvalidModel
from poinsot.models.robot.motion_terms import MotionTerms
from references.robots import described, random_robot
from references.state_differences import assert_slope, by_state

AXES = pin.ReferenceFrame.LOCAL


def with_frames(robot, rng):
    """A frame somewhere on each body, and one in the world."""
    for i in range(robot.model.njoints):
        placement = pin.SE3(pin.exp3(rng.standard_normal(3)), rng.standard_normal(3))
        robot.model.addFrame(pin.Frame(f"f{i}", i, placement, pin.FrameType.OP_FRAME))
    return [f"f{i}" for i in range(robot.model.njoints)]


@pytest.mark.parametrize(("kinds", "floating"), [("RP", False), ("RUCPS", False), ("RUCPS", True)])
def test_motion_and_slopes_are_pinocchio_s(rng, kinds, floating):
    robot = random_robot(rng, 7, kinds=kinds, floating_base=floating)
    names = with_frames(robot, rng)
    q, v, a = robot.random_states(3, rng)
    motions = MotionTerms(robot).frames(names, q, v, a, slopes=True)
    model, data = robot.model, robot.model.createData()
    for t in range(3):
        pin.computeForwardKinematicsDerivatives(model, data, q[t], v[t], a[t])
        for name, motion in motions.items():
            index, by = model.getFrameId(name), motion.by
            placement = pin.updateFramePlacement(model, data, index)
            V_q, A_q, A_v, J = pin.getFrameAccelerationDerivatives(model, data, index, AXES)
            for ours, theirs in (
                (motion.rotation, placement.rotation),
                (motion.position, placement.translation),
                (motion.velocity, pin.getFrameVelocity(model, data, index, AXES).vector),
                (motion.acceleration, pin.getFrameAcceleration(model, data, index, AXES).vector),
                (
                    motion.point_acceleration,
                    pin.getFrameClassicalAcceleration(model, data, index, AXES).linear,
                ),
                (by.jacobian, J),
                (by.velocity_by_q, V_q),
                (by.acceleration_by_q, A_q),
                (by.acceleration_by_v, A_v),
            ):
                np.testing.assert_allclose(ours[t], theirs, atol=1e-11 * (1 + np.abs(theirs).max()))


def test_slopes_of_a_point_s_acceleration_are_its_differences(rng):
    robot = random_robot(rng, 6, kinds="RUCPS", floating_base=True)
    name = with_frames(robot, rng)[-1]
    q, v, a = robot.random_states(2, rng)
    terms = MotionTerms(robot)
    by_q, by_v, by_a = terms.frames([name], q, v, a, slopes=True)[name].point_acceleration_slopes()

    def acceleration(q, v):
        many = np.tile(a, (len(q) // 2, 1))
        return terms.frames([name], q, v, many)[name].point_acceleration

    for slope, differences in zip((by_q, by_v), by_state(acceleration, robot, q, v), strict=True):
        assert_slope(slope, differences)
    moved = terms.frames([name], q, v, a + 1.0)[name].point_acceleration
    still = terms.frames([name], q, v, a)[name].point_acceleration
    np.testing.assert_allclose(by_a.sum(axis=2), moved - still, atol=1e-9)


def test_a_frame_that_does_not_exist_is_named_with_the_nearest(rng):
    robot = described("anymal_b_simple_description/robots/anymal.urdf", floating_base=True)
    with pytest.raises(InvalidModel, match=r"no frame 'LF_FOT'; did you mean '.F_FOOT'\?"):
        MotionTerms(robot).frames(["LF_FOT"], *robot.random_states(1, rng))


def test_no_frames_are_no_motions(rng):
    robot = random_robot(rng, 2)
    assert MotionTerms(robot).frames([], *robot.random_states(1, rng)) == {}
