"""Presentation of the case `pendulum`: rows for scripts, tables beside the paper's Tables 2 and 3, pictures, notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from poinsot.estimators.joint import JointSmoothing, JointSmoothingProblem, Record

from ..case import Curves, Reproduction
from ..presentation import finite, significant
from .emps_axis import REFERENCE, Axis, values as axis_values
from .mean_squares import impulse_mse, observation_mse
from .pendulum_comparison import Swings
from .pendulum_drive import LEAST_SQUARES, UNITS, WEIGHED, Drive
from .pendulum_swings import (
    DRAG,
    DRY,
    EVERY,
    LARGEST_SHARE,
    SENSOR,
    SMALLEST,
    STRIBECK,
    TOLERANCE,
    VISCOUS,
    friction,
    inertia,
    model,
)

SIMULATED = 1e14
"""Weight with which impulse errors are negligible."""
FREQUENCY = 9.348
"""Of small swings, from what its makers weighed and measured [rad/s]."""

PAPER_COSTS = {VISCOUS: (1.92e-6, 1.92e-6), DRY: (1.47e-6, 1.48e-6), STRIBECK: (1.18e-6, 1.20e-6)}
"""Table 3: cost and cross-validation [rad^2], of another pendulum."""
PAPER_INERTIAS = 0.003916, 0.003889, 0.003912, 0.003886, 0.003888
PAPER_DRAGS = 0.0, 0.00025, 0.00026, 0.00014, 0.0002
PAPER_FRICTIONS = 0.0022, 0.00173, 0.00171, 0.00189, 0.00182
"""Table 2: J [kg m^2], b [N m s/rad], r mu [m] of each recording."""
PAPER_SPREAD = 0.8
"""Of J between recordings [%]."""


def report(swings: Swings, drive: Drive, axis: Axis, seconds: Mapping[str, float]) -> Reproduction:
    """Rows, tables, figures and pictures."""
    figures = _figures(swings, axis)
    return Reproduction(
        "discrete-multibody",
        "000",
        "Tables 2 and 3: friction of a pendulum by cross-validation, and of two driven mechanisms",
        _lead(figures),
        (
            *_law_rows(swings),
            *_window_rows(swings),
            *_sweep_rows(swings),
            *_other_rows(swings),
            *_drive_rows(drive),
            *_axis_rows(axis),
        ),
        {
            "Table 3: laws of friction": _law_table(swings),
            "Table 2: dry friction by window": _window_table(swings),
            "Table 2 of the paper: another pendulum, let go five times": _paper_table(),
            "kappa, and what impulse errors do": _sweep_table(swings),
            "Other windows and steps (dry friction)": _other_table(swings),
            "Pendulum with a motor": _drive_table(drive),
            "EMPS: slider with a motor": list(_axis_rows(axis)),
            "EMPS: by the weight of impulse errors": _axis_table(axis),
        },
        figures,
        {
            "kappa": f"{swings.weight:.0e}",
            "cross-validated cost, viscous by dry": round(
                figures["cross_validation_viscous"] / figures["cross_validation_dry"], 2
            ),
            "cross-validated cost, Stribeck by dry": round(
                figures["cross_validation_stribeck"] / figures["cross_validation_dry"], 4
            ),
            "spread of the inertia between windows [%]": round(figures["inertia_spread_percent"], 3),
            "spread without eccentricity [%]": round(
                figures["inertia_spread_percent_without_eccentricity"], 3
            ),
            "frequency of small swings [rad/s]": round(figures["frequency_rad_s"], 4),
        },
        curves=dict(_pictures(swings, drive, axis)),
        notes=_notes(swings, drive, axis),
        seconds=seconds,
    )


def _figures(swings: Swings, axis: Axis) -> dict[str, Any]:
    return {
        **{f"cost_{law}": study.cost for law, study in swings.laws.items()},
        **{f"cross_validation_{law}": study.cross_validation for law, study in swings.laws.items()},
        "inertia_spread_percent": swings.dry.spread_percent,
        "inertia_spread_percent_without_eccentricity": swings.centred.spread_percent,
        "frequency_rad_s": swings.dry.frequency,
        **axis.values,
        "kappa": swings.weight,
        "cross_validation_dry_in_proportion_to_load": swings.loaded.cross_validation,
    }


def _lead(figures: Mapping[str, Any]) -> str:
    by = figures["cross_validation_viscous"] / figures["cross_validation_dry"]
    more = figures["cross_validation_stribeck"] / figures["cross_validation_dry"] - 1
    worst = max(abs(figures[name] / value - 1) for name, value in REFERENCE.items())
    return (
        f"Between windows of one recording the cross-validated cost of viscous friction is {by:.1f} times that of dry "
        f"friction, and Stribeck's law changes it by {100 * more:+.2f} %. The inertia varies by "
        f"{figures['inertia_spread_percent']:.2f} % between windows "
        f"({figures['inertia_spread_percent_without_eccentricity']:.2f} % without the encoder's eccentricity). EMPS "
        f"from position and voltage: within {100 * worst:.1f} % of the published values."
    )


# -------------------------------------------------------------------------------------------------------- free swings


def _law_rows(swings: Swings) -> Iterator[dict[str, Any]]:
    for law, study in swings.laws.items():
        for quantity, paper, ours in zip(
            ("cost", "cross-validation"), PAPER_COSTS[law], (study.cost, study.cross_validation), strict=True
        ):
            yield {"name": f"{quantity}, {law}", "paper": paper, "ours": ours, "unit": "rad^2"}
    others: tuple[tuple[str, float, float, str], ...] = (
        ("spread of J", PAPER_SPREAD, swings.dry.spread_percent, "%"),
        ("spread of J without eccentricity", PAPER_SPREAD, swings.centred.spread_percent, "%"),
        ("frequency of small swings (of this pendulum's makers)", FREQUENCY, swings.dry.frequency, "rad/s"),
    )
    for name, paper, ours, unit in others:
        yield {"name": name, "paper": paper, "ours": ours, "unit": unit}


def _law_table(swings: Swings) -> list[dict[str, Any]]:
    every = {**swings.laws, "dry, in proportion to the load": swings.loaded}
    dry = swings.dry.cross_validation
    return [
        {
            "law": law,
            "cost": significant(study.cost),
            "cross-validation": significant(study.cross_validation),
            "by dry": round(study.cross_validation / dry, 3),
            "all windows together": significant(study.together.cost),
            "frequency [rad/s]": round(study.frequency, 4),
            "spread of J [%]": round(study.spread_percent, 3),
            "paper: cost": significant(PAPER_COSTS[law][0]) if law in PAPER_COSTS else None,
            "paper: cross-validation": significant(PAPER_COSTS[law][1]) if law in PAPER_COSTS else None,
            "paper: by dry": round(PAPER_COSTS[law][1] / PAPER_COSTS[DRY][1], 3)
            if law in PAPER_COSTS
            else None,
        }
        for law, study in every.items()
    ]


def _window_rows(swings: Swings) -> Iterator[dict[str, Any]]:
    for law, study in swings.laws.items():
        for k, fit in enumerate(study.each):
            for name, value, std, robust in zip(fit.names, fit.theta, fit.std, fit.robust_std, strict=True):
                if name in np.array(fit.names)[fit.open]:
                    yield {
                        "name": f"{name}, {law}, window {k + 1}",
                        "law": law,
                        "window": k + 1,
                        "parameter": name,
                        "ours": float(value),
                        "std": finite(std),
                        "robust_std": finite(robust),
                    }


def _window_table(swings: Swings) -> list[dict[str, Any]]:
    loaded = swings.loaded.each
    return [
        {
            "window": k + 1,
            "swings [rad]": _amplitudes(record),
            "cost": significant(fit.cost),
            "cross-validation": significant(crossed),
            "J [kg m^2]": significant(inertia(fit), 6),
            "without eccentricity": significant(inertia(swings.centred.each[k]), 6),
            "b [N m s/rad]": significant(fit.values[DRAG]),
            "c [N m]": significant(fit.values["pivot.coulomb"]),
            "r mu [m], in proportion to the load": significant(
                loaded[k].values[f"pivot.{swings.loaded.kind}"]
            ),
            "std of J": significant(fit.std[0], 2),
            "robust std of J": significant(fit.robust_std[0], 2),
        }
        for k, (record, fit, crossed) in enumerate(
            zip(swings.windows, swings.dry.each, swings.dry.cross_validations, strict=True)
        )
    ]


def _paper_table() -> list[dict[str, Any]]:
    return [
        {"recording": k, "J [kg m^2]": J, "b [N m s/rad]": b, "r mu [m]": mu}
        for k, (J, b, mu) in enumerate(zip(PAPER_INERTIAS, PAPER_DRAGS, PAPER_FRICTIONS, strict=True))
    ]


def _sweep_rows(swings: Swings) -> Iterator[dict[str, Any]]:
    for law, studies in swings.sweep.items():
        for weight, study in studies.items():
            yield {
                "name": f"kappa {weight:.0e}, {law}",
                "sweep": "kappa",
                "value": weight,
                "law": law,
                "cost": study.cost,
                "cross_validation": study.cross_validation,
                "inertia_spread_percent": study.spread_percent,
                "frequency_rad_s": study.frequency,
                "largest_share_of_work": float(study.shares.max()),
            }


def _sweep_table(swings: Swings) -> list[dict[str, Any]]:
    viscous, dry = swings.sweep[VISCOUS], swings.sweep[DRY]
    return [
        {
            "kappa": f"{weight:.0e}" + (" (chosen)" if weight == swings.weight else ""),
            "work of impulse errors by friction's, dry [%]": round(100 * float(dry[weight].shares.max()), 2),
            "viscous [%]": round(100 * float(viscous[weight].shares.max()), 1),
            "cross-validation, viscous": significant(viscous[weight].cross_validation),
            "dry": significant(dry[weight].cross_validation),
            "viscous by dry": round(viscous[weight].cross_validation / dry[weight].cross_validation, 2),
            "spread of J, dry [%]": round(dry[weight].spread_percent, 3),
            "frequency, dry [rad/s]": round(dry[weight].frequency, 4),
        }
        for weight in dry
    ]


def _other_rows(swings: Swings) -> Iterator[dict[str, Any]]:
    for (count, smallest, every), (eccentric, centred) in swings.others.items():
        yield {
            "name": f"{count} windows, swings from {smallest:g} rad, {every} samples to a step",
            "sweep": "windows",
            "value": count,
            "smallest_swing": smallest,
            "samples_to_a_step": every,
            "inertia_spread_percent": eccentric.spread_percent,
            "inertia_spread_percent_without_eccentricity": centred.spread_percent,
            "frequency_rad_s": eccentric.frequency,
        }


def _other_table(swings: Swings) -> list[dict[str, Any]]:
    return [
        {
            "windows": row["value"],
            "smallest swing [rad]": row["smallest_swing"],
            "samples to a step": row["samples_to_a_step"],
            "spread of J [%]": round(row["inertia_spread_percent"], 3),
            "without eccentricity [%]": round(row["inertia_spread_percent_without_eccentricity"], 3),
            "frequency [rad/s]": round(row["frequency_rad_s"], 4),
        }
        for row in _other_rows(swings)
    ]


def _amplitudes(record: Record) -> str:
    """Of the first and last swing."""
    q, part = np.abs(record.z[:, 0]), len(record.times) // 6
    return f"{q[:part].max():.2f} to {q[-part:].max():.2f}"


# ---------------------------------------------------------------------------------------------------- driven mechanisms


def _drive_rows(drive: Drive) -> Iterator[dict[str, Any]]:
    for name, value in drive.values.items():
        yield {
            "name": f"driven pendulum: {name}",
            "ours": value,
            "robust_std": finite(drive.stds[name]),
            "weighed": WEIGHED.get(name),
            "least_squares": LEAST_SQUARES.get(name),
            "unit": UNITS[name],
        }
    J, ml = drive.values["J"], drive.values["m l"]
    yield {
        "name": "driven pendulum: J / (m l)",
        "ours": J / ml,
        "weighed": (WEIGHED["J"][0] / WEIGHED["m l"][0], WEIGHED["J"][1] / WEIGHED["m l"][1]),
        "least_squares": LEAST_SQUARES["J"] / LEAST_SQUARES["m l"],
        "unit": "m",
    }


def _drive_table(drive: Drive) -> list[dict[str, Any]]:
    return [
        {
            "parameter": row["name"].removeprefix("driven pendulum: "),
            "ours": significant(row["ours"]),
            "robust std": significant(row.get("robust_std"), 2),
            "weighed": None if row["weighed"] is None else "{:.3g} to {:.3g}".format(*row["weighed"]),
            "plain least squares": significant(row["least_squares"]),
            "unit": row["unit"],
        }
        for row in _drive_rows(drive)
    ]


def _axis_rows(axis: Axis) -> Iterator[dict[str, Any]]:
    places = dict(zip(REFERENCE, axis.fit.robust_std.tolist(), strict=True))
    for (name, value), unit in zip(axis.values.items(), ("kg", "N s/m", "N", "N"), strict=True):
        yield {
            "name": name,
            "paper": REFERENCE[name],
            "ours": value,
            "difference_percent": 100 * (value / REFERENCE[name] - 1),
            "robust_std": finite(places[name]),
            "unit": unit,
        }


def _axis_table(axis: Axis) -> list[dict[str, Any]]:
    every = {1.0: axis.fit, **axis.heavier}
    return [
        {
            "weight by the chosen one": f"{by:g}",
            **{name: significant(value, 5) for name, value in axis_values(fit).items()},
            "position residual [um]": significant(1e6 * float(np.sqrt(observation_mse(fit))), 2),
        }
        for by, fit in every.items()
    ]


# ----------------------------------------------------------------------------------------------------------- pictures


def _pictures(swings: Swings, drive: Drive, axis: Axis) -> Iterator[tuple[str, Curves]]:
    speeds = np.linspace(-12, 12, 481)
    every = {**swings.laws, "dry, in proportion to the load (at rest)": swings.loaded}
    yield (
        "Friction of the hinge",
        Curves(
            speeds,
            "N m",
            {law: friction(study.together, speeds) for law, study in every.items()},
            "speed [rad/s]",
        ),
    )
    yield "Residual of the encoder's angle, by law", _left(swings)
    yield "Last window, one theta for all windows and hardly any impulse errors", _simulated(swings)
    powers = np.log10(list(swings.sweep[DRY]))
    lines = {
        law: np.log10([study.cross_validation for study in studies.values()])
        for law, studies in swings.sweep.items()
    }
    yield "Cross-validated cost", Curves(powers, "log10 rad^2", lines, "log10 kappa")
    shares = {
        law: np.array([100 * study.shares.max() for study in studies.values()])
        for law, studies in swings.sweep.items()
    }
    shares["chosen below"] = np.full(len(powers), 100 * LARGEST_SHARE)
    yield "Largest work of impulse errors, by that of friction", Curves(powers, "%", shares, "log10 kappa")
    number = np.arange(1.0, len(swings.windows) + 1)
    lines = {"with eccentricity": swings.dry.inertias, "without": swings.centred.inertias}
    yield "Inertia of each window", Curves(number, "kg m^2", lines, "window")
    yield "Driven pendulum: torque", _torque(drive)
    factors = np.log10([1.0, *axis.heavier])
    every_axis = [axis.values, *(axis_values(fit) for fit in axis.heavier.values())]
    lines = {
        name: np.array([100 * (values[name] / REFERENCE[name] - 1) for values in every_axis])
        for name in REFERENCE
    }
    yield "EMPS: off the published values", Curves(factors, "%", lines, "log10 weight by the chosen one")


def _left(swings: Swings) -> Curves:
    """Of the encoder, over all windows."""
    paths = {law: swings.laws[law].together.paths for law in (VISCOUS, DRY)}
    lines = {law: np.concatenate([path.observation_errors[:, 0] for path in paths[law]]) for law in paths}
    return Curves(np.concatenate([path.times for path in paths[DRY]]), "rad", lines)


def _simulated(swings: Swings) -> Curves:
    last, method = swings.windows[-1], JointSmoothing(weight=SIMULATED, tolerance=TOLERANCE)
    lines = {"measured": last.z[:, 0]}
    for law in (VISCOUS, DRY):
        fit = method.solve(JointSmoothingProblem(model(), [last], swings.laws[law].together.theta, ()))
        lines[law] = last.z[:, 0] + fit.paths[0].observation_errors[:, 0]
    return Curves(last.times, "rad", lines)


def _torque(drive: Drive) -> Curves:
    path, tau = drive.fit.paths[0], drive.record.u[:, 0]
    held = (tau[:-1] + np.append(tau[:1], tau[:-2])) / 2
    needed = held + path.step_errors.sum(axis=1) / np.diff(path.times)
    return Curves(path.times[:-1], "N m", {"by motor current": tau[:-1], "by the law": needed})


# -------------------------------------------------------------------------------------------------------------- notes


def _notes(swings: Swings, drive: Drive, axis: Axis) -> tuple[str, ...]:
    values, sensor = swings.dry.together.values, dict(zip(SENSOR, ("zero", "sine", "cosine"), strict=True))
    read = ", ".join(f"{label} {1e3 * values[name]:.1f} mrad" for name, label in sensor.items())
    smallest_c = min(fit.values["pivot.coulomb"] for fit in swings.dry.each)
    gain = drive.values["m l"] / np.mean(WEIGHED["m l"])
    unfinished = [
        f"{law} friction, {label}"
        for law, study in {**swings.laws, "load-dependent": swings.loaded}.items()
        for label, fit in {
            "together": study.together,
            **{f"window {k + 1}": f for k, f in enumerate(study.each)},
        }.items()
        if not fit.converged
    ]
    return (
        f"Windows: {len(swings.windows)} of equal length, from the first turn to the last swing of {SMALLEST:g} rad. "
        "Smaller swings are within reach of where dry friction holds the pendulum, and their frequency rises. A step "
        f"is {EVERY} samples long, by the encoder's own stamps.",
        f"kappa {swings.weight:.0e}: the smallest power of ten at which impulse errors do less than "
        f"{100 * LARGEST_SHARE:g} % of friction's work in each window, one theta for all. With smaller ones they "
        "replace friction.",
        f"The encoder, with dry friction and from all windows: {read}.",
        "The windows do not agree on how friction divides into drag and dry friction: where swings are large the two "
        f"are hard to tell apart, and a window may find hardly any dry friction (the least is {smallest_c:.1e} N m). "
        "This is why the cross-validated cost of dry friction is well above the cost of its "
        "own windows. Friction in proportion to the hinge's load, the paper's own law, gives "
        f"{significant(swings.loaded.cross_validation)} against {significant(swings.dry.cross_validation)}.",
        "Standard deviations from white noise are far too small, as the paper finds; robust ones, for errors that "
        "follow each other, are beside.",
        f"The driven pendulum's m l is {100 * (gain - 1):.0f} % above what was weighed, and J / (m l) is not: by so "
        "much the torque by motor current is too high. Plain least squares on derivatives comes nearer by chance, as "
        "noise in accelerations makes J and m l smaller.",
        f"EMPS: readings are trusted to {1e9 * axis.noise:.0f} nm, the encoder's resolution, and impulses as far as "
        f"they err, {1e3 * float(np.sqrt(impulse_mse(axis.fit))):.2f} mN s a step, in {axis.rounds} rounds.",
        *(f"Not converged: {label}." for label in unfinished),
    )
