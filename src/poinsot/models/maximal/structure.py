"""The constants of a mechanism: which bodies are joined, and where. Plain NumPy, constants of compiled code.

The world is body l, after the others. Values of bodies are gathered by joint as stacks of slices with fixed
indices, which compile into straight-line code.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from .joints import LawPlaces


@dataclass(frozen=True, eq=False)
class Structure:
    """The constants of a mechanism of l bodies, j joints, c contacts.

    Args:
        bodies: l. placement: (l, 4, 4) T_wb of the bodies' frames in the reference configuration.
        parent, child: (j,) bodies of joints, l for the world.
        parent_point, child_point: (j, 3) the joint's frames in those of its bodies [m].
        parent_frame, child_frame: (j, 3, 3) their axes. held: (j, 6) which translations and rotations are held.
        driven: (j,) place in u of its motor's signal; -1 for none.
        dry, load: (j,) whether it has dry friction, and whether of the law that depends on its load.
        laws: laws of friction of any joint, and the place of the first parameter of each.
        weight: (j, 6) lengths with which held impulses enter that law [m] or [1/m] or 1. contact_body: (c,).
        contact_point: (c, 3) in the body's frame [m].
        contact_frame: (c, 3, 3) columns: two directions along the plane, its normal. contact_height: (c,) [m].
        observed: (s,) joint of each sensor; `is_rate`: (s,) whether it reads the speed.
        curvature: whether steps follow held directions to second order.
    """

    bodies: int
    placement: Float[np.ndarray, "l 4 4"]
    parent: Int[np.ndarray, "j"]
    child: Int[np.ndarray, "j"]
    parent_point: Float[np.ndarray, "j 3"]
    child_point: Float[np.ndarray, "j 3"]
    parent_frame: Float[np.ndarray, "j 3 3"]
    child_frame: Float[np.ndarray, "j 3 3"]
    held: Bool[np.ndarray, "j 6"]
    driven: Int[np.ndarray, "j"]
    dry: Bool[np.ndarray, "j"]
    load: Bool[np.ndarray, "j"]
    laws: LawPlaces
    weight: Float[np.ndarray, "j 6"]
    contact_body: Int[np.ndarray, "c"]
    contact_point: Float[np.ndarray, "c 3"]
    contact_frame: Float[np.ndarray, "c 3 3"]
    contact_height: Float[np.ndarray, "c"]
    observed: Int[np.ndarray, "s"]
    is_rate: Bool[np.ndarray, "s"]
    curvature: bool = False

    @cached_property
    def free(self) -> np.ndarray:
        """(j, 6) directions in which joints move; none of a fixed joint."""
        return ~self.held

    @cached_property
    def is_hinge(self) -> np.ndarray:
        """(j,) joints whose one coordinate is an angle."""
        return np.asarray(self.free[:, 5] & (self.free.sum(axis=1) == 1))

    @cached_property
    def is_ball(self) -> np.ndarray:
        """(j,)."""
        return np.asarray(self.free[:, 3:].all(axis=1))

    # rows 6 joint + direction of the constraints that are unknowns of a step, see `impulses`

    @cached_property
    def bilateral(self) -> np.ndarray:
        """(a,) held rows of joints whose dry friction does not depend on their load."""
        return np.flatnonzero(self.held & ~self.load[:, None])

    @cached_property
    def load_rows(self) -> np.ndarray:
        """(m,) held rows whose size friction depends on."""
        return np.flatnonzero(self.held & self.load[:, None])

    @cached_property
    def dry_rows(self) -> np.ndarray:
        """(f,) free rows with dry friction."""
        return np.flatnonzero(self.free & self.dry[:, None])

    @cached_property
    def moving(self) -> np.ndarray:
        """(n,) all free rows."""
        return np.flatnonzero(self.free)

    @cached_property
    def controls(self) -> int:
        """Number of signals in u."""
        return int(self.driven.max(initial=-1)) + 1


def gather(by_body: Float[Array, "_ *rest"], indices: Int[np.ndarray, "k"]) -> Float[Array, "k *rest"]:
    """Rows of bodies, one a joint or contact."""
    if not len(indices):
        return jnp.zeros((0, *by_body.shape[1:]), by_body.dtype)
    return jnp.stack([by_body[i] for i in indices.tolist()])
