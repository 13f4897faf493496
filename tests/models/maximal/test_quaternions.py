import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from poinsot.models.maximal import quaternions as qn
from poinsot.models.maximal.precision import double_precision

ANGLES = [0.0, 1e-12, 1e-6, 1e-3, np.sqrt(qn.NEAR) * (1 - 1e-9), np.sqrt(qn.NEAR) * (1 + 1e-9), 1.0, 3.0]


@double_precision
def numpy_of(function, *arguments):
    return jax.tree.map(np.asarray, jax.jit(function)(*(jnp.asarray(a) for a in arguments)))


@pytest.mark.parametrize("angle", ANGLES)
def test_exp_and_log_are_scipys(angle, rng):
    axis = rng.standard_normal((20, 3))
    psi = angle * axis / np.linalg.norm(axis, axis=1, keepdims=True)
    e = numpy_of(qn.exp, psi)
    np.testing.assert_allclose(e, Rotation.from_rotvec(psi).as_quat(), atol=3e-16)
    np.testing.assert_allclose(numpy_of(qn.log, e), psi, atol=1e-15, rtol=1e-14)
    np.testing.assert_allclose(numpy_of(qn.log, -e), psi, atol=1e-15, rtol=1e-14)


@pytest.mark.parametrize("angle", ANGLES)
def test_slopes_of_exp_are_finite_differences(angle, rng):
    """Fourth-order differences with a step of 1e-3: errors of (1e-3)^4 / 30 and of 1e-16 / 1e-3."""
    axis = rng.standard_normal(3)
    psi = angle * axis / np.linalg.norm(axis)
    slope = numpy_of(jax.jacfwd(qn.exp), psi)
    h = 1e-3
    for k, d in enumerate(np.eye(3) * h):
        ends = {n: numpy_of(qn.exp, psi + n * d) for n in (-2, -1, 1, 2)}
        difference = (8 * (ends[1] - ends[-1]) - (ends[2] - ends[-2])) / (12 * h)
        np.testing.assert_allclose(slope[:, k], difference, atol=1e-12)


def test_slope_at_zero_is_a_half():
    """D.2: where psi carries a tangent and nothing else."""
    slope = numpy_of(jax.jacfwd(qn.exp), np.zeros(3))
    np.testing.assert_array_equal(slope, np.vstack([np.eye(3) / 2, np.zeros(3)]))
    curvature = numpy_of(jax.jacfwd(jax.jacfwd(qn.exp)), np.zeros(3))
    np.testing.assert_allclose(curvature[3], -np.eye(3) / 4)
    np.testing.assert_allclose(curvature[:3], 0.0)


@pytest.mark.parametrize("angle", [0.0, 1e-3, 0.13, 0.15, 2.0])
def test_log_undoes_plus_with_slope_one(angle, rng):
    e = Rotation.from_rotvec([0.3, -1.0, 2.0]).as_quat()
    axis = rng.standard_normal(3)
    psi = angle * axis / np.linalg.norm(axis)
    there_and_back = numpy_of(
        jax.jacfwd(lambda psi: qn.minus(qn.plus(jnp.asarray(e), psi), jnp.asarray(e))), psi
    )
    np.testing.assert_allclose(there_and_back, np.eye(3), atol=1e-14)


def test_products_and_matrices_are_scipys(rng):
    a, b = Rotation.random(30, random_state=rng), Rotation.random(30, random_state=rng)
    p = rng.standard_normal((30, 3))
    product = numpy_of(qn.multiply, a.as_quat(), b.as_quat())
    np.testing.assert_allclose(Rotation.from_quat(product).as_matrix(), (a * b).as_matrix(), atol=1e-14)
    R = numpy_of(qn.matrix, a.as_quat())
    np.testing.assert_allclose(R, a.as_matrix(), atol=1e-14)
    np.testing.assert_allclose(numpy_of(qn.turn, R, p), a.apply(p), atol=1e-14)
    np.testing.assert_allclose(numpy_of(qn.turn_back, R, p), a.inv().apply(p), atol=1e-14)
    np.testing.assert_allclose(numpy_of(qn.cross, p, p[::-1].copy()), np.cross(p, p[::-1]), atol=1e-14)
