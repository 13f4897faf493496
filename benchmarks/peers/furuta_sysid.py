"""The peer of `discrete_multibody.py`: mujoco.sysid, as its documentation uses it.

Rollouts of the recording from states that are given, residuals of the encoders, inertias about both hinges and their
damping, its own least squares with finite differences. It searches within a hundredth and a hundred times the truth,
and is told that the pendulum is a rod, which it is.
"""

from __future__ import annotations

import mujoco
import numpy as np
from mujoco import sysid

SENSORS = mujoco.mjtSensor.mjSENS_JOINTPOS, mujoco.mjtObj.mjOBJ_JOINT


def furuta(
    lengths: tuple[float, float, float],
    masses: tuple[float, float],
    shaft: float,
    gravity: float,
    period: float,
    values: dict[str, float],
) -> mujoco.MjSpec:
    """Arm and pendulum, x along the arm, the pendulum hanging at zero; Runge and Kutta's method."""
    spec = mujoco.MjSpec()
    spec.option.timestep = period
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
    spec.option.gravity = [0.0, 0.0, -gravity]
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    arm = spec.worldbody.add_body(name="A")
    pendulum = arm.add_body(name="B", pos=[lengths[1], 0.0, 0.0])
    weigh(arm, masses[0], [lengths[0], 0.0, 0.0], of_arm(values["Jazz"]))
    weigh(pendulum, masses[1], [0.0, 0.0, -lengths[2]], of_rod(values["Jbyy"]))
    for body, name, axis, damping in ((arm, "hinge1", 2, "b1"), (pendulum, "hinge2", 0, "b2")):
        joint = body.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=np.eye(3)[axis])
        joint.damping = [values[damping], 0.0, 0.0]
        joint.armature = shaft if name == "hinge1" else 0.0
        spec.add_sensor(name=f"encoder of {name}", type=SENSORS[0], objtype=SENSORS[1], objname=name)
    return spec


def weigh(body: mujoco.MjsBody, mass: float, center: list[float], inertia: tuple[float, ...]) -> None:
    """Mass, centre and the inertia about it."""
    body.explicitinertial, body.mass, body.ipos = True, mass, center
    body.inertia, body.iquat = inertia, [1.0, 0.0, 0.0, 0.0]


def of_arm(x: float) -> tuple[float, float, float]:
    """Only its inertia about the hinge matters."""
    return x, x, x


def of_rod(x: float) -> tuple[float, float, float]:
    """Along z; MuJoCo compiles no bodies that cannot be, and while x is far off only a rod can."""
    return x, x, min(1e-4, x)


def simulated(spec: mujoco.MjSpec, angle: float, seconds: float) -> np.ndarray:
    """(T, 4) angles and rates from rest at an angle of the pendulum."""
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[1] = angle
    x = [np.concatenate([data.qpos, data.qvel])]
    for _ in range(round(seconds / model.opt.timestep)):
        mujoco.mj_step(model, data)
        x.append(np.concatenate([data.qpos, data.qvel]))
    return np.array(x)


def identify(
    spec: mujoco.MjSpec,
    start: dict[str, float],
    truth: dict[str, float],
    first: np.ndarray,
    encoders: np.ndarray,
) -> tuple[dict[str, float], int]:
    """The four parameters, and how often it simulated.

    Args:
        spec: MuJoCo model of the mechanism. start: initial guess. truth: center of the bounds.
        first: (parts, 4) angles and rates at the beginning of each part.
        encoders: (S, 2) at every step, S - 1 a multiple of the parts.
    """
    model = spec.compile()
    parameters = sysid.ParameterDict()
    for name in truth:

        def write(changed: mujoco.MjSpec, value: sysid.Parameter, name: str = name) -> None:
            x = float(np.ravel(value.value)[0])
            if name == "Jazz":
                changed.body("A").inertia = of_arm(x)
            elif name == "Jbyy":
                changed.body("B").inertia = of_rod(x)
            else:
                changed.joint("hinge1" if name == "b1" else "hinge2").damping = [x, 0.0, 0.0]

        low, high = truth[name] / 100, 100 * truth[name]
        parameters.add(sysid.Parameter(name, start[name], low, high, modifier=write))
    length = (len(encoders) - 1) // len(first)
    clock = model.opt.timestep * np.arange(length + 1)
    named, states, controls, measured = [], [], [], []
    for part, state in enumerate(first):
        now = slice(part * length, (part + 1) * length + 1)
        named.append(f"part {part}")
        states.append(sysid.create_initial_state(model, state[:2], state[2:]))
        controls.append(sysid.TimeSeries(clock, np.zeros((length + 1, model.nu))))
        # MuJoCo evaluates sensors before it steps: what it returns at the end of a step was read at its beginning
        measured.append(sysid.TimeSeries.from_names(clock[1:], encoders[now][:-1], model))
    recording = sysid.ModelSequences("furuta", spec, named, states, controls, measured)
    residuals, calls = sysid.build_residual_fn(models_sequences=[recording], n_threads=1), 0

    def counted(x: np.ndarray, *arguments: object, **options: object) -> object:
        nonlocal calls
        calls += 1 if x.ndim == 1 else x.shape[1]
        return residuals(x, *arguments, **options)

    fitted, _ = sysid.optimize(initial_params=parameters, residual_fn=counted, verbose=False, max_iters=100)
    return {name: float(np.ravel(fitted[name].value)[0]) for name in truth}, calls
