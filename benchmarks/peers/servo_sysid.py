"""The peer of `actuators.py`: mujoco.sysid, as its documentation uses it.

Rollouts of whole recordings in the robot's own file, residuals of the joints' positions, its own least squares with
finite differences. The delay is given to it, as its parameters have none, and so is the stiff impedance of dry friction
in the file, without which joints creep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO

import mujoco
import numpy as np
from mujoco import sysid

Bounds = Mapping[str, tuple[float, float, float]]
"""Parameter of every joint -> start, lower and upper bound."""


def identify(
    text: str,
    joints: Sequence[str],
    bounds: Bounds,
    recordings: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
    iterations: int,
) -> dict[str, dict[str, float]]:
    """Joint -> parameters.

    Args:
        text: MJCF with one position servo a joint. joints: names, in its order.
        recordings: (S,) times on an even clock of the file's time step [s], (S, n) delayed commands, and (S, n)
            positions [rad].
    """
    spec = mujoco.MjSpec.from_string(text)
    for joint in joints:
        spec.add_sensor(
            name=f"encoder of {joint}", type=mujoco.mjtSensor.mjSENS_JOINTPOS, objtype=mujoco.mjtObj.mjOBJ_JOINT,
            objname=joint,
        )  # fmt: skip
    parameters = sysid.ParameterDict()
    for joint in joints:
        for name, (start, lower, upper) in bounds.items():

            def write(
                changed: mujoco.MjSpec, value: sysid.Parameter, joint: str = joint, name: str = name
            ) -> None:
                _set(changed, joint, name, float(np.ravel(value.value)[0]))

            parameters.add(sysid.Parameter(f"{joint}.{name}", start, lower, upper, modifier=write))
    model = spec.compile()
    named, states, controls, measured = [], [], [], []
    for number, (time, commands, positions) in enumerate(recordings):
        named.append(f"recording {number}")
        states.append(sysid.create_initial_state(model, positions[0], np.zeros(model.nv)))
        controls.append(sysid.TimeSeries(time, commands))
        # sensors are evaluated before a step: what is returned at its end was read at its beginning
        measured.append(sysid.TimeSeries.from_names(time[1:], positions[:-1], model))
    sequences = sysid.ModelSequences("servo", spec, named, states, controls, measured)
    residuals = sysid.build_residual_fn(models_sequences=[sequences], n_threads=1)
    with redirect_stdout(StringIO()):  # it prints its iterations
        fitted, _ = sysid.optimize(
            initial_params=parameters, residual_fn=residuals, verbose=False, max_iters=iterations
        )
    return {
        joint: {name: float(np.ravel(fitted[f"{joint}.{name}"].value)[0]) for name in bounds}
        for joint in joints
    }


def _set(spec: mujoco.MjSpec, joint: str, name: str, value: float) -> None:
    """One parameter of a joint, or of its servo k (c + zero - q) - g v."""
    actuator, target = spec.actuator(joint), spec.joint(joint)
    k, zero = actuator.gainprm[0], actuator.biasprm[0] / actuator.gainprm[0]
    if name == "stiffness":
        actuator.gainprm[0], actuator.biasprm[0], actuator.biasprm[1] = value, value * zero, -value
    elif name == "velocity_gain":
        actuator.biasprm[2] = -value
    elif name == "zero":
        actuator.biasprm[0] = k * value
    elif name == "damping":
        target.damping = [value, 0.0, 0.0]
    elif name == "coulomb":
        target.frictionloss = value
    else:
        target.armature = value
