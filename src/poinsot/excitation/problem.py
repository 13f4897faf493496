"""The excitation problem: robot, parameters to excite, duration and limits; regressor and torques of a motion.

A problem that contradicts itself is refused here, in one sentence, before any time is spent on a design.

    W   the columns of the base parameters
    tau = W_full theta   with the parameters that the description gives, friction and rotors where they are held

The bodies' entries have an adjoint kernel for derivatives; all others are linear in a (rotors) or v (viscous friction,
couplings), or functions of one joint's speed (other friction) or position (efforts). A jump has no derivative, so while
a motion is being designed, friction is smoothed over s, a small part of the largest speed (see `models.friction`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..arrays import JointSamples, Times, Vector
from ..exceptions import InvalidMethod, InvalidModel, listing
from ..models.friction import FrictionColumn
from ..models.friction.listed import parameter_of
from ..models.robot import tree as kinds
from ..models.robot.articulated import Articulated
from ..models.robot.collisions import Collisions, Surroundings
from ..models.robot.regressor_adjoint import regressor_adjoint
from ..parameters import Parameters, PerJoint, per_joint
from ..regression.base_parameters import BaseParameters, structural_base
from ..regression.regressor import Regressor
from .limits import Limits, limits_of
from .trajectory import sample_times


@dataclass(frozen=True, eq=False)
class Terms:
    """Regressor and torques of one robot along a motion.

    Args:
        regressor: the regressor with all columns.
        base: the base parameters to excite.
        theta: (p,) parameters that torques are computed with.
        rounding: (n,) speed s below which dry friction is smoothed; 0: it is not.
    """

    regressor: Regressor
    base: BaseParameters
    theta: Vector
    rounding: Vector

    def entries(self, q: JointSamples, v: JointSamples, a: JointSamples) -> np.ndarray:
        """(T, K) entries of the regressor at positions, speeds and accelerations of the joints."""
        E = self.regressor.entries(self.regressor.robot.configurations(q), v, a)
        for term, entries, joints in self._smoothed:
            E[:, entries] = term.effort(v[:, joints], self.rounding[joints])
        return E

    def W(self, entries: np.ndarray) -> np.ndarray:
        """(T, n, b) columns of the base parameters."""
        return self.regressor.scatter(entries, self.base.chosen)

    def torques(self, entries: np.ndarray) -> JointSamples:
        """(T, n) torques [N m] or [N]."""
        return (entries * self._theta) @ self._rows

    def pull_back(
        self,
        q: JointSamples,
        v: JointSamples,
        a: JointSamples,
        by_W: np.ndarray | None,
        by_torque: JointSamples,
    ) -> tuple[JointSamples, JointSamples, JointSamples]:
        """(T, n) each: derivatives by q, v, a of a function of the first samples' W and of all torques, from
        its derivatives `by_W` (T_W <= T, n, b) and `by_torque` (T, n).
        """
        rows, _ = self.regressor.structure
        G = by_torque[:, rows] * self._theta
        if by_W is not None:
            chosen, place = self.regressor.places(self.base.chosen)
            G[: len(by_W), chosen] += by_W[:, rows[chosen], place]
        robot = self.regressor.robot
        bodies = 10 * len(robot.tree.pairs[0])
        configurations = robot.configurations(q)
        dq, dv, da = regressor_adjoint(robot.tree, configurations, v, a, G[:, :bodies])
        by_v, by_a = self.regressor.joint_terms.linear_entries
        dv, da = dv + G[:, bodies:] @ by_v.T, da + G[:, bodies:] @ by_a.T
        for term, entries, joints in self._smoothed:
            slope = term.slope(v[:, joints], self.rounding[joints])
            # a joint may occur more than once, which `+=` with an index would count once
            np.add.at(dv.T, joints, (G[:, entries] * slope).T)
        columns = self.regressor.joint_terms.structure[1]
        for effort, dof, places, read in self.regressor.joint_terms.efforts:
            if not len(read):
                own = G[:, bodies + np.searchsorted(columns, places)]
                dq[:, dof] += np.sum(own * effort.slopes(q[:, dof]), axis=1)
        return dq, dv, da

    @cached_property
    def _rows(self) -> np.ndarray:
        """(K, n) 1 where an entry belongs to a degree of freedom."""
        rows, _ = self.regressor.structure
        return np.eye(self.regressor.robot.model.nv)[rows]

    @cached_property
    def _theta(self) -> np.ndarray:
        """(K,) the parameter of each entry."""
        return np.asarray(self.theta[self.regressor.structure[1]])

    @cached_property
    def _smoothed(self) -> tuple[tuple[FrictionColumn, np.ndarray, np.ndarray], ...]:
        """Friction terms that are not linear in v, with their entries of joints with smoothing, and these joints."""
        rows, columns = self.regressor.structure
        kinds = np.array(self.regressor.parameters.kinds)[columns]
        smoothed = []
        for term in self.regressor.robot.friction.terms:
            entries = np.flatnonzero((kinds == term.parameter.kind) & (self.rounding[rows] > 0))
            if not term.is_viscous and len(entries):
                smoothed.append((term, entries, rows[entries]))
        return tuple(smoothed)


def with_friction_held(parameters: Parameters) -> Parameters:
    """The parameters with friction held at 0, so that it is not in the base."""
    friction = {
        name: 0.0
        for name, kind in zip(parameters.names, parameters.kinds, strict=True)
        if parameter_of(kind) is not None and name not in parameters.held
    }
    return parameters.hold(**friction)


NOISE_OF_LIMIT = 0.01
"""Where no noise of the torques is given: this part of each joint's torque limit, and 1 N m where there is none."""

