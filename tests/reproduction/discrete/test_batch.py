"""Many problems at once: each as if it were alone, and their linear algebra against dense references."""

from dataclasses import replace
from functools import cache, partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from estimators.joint import swings
from estimators.joint.test_bordered import dense, random_linearization
from poinsot.estimate import Status
from poinsot.estimators.joint import FORMS, JointSmoothing, JointSmoothingProblem, Record
from poinsot.estimators.joint.forms import Form, ReducedForm
from poinsot.estimators.joint.linearization import NormalEquations
from poinsot.estimators.joint.problem import BoundedParameters
from poinsot.exceptions import InvalidMethod, InvalidSignals
from poinsot.parameters import Normal
from poinsot_reproductions.discrete import batch as batches
from poinsot_reproductions.discrete.batch import fit_batch

# Of all tests, so that one compilation is enough: samples, open parameters, problems at once.
TIMES = np.cumsum(np.full(50, 0.02) + 0.01 * (np.arange(50) % 2))
COMMANDS = 0.5 * np.sin(3 * TIMES)
PIVOT = ("bob.Jxx", "pivot.drag")
AT_ONCE = 4
METHOD = JointSmoothing(weight=1e8, noise=swings.NOISE, form="released", tolerance=1e-10)


class Released(ReducedForm):
    """Joint coordinates, and errors of the first state as bodies have them, which take far longer to compile."""

    has_coordinates = False
    start_linearized = Form.start_linearized

    def start_errors(self, x, theta, h):
        return jnp.stack(
            [1e-3 * (x[0] - 1.5), (1e-2 + theta[3]) * h * x[1], 1e-3 * jnp.sin(x[0] + x[1] - 1.5)]
        )


@pytest.fixture(autouse=True)
def released(monkeypatch):
    monkeypatch.setitem(FORMS, "released", Released)


@cache
def clean(drag=0.02, coulomb=0.0):
    """Angle and rate of a driven swing."""
    return swings.exact(swings.theta(drag=drag, coulomb=coulomb), TIMES, 1.5, 0.0, COMMANDS)


def readings(rng, B, **kind):
    """(B, N, 2) draws of their noise; the rate sensor reads now and then, the encoder not always."""
    z = np.stack([swings.read("draw", TIMES, clean(**kind), rng, rates=True).z for _ in range(B)])
    z[rng.random(z.shape) < [0.1, 0.8]] = np.nan
    z[0, 20:26] = np.nan
    return z


def controls(z):
    """(B, N, 1) of each its own, which differ in what none of them uses: after the last sample."""
    u = np.tile(COMMANDS[:, None], (len(z), 1, 1))
    u[:, -1] += np.arange(len(z))[:, None]
    return u


def alone(methods, z, theta=None, names=PIVOT, **given):
    """One fit after the other."""
    return [
        method.solve(
            JointSmoothingProblem(
                swings.model(),
                [Record("alone", TIMES, COMMANDS[:, None], each)],
                None if theta is None else theta[b],
                names,
                **given,
            )
        )
        for b, (method, each) in enumerate(zip(methods, z, strict=True))
    ]


def batch_of(times, u, z, theta=None, names=PIVOT, **given):
    """A problem for each row of readings; controls and initial guesses may be of all."""
    return [
        JointSmoothingProblem(
            swings.model(),
            [Record(f"record {b + 1}", times, u if u.ndim == 2 else u[b], each)],
            theta if theta is None or theta.ndim == 1 else theta[b],
            names,
            **given,
        )
        for b, each in enumerate(z)
    ]


def together(z, method=METHOD, theta=None, names=PIVOT, weights=None, **given):
    return fit_batch(method, batch_of(TIMES, controls(z), z, theta, names, **given), weights, at_once=AT_ONCE)


def same(batch, fits, rtol=1e-6):
    """The iteration is the same, so that only rounding differs."""
    np.testing.assert_array_equal(batch.iterations, [fit.iterations for fit in fits])
    np.testing.assert_array_equal(batch.converged, [fit.converged for fit in fits])
    np.testing.assert_allclose(batch.theta, [fit.theta for fit in fits], rtol=rtol, atol=1e-15)
    np.testing.assert_allclose(batch.std, [fit.std for fit in fits], rtol=rtol)
    np.testing.assert_allclose(batch.cost, [fit.cost for fit in fits], rtol=rtol)
    assert batch.statuses == tuple(fit.status for fit in fits)


