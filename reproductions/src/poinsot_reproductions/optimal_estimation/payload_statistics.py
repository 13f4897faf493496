"""Many walks of `go1_payload`, of 7 s: how often intervals hold the payload, and what a wrong schedule costs.

Each walk has a payload of another place, size and orientation, and other noise. A payload's error is that of its mass,
centre of mass and inertia.

Levels of noise are those that are stated for one walk. Biases that walk, a misalignment and a delay are estimated, with
priors of the standard deviations that they have.

Schedules are made wrong in the channels of contacts: every event later or earlier by `SHIFT`, or without one stance. A
foot then counts as standing from the first to the last sample of its contact, since nobody knows where to cut, and
noise is `TOLERANT` of what it does until it rests. Times
of events are compared with those at which MuJoCo's normal forces begin and end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool

from poinsot.estimate import NORMAL_95, Estimate
from poinsot.estimate.motions import ContactChanges
from poinsot.stopwatch import Stopwatch
from poinsot.studies.store import Store
from poinsot.studies.study import Study

from ..case import Reproduction, Say
from ..normalized_errors import (
    PHYSICAL,
    covered_band,
    mean_in_band,
    physical,
    physical_slopes,
    rms,
    squared_error,
)
from .go1_payload import FEET, QUICK_DURATION, STATED, TOLERANT, carrier, seen
from .go1_walk import payload, walk
from .robot_sensors import CLEAN, DEFECTS, IMU, Moved, read, touching
from .weighing import METHOD, SHIFTS, Weighing, errors_of, estimated, problem

WALKS, FEW = 40, 2
SCHEDULED, FEW_SCHEDULED = 5, 1
"""Of how many walks schedules are made wrong too."""
QUALITIES = {"clean": CLEAN, "defects": DEFECTS}
SHIFT = 20
"""[ms]"""
WITHOUT_EDGE = replace(TOLERANT, edge=0)
SCHEDULES = {"late": SHIFT, "early": -SHIFT, "without a stance": None}


def attempt(job: tuple[int, int, bool]) -> dict[str, Any]:
    """Weigh the payload of one walk.

    Args:
        job: seed of the case, number of the walk, and whether schedules are made wrong too.
    """
    seed, number, scheduled = job
    load = payload(np.random.default_rng([seed, number, 0]))
    walked = walk(load, None, np.random.default_rng([seed, number, 1]), QUICK_DURATION)
    own, motion, found = carrier(walked.robot.robot), seen(walked), dict[str, Any]()
    for k, (name, quality) in enumerate(QUALITIES.items()):
        readings = read(motion, quality, np.random.default_rng([seed, number, 2, k]))
        walks = dict(zip(("gyro", "accelerometer"), quality.bias_walks, strict=True))
        estimate, _ = estimated(own, readings, quality, STATED, walk=walks if any(walks.values()) else None)
        found[name] = _errors(Weighing(estimate, own.own, load))
    if scheduled:
        readings = read(motion, CLEAN, np.random.default_rng([seed, number, 2, 0]))
        for name, shift in SCHEDULES.items():
            wrong = problem(own, _scheduled(readings, shift), CLEAN, WITHOUT_EDGE)
            estimates = [replace(METHOD, contact_schedule=how).solve(wrong) for how in ("given", "estimated")]
            before, after = (Weighing(each, own.own, load).mass_error_percent for each in estimates)
            found[name] = {
                "given": before,
                "estimated": after,
                "named": sum(each.cause == "contact-schedule" for each in estimates[0].findings),
                "late_ms": _late(estimates[1], motion),
            }
    return found


def _errors(weighing: Weighing) -> dict[str, Any]:
    """Of the payload, as numbers of JSON."""
    ours, true = weighing.pi - weighing.own, weighing.load
    slopes = physical_slopes(ours)
    P = slopes @ np.asarray(weighing.estimate.covariance)[:10, :10] @ slopes.T
    e = physical(ours) - physical(true)
    return {
        "off": (e / np.sqrt(np.diag(P))).tolist(),
        "square": squared_error(e, P),
        "mass_error_percent": weighing.mass_error_percent,
    }


def _scheduled(readings: Moved, shift: int | None) -> Moved:
    """The same with forces of feet that are so many samples late, or without the second stance of the last foot."""
    force = readings.force.copy()
    if shift is None:
        stands = touching(force, TOLERANT.closes_above)[:, -1]
        first = int(np.flatnonzero(stands[1:] & ~stands[:-1])[0]) + 1
        force[first : first + int(np.argmin(np.append(stands[first:], False))), -1] = 0.0
    else:
        force = force[np.clip(np.arange(len(force)) - shift, 0, len(force) - 1)]
    return replace(readings, force=force)


def _late(estimate: Estimate, motion: Moved) -> list[float]:
    """By how much each estimated event is later than the nearest of its kind in MuJoCo [ms]."""
    stands: Bool[np.ndarray, "S feet"] = touching(motion.force, TOLERANT.closes_above, over=1)
    changed = np.diff(stands.astype(int), axis=0)
    late = []
    for event in estimate.extra(ContactChanges) or ():
        assert event.time is not None, "no walk has a stance that does not happen"
        when = np.flatnonzero(changed[:, FEET.index(event.frame)] == (1 if event.closes else -1))
        away = event.time - motion.time[when + 1]
        late.append(1e3 * float(away[np.argmin(np.abs(away))]))
    return late


# ------------------------------------------------------------------------------------------------------------ the case


def run(
    seed: int,
    quick: bool = False,
    say: Say = lambda _: None,
    *,
    executor: Executor | None = None,
    folder: Path | None = None,
) -> Reproduction:
    """Weigh the payloads of many walks.

    Args:
        seed: of payloads and noise. quick: `FEW` walks. say: takes sentences about the progress.
        executor, folder: as of `Study.run` and its store.
    """
    watch = Stopwatch()
    count, scheduled = (FEW, FEW_SCHEDULED) if quick else (WALKS, SCHEDULED)
    jobs = {f"{seed}-{number}": (seed, number, number < scheduled) for number in range(count)}
    sensors_told = {name: asdict(quality) for name, quality in QUALITIES.items()}
    settings = {"seed": seed, "walks": count, "scheduled": scheduled, "sensors": sensors_told}
    settings |= {"stated": asdict(STATED), "schedules": SCHEDULES, "seconds": QUICK_DURATION}
    settings |= {
        "method": str(asdict(METHOD)),
        "errors": errors_of(DEFECTS, IMU),
        "tolerant": asdict(WITHOUT_EDGE),
    }
    settings["shifts"] = SHIFTS
    store = Store("payload-statistics", settings, folder)
    solved = list(Study(jobs, attempt, unit="walks").run(executor, store, say=say).values())
    watch.lap("walks")
    sensors = [_sensors_row(name, [each[name] for each in solved]) for name in QUALITIES]
    schedules = [_schedule_row(name, [each[name] for each in solved[:scheduled]]) for name in SCHEDULES]
    figures = {
        **{f"mass_covered_{row['name']}": row["covered"]["mass"] for row in sensors},
        **{f"nees_{row['name']}": row["nees_mean"] for row in sensors},
        "event_error_ms": max(row["event_error_ms"] for row in schedules),
        "schedule_cost_percent": max(row["mass_error_percent_estimated"] for row in schedules),
    }
    return Reproduction(
        "optimal-estimation",
        "001",
        "Many walks of Go1 with an unknown payload (Sect. VI-C)",
        f"The 95 % interval of the mass holds the truth in {figures['mass_covered_clean']} of {count} walks with clean "
        f"sensors and {figures['mass_covered_defects']} with defects. Schedules of contacts that are wrong are found "
        f"again to {figures['event_error_ms']:.1f} ms (root mean square), and the mass to "
        f"{figures['schedule_cost_percent']:.2f} %.",
        (*sensors, *schedules),
        {
            "Intervals of the payload": [_sensors_line(row, count) for row in sensors],
            "Schedules of contacts": [_schedule_line(row) for row in schedules],
        },
        figures,
        {"walks": count, "of these with wrong schedules": scheduled, "seconds a walk": QUICK_DURATION},
        notes=NOTES,
        seconds=watch.seconds,
    )


def _sensors_row(name: str, found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    off = np.abs([each["off"] for each in found])
    inside = (off <= NORMAL_95).sum(axis=0)
    band = mean_in_band([tuple(each["square"]) for each in found])
    return {
        "name": name,
        "paper": None,
        "walks": len(found),
        "covered": {what: int(each) for what, each in zip(PHYSICAL, inside, strict=True)},
        "mass_error_percent": rms([each["mass_error_percent"] for each in found]),
        **band,
        "inside": bool(band["band"][0] <= band["nees_mean"] <= band["band"][1]),
    }


def _schedule_row(name: str, found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    late = np.concatenate([each["late_ms"] for each in found])
    return {
        "name": f"schedule, {name}",
        "paper": None,
        "walks": len(found),
        "events": len(late),
        "event_error_ms": rms(late),
        "named": sum(each["named"] > 0 for each in found),
        **{
            f"mass_error_percent_{how}": float(max(abs(each[how]) for each in found))
            for how in ("given", "estimated")
        },
    }


def _sensors_line(row: Mapping[str, Any], count: int) -> dict[str, Any]:
    low, high = (round(count * share) for share in covered_band(count))
    return {
        "sensors": row["name"],
        "mass, error": f"{row['mass_error_percent']:.2f} %",
        "mass held": f"{row['covered']['mass']} of {count} ({low} to {high})",
        "centre held": ", ".join(str(row["covered"][name]) for name in ("cx", "cy", "cz")),
        "inertia held": ", ".join(str(row["covered"][name]) for name in PHYSICAL[4:]),
        "mean squared error in standard deviations": round(row["nees_mean"], 2),
        "99 % band": f"{row['band'][0]:.2f} to {row['band'][1]:.2f}",
    }


def _schedule_line(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "schedule": row["name"].removeprefix("schedule, "),
        "walks": row["walks"],
        "named": row["named"],
        "events": row["events"],
        "their error [ms]": round(row["event_error_ms"], 1),
        "largest error of the mass as given": f"{row['mass_error_percent_given']:.2f} %",
        "and estimated": f"{row['mass_error_percent_estimated']:.2f} %",
    }


NOTES = (
    "Levels of noise are stated as in the case of one walk: sensors and torques as they are simulated, and what soft "
    "contacts move as it was measured of ten other walks.",
    "Errors of events are those of events whose contact closes and opens, against the sample at which MuJoCo's force "
    "passes the threshold of the channel.",
)
