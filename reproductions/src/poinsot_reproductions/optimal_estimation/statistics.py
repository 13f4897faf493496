"""Consistency of the covariance: many recordings of each system, each solved from its description's body.

A recording is of the very model that the estimator has, so that nothing but noise makes it err,

    x_{k+1} = f(x_k, u_k; theta) [+] w_k,   w ~ N(0, diag(sigma_w^2)),      z_k = h(x_k, u_k; theta) [+] N(0, Sigma_z)

with the standard deviations that the estimator assumes; commands are noisy too, and are estimated. The first state is
uncertain by what is known of it, and the open body is another each time: the description's, stretched and sheared, off
its place and of another density. Nothing is known of theta beforehand, and the iteration starts at the description.

The mean of squared errors over the recordings (`normalized_errors`) is compared with the 99 % band of a chi-square
mean, and how many 95 % intervals hold the truth with the 99 % band of the binomial distribution: of each coordinate of
the chart, and of mass, centre of mass and inertia about it. The arm moves for longer than elsewhere, 3 s, so that its
chart is as good as straight over what the recording leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from poinsot.arrays import Vector
from poinsot.estimators.shooting.ddp import DDP, posterior
from poinsot.inertia.parameters import from_pseudo_inertia, pseudo_inertia
from poinsot.stopwatch import Stopwatch
from poinsot.studies.store import Store
from poinsot.studies.study import Study

from ..case import Curves, Reproduction, Say
from ..normalized_errors import (
    BAND,
    INTERVAL,
    PHYSICAL,
    coverage,
    covered_band,
    errors_by_name,
    errors_in_std,
    inertial_error,
    mean_in_band,
    share_of,
    squared_error,
)
from ..presentation import counted, coverage_curves
from .guesses import measured_guess
from .systems import (
    NOISE,
    System,
    fly,
    kinova,
    quadrotor,
)

ARM = 151, 0.02
"""Samples and period [s] of the arm's recordings."""
MOVED: dict[str, Callable[[], System]] = {"Kinova": partial(kinova, *ARM), "Quadrotor": quadrotor}
RECORDINGS, FEW = 200, 20
"""Of each system, in full and in short."""
MAX_STEPS = 60
OTHERNESS = 0.1
"""Standard deviation of what makes the true body another: strains, half the logarithm of its density, and its offset
in parts of its size."""
JUDGED = (
    *("degrees", "nees_mean", "band", "chi_square_p", "others"),
    *("coverage", "covered_band", "covered_band_of_all"),
)
"""Keys of a row that are None where no recording was solved."""


@dataclass(frozen=True)
class Job:
    """One recording.

    Args:
        system: which.
        number: of the recording, from 0.
        seed: of the case.
    """

    system: str
    number: int
    seed: int


# ------------------------------------------------------------------------------------------------------- one recording


