"""How honest intervals of physically possible bodies are: simulated arms whose true bodies are drawn from the prior.

    python benchmarks/semidefinite_coverage.py [--json PATH] [--rounds N]

In each recording every link is another one: its mass off the description's by a log-normal factor of two, its centre of
mass by 30 degrees, its extents likewise, drawn here and not by the estimator; torques are Pinocchio's recursion
(`pin.rnea`) with friction, and noise that is white or coloured (a memory of 0.5 s), on many rows or few. 95 % intervals
of `full_parameters` should hold 93 to 97 % of the true masses; first moments and inertias are reported beside them.
"""

from __future__ import annotations

import sysconfig
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pinocchio as pin
from support.report import Agreement, deliver, options
from support.timing import Program, side_by_side

import poinsot
from poinsot_reproductions.simulated_recordings import fourier_motion

SHARE = Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
ARM = Path(__file__).parents[1] / "examples" / "arm" / "arm.urdf"
PANDA = SHARE / "panda_description" / "urdf" / "panda.urdf"
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")
MEMORY_S, NOISE = 0.5, 0.05
FACTOR, DIRECTION_DEG = 2.0, 30.0
RUNS = 500


@dataclass(frozen=True)
class Case:
    """One kind of recording.

    Args:
        rate_hz, duration_s: rate and duration of the rows. coloured: whether noise has a memory.
        std, direction_deg: standard deviation and direction of the prior, and of the truth.
    """

    path: Path
    locked: tuple[str, ...]
    rate_hz: float
    duration_s: float
    coloured: bool
    std: float = float(np.log(FACTOR))
    direction_deg: float = DIRECTION_DEG

    @cached_property
    def robot(self) -> poinsot.Articulated:
        return poinsot.load_robot(
            self.path, locked=dict.fromkeys(self.locked, 0.0), friction=poinsot.ViscousCoulomb(offset=True)
        )

    @cached_property
    def model(self) -> pin.Model:
        model = pin.buildModelFromUrdf(str(self.path))
        return pin.buildReducedModel(
            model, [model.getJointId(name) for name in self.locked], pin.neutral(model)
        )


CASES = {
    "arm, white": Case(ARM, (), 25.0, 20.0, False),
    "arm, coloured": Case(ARM, (), 25.0, 20.0, True),
    "arm, coloured, few rows": Case(ARM, (), 8.0, 10.0, True),
    "Panda, white": Case(PANDA, FINGERS, 12.5, 40.0, False),
    "Panda, coloured": Case(PANDA, FINGERS, 12.5, 40.0, True),
    "Panda, coloured, few rows": Case(PANDA, FINGERS, 5.0, 16.0, True),
    "Panda, coloured, known to 20 %": Case(PANDA, FINGERS, 12.5, 40.0, True, 0.2, 10.0),
}


def drawn(inertia: pin.Inertia, case: Case, rng: np.random.Generator) -> pin.Inertia:
    """Another body: log-normal mass and extents, a shear, and a centre of mass in another place."""
    second = 0.5 * np.trace(inertia.inertia) * np.eye(3) - inertia.inertia
    # V V^T the second moments over the mass; upper triangular
    V = np.linalg.cholesky(second[::-1, ::-1] / inertia.mass)[::-1, ::-1]
    W = np.triu(rng.standard_normal((3, 3)) * case.std / np.sqrt(2), 1)
    W += np.diag(np.exp(rng.standard_normal(3) * case.std / 2))
    c = inertia.lever
    shift = np.linalg.norm(c) * np.tan(np.radians(case.direction_deg)) * rng.standard_normal(3)
    c = c + shift + V @ rng.standard_normal(3) * case.std / np.sqrt(2)
    mass = inertia.mass * np.exp(case.std * rng.standard_normal())
    S = mass * V @ W @ W.T @ V.T
    return pin.Inertia(mass, c, np.trace(S) * np.eye(3) - S)


def noise(case: Case, size: np.ndarray, rows: int, rng: np.random.Generator) -> np.ndarray:
    """(rows, n) noise, of `NOISE` times the size of each torque."""
    fresh = rng.standard_normal((rows, len(size))) * NOISE * size
    rho = np.exp(-1 / (MEMORY_S * case.rate_hz)) if case.coloured else 0.0
    e = fresh.copy()
    for k in range(1, rows):
        e[k] = rho * e[k - 1] + np.sqrt(1 - rho**2) * fresh[k]
    return e


def run(case: Case, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(l, 10) whether intervals hold the truth, and errors over standard deviations."""
    rng = np.random.default_rng(seed)
    model = case.model.copy()
    for k in range(1, model.njoints):
        model.inertias[k] = drawn(case.model.inertias[k], case, rng)
    time, q, v, a = fourier_motion(model.nq, case.duration_s, case.rate_hz, rng, harmonics=8, amplitude=1.2)
    data = model.createData()
    tau = np.array([pin.rnea(model, data, *sample) for sample in zip(q, v, a, strict=True)])
    size = tau.std(axis=0)
    damping, dry = rng.uniform(0.05, 0.3, (2, model.nv)) * size
    tau = tau + v * damping / np.maximum(v.std(axis=0), 1e-3) + dry * np.sign(v)
    signals = poinsot.Signals(time, case.robot.joints, q, v, a, tau + noise(case, size, len(time), rng))
    method = poinsot.SemidefiniteLeastSquares(prior_std=case.std, prior_direction_deg=case.direction_deg)
    problem = poinsot.inverse_dynamics(case.robot, signals, accuracy=poinsot.Accuracy(exact=True))
    full = method.solve(problem).full_parameters
    truth = np.array([inertia.toDynamicParameters() for inertia in list(model.inertias)[1:]])
    low, high = full.interval[: truth.size].T
    inside = (low <= truth.ravel()) & (truth.ravel() <= high)
    error = (full.values[: truth.size] - truth.ravel()) / full.std[: truth.size]
    return inside.reshape(truth.shape), error.reshape(truth.shape)


def main() -> None:
    arguments = options(__doc__)
    runs = arguments.rounds or RUNS
    agreements, notes = [], []
    for name, case in CASES.items():
        inside, errors = (
            np.array(column) for column in zip(*(run(case, k) for k in range(runs)), strict=True)
        )
        masses = 100 * inside[..., 0].mean()
        notes.append(
            f"{name}: masses {masses:.1f} % ({', '.join(f'{100 * p:.0f}' for p in inside[..., 0].mean(axis=0))}), "
            f"first moments {100 * inside[..., 1:4].mean():.1f} %, inertias {100 * inside[..., 4:].mean():.1f} %; "
            f"|error| < 1.96 std: masses {100 * np.mean(np.abs(errors[..., 0]) < 1.96):.1f} %"
        )
        print(notes[-1], flush=True)
        # of a few recordings the share scatters, as each has links that are told apart together
        scatter = 1.96 * 100 * np.sqrt(0.95 * 0.05 / runs) if runs < RUNS else 0.0
        agreements.append(
            Agreement(f"{name}: coverage of masses off 95 % [points]", abs(masses - 95), 2.0 + scatter)
        )
    programs = {"one estimate, Panda": Program(lambda: run(CASES["Panda, coloured"], 0))}
    seconds, _ = side_by_side(programs, 3)
    deliver("semidefinite_coverage", arguments, seconds, [], agreements, notes)


if __name__ == "__main__":
    main()
