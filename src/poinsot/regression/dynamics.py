"""Identified dynamics: torque, mass matrix and gravity of any motion from estimated parameters, base or full.

    tau = W(q, v, a) theta,      M e_j = W(q, 0, e_j) theta - W(q, 0, 0) theta,      g = W(q, 0, 0) theta_bodies

Base parameters are enough: the value of a sum multiplies the column of its name, since the other columns are
combinations of those that stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..arrays import Brief, Matrix, Vector
from ..exceptions import InvalidMethod, InvalidSignals, listing
from ..models.robot.articulated import Articulated
from ..parameters import Parameters
from .regressor import Regressor

SAMPLES_AT_ONCE = 2048


@dataclass(frozen=True, eq=False, repr=False)
class IdentifiedDynamics(Brief):
    """Efforts of motions from parameters, joint side, in the order of `robot.effort_names`.

    In all methods `q` is (T, n) positions of the joints [rad] or [m]; of a floating base (T, nq) configurations. For
    a single sample, `q` of (n,), the result has no T either. With closed loops positions of dependent joints, NaN or a
    guess, follow from the others; results are then those of the independent joints.

    Args:
        robot: the robot of the parameters.
        parameters: parameters of the robot, with held ones.
        names: (k,) names of the estimated parameters; a base parameter's with or without its `r`.
        values: (k,) in their units. covariance: (k, k).
        residual_std: (n,) standard deviation of measured efforts about the model [N m] or [N].

    Raises:
        InvalidMethod: if a name belongs to no parameter of this robot. InvalidSignals: if a shape does not fit.
    """

    robot: Articulated
    parameters: Parameters
    names: Sequence[str]
    values: Vector
    covariance: Matrix
    residual_std: Vector = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        _ = self.columns

    @cached_property
    def columns(self) -> np.ndarray:
        """(k,) columns of the estimated parameters in the regressor."""
        places = {name: k for k, name in enumerate(self.parameters.names)}
        own = [name if name in places else name.removesuffix("r") for name in self.names]
        unknown = [given for given, name in zip(self.names, own, strict=True) if name not in places]
        if unknown:
            raise InvalidMethod(
                f"the robot has no parameters {listing(unknown)}: the estimate is of another robot, drive or friction"
            )
        return np.array([places[name] for name in own], dtype=np.int64)

    @cached_property
    def theta(self) -> Vector:
        """(p,) of all parameters; 0 where a parameter is grouped into another one, or unknown."""
        theta = self.parameters.held_values.copy()
        theta[self.columns] = np.nan_to_num(self.values)
        return theta

    def torque(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, channels: np.ndarray | None = None
    ) -> np.ndarray:
        """(T, n) efforts [N m] or [N] that a motion requires.

        Args:
            v, a: (T, n) velocities and accelerations.
            channels: (T, m) of `robot.inputs`; None: efforts that depend on them are left out.
        """
        return self._in_chunks(lambda W: W @ self.theta, q, v, a, channels)

    def torque_std(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, channels: np.ndarray | None = None
    ) -> np.ndarray:
        """(T, n) standard deviation of the torque, due only to the parameters' uncertainty."""
        return self._in_chunks(self._std, q, v, a, channels)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """(T, n, n) M, rotors included [kg m^2], [kg m] or [kg]."""
        still = np.zeros((*np.shape(q)[:-1], self.robot.model.nv))
        at_rest = self.torque(q, still, still)
        units = np.eye(still.shape[-1])[self.robot.equations]
        return np.stack([self.torque(q, still, still + e) - at_rest for e in units], axis=-1)

    def gravity(self, q: np.ndarray) -> np.ndarray:
        """(T, n) efforts [N m] or [N] that hold the bodies against gravity, without friction and offsets."""
        still = np.zeros((*np.shape(q)[:-1], self.robot.model.nv))
        bodies = np.where(np.array(self.parameters.kinds) == "inertia", self.theta, 0.0)
        return self._in_chunks(lambda W: W @ bodies, q, still, still)

    @cached_property
    def _regressor(self) -> Regressor:
        return Regressor(self.robot, self.parameters)

    def _std(self, W: np.ndarray) -> np.ndarray:
        seen = W[:, :, self.columns]
        variances = np.einsum("tnk, kl, tnl -> tn", seen, self.covariance, seen, optimize=True)
        return np.sqrt(np.maximum(variances, 0))

    def _in_chunks(
        self,
        evaluate: Callable[[np.ndarray], np.ndarray],
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        channels: np.ndarray | None = None,
    ) -> np.ndarray:
        """(T, n) `evaluate` of dense regressors, in chunks, since all of them would not fit into memory."""
        q, v, a = (np.asarray(each, dtype=float) for each in (q, v, a))
        model, floating = self.robot.model, self.robot.floating_base
        for name, x, width in (
            ("q", q, model.nq if floating else model.nv),
            ("v", v, model.nv),
            ("a", a, model.nv),
        ):
            if x.shape[-1:] != (width,) or x.shape[:-1] != q.shape[:-1] or x.ndim > 2:
                raise InvalidSignals(
                    f"{name} has the shape {x.shape}: give ({width},), or (T, {width}) of T samples, as "
                    f"{self.robot.name} has {listing(self.robot.joints)}"
                )
        if q.ndim == 1:
            channels = None if channels is None else channels[None]
            return np.asarray(self._in_chunks(evaluate, q[None], v[None], a[None], channels)[0])
        closure = self.robot.closure
        q = q if closure is None else closure.positions(q)[0]
        q = q if self.robot.floating_base else self.robot.configurations(q)
        v, a = (v, a) if closure is None else closure.motion(q, v, a)
        found = [np.zeros((0, len(self.robot.equations)))]
        for first in range(0, len(q), SAMPLES_AT_ONCE):
            part = slice(first, first + SAMPLES_AT_ONCE)
            read = None if channels is None else channels[part]
            found.append(evaluate(self._regressor.dense(q[part], v[part], a[part], read)))
        return np.concatenate(found)
