"""What forms are by themselves, and the paper's claim that with theta held forward errors make a Kalman smoother."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from estimators.joint import swings
from models.maximal import mechanisms
from poinsot.estimators.joint import FORMS, JointSmoothing, JointSmoothingProblem
from poinsot.estimators.joint.smoothing import compiled_linearizer
from poinsot.models.maximal import Coulomb, Encoder, LoadDependent, Motor, State, bodies, double_precision

H, N, KAPPA = 0.01, 25, 1e6


@pytest.mark.parametrize("name", FORMS)
def test_states_come_back_from_joint_coordinates(name, rng):
    model = swings.model() if name == "reduced" else swings.frictionless()
    form = compiled_linearizer(model, name).form
    y, rate = np.cumsum(rng.uniform(0, 0.5, (40, 1)), axis=0), rng.standard_normal((40, 1))
    assert y[-1] > 2 * np.pi
    x = form.pack(y, rate, model.theta)
    assert x.shape == (40, form.size)
    y_back, rate_back, states = form.unpack(x, model.theta)
    np.testing.assert_allclose(y_back, y, atol=1e-12)
    np.testing.assert_allclose(rate_back, rate, atol=1e-12)
    assert (states is None) == (name == "reduced")
    np.testing.assert_allclose(form.moved(x, np.zeros((40, form.degrees))), x, atol=1e-15)


def test_functions_of_the_reduced_form_are_those_that_jax_computes(rng):
    """Of a Furuta pendulum with both laws of dry friction: linearization, inertia, and a step without errors."""
    friction = Coulomb(0.01), LoadDependent(1e-3, 1.0, stick_drag=1e3)
    mechanism = mechanisms.furuta(drag=(1e-3, 1e-4), friction=friction, motor=Motor(0.1, 1e-4))
    model = replace(mechanism, sensors=[Encoder("shoulder"), Encoder("elbow")]).model(
        ["arm.Jzz", "pendulum.cz", "shoulder.coulomb", "elbow.friction", "elbow encoder.zero", "world.tilt_y"]
    )
    form = compiled_linearizer(model, "reduced").form
    N, theta = 6, model.theta * rng.uniform(0.9, 1.1, 6)
    x, u, z = rng.normal(size=(N, 4)), rng.normal(size=(N, 1)), 3 * rng.normal(size=(N, 2))
    h = np.full(N, H)
    for reference in (None, model.theta):
        given = (x, x + 0.1 * rng.normal(size=(N, 4)), u, z, h)
        of_jax = double_precision(
            jax.jit(lambda *given: form.of_samples(given[:-2], given[-2], N, given[-1]))
        )
        for part, expected in zip(
            form.linearized(given, theta, reference), of_jax(*given, theta, reference), strict=True
        ):
            assert part.shape == expected.shape
            np.testing.assert_allclose(part, expected, rtol=1e-9, atol=1e-11)
    inertia = double_precision(jax.vmap(form.inertia, (0, None)))(x, theta)
    np.testing.assert_allclose(form.inertias(x, theta), inertia, rtol=1e-12)
    after = form.simulated(x, u[:, None], h[:, None], theta)
    e = form.linearized((x, after[:, 1], u, z, h), theta)[0]
    np.testing.assert_allclose(after[:, 0], x)
    assert np.abs(e[:, : form.rows]).max() < 1e-12


class Smoother:
    """An iterated extended Kalman smoother on the manifold of a model's states, Rauch, Tung and Striebel's.

    Each pass takes slopes by central differences at the states of the last one, filters and smooths what they still
    are off, d_k, and moves them by it.
    """

    def __init__(self, model, record, theta):
        self.record, self.theta = record, theta

        def flat(x):
            return jax.numpy.concatenate([jax.numpy.ravel(part) for part in x])

        def state(row):
            return State(row[:3].reshape(1, 3), row[3:7].reshape(1, 4), row[7:].reshape(1, 6))

        def error(x, y, u, h):
            return bodies.minus(model.step(state(x), u, theta, h), state(y))[0]

        def off(x, z):
            return model.reading_errors(model.observe(state(x), theta), z)

        def surface(x):
            return jax.numpy.concatenate([part[0] for part in model.surface_errors(state(x), theta)])

        def moved(x, d):
            return flat(bodies.plus(state(x), d[None]))

        self.error, self.off, self.moved = (
            double_precision(jax.jit(jax.vmap(each))) for each in (error, off, moved)
        )
        self.surface = double_precision(jax.jit(jax.vmap(surface)))

    def slopes(self, function, x, *rest, step=1e-6):
        """(k, m, 12) by tangents of x."""
        found = []
        for unit in step * np.eye(12):
            ends = [
                function(np.asarray(self.moved(x, np.tile(s * unit, (len(x), 1)))), *rest) for s in (1, -1)
            ]
            found.append((np.asarray(ends[0]) - np.asarray(ends[1])) / (2 * step))
        return np.stack(found, axis=-1)

    def improved(self, x):
        """States after one pass, and what they moved by."""
        record, R = self.record, np.diag(np.square(swings.NOISE))
        u, h = record.u[:-1], record.steps
        b = np.asarray(self.error(x[:-1], x[1:], u, h))
        F = self.slopes(lambda at: self.error(at, x[1:], u, h), x[:-1])
        G = self.slopes(lambda at: self.error(x[:-1], at, u, h), x[1:])
        A, a = -np.linalg.solve(G, F), -np.linalg.solve(G, b[..., None])[..., 0]
        Q = np.linalg.inv(KAPPA * np.swapaxes(G, 1, 2) @ G)
        off, H_k = np.asarray(self.off(x, record.z)), self.slopes(self.off, x, record.z)
        first, J = np.asarray(self.surface(x[:1]))[0], self.slopes(self.surface, x[:1])[0]

        rows = np.concatenate([np.sqrt(KAPPA) * J, np.linalg.solve(np.sqrt(R), H_k[0])])
        P = np.linalg.inv(rows.T @ rows)
        m = -P @ rows.T @ np.concatenate([np.sqrt(KAPPA) * first, np.linalg.solve(np.sqrt(R), off[0])])
        filtered, predicted = [(m, P)], []
        for k in range(N - 1):
            m, P = A[k] @ m + a[k], A[k] @ P @ A[k].T + Q[k]
            predicted.append((m, P))
            read = np.isfinite(record.z[k + 1])
            C, e = H_k[k + 1][read], off[k + 1][read]
            K = P @ C.T @ np.linalg.inv(C @ P @ C.T + R[np.ix_(read, read)])
            m, P = m - K @ (e + C @ m), P - K @ C @ P
            filtered.append((m, P))
        smoothed = [filtered[-1][0]]
        for k in range(N - 2, -1, -1):
            (m, P), (m_next, P_next) = filtered[k], predicted[k]
            smoothed.insert(0, m + P @ A[k].T @ np.linalg.solve(P_next, smoothed[0] - m_next))
        d = np.array(smoothed)
        return np.asarray(self.moved(x, d)), np.abs(d).max()


def test_with_theta_held_forward_errors_make_a_kalman_smoother(rng):
    """The paper's claim in Sect. 3.4, on a frictionless pendulum some of whose readings are missing.

    The smoother has no other prior than (3.16) and (3.17), so its first reading is complete. Slopes by differences are
    off by 1e-9 of the largest, 100: where what is left of a pass is that small, so are the smoother's own errors.
    """
    model, times = swings.frictionless(), np.arange(N) * H
    motion = swings.exact(swings.theta(drag=0.0), times, 1.0, 2.0)
    theta = np.where([name == "pivot.drag" for name in model.free], 0.0, model.theta)
    record = swings.read("swing", times, motion, rng, rates=True)
    record.z[1:][rng.random((N - 1, 2)) < 0.3] = np.nan

    method = JointSmoothing(KAPPA, swings.NOISE, "forward", tolerance=1e-14)
    fit = method.solve(JointSmoothingProblem(model, [record], theta, ()))
    assert fit.converged
    states = fit.paths[0].states
    ours = np.concatenate([np.asarray(part).reshape(N, -1) for part in states], axis=1)

    smoother = Smoother(model, record, theta)
    form = compiled_linearizer(model, "forward").form
    x = form.pack(motion[0][:, None] + 0.05, motion[1][:, None], theta)
    moves = []
    for _ in range(12):
        x, size = smoother.improved(x)
        moves.append(size)
        if size < 1e-9:
            break
    assert moves[0] > 1e-2
    assert moves[-1] < 1e-8
    np.testing.assert_allclose(ours, x, atol=1e-8)
    # and the readings did something: states are nearer to the motion than readings are
    assert np.std(fit.paths[0].coordinates[:, 0] - motion[0]) < 0.8e-3
