"""Estimate the mass of a Crazyflie from one flight: rotor speeds, gyro, accelerometer and motion capture.

The argument is the folder with the recordings; default: ../shared/data/crazyflie.
"""

# needs: ../shared/data/crazyflie

import sys
from pathlib import Path

from poinsot_reproductions.optimal_estimation import crazyflie_flight, crazyflie_model, crazyflie_stand

FOLDER = Path("../shared/data/crazyflie")
GRAM = 1e-3


def main(folder: Path, name: str = "figure8_34p7g") -> None:
    # thrust coefficient of a rotor from the thrust stand, with an interval over all plausible fits
    stand = crazyflie_stand.calibrate(folder / crazyflie_stand.FILE)
    low, high = (edge / stand.value for edge in stand.interval)

    # estimate trajectory, mass, inertia and drag together; all states are unknown
    flight = crazyflie_flight.read_flight(folder, name)
    estimate = crazyflie_model.estimate(flight, stand.value)

    mass = estimate.mass / GRAM
    print(f"{estimate.solution.status.value} {estimate.solution.iterations} iterations, {len(flight)} steps")
    print(f"mass {mass:.2f} g, by the thrust stand between {low * mass:.1f} and {high * mass:.1f} g")
    for name, value, std in zip(("Jx", "Jy", "Jz"), estimate.inertia, estimate.inertia_std, strict=True):
        text = "not identifiable" if name in estimate.unidentified else f"{value:.3g} +- {std:.1g} kg m^2"
        print(f"{name} {text}")
    print(f"drag {estimate.drag[0]:.4f} along x, {estimate.drag[1]:.4f} along y N s/m")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
