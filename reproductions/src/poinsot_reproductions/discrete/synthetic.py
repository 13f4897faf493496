"""What the estimate of a simulated Furuta pendulum depends on (Sect. 4.7, Figs. 6 and 7).

A release is simulated in steps of 1e-4 s with hinges of compliance 1e-5 and read with noise of 1e-3 rad. Sought are
J_Azz, J_Byy, b_1 and b_2, from Table 1's values. Three sweeps, of the time step, of the estimator's compliance and of
kappa, the others as in the paper (kappa 100, compliance 1e-5, 10 ms), each with three forms of the errors of a step:
the paper's explicit one, the implicit one, and joint coordinates with infinitely stiff constraints.

**Why friction depends on the step.** SPOOK takes constraints for straight within a step. A step of speed v along a
circle of radius l leaves it by (h v)^2 / 2 l, and what draws it back is a damper: power that grows with h. Its
gyroscopic torque is taken at the beginning of a step, which errs in proportion to h as well. The generator does both at
its own step h_0, so its motion is one of friction b + c h_0; who explains it with steps h has c h of that friction for
nothing and finds

    b_hat = b - c (h - h_0)

which is b at h = h_0, and falls on a line through it. Two corrections are shown beside it: a step that follows the
curvature of the constraints (an option of the model), and the balance in joint coordinates, which has no constraints,
is symmetric in time and so finds b + c h_0 at any step.

The line is drawn from readings without noise, with friction allowed to be negative, since only so does one see it. So
is the estimate in the generator's own steps, in the generator's own form, which is the end of that line: with noise it
would take some 3 s of the release, thirty thousand steps, for b_1 to be known to a percent, and many minutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from poinsot.estimators.joint import JointFit, JointSmoothing, JointSmoothingProblem
from poinsot.models.maximal import Model
from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say
from ..presentation import percent
from .mean_squares import impulse_mse, observation_mse
from .paper_furuta import (
    COMPLIANCE,
    GENERATOR_STEP,
    INITIAL,
    NAMES,
    NOISE,
    TRUTH,
    UNITS,
    Motion,
    furuta,
    model_of,
    on_one_thread,
    release,
    values,
)

FOUR = ("Jazz", "Jbyy", "b1", "b2")
INERTIAS, FRICTIONS = FOUR[:2], FOUR[2:]
STIFFNESSES = [
    f"{hinge}.{kind}" for hinge in ("hinge1", "hinge2") for kind in ("compliance", "rotation_compliance")
]
FORMS = "explicit", "implicit", "reduced"
CURVED = "explicit, curved"

KAPPA, STEP = 100.0, 0.01
"""Of the sweeps of something else."""
SECONDS = {"explicit": 2.5, "implicit": 2.5, "reduced": 5.0}
"""Of the release that the sweeps see, by form: a step of bodies takes ten times as long."""
STEPS = (1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05)
COMPLIANCES = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
KAPPAS = (0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4)
STEADY_KAPPAS, STEADY_STEPS = (0.1, 100.0), (1e-3, 0.02)
"""Ranges over which inertias are to stay."""

BIAS_STEPS, BIAS_SECONDS = (5e-4, 1e-3, 2e-3), 1.0
OWN_START, OWN_SECONDS = 0.0, 0.5
"""The stretch [s] that is explained in the generator's own steps; it begins at rest, where constraints are not
violated: elsewhere (3.16) draws the first state away from the truth.
"""
MAX_STEPS, MAX_EXACT_STEPS = 50, 25
"""Without noise, twenty take the cost to rounding errors."""
NOISY_TOLERANCE, EXACT_TOLERANCE = 1e-7, 1e-13
"""Of the cost. Without noise it falls on towards zero, and friction is in its last digits."""


@dataclass(frozen=True)
class Case:
    """One estimate.

    Args:
        sweep: of what. value: of that.
        form: of the errors.
        h: step [s]. compliance: of the estimator's hinges. kappa: weight.
        start, seconds: the stretch [s]. noise: whether readings have it. bounded: whether b must be at least 0.
    """

    sweep: str
    value: float
    form: str
    h: float = STEP
    compliance: float = COMPLIANCE
    kappa: float = KAPPA
    start: float = 0.0
    seconds: float = 2.5
    noise: bool = True
    bounded: bool = True


def cases() -> Iterator[Case]:
    """All of them, those of one form together."""
    for form in FORMS:
        for h in STEPS:
            yield Case("step", h, form, h=h, seconds=SECONDS[form])
        for compliance in COMPLIANCES:
            yield Case("compliance", compliance, form, compliance=compliance, seconds=SECONDS[form])
        for kappa in KAPPAS:
            yield Case("kappa", kappa, form, kappa=kappa, seconds=SECONDS[form])
    for form in ("explicit", CURVED, "reduced"):
        for h in BIAS_STEPS:
            yield Case("bias", h, form, h, start=OWN_START, seconds=BIAS_SECONDS, noise=False, bounded=False)
    yield generator_case()


def generator_case(seconds: float = OWN_SECONDS) -> Case:
    """In the generator's own steps."""
    h = GENERATOR_STEP
    return Case("generator", h, "explicit", h, start=OWN_START, seconds=seconds, noise=False, bounded=False)


