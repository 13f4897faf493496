"""Drops of simulated squares, once for all tests here."""

from dataclasses import replace

import pytest

from poinsot.estimators.complementarity.chain import linear, reduced
from poinsot.estimators.complementarity.contact_frames import weighed
from poinsot.estimators.complementarity.flights import Drop
from poinsot.estimators.complementarity.pooled import PooledImpacts, descended, residual_tolerances
from poinsot.estimators.complementarity.result import PooledFit
from poinsot.models.planar import floor, rectangle
from references.bouncing import SIDE, Throws
from references.rocking_frames import rocked

TRUE = Throws(inertia_to_mass=4e-4)


@pytest.fixture(scope="session")
def drops() -> list[Drop]:
    return TRUE.drops(16, seed=5)


@pytest.fixture(scope="session")
def fit(drops: list[Drop]) -> PooledFit:
    return PooledImpacts().solve(drops, rectangle(SIDE, SIDE), floor())


@pytest.fixture(scope="session")
def rocking_fit(fit: PooledFit) -> PooledFit:
    """`fit` with frames of contact in its first eight drops, of the shape that it found."""
    found = fit.solved
    contacts = rocked(8, 1, fit.shared, found.chain.outline, found.chain.wall)
    problem, at = replace(found.chain, contacts=weighed(contacts, 4e-5, 3e-4)), found.at
    spread = residual_tolerances(problem, at, found.part, found.turning, found.tolerances, fit.model)
    floor_std = found.tolerances.floor
    at, system = descended(
        problem, at, found.part, spread, found.use, found.free, found.prior, floor_std, enough=1e-6
    )
    curved = linear(problem, at, found.part, spread, found.use, curved=True)
    solved = replace(found, chain=problem, at=at, system=system, by=reduced(problem, at, curved, floor_std))
    return replace(fit, shared=at.shared, contacts=problem.contacts, solved=solved)
