"""Estimators of problems that are linear in the parameters: least squares, essential parameters."""
