"""Observability over the last seconds: which mass properties of a body the motion excites, such as the mass alone.

With A the information of the recent samples (exponentially forgotten) and U the root of the covariance of a body that
is known to a factor of 1 +- 1 (`Belief.unit`), the posterior covariance of such a body from these samples alone is

    cov = U (U^T A U + 1)^-1 U^T

The ratio of its variances to those of U U^T is near 0 where the motion excites a quantity, near 1 where it does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Bool, Vector
from .belief import Belief

if TYPE_CHECKING:
    from .filter import Filter


@dataclass(frozen=True, eq=False)
class LinkExcitation:
    """Which mass properties of one open body the last seconds determine.

    Args:
        link: name of the link.
        mass_std: [kg]. center_of_mass_std: (3,) [m]. inertia_std: (3,) of Ixx, Iyy, Izz about the origin [kg m^2].
        mass, center_of_mass, inertia: whether they are known; the last two are (3,) booleans.
    """

    link: str
    mass_std: float
    center_of_mass_std: Vector
    inertia_std: Vector
    mass: bool
    center_of_mass: Bool[np.ndarray, "3"]
    inertia: Bool[np.ndarray, "3"]

    def __str__(self) -> str:
        def which(names: str, known: np.ndarray) -> str:
            return (
                " ".join(name for name, yes in zip(names.split(), known, strict=True) if yes) or "not at all"
            )

        return (
            f"{self.link}: mass {'known' if self.mass else 'not known'}, centre of mass "
            f"{which('x y z', self.center_of_mass)}, inertia {which('xx yy zz', self.inertia)}"
        )


def excitation(filter_: Filter, belief: Belief, known: float = 0.1) -> tuple[LinkExcitation, ...]:
    """Which mass properties of each open body the last `memory_s` seconds determine.

    Args:
        known: a quantity is known when its standard deviation is below this part of that for a body that is known to a
            factor of 1 +- 1 [1].
    """
    U = belief.unit
    # the 1 is the information of a body that is known to a factor of 1 +- 1: the inverse exists at rest too
    after = U @ np.linalg.inv(U.T @ belief.information @ U + np.eye(len(U))) @ U.T
    before = U @ U.T
    links = []
    for k, (link, pi, D) in enumerate(
        zip(filter_.torques.links, filter_.inertial(belief.x), filter_.jacobian(belief.x), strict=True)
    ):
        ten = slice(10 * k, 10 * k + 10)
        # rows: m, c = h / m, Ixx, Iyy, Izz
        G = np.zeros((7, 10))
        G[0, 0] = 1
        G[1:4, 1:4], G[1:4, 0] = np.eye(3) / pi[0], -pi[1:4] / pi[0] ** 2
        G[4, 4] = G[5, 6] = G[6, 9] = 1
        G = G @ D
        variance, before_variance = (np.einsum("ij,jk,ik->i", G, C[ten, ten], G) for C in (after, before))
        # rounding may leave a variance of -1e-20
        std, is_known = np.sqrt(np.maximum(variance, 0.0)), variance < known**2 * before_variance
        links.append(
            LinkExcitation(
                link, float(std[0]), std[1:4], std[4:], bool(is_known[0]), is_known[1:4], is_known[4:]
            )
        )
    return tuple(links)
