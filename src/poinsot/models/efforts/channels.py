"""Efforts that need a recorded channel: known efforts, nonlinear torque constants, friction that warms up.

known     scale * channel, or scale * a table of position                       scale is held at 1
current   tau = N gain (i + sum over p of sat_p i0 sign(i) |i / i0|^p)           so that small currents have the gain
warming   (fvT q' + fcT sign(q')) (T - T0)                                       beside fv and fc, which are at T0
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Samples
from ...exceptions import InvalidModel
from .effort import EffortParameter, JointEffort

if TYPE_CHECKING:
    from ..robot.articulated import Articulated


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
