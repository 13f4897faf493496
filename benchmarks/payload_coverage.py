"""How honest intervals of drive gains and loads are: a simulated UR10, identified again and again with other noise.

    python benchmarks/payload_coverage.py [--json PATH] [--rounds N]

Currents of a motion with a load of 3 kg and without it; noise that is white, coloured (0.5 s), or comes again with the
motion (as friction that the model lacks does). Gains come from one pair of recordings and the known mass, then the mass
and its centre from another pair. Errors over standard deviations should have a root mean square of 1, and 95 % of them
should be below 1.96; beside it, what the standard deviations for white residuals would make of them. The third column
is what ordinary least squares makes of the gains.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path

import numpy as np
from support.equation_error import gains_by
from support.report import Agreement, deliver, options
from support.timing import Program, side_by_side

import poinsot
from poinsot.inertia.parameters import center_of_mass, from_physical
from poinsot.regression.regressor import Regressor
from poinsot_reproductions.simulated_recordings import fourier_motion, model_parameters

ROBOTS = Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
GAINS = np.array([12.0, 12.5, 10.0, 10.5, 10.0, 10.2])
LOAD = from_physical(3.0, np.array([0.02, 0.03, 0.12]), np.diag([0.02, 0.02, 0.01]))
RATE_HZ, DURATION_S, MEMORY_S = 12.5, 50.0, 0.5
CASES = {
    "white": {"white": 0.05},
    "coloured": {"white": 0.02, "own": 0.05},
    "coloured, and again with the motion": {"white": 0.02, "own": 0.02, "common": 0.06},
}
RUNS = 60


class Simulated:
    """The recordings without noise, and with."""

    def __init__(self) -> None:
        self.robot = poinsot.load_robot(ROBOTS / "ur_description" / "urdf" / "ur10_robot.urdf")
        rng = np.random.default_rng(0)
        self.motion = fourier_motion(6, DURATION_S, RATE_HZ, rng, harmonics=15, amplitude=1.0)
        friction = {
            f"{symbol}{k}": value for symbol, value in (("fv", 3.0), ("fc", 4.0)) for k in range(1, 7)
        }
        theta = model_parameters(self.robot, **friction)
        with_load = theta.copy()
        with_load[50:60] += LOAD
        _, q, v, a = self.motion
        W = Regressor(self.robot, self.robot.parameters).dense(self.robot.configurations(q), v, a)
        self.tau = (W @ theta, W @ with_load)
        self.size = self.tau[0].std(axis=0)

    def coloured(self, rng: np.random.Generator, std: float) -> np.ndarray:
        rho = np.exp(-1 / (MEMORY_S * RATE_HZ))
        fresh = rng.standard_normal(self.tau[0].shape) * std * self.size
        noise = fresh.copy()
        for k in range(1, len(noise)):
            noise[k] = rho * noise[k - 1] + np.sqrt(1 - rho**2) * fresh[k]
        return noise

    def problem(
        self, seed: int, white: float = 0.0, own: float = 0.0, common: float = 0.0, **held: float
    ) -> object:
        rng = np.random.default_rng(seed)
        shared = self.coloured(rng, common)
        signals = []
        for tau in self.tau:
            noise = shared + self.coloured(rng, own) + white * self.size * rng.standard_normal(tau.shape)
            time, q, v, a = self.motion
            signals.append(
                poinsot.Signals(time, self.robot.joints, q, v, a, (tau + noise) / GAINS, "current")
            )
        return poinsot.inverse_dynamics(self.robot, signals, loaded=(False, True), held=held)


def run(
    simulated: Simulated, seed: int, noise: dict[str, float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Normalized errors of gains, of gains with white standard deviations, of mass and centre; and ordinary gains."""
    resampling = poinsot.Resampling(draws=100, seed=seed)
    known = simulated.problem(seed, **noise, mL=float(LOAD[0]))
    found = poinsot.PayloadIdentification(resampling=resampling).solve(known)
    gains = found.drive_gains
    other = simulated.problem(10_000 + seed, **noise)
    load = poinsot.PayloadIdentification(gains=gains, resampling=resampling).solve(other).payload
    ordinary = gains_by("least-squares", known, found).values
    error = gains.values - GAINS
    center = (load.center_of_mass - center_of_mass(LOAD)) / load.center_of_mass_std
    of_load = np.array([(load.mass - LOAD[0]) / load.mass_std, *center])
    return error / gains.std, error / gains.white_std, of_load, ordinary / GAINS - 1


def main() -> None:
    arguments = options(__doc__)
    simulated = Simulated()
    runs = arguments.rounds or RUNS
    agreements, notes = [], []
    for case, noise in CASES.items():
        gains, white, load, ordinary = (
            np.array(each)
            for each in zip(*(run(simulated, seed, noise) for seed in range(runs)), strict=True)
        )
        for what, errors in (("gains", gains), ("mass and centre", load)):
            covered = 100 * np.mean(np.abs(errors) < 1.96)
            rms = np.sqrt(np.mean(errors**2, axis=0))
            notes.append(f"{case}, {what}: {covered:.1f} % within 1.96, rms {np.round(rms, 2).tolist()}")
            agreements.append(
                Agreement(f"{case}, {what}: coverage off 95 % [points]", abs(covered - 95), 7.0)
            )
        rms = np.sqrt(np.mean(white**2, axis=0))
        notes.append(f"{case}, gains, for white residuals: rms {np.round(rms, 2).tolist()}")
        notes.append(
            f"{case}, gains by ordinary least squares: off by {np.round(100 * ordinary.mean(axis=0), 1).tolist()} %"
        )
    programs = {"gains and load once": Program(lambda: run(simulated, 0, CASES["coloured"]))}
    seconds, _ = side_by_side(programs, 3)
    deliver("payload_coverage", arguments, seconds, [], agreements, notes)


if __name__ == "__main__":
    main()
