"""An MJCF description as MuJoCo compiles it, as a model of Pinocchio.

Everything is read from the compiled model: bodies with the inertia that the compiler gives them, joints of all kinds
and several in one body, reference positions, joint terms, gravity, equalities. A joint k of a body, with the anchor
p_k and the axis a_k in the frame of the body and the position q_k of which ref_k is the reference, moves the body by

    T = T_body  prod_k  Trans(p_k) J_k(q_k - ref_k) Trans(-p_k),

(MuJoCo, "Kinematics"). The frame of a joint is at its anchor; what is between two joints of one body is massless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coal
import mujoco
import numpy as np
import pinocchio as pin

from ...arrays import Vector
from ...exceptions import UnreadableFile
from .loops import WORLD, JointCoupling, Loop
from .unrepresented import unrepresented

HINGE, SLIDE, BALL, FREE = (
    int(kind)
    for kind in (
        mujoco.mjtJoint.mjJNT_HINGE,
        mujoco.mjtJoint.mjJNT_SLIDE,
        mujoco.mjtJoint.mjJNT_BALL,
        mujoco.mjtJoint.mjJNT_FREE,
    )
)
ALIGNED = {
    HINGE: (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ),
    SLIDE: (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ),
}
UNALIGNED = {HINGE: pin.JointModelRevoluteUnaligned, SLIDE: pin.JointModelPrismaticUnaligned}

SLAB_M = np.array([20.0, 20.0, 0.5])
"""Half the sides of a slab in place of a plane, farther than an arm reaches. [m]"""

WELD_ARM_M = 0.1
"""Distance of the points that a weld holds together. [m]"""


@dataclass(frozen=True, eq=False)
class CompiledDescription:
    """What an MJCF file says of a robot.

    Args:
        model: Pinocchio's model.
        floating: whether the first joint of the model is a free one.
        loops, couplings: active equalities.
        springs: joint -> (stiffness, relaxed position) [N m/rad], [rad] or [N/m], [m].
        gravity: (3,) [m/s^2].
        unrepresented: sentences on forces of the file that the robot does not have.
    """

    model: pin.Model
    floating: bool
    loops: tuple[Loop, ...]
    couplings: tuple[JointCoupling, ...]
    springs: dict[str, tuple[float, float]]
    gravity: Vector
    unrepresented: tuple[str, ...]


def compiled_description(path: Path, text: str | None, floating_base: bool) -> CompiledDescription:
    """Compile a file, or a text in its place. `floating_base`: put a free joint below its roots, if it has none there.

    Raises:
        UnreadableFile: see `compile_text`.
    """
    compiled = compile_text(text, path)
    _disable(compiled)
    names = object_names(compiled)
    free = bool(compiled.njnt and compiled.jnt_type[0] == FREE)
    rooted = floating_base and not free
    model = _Tree(compiled, names, rooted).model
    model.name = (
        path.stem if compiled.names.startswith(b"MuJoCo Model\0") else compiled.names.split(b"\0")[0].decode()
    )
    equalities = _Equalities(compiled, names)
    joints = names[mujoco.mjtObj.mjOBJ_JOINT]
    springs = {
        joints[j]: (float(compiled.jnt_stiffness[j]), float(compiled.qpos_spring[compiled.jnt_qposadr[j]]))
        for j in range(compiled.njnt)
        if compiled.jnt_stiffness[j] > 0 and compiled.jnt_type[j] in ALIGNED
    }
    return CompiledDescription(
        model,
        free or rooted,
        tuple(equalities.loops()),
        tuple(equalities.couplings()),
        springs,
        np.array(compiled.opt.gravity),
        tuple(unrepresented(compiled, joints, names[mujoco.mjtObj.mjOBJ_BODY])),
    )


def disabled_terms(flags: int) -> list[str]:
    """Joint terms, `damping` and `friction`, that these flags of MuJoCo disable."""
    bits = mujoco.mjtDisableBit
    by_bit = {
        bits.mjDSBL_DAMPER: "damping",
        bits.mjDSBL_FRICTIONLOSS: "friction",
        bits.mjDSBL_CONSTRAINT: "friction",
    }
    return [term for bit, term in by_bit.items() if flags & int(bit)]


def _disable(m: mujoco.MjModel) -> None:
    """Remove what `<flag>` disables."""
    bits = mujoco.mjtDisableBit
    removed: dict[mujoco.mjtDisableBit, tuple[np.ndarray, ...]] = {
        bits.mjDSBL_GRAVITY: (m.opt.gravity, m.body_gravcomp),
        bits.mjDSBL_SPRING: (
            m.jnt_stiffness,
            m.jnt_stiffnesspoly,
            m.tendon_stiffness,
            m.tendon_stiffnesspoly,
        ),
        bits.mjDSBL_DAMPER: (m.dof_damping, m.dof_dampingpoly, m.tendon_damping, m.tendon_dampingpoly),
        bits.mjDSBL_FRICTIONLOSS: (m.dof_frictionloss, m.tendon_frictionloss),
        bits.mjDSBL_EQUALITY: (m.eq_active0,),
        bits.mjDSBL_CONSTRAINT: (m.dof_frictionloss, m.tendon_frictionloss, m.eq_active0),
    }
    for bit, arrays in removed.items():
        for array in arrays if m.opt.disableflags & int(bit) else ():
            array[:] = 0


def compile_text(text: str | None, path: Path) -> mujoco.MjModel:
    """MuJoCo's model of a file, or of a text that stands for it (None: the file's); what only draws may be missing.

    Raises:
        UnreadableFile: if MuJoCo does not compile it, with its reason, or an inertia depends on a file that is missing.
    """
    spec = specification(text, path)
    with _mujoco_errors(path):
        _drop_missing(spec, path.absolute().parent)
        try:
            return spec.compile()
        except ValueError as error:  # another element may refer to a removed one: try the whole file
            try:
                return specification(text, path).compile()
            except ValueError:
                raise error from None


def specification(text: str | None, path: Path) -> Any:
    """MuJoCo's reading of a file, or of a text that stands for it, defaults resolved, before it is compiled.

    Raises:
        UnreadableFile: if MuJoCo cannot read it, with its reason.
    """
    with _mujoco_errors(path):
        if text is None:
            return mujoco.MjSpec.from_file(str(path))
        spec = mujoco.MjSpec.from_string(text)
        spec.modelfiledir = str(path.absolute().parent)
        return spec


@contextmanager
def _mujoco_errors(path: Path) -> Iterator[None]:
    """MuJoCo's reason in one sentence."""
    try:
        yield
    except (ValueError, mujoco.FatalError) as error:
        why = ", ".join(line.strip() for line in str(error).splitlines() if line.strip())
        raise UnreadableFile(f"{path} is not a valid robot description: MuJoCo says: {why}") from None


