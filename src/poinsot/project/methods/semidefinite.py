"""`[method] name = "semidefinite"`: with its prior and its constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from ..settings.fields import Positive, SettingsTable, Window
from .body_constraints import BodyConstraintSettings
from .inverse_dynamics import InverseDynamicsSettings

if TYPE_CHECKING:
    from ..job import Job


class ConstraintsSettings(SettingsTable):
    """`poinsot.Constraints`."""

    bodies: dict[str, BodyConstraintSettings] = {}
    total_mass: Window | None = None


class SemidefiniteSettings(InverseDynamicsSettings):
    """`poinsot.SemidefiniteLeastSquares`. `prior` is the file of a robot description with the same bodies."""

    aliases: ClassVar[dict[str, str]] = {"trust": "weighing"}
    sections = ("effort", "friction", "full_parameters")

    name: Literal["semidefinite"]
    weighting: Literal["none", "per-joint", "robust"] = "none"
    essential: bool = False
    prior: str | None = None
    weighing: Literal["both", "data"] = "both"
    divergence: Literal["moments", "entropic", "euclidean", "affine-invariant"] | None = None
    prior_std: Positive | None = None
    prior_direction_deg: Annotated[float, Field(ge=0, lt=90)] = 30.0
    allowance: float = Field(0.5, ge=1e-3)
    constraints: ConstraintsSettings = ConstraintsSettings()

    def build(self, job: Job) -> Any:
        from ...estimators.linear.constraints import Constraints
        from ...estimators.linear.semidefinite import SemidefiniteLeastSquares
        from ...models.articulated import load_robot

        prior = None
        if self.prior is not None:
            path = job.project.find_description(self.prior, job.data_dir, "method.prior")
            # The same joints locked, so that the bodies have the same names.
            described = load_robot(path, locked=job.settings.described.locked)
            prior = dict(zip(described.bodies, described.inertials.tolist(), strict=True))
        bodies = {name: body.build() for name, body in self.constraints.bodies.items()}
        constraints = self.constraints.build_as(Constraints, bodies=bodies)
        return self.build_as(SemidefiniteLeastSquares, prior=prior, constraints=constraints)
