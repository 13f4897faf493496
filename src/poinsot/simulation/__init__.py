"""Simulated robots whose parameters are known: to demonstrate, to test, to try a motion before a robot does.

recordings   recordings of a robot that follows a motion exactly, measured by imperfect sensors
"""

from .recordings import Sensors, fourier_motion, model_parameters, simulate_recording

__all__ = ["Sensors", "fourier_motion", "model_parameters", "simulate_recording"]