def test_each_is_as_if_it_were_alone(rng):
    """Draws of noise, weights and beginnings; six of them, four at once, so that places are filled up."""
    z, weights = readings(rng, 6), np.array([1e8, 1e7, 1e6, 1e9, 1e8, 1e5])
    theta = np.stack(
        [swings.theta(Jxx=factor * 4e-3, drag=factor * 0.02) for factor in (1, 2, 0.5, 5, 10, 1)]
    )
    fits = alone([replace(METHOD, weight=weight) for weight in weights.tolist()], z, theta=theta)
    found = together(z, theta=theta, weights=weights)
    same(found, fits)
    assert found.converged.all()
    assert len(set(found.iterations.tolist())) > 1, "they take their own time"
    assert np.ptp(found.theta[:, 2]) > 0
    assert not found.std[:, [0, 1, 4]].any(), "of what is held"
    assert found.names == swings.FREE
    np.testing.assert_array_equal(found.open, [2, 3])


def test_bounds_hold_and_what_is_known_counts(rng):
    z = readings(rng, AT_ONCE, drag=-0.01)
    for given in (
        {},
        {"priors": {"bob.Jxx": Normal(5e-3, 1e-5)}},
        {"upper": {"bob.Jxx": 4.01e-3}, "lower": {"pivot.drag": -1.0}},
    ):
        found = together(z, **given)
        same(found, alone(len(z) * [METHOD], z, **given))
        assert found.converged.all()
        if "lower" in given:
            assert (found.theta[:, 3] < -0.005).all()
        else:
            np.testing.assert_array_equal(found.theta[:, 3], 0.0)
        if "priors" in given:
            assert (found.theta[:, 2] > 4.5e-3).all()


def test_one_that_ends_at_once_beside_one_that_goes_far(rng):
    """And what does not end in the steps that it is allowed says so, and leaves the others alone."""
    z = np.repeat(readings(rng, 1), AT_ONCE, axis=0)
    there = together(z).theta[0]
    theta = np.stack([there, swings.theta(Jxx=10.0, drag=0.5), swings.theta(Jxx=5e-3), there])
    found = together(z, theta=theta)
    assert found.converged.all()
    np.testing.assert_allclose(found.theta, np.tile(there, (AT_ONCE, 1)), rtol=1e-5)
    assert found.iterations[0] == found.iterations[3] <= 3
    assert found.iterations[1] > 2 * found.iterations[0]
    limit = replace(METHOD, max_iterations=int(found.iterations[0]))
    cut = together(z, limit, theta)
    assert cut.statuses[1] is Status.step_limit
    assert not cut.converged[1]
    np.testing.assert_array_equal(cut.theta[0], found.theta[0])
    same(cut, alone(len(z) * [limit], z, theta))


def test_kinks_end_it_where_they_end_one_alone():
    """Dry friction that sticks, so that steps are refused and damping grows."""
    z = readings(np.random.default_rng(3), AT_ONCE, coulomb=0.4)
    theta = np.tile(swings.theta(coulomb=0.0, stick_drag=50.0), (AT_ONCE, 1))
    names, method = (
        ("bob.Jxx", "pivot.coulomb"),
        replace(METHOD, tolerance=1e-7, doubts=False, max_iterations=12),
    )
    found, fits = together(z, method, theta, names), alone(AT_ONCE * [method], z, theta, names)
    assert max(line.tried for fit in fits for line in fit.history) > 3, "a step was refused more than once"
    same(found, fits)


@pytest.mark.slow
def test_nothing_open_is_the_states_alone(rng):
    """One after the other, as it is on a processor, and with the same controls for all."""
    z, method = readings(rng, 2), replace(METHOD, form="reduced")
    held = fit_batch(method, batch_of(TIMES, COMMANDS[:, None], z, swings.theta(drag=0.03), ()))
    np.testing.assert_array_equal(held.theta, np.tile(swings.theta(drag=0.03), (2, 1)))
    assert held.converged.all()
    assert not held.std.any()
    fits = alone([method, method], z, 2 * [swings.theta(drag=0.03)], ())
    same(held, fits)
    in_step = fit_batch(method, batch_of(TIMES, COMMANDS[:, None], z, swings.theta(drag=0.03), ()), at_once=2)
    same(in_step, fits)


