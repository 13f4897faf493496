"""[preprocessing]: the smoothers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, model_validator

from ...estimators.online.moving_polynomial import MovingPolynomial
from ...ranges import Positive
from ...signals.butterworth import ButterworthDecimation
from ...signals.low_pass import FilterOrder
from ...signals.random_walk_smoother import PAPER_RATIO, RandomWalkSmoother
from .fields import (
    AUTO,
    RATIOS,
    NumberOrAuto,
    PositiveOrAuto,
    SettingsTable,
    by_joint,
    check_per_joint,
    numbers,
    refuse,
)
from .tables import keys_of


class ConditioningSettings(SettingsTable):
    """Settings that apply before smoothing: a new clock, delays.

    `delays`: channel or quantity -> its lag behind the positions [s]. `bridge_intervals`: largest number of consecutive
    intervals of a new clock without a sample that are interpolated.

    Class variables:
        evens_clock: whether it needs equal intervals, so that small jitter is resampled.
    """

    evens_clock: ClassVar[bool] = False

    resample_hz: Positive | None = None
    bridge_intervals: Positive = 3.5
    delays: dict[str, float] = {}


class SmoothingSettings(ConditioningSettings):
    """Settings of all smoothers: decimation. `"auto"`: the filter is determined from the motion.

    `delay`: lag of all efforts behind the positions [s]; `"auto"`: it is estimated and corrected.
    """

    effect: ClassVar[str] = "smooths them and looks ahead"
    evens_clock: ClassVar[bool] = True

    delay: NumberOrAuto | None = None
    decimate_hz: PositiveOrAuto | None = None
    decimation_order: FilterOrder = 8
    cut_edges: bool = True


@keys_of(ButterworthDecimation, "window_s")
class ButterworthSettings(SmoothingSettings):
    """`poinsot.ButterworthDecimation`."""

    method: Literal["butterworth-decimation"]
    cutoff_hz: PositiveOrAuto

    def smoother(self, joints: Sequence[str], window_s: tuple[float, float] | None) -> ButterworthDecimation:
        """For a recording of these joints of which `window_s` is kept."""
        return self.build_as(ButterworthDecimation, window_s=window_s)


def _numbers_or(word: str, value: Any) -> list[Any]:
    """The numbers of a value by joint that may also be a word; none for the word."""
    if value == word:
        return []
    if isinstance(value, str):
        raise refuse("number", f'must be a number, a list with one per joint, or "{word}", not {value!r}')
    return numbers(check_per_joint(value))


def _ratio(value: Any) -> Any:
    for number in _numbers_or("maximum-likelihood", value):
        if not RATIOS[0] <= number <= RATIOS[1]:
            raise refuse("ratio", f"must lie between {RATIOS[0]:g} and {RATIOS[1]:g}, not {number:g}")
    return value


def _cutoff(value: Any) -> Any:
    for number in [] if value is None else _numbers_or(AUTO, value):
        if number <= 0:
            raise refuse("cutoff", f"must be greater than 0, not {number:g}")
    return value


@keys_of(RandomWalkSmoother, "window_s")
class RandomWalkSettings(SmoothingSettings):
    """`poinsot.RandomWalkSmoother`; `cutoff_hz` or `ratio` sets the bandwidth."""

    method: Literal["random-walk"]
    ratio: Annotated[Any, AfterValidator(_ratio)] = PAPER_RATIO
    cutoff_hz: Annotated[Any, AfterValidator(_cutoff)] = None

    @model_validator(mode="after")
    def _cutoff_or_ratio(self) -> RandomWalkSettings:
        # The ratio has a default: only one in the file contradicts cutoff_hz.
        if self.cutoff_hz is not None and "ratio" in self.model_fields_set:
            raise refuse("cutoff", "give cutoff_hz or ratio, not both: each sets the bandwidth", key="ratio")
        return self

    def smoother(self, joints: Sequence[str], window_s: tuple[float, float] | None) -> RandomWalkSmoother:
        """For a recording of these joints of which `window_s` is kept."""
        return self.build_as(
            RandomWalkSmoother,
            ratio=by_joint("preprocessing.ratio", self.ratio, joints, PAPER_RATIO),
            cutoff_hz=by_joint("preprocessing.cutoff_hz", self.cutoff_hz, joints),
            window_s=window_s,
        )


@keys_of(MovingPolynomial, "max_gap")
class MovingPolynomialSettings(SettingsTable):
    """`poinsot.MovingPolynomial`: smooths samples as they arrive, with half a window of delay."""

    effect: ClassVar[str] = "smooths them as they arrive"
    elsewhere: ClassVar[dict[str, str]] = {
        "decimate_hz": "samples a second are sample_hz",
        "cutoff_hz": "window_s sets the bandwidth",
    }

    method: Literal["moving-polynomial"]


class RawSettings(ConditioningSettings):
    """No smoothing, for methods that take samples as they were read."""

    effect: ClassVar[str] = "smooths nothing"

    method: Literal["none"] = "none"

    elsewhere: ClassVar[dict[str, str]] = {
        "cutoff_hz": "nothing is filtered: state the noise in [method]",
        "decimate_hz": "give resample_hz for a slower clock",
    }


SmootherSettings = ButterworthSettings | RandomWalkSettings
"""Smoothers of a whole recording."""

PreprocessingSettings = SmootherSettings | MovingPolynomialSettings | RawSettings


@dataclass(frozen=True)
class MethodInput:
    """Kinds of [preprocessing] that a method accepts. `names`: their names. `reason`: why, as a clause after the
    method's name. `advice`: what to write. `default`: [preprocessing] of a project file without one; None: required.
    """

    names: tuple[str, ...]
    reason: str
    advice: str
    default: str | None = None


SMOOTHED = MethodInput(
    ("butterworth-decimation", "random-walk"),
    "needs accelerations of the whole recording",
    'give "butterworth-decimation" or "random-walk"',
)
AS_READ = MethodInput(
    ("none",),
    "takes samples as they were read",
    'delete [preprocessing], or give method = "none"',
    default="none",
)
AS_THEY_COME = MethodInput(
    ("moving-polynomial",), "processes samples as they arrive", 'give method = "moving-polynomial"'
)
