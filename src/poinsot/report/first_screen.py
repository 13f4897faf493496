"""The first screen of an estimate's page: headline, next step, main numbers, and one figure of what was predicted.

The figure is of the joint or reading that is predicted worst, of a held-out recording where there is one, so that it
does not look better than the result is; of a filter it is a mass over time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from ..arrays import Vector
from ..estimate import NORMAL_95, Estimate, Fit, FullParameters, motions_of
from ..estimate.extras import MainNumber
from ..estimate.headline import KNOWN_PERCENT
from .blocks import Figure, FigureGrid, FirstScreen
from .figures.curves import curve_figure, with_interval
from .figures.style import COMMANDED, MEASURED, PREDICTED, axis, curve, layout
from .figures.thinning import line
from .numbers import percent_text, plus_minus, significant, unit_text
from .sections.verdict import LEADS
from .verdicts import is_measured, verdicts
from .words import capitalized, effort_word, family, meaning

if TYPE_CHECKING:
    from ..estimators.online.tracking import TrackingRun
    from ..estimators.servo.result import Actuators

LEAST_NUMBERS, MOST_NUMBERS = 3, 5
OF_SENSORS = {"bias", "misalignment", "zero", "eccentricity", "geometry"}
"""Kinds of parameters of how it was measured, which no reader looks for first."""
HEIGHT = 230
"""Of the figure [px]: on a phone all stands on one screen."""


def first_screen(estimate: Estimate) -> FirstScreen:
    """What is said and shown first."""
    kind, figure = _figure(estimate)
    return FirstScreen(
        estimate.headline,
        estimate.next_step,
        LEADS[estimate.trust][0],
        main_numbers(estimate),
        None if figure is None else FigureGrid(panels=(figure,)),
        kind,
    )


def main_numbers(estimate: Estimate) -> tuple[tuple[str, str], ...]:
    """The numbers that say most, in words, each with its 95 % interval: those that are known, masses
    first, and others only where these are few.
    """
    of_extras = (number for extra in estimate.extras.values() for number in extra.main_numbers())
    every = (*of_extras, *_masses(estimate), *_parameters(estimate))
    found: dict[str, MainNumber] = {}
    for number in every:
        if np.isfinite(number.value) and number.std > 0:
            found.setdefault(number.name, number)
    is_known = [100 * number.std < KNOWN_PERCENT * abs(number.value) for number in found.values()]
    known = [number for number, yes in zip(found.values(), is_known, strict=True) if yes]
    others = [number for number, yes in zip(found.values(), is_known, strict=True) if not yes]
    shown = (known + others[: max(LEAST_NUMBERS - len(known), 0)])[:MOST_NUMBERS]
    return tuple(
        (name, f"{plus_minus(value, NORMAL_95 * std)} {unit_text(unit)}".rstrip())
        for name, value, std, unit in shown
    )


def _masses(estimate: Estimate) -> Iterator[MainNumber]:
    """Of bodies whose mass the data determine."""
    full = estimate.extra(FullParameters)
    if full is not None:
        for k, name in enumerate(full.names):
            if family(name, full.kinds[k]) == "Masses" and is_measured(float(full.prior_share[k])):
                value, std = float(full.values[k]), float(full.std[k])
                yield MainNumber(f"Mass of {full.owners[k]}", value, std, full.units[k])


def _parameters(estimate: Estimate) -> list[MainNumber]:
    """Parameters in words, masses first, then those that stand for themselves, then sums, best known first."""
    judged, found = verdicts(estimate), []
    for k, name in enumerate(estimate.names):
        if not judged[k].determined:
            continue
        kind, grouping = estimate.kinds[k], estimate.groupings[k]
        what, is_sum = meaning(name, kind), grouping not in ("", name)
        is_mass = family(name, kind) == "Masses"
        rank = (
            kind in OF_SENSORS,
            is_sum,
            kind == "inertia" and not is_mass,
            not is_mass,
            float(estimate.relative_std_percent[k]),
        )
        words = f"{capitalized(what)}, {estimate.owners[k]}{', with others' if is_sum else ''}"
        words = f"Mass of {estimate.owners[k]}" if is_mass and not is_sum else words
        number = MainNumber(words, float(estimate.values[k]), float(estimate.std[k]), estimate.units[k])
        found.append((rank, number))
    return [number for _, number in sorted(found, key=lambda pair: pair[0])]


def _figure(estimate: Estimate) -> tuple[str, Figure | None]:
    """What the figure compares, and the figure; None where nothing was predicted."""
    run = cast("TrackingRun | None", estimate.extras.get("tracking"))
    if run is not None and run.history and run.changes:
        return "estimated mass with its 95 % interval", _mass_over_time(run)
    held_out = [fit for fit in estimate.validation if np.isfinite(fit.measured).any()]
    if not held_out and motions_of(estimate):
        return "measured-estimated", _worst_reading(estimate)
    if held_out:
        worst = max(held_out, key=lambda fit: np.nan_to_num(fit.relative_error_percent))
        return "measured-predicted", _worst_column(worst, "held out")
    if not np.isfinite(estimate.fit.measured).any():
        return "", None
    found = cast("Actuators | None", estimate.extras.get("actuators"))
    return "measured-predicted", _worst_column(
        estimate.fit, "fitted", None if found is None else found.commanded
    )


def _mass_over_time(run: TrackingRun) -> Figure:
    """Of the body that differs most from its prior."""
    k = int(np.argmax([abs(change.mass) / max(change.mass_std, 1e-12) for change in run.changes]))
    name, recording = run.changes[k].body, run.history[-1].recording
    rows = [(t.time, t.bodies[k, 0], t.mass_std[k]) for t in run.history if t.recording == recording]
    time, mass, std = np.array(rows).T
    figure = curve_figure(
        f"Mass of {name}{f', {recording}' if recording else ''}",
        "kg",
        time,
        with_interval("estimated", mass, std),
    )
    return replace(figure, layout={**figure.layout, "height": HEIGHT}, wide=False)


def _worst_column(fit: Fit, what: str, commanded: np.ndarray | None = None) -> Figure:
    """Measured and predicted effort or position of the joint with the largest relative error."""
    errors = np.nan_to_num(np.asarray(fit.relative_error_percent_per_joint, dtype=float), nan=-1.0)
    k = int(np.argmax(errors))
    unit = unit_text(fit.units[k])
    percent = percent_text(fit.relative_error_percent_per_joint[k])
    lines = {"measured": fit.measured[:, k], "predicted": fit.predicted[:, k]}
    if commanded is not None:
        lines["commanded"] = commanded[:, k]
    return _two_lines(
        f"{fit.joints[k]}, {what}",
        f"worst joint, error {percent}" if len(fit.joints) > 1 else f"error {percent}",
        f"{effort_word(fit.units[k])} [{unit}]",
        fit.time,
        lines,
    )


def _worst_reading(estimate: Estimate) -> Figure | None:
    """Measured and estimated reading of the sensor with the largest residuals."""
    motions = motions_of(estimate)
    readings = [
        (fit.rms, motion, fit)
        for motion in motions
        for fit in motion.sensors
        if len(fit.channels) and np.isfinite(fit.rms)
    ]
    if not readings:
        return None
    _, motion, fit = max(readings, key=lambda row: row[0])
    with np.errstate(invalid="ignore"):
        spread = np.nanmax(fit.measured, axis=0) - np.nanmin(fit.measured, axis=0)
    k = int(np.nanargmax(spread))
    return _two_lines(
        fit.channels[k],
        f"residuals of {significant(fit.rms, 2)} standard deviations",
        f"[{unit_text(fit.units[k])}]",
        motion.path.time,
        {"measured": fit.measured[:, k], "estimated": fit.predicted[:, k]},
    )


def _two_lines(title: str, note: str, vertical: str, time: Vector, lines: dict[str, Vector]) -> Figure:
    inks = dict(zip(lines, (MEASURED, PREDICTED, COMMANDED), strict=False))
    start = np.append(np.flatnonzero(np.diff(time, prepend=np.inf) <= 0), len(time))  # one recording
    rows = slice(int(start[0]), int(start[1]))
    data = tuple(
        curve(name, inks[name], **line(time[rows], values[rows], 2000)) for name, values in lines.items()
    )
    return Figure(
        title=title,
        note=note,
        data=data,
        layout=layout(
            HEIGHT, xaxis=axis("time [s]", zeroline=False), yaxis=axis(vertical, nticks=6), legend_above=True
        ),
        alt=f"{title}: {' and '.join(lines)} {vertical} over time; {note}",
    )
