"""Delays, zeros and offsets estimated together with the parameters, and removed from the recordings.

    tau_r(t + d_r) - o_r = W(q_r + z_r, v_r, a_r; t) theta + e        r: recording

d is common to all recordings or one for each; z and o are differences from the first recording, whose zeros and offsets
are those of the drive and of friction. With n = (d, z, o), C = d (W theta - tau) / dn and G = C less its part in the
span of W, the Gauss-Newton step over n is that of `explanations`, and

    P = (G^T G)^-1 N / N_eff,       dtheta/dn = S = -(W^T W)^-1 W^T C,       cov(theta) grows by S P S^T

A held-out recording has its own n, estimated with theta held fixed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from ..arrays import Matrix, Vector
from ..estimate import Estimate, Finding, Severity
from ..estimate.extras import Extra
from ..exceptions import InvalidMethod, InvalidSignals, listing, nearest
from ..models.robot.drive import DriveTrain
from ..regression.inverse_dynamics import InverseDynamics
from ..signals.alignment import align
from ..signals.signals import Signals
from .case import Solved, mapped, recordings_of, thinned
from .cause import Cause
from .examination import Examination
from .explanations import STEPS, Candidate, Explained, explain, improvement

LARGEST_S = 0.25
"""Largest delay, either way, that is searched, but no more than a tenth of the shortest recording."""

STARTS = 21
"""Delays that are tried first: 25 ms apart, a quarter period of 10 Hz."""

OFFSETS = {"current": "A", "voltage": "V", "rad": "N m", "m": "N"}
"""Unit of an offset, by effort, or by position."""

LARGEST_STEPS = {"delay": 0.02, "zero": 0.3, "offset": np.inf}
"""Largest step of an iteration for each quantity [SI units]."""

ADVICE = 'Have it estimated: per_recording in [method], or delay = "auto" in [preprocessing].'
CAUSES = {
    "delay": Cause("delay", "Efforts lag behind the positions.", ADVICE),
    "zero": Cause("joint-zero", "Joint zeros differ from those of the first recording.", ADVICE),
    "offset": Cause("torque-offset", "Effort offsets differ from those of the first recording.", ADVICE),
}


@dataclass(frozen=True)
class Nuisance:
    """A nuisance: a delay, zero or offset estimated beside the parameters.

    Args:
        quantity: key of `CAUSES`. joint: name; None: all. number: index of the recording, from 0; None: all.
        recording: its name. value, std: in `unit`; std is infinite where the motion does not determine the value.
    """

    quantity: str
    joint: str | None = None
    number: int | None = None
    recording: str = "all recordings"
    value: float = 0.0
    std: float = np.inf
    unit: str = "s"

    def __str__(self) -> str:
        shown = (
            f"{self.value:.4g} +- {1.96 * self.std:.2g} {self.unit}" if self.std < np.inf else "undetermined"
        )
        return f"{self.quantity} of {self.joint or 'all joints'} in {self.recording}: {shown}"

    def effect(self, train: DriveTrain) -> Vector:
        """(1 + 2 n,) correction for a value of 1: of the delay, recorded positions and recorded efforts."""
        own = np.array([joint == self.joint for joint in train.joints], dtype=float)
        none = np.zeros(len(own))
        parts = {
            "delay": ([1.0], none, none),
            "zero": ([0.0], np.linalg.solve(train.velocity_map, own), none),
            "offset": ([0.0], none, -own),
        }
        return np.concatenate(parts[self.quantity])


def effects(which: Sequence[Nuisance], values: Vector, train: DriveTrain, number: int | None) -> Vector:
    """(1 + 2 n,) sum of the corrections of one recording; `number` None: only of the common nuisances."""
    mine = (
        (nuisance, x) for nuisance, x in zip(which, values, strict=True) if nuisance.number in (None, number)
    )
    return sum((x * nuisance.effect(train) for nuisance, x in mine), np.zeros(1 + 2 * len(train.joints)))


def without(signals: Signals, train: DriveTrain, effect: Vector, whole_s: float) -> Signals:
    """Signals without nuisances: torque at t + delay beside the motion at t.

    The whole samples in `whole_s` are taken by index, the rest by moving the smooth motion.
    """
    order = np.array([train.joints.index(joint) for joint in signals.joints])
    rate = 1 / float(np.median(np.diff(signals.time)))
    k, T = round(whole_s * rate), len(signals)
    h = k / rate - effect[0]  # the motion is taken at t + h
    jerk = np.gradient(signals.a, axis=0) * rate
    q = signals.q + effect[1 + order] + h * signals.v + 0.5 * h**2 * signals.a
    v = signals.v + h * signals.a + 0.5 * h**2 * jerk
    a = signals.a + h * jerk
    tau = signals.tau + effect[1 + len(train.joints) + order]
    motion, torque = (slice(0, T - k), slice(k, T)) if k >= 0 else (slice(-k, T), slice(0, T + k))
    moved = {"time": signals.time[motion], "q": q[motion], "v": v[motion], "a": a[motion], "tau": tau[torque]}
    return replace(signals, **moved, q_std=None, v_std=None, a_std=None)


def mended(signals: Signals, train: DriveTrain, effect: Vector) -> Signals:
    """The same, with the recording corrected too: checks use the recording behind the signals."""
    if (recording := signals.recording) is None:
        return without(signals, train, effect, effect[0])
    names = [f"{quantity}.{joint}" for quantity in ("position", signals.effort) for joint in train.joints]
    added = dict(zip(names, effect[1:].tolist(), strict=True))
    channels = {name: values + added.get(name, 0.0) for name, values in recording.channels.items()}
    moved = align(replace(recording, channels=channels), {signals.effort: float(effect[0])})
    return cast("Signals", signals.method.apply(moved))


def differences(which: Sequence[Nuisance], largest_s: float = 0.0) -> Candidate:
    """A candidate of these nuisances; it first searches delays up to `largest_s`."""

    def change(problem: InverseDynamics, x: Vector, near: Vector) -> InverseDynamics:
        train, changed = problem.robot.train, []
        for k, signals in enumerate(recordings_of(problem)):
            # the same whole samples on both sides of a finite difference, or there would be other rows
            whole = float(effects(which, near, train, k)[0])
            changed.append(without(signals, train, effects(which, x, train, k), whole))
        return problem.with_signals(changed)

    delays = np.array([nuisance.quantity == "delay" for nuisance in which], dtype=float)
    grid = np.linspace(-largest_s, largest_s, STARTS) if delays.any() and largest_s else (0.0,)
    largest = np.array([LARGEST_STEPS[nuisance.quantity] for nuisance in which])
    starts = [(d * delays).tolist() for d in grid]
    # to both sides: dry friction changes its sign at whole samples
    cause = CAUSES[which[0].quantity]
    return Candidate(cause, (), change, starts=starts, central=True, largest_step=largest)


@dataclass(frozen=True, eq=False)
class Corrections(Extra):
    """Nuisances estimated beside the parameters, and removed from the recordings.

    Args:
        rows: the nuisances.
        growth: (b, b) S P S^T of base parameters; None: no nuisance is significant, and recordings are unchanged.
        findings: findings about the nuisances.
    """

    rows: tuple[Nuisance, ...]
    growth: Matrix | None = None
    findings: tuple[Finding, ...] = ()

    key: ClassVar[str] = "corrections"

    def as_json(self) -> Any:
        return [asdict(row) for row in self.rows]

    def as_text(self) -> str:
        return "\n".join(map(str, self.rows))

    def applied(self, estimate: Estimate) -> Estimate:
        """The estimate of the corrected problem with covariance increased by `growth`, and with `findings`."""
        if self.growth is None:
            return estimate.updated(self)
        place = [cast("InverseDynamics", estimate.problem).base.index(name) for name in estimate.names]
        more = self.growth[np.ix_(place, place)]
        table = estimate.parameters.uncertainty
        rows = {row: getattr(table, row) for row in ("readings", "correlation")}
        wider = {row: covariance + more for row, covariance in rows.items() if covariance is not None}
        return estimate.updated(self, uncertainty=replace(table, **wider), corrected=self.findings)


def correct(
    problem: InverseDynamics,
    per_recording: Sequence[str] = (),
    *,
    delay: bool = False,
    names: Sequence[str] = (),
) -> tuple[InverseDynamics, Corrections]:
    """Estimate delays, zeros and offsets, and remove them from the recordings of the problem.

    Args:
        problem: the problem of the recordings as recorded.
        per_recording: `"delay"`, `"zero"` and `"offset"`, of all joints, or of one, as `"zero.elbow"`.
        delay: whether one delay common to all efforts is estimated. names: names of the recordings, for messages.

    Raises:
        InvalidMethod: if there is no such quantity or joint.
        InvalidSignals: if no delay in the range explains the recordings best.
    """
    names = names or [f"recording {k}" for k in range(1, len(problem.parts) + 1)]
    which = [nuisance for name in per_recording for nuisance in _nuisances(problem, name, names)]
    if delay and not any(nuisance.quantity == "delay" for nuisance in which):
        which.append(Nuisance("delay"))
    if not which:
        raise InvalidSignals(
            "per_recording estimates differences between recordings, but there is one: add another, or delete the line"
        )
    case, explained = best_differences(problem, which, LARGEST_S)
    values, solved = explained.nuisance, explained.solved
    stds, growth = _uncertainty(solved, explained.candidate.derivatives(solved, case.thin, values))
    rows = tuple(
        replace(nuisance, value=float(value) if std < np.inf else 0.0, std=float(std))
        for nuisance, value, std in zip(which, values, stds, strict=True)
    )
    if all(abs(nuisance.value) < 1.96 * nuisance.std for nuisance in rows):
        return problem, Corrections(rows)
    found = Corrections(rows, growth, tuple(_findings(case, rows, improvement(case, explained))))
    train, at = problem.robot.train, np.array([nuisance.value for nuisance in rows])
    signals = [mended(s, train, effects(rows, at, train, k)) for k, s in enumerate(recordings_of(problem))]
    return problem.with_signals(signals), found


def longest_delay(problem: InverseDynamics, largest_s: float) -> float:
    """Largest delay, either way, that is searched [s]."""
    return min(largest_s, *(0.1 * len(signals) / signals.rate_hz for signals in recordings_of(problem)))


def best_differences(
    problem: InverseDynamics, which: Sequence[Nuisance], largest_s: float
) -> tuple[Examination, Explained]:
    """The problem as declared, and the nuisances that fit it best."""
    # rows as those of `thin`, but of all samples: a motion with fewer cannot be moved so exactly
    case = Examination(None, problem, mapped(problem, lambda s: s if s.decimation else thinned(s)))
    longest = longest_delay(problem, largest_s)
    explained = explain(case, differences(which, longest))
    if explained is None:
        raise InvalidSignals(
            "the recordings cannot be compared: the problem could not be solved with any of the delays tried"
        )
    delays = [
        abs(x) for nuisance, x in zip(which, explained.nuisance, strict=True) if nuisance.quantity == "delay"
    ]
    if max(delays, default=0.0) >= longest:
        raise InvalidSignals(
            f"[delay] the residual is smallest at a delay of {1e3 * max(delays):.3g} ms, the end of the range: look "
            "for another defect (units, signs, a missing reduction)"
        )
    return case, explained


def correct_held_out(estimate: Estimate, corrections: Corrections, signals: Signals) -> Signals:
    """A held-out recording without the common delay and its own differences, estimated at the estimate's values."""
    problem = cast("InverseDynamics", estimate.problem)
    theta = np.zeros(len(problem.base))
    theta[[problem.base.index(name) for name in estimate.names]] = np.nan_to_num(estimate.values)
    train, at = problem.robot.train, np.array([nuisance.value for nuisance in corrections.rows])
    if corrections.growth is None:
        return signals
    signals = mended(signals, train, effects(corrections.rows, at, train, None))
    own = {(row.quantity, row.joint): row for row in corrections.rows if row.number is not None}
    if not own:
        return signals
    case = Examination(None, problem.with_signals([signals]))
    which = [replace(nuisance, number=0) for nuisance in own.values()]
    candidate = differences(which)
    values = np.zeros(len(own))
    for _ in range(STEPS):
        solved = replace(case.solve(candidate.change(case.thin, values, values)), theta=theta)
        C, _ = solved.whitened_columns(candidate.derivatives(solved, case.thin, values))
        step = np.linalg.lstsq(C, solved.whitened_residuals, rcond=1e-6)[0]
        values += np.clip(step, -candidate.largest_step, candidate.largest_step)
    return mended(signals, train, effects(which, values, train, 0))


