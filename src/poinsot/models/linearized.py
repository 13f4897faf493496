"""Numbers at many states with their derivatives: next states, and residuals of sensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class Linearized:
    """m numbers at T states, with derivatives along the tangents.

    Args:
        value: (T, m); next states are (T, nq + n), with m = 2 n numbers in their tangent.
        by_x: (T, m, 2n) by changes of the state; None: slopes were not asked for.
        by_tau, by_theta: (T, m, n) by generalized forces, if that was asked for, and (T, m, p) by theta.
    """

    value: Float[np.ndarray, "T _"]
    by_x: Float[np.ndarray, "T m two_n"] | None = None
    by_tau: Float[np.ndarray, "T m n"] | None = None
    by_theta: Float[np.ndarray, "T m p"] | None = None

    @classmethod
    def zeros(cls, value: np.ndarray, m: int, n: int, p: int, slopes: bool, efforts: bool) -> Linearized:
        """These values with slopes of 0, to be written."""
        if not slopes:
            return cls(value)
        by_x, by_theta = np.zeros((len(value), m, 2 * n)), np.zeros((len(value), m, p))
        return cls(value, by_x, np.zeros((len(value), m, n)) if efforts else None, by_theta)

    def put(self, places: np.ndarray, part: Linearized) -> None:
        """Write every array of a part into the rows at these places."""
        for name, values in vars(part).items():
            if values is not None:
                getattr(self, name)[places] = values
