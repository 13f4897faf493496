"""Estimate what a mechanism is and how it moved, together, from its recordings, with the uncertainty of both.

    robot     = poinsot.load_robot("robot.urdf", drive=..., friction=poinsot.ViscousCoulomb())
    recording = poinsot.read_recording("log.parquet", channels={...})
    smoothing = poinsot.ButterworthDecimation(cutoff_hz=50, decimate_hz=10)
    problem   = poinsot.InverseDynamics(robot, [recording], signals=smoothing)
    estimate  = poinsot.LeastSquares().solve(problem)
    poinsot.write_report(estimate, "report.html")

Public names are those of `__init__.pyi`. Each is loaded when it is first used: `import poinsot` costs nothing.
"""

from importlib.metadata import PackageNotFoundError, version

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

try:
    __version__ = version("poinsot")
except PackageNotFoundError:  # a source tree that is not installed
    __version__ = "0.0.0"
