"""Free swings of one pendulum: which law of friction holds, by cross-validation between windows (Sect. 4.5).

    J q'' + m g l sin q + b q' + friction(q') = 0,      reading = q + zero + sine sin q + cosine cos q

with m and l given, so that the weight m g l is the unit of everything else, and three laws of friction, each with the
one before as a special case:

    viscous     b q'                                          J, b
    dry         + c sign q'                                   J, b, c
    Stribeck    + (c + e exp(-d q'^2)) sign q'                J, b, c, e, d

**Windows.** One recording is cut into windows of equal length: from the first turn after the release to where swings
have become smaller than `SMALLEST`. Smaller ones are hardly larger than the angle c / (m g l) in which dry friction
holds the pendulum, where bearings are springs rather than brakes.

**Sensor and mechanism.** Zero and eccentricity belong to the encoder: they are estimated from all windows together with
the law's own parameters, and held when a window tunes a law by itself. A window of small swings cannot tell sine from
scale. Both are estimated anew for each law, so that none is at a disadvantage.

**The weight of impulse errors.** With a small kappa impulses do what friction does, and every law fits. What they do
can be measured: their work sum p q' beside the work of friction in the same window. kappa is the smallest power of ten
at which, for the dry law with one theta for all windows, they do less than a hundredth of it in each window. With steps
of h the same compromise between readings and impulses is at kappa proportional to 1 / h^2.

**Stribeck's law** needs bounds, or a window takes e and d for a second viscous law or for a spike at the turns: e is at
most the level c that the dry law finds in all windows, and d from 1 to 100 s^2/rad^2, so that the excess is lost
between 0.1 and 1 rad/s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from poinsot.estimators.joint import JointFit, JointSmoothing, JointSmoothingProblem, Record
from poinsot.models.maximal import Coulomb, Encoder, Hinge, LoadDependent, Mechanism, Model, RigidBody

from .furuta_models import DISTANCE, GRAVITY, MASS, WEIGHT
from .recordings import Angles

SMALLEST = 0.1
"""Swings of the last window, at least [rad]."""
WINDOWS = 5
EVERY = 2
"""Samples to a step, which makes it 4 ms: 170 steps to a swing."""
LARGEST_SHARE = 0.01
"""Of friction's work that impulse errors may do."""
TOLERANCE = 1e-6
"""A step that promises less than this part of the cost ends an estimate."""
STICK_DRAG = 1e-2
"""A hinge under 6e-5 N m creeps at 6e-3 rad/s [N m s/rad]."""
DECAYS = 1.0, 100.0
"""Bounds of Stribeck's d [s^2/rad^2]."""
INERTIA, DRAG, DECAY = "pendulum.Jxx", "pivot.drag", "pivot.decay"
ZERO = ("pivot encoder.zero",)
SENSOR = (*ZERO, "pivot encoder.sine", "pivot encoder.cosine")
VISCOUS, DRY, STRIBECK = LAWS = ("viscous", "dry", "stribeck")
BEGIN = {INERTIA: 1.5e-5, DRAG: 1e-5, DECAY: 10.0, "zero": -0.01}
LEVEL = {"coulomb": 2e-5, "friction": 2e-4}
"""Where the level of each kind of dry friction begins [N m], and [m] of r mu."""


# ------------------------------------------------------------------------------------------------------------ the model


@cache
def model(kind: str = "coulomb") -> Model:
    """A body on a hinge with dry friction of a constant level, or of one in proportion to its load.

    Args:
        kind: "coulomb", or "friction" for the load-dependent law of Appendix F.
    """
    law = Coulomb(stick_drag=STICK_DRAG) if kind == "coulomb" else LoadDependent(stick_drag=STICK_DRAG)
    mechanism = Mechanism(
        name="pendulum",
        gravity=(0, 0, -GRAVITY),
        bodies=[RigidBody("pendulum", MASS, 3 * (BEGIN[INERTIA],), center=(0, 0, -DISTANCE))],
        joints=[Hinge("pivot", "world", "pendulum", axis=(1, 0, 0), drag=BEGIN[DRAG], friction=law)],
        sensors=[Encoder("pivot", zero=BEGIN["zero"])],
    )
    return mechanism.model(
        free=[INERTIA, DRAG, *(f"pivot.{kind}{end}" for end in ("", "_excess")), DECAY, *SENSOR]
    )