SMOOTHED_SPEED = 0.02
"""During a design, dry friction is smoothed below this part of the largest speed, or below this speed [rad/s]."""

MAX_READINGS = 2e7
"""Maximum number of torque samples of a motion: an hour of seven joints at 800 Hz; the regressor takes gigabytes."""

CHECKED_HZ = 200.0
"""Limits and collisions are checked at least at this rate along the whole motion. [Hz]"""


@dataclass(frozen=True, eq=False)
class ExcitationProblem:
    """A motion from rest to rest that excites the base parameters of a robot, within limits and free of collisions.

    Args:
        robot: the robot that moves.
        duration_s: duration of the motion. rate_hz: rate of the samples that will be recorded.
        limits: limits at every time.
        base: the parameters to excite.
        theta: (p,) parameters that torques are computed with: the description's, and held ones.
        torque_std: (n,) standard deviation of white noise of each measured torque [N m] or [N].
        start: (n,) posture to start from [rad] or [m]; None: any.
        collisions: the pairs to check. clearances: (C,) least distance of each pair [m].
        warnings: what could not be checked, or had to be assumed.
    """

    robot: Articulated
    duration_s: float
    rate_hz: float
    limits: Limits
    base: BaseParameters
    theta: Vector
    torque_std: Vector
    start: Vector | None
    collisions: Collisions
    clearances: Vector
    warnings: tuple[str, ...] = field(default_factory=tuple)

    @cached_property
    def time(self) -> Times:
        """(T,) times of the samples that will be recorded. [s]"""
        return sample_times(self.duration_s, self.rate_hz)

    @cached_property
    def checked_time(self) -> Times:
        """Times of the check: the samples and, where they are few, times between them. [s]"""
        # a multiple of the rate, so that it includes the samples themselves
        often = int(np.ceil(CHECKED_HZ / self.rate_hz))
        return sample_times(self.duration_s, often * self.rate_hz)

    @cached_property
    def terms(self) -> Terms:
        """Regressor and torques as they are."""
        self.robot.refuse_loops("the design of motions")
        regressor = Regressor(self.robot, self.base.parameters)
        return Terms(regressor, self.base, self.theta, np.zeros(len(self.robot.joints)))

    @cached_property
    def rounded_terms(self) -> Terms:
        """The same with smoothed dry friction, which has derivatives."""
        speed = self.limits.velocity
        return replace(self.terms, rounding=SMOOTHED_SPEED * np.where(np.isfinite(speed), speed, 1.0))

    @cached_property
    def nominal(self) -> Vector:
        """(b,) values of the base parameters as the description has them; NaN where it has none."""
        values: Vector = self.base.map @ self.theta
        known = np.array([kind == "inertia" for kind in self.base.kinds])
        # a value that is zero up to rounding would have a relative deviation of 1e9 %
        terms = np.abs(self.base.map) @ np.abs(self.theta)  # what cancels up to rounding is zero
        return np.where(known & (np.abs(values) > 1e-9 * terms), values, np.nan)

    def holding_torques(self, q: JointSamples) -> JointSamples:
        """(T, n) torques that hold the robot still."""
        still = np.zeros_like(q)
        return self.terms.torques(self.terms.entries(q, still, still))

    def free_postures(self, q: JointSamples) -> np.ndarray:
        """(T,) whether each posture can be held within limits and touches nothing."""
        room = self.collisions.distances(self.robot.configurations(q)) >= self.clearances
        inside = (q >= self.limits.lower) & (q <= self.limits.upper)
        held = np.abs(self.holding_torques(q)) < self.limits.torque
        return np.asarray(np.concatenate([room, inside, held], axis=1).all(axis=1))


