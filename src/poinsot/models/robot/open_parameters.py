"""The open parameters of a robot, and how theta sets them.

    theta = (coordinates of each open body, in a chart of `inertia`; joints' parameters; gains of the actuation;
             errors of sensors)

All others keep their nominal values. A chart's derivative dpi/dtheta maps derivatives by pi to derivatives by theta.

An estimate shows bodies in their link's frame, with a covariance of which every draw is a possible body.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...arrays import Brief, Float, Matrix, Vector
from ...estimate import Body
from ...exceptions import ImpossibleBody, InvalidModel, check_known, listing
from ...inertia.charts.log_cholesky import LogCholesky
from ...inertia.parameters import body
from ...inertia.parametrization import Parametrization, size_of
from ...parameters import INERTIAL_UNITS, columns_of
from ..sensor_errors import KINDS, SensorErrors, owner_and_unit
from .actuation import Actuation, joint_efforts
from .articulated import Articulated
from .joint_terms import JointTerms


def body_of(
    robot: Articulated,
    place: int,
    pi: Vector,
    covariance: Matrix,
    prior: Vector,
    prior_share: float | None = None,
) -> Body:
    """The result of one body.

    Args:
        robot: the robot. place: index in its `bodies`.
        pi: (10,). covariance: (10, 10) of pi.
        prior: (10,) pi before the data.
        prior_share: see `Body`.
    """
    result = replace(
        body(robot.bodies[place], pi),
        prior=prior,
        prior_share=prior_share,
        placement=robot.placements[place],
        parent=robot.parents[place],
    )
    chart = LogCholesky()
    try:
        to_chart = np.linalg.inv(chart.jacobian(chart.from_inertial(pi)))
    except ImpossibleBody:  # it is not in the chart, or at its boundary: draws are made in pi
        return result
    return replace(result, covariance=to_chart @ covariance @ to_chart.T)


@dataclass(frozen=True, eq=False)
class ParameterValues:
    """The values that theta sets.

    Args:
        bodies: (k, 10) pi of the open bodies.
        inertials: (l, 10) of all bodies, with the open ones.
        joints: phi of all joints' parameters. gains: all gains of the actuation.
        slope: (k, 10, 10) dpi/dtheta of each open body; None: theta is pi.
    """

    bodies: Float[np.ndarray, "k 10"]
    inertials: Float[np.ndarray, "l 10"]
    joints: Vector
    gains: Vector
    slope: Float[np.ndarray, "k 10 10"] | None


@dataclass(frozen=True, eq=False, repr=False)
class OpenParameters(Brief):
    """A robot some of whose parameters are theta.

    Args:
        robot: robot with all other parameters at their nominal values.
        bodies: bodies whose ten parameters are open.
        chart: chart of bodies; None: theta is pi itself, and need not be physically possible.
        joints: open parameters of joints, by their names in `robot.parameters`: `fv3`, `fc3`, `off3`, `ia3`, ...; and
            of the base's drag, `drag_x`, ...
        gains: open gains of the actuation.
        sensors: open errors of sensors, by the names of `sensor_errors`.
        actuation: generalized forces of u; None: a motor at each joint.
        nominal: values of parameters of joints, gains and errors of sensors; others are 0, gains 1.
        inertials: (l, 10) pi of all bodies; None: the description's.
        dry_speed, drag: see `JointTerms`.
    """

    robot: Articulated
    bodies: tuple[str, ...] = ()
    chart: Parametrization | None = field(default_factory=LogCholesky)
    joints: tuple[str, ...] = ()
    gains: tuple[str, ...] = ()
    sensors: tuple[str, ...] = ()
    actuation: Actuation | None = None
    nominal: Mapping[str, float] = field(default_factory=dict)
    inertials: np.ndarray | None = None
    dry_speed: float = 0.0
    drag: bool = False

    def __post_init__(self) -> None:
        robot = self.robot
        of_joints, of_drive = self.joint_terms.parameters.names, tuple(self.drive.gains)
        of_dynamics = tuple(name for name in self.nominal if name not in self._held_errors)
        for kind, names, known in (
            ("body", self.bodies, robot.bodies),
            ("parameter of a joint", self.joints, of_joints),
            ("gain", self.gains, of_drive),
            ("error of a sensor", self.sensors, self.sensors),
            ("parameter of a joint, or gain,", of_dynamics, (*of_joints, *of_drive)),
        ):
            for name in names:
                check_known(name, known, f"no {kind}", "there is", limit=20)
            if len(set(names)) < len(names):
                raise InvalidModel(f"name each {kind} once, not {listing(names)}")
        for name in (*self.sensors, *self._held_errors):
            owner_and_unit(robot, name)
        if self.inertials is not None and self.inertials.shape != robot.inertials.shape:
            raise InvalidModel(f"inertials need ten numbers for each of {len(robot.bodies)} bodies")
        # an actuation may have been made for another robot, or for one without its base
        if self.drive.matrix.shape[0] != robot.model.nv:
            raise InvalidModel(
                f"the actuation moves {self.drive.matrix.shape[0]} degrees of freedom; the robot has {robot.model.nv}"
            )

    @cached_property
    def _held_errors(self) -> dict[str, float]:
        """Nominal errors of sensors."""
        return {name: float(x) for name, x in self.nominal.items() if name.partition(".")[0] in KINDS}

    @cached_property
    def drive(self) -> Actuation:
        """Generalized forces of u."""
        return self.actuation or joint_efforts(self.robot)

    @cached_property
    def joint_terms(self) -> JointTerms:
        return JointTerms(self.robot, self.dry_speed, self.drag)

    @cached_property
    def size(self) -> int:
        """p, the number of components of theta."""
        return 10 * len(self.bodies) + len(self.others)

    @cached_property
    def others(self) -> tuple[str, ...]:
        """Names of the open parameters of joints, gains and errors of sensors."""
        return (*self.joints, *self.gains, *self.sensors)

    @cached_property
    def places(self) -> np.ndarray:
        """(k,) index of each open body in the robot's bodies."""
        return np.array([self.robot.bodies.index(body) for body in self.bodies], dtype=np.int64)

    @cached_property
    def joint_places(self) -> np.ndarray:
        """Index of each open parameter of a joint among all of them."""
        return np.array(
            [self.joint_terms.parameters.names.index(name) for name in self.joints], dtype=np.int64
        )

    @cached_property
    def gain_places(self) -> np.ndarray:
        """Index of each open gain among the gains of the actuation."""
        return np.array([list(self.drive.gains).index(name) for name in self.gains], dtype=np.int64)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of theta: `alpha.trunk`, ..., or `m.trunk`, ...; then joints' parameters, gains and errors."""
        if self.chart is None:
            return self.physical_names
        coordinates = (f"{name}.{body}" for body in self.bodies for name in self.chart.theta_names)
        return (*coordinates, *self.others)

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Units of theta; "" for a chart's coordinates."""
        ten = INERTIAL_UNITS if self.chart is None else ("",) * 10
        joint_units = self.joint_terms.parameters.units
        return (
            *ten * len(self.bodies),
            *(joint_units[place] for place in self.joint_places),
            *(self.drive.units.get(name, "") for name in self.gains),
            *(owner_and_unit(self.robot, name)[1] for name in self.sensors),
        )

    @cached_property
    def all_inertials(self) -> Float[np.ndarray, "l 10"]:
        """pi of all bodies, nominal for the open ones."""
        return self.robot.inertials if self.inertials is None else self.inertials

    @cached_property
    def nominal_joints(self) -> Vector:
        nominal = {**self.robot.parameters.held, **self.nominal}
        return np.array([float(nominal.get(name, 0.0)) for name in self.joint_terms.parameters.names])

    @cached_property
    def nominal_gains(self) -> Vector:
        return np.array([float(self.nominal.get(name, 1.0)) for name in self.drive.gains])

    @cached_property
    def nominal_theta(self) -> Vector:
        """(p,) theta of the nominal values.

        Raises:
            ImpossibleBody: if an open body is flat, a point, or impossible, and there is a chart.
        """
        pi, joints = self.all_inertials[self.places].ravel(), self.nominal_joints[self.joint_places]
        errors = [float(self.nominal.get(name, 0.0)) for name in self.sensors]
        return self.theta_of(np.concatenate([pi, joints, self.nominal_gains[self.gain_places], errors]))

    def values(self, theta: Vector) -> ParameterValues:
        """The values that theta (p,) sets."""
        if theta.shape != (self.size,):
            raise InvalidModel(f"theta needs {self.size} numbers, not {theta.size}")
        k = len(self.bodies)
        ten = np.ascontiguousarray(theta[: 10 * k], dtype=float).reshape(k, 10)
        joints, gains = self.nominal_joints.copy(), self.nominal_gains.copy()
        last = 10 * k + len(self.joints)
        joints[self.joint_places] = theta[10 * k : last]
        gains[self.gain_places] = theta[last : last + len(self.gains)]
        slope, inertials = None, self.all_inertials.copy()
        if self.chart is not None and k:
            ten, slope = self.chart.to_inertial(ten), self.chart.jacobian(ten)
        inertials[self.places] = ten
        return ParameterValues(ten, inertials, joints, gains, slope)

    def sensor_errors(self, theta: Vector) -> SensorErrors:
        """Errors of sensors, from theta and from `nominal`."""
        places = dict(zip(self.sensors, range(self.size - len(self.sensors), self.size), strict=True))
        return SensorErrors(self._held_errors | {name: float(theta[k]) for name, k in places.items()}, places)

    @cached_property
    def physical_names(self) -> tuple[str, ...]:
        """(p,) `m.trunk`, `mx.trunk`, ...; then joints' parameters, gains and errors of sensors."""
        return (*columns_of(self.bodies), *self.others)

    @cached_property
    def physical_units(self) -> tuple[str, ...]:
        """(p,) units of the physical values."""
        return (*INERTIAL_UNITS * len(self.bodies), *self.units[10 * len(self.bodies) :])

    @cached_property
    def owners(self) -> tuple[str, ...]:
        """(p,) body, or joint, or sensor of each component; "" for a gain."""
        of_joints = tuple(self.joint_terms.parameters.owners[place] for place in self.joint_places)
        of_bodies = (body for body in self.bodies for _ in range(10))
        of_sensors = (owner_and_unit(self.robot, name)[0] for name in self.sensors)
        return (*of_bodies, *of_joints, *("",) * len(self.gains), *of_sensors)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """(p,) `inertia`, `viscous`, ..., `gain`, `bias`, ..."""
        of_joints = tuple(self.joint_terms.parameters.kinds[place] for place in self.joint_places)
        of_sensors = (name.partition(".")[0] for name in self.sensors)
        of_bodies = ("inertia",) * (10 * len(self.bodies))
        return (*of_bodies, *of_joints, *("gain",) * len(self.gains), *of_sensors)

    def physical(self, theta: Vector) -> Vector:
        """(p,) pi of the open bodies, then joints' parameters and gains as they are in theta."""
        return np.concatenate([self.values(theta).bodies.ravel(), theta[10 * len(self.bodies) :]])

    def theta_of(self, physical: Vector) -> Vector:
        """(p,) theta of physical values, the inverse of `physical`.

        Raises:
            ImpossibleBody: if there is a chart, and the values of a body are not those of a possible one.
        """
        ten = np.ascontiguousarray(physical[: 10 * len(self.bodies)], dtype=float).reshape(-1, 10)
        if self.chart is not None and len(ten):
            ten = self.chart.from_inertial(ten)
        return np.concatenate([ten.ravel(), physical[10 * len(self.bodies) :]])

    def physical_slope(self, theta: Vector) -> Matrix:
        """(p, p) derivative of `physical` by theta."""
        slope, of_bodies = np.eye(self.size), self.values(theta).slope
        for k, block in enumerate(of_bodies if of_bodies is not None else ()):
            slope[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = block
        return slope

    def natural_scale(self, theta: Vector) -> Vector:
        """(p,) typical change of theta in one step: a chart's `natural_scale`, the size of others, at least 1."""
        # a coefficient may start at 0, where its own size is no scale
        scale = np.maximum(np.abs(theta), 1.0)
        if self.bodies:
            pi = self.values(theta).bodies
            mass, length = pi[:, :1], size_of(pi)[:, None]
            # kg, kg m and kg m^2 of a body of this mass and size
            of_pi = np.concatenate([mass, *3 * (mass * length,), *6 * (mass * length**2,)], axis=1)
            ten = of_pi if self.chart is None else self.chart.natural_scale(pi)
            scale[: ten.size] = ten.ravel()
        return scale

    def fixed(self, theta: Vector) -> OpenParameters:
        """The same robot with the parameters of theta held, and nothing open."""
        values = self.values(theta)
        nominal = dict(zip(self.joint_terms.parameters.names, values.joints.tolist(), strict=True))
        nominal |= dict(zip(self.drive.gains, values.gains.tolist(), strict=True))
        nominal |= self.sensor_errors(theta).values
        closed = replace(self, bodies=(), joints=(), gains=(), sensors=())
        return replace(closed, inertials=values.inertials, nominal=nominal)
