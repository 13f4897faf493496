"""What bodies weigh, where nothing else is said."""

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
"""In the world [m/s^2]."""
