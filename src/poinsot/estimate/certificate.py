"""Certificate: optimality and feasibility of an estimate, recomputed from the problem at the estimate's own values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from .estimate import Estimate
    from .fit import Fit


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
    """A problem whose estimates predict what motions take that they have not seen."""

    def dynamics(self, estimate: Estimate) -> Any: ...

    def predicted(self, estimate: Estimate, recording: Any, name: str, *, loaded: bool) -> Fit: ...
