"""Where joints touch their end stops, where the stops are, and how fast joints leave them.

**Which steps are contacts.** A stop may be reached wherever a joint comes near the farthest position read. Steps within
`ZONE` of its range from there are taken as contacts first, so that the first fit depends on none. Then the zone is
halved, with theta held, as long as the steps that it sets free lack no impulse that is large beside those of the other
steps (`EXCESS`). Where all of them can be free, the stop was not reached.

**Where the stop is.** Along the outward direction, the motion before a contact is extrapolated from the state where it
begins, and the motion after it backwards, each with the acceleration of its arc. The two meet at y, with the speeds v_0
and v_1. A stop that acts like a spring takes the same time at any speed, in which the joint moves on: therefore

    y = p + g |v_0 - v_1|,      g >= 0

and y = p where the joint rests at its stop. The position p and g follow by weighted least squares over all contacts,
and the restitution e from v_1 = -e v_0, all with the scatter that they have. Contacts in which the two motions do not
meet, or that are far from the others, have no weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...arrays import Bool, Float, Matrix, Vector
from ...diagnosis.cause import Cause
from ...estimate import Finding, Severity
from ...exceptions import InvalidMethod
from ...models.maximal import Model
from ...parameters import Normal
from ...statistics import NORMAL_95
from .problem import JointFit, JointSmoothingProblem, Record, RecordFit
from .smoothing import JointSmoothing, RecordEquations
from .stops import SIDES, UNSURE, declared_stops, position_noise, reached, read_positions, touching

END_STOP = Cause(
    "end-stop",
    "A joint meets an end stop that is not declared, or not where it is declared; or it does not meet its stop.",
    "Declare the stops of the joint where it meets them.",
)
ZONE = 0.05
"""Part of a joint's range, next to the farthest position, that is first taken as contact."""
EXCESS, CHANCE = 2.0, 3.0
"""Cost of steps relative to that of others above which they are contacts, and standard deviations added to it."""
SUSPECT = 3.0
"""Impulse that steps near an end lack, relative to the largest one elsewhere, above which there may be a stop."""
TRIALS = 5
"""Most iterations of fits of states with other zones: with theta held they are nearly linear."""
ROUNDS = 8
"""Most fits of states by which zones of contact come close to the stops."""
REST = 8
"""Fewest readings at one position that show a joint at rest."""
OUTLYING = 2.4
"""Distance of a contact from the others, in their scatter, where its weight is a quarter (Cauchy's weights)."""
NAMES = ("lower", "upper")
"""Words for the ends."""
NONE = np.array([-np.inf, np.inf])
"""Positions of stops that do not exist."""


def check_stops_are_read(problem: JointSmoothingProblem, ends: Bool[np.ndarray, "n 2"]) -> None:
    """`InvalidMethod` if a joint has a stop, and no encoder that shows when it is touched."""
    for n in np.flatnonzero(ends.any(axis=1) & np.isnan(_farthest(problem)).any(axis=1)).tolist():
        joint = problem.model.mechanism.coordinates[n][0]
        raise InvalidMethod(
            f"{joint} has end stops, and no recording has its position, which shows when it touches them; leave out "
            f"its stops, or give a column of position.{joint}"
        )


