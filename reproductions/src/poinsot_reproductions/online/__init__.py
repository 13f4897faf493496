"""Foster et al. (2024): mass properties that change while a humanoid moves, estimated inside its control loop.

One file a case; `adaptation` is what the cases share, `simulation` the closed loop that they run. Nothing of the
simulation is imported before a case runs, as it needs MuJoCo and ProxSuite.
"""

from __future__ import annotations

from importlib import import_module, util

from poinsot.exceptions import InvalidMethod

from ..case import PartedCase, Reproduction, Say, Simulation

CASES = ("consistency", "torso", "elbow", "curl", "gating", "which-link")


def _part(name: str) -> Simulation:
    def run(seed: int, say: Say) -> Reproduction:
        if not all(util.find_spec(needed) for needed in ("mujoco", "proxsuite")):
            raise InvalidMethod(f"{name} is simulated: pip install 'poinsot[sim,robots]' proxsuite")
        module = import_module(f".{name.replace('-', '_')}", __package__)
        result: Reproduction = module.run(seed, say=say)
        return result

    return Simulation(run)


ONLINE = PartedCase(
    "online",
    "Physically consistent online inertial adaptation for humanoid loco-manipulation",
    {name: _part(name) for name in CASES},
)
