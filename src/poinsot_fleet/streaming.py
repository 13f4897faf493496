"""Least squares on a log that is larger than memory.

The log is read in blocks. Each block is smoothed with as many samples around it as the filters remember (`halo`), so
that its rows are those of the whole log to rounding, and folded into a triangular factor a joint,

    [ R_1 ]
    [ ... ]  =  Q R,        R_k^T R_k = [W_k y_k]^T [W_k y_k]  of block k

by tasks of a study (`study`), each for some blocks that follow each other. Factors are merged in the order of the log,
so that the estimate does not depend on files, nor on how many workers there are. A second pass predicts the efforts of
all rows, and a third one, for coloured residuals, sums their products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from math import ceil
from typing import Any

import numpy as np

from poinsot.arrays import JointSamples, Times, Vector
from poinsot.estimate import Diagnosis, Estimate, Fit, Unchecked
from poinsot.estimate.fit import MOVING, SHOWN_LAGS, autocorrelation, whiteness
from poinsot.estimators.linear.least_squares import LeastSquares, finish
from poinsot.estimators.linear.system import reduce
from poinsot.exceptions import InvalidMethod
from poinsot.models.articulated import Articulated
from poinsot.parameters import rescaled
from poinsot.regression.base_parameters import triangular
from poinsot.regression.inverse_dynamics import InverseDynamics, Rows
from poinsot.signals.butterworth import ButterworthDecimation
from poinsot.signals.decimation import Decimation
from poinsot.signals.low_pass import LowPass
from poinsot.solve import ProgressCallback, report

from .parquet_log import ParquetLog
from .study import Say, Study

BLOCK = 2**16
"""Samples of a block."""

FORGOTTEN = 1e-24
"""Size of the Butterworth filter's transient at the end of a halo: differences amplify it by the rate squared."""

SHOWN = 20_000
"""Rows whose measured and predicted efforts are kept."""

BLOCKS_PER_TASK = 8


@dataclass(frozen=True, eq=False)
class Blocks:
    """How a log is cut: the same rows as of the whole log.

    Args:
        robot: whose log it is. log: its samples. method: that smooths them; with decimation.
        size: samples of a block, about.
    """

    robot: Articulated
    log: ParquetLog
    method: ButterworthDecimation
    size: int = BLOCK

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

    def problem(self, span: tuple[int, int]) -> InverseDynamics:
        """The regression of a block with its halo."""
        first, last = max(span[0] - self.halo, 0), min(span[1] + self.halo, len(self.log))
        signals = self.method.apply(self.log.read(first, last))
        return _template(self).with_signals([signals])

    def shown(self, time: Times) -> np.ndarray:
        """(r,) which rows of these times a figure shows: at most `SHOWN` of all, evenly."""
        start, rate = self.log.clock
        stride = ceil(len(self.log) / self.factor / SHOWN)
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
    """Blocks that follow each other; `theta` (b,): base values whose residuals are wanted, None: factors."""

    blocks: Blocks
    spans: tuple[tuple[int, int], ...]
    theta: Vector | None = None


def fold(task: Task) -> dict[str, Any]:
    """(n, b + 1, b + 1) factors and the number of rows."""
    folded, count = [], 0
    for span in task.spans:

        def own(rows: Rows, span: tuple[int, int] = span) -> np.ndarray:
            nonlocal count
            mask = task.blocks.own(rows, span)
            count += int(mask.sum())
            return np.repeat(mask[:, None].astype(float), rows.y.shape[1], axis=1)

        folded.append(task.blocks.problem(span).factors(own))
    return {"factors": merged(folded), "rows": count}


def merged(factors: Sequence[np.ndarray]) -> np.ndarray:
    """(n, c, c) factors of the rows of all of these: pairs of neighbours, then pairs of pairs."""
    level = list(factors)
    while len(level) > 1:
        pairs = [level[k : k + 2] for k in range(0, len(level), 2)]
        level = [
            np.stack([triangular(np.concatenate(rows)) for rows in zip(*pair, strict=True)]) for pair in pairs
        ]
    return level[0]


def residuals(task: Task) -> dict[str, np.ndarray]:
    """Of the rows of some blocks: residuals e (r, n), sums of squares, and rows to be shown.

    `squares` (4, n): of residuals and of efforts, of all rows and of those in which the joint moves.
    """
    theta, e, shown = task.theta, [], []
    assert theta is not None
    squares: np.ndarray | float = 0.0
    for span in task.spans:
        problem = task.blocks.problem(span)
        for rows in problem.rows():
            own = task.blocks.own(rows, span)
            if not own.any():
                continue
            y, predicted = (rows.y + rows.held)[own], (rows.W @ theta + rows.held)[own]
            moving = np.abs(problem.speeds[rows.first : rows.first + len(own)][own]) > MOVING
            all_squares = np.stack([(y - predicted) ** 2, y**2])
            squares = squares + np.concatenate([all_squares.sum(1), (all_squares * moving).sum(1)])
            e.append(y - predicted)
            kept = task.blocks.shown(rows.time[own])
            shown.append((rows.time[own][kept], y[kept], predicted[kept]))
    time, measured, predicted = (np.concatenate(each) for each in zip(*shown, strict=True))
    more = {"time": time, "measured": measured, "predicted": predicted}
    return {"e": np.concatenate(e), "squares": np.asarray(squares), **more}


