"""Base parameters: combinations of parameters that a regressor determines (Gautier 1991; Khalil and Dombre).

If some columns of W are combinations of others, W_d = W_b beta for every motion, then

    W theta = W_b (theta_b + beta theta_d) = W_b K theta,        K = [1  beta] in the order (b, d)

and only the regrouped theta_b + beta theta_d can be known. The columns b are chosen in an order of preference (for a
joint about z: xx xy xz yz zz mx my of each body stay, yy mz m are regrouped): a column of unit norm stays unless those
before it already span it. Rows are folded into a triangular factor:

    [ R   ]
    [ W y ]  =  Q R+        R^T R = sum over blocks of [W y]^T [W y]        (Householder, never the normal equations)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..arrays import Brief, Matrix
from ..estimate import Direction
from ..estimate.uncertainty import sum_text
from ..exceptions import InvalidMethod, listing, nearest
from ..models.robot import tree as kinds
from ..parameters import INERTIAL_SYMBOLS, Parameters
from .regressor import Regressor

ROWS_PER_FOLD = 4096


class TriangularFactor:
    """The factor R of rows that arrive block by block; `columns` counts the right-hand side too."""

    def __init__(self, columns: int):
        self.columns = columns
        self._pending: list[np.ndarray] = [np.zeros((0, columns))]
        self._rows = 0

    def fold(self, rows: np.ndarray) -> None:
        """Add (r, columns) rows."""
        for first in range(0, len(rows), ROWS_PER_FOLD):
            block = rows[first : first + ROWS_PER_FOLD]
            self._pending.append(block)
            self._rows += len(block)
            # a factorization costs about the square of the columns for each row, those of the old factor included
            if self._rows >= ROWS_PER_FOLD + self.columns:
                self._reduce()

    @property
    def R(self) -> Matrix:
        """(columns, columns) upper triangular; fewer rows were padded with zeros."""
        self._reduce()
        R = self._pending[0]
        # fewer rows than columns give a trapezoid
        return np.concatenate([R, np.zeros((self.columns - len(R), self.columns))])

    def _reduce(self) -> None:
        stacked = np.concatenate(self._pending)
        R = triangular(stacked) if len(stacked) else stacked
        self._pending, self._rows = [R], len(R)


def triangular(rows: Matrix) -> Matrix:
    """(min(r, c), c) the triangular factor of (r, c) rows."""
    return np.asarray(np.linalg.qr(rows, mode="r"))


STRUCTURAL_TOLERANCE = 1e-5
"""Robot descriptions write 1.5708 for a right angle: such rounding must not distinguish parameters."""

EXCITATION_TOLERANCE = 1e-5
ROUNDING = 1e-11
RANDOM_STATES = 4
"""Random states per parameter and degree of freedom; more than needed for the rank, but cheap."""


@dataclass(frozen=True, eq=False, repr=False)
class BaseParameters(Brief):
    """A set of columns that spans the others.

    Args:
        parameters: all parameters.
        chosen: (b,) the columns that stay.
        map: (b, p) K, which maps full to base parameters.
    """

    parameters: Parameters
    chosen: np.ndarray
    map: Matrix

    def __len__(self) -> int:
        return len(self.chosen)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """`zz1r` where something is grouped into zz1, plain names elsewhere."""
        return tuple(
            self.parameters.names[c] + ("" if alone else "r")
            for c, alone in zip(self.chosen, self.alone, strict=True)
        )

    @cached_property
    def alone(self) -> np.ndarray:
        """(b,) True where nothing is grouped into a base parameter: it is one of the full parameters."""
        return np.asarray(np.count_nonzero(self.map, axis=1) == 1)

    def subset(self, rows: np.ndarray) -> BaseParameters:
        """Some of the base parameters: indices, or a mask (b,)."""
        return replace(self, chosen=self.chosen[rows], map=self.map[rows])

    def index(self, name: str) -> int:
        """Index of a base parameter, with or without the `r` of grouped ones; `InvalidMethod` if there is none."""
        for place, c in enumerate(self.chosen):
            if name.removesuffix("r") == self.parameters.names[c]:
                return place
        raise InvalidMethod(
            f"no base parameter {name!r}{nearest(name, self.names)}; there are {listing(self.names, 30)}"
        )

    @cached_property
    def groupings(self) -> tuple[str, ...]:
        """The combination that each one stands for, e.g. `zz1 + ia1 + yy2 + 0.0506 m3`."""
        return tuple(combination(row, self.parameters.names) for row in self.map)

    @cached_property
    def units(self) -> tuple[str, ...]:
        return tuple(self.parameters.units[c] for c in self.chosen)

    @cached_property
    def owners(self) -> tuple[str, ...]:
        return tuple(self.parameters.owners[c] for c in self.chosen)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        return tuple(self.parameters.kinds[c] for c in self.chosen)

    @cached_property
    def unobservable(self) -> tuple[int, ...]:
        """Columns that are zero for every motion and belong to no base parameter."""
        return tuple(int(c) for c in np.flatnonzero(~(np.abs(self.map) > 0).any(axis=0)))


def structural_base(regressor: Regressor, seed: int = 0) -> BaseParameters:
    """The base parameters, none of them held, that some motion of this robot determines, from random states."""
    p, n = len(regressor.parameters), len(regressor.robot.equations)
    count = RANDOM_STATES * (p // n + 10)
    rng = np.random.default_rng(seed)
    states = regressor.robot.random_states(count, rng)
    W = regressor.dense(*states, rng.standard_normal((count, len(regressor.robot.inputs))))
    # R spans the same rows as W and is some dozen times smaller
    R = triangular(W.reshape(-1, p))
    return BaseParameters(regressor.parameters, *choose(R, preference(regressor), STRUCTURAL_TOLERANCE))


def choose(R: Matrix, order: np.ndarray, tolerance: float) -> tuple[np.ndarray, Matrix]:
    """(b,) columns that span all others, in rising order, and (b, p) K, of a system whose triangular factor is R.

    Args:
        R: (k, p) with R^T R = W^T W.
        order: columns from most to least preferred in the base; columns left out are not considered.
        tolerance: a column of unit norm with less than this outside the span of those before it is spanned.
    """
    norms = np.linalg.norm(R, axis=0)
    scale = norms.max(initial=0.0)
    basis = np.empty((len(R), 0))
    chosen: list[int] = []
    unspanned = ROUNDING  # largest distance of spanned columns from the span, hence the error of K
    zero = norms <= tolerance * scale
    for c in order[~zero[order]]:
        column = R[:, c] / norms[c]
        for _ in range(2):  # once is not enough in floating point, twice is
            column = column - basis @ (basis.T @ column)
        # the sine of the angle between the column and the span of those before it
        rest = np.linalg.norm(column)
        if rest > tolerance:
            basis = np.column_stack([basis, column / rest])
            chosen.append(int(c))
        else:
            unspanned = max(unspanned, float(rest))
    # preference decides which columns stay, and not in which order they are reported
    chosen.sort()
    considered = np.zeros(R.shape[1], dtype=bool)
    considered[order] = ~zero[order]
    # columns in different units are compared at norm 1, and the units are put back after
    K = np.linalg.lstsq(R[:, chosen] / norms[chosen], R * considered, rcond=None)[0] / norms[chosen, None]
    # entries below the accuracy of the linear dependence are no grouping; 1e2: errors of a solution are larger
    K[np.abs(K) * norms[chosen, None] <= 1e2 * unspanned * norms] = 0.0
    # exactly, so that `alone` can count nonzero entries
    K[:, chosen] = np.eye(len(chosen))
    return np.array(chosen, dtype=np.int64), K


def preference(regressor: Regressor) -> np.ndarray:
    """Columns from most to least preferred: the textbook's of each body, its others, rotors, couplings, friction."""
    tree = regressor.robot.tree
    parameters = regressor.parameters
    first: list[int] = []
    last: list[int] = []
    for kind, axis, body in zip(tree.kind, tree.axis, tree.body, strict=True):
        # a primitive of a joint with several freedoms: only the last one of its chain carries the body
        if body < 0:
            continue
        regrouped = _regrouped_symbols(int(kind), axis)
        for k, symbol in enumerate(INERTIAL_SYMBOLS):
            (last if symbol in regrouped else first).append(10 * int(body) + k)
    others = np.arange(10 * len(regressor.robot.bodies), len(parameters))
    order = np.array([*first, *last, *others], dtype=np.int64)
    return order[parameters.free[order]]