def test_what_is_not_seen_has_no_standard_deviation(rng):
    """The gain of a motor that never ran."""
    names = ("pivot.gain", "pivot.drag")
    gain, drag = (swings.FREE.index(name) for name in names)
    motion = swings.exact(swings.theta(), TIMES, 1.5, 0.0)
    z = np.stack([swings.read("draw", TIMES, motion, rng).z for _ in range(AT_ONCE)])
    u = np.zeros((AT_ONCE, len(TIMES), 1))
    blind = fit_batch(METHOD, batch_of(TIMES, u, z, None, names), at_once=AT_ONCE)
    assert np.isnan(blind.std[:, gain]).all()
    assert (blind.std[:, drag] > 0).all()
    np.testing.assert_array_equal(blind.theta[:, gain], 0.5)
    np.testing.assert_allclose(blind.theta[:, drag], 0.02, atol=4 * blind.std[:, drag].max())


# --------------------------------------------------------------------------------------------------- linear algebra


def in_blocks(part, n):
    """(n, K, ...) of (N, ...)."""
    return jnp.reshape(part, (n, -1, *part.shape[1:]))


def rows_in_blocks(parts, n):
    return NormalEquations(*(in_blocks(part, n) for part in parts[:3]), parts.corner)


@pytest.mark.parametrize(
    ("N", "n", "m", "d", "q", "start"),
    [(7, 1, 9, 4, 3, True), (8, 2, 9, 4, 3, False), (2, 2, 5, 1, 2, False), (30, 5, 6, 2, 0, True)],
)
def test_eliminated_states_are_those_of_the_dense_equations(N, n, m, d, q, start, rng):
    """In n blocks of time."""
    of = random_linearization(rng, N, m, d, q, start)
    J, e = dense(of)
    H, g, states = J.T @ J, J.T @ e, N * d
    damping = rng.uniform(0.1, 1, (N, d))
    right = rng.standard_normal((N, d, 2))

    def backwards(function, U, *parts):
        """Block by block, from the last to the first; each begins with the first of the one after it."""

        def block(following, each):
            found = function(each[0], *each[1:], following)
            return (found[0] if isinstance(found, tuple) else found)[0], found

        first = jnp.zeros((d, 2 if parts else d))
        found = jax.lax.scan(block, first, (U, *parts), reverse=True)[1]
        return jax.tree.map(lambda part: part.reshape(N, *part.shape[2:]), found)

    @jax.jit
    def all_of_it(at, damping, right):
        parts = NormalEquations.of(at, batches._products)
        U = batches._factorized(rows_in_blocks(parts, n), in_blocks(damping, n))
        blocks = backwards(lambda U, following: batches._inverse_blocks(U, d, following), U)
        found = backwards(batches._back, U, in_blocks(right, n))
        return at.cost, parts, parts.diagonal, U.reshape(N, *U.shape[2:]), found, blocks

    with jax.enable_x64(True):
        cost, parts, diagonal, U, found, blocks = jax.tree.map(np.asarray, all_of_it(of, damping, right))
    assert cost == pytest.approx(e @ e)
    np.testing.assert_allclose(diagonal.ravel(), np.diag(H)[:states], rtol=1e-12)
    np.testing.assert_allclose(parts.corner.diagonal(), np.diag(H)[states:], rtol=1e-12)
    np.testing.assert_allclose(
        parts.right.reshape(states, -1), np.column_stack([H[:states, states:], g[:states]]), atol=1e-12
    )
    np.testing.assert_allclose(parts.corner, np.column_stack([H[states:, states:], g[states:]]), atol=1e-12)
    T = H[:states, :states] + np.diag(damping.ravel())
    L = np.linalg.cholesky(T)
    np.testing.assert_allclose(
        U[:, :, 2 * d :].reshape(states, -1), np.linalg.solve(L, parts.right.reshape(states, -1)), atol=1e-10
    )
    np.testing.assert_allclose(
        found.reshape(states, 2), np.linalg.solve(L.T, right.reshape(states, 2)), atol=1e-10
    )
    inverse = np.linalg.inv(T)
    for k in range(N):
        np.testing.assert_allclose(blocks[0][k], inverse[k * d :, k * d :][:d, :d], atol=1e-10)
        if k + 1 < N:
            np.testing.assert_allclose(blocks[1][k], inverse[k * d :, (k + 1) * d :][:d, :d], atol=1e-10)