def _drop_missing(spec: Any, folder: Path) -> None:
    """Remove what only draws, and shapes whose mesh does not exist from bodies whose inertia does not need them."""
    for drawn in (*spec.geoms, *spec.sites):
        drawn.material = ""
    for drawn in (*spec.skins, *spec.materials, *spec.textures):
        spec.delete(drawn)
    lost = [mesh for mesh in spec.meshes if mesh.file and not (folder / spec.meshdir / mesh.file).is_file()]
    missing = {mesh.name or Path(mesh.file).stem: mesh.file for mesh in lost}
    for geom in list(spec.geoms):
        if geom.meshname not in missing:
            continue
        if geom.parent.explicitinertial or not _moves(geom.parent):
            spec.delete(geom)
        else:
            body, mesh = geom.parent.name, missing[geom.meshname]
            raise ValueError(f"the inertia of body {body!r} needs the mesh {mesh}, which does not exist")
    for mesh in lost:
        spec.delete(mesh)


def _moves(body: Any) -> bool:
    """Whether a body, or one that carries it, has a joint."""
    while body is not None and body.name != "world":
        if body.joints:
            return True
        body = body.parent
    return False


def object_names(compiled: mujoco.MjModel) -> dict[mujoco.mjtObj, list[str]]:
    """Kind of object -> unique name of each; a body without one has its number, a joint without one its body's name."""

    def unique(kind: mujoco.mjtObj, count: int, default: Any) -> list[str]:
        return unique_names([mujoco.mj_id2name(compiled, kind, k) or "" for k in range(count)], default)

    of_body = unique(mujoco.mjtObj.mjOBJ_BODY, compiled.nbody, BODY_NAME.format)
    of_joint = unique(
        mujoco.mjtObj.mjOBJ_JOINT, compiled.njnt, lambda k: f"{of_body[compiled.jnt_bodyid[k]]}_joint"
    )
    of_site = unique(mujoco.mjtObj.mjOBJ_SITE, compiled.nsite, lambda k: f"site{k}")
    return {
        mujoco.mjtObj.mjOBJ_BODY: of_body,
        mujoco.mjtObj.mjOBJ_JOINT: of_joint,
        mujoco.mjtObj.mjOBJ_SITE: of_site,
    }


