"""A whole-body controller: one quadratic program a tick, with given masses (Koolen et al. 2016).

    min over a, f    sum over tasks |A a - b|_w^2 + |f|_r^2
    subject to       M a + c - sum J_i^T f_i = (0, tau),  |tau| <= tau_max        base rows without effort
                     f_i in the friction pyramid of its sole, its centre of pressure inside

f_i is the wrench of the ground on a sole, about the sole's centre, in its axes; on a ball it is a force in the world's
axes. A foot in the air has f_i = 0; a hand that holds a bar has no pyramid. What bodies weigh comes from outside at
every tick: this is where an estimate closes its loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
import pinocchio as pin
from proxsuite import proxqp

from poinsot.arrays import Matrix, Vector
from poinsot.models.robot.articulated import Articulated

from .plant import Foot, Grip, described_efforts
from .tasks import Kinematics, Task

FORCE_SCALE = 100.0
"""[N] of wrenches inside the program, so that they are as large as accelerations."""

WRENCH_WEIGHTS = np.repeat([1e-4, 4e-2], 3)
"""Of forces and moments; 5 N m weigh like 100 N, so that two feet share the load as they lie, and not by twisting."""
EFFORT_STEP = 1e-3
"""Commands are rounded to steps of this [N m] or [N]."""
DECIMALS = 9
"""Of a solution, which the next program begins with, and with nothing else of the one before.

The solver adds in an order that depends on where its memory lies, so now and then the same program has other last
digits in another process. A robot that walks makes that grow until it shows; rounded here and in efforts, it is gone,
if programs are solved so well that stopping a step earlier or later does not show either.
"""
FEASIBLE = 1e-2
"""Violation of a program's constraints with which its efforts are still used: 1 N, 0.01 N m."""


@dataclass(frozen=True)
class ContactLimits:
    """Limits of the wrench on a sole.

    Args:
        friction: tangential over normal force.
        torsion: moment about the normal over normal force [m].
        margin: part of the sole inside which the centre of pressure stays.
        smallest_force, largest_force: normal, of a sole that may carry [N]; above 0, so that it stays on the ground.
    """

    friction: float = 0.5
    torsion: float = 0.03
    margin: float = 0.9
    smallest_force: float = 20.0
    largest_force: float = 2000.0


@dataclass(frozen=True, eq=False)
class Command:
    """Result of one program.

    Args:
        tau: (n,) efforts, 0 of the base.
        acceleration: (n,) that it expects. wrenches: foot -> (size,) that it expects, about the sole's centre.
        solved: whether the program was; otherwise the efforts are those of the tick before.
    """

    tau: Vector
    acceleration: Vector
    wrenches: Mapping[str, Vector]
    solved: bool


