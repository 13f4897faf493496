"""`[method] name = "semidefinite"`: with its prior and its constraints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from ..settings.fields import Positive, SettingsTable, Window
from .body_constraints import BodyConstraintSettings
from .inverse_dynamics import InverseDynamicsSettings

if TYPE_CHECKING:
    from ...solve import ProgressCallback, Stop
    from ..job import Project


class ConstraintsSettings(SettingsTable):
    """`poinsot.Constraints`."""

    bodies: dict[str, BodyConstraintSettings] = {}
    total_mass: Window | None = None


class SemidefiniteSettings(InverseDynamicsSettings):
    """`poinsot.SemidefiniteLeastSquares`. `prior` is the file of a robot description with the same bodies."""

    sections = ("effort", "friction", "full_parameters")

    name: Literal["semidefinite"]
    weighting: Literal["none", "per-joint", "robust"] = "none"
    essential: bool = False
    prior: str | None = None
    divergence: Literal["entropic", "euclidean", "affine-invariant"] = "entropic"
    trust: Literal["data", "both"] = "data"
    prior_std: Positive = 0.5
    allowance: float = Field(0.5, ge=1e-3)
    constraints: ConstraintsSettings = ConstraintsSettings()

    def build(
        self, project: Project, data_dir: Path | None, progress: ProgressCallback | None, stop: Stop | None
    ) -> Any:
        from ...estimators.linear.constraints import Constraints
        from ...estimators.linear.semidefinite import SemidefiniteLeastSquares
        from ...models.articulated import load_robot

        prior = None
        if self.prior is not None:
            path = project.find_description(self.prior, data_dir, "method.prior")
            described = load_robot(path, locked=project.settings.described.locked)
            prior = dict(zip(described.bodies, described.inertials.tolist(), strict=True))
        bodies = {name: body.build() for name, body in self.constraints.bodies.items()}
        constraints = self.constraints.build_as(Constraints, bodies=bodies)
        return self.build_as(SemidefiniteLeastSquares, prior=prior, constraints=constraints)
