"""Actuators from recorded commands and positions, by output error over whole recordings.

    problem   = ActuatorProblem(robot, {"motion": recording})
    estimate  = OutputError().solve(problem)
    print(estimate.actuators)

problem, output_error   the problem, the method
search, friction_choice the search for the actuator of one group of joints
intervals               covariances, the next recording, and what is not determined
result                  a table of actuators, ratios, and simulated motions
examination             findings
between_joints          whether joints are alike, and what they show together
command_design          commands that excite the actuators of a robot
"""
