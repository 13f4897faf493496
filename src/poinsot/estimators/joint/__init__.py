"""States and parameters of discrete mechanisms together, most states unmeasured (Lacoursiere 2007).

estimation      from the problem to the estimate
problem         recordings on the model's steps, the parameters to estimate, their bounds and priors; the result
smoothing       the method: residuals, weights and steps in a box, on the iteration of `poinsot.solve`
forms           residuals of the equations of motion in a step: explicit, implicit, reduced, forward
linearization   residuals of all steps with their derivatives, in blocks; normal equations
sensitivity     covariance of theta, effective degrees of freedom, unobservable directions
prediction      readings predicted over windows, from states estimated without them
weight          the weight of the model against the readings, by likelihood and by prediction
examination     checks of an estimate
"""

from .estimation import JointEstimation as JointEstimation  # isort: skip  # says what to install without JAX
from .forms import FORMS as FORMS
from .problem import (
    JointFit as JointFit,
    JointSmoothingProblem as JointSmoothingProblem,
    Record as Record,
    RecordFit as RecordFit,
    with_sensors as with_sensors,
)
from .smoothing import JointSmoothing as JointSmoothing, at_held_out as at_held_out
from .weight import ChosenWeight as ChosenWeight, WeightChoice as WeightChoice