def widest_stops(problem: JointSmoothingProblem, ends: Bool[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 2"]:
    """Positions next to the farthest readings from which contact is assumed, of the chosen ends."""
    farthest = _farthest(problem)
    width = ZONE * np.ptp(farthest, axis=1)
    return np.where(ends, farthest - width[:, None] * SIDES, NONE)


def suspected_stops(method: JointSmoothing, problem: JointSmoothingProblem) -> Bool[np.ndarray, "n 2"]:
    """Ends near which steps lack impulses against the motion outward that are far larger than those of other steps.

    With the described theta: wrong parameters cause impulses that change as slowly as the motion.
    """
    farthest = _farthest(problem)
    ends = np.isfinite(farthest) & (np.ptp(farthest, axis=1) > 0)[:, None]
    if not ends.any() or method.form != "reduced":
        return np.zeros(farthest.shape, dtype=bool)
    free = replace(method, stops=np.tile(NONE, (len(farthest), 1)), max_iterations=TRIALS, tolerance=1e-3)
    weight = RecordEquations(free, problem).start().own_weight
    fit = replace(free, weight=weight).solve(replace(problem, open=()))
    zones, impulses, near = widest_stops(problem, ends), [], []
    for record, path in zip(problem.records, fit.paths, strict=True):
        impulses.append(path.step_errors[:, : len(farthest)])
        reaching = reached(read_positions(problem.model, record, fit.theta))[:-1] >= zones * SIDES
        near.append(reaching)
    e, inside = np.concatenate(impulses), np.concatenate(near)
    # an impact on a stop of one joint is an error of the others, too, where theta is wrong
    shared = inside.any(axis=2).sum(axis=1) > 1
    elsewhere = np.abs(e[~inside.any(axis=(1, 2))]).max(axis=0, initial=0.0)
    inward = np.where(inside & ~shared[:, None, None], -e[:, :, None] * SIDES, 0.0).max(axis=0)
    return np.asarray(ends & (inward > SUSPECT * elsewhere[:, None]))


def reached_stops(
    method: JointSmoothing, problem: JointSmoothingProblem, ends: Bool[np.ndarray, "n 2"]
) -> Float[np.ndarray, "n 2"]:
    """`widest_stops` of the ends that the motion touches; theta and the motion are those of the problem's guess."""
    if not ends.any():
        return np.where(ends, 0.0, NONE)
    stops = widest_stops(problem, ends)
    trial = replace(method, state_std=False, max_iterations=TRIALS, tolerance=1e-3)
    held = replace(problem, open=())

    def cost(stops: Matrix) -> tuple[float, int]:
        """Sum of squares, and number of steps without contact."""
        of = (touching(problem.model, record, problem.parameters.theta, stops) for record in problem.records)
        free = sum(int(np.count_nonzero(~touched)) for touched in of)
        samples = sum(len(record.times) for record in problem.records)
        return replace(trial, stops=stops).solve(held).cost * samples, free

    least, steps = cost(stops)
    for n, side in np.argwhere(ends).tolist():
        without = stops.copy()
        without[n, side] = NONE[side]
        more, free = cost(without)
        chance = 1 + CHANCE * np.sqrt(2 / max(free - steps, 1))
        if more - least <= EXCESS * chance * least * (free - steps) / steps:
            ends = ends & (without != NONE)
    return np.where(ends, stops, NONE)


class StopContact(NamedTuple):
    """A contact with a stop, outward positive.

    Args:
        position: y [rad] or [m], with its `spread`. before, after: v_0 and v_1; both 0 of a joint at rest.
    """

    position: float
    spread: float
    before: float = 0.0
    after: float = 0.0


@dataclass(frozen=True, eq=False)
class StopEstimate:
    """Positions and restitution of the stops of all joint coordinates; NaN where no contact determines them.

    Args:
        positions, position_std: (n, 2) of lower and upper stops [rad], [m]. restitution, restitution_std, give,
            give_std: (n,) e and g [s].
    """

    positions: Float[np.ndarray, "n 2"]
    position_std: Float[np.ndarray, "n 2"]
    restitution: Vector
    restitution_std: Vector
    give: Vector
    give_std: Vector

    @classmethod
    def unknown(cls, problem: JointSmoothingProblem) -> StopEstimate:
        """Nothing is known."""
        n = len(problem.model.mechanism.coordinates)
        return cls(*(np.full((n, 2), np.nan) for _ in range(2)), *(np.full(n, np.nan) for _ in range(4)))

    @property
    def is_found(self) -> Bool[np.ndarray, "n 2"]:
        """Whether contacts determine the position of a stop."""
        return np.isfinite(self.positions)

    def undeclared(self, model: Model, ends: Bool[np.ndarray, "n 2"]) -> Iterator[Finding]:
        """Findings about stops that the motion meets at `ends`, where none is declared."""
        for n, side in np.argwhere(self.is_found & ends).tolist():
            joint, unit = model.mechanism.coordinates[n]
            at, std = self.positions[n, side], self.position_std[n, side]
            yield replace(
                END_STOP.finding(
                    Severity.warning,
                    f"{joint} meets a stop at {at:.3g} +- {NORMAL_95 * std:.1g} {unit}, and the mechanism has none "
                    "there. Steps in contact with it are left out of the estimate.",
                    f"Write stops = {{ {NAMES[side]} = {at:.4g} }} in the joint {joint}.",
                    joint,
                    evidence=1e3,
                ),
                corrected=True,
            )

    def declared(self, problem: JointSmoothingProblem, zones: Matrix) -> Iterator[Finding]:
        """Findings about stops of the mechanism that the motion does not reach, or meets elsewhere.

        Args:
            zones: (n, 2) positions from which contact was assumed; inf: the stop was not reached.
        """
        model, theta, farthest = problem.model, problem.parameters.theta, _farthest(problem)
        stops = declared_stops(model, theta)
        for end in model.structure.ends:
            n, side = end.coordinate, end.side
            (joint, unit), at = model.mechanism.coordinates[n], self.positions[n, side]
            name = f"{joint}.{NAMES[side]}_stop"
            open_ = name in [model.free[k] for k in problem.parameters.open.tolist()]
            if not self.is_found[n, side]:
                meets = (
                    "meets its {} stop too seldom"
                    if np.isfinite(zones[n, side])
                    else "does not meet its {} stop"
                )
                yield END_STOP.finding(
                    Severity.note,
                    f"{joint} {meets.format(NAMES[side])}: its farthest reading is {farthest[n, side]:.4g} "
                    f"{unit}" + (f", and {name} is not determined." if open_ else "."),
                    f"Hold {name}, or record a motion that meets the stop."
                    if open_
                    else "Nothing is to be done.",
                    joint,
                )
            elif not open_ and abs(at - stops[n, side]) > NORMAL_95 * self.position_std[n, side]:
                yield END_STOP.finding(
                    Severity.warning,
                    f"{joint} meets its {NAMES[side]} stop at {at:.4g} {unit}, and it is declared at "
                    f"{stops[n, side]:.4g} {unit}.",
                    f'Add "{name}" to the parameters, or write {NAMES[side]} = {at:.4g} in its stops.',
                    joint,
                    evidence=abs(at - stops[n, side]) / self.position_std[n, side],
                )

    def known_to(self, problem: JointSmoothingProblem) -> JointSmoothingProblem:
        """The problem with positions and restitutions of its stops as initial guess and as priors.

        No residual depends on them. An estimated stop that is not reached is at least as far out as the motion.
        """
        model, theta, priors = problem.model, problem.parameters.theta.copy(), dict(problem.priors)
        open_ = {model.free[k]: k for k in problem.parameters.open.tolist()}
        farthest = _farthest(problem)
        for end in model.structure.ends:
            joint, n = model.mechanism.joints[end.joint].name, end.coordinate
            values = {
                f"{joint}.{NAMES[end.side]}_stop": (
                    self.positions[n, end.side],
                    self.position_std[n, end.side],
                ),
                f"{joint}.stop_restitution": (self.restitution[n], self.restitution_std[n]),
                f"{joint}.stop_give": (self.give[n], self.give_std[n]),
            }
            for name, (value, std) in values.items():
                if name not in open_:
                    continue
                if np.isfinite(value):
                    priors[name] = _both(Normal(value, std), problem.priors.get(name))
                    theta[open_[name]] = priors[name].mean
                elif name.endswith("_stop"):
                    theta[open_[name]] = end.sign * max(
                        end.sign * theta[open_[name]], end.sign * farthest[n, end.side]
                    )
        return replace(problem, theta=theta, priors=priors)

    @classmethod
    def of(cls, method: JointSmoothing, problem: JointSmoothingProblem) -> StopEstimate:
        """With theta and the motion of the problem's guess, and the stops of the method, which are reached.

        Arcs that end nearer to the stops are extrapolated less, so that the zones of contact follow the estimates.
        """
        stops = method.stops_of(problem.model, problem.parameters.theta)
        noise, farthest = position_noise(problem.model, method.noise_of(problem.model)), _farthest(problem)
        trial = replace(method, stops=stops, state_std=True, max_iterations=TRIALS, tolerance=1e-3)
        held = replace(problem, open=())
        found = cls.unknown(problem)
        for _ in range(ROUNDS if np.isfinite(stops).any() else 0):
            fit = trial.solve(held)
            held = replace(held, guess=fit.paths)
            found = cls._of_arcs(trial, problem, fit)
            margin = UNSURE * noise[:, None]
            nearest = SIDES * found.positions - margin - 3 * found.position_std
            zones = SIDES * np.fmin(SIDES * (stops + farthest) / 2, nearest)
            known = np.isfinite(found.positions)
            if not (known & (np.abs(zones - np.where(known, stops, 0.0)) > margin)).any():
                break
            stops = np.where(known, zones, stops)
            trial = replace(trial, stops=stops)
        return found

    @classmethod
    def _of_arcs(cls, method: JointSmoothing, problem: JointSmoothingProblem, fit: JointFit) -> StopEstimate:
        """From the arcs between contacts of a fit with `method.stops`."""
        assert method.stops is not None
        n = len(method.stops)
        position, position_std = np.full((n, 2), np.nan), np.full((n, 2), np.nan)
        restitution, restitution_std, give, give_std = (np.full(n, np.nan) for _ in range(4))
        step = float(np.median(np.concatenate([record.steps for record in problem.records])))
        noise = position_noise(problem.model, method.noise_of(problem.model))
        for joint in range(n):
            bounces: list[StopContact] = []
            gives: Normal | None = None
            for side in np.flatnonzero(np.isfinite(method.stops[joint])).tolist():
                contacts = [
                    contact
                    for record, path in zip(problem.records, fit.paths, strict=True)
                    for contact in _contacts(
                        method.stops, problem.model, record, path, fit.theta, joint, side, noise
                    )
                ]
                if contacts:
                    p, g, weights = _stop_position(contacts, step)
                    position[joint, side], position_std[joint, side] = SIDES[side] * p.mean, p.std
                    gives = _both(g, gives)
                    bounces += [
                        c for c, w in zip(contacts, weights, strict=True) if w > 0.25 and c.before > 0
                    ]
            if bounces:
                restitution[joint], restitution_std[joint] = _restitution(bounces)
                if gives is not None:
                    give[joint], give_std[joint] = gives.mean, gives.std
        return cls(position, position_std, restitution, restitution_std, give, give_std)


def _stop_position(contacts: list[StopContact], step: float) -> tuple[Normal, Normal, Vector]:
    """p and g, and the robust weights of the contacts, from 0 to 1."""
    y, spread = np.array([c.position for c in contacts]), np.array([c.spread for c in contacts])
    X = np.column_stack([np.ones(len(y)), [c.before - c.after for c in contacts]])
    prior = np.diag([0.0, 1 / step**2])  # a contact of several steps would show in its readings
    b, weights, scale = np.array([np.median(y), 0.0]), np.ones(len(y)), 1.0
    for _ in range(30):
        W = weights / spread**2
        H = (X.T * W) @ X / scale**2 + prior
        b = np.linalg.solve(H, X.T @ (W * y) / scale**2)
        if b[1] < 0:
            b = np.array([np.sum(W * y) / np.sum(W), 0.0])
        away = (y - X @ b) / spread
        # at least as large as the states' own uncertainty, with the degrees of freedom that p and g take
        scale = max(1.0, 1.4826 * float(np.median(np.abs(away))) * np.sqrt(len(y) / max(len(y) - 2, 1)))
        weights = 1 / (1 + (away / (OUTLYING * scale)) ** 2) ** 2
    p, g = (
        Normal(value, std)
        for value, std in zip(b.tolist(), np.sqrt(np.diag(np.linalg.inv(H))).tolist(), strict=True)
    )
    return p, g, weights


def _both(one: Normal, other: Normal | None) -> Normal:
    """Mean and standard deviation by two independent ones."""
    if other is None:
        return one
    weights = np.array([one.std, other.std]) ** -2.0
    return Normal(float(weights @ [one.mean, other.mean] / weights.sum()), float(weights.sum() ** -0.5))


def _restitution(bounces: list[StopContact]) -> tuple[float, float]:
    """e and its standard deviation."""
    v, back = np.array([c.before for c in bounces]), -np.array([c.after for c in bounces])
    e = float(v @ back / (v @ v))
    # one bounce tells nothing about scatter: that of a law that holds to a tenth
    scatter = np.sqrt(np.sum((back - e * v) ** 2 + (0.1 * e * v) ** 2) / (v @ v) / len(v))
    return min(max(e, 0.0), 1.0), float(scatter)


def _contacts(
    stops: Matrix,
    model: Model,
    record: Record,
    path: RecordFit,
    theta: Vector,
    joint: int,
    side: int,
    noise: Vector,
) -> Iterator[StopContact]:
    """Contacts of a record with one stop: bounces, and rests."""
    sign, t, n = SIDES[side], record.times, path.coordinates.shape[1]
    every = touching(model, record, theta, stops)
    own = touching(model, record, theta, _only(stops, joint, side))
    z = sign * read_positions(model, record, theta)[:, joint]
    y, v = sign * path.coordinates[:, joint], sign * path.rates[:, joint]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], every, [False]]).astype(int)))
    for a, b in edges.reshape(-1, 2).tolist():
        if not own[a:b].any():
            continue
        at_rest = _rest(z[a : b + 1], float(noise[joint]))
        if at_rest is not None:
            yield at_rest
        elif a > 0 and b + 1 < len(t):
            T = t[b] - t[a]
            before = np.array([y[a], v[a], (v[a] - v[a - 1]) / (t[a] - t[a - 1])])
            after = np.array([y[b], v[b], (v[b + 1] - v[b]) / (t[b + 1] - t[b])])
            known = path.std is not None and path.std.shape[1] == 2 * n  # of joint coordinates
            std = path.std[[a, b]][:, [joint, n + joint]] if known and path.std is not None else None
            bounce = _bounce(before, after, T, std, float(noise[joint]))
            if bounce is not None:
                yield bounce


