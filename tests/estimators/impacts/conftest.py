"""Drops of simulated squares, once for all tests here."""

from dataclasses import replace

import pytest

from poinsot.estimators.impacts.flights import segmented
from poinsot.estimators.impacts.pooled import PooledFit, fitted_pool
from poinsot.models.planar import floor, rectangle
from poinsot.models.planar.drop import Drop
from references.bouncing import SIDE, Throws

TRUE = Throws(inertia_to_mass=4e-4)


@pytest.fixture(scope="session")
def drops() -> list[Drop]:
    return TRUE.drops(16, seed=5)


@pytest.fixture(scope="session")
def fit(drops: list[Drop]) -> PooledFit:
    return fitted_pool(segmented(drops), rectangle(SIDE, SIDE), floor())


@pytest.fixture(scope="session")
def few(fit: PooledFit) -> PooledFit:
    """Three drops of it, which dense algebra can hold."""
    parted = fit.segmented
    three = replace(parted, drops=parted.drops[:3], flights=parted.flights[:3])
    return fitted_pool(three, rectangle(SIDE, SIDE), floor(), most_rounds=8)