@dataclass(frozen=True, eq=False)
class StreamedFit(Fit):
    """A fit whose `measured` and `predicted` are of some rows, and all numbers of all rows; `e`: (N, n) residuals."""

    e: JointSamples = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def residuals(self) -> JointSamples:
        return self.e


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

    def _tasks(self, theta: Vector | None = None) -> dict[str, Task]:
        spans = self.blocks.spans
        groups = [tuple(spans[k : k + BLOCKS_PER_TASK]) for k in range(0, len(spans), BLOCKS_PER_TASK)]
        return {f"{group[0][0]}": Task(self.blocks, group, theta) for group in groups}

    @cached_property
    def _folded(self) -> tuple[np.ndarray, int]:
        def combine(done: dict[str, Any]) -> tuple[np.ndarray, int]:
            each = list(done.values())
            return merged([one["factors"] for one in each]), sum(one["rows"] for one in each)

        return Study(self._tasks(), fold, combine, unit="stretches folded").run(self.executor, say=self.say)

    def factors(self, weights: Callable[[Rows], np.ndarray] | None = None) -> np.ndarray:
        if weights is not None:
            raise InvalidMethod(
                'a log that is read in blocks takes weighting = "none" or "per-joint", not "robust"'
            )
        return self._folded[0]

    @property
    def row_counts(self) -> tuple[int, ...]:
        return (self._folded[1],)

    def rows(self) -> Iterator[Rows]:
        first = 0
        for span in self.blocks.spans:
            for rows in self.blocks.problem(span).rows():
                own = self.blocks.own(rows, span)
                yield Rows(0, first, rows.time[own], rows.W[own], rows.y[own], rows.held[own])
                first += int(own.sum())

    def fit(self, theta: Vector, recording: str = "") -> StreamedFit:
        units = tuple(self.robot.effort_units[k] for k in self.robot.equations)
        units = rescaled(units, self.unscaled_unit) if self.unscaled_unit else units
        found = self._residuals(theta)
        e, (left, size, moving, moving_size) = found["e"], found["squares"]
        lags = max(min(SHOWN_LAGS, len(e) // 4), 1)
        correlation = np.concatenate([autocorrelation(column[:, None], lags) for column in e.T])
        with np.errstate(invalid="ignore", divide="ignore"):
            each, in_motion = (100 * np.sqrt(a / b) for a, b in ((left, size), (moving, moving_size)))
        return StreamedFit(
            found["time"], self.robot.effort_names, units, found["measured"], found["predicted"], correlation,
            tuple(whiteness(row, len(e)) for row in correlation), float(100 * np.sqrt(left.sum() / size.sum())),
            tuple(each.tolist()), recording, tuple(in_motion.tolist()), sizes=np.sqrt(size), e=e,
        )  # fmt: skip

    def _residuals(self, theta: Vector) -> dict[str, np.ndarray]:
        """What `residuals` has, of all rows."""
        study = Study(self._tasks(theta), residuals, unit="stretches predicted")
        done = list(study.run(self.executor, say=self.say).values())
        squares = np.sum([each.pop("squares") for each in done], axis=0)
        # popped, so that no row is in memory twice
        return {name: np.concatenate([each.pop(name) for each in done]) for name in list(done[0])} | {
            "squares": squares
        }


def stream_least_squares(
    robot: Articulated,
    log: ParquetLog,
    method: ButterworthDecimation,
    *,
    estimator: LeastSquares | None = None,
    executor: Executor | None = None,
    block: int = BLOCK,
    progress: ProgressCallback | None = None,
) -> Estimate:
    """Least squares of a log, in memory that does not grow with its samples, but for some numbers a row.

    Args:
        robot: whose parameters are estimated. log: its samples. method: makes rows of them.
        estimator: ordinary or weighted by joint; None: by joint.
        executor: computes blocks; None: as of `Study.run`.
        block: samples that are in memory at a time, in each process.

    Raises:
        InvalidMethod: if the estimator is robust, or the method has a window.
        InvalidRecording, InvalidSignals: if the log has gaps, or does not fit the robot.
    """
    estimator = estimator or LeastSquares(weighting="per-joint")
    blocks = Blocks(robot, log, method, block)
    problem = StreamedDynamics(blocks, executor, lambda what: report(progress, what))
    system = reduce(problem, estimator.rtol)
    solution = estimator.fit(problem, system, progress=progress)
    estimate = finish(estimator, problem, system, solution, systematic=False)
    fit = estimate.fit
    shown = Fit(**{each.name: getattr(fit, each.name) for each in fields(Fit)})
    return replace(estimate, fit=shown, examiner=_not_examined, problem=None)


def _not_examined(_: Estimate) -> Diagnosis:
    reason = "a log that is read in blocks is not examined; identify some minutes of it with poinsot.identify"
    return Diagnosis((), (Unchecked("the log", reason, failed=False),), complete=True)
