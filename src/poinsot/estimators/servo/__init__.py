"""Actuators from recorded commands and positions, by output error over whole recordings.

    problem   = ActuatorProblem(robot, {"motion": recording})
    estimate  = OutputError().solve(problem)
    print(estimate.actuators)

problem, output_error   the problem, the method
search, coordinates     the search for the actuator of one group of joints
result                  a table of actuators, ratios, and simulated motions
examination, channels   findings
command_design          commands that excite the actuators of a robot
"""
