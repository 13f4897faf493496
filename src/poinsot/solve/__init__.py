"""What every method of estimation shares.

progress       how a method reports progress, and how it is stopped
gauss_newton   the one damped Gauss-Newton iteration; a method brings an `Iterate`
dense          small dense least squares in a box, as iterates
"""

from .gauss_newton import Direction, GainRatio, GaussNewton, Iterate, Iteration, Minimum, Search, StepLength
from .progress import Progress, ProgressCallback, Stop, report, stop_requested

__all__ = [
    "Progress",
    "ProgressCallback",
    "Stop",
    "report",
    "stop_requested",
    "GaussNewton",
    "GainRatio",
    "StepLength",
    "Iterate",
    "Direction",
    "Iteration",
    "Minimum",
    "Search",
]
