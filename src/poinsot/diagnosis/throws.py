"""Thrown bodies: are gravity, clock, units, axes, outline and walls what the frames show, whatever the method found?

Frames are cut into pieces in which x, y and the angle are quadratics of time. Those that accelerate like the first one
are flights, and two flights that meet are an impact, with its pose q, the velocities before and after, and the spin:

    gravity     a = g - k v over all flights, k a drag of 0 +- 0.5 1/s
    impact      gap(q) = 0,    cross(GQ, dv) = (J/m) d omega                        (Gabiccini and Fusco 2019, Eq. 31)

A defect is a change of poses or walls that makes impacts more likely by e^12 (Student's t of both residuals, J/m free).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Matrix, Vector
from ..estimate import Diagnosis, Estimate, Finding, Severity, Unchecked
from ..estimate.estimate import unfinished
from ..estimate.finding import ordered
from ..models.planar.contact import contacts_at
from ..models.planar.shapes import Shape
from ..models.planar.stepping import GRAVITY
from ..models.planar.walls import Wall
from .check import Cause

LARGEST_THROWS = 30
"""Throws that are looked at; more say the same."""
SHORTEST = 5
"""Least number of frames of a piece."""
OUTLINE = 0.02
"""Part of the size to which an outline is known."""
STRAY, STRAY_SIZE = 4.5, 0.005
"""A frame belongs to a piece if it is off by less than so many standard deviations, or this part of the size."""
FREEDOM = 3.0
"""nu of Student's t."""


@dataclass(frozen=True, eq=False)
class Throw:
    """Frames of a throw.

    Args:
        name: of the recording. time: (N,) [s]. poses: (N, 3) as tracked [m], [m], [rad].
        noise: (3,) standard deviations of a frame, from its neighbours.
    """

    name: str
    time: Vector
    poses: Matrix
    noise: Vector


@dataclass(frozen=True, eq=False)
class Piece:
    """Frames from `begin` to before `end` in which each coordinate is c_0 + c_1 s + c_2 s^2 / 2, s = t - middle."""

    begin: int
    end: int
    middle: float
    c: Matrix
    covariance: Matrix  # of c for noise of 1
    noise: Vector

    @classmethod
    def of(cls, throw: Throw, begin: int, end: int) -> tuple[Piece, Matrix]:
        """And its residuals (n, 3)."""
        t = throw.time[begin:end]
        s = t - 0.5 * (t[0] + t[-1])
        B = np.column_stack([np.ones_like(s), s, 0.5 * s**2])
        covariance = np.linalg.inv(B.T @ B)
        c = covariance @ B.T @ throw.poses[begin:end]
        return cls(begin, end, 0.5 * (t[0] + t[-1]), c, covariance, throw.noise), throw.poses[begin:end] - B @ c

    @property
    def std(self) -> Vector:
        """(3,) of the accelerations."""
        return np.asarray(self.noise * np.sqrt(self.covariance[2, 2]))

    def at(self, t: float) -> tuple[Matrix, Matrix]:
        """(2, 3) pose and velocity, and their standard deviations."""
        s = t - self.middle
        by = np.array([[1.0, s, 0.5 * s**2], [0.0, 1.0, s]])
        return by @ self.c, np.sqrt(np.diag(by @ self.covariance @ by.T))[:, None] * self.noise


@dataclass(frozen=True, eq=False)
class Meeting:
    """Where two flights meet: `late` is by how much later the second one is than its clock says [s]."""

    throw: str
    time: float
    pose: Vector
    before: Vector
    after: Vector
    std: Vector  # of the jump
    place: Vector  # standard deviations of the pose
    skipped: int
    late: float
    interval: float

    @property
    def jumps(self) -> bool:
        jump = np.abs(self.after - self.before)
        return bool((jump > 6 * self.std + 0.03 * np.abs(self.before)).any())


