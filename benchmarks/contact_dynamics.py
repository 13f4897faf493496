"""Contact dynamics with all slopes, per state: poinsot with theta beside Pinocchio without it.

    python benchmarks/contact_dynamics.py [--json PATH] [--rounds N] [--save-baseline]

poinsot      accelerations, contact forces and their slopes by q, v, tau and the ten parameters of the base
Pinocchio    `constraintDynamics` and `computeConstraintDynamicsDerivatives` in a Python loop, results left in its own
             buffers: by q, v and tau; it knows no slopes by theta

States are random, 400. ANYmal on four points, Talos on two surfaces, Solo12 in flight. Then only poinsot: with a step
in time and the residuals of encoders, gyro and accelerometer, which is what one node of an estimation needs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import support  # noqa: F401  BLAS on one thread, before NumPy
from support.report import Agreement, Ratio, deliver, options
from support.timing import Program, side_by_side

from poinsot.models.contacts.contact_dynamics import ContactDynamics
from poinsot.models.contacts.contacts import Contact, PointContact, SurfaceContact
from poinsot.models.robot.articulated import load_robot
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.models.robot.robot_states import RobotStates
from poinsot.models.sensors import (
    Accelerometer,
    Gyro,
    JointPosition,
    JointVelocity,
    Readings,
    frames_of,
    residuals,
)

STATES = 400
CATALOGUE = "cmeel.prefix/share/example-robot-data/robots"
ANYMAL = tuple(PointContact(f"{leg}_FOOT") for leg in ("LF", "RF", "LH", "RH"))
SOLES = (SurfaceContact("left_sole_link"), SurfaceContact("right_sole_link"))
CASES: dict[str, tuple[str, tuple[Contact, ...], str]] = {
    "ANYmal, four points": ("anymal_b_simple_description/robots/anymal.urdf", ANYMAL, "base"),
    "Talos, two surfaces": ("talos_data/robots/talos_reduced.urdf", SOLES, "imu_link"),
    "Solo12, flight": ("solo_description/robots/solo12.urdf", (), "base_link"),
}


def main() -> None:
    arguments = options(__doc__)
    try:
        catalogue = Path(str(metadata.distribution("example-robot-data").locate_file(CATALOGUE)))
    except metadata.PackageNotFoundError:
        sys.exit("the robots are read from the package example-robot-data: pip install 'poinsot[robots]'")
    programs: dict[str, Program] = {}
    agreements = []
    for name, (path, contacts, unit) in CASES.items():
        case = _Case.of(catalogue / path, contacts, unit)
        agreements.append(Agreement(f"{name}, accelerations by q [largest]", case.apart(), 1e-6))
        programs |= {
            f"{name}, poinsot": Program(case.slopes, 3),
            f"{name}, Pinocchio": Program(case.peer_slopes, 3),
            f"{name}, poinsot, a whole node": Program(case.node, 3),
        }
    seconds, _ = side_by_side(programs, arguments.rounds or 7)
    ratios = [
        Ratio(
            f"poinsot / Pinocchio, {name}",
            seconds[f"{name}, poinsot"] / seconds[f"{name}, Pinocchio"],
            at_most=3,
        )
        for name in CASES
    ]
    notes = [
        f"{program}: {1e6 * duration.processor / STATES:.1f} us a state"
        for program, duration in seconds.items()
    ]
    deliver("contact_dynamics", arguments, seconds, ratios, agreements, notes)


@dataclass(frozen=True)
class _Case:
    dynamics: ContactDynamics
    readings: tuple[Readings, ...]
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    peer: tuple[Any, ...]

    @classmethod
    def of(cls, path: Path, contacts: tuple[Contact, ...], unit: str) -> _Case:
        robot = load_robot(path, floating_base=True)
        rng = np.random.default_rng(0)
        sensors = (
            JointPosition(robot, 1e-3),
            JointVelocity(robot, 1e-2),
            Gyro(robot, 0.01, frame=unit),
            Accelerometer(robot, 0.1, frame=unit),
        )
        q, v, _ = robot.random_states(STATES, rng)
        u = 10 * rng.standard_normal((STATES, len(robot.joints)))
        readings = tuple(Readings(sensor, np.zeros((STATES, sensor.width))) for sensor in sensors)
        dynamics = ContactDynamics(OpenParameters(robot, robot.bodies[:1]), contacts, frames_of(sensors))
        return cls(dynamics, readings, q, v, u, _peer(robot.model, contacts))

    def slopes(self) -> np.ndarray:
        dynamics = replace(self.dynamics, frames=())
        motion = dynamics(self.q, self.v, self.u, self.dynamics.parameters.nominal_theta, True)
        return motion.slopes[0].q

    def node(self) -> None:
        parameters = self.dynamics.parameters
        motion = self.dynamics(self.q, self.v, self.u, parameters.nominal_theta, True)
        RobotStates(parameters.robot).step(motion, 1e-3)
        residuals(self.readings, motion)

    def peer_slopes(self) -> None:
        model, data, models, datas, settings, tau = self.peer
        for q, v, u in zip(self.q, self.v, self.u, strict=True):
            tau[6:] = u
            pin.constraintDynamics(model, data, q, v, tau, models, datas, settings)
            pin.computeConstraintDynamicsDerivatives(model, data, models, datas, settings)

    def apart(self) -> float:
        """Largest difference of a slope from Pinocchio's at the last state, relative to the largest."""
        self.peer_slopes()
        theirs = np.array(self.peer[1].ddq_dq)
        return float(np.abs(self.slopes()[-1] - theirs).max() / np.abs(theirs).max())


def _peer(model: pin.Model, contacts: tuple[Contact, ...]) -> tuple[Any, ...]:
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for contact in contacts:
        frame = model.frames[model.getFrameId(contact.frame)]
        kind = pin.ContactType.CONTACT_3D if contact.size == 3 else pin.ContactType.CONTACT_6D
        world = pin.SE3.Identity()
        models.append(
            pin.RigidConstraintModel(
                kind, model, frame.parentJoint, frame.placement, 0, world, pin.ReferenceFrame.LOCAL
            )
        )
    for contact_model in models:
        datas.append(contact_model.createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, models, datas)
    return model, data, models, datas, pin.ProximalSettings(1e-12, 1e-12, 10), np.zeros(model.nv)


if __name__ == "__main__":
    main()
