"""A kinematic tree as plain arrays, for kernels: one entry a *primitive* joint, parents before children.

`tree_of` makes it of a model that Pinocchio has read.

Every joint here has a motion subspace S that is constant in its own frame. Others (composite and universal
joints, Euler angles) become chains of primitive joints with massless bodies between, `body = -1`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from ...arrays import Brief
from ...exceptions import InvalidModel

REVOLUTE, PRISMATIC, CONTINUOUS, HELICAL, SPHERICAL, TRANSLATION, PLANAR, FREE = range(8)

DEGREES = np.array([1, 1, 1, 1, 3, 3, 3, 6])
"""Degrees of freedom of each kind."""

COORDINATES = np.array([1, 1, 2, 1, 4, 3, 4, 7])
"""Components of the configuration of each kind: angles, cosine and sine, or a quaternion (x, y, z, w)."""


@dataclass(frozen=True, eq=False, repr=False)
class Tree(Brief):
    """Primitive joints of a robot.

    Args:
        parent: (J,) index of the parent joint, -1 for the world. kind: (J,) one of the codes above.
        rotation, translation: (J, 3, 3), (J, 3) [m] placement of the joint in its parent's frame.
        axis: (J, 3) unit axis in the joint's own frame; where the kind has one.
        pitch: (J,) translation per turn of helical joints [m/rad]. q_index, v_index: (J,) first component in q and v.
        body: (J,) index of the body that the joint carries, -1 for none. gravity: (3,) [m/s^2].
    """

    parent: np.ndarray
    kind: np.ndarray
    rotation: np.ndarray
    translation: np.ndarray
    axis: np.ndarray
    pitch: np.ndarray
    q_index: np.ndarray
    v_index: np.ndarray
    body: np.ndarray
    gravity: np.ndarray

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def bodies(self) -> int:
        return int(self.body.max()) + 1

    @property
    def degrees_of_freedom(self) -> int:
        return int(DEGREES[self.kind].sum())

    @property
    def configuration_size(self) -> int:
        return int(COORDINATES[self.kind].sum())

    @cached_property
    def subspace(self) -> np.ndarray:
        """(J, 6, 6) rows: the twists (linear, angular) of a joint's degrees of freedom in its own frame, then zeros."""
        S = np.zeros((len(self), 6, 6))
        for S_i, kind, axis, pitch in zip(S, self.kind, self.axis, self.pitch, strict=True):
            if kind == PRISMATIC:
                S_i[0, :3] = axis
            elif DEGREES[kind] == 1:
                # pitch is 0 except for a screw
                S_i[0] = [*(pitch * axis), *axis]
            else:
                freedoms = {SPHERICAL: [3, 4, 5], TRANSLATION: [0, 1, 2], PLANAR: [0, 1, 5], FREE: range(6)}[
                    int(kind)
                ]
                S_i[: len(freedoms)] = np.eye(6)[freedoms]
        return S

    @cached_property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """(parent, kind, rotation, translation, axis, pitch, q_index, v_index, body, subspace), as kernels take them.

        A plain tuple: Numba takes three times as long to unpack a named one, which matters for single samples.
        """
        return (
            self.parent, self.kind, self.rotation, self.translation, self.axis, self.pitch, self.q_index,
            self.v_index, self.body, self.subspace,
        )  # fmt: skip

    @cached_property
    def path(self) -> tuple[np.ndarray, np.ndarray]:
        """(start, dof): the degrees of freedom between the world and joint i are dof[start[i]:start[i + 1]]."""
        # parents come before children, so their paths are already known
        paths: list[list[int]] = []
        for i in range(len(self)):
            inherited = paths[self.parent[i]] if self.parent[i] >= 0 else []
            own = range(self.v_index[i], self.v_index[i] + DEGREES[self.kind[i]])
            paths.append([*inherited, *map(int, own)])
        start = np.concatenate([[0], np.cumsum([len(path) for path in paths])])
        return start.astype(np.int64), np.array([dof for path in paths for dof in path], dtype=np.int64)

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """(dof, body) of every block of the torque regressor that is not zero by structure, in the kernel's order."""
        start, dof = self.path
        bodies = np.repeat(self.body, np.diff(start))
        return dof[bodies >= 0], bodies[bodies >= 0]


