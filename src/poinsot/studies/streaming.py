"""Least squares on a log that is larger than memory.

The log is read in blocks. Each block is smoothed with as many samples around it as the filters remember (`halo`), so
that its rows are those of the whole log to rounding, and folded into a triangular factor a joint,

    [ R_1 ]
    [ ... ]  =  Q R,        R_k^T R_k = [W_k y_k]^T [W_k y_k]  of block k

by tasks of a study (`study`), each for some blocks that follow each other. Factors are merged in the order of the log,
so that the estimate does not depend on files, nor on how many workers there are. A second pass sums residuals and their
products at all lags up to `lags` (`ResidualSums`), a third one the products of rows that coloured residuals make
correlated. Nothing is kept of single rows but those of the figures.

Sums of residuals of consecutive rows can be joined: two stretches give the sums of both together.

    S(l) = sum over t of e_t e_{t+l}^T,   l = 0 ... lags

For two consecutive stretches, S(l) adds those of both and the pairs across the seam, which are in the last rows of the
first and the first rows of the second. The mean is removed afterwards,

    sum (e_t - m)(e_{t+l} - m)  =  S(l) - m (sum of the first N - l rows + sum of the last N - l) + (N - l) m^2

Samples are examined block by block on the way (`examine_block`): jumps, lost samples, outliers, efforts that drop out
or saturate, by the checks that `poinsot inspect` runs too. What needs a whole recording (delays, zeros, signs, gravity,
friction, a load that was picked up) is examined on some stretches, as if each were a recording: half of them evenly
over the log, and half where the estimate fits worst, so that what changes for some minutes is not missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from ..arrays import JointSamples, Matrix, Times, Vector
from ..diagnosis import SAMPLE_CHECKS, Examination, diagnose, examined
from ..diagnosis.case import recorded
from ..estimate import Diagnosis, Estimate, Finding, Fit, Unchecked
from ..estimate.fit import MOVING, SHOWN_LAGS, whiteness
from ..estimators.linear.least_squares import LeastSquares, finish
from ..exceptions import InvalidMethod, PoinsotError
from ..io.block_log import BlockLog
from ..models.robot.articulated import Articulated
from ..parameters import rescaled
from ..regression.base_parameters import triangular
from ..regression.inverse_dynamics import InverseDynamics, Rows
from ..regression.system import LinearSolution, reduce
from ..signals.butterworth import ButterworthDecimation
from ..signals.decimation import Decimation
from ..signals.low_pass import LowPass
from ..solve import ProgressCallback, report
from ..statistics import (
    autocovariance,
    earlier_pairs,
    is_spherical,
    longest_lag,
    taper_allowance,
    taper_lags,
    tapered,
)
from .study import Say, Study


@dataclass(frozen=True, eq=False)
class ResidualSums:
    """Sums over some rows.

    Args:
        count: number of rows. total: (n,) sum of residuals. products: (n, n, lags + 1) S(l).
        head, tail: (lags, n) first and last rows; all rows of a shorter stretch.
    """

    count: int = 0
    total: Vector = field(default_factory=lambda: np.zeros(0))
    products: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 1)))
    head: JointSamples = field(default_factory=lambda: np.zeros((0, 0)))
    tail: JointSamples = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def of(cls, e: JointSamples, lags: int) -> ResidualSums:
        """The sums of residuals (N, n), at lags of up to so many rows."""
        return cls(len(e), e.sum(axis=0), _products(e, lags), e[:lags], e[max(len(e) - lags, 0) :])

    def joined(self, later: ResidualSums) -> ResidualSums:
        """The sums of these rows and of the rows after them."""
        lags = self.lags
        seam = np.concatenate([self.tail, later.head])
        across = _products(seam, lags) - _products(self.tail, lags) - _products(later.head, lags)
        head = np.concatenate([self.head, later.head])[:lags] if self.count < lags else self.head
        tail = np.concatenate([self.tail, later.tail])[-lags:] if later.count < lags else later.tail
        products = self.products + later.products + across
        return ResidualSums(self.count + later.count, self.total + later.total, products, head, tail)

    @property
    def lags(self) -> int:
        return self.products.shape[2] - 1

    @cached_property
    def autocorrelation(self) -> np.ndarray:
        """(n, min(lags, N / 4) + 1) autocorrelation of each column, its mean removed; a constant column gives zeros."""
        N, lags = self.count, min(self.lags, longest_lag(self.count))
        mean = (self.total / N)[:, None]
        first, last = (
            np.concatenate([np.zeros((1, len(self.total))), np.cumsum(rows, axis=0)])[: lags + 1].T
            for rows in (self.head[:lags], self.tail[::-1][:lags])
        )
        both = 2 * self.total[:, None] - first - last
        S = np.einsum("iil -> il", self.products)[:, : lags + 1]
        S = S - mean * both + (N - np.arange(lags + 1)) * mean**2
        return np.divide(S, S[:, :1], np.zeros_like(S), where=S[:, :1] > 0)

    @property
    def autocovariance(self) -> np.ndarray:
        """(n, n, lags + 1) Gamma(l), mean not removed."""
        return self.products / self.count

    @property
    def lags_needed(self) -> int:
        """Lags that the taper of the covariance needs; more than `lags` if these are too few."""
        if not self.count:
            return 0
        # where no lag is quiet, the last one stands for it, four times of which are beyond all lags
        return taper_lags(self.autocorrelation, self.count)


def _products(e: JointSamples, lags: int) -> np.ndarray:
    if not len(e):
        return np.zeros((e.shape[1], e.shape[1], lags + 1))
    return autocovariance(e, lags) * len(e)


class ExaminedBlock(NamedTuple):
    """A block: first and last sample, findings about its samples, and (n,) mean squares of its residuals."""

    span: tuple[int, int]
    findings: tuple[Finding, ...]
    squares: np.ndarray


def examine_block(problem: InverseDynamics, span: tuple[int, int], sums: ResidualSums) -> ExaminedBlock:
    """Examine single samples of a block; `problem` is that of the block with its halo."""
    samples = recorded(problem.parts[0])
    highest = Examination(None, problem).highest_hz
    name = f"the stretch from {samples.time[0]:.6g} to {samples.time[-1]:.6g} s"
    with np.errstate(all="ignore"):  # wrong data overflow
        of_checks = (check.look_at(samples, name, highest) for check in SAMPLE_CHECKS)
        findings = tuple(finding for listed in of_checks for finding in listed)
    return ExaminedBlock(span, findings, np.diagonal(sums.products[:, :, 0]) / max(sums.count, 1))


@dataclass(frozen=True, eq=False)
class LogExaminer:
    """Examines an estimate of a log.

    Args:
        robot, log, method, estimator: as for the estimate. seen: its blocks.
        stretches: number of stretches that are examined as recordings.
        rows: rows of each.
    """

    robot: Articulated
    log: BlockLog
    method: ButterworthDecimation
    estimator: LeastSquares
    seen: tuple[ExaminedBlock, ...]
    stretches: int = 8
    rows: int = 500

    def __call__(self, estimate: Estimate) -> Diagnosis:
        findings: list[Finding | Unchecked] = [*merge_findings(self.seen)]
        known = {(finding.cause, finding.where) for finding in findings if isinstance(finding, Finding)}
        try:
            of_stretches = self._of_stretches()
        except (PoinsotError, np.linalg.LinAlgError) as error:
            return examined(estimate, [*findings, Unchecked("stretches of the log", str(error), failed=True)])
        findings += [new for new in of_stretches.findings if (new.cause, new.where) not in known]
        return examined(estimate, [*findings, *of_stretches.unchecked])

    def _of_stretches(self) -> Diagnosis:
        spans = self.spans
        recordings = [self.log.read(*span) for span in spans]
        estimate = self.estimator.solve(InverseDynamics(self.robot, recordings, self.method))
        diagnosis = diagnose(estimate)
        if len(spans) == 1 and spans[0] == (0, len(self.log)):
            return diagnosis
        # a user with one recording does not know the numbers of stretches
        times = {
            f"recording {k}": f"the stretch at {recording.time[0]:.6g} s"
            for k, recording in enumerate(recordings, start=1)
        }
        return replace(diagnosis, findings=tuple(_named(finding, times) for finding in diagnosis.findings))

    @property
    def spans(self) -> list[tuple[int, int]]:
        """(first, last) sample of the stretches, in the order of time."""
        N, (_, rate) = len(self.log), self.log.clock
        length = ceil(self.rows * max(rate / _row_rate(self.method, rate), 1.0))
        if N <= self.stretches * length:
            return [(0, N)]
        squares = np.array([block.squares for block in self.seen])
        usual = np.maximum(np.median(squares, axis=0), 1e-300)
        worst = np.argsort(-(squares / usual).max(axis=1), kind="stable")[: self.stretches // 2]
        even = np.linspace(0, N - length, self.stretches - len(worst)).astype(int).tolist()
        taken = [(first, first + length) for first in even]
        for k in worst.tolist():
            first = min(self.seen[k].span[0], N - length)
            if all(abs(first - other) >= length for other, _ in taken):
                taken.append((first, first + length))
        return sorted(taken)


def merge_findings(seen: Sequence[ExaminedBlock]) -> list[Finding]:
    """One finding for each cause and place, the gravest, and in how many blocks it is."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for block in seen:
        for finding in block.findings:
            groups.setdefault((finding.cause, finding.where), []).append(finding)
    merged = []
    for group in groups.values():
        gravest = max(group, key=lambda finding: (finding.severity, finding.evidence))
        more = f" So it is in {len(group)} of {len(seen)} blocks of the log." if len(group) > 1 else ""
        merged.append(replace(gravest, message=gravest.message + more))
    return merged