def _nuisances(problem: InverseDynamics, name: str, recordings: Sequence[str]) -> list[Nuisance]:
    """The nuisances of one entry of per_recording."""
    quantity, _, joint = name.partition(".")
    robot, effort = problem.robot, recordings_of(problem)[0].effort
    if quantity not in CAUSES:
        raise InvalidMethod(
            f"per_recording names {name!r}{nearest(quantity, CAUSES)}; known are {listing(CAUSES)}, of all "
            'joints or of one, as "zero.elbow"'
        )
    if quantity == "delay":
        return [Nuisance(quantity, None, k, recording) for k, recording in enumerate(recordings)]
    units = dict(zip(robot.joints, robot.position_units, strict=True))
    if quantity == "offset":
        units = {
            own: OFFSETS.get(effort, OFFSETS[units[own]])
            for own in units
            if own not in robot.drive.without_effort
        }
    if joint and joint not in units:
        raise InvalidMethod(
            f"per_recording names {name!r}{nearest(joint, units)}; the robot has {listing(units)}"
        )
    return [
        Nuisance(quantity, own, k, recordings[k], unit=units[own])
        for k in range(1, len(recordings))
        for own in ([joint] if joint else units)
    ]


def _uncertainty(solved: Solved, columns: Sequence[np.ndarray]) -> tuple[Vector, Matrix]:
    """(k,) standard deviations, infinite where the motion does not determine a nuisance, and (b, b) S P S^T."""
    std = np.array([solved.score(c).std for c in columns])
    shown = np.isfinite(std)
    C, G = (matrix[:, shown] for matrix in solved.whitened_columns(columns))
    P = np.linalg.pinv(G.T @ G, rcond=1e-10) * solved.inflation
    std[shown] = np.sqrt(np.diag(P))
    S = solved.covariance @ ((solved.dense.W / solved.sigma[:, None]).reshape(len(C), -1).T @ C)
    return std, S @ P @ S.T


