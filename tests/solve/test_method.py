"""What methods say to what is no problem of theirs."""

import inspect

import numpy as np
import pytest

import poinsot
from poinsot.exceptions import InvalidMethod
from poinsot.solve import Method


def test_every_exported_method_is_listed():
    exported = [getattr(poinsot, name) for name in poinsot.__all__]
    solvers = [each for each in exported if inspect.isclass(each) and hasattr(each, "solve")]
    assert len(solvers) >= 12 and all(issubclass(each, Method) for each in solvers)


@pytest.mark.parametrize(
    "name",
    ["LeastSquares", "SemidefiniteLeastSquares", "PayloadIdentification", "OptimalEstimation", "MovingHorizon",
     "JointSmoothing", "JointEstimation", "ImpactIdentification", "ExtendedKalmanFilter", "LegOdometry",
     "OptimalExcitation"],
)  # fmt: skip
def test_a_recording_in_place_of_a_problem_is_one_sentence(name):
    kind = getattr(poinsot, name)
    recording = poinsot.Recording(np.arange(3.0), {"position.a": np.zeros(3)}, {"position.a": "rad"})
    takes = kind.solve.__annotations__["problem"]
    with pytest.raises(
        InvalidMethod, match=f"{name}.solve takes a problem, {takes}, not Recording: make one of"
    ):
        kind.__new__(kind).solve(recording)
    with pytest.raises(InvalidMethod, match="not NoneType"):
        kind.__new__(kind).solve(None)
