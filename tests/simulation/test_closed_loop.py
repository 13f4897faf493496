"""The motion of a model in its loop, beside an independent simulation and beside its own equation."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from poinsot.models.efforts import Spring
from poinsot.models.friction import NoFriction
from poinsot.models.robot.drive import Coupling, Drive
from poinsot.simulation.closed_loop import PositionLaw, follow
from references.dense_regression import torque
from references.robots import chain, own_parameters

TIME = np.arange(2000) / 1000
COMMAND = 0.5 * np.stack([np.sin(2 * TIME), np.sin(3 * TIME)], axis=1)
LAW = PositionLaw(np.array([300.0, 200.0]), np.array([40.0, 25.0]), np.array([0.5, -0.3]))


def test_it_moves_as_an_integrator_of_high_order_says():
    """Euler's method of steps h is off by about h / 2 of the motion's own speed; at 1 kHz and 1 rad/s by 5e-4 rad."""
    robot = chain("zy", [0, 0.3], friction=NoFriction())
    theta = own_parameters(robot, np.random.default_rng(0))
    model, data = robot.model, robot.model.createData()

    def rates(t, x):
        q, v = x[:2], x[2:]
        c = np.array([np.interp(t, TIME, column) for column in COMMAND.T])
        speed = np.array([0.5 * 2 * np.cos(2 * t), 0.5 * 3 * np.cos(3 * t)])
        tau = LAW.proportional * (c - q) + LAW.derivative * (speed - v) + LAW.constant
        return np.concatenate([v, pin.aba(model, data, q, v, tau)])

    first = np.concatenate([COMMAND[0], np.gradient(COMMAND, TIME, axis=0)[0]])
    exact = solve_ivp(rates, (0, TIME[-1]), first, t_eval=TIME, rtol=1e-8, atol=1e-10).y[:2].T
    assert follow(robot, theta, LAW, TIME, COMMAND) == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize("coupled", [False, True])
def test_the_torques_of_the_motion_are_those_of_the_law(coupled):
    """Rotors, friction, springs and coupled motors: the inverse dynamics of the motion is the law."""
    couplings = (Coupling(motor="j2", joint="j1", ratio=0.5),) if coupled else ()
    robot = chain("zy", [0, 0.3], drive=Drive(rotor_inertia=True, couplings=couplings))
    theta = own_parameters(robot, np.random.default_rng(1))
    q = follow(robot, theta, LAW, TIME, COMMAND)
    v = np.gradient(q, TIME, axis=0)
    a = np.gradient(v, TIME, axis=0)
    speed = np.gradient(COMMAND, TIME, axis=0)
    law = LAW.proportional * (COMMAND - q) + LAW.derivative * (speed - v) + LAW.constant
    needed = torque(robot, theta, q, v, a)
    # away from reversals of joints and motors, where dry friction is smoothed, and from the start
    speeds = np.column_stack([v, v @ (0.5, 1.0)])
    used = (np.abs(speeds) > 0.1).all(axis=1) & (TIME > 0.5) & (TIME < 1.95)
    assert np.abs(needed - law)[used].max() <= 0.02 * np.abs(law).max()


def test_a_spring_moves_it():
    robot = chain("zy", [0, 0.3], friction=NoFriction())
    sprung = replace(robot, efforts=(Spring("j2", zero=0.0),))
    theta = own_parameters(robot, np.random.default_rng(0))
    still = np.repeat(COMMAND[500:501], len(TIME), axis=0)
    still[0] += 0.2  # a command that never changes is no motion
    soft = PositionLaw(LAW.proportional, LAW.derivative, np.zeros(2))
    q = follow(sprung, np.append(theta, 100.0), soft, TIME, still)
    # at rest the loop holds gravity and spring: K (c - q) = g(q) + k q
    held = (
        torque(robot, theta, q[-1:], np.zeros((1, 2)), np.zeros((1, 2)))[0] + np.array([0.0, 100.0]) * q[-1]
    )
    assert soft.proportional * (still[-1] - q[-1]) == pytest.approx(held, rel=1e-2, abs=1e-2)


def test_an_unstable_model_has_no_motion():
    robot = chain("zy", [0, 0.3], friction=NoFriction())
    theta = -own_parameters(robot, np.random.default_rng(0))
    assert follow(robot, theta, LAW, TIME, COMMAND) is None


def test_a_command_that_rests_is_its_own_motion():
    robot = chain("zy", [0, 0.3])
    still = np.ones((50, 2))
    assert follow(robot, np.zeros(len(robot.parameters)), LAW, TIME[:50], still) is still
