"""Manifolds of states: adding a small change, and the difference of two states.

(Martinez et al. 2024, Eq. 1; Sola et al. 2018.)

    x [+] d          integrate: from the tangent at x
    y [-] x          difference: the d for which x [+] d = y, in the tangent at x

The shooting equation is f(x_k) [-] x_{k+1} = 0. With J_x, J_y the derivatives of y [-] x by small changes of either,
changes d and d' of the two states fulfil it to first order if

    gap + J_y f_x d + J_x d' = 0     that is     d' = gap + T f_x d,   T = -J_x^-1 J_y

where gap itself stays as it is: moving along the difference is moving straight. T is 1 where the gap is closed, and
everywhere in a flat space. On rotations it is Exp(gap).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from jaxtyping import Float

from ..arrays import Changes, States


class Manifold(ABC):
    """A smooth space of states; all calls take a batch (T, ...).

    `size` numbers describe a state, `degrees` its changes.
    """

    size: int
    degrees: int

    @abstractmethod
    def integrate(self, x: States, d: Changes) -> States:
        """x [+] d."""

    @abstractmethod
    def difference(self, x: States, y: States) -> Changes:
        """y [-] x, in the tangent at x."""

    @abstractmethod
    def difference_jacobians(
        self, x: States, y: States
    ) -> tuple[Float[np.ndarray, "T n n"], Float[np.ndarray, "T n n"]]:
        """Derivatives of y [-] x by small changes of x and of y."""

    def carry(self, x: States, y: States, *changes: Float[np.ndarray, "T n _"]) -> tuple[np.ndarray, ...]:
        """T times changes of y: the changes of x that keep y [-] x, to first order.

        A manifold that is flat but for a few components does better to override this.
        """
        by_x, by_y = self.difference_jacobians(x, y)
        T = -np.linalg.solve(by_x, by_y)
        return tuple(T @ change for change in changes)
