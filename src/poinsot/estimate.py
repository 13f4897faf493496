"""Estimate: what was found, how sure it is, what the data cannot see, and how it was found."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import numpy as np

from .arrays import JointSamples, Matrix, Times, Vector
from .exceptions import InvalidMethod, listing, nearest
from .motions import Convergence, EstimatedMotion, Impact, Scene

NARROWED = 0.5
"""A parameter is known from the data if they leave less than this part of the standard deviation assumed before."""

NORMAL_95 = 1.959963984540054
"""Half width of the 95 % interval of a normal distribution, in standard deviations."""


class Status(Enum):
    """How an estimation ended; the value says what to do next."""

    solved = "Solved."
    partly = "Solved for what the data determine; the other combinations are listed as not identifiable."
    step_limit = "Step limit reached; raise max_steps or start closer."
    interrupted = "Interrupted; the result is what was found until then."
    stalled = "No step leads downhill; start closer, or look at units and at the noise of the sensors."

    unsettled = "It has not settled; take the numbers for rough, and look at the warnings."

    @property
    def converged(self) -> bool:
        return self in (Status.solved, Status.partly)


@dataclass(frozen=True)
class Direction:
    """A combination of parameters that the data do not determine.

    Args:
        combination: in words, e.g. `"m4 + 0.8 mz5"`.
        reason: `"structural"` (no motion of this robot shows it), `"unexcited"` (this recording does not), or
            `"removed"` (set to zero as not essential).
    """

    combination: str
    reason: str


@dataclass(frozen=True)
class Whiteness:
    """Ljung-Box verdict on the residuals of one joint.

    Args:
        lag1: autocorrelation at lag 1.
        lags: how many lags the test joins.
        p_value: probability of so much correlation in white noise.
        white: the verdict at 1 %.
    """

    lag1: float
    lags: int
    p_value: float
    white: bool


@dataclass(frozen=True, eq=False)
class Fit:
    """Measured against predicted effort, on the rows that were (or were not) fitted.

    Args:
        time: (N,) [s].
        joints: names of the columns.
        units: SI unit of each column's effort.
        measured, predicted: (N, n), joint side.
        autocorrelation: (n, L + 1) of the residuals, lag 0 first.
        whiteness: per joint.
        relative_error_percent: 100 |measured - predicted| / |measured|, all joints together.
        relative_error_percent_per_joint: (n,) the same joint by joint; NaN for a joint whose effort is all zero.
        moving_error_percent_per_joint: (n,) the same while the joint moves: at standstill dry friction is anything up
            to its Coulomb value. NaN for a joint that never moves; empty where speeds are not known.
    """

    time: Times
    joints: tuple[str, ...]
    units: tuple[str, ...]
    measured: JointSamples
    predicted: JointSamples
    autocorrelation: np.ndarray
    whiteness: tuple[Whiteness, ...]
    relative_error_percent: float
    relative_error_percent_per_joint: tuple[float, ...]
    recording: str = ""
    moving_error_percent_per_joint: tuple[float, ...] = ()

    @property
    def residuals(self) -> JointSamples:
        """(N, n) measured minus predicted."""
        return self.measured - self.predicted

    @property
    def rms_per_joint(self) -> Vector:
        """(n,) root mean square of the residuals, in `units`."""
        return np.sqrt(np.mean(self.residuals**2, axis=0))

    @property
    def white(self) -> bool:
        return all(verdict.white for verdict in self.whiteness)


@dataclass(frozen=True, eq=False)
class Body:
    """One body's mass properties; None where the data do not determine them.

    Args:
        mass: [kg]. center_of_mass: (3,) in the body frame [m]. inertia_at_com: (3, 3), axes of the body frame [kg m^2].
        physically_consistent: whether some real body has them. reasons: sentences why not.
        min_pseudo_inertia_eigenvalue: how far from the border, of J (4 x 4).
        inertial: (10,) the same as pi, about the body frame's origin.
        covariance: (10, 10) of its log-Cholesky coordinates, so that every draw is a body; None where unknown.
        prior: (10,) pi before the data, usually the robot description's.
        prior_share: from 0 (all from the data) to 1 (all from the prior); the mean over its ten directions.
        placement: (4, 4) of its frame in the world at the neutral configuration.
        parent: the body that carries it; "" for the world.
    """

    name: str
    mass: float | None = None
    center_of_mass: Vector | None = None
    inertia_at_com: Matrix | None = None
    physically_consistent: bool | None = None
    min_pseudo_inertia_eigenvalue: float | None = None
    reasons: tuple[str, ...] = ()
    inertial: Vector | None = None
    covariance: Matrix | None = None
    prior: Vector | None = None
    prior_share: float | None = None
    placement: Matrix | None = None
    parent: str = ""

    def __str__(self) -> str:
        if self.mass is None:
            return "not determined"
        center = () if self.center_of_mass is None else tuple(self.center_of_mass)
        possible = "possible" if self.physically_consistent else f"impossible: {'; '.join(self.reasons)}"
        share = "" if self.prior_share is None else f", {100 * self.prior_share:.0f} % from the prior"
        return f"{self.mass:>11.5g} {', '.join(f'{x:.4f}' for x in center):>26}  {possible}{share}"


@dataclass(frozen=True, eq=False)
class Payload:
    """What a link carries, in the link's frame; NaN where the data do not determine it.

    Args:
        link: that carries it.
        inertial: (10,) pi about the link's origin. covariance: (10, 10); zero for what was known before.
        mass [kg]; center_of_mass: (3,) [m]; inertia_at_com: (3, 3), axes of the link [kg m^2]; each with its standard
            deviation.
        identifiable: what the data determine, of `mass`, `center_of_mass.x` ..., `inertia_at_com.xx` ...
        known: what was not estimated, of the same.
        physically_consistent: whether some real body has these values; None where one of them is not determined.
        reasons: sentences why not.
        min_pseudo_inertia_eigenvalue: how far from the border, of J (4 x 4).
    """

    link: str
    inertial: Vector
    covariance: Matrix
    mass: float
    mass_std: float
    center_of_mass: Vector
    center_of_mass_std: Vector
    inertia_at_com: Matrix
    inertia_at_com_std: Matrix
    identifiable: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    physically_consistent: bool | None = None
    reasons: tuple[str, ...] = ()
    min_pseudo_inertia_eigenvalue: float | None = None

    @property
    def mass_interval(self) -> tuple[float, float]:
        """95 % [kg]."""
        half = NORMAL_95 * self.mass_std
        return self.mass - half, self.mass + half

    def __str__(self) -> str:
        center = ", ".join(
            f"{c:.4f} +- {s:.2g}" for c, s in zip(self.center_of_mass, self.center_of_mass_std, strict=True)
        )
        mass = f"{self.mass:.5g} kg" + (" (known)" if "mass" in self.known else f" +- {self.mass_std:.2g}")
        return f"load on {self.link}: {mass}, centre of mass [m] {center}"


@dataclass(frozen=True, eq=False)
class DriveGains:
    """Effort per unit of current or voltage, motor by motor.

    Args:
        joints, units: (m,) of each motor.
        values: (m,) in `units`. covariance: (m, m); zero where values were taken for exact.
        white_std: (m,) what white residuals would make of the standard deviations; None where nothing was estimated.
        identified: whether they were estimated here.
        by_gravity: (m,) whether gravity loads the joint; a gain that only inertia shows is hard to know.
    """

    joints: tuple[str, ...]
    units: tuple[str, ...]
    values: Vector
    covariance: Matrix
    white_std: Vector | None = None
    identified: bool = False
    by_gravity: np.ndarray | None = None

    @property
    def std(self) -> Vector:
        """(m,) standard deviation of each, in `units`."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def intervals(self) -> Matrix:
        """(m, 2) 95 %, in `units`."""
        half = NORMAL_95 * self.std
        return np.stack([self.values - half, self.values + half], axis=1)

    @property
    def poorly_known(self) -> np.ndarray:
        """(m,) whether the standard deviation is above 5 % of the value: all that follows is scaled by it."""
        return self.std > 0.05 * np.abs(self.values)

    def __str__(self) -> str:
        width = max(len(joint) for joint in self.joints)
        lines = [f"{'drive gain of':<{width}}  {'value':>11} {'std':>10}"]
        for joint, value, std, unit, poor in zip(
            self.joints, self.values, self.std, self.units, self.poorly_known, strict=True
        ):
            lines.append(
                f"{joint:<{width}}  {value:>11.5g} {std:>10.2g}  {unit}{', poorly known' if poor else ''}"
            )
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class FrictionCurve:
    """What friction does at each speed of a joint, against the motion.

    Args:
        joint: of which.
        unit: of the effort.
        speed: (k,) [rad/s] or [m/s]. effort, std: (k,) in `unit`.
    """

    joint: str
    unit: str
    speed: Vector
    effort: Vector
    std: Vector


