"""Actuators of robots that take position commands: from a log to a simulator that moves like the robot.

problem  = ActuatorProblem(robot, {"motion": recording})
estimate = OutputError().solve(problem)
print(estimate.actuators)
"""

from .actuator import DESCRIPTIONS as DESCRIPTIONS
from .actuator import PARAMETERS as PARAMETERS
from .actuator import Actuator as Actuator
from .actuator import ParameterDescription as ParameterDescription
from .output_error import OutputError as OutputError
from .problem import OPEN as OPEN
from .problem import ActuatorProblem as ActuatorProblem
from .result import Actuators as Actuators
from .search import Search as Search
