"""Identification of a body that is tossed in space: inertia by mass, friction, restitution and its law."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from ....arrays import Matrix, Vector
from ....diagnosis.tosses import diagnose_tosses
from ....estimate import Certificate, Estimate, Provenance, Status, condition_numbers, extras_of
from ....estimate.extras import Extra
from ....estimate.fit import fit_of
from ....estimate.motions import (
    EstimatedMotion,
    EstimatedMotions,
    Impact,
    Impacts,
    SensorFit,
    TossScene,
    likely_law,
    path_of,
)
from ....exceptions import InvalidMethod, check_known
from ....models.rotations import to_quaternion
from ....models.spatial.impacts import LAWS
from ....solve import Method, ProgressCallback, Stop, stop_requested
from ....stopwatch import Stopwatch
from ..problem import WITHOUT_MASS, estimated_parameters, impulse_unit
from .fitting import TossesFit, fitted, inertia_chart, surveyed
from .kernels import (
    FRICTION,
    GRAVITY_RATIO,
    HEIGHT,
    IN_IMPACTS,
    POINT,
    RADIUS,
    RESTITUTION,
    SHIFT,
    TILT_X,
    S,
    inertia_of,
)
from .pool import state_at
from .problem import AXES, BODY, TossesProblem

PAIRS = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
"""Order of the inertia's entries."""
SCALARS = (
    ("friction", "1", "friction", FRICTION),
    ("restitution", "1", "restitution", RESTITUTION),
    *((f"tracked_offset_{axis}", "m", "geometry", POINT + i) for i, axis in enumerate(AXES)),
    *((f"shape_offset_{axis}", "m", "geometry", SHIFT + i) for i, axis in enumerate(AXES)),
    ("corner_radius", "m", "geometry", RADIUS),
    ("floor_height", "m", "geometry", HEIGHT),
    ("floor_tilt_1", "rad", "geometry", TILT_X),
    ("floor_tilt_2", "rad", "geometry", TILT_X + 1),
    ("gravity_ratio", "1", "geometry", GRAVITY_RATIO),
)
"""Name, unit, kind and place in theta of the other parameters."""
OF_IMPACTS = "impact_friction"
STEP = 1e-6
JUMP = tuple(f"jump of velocity, {side}" for side in ("normal", "along the plane", "across"))


STATIONARY = 0.05
"""Largest length of the remaining step, in standard deviations, of a certificate that holds."""


@dataclass(frozen=True, eq=False)
class TossFlights(Extra):
    """States of flights and instants of impacts of an estimate, which its certificate needs."""

    key: ClassVar[str] = "flights"

    fit: TossesFit

    def as_json(self) -> dict[str, Any]:
        states = self.fit.best.states
        return {"impact_times_s": [impact.t for state in states for impact in state.impacts]}

    def certify(self, estimate: Estimate) -> Certificate:
        """stationarity is the largest step that remains, in standard deviations, of theta at the estimate's values."""
        best, theta = self.fit.best, self.fit.theta.copy()
        values = dict(zip(estimate.names, estimate.values.tolist(), strict=True))
        theta[6:] = scalars_of(values)
        J = ratios_of(values)
        if np.linalg.eigvalsh(0.5 * np.trace(J) * np.eye(3) - J)[0] <= 0:
            return Certificate(float("inf"), False, STATIONARY)
        theta[:6] = inertia_chart(J)
        linear, prior = best.pool.linearized(theta, best.states), best.pool.prior_rows(theta)
        step = np.linalg.solve(linear.H.sum(axis=0) + prior[0], linear.b.sum(axis=0) + prior[1])
        std = np.sqrt(np.diag(self.fit.covariance))
        return Certificate(float(np.max(np.abs(step) / std)), True, STATIONARY)


def scalars_of(values: Mapping[str, float]) -> Vector:
    """(S - 6,) theta after the chart of the inertia, of the parameters of a result."""
    theta = np.zeros(S)
    for name, _, _, k in SCALARS:
        theta[k] = values[name]
    theta[IN_IMPACTS] = values.get(OF_IMPACTS, values["friction"]) - values["friction"]
    return theta[6:]


def ratios_of(values: Mapping[str, float]) -> Matrix:
    """(3, 3) J/m of the parameters of a result [m^2]."""
    J = np.zeros((3, 3))
    for i, j in PAIRS:
        J[i, j] = J[j, i] = values[f"J{AXES[i]}{AXES[j]}/m"]
    return J