def _named(finding: Finding, times: dict[str, str]) -> Finding:
    """Name the recordings in a finding by their time."""
    message, where = finding.message, finding.where
    for number, name in reversed(times.items()):  # 10 before 1
        message, where = message.replace(number, name), where.replace(number, name)
        message = message.replace(number.capitalize(), name.capitalize())
    return replace(finding, message=message, where=where)


def _row_rate(method: ButterworthDecimation, rate: float) -> float:
    """Rows a second, about."""
    return rate if method.decimate_hz is None else min(2.5 * method.decimate_hz, rate)


FORGOTTEN = 1e-24
"""Size of the Butterworth filter's transient at the end of a halo: differences amplify it by the rate squared."""

TASKS = 64
"""Largest number of tasks of a pass: their results are in memory together."""

BLOCKS_PER_TASK = 8
"""Minimum number of blocks of a task, if there are so many."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """How a log is cut: the same rows as of the whole log.

    Args:
        robot: robot of the log. log: its samples. method: smoothing, with decimation.
        size: approximate number of samples of a block, in memory at a time in each process.
        shown: rows whose measured and predicted efforts are kept for figures, at most.
        lags: initial number of lags of residual products [rows]; more for a longer correlation.
    """

    robot: Articulated
    log: BlockLog
    method: ButterworthDecimation
    size: int = 2**16
    shown: int = 20_000
    lags: int = 512

    def __post_init__(self) -> None:
        if self.method.window_s is not None:
            raise InvalidMethod(
                "a log that is read in blocks has no window: give the files of the time that is wanted"
            )

    @cached_property
    def halo(self) -> int:
        """Samples before and behind a block that its rows depend on, whole rows of them."""
        method, rate = self.method, self.log.clock[1]
        butterworth = LowPass.butterworth(method.order, 2 * method.cutoff_hz / rate)
        samples = ceil(butterworth.samples_until(FORGOTTEN)) + ceil(butterworth.samples_until(1e-2))
        factor, decimation = self.factor, self.decimation
        if decimation is not None:
            samples += (decimation.memory_rows + decimation.edge_rows + 1) * factor + decimation.padding
        return ceil(samples / factor) * factor

    @cached_property
    def decimation(self) -> Decimation | None:
        method = self.method
        if method.decimate_hz is None:
            return None
        return Decimation.to_passband(
            method.decimate_hz, self.log.clock[1], order=method.decimation_order, cut_edges=method.cut_edges
        )

    @property
    def factor(self) -> int:
        """Samples a row."""
        return 1 if self.decimation is None else self.decimation.factor

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """(first, last) sample of each block; rows count from the end of the log, as decimation counts them."""
        N, step = len(self.log), max(self.size // self.factor, 1) * self.factor
        edges = [*range(N - (N - 1) // step * step, N, step)] if N > step else []
        # the last block must be longer than what is cut at its end
        if edges and N - edges[-1] < 2 * self.halo:
            edges.pop()
        return list(zip([0, *edges], [*edges, N], strict=True))

    def problem(self, span: tuple[int, int], lags: int = 0) -> InverseDynamics:
        """The regression of a block with its halo, and `lags` rows before it."""
        first = max(span[0] - self.halo - lags * self.factor, 0)
        last = min(span[1] + self.halo, len(self.log))
        signals = self.method.apply(self.log.read(first, last))
        return _template(self).with_signals([signals])

    def is_shown(self, time: Times) -> np.ndarray:
        """(r,) which rows of these times a figure shows: at most `shown` of all, evenly."""
        start, rate = self.log.clock
        stride = ceil(len(self.log) / self.factor / self.shown)
        return np.asarray(np.rint((time - start) * rate) // self.factor % stride == 0)

    def own(self, rows: Rows, span: tuple[int, int]) -> np.ndarray:
        """(r,) which rows are the block's own, and not of its halo."""
        start, rate = self.log.clock
        sample = np.rint((rows.time - start) * rate)
        return np.asarray((sample >= span[0]) & (sample < span[1]))


