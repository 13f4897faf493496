"""The chart of an object that a link of known inertia holds.

The link and the object are one moving body,

    pi = pi_link + T pi_object(theta),    T: pi_object -> that of T_bo J_object T_bo^T, J the pseudo-inertia

theta are the object's coordinates in a chart of bodies, in a frame of the link (its end effector). So the object is
possible for every theta, and only the object is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from poinsot.arrays import Inertial, Matrix, States, Vector
from poinsot.estimate import NORMAL_95
from poinsot.estimators.shooting.ddp import ShootingSolution, posterior
from poinsot.exceptions import NotIdentifiable
from poinsot.inertia.parameters import change_frame
from poinsot.inertia.parametrization import Parametrization
from poinsot.models.robot.articulated import Articulated
from poinsot.report import Figure
from poinsot.report.figures.animation import ESTIMATED, TRUE, DrawnBodies, robot_animation

from ..normalized_errors import PHYSICAL, UNMOVED, physical, physical_slopes
from .systems import Flown


@dataclass(frozen=True, eq=False)
class GraspedObject(Parametrization):
    """Bodies by the coordinates of the object that they hold.

    Args:
        chart: of the object.
        link: (10,) pi of the moving body without the object.
        placement: (4, 4) T_bo of the object's frame in the body's.
    """

    chart: Parametrization
    link: Vector
    placement: Matrix

    @classmethod
    def at(cls, robot: Articulated, frame: str, chart: Parametrization) -> GraspedObject:
        """The chart of an object in the frame of a link, whose body is as the description has it."""
        place, placement = robot.link(frame)
        return cls(chart, robot.inertials[place], placement)

    @property
    def theta_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Of the object's coordinates, in order."""
        return self.chart.theta_names

    @cached_property
    def _to_body(self) -> Matrix:
        """(10, 10) T."""
        return np.asarray(change_frame(self.placement, np.eye(10)).T)

    def holding(self, pi: Inertial) -> Inertial:
        """(..., 10) pi of the moving body with objects (..., 10)."""
        return self.link + change_frame(self.placement, pi)

    def object_of(self, pi: Inertial) -> Inertial:
        """(..., 10) pi of the object in its frame, of bodies (..., 10)."""
        return change_frame(np.linalg.inv(self.placement), pi - self.link)

    def to_inertial(self, theta: Float[np.ndarray, "*batch 10"]) -> Inertial:
        return self.holding(self.chart.to_inertial(theta))

    def jacobian(self, theta: Float[np.ndarray, "*batch 10"]) -> Float[np.ndarray, "*batch 10 10"]:
        return np.asarray(self._to_body @ self.chart.jacobian(theta))

    def from_inertial(self, pi: Inertial) -> Float[np.ndarray, "*batch 10"]:
        return self.chart.from_inertial(self.object_of(pi))

    def natural_scale(self, pi: Inertial) -> Float[np.ndarray, "*batch 10"]:
        return self.chart.natural_scale(self.object_of(pi))


@dataclass(frozen=True, eq=False)
class ObjectErrors:
    """An estimated object beside the true one.

    Args:
        mass_percent: error of its mass [%].
        center_of_mass: distance between both centres of mass [m].
        estimated, true: each of `PHYSICAL`, in the object's frame.
        std: standard deviation of each estimated one; None where it is not observable.
    """

    mass_percent: float
    center_of_mass: float
    estimated: Mapping[str, float]
    true: Mapping[str, float]
    std: Mapping[str, float | None]

    @property
    def outside_intervals(self) -> list[str]:
        """The quantities whose 95 % interval does not hold the truth."""
        return [
            name
            for name, std in self.std.items()
            if std is not None and abs(self.estimated[name] - self.true[name]) > NORMAL_95 * std
        ]


def animated(
    title: str,
    flown: Flown,
    grasped: GraspedObject,
    x: States,
    body: str,
    estimated: Inertial,
    true: Inertial,
) -> Figure:
    """The robot along an estimated motion, with the estimated and the true object.

    Args:
        title: of the picture.
        flown: the recording.
        grasped: the chart.
        x: (S, nx) estimated states.
        body: that holds the object.
        estimated, true: (10,) pi of the object in its frame.
    """
    robot = flown.system.robot
    objects = (("true object", true, TRUE, 0.35), ("estimated object", estimated, ESTIMATED, 0.8))
    return robot_animation(
        title,
        robot,
        x[:, : robot.model.nq],
        flown.times,
        (
            DrawnBodies.known(robot),
            *(
                DrawnBodies(
                    name,
                    (robot.bodies.index(body),),
                    change_frame(grasped.placement, pi)[None],
                    color,
                    opacity,
                )
                for name, pi, color, opacity in objects
            ),
        ),
    )


def object_errors(
    grasped: GraspedObject, solution: ShootingSolution, truth: Inertial, widening: float = 1.0
) -> ObjectErrors:
    """Compare an estimate with the truth; where it has no covariance, there are no standard deviations.

    Args:
        grasped: the chart.
        solution: the estimate, whose theta is the object's, and errors of sensors after it.
        truth: (10,) pi of the object in its frame.
        widening: of the posterior's standard deviations.
    """
    theta = solution.theta[:10]
    pi = grasped.chart.to_inertial(theta)
    slopes = physical_slopes(pi) @ grasped.chart.jacobian(theta)
    estimated, true = physical(pi), physical(truth)
    std: list[float | None] = [None] * len(PHYSICAL)
    try:
        sure = posterior(solution.problem, solution.at)
    except NotIdentifiable:
        pass
    else:
        values = widening * np.sqrt(np.einsum("ip, pq, iq -> i", slopes, sure.theta[:10, :10], slopes))
        along = np.linalg.norm(slopes @ sure.unobservable[:10], axis=1) / np.linalg.norm(slopes, axis=1)
        std = [float(v) if a <= UNMOVED else None for v, a in zip(values, along, strict=True)]
    return ObjectErrors(
        100 * float(estimated[0] / true[0] - 1.0),
        float(np.linalg.norm(estimated[1:4] - true[1:4])),
        dict(zip(PHYSICAL, estimated.tolist(), strict=True)),
        dict(zip(PHYSICAL, true.tolist(), strict=True)),
        dict(zip(PHYSICAL, std, strict=True)),
    )
