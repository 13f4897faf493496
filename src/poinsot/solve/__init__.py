"""What every method of estimation shares.

gauss_newton   damped Gauss-Newton over the `Iterate` of a method; progress reports, and stopping on request
method         base of methods, whose `solve` says what it takes
dense          small dense least squares with bounds, as iterates; the step within bounds
"""

from .gauss_newton import DampedStep as DampedStep
from .gauss_newton import GainRatio as GainRatio
from .gauss_newton import GaussNewton as GaussNewton
from .gauss_newton import Iterate as Iterate
from .gauss_newton import Iteration as Iteration
from .gauss_newton import Minimum as Minimum
from .gauss_newton import Progress as Progress
from .gauss_newton import ProgressCallback as ProgressCallback
from .gauss_newton import Search as Search
from .gauss_newton import StepLength as StepLength
from .gauss_newton import Stop as Stop
from .gauss_newton import report as report
from .gauss_newton import stop_requested as stop_requested
from .method import Method as Method
