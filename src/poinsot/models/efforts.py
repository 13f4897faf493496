"""Efforts of a joint beside bodies, drive and friction, linear in their parameters.

tau_j = ... + sum over k of parameter_k column_k(q_j, q_j', recorded channels)

**Of position.** By virtual work an element whose force f pulls its two ends together along a length L(q) takes the
effort f dL/dq:

    spring          ks (q - zero) + ts
    counterbalance  sum over k of cb_k s^k dL/dq,      s = L / L(0) - 1,   L = |R(q) moving - fixed|
    ripple          sum over n of cos_n cos(n q) + sin_n sin(n q)

A spring of constant stiffness between two points, f = c L, has the torque of a weight, c (moving x fixed) . axis: of a
joint whose axis always stays horizontal, no motion distinguishes it from gravity.

**Of recorded channels.**

    known           scale * channel, or scale * a table of position                 scale is held at 1
    current         tau = N gain (i + sum over p of sat_p i0 sign(i) |i / i0|^p)    so that small currents have the gain
    warming         (fvT q' + fcT sign(q')) (T - T0)                                beside fv and fc, which are at T0

`EFFORTS` has every law by its name in a project file: a new law is a class and a line there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import Samples
from ..exceptions import InvalidModel, check_known
from .robot import tree as kinds

if TYPE_CHECKING:
    from .robot.articulated import Articulated

COMPLEX_STEP = 1e-30
"""h of the derivative Im f(x + i h) / h, which has no rounding error of a difference."""


class EffortParameter(NamedTuple):
    """One parameter of an effort.

    `symbol` begins its name (`ks` of `ks_2`), `kind` is what models, results and JSON call it, `unit` has N m or N for
    `effort` and rad or m for `position` in braces, `held` its value if it is held by default.
    """

    symbol: str
    kind: str
    unit: str
    held: float | None = None


@dataclass(frozen=True)
class JointEffort(ABC):
    """An effort law of one joint, given by its name; fields are the keys of its table in a project file.

    Class attributes:
        nonnegative: kinds of its parameters that are never below 0 in a real joint.
    """

    joint: str

    nonnegative: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def parameters(self) -> tuple[EffortParameter, ...]:
        """Its parameters, in the order of its columns."""

    @abstractmethod
    def columns(self, q: Any, v: Samples, channels: np.ndarray) -> Any:
        """(T, k) effort [N m] or [N] for each parameter at 1.

        Args:
            q, v: (T,) position and speed of the joint; q may be complex.
            channels: (T, m) values of `inputs`.
        """

    @property
    def inputs(self) -> tuple[str, ...]:
        """The m channels of a recording that it depends on; without a recording its columns are 0."""
        return ()

    def placed(self, robot: Articulated) -> JointEffort:
        """The same effort with the properties of the robot that it needs; most need none.

        Raises:
            InvalidModel: if the robot has no such joint, or the joint is of another type.
        """
        check_known(self.joint, robot.joints, "an effort names joint", "the robot has")
        return self

    def slopes(self, q: Samples) -> np.ndarray:
        """(T, k) derivative of `columns` by q, of an effort without channels."""
        still, none = np.zeros(len(q)), np.zeros((len(q), 0))
        return np.asarray(np.imag(self.columns(q + 1j * COMPLEX_STEP, still, none))) / COMPLEX_STEP


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


@dataclass(frozen=True)
class KnownEffort(JointEffort):
    """An effort that is known, as a channel or as a table of position; its scale may be estimated.

    Args:
        channel: name of a channel [N m] or [N].
        positions, efforts: a table [rad] or [m], [N m] or [N], interpolated linearly and constant beyond its ends.
        free: whether its scale is estimated; else it is 1.
    """

    channel: str | None = None
    positions: tuple[float, ...] = ()
    efforts: tuple[float, ...] = ()
    free: bool = False

    def __post_init__(self) -> None:
        table = len(self.positions) == len(self.efforts) >= 2 and np.all(np.diff(self.positions) > 0)
        if (self.channel is None) == (not self.positions) or (self.channel is None and not table):
            raise InvalidModel(
                f"the known effort of joint {self.joint!r} needs a channel, or positions in rising order with as many "
                "efforts"
            )

    @property
    def parameters(self) -> tuple[EffortParameter, ...]:
        return (EffortParameter("known", "known_effort", "1", None if self.free else 1.0),)

    @property
    def inputs(self) -> tuple[str, ...]:
        return () if self.channel is None else (self.channel,)

    def columns(self, q: Any, v: Samples, channels: np.ndarray) -> Any:
        if self.channel is not None:
            return channels[:, :1]
        x, y = np.asarray(self.positions), np.asarray(self.efforts)
        slope = np.append(np.diff(y) / np.diff(x), 0.0)
        piece = np.searchsorted(x, np.real(q), side="right") - 1
        # constant before the first position and after the last one
        return np.where(piece < 0, y[0], y[piece] + slope[piece] * (q - x[piece]))[:, None]


@dataclass(frozen=True)
class CurrentCurve(JointEffort):
    """A motor whose torque is not proportional to its current: odd powers of it, relative to the drive's gain.

    Args:
        powers: p > 1 of the terms; saturation has a negative `sat_p`.
        reference: current i0 [A] at which the term changes the torque by the part sat_p.
        scale: torque at the joint per current; `placed` takes it from the drive.
    """

    powers: tuple[float, ...] = (3.0,)
    reference: float = 1.0
    scale: float = field(default=1.0, kw_only=True)

    @property
    def parameters(self) -> tuple[EffortParameter, ...]:
        return tuple(EffortParameter(f"sat{p:g}", "current_saturation", "1") for p in self.powers)

    @property
    def inputs(self) -> tuple[str, ...]:
        return (f"current.{self.joint}",)

    def __post_init__(self) -> None:
        if min(self.powers, default=2.0) <= 1 or not self.reference > 0:
            raise InvalidModel(
                f"a current curve needs powers above 1 and a reference above 0, not {list(self.powers)} and "
                f"{self.reference:g}: the first power is the gain of the drive"
            )

    def placed(self, robot: Articulated) -> JointEffort:
        super().placed(robot)
        train, k = robot.train, robot.joints.index(self.joint)
        row = train.reduction[k]
        if not train.driven[k] or np.count_nonzero(row) > 1:
            raise InvalidModel(f"a current curve needs a motor that drives joint {self.joint!r} and no other")
        return replace(
            self, scale=float(train.gain[k]) * (float(row[k]) if train.drive.side == "motor" else 1.0)
        )

    def columns(self, q: Any, v: Samples, channels: np.ndarray) -> Any:
        i = channels[:, :1] / self.reference
        # on the opposite side of the equation to the current itself
        return -self.scale * self.reference * np.sign(i) * np.abs(i) ** np.asarray(self.powers)


@dataclass(frozen=True)
class WarmingFriction(JointEffort):
    """Viscous and Coulomb friction that change in proportion to a temperature.

    Args:
        channel: name of the temperature channel. reference: T0, at which fv and fc hold, in the channel's unit.
    """

    channel: str = "temperature"
    reference: float = 293.15

    @property
    def parameters(self) -> tuple[EffortParameter, ...]:
        viscous = EffortParameter("fvT", "viscous_warming", "{effort} s/{position}/K")
        return viscous, EffortParameter("fcT", "coulomb_warming", "{effort}/K")

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.channel,)

    def columns(self, q: Any, v: Samples, channels: np.ndarray) -> Any:
        return np.stack([v, np.sign(v)], axis=1) * (channels[:, :1] - self.reference)


EFFORTS: dict[str, type[JointEffort]] = {
    "spring": Spring,
    "counterbalance": Counterbalance,
    "ripple": Ripple,
    "known": KnownEffort,
    "current-curve": CurrentCurve,
    "warming-friction": WarmingFriction,
}


def nonnegative_kinds() -> tuple[str, ...]:
    """Kinds of parameters of effort laws that are never below 0 in a real joint."""
    return tuple(kind for law in EFFORTS.values() for kind in law.nonnegative)