def test_steps_of_all_are_the_dense_ones(rng):
    """And the decrease that is promised is that of the quadratic, without its damping."""
    N, d, q = 9, 3, 4
    of = random_linearization(rng, N, 8, d, q)
    J, e = dense(of)
    alpha, weight, prior_mean = 0.3, rng.uniform(0, 1, q), rng.standard_normal(q)
    H = J.T @ J + np.diag(np.concatenate([np.zeros(N * d), weight]))
    g = J.T @ e - np.concatenate([np.zeros(N * d), weight * prior_mean])
    damping = alpha * np.concatenate([np.diag(J.T @ J)[: N * d], rng.uniform(0.1, 1, q)])
    wanted = -np.linalg.solve(H + np.diag(damping), g)
    free = np.full(q, np.inf)
    own = BoundedParameters(np.zeros(q), np.arange(q), -free, free, prior_mean, weight)
    largest = np.diag(J.T @ J)[: N * d].reshape(N, d)

    with jax.enable_x64(True):
        equations = NormalEquations.of(jax.tree.map(jnp.asarray, of), batches._products)
        rows = rows_in_blocks(equations, 3)
        blocks = in_blocks(largest, 3)
        U, corner = jax.jit(batches._eliminated_states)(rows, blocks, alpha)
        d_theta = own.step(np.zeros(q), np.asarray(corner), damping[N * d :])
        point = batches._Point(np.zeros((3, 3, d)), np.zeros(q), rows, 0.0, blocks, None)
        flat = SimpleNamespace(form=SimpleNamespace(degrees=d, plus=lambda x, d: x + d))
        states, promised = jax.jit(partial(batches._Solver._step, flat))(point, alpha, U, d_theta)
    np.testing.assert_allclose(np.concatenate([np.ravel(states), d_theta]), wanted, atol=1e-9)
    promised = float(promised) + own.prior_decrease(np.zeros(q), d_theta)
    assert promised == pytest.approx(-2 * g @ wanted - wanted @ H @ wanted, rel=1e-9)


def shapes_of(B, n, K, q):
    """The functions of a solver, and shapes of what they take, for B problems of n blocks of K samples."""
    solver, f = batches._solver(swings.model(), "reduced"), np.zeros
    given = batches._Given(f((n, B, K, 2)), f((n, K, 1)), f(B))
    common = batches._Common(f((n, K)), f((n, K), dtype=bool), f(2), f(q, dtype=int))
    evaluate, influence = (
        partial(function, together=4) for function in (solver._evaluate, solver._influences)
    )
    start = f((n, B, K, 2)), f((B, 11))
    point = jax.eval_shape(evaluate, given, common, *start)
    U, _ = jax.eval_shape(solver.eliminate, point.equations, point.largest, f(B))
    return {
        "evaluate": (evaluate, (given, common, *start)),
        "eliminate": (solver.eliminate, (point.equations, point.largest, f(B))),
        "step": (solver.step, (point, f(B), U, f((B, q)))),
        "advance": (batches._advanced, (f(B, dtype=bool), point, point)),
        "influence": (influence, (given, common, point)),
    }


def test_it_runs_where_no_library_of_the_processor_is():
    """Lowered for a GPU there is nothing but JAX's own operations: no library's factorization, no call back."""
    with jax.enable_x64(True):
        for function, arguments in shapes_of(3, 3, 4, 2).values():
            lowered = jax.export.export(jax.jit(function), platforms=["cuda"])(*arguments)
            assert "stablehlo" in lowered.mlir_module()
            assert "custom_call" not in lowered.mlir_module()


