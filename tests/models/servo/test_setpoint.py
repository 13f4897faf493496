"""The setpoint of held commands against means of what was commanded, sample by sample."""

import numpy as np
import pytest

from poinsot.models.servo.setpoint import Setpoint

TIME = np.array([0.0, 0.02, 0.045, 0.06, 0.08])
COMMAND = np.array([0.1, -0.2, 0.3, 0.3, 0.5])


@pytest.mark.parametrize("ramp", [0.003, 0.015, 0.02, 0.05])
def test_a_setpoint_is_the_mean_of_the_commands_of_the_ramp(ramp):
    found = Setpoint.of(TIME, COMMAND, hold=True, ramp=ramp)
    assert not found.hold
    assert found.time[0] == TIME[0]
    assert (np.diff(found.time) > 0).all()
    step = 1e-5
    fine = np.arange(-0.1, 0.2, step)
    held = COMMAND[np.clip(np.searchsorted(TIME, fine + step / 2, side="right") - 1, 0, 4)]
    integral = np.concatenate([[0.0], np.cumsum(held) * step])
    ends = np.append(fine, fine[-1] + step)
    at = np.linspace(0.0, 0.15, 101)
    mean = (np.interp(at, ends, integral) - np.interp(at - ramp, ends, integral)) / ramp
    # a step of the reference of 0.5 rad over the ramp
    np.testing.assert_allclose(np.interp(at, found.time, found.position), mean, atol=0.5 * step / ramp)


def test_a_ramp_from_command_to_command_is_a_line_between_them():
    time = 0.02 * np.arange(5)
    found = Setpoint.of(time, COMMAND, hold=True, ramp=0.02)
    np.testing.assert_allclose(found.time, 0.02 * np.arange(6), atol=1e-12)
    np.testing.assert_allclose(found.position, [*COMMAND[:1], *COMMAND], atol=1e-12)


def test_commands_that_are_linear_or_have_no_ramp_stay_as_they_are():
    assert Setpoint.of(TIME, COMMAND, hold=True).hold
    linear = Setpoint.of(TIME, COMMAND, hold=False, ramp=0.02)
    assert not linear.hold
    np.testing.assert_array_equal(linear.position, COMMAND)
