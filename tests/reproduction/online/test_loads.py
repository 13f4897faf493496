"""Waveforms are those of their names; what hangs on a body is a body."""

import numpy as np
import pytest

from poinsot.inertia.parameters import is_consistent, pseudo_inertia
from poinsot_reproductions.online.simulation.loads import Attached, ScaledBody, Sine, Square, Then, point_mass


def test_waveforms():
    square, sine = Square(30, 5, 0.2), Sine(4.5, 3, 1.0)
    assert [square(t) for t in (0.0, 2.49, 2.51, 4.99, 5.01)] == [35, 35, 25, 25, 35]
    assert [sine(t) for t in (0.0, 0.25, 0.75)] == pytest.approx([4.5, 7.5, 1.5])
    both = Then(sine, 8.0, square)
    assert both(7.25) == pytest.approx(7.5)
    assert both(8.0) == 25


def test_a_scaled_body_keeps_its_shape(rng):
    pi = point_mass(2.0, rng.standard_normal(3))
    body = ScaledBody(pi, Sine(4.0, 1.0, 1.0))(0.25)
    assert body[0] == pytest.approx(5.0)
    np.testing.assert_allclose(body / body[0], pi / pi[0])


def test_a_ball_is_a_possible_body_about_its_centre(rng):
    centre = rng.standard_normal(3)
    pi = point_mass(3.0, centre, radius=0.1)
    assert is_consistent(pi[None]).all()
    J = pseudo_inertia(pi)
    # second moments about the centre of a ball: m r^2 / 5 along each axis
    np.testing.assert_allclose(
        J[:3, :3] - 3.0 * np.outer(centre, centre), 3.0 * 0.01 / 5 * np.eye(3), atol=1e-12
    )
    np.testing.assert_allclose(Attached(pi, pi, 1.0)(0.5), pi)
    np.testing.assert_allclose(Attached(pi, pi, 1.0)(1.0), 2 * pi)
