"""Estimates from the recordings of the Furuta pendulum, and their errors on held-out recordings.

*The weight.* The paper weighs step errors by kappa and reading errors by 1, so kappa means something only beside the
impulses of its machine, whose pendulum is forty times as heavy as ours. Here kappa is in the paper's units: the weight
stands to the pendulum's m g l h as the paper's does to its own,

    weight = kappa ((m g l h)_paper / (m g l h))^2

*Which kappa.* Too small a weight lets step errors explain what parameters should, and the parameters shrink with it: an
impulse error is in proportion to inertia, gain and friction alike, so all of an arm's together cost less if they are
smaller. Too large a one lets what the model lacks, such as the cogging of the motor, bend the parameters. Between lies
a plateau, and the choice is its beginning: the smallest kappa from which on a tenfold one moves no parameter of the
machine by more than its robust standard deviation.

*Held out.* As in Sect. 4.5 parameters stay and states are estimated again; the pendulum encoder's zero, which is no
property of the machine, is too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path as Folder

import numpy as np
from jaxtyping import Float

from poinsot.estimators.joint import JointFit, JointSmoothing, JointSmoothingProblem, Record, RecordFit
from poinsot.models.maximal import Model

from .furuta_models import (
    BLOCKED,
    COMPLIANCES,
    ESTIMATED,
    RECORDINGS,
    SWINGS,
    WEIGHT,
    model,
    opened,
    record,
    with_values,
    zero,
)
from .furuta_voltage import Commands, commands, delay_of
from .recordings import DRIVEN, Angles, driven, oscillations
from .simulation import simulated

PAPER_IMPULSE = 0.428 * 9.82 * 0.092 * 0.01
"""m g l h of the paper's pendulum [N m s]."""
BEFORE = 0.02
"""Of the rest before the first command that is kept [s]."""
SAMPLES = 2
"""Every so many samples make a step: of 4 ms."""
ITERATIONS = 40
FINE, STIFF = 5e-4, 1e-8
"""Step of a simulation [s], and compliance of its hinges [m/N]."""


@dataclass(frozen=True, eq=False)
class Stand:
    """The recordings, on steps of the mechanism.

    Args:
        model: of the mechanism.
        records: by name, the driven ones from just before the first command, the free swings from the first passage.
        start: (p,) uniform rods, round frictions and gain, zeros from the readings at rest.
        delay: of the motor's torque [s]. allowed: the least and the most that the recordings allow [s].
        restored: recording -> commands put back.
        fine: recording -> its voltage in steps of a simulation, nothing read.
    """

    model: Model
    records: Mapping[str, Record]
    start: Float[np.ndarray, "p"]
    delay: float
    allowed: tuple[float, float]
    restored: Mapping[str, int]
    fine: Mapping[str, Record]

    def fit(
        self,
        names: Sequence[str],
        kappa: float,
        theta: Float[np.ndarray, "p"] | None = None,
        names_open: Sequence[str] | None = None,
        form: str = "reduced",
        iterations: int = ITERATIONS,
    ) -> JointFit:
        """From some of the recordings; kappa in the paper's units."""
        records = [self.records[name] for name in names]
        method = JointSmoothing(weight=weight(kappa, records[0]), form=form, max_iterations=iterations)
        theta = self.start if theta is None else theta
        return method.solve(
            JointSmoothingProblem(
                self.model, records, theta, opened(names) if names_open is None else names_open
            )
        )

    def held_out(self, theta: Float[np.ndarray, "p"], name: str, kappa: float) -> JointFit:
        """Its states and its encoder's zero, the machine as it is."""
        theta = with_values(
            self.model, theta, **{zero(name): float(self.start[self.model.free.index(zero(name))])}
        )
        return self.fit([name], kappa, theta, (zero(name),))

    def simulated(self, theta: Float[np.ndarray, "p"], name: str) -> Float[np.ndarray, "N 2"]:
        """Readings of arm and pendulum in open loop [rad], from rest where both stand at first.

        Bodies step by SPOOK, on hinges too stiff to matter and in steps too short for it to brake them.
        """
        given, fine = self.records[name], self.fine[name]
        stiff = with_values(self.model, theta, **dict.fromkeys(COMPLIANCES, STIFF))
        values = dict(zip(self.model.free, theta.tolist(), strict=True))
        columns = [0, 1 + RECORDINGS.index(name)]
        arm, read = given.z[0, columns]
        angle = read
        for _ in range(9):
            harmonics = values[f"{name}.sine"] * np.sin(angle) + values[f"{name}.cosine"] * np.cos(angle)
            angle = read - values[zero(name)] - harmonics
        states = np.zeros((len(fine.times), 2))
        states[0] = arm, angle
        nothing = np.full_like(fine.z, np.nan)
        rest = RecordFit(
            name, fine.times, states, 0 * states, None, nothing, nothing, nothing[1:], None, np.nan
        )
        seen = simulated(self.model, stiff, fine, rest)[:, columns]
        seen[:, 0] += 2 * np.pi * np.round((arm - seen[0, 0]) / (2 * np.pi))
        return np.stack([np.interp(given.times, fine.times, column) for column in seen.T], axis=1)

    def has_constant_voltage(self, name: str) -> bool:
        """Whether the motor gets one voltage from the first command on."""
        u = self.records[name].u[:, 0]
        first = int(np.argmax(u != 0)) + 1
        return bool(np.ptp(u[first:]) == 0)

    def readings(self, name: str) -> Float[np.ndarray, "N 2"]:
        """Of arm and pendulum [rad]."""
        return self.records[name].z[:, [0, 1 + RECORDINGS.index(name)]]

    def simulation_rms(self, theta: Float[np.ndarray, "p"], name: str) -> tuple[float, float]:
        """Of arm and pendulum [rad]."""
        arm, pendulum = np.sqrt(np.mean((self.simulated(theta, name) - self.readings(name)) ** 2, axis=0))
        return float(arm), float(pendulum)