@dataclass(frozen=True, eq=False)
class ThrownBody:
    """An estimate from throws, and what is looked at.

    Args:
        shape, walls: as declared. known: what the method itself found.
        held_out: name of a throw -> (K,) errors of its jumps of the spin, predicted from the others [rad/s].
        upper: name of a parameter -> its upper bound.
    """

    estimate: Estimate
    throws: Sequence[Throw]
    shape: Shape
    walls: Sequence[Wall]
    known: Sequence[Finding] = ()
    held_out: Mapping[str, Vector] = field(default_factory=dict)
    upper: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def flights(self) -> list[tuple[Throw, list[Piece]]]:
        found = []
        for throw in self.throws[:: -(-len(self.throws) // LARGEST_THROWS)]:
            pieces = list(self._pieces(throw))
            sure = [each for each in pieces if np.hypot(*each.std[:2]) < 0.2 * np.hypot(*each.c[2, :2])]
            if sure:
                first = sure[0].c[2, :2]
                like = 0.25 * np.hypot(*first)
                pieces = [
                    p for p in pieces if np.hypot(*(p.c[2, :2] - first)) < like + 3 * np.hypot(*p.std[:2])
                ]
                found.append((throw, pieces))
        return found

    def _pieces(self, throw: Throw) -> Iterator[Piece]:
        allowed = np.hypot(STRAY * throw.noise, STRAY_SIZE * np.array([self.shape.size, self.shape.size, 1.0]))
        begin, N = 0, len(throw.time)
        while begin + SHORTEST <= N:
            longest = None
            for end in range(begin + SHORTEST, N + 1):
                piece, left = Piece.of(throw, begin, end)
                if (np.abs(left) > allowed).any():
                    break
                longest = piece
            if longest is not None:
                yield longest
            begin = begin + 1 if longest is None else longest.end

    @cached_property
    def meetings(self) -> list[Meeting]:
        found = []
        for throw, pieces in self.flights:
            for a, b in zip(pieces[:-1], pieces[1:], strict=True):
                begin, end = throw.time[a.end - 1], throw.time[b.begin]
                interval = float(np.median(np.diff(throw.time)))
                if b.begin - a.end > 3:
                    continue
                t = 0.5 * (begin + end)
                # the instant at which both are at the same place, between both frames
                scale = np.array([1.0, 1.0, self.shape.size])
                apart, jump = (b.at(t)[0] - a.at(t)[0]) * scale
                t = float(np.clip(t - apart @ jump / max(float(jump @ jump), 1e-12), begin, end))
                ((p, v), (s_p, s_v)), ((q, u), (r_p, r_v)) = a.at(t), b.at(t)
                late = float((q - p)[:2] @ v[:2]) / max(float(v[:2] @ v[:2]), 1e-12)
                std, place = np.hypot(s_v, r_v), 0.5 * np.hypot(s_p, r_p)
                skipped = b.begin - a.end
                found.append(Meeting(throw.name, t, 0.5 * (p + q), v, u, std, place, skipped, late, interval))
        return found

    @cached_property
    def impacts(self) -> list[Meeting]:
        return [each for each in self.meetings if each.jumps]

    def unlikely(self, turned: Vector, offset: Vector, walls: Sequence[Wall]) -> float:
        """-log-likelihood of all impacts with poses (x, y, angle) times `turned` plus `offset`, J/m free."""
        size, gaps, moments, spins, stds = self.shape.size, [], [], [], []
        for each in self.impacts:
            pose, jump = each.pose * turned + offset, (each.after - each.before) * turned
            gap, N, T = contacts_at(pose, self.shape, walls)
            k = int(np.argmin(gap))
            c_n, c_t = float(N[k, :2] @ jump[:2]), float(T[k, :2] @ jump[:2])
            # an outline is known to 2 % of its size, and turns with the angle
            off = np.hypot(OUTLINE * size, size * each.place[2])
            reach = np.hypot(off, each.place[1])
            gaps.append(gap[k] / reach)
            moments.append(N[k, 2] * c_n + T[k, 2] * c_t)
            spins.append(jump[2])
            # J/m is about 0.3 of the squared size
            stds.append(np.hypot(each.std[2] * abs(turned[2]), np.hypot(*jump[:2]) * off / (0.3 * size**2)))
        inertias = size**2 * np.geomspace(0.03, 1.0, 40)[:, None]
        z = (np.array(spins) - np.array(moments) / inertias) / np.array(stds)
        of_spin = np.sum(_student(z), axis=1).min()
        return float(np.sum(_student(np.array(gaps))) + of_spin)


def _student(z: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * (FREEDOM + 1) * np.log1p(z**2 / FREEDOM))


CAUSES = (
    Cause("gravity", "A body in flight does not fall as gravity lets it.", "Level the axes; gravity is 9.81 m/s^2 along -y."),
    Cause("clock-scale", "The clock of the frames is too fast or too slow.", "Correct rate_hz, or the column of time."),
    Cause("length-scale", "Lengths of poses and of the outline do not agree.", "Correct the unit of the poses, or the outline."),
    Cause("swapped-channels", "Two channels are exchanged.", "Exchange their columns."),
    Cause("sign", "An axis points the other way.", "Give the channel scale = -1."),
    Cause("angle-unit", "Angles are in degrees and declared as radians, or the reverse.", "Declare the other unit."),
    Cause("angle-zero", "The angle is zero elsewhere than in the drawing of the outline.", "Correct the angle's offset."),
    Cause("wall", "The body does not strike walls where they are declared.", "Measure [[walls]] again."),
    Cause("lost-samples", "Frames are missing, and the clock runs on without them.", "Give the time of each frame."),
    Cause("outliers", "A frame is far off its neighbours.", "Leave the frame out."),
    Cause("poor-fit", "The motion found leaves more than noise.", "See the other findings, the outline and the walls."),
    Cause("restitution", "Impacts give energy back that they have not got.", "Look at these impacts in the page."),
    Cause("at-bound", "A value ended at its bound.", "Film throws that slide and bounce."),
    Cause("held-out", "A drop is predicted far worse from the others than these.", "Leave it out, or see what differs in it."),
)  # fmt: skip


@dataclass(frozen=True)
class ThrowChecks:
    """Thresholds.

    Args:
        sure: standard deviations. gravity: part of 9.81 m/s^2 that air and a tilt of the camera explain. tilt: [rad].
        clock: part by which an acceleration may differ from that of a frame rate that is off by a factor of 2.
        gain: by which the log-likelihood of impacts must rise for a defect to be named, as in `explanations`; where the
            fit fails already, `likely`.
        drag: standard deviation of the prior of k [1/s].
        worse: times the error of the others with which a drop is predicted, and spin: [rad/s] from which it matters.
        much: restitution above 1 that no error of a contact's speed explains. many: part of the impacts that may have it.
    """

    sure: float = 5.0
    gravity: float = 0.08
    tilt: float = 0.07
    clock: float = 0.15
    gain: float = 12.0
    likely: float = 4.0
    drag: float = 0.5
    worse: float = 10.0
    spin: float = 1.0
    much: float = 0.1
    many: float = 0.2

    def look(self, case: ThrownBody) -> Iterator[Finding | Unchecked]:
        yield from case.known
        if not case.flights:
            yield Unchecked("gravity, clock and axes", "no piece of flight is long enough")
            return
        samples = list(self._samples(case))
        yield from samples
        falls = list(self._gravity(case))
        yield from falls
        if not falls:
            yield from self._contacts(case)
        yield from self._values(case)

    def _samples(self, case: ThrownBody) -> Iterator[Finding]:
        """Frames that are missing or misread, within a flight."""
        for each in case.meetings:
            if each.jumps:
                continue
            count = each.late / each.interval
            where = f"{each.throw} at {each.time:.4g} s"
            if count > 0.5 and each.late * np.hypot(*each.before[:2]) > STRAY_SIZE * case.shape.size:
                message = f"In {where} the body is ahead of its flight by {count:.2g} intervals of frames."
                yield Finding(
                    "lost-samples", Severity.error, message, "Give the times of the frames.", each.throw, 100 * count
                )
            elif each.skipped:
                message = f"In {where} {each.skipped} frame(s) are off the flight that goes on after them."
                yield Finding("outliers", Severity.error, message, "Leave them out.", each.throw, 50.0)

    def _gravity(self, case: ThrownBody) -> Iterator[Finding]:
        rows, values = [np.array([[0.0, 0.0, 1 / self.drag]])], [np.zeros(1)]
        for _, pieces in case.flights:
            for piece in pieces:
                v, w = piece.c[1, :2], 1 / np.hypot(piece.std[:2], 0.2)
                rows.append(np.column_stack([np.diag(w), -v * w]))
                values.append(piece.c[2, :2] * w)
        A, y = np.concatenate(rows), np.concatenate(values)
        covariance = np.linalg.inv(A.T @ A)
        g, std = (covariance @ A.T @ y)[:2], np.sqrt(np.diag(covariance))[:2]
        size, angle = float(np.hypot(*g)), float(np.arctan2(g[0], -g[1]))
        turned = abs(angle) > self.tilt + self.sure * std[0] / size
        ratio = size / GRAVITY
        scaled = abs(ratio - 1) > self.gravity + self.sure * std.max() / GRAVITY
        fall = f"In flight bodies accelerate by {size:.4g} m/s^2 towards {np.degrees(angle):+.3g} degrees from -y"
        evidence = abs(np.log(ratio)) * 1e2 + abs(angle) * 1e2
        if turned:
            quarters = round(angle / (np.pi / 2))
            near = abs(angle - quarters * np.pi / 2) < 0.2 and quarters
            cause, remedy = "gravity", "Turn the axes until y points up."
            if near and abs(quarters) == 1:
                cause, remedy = "swapped-channels", "Exchange the columns of position.x and position.y."
            elif near:
                cause, remedy = "sign", "Let y point up: scale = -1 for position.y and position.angle."
            yield Finding(cause, Severity.error, f"{fall}.", remedy, "position", evidence)
        if scaled:
            # clock: acceleration by its square; lengths: by itself, and the outline is struck elsewhere
            rates = {4.0: "twice as fast", 0.25: "half as fast"}
            rate = next((words for k, words in rates.items() if abs(ratio / k - 1) < self.clock), "")
            message = f"{fall}, {ratio:.3g} times gravity"
            clock = Finding(
                "clock-scale",
                Severity.error,
                message + (f": the frames come {rate} as declared." if rate else ", as with a wrong clock."),
                f"Multiply rate_hz by {1 / np.sqrt(ratio):.3g}, if lengths are right.",
                "time",
                evidence + (1 if rate else 0),
            )
            yield clock
            lengths = "Divide positions by {:.4g}, if the clock is right; or give the gravity that acts.".format(ratio)
            yield replace(clock, cause="length-scale", message=message + ".", remedy=lengths, where="position", evidence=evidence + 0.5)

    def _contacts(self, case: ThrownBody) -> Iterator[Finding | Unchecked]:
        """Changes of poses and walls under which impacts are more likely."""
        if len(case.impacts) < 2:
            yield Unchecked("angles, outline and walls", "fewer than two impacts between flights of five frames")
            return
        one, none, size = np.ones(3), np.zeros(3), case.shape.size
        declared = case.unlikely(one, none, case.walls)
        found = []

        def tried(cause: str, what: str, remedy: str, turned: Vector, offset: Vector, price: float = 0.0) -> None:
            value = case.unlikely(turned, offset, case.walls) + price
            found.append((value, cause, what, remedy))

        tried("sign", "the angle, or x, had the other sign", "Give it scale = -1.", one * [1, 1, -1], none)
        tried("angle-unit", "angles were in degrees", 'Declare unit = "deg".', one * [1, 1, np.pi / 180], none)
        tried("angle-unit", "angles were in radians", 'Declare unit = "rad".', one * [1, 1, 180 / np.pi], none)
        for degrees in range(10, 360, 10):
            # a free value costs what chance gives it
            what, offset = f"angles were {degrees} degrees more", np.array([0, 0, np.radians(degrees)])
            tried("angle-zero", what, f"Add {degrees} degrees to the angle.", one, offset, 3.0)
        for k in np.arange(-20, 21):
            if k:
                what = f"walls were {-0.05e3 * k * size:.3g} mm higher"
                tried("wall", what, "Correct y of [[walls]].", one, np.array([0, 0.05 * k * size, 0]), 3.0)
        for scale in np.geomspace(0.5, 2.0, 29):
            if abs(scale - 1) > 0.02:
                scaled, what = one * [scale, scale, 1], f"lengths of the outline were {1 / scale:.3g} of those drawn"
                tried("length-scale", what, "Correct the outline or the poses.", scaled, none, 3.0)
        for slope in np.radians([-15, -10, -7, -5, -3, 3, 5, 7, 10, 15]):
            walls = [replace(wall, slope=wall.slope + slope) for wall in case.walls]
            what = f"walls had {np.degrees(slope):+.3g} degrees more slope"
            found.append((case.unlikely(one, none, walls) + 3.0, "wall", what, "Correct slope of [[walls]]."))
        best, least = min(found), self.likely if case.known else self.gain
        seen: set[str] = set()
        for value, cause, what, remedy in sorted(found):
            gain = declared - value
            if gain < least or value > best[0] + least / 2 or cause in seen or len(seen) == 2:
                continue
            seen.add(cause)
            # the geometry of many drops is estimated with its walls
            severity = Severity.note if cause == "wall" and "floor_height" in case.estimate.names else Severity.error
            message = f"The impacts would be e^{gain:.3g} times as likely if {what}."
            yield Finding(cause, severity, message, remedy, "", gain)

    def _values(self, case: ThrownBody) -> Iterator[Finding]:
        estimate = case.estimate
        for name, bound in case.upper.items():
            if name in estimate.names and estimate[name] > (1 - 1e-6) * bound:
                message = f"{name} ended at its largest value, {bound:.4g}."
                yield Finding("at-bound", Severity.warning, message, "Film throws that show it.", name)
        impacts = estimate.extras.get("impacts")
        rows = [each for each in getattr(impacts, "impacts", ()) if np.isfinite(each.restitution)]
        above = [each for each in rows if each.restitution > 1 + self.much]
        if above:
            worst = max(above, key=lambda each: each.restitution)
            yield Finding(
                "restitution",
                Severity.warning if len(above) > self.many * len(rows) else Severity.note,
                f"{len(above)} of {len(rows)} impacts have a restitution above 1, up to {worst.restitution:.3g} in "
                f"{worst.recording} at {worst.time:.4g} s.",
                "The struck point hardly approached in them, or two corners struck: do not use their restitution.",
                worst.recording,
            )
        everything = [error for errors in case.held_out.values() for error in errors]
        for name, errors in case.held_out.items():
            own, usual = float(np.median(errors)), float(np.median(everything))
            if len(errors) > 1 and own > max(self.worse * usual, self.spin):
                message = f"Jumps of the spin in {name} are predicted to {own:.3g} rad/s, those of all to {usual:.2g}."
                remedy = "See whether the body or the floor differed in it, or leave it out."
                yield Finding("held-out", Severity.warning, message, remedy, name, own / usual)


def diagnose_throws(estimate: Estimate, **about: Any) -> Diagnosis:
    """Look at an estimate from throws for what may be wrong with it.

    Args:
        about: the other fields of `ThrownBody`.
    """
    findings: list[Finding] = list(unfinished(estimate))
    unchecked: list[Unchecked] = []
    for each in ThrowChecks().look(ThrownBody(estimate, **about)):
        if isinstance(each, Finding):
            findings.append(each)
        else:
            unchecked.append(each)
    return Diagnosis(ordered(findings), tuple(unchecked))
