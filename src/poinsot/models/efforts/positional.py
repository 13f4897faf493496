"""Efforts that depend on the position of their joint.

By virtual work an element whose force f pulls its two ends together along a length L(q) takes the effort f dL/dq:

    spring          ks (q - zero) + ts
    counterbalance  sum over k of cb_k s^k dL/dq,      s = L / L(0) - 1,   L = |R(q) moving - fixed|
    ripple          sum over n of cos_n cos(n q) + sin_n sin(n q)

A spring of constant stiffness between two points, f = c L, has the torque of a weight, c (moving x fixed) . axis: of a
joint whose axis always stays horizontal, no motion distinguishes it from gravity.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Samples
from ...exceptions import InvalidModel
from ..robot import tree as kinds
from .effort import EffortParameter, JointEffort

if TYPE_CHECKING:
    from ..robot.articulated import Articulated


@dataclass(frozen=True)
class Spring(JointEffort):
    """ks (q - zero), plus ts if the relaxed position is unknown.

    Args:
        zero: relaxed position [rad] or [m]; None: unknown, then `ts` is its effort at 0.
        stiffness: ks, if it is known [N m/rad] or [N/m]; None: it is estimated.
    """

    zero: float | None = None
    stiffness: float | None = None

    nonnegative = ("spring_stiffness",)

    @property
    def parameters(self) -> tuple[EffortParameter, ...]:
        stiffness = EffortParameter("ks", "spring_stiffness", "{effort}/{position}", self.stiffness)
        preload = EffortParameter("ts", "spring_preload", "{effort}")
        return (stiffness,) if self.zero is not None else (stiffness, preload)

    def columns(self, q: Any, v: Samples, channels: np.ndarray) -> Any:
        return np.stack([q - (self.zero or 0.0), np.ones_like(q)], axis=1)[:, : len(self.parameters)]


@dataclass(frozen=True)
class Counterbalance(JointEffort):
    """A gas or hydraulic cylinder, or a spring, between two points, whose force is a polynomial of its length.

    Args:
        fixed: its end on the link before the joint, moving: its end on the link behind the joint; both [m] in the frame
            of the link behind the joint, with the joint at 0.
        degree: degree of the polynomial; 0: a constant force.
        axis: axis of the joint, in the same frame; `placed` takes it from the robot.
    """

    fixed: tuple[float, float, float] = (0.0, 0.0, 0.0)
    moving: tuple[float, float, float] = (0.0, 0.0, 0.0)
    degree: int = 2
    axis: tuple[float, ...] | None = field(default=None, kw_only=True)

    @property
    def parameters(self) -> tuple[EffortParameter, ...]:
        return tuple(EffortParameter(f"cb{k}", "counterbalance", "N") for k in range(self.degree + 1))

    def placed(self, robot: Articulated) -> JointEffort:
        super().placed(robot)
        if self.degree < 0:
            raise InvalidModel(f"the degree of a counterbalance must be at least 0, not {self.degree}")
        tree, place = robot.tree, robot.actuated[robot.joints.index(self.joint)]
        at = int(np.flatnonzero(tree.v_index <= place)[-1])
        if tree.kind[at] not in (kinds.REVOLUTE, kinds.CONTINUOUS):
            raise InvalidModel(
                f"a counterbalance needs a joint that turns about one axis, not {self.joint!r}"
            )
        effort = replace(self, axis=tuple(tree.axis[at].tolist()))
        if np.max(np.abs(effort.columns(np.linspace(-3, 3, 7), np.zeros(7), np.zeros((7, 0)))[:, 0])) < 1e-9:
            raise InvalidModel(
                f"the counterbalance of joint {self.joint!r} has a point on the joint's axis, or both are equal: its "
                "length never changes; correct fixed and moving [m]"
            )
        return effort

    def columns(self, q: Any, v: Samples, channels: np.ndarray) -> Any:
        e, a, b = (np.asarray(x, dtype=float) for x in (self.axis, self.fixed, self.moving))
        along, cross, within = e * (e @ b), np.cross(e, b), b - e * (e @ b)
        sin, cos = np.sin(q)[:, None], np.cos(q)[:, None]
        between, speed = along + cos * within + sin * cross - a, cos * cross - sin * within
        # not a norm, which would take the absolute value of complex numbers
        length, at_zero = np.sqrt((between**2).sum(axis=1)), np.linalg.norm(b - a)
        slope = (between * speed).sum(axis=1) / length
        return slope[:, None] * (length / at_zero - 1)[:, None] ** np.arange(self.degree + 1)


@dataclass(frozen=True)
class Ripple(JointEffort):
    """Cogging, or another periodic effort: a Fourier series in position.

    Args:
        harmonics: cycles per turn; for a prismatic joint [rad/m].
    """

    harmonics: tuple[float, ...] = (1.0,)

    @property
    def parameters(self) -> tuple[EffortParameter, ...]:
        pairs = [(f"{name}{n:g}", "ripple", "{effort}") for n in self.harmonics for name in ("cos", "sin")]
        return tuple(EffortParameter(*pair) for pair in pairs)

    def columns(self, q: Any, v: Samples, channels: np.ndarray) -> Any:
        phase = q[:, None] * np.asarray(self.harmonics)
        return np.stack([np.cos(phase), np.sin(phase)], axis=2).reshape(len(q), -1)
