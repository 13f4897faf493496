"""Presentation of the case `furuta`: rows for scripts, tables, headline numbers, pictures, notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from poinsot.estimators.joint import JointFit, RecordFit

from ..case import Curves
from ..presentation import finite, with_std
from .furuta_fits import HeldOut, Stand
from .furuta_models import (
    ARM_LENGTH,
    CENTER,
    DISTANCE,
    ESTIMATED,
    MASS,
    PUBLISHED,
    SWINGS,
    inertia_about_hinge,
    zero,
)
from .furuta_sweeps import COMPLIANCE, EXPLICIT, ITERATIONS, PAPER_KAPPA, RECORDING, REDUCED, Sweeps, inertias
from .mean_squares import impulse_mse, observation_mse
from .recordings import DRIVEN

ALL = "all"


@dataclass(frozen=True, eq=False)
class Study:
    """All that was computed.

    Args:
        on: the recordings.
        kappa: as chosen. by_kappa: kappa -> estimate from all recordings.
        swings: estimate from the free swings. swings_centred: with the encoder taken for centred.
        fits: "all" or recording -> estimate.
        held: (of which, on which) -> held-out figures; of one recording on another.
        rms: of "all" or recording, on recording -> of arm and pendulum in open loop [rad].
        variants: what was changed -> (inertia of the pendulum about its hinge, that of the free swings).
        sweeps: Figs. 4 and 5.
    """

    on: Stand
    kappa: float
    by_kappa: Mapping[float, JointFit]
    swings: JointFit
    fits: Mapping[str, JointFit]
    held: Mapping[tuple[str, str], HeldOut]
    rms: Mapping[tuple[str, str], tuple[float, float]]
    variants: Mapping[str, tuple[float, float]]
    sweeps: Sweeps

    @property
    def difference_percent(self) -> float:
        """Of the pendulum's inertia about its hinge, driven against free."""
        driven, free = (inertia_about_hinge(fit.values) for fit in (self.fits[ALL], self.swings))
        return 100 * (driven / free - 1)


PARAMETERS = {
    "arm.Jzz": ("arm, inertia about its centre, with the rotor", "kg m^2"),
    "pendulum.Jxx": ("pendulum, inertia about its centre, hinge's axis", "kg m^2"),
    "pendulum.Jyy": ("pendulum, inertia about its centre, across", "kg m^2"),
    "pendulum.cx": ("pendulum, centre along the arm", "m"),
    "shoulder.gain": ("motor, gain", "N m/V"),
    "shoulder.drag": ("arm, drag with back-EMF", "N m s/rad"),
    "shoulder.coulomb": ("arm, dry friction", "N m"),
    "elbow.drag": ("pendulum, drag", "N m s/rad"),
    "elbow.coulomb": ("pendulum, dry friction", "N m"),
    "world.tilt_x": ("tilt about x", "rad"),
    "world.tilt_y": ("tilt about y", "rad"),
}
ABOUT_HINGE = "pendulum, inertia about its hinge"
PUBLISHED_HINGE = PUBLISHED["pendulum.Jxx"] + MASS * DISTANCE**2
PAPER = {
    "release": {"Jbyy": 0.003964, "cost": 3.22e-5, "cross-validation": 2.46e-5},
    "pulse": {"Jbyy": 0.00384, "cost": 2.28e-6, "cross-validation": 2.36e-4},
    "swing-up": {"Jbyy": 0.003962, "cost": 3.01e-5, "cross-validation": 2.34e-5},
}
"""Table 4, of another machine: what can be compared are ratios between its recordings."""
PAPER_ITERATIONS = 6


# ------------------------------------------------------------------------------------------------- rows and figures


def rows(study: Study) -> Iterator[dict[str, Any]]:
    """Each parameter of each estimate, with both standard deviations; None where a recording does not show it."""
    for of, fit in (*study.fits.items(), (SWINGS, study.swings)):
        for name in (
            *_opened(fit),
            *(zero(recording) for recording in (SWINGS, *DRIVEN) if zero(recording) in _opened(fit, ())),
        ):
            place = fit.names.index(name)
            yield _row(of, name, fit.theta[place], fit.std[place], fit.robust_std[place])
        place = fit.names.index("pendulum.Jxx")
        yield _row(
            of, "pendulum.J_hinge", inertia_about_hinge(fit.values), fit.std[place], fit.robust_std[place]
        )


