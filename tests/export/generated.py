"""Robots and identified dynamics to generate code from, and compilers that compile it."""

import shutil
import subprocess

import numpy as np
import pytest

from poinsot.export.c_source import CodeOrigin
from poinsot.export.python_source import python_module
from poinsot.export.routines import Routines
from poinsot.regression.dynamics import IdentifiedDynamics

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2")
ORIGIN = CodeOrigin("0.0", "result.json", 64 * "0", "least-squares", "trusted")


def dynamics_of(robot, theta):
    """Dynamics with these values of all parameters."""
    names = robot.parameters.names
    return IdentifiedDynamics(robot, robot.parameters, names, theta, np.zeros((len(names), len(names))))


def compiler(name):
    """The compiler of this name; the test is skipped where it is not installed."""
    if shutil.which(name) is None:
        pytest.skip(f"needs {name}")
    return name


def run(*command, cwd):
    """Standard output of a command that must succeed."""
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr or done.stdout
    return done.stdout


def module_of(dynamics, regressor=False):
    """Names of the generated Python module."""
    scope = {}
    exec(python_module(Routines(dynamics), ORIGIN, regressor), scope)
    return scope