def excitation_problem(
    robot: Articulated,
    *,
    duration_s: float = 10.0,
    rate_hz: float = 100.0,
    limits: Limits | None = None,
    friction: bool = False,
    payload: str | None = None,
    held: Mapping[str, float] | None = None,
    torque_std: PerJoint | None = None,
    start: PerJoint | None = None,
    surroundings: Surroundings | None = None,
    clearance_m: float = 0.02,
) -> ExcitationProblem:
    """Build the problem of a motion: the parameters to excite, and its limits.

    Args:
        robot: robot with joints of one degree of freedom each, all driven, and a fixed base.
        duration_s: duration of the motion. rate_hz: rate of the samples that will be recorded.
        limits: as `limits_of` returns them; None: the description's.
        friction: whether the parameters of friction are excited too, by the law of the robot's joints.
        payload: a link, where only the ten parameters of its load are excited and all others are known.
        held: parameter name -> value of a known parameter.
        torque_std: white noise of each sample of a joint's torque, as deviation [N m] or [N]; None: 1 % of its limit.
        start: the posture to start from [rad] or [m]; None: the design chooses one.
        surroundings: what not to touch; None: the robot itself.
        clearance_m: least distance; links that are close by construction keep half of their usual distance.

    Raises:
        InvalidModel: if the robot is not of this kind, or a link or frame does not exist.
        InvalidMethod: if two settings contradict each other.
    """
    if robot.floating_base:
        raise InvalidModel(
            f"robot {robot.name!r} has a floating base, which no motor moves; only robots with a fixed base can be "
            "given a motion"
        )
    unfit = {kinds.SPHERICAL: "a ball joint", kinds.PLANAR: "a planar joint", kinds.FREE: "a free joint"}
    if unsupported := [unfit[int(kind)] for kind in robot.tree.kind if int(kind) in unfit]:
        raise InvalidModel(
            f"robot {robot.name!r} has {unsupported[0]}; only joints of one degree of freedom can be given a motion"
        )
    if robot.drive.passive:
        raise InvalidModel(
            f"no motor moves {listing(robot.drive.passive)}; lock passive joints, then the others can be given a motion"
        )
    if not (np.isfinite(duration_s) and duration_s > 0 and np.isfinite(rate_hz) and rate_hz > 0):
        raise InvalidMethod(
            f"a motion needs a duration and a rate above 0, not {duration_s:g} s and {rate_hz:g} Hz"
        )
    if not 0 <= clearance_m < np.inf:
        raise InvalidMethod(f"the clearance must be at least 0, not {clearance_m:g} m")
    limits = limits or limits_of(robot)
    parameters = robot.parameters.hold(**dict(held or {}))
    parameters = parameters if friction else with_friction_held(parameters)
    if payload is not None:
        carrier, _ = robot.link(payload)
        ten = parameters.names[10 * carrier : 10 * carrier + 10]
        # known parameters need no information: held at zero, their columns are removed
        others = (name for name in parameters.names if name not in ten and name not in parameters.held)
        parameters = parameters.hold(**dict.fromkeys(others, 0.0))
    base = structural_base(Regressor(robot, parameters))
    if not len(base):
        raise InvalidMethod("every parameter is held; there is nothing to excite")
    readings = duration_s * max(rate_hz, CHECKED_HZ) * len(robot.joints)
    if not (len(base) <= (duration_s * rate_hz + 1) * len(robot.joints) and readings <= MAX_READINGS):
        raise InvalidMethod(
            f"{duration_s:g} s at {rate_hz:g} Hz are too few samples for {len(base)} parameters, or too many to "
            "compute with: give another duration or rate"
        )
    theta = np.zeros(len(parameters))
    # torques along the motion are computed without friction, unless its parameters are held
    theta[: robot.inertials.size] = robot.inertials.ravel()
    for name, value in (held or {}).items():
        theta[parameters.index(name)] = value
    assumed = np.where(np.isfinite(limits.torque), NOISE_OF_LIMIT * limits.torque, 1.0)
    std = per_joint("the noise of the torques", torque_std, robot.joints, assumed)
    if not (np.isfinite(std).all() and (std > 0).all()):
        raise InvalidMethod(
            f"the noise of the torques must be above 0 for every joint, not {listing(map(str, std))}"
        )
    warnings = []
    if torque_std is None:
        warnings.append(
            "no noise of the torques was given: 1 % of each joint's torque limit is assumed (1 N m where it has none), "
            "and all predicted deviations grow in proportion to it"
        )
    posture = free = None
    if start is not None:
        posture = per_joint("the start posture", start, robot.joints, np.zeros(len(std)))
        free = robot.configurations(posture[None])
    collisions = (surroundings or Surroundings()).resolve(robot, free)
    problem = ExcitationProblem(
        robot, float(duration_s), float(rate_hz), limits, base, theta, std, posture, collisions,
        collisions.clearances(clearance_m), (*warnings, *collisions.warnings),
    )  # fmt: skip
    if posture is not None:
        _check_start(problem, posture)
    return problem


