"""What a compiled MJCF has that exerts forces on a robot, and the model of the robot has not, in sentences.

What exerts none (drawings, sensors, cameras), what only acts in contact, and what a controller commands is left out:
torques that were measured or commanded contain it.
"""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np

from ...exceptions import listing

SPRUNG_TENDON = ("stiffness", "damping", "frictionloss", "armature", "stiffnesspoly", "dampingpoly")


def unrepresented(m: mujoco.MjModel, joints: list[str], bodies: list[str]) -> Iterator[str]:
    """Sentences on the forces of a compiled model that a robot built from it does not have.

    Args:
        joints, bodies: their names, in the order of the compiled model.
    """
    named: list[tuple[str, list[str]]] = [
        (
            "the springs, damping, friction and armature of the tendons {}",
            _named(m, mujoco.mjtObj.mjOBJ_TENDON, _any(m, "tendon", SPRUNG_TENDON)),
        ),
        ("the gravity compensation of {}", [bodies[k] for k in _rows(m.body_gravcomp)]),
        (
            "the armature and damping of the actuators {}",
            _named(
                m, mujoco.mjtObj.mjOBJ_ACTUATOR, _any(m, "actuator", ("armature", "damping", "dampingpoly"))
            ),
        ),
        (
            "the force of muscles that nothing activates, of the actuators {}",
            _named(
                m,
                mujoco.mjtObj.mjOBJ_ACTUATOR,
                _rows(m.actuator_biastype == int(mujoco.mjtBias.mjBIAS_MUSCLE)),
            ),
        ),
        ("the nonlinear part of the springs of {}", [joints[k] for k in _rows(m.jnt_stiffnesspoly)]),
        (
            "the nonlinear part of the damping of {}",
            list(dict.fromkeys(joints[m.dof_jntid[k]] for k in _rows(m.dof_dampingpoly))),
        ),
        (
            "the springs of {}, which have more than one freedom",
            [
                joints[k]
                for k in np.flatnonzero(
                    (m.jnt_stiffness > 0) & (m.jnt_type < int(mujoco.mjtJoint.mjJNT_SLIDE))
                )
            ],
        ),
    ]
    terms = np.concatenate([m.dof_armature[:6], m.dof_damping[:6], m.dof_frictionloss[:6]])
    if m.njnt and m.jnt_type[0] == int(mujoco.mjtJoint.mjJNT_FREE) and terms.any():
        named.append(("armature, damping or dry friction of the free joint {}", joints[:1]))
    equalities = [k for k in range(m.neq) if m.eq_active0[k] and not _is_represented(m, k)]
    if equalities:
        names = (mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_EQUALITY, k) or str(k) for k in equalities)
        named.append(("the equalities {}, of tendons through sites or of flexes", list(names)))
    yield from (
        f"The description has {what.format(listing(names))}, and the model of the robot does not."
        for what, names in named
        if names
    )
    if m.opt.density > 0 or m.opt.viscosity > 0:
        yield "The description has a medium (<option density viscosity>), and the model of the robot has no drag."
    if m.nflex:
        yield "The description has deformable bodies (<flex>), and the model of the robot does not."


def _is_represented(m: mujoco.MjModel, k: int) -> bool:
    kind, kinds = int(m.eq_type[k]), mujoco.mjtEq
    if kind != kinds.mjEQ_TENDON:
        return kind in [int(known) for known in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD, kinds.mjEQ_JOINT)]
    tendons = [int(end) for end in (m.eq_obj1id[k], m.eq_obj2id[k]) if end >= 0]
    wraps = [m.wrap_type[m.tendon_adr[t] :][: m.tendon_num[t]] for t in tendons]
    return bool(np.all(np.concatenate(wraps) == int(mujoco.mjtWrap.mjWRAP_JOINT)))


def _any(m: mujoco.MjModel, kind: str, terms: tuple[str, ...]) -> list[int]:
    """Objects of a kind of which some of these terms are not 0."""
    chosen = [set(_rows(getattr(m, f"{kind}_{term}"))) for term in terms]
    return sorted(set[int]().union(*chosen))


def _rows(array: np.ndarray) -> list[int]:
    return np.unique(np.nonzero(array)[0]).tolist()


def _named(m: mujoco.MjModel, kind: mujoco.mjtObj, chosen: list[int]) -> list[str]:
    """Names of chosen objects, their numbers where they have none."""
    return [mujoco.mj_id2name(m, kind, k) or str(k) for k in chosen]
