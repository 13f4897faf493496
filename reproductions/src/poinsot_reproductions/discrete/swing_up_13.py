"""Thirteen parameters of a simulated Furuta pendulum, and how long that takes (Sect. 4.6 and 4.8).

One gain, five inertias, four of friction and three of the tilt of the base, from a release, a pulse of one second and a
swing-up, which are the paper's scenarios; in steps of 10 ms and with kappa 100 as there, from Table 1's values. What
the paper's tables lack is chosen near Table 4, and dry friction is a constant torque: the paper's, in proportion to the
load, differs little where the load hardly changes.

The generator shares no discretization with the estimator: SPOOK on curved constraints of compliance 1e-8, in steps of
0.1 ms, against balances in joint coordinates over 10 ms. What the generator brakes by itself, a few percent of b_1, is
counted as an error of the estimate.

J_Axx, J_Ayy and a turn of the base about its own vertical axis move nothing, so no recording shows them, nor does a
release show the gain. They are open all the same, with a wide prior, and a parameter whose standard deviation is still
more than half of its prior's is not identifiable; errors are of the others.

**Seconds.** Warm: the least of several solves in one process, of which the first has compiled. Cold: a Python process
that is started anew with an empty cache of compiled code, from its start to its end; and once more with that cache.
Time grows in proportion to the steps, which the same 40 s in shorter steps show, up to a hundred thousand of them.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from poinsot.estimators.joint import JointFit, JointSmoothing, JointSmoothingProblem, Record, at_held_out
from poinsot.exceptions import PoinsotError
from poinsot.models.maximal import Model
from poinsot.parameters import Normal
from poinsot.stopwatch import Stopwatch

from ..case import Curves, Reproduction, Say
from .paper_furuta import (
    GENERATOR_STEP,
    INITIAL,
    NAMES,
    NOISE,
    SAMPLE,
    TRUTH,
    UNITS,
    Motion,
    model_of,
    on_one_thread,
    pulse,
    release,
    swing_up,
    values,
)

ALL = tuple(NAMES)
KINDS = {
    "inertia": ("Jaxx", "Jayy", "Jazz", "Jbyy", "Jbzz"),
    "friction": ("b1", "b2", "fc1", "fc2"),
    "gain": ("K",),
    "tilt": ("tilt_x", "tilt_y", "tilt_z"),
}
KAPPA = 100.0
STIFF = 1e-8
"""Compliance of the generator [m/N], [rad/(N m)]."""
SECONDS = {"release": 10.0, "pulse": 10.0, "swing-up": 40.0}
PRIORS = {
    NAMES[name]: Normal(INITIAL[name], std)
    for name, std in (("Jaxx", 0.01), ("Jayy", 0.01), ("tilt_z", 0.1), ("K", 0.1))
}
"""Wide ones of what a recording may not show."""
LONGER = (100, 40, 10, 4)
"""Of how many of the generator's steps the steps are, for the growth of time."""
PAPER_SECONDS, PAPER_ITERATIONS = 6.6, 6
WARM_RUNS = 4


@cache
def estimator() -> Model:
    """All thirteen free."""
    return model_of(ALL, dry=True)


def method(form: str = "reduced", max_steps: int = 50) -> JointSmoothing:
    """kappa counts beside readings of weight 1, as in the paper; noise is given for the sake of the priors."""
    return JointSmoothing(KAPPA / NOISE**2, (NOISE, NOISE), form, max_iterations=max_steps, doubts=False)


def scenarios(seed: int, seconds: Mapping[str, float] = SECONDS) -> dict[str, Motion]:
    """All three, simulated."""
    generator, truth = model_of(ALL, STIFF, dry=True, curvature=True), values(ALL, TRUTH)
    make = {"release": release, "pulse": pulse, "swing-up": swing_up}
    return {
        name: make[name](generator, truth, seconds[name], np.random.default_rng([seed, number]))
        for number, name in enumerate(make)
        if name in seconds
    }


def solve(record: Record, form: str = "reduced", max_steps: int = 50) -> JointFit:
    """From Table 1's values."""
    return method(form, max_steps).solve(
        JointSmoothingProblem(estimator(), [record], values(ALL, INITIAL), priors=PRIORS)
    )


def seen(fit: JointFit) -> list[str]:
    """What a recording shows."""
    std = dict(zip(fit.names, fit.std, strict=True))
    return [
        name for name in ALL if NAMES[name] not in PRIORS or std[NAMES[name]] < PRIORS[NAMES[name]].std / 2
    ]