def _check_start(problem: ExcitationProblem, posture: Vector) -> None:
    limits = problem.limits
    for joint, unit, q, low, high in zip(
        limits.joints, limits.units, posture, limits.lower, limits.upper, strict=True
    ):
        if not low <= q <= high:
            raise InvalidMethod(
                f"the start posture puts joint {joint!r} at {q:g} {unit}, outside its limits {low:g} to {high:g} {unit}"
            )
    distances = problem.collisions.distances(problem.robot.configurations(posture[None]))[0]
    lacking = problem.clearances - distances
    if lacking.max(initial=0.0) > 0:
        worst = int(np.argmax(lacking))
        first, second = problem.collisions.pairs[worst]
        least = float(distances[worst])
        how = f"is in collision: {first} with {second}"
        if least > 0:
            wanted = problem.clearances[worst]
            how = f"leaves {least:.3g} m between {first} and {second}, less than the clearance of {wanted:.3g} m"
        raise InvalidMethod(f"the start posture {how}; start from another one")
    torques = np.abs(problem.holding_torques(posture[None]))[0]
    for joint, unit, torque, limit in zip(
        limits.joints, problem.robot.effort_units, torques, limits.torque, strict=True
    ):
        if torque >= limit:
            raise InvalidMethod(
                f"the start posture and the torque limit of joint {joint!r} contradict each other: gravity requires "
                f"{torque:.3g} {unit}, and {limit:g} {unit} are allowed"
            )
