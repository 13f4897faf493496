"""A systematic effect: an error of the laboratory, or a term that the model lacks, as columns beside the regressor.

To first order an effect of size d, in standard deviations of its prior (`Accuracy`), changes the predicted torque by
C d. C follows from a `Linearization`: the predicted torque of the estimate at the thinned samples, and its derivatives
by the recorded motion, which all effects share. Columns are computed at the samples and decimated like the torques.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...accuracy import Accuracy
from ...arrays import JointSamples, Vector
from ...models.friction.listed import COUPLING, dissipating_kinds
from ...models.robot.articulated import Articulated
from ...regression.inverse_dynamics import InverseDynamics, Part
from ...signals.signals import Signals
from ..case import mapped, recordings_of
from ..cause import Cause

STEP = 1e-4
"""Step of finite differences, relative to 1 rad, 1 m and to the largest speed and acceleration."""

SLOW = 0.01
"""Part of the largest speed over which smoothed dry friction changes its sign."""


@dataclass(frozen=True, eq=False)
class EffectColumn:
    """Columns of one effect at one place.

    Args:
        effect: which. joint: name; "": the whole robot. recording: index; None: all.
        values: (N, n, k) change of the predicted torque for effects of one prior standard deviation.
        size: a standard deviation in the unit that the effect states.
    """

    effect: Effect
    joint: str
    values: np.ndarray
    size: float
    recording: int | None = None


class Effect(ABC):
    """One kind of systematic effect.

    Class variables:
        name: as in `EffectColumn`, for messages of developers. cause: cause of the finding that names it.
        sentence: says it, with `{joint}` and `{size}`, a text with unit and interval. unit: of sizes; "": in words.
        place: what a place is, before its name in the sentence.
        unchecked: what remains unchecked where the data do not show it, with `{joint}`; "": it is not listed.
        of_model: whether it is a term that the model lacks, and not an error of the laboratory.
        together: whether it may affect all joints at once. named: whether the data may name it.
        relative: whether what all joints have in common is not seen, and its mean is 0.
    """

    name: ClassVar[str]
    cause: ClassVar[Cause]
    sentence: ClassVar[str]
    unit: ClassVar[str] = "%"
    place: ClassVar[str] = "joint"
    unchecked: ClassVar[str] = ""
    of_model: ClassVar[bool] = False
    together: ClassVar[bool] = False
    named: ClassVar[bool] = True
    relative: ClassVar[bool] = False

    @abstractmethod
    def columns(self, at: Any) -> Iterator[EffectColumn]:
        """Its columns at every place where this robot may have it; `at`: the linearization of its family."""

    def remedy(self) -> str:
        """What to do if it is named, with `{joint}`; "": the advice of its cause."""
        return ""


class Removed(Effect):
    """Parameters that a method set to zero, since the data do not distinguish them from it."""

    name, unit = "removed", "standard deviations"
    cause = Cause("removed", "A parameter that was set to zero is not zero.", "")
    sentence = "Parameters that were set to zero differ from it by {size}"
    of_model, named = True, False

    def columns(self, at: Linearization) -> Iterator[EffectColumn]:
        """None: `SystematicFit` knows which parameters were removed."""
        return iter(())


Profile = list[np.ndarray]
"""One array of samples (T, ...) for each recording."""


@dataclass(frozen=True, eq=False)
class Linearization:
    """The predicted torque and its derivatives.

    Args:
        problem: thinned. theta: (b,) base values. accuracy: prior.
    """

    problem: InverseDynamics
    theta: Vector
    accuracy: Accuracy

    @property
    def robot(self) -> Articulated:
        return self.problem.robot

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.problem.parts

    @cached_property
    def full(self) -> Vector:
        """(p,) full parameters with these base values, near the description."""
        parameters, base = self.problem.parameters, self.problem.base
        bodies = self.robot.inertials.ravel()
        full = np.zeros(len(parameters))
        full[: bodies.size] = bodies
        full = np.where(parameters.free, full, parameters.held_values)
        full[base.chosen] += self.theta - base.map @ np.where(parameters.free, full, 0.0)
        return full

    @cached_property
    def predicted(self) -> Profile:
        """(T, n) torques."""
        return self.problem.sampled(self.full)

    @cached_property
    def friction(self) -> Profile:
        """(T, n) torques of friction."""
        kinds = {kind + suffix for kind in dissipating_kinds() for suffix in ("", COUPLING)}
        of_friction = np.array([kind in kinds for kind in self.problem.parameters.kinds])
        return self.problem.sampled(np.where(of_friction, self.full, 0.0))

    @cached_property
    def motion(self) -> list[tuple[JointSamples, JointSamples, JointSamples]]:
        """q, v, a (T, n) of all joints, zero q for a floating base, whose configuration is no list of angles."""
        found = []
        for part in self.parts:
            q, v, a, _ = part.joint_side(0, len(part))
            angles = np.zeros_like(v) if self.robot.floating_base else self.robot.joint_positions(q)
            found.append((angles, v, a))
        return found

    @cached_property
    def position(self) -> Profile:
        """(T, e) of the equations."""
        return [q[:, self.robot.equations] for q, _, _ in self.motion]

    @cached_property
    def speed(self) -> Profile:
        """(T, e) of the equations."""
        return [v[:, self.robot.equations] for _, v, _ in self.motion]

    @cached_property
    def carried(self) -> Profile:
        """(T, n) torques without those of friction."""
        return [tau - f for tau, f in zip(self.predicted, self.friction, strict=True)]

    def load(self, part: int, joint: int) -> np.ndarray | None:
        """(T,) torque that a joint carries, relative to the rms of its torque; None: without an equation."""
        place = np.flatnonzero(self.robot.equations == joint)
        if not len(place):
            return None
        k = int(place[0])
        return np.asarray(self.carried[part][:, k] / self.rms[k])

    @cached_property
    def top_speed(self) -> Vector:
        """(n,) largest speeds."""
        return np.max([np.abs(v).max(axis=0) for v in self.speed], axis=0) + 1e-12

    @cached_property
    def progress(self) -> Profile:
        """(T, 1) from 0 to 1 over each recording."""
        return [np.linspace(0, 1, len(part))[:, None] for part in self.parts]

    @cached_property
    def rms(self) -> Vector:
        """(n,) predicted torque about its mean (rms)."""
        return np.asarray(np.concatenate(self.predicted).std(axis=0)) + 1e-300

    @cached_property
    def driven(self) -> tuple[int, ...]:
        """Equations whose torque is measured."""
        measured = np.max([np.abs(part.signals.tau).max(axis=0) for part in self.parts], axis=0)
        names = recordings_of(self.problem)[0].joints
        shown = {name for name, size in zip(names, measured[-len(names) :], strict=True) if size > 0}
        passive = self.robot.drive.without_effort
        return tuple(
            k for k, name in enumerate(self.robot.effort_names) if name in shown and name not in passive
        )

    def joint(self, k: int) -> str:
        """Name of an equation's joint."""
        return self.robot.effort_names[k]

    def rows(self, samples: Sequence[np.ndarray]) -> np.ndarray:
        """(N, ...) rows of samples (T, ...) of each recording."""
        found = []
        for part, values in zip(self.parts, samples, strict=True):
            decimation, flat = part.signals.decimation, values.reshape(len(values), -1)
            flat = flat if decimation is None else decimation(np.ascontiguousarray(flat))
            found.append(flat.reshape(-1, *values.shape[1:]))
        return np.concatenate(found)

    def channel(
        self, k: int, factor: Sequence[np.ndarray | float], torques: Profile | None = None
    ) -> np.ndarray:
        """(N, n) the torque of one measured channel times a factor (T,), on all joints that its motor drives.

        `torques`: (T, n) of each recording, `predicted` by default.
        """
        train, used = self.robot.train, self.robot.equations
        if train.drive.side == "motor" and self.robot.closure is None and not self.robot.floating_base:
            reduction = train.reduction[:, used]
            pick, give = np.linalg.pinv(reduction)[:, used[k]], reduction[used[k]]
        else:
            pick = give = np.eye(len(used))[k]
        samples = zip(self.predicted if torques is None else torques, factor, strict=True)
        return np.outer(self.rows([(tau @ pick) * by for tau, by in samples]), give)

    def own(self, k: int, samples: Sequence[np.ndarray]) -> np.ndarray:
        """(N, n) samples (T,) of each recording as a torque of one equation."""
        column = np.zeros((sum(self.problem.row_counts), len(self.robot.equations)))
        column[:, k] = self.rows(samples)
        return column

    @cached_property
    def by_motion(self) -> tuple[list[Profile], list[Profile], list[Profile]]:
        """d torque / d reading of joint j's position, speed and acceleration: (T, n) for each j and recording."""
        return tuple([self._by(which, k) for k in range(len(self.readings))] for which in "qva")  # type: ignore[return-value]

    @cached_property
    def readings(self) -> tuple[int, ...]:
        """Joints whose position was measured; none of a floating base."""
        if self.robot.floating_base:
            return ()
        measured = recordings_of(self.problem)[0].joints
        return tuple(k for k, joint in enumerate(self.robot.joints) if joint in measured)

    def _by(self, which: str, number: int) -> Profile:
        """Derivatives by one quantity of one joint, whatever the side at which it is measured."""
        train, joint = self.robot.train, self.readings[number]
        size = 1.0
        if which != "q":
            size = max(float(np.abs(getattr(s, which)).max()) for s in recordings_of(self.problem)) + 1e-12
        step = STEP * size
        change = np.linalg.solve(train.velocity_map, np.eye(len(train.joints))[joint]) * step

        def moved(signals: Signals) -> Signals:
            order = [train.joints.index(name) for name in signals.joints]
            return replace(signals, **{which: getattr(signals, which) + change[order]})

        return self.difference(mapped(self.problem, moved), step)

    def with_model(self, model: Any) -> InverseDynamics:
        """The problem with another Pinocchio model, whose terms of joints are the same."""
        other, mine = self.problem.with_robot(replace(self.robot, model=model)), self.problem.regressor
        # they cost more than a regressor
        vars(other.regressor).update(structure=mine.structure, joint_terms=mine.joint_terms)
        return other

    def difference(self, other: InverseDynamics, step: float) -> Profile:
        """Derivative of the torque by a change of size `step` of the problem, at the samples."""
        changed = other.sampled(self.full)
        return [(new - old) / step for new, old in zip(changed, self.predicted, strict=True)]

    def shifted(
        self,
        number: int,
        by: Callable[[int], tuple[np.ndarray | float, np.ndarray | float, np.ndarray | float]],
    ) -> np.ndarray:
        """(N, n) change of the torque where a joint's position, speed and acceleration change by samples (T,)."""
        Q, V, A = (derivatives[number] for derivatives in self.by_motion)
        total = []
        for part in range(len(self.parts)):
            dq, dv, da = (np.asarray(x)[..., None] for x in by(part))
            total.append(Q[part] * dq + V[part] * dv + A[part] * da)
        return self.rows(total)

    def of_recording(self, values: np.ndarray, number: int) -> np.ndarray:
        """Rows of one recording; zero elsewhere."""
        edges = np.cumsum([0, *self.problem.row_counts])
        only = np.zeros_like(values)
        only[edges[number] : edges[number + 1]] = values[edges[number] : edges[number + 1]]
        return only