@dataclass(frozen=True, eq=False)
class FullParameters:
    """Every single parameter of the model: what the data say of it, and prior knowledge where they leave it open.

    Args:
        names, units, owners, kinds: per parameter, (p,).
        values, covariance: (p,), (p, p) after data and prior.
        prior: (p,) values before the data; NaN where nothing was known.
        prior_share: (p,) which part of the prior's variance the data left: 0 all from the data, 1 all from the prior.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    owners: tuple[str, ...]
    kinds: tuple[str, ...]
    values: Vector
    covariance: Matrix
    prior: Vector
    prior_share: Vector

    @property
    def std(self) -> Vector:
        """(p,) standard deviation of each parameter, in `units`."""
        return np.sqrt(np.diag(self.covariance))


@dataclass(frozen=True)
class Certificate:
    """Optimality and feasibility, recomputed from the problem.

    Args:
        stationarity: |gradient| relative to the size of its terms; rounding error at an optimum.
        feasible: whether all constraints hold.
        tolerance: what `stationarity` may be.
        primal, dual: of a constrained problem: its cost here, and a bound that no feasible point goes below.
    """

    stationarity: float
    feasible: bool
    tolerance: float = 1e-8
    primal: float | None = None
    dual: float | None = None

    @property
    def gap(self) -> float | None:
        """How far from optimal it is at most, of the same unit as `primal`."""
        return None if self.primal is None or self.dual is None else self.primal - self.dual

    @property
    def holds(self) -> bool:
        return self.feasible and self.stationarity <= self.tolerance


class Problem(Protocol):
    """What an estimate asks of the problem that it solves."""

    def certify(self, estimate: Estimate) -> Certificate: ...


@dataclass(frozen=True, eq=False)
class Estimate:
    """Parameters with their uncertainty, and all that is needed to trust or distrust them.

    Args:
        method: short name, e.g. `"least-squares"`.
        names, units, owners, kinds: per parameter, (b,).
        groupings: what each stands for, e.g. `"zz1 + ia1 + yy2 + 0.0506 m3"`; the bare name where nothing is grouped.
        values: (b,) in `units`; NaN where `identifiable` is false.
        covariance: (b, b) the honest one, of `std_kind`.
        std_kind: which one `std` is: `"white"` (Eq. 6 of seed 002; residuals that are white, alike in all joints and
            unrelated between them) or `"coloured"` (whatever they are like).
        white_std, coloured_std: (b,) both.
        identifiable: (b,) whether the data determine the parameter.
        status, condition_number, rows, iterations: of the solution. The condition number is the weighted
            regressor's, as Eq. 4 of seed 002 stacks it; `scaled_condition_number` has columns of unit norm.
        fit: on the rows fitted. validation: on held-out recordings.
        bodies: mass properties body by body.
        undetermined: combinations that the data do not determine.
        full: every parameter of the model, from a method that fills in what the data leave open.
        payload: what the robot carries, from a method that estimates it.
        drive_gains: of motors whose current was measured, from such a method.
        friction_curves: of joints, from a method that estimates their friction.
        motions: how the mechanism moved in each recording, from a method that estimates it; `fit` is then of what all
            sensors read, a column a component.
        impacts, scene: of a planar body that strikes walls; its motions have `position.x`, `.y` and `.angle`.
        convergence: of a method that iterates.
        problem: what was solved; `certificate()` goes back to it.
        certifier: how it does, where constraints belong to the method and not to the problem.
        settings, steps, warnings, seconds, versions, notes: provenance.
        citations: keys of the methods used, see `references()`.
    """

    method: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    owners: tuple[str, ...]
    kinds: tuple[str, ...]
    groupings: tuple[str, ...]
    values: Vector
    covariance: Matrix
    std_kind: str
    white_std: Vector
    coloured_std: Vector
    identifiable: np.ndarray
    status: Status
    condition_number: float
    scaled_condition_number: float
    rows: int
    fit: Fit
    bodies: tuple[Body, ...] = ()
    undetermined: tuple[Direction, ...] = ()
    validation: tuple[Fit, ...] = ()
    full: FullParameters | None = None
    payload: Payload | None = None
    drive_gains: DriveGains | None = None
    friction_curves: tuple[FrictionCurve, ...] = ()
    motions: tuple[EstimatedMotion, ...] = ()
    impacts: tuple[Impact, ...] = ()
    scene: Scene | None = None
    convergence: Convergence | None = None
    problem: Problem | None = None
    certifier: Callable[[Estimate], Certificate] | None = None
    iterations: int = 1
    robot: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    citations: tuple[str, ...] = ()

    @property
    def std(self) -> Vector:
        """(b,) standard deviation of each parameter, in `units`."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def relative_std_percent(self) -> Vector:
        """(b,) 100 std / |value|; infinite where the value is zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return 100.0 * self.std / np.abs(self.values)

    def __getitem__(self, name: str) -> float:
        """The value of a parameter, by name.

        Raises:
            InvalidMethod: if there is none of this name.
        """
        try:
            return float(self.values[self.names.index(name)])
        except ValueError:
            raise InvalidMethod(
                f"the estimate has no parameter {name!r}{nearest(name, self.names)}; it has {listing(self.names, 20)}"
            ) from None

    def interval(self, name: str, coverage: float = 0.95) -> tuple[float, float]:
        """Confidence interval of a parameter, from the normal distribution."""
        from scipy.special import ndtri

        half = float(ndtri(0.5 + 0.5 * coverage)) * float(self.std[self.names.index(name)])
        value = self[name]
        return value - half, value + half

    def certificate(self) -> Certificate:
        """Optimality and feasibility, recomputed from the problem.

        Raises:
            InvalidMethod: if the estimate has no problem to go back to: it was read from a file, or a filter's.
        """
        if self.problem is None:
            raise InvalidMethod(
                "this estimate has no problem to go back to: it came from a file, or from a filter, which hears one "
                "sample after the other; solve a problem to certify its solution"
            )
        return self.certifier(self) if self.certifier else self.problem.certify(self)

    def references(self) -> str:
        """BibTeX of the methods used."""
        from .citations import bibtex

        return bibtex(self.citations)

    def __str__(self) -> str:
        lines = [f"{self.method} on {self.robot}: {self.status.value}"]
        lines.append(
            f"{len(self.names)} parameters from {self.rows} rows, relative error "
            f"{self.fit.relative_error_percent:.2f} %, standard deviations for {self.std_kind} residuals"
        )
        width = max((len(name) for name in self.names), default=4)
        lines.append(f"{'name':<{width}}  {'value':>11} {'std':>10} {'std %':>7}  unit")
        for name, value, std, relative, unit, seen in zip(
            self.names,
            self.values,
            self.std,
            self.relative_std_percent,
            self.units,
            self.identifiable,
            strict=True,
        ):
            if seen:
                lines.append(f"{name:<{width}}  {value:>11.5g} {std:>10.2g} {relative:>7.2f}  {unit}")
            else:
                lines.append(f"{name:<{width}}  {'not identifiable':>30}  {unit}")
        known = [body for body in self.bodies if body.mass is not None]
        width = max((len(body.name) for body in known), default=4)
        if known:
            lines.append(f"{'body':<{width}}  {'mass [kg]':>11} {'centre of mass [m]':>26}  ")
        lines += [f"{body.name:<{width}}  {body}" for body in known]
        lines += [str(each) for each in (self.payload, self.drive_gains) if each is not None]
        return "\n".join(lines)


@cache
def software_versions() -> dict[str, str]:
    """Versions of what computes, for the record."""
    packages = ("poinsot", "numpy", "scipy", "numba", "pin", "clarabel")
    found = {"python": platform.python_version()}
    for package in packages:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found
