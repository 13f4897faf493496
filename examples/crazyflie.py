"""What a Crazyflie weighs, from one of its flights: rotor speeds, gyro, accelerometer and motion capture.

Give the folder with the recordings of the Crazyflie, if they are not beside the project.
"""

# needs: ../shared/data/crazyflie

import sys
from pathlib import Path

from poinsot_reproductions.optimal_estimation import crazyflie_flight, crazyflie_model, crazyflie_stand

FOLDER = Path("../shared/data/crazyflie")
GRAM = 1e-3


def main(folder: Path, name: str = "figure8_34p7g") -> None:
    # what a rotor lifts at a given speed, by the thrust stand, and by every other sensible reading of it
    stand = crazyflie_stand.calibrate(folder / crazyflie_stand.FILE)
    low, high = (edge / stand.value for edge in stand.interval)

    # trajectory, mass, inertia and drag together: all states are unknown
    flight = crazyflie_flight.read_flight(folder, name)
    found = crazyflie_model.estimate(flight, stand.value)

    mass = found.mass / GRAM
    print(f"{found.solution.ending.value} {found.solution.iterations} iterations, {len(flight)} steps")
    print(f"mass {mass:.2f} g, by the thrust stand between {low * mass:.1f} and {high * mass:.1f} g")
    for name, value, std in zip(("Jx", "Jy", "Jz"), found.inertia, found.inertia_std, strict=True):
        said = "not identifiable" if name in found.unseen else f"{value:.3g} +- {std:.1g} kg m^2"
        print(f"{name} {said}")
    print(f"drag {found.drag[0]:.4f} along x, {found.drag[1]:.4f} along y N s/m")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
