"""Public names in the order of the pipeline, and where each is defined; `__init__.py` loads them by this list."""
# ruff: noqa: I001 (the order is that of the pipeline)

# recordings
from .recording import Recording as Recording
from .io.reading import read_recording as read_recording
from .io.npz import write_recording as write_recording
from .io.lerobot import LeRobotDataset as LeRobotDataset
from .io.lerobot import open_lerobot as open_lerobot
from .io.lerobot import read_lerobot as read_lerobot
from .io.lerobot import guess_unit as guess_unit
from .io.message_columns import TopicFacts as TopicFacts
from .io.message_columns import topics as topics
from .io.recording_files import read_mcap as read_mcap
from .io.recording_files import write_mcap as write_mcap
from .io.recording_files import read_parquet as read_parquet
from .io.recording_files import write_parquet as write_parquet
from .io.block_log import BlockLog as BlockLog
from .io.block_log import open_log as open_log
from .io.parquet import ParquetLog as ParquetLog
from .io.message_log import MessageLog as MessageLog
from .io.readers import Reader as Reader
from .io.sources import Source as Source
from .io.sources import Column as Column
from .inspection import inspect as inspect
from .signals.resampling import resample as resample

# signals
from .signals.signals import Signals as Signals
from .signals.butterworth import ButterworthDecimation as ButterworthDecimation
from .signals.random_walk_smoother import RandomWalkSmoother as RandomWalkSmoother
from .signals.bandwidth import propose_filters as propose_filters
from .signals.alignment import align as align
from .signals.alignment import estimate_delay as estimate_delay

# what a body may be
from .inertia.charts.log_cholesky import LogCholesky as LogCholesky
from .inertia.charts.transposed_log_cholesky import TransposedLogCholesky as TransposedLogCholesky
from .inertia.charts.exponential_eigenvalue import ExponentialEigenvalue as ExponentialEigenvalue
from .inertia.parameters import equivalent_ellipsoid as equivalent_ellipsoid

# models
from .models.robot.articulated import load_robot as load_robot
from .models.robot.articulated import Articulated as Articulated
from .models.robot.drive import Drive as Drive
from .models.robot.drive import Coupling as Coupling
from .models.friction import ViscousCoulomb as ViscousCoulomb
from .models.friction import NoFriction as NoFriction
from .models.efforts import Spring as Spring
from .models.efforts import Counterbalance as Counterbalance
from .models.efforts import Ripple as Ripple
from .models.efforts import KnownEffort as KnownEffort
from .models.efforts import CurrentCurve as CurrentCurve
from .models.efforts import WarmingFriction as WarmingFriction
from .models.contacts.contacts import PointContact as PointContact
from .models.contacts.contacts import BallContact as BallContact
from .models.contacts.contacts import SurfaceContact as SurfaceContact
from .models.contacts.contacts import ContactDetection as ContactDetection
from .models.contacts.contacts import ContactSchedule as ContactSchedule
from .models.sensors import JointPosition as JointPosition
from .models.sensors import JointVelocity as JointVelocity
from .models.sensors import Gyro as Gyro
from .models.sensors import Accelerometer as Accelerometer
from .models.sensors import Orientation as Orientation
from .models.sensors import Readings as Readings
from .models.robot.open_parameters import OpenParameters as OpenParameters
from .models.maximal import Mechanism as Mechanism
from .models.maximal import load_mechanism as load_mechanism
from .models.maximal import RigidBody as RigidBody
from .models.maximal import Fixed as Fixed
from .models.maximal import Hinge as Hinge
from .models.maximal import Slider as Slider
from .models.maximal import Ball as Ball
from .models.maximal import Free as Free
from .models.maximal import BodyFrame as BodyFrame
from .models.maximal import Coulomb as Coulomb
from .models.maximal import LoadDependent as LoadDependent
from .models.maximal import Motor as Motor
from .models.maximal import Stops as Stops
from .models.maximal import Encoder as Encoder
from .models.maximal import RateSensor as RateSensor
from .models.maximal import FrameReading as FrameReading
from .models.servo.actuator import Actuator as Actuator
from .models.servo.actuator import ActuatorParameter as ActuatorParameter
from .models.servo.actuator import actuator_parameters as actuator_parameters

# problems
from .parameters import Normal as Normal
from .accuracy import Accuracy as Accuracy
from .parameters import Parameters as Parameters
from .regression.inverse_dynamics import InverseDynamics as InverseDynamics
from .regression.inverse_dynamics import inverse_dynamics as inverse_dynamics
from .diagnosis.delay import estimate_effort_delay as estimate_effort_delay
from .excitation.problem import excitation_problem as excitation_problem
from .excitation.limits import limits_of as limits_of
from .models.robot.collisions import Surroundings as Surroundings
from .models.robot.collisions import Workspace as Workspace

# methods
from .estimators.linear.least_squares import LeastSquares as LeastSquares
from .estimators.linear.essential import EssentialParameters as EssentialParameters
from .estimators.linear.instrumental_variable import InstrumentalVariable as InstrumentalVariable
from .estimators.linear.hidden_deflections import HiddenDeflections as HiddenDeflections
from .estimators.linear.payload.identification import PayloadIdentification as PayloadIdentification
from .estimators.linear.payload.difference import PayloadDifference as PayloadDifference
from .estimators.linear.payload.draws import Resampling as Resampling
from .estimators.linear.semidefinite import SemidefiniteLeastSquares as SemidefiniteLeastSquares
from .estimators.linear.constraints import Constraints as Constraints
from .estimators.linear.constraints import BodyConstraint as BodyConstraint
from .estimators.linear.constraints import Box as Box
from .estimators.linear.constraints import EllipsoidRegion as EllipsoidRegion
from .estimators.linear.constraints import Hull as Hull
from .excitation.design import OptimalExcitation as OptimalExcitation
from .excitation.trajectory import FourierSeries as FourierSeries
from .excitation.trajectory import QuinticSplines as QuinticSplines

