"""`[method] name = "payload"`: the load of a link, directly or as the difference of two identifications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator, model_validator

from ...estimators.linear.payload.difference import PayloadDifference
from ...estimators.linear.payload.draws import Resampling
from ...estimators.linear.payload.identification import PayloadIdentification
from ...parameters import Normal
from ..other_jobs import gains_from
from ..settings.fields import Point, Positive, SettingsTable, refuse
from .inverse_dynamics import LinearMethod

if TYPE_CHECKING:
    from ..job import Job
    from ..recordings import Run
    from ..settings import Settings


class PointPriorSettings(SettingsTable):
    """Prior of a point: mean and standard deviation along x, y and z [m]."""

    mean: Point
    std: Point

    @field_validator("std")
    @classmethod
    def _above_zero(cls, std: list[float]) -> list[float]:
        if min(std) <= 0:
            raise refuse("std", f"must be three numbers above 0, not {std}")
        return std


class PayloadMethod(LinearMethod):
    """`poinsot.PayloadIdentification`, or by difference `poinsot.PayloadDifference`.

    `link`: the link that carries the load, and whose frame is used. `mass` +- `mass_std`: known mass of the load [kg].
    `gains_from`: the project file, or the result, of a job that identifies the drive gains.
    """

    approach: Literal["direct", "difference"] = "direct"
    link: str | None = None
    mass: Positive | None = None
    mass_std: float = Field(0.0, ge=0)
    gains_from: str | None = None
    center_of_mass: PointPriorSettings | None = None

    @model_validator(mode="after")
    def _only_what_is_used(self) -> PayloadMethod:
        if self.mass_std and self.mass is None:
            raise refuse("payload", "mass_std is that of a known mass; give mass too", key="mass_std")
        both = {"name", "approach", "link", "mass", "seed"}
        if self.approach == "difference":
            for key in sorted(self.model_fields_set - both):
                raise refuse("payload", f'{key} needs approach = "direct"', key=key)
        return self

    def check(self, settings: Settings) -> None:
        if self.mass is not None and "mL" in {*settings.held, *settings.priors}:
            raise refuse(
                "mass",
                "the load's mass is given twice: as mass, and as mL in [held] or [priors]",
                key="method",
            )
        drive = settings.drive
        if self.gains_from is not None and drive is not None and "gain" in drive.model_fields_set:
            raise refuse(
                "gains", "drive gains are given twice: gains_from, and gain in [drive]", key="method"
            )

    @property
    def other_jobs(self) -> Mapping[str, str]:
        return {} if self.gains_from is None else {"gains_from": self.gains_from}

    def known(self, settings: Settings) -> tuple[dict[str, float], dict[str, Normal]]:
        """Held values and priors, including that on the load's mass."""
        held, priors = super().known(settings)
        if self.mass is not None and self.mass_std:
            priors["mL"] = Normal(self.mass, self.mass_std)
        elif self.mass is not None:
            held["mL"] = self.mass
        return held, priors

    def attached(self, runs: Sequence[Run]) -> Mapping[str, Any]:
        return {"loaded": [run.loaded for run in runs], "link": self.link}

    def build(self, job: Job) -> Any:
        keys: Any = self
        if self.approach == "difference":
            # a difference needs two recordings and no gains; all other keys have been rejected
            return PayloadDifference(seed=keys.seed)
        more: dict[str, Any] = {}
        if self.center_of_mass is not None:
            more["center_of_mass"] = tuple(map(Normal, self.center_of_mass.mean, self.center_of_mass.std))
        if self.gains_from is not None:
            more["gains"] = gains_from(job, self.gains_from)
        return self.build_as(PayloadIdentification, resampling=self.build_as(Resampling), **more)
