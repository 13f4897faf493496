import numpy as np
import pytest

from poinsot.estimators.impacts.drop import consistency
from poinsot.estimators.impacts.flights import integrals
from poinsot.models.planar import Ellipse, PlanarBody, floor, rectangle
from poinsot.models.planar.body import contacts_at
from poinsot.models.planar.events import moved

SHAPE, MASS, INERTIA = Ellipse(0.05, 0.025), 0.064, 4.84e-5


def seen(forces=None, velocity=(3.0, -5, 0)):
    times = np.linspace(0, 0.4, 41)
    body = PlanarBody(SHAPE, MASS, INERTIA, 0.3, 0.2)
    start = np.array([0, 0.1, -0.785]), np.array(velocity)
    impacts = moved(body, [floor()], *start, times, forces=forces)[2]
    at = [contacts_at(q, SHAPE, [floor()]) for q in impacts.poses]
    normals, tangents = (np.array([each[k][0] for each in at]) for k in (1, 2))
    pushes = None
    if forces is not None:
        pushes = integrals(times, forces / body.inertias, np.array([0.0, *impacts.times, 0.4]))
    return impacts, consistency(impacts, normals, tangents, pushes), pushes


def test_impacts_alone_determine_ratios():
    impacts, found, _ = seen()
    assert len(impacts.times) > 2 and found.free == 1
    # each row says J/m (Eq. 31)
    np.testing.assert_allclose(-found.rows[:, 0] / found.rows[:, 1], INERTIA / MASS, rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_one_known_force_determines_all(axis):
    forces = np.zeros((40, 3))
    forces[:, axis] = 0.1 * [1, 1, 0.01][axis]
    _, found, pushes = seen(forces)
    assert found.free == 0 and found.rank == found.columns
    # int f dt = m dv, in all flights together
    np.testing.assert_allclose(pushes.sum(axis=0), 0.4 * forces[0] / [MASS, MASS, INERTIA], atol=1e-12)


def test_forces_that_are_none_determine_no_more():
    assert seen(np.zeros((40, 3)))[1].free == 1


def test_contacts_struck_at_once_share_their_equations():
    """A square that lands flat: two corners, three equations, four impulses."""
    shape, times = rectangle(0.06, 0.06), np.linspace(0, 0.2, 21)
    body = PlanarBody(shape, 1.0, 6e-4, 0.3, 0.2)
    impacts = moved(body, [floor()], np.array([0, 0.1, 0.0]), np.array([0.5, 0, 0.0]), times)[2]
    assert impacts.times[0] == impacts.times[1]
    at = [contacts_at(q, shape, [floor()]) for q in impacts.poses]
    normals, tangents = (
        np.array([each[k][c] for each, c in zip(at, impacts.contacts, strict=True)]) for k in (1, 2)
    )
    found = consistency(impacts, normals, tangents)
    assert found.free == 2
