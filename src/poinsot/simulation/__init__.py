"""Simulation with an estimate.

actuators        open-loop simulation of a robot's actuators in MuJoCo, from a written file
"""