def theta_of(values: Mapping[str, float], names: Sequence[str], covariance: Matrix) -> tuple[Vector, Matrix]:
    """Theta (S,), and its covariance, of the parameters of a result and the covariance of those named.

    Raises:
        InvalidMethod: if J/m is that of no body.
    """
    J = ratios_of(values)
    if np.linalg.eigvalsh(0.5 * np.trace(J) * np.eye(3) - J)[0] <= 0:
        raise InvalidMethod("J/m of the result is that of no body")
    theta = np.concatenate([inertia_chart(J), scalars_of(values)])
    by_names = np.zeros((S, len(names)))
    for k, name in enumerate(names):
        moved = dict(values)
        moved[name] += (step := STEP * max(abs(values[name]), STEP))
        by_names[:, k] = np.concatenate([inertia_chart(ratios_of(moved)), scalars_of(moved)])
        by_names[:, k] = (by_names[:, k] - theta) / step
    return theta, by_names @ covariance @ by_names.T


@dataclass(frozen=True)
class TossIdentification(Method):
    """Identification of a body that is tossed in space.

    Args:
        restitution: law of `LAWS`, or "auto": each, of which the likeliest counts.

    Raises:
        InvalidMethod: if the law is not one of them.
    """

    restitution: str = "auto"

    name = "impacts"

    def __post_init__(self) -> None:
        known = ("auto", *LAWS)
        check_known(
            self.restitution, known, "no law of restitution is called", "known are", InvalidMethod, len(known)
        )

    @threadpool_limits.wrap(limits=1, user_api="blas")  # matrices are small: threads only cost
    def solve(
        self, problem: TossesProblem, *, progress: ProgressCallback | None = None, stop: Stop | None = None
    ) -> Estimate:
        """J/m, friction and restitution, and the geometry of contact, with tests on tosses that were left out.

        Raises:
            NotIdentifiable: if the tosses determine nothing.
        """
        watch = Stopwatch()
        fit = fitted(problem, self.restitution, progress=progress, stop=stop)
        watch.lap("solve")
        estimate = estimate_of(problem, fit)
        watch.lap("summary")
        status = Status.interrupted if stop_requested(stop) else estimate.status
        citations = ("routh1905", "stronge2000")
        return estimate.updated(method=self.name, citations=citations, seconds=watch.seconds, status=status)


def estimate_of(problem: TossesProblem, fit: TossesFit) -> Estimate:
    """The estimate of a fit."""
    rows, covariance = _parameters(problem, fit)
    parameters = estimated_parameters(problem.name, rows, covariance, len(fit.best.linear.b) > 1)
    jumps = fit.jumps()
    times = np.array([time for time, *_ in jumps])
    measured, own, others = (np.array([row[k] for row in jumps]) for k in (1, 2, 3))
    units = ("m/s",) * 3
    status = Status.solved if fit.best.settled else Status.unsettled
    normal = fit.best.linear.H.sum(axis=0) + fit.best.pool.prior_rows(fit.theta)[0]
    condition, scaled = condition_numbers(normal)
    counted = len(fit.counted)
    skipped = [impact.why for state in fit.best.states for impact in state.impacts if impact.why]
    law = likely_law({name: each.log_likelihood for name, each in fit.laws.items()})
    notes = [
        f"{counted} impacts of {len({state.toss.name for state, _ in fit.counted})} tosses are used; "
        f"{len(skipped)} do not count" + _counts(skipped) + ".",
        *_slid(fit),
        f"Restitution is by {fit.law}"
        + (", the likeliest law." if law else "; the tosses do not say which law holds.")
        if len(fit.laws) > 1
        else f"Restitution is by {fit.law}, as set.",
    ]
    notes += [WITHOUT_MASS] if problem.mass is None else []
    return Estimate(
        method="",
        robot=problem.name,
        parameters=parameters,
        status=status,
        condition_number=condition,
        scaled_condition_number=scaled,
        problem=problem,
        examiner=partial(diagnose_tosses, surveyed=surveyed(problem), several=len(problem.tosses) > 1),
        extras=extras_of(
            EstimatedMotions(_motions(fit)), Impacts(_impacts(problem, fit)), _scene(fit), TossFlights(fit)
        ),
        provenance=Provenance(
            warnings=(
                *problem.warnings,
                *(() if fit.best.settled else ("Tolerances still changed; intervals may be off.",)),
            ),
            notes=tuple(notes),
        ),
        rows=counted,
        iterations=fit.rounds,
        fit=fit_of(times, JUMP, units, measured, own, ordered=False),
        validation=(
            fit_of(
                times, JUMP, units, measured, others, recording="tosses that were left out", ordered=False
            ),
        ),
    )


def _slid(fit: TossesFit) -> list[str]:
    """What slides say of friction."""
    found = [
        float(fit.theta[FRICTION]) - fit.geometry.braked(fit.theta, slide)
        for state in fit.best.states
        for slide in state.slides
    ]
    if not found:
        return []
    low, middle, high = np.quantile(found, [0.25, 0.5, 0.75])
    return [
        f"In {len(found)} stretches in which the body slides its friction is {middle:.3g} (median), quartiles "
        f"{low:.3g} and {high:.3g}."
        + (f" Impacts have another, {OF_IMPACTS}." if fit.differs else " Impacts agree with it.")
    ]


