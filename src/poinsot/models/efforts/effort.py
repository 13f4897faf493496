"""Efforts of a joint that are linear in their parameters, in addition to those of bodies and friction.

tau_j = ... + sum over k of parameter_k column_k(q_j, q_j', recorded channels)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ...arrays import Samples
from ...exceptions import check_known

if TYPE_CHECKING:
    from ..robot.articulated import Articulated

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