def _row(of: str, name: str, value: float, std: float, robust: float) -> dict[str, Any]:
    """One row for scripts."""
    unit = PARAMETERS[name][1] if name in PARAMETERS else "kg m^2" if "J" in name else "rad"
    return {
        "name": f"{name}, {of}",
        "recording": of,
        "parameter": name,
        "value": float(value),
        "std": finite(std),
        "robust_std": finite(robust),
        "unit": unit,
        "identifiable": bool(np.isfinite(robust) and robust < abs(value)),
    }


def _opened(fit: JointFit, among: Sequence[str] = ESTIMATED) -> list[str]:
    """The names that a fit opened, of the machine's or of all."""
    names = [fit.names[place] for place in fit.open]
    return [name for name in names if not among or name in among]


def figures(study: Study) -> dict[str, Any]:
    """The headline numbers."""
    whole = study.fits[ALL]
    return {
        "cross_validation": {of: cross_validation(study, of) for of in DRIVEN},
        "cost": {of: fit.cost for of, fit in study.fits.items()},
        "cross_validation_on": _nested({at: validation.cost for at, validation in study.held.items()}),
        "simulation_rms_rad": _nested(
            {at: {"arm": rms[0], "pendulum": rms[1]} for at, rms in study.rms.items()}
        ),
        "iterations": whole.iterations,
        "kappa": study.kappa,
        "inertia_difference_to_free_swings_percent": study.difference_percent,
        "inertia_about_hinge_kg_m2": {
            of: inertia_about_hinge(fit.values) for of, fit in (*study.fits.items(), (SWINGS, study.swings))
        },
        "variants_difference_percent": {
            variant: 100 * (driven / free - 1) for variant, (driven, free) in study.variants.items()
        },
        "motor_delay_s": float(study.on.delay),
        "unseen": {of: fit.unobservable for of, fit in study.fits.items()},
        "sweeps": list(_sweep_rows(study.sweeps)),
    }


def cross_validation(study: Study, of: str) -> float:
    """Mean cost of the other recordings' states with the parameters of one."""
    return float(np.mean([validation.cost for (model, _), validation in study.held.items() if model == of]))


def _nested(flat: Mapping[tuple[str, str], Any]) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = {}
    for (of, name), value in flat.items():
        nested.setdefault(of, {})[name] = value
    return nested


def _sweep_rows(sweeps: Sweeps) -> Iterator[dict[str, Any]]:
    """Both sweeps, as those of the simulated case are."""
    for setting, of in (("kappa", sweeps.kappa), ("compliance", sweeps.compliance)):
        for form, fits in of.items():
            for value, fit in fits.items():
                for name in ESTIMATED:
                    yield {
                        "sweep": setting,
                        "form": form,
                        "value": value,
                        "parameter": name,
                        "estimate": fit.values[name],
                        "observation_mse": observation_mse(fit),
                        "impulse_mse": impulse_mse(fit),
                    }


def lead(study: Study) -> str:
    """The result in a sentence."""
    whole = study.fits[ALL]
    tilt = np.degrees(np.hypot(whole.values["world.tilt_x"], whole.values["world.tilt_y"]))
    return (
        f"The driven recordings say that the pendulum has {1e4 * inertia_about_hinge(whole.values):.3f}e-4 kg m^2 "
        f"about its hinge, {study.difference_percent:+.2f} % from what its free swings say; the motor gives "
        f"{1e3 * whole.values['shoulder.gain']:.1f} mN m/V, and the base leans by {tilt:.1f} degrees."
    )