def parameters(law: str, kind: str = "coulomb") -> tuple[str, ...]:
    """What a law of friction opens, beside the sensor."""
    level = f"pivot.{kind}"
    return (INERTIA, DRAG, *{VISCOUS: (), DRY: (level,), STRIBECK: (level, f"{level}_excess", DECAY)}[law])


def beginning(law: str, kind: str = "coulomb") -> Float[np.ndarray, "p"]:
    """Where an estimate begins."""
    level = f"pivot.{kind}"
    begin = {level: LEVEL[kind] * (law != VISCOUS), f"{level}_excess": LEVEL[kind] * (law == STRIBECK)}
    begin[DECAY] = BEGIN[DECAY] * (law == STRIBECK)
    of = model(kind)
    return np.array([begin.get(name, value) for name, value in zip(of.free, of.theta, strict=True)])


# ----------------------------------------------------------------------------------------------------------- recordings


def swings(angles: Angles, smallest: float = SMALLEST) -> tuple[float, float]:
    """When the pendulum first turns after its release, and when its swings last reach `smallest` [rad]: [s]."""
    off = angles.pendulum - np.mean(angles.pendulum[angles.times > angles.times[-1] - 1])
    through = np.flatnonzero(np.diff(np.sign(off)))
    first, second = through[0], through[1]
    turn = first + int(np.argmax(np.abs(off[first:second])))
    return float(angles.times[turn]), float(angles.times[np.flatnonzero(np.abs(off) >= smallest)[-1]])


def windows(
    angles: Angles, count: int = WINDOWS, smallest: float = SMALLEST, every: int = EVERY
) -> tuple[Record, ...]:
    """Windows of equal length, each with the clock's own steps.

    Args:
        every: samples to a step.
    """
    start, end = swings(angles, smallest)
    edges = np.linspace(start, end, count + 1)
    every_sample = Record("swings", angles.times, np.zeros((len(angles.times), 0)), angles.pendulum[:, None])
    return tuple(
        replace(every_sample.between(a, b).every(every), name=f"window {k + 1}")
        for k, (a, b) in enumerate(pairwise(edges))
    )


# -------------------------------------------------------------------------------------------------------------- studies


@dataclass(frozen=True, eq=False)
class Study:
    """A law of friction, tuned to all windows, to each of them, and tried on the others.

    Args:
        law, kind: see `parameters`. weight: kappa.
        together: one theta for all windows, with the sensor.
        each: of each window, the sensor held.
        scores: (n, n) cost of window j's states with the parameters of window i; its own on the diagonal. None if not
            asked for.
    """

    law: str
    kind: str
    weight: float
    together: JointFit
    each: tuple[JointFit, ...]
    scores: Float[np.ndarray, "n n"] | None = field(default=None)

    @property
    def cost(self) -> float:
        """Mean over windows of what their own parameters leave [rad^2]."""
        return float(np.mean([fit.cost for fit in self.each]))

    @property
    def cross_validations(self) -> Float[np.ndarray, "n"]:
        """Of each window's parameters, the mean over the other windows [rad^2]."""
        assert self.scores is not None
        others = ~np.eye(len(self.each), dtype=bool)
        return np.array([row[other].mean() for row, other in zip(self.scores, others, strict=True)])

    @property
    def cross_validation(self) -> float:
        """Their mean [rad^2]."""
        return float(self.cross_validations.mean())

    @property
    def inertias(self) -> Float[np.ndarray, "n"]:
        """About the hinge, of each window [kg m^2]."""
        return np.array([inertia(fit) for fit in self.each])

    @property
    def spread_percent(self) -> float:
        """Of the windows' inertias: largest less smallest, by their mean."""
        return float(100 * np.ptp(self.inertias) / np.mean(self.inertias))

    @property
    def frequency(self) -> float:
        """Of small swings, by all windows together [rad/s]."""
        return float(np.sqrt(WEIGHT / inertia(self.together)))

    @property
    def shares(self) -> Float[np.ndarray, "n"]:
        """Work of impulse errors by that of friction, of each window under one theta for all."""
        by_errors, by_friction = np.transpose([_works(self.together, k) for k in range(len(self.each))])
        return np.abs(by_errors) / by_friction


