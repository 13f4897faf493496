"""What a mechanism is and how it moved, together, from recordings of it, with the uncertainty of both.

    robot     = poinsot.load_robot("robot.urdf", drive=..., friction=poinsot.ViscousCoulomb())
    recording = poinsot.read_recording("log.parquet", channels={...})
    smoothing = poinsot.ButterworthDecimation(cutoff_hz=50, decimate_hz=10)
    problem   = poinsot.InverseDynamics(robot, [recording], signals=smoothing)
    estimate  = poinsot.LeastSquares().solve(problem)
    poinsot.write_report(estimate, "report.html")

Public names are loaded when they are first used: `import poinsot` costs nothing.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

_HOMES = {
    # recordings
    "Recording": "recording",
    "read_recording": "io",
    "write_recording": "io",
    "Source": "io",
    "Column": "io",
    "inspect": "inspection",
    "resample": "signals.resampling",
    # signals
    "Signals": "signals.signals",
    "ButterworthDecimation": "signals.butterworth",
    "RandomWalkSmoother": "signals.random_walk_smoother",
    "propose_filters": "signals.bandwidth",
    "align": "signals.alignment",
    "estimate_delay": "signals.alignment",
    # what a body may be
    "LogCholesky": "inertia.log_cholesky",
    "TransposedLogCholesky": "inertia.transposed_log_cholesky",
    "ExponentialEigenvalue": "inertia.exponential_eigenvalue",
    "equivalent_ellipsoid": "inertia.ellipsoid",
    # models
    "load_robot": "models.articulated",
    "Articulated": "models.articulated",
    "Drive": "models.drive",
    "Coupling": "models.drive",
    "ViscousCoulomb": "models.friction",
    "NoFriction": "models.friction",
    "PointContact": "models.contacts",
    "SurfaceContact": "models.contacts",
    "ContactDetection": "models.contacts",
    "ContactSchedule": "models.contacts",
    "JointPosition": "models.sensors",
    "JointVelocity": "models.sensors",
    "Gyro": "models.sensors",
    "Accelerometer": "models.sensors",
    "Orientation": "models.sensors",
    "Readings": "models.sensors",
    "OpenParameters": "models.open_parameters",
    "Stages": "models.stages",
    "Mechanism": "models.maximal",
    "load_mechanism": "models.maximal",
    "RigidBody": "models.maximal",
    "Fixed": "models.maximal",
    "Hinge": "models.maximal",
    "Slider": "models.maximal",
    "Ball": "models.maximal",
    "Coulomb": "models.maximal",
    "LoadDependent": "models.maximal",
    "Motor": "models.maximal",
    "Encoder": "models.maximal",
    "RateSensor": "models.maximal",
    # problems
    "Normal": "parameters",
    "Parameters": "parameters",
    "InverseDynamics": "regression.inverse_dynamics",
    "inverse_dynamics": "regression.inverse_dynamics",
    "estimate_effort_delay": "regression.delay",
    "excitation_problem": "regression.excitation.problem",
    "limits_of": "regression.excitation.limits",
    "Surroundings": "models.collisions",
    "Workspace": "models.collisions",
    # methods
    "LeastSquares": "estimators.linear.least_squares",
    "EssentialParameters": "estimators.linear.essential",
    "PayloadIdentification": "estimators.linear.payload.identification",
    "PayloadDifference": "estimators.linear.payload.difference",
    "Resampling": "estimators.linear.payload.draws",
    "SemidefiniteLeastSquares": "estimators.linear.semidefinite",
    "Constraints": "estimators.linear.constraints",
    "BodyConstraint": "estimators.linear.constraints",
    "Box": "estimators.linear.constraints",
    "EllipsoidRegion": "estimators.linear.constraints",
    "Hull": "estimators.linear.constraints",
    "OptimalExcitation": "regression.excitation.design",
    "FourierSeries": "regression.excitation.trajectory",
    "QuinticSplines": "regression.excitation.trajectory",
    # motion and parameters together
    "KnownParameters": "estimators.shooting.known_parameters",
    "MotionNoise": "estimators.shooting.robot_log",
    "RobotLog": "estimators.shooting.robot_log",
    "OptimalEstimationProblem": "estimators.shooting.estimation",
    "OptimalEstimation": "estimators.shooting.estimation",
    "DDP": "estimators.shooting.ddp",
    "JointSmoothingProblem": "estimators.joint",
    "JointSmoothing": "estimators.joint",
    "JointEstimation": "estimators.joint",
    "WeightChoice": "estimators.joint",
    # thrown bodies
    "ImpactsProblem": "estimators.complementarity.problem",
    "DropIdentification": "estimators.complementarity.drop",
    "PooledImpacts": "estimators.complementarity.pooled",
    # filters in a loop
    "LinkTorques": "models.link_torques",
    "TrackingProblem": "estimators.online.problem",
    "Sample": "estimators.online.belief",
    "Belief": "estimators.online.belief",
    "SampleVerdict": "estimators.online.belief",
    "KalmanFilter": "estimators.online.kalman",
    "ExtendedKalmanFilter": "estimators.online.extended",
    "Gate": "estimators.online.gating",
    "RateLimit": "estimators.online.publishing",
    "calibrate_bias": "estimators.online.calibration",
    "excitation": "estimators.online.observability",
    "CompositeAdaptation": "estimators.online.composite",
    "TaskReference": "estimators.online.composite",
    "LinkBank": "estimators.online.attribution",
    "MovingPolynomial": "estimators.online.moving_polynomial",
    "with_accelerations": "estimators.online.moving_polynomial",
    "Tracker": "estimators.online.tracking",
    # results
    "Estimate": "estimate",
    "Status": "estimate",
    "Certificate": "estimate",
    "Finding": "estimate",
    "Trust": "estimate",
    "diagnose": "diagnosis",
    "EstimatedMotion": "estimate",
    "Progress": "solve",
    "Excitation": "regression.excitation.excitation",
    "predict": "validation",
    "validate": "validation",
    "load_dynamics": "project.prediction",
    "write_report": "report",
    "write_estimate": "io",
    "export_robot": "export",
    "compare_descriptions": "export",
    "repair": "export",
    # everything from one file
    "Project": "project",
    "identify": "project",
    "track": "project",
    # errors
    "PoinsotError": "exceptions",
    "UntrustedResult": "exceptions",
    "MissingExtra": "exceptions",
}

__all__ = [*_HOMES]

try:
    __version__ = version("poinsot")
except PackageNotFoundError:  # a source tree that is not installed
    __version__ = "0.0.0"

if TYPE_CHECKING:
    from .estimate import Estimate as Estimate
    from .estimate import Status as Status
    from .estimators.linear.essential import EssentialParameters as EssentialParameters
    from .estimators.linear.least_squares import LeastSquares as LeastSquares
    from .exceptions import MissingExtra as MissingExtra
    from .exceptions import PoinsotError as PoinsotError
    from .models.articulated import Articulated as Articulated
    from .models.articulated import load_robot as load_robot
    from .models.drive import Coupling as Coupling
    from .models.drive import Drive as Drive
    from .models.friction import NoFriction as NoFriction
    from .models.friction import ViscousCoulomb as ViscousCoulomb
    from .parameters import Normal as Normal
    from .parameters import Parameters as Parameters
    from .recording import Recording as Recording
    from .regression.inverse_dynamics import InverseDynamics as InverseDynamics
    from .regression.inverse_dynamics import inverse_dynamics as inverse_dynamics
    from .signals.butterworth import ButterworthDecimation as ButterworthDecimation
    from .signals.random_walk_smoother import RandomWalkSmoother as RandomWalkSmoother
    from .signals.signals import Signals as Signals


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'poinsot' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
