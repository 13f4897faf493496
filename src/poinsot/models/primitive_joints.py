"""Pinocchio's joints as primitive ones: the arrays of `tree`, from a model that Pinocchio has read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..exceptions import InvalidModel
from . import tree as kinds
from .tree import Tree

INTEGERS = frozenset({"parent", "kind", "q_index", "v_index", "body"})

_X, _Y, _Z = np.eye(3)
_ALIGNED = {
    "JointModelRX": (kinds.REVOLUTE, _X),
    "JointModelRY": (kinds.REVOLUTE, _Y),
    "JointModelRZ": (kinds.REVOLUTE, _Z),
    "JointModelRUBX": (kinds.CONTINUOUS, _X),
    "JointModelRUBY": (kinds.CONTINUOUS, _Y),
    "JointModelRUBZ": (kinds.CONTINUOUS, _Z),
    "JointModelPX": (kinds.PRISMATIC, _X),
    "JointModelPY": (kinds.PRISMATIC, _Y),
    "JointModelPZ": (kinds.PRISMATIC, _Z),
    "JointModelHX": (kinds.HELICAL, _X),
    "JointModelHY": (kinds.HELICAL, _Y),
    "JointModelHZ": (kinds.HELICAL, _Z),
    "JointModelSpherical": (kinds.SPHERICAL, _Z),
    "JointModelTranslation": (kinds.TRANSLATION, _Z),
    "JointModelPlanar": (kinds.PLANAR, _Z),
    "JointModelFreeFlyer": (kinds.FREE, _Z),
}
_UNALIGNED = {
    "JointModelRevoluteUnaligned": kinds.REVOLUTE,
    "JointModelRevoluteUnboundedUnalignedTpl": kinds.CONTINUOUS,
    "JointModelRevoluteUnboundedUnaligned": kinds.CONTINUOUS,
    "JointModelPrismaticUnaligned": kinds.PRISMATIC,
    "JointModelHelicalUnaligned": kinds.HELICAL,
}


_WITH_AXIS = (kinds.REVOLUTE, kinds.PRISMATIC, kinds.CONTINUOUS, kinds.HELICAL)


def _primitives(joint: Any, placement: Any) -> Iterator[tuple[int, np.ndarray, float, Any, int, int]]:
    """(kind, axis, pitch, placement, idx_q, idx_v) of each primitive joint that `joint` is made of, base first."""
    here = type(placement).Identity()
    name = joint.shortname()
    concrete = joint.extract() if hasattr(joint, "extract") else joint
    if name in _ALIGNED:
        kind, axis = _ALIGNED[name]
        yield kind, axis, getattr(concrete, "pitch", 0.0), placement, joint.idx_q, joint.idx_v
    elif name in _UNALIGNED:
        kind = _UNALIGNED[name]
        # the bindings hide the axis of continuous joints, but not their motion subspace
        axis = np.ravel(joint.createData().S)[3:] if kind == kinds.CONTINUOUS else np.array(concrete.axis)
        yield kind, axis, getattr(concrete, "pitch", 0.0), placement, joint.idx_q, joint.idx_v
    elif name == "JointModelComposite":
        for part, shift in zip(concrete.joints, concrete.jointPlacements, strict=True):
            yield from _primitives(part, placement * shift)
            placement = here
    elif name in ("JointModelSphericalZYX", "JointModelUniversal"):
        axes = (
            (_Z, _Y, _X)
            if name == "JointModelSphericalZYX"
            else (np.array(concrete.axis1), np.array(concrete.axis2))
        )
        for k, axis in enumerate(axes):
            yield kinds.REVOLUTE, axis, 0.0, placement, joint.idx_q + k, joint.idx_v + k
            placement = here
    else:
        raise InvalidModel(
            f"joints of the type {name} are not supported; use revolute, prismatic, planar or floating ones"
        )


def tree_of(model: Any) -> Tree:
    """The tree of a Pinocchio model.

    Raises:
        InvalidModel: if a joint is of a type that no primitive joints make up, or has no axis.
    """
    joints: list[dict[str, Any]] = []  # one entry of each of the tree's arrays
    last = {0: -1}  # Pinocchio's joint -> its last primitive joint
    for i in range(1, model.njoints):
        up = last[model.parents[i]]
        for kind, axis, pitch, placement, q_index, v_index in _primitives(
            model.joints[i], model.jointPlacements[i]
        ):
            if kind in _WITH_AXIS and not np.any(axis):
                raise InvalidModel(f"the axis of joint {model.names[i]!r} is 0 0 0; give it a direction")
            joints.append(
                {
                    "parent": up,
                    "kind": kind,
                    "rotation": placement.rotation,
                    "translation": placement.translation,
                    "axis": axis,
                    "pitch": pitch,
                    "q_index": q_index,
                    "v_index": v_index,
                    "body": -1,
                }
            )
            up = len(joints) - 1
        # the last primitive joint carries the body, the others massless ones
        joints[-1]["body"] = i - 1
        last[i] = up
    arrays = {
        name: np.array([joint[name] for joint in joints], dtype=np.int64 if name in INTEGERS else float)
        for name in joints[0]
    }
    return Tree(**arrays, gravity=np.array(model.gravity.linear, dtype=float))
