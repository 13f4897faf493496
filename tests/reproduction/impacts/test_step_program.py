"""The paper's program and the exact step, along whole motions."""

import numpy as np
import pytest

from poinsot.exceptions import InvalidModel
from poinsot.models.planar import Ellipse, PlanarBody, floor
from poinsot_reproductions.impacts.stepping import simulate

pytest.importorskip("casadi")
from poinsot_reproductions.impacts.step_program import StepProgram

ELLIPSE, STEP = Ellipse(1.5, 1.0), 5e-3
ROOT, PUSH = 1e-13**0.5, 9.81 * STEP
"""Of IPOPT's tolerance; and what gravity gives in a step, of which there are most [m/s]."""
MOTIONS = {
    "thrown, bounces": (PlanarBody(ELLIPSE, 10.0, 2.0, 0.3, 0.5), [0, 5, 0], [10, -3, -8], 2.5),
    "slides": (PlanarBody(ELLIPSE, 10.0, 2.0, 0.3), [0, 1, 0], [15, 0, 0], 0.4),
    "sticks": (PlanarBody(ELLIPSE, 10.0, 2.0, 0.9), [0, 5, 0], [1, -3, -1], 0.9),
    "slides down, with drag": (
        PlanarBody(ELLIPSE, 10.0, 2.0, 0.2, 0.0, (0.4, 0.6)),
        [0, 1.2, -0.3],
        [0, 0, 0],
        0.4,
    ),
}


@pytest.mark.parametrize(("body", "pose", "velocity", "seconds"), MOTIONS.values(), ids=MOTIONS)
def test_both_take_the_same_steps(body, pose, velocity, seconds):
    walls = [floor(0.0, -0.3 if pose[2] else 0.0)]
    pose = [0, 1 / np.cos(0.3) if pose[2] else pose[1], pose[2]]
    motion = simulate(body, walls, np.array(pose, float), np.array(velocity, float), STEP, seconds)
    program = StepProgram(body, walls, STEP)
    compared = 0
    for k in motion.struck[:50]:
        step = program(motion.poses[k], motion.velocities[k])
        assert step.converged
        if not step.acts[
            0
        ]:  # the gap opens: the program is silent, where the exact step holds it against gravity
            assert motion.impulses[k, 0, 0] < body.mass * 9.81 * STEP
            assert not step.impulses[0].any() or np.abs(step.impulses[0]).max() < 1e-5
            continue
        compared += 1
        # products of impulse and slip are 0 to about that root, so slip is to that over the impulse
        np.testing.assert_allclose(step.velocity, motion.velocities[k + 1], atol=10 * ROOT / PUSH)
        np.testing.assert_allclose(step.impulses, motion.impulses[k], atol=body.mass * 10 * ROOT / PUSH)
        assert step.residual < 1e-4
    assert compared > (1 if body.restitution else 20)


def test_both_fly_the_same():
    body = PlanarBody(ELLIPSE, 10.0, 2.0, 0.3)
    q, v = np.array([0.0, 5.0, 0.0]), np.array([10.0, -3.0, -8.0])
    step = StepProgram(body, [floor()], STEP)(q, v)
    assert step.converged and not step.acts.any()
    np.testing.assert_allclose(
        step.velocity, simulate(body, [floor()], q, v, STEP, STEP).velocities[1], atol=1e-7
    )


def test_a_step_that_takes_no_time_is_refused():
    with pytest.raises(InvalidModel, match="the step must be above 0 s"):
        StepProgram(PlanarBody(ELLIPSE, 10.0, 2.0, 0.3), [floor()], 0.0)
