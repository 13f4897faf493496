from dataclasses import replace

import numpy as np
import pytest

from poinsot.estimators.linear.payload import drive_gains
from poinsot.estimators.linear.payload.identification import PayloadIdentification
from poinsot.exceptions import InvalidMethod, NotIdentifiable
from poinsot.models.robot.drive import Coupling, Drive
from poinsot.parameters import Normal
from references.dense_regression import stacked
from references.loaded_arm import GAINS, arm, drawn, problem, recorded
from references.robots import chain

JOINTS = ("j1", "j2", "j3", "j4")


def with_drive(**settings):
    return replace(arm(), drive=Drive(**settings))


@pytest.mark.parametrize(
    ("quantity", "gain", "unknown"),
    [("current", 1.0, True), ("current", (1.0, 2.0, 1.0, 1.0), False), ("torque", 1.0, False)],
)
def test_gains_are_unknown_where_currents_have_none(quantity, gain, unknown):
    found = problem(
        [recorded(each, quantity=quantity) for each in (False, True)], robot=with_drive(gain=gain)
    )
    assert drive_gains.unknown(found) is unknown


def test_currents_and_torques_do_not_mix():
    found = problem([recorded(False), recorded(True, quantity="torque")])
    with pytest.raises(InvalidMethod, match="one recording has current, another torque"):
        drive_gains.unknown(found)


def test_other_gains_scale_the_efforts_only():
    found = problem()
    other = found.with_gains(GAINS)
    W, y = stacked(found)
    np.testing.assert_allclose(stacked(other)[1], GAINS * y, rtol=1e-14)
    np.testing.assert_array_equal(stacked(other)[0], W)
    assert other.loaded == found.loaded and other.attachment is found.attachment


def test_gains_as_they_are_given():
    robot = with_drive(gain=tuple(GAINS.tolist()))
    gains = drive_gains.gains_of(problem(robot=robot))
    assert gains.joints == JOINTS and gains.units == ("N m/A",) * 4 and not gains.identified
    np.testing.assert_array_equal(gains.values, GAINS)
    assert not gains.std.any()
    np.testing.assert_array_equal(gains.intervals, np.stack([GAINS, GAINS], axis=1))
    assert not gains.poorly_known.any()


def test_gravity_never_loads_an_axis_that_stands_upright():
    np.testing.assert_array_equal(drive_gains.loaded_by_gravity(arm()), [False, True, True, True])
    sideways = chain("zy", [0.0, 0.3], gravity=(9.81, 0.0, 0.0))
    np.testing.assert_array_equal(drive_gains.loaded_by_gravity(sideways), [True, True])


@pytest.mark.parametrize(
    ("std", "expected"),
    [
        (0.5, [0.5] * 4),
        ([1, 2, 3, 4], [1, 2, 3, 4]),
        ({"j3": 2.0}, [0, 0, 2, 0]),
    ],
)
def test_standard_deviations_of_gains(std, expected):
    np.testing.assert_allclose(drive_gains.covariance_of(std, JOINTS), np.diag(np.square(expected)))


def test_exact_gains_have_no_covariance():
    assert drive_gains.covariance_of(None, JOINTS) is None


@pytest.mark.parametrize(
    ("std", "sentence"),
    [
        ([1.0, 2.0], "gain_std has 2 values; give one, or one for each of the 4 joints"),
        (-1.0, "gain_std must be finite and at least 0, not -1"),
        ({"j33": 1.0}, r"gain_std names joint 'j33'; did you mean 'j3'\?; the robot has j1, j2, j3, j4"),
    ],
)
def test_standard_deviations_that_cannot_be(std, sentence):
    with pytest.raises(InvalidMethod, match=sentence):
        drive_gains.covariance_of(std, JOINTS)


def test_only_ratios_without_a_scale():
    with pytest.raises(
        NotIdentifiable,
        match=r"^not identifiable: only ratios are\. Neither drive gains nor a mass are known",
    ):
        drive_gains.check_scale(problem())
    with pytest.raises(NotIdentifiable, match="only ratios"):
        drive_gains.check_scale(problem(held={"xyL": 0.0}))
    with pytest.raises(NotIdentifiable, match="only ratios"):
        drive_gains.check_scale(problem(priors={"mL": Normal(0.0, 1.0)}))


@pytest.mark.parametrize("known", [{"held": {"mL": 3.0}}, {"priors": {"mL": Normal(3.0, 0.01)}}])
def test_a_mass_sets_the_scale(known):
    drive_gains.check_scale(problem(**known))


def test_motors_that_drive_two_joints_are_refused():
    robot = with_drive(side="motor", reduction=50.0, couplings=(Coupling("j4", "j3", 50.0),))
    with pytest.raises(InvalidMethod, match="the motors of j4 drive two joints each"):
        drive_gains.check_uncoupled(problem(robot=robot))
    drive_gains.check_uncoupled(problem(robot=with_drive(side="motor", reduction=50.0)))


def test_a_gain_that_nothing_shows_is_named():
    """At rest, posture after posture, gravity loads all joints but the first."""
    still = [replace(each, v=0 * each.v, a=0 * each.a) for each in drawn(0, white=0.01)]
    with pytest.raises(
        NotIdentifiable, match="do not determine the drive gains of j1: other parameters compensate"
    ):
        PayloadIdentification().solve(problem(still, held={"mL": 3.0}))
