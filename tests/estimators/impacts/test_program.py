import numpy as np
import pytest

from poinsot.models.planar import Ellipse, PlanarBody, Wall, floor, rectangle
from poinsot.models.planar.events import moved

pytest.importorskip("casadi")
from poinsot.estimators.impacts.program import solve_program
from poinsot.estimators.impacts.shooting import Shooting

NOISE = np.array([1e-4, 1e-4, 2e-3])


def frames(shape, walls, inertia, friction, pose, velocity, rate=120, seconds=0.3):
    times = np.arange(round(seconds * rate) + 1) / rate
    body = PlanarBody(shape, 1.0, inertia, friction, 0.3)
    poses, velocities, impacts = moved(body, walls, np.array(pose, float), np.array(velocity, float), times)
    noise = NOISE * np.random.default_rng(0).standard_normal(poses.shape)
    return times, poses + noise, velocities, impacts


@pytest.fixture(scope="module")
def bounce():
    """An ellipse that bounces twice, with slip."""
    shape, walls = Ellipse(0.05, 0.025), [floor()]
    times, poses, velocities, impacts = frames(shape, walls, 7.5e-4, 0.3, [0, 0.1, -0.785], [3.0, -3, 0])
    return (
        solve_program(Shooting(times, poses, NOISE, shape, walls), 6e-4, 0.5, 2),
        velocities,
        impacts,
    )


def test_impacts_between_frames_are_found_where_they_are(bounce):
    fit, _, impacts = bounce
    assert fit.converged and fit.chi_square < 2 * 3 * len(fit.frames)
    first = np.flatnonzero(fit.impulses[:, 0, 0] > 0.5 * impacts.impulses[0, 0])[0]
    assert fit.times[first] == pytest.approx(impacts.times[0], abs=5e-4)
    assert fit.impulses[first, 0] == pytest.approx(impacts.impulses[0], rel=0.1)


def test_program_sees_inertia_and_friction(bounce):
    fit, velocities, _ = bounce
    assert fit.inertia_to_mass == pytest.approx(7.5e-4, rel=0.05)
    assert fit.friction == pytest.approx(0.3, abs=0.03)
    assert fit.velocities[fit.frames][-5:] == pytest.approx(velocities[-5:], abs=0.3)


def test_what_comes_out_obeys_contact(bounce):
    fit, _, _ = bounce
    c_n, c_t = fit.impulses[:, 0, 0], fit.impulses[:, 0, 1]
    assert (c_n >= -1e-6).all() and (np.abs(c_t) <= fit.friction * c_n + 1e-4).all()
    assert fit.gamma < 1e-2
    # flights between nodes are exact
    h = np.diff(fit.times)[:, None]
    g = np.array([0.0, -9.81, 0.0])
    np.testing.assert_allclose(
        fit.poses[1:], fit.poses[:-1] + h * fit.velocities[:-1] + 0.5 * h**2 * g, atol=1e-6
    )
    np.testing.assert_allclose(fit.before[1:], fit.velocities[:-1] + h * g, atol=1e-9)


def test_several_walls_and_corners():
    """A square that slides into a corner: two walls, four corners; impulses are where something is touched."""
    shape, walls = rectangle(0.06, 0.06), [floor(), Wall(0.15, 0.0, np.pi / 2)]
    times, poses, _, impacts = frames(shape, walls, 6e-4, 0.2, [0, 0.06, 0.3], [1.5, -0.5, 0], seconds=0.2)
    assert set((impacts.contacts // 4).tolist()) == {0, 1}
    fit = solve_program(Shooting(times, poses, NOISE, shape, walls), 5e-4, 0.3, 3)
    assert fit.impulses.shape[1] == 8
    assert fit.chi_square < 3 * 3 * len(times)
    for contact in np.unique(impacts.contacts[impacts.impulses[:, 0] > 0.2]):
        assert fit.impulses[:, contact, 0].max() > 0.05
