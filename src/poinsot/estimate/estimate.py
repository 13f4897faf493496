"""Estimate: values with their uncertainty, what the data do not determine, and how the values were computed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np

from ..arrays import Matrix, Vector
from ..exceptions import InvalidMethod, check_known, listing
from ..lazy import load
from .bodies import Body
from .extras import Extra, extras_of
from .finding import Diagnosis, Finding, Severity, Trust, Unchecked, ordered
from .fit import Fit
from .headline import headline, next_step
from .provenance import Provenance
from .status import Status
from .uncertainty import Direction, EstimatedParameters

T = TypeVar("T", bound=Extra)
V = TypeVar("V")

SHOWN_LINES = 24
"""Maximum number of lines of an estimate in a notebook or a debugger."""
COLUMNS = frozenset(column.name for column in fields(EstimatedParameters))
ENTRIES = frozenset(entry.name for entry in fields(Provenance))


class Forwarded(Generic[V]):
    """An attribute of an estimate that returns the attribute of the same name of one of its parts."""

    def __init__(self, part: str):
        self.part = part

    def __set_name__(self, owner: type, name: str) -> None:
        self.path = attrgetter(f"{self.part}.{name}")

    def __get__(self, estimate: Estimate | None, kind: type | None = None) -> V:
        # on the class itself, as documentation tools access it, the descriptor
        return self if estimate is None else self.path(estimate)  # type: ignore[return-value]


@dataclass(frozen=True)
class Certificate:
    """Optimality and feasibility, recomputed from the problem.

    Args:
        stationarity: |gradient| relative to the size of its terms; rounding error at an optimum.
        feasible: whether all constraints hold.
        tolerance: largest `stationarity` of a certificate that holds.
        primal, dual: cost of a constrained problem here, and a lower bound on the cost of every feasible point.
    """

    stationarity: float
    feasible: bool
    tolerance: float = 1e-8
    primal: float | None = None
    dual: float | None = None

    @property
    def gap(self) -> float | None:
        """Largest distance to the optimal cost, in the unit of `primal`."""
        return None if self.primal is None or self.dual is None else self.primal - self.dual

    @property
    def holds(self) -> bool:
        return self.feasible and self.stationarity <= self.tolerance


class CertifiableProblem(Protocol):
    """A problem that evaluates its residuals, constraints and Jacobian at an estimate's values and motions."""

    def certify(self, estimate: Estimate) -> Certificate: ...


@runtime_checkable
class PredictingProblem(CertifiableProblem, Protocol):
    """A problem whose estimates predict the efforts of other motions."""

    def dynamics(self, estimate: Estimate) -> Any: ...

    def predicted(self, estimate: Estimate, recording: Any, name: str, *, loaded: bool) -> Fit: ...