def _findings(case: Examination, rows: Sequence[Nuisance], effect: str) -> Iterator[Finding]:
    """One finding for each quantity, a warning where a value is significant and large enough to matter."""
    torque = float(np.std(recordings_of(case.thin)[0].tau))
    # a phase of 6 deg at the end of the band, 1 deg, 1 % of the torque
    sizes = {"delay": 6 / 360 / case.highest_hz, "zero": np.pi / 180, "offset": 0.01 * torque}
    for name, cause in CAUSES.items():
        mine = [
            nuisance
            for nuisance in rows
            if nuisance.quantity == name and abs(nuisance.value) > 4 * nuisance.std
        ]
        if not mine:
            continue
        matters = max(abs(nuisance.value) for nuisance in mine) > sizes[name]
        remedy = "No action is required; remove the cause where possible."
        if mine[0].number is None:
            line = f"delays = {{ {recordings_of(case.problem)[0].effort} = {mine[0].value:.4f} }}"
            remedy = f"No action is required; {line} in [preprocessing] declares the delay as known."
        yield Finding(
            cause.name,
            Severity.warning if matters else Severity.note,
            f"{cause.means[:-1]}: {'; '.join(map(str, mine))}. This was corrected: {effect}.",
            remedy,
            evidence=1e3,
            corrected=matters,
        )
