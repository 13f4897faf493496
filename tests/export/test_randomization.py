"""Ranges for the next recording: right about simulated truth, written, read back, sampled, and put into MuJoCo."""

import json
from dataclasses import replace

import mujoco
import numpy as np
import pytest

import poinsot
from poinsot.estimate import Fit
from poinsot.estimate.uncertainty import EstimatedParameters, Uncertainty
from poinsot.estimators.servo.result import Actuators
from poinsot.exceptions import InvalidMethod, UnreadableFile
from poinsot.export.randomization import (
    Randomization,
    Variable,
    next_recording_covariance,
    randomization_of,
    read_randomization,
    write_randomization,
)
from poinsot.models.servo.actuator import Actuator

KINDS = ("stiffness", "coulomb", "delay", "zero")
UNITS = ("N m/rad", "N m", "s", "rad")


def estimate(rng, values, std, correlation=0.0, scale_known=True, joint="elbow"):
    """An estimate of one joint whose stiffness and dry friction are correlated."""
    C = np.diag(np.square(std))
    C[0, 1] = C[1, 0] = correlation * std[0] * std[1]
    y = rng.multivariate_normal(values, C)
    parameters = EstimatedParameters(
        tuple(f"{joint}.{kind}" for kind in KINDS), UNITS, (joint,) * 4, KINDS, y,
        tuple(f"{joint}.{kind}" for kind in KINDS), np.array([scale_known, scale_known, True, True]),
        Uncertainty(correlation=C),
    )  # fmt: skip
    actuator = Actuator(joint, **dict(zip(KINDS, y.tolist(), strict=True)), armature=0.01)
    extra = Actuators(
        (actuator,),
        True,
        0.002,
        {joint: scale_known},
        (),
        {},
        {"log": (np.zeros(1), np.zeros(1))},
        {joint: "M1"},
        np.zeros((1, 1)),
        object.__new__(poinsot.Articulated),
    )
    fit = Fit.__new__(Fit)
    one = poinsot.Estimate("actuators", "arm", parameters, poinsot.Status.solved, 1.0, 100, fit)
    return one.updated(extra)


@pytest.fixture
def randomization(rng):
    variables = (
        Variable("elbow", ("elbow",), "stiffness", "N m/rad"),
        Variable("elbow", ("elbow",), "coulomb", "N m"),
        Variable("wrists", ("left", "right"), "damping", "N m s/rad"),
        Variable("left", ("left",), "friction_level_1", "N m"),
    )
    root = np.diag([2.0, 0.05, 0.2, 0.1]) @ (np.eye(4) + 0.3 * rng.normal(size=(4, 4)))
    actuators = (
        Actuator("elbow", 18.0, coulomb=0.3, delay=0.02),
        Actuator("left", 5.0, damping=0.4, friction_positions=(0.0, 1.0), friction_levels=(0.0, 0.5)),
        Actuator("right", 5.0, damping=0.4),
    )
    return Randomization(
        actuators, variables, np.array([18.0, 0.3, 0.4, 0.5]), root @ root.T, ("elbow.delay",), 6, True
    )


def test_it_comes_back_from_its_file(tmp_path, randomization):
    path = tmp_path / "randomization.json"
    write_randomization(randomization, path)
    found = read_randomization(path)
    assert found.actuators == randomization.actuators
    assert found.variables == randomization.variables
    np.testing.assert_allclose(found.values, randomization.values)
    np.testing.assert_allclose(found.covariance, randomization.covariance)
    np.testing.assert_allclose(found.ranges, randomization.ranges)
    assert (found.undetermined, found.recordings, found.contains_spread) == (("elbow.delay",), 6, True)
    row = json.loads(path.read_text())["joints"]["right"]["damping"]
    assert row["lower"] == pytest.approx(0.4 - 1.959964 * randomization.std[2])
    assert row["unit"] == "N m s/rad"


def test_samples_have_the_covariance_and_stop_at_nothing(randomization, rng):
    tight = replace(randomization, covariance=1e-4 * randomization.covariance)
    drawn = [tight.sample(rng) for _ in range(4000)]
    found = np.array(
        [[e.stiffness, e.coulomb, left.damping, left.friction_levels[1]] for e, left, _ in drawn]
    )
    # The standard deviation of a correlation of 4000 draws is at most 0.016, that of a variance 2.2 %.
    np.testing.assert_allclose(np.corrcoef(found.T), tight.correlation, atol=0.06)
    np.testing.assert_allclose(found.std(axis=0), tight.std, rtol=0.06)
    np.testing.assert_allclose(found.mean(axis=0), tight.values, atol=5 * tight.std.max() / 60)
    assert all(left.damping == right.damping for _, left, right in drawn)
    wide = replace(randomization, covariance=100 * randomization.covariance)
    assert min(wide.sample(rng)[0].coulomb for _ in range(50)) == 0.0
    assert wide.ranges.min() >= 0.0


