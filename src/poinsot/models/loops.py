"""Closed kinematic chains: points of two links that stay together (Featherstone 2008, ch. 8).

The tree of joints is cut open where a loop closes. There a point of link a and one of link b coincide, as in a ball
joint; a hinge is two loops, with points on its axis. In the axes of the world

    r(q) = p_a - p_b = 0,     J v = 0,  J = R_a J_a - R_b J_b,     J a + gamma = 0

Rows can be redundant (a planar loop has two of three). With the dependent freedoms d and the independent ones i,

    v_d = G v_i,  G = -J_d^+ J_i,     a_d = G a_i - J_d^+ gamma,     v = N v_i

Forces that close a loop do no work in such a motion: N^T (M a + b - tau) = 0 is one equation an independent freedom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin
from jaxtyping import Float
from scipy import linalg

from ..arrays import Columns, ColumnSlopes, Configurations, JointSamples, Vector
from ..exceptions import InvalidModel, listing, nearest
from .contacts import PointContact
from .frame_motion import FrameMotion, FrameSlopes, frame_motions
from .rotations import skew
from .tree import Tree

CLOSING_RATE = 50.0
"""Rate at which a simulated loop closes a gap [1/s]: far above joints' motion, far below the sampling rate."""

WORLD = "world"
"""The link that does not move, as a link of a loop."""

CLOSED = 1e-10
"""Gap of a closed loop, as part of the mechanism's size: rounding of positions."""

DAMPING = 1e-14
"""Of normal equations, relative to their trace."""

MAX_ITERATIONS = 50
"""Of Newton's method, which needs five where a loop can be closed."""

STEPS = 20
"""Intermediate positions on the way from the neutral configuration to a sample: a fraction of a radian each."""

REGULAR = 1e-2
"""Smallest singular value of J_d beside its largest at the random states that show which parameters matter."""


@dataclass(frozen=True)
class Loop:
    """Points of two links that coincide, as MJCF's `connect`.

    Args:
        links: the two links; "world" is the one that does not move.
        points: of each, in its frame [m].
    """

    links: Sequence[str]
    points: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        if any(len(point) != 3 or not np.isfinite(point).all() for point in self.points):
            raise InvalidModel(
                f"the loop between {self.links[0]!r} and {self.links[1]!r} needs a point of three finite numbers [m] "
                "in the frame of each link: points = [[0, 0, 0.3], [0, 0, 0]]"
            )


def frames_of(loops: Sequence[Loop]) -> list[tuple[str, ...]]:
    """Names of the frames at both points of each loop, which `load_robot` adds to the robot."""
    return [tuple(f"loop{k}.{side}.{loop.links[side]}" for side in range(2)) for k, loop in enumerate(loops)]


@dataclass(frozen=True, eq=False)
class RelativeMotion(FrameMotion):
    """How a point a moves relative to a point b, in the axes of the world, as if it were a frame that does not turn.

    With x a vector of a frame, R x changes by R (x_q - [x]x J_w) with q.

    Args:
        ends: the motions of both frames.
    """

    ends: tuple[FrameMotion, ...] = ()

    @classmethod
    def of(cls, ends: tuple[FrameMotion, FrameMotion]) -> RelativeMotion:
        """Of the first frame relative to the second, with slopes if these have them."""
        a, b = (_in_world(frame) for frame in ends)
        difference = [
            np.pad(x - y, [(0, 0), (0, 3), *[(0, 0)] * (x.ndim - 2)]) for x, y in zip(a, b, strict=True)
        ]
        velocity, acceleration, *slopes = difference
        return cls(
            np.broadcast_to(np.eye(3), ends[0].rotation.shape),
            ends[0].position - ends[1].position,
            velocity,
            acceleration,
            FrameSlopes(*slopes) if slopes else None,
            ends,
        )


