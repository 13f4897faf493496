"""Results: the core that every family has, and typed extras.

status         how an estimation ended, and what to do next
uncertainty    parameters with their standard deviations; combinations that the data do not determine, in words
fit            measured against predicted, with a mask of the measured samples
finding        what may be wrong with a result, and the level of trust
estimate       all of these: `Estimate`, with its `Certificate` of optimality and feasibility
extras         results of single families: bodies and loads, drive gains, friction curves, motions, impacts
"""

from .bodies import Body as Body
from .bodies import Payload as Payload
from .estimate import Certificate as Certificate
from .estimate import Estimate as Estimate
from .extras import DriveGains as DriveGains
from .extras import Extra as Extra
from .extras import FrictionCurve as FrictionCurve
from .extras import FrictionCurves as FrictionCurves
from .extras import FullParameters as FullParameters
from .extras import extras_of as extras_of
from .finding import Diagnosis as Diagnosis
from .finding import Finding as Finding
from .finding import Setting as Setting
from .finding import Severity as Severity
from .finding import Trust as Trust
from .finding import Unchecked as Unchecked
from .fit import Fit as Fit
from .fit import Whiteness as Whiteness
from .fit import fit_of as fit_of
from .motions import Convergence as Convergence
from .motions import EstimatedMotion as EstimatedMotion
from .motions import EstimatedMotions as EstimatedMotions
from .motions import SensorFit as SensorFit
from .motions import motions_of as motions_of
from .provenance import Provenance as Provenance
from .status import Status as Status
from .uncertainty import NARROWED as NARROWED
from .uncertainty import NORMAL_95 as NORMAL_95
from .uncertainty import Direction as Direction
from .uncertainty import EstimatedParameters as EstimatedParameters
from .uncertainty import condition_numbers as condition_numbers
from .uncertainty import taper_allowance as taper_allowance
from .uncertainty import unobservable_directions as unobservable_directions