def rows_of(scenario: str, fit: JointFit) -> list[dict[str, Any]]:
    """One for each parameter."""
    shown = seen(fit)
    rows = []
    for name, value, std, robust in zip(ALL, fit.theta, fit.std, fit.robust_std, strict=True):
        truth = TRUTH[name]
        rows.append(
            {
                "name": f"{name}, {scenario}",
                "scenario": scenario,
                "parameter": name,
                "truth": truth,
                "ours": float(value),
                "std": float(std),
                "robust_std": float(robust),
                "error_percent": 100 * (float(value) / truth - 1) if truth else None,
                "seen": name in shown,
                "unit": UNITS[name],
            }
        )
    return rows


# ------------------------------------------------------------------------------------------------------------- seconds


def timed(
    record: Record, form: str = "reduced", runs: int = WARM_RUNS, max_steps: int = 50
) -> dict[str, Any]:
    """Seconds of the quickest of some solves, what they need being compiled before."""
    solve(Record("part", record.times[:10], record.u[:10], record.z[:10]), form, 1)
    passed, used, fit = [], [], None
    for _ in range(runs):
        start, start_used = time.perf_counter(), time.process_time()
        fit = solve(record, form, max_steps)
        passed.append(time.perf_counter() - start)
        used.append(time.process_time() - start_used)
    assert fit is not None
    return {
        "warm": min(passed),
        "processor": min(used),
        "iterations": fit.iterations,
        "converged": fit.converged,
        "fit": fit,
    }


ANEW = """
import pickle, sys
from poinsot.estimators.joint import JointSmoothingProblem
with open(sys.argv[1], "rb") as file:
    method, mechanism, free, record, theta, priors = pickle.load(file)
fit = method.solve(JointSmoothingProblem(mechanism.model(free), [record], theta, priors=priors))
print(*map(repr, fit.theta.tolist()))
"""
"""What a process that is started anew does: read the problem, solve it, say theta."""


def cold(record: Record) -> tuple[dict[str, float], np.ndarray]:
    """Seconds of a process with an empty cache, and of one after it with what that kept; theta of the first."""
    model = estimator()
    problem = (method(), model.mechanism, model.free, record, values(ALL, INITIAL), PRIORS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.pickle"
        path.write_bytes(pickle.dumps(problem))
        runs = [_process(path, Path(folder) / "compiled") for _ in range(2)]
    return {"empty": runs[0][0], "kept": runs[1][0]}, runs[0][1]


def _process(path: Path, compiled: Path) -> tuple[float, np.ndarray]:
    settings = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")} | {
        "JAX_COMPILATION_CACHE_DIR": str(compiled),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.5",
        "NPROC": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", ANEW, str(path)], capture_output=True, text=True, env=os.environ | settings
    )
    passed = time.perf_counter() - start
    if done.returncode:
        raise PoinsotError(f"the process that was to solve it anew ended early: {done.stderr.strip()[-300:]}")
    return passed, np.array([float(number) for number in done.stdout.split()])


def growth(motion: Motion, every: Sequence[int] = LONGER) -> list[dict[str, float]]:
    """Seconds of one iteration, by steps."""
    rows = []
    for row in every:
        record = motion.record(row)
        start = time.process_time()
        fit = solve(record, max_steps=1)
        used = time.process_time() - start
        steps = len(record.times) - 1
        # one linearization to begin with, then one for each accepted step
        evaluations = 1 + sum(line.tried for line in fit.history)
        rows.append(
            {
                "steps": steps,
                "step": row * GENERATOR_STEP,
                "seconds_per_iteration": used / evaluations,
                "microseconds_per_step": 1e6 * used / evaluations / steps,
            }
        )
    return rows


# ------------------------------------------------------------------------------------------------------------ all of it