def facts(study: Study) -> dict[str, Any]:
    """The headline numbers for people."""
    return {
        "inertia, driven against free swings [%]": round(study.difference_percent, 2),
        "kappa, in the paper's units": f"{study.kappa:g}",
        "iterations": study.fits[ALL].iterations,
        "steps": sum(len(study.on.records[name].times) - 1 for name in DRIVEN),
        "delay of the motor [ms]": round(1e3 * float(study.on.delay), 2),
    }


# ----------------------------------------------------------------------------------------------------------- tables


def tables(study: Study) -> dict[str, list[dict[str, Any]]]:
    """All tables, in order."""
    return {
        "Estimates, with robust standard deviations": _estimates(study),
        "Cross-validation: parameters of one recording, states of another": _held_table(study),
        "Open loop: root mean square errors of arm and pendulum [mrad]": _open_loop_table(study),
        "Choosing kappa: all recordings together": _kappa_table(study),
        "What the pendulum's inertia about its hinge depends on": _variant_table(study),
        "What carries over from the paper's Table 4": _paper_table(study),
        f"Fig. 4, compliance: {RECORDING}, kappa {PAPER_KAPPA:g}, steps of 10 ms": _compliance_table(
            study.sweeps
        ),
    }


def _estimates(study: Study) -> list[dict[str, Any]]:
    columns = {"all": study.fits[ALL], **{name: study.fits[name] for name in DRIVEN}, SWINGS: study.swings}
    lines = []
    for name, (words, unit) in PARAMETERS.items():
        line: dict[str, Any] = {"parameter": f"{words} [{unit}]"}
        for of, fit in columns.items():
            opened = name in _opened(fit)
            place = fit.names.index(name)
            line[of] = with_std(fit.theta[place], fit.robust_std[place]) if opened else "-"
        line["published"] = f"{PUBLISHED[name]:.4g}" if name in PUBLISHED else "-"
        lines.append(line)
    line = {"parameter": f"{ABOUT_HINGE} [kg m^2]"}
    for of, fit in columns.items():
        place = fit.names.index("pendulum.Jxx")
        line[of] = with_std(inertia_about_hinge(fit.values), fit.robust_std[place])
    return [*lines, line | {"published": f"{PUBLISHED_HINGE:.4g}"}]


def _held_table(study: Study) -> list[dict[str, Any]]:
    lines = []
    for of in DRIVEN:
        line: dict[str, Any] = {"parameters of": of}
        for name in DRIVEN:
            cost = study.fits[of].cost if name == of else study.held[of, name].cost
            line[f"{name} [rad^2]"] = f"{cost:.3g}" + (" (own)" if name == of else "")
        line["cross-validation [rad^2]"] = f"{cross_validation(study, of):.3g}"
        lines.append(line)
    return lines


def _open_loop_table(study: Study) -> list[dict[str, Any]]:
    return [
        {"parameters of": of}
        | {
            name: ", ".join(f"{1e3 * rms:.1f}" for rms in study.rms[of, name])
            + (" (own)" if name == of else "")
            for name in DRIVEN
        }
        for of in (ALL, *DRIVEN)
    ]


def _kappa_table(study: Study) -> list[dict[str, Any]]:
    lines = []
    for kappa, fit in study.by_kappa.items():
        rms = [rms for name in DRIVEN for rms in study.on.simulation_rms(fit.theta, name)]
        lines.append(
            {
                "kappa": f"{kappa:g}" + (" (chosen)" if kappa == study.kappa else ""),
                "inertia about the hinge [1e-4 kg m^2]": round(1e4 * inertia_about_hinge(fit.values), 4),
                "arm [1e-4 kg m^2]": round(1e4 * fit.values["arm.Jzz"], 3),
                "gain [mN m/V]": round(1e3 * fit.values["shoulder.gain"], 2),
                "cost [rad^2]": f"{fit.cost:.3g}",
                "open loop, rms of all [mrad]": round(1e3 * float(np.sqrt(np.mean(np.square(rms)))), 1),
                "iterations": fit.iterations,
                "ending": fit.status.value,
            }
        )
    return lines


