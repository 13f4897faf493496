"""Actuators of robots that take position commands: from a log to a simulator that moves like the robot.

actuator = Actuator("elbow", stiffness=18.0, coulomb=0.1, delay=0.02)
"""

from .actuator import DESCRIPTIONS as DESCRIPTIONS
from .actuator import PARAMETERS as PARAMETERS
from .actuator import Actuator as Actuator
from .actuator import ParameterDescription as ParameterDescription