class WholeBodyController:
    """Efforts that fulfil tasks as well as the limits of feet and motors allow.

    Args:
        robot: its description gives the bodies unless `inertials` do.
        soles: feet that may touch.
        effort_limits: (n,); None: the description's.
        limits: of every sole.
        frames: further frames that tasks name: name -> (body, position in its frame).
        wrench_weight: by which the weight of wrenches is multiplied; more shares the load more evenly.
    """

    def __init__(
        self,
        robot: Articulated,
        soles: Sequence[Foot] = (),
        *,
        effort_limits: Vector | None = None,
        limits: ContactLimits | None = None,
        frames: Mapping[str, tuple[str, Vector]] | None = None,
        wrench_weight: float = 1.0,
    ):
        self.robot, self.soles = robot, tuple(soles)
        self.effort_limits = described_efforts(robot) if effort_limits is None else effort_limits
        self.limits = limits or ContactLimits()
        own = {sole_frame(sole): (sole.body, sole.centre) for sole in self.soles}
        self.kinematics = Kinematics(robot, own | dict(frames or {}))
        n = robot.model.nv
        self._base = 6 if robot.floating_base else 0
        # of each sole the components of its wrench, and the rows of the cone
        self._wrenches = _slices(sole.size for sole in self.soles)
        blocks = [self._cone_of(sole) for sole in self.soles]
        self._rows = _slices(len(block) for block in blocks)
        self._size, motors = n + sum(sole.size for sole in self.soles), n - self._base
        self._cone = np.zeros((sum(len(block) for block in blocks), self._size))
        for rows, columns, block in zip(self._rows, self._wrenches, blocks, strict=True):
            self._cone[rows, n + columns.start : n + columns.stop] = block
        self._program = proxqp.dense.QP(self._size, self._base, motors + len(self._cone))
        settings = self._program.settings
        settings.eps_abs, settings.max_iter, settings.max_iter_in = 1e-8, 100, 500
        # its test of infeasibility fires on programs like this one that it solves to 1e-6 a moment later
        settings.eps_primal_inf = settings.eps_dual_inf = 1e-20
        settings.initial_guess = proxqp.InitialGuess.WARM_START
        self._before: tuple[Vector, ...] = ()
        self._tau = np.zeros(n)
        self._regularization = np.concatenate(
            [np.full(n, 1e-5), *(wrench_weight * WRENCH_WEIGHTS[: sole.size] for sole in self.soles)]
        )

    def __call__(
        self,
        q: Vector,
        v: Vector,
        tasks: Sequence[Task],
        *,
        loads: Mapping[str, float] | None = None,
        inertials: Mapping[str, Vector] | None = None,
    ) -> Command:
        """The efforts of one tick.

        Args:
            q, v: (nq,), (n,) the state.
            loads: foot -> part of the largest normal force that it may carry, 0 in the air; None: all may.
            inertials: body -> (10,) what it is taken for from now on.
        """
        if inertials:
            self.kinematics.set_bodies(inertials)
        self.kinematics.update(q, v)
        return self.solve(tasks, loads)

    def solve(self, tasks: Sequence[Task], loads: Mapping[str, float] | None = None) -> Command:
        """The same where `kinematics` is at the state already."""
        kinematics, n, base = self.kinematics, self.robot.model.nv, self._base
        M, c, J = kinematics.mass_matrix, kinematics.bias, self._sole_jacobian(loads)
        rows = [task.rows(kinematics) for task in tasks]
        w = np.concatenate([weight for _, _, weight in rows])
        A = np.concatenate([A for A, _, _ in rows]) * w[:, None]
        b = np.concatenate([b for _, b, _ in rows]) * w
        H = np.diag(self._regularization)
        H[:n, :n] += A.T @ A
        g = np.zeros(self._size)
        g[:n] = -A.T @ b
        dynamics = np.concatenate([M, -FORCE_SCALE * J.T], axis=1)
        equality, right = dynamics[:base], -c[:base]
        C = np.concatenate([dynamics[base:], self._cone])
        low, high = self._bounds(c, loads)
        program = self._program
        # init once: update keeps the factorization's memory
        state = program.update if self._before else program.init
        state(H, g, equality, right, C, low, high)
        program.solve(*self._before)
        results = program.results
        solution = tuple(np.round(part, DECIMALS) for part in (results.x, results.y, results.z))
        z = solution[0]
        # by the violation and not by the solver's status, which is stricter than efforts need
        solved = results.info.pri_res < FEASIBLE and all(np.isfinite(part).all() for part in solution)
        if solved:
            self._before = solution
            self._tau = np.zeros(n)
            self._tau[base:] = EFFORT_STEP * np.round((dynamics @ z + c)[base:] / EFFORT_STEP)
        f = FORCE_SCALE * z[n:]
        wrenches = {sole.body: f[own] for sole, own in zip(self.soles, self._wrenches, strict=True)}
        return Command(self._tau, z[:n].copy(), wrenches, solved)

    def _sole_jacobian(self, loads: Mapping[str, float] | None) -> Matrix:
        """(k, n) of the soles' centres, in the axes of their wrenches; 0 of those in the air, whose wrench is 0."""
        kinematics, axes = self.kinematics, pin.ReferenceFrame
        J = np.zeros((self._size - self.robot.model.nv, self.robot.model.nv))
        for sole, own in zip(self.soles, self._wrenches, strict=True):
            if _carries(loads, sole):
                J[own] = pin.getFrameJacobian(
                    kinematics.model,
                    kinematics.data,
                    kinematics.frame(sole_frame(sole)),
                    axes.LOCAL_WORLD_ALIGNED if sole.in_world else axes.LOCAL,
                )[: sole.size]
        return J

    def _cone_of(self, sole: Foot) -> Matrix:
        """(r, size) rows of a sole's wrench: normal force, then what must not be above 0."""
        # a hand that holds a bar also pulls
        if isinstance(sole, Grip):
            return np.zeros((0, sole.size))
        limits = self.limits
        along, across = (limits.margin * extent for extent in sole.extents)
        # |x| <= reach f_z, for forces along x and y, moments about x, y and z
        # a moment about x comes from a lever along y, and the other way round
        reaches = {0: limits.friction, 1: limits.friction, 3: across, 4: along, 5: limits.torsion}
        rows = [np.eye(sole.size)[2]]
        for component, reach in reaches.items():
            if component < sole.size:
                # both signs: x <= reach f_z and -x <= reach f_z
                for sign in (1.0, -1.0):
                    row = np.zeros(sole.size)
                    row[component], row[2] = sign, -reach
                    rows.append(row)
        return np.array(rows)

    def _bounds(self, c: Vector, loads: Mapping[str, float] | None) -> tuple[Vector, Vector]:
        limit = self.effort_limits[self._base :]
        low = np.concatenate([-limit - c[self._base :], np.full(len(self._cone), -1e20)])
        high = np.concatenate([limit - c[self._base :], np.zeros(len(self._cone))])
        for sole, own in zip(self.soles, self._rows, strict=True):
            rows = slice(len(limit) + own.start, len(limit) + own.stop)
            if isinstance(sole, Grip):
                continue
            if _carries(loads, sole):
                part = 1.0 if loads is None else loads[sole.body]
                low[rows.start] = self.limits.smallest_force / FORCE_SCALE
                high[rows.start] = (
                    max(part * self.limits.largest_force, self.limits.smallest_force) / FORCE_SCALE
                )
            else:  # nothing moves its wrench from 0: more constraints than zeros would be degenerate
                high[rows] = 1e20
        return low, high


def sole_frame(sole: Foot) -> str:
    """Name of the frame at a sole's centre in a controller's model."""
    return f"{sole.body} sole"


def _slices(sizes: Iterable[int]) -> list[slice]:
    """Of parts of these sizes, one after the other."""
    ends = [0, *accumulate(sizes)]
    return [slice(first, last) for first, last in pairwise(ends)]


def _carries(loads: Mapping[str, float] | None, sole: Foot) -> bool:
    return loads is None or loads.get(sole.body, 0.0) > 0
