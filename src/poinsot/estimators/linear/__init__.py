"""Estimators of problems that are linear in the parameters: least squares, physically possible bodies, loads."""