def _regrouped_symbols(kind: int, axis: np.ndarray) -> tuple[str, ...]:
    """Symbols regrouped into other parameters for a joint about this axis (the textbook's is z; indices rotate)."""
    if kind in (kinds.PRISMATIC, kinds.TRANSLATION):
        # it does not turn relative to its parent, into which its inertia is regrouped
        return ("xx", "xy", "yy", "xz", "yz", "zz")
    if kind not in (kinds.REVOLUTE, kinds.CONTINUOUS, kinds.HELICAL):
        return ("yy", "mz", "m")
    return (("zz", "mx", "m"), ("xx", "my", "m"), ("yy", "mz", "m"))[int(np.argmax(np.abs(axis)))]


def combination(coefficients: np.ndarray, names: tuple[str, ...], limit: int = 40) -> str:
    """`zz1 + ia1 - 0.225 my3` from coefficients, the own parameter (coefficient 1, first) before the others."""
    terms = np.flatnonzero(np.abs(coefficients) > 1e-9 * np.abs(coefficients).max(initial=0.0))
    text = sum_text(((coefficients[term], names[term]) for term in terms[:limit]), 6)
    return text + (f" + ... ({len(terms)} terms)" if len(terms) > limit else "")


def unexcited(structural: BaseParameters, recorded: BaseParameters) -> tuple[Direction, ...]:
    """Combinations that some motion of the robot determines but the recording does not."""
    names = dict(zip((int(c) for c in structural.chosen), structural.names, strict=True))
    kept = tuple(names[int(c)] for c in recorded.chosen)
    directions = []
    for c in structural.chosen[~np.isin(structural.chosen, recorded.chosen)]:
        twin = combination(recorded.map[:, c], kept)
        directions.append(
            Direction(f"{names[int(c)]}, confounded with {twin}" if twin else names[int(c)], "unexcited")
        )
    return tuple(directions)