@pytest.mark.parametrize("spread", [0.0, 1.0, 10.0])
@pytest.mark.parametrize(("recordings", "missing"), [(4, 0), (12, 0), (12, 6)])
def test_ranges_hold_the_next_recording(rng, spread, recordings, missing):
    """The share of true parameters of the next recording inside is at least 95 %, up to chance, for any spread."""
    p, draws, inside = 3, 1500, 0
    root = rng.normal(size=(p, p))
    B, C = spread**2 * root @ root.T, np.eye(p) + 0.5
    for _ in range(draws):
        theta = rng.multivariate_normal(np.ones(p), B, size=recordings + 1)
        y = theta[:-1] + rng.multivariate_normal(np.zeros(p), C, size=recordings)
        y[:missing, 0] = np.nan
        covariance = next_recording_covariance(y, C)
        inside += np.sum(np.abs(theta[-1] - np.nanmean(y, axis=0)) < 1.96 * np.sqrt(np.diag(covariance)))
    share = inside / (draws * p)
    # One standard deviation of the share is 0.6 % if the three parameters were one; the method may be wider, not less.
    assert share > 0.95 - 3 * 0.006
    if spread == 10.0:
        assert share < 0.95 + 3 * 0.006


def test_the_range_is_that_of_one_estimate_or_of_the_spread_between_many(rng):
    std = np.array([0.5, 0.01, 0.001, 0.002])
    one = randomization_of(estimate(rng, [18.0, 0.3, 0.02, 0.0], std, 0.8))
    np.testing.assert_allclose(one.std, std)
    assert not one.contains_spread
    assert one.correlation[0, 1] == pytest.approx(0.8)
    spread = np.array([3.0, 0.1, 0.001, 0.002])
    many = randomization_of(
        [estimate(rng, [18.0, 0.3, 0.02, 0.0] + spread * rng.normal(size=4), std) for _ in range(40)]
    )
    assert many.contains_spread
    assert many.recordings == 40
    # The standard deviation of a standard deviation of 40 numbers is 11 %.
    np.testing.assert_allclose(many.std[:2], spread[:2], rtol=0.45)
    assert many.actuators[0].stiffness == pytest.approx(many.values[0])
    with pytest.raises(InvalidMethod, match="2 estimates do not show the spread"):
        randomization_of([estimate(rng, [18.0, 0.3, 0.02, 0.0], std)] * 2)


def test_torques_without_a_scale_are_ranges_of_ratios(rng):
    # Stiffness 30 % uncertain, dry friction in the same proportion: the ratio is known to 1 %.
    std = np.array([6.0, 0.0901, 0.001, 0.002])
    correlation = 0.09 / 0.0901 * 1.0
    one = estimate(rng, [20.0, 0.3, 0.02, 0.0], std, correlation, scale_known=False)
    found = randomization_of(one)
    assert [variable.parameter for variable in found.variables] == ["coulomb", "delay", "zero"]
    assert found.undetermined == ("elbow.stiffness",)
    assert found.std[0] == pytest.approx(std[1] * np.sqrt(1 - correlation**2), rel=1e-6)
    many = randomization_of(
        [estimate(rng, [20.0, 0.3, 0.02, 0.0], std, correlation, scale_known=False) for _ in range(6)]
    )
    assert many.std[0] < 0.1


ARM = """
<mujoco>
  <worldbody><body><joint name="elbow" axis="0 1 0"/><geom size="0.1" pos="0.2 0 0" mass="0.3"/></body></worldbody>
  <actuator><position name="elbow" joint="elbow" kp="998" kv="3"/></actuator>
</mujoco>
"""


def test_ten_lines_put_a_draw_into_mujoco(tmp_path, rng):
    actuators = (Actuator("elbow", 18.0, damping=0.6, coulomb=0.1, armature=0.02, torque_limit=3.0),)
    variables = (
        Variable("elbow", ("elbow",), "stiffness", "N m/rad"),
        Variable("elbow", ("elbow",), "coulomb", "N m"),
    )
    write_randomization(
        Randomization(actuators, variables, np.array([18.0, 0.1]), np.diag([4.0, 1e-4])),
        tmp_path / "randomization.json",
    )
    model = mujoco.MjModel.from_xml_string(ARM)
    randomization = read_randomization(tmp_path / "randomization.json")
    ends = []
    for _ in range(3):
        for actuator in randomization.sample(rng):
            dof, servo = model.joint(actuator.name).dofadr[0], model.actuator(actuator.name).id
            model.dof_armature[dof] = actuator.armature
            model.dof_damping[dof] = actuator.damping
            model.dof_frictionloss[dof] = actuator.coulomb
            model.actuator_gainprm[servo, 0] = actuator.stiffness
            model.actuator_biasprm[servo, :3] = 0, -actuator.stiffness, -actuator.derivative_gain
            model.actuator_forcerange[servo] = -actuator.torque_limit, actuator.torque_limit
            model.actuator_forcelimited[servo] = True
        data = mujoco.MjData(model)
        mujoco.mj_step(model, data, 1000)
        ends.append(data.qpos[0])
    # Gravity of 0.59 N m sags a servo of 18 N m/rad by 33 mrad, less what dry friction holds.
    assert all(0.015 < end < 0.05 for end in ends)
    assert len({*ends}) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "other/1"}, "has the schema 'other/1'"),
        ({"values": [1.0]}, "4 parameters need 4 values"),
        ({"std": [1, 2, 3, None]}, "is damaged"),
        ({"correlation": "much"}, "is damaged"),
        ({"actuators": []}, "has no actuator 'elbow'"),
        ({"actuators": [{"name": "elbow", "stiffness": -1.0}]}, "is damaged"),
        ({"order": 3}, "is damaged"),
    ],
)
def test_damaged_files_are_one_sentence(tmp_path, randomization, change, message):
    path = tmp_path / "randomization.json"
    write_randomization(randomization, path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UnreadableFile, match=message):
        read_randomization(path)
    path.write_text("[" * 100_000)
    with pytest.raises(UnreadableFile, match="is damaged"):
        read_randomization(path)