@cache
def model(curved: bool = False) -> Model:
    """With the four parameters free, and compliances that are set."""
    return furuta().model([*(NAMES[name] for name in FOUR), *STIFFNESSES], curvature=curved)


def recorded(seed: int, seconds: float) -> Motion:
    """The release."""
    generator = model_of(FOUR)
    return release(generator, generator.theta, seconds, np.random.default_rng([seed, 0]))


def solve(case: Case, motion: Motion, max_steps: int = MAX_STEPS) -> JointFit:
    """The estimate of a case."""
    record = motion.record(round(case.h / motion.times[1]), case.start, case.seconds, case.noise)
    theta = np.concatenate([values(FOUR, INITIAL), np.full(len(STIFFNESSES), case.compliance)])
    lower = {} if case.bounded else {NAMES[name]: -1.0 for name in FRICTIONS}
    tolerance = NOISY_TOLERANCE if case.noise else EXACT_TOLERANCE
    max_steps = max_steps if case.noise else min(max_steps, MAX_EXACT_STEPS)
    form = case.form.split(",")[0]
    method = JointSmoothing(case.kappa, form=form, max_iterations=max_steps, tolerance=tolerance)
    open_ones = [NAMES[name] for name in FOUR]
    return method.solve(
        JointSmoothingProblem(model(case.form == CURVED), [record], theta, open_ones, lower=lower)
    )


def rows_of(case: Case, fit: JointFit) -> list[dict[str, Any]]:
    """One for each parameter."""
    std = dict(zip(fit.names, fit.robust_std, strict=True))
    return [
        {
            "name": f"{name}, {case.sweep} {case.value:g}, {case.form}",
            "sweep": case.sweep,
            "value": case.value,
            "form": case.form,
            "parameter": name,
            "estimate": fit.values[NAMES[name]],
            "truth": TRUTH[name],
            "error_percent": 100 * (fit.values[NAMES[name]] / TRUTH[name] - 1),
            "std": float(std[NAMES[name]]),
            "unit": UNITS[name],
            "observation_mse": observation_mse(fit),
            "impulse_mse": impulse_mse(fit),
            "iterations": fit.iterations,
            "converged": fit.converged,
        }
        for name in FOUR
    ]


# ------------------------------------------------------------------------------------------------------------ all of it


def run(
    seed: int,
    chosen: Sequence[Case] | None = None,
    say: Say = lambda _: None,
) -> Reproduction:
    """Simulate, estimate, compare.

    Args:
        seed: of the noise.
        chosen: some of `cases`; None: all.
    """
    on_one_thread()
    watch = Stopwatch()
    chosen = list(cases()) if chosen is None else list(chosen)
    motion = recorded(seed, max(case.start + case.seconds for case in chosen))
    watch.lap("simulation")
    rows: list[dict[str, Any]] = []
    for number, case in enumerate(chosen):
        say(f"{number + 1} of {len(chosen)}: {case.form}, {case.sweep} {case.value:g}")
        rows += rows_of(case, solve(case, motion))
        watch.lap(f"{case.form}, {case.sweep}")
    figures = figures_of(rows)
    return Reproduction(
        "discrete-multibody",
        "000",
        "Simulated Furuta pendulum: what an estimate depends on",
        _lead(figures),
        tuple(rows),
        _tables(rows, figures),
        figures,
        {
            "release": f"{motion.times[-1]:g} s in steps of {GENERATOR_STEP:g} s, compliance {COMPLIANCE:g}, "
            f"noise {NOISE:g} rad",
            "seen of it by sweeps": ", ".join(f"{form} {length:g} s" for form, length in SECONDS.items()),
            "unless swept": f"kappa {KAPPA:g}, step {STEP:g} s, compliance {COMPLIANCE:g}",
        },
        notes=_notes(figures),
        seconds=watch.seconds,
        curves=_pictures(rows),
    )


