"""Recordings of robots whose parameters are known: to demonstrate, to test, to try a motion before a robot does."""

from .recordings import Sensors, fourier_motion, model_parameters, simulate_recording

__all__ = ["Sensors", "fourier_motion", "model_parameters", "simulate_recording"]
