"""Limits come from the description or from the user, and contradictions are refused."""

import numpy as np
import pytest

from poinsot.exceptions import InvalidMethod
from poinsot.excitation.limits import limits_of
from poinsot.models.robot.articulated import load_robot
from references import arm_with_shapes
from references.robots import described


@pytest.fixture
def arm(tmp_path):
    return load_robot(arm_with_shapes.write(tmp_path))


def test_they_are_the_descriptions(arm):
    limits = limits_of(arm)
    assert limits.joints == ("yaw", "shoulder", "elbow")
    assert np.array_equal(limits.lower, [-2.5] * 3) and np.array_equal(limits.upper, [2.5] * 3)
    assert np.array_equal(limits.velocity, [2] * 3) and np.array_equal(limits.torque, [60] * 3)
    assert np.isinf(limits.acceleration).all()  # no description has them


def test_they_are_what_the_user_says_instead(arm):
    limits = limits_of(
        arm, lower=-1, upper={"elbow": 0.5}, velocity=[1, 2, 3], acceleration=5.0, torque={"yaw": 10}
    )
    assert np.array_equal(limits.lower, [-1] * 3) and np.array_equal(limits.upper, [2.5, 2.5, 0.5])
    assert np.array_equal(limits.velocity, [1, 2, 3]) and np.array_equal(limits.torque, [10, 60, 60])
    assert np.array_equal(limits.acceleration, [5] * 3)


def test_a_part_of_them(arm):
    limits = limits_of(arm, lower=-1.5, acceleration=4, fraction=0.8)
    assert np.allclose(limits.lower, 0.5 - 0.8 * 2) and np.allclose(limits.upper, 0.5 + 0.8 * 2)
    assert np.allclose(limits.velocity, 1.6) and np.allclose(limits.torque, 48)
    assert np.allclose(limits.acceleration, 3.2)
    for part in (0.0, -1.0, 1.1, np.nan):
        with pytest.raises(InvalidMethod, match="above 0 and at most 1"):
            limits_of(arm, fraction=part)


def test_continuous_joints_have_no_limits_of_position():
    limits = limits_of(described("kinova_description/robots/kinova.urdf"))
    free = np.isinf(limits.lower)
    assert free.any() and np.array_equal(free, np.isinf(limits.upper))
    assert np.isinf(limits.fraction(0.5).upper[free]).all()
    whole = limits.fraction(0.5).fraction(0.8).whole
    for name in ("lower", "upper", "velocity", "acceleration", "torque"):
        # two roundings there and back
        np.testing.assert_allclose(getattr(whole, name), getattr(limits, name), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"lower": {"elbow": 3}},
            "limits of joint 'elbow' contradict each other: the lower one, 3 rad, is not below",
        ),
        ({"velocity": {"yaw": 0}}, "velocity limit of joint 'yaw' is 0, which allows no motion"),
        ({"torque": -5}, "torque limit of joint 'yaw' is -5"),
        ({"velocity": {"elbo": 1}}, "names joint 'elbo'; did you mean 'elbow'?"),
        (
            {"acceleration": [1, 2]},
            "the acceleration limit has 2 values; give one, or one for each of the 3 joints",
        ),
        ({"upper": np.nan}, "must be numbers"),
    ],
)
def test_contradictions_are_refused(arm, settings, sentence):
    with pytest.raises(InvalidMethod) as refused:
        limits_of(arm, **settings)
    assert sentence in str(refused.value)


def test_a_joint_that_nothing_bounds_is_refused(tmp_path):
    arm = load_robot(
        arm_with_shapes.write(tmp_path, limit='<limit lower="-2" upper="2" velocity="0" effort="0"/>')
    )
    with pytest.raises(InvalidMethod, match="nothing bounds the motion of yaw, shoulder, elbow"):
        limits_of(arm)
    assert np.isinf(limits_of(arm, acceleration=3).torque).all()
