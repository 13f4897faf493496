"""Actuators of robots that take position commands: from a log to a simulator that moves like the robot.

    recording = read_lerobot("my_dataset", episode=3, units="deg")
    problem   = ActuatorProblem(robot, {"motion": recording})
    estimate  = OutputError().solve(problem)
    print(estimate.actuators)
    write_randomization(randomization_of(estimate), "randomization.json")

Public names are those of `__init__.pyi`. Each is loaded when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