BODY_NAME = "body{}"
"""Name of a body without one, by its number."""


def unique_names(given: list[str], default: Callable[[int], str]) -> list[str]:
    """Names of objects, of which those without one have a default that no other has."""
    names: list[str] = []
    for k, name in enumerate(given):
        candidate, number = name or default(k), 1
        while not name and candidate in (*given, *names):
            number += 1
            candidate = f"{default(k)}_{number}"
        names.append(candidate)
    return names


def inertial_of(compiled: mujoco.MjModel, b: int) -> pin.Inertia:
    """The inertia of a body in its own frame."""
    principal = _placement(compiled.body_ipos[b], compiled.body_iquat[b])
    # MuJoCo takes frames for equal that differ by rounding
    same = int(compiled.body_sameframe[b])
    if same in (mujoco.mjtSameFrame.mjSAMEFRAME_BODY, mujoco.mjtSameFrame.mjSAMEFRAME_BODYROT):
        principal.rotation = np.eye(3)
    if same == mujoco.mjtSameFrame.mjSAMEFRAME_BODY:
        principal.translation = np.zeros(3)
    R, I = principal.rotation, np.diag(compiled.body_inertia[b])
    return pin.Inertia(float(compiled.body_mass[b]), principal.translation, R @ I @ R.T)


def _placement(position: np.ndarray, quaternion: np.ndarray) -> pin.SE3:
    w, x, y, z = quaternion
    return pin.SE3(pin.Quaternion(w, x, y, z).normalized().toRotationMatrix(), np.array(position))


class _Tree:
    """The tree of joints and bodies of a compiled model."""

    def __init__(self, compiled: mujoco.MjModel, names: dict[mujoco.mjtObj, list[str]], rooted: bool):
        self.compiled, self.names, self.model = compiled, names, pin.Model()
        # joint that carries a body of MuJoCo, and the placement of the body's frame there
        self.carrier: list[tuple[int, pin.SE3]] = [(0, pin.SE3.Identity())]
        self.frame = [0]  # frame of each of Pinocchio's joints
        if rooted:
            self._add_root()
        for b in range(1, compiled.nbody):
            self._add_body(b)
        for s in range(compiled.nsite):
            joint, T = self.carrier[compiled.site_bodyid[s]]
            placement = T * _placement(compiled.site_pos[s], compiled.site_quat[s])
            name = names[mujoco.mjtObj.mjOBJ_SITE][s]
            self.model.addFrame(pin.Frame(name, joint, self.frame[joint], placement, pin.OP_FRAME), False)

    def _add_root(self) -> None:
        """A free joint at the first root, which carries everything that stands still."""
        root = _placement(self.compiled.body_pos[1], self.compiled.body_quat[1])
        self._joint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")
        self.carrier[0] = 1, root.inverse()

    def _joint(
        self,
        parent: int,
        joint: Any,
        placement: pin.SE3,
        name: str,
        freedom: int | None = None,
        number: int = 0,
    ) -> int:
        """Add a joint; `freedom` and `number` are the indices of its first freedom and of itself in MuJoCo's model."""
        m, infinite = self.compiled, np.full(joint.nv, np.inf)
        low, high = np.full(joint.nq, -np.inf), np.full(joint.nq, np.inf)
        effort, (dry, damping, armature) = infinite, np.zeros((3, joint.nv))
        if freedom is not None:
            own = slice(freedom, freedom + joint.nv)
            dry, damping, armature = m.dof_frictionloss[own], m.dof_damping[own], m.dof_armature[own]
            if joint.nv == 1 and m.jnt_limited[number]:
                low, high = (np.array([limit]) for limit in m.jnt_range[number])
            if joint.nv == 1 and m.jnt_actfrclimited[number]:
                effort = np.abs(m.jnt_actfrcrange[number]).max(keepdims=True)
        index: int = self.model.addJoint(parent, joint, placement, name, effort, infinite, low, high)
        self.frame.append(self.model.addJointFrame(index, self.frame[parent]))
        at = slice(self.model.joints[index].idx_v, self.model.joints[index].idx_v + joint.nv)
        for terms, values in (
            (self.model.friction, dry),
            (self.model.damping, damping),
            (self.model.armature, armature),
        ):
            terms[at] = values
        return index

    def _add_body(self, b: int) -> None:
        m = self.compiled
        carrier, T_parent = self.carrier[m.body_parentid[b]]
        place = T_parent * _placement(m.body_pos[b], m.body_quat[b])
        for j in range(m.body_jntadr[b], m.body_jntadr[b] + m.body_jntnum[b]):
            kind, axis = int(m.jnt_type[j]), np.array(m.jnt_axis[j])
            p = pin.SE3(np.eye(3), np.array(m.jnt_pos[j]))
            if kind == FREE:
                place, p, joint = pin.SE3.Identity(), pin.SE3.Identity(), pin.JointModelFreeFlyer()
                reference = pin.SE3.Identity()
            elif kind == BALL:
                joint, reference = pin.JointModelSpherical(), pin.SE3.Identity()
            else:
                ref = float(m.qpos0[m.jnt_qposadr[j]])
                along = np.flatnonzero(axis == 1.0)
                joint = ALIGNED[kind][along[0]]() if len(along) else UNALIGNED[kind](axis)
                turn = pin.AngleAxis(-ref, axis).matrix() if kind == HINGE else np.eye(3)
                reference = pin.SE3(turn, np.zeros(3) if kind == HINGE else -ref * axis)
            name = self.names[mujoco.mjtObj.mjOBJ_JOINT][j]
            carrier = self._joint(carrier, joint, place * p * reference, name, int(m.jnt_dofadr[j]), j)
            place = p.inverse()
        self.carrier.append((carrier, place))
        self.model.appendBodyToJoint(carrier, inertial_of(m, b), place)
        self.model.addBodyFrame(self.names[mujoco.mjtObj.mjOBJ_BODY][b], carrier, place, self.frame[carrier])


