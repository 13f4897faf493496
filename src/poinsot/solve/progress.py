"""Progress and stop: the two arguments that every `solve` takes.

    estimate = method.solve(problem, progress=print, stop=lambda: time.monotonic() > deadline)

`progress` is called before each stage and after each iteration. `stop` is asked between iterations; once it says yes,
the method ends with what it has found, as `Status.interrupted`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """One report of a running method; `str` gives one line for a terminal.

    Args:
        stage: what is being done, in a few words: `"smoothing"`, `"iterating"`.
        iteration: number of iterations completed; None outside of iterations.
        cost: half of the sum of squared whitened residuals at this point.
        fraction: part of the stage that is done, 0 to 1; None where that is unknown.
        detail: further text, such as damping and step length.
    """

    stage: str
    iteration: int | None = None
    cost: float | None = None
    fraction: float | None = None
    detail: str = ""

    def __str__(self) -> str:
        words = [self.stage]
        if self.iteration is not None:
            words.append(f"iteration {self.iteration}")
        if self.fraction is not None:
            words.append(f"{100 * self.fraction:.0f} %")
        if self.cost is not None:
            words.append(f"cost {self.cost:.6g}")
        if self.detail:
            words.append(self.detail)
        return ", ".join(words)


ProgressCallback = Callable[[Progress], None]
Stop = Callable[[], bool]
"""Asked between iterations: True ends the method with what it has."""


def report(progress: ProgressCallback | None, stage: str, **fields: object) -> None:
    """Call `progress`, if there is one, with a `Progress` of these fields."""
    if progress is not None:
        progress(Progress(stage, **fields))  # type: ignore[arg-type]


def stop_requested(stop: Stop | None) -> bool:
    """Whether `stop` was given and says yes."""
    return stop is not None and stop()
