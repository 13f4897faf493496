"""Contact events that readings contradict: a contact that closes or opens at another time than its channel says.

An event is a sample from which on a contact is closed, or open. The samples about it are solved again with theta of a
solution, with the event one sample earlier or later, and on while the cost falls: its decrease is the logarithm of how
many times as likely the readings are. One event after the other is taken, until none moves.

A foot that lands between two samples, a part alpha of the interval after the first, has moved alpha of it. The event at
the first sample costs c alpha^2 more than that at the second, the one after that c (1 - alpha)^2, which gives alpha. So
does an event at which a contact opens: in a semi-implicit step (`models.robot_states`) the acceleration at a sample is
that from half an interval before it on, so alpha = 1/2 stands for a contact that opens half an interval before. Speeds
are not compared at the sample of a landing, where sensors read those of before, of after, or a mean of both.

A contact that is open and whose frame keeps still may have been missed, and one that is closed and whose frame moves
may not have happened: closed, or open, for that time is another hypothesis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.ndimage import binary_closing, uniform_filter1d

from ...arrays import Bool, NodeStates, Vector
from ...estimate.motions import ContactChange
from ...models.contacts.contacts import ContactSchedule
from ...models.robot.articulated import Articulated
from ...models.sensors import Gyro, JointVelocity
from .ddp import DDP
from .first_guess import first_guess
from .problem import GaussianPrior, ShootingProblem, Trajectories
from .robot import RobotTrajectoryModel

ABOUT_AN_EVENT = DDP(step_tolerance=0.3, gap_tolerance=1e-3, max_iterations=15)
"""Costs are compared whose differences count from `EventSearch.gain` on."""
MARGIN = 8
"""Samples on either side of all hypotheses: about twice as many as a state has speeds and positions to show."""


@dataclass(frozen=True)
class EventSearch:
    """How far events may move, and from when on they do.

    Args:
        reach: furthest from where an event is [s].
        gain: logarithm of how many times as likely readings are from which an event moves.
        still: speed of a frame below which its contact may be closed [m/s].
        moves: speed of a frame above which its contact may be open [m/s]; a loaded foot slips more slowly.
        shortest: of a stance that was missed [s].
        rounds: most passes over all events.
    """

    reach: float = 0.05
    gain: float = 10.0
    still: float = 0.05
    moves: float = 0.2
    shortest: float = 0.1
    rounds: int = 5

    def search(
        self, model: RobotTrajectoryModel, theta: Vector, x: NodeStates, earlier: Sequence[ContactChange] = ()
    ) -> tuple[RobotTrajectoryModel, tuple[ContactChange, ...]]:
        """The recording with the likeliest schedule, and every event, in the order of time.

        Args:
            model: the recording. theta: (p,). x: (N + 1, nx) states at its nodes. Both of a solution.
            earlier: events of an earlier search, which gave the recording its schedule.
        """
        if not model.schedule.contacts:
            return model, ()
        hypotheses = _Hypotheses(model, theta, x[model.after_impacts])
        times, closed = model.times, model.schedule.closed.copy()
        reach = max(1, round(self.reach / float(np.median(np.diff(times)))))
        frames = [contact.frame for contact in model.schedule.contacts]
        own = [event for event in earlier if event.recording == model.name]
        known = {(event.frame, event.sample): event for event in own if event.time is not None}
        given = {change: float(times[change[0]]) for change in _changes(closed)}
        gains: dict[tuple[int, int], float] = {}
        begun = _Hypotheses(model, theta, first_guess(model)[model.after_impacts])
        for first, last, f, closes in begun.contradicted(self.still, self.shortest):
            other = closed.copy()
            other[first:last, f] = closes
            a, b = first - MARGIN, last + MARGIN
            gain = begun.cost(closed, a, b) - begun.cost(other, a, b)
            if gain > self.gain:
                closed, gains = other, gains | {(first, f): gain, (last, f): gain}
        changes, events, missed = _changes(closed), [], bool(gains)
        for k, f in changes:
            at, time, gain = (k, f), float(times[k]), gains.get((k, f), 0.0)
            event = ContactChange(model.name, frames[f], bool(closed[at]), given.get(at), time, k, gain)
            was = known.get((event.frame, k))
            events.append(event if was is None else replace(event, given=was.given, gain=was.gain))
        absent = [event for event in own if event.time is None]
        for at in given.keys() - {*changes}:
            frame, closes = frames[at[1]], bool(model.schedule.closed[at])
            absent.append(
                ContactChange(model.name, frame, closes, given[at], None, at[0], gains.get(at, 0.0))
            )
        # a solution without a stance is far from the motion: solve again before events are moved
        for _ in range(0 if missed else self.rounds):
            before = [event.sample for event in events]
            events = [self._likeliest(e, frames.index(e.frame), closed, hypotheses, reach) for e in events]
            if before == [event.sample for event in events]:
                break
        model = model.with_schedule(closed)
        model = replace(model, guess=None if missed else hypotheses.x[model.samples])
        return model, tuple(sorted([*absent, *events], key=lambda event: event.sample))

    def _likeliest(
        self, event: ContactChange, f: int, closed: np.ndarray, hypotheses: _Hypotheses, reach: int
    ) -> ContactChange:
        """An event of contact f where it is likeliest; `closed` is changed, too."""
        k = event.sample
        others = [0, len(closed), *(at for at, g in _changes(closed) if g == f and at != k)]
        low = max(max(at for at in others if at < k) + 1, k - reach)
        high = min(min(at for at in others if at > k) - 1, k + reach)
        a, b, costs = k - reach - MARGIN, k + reach + MARGIN, dict[int, float]()

        def cost(at: int) -> float:
            if at not in costs:
                costs[at] = hypotheses.cost(_moved(closed, f, k, at), a, b) if low <= at <= high else np.inf
            return costs[at]

        best = k
        for way in (-1, 1):
            while cost(best + way) < cost(best):
                best += way
        gain, times = cost(k) - cost(best), hypotheses.fixed.times
        if best != k and gain < self.gain:
            best, gain = k, 0.0
        early, late = (np.sqrt(max(cost(best + way) - cost(best), 0.0)) for way in (-1, 1))
        part = 1.0 if early == np.inf else early / (early + late) if early + late > 0 else 0.5
        shift = (part - 1.0) * (times[best] - times[best - 1])
        closed[:] = _moved(closed, f, k, best)
        return replace(event, time=float(times[best] + shift), sample=best, gain=event.gain + gain)


@dataclass(frozen=True, eq=False)
class _Hypotheses:
    """Costs of stretches of a recording with other schedules.

    Args:
        model: the recording. theta: (p,). x: (S, nx) states at its samples, to begin with.
    """

    model: RobotTrajectoryModel
    theta: Vector
    x: NodeStates

    @cached_property
    def fixed(self) -> RobotTrajectoryModel:
        """The recording with theta held, and without more noise where feet slip."""
        return replace(self.model, parameters=self.model.parameters.fixed(self.theta), growth=None)

    def cost(self, closed: Bool[np.ndarray, "S c"], first: int, last: int) -> float:
        """Half of chi-square of the samples from `first` to before `last`; infinite where there is no solution."""
        first, last = max(first, 0), min(last, len(closed))
        model = self.fixed.with_schedule(closed).part(first, last)
        landings = [phase.first for phase in model.schedule.resets]
        readings = []
        for some in model.readings:
            values = some.without_last_effort().values.copy()
            if isinstance(some.sensor, JointVelocity | Gyro):
                values[landings] = np.nan
            readings.append(replace(some, values=values))
        model, x = replace(model, readings=tuple(readings)), self.x[first:last]
        nothing = GaussianPrior.flat(np.zeros(0))
        arrival = GaussianPrior.flat(x[0], model.manifold.degrees)
        guess = Trajectories((x[model.samples],), (np.zeros(model.noise_std.shape),), nothing.mean)
        solution = ABOUT_AN_EVENT.solve(ShootingProblem((model,), (arrival,), nothing), guess)
        return solution.cost if np.isfinite(solution.cost) else np.inf

    def contradicted(self, speed: float, shortest: float) -> Iterator[tuple[int, int, int, bool]]:
        """First and last + 1 sample, and contact, of stretches in which it rests (True) but is open, or the reverse."""
        model = self.fixed
        # differences of an orientation's noise are speeds, whose mean over n samples falls with 1 / n
        samples = max(1, round(shortest / float(np.median(np.diff(model.times)))))
        for f, velocity in enumerate(model.contact_velocities(self.x)):
            slow = np.linalg.norm(uniform_filter1d(velocity, samples, axis=0), axis=1) < speed
            for rests in (True, False):
                wrong = binary_closing(slow == rests, np.ones(samples)) & (
                    model.schedule.closed[:, f] != rests
                )
                for first, last in _runs(wrong):
                    if model.times[last - 1] - model.times[first] >= shortest:
                        yield first, last, f, rests


SHORTEST_S = 0.012
"""Of a stance or a flight that forces show: a foot takes as long to come to rest [s]."""
NEAR_S = 0.1
"""Furthest from an event of a channel at which the readings may show the same one [s]."""


def weight_of(robot: Articulated) -> float:
    """Of the robot as it is described [N]."""
    return float(robot.inertials[:, 0].sum() * np.linalg.norm(robot.tree.gravity))


def without_short_runs(closed: Bool[np.ndarray, "S c"], rate_hz: float) -> Bool[np.ndarray, "S c"]:
    """Contacts without stances and flights that are shorter than a foot takes to come to rest."""
    most = max(1, round(SHORTEST_S * rate_hz))
    kept = closed.copy()
    for column in kept.T:
        for state in (False, True):
            for first, last in _runs(column == state):
                if last - first < most and first > 0 and last < len(column):
                    column[first:last] = not state
    return kept


def with_contacts_by_forces(
    model: RobotTrajectoryModel, x: NodeStates, theta: Vector, rough: bool = False
) -> RobotTrajectoryModel:
    """The recording with contacts closed where the ground pushes along the motion x (N + 1, nx) at its nodes.

    Args:
        rough: whether x are readings, whose differences are no accelerations.
    """
    closed = model.closed_by_forces(x[model.after_impacts], theta, weight_of(model.parameters.robot), rough)
    rate_hz = 1.0 / float(np.median(np.diff(model.times)))
    return model.with_schedule(without_short_runs(closed, rate_hz))


def events_of(model: RobotTrajectoryModel, was: ContactSchedule) -> list[ContactChange]:
    """Every event of a recording's schedule, with the nearest like one of its channels, in the order of time."""
    schedule, times = model.schedule, model.times
    events: list[ContactChange] = []
    given: dict[tuple[int, bool], list[float]] = {}
    for k, f in _changes(was.closed) if was.is_recorded else ():
        given.setdefault((f, bool(was.closed[k, f])), []).append(float(times[k]))
    for k, f in _changes(schedule.closed):
        time, closes = float(times[k]), bool(schedule.closed[k, f])
        near = min(given.get((f, closes), ()), key=lambda t: abs(t - time), default=None)
        near = near if near is not None and abs(near - time) < NEAR_S else None
        events.append(
            ContactChange(model.name, schedule.contacts[f].frame, closes, near, time, k, float("nan"))
        )
    return sorted(events, key=lambda event: event.sample)


