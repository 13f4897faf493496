"""Thrown bodies: gravity, clock, units, axes, outline and walls against the frames, independent of the estimate.

Frames are split into pieces in which x, y and the angle are quadratics of time. Those that accelerate like the first
one are flights; two consecutive flights give an impact, with its pose q, velocities before and after, and spin:

    gravity     a = g - k v over all flights, k a drag of 0 +- 0.5 1/s
    impact      gap(q) = 0,    cross(GQ, dv) = (J/m) d omega                        (Gabiccini and Fusco 2019, Eq. 31)

A defect is a change of poses or walls that makes impacts more likely by e^12 (Student's t of both residuals, J/m free).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ..arrays import Matrix, Vector
from ..estimate import Diagnosis, Estimate, Finding, Severity, Unchecked
from ..estimate.estimate import unfinished
from ..estimate.finding import ordered
from ..estimate.motions import POSE
from ..exceptions import NotIdentifiable
from ..models.planar.body import GRAVITY, Wall, contacts_at, gaps_at
from ..models.planar.drop import Drop
from ..models.planar.shapes import Shape
from ..recording import Recording
from .cause import Cause
from .check import look_at
from .effect_fit import EffectFit
from .outliers import Outliers
from .position_samples import LOST, LostSamples
from .prediction import SystematicEffects
from .stale_samples import StaleSamples

LARGEST_THROWS = 30
"""Largest number of throws that are examined; more add little."""
LOOKED_AT = 40
"""Largest number of frames of a throw that are examined for being inside a wall."""
SHORTEST = 5
"""Least number of frames of a piece."""
OUTLINE = 0.02
"""Part of the size to which an outline is known."""
STRAY, STRAY_SIZE = 4.5, 0.005
"""A frame belongs to a piece if its residual is below so many standard deviations, or this part of the size."""
KNOWN = 0.05
"""Largest relative standard deviation of the acceleration of a piece that is taken for a flight."""
FREEDOM = 3.0
"""nu of Student's t."""
EXPECTED = 0.77
"""Mean -log-likelihood of a residual of that distribution: 2 (digamma(2) - digamma(1.5))."""
GYRATION = 0.3
"""Typical J/m, in squares of the size, and the range that is tried for it."""
INERTIAS = np.geomspace(0.03, 1.0, 40)[:, None]

CAUSES = (
    Cause("gravity", "The acceleration in flight is not gravity.", "Level the axes: 9.81 m/s^2 act along -y."),
    Cause("clock-scale", "The clock of the frames is too fast or too slow.", "Correct rate_hz, or the column of time."),
    Cause("length-unit", "Lengths are in another unit.", "Declare their unit."),
    Cause("length-scale", "Poses and outline disagree.", "Correct the unit of the poses, or the outline."),
    Cause("swapped-channels", "Two channels are exchanged.", "Exchange their columns."),
    Cause("sign", "An axis has the opposite direction.", "Write scale = -1 for the channel."),
    Cause("angle-unit", "Degrees are declared as radians, or the reverse.", "Declare the other unit."),
    Cause("angle-zero", "The zero of the angle differs from the outline's.", "Correct the angle's offset."),
    Cause("wall", "The body does not strike walls where they are declared.", "Measure [[walls]] again."),
    Cause("tracked-point", "The tracked point is not where it is declared.", "Measure it from the center of mass."),
    LOST,
    *StaleSamples.causes,
    *Outliers.causes,
    Cause("poor-fit", "Residuals of the motion exceed the noise.", "Check outline and walls."),
    Cause("restitution", "The contact point leaves faster than it came.", "Exclude these impacts."),
    Cause("at-bound", "A value is at its bound.", "Film throws that slide and bounce."),
    Cause("held-out", "A drop is predicted far worse than others.", "Check what differs in it."),
)  # fmt: skip


OF_THROWS = {cause.name: cause for cause in CAUSES}


