"""Excitation: a motion that was designed, and what is known about it before a robot has moved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...arrays import JointSamples, Matrix, Times
from ...citations import bibtex
from ...estimate import Status
from ...recording import Recording
from .limits import Limits
from .prediction import Deviations
from .trajectory import Basis, sample_times

SCHEMA = "poinsot.excite/1"


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion from rest to rest.

    Args:
        robot: its name. joints: in its order. position_units, effort_units: of each.
        time: (T,) [s]. q, v, a: (T, n) [rad] or [m] and derivatives. tau: (T, n) torques that the robot's description
            asks for, without friction [N m] or [N].
        basis, coefficients: q(t) = Phi(t) c with c (m, n).
        limits: that it was designed for. limits_respected: whether the check found all of them kept, clearances too.
        least_distance: between whatever was watched [m]; None where nothing was.
        criterion: that was optimized. condition_number: of the regressor with columns at unit norm.
        log_determinant: of the information, the inverse of the predicted covariance.
        deviations: predicted for each base parameter.
        duration_s, rate_hz, seed, iterations, seconds: of the design.
        warnings: what to look at before the robot moves.
        status: `solved` if every start was searched, `step_limit` if the time was up before.
    """

    robot: str
    joints: tuple[str, ...]
    position_units: tuple[str, ...]
    effort_units: tuple[str, ...]
    time: Times
    q: JointSamples
    v: JointSamples
    a: JointSamples
    tau: JointSamples
    basis: Basis
    coefficients: Matrix
    limits: Limits
    limits_respected: bool
    least_distance: float | None
    criterion: Literal["condition", "d-optimal"]
    condition_number: float
    log_determinant: float
    deviations: Deviations
    duration_s: float
    rate_hz: float
    seed: int
    iterations: int
    seconds: float
    warnings: tuple[str, ...] = ()
    status: Status = Status.solved

    @property
    def motion(self) -> tuple[Times, JointSamples, JointSamples, JointSamples]:
        """time, q, v, a, as simulations take them."""
        return self.time, self.q, self.v, self.a

    @property
    def predicted_std(self) -> dict[str, float]:
        """Base parameter -> standard deviation, in its unit."""
        return dict(zip(self.deviations.names, self.deviations.std.tolist(), strict=True))

    @property
    def predicted_relative_std_percent(self) -> dict[str, float]:
        """Base parameter -> standard deviation in percent of the description's value; NaN where it has none."""
        return dict(zip(self.deviations.names, self.deviations.relative_percent.tolist(), strict=True))

    def references(self) -> str:
        """BibTeX of the methods used."""
        return bibtex(("swevers1997", "carpentier2019"))

    def sampled(self, rate_hz: float) -> tuple[Times, JointSamples, JointSamples, JointSamples]:
        """time, q, v, a of the same motion at another rate, e.g. a controller's. [Hz]"""
        time = sample_times(self.duration_s, rate_hz)
        q, v, a = self.basis.at(time, self.duration_s) @ self.coefficients
        return time, q, v, a

    @cached_property
    def columns(self) -> dict[str, np.ndarray]:
        """The columns of its file: `time` [s], then `position.JOINT`, `velocity.JOINT`, `acceleration.JOINT`."""
        columns: dict[str, np.ndarray] = {"time": self.time}
        for quantity, values in (("position", self.q), ("velocity", self.v), ("acceleration", self.a)):
            columns |= {f"{quantity}.{joint}": values[:, k] for k, joint in enumerate(self.joints)}
        return columns

    @property
    def recording(self) -> Recording:
        """The motion as a recording of positions, velocities and accelerations."""
        units: dict[str, str] = {}
        for quantity, per in (("position", ""), ("velocity", "/s"), ("acceleration", "/s^2")):
            units |= {
                f"{quantity}.{joint}": unit + per
                for joint, unit in zip(self.joints, self.position_units, strict=True)
            }
        return Recording(self.time, {name: self.columns[name] for name in units}, units)

    def write(self, path: str | Path) -> None:
        """Write `columns` as CSV or Parquet, by the ending of the name.

        Raises:
            UnwritableOutput: if the name ends otherwise, or cannot be written to.
        """
        from ...io.table_writing import write_columns

        write_columns(self.columns, path)

    def as_json(self) -> dict[str, Any]:
        """What `poinsot excite --json` writes, schema `poinsot.excite/1`."""
        from ...io.results import plain

        found = self.deviations
        return plain(
            {
                "schema": SCHEMA,
                "robot": self.robot,
                "criterion": self.criterion,
                "basis": repr(self.basis),
                "seed": self.seed,
                "duration_s": self.duration_s,
                "rate_hz": self.rate_hz,
                "samples": len(self.time),
                "condition_number": self.condition_number,
                "log_determinant": self.log_determinant,
                "limits_respected": self.limits_respected,
                "least_distance_m": self.least_distance,
                "predicted_relative_std_percent": self.predicted_relative_std_percent,
                "predicted_std": self.predicted_std,
                "units": dict(zip(found.names, found.units, strict=True)),
                "groupings": dict(zip(found.names, found.groupings, strict=True)),
                "torque_noise": dict(zip(self.joints, found.noise, strict=True)),
                "start": dict(zip(self.joints, self.q[0], strict=True)),
                "use_of_limits_percent": self.use_of_limits_percent,
                "iterations": self.iterations,
                "seconds": self.seconds,
                "warnings": self.warnings,
            }
        )

    @property
    def use_of_limits_percent(self) -> dict[str, dict[str, float]]:
        """Joint -> how much of each finite limit the motion uses."""
        limits = self.limits
        used: dict[str, dict[str, float]] = {}
        for k, joint in enumerate(self.joints):
            each = {
                "velocity": np.abs(self.v[:, k]).max() / limits.velocity[k],
                "acceleration": np.abs(self.a[:, k]).max() / limits.acceleration[k],
                "torque": np.abs(self.tau[:, k]).max() / limits.torque[k],
                "position": np.ptp(self.q[:, k]) / (limits.upper[k] - limits.lower[k]),
            }
            used[joint] = {name: 100 * float(part) for name, part in each.items() if part > 0}
        return used
