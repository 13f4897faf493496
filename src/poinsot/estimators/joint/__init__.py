"""States and parameters of discrete mechanisms together, most states unmeasured (Lacoursiere 2007).

estimation      from the problem to the estimate
summary         a fit as an estimate
problem         records of a model, with the parameters to estimate, their bounds and priors
smoothing       the method: residuals, weights and steps in a box, on the iteration of `poinsot.solve`
results         parameters, motions and uncertainty of a fit
forms           residuals of the equations of motion in a step: explicit, implicit, reduced, forward
records         recordings on the model's steps, and initial guesses of the states
linearization   residuals of all steps with their derivatives, in blocks
bordered        normal equations with a band for the states and a border for theta
sensitivity     covariance of theta, effective degrees of freedom, unobservable directions
prediction      readings predicted over windows, from states estimated without them
other_weights   likelihood and prediction at other weights, from the linearization of a fit
weight          the weight of the model against the readings, by likelihood and by prediction
examination     checks of an estimate
"""

from .estimation import JointEstimation as JointEstimation  # isort: skip  # says what to install without JAX
from .forms import FORMS as FORMS
from .problem import JointSmoothingProblem as JointSmoothingProblem
from .records import Record as Record, with_sensors as with_sensors
from .results import JointFit as JointFit, RecordFit as RecordFit
from .smoothing import JointSmoothing as JointSmoothing, at_held_out as at_held_out
from .weight import ChosenWeight as ChosenWeight, WeightChoice as WeightChoice
