"""Which parameters are to be shown, and demands that contradict each other."""

import numpy as np
import pytest

import poinsot
from poinsot.exceptions import InvalidMethod, InvalidModel
from poinsot.excitation.limits import limits_of
from poinsot.excitation.problem import excitation_problem
from poinsot.excitation.search import random_posture
from poinsot.models.friction import NoFriction
from poinsot.models.robot.collisions import Surroundings, Workspace
from poinsot.models.robot.drive import Drive
from references import arm_with_shapes
from references.robots import described, random_robot


def test_the_ur10_has_36_inertial_base_parameters():
    robot = described("ur_description/urdf/ur10_robot.urdf")
    problem = excitation_problem(robot)
    assert len(problem.base) == 36
    assert set(problem.base.kinds) == {"inertia"}
    # those of the same robot without a friction law
    plain = described("ur_description/urdf/ur10_robot.urdf", friction=NoFriction())
    assert problem.base.names == excitation_problem(plain).base.names


def test_friction_counts_where_it_is_asked_for(arm):
    with_friction = excitation_problem(arm, friction=True)
    without = excitation_problem(arm)
    added = set(with_friction.base.kinds) - set(without.base.kinds)
    assert added == {"viscous", "coulomb", "offset"}
    assert len(with_friction.base) == len(without.base) + 9


def test_a_payload_has_ten_parameters_and_the_rest_is_known(arm):
    problem = excitation_problem(arm, payload="hand")
    assert set(problem.base.owners) == {"forearm"}
    assert problem.base.groupings == problem.base.names  # each by itself: nothing is regrouped into it
    assert 0 < len(problem.base) <= 10


def test_what_is_held_is_known(arm):
    problem = excitation_problem(arm, held={"mx3": 0.2})
    assert "mx3" not in problem.base.names
    assert problem.theta[arm.parameters.index("mx3")] == 0.2
    with pytest.raises(InvalidMethod, match="nothing to excite"):
        excitation_problem(arm, held=dict.fromkeys(arm.parameters.names, 0.0))


def test_nominal_values_are_the_descriptions(arm):
    problem = excitation_problem(arm, friction=True)
    nominal = dict(zip(problem.base.names, problem.nominal, strict=True))
    assert np.isclose(nominal["mz3"], 1.0 * 0.02)
    assert np.isnan(nominal["fv1"])


def test_noise_that_is_not_given_is_said(arm, problem):
    assumed = excitation_problem(arm)
    assert np.allclose(assumed.torque_std, 0.6)
    assert any("1 % of each joint's torque limit" in warning for warning in assumed.warnings)
    assert np.array_equal(problem.torque_std, [0.5, 0.5, 0.1]) and problem.warnings == ()


# -- postures ---------------------------------------------------------------------------------------------------------


def test_random_postures_are_free(problem, rng):
    for _ in range(5):
        posture = random_posture(problem, rng)
        assert problem.free_postures(posture[None])[0]
        distances = problem.collisions.distances(posture[None])
        assert np.all(distances >= problem.clearances)


def test_a_posture_is_found_in_a_narrow_workspace(arm, rng):
    """A box of 4 cm: hardly one in ten thousand postures is in it."""
    place = np.array([0.3, 0.4, 0.9])
    box = Workspace(tuple(place - 0.02), tuple(place + 0.02), ("hand",))
    problem = excitation_problem(arm, surroundings=Surroundings(workspace=box), clearance_m=0.0)
    drawn = rng.uniform(problem.limits.lower, problem.limits.upper, (2000, 3))
    assert problem.free_postures(drawn).mean() < 1e-3
    assert problem.free_postures(random_posture(problem, rng)[None])[0]


def test_limits_that_no_posture_keeps_to_are_refused(arm, rng):
    unreachable = Workspace((2, 2, 2), (3, 3, 3), ("hand",))
    with pytest.raises(
        InvalidMethod, match=r"contradict each other: no posture was found.*hand comes closer than"
    ):
        random_posture(excitation_problem(arm, surroundings=Surroundings(workspace=unreachable)), rng)
    weak = limits_of(arm, torque={"shoulder": 1.0}, lower={"shoulder": -0.5, "elbow": -0.5},
                     upper={"shoulder": 0.5, "elbow": 0.5})  # fmt: skip
    with pytest.raises(InvalidMethod, match="joint shoulder cannot hold the robot with 1 N m"):
        random_posture(excitation_problem(arm, limits=weak), rng)


# -- bad input --------------------------------------------------------------------------------------------------------

BAD = {
    "payload link that does not exist": (
        {"payload": "hant"}, InvalidModel, "no link 'hant'; did you mean 'hand'?",
    ),
    "payload on the base": ({"payload": "base"}, InvalidModel, "link 'base' does not move, so no load"),
    "start outside its limits": (
        {"start": {"elbow": 2.6}}, InvalidMethod, "puts joint 'elbow' at 2.6 rad, outside its limits -2.5 to 2.5 rad",
    ),
    "start of another robot": ({"start": [0, 0]}, InvalidMethod, "the start posture has 2 values"),
    "start of an unknown joint": ({"start": {"elbo": 1}}, InvalidMethod, "did you mean 'elbow'?"),
    "start in the floor": (
        {"start": {"shoulder": 1.4}, "surroundings": Surroundings(floor_m=0.0)},
        InvalidMethod, "the start posture is in collision: forearm with the floor",
    ),
    "start in itself": (
        {"start": {"shoulder": 1.3, "elbow": 1.9}}, InvalidMethod, "is in collision: base with forearm",
    ),
    "start too close": (
        {"start": {}, "surroundings": Surroundings(floor_m=0.54)}, InvalidMethod,
        "leaves 0.01 m between upper_arm and the floor, less than the clearance of 0.02 m",
    ),
    "gravity against a torque limit": (
        {"start": {}, "limits": {"torque": {"shoulder": 5.0}}}, InvalidMethod,
        "the start posture and the torque limit of joint 'shoulder' contradict each other: gravity requires 11.8 N m",
    ),
    "no noise": ({"torque_std": 0.0}, InvalidMethod, "the noise of the torques must be above 0"),
    "no time": ({"duration_s": 0.0}, InvalidMethod, "a duration and a rate above 0, not 0 s"),
    "no samples": ({"rate_hz": float("nan")}, InvalidMethod, "a duration and a rate above 0"),
    "negative clearance": ({"clearance_m": -1.0}, InvalidMethod, "clearance must be at least 0"),
    "held parameter that does not exist": ({"held": {"mx9": 1.0}}, InvalidMethod, "no parameter 'mx9'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_contradictions_are_refused_in_one_sentence(case, arm):
    settings, error, sentence = BAD[case]
    settings = dict(settings)
    if "limits" in settings:
        settings["limits"] = limits_of(arm, **settings["limits"])
    with pytest.raises(error) as refused:
        excitation_problem(arm, **settings)
    assert sentence in str(refused.value)
    assert isinstance(refused.value, poinsot.PoinsotError)


def test_robots_that_cannot_be_given_a_motion_are_refused(arm, rng, tmp_path):
    with pytest.raises(InvalidModel, match="floating base"):
        excitation_problem(random_robot(rng, 3, floating_base=True))
    with pytest.raises(InvalidModel, match="ball joint"):
        excitation_problem(random_robot(rng, 2, kinds="S"))
    passive = poinsot.load_robot(arm_with_shapes.write(tmp_path), drive=Drive(passive=("elbow",)))
    with pytest.raises(InvalidModel, match="no motor moves elbow"):
        excitation_problem(passive)