def _rest(z: Vector, noise: float) -> StopContact | None:
    """Where most of the readings are at one position; None if they are not."""
    half = (len(z) + 1) // 2
    if half < REST:
        return None
    rising = np.sort(z)
    first = int(np.argmin(rising[half - 1 :] - rising[: len(z) - half + 1]))
    middle = np.mean(rising[first : first + half])
    near = z[np.abs(z - middle) < 3 * noise]
    if len(near) < half:
        return None
    # friction may hold a joint short of its stop, by no more than this
    return StopContact(float(np.mean(near)), UNSURE / 2 * noise)


def _bounce(before: Vector, after: Vector, T: float, std: Matrix | None, noise: float) -> StopContact | None:
    """Where motions with constant accelerations meet, (y, v, a) at both ends of a time T; None if they do not.

    `std` are those of y and v at both ends; `noise` that of readings, in place of them.
    """
    (y_0, v_0, a_0), (y_1, v_1, a_1) = before, after
    # y_0 + v_0 t + a_0 t^2/2 = y_1 - v_1 (T - t) + a_1 (T - t)^2/2, as c_0 + c_1 t + c_2 t^2 = 0
    c = y_0 - y_1 + v_1 * T - a_1 * T**2 / 2, v_0 - v_1 + a_1 * T, (a_0 - a_1) / 2
    roots = [root.real for root in np.roots(c[::-1]) if abs(root.imag) < 1e-12 and 0 <= root.real <= T]
    for t in roots:
        speeds = v_0 + a_0 * t, v_1 - a_1 * (T - t)
        if speeds[0] > 0 > speeds[1]:
            spread = noise
            if std is not None:
                # weighted by the speeds: where lines meet, the slower one decides
                share = np.array([-speeds[1], speeds[0]]) / (speeds[0] - speeds[1])
                spread = float(np.sqrt(np.sum((share * np.hypot(std[:, 0], std[:, 1] * [t, T - t])) ** 2)))
            if not np.isfinite(spread):  # an arc of a single state
                return None
            return StopContact(float(y_0 + v_0 * t + a_0 * t**2 / 2), max(spread, 1e-12), *map(float, speeds))
    return None


def _farthest(problem: JointSmoothingProblem) -> Float[np.ndarray, "n 2"]:
    """Least and largest reading of each joint; NaN without an encoder."""
    theta = problem.parameters.theta
    y = np.concatenate([read_positions(problem.model, record, theta) for record in problem.records])
    return np.column_stack([y.min(axis=0), y.max(axis=0)])


def _only(stops: Matrix, joint: int, side: int) -> Float[np.ndarray, "n 2"]:
    """One of the stops."""
    only = np.tile(NONE, (len(stops), 1))
    only[joint, side] = stops[joint, side]
    return only