def inertia(fit: JointFit) -> float:
    """About the hinge [kg m^2]."""
    return fit.values[INERTIA] + MASS * DISTANCE**2


def study(
    windows: Sequence[Record],
    weight: float,
    law: str,
    kind: str = "coulomb",
    sensor: Sequence[str] = SENSOR,
    level: float = np.inf,
    crossed: bool = True,
) -> Study:
    """Tune a law to all windows and to each by the method of Lacoursiere, and try what each found on the others.

    Args:
        sensor: what is estimated of the encoder.
        level: what Stribeck's excess may be at most [N m], or [m].
        crossed: whether to try them on the others.
    """
    of, method = model(kind), JointSmoothing(weight=weight, tolerance=TOLERANCE, doubts=False)
    lower = {DECAY: DECAYS[0]} if law == STRIBECK else {}
    upper = {DECAY: DECAYS[1], f"pivot.{kind}_excess": level} if law == STRIBECK else {}
    own, begin = parameters(law, kind), beginning(law, kind)
    together = method.solve(JointSmoothingProblem(of, windows, begin, (*own, *sensor), lower, upper))
    start = np.where(np.isin(of.free, SENSOR), together.theta, begin)
    each = tuple(
        method.solve(JointSmoothingProblem(of, [window], start, own, lower, upper)) for window in windows
    )
    scores = _crossed(method, of, windows, each) if crossed else None
    return Study(law, kind, weight, together, each, scores)


def _crossed(
    method: JointSmoothing, of: Model, windows: Sequence[Record], each: Sequence[JointFit]
) -> Float[np.ndarray, "n n"]:
    scores = np.diag([fit.cost for fit in each])
    for i, fit in enumerate(each):
        others = [j for j in range(len(windows)) if j != i]
        held_out = method.solve(JointSmoothingProblem(of, [windows[j] for j in others], fit.theta, ()))
        scores[i, others] = [path.cost / len(path.times) for path in held_out.paths]
    return scores


def _works(fit: JointFit, k: int) -> tuple[float, float]:
    """Of impulse errors and of friction in a window [J]."""
    path = fit.paths[k]
    h, q, rate = np.diff(path.times), path.coordinates[1:, 0], path.rates[1:, 0]
    by_errors = np.sum(path.step_errors * rate[:, None])
    load = MASS * (np.abs(GRAVITY * np.cos(q) + DISTANCE * rate**2))
    return float(by_errors), float(np.sum(h * rate * friction(fit, rate, load)))


def chosen(shares: Mapping[float, np.ndarray]) -> float:
    """kappa by the rule above: kappa -> `Study.shares` of the dry law; the largest if none will do."""
    enough = [weight for weight in sorted(shares) if shares[weight].max() < LARGEST_SHARE]
    return enough[0] if enough else max(shares)


def friction(
    fit: JointFit, speeds: Float[np.ndarray, "S"], load: float | np.ndarray = MASS * GRAVITY
) -> Float[np.ndarray, "S"]:
    """The torque against each speed [N m].

    Args:
        load: of the hinge, in the load-dependent law; that along the pendulum, as the rest is small [N].
    """
    values = fit.values
    scale, kind = (load, "friction") if "pivot.friction" in values else (1.0, "coulomb")
    excess = values[f"pivot.{kind}_excess"] * np.exp(-values[DECAY] * speeds**2)
    level = scale * (values[f"pivot.{kind}"] + excess)
    return values[DRAG] * speeds + np.clip(STICK_DRAG * speeds, -level, level)
