"""Whether two joints of a robot are alike.

Whether the parameters of two joints are equal is tested, before `share` takes them for one. With the parameters x, y
that both estimates determine, and their covariance V of x - y,

    chi2 = (x - y)^T V^-1 (x - y)

has a chi-square distribution with len(x) degrees of freedom if the true values are equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from ...estimate import Estimate
from ...exceptions import InvalidMethod
from .search import OWN


@dataclass(frozen=True)
class Equality:
    """The test of two joints.

    Args:
        joints: their names. parameters: that are compared.
        chi_square: about len(parameters) if they are equal. probability: of so large a value, if they are.
        most: parameter with the largest difference in its standard deviations.
    """

    joints: tuple[str, str]
    parameters: tuple[str, ...]
    chi_square: float
    probability: float
    most: str


def equality_of_joints(estimate: Estimate, pairs: Iterable[tuple[str, str]]) -> tuple[Equality, ...]:
    """Test whether the parameters of two joints are equal, for each pair of joints.

    Parameters that one of them does not determine are left out, and those that belong to a joint alone: its zero, and
    levels of friction between its own positions.

    Raises:
        InvalidMethod: if both joints of a pair determine no parameter.
    """
    places = {
        (owner, kind): k
        for k, (owner, kind, known) in enumerate(
            zip(estimate.owners, estimate.kinds, estimate.identifiable, strict=True)
        )
        if known and kind not in OWN and not kind.startswith("friction_level_")
    }
    found = []
    for one, other in pairs:
        kinds = tuple(kind for owner, kind in places if owner == one and (other, kind) in places)
        if not kinds:
            raise InvalidMethod(
                f"{one} and {other} determine no parameter that both have; compare other joints"
            )
        a, b = ([places[owner, kind] for kind in kinds] for owner in (one, other))
        C, d = np.asarray(estimate.covariance), estimate.values[a] - estimate.values[b]
        V = C[np.ix_(a, a)] + C[np.ix_(b, b)] - C[np.ix_(a, b)] - C[np.ix_(b, a)]
        std = np.sqrt(np.diag(V))
        # in standard deviations, as units differ
        chi_square = float(d / std @ np.linalg.pinv(V / np.outer(std, std), hermitian=True) @ (d / std))
        most = kinds[int(np.argmax(np.abs(d) / std))]
        found.append(Equality((one, other), kinds, chi_square, float(chdtrc(len(kinds), chi_square)), most))
    return tuple(found)
