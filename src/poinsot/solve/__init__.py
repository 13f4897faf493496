"""Parts that all methods of estimation share.

gauss_newton   damped Gauss-Newton over the `Iterate` of a method; progress reports, and stopping on request
method         base of methods, whose `solve` checks the class of its problem
dense          small dense least squares with bounds, as iterates; the step within bounds
"""

from .gauss_newton import (
    DampedStep as DampedStep,
    GainRatio as GainRatio,
    GaussNewton as GaussNewton,
    Iterate as Iterate,
    Iteration as Iteration,
    Minimum as Minimum,
    Progress as Progress,
    ProgressCallback as ProgressCallback,
    Search as Search,
    StepLength as StepLength,
    Stop as Stop,
    report as report,
    stop_requested as stop_requested,
)
from .method import Method as Method, Replay as Replay