def _variant_table(study: Study) -> list[dict[str, Any]]:
    return [
        {
            "what": variant,
            "driven [1e-4 kg m^2]": round(1e4 * driven, 4),
            "free swings [1e-4 kg m^2]": round(1e4 * free, 4),
            "difference [%]": round(100 * (driven / free - 1), 2),
        }
        for variant, (driven, free) in study.variants.items()
    ]


def _paper_table(study: Study) -> list[dict[str, Any]]:
    """Ratios between recordings, and iterations."""
    inertia = [column["Jbyy"] for column in PAPER.values()]
    held = [column["cross-validation"] for column in PAPER.values()]
    ours = [inertia_about_hinge(study.fits[name].values) for name in DRIVEN]
    ours_held = [cross_validation(study, name) for name in DRIVEN]
    return [
        {
            "what": "spread of the pendulum's inertia between recordings [%]",
            "paper": round(_spread(inertia), 1),
            "ours": round(_spread(ours), 1),
        },
        {
            "what": "worst cross-validation by the best",
            "paper": round(max(held) / min(held), 1),
            "ours": round(max(ours_held) / min(ours_held), 1),
        },
        {"what": "iterations", "paper": PAPER_ITERATIONS, "ours": study.fits[ALL].iterations},
    ]


def _spread(values: Sequence[float]) -> float:
    return float(100 * (max(values) - min(values)) / np.mean(values))


def _compliance_table(sweeps: Sweeps) -> list[dict[str, Any]]:
    lines = []
    for form, fits in (*sweeps.compliance.items(), (REDUCED, {0.0: sweeps.kappa[REDUCED][PAPER_KAPPA]})):
        for soft, fit in fits.items():
            lines.append(
                {
                    "form": form,
                    "compliance [m/N]": f"{soft:g}",
                    **{f"{symbol} [1e-4 kg m^2]": round(1e4 * J, 4) for symbol, J in inertias(fit).items()},
                    "readings' mean square [rad^2]": f"{observation_mse(fit):.3g}",
                    "steps' mean square": f"{impulse_mse(fit):.3g}",
                    "iterations": fit.iterations,
                    "ending": fit.status.value,
                }
            )
    return lines


# --------------------------------------------------------------------------------------------------------- pictures


def curves(study: Study) -> Iterator[tuple[str, Curves]]:
    """Open loop beside the measurement; Fig. 4; Fig. 5."""
    on = study.on
    for name in DRIVEN:
        times = on.records[name].times - on.records[name].times[0]
        measured = on.readings(name)
        lines = {
            "measured": measured,
            "open loop, all recordings": on.simulated(study.fits[ALL].theta, name),
            "open loop, this recording": on.simulated(study.fits[name].theta, name),
        }
        yield f"Pendulum, {name}", Curves(times, "rad", {label: y[:, 1] for label, y in lines.items()})
        away = {f"{label}, less measured": y[:, 0] - measured[:, 0] for label, y in list(lines.items())[1:]}
        yield f"Arm in open loop, {name}", Curves(times, "rad", away)
    yield from _figure_4(study.sweeps)
    yield from _figure_5(study.sweeps)


def _figure_4(sweeps: Sweeps) -> Iterator[tuple[str, Curves]]:
    kappas = np.log10(list(next(iter(sweeps.kappa.values()))))
    softness = np.log10(list(next(iter(sweeps.compliance.values()))))
    reduced = sweeps.kappa[REDUCED][PAPER_KAPPA]
    for symbol in inertias(reduced):
        by_kappa = {f"{form} form": _line(fits, symbol) for form, fits in sweeps.kappa.items()}
        yield f"Fig. 4: {symbol}", Curves(kappas, "kg m^2", by_kappa, "log10 kappa")
        by_softness = {f"{form} form": _line(fits, symbol) for form, fits in sweeps.compliance.items()}
        by_softness["reduced form"] = np.full(len(softness), inertias(reduced)[symbol])
        yield (
            f"Fig. 4: {symbol}, compliance",
            Curves(softness, "kg m^2", by_softness, "log10 compliance [m/N]"),
        )
    for along, of, label in (
        (kappas, sweeps.kappa, "log10 kappa"),
        (softness, sweeps.compliance, "log10 compliance [m/N]"),
    ):
        errors = {}
        for form, fits in of.items():
            errors[f"readings, {form} form"] = np.log10([observation_mse(fit) for fit in fits.values()])
            errors[f"steps, {form} form"] = np.log10([impulse_mse(fit) for fit in fits.values()])
        yield f"Fig. 4: mean square errors, {label.split(' ')[1]}", Curves(along, "log10", errors, label)