def run(
    seed: int,
    seconds: Mapping[str, float] = SECONDS,
    every: Sequence[int] = LONGER,
    anew: bool = True,
    explicit: bool = True,
    say: Say = lambda _: None,
) -> Reproduction:
    """Simulate, estimate, take the time.

    Args:
        seed: of the noise.
        seconds: of scenarios [s]; the last is timed.
        every: see `LONGER`.
        anew: whether processes are started for the cold start.
        explicit: whether the paper's form is timed too.
    """
    on_one_thread()
    watch = Stopwatch()
    say("simulating")
    motions = scenarios(seed, seconds)
    records = {name: motion.record(round(SAMPLE / GENERATOR_STEP)) for name, motion in motions.items()}
    timed_one = list(motions)[-1]
    watch.lap("simulation")
    say("processes started anew")
    started = cold(records[timed_one]) if anew else None
    watch.lap("cold start")
    say("thirteen parameters")
    warm = timed(records[timed_one])
    fits = {name: warm["fit"] if name == timed_one else solve(record) for name, record in records.items()}
    held_out = cross_validation(records, fits)
    watch.lap("estimates")
    say("the paper's explicit form")
    paper_form = timed(records[timed_one], "explicit", 1, max_steps=20) if explicit else None
    watch.lap("explicit form")
    say("time against steps")
    grown = growth(motions[timed_one], every)
    watch.lap("growth of time")
    rows = [row for name, fit in fits.items() for row in rows_of(name, fit)]
    figures = _figures(rows, timed_one, warm, started, paper_form, grown, held_out)
    return Reproduction(
        "discrete-multibody",
        "000",
        "Thirteen parameters of a simulated Furuta pendulum",
        _lead(figures),
        tuple(rows),
        _tables(rows, figures),
        figures,
        {
            "scenarios": ", ".join(f"{name} {motion.times[-1]:g} s" for name, motion in motions.items()),
            "simulated in steps of [s]": GENERATOR_STEP,
            "estimated in steps of [s]": SAMPLE,
            "kappa": KAPPA,
        },
        notes=_notes(fits),
        seconds=watch.seconds,
        curves=_pictures(records, fits),
    )


def cross_validation(
    records: Mapping[str, Record], fits: Mapping[str, JointFit]
) -> dict[str, dict[str, float]]:
    """Cost of each recording, in the paper's units, with the parameters of each: states alone are estimated (4.5).

    A gain that its own recording does not show is the timed one's, as the paper gives the release one.
    """
    gain, K = ALL.index("K"), list(fits.values())[-1].values[NAMES["K"]]
    costs: dict[str, dict[str, float]] = {}
    for of, fit in fits.items():
        theta = fit.theta.copy()
        theta[gain] = fit.theta[gain] if "K" in seen(fit) else K
        costs[of] = {
            on: NOISE**2 * (fit if on == of else at_held_out(method(), estimator(), [record], theta)).cost
            for on, record in records.items()
        }
    return costs


def _worst(rows: Sequence[Mapping[str, Any]]) -> float:
    return max(
        (abs(row["error_percent"]) for row in rows if row["seen"] and row["truth"]), default=float("nan")
    )


def _figures(
    rows: Sequence[Mapping[str, Any]],
    timed_one: str,
    warm: Mapping[str, Any],
    started: tuple[dict[str, float], np.ndarray] | None,
    paper_form: Mapping[str, Any] | None,
    grown: Sequence[Mapping[str, float]],
    held_out: Mapping[str, Mapping[str, float]],
) -> dict[str, Any]:
    own = [row for row in rows if row["scenario"] == timed_one]
    figures: dict[str, Any] = {
        "iterations": warm["iterations"],
        "converged": warm["converged"],
        "seconds_warm": warm["warm"],
        "seconds_warm_processor": warm["processor"],
        "seconds_cold": started[0]["empty"] if started else None,
        "seconds_cold_with_cache": started[0]["kept"] if started else None,
        "max_error_percent": _worst(own),
        "max_error_percent_by_kind": {
            kind: _worst([row for row in own if row["parameter"] in names]) for kind, names in KINDS.items()
        },
        "not_seen": {
            scenario: [row["parameter"] for row in rows if row["scenario"] == scenario and not row["seen"]]
            for scenario in dict.fromkeys(row["scenario"] for row in rows)
        },
        "cross_validation": held_out,
        "growth": list(grown),
        "time_per_step_longest_to_shortest": (
            grown[-1]["microseconds_per_step"] / grown[0]["microseconds_per_step"] if len(grown) > 1 else None
        ),
    }
    if started:
        figures["cold_agrees"] = bool(np.allclose(started[1], warm["fit"].theta, rtol=1e-6, atol=1e-9))
    if paper_form:
        names = list(paper_form["fit"].names)
        figures["explicit"] = {
            "seconds_warm": paper_form["warm"],
            "iterations": paper_form["iterations"],
            "converged": paper_form["converged"],
            "max_error_percent_inertia": max(
                100 * abs(paper_form["fit"].theta[names.index(NAMES[name])] / TRUTH[name] - 1)
                for name in ("Jazz", "Jbyy", "Jbzz")
            ),
        }
    return figures


# ------------------------------------------------------------------------------------------------------------ the page


