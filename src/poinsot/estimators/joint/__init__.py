"""States and parameters of discrete mechanisms together, most states unmeasured (seed 000).

estimation      a problem of recordings, and what comes of it as an estimate
smoothing       the method: weights, Levenberg and Marquardt's steps in a box
batch           the same for many records at once, each for itself, wholly in JAX
results         what comes of it
forms           what is left of the equations of motion in a step: explicit, implicit, reduced, forward
records         what was read, and the first guess of how it moved
linearization   errors of all steps with their derivatives, in blocks
chunks          compiled functions over records of any length
bordered        normal equations with a band for the states and a border for theta
sensitivity     how sure theta is, and what the records do not show
simulation      a recording simulated from its first state
weight          the weight of the model against the readings, chosen by what it foretells
"""

from .estimation import JointEstimation, JointSmoothingProblem  # isort: skip  # says what to install without JAX
from .batch import BatchFit, fit_batch
from .forms import FORMS
from .records import Record
from .results import Iteration, JointFit, Path
from .smoothing import JointSmoothing, at_held_out
from .weight import ChosenWeight, choose_weight

__all__ = [
    "JointEstimation",
    "JointSmoothingProblem",
    "FORMS",
    "Record",
    "JointSmoothing",
    "JointFit",
    "Iteration",
    "Path",
    "at_held_out",
    "BatchFit",
    "fit_batch",
    "ChosenWeight",
    "choose_weight",
]
