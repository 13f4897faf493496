"""Results: the core that every family has, and typed extras.

status         how an estimation ended, and what to do next
uncertainty    parameters with their standard deviations; combinations that the data do not determine
fit            measured against predicted, with a mask of what was measured
certificate    optimality and feasibility, recomputed from the problem
finding        what may be wrong with a result, and the level of trust
estimate       all of it: `Estimate`
extras         what one family alone has: bodies and loads, drive gains, friction curves, motions, impacts
unobservable   combinations of parameters that may change without any residual noticing, in words
"""

from .bodies import Body, Payload
from .certificate import CertifiableProblem, Certificate
from .drive_gains import DriveGains
from .estimate import Estimate
from .extras import Extra, extras_of
from .finding import Diagnosis, Finding, Severity, Trust, Unchecked
from .fit import Fit, Whiteness, fit_of
from .joint_extras import FrictionCurve, FrictionCurves, FullParameters
from .motions import (
    Convergence,
    EstimatedMotion,
    EstimatedMotions,
    Impact,
    Impacts,
    Scene,
    SensorFit,
    motions_of,
)
from .provenance import Provenance, software_versions
from .status import Status
from .uncertainty import NARROWED, NORMAL_95, Direction, EstimatedParameters
from .unobservable import unobservable_directions

__all__ = [
    "Status",
    "Direction",
    "EstimatedParameters",
    "NARROWED",
    "NORMAL_95",
    "Fit",
    "Whiteness",
    "fit_of",
    "Certificate",
    "CertifiableProblem",
    "Body",
    "Payload",
    "DriveGains",
    "FrictionCurve",
    "FrictionCurves",
    "FullParameters",
    "SensorFit",
    "EstimatedMotion",
    "EstimatedMotions",
    "motions_of",
    "Convergence",
    "Impact",
    "Impacts",
    "Scene",
    "Extra",
    "extras_of",
    "Provenance",
    "software_versions",
    "Diagnosis",
    "Finding",
    "Severity",
    "Trust",
    "Unchecked",
    "Estimate",
    "unobservable_directions",
]
