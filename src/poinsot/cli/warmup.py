"""`poinsot warmup`: compile the inner loops by small identifications and a small filter run without output."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from .shell import deliver, echo, running

ROBOT = """<robot name="warmup"><link name="base"/><link name="arm"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link><joint name="joint" type="revolute">
<parent link="base"/><child link="arm"/><axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="9" velocity="9"/>
</joint></robot>"""


def warmup() -> None:
    """Compile inner loops now. No first run waits for it then; once after an installation is enough."""
    with running(None, None, None) as say:
        say("compiling inner loops")
        import numpy as np

        import poinsot

        with TemporaryDirectory() as folder:
            (path := Path(folder) / "warmup.urdf").write_text(ROBOT)
            robot = poinsot.load_robot(path, friction=poinsot.ViscousCoulomb(offset=True))
        t = np.arange(1000) / 100
        channels = {"position.joint": np.sin(4 * t) + np.sin(7 * t), "torque.joint": np.cos(17 * t)}
        recording = poinsot.Recording(t, channels, {"position.joint": "rad", "torque.joint": "N m"})
        for smoothing in (poinsot.ButterworthDecimation(8, 6), poinsot.RandomWalkSmoother(cutoff_hz=8)):
            problem = poinsot.InverseDynamics(robot, [recording], signals=smoothing)
            str(poinsot.LeastSquares(weighting="per-joint").solve(problem))  # asks for its findings too
        torques = poinsot.LinkTorques(robot, ("arm",))
        poinsot.ExtendedKalmanFilter(torques, 1.0).solve(poinsot.TrackingProblem(torques, [recording]))
        # the actuator of a joint that follows its commands 60 ms late
        t = np.arange(150) / 50
        positions = {
            f"{kind}.joint": 0.4 * np.sin(2 * (t - late)) + 0.1 * np.sin(9 * (t - late))
            for kind, late in (("position_command", 0.0), ("position", 0.06))
        }
        commanded = poinsot.Recording(t, positions, dict.fromkeys(positions, "rad"))
        search = poinsot.Search(draws=2)
        poinsot.OutputError(search).solve(poinsot.ActuatorProblem(robot, {"warmup": commanded}))
    deliver({}, "", {}, None, None, lambda: echo("the inner loops are compiled"))
