"""The linear-quadratic problem of one iteration, as plain arrays (seed 001, Eqs. 16 and 21).

A chain of nodes x_0 ... x_N, for which the next one is given by noise w_k and by parameters theta that all nodes share:

    min   sum_k  1/2 [x w theta] L_k [x w theta]^T + l_k . [x w theta]     stages k = 0 ... N - 1, theta rows summed
          + 1/2 [x_N theta] V_N [x_N theta]^T + v_N . [x_N theta]          the last node
          + 1/2 x_0 Lambda x_0 + lambda . x_0                              what was known of the arrival state
          + 1/2 theta Pi theta + pi . theta                                what was known of theta
    s.t.  x_{k+1} = A_k x_k + B_k w_k + C_k theta + gap_k                  (Eq. 21, fourth row)
          E_k x_k + F_k w_k + G_k theta = e_k                              equality constraints, where there are any

All unknowns are changes (delta x, delta w, delta theta). A reset map between phases (Eq. 16) is a stage without noise.
Several chains, one a recording, share theta.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Bool, Float

from ...arrays import Matrix, Vector
from ...exceptions import InvalidMethod


@dataclass(frozen=True, eq=False)
class Quadratic:
    """1/2 [x theta] V [x theta]^T + v . [x theta] + constant: the cost of a last node, or a value function (Eq. 26).

    Args:
        V_xx, V_xt, V_tt: (n, n), (n, p), (p, p).
        V_x, V_t: (n,), (p,).
        constant: what it is at zero.
    """

    V_xx: Matrix
    V_xt: Matrix
    V_tt: Matrix
    V_x: Vector
    V_t: Vector
    constant: float = 0.0

    def __post_init__(self) -> None:
        n, p = self.V_xt.shape
        _require_shapes(self, V_xx=(n, n), V_tt=(p, p), V_x=(n,), V_t=(p,))

    def __call__(self, x: Vector, theta: Vector) -> float:
        """The value at x (n,), theta (p,)."""
        square = x @ self.V_xx @ x + theta @ self.V_tt @ theta
        return float(square / 2 + x @ self.V_xt @ theta + self.V_x @ x + self.V_t @ theta + self.constant)


@dataclass(frozen=True, eq=False)
class Rows:
    """Equality constraints of a stretch of stages: E x + F w + G theta = e, as many rows at each.

    Args:
        E, F, G, e: (T, c, n), (T, c, m), (T, c, p), (T, c); a row of zeros is none.
    """

    E: Float[np.ndarray, "T c n"]
    F: Float[np.ndarray, "T c m"]
    G: Float[np.ndarray, "T c p"]
    e: Float[np.ndarray, "T c"]


@dataclass(frozen=True, eq=False)
class Stages:
    """A stretch of a chain: dynamics and cost of T stages in a row.

    Args:
        A, B, C, gap: (T, n, n), (T, n, m), (T, n, p), (T, n).
        L_xx, L_xw, L_xt: (T, n, n), (T, n, m), (T, n, p). L_ww, L_wt: (T, m, m), (T, m, p).
        L_tt: (p, p) the sum over the stretch: no policy depends on more.
        l_x, l_w: (T, n), (T, m). l_t: (p,) the sum over the stretch.
        noisy: (T,) False where a stage has no w (a reset map); what its arrays hold for w is not looked at.
        rows: equality constraints, if there are any.

    Raises:
        InvalidMethod: if shapes do not match.
    """

    A: Float[np.ndarray, "T n n"]
    B: Float[np.ndarray, "T n m"]
    C: Float[np.ndarray, "T n p"]
    gap: Float[np.ndarray, "T n"]
    L_xx: Float[np.ndarray, "T n n"]
    L_xw: Float[np.ndarray, "T n m"]
    L_xt: Float[np.ndarray, "T n p"]
    L_ww: Float[np.ndarray, "T m m"]
    L_wt: Float[np.ndarray, "T m p"]
    L_tt: Matrix
    l_x: Float[np.ndarray, "T n"]
    l_w: Float[np.ndarray, "T m"]
    l_t: Vector
    noisy: Bool[np.ndarray, "T"]
    rows: Rows | None = None

    def __post_init__(self) -> None:
        T, n, m = self.B.shape
        p = self.C.shape[2]
        _require_shapes(
            self,
            A=(T, n, n), C=(T, n, p), gap=(T, n), L_xx=(T, n, n), L_xw=(T, n, m), L_xt=(T, n, p), L_ww=(T, m, m),
            L_wt=(T, m, p), L_tt=(p, p), l_x=(T, n), l_w=(T, m), l_t=(p,), noisy=(T,),
        )  # fmt: skip
        if self.rows is not None:
            c = self.rows.e.shape[1]
            _require_shapes(self.rows, E=(T, c, n), F=(T, c, m), G=(T, c, p), e=(T, c))

    def __len__(self) -> int:
        return len(self.gap)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """n, m, p: of a state's tangent, of its noise, of theta."""
        return self.B.shape[1], self.B.shape[2], self.C.shape[2]