def attempt(job: Job) -> dict[str, Any]:
    """Solve one recording.

    `squares` has pairs of a squared error and its degrees of freedom, of theta, pi and two states; `off` has the error
    of each quantity in standard deviations.
    """
    described = _described(job.system)
    rng = np.random.default_rng([job.seed, list(MOVED).index(job.system), job.number])
    flown = fly(another(described, rng), rng, equivalent=False)
    parameters = flown.system.parameters(described.open_bodies)
    theta = described.parameters(described.open_bodies).nominal_theta
    problem = replace(flown.problem(parameters, theta), scale=parameters.natural_scale(theta))
    solution = DDP(max_iterations=MAX_STEPS).solve(problem, measured_guess(flown, parameters, theta))
    result = {
        "ending": solution.status.name,
        "converged": solution.status.converged,
        "iterations": solution.iterations,
    }
    if not solution.status.converged:
        return result
    sure = posterior(problem, solution.at)
    x, states = solution.at.x[0], flown.system.states
    away = states.difference(x, flown.x)
    e_pi, D = inertial_error(parameters, solution.theta)
    squares = {
        "theta": squared_error(solution.theta - parameters.nominal_theta, sure.theta, sure.unobservable),
        "pi": squared_error(e_pi, D @ sure.theta @ D.T, D @ sure.unobservable),
    }
    for name, node in (("middle state", len(x) // 2), ("last state", len(x) - 1)):
        squares[name] = squared_error(away[node], sure.states[0][node])
    return result | {
        "squares": squares,
        "off": errors_in_std(parameters, solution.theta, sure.theta, sure.unobservable),
    }


@cache
def _described(system: str) -> System:
    """The system as described."""
    return MOVED[system]()


def another(system: System, rng: np.random.Generator) -> System:
    """The system with other open bodies: all points of one go p -> (1 + E) p + d, its density times r: r A J A^T."""
    pi = system.parameters(()).all_inertials.copy()
    for place in system.parameters(system.open_bodies).places:
        J = pseudo_inertia(pi[place])
        size = np.sqrt(np.trace(J[:3, :3]) / J[3, 3])
        A = np.eye(4)
        A[:3] += OTHERNESS * rng.standard_normal((3, 4)) * np.array([1.0, 1.0, 1.0, size])
        pi[place] = from_pseudo_inertia(np.exp(2 * OTHERNESS * rng.standard_normal()) * A @ J @ A.T)
    return replace(system, inertials=pi)


# ------------------------------------------------------------------------------------------------------ all recordings


def run(
    seed: int,
    recordings: int | None = None,
    robots: Sequence[str] = tuple(MOVED),
    executor: Executor | None = None,
    folder: Path | None = None,
    quick: bool = False,
    say: Say = lambda _: None,
) -> Reproduction:
    """Simulate, solve, and compare errors with their covariances.

    Args:
        seed: of motions, bodies and noise.
        recordings: of each system; None: 200, or 20 if `quick`.
        robots: which systems.
        executor: of the solves; None: processes of its own.
        folder: where to keep what is done; None: the user's cache.
        quick: a few recordings, and nothing kept.
    """
    watch = Stopwatch()
    recordings = recordings or (FEW if quick else RECORDINGS)
    jobs = {f"{system} {k}": Job(system, k, seed) for system in robots for k in range(recordings)}
    store = None if quick else Store("statistics", _settings(seed), folder)
    found = Study(jobs, attempt).run(executor, store, say=say)
    watch.lap("solves")
    results = {system: [found[f"{system} {k}"] for k in range(recordings)] for system in robots}
    rows = tuple(judged(system, each) for system, each in results.items())
    return Reproduction(
        "optimal-estimation",
        "001",
        "Statistics: errors and intervals against the covariance of the estimate",
        _lead(rows),
        rows,
        {
            "Squared errors": [line for row in rows for line in _errors_table(row)],
            f"Share of {100 * INTERVAL:g} % intervals that hold the truth": _coverage_table(rows),
        },
        _figures(rows),
        _facts(robots),
        curves=_pictures(results),
        notes=NOTES,
        seconds=watch.seconds,
    )


def _settings(seed: int) -> dict[str, Any]:
    """All that a result depends on."""
    return {
        "seed": seed,
        "method": str(asdict(DDP(max_iterations=MAX_STEPS))),
        "noise": NOISE,
        "bodies": OTHERNESS,
        "arm": ARM,
    }


def judged(system: str, results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A system's row, over the recordings that were solved; all that depends on them is None if none was."""
    solved = [result for result in results if result["converged"]]
    row = {
        "name": system,
        "system": system,
        "recordings": len(results),
        "solved": len(solved),
        "iterations_mean": float(np.mean([each["iterations"] for each in results])),
        "endings": counted(each["ending"] for each in results),
    }
    if not solved:
        return row | dict.fromkeys(JUDGED)
    squares = {of: [each["squares"][of] for each in solved] for of in solved[0]["squares"]}
    means = {of: mean_in_band(pairs) for of, pairs in squares.items()}
    row |= means.pop("theta")
    covered = coverage(solved)
    return row | {
        "others": means,
        "coverage": covered,
        "covered_band": covered_band(len(solved)),
        "covered_band_of_all": covered_band(len(solved), max(len(covered), 1)),
    }


def _inside(value: float, band: Sequence[float]) -> bool:
    return bool(band[0] <= value <= band[1])


def _outside(row: Mapping[str, Any], band: str) -> list[str]:
    return [name for name, share in row["coverage"].items() if not _inside(share, row[band])]


def _figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    judged = [row for row in rows if row["solved"]]
    return {
        "solved_fraction": {row["system"]: row["solved"] / row["recordings"] for row in rows},
        "nees_per_degree": {row["system"]: row["nees_mean"] / row["degrees"] for row in judged},
        "nees_in_band": {row["system"]: _inside(row["nees_mean"], row["band"]) for row in judged},
        "others_in_band": {
            row["system"]: {
                of: _inside(each["nees_mean"], each["band"]) for of, each in row["others"].items()
            }
            for row in judged
        },
        "coverage_lowest": {row["system"]: min(row["coverage"].values(), default=None) for row in judged},
        "coverage_highest": {row["system"]: max(row["coverage"].values(), default=None) for row in judged},
        "outside_band": {row["system"]: _outside(row, "covered_band") for row in judged},
        "outside_band_of_all": {row["system"]: _outside(row, "covered_band_of_all") for row in judged},
    }


def _errors_table(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    if not row["solved"]:
        return []
    every = {"theta": row} | row["others"]
    return [_errors_line(row, judged) | {"of": of} for of, judged in every.items()]


def _errors_line(row: Mapping[str, Any], judged: Mapping[str, Any]) -> dict[str, Any]:
    low, high = judged["band"]
    return {
        "system": row["system"],
        "of": "theta",
        "solved": f"{row['solved']} of {row['recordings']}",
        "degrees of freedom": f"{judged['degrees']:g}",
        "mean": f"{judged['nees_mean']:.3f}",
        f"{100 * BAND:g} % band": f"{low:.3f} to {high:.3f}",
        "inside": "yes" if _inside(judged["nees_mean"], judged["band"]) else "no",
        "p of chi-square": f"{judged['chi_square_p']:.2g}",
    }


def _coverage_table(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    judged = [row for row in rows if row["solved"]]
    names = dict.fromkeys(name for row in judged for name in row["coverage"])

    def shown(row: Mapping[str, Any], name: str) -> str:
        share = row["coverage"].get(name)
        if share is None:
            return "-"
        return f"{100 * share:.1f} %" + ("" if _inside(share, row["covered_band"]) else ", outside")

    lines = [{"of": name} | {row["system"]: shown(row, name) for row in judged} for name in names]
    bands = {
        f"{100 * BAND:g} % band {of}": {
            row["system"]: "{:.1f} to {:.1f} %".format(*(100 * edge for edge in row[band])) for row in judged
        }
        for of, band in (("of one", "covered_band"), ("of all", "covered_band_of_all"))
    }
    return [*lines, *({"of": name} | by_system for name, by_system in bands.items())]


def _facts(robots: Sequence[str]) -> dict[str, Any]:
    return {
        f"recordings of {name}": f"{system.samples} samples, {(system.samples - 1) * system.period:.2f} s, unknown: "
        f"{', '.join(system.open_bodies)}, its ten numbers off by about {100 * OTHERNESS:g} % of the size of the body, "
        "nothing known of it"
        for name, system in ((name, _described(name)) for name in robots)
    }


def _pictures(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Curves]:
    """How squared errors are distributed, and how many intervals of each width hold the truth."""
    pictures = {}
    for system, each in results.items():
        solved = [result for result in each if result["converged"]]
        if not solved:
            continue
        pictures[f"Squared errors of theta: {system}"] = _histogram(
            *np.array([result["squares"]["theta"] for result in solved]).T
        )
        off = errors_by_name(solved)
        pictures[f"Intervals that hold the truth: {system}"] = coverage_curves(
            (name for name in off if name.split(".")[0] in PHYSICAL),
            partial(share_of, off),
        )
    return pictures


def _histogram(squares: Vector, degrees: Vector) -> Curves:
    """Steps, and the density of chi-square times the recordings in a step."""
    steps, fine = 20, 16
    edges = np.linspace(0.0, max(float(squares.max()), stats.chi2.ppf(0.999, degrees.max())), steps + 1)
    counts = np.histogram(squares, edges)[0].astype(float)
    along = edges[1] * (np.arange(steps * fine) + 0.5) / fine
    density = stats.chi2.pdf(along[:, None], degrees).sum(axis=1)
    return Curves(
        along,
        "recordings",
        {"simulated": np.repeat(counts, fine), "chi-square": edges[1] * density},
        "squared error in units of its covariance",
    )


def _lead(rows: Sequence[Mapping[str, Any]]) -> str:
    parts = []
    for row in rows:
        if not row["solved"]:
            parts.append(f"{row['system']}: none of {row['recordings']} recordings was solved")
            continue
        low, high = row["band"]
        shares = row["coverage"].values()
        parts.append(
            f"{row['system']}: {row['solved']} of {row['recordings']} recordings solved; squared errors of "
            f"{row['degrees']:g} degrees of freedom are {row['nees_mean']:.2f} on average ({100 * BAND:g} % band "
            f"{low:.2f} to {high:.2f}); {100 * INTERVAL:g} % intervals hold the truth in {100 * min(shares):.1f} to "
            f"{100 * max(shares):.1f} % of the recordings"
        )
    return "; ".join(parts) + "."


NOTES = (
    "Recordings come from the estimator's own model, process noise included: this asks whether the covariance follows "
    "from the model, not whether the model is right.",
    f"A band holds {100 * BAND:g} % of what chance does to one mean or share. Of twenty quantities of two systems one "
    "may well be outside, and mass never is without its coordinate alpha, nor the centre of mass without t: they are "
    "the same. The band of all holds as much of what chance does to all quantities of a system.",
    "Chart coordinates have intervals of their own covariance; those of mass, centre of mass and inertia about it are "
    "of first order in the errors.",
)