def _counts(reasons: Sequence[str]) -> str:
    listed = ", ".join(f"{reasons.count(why)} ({why})" for why in dict.fromkeys(reasons))
    return f": {listed}" if listed else ""


def _parameters(
    problem: TossesProblem, fit: TossesFit
) -> tuple[list[tuple[str, str, str, float, bool]], Matrix]:
    """Name, unit, kind, value and whether it is identifiable, of each parameter, and their covariance."""
    theta, J = fit.theta, inertia_of(fit.theta[:6])
    D = np.zeros((6, len(theta)))
    for k in range(6):
        moved = theta[:6].copy()
        moved[k] += STEP
        change = (inertia_of(moved) - J) / STEP
        D[:, k] = [change[pair] for pair in PAIRS]
    rows = [(f"J{AXES[i]}{AXES[j]}/m", "m^2", "inertia", float(J[i, j]), True) for i, j in PAIRS]
    blocks = [D]
    for name, unit, kind, k in SCALARS:
        rows.append((name, unit, kind, float(theta[k]), True))
        blocks.append(np.eye(S)[k : k + 1])
    if fit.differs:
        both = np.eye(S)[[FRICTION, IN_IMPACTS]].sum(axis=0)
        rows.append((OF_IMPACTS, "1", "friction", float(both @ theta), True))
        blocks.append(both[None])
    if problem.mass is not None:
        rows += [
            (name.removesuffix("/m"), "kg m^2", kind, problem.mass * x, True)
            for name, _, kind, x, _ in rows[:6]
        ]
        blocks.append(problem.mass * D)
    A = np.concatenate(blocks)
    return rows, np.asarray(A @ fit.covariance @ A.T)


def _impacts(problem: TossesProblem, fit: TossesFit) -> list[Impact]:
    """Impulses and restitution of the impacts that count."""
    factor, unit = impulse_unit(problem.mass)
    impacts, J = [], inertia_of(fit.theta[:6])
    for state, impact in fit.counted:
        a, b = (state_at(f, impact.t, fit.geometry, fit.theta) for f in state.flights[impact.before :][:2])
        n, jump = fit.normal, b[1] - a[1]
        r = fit.lever(impact.corner, a[2])
        before, after = (x[1] + np.cross(x[2] @ x[3], r) for x in (a, b))
        along, approach = float(n @ jump), float(n @ before)
        side = float(np.linalg.norm(jump - along * n))
        bounce = -float(n @ after) / approach if approach < 0 else float("nan")
        energy = [0.5 * float(v @ v + w @ J @ w) for _, v, _, w in (a, b)]
        place, lost = f"corner {impact.corner + 1}", (problem.mass or 1.0) * (energy[0] - energy[1])
        name, sizes = state.toss.name, (factor * along, factor * side)
        impacts.append(Impact(name, impact.t, place, *sizes, unit, bounce, "", lost))
    return impacts


def _motions(fit: TossesFit) -> list[EstimatedMotion]:
    """Places of the center of mass and orientations as tracked, and residuals in flight."""
    motions = []
    for state in fit.best.states:
        toss = state.toss
        places = toss.places - toss.rotations @ fit.theta[POINT : POINT + 3]
        q = to_quaternion(toss.rotations)
        columns: list[Any] = [(f"position.{axis}", "m", places[:, k], None) for k, axis in enumerate(AXES)]
        columns += [(f"orientation.{BODY}.{axis}", "1", q[:, k], None) for k, axis in enumerate((*AXES, "w"))]
        expected = np.full_like(places, np.nan)
        for flight in state.flights:
            part = slice(flight.begin, flight.end)
            at = [state_at(flight, float(t), fit.geometry, fit.theta) for t in toss.times[part]]
            expected[part] = np.array([p for p, *_ in at])
        measured = np.where(np.isfinite(expected), places, np.nan)
        names = tuple(f"position.{axis}" for axis in AXES)
        sensor = SensorFit(
            "position",
            names,
            ("m",) * 3,
            measured,
            np.nan_to_num(expected),
            names,
            (measured - expected) / fit.best.pool.std[0],
        )
        motions.append(EstimatedMotion(toss.name, path_of(toss.name, toss.times, columns), (sensor,)))
    return motions


def _scene(fit: TossesFit) -> TossScene:
    point = fit.geometry.plane[0] + fit.theta[HEIGHT] * fit.normal
    likelihoods = {name: each.log_likelihood for name, each in fit.laws.items()}
    return TossScene(fit.geometry.corners, point, fit.normal, float(fit.theta[FRICTION]), likelihoods)