@lru_cache(maxsize=1)
def _template(blocks: Blocks) -> InverseDynamics:
    """The regression of the log's first samples: parameters and base are those of all blocks."""
    last = min(len(blocks.log), max(4 * blocks.halo, 1000))
    return InverseDynamics(blocks.robot, blocks.log.read(0, last), blocks.method)


@dataclass(frozen=True, eq=False)
class Task:
    """Blocks that follow each other, and what a pass needs to know.

    Args:
        theta: (b,) base values of the residuals. lags: lags of their products. look: whether samples are examined.
        Gamma: (n, n, lags + 1) tapered autocovariance. columns: (k,) base columns of the products of rows.
    """

    blocks: Blocks
    spans: tuple[tuple[int, int], ...]
    theta: Vector = field(default_factory=lambda: np.zeros(0))
    lags: int = 0
    look: bool = False
    Gamma: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0)))
    columns: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def fold(task: Task) -> dict[str, Any]:
    """(n, b + 1, b + 1) factors and the number of rows."""
    count = 0

    def folded(span: tuple[int, int]) -> np.ndarray:
        def own(rows: Rows) -> np.ndarray:
            nonlocal count
            mask = task.blocks.own(rows, span)
            count += int(mask.sum())
            return np.repeat(mask[:, None].astype(float), rows.y.shape[1], axis=1)

        return task.blocks.problem(span).factors(own)

    return {"factors": merged(map(folded, task.spans)), "rows": count}


