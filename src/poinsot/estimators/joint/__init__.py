"""States and parameters of discrete mechanisms together, most states unmeasured (Lacoursiere 2007).

estimation      from the problem to the estimate
summary         a fit as an estimate
problem         records of a model, with the parameters to estimate and what is known of them
smoothing       the method: residuals, weights and steps in a box, on the iteration of `poinsot.solve`
results         parameters, motions and uncertainty of a fit
forms           residuals of the equations of motion in a step: explicit, implicit, reduced, forward
records         recordings on the model's steps, and initial guesses of the states
linearization   residuals of all steps with their derivatives, in blocks
chunks          compiled functions over records of any length
bordered        normal equations with a band for the states and a border for theta
sensitivity     covariance of theta, effective degrees of freedom, unobservable directions
prediction      readings predicted over windows, from states that did not see them
weight          the weight of the model against the readings, by likelihood and by prediction
examination     what may be wrong with an estimate
"""

from .estimation import JointEstimation  # isort: skip  # says what to install without JAX
from .forms import FORMS
from .problem import JointSmoothingProblem
from .records import Record, with_sensors
from .results import AcceptedStep, BodyMotions, JointFit, RecordFit
from .smoothing import JointSmoothing, at_held_out
from .weight import ChosenWeight, WeightChoice

__all__ = [
    "JointEstimation",
    "JointSmoothingProblem",
    "FORMS",
    "Record",
    "with_sensors",
    "JointSmoothing",
    "JointFit",
    "AcceptedStep",
    "RecordFit",
    "BodyMotions",
    "at_held_out",
    "WeightChoice",
    "ChosenWeight",
]
