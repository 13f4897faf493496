"""`poinsot warmup`: compile the inner loops by a small identification and a small filter run, which nobody sees."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from ..exceptions import MissingExtra
from .shell import VERBOSITY, running

LINK = """<link name="l{k}"><inertial><origin xyz="0.1 0.01 0"/><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link><joint name="j{k}" type="revolute">
<parent link="{parent}"/><child link="l{k}"/><axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="9" effort="50"/>
</joint>"""


def warmup() -> None:
    """Compile inner loops now. No first run waits for it then; once after an installation is enough."""
    with running(None, None, None) as say:
        began = time.monotonic()
        say("compiling inner loops")
        import numpy as np

        import poinsot

        links = "".join(LINK.format(k=k, parent=f"l{k - 1}") for k in (1, 2))
        with TemporaryDirectory() as folder:
            path = Path(folder) / "warmup.urdf"
            path.write_text(f'<robot name="warmup"><link name="l0"/>{links}</robot>')
            robot = poinsot.load_robot(path, friction=poinsot.ViscousCoulomb(offset=True))
        t = np.arange(1000) / 100
        motion = {"j1": np.sin(4 * t) + np.sin(7 * t), "j2": np.sin(5 * t) - np.sin(8 * t)}
        channels = {f"position.{name}": x for name, x in motion.items()}
        channels |= {f"torque.{name}": 3 * np.cos(x) + np.sin(17 * t) for name, x in motion.items()}
        units = {name: "rad" if name.startswith("position") else "N m" for name in channels}
        recording = poinsot.Recording(t, channels, units)
        for smoothing in (
            poinsot.ButterworthDecimation(cutoff_hz=8, decimate_hz=6),
            poinsot.RandomWalkSmoother(cutoff_hz=8),
        ):
            problem = poinsot.InverseDynamics(robot, [recording], signals=smoothing)
            poinsot.LeastSquares(weighting="per-joint").solve(problem).findings  # noqa: B018
        with suppress(MissingExtra):
            poinsot.SemidefiniteLeastSquares("per-joint").solve(problem)
        torques = poinsot.LinkTorques(robot, ("l2",))
        poinsot.ExtendedKalmanFilter(torques, 1.0).solve(poinsot.TrackingProblem(torques, [recording]))
    if VERBOSITY.get() != "quiet":
        typer.echo(f"the inner loops are compiled, in {time.monotonic() - began:.0f} s")
