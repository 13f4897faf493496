"""J/m, friction and restitution of one throw: how long it takes, and how that grows with the frames.

    python benchmarks/impacts.py [--full] [--json PATH] [--rounds N] [--save-baseline]

Throws of Table 1 (120 frames a second, half a second, frictions 0.3 to 0.9) are identified from frames alone; under 2 s
each, as a median, are promised. Then the same half second is filmed at up to 4000 frames a second, and with --full
another throw is filmed at 240 frames a second for up to 8 s; time must not grow faster than frames.
"""

from __future__ import annotations

from functools import partial
from statistics import median

import numpy as np
from support.report import Agreement, Limit, Ratio, deliver, options
from support.timing import Program, Seconds, side_by_side

from poinsot.estimators.impacts.drop import DropFit, fitted_drops
from poinsot.models.planar import PlanarBody, floor
from poinsot.models.planar.drop import Drop
from poinsot.models.planar.events import moved
from poinsot_reproductions.impacts.table import INERTIA, MASS, NOISE, POSE, SHAPE, VELOCITY, Job, read

FRICTIONS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
MEDIAN = 2.0
"""Seconds, promised."""
FINE, LONG = (250, 2000), (500, 2000)
"""Frames of half a second; of seconds at 240 a second, from when on it rolls."""
SLACK = 1.25
"""By which times of two searches differ for no reason."""


def main() -> None:
    arguments = options(__doc__, full="a throw of 8 s, some minutes")
    throws = [Drop("throw", *read(Job(friction, 120, 0, 0))) for friction in FRICTIONS]
    programs = {
        f"friction {friction}": Program(partial(identified, drop))
        for friction, drop in zip(FRICTIONS, throws, strict=True)
    }
    films = {f"{count} frames of half a second": fine(count) for count in FINE}
    if arguments.full:
        films |= {f"{count} frames at 240 a second": long(count) for count in LONG}
    programs |= {name: Program(partial(identified, drop)) for name, drop in films.items()}
    seconds, results = side_by_side(programs, arguments.rounds or 1)
    names = list(films)
    ratios = [
        Ratio(
            f"time, {after} / {before.split()[0]}",
            seconds[after] / seconds[before],
            at_most=SLACK * len(films[after].times) / len(films[before].times),
        )
        for before, after in zip(names[::2], names[1::2], strict=True)
    ]
    typical = median(seconds[name].processor for name in programs if name.startswith("friction"))
    seconds["a throw, median"] = Seconds(typical, typical)
    off = [abs(results[name].inertia_to_mass / (INERTIA / MASS) - 1) for name in names]
    deliver(
        "impacts",
        arguments,
        seconds,
        ratios,
        [Agreement("J/m of many frames, part of it", float(np.max(off)), 0.01)],
        limits=[Limit("a throw, median", typical, MEDIAN)],
    )


def identified(drop: Drop) -> DropFit:
    return fitted_drops([drop], SHAPE, [floor()])


def fine(count: int) -> Drop:
    """The throw of Table 1 for half a second."""
    return filmed(np.linspace(0, 0.5, count), 0.2, POSE, VELOCITY)


def long(count: int) -> Drop:
    """A throw that bounces often before it rolls."""
    return filmed(np.arange(count) / 240, 0.6, (0.0, 0.3, 0.4), (1.0, -2.0, 5.0))


def filmed(
    times: np.ndarray, restitution: float, pose: tuple[float, ...], velocity: tuple[float, ...]
) -> Drop:
    body = PlanarBody(SHAPE, MASS, INERTIA, 0.3, restitution)
    poses, _, _ = moved(body, [floor()], np.array(pose), np.array(velocity), times)
    return Drop(
        "throw", times, poses + np.array(NOISE) * np.random.default_rng(0).standard_normal(poses.shape)
    )


if __name__ == "__main__":
    main()