def _lead(figures: Mapping[str, Any]) -> str:
    worst = figures["max_error_percent_by_kind"]
    text = (
        f"The swing-up's thirteen parameters take {figures['iterations']} iterations and "
        f"{figures['seconds_warm']:.2f} s (the paper: {PAPER_ITERATIONS} and {PAPER_SECONDS:g} s)"
    )
    if figures["seconds_cold"] is not None:
        text += f", {figures['seconds_cold']:.1f} s in a process started anew"
    return (
        f"{text}. Of what the recording shows, inertias are off by at most {worst['inertia']:.2f} %, the gain by "
        f"{worst['gain']:.2f} %, the tilt by {worst['tilt']:.1f} % and friction by {worst['friction']:.0f} %."
    )


def _tables(rows: Sequence[Mapping[str, Any]], figures: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    scenarios = list(dict.fromkeys(row["scenario"] for row in rows))
    by_name: dict[str, dict[str, Any]] = {}
    for row in rows:
        line = by_name.setdefault(
            row["parameter"], {"of": row["parameter"], "unit": row["unit"], "truth": f"{row['truth']:g}"}
        )
        line[row["scenario"]] = (
            f"{row['ours']:.4g} +- {row['std']:.1g}" if row["seen"] else "not identifiable"
        )
        error = row["error_percent"]
        line[f"{row['scenario']}, error"] = f"{error:+.2f} %" if row["seen"] and error is not None else "-"
    seconds = [
        {"what": "warm", "seconds": f"{figures['seconds_warm']:.2f}", "iterations": figures["iterations"]},
        {"what": "the paper", "seconds": f"{PAPER_SECONDS:g}", "iterations": PAPER_ITERATIONS},
    ]
    if figures["seconds_cold"] is not None:
        for label, key in (
            ("cold, nothing compiled", "seconds_cold"),
            ("cold, compiled code kept", "seconds_cold_with_cache"),
        ):
            seconds.append(
                {"what": label, "seconds": f"{figures[key]:.1f}", "iterations": figures["iterations"]}
            )
    if "explicit" in figures:
        paper_form = figures["explicit"]
        ended = "" if paper_form["converged"] else ", not ended"
        seconds.append(
            {
                "what": "the paper's explicit form, warm",
                "seconds": f"{paper_form['seconds_warm']:.1f}",
                "iterations": f"{paper_form['iterations']}{ended}",
            }
        )
    return {
        "Parameters": list(by_name.values()),
        "Cost with the parameters of another recording, states estimated again": [
            {"parameters of": of} | {f"on {on}": f"{costs[on]:.3g}" for on in scenarios}
            for of, costs in figures["cross_validation"].items()
        ],
        "Seconds": seconds,
        "Time against steps": [
            {
                "steps": row["steps"],
                "seconds an iteration": f"{row['seconds_per_iteration']:.2f}",
                "us a step and iteration": f"{row['microseconds_per_step']:.1f}",
            }
            for row in figures["growth"]
        ],
    }


def _pictures(records: Mapping[str, Record], fits: Mapping[str, JointFit]) -> dict[str, Curves]:
    """Angles and volts of each scenario, and what iterations do to parameters."""
    pictures = {}
    for name, fit in fits.items():
        path = fit.paths[0]
        pictures[f"Angles, {name}"] = Curves(
            path.times, "rad", {"arm": path.coordinates[:, 0], "pendulum": path.coordinates[:, 1]}
        )
        if np.any(records[name].u):
            pictures[f"Volts, {name}"] = Curves(path.times, "V", {"motor": records[name].u[:, 0]})
        history = np.array([line.theta for line in fit.history])
        shown = [one for one in seen(fit) if TRUTH[one]]
        pictures[f"Iterations, {name}"] = Curves(
            np.arange(len(history), dtype=float),
            "%",
            {
                one: 100 * (history[:, ALL.index(one)] / TRUTH[one] - 1)
                for one in shown
                if one in KINDS["inertia"]
            },
            "iteration",
        )
    return pictures


def _notes(fits: Mapping[str, JointFit]) -> tuple[str, ...]:
    return (
        "The paper's recordings and masses are of its own machine; these are simulated with Table G.5's numbers, and "
        "the gain, dry friction and tilt near Table 4.",
        "Dry friction is a constant torque here; the paper's is in proportion to the hinge's load.",
        "Not identifiable from any recording: Jaxx and Jayy, as the arm turns about its z axis alone, and a turn of "
        "the base about the vertical. From the release: the gain.",
        "Friction is the least sure: within a recording, drag and dry friction are hard to tell apart, and of b1 the "
        "generator itself brakes a few percent.",
        "Seconds are of the least loaded of several runs; they are of this machine.",
        *(
            f"The estimate of the {name} did not end: {fit.status.value}"
            for name, fit in fits.items()
            if not fit.converged
        ),
    )
