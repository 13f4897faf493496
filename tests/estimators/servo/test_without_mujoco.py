"""What a user reads where MuJoCo is not installed."""

import subprocess
import sys

PROBE = """
import sys
sys.modules["mujoco"] = None
from poinsot.project.methods import find_method
settings = find_method("actuators")
try:
    import poinsot.simulation.actuators
except ImportError as error:
    print(type(error).__name__, error)
"""


def test_the_extra_is_named():
    run = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("MissingExtra") and "pip install 'poinsot[sim]'" in run.stdout