@pytest.mark.slow
def test_no_more_is_kept_of_a_sample_than_is_said():
    """What a function needs in all, by XLA's own account, less for half of the blocks. While a trial is linearized,
    the point is there too, which is not among what `evaluate` takes; `advance` writes the new point over the old one.
    """
    B, n, K, q = 8, 16, 16, 8
    needed = {}
    with jax.enable_x64(True):
        for blocks in (n, 2 * n):
            every = shapes_of(B, blocks, K, q)
            point = every["step"][1][0]
            kept = sum(8 * part.size for part in jax.tree.leaves(point)) / B
            for name, (function, arguments) in every.items():
                donated = {"donate_argnums": 2} if name == "advance" else {}
                memory = jax.jit(function, **donated).lower(*arguments).compile().memory_analysis()
                total = (
                    memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
                )
                total -= memory.alias_size_in_bytes
                needed[name, blocks] = total / B + (kept if name == "evaluate" else 0)
    said, _ = batches._solver(swings.model(), "reduced").bytes_of_sample(q)
    for name in every:
        slope = (needed[name, 2 * n] - needed[name, n]) / (n * K)
        assert slope <= said, name


def test_as_many_at_once_as_there_is_room_for(monkeypatch):
    """On a device with memory of its own, half of it; by far more than by linearizations that are kept."""
    solver = batches._solver(swings.model(), "reduced")

    class Device:
        platform = "gpu"

        def memory_stats(self):
            return {"bytes_limit": 60e9}

    monkeypatch.setattr(batches, "_device", Device)

    def room(N):
        record = Record("long", np.arange(float(N)), np.zeros((N, 1)), np.zeros((N, 2)))
        return solver.room(JointSmoothingProblem(swings.model(), [record], open=PIVOT))

    rooms = [room(N) for N in (1000, 2000)]
    assert 1.8 < rooms[0] / rooms[1] < 2
    rows = 1000 * 2 * (2 * 2 + 2 + 1) * 8  # bytes of T, H, C and g of a problem
    assert 2 < 30e9 / rooms[0] / rows < 6
    monkeypatch.setattr(Device, "memory_stats", lambda _: {"bytes_limit": 1e3})
    assert room(1000) == 1


# ---------------------------------------------------------------------------------------------------------- the door

BAD = {
    "none": ({"z": np.zeros((0, 50, 2))}, InvalidSignals, "at least one record"),
    "at once": ({"at_once": 0}, InvalidMethod, "at least one problem at once, not 0"),
    "weights": ({"weights": np.ones(3)}, InvalidMethod, "3 weights and 2 records; give one of each"),
    "weight": ({"weights": np.array([1.0, -1.0])}, InvalidMethod, "must be above 0, not -1"),
    "theta": ({"theta": np.zeros((2, 3))}, InvalidMethod, "theta needs 11 finite numbers"),
    "outside": ({"theta": np.full((2, 11), -1.0)}, InvalidMethod, "is outside its bounds; change either"),
    "parameter": ({"open": ["pivot.drg"]}, InvalidMethod, r"did you mean 'pivot\.drag'"),
    "motors": ({"u": np.zeros((50, 2))}, InvalidSignals, "record 1 has 2 controls and 2 readings; pendulum has 1"),
    "times": ({"times": TIMES[::-1].copy()}, InvalidSignals, "the times of record 1 do not increase"),
    "infinite": ({"z": np.full((2, 50, 2), np.inf)}, InvalidSignals, "readings of record 1 are infinite"),
}  # fmt: skip


@pytest.mark.parametrize("which", BAD)
def test_batches_that_cannot_be(which):
    given, error, reason = BAD[which]
    door = {"weights": None, "at_once": None} | {
        k: v for k, v in given.items() if k in ("weights", "at_once")
    }
    names = given.get("open", PIVOT)
    whole = {"times": TIMES, "u": COMMANDS[:, None], "z": np.zeros((2, 50, 2)), "names": names} | {
        k: v for k, v in given.items() if k not in (*door, "open")
    }
    with pytest.raises(error, match=reason):
        fit_batch(METHOD, batch_of(**whole), door["weights"], at_once=door["at_once"])


def test_problems_that_do_not_belong_together():
    z = np.zeros((1, 50, 2))
    (one,), (other,) = batch_of(TIMES, COMMANDS[:, None], z), batch_of(2 * TIMES, COMMANDS[:, None], z)
    with pytest.raises(InvalidSignals, match="need the same times"):
        fit_batch(METHOD, [one, other])
    (other,) = batch_of(TIMES, COMMANDS[:, None], z, names=("pivot.drag",))
    with pytest.raises(InvalidMethod, match="same model and parameters"):
        fit_batch(METHOD, [one, other])