def merged(factors: Iterable[np.ndarray]) -> np.ndarray:
    """(n, c, c) factors of the rows of all of these: pairs of neighbours, then pairs of pairs, as they come."""
    waiting: list[tuple[int, np.ndarray]] = []

    def join() -> None:
        (level, earlier), (_, later) = waiting[-2:]
        pairs = zip(earlier, later, strict=True)
        waiting[-2:] = [(level + 1, np.stack([triangular(np.concatenate(pair)) for pair in pairs]))]

    for factor in factors:
        waiting.append((0, factor))
        while len(waiting) > 1 and waiting[-2][0] == waiting[-1][0]:
            join()
    while len(waiting) > 1:
        join()
    return waiting[0][1]


def predict(task: Task) -> dict[str, Any]:
    """Sums of residuals of some blocks (`sums`, `squares` as in `StreamedFit`), rows to be shown, and findings on their
    samples (`seen`, one a block).
    """
    squares, sums, shown, seen = np.zeros(()), None, [], []
    for span in task.spans:
        problem = task.blocks.problem(span)
        e, of_block = [], np.zeros(())
        for rows in problem.rows():
            own = task.blocks.own(rows, span)
            y, predicted = (rows.y + rows.held)[own], (rows.W @ task.theta + rows.held)[own]
            moving = np.abs(problem.speeds[rows.first : rows.first + len(own)][own]) > MOVING
            both = np.stack([(y - predicted) ** 2, y**2])
            of_block = of_block + np.concatenate([both.sum(1), (both * moving).sum(1)])
            e.append(y - predicted)
            shown_rows = task.blocks.is_shown(rows.time[own])
            shown.append((rows.time[own][shown_rows], y[shown_rows], predicted[shown_rows]))
        block_sums = ResidualSums.of(np.concatenate(e), task.lags)
        sums, squares = block_sums if sums is None else sums.joined(block_sums), squares + of_block
        if task.look:
            seen.append(examine_block(problem, span, block_sums))
    time, measured, predicted = (np.concatenate(column) for column in zip(*shown, strict=True))
    figure = {"time": time, "measured": measured, "predicted": predicted}
    return {"sums": sums, "squares": squares, "seen": seen, **figure}


