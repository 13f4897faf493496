"""Figs. 4 and 5 on one real recording: what kappa and compliance do to the estimate, in the paper's form and in ours.

The paper's errors of a step are explicit impulses on both bodies, with constraints as soft as their compliance says;
the reduced form has no constraints at all. Both take the paper's own step, 10 ms, and its limit of 20 iterations. As
soft beside the pendulum's weight as the paper's hinges of 1e-5 m/N are ours at 4e-4. The recording is the one whose
pendulum swings widest, which shows its inertias best.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as Folder

import numpy as np
from jaxtyping import Float

from poinsot.estimators.joint import JointFit

from ..case import Say
from .furuta_fits import Stand, stand
from .furuta_models import COMPLIANCES, MASS, inertia_about_hinge, with_values

RECORDING = "step 4 V"
SAMPLES = 5
"""Of a step: 10 ms."""
ITERATIONS = 20
KAPPAS = (1.0, 10.0, 100.0, 1e3, 1e4)
SIMULATED = (1.0, 10.0, 1e3, 1e4)
"""kappa of Fig. 5."""
PAPER_KAPPA = 100.0
COMPLIANCE = 1e-5 * 0.428 / MASS
"""As soft beside the pendulum's weight as the paper's [m/N]."""
COMPLIANCES_TRIED = (1e-6, 1e-5, 1e-4, COMPLIANCE, 1e-2)
REDUCED, EXPLICIT = "reduced", "explicit"


@dataclass(frozen=True, eq=False)
class Sweeps:
    """All of both figures.

    Args:
        kappa: form -> kappa -> fit. compliance: form -> compliance [m/N], [rad/(N m)] -> fit.
        times: (N,) of the recording [s].
        errors: kappa -> (N, 2) of arm and pendulum in open loop [rad].
    """

    kappa: Mapping[str, Mapping[float, JointFit]]
    compliance: Mapping[str, Mapping[float, JointFit]]
    times: Float[np.ndarray, "N"]
    errors: Mapping[float, Float[np.ndarray, "N 2"]]


def sweep(data: Folder, eccentricity: Mapping[str, float], say: Say) -> Sweeps:
    """Compute them.

    Args:
        data: folder of the recordings.
        eccentricity: of the encoder, by name of the parameter.
    """
    on = stand(data, SAMPLES)
    theta = with_values(on.model, on.start, **eccentricity)
    by_kappa: dict[str, dict[float, JointFit]] = {}
    for form in (REDUCED, EXPLICIT):
        say(f"kappa from {KAPPAS[0]:g} to {KAPPAS[-1]:g}, {form} form")
        by_kappa[form] = {kappa: _fit(on, theta, kappa, COMPLIANCE, form) for kappa in KAPPAS}
    say(f"compliance from {COMPLIANCES_TRIED[0]:g} to {COMPLIANCES_TRIED[-1]:g}, {EXPLICIT} form")
    by_compliance = {
        EXPLICIT: {
            soft: by_kappa[EXPLICIT][PAPER_KAPPA]
            if soft == COMPLIANCE
            else _fit(on, theta, PAPER_KAPPA, soft, EXPLICIT)
            for soft in COMPLIANCES_TRIED
        }
    }
    readings = on.readings(RECORDING)
    errors = {
        kappa: on.simulated(by_kappa[REDUCED][kappa].theta, RECORDING) - readings for kappa in SIMULATED
    }
    return Sweeps(by_kappa, by_compliance, on.records[RECORDING].times, errors)


def _fit(on: Stand, theta: Float[np.ndarray, "p"], kappa: float, compliance: float, form: str) -> JointFit:
    soft = with_values(on.model, theta, **dict.fromkeys(COMPLIANCES, compliance))
    return on.fit([RECORDING], kappa, soft, form=form, iterations=ITERATIONS)


def inertias(fit: JointFit) -> dict[str, float]:
    """The three of the figure [kg m^2]."""
    values = fit.values
    return {
        "pendulum about its hinge": inertia_about_hinge(values),
        "pendulum across": values["pendulum.Jyy"],
        "arm": values["arm.Jzz"],
    }