def contradicted_events(
    model: RobotTrajectoryModel, x: NodeStates, search: EventSearch | None = None
) -> tuple[ContactChange, ...]:
    """Events of a schedule with a margin that the motion x (S, nx) at the samples contradicts, without solving again.

    A foot that rests for longer than the margin before its contact closes, or after it opens, was closed then; a foot
    that moves for as long though its contact is settled was open. `gain` is NaN.
    """
    search, times, schedule = search or EventSearch(), model.times, model.schedule
    events: list[ContactChange] = []
    for f, velocity in enumerate(model.contact_velocities(x)):
        frame, closed, near = schedule.contacts[f].frame, schedule.closed[:, f], schedule.near_events[:, f]
        speed = np.linalg.norm(velocity, axis=1)
        contradicts = np.where(closed, speed > search.moves, speed < search.still)
        for first, last in _runs(contradicts & ~near):
            if last - first <= schedule.margin:
                continue
            margin, closes, given = schedule.margin, not closed[first], None
            at = first
            is_alone = not ((last < len(times) and near[last]) or (first > 0 and near[first - 1]))
            if is_alone and times[last - 1] - times[first] < search.shortest:
                continue
            if last < len(times) and near[last]:  # the event comes later in the schedule
                given = float(times[min(last + margin, len(times) - 1)])
            elif first > 0 and near[first - 1]:  # it came earlier, and is undone at the end of the run
                at, closes, given = (
                    min(last, len(times) - 1),
                    not closes,
                    float(times[max(first - margin, 0)]),
                )
            events.append(
                ContactChange(model.name, frame, bool(closes), given, float(times[at]), at, float("nan"))
            )
    return tuple(events)


def _runs(flags: Bool[np.ndarray, "S"]) -> list[tuple[int, int]]:
    """First and last + 1 sample of each run of True."""
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _changes(closed: Bool[np.ndarray, "S c"]) -> list[tuple[int, int]]:
    """Sample and contact of each event."""
    at, f = np.nonzero(closed[1:] != closed[:-1])
    return list(zip((at + 1).tolist(), f.tolist(), strict=True))


def _moved(closed: Bool[np.ndarray, "S c"], f: int, k: int, to: int) -> Bool[np.ndarray, "S c"]:
    """The schedule with the event of contact f at sample k at another one."""
    other = closed.copy()
    other[min(k, to) : max(k, to), f] = closed[k if to < k else k - 1, f]
    return other
