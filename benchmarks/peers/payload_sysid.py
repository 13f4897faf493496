"""The peer of `optimal_estimation_payload.py`: mujoco.sysid, as its documentation uses it.

Rollouts of equal parts of the recording, each from a state that is given (one rollout of all of it diverges with wrong
parameters, and the search ends where it began), residuals of the encoders, ten numbers of the payload in log-Cholesky
coordinates, damping and dry friction of each joint, its own least squares with finite differences. What it writes of
the payload into the model is written here: in MuJoCo 4.0.0 its own `apply_body_theta_inertia` leaves the body without
inertia, and the simulation is NaN from its first step on.
"""

from __future__ import annotations

import mujoco
import numpy as np
from mujoco import sysid


def identify(
    spec: mujoco.MjSpec,
    first_states: np.ndarray,
    times: np.ndarray,
    torques: np.ndarray,
    encoders: np.ndarray,
    friction: dict[str, np.ndarray],
) -> dict[str, float]:
    """Mass of the payload [kg], and how often it simulated.

    Args:
        spec: with the guess of the payload. first_states: (parts, _) of the simulation of each part.
        times: (S,), S - 1 a multiple of the parts.
        torques, encoders: (S, n) at each sample, encoders after the first.
        friction: "damping" and "frictionloss" -> (n,) guesses.
    """
    model = spec.compile()
    n = model.nv
    parameters = sysid.ParameterDict()
    parameters.add(
        sysid.body_inertia_param(
            spec,
            model,
            "payload",
            sysid.InertiaType.Pseudo,
            stretch_bound_mult=np.array([0.1, 10.0]),
            modifier=write_payload,
        )
    )
    for kind, guess in friction.items():
        for k in range(n):
            name = model.joint(k).name

            def write(
                changed: mujoco.MjSpec, value: sysid.Parameter, kind: str = kind, name: str = name
            ) -> None:
                joint, x = changed.joint(name), float(value.value[0])
                setattr(joint, kind, [x, 0.0, 0.0] if kind == "damping" else x)

            parameters.add(sysid.Parameter(f"{kind}.{name}", guess[k], 0.0, 10.0 * guess[k], modifier=write))
    length = (len(times) - 1) // len(first_states)
    named, states, controls, measured = [], [], [], []
    for part, state in enumerate(first_states):
        now = slice(part * length, (part + 1) * length + 1)
        clock = times[: length + 1]
        named.append(f"part {part}")
        states.append(state)
        controls.append(sysid.TimeSeries(clock, torques[now]))
        # MuJoCo evaluates sensors before it steps: what it returns at the end of a step was read at its beginning
        measured.append(sysid.TimeSeries.from_names(clock[1:], encoders[now][:-1], model))
    recording = sysid.ModelSequences("arm", spec, named, states, controls, measured)
    calls = 0
    residuals = sysid.build_residual_fn(models_sequences=[recording], n_threads=1)

    def counted(x: np.ndarray, *arguments: object, **options: object) -> object:
        nonlocal calls
        calls += 1 if x.ndim == 1 else x.shape[1]
        return residuals(x, *arguments, **options)

    fitted, _ = sysid.optimize(initial_params=parameters, residual_fn=counted, verbose=False, max_iters=50)
    return {"mass": float(np.exp(2 * fitted["payload_inertia"].value[0])), "simulations": calls}


def write_payload(spec: mujoco.MjSpec, parameter: sysid.Parameter) -> None:
    """Mass, center of mass and principal inertia."""
    pi = sysid.model_modifier.pi_from_theta(parameter.value)
    m, c = pi[0], pi[1:4] / pi[0]
    inertia, axes = np.linalg.eigh(pi[4:].reshape(3, 3) - m * (c @ c * np.eye(3) - np.outer(c, c)))
    axes[:, 0] *= np.linalg.det(axes)
    turned = np.empty(4)
    mujoco.mju_mat2Quat(turned, axes.ravel())
    body = spec.body("payload")
    body.mass, body.ipos, body.iquat, body.inertia, body.fullinertia = (
        m,
        c,
        turned,
        inertia,
        np.full((6, 1), np.nan),
    )