Rows = Sequence[Mapping[str, Any]]


def _picked(rows: Rows, **wanted: Any) -> list[Mapping[str, Any]]:
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def _largest(rows: Rows) -> float | None:
    return max((abs(row["error_percent"]) for row in rows), default=None)


def figures_of(rows: Rows) -> dict[str, Any]:
    """Headline numbers, of the form that the method has by default; None where nothing was computed for them."""
    at_1ms = {
        form: _largest(
            [
                row
                for name in INERTIAS
                for row in _picked(rows, sweep="step", value=1e-3, form=form, parameter=name)
            ]
        )
        for form in FORMS
    }
    own = [row for name in FRICTIONS for row in _picked(rows, sweep="generator", parameter=name)]
    return {
        "inertia_error_percent_at_1ms": at_1ms[JointSmoothing().form],
        "inertia_error_percent_at_1ms_by_form": at_1ms,
        "friction_error_percent_at_generator_step": _largest(own),
        "inertia_variation_percent": {
            form: {
                "kappa": variation(rows, form, "kappa", STEADY_KAPPAS),
                "step": variation(rows, form, "step", STEADY_STEPS),
            }
            for form in FORMS
        },
        "friction_bias": {
            form: {name: line(rows, form, name) for name in FRICTIONS}
            for form in ("explicit", CURVED, "reduced")
            if _picked(rows, sweep="bias", form=form)
        },
        "sweeps": list(rows),
    }


def variation(rows: Rows, form: str, sweep: str, within: tuple[float, float]) -> float | None:
    """Largest less smallest estimate over a range, the worse of both inertias, in percent of the truth."""
    worst: list[float] = []
    for name in INERTIAS:
        of = [
            row["error_percent"]
            for row in _picked(rows, sweep=sweep, form=form, parameter=name)
            if within[0] <= row["value"] <= within[1]
        ]
        worst += [max(of) - min(of)] if len(of) > 1 else []
    return max(worst, default=None)


def line(rows: Rows, form: str, name: str) -> dict[str, Any] | None:
    """How the error of a friction grows with the step: err = at_generator + slope (h - h_0), and how far off the line.

    In percent of the truth, the slope in percent a millisecond; `off_line` is the largest distance from the line, in
    parts of how much the error changes along it.
    """
    picked = sorted(_picked(rows, sweep="bias", form=form, parameter=name), key=lambda row: row["value"])
    if len(picked) < 2:
        return None
    h = np.array([row["value"] for row in picked])
    error = np.array([row["error_percent"] for row in picked])
    A = np.stack([np.ones(len(h)), 1e3 * (h - GENERATOR_STEP)], axis=1)
    slopes = np.linalg.lstsq(A, error)[0]
    along = abs(slopes[1]) * 1e3 * (h[-1] - h[0])
    return {
        "steps": h.tolist(),
        "error_percent": error.tolist(),
        "at_generator_step_percent": float(slopes[0]),
        "percent_per_ms": float(slopes[1]),
        "off_line": float(np.abs(A @ slopes - error).max() / along),
    }


# ------------------------------------------------------------------------------------------------------------ the page


def _lead(figures: Mapping[str, Any]) -> str:
    paper_form = figures["inertia_error_percent_at_1ms_by_form"]["explicit"]
    return (
        f"With steps of 1 ms the inertias are off by at most {percent(figures['inertia_error_percent_at_1ms'], 2)} in "
        f"joint coordinates and {percent(paper_form, 2)} in the paper's explicit form; in the generator's own steps "
        f"friction is off by at most {percent(figures['friction_error_percent_at_generator_step'], 2)}."
    )