_X, _Y, _Z = np.eye(3)
_ALIGNED = {
    f"JointModel{name}{axis}": (kind, e)
    for (name, kind), (axis, e) in product(
        {"R": REVOLUTE, "RUB": CONTINUOUS, "P": PRISMATIC, "H": HELICAL}.items(),
        zip("XYZ", np.eye(3), strict=True),
    )
} | {
    "JointModelSpherical": (SPHERICAL, _Z),
    "JointModelTranslation": (TRANSLATION, _Z),
    "JointModelPlanar": (PLANAR, _Z),
    "JointModelFreeFlyer": (FREE, _Z),
}
_UNALIGNED = {
    "JointModelRevoluteUnaligned": REVOLUTE,
    "JointModelRevoluteUnboundedUnalignedTpl": CONTINUOUS,
    "JointModelRevoluteUnboundedUnaligned": CONTINUOUS,
    "JointModelPrismaticUnaligned": PRISMATIC,
    "JointModelHelicalUnaligned": HELICAL,
}


def _primitives(joint: Any, placement: Any) -> Iterator[tuple[int, np.ndarray, float, Any, int, int]]:
    """(kind, axis, pitch, placement, idx_q, idx_v) of each primitive joint that `joint` is made of, base first."""
    identity = type(placement).Identity()
    name = joint.shortname()
    concrete = joint.extract() if hasattr(joint, "extract") else joint
    if name in _ALIGNED:
        kind, axis = _ALIGNED[name]
        yield kind, axis, getattr(concrete, "pitch", 0.0), placement, joint.idx_q, joint.idx_v
    elif name in _UNALIGNED:
        kind = _UNALIGNED[name]
        # the bindings lack the axis of continuous joints, but not their motion subspace
        axis = np.ravel(joint.createData().S)[3:] if kind == CONTINUOUS else np.array(concrete.axis)
        yield kind, axis, getattr(concrete, "pitch", 0.0), placement, joint.idx_q, joint.idx_v
    elif name == "JointModelComposite":
        for part, shift in zip(concrete.joints, concrete.jointPlacements, strict=True):
            yield from _primitives(part, placement * shift)
            placement = identity
    elif name in ("JointModelSphericalZYX", "JointModelUniversal"):
        axes = (
            (_Z, _Y, _X)
            if name == "JointModelSphericalZYX"
            else (np.array(concrete.axis1), np.array(concrete.axis2))
        )
        for k, axis in enumerate(axes):
            yield REVOLUTE, axis, 0.0, placement, joint.idx_q + k, joint.idx_v + k
            placement = identity
    else:
        raise InvalidModel(
            f"joints of the type {name} are not supported; use revolute, prismatic, planar or floating ones"
        )


def body_joints(model: Any) -> list[int]:
    """Pinocchio's joints that carry a body: of several joints in one body, the last one."""
    with_link = {frame.parentJoint for frame in model.frames if frame.type.name == "BODY"}
    return [i for i in range(1, model.njoints) if i in with_link or model.inertias[i].mass != 0]


def tree_of(model: Any) -> Tree:
    """The tree of a Pinocchio model.

    Raises InvalidModel if a joint is of a type that is not a chain of primitive joints, or has no axis.
    """
    joints: list[tuple[Any, ...]] = []  # the tree's arrays as rows
    number = {joint: body for body, joint in enumerate(body_joints(model))}
    last = {0: -1}  # Pinocchio's joint -> its last primitive joint
    for i in range(1, model.njoints):
        up = last[model.parents[i]]
        parts = list(_primitives(model.joints[i], model.jointPlacements[i]))
        for k, (kind, axis, pitch, T, q_index, v_index) in enumerate(parts, start=1):
            if DEGREES[kind] == 1 and not np.any(axis):
                raise InvalidModel(f"the axis of joint {model.names[i]!r} is 0 0 0; give it a direction")
            # the last primitive joint carries the body, the others massless ones
            body = number.get(i, -1) if k == len(parts) else -1
            joints.append((up, kind, T.rotation, T.translation, axis, float(pitch), q_index, v_index, body))
            up = len(joints) - 1
        last[i] = up
    return Tree(*map(np.array, [*zip(*joints, strict=True), model.gravity.linear]))
