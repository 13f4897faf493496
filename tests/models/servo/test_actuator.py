import math

import pytest

from poinsot import Actuator, actuator_parameters
from poinsot.models.servo.actuator import InvalidActuator, estimated_parameters


def test_every_parameter_is_a_field_with_a_default_that_means_absent():
    actuator = Actuator("elbow", stiffness=10.0)
    assert (
        set(actuator.values)
        == set(estimated_parameters())
        == set(actuator_parameters()) - {"ramp", "nominal_voltage"}
    )
    assert all(
        value in (0.0, math.inf)
        for name, value in actuator.values.items()
        if name not in ("stiffness", "stribeck_speed")
    )


def test_updated_changes_only_what_it_is_given():
    actuator = Actuator("elbow", stiffness=10.0, delay=0.02).updated({"coulomb": 0.1})
    assert (actuator.stiffness, actuator.coulomb, actuator.delay) == (10.0, 0.1, 0.02)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coulomb": -0.1}, "write coulomb >= 0"),
        ({"delay": math.nan}, "delay of the actuator of 'elbow' is nan"),
        ({"stiffness": math.inf}, "stiffness of the actuator of 'elbow' is infinite"),
        ({"friction_positions": (0.0, 1.0)}, "write one level for each position"),
        ({"friction_positions": (1.0, 0.0), "friction_levels": (0.1, 0.2)}, "do not increase"),
        ({"colour": 1.0}, "no parameter 'colour'"),
    ],
)
def test_impossible_values_are_refused_by_name(change, message):
    with pytest.raises(InvalidActuator, match=message):
        Actuator("elbow", stiffness=10.0).updated(change)