def multiply(task: Task) -> dict[str, Any]:
    """(k, k) sum over the rows t of some blocks and earlier rows u of W_t^T Gamma W_u (`statistics.earlier_pairs`)."""
    half, blocks = np.zeros((len(task.columns), len(task.columns))), task.blocks
    for first, last in task.spans:
        begin = first - task.lags * blocks.factor
        problem = blocks.problem((first, last), task.lags)

        def rows_of(
            span: tuple[int, int], problem: InverseDynamics = problem
        ) -> Iterator[tuple[int, np.ndarray]]:
            for rows in problem.rows():
                own = blocks.own(rows, span)
                if own.any():
                    yield 0, rows.W[own][:, :, task.columns]

        # pairs with a row before the block, less those of two such rows
        half += earlier_pairs(rows_of((begin, last)), task.Gamma)
        half -= earlier_pairs(rows_of((begin, first)), task.Gamma)
    return {"half": half}


@dataclass(frozen=True, eq=False, repr=False)
class StreamedFit(Fit):
    """A fit that keeps `measured` and `predicted` of some rows; all figures are from all rows.

    Args:
        sums: sums of the residuals of all rows. squares: (4, n) sums of squared residuals and of squared efforts, of
            all rows and of those in which the joint moves. seen: findings on the samples, block by block.
    """

    sums: ResidualSums = field(default_factory=ResidualSums)
    squares: np.ndarray = field(default_factory=lambda: np.zeros((4, 0)))
    seen: tuple[ExaminedBlock, ...] = ()

    @property
    def sum_of_squares_per_joint(self) -> Vector:
        return np.asarray(self.squares[0])

    @property
    def readings_per_joint(self) -> np.ndarray:
        return np.full(len(self.joints), self.sums.count)


