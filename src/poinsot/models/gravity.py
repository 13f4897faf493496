"""Default gravity."""

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
"""Gravity in the world frame [m/s^2]."""