def _line(fits: Mapping[float, JointFit], name: str) -> np.ndarray:
    return np.array([inertias(fit)[name] for fit in fits.values()])


def _figure_5(sweeps: Sweeps) -> Iterator[tuple[str, Curves]]:
    times = sweeps.times - sweeps.times[0]
    for column, joint in enumerate(("arm", "pendulum")):
        lines = {f"kappa {kappa:g}": errors[:, column] for kappa, errors in sweeps.errors.items()}
        yield f"Fig. 5: {joint} in open loop, less measured", Curves(times, "rad", lines)
    longest = max(len(sweeps.kappa[REDUCED][kappa].history) for kappa in sweeps.errors)
    along = np.arange(longest, dtype=float)
    for name, place in (("pendulum.Jxx", None), ("shoulder.gain", None), ("log10 of the cost", "cost")):
        lines = {}
        for kappa in sweeps.errors:
            fit = sweeps.kappa[REDUCED][kappa]
            values = np.full(longest, np.nan)
            history = [
                np.log10(step.cost) if place else step.theta[fit.names.index(name)] for step in fit.history
            ]
            values[: len(history)] = history
            lines[f"kappa {kappa:g}"] = values
        unit = "log10 rad^2" if place else PARAMETERS[name][1]
        yield f"Fig. 5: {name} by iteration", Curves(along, unit, lines, "iteration")


# ------------------------------------------------------------------------------------------------------------ notes


def notes(study: Study) -> tuple[str, ...]:
    """What differs from the paper and why."""
    on, whole = study.on, study.fits[ALL]
    inward = 1e3 * (ARM_LENGTH - whole.values[CENTER])
    low, high = (1e3 * edge for edge in on.allowed)
    return (
        "The paper's machine and recordings are not public; these are of a smaller one, whose pendulum weighs a "
        "fortieth. Its Table 4 is beside ours only where a ratio means something.",
        "Torques were not measured, and gain, inertias, frictions and weights could all be twice as large. What fixes "
        "the scale is the pendulum's weight, its mass and the distance of its centre being known; through the coupling "
        "of both hinges it fixes the arm's inertia, friction and gain too.",
        "kappa is in the paper's units: the weight of step errors is kappa times the square of the paper's m g l h "
        f"by ours. It is {study.kappa:g} by the rule that a tenfold one moves no parameter by more than its robust "
        "standard deviation; smaller ones shrink all of the arm's parameters together, as step errors are in "
        "proportion to them.",
        f"The pendulum's centre is {inward:.1f} mm short of the arm's end, where the published lengths have it; with "
        "it held there the inertia comes out as the table says.",
        "Each recording has a zero of its own of the pendulum's encoder, which counts from where it was switched on; "
        "in cross-validation it is estimated again with the states. Its eccentricity is that of the free swings.",
        f"The motor answers {low:.1f} to {high:.1f} ms after a command, by when the arm first moves.",
        *(
            f"{count} command of {name} is not in the file: the arm sets off one period before the first that is. It "
            "is put back."
            for name, count in on.restored.items()
        ),
        "Under a constant voltage the arm turns one way, so a step alone shows the motor's torque less dry friction "
        "and neither of them. There the arm's dry friction is held at that of all recordings, as the paper holds the "
        "gain where nothing excites it; gains of steps are as sure as that.",
        *_cogging(study),
        f"Single recordings are up to {_farthest(study)[0]:.1f} % off the free swings' inertia, by up to "
        f"{_farthest(study)[1]:.0f} robust standard deviations: what the model lacks is the same all through one. "
        "The agreement of all together is better than its own spread, "
        f"{_spread_of_variants(study):.1f} % when one recording is left out or a choice made otherwise.",
        "In Figs. 4 and 5 the explicit form is the paper's; it takes external impulses from how far constraints are "
        f"violated and needs them soft ({COMPLIANCE:.1g} m/N here, as soft beside the pendulum's weight as the "
        f"paper's). With steps of 10 ms it is at best {_explicit_off(study.sweeps):.0f} % off the reduced form's "
        f"inertia about the hinge, and {_unfinished(study.sweeps)}. The reduced form has no constraints.",
        *(
            f"The estimate of {of} did not converge: {fit.status.value}"
            for of, fit in study.fits.items()
            if not fit.converged
        ),
    )