class _Equalities:
    """The active equalities of a compiled model."""

    def __init__(self, compiled: mujoco.MjModel, names: dict[mujoco.mjtObj, list[str]]):
        self.compiled, self.names = compiled, names

    def _active(self, *kinds: int) -> Iterator[int]:
        m = self.compiled
        return (k for k in range(m.neq) if m.eq_active0[k] and int(m.eq_type[k]) in kinds)

    def couplings(self) -> Iterator[JointCoupling]:
        """Joints, or fixed tendons of joints, that follow others."""
        m = self.compiled
        joint, tendon = int(mujoco.mjtEq.mjEQ_JOINT), int(mujoco.mjtEq.mjEQ_TENDON)
        for k in self._active(joint, tendon):
            ends = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
            sides = [self._joints(end, int(m.eq_type[k]) == tendon) for end in ends]
            follower, leader = sides
            if follower is None or leader is None:
                continue  # a tendon through sites: no coupling of joints that holds everywhere
            polynomial = tuple(map(float, m.eq_data[k, :5]))
            yield JointCoupling(follower, leader, polynomial, self._references(follower | leader))

    def _references(self, joints: dict[str, float]) -> dict[str, float]:
        names, m = self.names[mujoco.mjtObj.mjOBJ_JOINT], self.compiled
        found = {joint: float(m.qpos0[m.jnt_qposadr[names.index(joint)]]) for joint in joints}
        return {joint: reference for joint, reference in found.items() if reference}

    def _joints(self, end: int, is_tendon: bool) -> dict[str, float] | None:
        """Joint -> coefficient of one side of an equality; empty: a constant; None: a tendon through sites."""
        m, names = self.compiled, self.names[mujoco.mjtObj.mjOBJ_JOINT]
        if end < 0:
            return {}
        if not is_tendon:
            return {names[end]: 1.0}
        wraps = range(m.tendon_adr[end], m.tendon_adr[end] + m.tendon_num[end])
        if any(m.wrap_type[w] != mujoco.mjtWrap.mjWRAP_JOINT for w in wraps):
            return None
        return {names[m.wrap_objid[w]]: float(m.wrap_prm[w]) for w in wraps}

    def loops(self) -> Iterator[Loop]:
        """Points of two bodies that stay together; a weld holds three."""
        m, weld = self.compiled, int(mujoco.mjtEq.mjEQ_WELD)
        for k in self._active(int(mujoco.mjtEq.mjEQ_CONNECT), weld):
            if m.eq_objtype[k] == mujoco.mjtObj.mjOBJ_SITE:
                sites = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
                bodies = [int(m.site_bodyid[site]) for site in sites]
                frames = [_placement(m.site_pos[site], m.site_quat[site]) for site in sites]
            else:
                bodies = [int(m.eq_obj1id[k]), int(m.eq_obj2id[k])]
                frames = self._frames(k, bodies, int(m.eq_type[k]) == weld)
            if any(m.body_mocapid[body] >= 0 for body in bodies):
                continue  # a handle of the simulation
            arms = (
                np.vstack([np.zeros(3), WELD_ARM_M * np.eye(3)[:2]])
                if m.eq_type[k] == weld
                else np.zeros((1, 3))
            )
            for arm in arms:
                points = tuple(tuple(map(float, frame.act(arm))) for frame in frames)
                yield Loop(tuple(self._link(body) for body in bodies), points)

    def _link(self, body: int) -> str:
        return self.names[mujoco.mjtObj.mjOBJ_BODY][body] if body else WORLD

    def _frames(self, k: int, bodies: list[int], weld: bool) -> list[pin.SE3]:
        """Frame of an equality of bodies in each of them."""
        numbers = self.compiled.eq_data[k]
        if not weld:
            return [pin.SE3(np.eye(3), np.array(numbers[3 * side : 3 * side + 3])) for side in range(2)]
        # anchor in the second body, pose of the second body's frame in the first
        anchor = pin.SE3(np.eye(3), np.array(numbers[:3]))
        relative = _placement(numbers[3:6], numbers[6:10])
        return [relative * anchor, anchor]


