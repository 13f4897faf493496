"""Recordings of robots whose parameters are known: for demonstrations, tests, and to try a motion before a robot does it."""

from .recordings import Sensors, fourier_motion, model_parameters, simulate_recording

__all__ = ["Sensors", "fourier_motion", "model_parameters", "simulate_recording"]