def stand(data: Folder, samples: int = SAMPLES, delay: float | None = None) -> Stand:
    """Read them all.

    Args:
        data: folder of the recordings.
        samples: of a step.
        delay: of the motor's torque [s]; None: the middle of what the steps allow.
    """
    machine = model()
    angles = {name: driven(data, name) for name in DRIVEN}
    sent = {name: commands(data, name, angle) for name, angle in angles.items()}
    allowed = delay_of([(angles[name], sent[name]) for name in DRIVEN])
    delay = sum(allowed) / 2 if delay is None else delay
    records = {SWINGS: _swings(oscillations(data), samples)}
    records |= {name: _driven(name, angle, sent[name], samples, delay) for name, angle in angles.items()}
    zeros = {zero(name): float(angle.pendulum[0]) for name, angle in angles.items()}
    zeros[zero(SWINGS)] = float(oscillations(data).pendulum[-1])
    start = with_values(machine, machine.theta, **zeros)
    fine = {name: _fine(records[name], sent[name], delay) for name in DRIVEN}
    return Stand(
        machine,
        records,
        start,
        delay,
        allowed,
        {name: command.restored for name, command in sent.items() if command.restored},
        fine,
    )


def weight(kappa: float, given: Record) -> float:
    """The weight of step errors that is kappa in the paper's units."""
    return kappa * (PAPER_IMPULSE / (WEIGHT * float(np.median(given.steps)))) ** 2


def free_swings(on: Stand, kappa: float, eccentric: bool = True) -> JointFit:
    """Inertia and friction of the pendulum with the arm blocked, its encoder's zero, and eccentricity if it has one."""
    none = {} if eccentric else {f"{SWINGS}.sine": 0.0, f"{SWINGS}.cosine": 0.0}
    theta = with_values(on.model, on.start, **{"shoulder.drag": BLOCKED}, **none)
    sensor = [f"{SWINGS}.{part}" for part in (("zero", "sine", "cosine") if eccentric else ("zero",))]
    return on.fit([SWINGS], kappa, theta, ("pendulum.Jxx", "elbow.drag", "elbow.coulomb", *sensor))


def with_eccentricity(on: Stand, swings: JointFit) -> Stand:
    """The driven recordings' encoder as eccentric as that of the free swings: it is the same."""
    parts = {
        f"{name}.{part}": swings.values[f"{SWINGS}.{part}"] for name in DRIVEN for part in ("sine", "cosine")
    }
    start = with_values(on.model, on.start, **parts)
    return replace(on, start=start)


def settled(fits: Mapping[float, JointFit], names: Sequence[str] = ESTIMATED) -> float:
    """The beginning of the plateau: kappa -> fit of all recordings, rising; the largest but one if there is none."""
    kappas = sorted(fits)
    for low, high in pairwise(kappas):
        places = [fits[low].names.index(name) for name in names]
        moved = np.abs(fits[high].theta - fits[low].theta)[places]
        if np.all(moved <= fits[low].robust_std[places]):
            return low
    return kappas[-2]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A model on a held-out recording.

    Args:
        cost: of its states, by sample [rad^2].
        rms: of arm and pendulum in open loop [rad].
    """

    cost: float
    rms: tuple[float, float]


def held_out(on: Stand, fit: JointFit, name: str, kappa: float) -> HeldOut:
    """Parameters as they are, states and the encoder's zero estimated again; then in open loop."""
    again = on.held_out(fit.theta, name, kappa)
    return HeldOut(again.cost, on.simulation_rms(again.theta, name))


def _driven(name: str, angles: Angles, sent: Commands, samples: int, delay: float) -> Record:
    """From just before the first command."""
    thin = Angles(*(part[::samples] for part in (angles.times, angles.arm, angles.pendulum, angles.voltage)))
    return record(name, thin, sent.held(thin.times, delay), float(sent.times[0]) - BEFORE)


def _fine(given: Record, sent: Commands, delay: float) -> Record:
    """The voltage over a record in short, equal steps."""
    times = np.arange(given.times[0], given.times[-1] + FINE, FINE)
    return Record(
        given.name, times, sent.held(times, delay)[:, None], np.full((len(times), given.z.shape[1]), np.nan)
    )


def _swings(angles: Angles, samples: int) -> Record:
    """From the first time that the pendulum hangs, after the hand that let it go is away."""
    thin = Angles(*(part[::samples] for part in (angles.times, angles.arm, angles.pendulum, angles.voltage)))
    rest = thin.pendulum[-1]
    passed = int(np.argmax(np.sign(thin.pendulum - rest) != np.sign(thin.pendulum[0] - rest)))
    arm = np.zeros_like(thin.arm)
    return record(
        SWINGS,
        Angles(thin.times, arm, thin.pendulum, thin.voltage),
        0 * thin.times,
        float(thin.times[passed]),
    )
