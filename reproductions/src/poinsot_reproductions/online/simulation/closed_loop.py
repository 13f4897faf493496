"""The loop that an estimate closes: plant and state estimator at 1 kHz, filter and controller at 333 Hz.

The blocks are those of Foster et al. (2024), Fig. 2:

    plant -> measurement -> sample -> filter -> bodies -> controller -> efforts -> plant

The inertial parameters that the controller assumes come from a `ControllerModel`: constant ones, the true ones, or the
estimate of a filter. All else is the same in the three, so their difference is the effect of adaptation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin
from threadpoolctl import threadpool_limits

from poinsot.arrays import Vector
from poinsot.estimators.online.belief import Belief, Sample, SampleVerdict, Tick
from poinsot.estimators.online.filter import Filter
from poinsot.estimators.online.tracking import RateLimit

from .gait import Footing, Gait, Standing
from .legged_robot import LeggedRobot
from .measurements import Differentiator, StateEstimator, StateSensors
from .plant import Foot, Plant, Slab
from .tasks import CentreOfMass, FramePose, Kinematics, Posture, Task
from .whole_body import ContactLimits, WholeBodyController, sole_frame

CONTROL_TICKS = 3
"""Plant steps in one of the controller: 1 kHz and 333 Hz."""
SETTLING = 0.3
"""For how long a robot has stood before a run [s]."""
FALLEN = 0.6
"""Part of its height below which a base has fallen."""


# -- inertial parameters that the controller assumes ------------------------------------------------------------


class ControllerModel(ABC):
    """Inertial parameters that a controller assumes for changing bodies."""

    @abstractmethod
    def update(self, time: float, sample: Sample | None) -> Mapping[str, Vector]:
        """Body -> (10,) pi, at a time [s], after the newest sample if there is one."""

    @property
    def verdict(self) -> SampleVerdict | None:
        """Verdict of the filter on the newest sample; None without a filter."""
        return None


@dataclass(frozen=True, eq=False)
class FixedModel(ControllerModel):
    """No adaptation: the same bodies throughout."""

    bodies: Mapping[str, Vector]

    def update(self, time: float, sample: Sample | None) -> Mapping[str, Vector]:
        return self.bodies


@dataclass(frozen=True, eq=False)
class TrueModel(ControllerModel):
    """The true bodies."""

    loads: Mapping[str, BodyInTime]

    def update(self, time: float, sample: Sample | None) -> Mapping[str, Vector]:
        return {body: load(time) for body, load in self.loads.items()}


class AdaptedModel(ControllerModel):
    """The estimate of a filter.

    Args:
        filter_: of the changing bodies.
        start: (k, 10) initial guess of the bodies.
        limit: on how fast the published bodies change; None: none.
        from_time: the filter processes samples from then on [s].
    """

    def __init__(
        self, filter_: Filter, start: np.ndarray, limit: RateLimit | None = None, from_time: float = 0.0
    ):
        self.filter, self.limit, self.from_time = filter_, limit, from_time
        self.belief: Belief = filter_.init(start)
        self._published, self._time = start.copy(), 0.0
        self._verdict: SampleVerdict | None = None

    def update(self, time: float, sample: Sample | None) -> Mapping[str, Vector]:
        if sample is not None and time >= self.from_time:
            self.belief, innovation = self.filter.step(self.belief, sample)
            self._verdict = innovation.verdict
            estimate = self.filter.inertial(self.belief.x)
            if self.limit is None:
                self._published = estimate
            else:
                self._published = self.limit.next(self._published, estimate, time - self._time)
        self._time = time
        return dict(zip(self.filter.torques.links, self._published, strict=True))

    @property
    def verdict(self) -> SampleVerdict | None:
        return self._verdict


# -- what happens ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gains:
    """Stiffness [1/s^2]; damping is critical times `damping_ratio`. Weights are those of the program's tasks.

    Args:
        height: of the base. turning: of its orientation. centre: of the centre of mass in the plane.
        swing: of a foot in the air. joints: of the posture.
        braking: of a foot on the ground [1/s]. holding: of its place and heading.
    """

    height: float = 50.0
    turning: float = 100.0
    centre: float = 25.0
    swing: float = 250.0
    joints: float = 60.0
    braking: float = 20.0
    holding: float = 100.0
    damping_ratio: float = 1.0

    def damping(self, stiffness: float) -> float:
        return 2 * self.damping_ratio * float(np.sqrt(stiffness))


BodyInTime = Callable[[float], np.ndarray]
"""(10,) pi of a body at a time [s]."""

JointMotion = Callable[[float], Mapping[str, tuple[float, float]]]
"""Joint -> (position [rad], velocity [rad/s]) at a time [s]."""


BaseTurning = Callable[[float], tuple[Vector, Vector, Vector]]
"""Rotation vector of the base from where it stood [rad], its rate and acceleration, (3,) each, at a time [s]."""


@dataclass(frozen=True, eq=False)
class Scenario:
    """Motion, loads, ground and sensors of one run.

    Args:
        legged: as it is described, which is what controller and filter take it for.
        loads: body -> what it is in time; the controller has to find out.
        duration: [s].
        actual: body -> (10,) what other bodies really are; the description's where not said.
        ground: slabs on the floor.
        gait: makes its gait from where it stands and its soles (left, right).
        joints: where joints go; those it does not name stay at home.
        turning: how the base turns while it goes; None: it stays upright.
        sensors, gains, limits: see there.
        matched: whether other signals are delayed to match the feet's sensors before a filter processes them.
    """

    legged: LeggedRobot
    loads: Mapping[str, BodyInTime]
    duration: float = 30.0
    actual: Mapping[str, Vector] = field(default_factory=dict)
    ground: Sequence[Slab] = ()
    gait: Callable[[Kinematics, tuple[Foot, ...]], Gait] = Standing
    joints: JointMotion = lambda time: {}
    turning: BaseTurning | None = None
    sensors: StateSensors = field(default_factory=StateSensors)
    gains: Gains = field(default_factory=Gains)
    limits: ContactLimits = field(default_factory=ContactLimits)
    matched: bool = True


@dataclass(frozen=True, eq=False)
class Trace:
    """States, assumptions and forces of a run, at the controller's rate.

    Args:
        time: (T,) [s].
        q, reference: (T, nq) configuration, and what the joints' was meant to be (the base's: its pose at the start).
        assumed, actual: (T, k, 10) what the controller took the changing bodies for, and what they were.
        ground_force: (T, feet) normal force on each foot [N].
        feet: (T, feet, 3) their centres [m]. swing: (T, feet, 3) where the foot in the air was meant to be; NaN for
            those on the ground.
        samples: input of a filter at each tick; None at the first, which shows what the controller began with.
        verdicts: of the adapting filter.
        fallen: whether the robot fell, and the trace ends there.
        unsolved: at how many ticks the controller had no solution.
    """

    time: Vector
    q: np.ndarray
    reference: np.ndarray
    assumed: np.ndarray
    actual: np.ndarray
    ground_force: np.ndarray
    feet: np.ndarray
    swing: np.ndarray
    samples: tuple[Sample | None, ...]
    verdicts: tuple[SampleVerdict | None, ...]
    fallen: bool
    unsolved: int

    def height_error(self) -> Vector:
        """(T,) of the base [m]."""
        return self.q[:, 2] - self.reference[:, 2]

    def joint_error(self, at: int) -> Vector:
        """(T,) of the joint at a place in v [rad]."""
        return self.q[:, at + 1] - self.reference[:, at + 1]


def simulate(
    scenario: Scenario,
    model: ControllerModel,
    rng: np.random.Generator,
    progress: Callable[[float], None] | None = None,
    watch: Callable[[Tick], None] | None = None,
) -> Trace:
    """Run the loop; the same arguments give the same trace to the last bit.

    Args:
        rng: of the sensors' noise; the same generator state gives the same noise whatever the model.
        progress: takes the simulated time at each full second [s].
        watch: takes each tick of the plant, without noise: its state, and efforts and wrenches of the step from it.
    """
    with threadpool_limits(limits=1, user_api="blas"):  # the order of sums must not depend on threads
        return _Loop(scenario, model, rng).run(progress, watch)


class _Loop:
    def __init__(self, scenario: Scenario, model: ControllerModel, rng: np.random.Generator):
        legged = scenario.legged
        robot, soles = legged.robot, legged.soles
        self.scenario, self.model = scenario, model
        self.plant = Plant(robot, soles=soles, ground=scenario.ground, effort_limits=legged.effort_limits)
        for body, pi in scenario.actual.items():
            self.plant.set_inertial(body, pi)
        self.plant.reset(legged.home)
        self.controller = WholeBodyController(
            robot, soles, effort_limits=legged.effort_limits, limits=scenario.limits
        )
        still = np.zeros(robot.model.nv)
        kinematics = self.controller.kinematics
        kinematics.set_bodies({body: load(0.0) for body, load in scenario.loads.items()})
        # with the true bodies: where the centre of mass is held must not depend on what is assumed of it
        kinematics.update(legged.home, still)
        self.tasks = _Tasks(scenario, kinematics)
        standing = Standing(kinematics, soles)
        self.gait = scenario.gait(kinematics, soles)
        self.estimator = StateEstimator(self.plant, scenario.sensors, rng)
        # only without the match does an impact reach forces later than velocities
        lag = scenario.sensors.force_lag if scenario.matched else 0.0
        self.window = Differentiator(robot.model, CONTROL_TICKS, lag)
        self.wrenches = self.plant.wrenches()
        self.newest = Tick(0.0, legged.home, still, still, self.wrenches)
        self.tau = still
        self.unsolved = 0
        self._are: dict[str, Vector] = {}
        self._settle(standing)

    def _settle(self, standing: Standing) -> None:
        """Let every run begin at rest, with full windows, whichever model the controller has."""
        kinematics = self.controller.kinematics
        self._load(0.0)
        # negative, so that the run itself begins at 0
        self.plant.time = -SETTLING
        for tick in range(round(SETTLING / self.plant.timestep)):
            if tick % CONTROL_TICKS == 0:
                kinematics.update(self.newest.q, self.newest.v)
                footing = standing(self.plant.time, kinematics, self.newest.wrenches)
                self.tau = self.controller.solve(self.tasks.at(footing, kinematics), footing.loads).tau
            self._move()
        self.plant.time = 0.0

    def _load(self, time: float) -> dict[str, Vector]:
        """The changing bodies as they are, in the plant too."""
        bodies = {body: load(time) for body, load in self.scenario.loads.items()}
        for body, pi in bodies.items():
            # setting a body costs an eigenvalue problem; most change seldom
            if body not in self._are or not np.array_equal(self._are[body], pi):
                self.plant.set_inertial(body, pi)
        self._are = bodies
        return bodies

    def run(
        self,
        progress: Callable[[float], None] | None = None,
        watch: Callable[[Tick], None] | None = None,
    ) -> Trace:
        second = round(1 / self.plant.timestep)
        records: list[_Record] = []
        floor = FALLEN * self.scenario.legged.home[2]
        for tick in range(round(self.scenario.duration / self.plant.timestep)):
            bodies = self._load(self.plant.time)
            if progress is not None and tick % second == 0:
                progress(tick / second)
            if tick % CONTROL_TICKS == 0:
                records.append(self._control(bodies))
                # nothing that comes after a fall says anything of the controller
                if records[-1].q[2] < floor:
                    break
            moved = self._move()
            if watch is not None:
                watch(moved)
        return Trace(
            time=np.array([record.time for record in records]),
            q=np.array([record.q for record in records]),
            reference=np.array([record.reference for record in records]),
            assumed=np.array([record.assumed for record in records]),
            actual=np.array([record.actual for record in records]),
            ground_force=np.array([record.ground_force for record in records]),
            feet=np.array([record.feet for record in records]),
            swing=np.array([record.swing for record in records]),
            samples=tuple(record.sample for record in records),
            verdicts=tuple(record.verdict for record in records),
            fallen=bool(records[-1].q[2] < floor),
            unsolved=self.unsolved,
        )

    def _control(self, bodies: Mapping[str, Vector]) -> _Record:
        """One tick of filter and controller."""
        time, kinematics = self.plant.time, self.controller.kinematics
        # at 0 there is no sample: the first record shows what the controller began with
        sample = self.window.sample() if time > 0 else None
        assumed = self.model.update(time, sample)
        # before update, which computes M and c of these bodies
        kinematics.set_bodies(assumed)
        kinematics.update(self.newest.q, self.newest.v)
        footing = self.gait(time, kinematics, self.newest.wrenches)
        # after the gait, whose reference is of the same tick
        self.tasks.follow(time)
        command = self.controller.solve(self.tasks.at(footing, kinematics), footing.loads)
        self.tau = command.tau
        # its efforts are those of the tick before
        self.unsolved += not command.solved
        return _Record(
            time,
            self.plant.q,
            self.tasks.reference(),
            [assumed[body] for body in bodies],
            list(bodies.values()),
            [wrench[2] for wrench in self.wrenches.values()],
            self.plant.feet,
            np.array(
                [
                    footing.placement.translation if sole.body == footing.swing else np.full(3, np.nan)
                    for sole in self.plant.soles
                ]
            ),
            sample,
            self.model.verdict,
        )

    def _move(self) -> Tick:
        """One tick of plant and state estimator; the truth."""
        time, q, v = self.plant.time, self.plant.q, self.plant.v
        given = self.plant.step(self.tau)
        self.wrenches = self.plant.wrenches()
        self.newest = self.estimator.read(time, q, v, given, self.wrenches)
        self.window.add(self.newest)
        return Tick(time, q, v, given, self.wrenches)


@dataclass(frozen=True, eq=False)
class _Record:
    time: float
    q: Vector
    reference: Vector
    assumed: Sequence[Vector]
    actual: Sequence[Vector]
    ground_force: Sequence[float]
    feet: np.ndarray
    swing: np.ndarray
    sample: Sample | None
    verdict: SampleVerdict | None


class _Tasks:
    """The controller's tasks, their references set at each tick."""

    def __init__(self, scenario: Scenario, kinematics: Kinematics):
        legged, gains = scenario.legged, scenario.gains
        self._scenario = scenario
        home = legged.home
        n = legged.robot.model.nv
        dofs = np.arange(6, n)
        weight = np.array(
            [0.01 if joint in legged.legs else 1.0 for joint in legged.robot.joints]
        )  # legs follow the feet
        self._posture = Posture(
            home[7:].copy(), np.zeros(n - 6), dofs, gains.joints, gains.damping(gains.joints), weight
        )
        base = kinematics.placement(kinematics.frame(legged.base)).copy()
        self._height = FramePose(legged.base, gains.height, gains.damping(gains.height), 100.0, (2,), base)
        self._upright = FramePose(
            legged.base, gains.turning, gains.damping(gains.turning), 100.0, (3, 4, 5), base
        )
        self._centre = CentreOfMass(gains.centre, gains.damping(gains.centre), 100.0)
        # a ball turns as its leg does
        feet = [(sole, tuple(range(sole.size))) for sole in legged.soles]
        self._feet = {
            sole.body: FramePose(
                sole_frame(sole),
                gains.holding * np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
                gains.braking,
                1000.0,
                axes,
                placement=kinematics.placement(kinematics.frame(sole_frame(sole))).copy(),
            )
            for sole, axes in feet
        }
        self._swing = {
            sole.body: FramePose(sole_frame(sole), gains.swing, gains.damping(gains.swing), 300.0, axes)
            for sole, axes in feet
        }
        self._home = home
        self._swinging = ""

    def follow(self, time: float) -> None:
        """References of joints and of the base's orientation; until then they stay where they are."""
        if self._scenario.turning is not None:
            turned, rate, acceleration = self._scenario.turning(time)
            R = pin.exp3(turned) @ self._height.placement.rotation
            self._upright.placement = pin.SE3(R, self._height.placement.translation)
            self._upright.velocity = np.concatenate([np.zeros(3), rate])
            self._upright.acceleration = np.concatenate([np.zeros(3), acceleration])
        joints = self._scenario.legged.robot.joints
        for joint, (position, velocity) in self._scenario.joints(time).items():
            at = joints.index(joint)
            self._posture.q[at], self._posture.v[at] = position, velocity

    def at(self, footing: Footing, kinematics: Kinematics) -> list[Task]:
        """What is wanted of base, feet, joints and the centre of mass."""
        self._centre.position, self._centre.velocity = footing.centre, footing.centre_velocity
        self._centre.acceleration = footing.centre_acceleration
        tasks: list[Task] = [self._posture, self._height, self._upright, self._centre]
        for foot, stance in self._feet.items():
            if foot == footing.swing:
                swing = self._swing[foot]
                # the swinging foot has its own task: it is lighter than that of a foot on the ground
                swing.placement, swing.velocity = footing.placement, footing.velocity
                swing.acceleration = footing.acceleration
                tasks.append(swing)
            else:
                # it has just come down: its place is where it landed, not where it was to land
                if foot == self._swinging:
                    stance.placement = kinematics.placement(kinematics.frame(stance.frame)).copy()
                stance.velocity = np.array([0.0, 0.0, -footing.sinking.get(foot, 0.0), 0.0, 0.0, 0.0])
                tasks.append(stance)
        self._swinging = footing.swing
        return tasks

    def reference(self) -> Vector:
        """(nq,) where the base's height and the joints were meant to be at the last tick."""
        q = self._home.copy()
        q[7:] = self._posture.q
        return q