def compiled_shapes(path: Path, model: pin.Model) -> pin.GeometryModel:
    """The shapes of an MJCF file that can collide, at the frames of their bodies in a model of the robot.

    Those of the world (tables, floors) are at its frame.

    Raises:
        UnreadableFile: see `compile_text`.
    """
    m, geometry = compile_text(None, path), pin.GeometryModel()
    bodies = object_names(m)[mujoco.mjtObj.mjOBJ_BODY]
    for g in range(m.ngeom):
        body = bodies[m.geom_bodyid[g]]
        solid = _solid(m, g) if m.geom_contype[g] or m.geom_conaffinity[g] else None
        in_world = m.geom_bodyid[g] == 0
        if solid is None or not (in_world or model.existFrame(body, pin.FrameType.BODY)):
            continue
        number = 0 if in_world else model.getFrameId(body, pin.FrameType.BODY)
        frame = model.frames[number]
        placement = frame.placement * _placement(m.geom_pos[g], m.geom_quat[g])
        if m.geom_type[g] == int(mujoco.mjtGeom.mjGEOM_PLANE):
            placement = placement * pin.SE3(np.eye(3), np.array([0.0, 0.0, -SLAB_M[2]]))
        geometry.addGeometryObject(
            pin.GeometryObject(f"{body} {g}", frame.parentJoint, number, placement, solid)
        )
    return geometry


def _solid(m: mujoco.MjModel, g: int) -> Any:
    """A geom as a shape of coal, a plane as a slab below it; None for height fields."""
    size, kinds = np.array(m.geom_size[g]), mujoco.mjtGeom
    kind = int(m.geom_type[g])
    if kind == kinds.mjGEOM_SPHERE:
        return coal.Sphere(size[0])
    if kind == kinds.mjGEOM_CAPSULE:
        return coal.Capsule(size[0], 2 * size[1])
    if kind == kinds.mjGEOM_CYLINDER:
        return coal.Cylinder(size[0], 2 * size[1])
    if kind == kinds.mjGEOM_ELLIPSOID:
        return coal.Ellipsoid(size)
    if kind == kinds.mjGEOM_BOX:
        return coal.Box(2 * size)
    if kind == kinds.mjGEOM_PLANE:  # a half-space has no distance to a mesh
        return coal.Box(2 * SLAB_M)
    if kind != kinds.mjGEOM_MESH:
        return None
    mesh = m.geom_dataid[g]
    vertices = m.mesh_vert[m.mesh_vertadr[mesh] :][: m.mesh_vertnum[mesh]]
    faces = m.mesh_face[m.mesh_faceadr[mesh] :][: m.mesh_facenum[mesh]]
    solid = coal.BVHModelOBBRSS()
    solid.beginModel(len(faces), len(vertices))
    solid.addVertices(vertices.astype(float))
    solid.addTriangles(faces.astype(np.uint64))
    solid.endModel()
    return solid
