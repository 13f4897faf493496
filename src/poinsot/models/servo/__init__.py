"""Actuators of robots that take position commands: from a command to a torque.

actuator         the parameters of an actuator, and laws of dry friction
setpoint         the setpoint of a controller between its commands
mechanics        inertia, gravity and coupling of each joint along a posture
rollout, kernel  exact simulation of one actuator along the load of its mechanism, with sensitivities
"""
