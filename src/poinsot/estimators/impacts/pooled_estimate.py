"""The estimate of pooled drops: J/m and the geometry of contact, predictions of held-out drops; its certificate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...estimate import (
    Direction,
    Estimate,
    EstimatedParameters,
    Fit,
    Provenance,
    Status,
    Uncertainty,
    condition_numbers,
    extras_of,
)
from ...estimate.fit import fit_of
from ...estimate.motions import POSE, EstimatedMotion, EstimatedMotions, Impact, Impacts, Scene, SensorFit
from ...models.planar.contact import wall_array
from ...recording import Recording
from .agreement import Agreement
from .contact_parameters import OF_FLIGHTS, SHARED, UNITS, S, bounds
from .flights import Drop, of_center
from .pooled_fit import SLIDES, FlightStates, PooledFit
from .problem import WITHOUT_MASS, ImpactsProblem, impulse_unit

MEDIAN_ERROR_FACTOR = 1.4826
"""Standard deviation by the median of absolute errors, of normal variables."""
JUMP = "jump of the spin"


def _parameters(problem: ImpactsProblem, fit: PooledFit) -> EstimatedParameters:
    """Parameters from theta, medians over impacts, and the mass."""
    mass = problem.mass
    friction, restitution = fit.friction, fit.restitution
    sliding = (np.nan, np.nan) if friction is None else (friction.median, friction.std)
    medians = [sliding, (restitution.median, restitution.std)]
    names = ["J/m", *SHARED[1:], "friction", "restitution"]
    units = [*UNITS, "1", "1"]
    kinds = ["inertia"] + ["geometry"] * (S - 1) + ["friction", "restitution"]
    values = [*fit.shared, *(value for value, _ in medians)]
    covariance = np.zeros((S + 2 + (mass is not None),) * 2)
    covariance[:S, :S] = fit.covariance
    covariance[range(S, S + 2), range(S, S + 2)] = [std**2 for _, std in medians]
    if mass is not None:
        names, units, kinds = [*names, "J"], [*units, "kg m^2"], [*kinds, "inertia"]
        values.append(mass * fit.inertia_to_mass)
        covariance[-1, :S] = covariance[:S, -1] = mass * fit.covariance[0]
        covariance[-1, -1] = mass**2 * fit.covariance[0, 0]
    held = np.array([name in fit.held for name in ("inertia_to_mass", *names[1:])])
    unobservable = np.append(fit.is_unobservable, np.zeros(len(names) - S, dtype=bool))
    known_values = np.where(unobservable, np.nan, values)
    identifiable = ~held & np.isfinite(known_values)
    return EstimatedParameters(
        names=tuple(names),
        units=tuple(units),
        owners=(problem.name,) * len(names),
        kinds=tuple(kinds),
        groupings=tuple(names),
        values=known_values,
        identifiable=identifiable,
        uncertainty=Uncertainty(**{"correlation" if fit.scattered else "readings": covariance}),
    )


def _condition_numbers(fit: PooledFit, seen: np.ndarray) -> tuple[float, float]:
    """Of the whitened Jacobian by the identifiable parameters, all other unknowns eliminated; scaled as well."""
    problem, at, system = fit.problem, fit.at, fit.system
    S_bar = problem.reduced(at, problem.linearized(at, system.std)).S_bar.sum(axis=0)
    modes, chosen = np.arange(S, len(S_bar)), np.flatnonzero(seen)
    of_modes = S_bar[np.ix_(modes, modes)] + np.diag(problem.prior[S:])
    cross = S_bar[np.ix_(modes, chosen)]
    # modes of the floor are eliminated with their prior, the other parameters have none here
    return condition_numbers(S_bar[np.ix_(chosen, chosen)] - cross.T @ np.linalg.solve(of_modes, cross))


def pooled_estimate(problem: ImpactsProblem, fit: PooledFit, agreed: Agreement) -> Estimate:
    """The estimate that a fit of the problem's drops gives."""
    used, parameters = fit.used, _parameters(problem, fit)
    condition, scaled = _condition_numbers(fit, parameters.identifiable[:S])
    # robust standard deviation of the residuals of consistency [rad/s]
    typical = max(float(np.median([abs(each.inconsistency) for each in used])) * MEDIAN_ERROR_FACTOR, 1e-12)
    drops = np.array([each.drop for each in agreed.held_out])
    filmed = [drop for drop in problem.drops if drop.flights is None]
    warning = f"Tolerances still changed after {fit.rounds} rounds; intervals may be off."
    unsettled = () if fit.status.converged else (warning,)
    factor, unit = impulse_unit(problem.mass)
    impacts = (
        Impact(
            each.drop,
            each.time,
            f"corner {each.part + 1}",
            factor * each.normal_impulse,
            factor * each.tangential_impulse,
            unit,
            each.restitution,
            "slides" if each.mode == SLIDES else "",
            float("nan"),
            each.share,
        )
        for each in used
    )
    return Estimate(
        method="",
        robot=problem.name,
        parameters=parameters,
        status=Status.partly
        if fit.status.converged and not parameters.identifiable.all()
        else {Status.step_limit: Status.unsettled}.get(fit.status, fit.status),
        condition_number=condition,
        scaled_condition_number=scaled,
        rows=5 * len(used),
        fit=jumps(
            [(each.time, each.jump_of_omega, each.jump_of_omega - each.inconsistency) for each in used]
        ),
        undetermined=tuple(Direction(name, "unexcited") for name in fit.unobservable),
        validation=(
            jumps(
                [(each.time, each.jump_of_omega, each.from_jump) for each in agreed.held_out],
                "held-out impacts, drop by drop",
            ),
        ),
        problem=replace(fit, mass=problem.mass),
        examiner=problem.examiner(
            held_out={name: agreed.errors[drops == name] for name in np.unique(drops)},
            upper=dict(zip(SHARED[1:], bounds(problem.shape.size)[1].tolist()[1:], strict=True)),
        ),
        iterations=fit.rounds,
        extras=extras_of(
            *([EstimatedMotions(tuple(_motion(drop, fit, typical) for drop in filmed))] if filmed else []),
            Impacts(impacts),
            Scene(
                problem.shape.outline(),
                wall_array(problem.walls),
                np.nan if fit.friction is None else fit.friction.median,
                np.nan if fit.friction is not None else fit.friction_bound,
            ),
            FlightStates(fit.at),
        ),
        provenance=Provenance(
            warnings=(*problem.warnings, *unsettled), notes=tuple(_notes(problem, fit, agreed))
        ),
    )


