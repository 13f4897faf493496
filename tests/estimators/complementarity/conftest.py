"""Drops of simulated squares, once for all tests here."""

import pytest

from poinsot.estimators.complementarity.flights import Drop
from poinsot.estimators.complementarity.pooled import PooledImpacts
from poinsot.estimators.complementarity.result import PooledFit
from poinsot.models.planar import floor, rectangle
from references.bouncing import SIDE, Throws

TRUE = Throws(inertia_to_mass=4e-4)


@pytest.fixture(scope="session")
def drops() -> list[Drop]:
    return TRUE.drops(16, seed=5)


@pytest.fixture(scope="session")
def fit(drops: list[Drop]) -> PooledFit:
    return PooledImpacts().solve(drops, rectangle(SIDE, SIDE), floor())
