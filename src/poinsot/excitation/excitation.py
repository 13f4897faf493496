"""Excitation: a designed motion, and the predicted uncertainty of each parameter.

The prediction is the covariance of weighted least squares before anything is measured,

    cov = M^-1,   M = sum_j W_j^T W_j / sigma_j^2

for white noise of standard deviation sigma_j on each sample of joint j's torque, and a motion that is followed and
measured exactly. Coloured noise, and errors of the motion, make it larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg

from ..arrays import Brief, Float, JointSamples, Matrix, Times, Vector
from ..citations import bibtex
from ..estimate import Status
from ..exceptions import listing
from ..io.results import plain
from ..io.writing import write_columns
from ..models.friction.listed import parameter_of
from ..models.robot.collisions import ENVIRONMENT
from ..recording import Recording
from .limits import SYMMETRIC
from .problem import ExcitationProblem
from .search import SearchState
from .trajectory import sample_times

if TYPE_CHECKING:
    from .design import OptimalExcitation

SCHEMA = "poinsot.excite/1"


@dataclass(frozen=True, eq=False, repr=False)
class Excitation(Brief):
    """A motion from rest to rest.

    Args:
        problem, method: the problem solved, and the method used. state: final state of the search; its `best` are the
            coefficients c (m, n) of q(t) = Phi(t) c.
        q, v, a: (T, n) [rad] or [m] and derivatives. tau: (T, n) torques that the robot's description requires,
            without friction [N m] or [N].
        covariance: (b, b) predicted for the base parameters `problem.base`.
        limits_respected: whether the motion keeps all limits, clearances too, in the check.
        least_distance: smallest distance of all checked pairs [m]; None where none was checked.
        condition_number: condition number of the regressor with columns at unit norm.
        log_determinant: log determinant of the information, the inverse of the predicted covariance.
        warnings: sentences to read before the robot moves.
        status: `solved` if every start was searched, `step_limit` if the time was up before.
    """

    problem: ExcitationProblem
    method: OptimalExcitation
    state: SearchState
    q: JointSamples
    v: JointSamples
    a: JointSamples
    tau: JointSamples
    covariance: Matrix
    limits_respected: bool
    least_distance: float | None
    condition_number: float
    log_determinant: float
    warnings: tuple[str, ...] = ()
    status: Status = Status.solved

    @property
    def time(self) -> Times:
        """(T,) [s]"""
        return self.problem.time

    @property
    def joints(self) -> tuple[str, ...]:
        """Names, in the robot's order."""
        return self.problem.robot.joints

    @property
    def units(self) -> tuple[str, ...]:
        """(n,) of positions, `"rad"` or `"m"`."""
        return self.problem.robot.position_units

    @property
    def commands(self) -> JointSamples:
        """(T, n) positions that joints are sent to [rad] or [m]."""
        return self.q

    @property
    def std(self) -> Vector:
        """(b,) predicted standard deviations, in the units of `problem.base`."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def relative_std_percent(self) -> Vector:
        """(b,) 100 std / |description's value|; NaN where the description has none."""
        return 100 * self.std / np.abs(self.problem.nominal)

    @property
    def motion(self) -> tuple[Times, JointSamples, JointSamples, JointSamples]:
        """time, q, v, a, as simulations take them."""
        return self.time, self.q, self.v, self.a

    @property
    def predicted_std(self) -> dict[str, float]:
        """Base parameter -> standard deviation, in its unit."""
        return dict(zip(self.problem.base.names, self.std.tolist(), strict=True))

    @property
    def predicted_relative_std_percent(self) -> dict[str, float]:
        """Base parameter -> standard deviation in percent of the description's value; NaN where it has none."""
        return dict(zip(self.problem.base.names, self.relative_std_percent.tolist(), strict=True))

    @property
    def checked(self) -> tuple[str, ...]:
        """What was checked along the whole motion: kinds of limits, and distances."""
        finite = [name for name in SYMMETRIC if np.isfinite(getattr(self.problem.limits, name)).any()]
        return ("position", *finite, *(["distance"] if self.problem.collisions.pairs else []))

    @property
    def unchecked(self) -> tuple[str, ...]:
        """What was not checked, and why."""
        problem = self.problem
        warnings = problem.collisions.warnings
        unwatched = [warning.replace(" are not checked: ", ", since ") for warning in warnings]
        around = [second.startswith(ENVIRONMENT) for _, second in problem.collisions.pairs]
        kinds, joints = problem.base.parameters.kinds, np.array(self.joints)
        missing = {
            "the surroundings, as no floor and no box were named": not any(around),
            "the robot's links against each other": all(around) and not unwatched,
            "friction, which adds to the torques": not any(
                value for value, kind in zip(problem.theta, kinds, strict=True) if parameter_of(kind)
            ),
        }
        for name in ("velocity", "torque"):
            endless = joints[np.isinf(getattr(problem.limits, name))]
            missing[f"the {name} of {listing(endless, 6)}, without a limit"] = len(endless) > 0
        return (*unwatched, *(sentence for sentence, applies in missing.items() if applies))

    def references(self) -> str:
        """BibTeX of the methods used."""
        return bibtex(("swevers1997", "carpentier2019"))

    def sampled(self, rate_hz: float) -> tuple[Times, JointSamples, JointSamples, JointSamples]:
        """time, q, v, a of the same motion at another rate, e.g. a controller's. [Hz]"""
        time = sample_times(self.problem.duration_s, rate_hz)
        q, v, a = self.method.basis.at(time, self.problem.duration_s) @ self.state.best
        return time, q, v, a

    @cached_property
    def recording(self) -> Recording:
        """The motion as a recording of positions, velocities and accelerations."""
        moved = {"position": (self.q, ""), "velocity": (self.v, "/s"), "acceleration": (self.a, "/s^2")}
        channels, units = {}, {}
        for quantity, (values, per) in moved.items():
            for joint, unit, x in zip(self.joints, self.problem.robot.position_units, values.T, strict=True):
                channels[f"{quantity}.{joint}"], units[f"{quantity}.{joint}"] = x, unit + per
        return Recording(self.time, channels, units)

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The columns of its file: `time` [s], then `position.JOINT`, `velocity.JOINT`, `acceleration.JOINT`."""
        return {"time": self.time, **self.recording.channels}

    def write(self, path: str | Path) -> None:
        """Write `columns` as CSV or Parquet, by the ending of the name; `UnwritableOutput` if it ends otherwise."""
        write_columns(self.columns, path)

    def as_json(self) -> dict[str, Any]:
        """What `poinsot excite --json` writes, schema `poinsot.excite/1`."""
        problem, base = self.problem, self.problem.base
        return plain(
            {
                "schema": SCHEMA,
                "robot": problem.robot.name,
                "criterion": self.method.criterion,
                "basis": repr(self.method.basis),
                "seed": self.method.seed,
                "duration_s": problem.duration_s,
                "rate_hz": problem.rate_hz,
                "samples": len(self.time),
                "condition_number": self.condition_number,
                "log_determinant": self.log_determinant,
                "limits_respected": self.limits_respected,
                "checked": self.checked,
                "unchecked": self.unchecked,
                "least_distance_m": self.least_distance,
                "predicted_relative_std_percent": self.predicted_relative_std_percent,
                "predicted_std": self.predicted_std,
                "units": dict(zip(base.names, base.units, strict=True)),
                "groupings": dict(zip(base.names, base.groupings, strict=True)),
                "torque_noise": dict(zip(self.joints, problem.torque_std, strict=True)),
                "start": dict(zip(self.joints, self.q[0], strict=True)),
                "use_of_limits_percent": self.use_of_limits_percent,
                "iterations": self.state.iterations,
                "seconds": self.state.seconds,
                "warnings": self.warnings,
            }
        )

    @property
    def use_of_limits_percent(self) -> dict[str, dict[str, float]]:
        """Joint -> part of each finite limit of the robot that the motion uses. [%]"""
        limits = self.problem.limits.whole
        used: dict[str, dict[str, float]] = {}
        for k, joint in enumerate(self.joints):
            moved = {"velocity": self.v, "acceleration": self.a, "torque": self.tau}
            shares = {name: np.abs(x[:, k]).max() / getattr(limits, name)[k] for name, x in moved.items()}
            shares["position"] = np.ptp(self.q[:, k]) / (limits.upper[k] - limits.lower[k])
            used[joint] = {name: 100 * float(part) for name, part in shares.items() if part > 0}
        return used


def predicted_covariance(problem: ExcitationProblem, W: Float[np.ndarray, "T n b"]) -> Matrix:
    """(b, b) covariance of the base parameters from the rows W of a motion."""
    b = len(problem.base)
    weighted = (W / problem.torque_std[:, None]).reshape(-1, b)
    norms = np.linalg.norm(weighted, axis=0)
    # unit columns: otherwise digits are lost where parameters differ in size by orders of magnitude
    R = linalg.qr(weighted / norms, mode="r")[0][:b]
    half = linalg.solve_triangular(R, np.eye(b)) / norms[:, None]
    return np.asarray(half @ half.T)
