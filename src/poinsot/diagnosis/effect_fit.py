"""Parameters and effects, estimated together, and how well parts of the data predict others.

With rows y = W theta + C d + e, d ~ N(0, 1) the sizes of all systematic effects (`effects`) in standard deviations of
their prior, and each joint's residuals at unit variance, (theta, d) has the posterior H^-1, H = A^T A + P of A = [W C].
Its covariance allows for coloured residuals as that of least squares does, H^-1 (M + P) H^-1, and its variances for
what differs between blocks, by the jackknife: a fit absorbs the slow part of its residuals, and leaving a block out
does not.

The data are cut into about 20 contiguous blocks, with gaps longer than the correlation of the residuals between them,
in 5 folds. An effect is *named* if it is significant in the posterior, and if with it blocks are predicted better that
were not fitted; forward selection begins with the effect that predicts best. Every other effect widens intervals:

    std^2 = max(coloured, blocks, posterior) + shift^2,    shift^2 = (theta without effects - theta with all)^2 - V

Coloured and blocks are of the fit without effects; V is what the shift has by chance.

A common gain of all torques scales all values alike, and no recording shows it: gains are relative to their mean, and
so is `std`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import special

from ..arrays import JointSamples, Matrix, Vector
from ..estimate.uncertainty import raised
from ..parameters import Normal
from ..statistics import (
    NORMAL_95,
    autocorrelation,
    correlated_products,
    correlation_length,
    independent_squares,
    longest_lag,
    pooled,
    student_factor,
    tapered_autocovariance,
)
from .effects.effect import EffectColumn

BLOCKS, FOLDS = 20, 5
"""Blocks of all recordings together, at least 4 of each, and folds."""

ROUNDS = 4
"""Estimates of the joints' spreads, which depend on the parameters, and these on the spreads."""

SIGNIFICANT, BETTER, CERTAIN = 4.0, 0.03, 3.0
"""An effect is named if its chi-square is that of so many standard deviations, if with it the squared error of blocks
that were not fitted falls by this part, and if so many standard errors of the differences are below zero."""

COLUMN_COST = 0.002
"""Part of the squared error that a column costs: of two effects that predict alike the simpler is named."""

MOST_NAMED = 6

FEW = 5.0
"""Equations a parameter below which blocks are left out to first order only."""

RIDGE = 1e-9
"""Information on parameters, relative to that of the rows."""

WIDE = 1e-6
"""Information on the size of an effect that is named: its prior does not hold it."""

FIXED = 1e4
"""Information on the mean of all gains, in units of their prior."""

EXACT = 1e-6
"""Residuals below this part of the torque are rounding errors."""


@dataclass(frozen=True, eq=False)
class Named:
    """An effect that the data show.

    Args:
        columns: of one effect, at one place, or at the joints that certainly show it, the most certain first.
        value, std: size of the first in the effect's unit, and its standard deviation. sizes: stds of the
            prior of the largest. z: significance.
        gain: part of the held-out squared error that it removes from what was left. share: of what all effects remove.
    """

    columns: tuple[EffectColumn, ...]
    value: float
    std: float
    sizes: float
    z: float
    gain: float
    share: float