# motion and parameters together
from .estimators.shooting.known_parameters import KnownParameters as KnownParameters
from .estimators.shooting.recordings import MotionNoise as MotionNoise
from .estimators.shooting.robot import RobotTrajectoryModel as RobotTrajectoryModel
from .estimators.shooting.estimation import OptimalEstimationProblem as OptimalEstimationProblem
from .estimators.shooting.estimation import OptimalEstimation as OptimalEstimation
from .estimators.shooting.ddp import DDP as DDP
from .estimators.shooting.moving_horizon import MovingHorizon as MovingHorizon
from .estimators.joint import JointSmoothingProblem as JointSmoothingProblem
from .estimators.joint import JointSmoothing as JointSmoothing
from .estimators.joint import JointEstimation as JointEstimation
from .estimators.joint import WeightChoice as WeightChoice

# thrown bodies
from .estimators.impacts.problem import ImpactsProblem as ImpactsProblem
from .estimators.impacts.space.method import TossIdentification as TossIdentification
from .estimators.impacts.space.problem import TossesProblem as TossesProblem
from .estimators.impacts.method import ImpactIdentification as ImpactIdentification

# robots that take position commands
from .estimators.servo.problem import ActuatorProblem as ActuatorProblem
from .estimators.servo.problem import OPEN as OPEN
from .estimators.servo.search import Search as Search
from .estimators.servo.output_error import OutputError as OutputError
from .estimators.servo.result import Actuators as Actuators
from .estimators.servo.between_joints import Equality as Equality
from .estimators.servo.between_joints import equality_of_joints as equality_of_joints
from .export.randomization import Randomization as Randomization
from .export.randomization import randomization_of as randomization_of
from .export.randomization import read_randomization as read_randomization
from .export.randomization import write_randomization as write_randomization
from .export.usd_drives import usd_drives as usd_drives
from .export.usd_drives import write_usd_drives as write_usd_drives
from .export.usd_drives import read_usd_drives as read_usd_drives
from .estimators.servo.command_design import CommandDesign as CommandDesign
from .estimators.servo.command_design import DesignedCommands as DesignedCommands
from .estimators.servo.command_design import PredictedInterval as PredictedInterval

# filters in a loop
from .models.robot.link_torques import LinkTorques as LinkTorques
from .estimators.online.problem import TrackingProblem as TrackingProblem
from .estimators.online.belief import Sample as Sample
from .estimators.online.belief import Belief as Belief
from .estimators.online.belief import SampleVerdict as SampleVerdict
from .estimators.online.filter import KalmanFilter as KalmanFilter
from .estimators.online.filter import ExtendedKalmanFilter as ExtendedKalmanFilter
from .estimators.online.filter import Gate as Gate
from .estimators.online.tracking import RateLimit as RateLimit
from .estimators.online.problem import calibrate_bias as calibrate_bias
from .estimators.online.tracking import excitation as excitation
from .estimators.online.attribution import LinkBank as LinkBank
from .estimators.online.moving_polynomial import MovingPolynomial as MovingPolynomial
from .estimators.online.moving_polynomial import with_accelerations as with_accelerations
from .estimators.online.tracking import Tracker as Tracker
from .estimators.online.leg_odometry import LegOdometry as LegOdometry
from .estimators.online.leg_odometry import OdometrySample as OdometrySample
from .estimators.online.leg_odometry import OdometryBelief as OdometryBelief
from .estimators.online.leg_odometry import LegOdometryProblem as LegOdometryProblem

# results
from .estimate import Estimate as Estimate
from .estimate import Status as Status
from .estimate import Certificate as Certificate
from .estimate import Finding as Finding
from .estimate import Trust as Trust
from .diagnosis import diagnose as diagnose
from .estimate import EstimatedMotion as EstimatedMotion
from .solve import Progress as Progress
from .excitation.excitation import Excitation as Excitation
from .estimate.estimate import predict as predict
from .estimate.estimate import validate as validate
from .project.prediction import load_dynamics as load_dynamics
from .project.prediction import read_estimate as read_estimate
from .report import write_report as write_report
from .io.results import write_estimate as write_estimate
from .schemas import read_schema as read_schema
from .export.export_robot import export_robot as export_robot
from .export.differences import compare_descriptions as compare_descriptions
from .export.repair_description import repair as repair

# everything from one file
from .project import Project as Project
from .project import identify as identify
from .project import track as track

# many recordings and many machines
from .studies.study import Study as Study
from .studies.study import Serial as Serial
from .studies.study import StudyInterrupted as StudyInterrupted
from .studies.study import cluster as cluster
from .studies.study import processes as processes
from .studies.study import chosen as chosen
from .studies.store import Store as Store
from .studies.fleet import Fleet as Fleet
from .studies.fleet import FleetEstimate as FleetEstimate
from .io.log_names import Log as Log
from .io.log_names import find_logs as find_logs
from .studies.comparison import compare as compare
from .studies.comparison import Comparison as Comparison
from .studies.random_effects import RandomEffects as RandomEffects
from .studies.random_effects import random_effects as random_effects
from .studies.streaming import Blocks as Blocks
from .studies.streaming import stream_least_squares as stream_least_squares

# errors
from .exceptions import PoinsotError as PoinsotError
from .exceptions import UntrustedResult as UntrustedResult
from .exceptions import MissingExtra as MissingExtra

__version__: str
