"""Table 4, Figs. 4 and 5 with a real Furuta pendulum: voltage in, two angles out, everything else estimated.

Three driven recordings give inertias, frictions, the motor's gain and drag, and the tilt of the base, each for itself
and all together; free swings of the same pendulum with the arm blocked give its inertia a second time. Parameters of
one recording are then held while states of the others are estimated (Sect. 4.5), and run in open loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from poinsot.estimators.joint import JointFit
from poinsot.stopwatch import Stopwatch

from ..case import Reproduction, Say
from . import furuta_page as page
from .furuta_fits import HeldOut, Stand, free_swings, held_out, settled, stand, with_eccentricity
from .furuta_models import CENTER, SWINGS, inertia_about_hinge, opened, with_values
from .furuta_page import ALL, Study
from .furuta_sweeps import sweep
from .recordings import DRIVEN

KAPPAS = (1e2, 1e3, 1e4, 1e5)
"""Tried on all recordings together, in the paper's units."""
FIRST_KAPPA = 1e3
"""For the encoder's eccentricity, before kappa is chosen."""
ARM_FRICTION_NAME = "shoulder.coulomb"
NOTHING: Mapping[str, float] = {}


def run(data: Path, say: Say = lambda _: None) -> Reproduction:
    """Estimates, cross-validation, open-loop simulation and sweeps.

    Args:
        data: folder of the recordings.
        say: takes sentences about the progress.
    """
    watch = Stopwatch()
    on = stand(data)
    say("free swings")
    swings = free_swings(on, FIRST_KAPPA)
    on = with_eccentricity(on, swings)
    watch.lap("free swings")
    by_kappa = {}
    for kappa in KAPPAS:
        say(f"all recordings, kappa {kappa:g}")
        by_kappa[kappa] = on.fit(list(DRIVEN), kappa)
    kappa = settled(by_kappa)
    swings = swings if kappa == FIRST_KAPPA else free_swings(on, kappa)
    watch.lap("kappa")
    fits = {ALL: by_kappa[kappa]}
    for name in DRIVEN:
        say(name)
        fits[name] = _of_one(on, name, fits[ALL], kappa)
    watch.lap("each recording")
    say("cross-validation")
    held = dict(_cross_validation(on, fits, kappa))
    rms = {(of, name): validation.rms for (of, name), validation in held.items()}
    rms |= {(ALL, name): on.simulation_rms(fits[ALL].theta, name) for name in DRIVEN}
    rms |= {(name, name): on.simulation_rms(fits[name].theta, name) for name in DRIVEN}
    watch.lap("cross-validation")
    variants = dict(_variants(data, on, fits[ALL], swings, kappa, say))
    watch.lap("variants")
    eccentricity = {
        f"{name}.{part}": swings.values[f"{SWINGS}.{part}"] for name in DRIVEN for part in ("sine", "cosine")
    }
    sweeps = sweep(data, eccentricity, say)
    watch.lap("sweeps")
    return report(Study(on, kappa, by_kappa, swings, fits, held, rms, variants, sweeps), watch.seconds)


def report(study: Study, seconds: Mapping[str, float]) -> Reproduction:
    """The page of it."""
    return Reproduction(
        "discrete-multibody",
        "000",
        "Furuta pendulum: inertia, friction, drive and tilt from voltage and two angles",
        page.lead(study),
        tuple(page.rows(study)),
        page.tables(study),
        page.figures(study),
        page.facts(study),
        curves=dict(page.curves(study)),
        notes=page.notes(study),
        seconds=seconds,
    )


def _of_one(on: Stand, name: str, whole: JointFit, kappa: float) -> JointFit:
    """From one recording; with a constant voltage the arm's dry friction is that of all of them, see the notes."""
    if not on.has_constant_voltage(name):
        return on.fit([name], kappa)
    theta = with_values(on.model, on.start, **{ARM_FRICTION_NAME: whole.values[ARM_FRICTION_NAME]})
    return on.fit(
        [name], kappa, theta, [parameter for parameter in opened([name]) if parameter != ARM_FRICTION_NAME]
    )


def _cross_validation(
    on: Stand, fits: Mapping[str, JointFit], kappa: float
) -> Iterator[tuple[tuple[str, str], HeldOut]]:
    """Of one recording, on the others."""
    for of in DRIVEN:
        for name in DRIVEN:
            if name != of:
                yield (of, name), held_out(on, fits[of], name, kappa)


def _variants(
    data: Path, on: Stand, whole: JointFit, swings: JointFit, kappa: float, say: Say
) -> Iterator[tuple[str, tuple[float, float]]]:
    """The same estimate with one choice made otherwise; each begins at the estimate itself."""
    names = list(DRIVEN)
    free = inertia_about_hinge(swings.values)
    yield "as chosen", (inertia_about_hinge(whole.values), free)

    def driven(
        where: Stand, among: list[str] = names, center: bool = True, changed: Mapping[str, float] = NOTHING
    ) -> float:
        theta = with_values(where.model, whole.theta, **changed)
        return inertia_about_hinge(where.fit(among, kappa, theta, opened(among, center=center)).values)

    say("variants: the pendulum's place")
    end_of_arm = on.model.theta[on.model.free.index(CENTER)]
    yield (
        "pendulum's centre at the arm's end, as published",
        (
            driven(on, center=False, changed={CENTER: float(end_of_arm)}),
            free,
        ),
    )
    say("variants: eccentricity")
    parts = ("sine", "cosine")
    none = {f"{name}.{part}": 0.0 for name in names for part in parts}
    centred = free_swings(replace(on, start=swings.theta), kappa, eccentric=False)
    yield "encoder taken for centred", (driven(on, changed=none), inertia_about_hinge(centred.values))
    for which, delay in zip(("least", "most"), on.allowed, strict=True):
        say(f"variants: delay {which}")
        yield f"{which} delay of the motor, {1e3 * delay:.1f} ms", (driven(stand(data, delay=delay)), free)
    say("variants: longer steps")
    yield "steps of 8 ms, free swings as they were", (driven(stand(data, samples=4)), free)
    for name in names:
        say(f"variants: without {name}")
        yield f"without {name}", (driven(on, [other for other in names if other != name]), free)
