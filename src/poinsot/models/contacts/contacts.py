"""Contacts: frames at which a robot touches the world, their constraints, and when they are closed.

A contact is at a frame of a robot. While it is closed the frame keeps still: a point its place (three rows), a surface
its place and its orientation (six rows); a ball rolls (three rows). As accelerations in the axes of the frame (Martinez
et al. 2024, Eq. 2),

    J a + gamma = 0,    gamma = dJ/dt v + damping * velocity

where the last term (Baumgarte's) corrects drift by rounding or by an estimate; it is off by default.
What acts at the contact is the force, or force and moment, on the robot in the axes of the frame.

A schedule says for every sample which contacts are closed. A phase is a run of samples with the same closed contacts;
where one closes that was open the velocity jumps (`ContactDynamics.impact`), the reset map of that sample. With a
margin there are no jumps: a contact is held from some samples before it closes until some after it opens, and its noise
(`ContactDynamics`) says how much it moves there. A schedule comes from a measured contact sequence (a boolean channel a
foot), from measured forces, or from a gait file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np

from ...arrays import Bool, Brief, Columns, ColumnSlopes, Float, Times, carried_on
from ...exceptions import InvalidModel, InvalidSignals, check_known, listing
from ...recording import CONTACT, Recording
from ..robot.frame_motion import FrameMotion
from ..rotations import skew


@dataclass(frozen=True, eq=False)
class Contact(ABC):
    """A frame that may touch the world.

    Args:
        frame: a link of the robot, or another frame of its description.
        damping: Baumgarte's gain on the frame's velocity [1/s].
    """

    frame: str
    damping: float = 0.0

    size: ClassVar[int]
    """Rows: three or six."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.damping) and self.damping >= 0):
            raise InvalidModel(
                f"the damping of contact {self.frame!r} must be at least 0, not {self.damping:g}"
            )

    @property
    def frames(self) -> tuple[str, ...]:
        """The frames on which its force acts."""
        return (self.frame,)

    def motion(self, frames: Mapping[str, FrameMotion]) -> FrameMotion:
        """The motion that the constraint keeps at rest."""
        return frames[self.frame]

    def jacobian(self, motion: FrameMotion) -> ColumnSlopes:
        """J."""
        return motion.by.jacobian[:, : self.size]

    def velocity(self, motion: FrameMotion) -> Columns:
        """J v, which an impact sets to 0."""
        return motion.velocity[:, : self.size]

    def velocity_by_q(self, motion: FrameMotion) -> ColumnSlopes:
        """Derivative of `velocity` by q; the derivative by v is J."""
        return motion.by.velocity_by_q[:, : self.size]

    def wrench(self, motion: FrameMotion, force: Columns) -> Float[np.ndarray, "T _"]:
        """J^T force as force and moment about the origin of each of `frames`, in its axes."""
        return np.pad(force, ((0, 0), (0, 6 - self.size)))

    def effort_by_q(self, motion: FrameMotion, force: Columns) -> Float[np.ndarray, "T n n"] | None:
        """Derivative of J^T force by q, if the wrench turns in the frame; None: it does not."""
        return None

    def from_level(self, motion: FrameMotion, rows: Columns) -> Columns:
        """Rows in level axes, z up, in those of the frame."""
        return (rows.reshape(len(rows), -1, 3) @ motion.rotation).reshape(rows.shape)

    def from_level_by_q(self, motion: FrameMotion, rows: Columns) -> ColumnSlopes:
        """Derivative of `from_level` by q, [R^T x]x J_w."""
        parts = skew(self.from_level(motion, rows).reshape(len(rows), -1, 3))
        return np.concatenate(
            [parts[:, k] @ motion.by.jacobian[:, 3:] for k in range(self.size // 3)], axis=1
        )

    def to_level(self, motion: FrameMotion, slopes: Float[np.ndarray, "T m n"]) -> Float[np.ndarray, "T m n"]:
        """Rows with their slopes, which are in the frame's axes, in level ones."""
        T, m, n = slopes.shape
        return (motion.rotation[:, None] @ slopes.reshape(T, m // 3, 3, n)).reshape(T, m, n)

    @abstractmethod
    def acceleration(self, motion: FrameMotion) -> Columns:
        """The acceleration without Baumgarte's term: J a + dJ/dt v."""

    @abstractmethod
    def acceleration_slopes(self, motion: FrameMotion) -> tuple[ColumnSlopes, ColumnSlopes]:
        """Derivatives of `acceleration` by q and by v."""

    def residual(self, motion: FrameMotion) -> Columns:
        """J a + gamma, which is 0 while the contact is closed."""
        return self.acceleration(motion) + self.damping * self.velocity(motion)

    def residual_slopes(self, motion: FrameMotion) -> tuple[ColumnSlopes, ColumnSlopes]:
        """Derivatives of `residual` by q and by v."""
        by_q, by_v = self.acceleration_slopes(motion)
        if self.damping:
            by_q = by_q + self.damping * self.velocity_by_q(motion)
            by_v = by_v + self.damping * self.jacobian(motion)
        return by_q, by_v


@dataclass(frozen=True, eq=False)
class PointContact(Contact):
    """A point that keeps its place and can turn: a small foot. Three rows, a force [N]."""

    size: ClassVar[int] = 3

    def acceleration(self, motion: FrameMotion) -> Columns:
        return motion.point_acceleration

    def acceleration_slopes(self, motion: FrameMotion) -> tuple[ColumnSlopes, ColumnSlopes]:
        return motion.point_acceleration_slopes()[:2]


@dataclass(frozen=True, eq=False)
class BallContact(PointContact):
    """A ball that rolls on level ground without slipping, its centre at the frame. Three rows, a force [N].

    With n the vertical in the axes of the frame, w its angular velocity, p'' the acceleration of its centre, and L x =
    r n x x, the rows and the wrench of a force f about the centre are

        J v = v + L w,      J a + gamma = p'' + L w',      (f, -L f)

    As n_q = [n]x J_w, L x changes by -[x]x L J_w with q.

    Args:
        radius: r [m].
    """

    radius: float = 0.0

    def jacobian(self, motion: FrameMotion) -> ColumnSlopes:
        return self._rolling(motion, motion.by.jacobian)

    def velocity(self, motion: FrameMotion) -> Columns:
        return self._rolling(motion, motion.velocity[:, :, None])[:, :, 0]

    def velocity_by_q(self, motion: FrameMotion) -> ColumnSlopes:
        by_q = self._rolling(motion, motion.by.velocity_by_q)
        return by_q + self._tilting(motion, motion.velocity[:, 3:])

    def wrench(self, motion: FrameMotion, force: Columns) -> Float[np.ndarray, "T 6"]:
        return np.concatenate([force, -(self._lever(motion) @ force[:, :, None])[:, :, 0]], axis=1)

    def effort_by_q(self, motion: FrameMotion, force: Columns) -> Float[np.ndarray, "T n n"]:
        return -motion.by.jacobian[:, 3:].transpose(0, 2, 1) @ self._tilting(motion, force)

    def acceleration(self, motion: FrameMotion) -> Columns:
        turning = self._lever(motion) @ motion.acceleration[:, 3:, None]
        return motion.point_acceleration + turning[:, :, 0]

    def acceleration_slopes(self, motion: FrameMotion) -> tuple[ColumnSlopes, ColumnSlopes]:
        lever, by = self._lever(motion), motion.by
        by_q, by_v = super().acceleration_slopes(motion)
        by_q = by_q + lever @ by.acceleration_by_q[:, 3:] + self._tilting(motion, motion.acceleration[:, 3:])
        return by_q, by_v + lever @ by.acceleration_by_v[:, 3:]

    def _lever(self, motion: FrameMotion) -> Float[np.ndarray, "T 3 3"]:
        """L."""
        return self.radius * skew(motion.rotation[:, 2])

    def _rolling(self, motion: FrameMotion, twist: Float[np.ndarray, "T 6 m"]) -> Float[np.ndarray, "T 3 m"]:
        """Linear part + L times the angular one."""
        return twist[:, :3] + self._lever(motion) @ twist[:, 3:]

    def _tilting(self, motion: FrameMotion, x: Columns) -> ColumnSlopes:
        """Derivative of L x by q."""
        return -skew(x) @ self._lever(motion) @ motion.by.jacobian[:, 3:]


@dataclass(frozen=True, eq=False)
class SurfaceContact(Contact):
    """A sole or a grip that keeps its place and orientation. Six rows, force and moment [N], [N m]."""

    size: ClassVar[int] = 6

    def acceleration(self, motion: FrameMotion) -> Columns:
        return motion.acceleration

    def acceleration_slopes(self, motion: FrameMotion) -> tuple[ColumnSlopes, ColumnSlopes]:
        return motion.by.acceleration_by_q, motion.by.acceleration_by_v


@dataclass(frozen=True)
class Phase:
    """Samples first, first + 1, ..., last - 1 with the same contacts closed.

    Args:
        first, last: samples.
        closed: indices of the closed contacts in the schedule; empty where nothing supports the robot.
        gained: the closed contacts that were open in the sample before: the velocity jumps at `first`.
    """

    first: int
    last: int
    closed: tuple[int, ...]
    gained: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class ContactSchedule(Brief):
    """Which contacts are closed at each sample.

    Args:
        contacts: all contacts of the robot.
        closed: (T, contacts), True where a contact is closed.
        margin: samples before a contact closes and after it opens in which it is held; 0: events are impacts.
        slipping: (T, contacts), True where a closed contact gives way as near events; None: nowhere.
        is_recorded: whether a recording says when contacts are closed; otherwise efforts and motion show it.
    """

    contacts: tuple[Contact, ...]
    closed: Bool[np.ndarray, "T c"]
    margin: int = 0
    slipping: Bool[np.ndarray, "T c"] | None = None
    is_recorded: bool = True

    def __post_init__(self) -> None:
        names = [contact.frame for contact in self.contacts]
        if self.margin < 0:
            raise InvalidModel(f"the margin of contact events must be at least 0, not {self.margin}")
        if len(set(names)) < len(names):
            raise InvalidModel("name each contact frame once")
        if self.closed.shape[1] != len(names):
            raise InvalidSignals(
                f"a contact sequence of {self.closed.shape[1]} columns cannot be that of {len(names)} contacts"
            )
        if not len(self.closed):
            raise InvalidSignals("a contact sequence needs at least one sample")

    def __len__(self) -> int:
        return len(self.closed)

    @cached_property
    def held(self) -> Bool[np.ndarray, "T c"]:
        """Where the dynamics hold a contact: closed, or within the margin of an event."""
        return self.closed | self.near_events

    @cached_property
    def settled(self) -> Bool[np.ndarray, "T c"]:
        """Where a contact is closed and does not slip, and no event of it is within the margin."""
        return self.closed & ~self.loose

    @cached_property
    def loose(self) -> Bool[np.ndarray, "T c"]:
        """Where a held contact gives way: near events, and where it slips."""
        return self.near_events if self.slipping is None else self.near_events | self.slipping

    @cached_property
    def near_events(self) -> Bool[np.ndarray, "T c"]:
        """Samples up to the margin before and after each event of a contact."""
        near = np.zeros_like(self.closed)
        for k, contact in zip(*np.nonzero(self.closed[1:] != self.closed[:-1]), strict=True):
            near[max(0, k + 1 - self.margin) : k + 1 + self.margin, contact] = True
        return near

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The phases in order; together they cover all samples."""
        held = self.held
        change = np.flatnonzero((held[1:] != held[:-1]).any(axis=1)) + 1
        edges = [0, *change.tolist(), len(self)]
        phases = []
        for first, last in pairwise(edges):
            now = held[first]
            # what is closed at the start has closed before: no impact
            is_impact = first > 0 and not self.margin
            gained = now & ~held[first - 1] if is_impact else np.zeros_like(now)
            places = (tuple(np.flatnonzero(row).tolist()) for row in (now, gained))
            phases.append(Phase(first, last, *places))
        return tuple(phases)

    @cached_property
    def resets(self) -> tuple[Phase, ...]:
        """The phases that begin with an impact; all contacts that are closed then share it."""
        return tuple(phase for phase in self.phases if phase.gained)

    @cached_property
    def modes(self) -> tuple[tuple[int, ...], ...]:
        """The different sets of closed contacts, as they first occur."""
        return tuple(dict.fromkeys(phase.closed for phase in self.phases))

    @cached_property
    def mode_of(self) -> np.ndarray:
        """(T,) place in `modes` of each sample."""
        places = np.empty(len(self), dtype=np.int64)
        for phase in self.phases:
            places[phase.first : phase.last] = self.modes.index(phase.closed)
        return places

    def part(self, samples: slice) -> ContactSchedule:
        """The schedule at some samples in a row."""
        slipping = None if self.slipping is None else self.slipping[samples]
        return replace(self, closed=self.closed[samples], slipping=slipping)

    def contacts_of(self, closed: Iterable[int]) -> tuple[Contact, ...]:
        """The contacts at these places."""
        return tuple(self.contacts[place] for place in closed)

    def notes(self) -> tuple[str, ...]:
        """Notes for reports: phases without support, contacts that never close."""
        notes = []
        flights = [phase for phase in self.phases if not phase.closed]
        if flights and self.contacts:
            samples = sum(phase.last - phase.first for phase in flights)
            notes.append(
                f"in {len(flights)} of {len(self.phases)} phases ({samples} of {len(self)} samples) no contact is "
                f"closed: the robot flies"
            )
        never = [contact.frame for k, contact in enumerate(self.contacts) if not self.closed[:, k].any()]
        if never:
            notes.append(f"these contacts never close: {listing(never)}")
        return tuple(notes)

    def without_flicker(self, samples: int) -> ContactSchedule:
        """The schedule with shorter runs of a contact joined to the run before; the first to the next."""
        closed = self.closed.copy()
        for column in closed.T:
            edges = [0, *(np.flatnonzero(column[1:] != column[:-1]) + 1).tolist(), len(column)]
            for first, last in pairwise(edges):
                if last - first < samples and (first, last) != (0, len(column)):
                    column[first:last] = column[first - 1] if first else column[last]
        return replace(self, closed=closed)


def schedule_from_channels(
    contacts: Sequence[Contact],
    channels: Mapping[str, Float[np.ndarray, "T"] | Bool[np.ndarray, "T"]],
    closes_above: float | None = None,
    opens_below: float | None = None,
) -> ContactSchedule:
    """A schedule from a measured contact sequence, or from measured normal forces with hysteresis.

    Args:
        contacts: all contacts; a contact without a channel is never closed.
        channels: contact frame -> (T,) True or 1 while it touches, False or 0 while not, or force [N]; NaN: as the
            sample before.
        closes_above: an open contact closes above this [N]; None: channels are no forces.
        opens_below: a closed one opens below this [N]; None: half of `closes_above`.

    Raises:
        InvalidModel: if a channel names an unknown foot.
        InvalidSignals: if a channel holds something else, thresholds contradict each other, or lengths differ.
    """
    touching = {name: np.asarray(channel, dtype=float) for name, channel in channels.items()}
    if closes_above is None:
        for name, values in touching.items():
            if not np.isin(values[~np.isnan(values)], (0.0, 1.0)).all():
                raise InvalidSignals(
                    f"the contact channel of {name!r} must be 0 or 1 at each sample; for forces, give thresholds"
                )
    else:
        opens_below = closes_above / 2 if opens_below is None else opens_below
        if not 0 < opens_below <= closes_above < np.inf:
            raise InvalidSignals(
                f"contacts close above a force and open below a smaller one, both above 0 N: not {closes_above:g} and "
                f"{opens_below:g}"
            )
        # between both thresholds the contact stays as it was
        touching = {
            name: np.where(force > closes_above, 1.0, np.where(force < opens_below, 0.0, np.nan))
            for name, force in touching.items()
        }
    columns = {name: carried_on(values, 0.0) == 1 for name, values in touching.items()}
    names, lengths = [contact.frame for contact in contacts], {name: len(x) for name, x in columns.items()}
    for name in columns:
        check_known(name, names, "no contact frame", "the contacts are")
    if len(set(lengths.values())) != 1:
        raise InvalidSignals(
            "the channels of a contact sequence need the same number of samples"
            + (f", not {', '.join(f'{name}: {count}' for name, count in lengths.items())}" if lengths else "")
        )
    # a contact without a channel
    never = np.zeros(next(iter(lengths.values())), dtype=bool)
    return ContactSchedule(tuple(contacts), np.stack([columns.get(name, never) for name in names], axis=1))


@dataclass(frozen=True, eq=False)
class ContactDetection:
    """Which frames may touch the world, and how a recording shows when they do.

    A recording shows contacts by channels `contact.FRAME`, of 0 and 1 or of normal forces in N; a gait replaces them.

    Args:
        contacts: all contacts that may occur.
        closes_above: normal force above which an open contact closes [N]; only for channels of forces.
        opens_below: normal force below which a closed contact opens [N]; None: half of `closes_above`.
        shortest_s: shorter runs of a contact are joined to the one before [s].
        gait: which contacts are closed when; None: the recording's channels show it.
        estimated: whether a recording may show it by efforts and motion only; then all are open to begin with.
    """

    contacts: tuple[Contact, ...]
    closes_above: float | None = None
    opens_below: float | None = None
    shortest_s: float = 0.0
    gait: Gait | None = None
    estimated: bool = False

    def schedule(self, recording: Recording, where: str = "the recording") -> ContactSchedule:
        """The contacts that are closed at each sample.

        Args:
            recording: recording with channels of contacts, unless there is a gait.
            where: name of the recording in messages.

        Raises:
            InvalidModel: if the channels or the gait name an unknown contact.
            InvalidSignals: if neither channels nor a gait give the contacts, or channels are invalid.
        """
        frames = recording.joints(CONTACT)
        if self.gait is not None:
            schedule = self.gait.schedule(self.contacts, recording.time)
        elif not frames and self.estimated:
            none = np.zeros((len(recording), len(self.contacts)), dtype=bool)
            return ContactSchedule(self.contacts, none, is_recorded=False)
        elif not frames:
            raise InvalidSignals(
                f"{where} does not say when {listing(contact.frame for contact in self.contacts)} touch the ground: "
                "give a contact channel for each, or a gait"
            )
        else:
            channels = {frame: f"{CONTACT}.{frame}" for frame in frames}
            values = {frame: recording.readings(name) for frame, name in channels.items()}
            forces = {recording.units[name] for name in channels.values()} == {"N"}
            if forces and self.closes_above is None:
                raise InvalidSignals(
                    f"{where}: contacts are measured in N: contacts.closes_above must say from which force on one is "
                    "closed"
                )
            thresholds = (self.closes_above, self.opens_below) if forces else ()
            schedule = schedule_from_channels(self.contacts, values, *thresholds)
        shortest = round(self.shortest_s * recording.rate_hz)
        return schedule.without_flicker(shortest) if shortest > 1 else schedule


@dataclass(frozen=True, eq=False)
class Gait:
    """Which feet are on the ground from a time on, until the next.

    Args:
        times: (K,) increasing [s]; before the first nothing is closed, the last holds to the end. feet: contact frames.
        closed: (K, feet).
    """

    times: Times
    feet: tuple[str, ...]
    closed: Bool[np.ndarray, "T c"]

    def schedule(self, contacts: Sequence[Contact], times: Times) -> ContactSchedule:
        """The schedule at these sample times [s]. Raises InvalidModel if the gait names an unknown foot."""
        # 1 ns for the rounding of times that were read as text
        row = np.searchsorted(self.times, np.asarray(times) + 1e-9, side="right") - 1
        closed = np.where(row[:, None] >= 0, self.closed[np.maximum(row, 0)], False)
        return schedule_from_channels(contacts, {foot: closed[:, k] for k, foot in enumerate(self.feet)})
