"""Functions of a form whose residuals are algebra, as expressions of CasADi (`models.maximal.expressions`).

Derivatives are by changes d of the states at d = 0, x [+] d. A step forward is Newton's iteration on its residuals; the
matrices of both are as small as a state, and are solved symbolically.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...arrays import Float, Vector
from ...models.maximal.expressions import column, matrix_of, symbols, traced
from ...models.maximal.reduced import SMALL, Balance
from .stops import at_stops

if TYPE_CHECKING:
    from .forms import ReducedForm

NEWTON_STEPS = 4
"""Newton iterations of a step: quadratic convergence takes three, a reversal of dry friction one more. Where a joint
stops within a step some go back and forth across the kink, however many there are; shorter steps do not."""


def without_forces(balance: Balance) -> Any:
    """`Balance.without_forces` of expressions."""
    e, G, gaps = column(balance.errors), matrix_of(np.asarray(balance.by_forces)), column(balance.gaps)
    if not G.shape[1]:
        return e
    square = ca.mtimes(G.T, G)
    square += SMALL * ca.trace(square) / square.shape[0] * ca.SX.eye(square.shape[0])
    D, LT, p = ca.ldl(square)
    return e - ca.mtimes(G, ca.ldl_solve(ca.mtimes(G.T, e) - gaps, D, LT, p))


class StepFunctions:
    """Functions of all samples of a record.

    Args:
        form: form of a model, whose `step_errors`, `readings`, `plus` and `inertia` are algebra.
    """

    def __init__(self, form: ReducedForm):
        self.form = form
        functions = (
            self._linearization,
            self._step,
            self._first,
            self._readings,
            self._inertias,
            self._doubts,
        )
        self._linearized, self._after, self._start, self._read, self._inertia, self._doubt = (
            cache(function) for function in functions
        )

    def linearized(
        self,
        samples: tuple[np.ndarray, ...],
        theta: Vector,
        reference: Vector | None,
        soft: Vector,
    ) -> list[np.ndarray]:
        """See `Form.linearized`."""
        given = [theta, soft] if reference is None else [theta, soft, reference]
        e, *slopes = self._mapped(self._linearized(reference is not None), samples, given)
        return [e[:, :, 0], *slopes]

    def simulated(
        self, x: np.ndarray, u: np.ndarray, h: np.ndarray, theta: np.ndarray, errors: np.ndarray | None = None
    ) -> np.ndarray:
        """See `Form.simulated`."""
        (W, T), rows = h.shape, self.form.rows
        theta = np.broadcast_to(theta, (W, theta.shape[-1]))
        errors = np.zeros((W, T, rows)) if errors is None else errors
        parts = [part.reshape(W * T, -1).T for part in (u, h, np.repeat(theta[:, None], T, axis=1), errors)]
        states = self._after().mapaccum(T).map(W)(x.T, *parts)
        return np.concatenate([x[:, None], np.asarray(states.full()).T.reshape(W, T, -1)], axis=1)

    def start(self, x: np.ndarray, theta: Vector, h: float) -> tuple[np.ndarray, ...]:
        """See `Form.start_linearized`."""
        e, *slopes = (np.asarray(part.full()) for part in self._start()(x, h, theta))
        return e[:, 0], *slopes

    def read(self, x: np.ndarray, theta: Vector) -> Float[np.ndarray, "N s"]:
        """h(x) of all states."""
        return self._mapped(self._read(), (x,), [theta])[0][:, :, 0]

    def doubts(
        self, samples: tuple[np.ndarray, ...], theta: Vector, soft: Vector
    ) -> Float[np.ndarray, "N n"]:
        """See `ReducedForm.doubts`, of one moment."""
        x, y, u, _, h = samples
        return self._mapped(self._doubt(), (x, y, u, h), [theta, soft])[0][:, :, 0]

    def inertias(self, x: np.ndarray, theta: Vector) -> Float[np.ndarray, "N n n"]:
        """Inertia of all states."""
        return self._mapped(self._inertia(), (x,), [theta])[0]

    @staticmethod
    def _mapped(function: Any, samples: tuple[np.ndarray, ...], shared: list[Vector]) -> list[np.ndarray]:
        """(N, a, b) the results of all samples."""
        N = len(samples[0])
        count = len(samples)
        mapped = function.map("all", "serial", N, list(range(count, count + len(shared))), [])
        results = mapped(*(np.reshape(part, (N, -1)).T for part in samples), *shared)
        results = results if isinstance(results, tuple) else (results,)
        return [
            np.asarray(result.full()).T.reshape(N, -1, function.size1_out(k)).swapaxes(1, 2)
            for k, result in enumerate(results)
        ]

    @property
    def _symbols(self) -> tuple[np.ndarray, ...]:
        """x, y, u, z, h and theta."""
        form, model = self.form, self.form.model
        sizes = {"x": form.size, "y": form.size, "u": model.structure.controls}
        sizes |= {"z": len(model.mechanism.sensors), "h": 1, "theta": len(model.free)}
        return tuple(symbols(name, count) for name, count in sizes.items())

    def _linearization(self, by_inertia: bool) -> Any:
        form, (x, y, u, z, h, theta) = self.form, self._symbols
        sizes = {"d": form.degrees, "n": form.degrees, "s": form.n, "r": len(theta)}
        d, d_next, soft, reference = (symbols(name, count) for name, count in sizes.items())

        def errors(
            d: Any, d_next: Any, x: Any, y: Any, u: Any, z: Any, h: Any, theta: Any, soft: Any
        ) -> tuple[Any, Any, Any]:
            start, end = form.plus(x, d), form.plus(y, d_next)
            step = form.balance(start, end, u, theta, h[0], soft)
            # the difference first, then without full turns: in [-pi, pi] for any turn of the state
            return step, form.model.reading_errors(form.readings(start, theta), z), start

        step, away, start = traced(errors, d, d_next, x, y, u, z, h, theta, soft)
        step = without_forces(step)
        if by_inertia:
            M, M_ref = (matrix_of(traced(form.inertia, start, numbers)) for numbers in (theta, reference))
            n = M.shape[0]
            step = ca.vec(ca.mtimes(M_ref, ca.solve(M, ca.reshape(step, n, step.numel() // n))))
        e = ca.vertcat(step, column(away))
        slopes = [ca.densify(ca.jacobian(e, column(by))) for by in (d, d_next, theta)]
        inputs = [column(part) for part in (d, d_next, x, y, u, z, h, theta, soft, reference)]
        whole = ca.Function("e", inputs, [ca.densify(e), *slopes])
        # of changes that are 0 much vanishes
        at_zero = whole(*([ca.SX(ca.DM.zeros(form.degrees))] * 2), *inputs[2:])
        return ca.Function("linearized", inputs[2:] if by_inertia else inputs[2:-1], at_zero)

    def _step(self) -> Any:
        form, (x, y, u, _, h, theta) = self.form, self._symbols
        d, w = symbols("d", form.degrees), symbols("w", form.rows)
        held, target = symbols("held", form.rows), symbols("target", form.rows)

        def errors(d: Any, x: Any, y: Any, u: Any, h: Any, theta: Any) -> tuple[Any, Any]:
            end = form.plus(y, d)
            return form.balance(x, end, u, theta, h[0]), end

        e, end = traced(errors, d, x, y, u, h, theta)
        e, ends = without_forces(e) - column(w), form.model.structure.ends
        inputs = [column(part) for part in (d, x, y, u, h, theta, w)]
        if ends:  # numbers that end stops determine
            e = ca.if_else(column(held), column(end[form.places]) - column(target), e)
            inputs += [column(held), column(target)]
        whole = ca.Function("e", inputs, [e, ca.jacobian(e, column(d))])
        at_zero, slope = whole(ca.SX(ca.DM.zeros(form.degrees)), *inputs[1:])
        plus = ca.Function("plus", [inputs[2], inputs[0]], [column(end)])
        newton = ca.Function("newton", inputs[1:], [plus(inputs[2], -ca.solve(slope, at_zero))])

        def solved(found: Any, *stopped: Any) -> Any:
            for _ in range(NEWTON_STEPS):
                found = newton(inputs[1], found, *inputs[3:7], *stopped)
            return found

        begin = column(traced(lambda x, h: form.plus(x, form.drift(x, h[0])), x, h))
        none = [ca.SX(ca.DM.zeros(form.rows))] * 2 if ends else []
        found = solved(begin, *none)
        if ends:
            passing = traced(
                lambda x, y, h, theta: at_stops(form.model, x[form.places], y[form.places], theta, h[0]),
                x,
                y,
                h,
                theta,
            )
            given = [inputs[1], inputs[2], inputs[4], inputs[5]]
            stops = ca.Function("stops", given, [column(part) for part in passing])
            held_there, at = stops(inputs[1], found, inputs[4], inputs[5])
            found = solved(ca.if_else(held_there, at, found), held_there, at)
        return ca.Function("step", [inputs[1], *inputs[3:7]], [found])

    def _first(self) -> Any:
        form, (x, _, _, _, h, theta) = self.form, self._symbols
        d = symbols("d", form.degrees)
        errors = traced(
            lambda d, x, h, theta: form.start_errors(form.plus(x, d), theta, h[0]), d, x, h, theta
        )
        e, inputs = column(errors), [column(part) for part in (d, x, h, theta)]
        slopes = [ca.densify(ca.jacobian(e, inputs[k])) for k in (0, 3)]
        whole = ca.Function("e", inputs, [ca.densify(e), *slopes])
        at_zero = whole(ca.SX(ca.DM.zeros(form.degrees)), *inputs[1:])
        return ca.Function("start", inputs[1:], at_zero)

    def _readings(self) -> Any:
        x, *_, theta = self._symbols
        read = traced(self.form.readings, x, theta)
        return ca.Function("read", [column(x), column(theta)], [ca.densify(column(read))])

    def _doubts(self) -> Any:
        x, y, u, _, h, theta = self._symbols
        given = x, y, u, h, theta, symbols("s", self.form.n)

        def doubt(x: Any, y: Any, u: Any, h: Any, theta: Any, soft: Any) -> Any:
            return self.form.balance(x, y, u, theta, h[0], soft).doubt

        doubts = column(traced(doubt, *given))
        return ca.Function("doubt", [column(part) for part in given], [ca.densify(doubts)])

    def _inertias(self) -> Any:
        x, *_, theta = self._symbols
        M = traced(self.form.inertia, x, theta)
        return ca.Function("inertia", [column(x), column(theta)], [ca.densify(matrix_of(M))])