@dataclass(frozen=True, eq=False)
class Estimate:
    """Parameters with their uncertainty, and all that is needed to trust or distrust them.

    The columns of `parameters` and the entries of `provenance` are attributes of the estimate too: `estimate.values`,
    `estimate.std`, `estimate.warnings`; so are `findings` (most severe first), `unchecked` and `trust` of `diagnosis`,
    and each of its extras, by its key: `estimate.payload`.

    Args:
        method: short name, e.g. `"least-squares"`.
        parameters: names, values and uncertainty.
        status: how the solution ended.
        condition_number: that of the whitened Jacobian by the parameters (largest over smallest singular value).
        rows: number of scalar residuals with a measurement.
        fit: fit of the estimation's own rows. validation: fits of held-out recordings.
        scaled_condition_number: the same with columns of unit norm.
        iterations: accepted steps of an iterative method; 1 for a direct one.
        bodies: mass properties body by body.
        described: all bodies of the robot as its description has them, in `Body.prior`, at their places.
        undetermined: combinations that the data do not determine.
        extras: further results of its family, by key.
        problem: the problem that was solved; `certificate()` evaluates it.
        certifier: replaces `problem.certify` where constraints belong to the method and not to the problem.
        examiner: runs the checks of its family on the estimate; None: its family has no checks.
        examined: result of the examiner; None: not computed yet.
        provenance: how it was computed.
    """

    method: str
    robot: str
    parameters: EstimatedParameters
    status: Status
    condition_number: float
    rows: int
    fit: Fit
    scaled_condition_number: float = float("nan")
    iterations: int = 1
    bodies: tuple[Body, ...] = ()
    described: tuple[Body, ...] = ()
    undetermined: tuple[Direction, ...] = ()
    validation: tuple[Fit, ...] = ()
    extras: Mapping[str, Extra] = field(default_factory=dict)
    problem: CertifiableProblem | None = None
    certifier: Callable[[Estimate], Certificate] | None = None
    examiner: Callable[[Estimate], Diagnosis] | None = None
    examined: Diagnosis | None = None
    provenance: Provenance = field(default_factory=Provenance)

    names, units, owners, kinds, groupings = (Forwarded[tuple[str, ...]]("parameters") for _ in range(5))
    values, std, relative_std_percent = (Forwarded[Vector]("parameters") for _ in range(3))
    white_std, coloured_std = (Forwarded[Vector | None]("parameters") for _ in range(2))
    systematic_std, next_recording_std = (Forwarded[Vector | None]("parameters") for _ in range(2))
    covariance = Forwarded[Matrix]("parameters")
    identifiable = Forwarded[np.ndarray]("parameters")
    std_kind = Forwarded[str]("parameters")

    settings = Forwarded[Mapping[str, Any]]("provenance")
    steps, warnings, notes, citations = (Forwarded[tuple[str, ...]]("provenance") for _ in range(4))
    seconds = Forwarded[Mapping[str, float]]("provenance")
    versions = Forwarded[Mapping[str, str]]("provenance")

    findings = Forwarded[tuple[Finding, ...]]("diagnosis")
    unchecked = Forwarded[tuple[Unchecked, ...]]("diagnosis")
    trust = Forwarded[Trust]("diagnosis")

    torque, mass_matrix, gravity = (Forwarded[Callable[..., np.ndarray]]("dynamics") for _ in range(3))

    def extra(self, kind: type[T]) -> T | None:
        """The extra of this class, or None if the estimate has none: `estimate.extra(Payload)`."""
        found = self.extras.get(kind.key)
        return found if isinstance(found, kind) else None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # By `__dict__`, since copying and unpickling access attributes before any is set.
            extras = self.__dict__.get("extras", {})
            if name in extras:
                return extras[name]
            raise AttributeError(
                f"this estimate has no {name!r}; beside the attributes of every Estimate it has "
                f"{listing(tuple(extras)) or 'none'}"
            )

    def updated(self, *extras: Extra | None, **changes: Any) -> Estimate:
        """The same estimate with other fields and extras, each by its own name wherever it is kept.

        `estimate.updated(values=theta).certificate()` is the certificate at other values;
        `estimate.updated(payload, notes=(...))` adds an extra and replaces the notes. Raises `TypeError` if an estimate
        has nothing of this name.
        """
        columns = {key: changes.pop(key) for key in COLUMNS & changes.keys()}
        entries = {key: changes.pop(key) for key in ENTRIES & changes.keys()}
        # findings on other values, or without these held-out recordings, are no longer valid
        if columns or {"parameters", "fit", "validation", "problem", "status"} & changes.keys():
            changes.setdefault("examined", None)
        if columns:
            changes["parameters"] = replace(self.parameters, **columns)
        if entries:
            changes["provenance"] = replace(self.provenance, **entries)
        if extras:
            changes["extras"] = {**self.extras, **extras_of(*extras)}
        return replace(self, **changes)

    @property
    def diagnosis(self) -> Diagnosis:
        """What may be wrong with the estimate, by the checks of its family; computed on first access."""
        if self.examined is None:
            # for a family without checks only the convergence is known
            unchecked = Unchecked(f"the result of {self.method}", "there are no checks for this method yet")
            found = Diagnosis(ordered(unfinished(self)), (unchecked,), complete=False)
            found = found if self.examiner is None else self.examiner(self)
            # the order of a family's checks stays: causes are before symptoms there
            findings = sorted(
                (*self.provenance.corrected, *found.findings), key=lambda finding: -finding.severity
            )
            found = replace(found, findings=tuple(findings))
            object.__setattr__(self, "examined", found)
        assert self.examined is not None
        return self.examined

    @property
    def headline(self) -> str:
        """What is said first: the verdict, what was found, how well it predicts, and the gravest remark."""
        return headline(self)

    @property
    def next_step(self) -> str:
        """What to do next that helps most."""
        return next_step(self)

    def __getitem__(self, name: str) -> float:
        """The value of a parameter, by name; `InvalidMethod` if there is none."""
        check_known(name, self.names, "the estimate has no parameter", "it has", InvalidMethod, 20)
        return float(self.values[self.names.index(name)])

    def interval(self, name: str, coverage: float = 0.95) -> tuple[float, float]:
        """Confidence interval of a parameter, from the normal distribution."""
        from statistics import NormalDist

        value = self[name]
        half = NormalDist().inv_cdf(0.5 + 0.5 * coverage) * float(self.std[self.names.index(name)])
        return value - half, value + half

    def certificate(self) -> Certificate:
        """Optimality and feasibility at these values, recomputed from the problem; `InvalidMethod` if it has none."""
        # Constraints that belong to the method are unknown to the problem.
        if self.certifier is not None:
            return self.certifier(self)
        if self.problem is None:
            raise InvalidMethod(
                "this estimate has no problem to evaluate, since it came from a file or from a filter's loop; "
                "solve a problem to certify its solution"
            )
        return self.problem.certify(self)

    @property
    def dynamics(self) -> Any:
        """Torque, mass matrix and gravity, a `regression.dynamics.IdentifiedDynamics`; `InvalidMethod` as `predict`."""
        return self._predicting.dynamics(self)

    def predict(self, recording: Any, name: str = "", *, loaded: bool = False) -> Fit:
        """Measured against predicted effort of another recording of the same robot.

        Args:
            recording: a `Recording`, which is smoothed as the first one was, or `Signals` prepared like it.
            name: name of the recording in the report.
            loaded: whether the robot carries the estimated load in this recording.

        Raises:
            InvalidMethod: if the estimate is not of a regression that was solved here, or has no load.
        """
        return self._predicting.predicted(self, recording, name, loaded=loaded)

    def compare(self, other: Estimate, **options: Any) -> Any:
        """Which parameters differ from those of another result of this robot, and by how much: a `poinsot.Comparison`.

        Options and errors are those of `poinsot.compare`, which takes several.
        """
        return load(".studies.comparison:compare_two")(self, other, **options)

    @property
    def _predicting(self) -> PredictingProblem:
        if isinstance(self.problem, PredictingProblem):
            return self.problem
        raise InvalidMethod(
            f"this estimate of {self.method} cannot predict other recordings: only one that was solved here, by "
            "regression, can; for a result file use `poinsot predict RESULT.json MOTION.csv`, or poinsot.load_dynamics"
        )

    def references(self) -> str:
        """BibTeX of the methods used."""
        from ..citations import bibtex

        return bibtex(self.citations)

    def __str__(self) -> str:
        lines = [self.headline, f"Next: {self.next_step}"]
        lines.append(f"{self.method} on {self.robot}: {self.status.value}")
        lines.append(
            f"{len(self.names)} parameters from {self.rows} rows, relative error "
            f"{self.fit.error_text if self.status.converged else 'of no meaning'}, standard deviations for "
            f"{self.std_kind} residuals"
        )
        width = max((len(name) for name in self.names), default=4)
        following = self.next_recording_std
        if following is not None:
            lines.append(
                "std next: for the parameters of a next recording, since recordings differ; std: for these together"
            )
        header = "" if following is None else f" {'std next':>10}"
        lines.append(f"{'name':<{width}}  {'value':>11}{header} {'std':>10} {'std %':>7}  unit")
        std, relative = self.std, self.relative_std_percent
        for k, name in enumerate(self.names):
            number = "" if following is None else f" {following[k]:>10.2g}"
            percent = f"{relative[k]:.2f}" if relative[k] < 1000 else "–"  # of a value at its bound 0
            number = f"{self.values[k]:>11.5g}{number} {std[k]:>10.2g} {percent:>7}"
            if not self.identifiable[k]:
                number = f"{'not identifiable':>{len(number)}}"
            lines.append(f"{name:<{width}}  {number}  {self.units[k]}")
        known = [body for body in self.bodies if body.mass is not None]
        width = max((len(body.name) for body in known), default=4)
        if known:
            lines.append(f"{'body':<{width}}  {'mass [kg]':>11} {'centre of mass [m]':>26}  ")
        lines += [f"{body.name:<{width}}  {body}" for body in known]
        lines += [extra.as_text() for extra in self.extras.values() if extra.as_text()]
        return "\n".join(lines)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Lines to read with the values: held-out errors, findings, what was not checked, warnings, notes."""
        errors = (
            f"{fit.error_text} on {fit.recording or f'recording {k}'}"
            for k, fit in enumerate(self.validation, start=1)
        )
        return (
            *([f"held out: relative error {', '.join(errors)}"] if self.validation else []),
            *(f"{finding.severity.name} {finding}" for finding in self.findings),
            *(f"unchecked: {entry.what}: {entry.reason}" for entry in self.unchecked),
            *(f"warning: {sentence}" for sentence in self.warnings),
            *(f"note: {sentence}" for sentence in self.notes),
        )

    def __repr__(self) -> str:
        """The first lines of the text, to keep notebooks short."""
        lines = str(self).splitlines()
        more = len(lines) - SHOWN_LINES
        last = [f"... {more + 1} more lines; print(estimate) shows them"] if more > 0 else []
        return "\n".join([*lines[: SHOWN_LINES - len(last)], *last])

    @property
    def plot(self) -> Any:
        """Figures for notebooks: `estimate.plot.torques()`, see `poinsot.report.notebook.Plots`."""
        return load(".report.notebook:Plots")(self)

    def to_polars(self) -> Any:
        """One row per parameter, with the columns of the JSON, and its 95 % interval, as a Polars table."""
        return load(".report.notebook:to_polars")(self)

    def to_pandas(self) -> Any:
        """The table of `to_polars` as a pandas table. Raises `MissingExtra` without pandas."""
        return load(".report.notebook:to_pandas")(self)

    def _repr_html_(self) -> str:
        """The parameters as a table, for notebooks."""
        html: str = load(".report.notebook_html:estimate_html")(self)
        return html


predict = Estimate.predict


def validate(
    estimate: Estimate, recordings: Iterable[tuple[str, Any]], *, loaded: Collection[str] = ()
) -> Estimate:
    """The estimate with its prediction of held-out recordings.

    Args:
        recordings: name, and recording or signals of each. loaded: names of those with the load.
    """
    fits = (estimate.predict(recording, name, loaded=name in loaded) for name, recording in recordings)
    return estimate.updated(validation=tuple(fits))


def unfinished(estimate: Estimate) -> tuple[Finding, ...]:
    """The finding that a method has not converged, an error in every family."""
    if estimate.status.converged:
        return ()
    message = "The method has not converged."
    return (Finding("not-converged", Severity.error, message, estimate.status.value, evidence=float("inf")),)