@dataclass(frozen=True, eq=False)
class Chain:
    """One recording.

    Args:
        stages: all of it but the last node.
        end: the last node's cost.
        arrival_xx, arrival_x: (n, n), (n,) Lambda and lambda: what was known of x_0; zeros for nothing.

    Raises:
        InvalidMethod: if shapes do not match, or a number is not finite.
    """

    stages: Stages
    end: Quadratic
    arrival_xx: Matrix
    arrival_x: Vector

    def __post_init__(self) -> None:
        n, _, p = self.stages.sizes
        if self.end.V_xt.shape != (n, p):
            raise InvalidMethod(
                f"a chain of {n} states and {p} parameters cannot end in {self.end.V_xt.shape[0]} and "
                f"{self.end.V_xt.shape[1]}"
            )
        _require_shapes(self, arrival_xx=(n, n), arrival_x=(n,))
        for part in (self, self.stages, self.end):
            _require_finite(part)


@dataclass(frozen=True, eq=False)
class LinearQuadratic:
    """Chains that share theta, and what was known of it.

    Args:
        chains: one a recording.
        prior_tt, prior_t: (p, p), (p,) Pi and pi; zeros for nothing.
    """

    chains: tuple[Chain, ...]
    prior_tt: Matrix
    prior_t: Vector

    def __post_init__(self) -> None:
        p = len(self.prior_t)
        if not self.chains:
            raise InvalidMethod("a problem needs a recording: give at least one chain")
        if any(chain.stages.sizes[2] != p for chain in self.chains):
            raise InvalidMethod(f"chains that share theta must each have its {p} parameters")
        _require_shapes(self, prior_tt=(p, p))


def join(stretches: Sequence[Stages]) -> Stages:
    """Stretches of one chain in a row, as one."""
    stacked = {
        field.name: np.concatenate([getattr(each, field.name) for each in stretches])
        for field in fields(Stages)
        if field.name not in ("L_tt", "l_t", "rows")
    }
    rows = [each.rows for each in stretches if each.rows is not None]
    if rows and len(rows) < len(stretches):
        raise InvalidMethod(
            "either all stretches carry constraint rows or none does; a row of zeros is no constraint"
        )
    joined = (
        Rows(*(np.concatenate(parts) for parts in zip(*map(_parts, rows), strict=True))) if rows else None
    )
    L_tt, l_t = sum(each.L_tt for each in stretches), sum(each.l_t for each in stretches)
    return Stages(**stacked, L_tt=np.asarray(L_tt), l_t=np.asarray(l_t), rows=joined)


def _parts(rows: Rows) -> tuple[np.ndarray, ...]:
    return rows.E, rows.F, rows.G, rows.e


def _require_shapes(value: object, **shapes: tuple[int, ...]) -> None:
    for name, shape in shapes.items():
        array = getattr(value, name)
        if array.shape != shape:
            raise InvalidMethod(
                f"{name} of the linear-quadratic problem has the shape {array.shape}, not {shape}"
            )


def _require_finite(value: object) -> None:
    for field in fields(value):  # type: ignore[arg-type]
        array = getattr(value, field.name)
        if isinstance(array, np.ndarray) and not np.isfinite(array).all():
            raise InvalidMethod(
                f"{field.name} of the linear-quadratic problem holds a number that is not finite"
            )
