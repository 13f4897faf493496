"""A gripper of which two joints follow others, and its motion in MuJoCo."""

from pathlib import Path

import mujoco
import numpy as np

from poinsot import Recording

GRIPPER = """<mujoco><compiler angle="radian"/><worldbody><body name="palm">{free}
<geom type="box" size="0.1 0.06 0.03" density="800"/>
<body name="arm" pos="0.1 0 0"><joint name="lift" axis="0 1 0" ref="0.1"/>
<geom type="capsule" size="0.02" fromto="0 0 0 0.2 0 0"/>
<body name="left" pos="0.2 0.02 0"><joint name="left" axis="0 0 1" damping="0.1" armature="0.002"/>
<geom type="capsule" size="0.01" fromto="0 0 0 0.1 0.02 0"/>
<body name="tip" pos="0.1 0 0"><joint name="tip" type="slide" axis="1 0 0" ref="0.02"/>
<geom type="box" size="0.02 0.01 0.01"/></body></body>
<body name="right" pos="0.2 -0.02 0"><joint name="right" axis="0 0 1"/>
<geom type="capsule" size="0.012" fromto="0 0 0 0.1 -0.02 0"/></body></body></body></worldbody>
<equality><joint joint1="right" joint2="left" polycoef="0.05 -0.8 0 0 0"/>
<joint joint1="tip" joint2="lift" polycoef="0.01 0.1 0.4 -0.3 0.2"/></equality></mujoco>"""
"""`free`: a free joint, or nothing."""


def simulated(path: Path, rng: np.random.Generator, duration=0.3, period=5e-4) -> Recording:
    """The gripper of a file, with a free palm, thrown into the air while its motors move: encoders of two joints.

    Nothing reads the joints that follow.
    """
    motors = '<actuator><motor joint="lift"/><motor joint="left"/></actuator></mujoco>'
    option = f'<option timestep="{period}"><flag eulerdamp="disable" contact="disable"/></option>'
    text = path.read_text().replace("<compiler", option + "<compiler").replace("</mujoco>", motors)
    hard = f'solref="{2 * period} 1" solimp="0.9999 0.9999 0.001" polycoef'
    m = mujoco.MjModel.from_xml_string(text.replace("polycoef", hard))
    d = mujoco.MjData(m)
    place = {m.joint(j).name: m.joint(j).qposadr[0] for j in range(m.njnt)}
    d.qpos[place["right"]] = 0.05
    d.qpos[place["tip"]] = 0.02 + 0.01  # the leader is at its reference
    time, (a, b) = np.arange(round(duration / period)) * period, rng.uniform(0, 6, 2)
    u = np.stack(
        [
            0.2 * np.sin(24 * time + a) + 0.2 * np.cos(57 * time),
            0.5 * np.sin(33 * time + b) + 0.3 * np.cos(71 * time),
        ],
        axis=1,
    )
    q, v = np.empty((len(time), m.nq)), np.empty((len(time), m.nv))
    for k in range(len(time)):
        q[k], v[k], d.ctrl[:] = d.qpos, d.qvel, u[k]
        mujoco.mj_step(m, d)
    channels, units = {}, {}

    def read(name, values, unit, noise=0.0):
        channels[name], units[name] = values + noise * rng.standard_normal(len(values)), unit

    for k, joint in enumerate(("lift", "left")):
        read(f"position.{joint}", q[:, place[joint]], "rad", NOISE["position"])
        read(f"velocity.{joint}", v[:, m.joint(joint).dofadr[0]], "rad/s", NOISE["velocity"])
        read(f"torque.{joint}", u[:, k], "N m")
    for k, axis in enumerate("xyz"):
        read(f"position.palm.{axis}", q[:, k], "m", NOISE["position"])
        read(f"gyro.palm.{axis}", v[:, 3 + k], "rad/s", NOISE["gyro"])
    for k, axis in enumerate("wxyz"):
        read(f"orientation.palm.{axis}", q[:, 3 + k], "")
    return Recording(time, channels, units)


NOISE = {"position": 1e-4, "velocity": 1e-3, "gyro": 1e-3, "orientation": 1e-3}