@dataclass(frozen=True, eq=False)
class Piece:
    """Frames from `begin` to before `end`: (3, 3) coefficients c of 1, s and s^2 / 2, with s = t - `middle`."""

    begin: int
    end: int
    middle: float
    c: Matrix
    covariance: Matrix
    noise: Vector

    @property
    def fall(self) -> tuple[Vector, Vector]:
        """(2,) acceleration of x and y [m/s^2], and its standard deviation."""
        return self.c[2, :2], self.noise[:2] * np.sqrt(self.covariance[2, 2])

    @property
    def spins_freely(self) -> bool:
        """Whether the spin changes by no more than a drag of 0.5 1/s explains."""
        return bool(
            abs(self.c[2, 2]) < 3 * self.noise[2] * np.sqrt(self.covariance[2, 2]) + 0.5 * abs(self.c[1, 2])
        )

    def at(self, t: float) -> tuple[Matrix, Matrix]:
        """(2, 3) pose and velocity, and their standard deviations."""
        s = t - self.middle
        by = np.array([[1.0, s, 0.5 * s**2], [0.0, 1.0, s]])
        return by @ self.c, np.sqrt(np.diag(by @ self.covariance @ by.T))[:, None] * self.noise


def quadratics(throw: Drop, begin: int, end: int) -> tuple[Piece, Matrix]:
    """The quadratics fitted to these frames, and their residuals (n, 3)."""
    t = throw.times[begin:end]
    middle = 0.5 * (t[0] + t[-1])
    s = t - middle
    B = np.column_stack([np.ones_like(s), s, 0.5 * s**2])
    covariance = np.linalg.inv(B.T @ B)
    c = covariance @ B.T @ throw.poses[begin:end]
    return Piece(begin, end, middle, c, covariance, throw.noise), throw.poses[begin:end] - B @ c


def _pieces(throw: Drop, allowed: Vector) -> Iterator[Piece]:
    """Consecutive pieces, each as long as possible with residuals up to `allowed` (3,)."""
    if throw.flights is not None:
        yield from (quadratics(throw, int(f[0]), int(f[-1]) + 1)[0] for f in throw.flights)
        return
    begin, N = 0, len(throw.times)
    while begin + SHORTEST <= N:
        longest = None
        for end in range(begin + SHORTEST, N + 1):
            piece, left = quadratics(throw, begin, end)
            if (np.abs(left) > allowed).any():
                break
            longest = piece
        if longest is not None:
            yield longest
        begin = begin + 1 if longest is None else longest.end


@dataclass(frozen=True, eq=False)
class Meeting:
    """The intersection of two consecutive flights, an impact if the velocity jumps.

    Args:
        throw, time: of it [s]. pose, before, after: (3,) pose, velocities. jump_std, pose_std: (3,) of jump and pose.
        skipped: number of frames in between.
    """

    throw: str
    time: float
    pose: Vector
    before: Vector
    after: Vector
    jump_std: Vector
    pose_std: Vector
    skipped: int

    @property
    def strikes(self) -> bool:
        return bool((np.abs(self.after - self.before) > 6 * self.jump_std + 0.03 * np.abs(self.before)).any())


