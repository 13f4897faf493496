"""Facts and findings of one channel: range, resolution, repeated samples, saturation, missing values.

A sample that repeats its predecessor is *stale* only where the channel should have changed: where its mean increment
nearby is larger than two steps of its resolution. A slow motion repeats samples too, by rounding alone. The resolution
is that of the grid on which all values lie (an encoder), or the last of the few decimal digits that a file holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..diagnosis.effort_samples import FEWEST_LEVELS, at_ends
from ..estimate import Finding, Severity
from ..exceptions import listing
from ..recording import EFFORTS, Recording
from ..statistics import grid_step

NEIGHBOURHOOD = 10
"""Number of samples on either side over which an increment is averaged."""

STALE_PERCENT = 5.0
"""Threshold of stale samples for a finding. [%]"""

STEPS_MOVED = 2.0
"""Mean increment, in steps of the resolution, from which a repeated sample cannot be rounding."""

NOISE_REPEATS = 0.32
"""Gaussian noise with a mean increment of d steps repeats 0.32 / d of its samples by rounding: sqrt(2 / pi) times the
density of N(0, 1) at zero."""

HARDLY_MOVES_PERCENT = 98.0
"""A position that repeats at least this share of its samples only dithers. [%]"""

REPEATED_PERCENT = 5.0
"""Threshold of repeated samples for a note, also where rounding explains them. [%]"""

DIGITS = range(3, 9)
"""Significant decimal digits of values rounded in a text file. Single precision has no decimal grid."""


@dataclass(frozen=True)
class ChannelFacts:
    """Facts of one channel, in its SI unit.

    Args:
        invalid: samples that are masked.
        constant: whether all valid samples are equal. levels: number of different values.
        step: step of the grid on which the values lie; None: no grid.
        digits: significant decimal digits, if the values were rounded to a few; None: they were not.
        repeated_percent: part of samples equal to the one before.
        stale_percent: the same among samples where the channel should have changed; None: unknown.
        lowest_percent, highest_percent: part of the motion's samples at the minimum and maximum.
        clipped: whether samples accumulate there, so that the channel seems saturated.
        peak_speed, speed_limit: speeds at the joint's side; None: not known.
    """

    name: str
    unit: str
    minimum: float
    maximum: float
    mean: float
    std: float
    invalid: int
    constant: bool
    levels: int
    step: float | None
    digits: int | None
    repeated_percent: float
    stale_percent: float | None
    lowest_percent: float
    highest_percent: float
    clipped: bool
    peak_speed: float | None = None
    speed_limit: float | None = None

    @property
    def moves(self) -> bool:
        """Whether it has more than a few values, and does not repeat nearly all samples."""
        return self.levels > FEWEST_LEVELS and self.repeated_percent < HARDLY_MOVES_PERCENT


def channel_facts(recording: Recording, name: str, moving: np.ndarray) -> ChannelFacts:
    """Facts of one channel; `moving` (T,) is True where the mechanism moves."""
    trusted = recording.mask(name)
    values, moving = recording[name][trusted], moving[trusted]
    if not len(values):
        nan = float("nan")
        return ChannelFacts(name, recording.units[name], nan, nan, nan, nan, len(trusted), True, 0, None, None,
                            0.0, None, 0.0, 0.0, False)  # fmt: skip
    digits = significant_digits(values)
    step = grid_step(values, 3) or None if digits is None else None
    repeated = np.concatenate([[False], np.diff(values) == 0])
    constant, position = bool(np.ptp(values) == 0), name.startswith("position")
    lowest, highest = (values == values.min()) & moving, (values == values.max()) & moving
    levels = len(np.unique(values))
    stale = None
    if levels > FEWEST_LEVELS and 100 * repeated.mean() < HARDLY_MOVES_PERCENT:
        stale = stale_percent(values, repeated, moving, resolution(values, digits, step), steadily=position)
    # A position may rest at its limit, and a stale channel repeats its extremes like all other values.
    clipped = not position and (stale or 0.0) < 50 and bool(at_ends(values[moving]).any())
    return ChannelFacts(
        name=name,
        unit=recording.units[name],
        minimum=float(values.min()),
        maximum=float(values.max()),
        mean=float(values.mean()),
        std=float(values.std()),
        invalid=int((~trusted).sum()),
        constant=constant,
        levels=levels,
        step=step,
        digits=digits,
        repeated_percent=float(100 * repeated.mean()),
        stale_percent=stale,
        lowest_percent=float(100 * lowest.sum() / max(moving.sum(), 1)),
        highest_percent=float(100 * highest.sum() / max(moving.sum(), 1)),
        clipped=clipped,
    )


def significant_digits(values: np.ndarray) -> int | None:
    """Number of significant decimal digits of rounded values; None if not rounded, or to a fixed grid.

    >>> significant_digits(np.array([50.265, -70.685, 3.1958e-05, 138.05]))
    5
    """
    magnitudes = np.abs(values[values != 0])
    # Within one decade a fixed grid and significant digits look the same.
    if len(magnitudes) < 2 or magnitudes.max() < 10 * magnitudes.min():
        return None
    exponents = np.floor(np.log10(magnitudes))
    for digits in DIGITS:
        scaled = magnitudes * 10.0 ** (digits - 1 - exponents)
        # Eight digits of a double are scaled exactly to about 1e-8.
        if np.all(np.abs(scaled - np.round(scaled)) < 1e-6):
            # Small values have finer digits than large ones, unlike a fixed grid of decimals.
            on_grid = magnitudes / 10.0 ** (exponents.max() - digits + 1)
            return digits if np.any(np.abs(on_grid - np.round(on_grid)) > 1e-6) else None
    return None


def resolution(values: np.ndarray, digits: int | None, step: float | None) -> np.ndarray:
    """(T,) smallest change that a channel resolves."""
    if digits is not None:
        with np.errstate(divide="ignore"):
            exponents = np.floor(np.log10(np.abs(values)))
        return np.where(values == 0, 0.0, 10.0 ** (exponents - digits + 1))
    if step is None:
        # no exact grid, perhaps because of later rounding: take a low percentile of the changes that occur
        changes = np.abs(np.diff(values))
        step = float(np.percentile(changes[changes > 0], 5)) if changes.any() else 0.0
    return np.full(len(values), step)


def stale_percent(
    values: np.ndarray, repeated: np.ndarray, moving: np.ndarray, steps: np.ndarray, *, steadily: bool
) -> float | None:
    """Share of repeated samples where the channel should have changed. [%]

    A position moves steadily: its mean increment is its displacement. Another channel may be noisy: its mean increment
    is the size of its changes, and the share that noise repeats by rounding is subtracted.
    """
    w = NEIGHBOURHOOD
    if len(values) <= 2 * w:
        return None
    if steadily:
        increment = np.abs(values[2 * w :] - values[: -2 * w]) / (2 * w)
    else:
        # Cumulative changes, so that each window of samples costs one difference.
        path = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(values)))])
        increment = (path[2 * w :] - path[: -2 * w]) / (2 * w)
    middle = slice(w, len(values) - w)
    step = steps[middle]
    should_move = moving[middle] & (increment > STEPS_MOVED * step) & (increment > 0)
    if should_move.sum() < 5 * w:
        return None
    by_rounding = 0.0 if steadily else NOISE_REPEATS * np.mean(step[should_move] / increment[should_move])
    return float(max(0.0, 100 * (np.mean(repeated[middle][should_move]) - by_rounding)))


def channel_findings(
    channel: ChannelFacts, samples: int, rate_hz: float, *, rests: bool = False, passive: bool = False
) -> list[Finding]:
    """Findings of one channel. `rests`: whether it is the position of a joint that does not move. `passive`: whether
    its joint has no motor.
    """
    findings: list[Finding] = []
    name, unit = channel.name, channel.unit
    quantity, _, joint = name.partition(".")

    def add(cause: str, message: str, remedy: str, severity: Severity = Severity.warning) -> None:
        findings.append(Finding(cause, severity, message, remedy, name))

    if channel.invalid:
        add(
            "masked-samples",
            f"{name}: {channel.invalid} of {samples} samples are masked (empty, NaN or infinite).",
            "Bridge them with resample_hz and bridge_intervals in [preprocessing], or cut them off with between_s in "
            "[[recordings]].",
        )
    if channel.invalid == samples:
        return findings
    span = f"{channel.maximum - channel.minimum:.3g} {unit} in all"
    hold = f"Hold the joint with locked = {{ {joint} = {channel.mean:.4g} }} in [robot], or "
    if channel.constant and quantity in EFFORTS and not passive:
        level = "zero" if channel.maximum == 0 else f"{channel.maximum:.6g} {unit}"
        remedy = (
            f'Check its column, or list the joint: passive = ["{joint}"] in [drive]; or take the column out, '
        )
        remedy += f'and write not_measured = ["{joint}"] in {quantity} of the recordings.'
        add("dropped-torque", f"{name} is {level} throughout.", remedy, Severity.error)
    elif channel.constant and quantity == "position":
        add("no-motion", f"{name} never moves.", f"{hold}its friction stays unknown.")
    elif quantity == "position" and not channel.moves:
        moving = f"at {100 - channel.repeated_percent:.2g} % of the samples"
        add("no-motion", f"{name} hardly moves, by {span} and {moving}.", f"{hold}excite it.")
    elif rests:
        add("no-motion", f"{name} contains only noise, {span}.", f"{hold}excite it.")
    elif channel.constant:
        add("constant-channel", f"{name} is {channel.maximum:.6g} {unit} throughout.", "", Severity.note)
    if channel.clipped and quantity not in EFFORTS:
        message = (
            f"{name} stays at an end of its range, {channel.minimum:.4g} to {channel.maximum:.4g} {unit}."
        )
        add("saturation", message, "Cut those parts, or widen the range of the sensor.")
    if channel.stale_percent is not None and channel.stale_percent >= STALE_PERCENT:
        read_hz = rate_hz * (1 - channel.stale_percent / 100)
        add(
            "stale-samples",
            f"{name} repeats {channel.stale_percent:.0f} % of its samples while it should change: it is read at about "
            f"{read_hz:.4g} Hz and logged at {rate_hz:.4g} Hz.",
            f"Keep cutoff_hz in [preprocessing] well below {read_hz / 2:.3g}, or write every = "
            f"{max(2, round(rate_hz / max(read_hz, 1e-9)))} in [[recordings]] where all positions are held.",
            # a voltage is a command, which may be renewed at any rate
            Severity.note if quantity == "voltage" else Severity.warning,
        )
    if (limit := channel.speed_limit) is not None and (peak := channel.peak_speed) is not None:
        reached = f"{peak:.3g} {unit}/s, {100 * peak / limit:.3g} % of the model's limit of {limit:.3g}."
        if peak > 1.05 * limit:
            remedy = (
                "Check the unit of its position, the reduction and drive.side, or the limit in the model."
            )
            add("speed-limit", f"{joint} reaches {reached}", remedy)
        elif 0 < peak < 0.02 * limit:
            remedy = "Check the unit of its position, or excite it more."
            add("speed-limit", f"{joint} reaches only {reached}", remedy, Severity.note)
    return findings


def rounding_findings(channels: Sequence[ChannelFacts]) -> Iterator[Finding]:
    """A note on positions that repeat samples by rounding."""
    repeating = [
        channel
        for channel in channels
        if channel.name.startswith("position.") and channel.moves
        and channel.repeated_percent >= REPEATED_PERCENT and (channel.stale_percent or 0.0) < STALE_PERCENT
    ]  # fmt: skip
    if not repeating:
        return
    percent = [channel.repeated_percent for channel in repeating]
    low, high = f"{min(percent):.0f}", f"{max(percent):.0f}"
    digits = {channel.digits for channel in repeating}
    same = digits.pop() if len(digits) == 1 else None
    grain = f"the {same} digits in the file" if same else "their resolution"
    where = repeating[0].name if len(repeating) == 1 else ""
    message = (
        f"{listing(channel.name for channel in repeating)} repeat{'s' if where else ''} "
        f"{low if low == high else f'{low} to {high}'} % of the samples, at a standstill or moving by less than "
        f"{grain} in an interval, and not while moving faster."
    )
    yield Finding(
        "rounding", Severity.note, message, "Smooth before differentiating, and cut standstills.", where
    )