def _cogging(study: Study) -> Iterator[str]:
    """Sentences on periodic disturbances of the arm, from the estimate with the smallest kappa."""
    fit = study.by_kappa[min(study.by_kappa)]
    for path in fit.paths:
        if study.on.has_constant_voltage(path.name):
            orders = " and ".join(f"{order:.0f}" for order in repeated(path))
            yield (
                f"In {path.name} the disturbance of the arm repeats {orders} times a turn: the motor cogs, and the "
                "model has no such term. These are disturbances that robust standard deviations are for."
            )


def repeated(path: RecordFit, least: float = 4.0, most: int = 2) -> list[float]:
    """The strongest orders of the arm's step errors, by turns of the arm; above `least`, below which speeds vary."""
    torque, angle = path.step_errors[:, 0] / np.diff(path.times), path.coordinates[:-1, 0]
    ahead = np.concatenate([[True], np.diff(np.maximum.accumulate(angle)) > 0])
    even = np.linspace(angle[ahead][0], angle[ahead][-1], 4096)
    values = np.interp(even, angle[ahead], torque[ahead])
    spectrum = np.abs(np.fft.rfft((values - values.mean()) * np.hanning(len(even))))
    orders = np.arange(len(spectrum)) / ((even[-1] - even[0]) / (2 * np.pi))
    inside = np.flatnonzero((spectrum[1:-1] > spectrum[:-2]) & (spectrum[1:-1] >= spectrum[2:])) + 1
    peaks = [k for k in inside if orders[k] > least]
    strong = sorted(peaks, key=lambda k: -spectrum[k])
    ticks: list[float] = []
    for k in strong:
        apart = all(abs(orders[k] - order) > 1 for order in ticks)
        if apart and len(ticks) < most and spectrum[k] > 0.5 * spectrum[strong[0]]:
            ticks.append(float(orders[k]))
    return sorted(ticks)


def _farthest(study: Study) -> tuple[float, float]:
    """Of single recordings' inertia about the hinge from that of the free swings [%], and in standard deviations."""
    free = inertia_about_hinge(study.swings.values)
    away = {name: abs(inertia_about_hinge(study.fits[name].values) - free) for name in DRIVEN}
    std = {name: fit.robust_std[fit.names.index("pendulum.Jxx")] for name, fit in study.fits.items()}
    return 100 * max(away.values()) / free, max(float(away[name] / std[name]) for name in DRIVEN)


def _spread_of_variants(study: Study) -> float:
    """The largest difference among them [%]."""
    return max(100 * abs(driven / free - 1) for driven, free in study.variants.values())


def _explicit_off(sweeps: Sweeps) -> float:
    """The least difference of the explicit form's inertia about the hinge from the reduced one's [%]."""
    reduced = inertia_about_hinge(sweeps.kappa[REDUCED][PAPER_KAPPA].values)
    return min(
        100 * abs(inertia_about_hinge(fit.values) / reduced - 1)
        for fit in sweeps.compliance[EXPLICIT].values()
    )


def _unfinished(sweeps: Sweeps) -> str:
    fits = [*sweeps.compliance[EXPLICIT].values(), *sweeps.kappa[EXPLICIT].values()]
    ended = sum(fit.converged for fit in fits)
    return f"{ended} of {len(fits)} such estimates end within {ITERATIONS} iterations"
