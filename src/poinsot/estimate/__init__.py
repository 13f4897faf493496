"""Results: the core that every family has, and typed extras.

status         how an estimation ended, and what to do next
uncertainty    parameters with their standard deviations; combinations that the data do not determine, in words
fit            measured against predicted, with a mask of the measured samples
finding        what may be wrong with a result, and the level of trust
estimate       all of these: `Estimate`, with its `Certificate` of optimality and feasibility
extras         results of single families: bodies and loads, drive gains, friction curves, motions, impacts
"""

from ..statistics import NORMAL_95 as NORMAL_95
from .bodies import Body as Body, Payload as Payload
from .estimate import Certificate as Certificate, Estimate as Estimate
from .extras import (
    DriveGains as DriveGains,
    Extra as Extra,
    FrictionCurve as FrictionCurve,
    FrictionCurves as FrictionCurves,
    FullParameters as FullParameters,
    extras_of as extras_of,
)
from .finding import (
    Diagnosis as Diagnosis,
    Finding as Finding,
    Setting as Setting,
    Severity as Severity,
    Trust as Trust,
    Unchecked as Unchecked,
)
from .fit import Fit as Fit, Whiteness as Whiteness, fit_of as fit_of
from .motions import (
    Convergence as Convergence,
    EstimatedMotion as EstimatedMotion,
    EstimatedMotions as EstimatedMotions,
    SensorFit as SensorFit,
    motions_of as motions_of,
)
from .provenance import Provenance as Provenance
from .status import Status as Status
from .uncertainty import (
    NARROWED as NARROWED,
    Direction as Direction,
    EstimatedParameters as EstimatedParameters,
    Uncertainty as Uncertainty,
    condition_numbers as condition_numbers,
    unobservable_directions as unobservable_directions,
)