def _in_world(frame: FrameMotion) -> Iterator[np.ndarray]:
    """(T, 3) velocity and acceleration of the origin in the world, then their slopes in the order of `FrameSlopes`."""
    R, v, a = frame.rotation, frame.velocity[:, :3], frame.point_acceleration
    yield from ((R @ x[:, :, None])[:, :, 0] for x in (v, a))
    if frame.slopes is None:
        return
    J, J_w, v_q = (
        frame.slopes.jacobian[:, :3],
        frame.slopes.jacobian[:, 3:],
        frame.slopes.velocity_by_q[:, :3],
    )
    a_q, a_v, _ = frame.point_acceleration_slopes()
    yield from (R @ x for x in (J, v_q - skew(v) @ J_w, a_q - skew(a) @ J_w, a_v))


@dataclass(frozen=True, eq=False)
class LoopConstraint(PointContact):
    """A loop that stays closed: J a + gamma = 0 with Baumgarte's terms 2 rate J v + rate^2 r in gamma (1972).

    Its force [N] is on the first frame in the axes of the world, and the opposite one on the second.

    Args:
        frame: its name, the first of the frames.
        damping: 2 rate [1/s].
        ends: the frames that keep together.
    """

    damping: float = 2 * CLOSING_RATE
    ends: tuple[str, ...] = ()

    @property
    def frames(self) -> tuple[str, ...]:
        return self.ends

    def motion(self, frames: Mapping[str, FrameMotion]) -> RelativeMotion:
        a, b = self.ends
        return RelativeMotion.of((frames[a], frames[b]))

    def residual(self, motion: FrameMotion) -> Columns:
        return super().residual(motion) + (self.damping / 2) ** 2 * motion.position

    def residual_slopes(self, motion: FrameMotion) -> tuple[ColumnSlopes, ColumnSlopes]:
        by_q, by_v = super().residual_slopes(motion)
        return by_q + (self.damping / 2) ** 2 * self.jacobian(motion), by_v

    def wrench(self, motion: FrameMotion, force: Columns) -> Float[np.ndarray, "T 12"]:
        return np.concatenate([np.pad(f, ((0, 0), (0, 3))) for f, _ in self._at_ends(motion, force)], axis=1)

    def effort_by_q(self, motion: FrameMotion, force: Columns) -> Float[np.ndarray, "T n n"]:
        # R^T f changes by [R^T f]x J_w
        jacobians = [(f, end.by.jacobian) for f, end in self._at_ends(motion, force)]
        return sum(J[:, :3].transpose(0, 2, 1) @ skew(f) @ J[:, 3:] for f, J in jacobians)

    @staticmethod
    def _at_ends(motion: FrameMotion, force: Columns) -> Iterator[tuple[Columns, FrameMotion]]:
        """The force on each frame in its axes, and the motion of this frame."""
        assert isinstance(motion, RelativeMotion), "the motion of a loop is that of both ends"
        for sign, end in zip((1, -1), motion.ends, strict=True):
            yield sign * (force[:, None] @ end.rotation)[:, 0], end


def add_frames(model: pin.Model, loops: Sequence[Loop]) -> None:
    """Add a frame to the model at each point of each loop.

    Raises:
        InvalidModel: if a link does not exist.
    """
    links = {f.name: f for f in model.frames if f.type == pin.FrameType.BODY} | {WORLD: model.frames[0]}
    for loop, names in zip(loops, frames_of(loops), strict=True):
        for link, point, name in zip(loop.links, loop.points, names, strict=True):
            at = links.get(link)
            if at is None:
                raise InvalidModel(
                    f"a loop needs two links, not {link!r}{nearest(link, links)}; the robot has {listing(links, 20)}"
                )
            placement = at.placement * pin.SE3(np.eye(3), np.array(point, dtype=float))
            model.addFrame(
                pin.Frame(name, at.parentJoint, model.getFrameId(at.name, at.type), placement, pin.OP_FRAME)
            )


def loops_of(
    model: pin.Model,
    points: Iterable[pin.PointAnchorConstraintModel],
    welds: Iterable[pin.FrameAnchorConstraintModel],
) -> Iterator[Loop]:
    """The equalities `connect` of an MJCF description, as Pinocchio reads them.

    Raises:
        InvalidModel: if there are others, `weld`.
    """
    if len(list(welds)):
        raise InvalidModel(
            "the description welds bodies together, which would be lost: make them one body, or give two or three "
            "`connect` on the same bodies"
        )
    for point in points:
        ends = [(point.joint1_id, point.joint1_placement), (point.joint2_id, point.joint2_placement)]
        links, at = zip(*(_seen_from_link(model, joint, T) for joint, T in ends), strict=True)
        yield Loop(links, at)


