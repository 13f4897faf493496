"""Simulate the recording of this folder: a cart with a pendulum that meets both ends of its rail.

python examples/cart/record.py      # rewrites run.csv

MuJoCo simulates it in steps of 0.1 ms. Encoders have noise of 0.2 mm and 1 mrad. A contact with a stop lasts 7 ms, and
the cart leaves it with 0.3 times the speed of its arrival.
"""

from pathlib import Path

import mujoco
import numpy as np

HERE = Path(__file__).parent
RATE_HZ, SECONDS, STEP = 200, 8.0, 1e-4
NOISE = np.array([2e-4, 1e-3])
MASS, POLE, CENTER, INERTIA = 0.8, 0.15, 0.2, 2e-3
STOP, DRAG, FRICTION, PIVOT_DRAG = 0.26, 0.5, 0.6, 1e-3
MODEL = f"""
<mujoco><option timestep="{STEP}" integrator="implicitfast"/><worldbody>
  <body name="cart">
    <joint name="rail" type="slide" axis="1 0 0" damping="{DRAG}" frictionloss="{FRICTION}" solreffriction="0.001 1"
      solimpfriction="0.9999 0.9999 0.001" limited="true" range="-{STOP} {STOP}" solreflimit="0.004 0.5"/>
    <inertial pos="0 0 0" mass="{MASS}" diaginertia="0.001 0.001 0.001"/>
    <body name="pole"><joint name="pivot" axis="0 1 0" damping="{PIVOT_DRAG}"/>
      <inertial pos="0 0 -{CENTER}" mass="{POLE}" diaginertia="{INERTIA} {INERTIA} {INERTIA / 20}"/></body>
  </body></worldbody><actuator><motor joint="rail"/></actuator></mujoco>
"""


def main():
    rng = np.random.default_rng(3)
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    data.qpos[1] = 0.3
    frequency, phase = rng.uniform(0.3, 1.0, 4), rng.uniform(0, 2 * np.pi, 4)
    rows = []
    for k in range(round(SECONDS * RATE_HZ)):
        t = k / RATE_HZ
        data.ctrl[0] = 3.2 * np.sin(2 * np.pi * frequency * t + phase).sum() - 6 * data.qpos[0]
        rows.append([t, *(data.qpos + NOISE * rng.standard_normal(2)), data.ctrl[0]])
        mujoco.mj_step(model, data, round(1 / RATE_HZ / STEP))
    at_stops = np.mean(np.abs(np.array(rows)[:, 1]) > STOP - 1e-3)
    print(f"the cart touches a stop in {100 * at_stops:.0f} % of the samples")
    header = "time,position.rail,position.pivot,force.rail"
    np.savetxt(HERE / "run.csv", rows, fmt="%.5g", delimiter=",", header=header, comments="")


if __name__ == "__main__":
    main()