def _tables(rows: Rows, figures: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    tables = {
        "How much inertias vary": [
            {
                "form": form,
                "at 1 ms, error": percent(figures["inertia_error_percent_at_1ms_by_form"][form], 2),
                "kappa {:g} to {:g}".format(*STEADY_KAPPAS): percent(by["kappa"], 2),
                "step {:g} to {:g} s".format(*STEADY_STEPS): percent(by["step"], 2),
            }
            for form, by in figures["inertia_variation_percent"].items()
        ],
        "Error of friction against the step, readings without noise [%]": [
            {"form": form, "of": name}
            | {
                f"{1e3 * h:g} ms": f"{error:+.1f}"
                for h, error in zip(of["steps"], of["error_percent"], strict=True)
            }
            | {
                "line at 0.1 ms": f"{of['at_generator_step_percent']:+.1f}",
                "a millisecond": f"{of['percent_per_ms']:+.1f}",
                "off the line": f"{100 * of['off_line']:.1f} %",
            }
            for form, names in figures["friction_bias"].items()
            for name, of in names.items()
            if of is not None
        ],
        "In the generator's own steps": [
            {
                "of": row["parameter"],
                "truth": f"{row['truth']:g}",
                "estimate": f"{row['estimate']:.5g}",
                "error": f"{row['error_percent']:+.2f} %",
                "iterations": row["iterations"],
            }
            for row in _picked(rows, sweep="generator")
        ],
    }
    for sweep, label in SWEEPS.items():
        tables[f"Sweep of the {sweep}"] = [_sweep_line(case, label) for case in _by_case(rows, sweep)]
    return {title: table for title, table in tables.items() if table}


SWEEPS = {"step": "step [s]", "compliance": "compliance [m/N], [rad/(N m)]", "kappa": "kappa"}


def _by_case(rows: Rows, sweep: str) -> list[list[Mapping[str, Any]]]:
    """Rows of one estimate together."""
    cases: dict[tuple[str, float], list[Mapping[str, Any]]] = {}
    for row in _picked(rows, sweep=sweep):
        cases.setdefault((row["form"], row["value"]), []).append(row)
    return list(cases.values())


def _sweep_line(rows: Rows, label: str) -> dict[str, Any]:
    first = rows[0]
    return (
        {"form": first["form"], label: f"{first['value']:g}"}
        | {f"{row['parameter']} [%]": f"{row['error_percent']:+.2f}" for row in rows}
        | {
            "observation mean square": f"{first['observation_mse']:.2e}",
            "impulse mean square": f"{first['impulse_mse']:.2e}",
            "iterations": first["iterations"] if first["converged"] else f"{first['iterations']}, not ended",
        }
    )


def _pictures(rows: Rows) -> dict[str, Curves]:
    """Figs. 6 and 7: estimates and mean squares along each sweep, with all forms."""
    pictures = {}
    for sweep, label in SWEEPS.items():
        picked = _picked(rows, sweep=sweep)
        values_along = sorted({row["value"] for row in picked})
        if len(values_along) < 2:
            continue
        along, ends = f"log10 of {label}", np.log10(values_along)
        forms = dict.fromkeys(row["form"] for row in picked)

        def read(
            form: str, name: str, key: str, of: Rows = picked, at: Sequence[float] = values_along
        ) -> np.ndarray:
            by_value = {row["value"]: row[key] for row in _picked(of, form=form, parameter=name)}
            return np.array([by_value.get(value, np.nan) for value in at])

        for kind, names in (("inertias", INERTIAS), ("friction", FRICTIONS)):
            pictures[f"Error of {kind} along the {sweep}"] = Curves(
                ends,
                "%",
                {f"{name}, {form}": read(form, name, "error_percent") for name in names for form in forms},
                along,
            )
        pictures[f"Mean squares along the {sweep} (log10)"] = Curves(
            ends,
            "",
            {
                f"{label}, {form}": np.log10(np.maximum(read(form, FOUR[0], key), 1e-300))
                for label, key in (("observation", "observation_mse"), ("impulse", "impulse_mse"))
                for form in forms
            },
            along,
        )
    return pictures


def _notes(figures: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        "The paper's tables are damaged: arm length 0.248 m from hinge 1, pendulum 0.092 m, b2 = 1e-4 N m s/rad, shaft "
        "1e-4 kg m^2 are our reading.",
        "Friction that one finds with SPOOK's steps falls in proportion to the step less the generator's: SPOOK draws "
        "bodies back from the straight line to the curved constraint through a damper, and takes gyroscopic torques at "
        "the beginning of a step; both brake or drive by themselves as much as the step is long. The balance in joint "
        "coordinates does neither: what it finds at any step is the friction of the generator's motion, its braking in "
        "steps of 0.1 ms included.",
        f"In the generator's own steps: {OWN_SECONDS:g} s of the release from {OWN_START:g} s on, readings without "
        "noise. With noise of 1 mrad drags would need some 3 s and thirty thousand steps to be known to a percent.",
        "Sweeps bound friction to be at least 0, as the paper does; the lines of its bias are without that bound and "
        "without noise.",
        "The reduced form knows no compliance: its constraints are infinitely stiff.",
    )