class StreamedDynamics(InverseDynamics):
    """The regression of a whole log, of which no more than some blocks are in memory."""

    def __init__(self, blocks: Blocks, executor: Executor | None, say: Say):
        first = _template(blocks)
        names = (
            "robot",
            "recordings",
            "held",
            "priors",
            "loaded",
            "link",
            "parameters",
            "attachment",
            "base",
        )
        self.__dict__.update({name: getattr(first, name) for name in names})
        self.__dict__.update(blocks=blocks, executor=executor, say=say, regressor=first.regressor)

    blocks: Blocks
    executor: Executor | None
    say: Say

    def _run(self, solve: Callable[[Task], Any], unit: str, **given: Any) -> list[dict[str, Any]]:
        """A pass over the log: results of its parts, in their order."""
        spans = self.blocks.spans
        size = max(BLOCKS_PER_TASK, ceil(len(spans) / TASKS))
        groups = [tuple(spans[k : k + size]) for k in range(0, len(spans), size)]
        tasks = {f"{group[0][0]}": Task(self.blocks, group, **given) for group in groups}
        study = Study(tasks, solve, lambda done: list(done.values()), unit=f"stretches {unit}")
        return list(study.run(self.executor, say=self.say))

    @cached_property
    def _folded(self) -> tuple[np.ndarray, int]:
        done = self._run(fold, "folded")
        return merged(one["factors"] for one in done), sum(one["rows"] for one in done)

    def factors(self, weights: Callable[[Rows], np.ndarray] | None = None) -> np.ndarray:
        assert weights is None, "rows have no weights of their own"
        return self._folded[0]

    @property
    def row_counts(self) -> tuple[int, ...]:
        return (self._folded[1],)

    def rows(self) -> Iterator[Rows]:
        raise NotImplementedError("a log that is read in blocks has no rows in one place")

    def fit(self, theta: Vector, recording: str = "", *, look: bool = True) -> StreamedFit:
        """The fit of base values theta (b,); `look`: whether samples are examined on the way."""
        units = tuple(self.robot.effort_units[k] for k in self.robot.equations)
        units = rescaled(units, self.unscaled_unit) if self.unscaled_unit else units
        lags, sums = self.blocks.lags, ResidualSums()
        done: list[dict[str, Any]] = []
        while not done or sums.lags_needed > lags:
            lags = max(lags, 4 * sums.lags_needed)
            parts = self._run(predict, "predicted", theta=theta, lags=lags, look=look and not done)
            done = done or parts  # figures and findings are those of the first time
            sums = parts[0]["sums"]
            for one in parts[1:]:
                sums = sums.joined(one["sums"])
        squares = np.sum([one["squares"] for one in done], axis=0)
        time, measured, predicted = (
            np.concatenate([one[name] for one in done]) for name in ("time", "measured", "predicted")
        )
        correlation = sums.autocorrelation[:, : max(min(SHOWN_LAGS, sums.count // 4), 1) + 1]
        left, size, moving, moving_size = squares
        with np.errstate(invalid="ignore", divide="ignore"):
            percent, in_motion = (100 * np.sqrt(a / b) for a, b in ((left, size), (moving, moving_size)))
        return StreamedFit(
            time, self.robot.effort_names, units, measured, predicted, correlation,
            tuple(whiteness(row, sums.count) for row in correlation), float(100 * np.sqrt(left.sum() / size.sum())),
            tuple(percent.tolist()), recording, tuple(in_motion.tolist()), sizes=np.sqrt(size), sums=sums,
            squares=squares, seen=tuple(block for one in done for block in one["seen"]),
        )  # fmt: skip

    def coloured(
        self, _: Any, fit: StreamedFit, solution: LinearSolution, columns: np.ndarray, scale: np.ndarray
    ) -> tuple[Matrix, bool]:
        """As `least_squares.coloured`, from sums of residuals, which are not clipped."""
        sums, w = fit.sums, solution.weights * scale
        lags = taper_lags(sums.autocorrelation, sums.count)
        scale = solution.weights * w
        Gamma = sums.autocovariance[:, :, : lags + 1] * scale[:, None, None] * scale[:, None]
        given = {"lags": lags, "Gamma": tapered(Gamma), "columns": columns}
        half = np.sum([one["half"] for one in self._run(multiply, "of residuals", **given)], axis=0)
        middle = (half + half.T) * taper_allowance(lags / sums.count)
        return middle, is_spherical(sums.products[:, :, 0] * np.outer(w, w), sums.count)


def stream_least_squares(
    robot: Articulated,
    log: BlockLog,
    method: ButterworthDecimation,
    *,
    estimator: LeastSquares | None = None,
    validation: Mapping[str, BlockLog] | None = None,
    executor: Executor | None = None,
    block: int = Blocks.size,
    shown: int = Blocks.shown,
    lags: int = Blocks.lags,
    progress: ProgressCallback | None = None,
) -> Estimate:
    """Least squares of a log, in memory that does not grow with its samples.

    Args:
        robot: robot whose parameters are estimated. log: its samples. method: their smoothing.
        estimator: ordinary or weighted by joint; None: by joint.
        validation: name -> log whose efforts are predicted, and not fitted.
        executor: computes blocks; None: as in `Study.run`.
        block, shown, lags: as in `Blocks`, whose `size` is `block`.

    Raises:
        InvalidMethod: if the estimator is robust, or the method has a window.
        InvalidRecording, InvalidSignals: if the log has gaps, or does not fit the robot.
    """
    estimator = estimator or LeastSquares(weighting="per-joint")
    if estimator.weighting == "robust":
        raise InvalidMethod(
            'a log that is read in blocks takes weighting = "none" or "per-joint", not "robust"'
        )

    def problem_of(log: BlockLog) -> StreamedDynamics:
        blocks = Blocks(robot, log, method, block, shown, lags)
        return StreamedDynamics(blocks, executor, lambda stage: report(progress, stage))

    problem = problem_of(log)
    system = reduce(problem, estimator.rtol)
    solution = estimator.fit(problem, system, progress=progress)
    coloured = problem.coloured
    estimate = finish(estimator, problem, system, solution, systematic=False, coloured=coloured)
    theta = solution.on_base(system)
    logs = (validation or {}).items()
    held_out = [problem_of(other).fit(theta, name, look=False) for name, other in logs]
    fit = estimate.fit
    assert isinstance(fit, StreamedFit)
    examiner = LogExaminer(robot, log, method, estimator, fit.seen)
    return replace(estimate, validation=tuple(held_out), examiner=examiner, problem=None)
