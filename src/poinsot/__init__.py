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

_GROUPS = (
    # recordings
    ("recording", "Recording"),
    ("io", "read_recording write_recording Source Column"),
    ("inspection", "inspect"),
    ("signals.resampling", "resample"),
    # signals
    ("signals.signals", "Signals"),
    ("signals.butterworth", "ButterworthDecimation"),
    ("signals.random_walk_smoother", "RandomWalkSmoother"),
    ("signals.bandwidth", "propose_filters"),
    ("signals.alignment", "align estimate_delay"),
    # what a body may be
    ("inertia.log_cholesky", "LogCholesky"),
    ("inertia.transposed_log_cholesky", "TransposedLogCholesky"),
    ("inertia.exponential_eigenvalue", "ExponentialEigenvalue"),
    ("inertia.ellipsoid", "equivalent_ellipsoid"),
    # models
    ("models.articulated", "load_robot Articulated"),
    ("models.drive", "Drive Coupling"),
    ("models.friction", "ViscousCoulomb NoFriction"),
    ("models.efforts", "Spring Counterbalance Ripple KnownEffort CurrentCurve WarmingFriction"),
    ("models.contacts", "PointContact SurfaceContact ContactDetection ContactSchedule"),
    ("models.sensors", "JointPosition JointVelocity Gyro Accelerometer Orientation Readings"),
    ("models.open_parameters", "OpenParameters"),
    ("models.stages", "Stages"),
    (
        "models.maximal",
        "Mechanism load_mechanism RigidBody Fixed Hinge Slider Ball Coulomb LoadDependent Motor Encoder "
        "RateSensor",
    ),
    # problems
    ("parameters", "Normal Parameters"),
    ("regression.inverse_dynamics", "InverseDynamics inverse_dynamics"),
    ("regression.delay", "estimate_effort_delay"),
    ("regression.excitation.problem", "excitation_problem"),
    ("regression.excitation.limits", "limits_of"),
    ("models.collisions", "Surroundings Workspace"),
    # methods
    ("estimators.linear.least_squares", "LeastSquares"),
    ("estimators.linear.essential", "EssentialParameters"),
    ("estimators.linear.payload.identification", "PayloadIdentification"),
    ("estimators.linear.payload.difference", "PayloadDifference"),
    ("estimators.linear.payload.draws", "Resampling"),
    ("estimators.linear.semidefinite", "SemidefiniteLeastSquares"),
    ("estimators.linear.constraints", "Constraints BodyConstraint Box EllipsoidRegion Hull"),
    ("regression.excitation.design", "OptimalExcitation"),
    ("regression.excitation.trajectory", "FourierSeries QuinticSplines"),
    # motion and parameters together
    ("estimators.shooting.known_parameters", "KnownParameters"),
    ("estimators.shooting.robot_log", "MotionNoise RobotLog"),
    ("estimators.shooting.estimation", "OptimalEstimationProblem OptimalEstimation"),
    ("estimators.shooting.ddp", "DDP"),
    ("estimators.joint", "JointSmoothingProblem JointSmoothing JointEstimation WeightChoice"),
    # thrown bodies
    ("estimators.complementarity.problem", "ImpactsProblem"),
    ("estimators.complementarity.drop", "DropIdentification"),
    ("estimators.complementarity.pooled", "PooledImpacts"),
    # filters in a loop
    ("models.link_torques", "LinkTorques"),
    ("estimators.online.problem", "TrackingProblem"),
    ("estimators.online.belief", "Sample Belief SampleVerdict"),
    ("estimators.online.kalman", "KalmanFilter"),
    ("estimators.online.extended", "ExtendedKalmanFilter"),
    ("estimators.online.gating", "Gate"),
    ("estimators.online.publishing", "RateLimit"),
    ("estimators.online.calibration", "calibrate_bias"),
    ("estimators.online.observability", "excitation"),
    ("estimators.online.composite", "CompositeAdaptation TaskReference"),
    ("estimators.online.attribution", "LinkBank"),
    ("estimators.online.moving_polynomial", "MovingPolynomial with_accelerations"),
    ("estimators.online.tracking", "Tracker"),
    # results
    ("estimate", "Estimate Status Certificate Finding Trust"),
    ("diagnosis", "diagnose"),
    ("estimate", "EstimatedMotion"),
    ("solve", "Progress"),
    ("regression.excitation.excitation", "Excitation"),
    ("validation", "predict validate"),
    ("project.prediction", "load_dynamics"),
    ("report", "write_report"),
    ("io", "write_estimate"),
    ("export", "export_robot compare_descriptions repair"),
    # everything from one file
    ("project", "Project identify track"),
    # errors
    ("exceptions", "PoinsotError UntrustedResult MissingExtra"),
)
"""Module, and the public names that it gives, in the order of the pipeline."""

_HOMES = {name: home for home, names in _GROUPS for name in names.split()}

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
