"""Simulated throws with the exact stepper, and what may be wrong with their recordings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from poinsot.estimate import Severity
from poinsot.estimators.impacts.method import ImpactIdentification
from poinsot.estimators.impacts.problem import ImpactsProblem
from poinsot.exceptions import PoinsotError
from poinsot.models.planar import Ellipse, PlanarBody, floor, rectangle
from poinsot.models.planar.body import Wall
from poinsot.models.planar.drop import Drop
from poinsot.models.planar.events import moved
from poinsot.models.planar.shapes import Shape

RATE, SECONDS = 240, 0.6
NOISE = (2e-4, 2e-4, 5e-3)
SHAPES = (Ellipse(0.05, 0.025), rectangle(0.08, 0.05), rectangle(0.06, 0.06, corner_radius=0.004))


def throw(seed: int, rate: int = RATE, strikes: int = 3) -> tuple[Drop, Shape]:
    """A throw that strikes the floor at least `strikes` times, and its outline; nothing of the estimator is in it."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[seed % len(SHAPES)]
    while True:
        inertia = shape.size**2 * rng.uniform(0.25, 0.4)
        body = PlanarBody(shape, 1.0, inertia, rng.uniform(0.15, 0.7), rng.uniform(0.35, 0.6))
        pose = np.array([0.0, rng.uniform(0.15, 0.3), rng.uniform(-1.5, 1.5)])
        velocity = np.array([rng.uniform(-2, 2), rng.uniform(-2.5, -0.5), rng.uniform(-12, 12)])
        times = np.arange(round(SECONDS * rate) + 1) / rate
        poses, _, impacts = moved(body, [floor()], pose, velocity, times)
        if len(np.unique(np.round(impacts.times, 3))) >= strikes:
            return Drop("throw", times, poses + NOISE * rng.standard_normal(poses.shape)), shape


def changed(drop: Drop, poses: np.ndarray, times: np.ndarray | None = None) -> Drop:
    return Drop(drop.name, drop.times if times is None else times, poses)


def lost(drop: Drop) -> Drop:
    """One frame, between the eighth and the twelfth, of which the clock does not know."""
    return Drop(drop.name, drop.times[:-1], np.delete(drop.poses, 9, axis=0))


def misread(drop: Drop) -> Drop:
    poses = drop.poses.copy()
    poses[9, 0] += 0.03
    return changed(drop, poses)


def tilted(drop: Drop, angle: float) -> Drop:
    c, s = np.cos(angle), np.sin(angle)
    return changed(drop, drop.poses @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) + [0, 0.05, 0])


CORRUPTIONS: dict[str, tuple[tuple[str, ...], Callable[[Drop], Drop], Wall]] = {
    "millimetres": (("length-unit",), lambda d: changed(d, d.poses * [1e3, 1e3, 1]), floor()),
    "lengths x 1.25": (
        ("length-scale", "clock-scale"),
        lambda d: changed(d, d.poses * [1.25, 1.25, 1]),
        floor(),
    ),
    "degrees": (("angle-unit",), lambda d: changed(d, d.poses * [1, 1, 180 / np.pi]), floor()),
    "radians as degrees": (("angle-unit",), lambda d: changed(d, d.poses * [1, 1, np.pi / 180]), floor()),
    "clock x 2": (("clock-scale",), lambda d: changed(d, d.poses, 2 * d.times), floor()),
    "clock x 1/2": (("clock-scale",), lambda d: changed(d, d.poses, 0.5 * d.times), floor()),
    "clock x 1.1": (("clock-scale",), lambda d: changed(d, d.poses, 1.1 * d.times), floor()),
    "camera tilted by 10 degrees": (("gravity",), lambda d: tilted(d, np.radians(10)), floor()),
    "x and y exchanged": (("swapped-channels",), lambda d: changed(d, d.poses[:, [1, 0, 2]]), floor(-1.0)),
    "x negated": (("sign",), lambda d: changed(d, d.poses * [-1, 1, 1]), floor()),
    "y negated": (("sign",), lambda d: changed(d, d.poses * [1, -1, 1]), floor(-1.0)),
    "angle negated": (("sign",), lambda d: changed(d, d.poses * [1, 1, -1]), floor()),
    "angle + 30 degrees": (
        ("angle-zero",),
        lambda d: changed(d, d.poses + np.array([0, 0, np.radians(30)])),
        floor(),
    ),
    "a frame lost": (("lost-samples",), lost, floor()),
    "a frame misread": (("outliers",), misread, floor()),
    "floor 15 mm lower": (("wall",), lambda d: d, floor(-0.015)),
    "floor 15 mm higher": (("wall",), lambda d: changed(d, d.poses + np.array([0, -0.015, 0])), floor()),
    "floor sloped by 7 degrees": (("wall",), lambda d: d, Wall(slope=np.radians(7))),
}
"""What may be wrong: causes that name it, how frames change, and the floor that is declared."""


def examined(drop: Drop, shape: Shape, wall: Wall) -> tuple[str, list[str]]:
    """Trust in the identification of a drop by itself, and the causes of its findings, gravest first."""
    try:
        problem = ImpactsProblem((drop,), shape, (wall,))
        estimate = ImpactIdentification().solve(problem)
    except PoinsotError as error:
        return "refused", [word.strip("[]") for word in str(error).split()[:1] if word.startswith("[")]
    return estimate.trust.value, [each.cause for each in estimate.findings if each.severity > Severity.note]
