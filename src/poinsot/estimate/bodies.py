"""Mass properties of one body, and of a load that a link carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..arrays import Brief, Matrix, Vector
from ..statistics import NORMAL_95
from .extras import Extra, MainNumber


@dataclass(frozen=True, eq=False, repr=False)
class Body(Brief):
    """One body's mass properties; None where the data do not determine them.

    Args:
        mass: [kg]. center_of_mass: (3,) in the body frame [m]. inertia_at_com: (3, 3), axes of the body frame [kg m^2].
        physically_consistent: whether some real body has them. reasons: why not, in sentences.
        min_pseudo_inertia_eigenvalue: least eigenvalue of J (4 x 4); 0 on the boundary of the possible bodies.
        inertial: (10,) the same as pi, about the body frame's origin.
        covariance: (10, 10) of its log-Cholesky coordinates, so that every draw is a possible body; None if unknown.
        prior: (10,) pi before the data, usually the robot description's.
        prior_share: from 0 (all from the data) to 1 (all from the prior); the mean over its ten directions.
        placement: (4, 4) of its frame in the world at the neutral configuration.
        parent: name of the body that carries it; "" for the world.
    """

    # A covariance in coordinates of a chart is named by its chart.
    json_keys: ClassVar = {"log_cholesky_covariance": "covariance"} | dict.fromkeys(
        ("covariance", "placement", "parent")
    )

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


@dataclass(frozen=True, eq=False, repr=False)
class Payload(Brief, Extra):
    """Mass properties of the load on a link, in the link's frame; NaN where the data do not determine them.

    Args:
        link: name of the link.
        inertial: (10,) pi about the link's origin. covariance: (10, 10); zero for known values.
        mass [kg]; center_of_mass: (3,) [m]; inertia_at_com: (3, 3), axes of the link [kg m^2]; each with its standard
            deviation.
        identifiable: quantities that the data determine: `mass`, `center_of_mass.x` ..., `inertia_at_com.xx` ...
        known: those of these quantities that were given, not estimated.
        physically_consistent: whether some real body has these values; None where one of them is not determined.
        reasons: why not, in sentences.
        min_pseudo_inertia_eigenvalue: least eigenvalue of J (4 x 4); 0 on the boundary of the possible bodies.
    """

    key = "payload"
    json_keys: ClassVar = {"mass_interval": "mass_interval"}

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

    def main_numbers(self) -> tuple[MainNumber, ...]:
        is_estimated = "mass" in self.identifiable
        return (
            (MainNumber(f"Mass of the load on {self.link}", self.mass, self.mass_std, "kg"),)
            if is_estimated
            else ()
        )

    def found(self) -> str:
        return "".join(f"{number}." for number in self.main_numbers())

    @property
    def mass_interval(self) -> tuple[float, float]:
        """95 % confidence interval of the mass [kg]."""
        half = NORMAL_95 * self.mass_std
        return self.mass - half, self.mass + half

    def as_text(self) -> str:
        center = ", ".join(
            f"{c:.4f} +- {s:.2g}" for c, s in zip(self.center_of_mass, self.center_of_mass_std, strict=True)
        )
        mass = f"{self.mass:.5g} kg" + (" (known)" if "mass" in self.known else f" +- {self.mass_std:.2g}")
        return f"load on {self.link}: {mass}, centre of mass [m] {center}"

    __str__ = as_text