def _seen_from_link(model: pin.Model, joint: int, placement: pin.SE3) -> tuple[str, tuple[float, ...]]:
    """The first link that a joint carries, and a point in its frame."""
    link = next(
        (f for f in model.frames if f.parentJoint == joint and f.type == pin.FrameType.BODY), model.frames[0]
    )
    return (link.name if joint else WORLD), tuple((link.placement.actInv(placement)).translation.tolist())


@dataclass(frozen=True, eq=False)
class Closure:
    """The loops of a robot.

    Args:
        tree: the robot, cut open.
        carriers, placements: (2 L,) joint of the tree and (2 L, 4, 4) T_jf of the frames a and b of each loop.
        passive: (n,) whether nothing drives a freedom; these become dependent first.
        neutral: (n,) positions of the joints near which the loops close.
        configurations: (T, n) positions of the joints -> (T, nq) q.

    Raises:
        InvalidModel: if the loops cannot be closed near `neutral`.
    """

    tree: Tree
    carriers: np.ndarray
    placements: np.ndarray
    passive: np.ndarray
    neutral: Vector
    configurations: Callable[[JointSamples], Configurations]

    @cached_property
    def closed(self) -> Vector:
        """(n,) positions near `neutral` at which the loops are closed."""
        found, gap = self._closed(self.neutral[None], np.arange(len(self.neutral)))
        if not gap[0] <= self.tolerance:
            raise InvalidModel(
                f"the loops cannot be closed near the neutral configuration: {1e3 * gap[0]:.3g} mm stay open"
            )
        closed: Vector = found[0]
        return closed

    @cached_property
    def tolerance(self) -> float:
        """Largest gap of a closed loop [m]."""
        return float(CLOSED * (np.abs(self.placements[:, :3, 3]).max() + np.abs(self.tree.translation).max()))

    @cached_property
    def dependent(self) -> np.ndarray:
        """Freedoms that follow from the others, in rising order; passive ones where these are enough."""
        # a little off, since a mechanism can be singular where it is drawn
        away = self.closed + np.random.default_rng(0).uniform(-0.1, 0.1, len(self.closed))
        near, _ = self._closed(away[None], np.arange(len(away)))
        # pivoting takes the largest column first
        R, order = linalg.qr(
            self.jacobian(self.configurations(near))[0] * np.where(self.passive, 1e6, 1.0),
            mode="r",
            pivoting=True,
        )
        size = np.abs(np.diag(R)) / np.where(self.passive[order[: len(R)]], 1e6, 1.0)[: min(R.shape)]
        rank = int(np.count_nonzero(size > 1e-8 * size.max()))
        return np.sort(order[:rank])

    @cached_property
    def independent(self) -> np.ndarray:
        """The other freedoms: one equation of motion each."""
        return np.setdiff1d(np.arange(len(self.neutral)), self.dependent)

    def jacobian(self, q: Configurations) -> Float[np.ndarray, "T r n"]:
        """J."""
        return self._stacked(self._frames(q), lambda frame: frame.by.jacobian[:, :3])

    def projection(self, q: Configurations) -> Float[np.ndarray, "T n i"]:
        """N, whose columns are the motions that the loops allow."""
        J, d, i = self.jacobian(q), self.dependent, self.independent
        N = np.zeros((len(q), len(self.neutral), len(i)))
        N[:, i] = np.eye(len(i))
        N[:, d] = -_least_squares(J[:, :, d], J[:, :, i])
        return N

    def positions(self, positions: JointSamples) -> tuple[JointSamples, Vector]:
        """(T, n) positions whose dependent ones close the loops, and (T,) the gap that stays [m].

        Args:
            positions: of all joints; dependent ones are where the search begins, NaN where they were not measured: it
                then goes from the neutral configuration to each sample in small steps.
        """
        d, i = self.dependent, self.independent
        given = np.isfinite(positions[:, d]).all()
        start = positions.copy() if given else np.broadcast_to(self.closed, positions.shape).copy()
        gap = np.zeros(len(positions))
        for part in (1.0,) if given else np.linspace(0, 1, STEPS + 1)[1:]:
            start[:, i] = (
                positions[:, i] if given else self.closed[i] + part * (positions[:, i] - self.closed[i])
            )
            start, gap = self._closed(start, d)
        return start, gap

    def motion(
        self, q: Configurations, v: JointSamples, a: JointSamples
    ) -> tuple[JointSamples, JointSamples]:
        """(T, n) v and a whose dependent columns follow from the independent ones."""
        d, i = self.dependent, self.independent
        N = self.projection(q)
        v = np.einsum("tni, ti -> tn", N, v[:, i])
        a = np.einsum("tni, ti -> tn", N, a[:, i])
        frames = self._frames(q, v)
        gamma = self._stacked(frames, lambda frame: frame.point_acceleration[:, :, None])
        J_d = self._stacked(frames, lambda frame: frame.by.jacobian[:, :3])[:, :, d]
        a[:, d] -= _least_squares(J_d, gamma)[:, :, 0]
        return v, a

    def random_states(
        self, count: int, rng: np.random.Generator
    ) -> tuple[Configurations, JointSamples, JointSamples]:
        """(count, nq), (count, n), (count, n): closed configurations, speeds and accelerations of order 1."""
        found = np.empty((0, len(self.neutral)))
        while len(found) < count:
            drawn = self.closed + rng.uniform(-np.pi, np.pi, (2 * count, len(self.neutral)))
            tried, gap = self._closed(drawn, np.arange(len(self.neutral)))
            sizes = np.linalg.svd(
                self.jacobian(self.configurations(tried))[:, :, self.dependent], compute_uv=False
            )
            found = np.concatenate(
                [found, tried[(gap <= self.tolerance) & (sizes[:, -1] > REGULAR * sizes[:, 0])]]
            )
        q = self.configurations(found[:count])
        return q, *self.motion(q, *rng.standard_normal((2, count, len(self.neutral))))

    def _closed(self, positions: JointSamples, moved: np.ndarray) -> tuple[JointSamples, Vector]:
        """Newton's method over these freedoms: positions and the gap that stays [m]."""
        positions = positions.copy()
        for _ in range(MAX_ITERATIONS):
            frames = self._frames(self.configurations(positions))
            r = np.concatenate(
                [a.position - b.position for a, b in zip(frames[::2], frames[1::2], strict=True)], axis=1
            )
            if np.all(np.abs(r) <= self.tolerance):
                break
            J = self._stacked(frames, lambda frame: frame.by.jacobian[:, :3])[:, :, moved]
            step = _least_squares(J, r[:, :, None])[:, :, 0]
            # a joint turns by half a radian at most: farther, the linearization says nothing
            positions[:, moved] -= step / np.maximum(1, 2 * np.abs(step).max(axis=1, keepdims=True))
        return positions, np.abs(r).max(axis=1)

    def _frames(self, q: Configurations, v: JointSamples | None = None) -> list[FrameMotion]:
        still = np.zeros((len(q), len(self.neutral)))
        return frame_motions(
            self.tree, self.carriers, self.placements, q, still if v is None else v, still, False, True
        )

    @staticmethod
    def _stacked(frames: list[FrameMotion], of: Callable[[FrameMotion], np.ndarray]) -> np.ndarray:
        """(T, 3 L, k) of a vector in the axes of each frame: of frame a less of frame b, in those of the world."""
        world = [frame.rotation @ of(frame) for frame in frames]
        return np.concatenate([a - b for a, b in zip(world[::2], world[1::2], strict=True)], axis=1)


def _least_squares(
    A: Float[np.ndarray, "T r n"], b: Float[np.ndarray, "T r k"]
) -> Float[np.ndarray, "T n k"]:
    """A^+ b by normal equations; with as much damping as rounding, since all joints together can close in many ways."""
    H = A.transpose(0, 2, 1) @ A
    damping = DAMPING * np.trace(H, axis1=1, axis2=2)[:, None, None]
    return np.linalg.solve(H + damping * np.eye(H.shape[1]), A.transpose(0, 2, 1) @ b)