@dataclass(frozen=True, eq=False)
class ThrownBody:
    """Throws, and an estimate from them if there is one.

    Args:
        shape, walls: as declared. known: findings of the method itself.
        held_out: name of a throw -> (K,) errors of its jumps of the spin, predicted from the others [rad/s].
        upper: name of a parameter -> its upper bound.
        effects: errors of the laboratory beside the estimate; None: they were not estimated.
    """

    estimate: Estimate | None
    throws: Sequence[Drop]
    shape: Shape
    walls: Sequence[Wall]
    known: Sequence[Finding] = ()
    held_out: Mapping[str, Vector] = field(default_factory=dict)
    upper: Mapping[str, float] = field(default_factory=dict)
    effects: EffectFit | None = None

    @cached_property
    def flights(self) -> list[tuple[Drop, list[Piece]]]:
        flights = []
        for throw in self.throws[:: -(-len(self.throws) // LARGEST_THROWS) or 1]:
            lengths = STRAY_SIZE * np.array([self.shape.size, self.shape.size, 1.0])
            pieces = list(_pieces(throw, np.hypot(STRAY * throw.noise, lengths)))
            if throw.flights is not None:
                flights.append((throw, pieces))
                continue
            # no torque acts on a body in flight; a short piece that violates this may hide an impact
            pieces = [piece for piece in pieces if piece.spins_freely]
            falls = [piece.fall for piece in pieces]
            first = next((a for a, std in falls if np.hypot(*std) < KNOWN * np.hypot(*a)), None)
            if first is not None:
                size, apart = np.hypot(*first), [(np.hypot(*(a - first)), np.hypot(*std)) for a, std in falls]
                known = [std < 0.5 * size and off < 0.25 * size + 3 * std for off, std in apart]
                like = [piece for piece, yes in zip(pieces, known, strict=True) if yes]
                flights.append((throw, like))
        return flights

    @cached_property
    def meetings(self) -> list[Meeting]:
        scale = np.array([1.0, 1.0, self.shape.size])
        meetings = []
        for throw, pieces in self.flights:
            for a, b in pairwise(pieces):
                if b.begin - a.end > 3:
                    continue
                begin, end = throw.times[a.end - 1], throw.times[b.begin]
                t = 0.5 * (begin + end)
                # the instant between both frames at which both flights have the same position
                apart, jump = (b.at(t)[0] - a.at(t)[0]) * scale
                t = float(np.clip(t - apart @ jump / max(float(jump @ jump), 1e-12), begin, end))
                ((p, v), (p_std, v_std)), ((q, u), (q_std, u_std)) = a.at(t), b.at(t)
                stds = np.hypot(v_std, u_std), 0.5 * np.hypot(p_std, q_std)
                meetings.append(Meeting(throw.name, t, 0.5 * (p + q), v, u, *stds, b.begin - a.end))
        return meetings

    @cached_property
    def impacts(self) -> list[Meeting]:
        return [meeting for meeting in self.meetings if meeting.strikes]

    def unlikely(
        self, turned: Vector, offset: Vector, slope: float = 0.0, spin: float | None = None
    ) -> float:
        """-log-likelihood of all impacts, J/m free.

        Args:
            turned, offset: (3,) factors on poses, and their shift. slope: added to the slope of walls [rad].
            spin: factor on angular velocities; None: as for the angle.
        """
        walls = [replace(wall, slope=wall.slope + slope) for wall in self.walls]
        size, gaps, rows = self.shape.size, [], []
        for impact in self.impacts:
            jump = (impact.after - impact.before) * [*turned[:2], turned[2] if spin is None else spin]
            gap, N, T = contacts_at(impact.pose * turned + offset, self.shape, walls)
            k = int(np.argmin(gap))
            moment = N[k, 2] * (N[k, :2] @ jump[:2]) + T[k, 2] * (T[k, :2] @ jump[:2])
            # an outline is known to 2 % of its size, and rotates with the angle
            off = size * np.hypot(OUTLINE, impact.pose_std[2])
            gaps.append(gap[k] / np.hypot(off, impact.pose_std[1]))
            of_lever = np.hypot(*jump[:2]) * off / (GYRATION * size**2)
            rows.append((jump[2], moment / size**2, np.hypot(impact.jump_std[2] * abs(turned[2]), of_lever)))
        # no frame of a body is inside a wall
        for throw, _ in self.flights:
            poses = throw.poses[:: -(-len(throw.poses) // LOOKED_AT)] * turned + offset
            deepest = float(gaps_at(poses, self.shape, walls).min())
            gaps.append(
                min(deepest, 0.0) / np.hypot(size * np.hypot(OUTLINE, throw.noise[2]), throw.noise[1])
            )
        spin, moment, std = np.array(rows).T
        of_spin = np.sum(_student((spin - moment / INERTIAS) / std), axis=1).min()
        return float(np.sum(_student(np.array(gaps))) + of_spin)


def _student(z: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * (FREEDOM + 1) * np.log1p(z**2 / FREEDOM))


class ThrowEffects(SystematicEffects):
    """Effects that the frames show, and the size that others may have."""

    def look(self, case: Any) -> Iterator[Finding | Unchecked]:
        for named in case.named:
            yield self._finding(None, named)
        yield from self._unchecked(case)


class ThrowChecks:
    """Checks of thrown bodies, and their thresholds.

    Class variables:
        sure: standard deviations. gravity: part of 9.81 m/s^2 that air drag explains. tilt: of the camera [rad].
        rate: relative tolerance for an acceleration to indicate a frame rate that is wrong by a factor of 2.
        gain: log-likelihood of impacts that must be gained for a defect to be named, as in `explanations`; `likely`
            where the fit has failed already. price: penalty of a free value for fitting noise.
        drag: standard deviation of the prior of k [1/s].
        worse: error of a drop's prediction relative to that of all; spin: least such error that matters [rad/s].
        much: excess of restitution over 1 that no error of the contact's speed explains. many: part of the impacts that
            may have it. dense: part of the largest J/m below which all mass would be in a tenth of the size.
    """

    sure = 5.0
    gravity = 0.08
    tilt = 0.07
    rate = 0.15
    gain = 12.0
    likely = 4.0
    price = 3.0
    drag = 0.5
    worse = 10.0
    spin = 1.0
    much = 0.1
    many = 0.2
    dense = 0.01

    def look(self, case: ThrownBody) -> Iterator[Finding | Unchecked]:
        yield from case.known
        yield from self._values(case)
        yield from self.look_at_frames(case)
        # where a fit failed, the motion about which effects are linear is another one
        if case.effects is not None and all(finding.severity < Severity.error for finding in case.known):
            yield from look_at(case.effects, (ThrowEffects(),))

    def look_at_frames(self, case: ThrownBody) -> Iterator[Finding | Unchecked]:
        """Checks that need no estimate."""
        yield from self._samples(case)
        if not case.flights:
            yield Unchecked("gravity, clock and axes", "no piece of flight is long enough")
            return
        if any(throw.flights is not None for throw in case.throws):
            yield Unchecked("gravity and clock", "velocities before and after impacts do not determine them")
            falls = list(self._pulled(case))
        else:
            falls = list(self._gravity(case))
        yield from falls
        if len(case.impacts) < 2:
            yield Unchecked(
                "angles, outline and walls", "fewer than two impacts are between flights of five frames"
            )
        elif not falls:
            yield from self._contacts(case)

    def _samples(self, case: ThrownBody) -> Iterator[Finding]:
        """Missing, repeated and outlying frames."""
        for throw in (throw for throw in case.throws if throw.flights is None):
            poses = dict(zip(POSE, throw.poses.T, strict=True))
            channels = {f"position.{axis}": values for axis, values in poses.items()}
            recording = Recording(throw.times, channels, {f"position.{axis}": POSE[axis] for axis in POSE})
            yield from LostSamples().look_at(recording, throw.name)
            # a tracker that repeats a frame repeats all of it
            stale = min(StaleSamples().share(values) for values in poses.values())
            if stale > StaleSamples.least:
                yield StaleSamples.causes[0].finding(
                    Severity.error,
                    f"About {100 * stale:.2g} % of the frames of {throw.name} repeat the one before.",
                    where=throw.name,
                    evidence=1e3 * stale,
                )
        for meeting in case.meetings:
            if meeting.skipped and not meeting.strikes:
                message = (
                    f"In {meeting.throw} at {meeting.time:.4g} s {meeting.skipped} frame(s) are far from the flight, "
                    "which continues afterwards."
                )
                yield Finding("outliers", Severity.error, message, "Exclude them.", meeting.throw, 50.0)

    def _gravity(self, case: ThrownBody) -> Iterator[Finding]:
        rows, values = [np.array([[0.0, 0.0, 1 / self.drag]])], [np.zeros(1)]
        flights = [piece for _, pieces in case.flights for piece in pieces]
        if len(flights) < 2:
            return  # a rolling body may accelerate like a flying one: two pieces must agree
        for piece in flights:
            a, std = piece.fall
            w = 1 / np.hypot(std, 0.2)
            rows.append(np.column_stack([np.diag(w), -piece.c[1, :2] * w]))
            values.append(a * w)
        A = np.concatenate(rows)
        covariance = np.linalg.inv(A.T @ A)
        g, std = (covariance @ A.T @ np.concatenate(values))[:2], np.sqrt(np.diag(covariance))[:2]
        size, angle = float(np.hypot(*g)), float(np.arctan2(g[0], -g[1]))
        ratio = size / GRAVITY
        fall = f"In flight bodies accelerate by {size:.4g} m/s^2, {np.degrees(angle):+.3g} degrees from -y"
        evidence = 100 * (abs(np.log(ratio)) + abs(angle))
        if abs(angle) > self.tilt + self.sure * std[0] / size:
            quarters = abs(round(angle / (np.pi / 2)))
            cause, remedy = "gravity", "Rotate the axes until y points up."
            if quarters and abs(abs(angle) - quarters * np.pi / 2) < 0.2:
                cause, remedy = (
                    ("swapped-channels", "Exchange the columns of position.x and position.y."),
                    ("sign", "Let y point up: scale = -1 for position.y and position.angle."),
                )[quarters - 1]
            yield Finding(cause, Severity.error, f"{fall}.", remedy, "position", evidence)
        if abs(ratio - 1) > self.gravity + self.sure * std.max() / GRAVITY:
            # acceleration scales with the square of the clock and with lengths: alone it cannot distinguish them
            double = any(abs(ratio / k - 1) < self.rate for k in (4.0, 0.25))
            message = f"{fall}: {ratio:.3g} times gravity."
            remedy = f"Multiply times by {np.sqrt(ratio):.4g} if lengths are right (rate_hz divided by it)."
            yield Finding("clock-scale", Severity.error, message, remedy, "time", evidence + double)
            remedy = f"Divide positions by {ratio:.4g}, if the clock is right."
            yield Finding("length-scale", Severity.error, message, remedy, "position", evidence + 0.5)

    def _pulled(self, case: ThrownBody) -> Iterator[Finding]:
        """Given impacts in which any wall would have pulled the body."""
        normals = np.array([[-np.sin(wall.slope), np.cos(wall.slope)] for wall in case.walls])
        jumps = np.array([meeting.after[:2] - meeting.before[:2] for meeting in case.meetings])
        pulled = int(np.sum((jumps @ normals.T).max(axis=1, initial=-np.inf) <= 0))
        if 2 * pulled > len(jumps):
            message = f"In {pulled} of {len(jumps)} impacts the body moves into the wall faster after it than before."
            remedy = "Exchange velocity_before and velocity_after, or let y point up: scale = -1 for y and the angle."
            yield Finding(
                "swapped-channels", Severity.error, message, remedy, "velocity_before", 100.0 * pulled
            )

    def _contacts(self, case: ThrownBody) -> Iterator[Finding]:
        """Changes of poses and walls under which impacts are more likely."""
        one, none, size = np.ones(3), np.zeros(3), case.shape.size
        degree, tried = np.pi / 180, []
        for turned, cause, what, remedy in (
            ((1, 1, -1), "sign", "x or the angle had the other sign", "Write scale = -1 for one of them."),
            ((1, -1, -1), "sign", "y pointed down", "Write scale = -1 for y and the angle."),
            ((1, 1, degree), "angle-unit", "angles were in degrees", 'Declare unit = "deg".'),
            ((1, 1, 1 / degree), "angle-unit", "angles were in radians", 'Declare unit = "rad".'),
            ((1e-3, 1e-3, 1), "length-unit", "lengths were in mm", 'Declare unit = "mm".'),
            ((1e-2, 1e-2, 1), "length-unit", "lengths were in cm", 'Declare unit = "cm".'),
        ):
            tried.append((case.unlikely(one * turned, none), cause, what, remedy))
        if case.throws[0].flights is not None:
            opposite = case.unlikely(one, none, spin=-1.0), "sign", "angular velocities had the other sign"
            tried.append((*opposite, "Write scale = -1 for the angle's velocity_before and velocity_after."))
        free: list[tuple[tuple[Any, ...], str, str, str]] = []
        for angle in range(10, 360, 10):
            changed = one, np.array([0, 0, angle * degree])
            free.append(
                (changed, "angle-zero", f"angles were larger by {angle} deg", "Correct their offset.")
            )
        for up in size * np.delete(np.linspace(-1, 1, 41), 20):
            what = f"walls were {1e3 * up:+.3g} mm higher"
            free.append(((one, np.array([0, -up, 0])), "wall", what, "Correct y of [[walls]]."))
        for scale in np.delete(np.geomspace(0.5, 2.0, 29), 14):
            changed, what = (
                (one * [scale, scale, 1], none),
                f"lengths of poses were {scale:.3g} times as large",
            )
            free.append((changed, "length-scale", what, "Correct their unit, or the outline."))
        for slope in (-15, -10, -7, -5, -3, 3, 5, 7, 10, 15):
            what = f"walls had {slope:+d} degrees more slope"
            free.append(((one, none, slope * degree), "wall", what, "Correct slope of [[walls]]."))
        tried += [(case.unlikely(*changed) + self.price, a, b, c) for changed, a, b, c in free]
        declared, least = case.unlikely(one, none), self.likely if case.known else self.gain
        # where residuals of even the best change exceed Student's t, gains of log-likelihood are scaled down
        best = min(declared, min(tried)[0])
        dispersion = max(best / (EXPECTED * 2 * len(case.impacts)), 1.0)
        named: set[str] = set()
        least = max(least, (declared - best) / dispersion - least / 2)
        for value, cause, what, remedy in sorted(tried):
            gain = (declared - value) / dispersion
            if gain < least or cause in named or len(named) == 2:
                continue
            named.add(cause)
            # the geometry of pooled drops is estimated, walls included
            known = cause == "wall" and case.estimate is not None and "floor_height" in case.estimate.names
            message = f"The impacts would be e^{gain:.3g} times as likely if {what}."
            yield Finding(cause, Severity.note if known else Severity.error, message, remedy, "", gain)

    def _values(self, case: ThrownBody) -> Iterator[Finding]:
        assert case.estimate is not None
        reach = float(np.hypot(*case.shape.outline().T).max()) ** 2
        if "J/m" in case.estimate.names:
            k = case.estimate.names.index("J/m")
            ratio, std = float(case.estimate.values[k]) / reach, float(case.estimate.std[k]) / reach
            if ratio - 2 * std > 1 or ratio + 2 * std < self.dense:
                message = (
                    f"J/m is {100 * ratio:.3g} % of the largest value that a body of this outline can have."
                )
                remedy = "Correct the units of poses and outline, or of velocities."
                severity = Severity.error if ratio > 1 else Severity.warning
                yield Finding("length-scale", severity, message, remedy, "J/m", abs(np.log(ratio)))
        for name, bound in case.upper.items():
            if name in case.estimate.names and case.estimate[name] > (1 - 1e-6) * bound:
                message = f"{name} is at its upper bound, {bound:.4g}."
                yield Finding("at-bound", Severity.warning, message, "Film throws that determine it.", name)
        rows = getattr(case.estimate.extras.get("impacts"), "impacts", ())
        if above := [impact for impact in rows if impact.restitution > 1 + self.much]:
            worst = max(above, key=lambda impact: impact.restitution)
            severity = Severity.warning if len(above) > self.many * len(rows) else Severity.note
            message = (
                f"{len(above)} of {len(rows)} impacts have a restitution above 1, up to {worst.restitution:.3g} in "
                f"{worst.recording} at {worst.time:.4g} s: the contact point hardly approached, or two corners hit."
            )
            yield Finding("restitution", severity, message, "Exclude these impacts.", worst.recording)
        usual = float(np.median([error for errors in case.held_out.values() for error in errors] or [0.0]))
        for name, errors in case.held_out.items():
            own = float(np.median(errors))
            if len(errors) > 1 and own > max(self.worse * usual, self.spin):
                message = (
                    f"Spin jumps in {name} are predicted to {own:.3g} rad/s, those of all to {usual:.2g}."
                )
                remedy = "Check whether the body or the floor differed in it, or exclude it."
                yield Finding("held-out", Severity.warning, message, remedy, name, own / usual)


def explain(
    why: NotIdentifiable, throws: Sequence[Drop], shape: Shape, walls: Sequence[Wall]
) -> NotIdentifiable:
    """The error `why`, with the defect of the recordings if the frames reveal one."""
    findings = ThrowChecks().look_at_frames(ThrownBody(None, throws, shape, walls))
    wrong = [
        finding for finding in findings if isinstance(finding, Finding) and finding.severity is Severity.error
    ]
    return (
        NotIdentifiable(f"[{wrong[0].cause}] {wrong[0].message} {wrong[0].remedy} ({why})") if wrong else why
    )


def diagnose_throws(estimate: Estimate, **about: Any) -> Diagnosis:
    """Findings about an estimate from throws; about: the other fields of `ThrownBody`."""
    results = list(ThrowChecks().look(ThrownBody(estimate, **about)))
    findings = [*unfinished(estimate), *(result for result in results if isinstance(result, Finding))]
    return Diagnosis(ordered(findings), tuple(result for result in results if isinstance(result, Unchecked)))