def _motion(drop: Drop, fit: PooledFit, typical: float) -> EstimatedMotion:
    """Poses of the center of mass: as tracked, less offsets; and jumps of the spin at frames of impacts."""
    poses = of_center(drop, fit.shared[OF_FLIGHTS][:2])
    poses[:, 2] += fit.value("angle_offset")
    measured, expected = np.full((len(drop.times), 1), np.nan), np.zeros((len(drop.times), 1))
    for impact in fit.used:
        if impact.drop == drop.name:
            frame = int(np.abs(drop.times - impact.time).argmin())
            measured[frame] = impact.jump_of_omega
            expected[frame] = impact.jump_of_omega - impact.inconsistency
    spin = SensorFit(JUMP, (JUMP,), ("rad/s",), measured, expected, (JUMP,), (measured - expected) / typical)
    return EstimatedMotion(
        drop.name,
        Recording(
            drop.times,
            {f"position.{axis}": values for axis, values in zip(POSE, poses.T, strict=True)},
            {f"position.{axis}": unit for axis, unit in POSE.items()},
            {},
            {"estimated": drop.name},
        ),
        (spin,),
    )


def _notes(problem: ImpactsProblem, fit: PooledFit, agreed: Agreement) -> list[str]:
    low, high = fit.inertia_interval
    J, used = fit.inertia_to_mass, fit.used
    moves = ", ".join(f"{name} {100 * (value / J - 1):+.1f} %" for name, value in agreed.assumed.items())
    verdicts = Counter(impact.verdict for impact in fit.impacts if not impact.used)
    notes = [
        f"J/m is {1e6 * J:.4g} mm^2, 95 % from {1e6 * low:.4g} to {1e6 * high:.4g} (leaving out drops)"
        + (
            f"; random halves of the drops agree within {100 * agreed.halves_difference:.2g} % in 95 % of splits."
            if np.isfinite(agreed.halves_difference)
            else "; there are too few for halves to be compared."
        ),
        f"{len(used)} impacts of {len({each.drop for each in used})} drops are used; spin jumps of held-out drops "
        f"are predicted to {np.median(agreed.errors):.2g} rad/s (median).",
        f"{sum(verdicts.values())} impacts do not count for J/m"
        + "".join(f"{', ' if k else ': '}{n} ({why})" for k, (why, n) in enumerate(verdicts.most_common()))
        + ".",
        f"Change of J/m under assumptions: {moves or 'not computed, as the search was interrupted'}.",
    ]
    for name, spread in (("Friction, where it slides,", fit.friction), ("Restitution", fit.restitution)):
        if spread is not None:
            notes.append(
                f"{name} is {spread.median:.3g} (median), quartiles {spread.lower:.3g} and "
                f"{spread.upper:.3g}, over {spread.count} impacts."
            )
    if fit.friction is None:
        notes.append(
            f"No impact slides, so friction is at least {fit.friction_bound:.3g}, and no value is given."
        )
    if problem.mass is None:
        notes.append(WITHOUT_MASS)
    return notes


def jumps(rows: Sequence[tuple[float, float, float]], recording: str = "") -> Fit:
    """The fit of jumps of the spin, (time, measured, predicted); each drop has its own clock, so rows have no order."""
    times, measured, predicted = np.hsplit(np.array(rows, dtype=float).reshape(-1, 3), 3)
    columns = times[:, 0], (JUMP,), ("rad/s",), measured, predicted
    return fit_of(*columns, recording=recording, ordered=False)
