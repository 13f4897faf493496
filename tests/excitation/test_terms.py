"""Regressor, torques and their derivatives along a motion, with motors and friction."""

import numpy as np
import pytest

from poinsot.excitation.problem import Terms, with_friction_held
from poinsot.models.friction import ViscousCoulomb
from poinsot.models.robot.drive import Coupling, Drive
from poinsot.regression.base_parameters import structural_base
from poinsot.regression.regressor import Regressor
from references.dense_regression import torque
from references.robots import own_parameters, random_robot

DRIVES = {
    "none": Drive(),
    "rotors": Drive(rotor_inertia=True),
    "coupled": Drive(reduction=[20, 30, -40], couplings=(Coupling("j3", "j2", 10),), rotor_inertia=True),
    "tied": Drive(
        reduction=[20, 30, -40],
        couplings=(Coupling("j3", "j2", 10),),
        rotor_inertia=True,
        coupled_rotor="tied",
        coupled_friction=False,
    ),
}


def terms_of(drive, rng, rounding=0.0):
    robot = random_robot(rng, 3, kinds="RUP", drive=DRIVES[drive], friction=ViscousCoulomb())
    regressor = Regressor(robot, robot.parameters)
    return Terms(regressor, structural_base(regressor), own_parameters(robot, rng), np.full(3, rounding))


@pytest.mark.parametrize("drive", DRIVES)
def test_torques_are_those_of_newton_and_euler(drive, rng):
    terms = terms_of(drive, rng)
    q, v, a = rng.standard_normal((3, 10, 3))
    expected = torque(terms.regressor.robot, terms.theta, q, v, a)
    assert np.allclose(terms.torques(terms.entries(q, v, a)), expected, atol=1e-10)


@pytest.mark.parametrize("drive", DRIVES)
def test_derivatives_are_finite_differences(drive, rng):
    terms = terms_of(drive, rng, rounding=0.2)
    q, v, a = rng.standard_normal((3, 6, 3))
    by_W, by_torque = rng.standard_normal((4, 3, len(terms.base))), rng.standard_normal((6, 3))

    def total(q, v, a):
        """Of the first four samples' W and of all torques."""
        E = terms.entries(q, v, a)
        rows = np.zeros(6)
        rows[:4] = np.sum(by_W * terms.W(E[:4]), axis=(1, 2))
        return rows + np.sum(by_torque * terms.torques(E), axis=1)

    found = terms.pull_back(q, v, a, by_W, by_torque)
    h = 1e-6
    # coupled motors have dry friction of their own, whose sign jumps and has no derivative: stay away from it
    coupled = terms.regressor.robot.train.coupled
    if coupled:
        assert np.abs(v @ terms.regressor.robot.train.scaled[coupled[0]]).min() > 2 * h
    for k, ours in enumerate(found):
        for joint, step in enumerate(h * np.eye(3)):
            ahead, behind = [q, v, a], [q, v, a]
            ahead[k], behind[k] = ahead[k] + step, behind[k] - step
            expected = (total(*ahead) - total(*behind)) / (2 * h)
            assert np.abs(ours[:, joint] - expected).max() <= 1e-7 * max(np.abs(expected).max(), 10.0)


def test_friction_held_leaves_the_columns_of_inertia(rng):
    robot = random_robot(rng, 3, drive=DRIVES["coupled"], friction=ViscousCoulomb())
    parameters = with_friction_held(robot.parameters.hold(fv1=3.0))
    kinds = dict(zip(parameters.names, parameters.kinds, strict=True))
    assert {kinds[name] for name in parameters.held} == {
        "viscous",
        "coulomb",
        "offset",
        "viscous_coupling",
        "coulomb_coupling",
    }
    assert parameters.held["fv1"] == 3.0
    base = structural_base(Regressor(robot, parameters))
    assert set(base.kinds) <= {"inertia", "rotor_inertia", "rotor_coupling"}
