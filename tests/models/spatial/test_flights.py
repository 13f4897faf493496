"""Free motion conserves momentum and energy, and is that of an integration by SciPy."""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from poinsot.models.spatial.flights import rotation_vector, spun, turned

J = np.array([[2.0e-3, 2e-4, -1e-4], [2e-4, 1.2e-3, 1e-4], [-1e-4, 1e-4, 1.6e-3]])


def test_a_free_spin():
    R, w = Rotation.random(rng=np.random.default_rng(2)).as_matrix(), np.array([7.0, -4.0, 9.0])

    def change(_, x):
        Q, v = x[:9].reshape(3, 3), x[9:]
        S = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
        return np.concatenate([(Q @ S).ravel(), np.linalg.solve(J, np.cross(J @ v, v))])

    for s in (0.3, -0.2):
        Q, x = spun(J, np.linalg.inv(J), R, w, s)
        exact = solve_ivp(change, (0, s), np.concatenate([R.ravel(), w]), rtol=1e-11, atol=1e-12).y[:, -1]
        np.testing.assert_allclose(x, exact[9:], atol=1e-7)
        np.testing.assert_allclose(Q, exact[:9].reshape(3, 3), atol=2e-6)
        np.testing.assert_allclose(Q @ J @ x, R @ J @ w, atol=1e-6)
        np.testing.assert_allclose(x @ J @ x, w @ J @ w, rtol=1e-9)


def test_turning_and_its_vector():
    R, x = Rotation.random(rng=np.random.default_rng(3)).as_matrix(), np.array([0.4, -1.1, 0.7])
    np.testing.assert_allclose(turned(R, x), R @ Rotation.from_rotvec(x).as_matrix(), atol=1e-14)
    np.testing.assert_allclose(rotation_vector(R.T @ turned(R, x)), x, atol=1e-13)
    np.testing.assert_allclose(rotation_vector(np.eye(3)), 0)
