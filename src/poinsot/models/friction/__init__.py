"""Friction of joints: one catalogue of laws for robots, servos and mechanisms; adding a law is one file.

law                 `FrictionLaw`: its effort, slopes and parameters, for NumPy, Numba and JAX; laws in compiled loops
basic, stribeck, gears     the laws: viscous, Coulomb's and an offset; higher at rest; by the torques of gears
listed              `CATALOGUE` of laws, and their sums by name, those of robots as columns of the regressor; adding a
                    law is its file and a line there
"""

from .law import FrictionLaw as FrictionLaw, FrictionParameter as FrictionParameter
from .listed import (
    CATALOGUE as CATALOGUE,
    FrictionColumn as FrictionColumn,
    NoFriction as NoFriction,
    RobotFriction as RobotFriction,
    ViscousCoulomb as ViscousCoulomb,
)