@dataclass(frozen=True, eq=False)
class EffectFit:
    """Parameters and effects of recordings whose readings are linear in both, or were linearized at an estimate.

    Args:
        W: (N, n, b) derivatives of the predicted readings. y: (N, n) readings less what does not depend on theta.
        theta: (b,) as the method estimated it; None: by these rows without effects. columns: of the effects.
        counts: rows of each recording.
        noise: (n,) white noise of the readings. priors: number of a parameter, and its prior.
        apart: whether the significance of an effect is that without the other effects: where they resemble each other,
            a large one would be shared out among them.
    """

    W: np.ndarray
    y: JointSamples
    theta: Vector | None
    columns: tuple[EffectColumn, ...]
    counts: tuple[int, ...]
    noise: Vector
    priors: tuple[tuple[int, Normal], ...] = ()
    apart: bool = False

    # the matrices

    @property
    def readings(self) -> JointSamples:
        """(N, n) to which errors are relative."""
        return self.y

    @property
    def b(self) -> int:
        return self.W.shape[2]

    @cached_property
    def norms(self) -> Vector:
        """(b,) of the regressor's columns."""
        return np.sqrt(np.sum(self.W**2, axis=(0, 1))) + 1e-300

    @cached_property
    def A(self) -> np.ndarray:
        """(N, n, b + K) regressor with columns of unit norm, then effects."""
        return np.concatenate([self.W / self.norms, *(column.values for column in self.columns)], axis=2)

    @cached_property
    def grams(self) -> np.ndarray:
        """(n, b + K + 1, b + K + 1) products of the columns of A and y at each joint."""
        joined = np.concatenate([self.A, self.y[:, :, None]], axis=2).transpose(1, 2, 0)
        return joined @ joined.transpose(0, 2, 1)

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Places of each column's effects in A."""
        edges = self.b + np.cumsum([0, *(column.values.shape[2] for column in self.columns)])
        return tuple(slice(first, last) for first, last in pairwise(edges))

    @cached_property
    def information(self) -> Vector:
        """(b + K,) of the prior."""
        P = np.ones(self.A.shape[2])
        P[: self.b] = 0.0
        for k, normal in self.priors:
            P[k] = 1 / (normal.std * self.norms[k]) ** 2
        return P

    @cached_property
    def means(self) -> Vector:
        """(b + K,) of the prior."""
        mean = np.zeros(self.A.shape[2])
        for k, normal in self.priors:
            mean[k] = normal.mean * self.norms[k]
        return mean

    @cached_property
    def everything(self) -> np.ndarray:
        return np.arange(self.A.shape[2])

    @property
    def own(self) -> np.ndarray:
        """Numbers of the parameters."""
        return np.arange(self.b)

    @cached_property
    def spread(self) -> tuple[Vector, float]:
        """(n,) of the residuals with all effects, and the number of parameters and effects that the data determine."""
        rms = np.sqrt(np.mean(self.y**2, axis=0))
        rms = np.where(rms > 0, rms, rms.max() or 1.0)
        sigma, used = rms, float(self.b)
        for _ in range(ROUNDS):
            x, H = self.solve(self.everything, sigma)
            used = self._used(H, self.everything)
            e = self.residuals(self.everything, x)
            # a joint near the base has more parameters than one near the tip, and absorbs more of its residuals
            taken = np.einsum("ij, kij -> k", np.linalg.inv(H), self.grams[:, :-1, :-1]) / sigma**2
            left = np.maximum(1 - taken / len(self.y), 0.1)
            sigma = np.maximum(np.sqrt(np.mean(e**2, axis=0) / left), EXACT * rms)
        return sigma, used

    @property
    def sigma(self) -> Vector:
        return self.spread[0]

    def _used(self, H: Matrix, columns: np.ndarray) -> float:
        return float(len(columns) - self._regularized(H, columns) @ np.diag(np.linalg.inv(H)))

    def _regularized(self, H: Matrix, columns: np.ndarray) -> Vector:
        P = self.information[columns].copy()
        P[columns < self.b] += RIDGE * np.diag(H)[columns < self.b]
        return P

    def solve(
        self, columns: np.ndarray, sigma: Vector | None = None, information: Vector | None = None
    ) -> tuple[Vector, Matrix]:
        """x of these columns, and H with the prior."""
        w = 1 / (self.sigma if sigma is None else sigma) ** 2
        last = np.append(columns, self.A.shape[2])
        G = np.tensordot(w, self.grams[:, last[:, None], last], axes=1)
        H, P = G[:-1, :-1], (self.information if information is None else information)[columns]
        H[np.diag_indices_from(H)] += P + RIDGE * np.diag(H) * (columns < self.b) + 1e-300
        H += self._relative(columns)
        return np.linalg.solve(H, G[:-1, -1] + P * self.means[columns]), H

    def _relative(self, columns: np.ndarray) -> Matrix:
        """Information that the mean of all gains is 0, where all are among the columns."""
        gains = np.zeros(len(self.everything))
        for column, place in zip(self.columns, self.slices, strict=True):
            if column.effect.relative:
                gains[place] = 1.0
        its = gains[columns]
        return FIXED * np.outer(its, its) if its.sum() == gains.sum() else np.zeros((len(its), len(its)))

    def residuals(self, columns: np.ndarray, x: Vector) -> JointSamples:
        return np.asarray(self.y - self.A[:, :, columns] @ x)

    # blocks

    @cached_property
    def correlation(self) -> int:
        """Rows after which residuals are uncorrelated."""
        e = self.residuals(self.everything, self.joint[0]) / self.sigma
        rho = pooled(autocorrelation, self.counts, e, longest_lag(min(self.counts)))
        return int(np.median([correlation_length(row, len(e)) for row in rho]))

    @cached_property
    def blocks(self) -> np.ndarray:
        """(N,) number of each row's block."""
        counts = self.counts
        each = max(int(np.ceil(BLOCKS / len(counts))), 4)
        found, first = [], 0
        for count in counts:
            parts = max(min(each, count // 6), 1)
            found.append(first + np.arange(count) * parts // max(count, 1))
            first += parts
        return np.concatenate(found)

    @cached_property
    def inner(self) -> np.ndarray:
        """(N,) whether a row is inside its block, farther from the next than residuals are correlated."""
        inside = np.ones(len(self.blocks), dtype=bool)
        edges = np.flatnonzero(np.diff(self.blocks)) + 1
        for first, last in pairwise([0, *edges.tolist(), len(self.blocks)]):
            cut = min(max(self.correlation // 2, 1), (last - first) // 4)
            inside[first : first + cut] = inside[last - cut : last] = False
        return inside

    @cached_property
    def products(self) -> np.ndarray:
        """(B, b + K + 1, b + K + 1) of the inner rows of each block."""
        joined = np.concatenate([self.A, self.y[:, :, None]], axis=2) / self.sigma[:, None]
        found = []
        for block in range(int(self.blocks.max()) + 1):
            M = joined[(self.blocks == block) & self.inner].reshape(-1, joined.shape[2])
            found.append(M.T @ M)
        return np.array(found)

    @cached_property
    def rows_in(self) -> np.ndarray:
        """(B,) scalar rows of each block."""
        return np.bincount(self.blocks[self.inner], minlength=len(self.products)) * self.y.shape[1]

    def held_out(self, columns: np.ndarray) -> Vector:
        """(B,) squared error of each block, predicted from the other folds."""
        G, fold = self.products, np.arange(len(self.products)) % min(FOLDS, len(self.products))
        whole, errors = G.sum(axis=0), np.zeros(len(G))
        for number in np.unique(fold):
            rest = whole - G[fold == number].sum(axis=0)
            H = rest[np.ix_(columns, columns)].copy()
            P = self.information[columns]
            H += self._relative(columns)
            H[np.diag_indices_from(H)] += P + 1e-6 * np.diag(H) * (columns < self.b) + 1e-300
            x = np.linalg.solve(H, rest[columns, -1] + P * self.means[columns])
            for block in np.flatnonzero(fold == number):
                its = G[block]
                errors[block] = its[-1, -1] - 2 * x @ its[columns, -1] + x @ its[np.ix_(columns, columns)] @ x
        return np.maximum(errors, 1e-300)

    # uncertainty

    @cached_property
    def joint(self) -> tuple[Vector, Matrix]:
        """x of parameters and effects, and H."""
        return self.solve(self.everything)

    @cached_property
    def plain(self) -> tuple[Vector, Matrix]:
        """x of the parameters without effects, and H."""
        return self.solve(self.own)

    def covariances(self, columns: np.ndarray, x: Vector, H: Matrix) -> tuple[Matrix, Matrix]:
        """Covariances of x for correlated residuals, and from blocks."""
        e = self.residuals(columns, x) / self.sigma
        left = max(1 - self._used(H, columns) / self.y.size, 0.1)
        S, P = np.linalg.inv(H), self.information[columns]
        A = self.A[:, :, columns] / self.sigma[:, None]
        Gamma, allowance = tapered_autocovariance(e, self.counts)
        edges = np.cumsum([0, *self.counts])
        rows = ((k, A[first:last]) for k, (first, last) in enumerate(pairwise(edges)))
        M = correlated_products(rows, Gamma) * allowance / left
        prior = np.diag(P) + self._relative(columns)
        coloured = S @ (M + prior) @ S
        return coloured, self._jackknife(columns)

    def _jackknife(self, columns: np.ndarray) -> Matrix:
        """(k, k) covariance from the change of x when each block is left out (Quenouille 1956, Tukey 1958)."""
        joined = np.concatenate([self.A[:, :, columns], self.y[:, :, None]], axis=2) / self.sigma[:, None]
        count = int(self.blocks.max()) + 1
        parts = [joined[self.blocks == block].reshape(-1, len(columns) + 1) for block in range(count)]
        G = np.array([M.T @ M for M in parts])
        whole, P = G.sum(axis=0), self.information[columns]
        prior = np.diag(P + 1e-300) + self._relative(columns)
        S = np.linalg.inv(whole[:-1, :-1] + prior + RIDGE * np.diag(np.diag(whole)[:-1] * (columns < self.b)))
        x = S @ (whole[:-1, -1] + P * self.means[columns])
        found = []
        for block in G if count > 1 else ():
            score = block[:-1, -1] - block[:-1, :-1] @ x
            if self.y.size < FEW * self.b:
                # without a block the rest determines hardly anything: to first order
                found.append(x - S @ score)
                continue
            H = (whole - block)[:-1, :-1]
            H = H + prior + RIDGE * np.diag(np.diag(whole)[:-1] * (columns < self.b))
            found.append(np.linalg.solve(H, (whole - block)[:-1, -1] + P * self.means[columns]))
        if not found:
            return np.zeros((len(columns), len(columns)))
        # few blocks determine a variance poorly: the ratio of quantiles
        factor = student_factor(count) ** 2
        # what the prior contributes does not change between blocks
        changes = np.array(found) - np.mean(found, axis=0)
        return np.asarray((count - 1) / count * factor * changes.T @ changes + S @ prior @ S)

    @cached_property
    def posterior(self) -> tuple[Vector, Matrix]:
        """(b + K,) variances of parameters and effects, and (b + K, b + K) coloured covariance."""
        coloured, clustered = self.covariances(self.everything, *self.joint)
        return np.maximum(np.diag(coloured), np.diag(clustered)), coloured

    @cached_property
    def plain_covariances(self) -> tuple[Matrix, Matrix]:
        """(b, b) `covariances` of the parameters by chance, effects left out."""
        return self.covariances(self.own, *self.plain)

    @cached_property
    def without_effects(self) -> Vector:
        """(b,) variances of the parameters by chance, effects left out."""
        coloured, clustered = self.plain_covariances
        return np.maximum(np.diag(coloured), np.diag(clustered))

    @cached_property
    def variances(self) -> Vector:
        """(b,) of the base values of least squares, in their units."""
        with_effects = np.diag(self.posterior[1])[: self.b]
        return np.asarray((np.maximum(with_effects, self.without_effects) + self.shift**2) / self.norms**2)

    @cached_property
    def shift(self) -> Vector:
        """(b,) of the parameters of unit columns with all effects, beyond what the posterior contains.

        An efficient and a consistent estimate differ with the difference of their variances (Hausman 1978).
        """
        without = self.plain[0] if self.theta is None else self.theta * self.norms
        moved = without - self.joint[0][: self.b]
        white = [np.diag(np.linalg.inv(H))[: self.b] for _, H in (self.joint, self.plain)]
        expected = np.maximum(white[0] - white[1], 0.0)
        return np.asarray(np.sign(moved) * np.sqrt(np.maximum(moved**2 - expected, 0.0)))

    @cached_property
    def between_blocks(self) -> Matrix:
        """(b, b) covariance of the parameters of one more recording as long as these, from blocks that differ."""
        clustered = self.plain_covariances[1]
        return np.asarray(len(self.counts) * clustered / np.outer(self.norms, self.norms))

    @cached_property
    def covariance(self) -> Matrix:
        """(b, b) of the base values, with at least `variances` on its diagonal."""
        return self.covariance_of(np.eye(self.b))

    def covariance_of(self, slopes: Matrix) -> Matrix:
        """(v, v) of values with these derivatives (v, b) by the parameters, with at least their variances by chance."""
        S, own = slopes / self.norms, slice(None, self.b)
        # values in units in which variances of different kinds may be compared, as those of unit columns
        size = np.linalg.norm(S, axis=1)
        S = S / np.where(size > 0, size, 1.0)[:, None]
        by_chance = np.max([np.einsum("vi,ij,vj->v", S, C, S) for C in self.plain_covariances], axis=0)
        moved = S @ self.shift
        C = raised(S @ self.posterior[1][own, own] @ S.T, by_chance) + np.outer(moved, moved)
        return np.asarray(C * np.outer(size, size))

    # size of residuals

    @cached_property
    def relative_error(self) -> float:
        """Residuals without effects, relative to the torque."""
        return float(np.linalg.norm(self.residuals(self.own, self.plain[0])) / np.linalg.norm(self.readings))

    @property
    def floor(self) -> float:
        """Noise of the torque in the band of the rows, relative to the torque."""
        return float(
            np.linalg.norm(self.noise) * np.sqrt(len(self.y)) / max(np.linalg.norm(self.readings), 1e-300)
        )

    @cached_property
    def beyond_expected(self) -> float:
        """Held-out error without effects over what the residuals and the number of parameters explain."""
        x, H = self.plain
        e = self.residuals(self.own, x) / self.sigma
        inside = float(np.sum(e[self.inner] ** 2))
        variance = inside / max(self.rows_in.sum() - self.b, 1.0)
        correlated = float(np.mean(len(e) / independent_squares(e)))
        S = np.linalg.inv(H) * FOLDS / (FOLDS - 1)
        leverage = sum(float(np.sum(S * G[: self.b, : self.b])) for G in self.products)
        return float(np.sqrt(self.error.sum() / (variance * (self.rows_in.sum() + correlated * leverage))))

    def moved(self, place: slice) -> float:
        """Largest change of a parameter with an effect of a standard deviation, in its own standard deviations.

        All other effects follow it.
        """
        C = self.posterior[1]
        change = np.abs(C[: self.b, place]) / np.sqrt(np.maximum(np.diag(C)[place], 1e-300))
        return float(np.max(change / (np.sqrt(self.variances) * self.norms)[:, None], initial=0.0))

    # names

    @cached_property
    def groups(self) -> list[tuple[EffectColumn, ...]]:
        """Effects that may be named: each column, and those that may affect all joints at once."""
        groups: list[tuple[EffectColumn, ...]] = [(column,) for column in self.columns if column.effect.named]
        kinds = dict.fromkeys(column.effect for column in self.columns if column.effect.together)
        for kind in kinds:
            mine = tuple(column for column in self.columns if column.effect is kind)
            if len(mine) > 1:
                groups.append(mine)
        return groups

    def places(self, group: Sequence[EffectColumn]) -> np.ndarray:
        place = {id(column): where for column, where in zip(self.columns, self.slices, strict=True)}
        return np.concatenate([np.arange(s.start, s.stop) for s in (place[id(column)] for column in group)])

    def significance(self, group: Sequence[EffectColumn]) -> float:
        """Of a group's effects, in standard deviations."""
        at = self.places(group)
        if self.apart:
            x, H = self.solve(np.concatenate([self.own, at]))
            block, k = np.linalg.inv(H)[self.b :, self.b :], self.b
            return chi_square_as_normal(float(x[k:] @ np.linalg.solve(block, x[k:])), len(at))
        variance, C = self.posterior
        widen = np.sqrt(variance[at] / np.maximum(np.diag(C)[at], 1e-300))
        block = C[np.ix_(at, at)] * np.outer(widen, widen)
        x = self.joint[0][at]
        square = float(x @ np.linalg.solve(block + 1e-9 * np.diag(np.diag(block)), x))
        return chi_square_as_normal(square, len(at))

    @cached_property
    def error(self) -> Vector:
        """(B,) held-out squared errors without effects."""
        return self.held_out(self.own)

    @property
    def left_out_error(self) -> float:
        """Relative error of parts of the recordings that were not fitted, without effects."""
        weighted = np.sum((self.readings / self.sigma)[self.inner] ** 2)
        return float(np.sqrt(self.error.sum() / max(weighted, 1e-300)))

    @cached_property
    def named(self) -> tuple[Named, ...]:
        """Effects that the data show, the one that predicts best first."""
        significant = [(group, z) for group in self.groups if (z := self.significance(group)) > SIGNIFICANT]
        chosen, error = self.own, self.error
        rows: list[tuple[tuple[EffectColumn, ...], float, float, float]] = []
        least = float(self.held_out(self.everything).sum())
        while significant and len(rows) < MOST_NAMED:
            best = None
            for group, z in significant:
                at = np.setdiff1d(self.places(group), chosen)
                if not len(at):
                    continue
                new = self.held_out(np.concatenate([chosen, at]))
                gain = float((error - new).sum() / error.sum())
                if gain <= BETTER or max(certain(error - new), certain(np.log(error / new))) <= CERTAIN:
                    continue
                if best is None or gain - COLUMN_COST * len(at) > best[0]:
                    best = gain - COLUMN_COST * len(at), group, z, at, new, gain
            if best is None:
                break
            _, group, z, at, new, gain = best
            left = max(float(self.error.sum()) - min(least, float(new.sum())), 1e-300)
            rows.append((group, z, gain, float((error - new).sum()) / left))
            chosen, error = np.concatenate([chosen, at]), new
            significant = [(other, its) for other, its in significant if other is not group]
        return tuple(self._sized(*row, chosen) for row in rows)

    def _sized(
        self, group: tuple[EffectColumn, ...], z: float, gain: float, share: float, chosen: np.ndarray
    ) -> Named:
        """With the size of the effect, estimated without its prior."""
        information = self.information.copy()
        information[chosen[chosen >= self.b]] *= WIDE
        x, H = self.solve(self.everything, information=information)
        at = self.places(group)
        widen = np.sqrt(self.posterior[0][at] / np.maximum(np.diag(np.linalg.inv(self.joint[1]))[at], 1e-300))
        stds = np.sqrt(np.diag(np.linalg.inv(H))) * widen.max()
        rows = []
        for column in group:
            its = self.places((column,))
            value = float(x[its[0]]) if len(its) == 1 else float(np.linalg.norm(x[its]))
            rows.append((column, value, float(stds[its[np.argmax(np.abs(x[its]))]])))
        rows.sort(key=lambda row: -abs(row[1]) / row[2])
        shown = [column for column, value, std in rows if abs(value) > NORMAL_95 * std] or [
            row[0] for row in rows
        ]
        column, value, std = rows[0]
        largest = max(abs(value) for column, value, _ in rows if column in shown)
        return Named(tuple(shown), value * column.size, std * column.size, largest, z, gain, share)


def chi_square_as_normal(square: float, degrees: int) -> float:
    """Standard deviations of a normal variable that are as improbable as a chi-square."""
    p = float(special.gammaincc(degrees / 2, square / 2))
    # where p is below what a number can hold, the normal approximation
    return float(-special.ndtri(p / 2)) if p > 1e-300 else float(np.sqrt(max(square - degrees, 0.0)))


def certain(differences: Vector) -> float:
    """Student's t of a mean."""
    spread = float(differences.std(ddof=1)) / np.sqrt(len(differences)) if len(differences) > 1 else 0.0
    return float(differences.mean()) / max(spread, 1e-300)
