"""One small robot and problem for all tests of excitation."""

import pytest

from poinsot.excitation.design import OptimalExcitation
from poinsot.excitation.limits import limits_of
from poinsot.excitation.problem import excitation_problem
from poinsot.excitation.trajectory import FourierSeries
from poinsot.models.robot.articulated import load_robot
from poinsot.models.robot.collisions import Surroundings
from references import arm_with_shapes


@pytest.fixture(scope="session")
def arm(tmp_path_factory):
    return load_robot(arm_with_shapes.write(tmp_path_factory.mktemp("arm")))


@pytest.fixture(scope="session")
def problem(arm):
    """Four seconds above a floor that is in the way."""
    return excitation_problem(
        arm,
        duration_s=4.0,
        rate_hz=50.0,
        limits=limits_of(arm, acceleration=12.0, torque={"shoulder": 25.0}),
        torque_std=[0.5, 0.5, 0.1],
        surroundings=Surroundings(floor_m=0.3),
    )


@pytest.fixture(scope="session")
def method():
    return OptimalExcitation(basis=FourierSeries(3), starts=2, legs=9)


@pytest.fixture(scope="session")
def states(problem, method):
    """Of a whole search."""
    return list(method.search(problem))


@pytest.fixture(scope="session")
def designed(problem, method, states):
    return method.finish(problem, states[-1])
