"""Simulation with an estimate.

actuators        open-loop simulation of a robot's actuators in MuJoCo, from a written file
closed_loop      motion of a model in its control loop, or driven by the motion of its motors
"""
