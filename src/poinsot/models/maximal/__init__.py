"""Mechanisms in maximal coordinates and discrete time, differentiable through dry friction (Lacoursiere 2007; JAX).

joints, bodies            user input: joints with friction, motors and sensors, bodies, contacts
mechanism                 all of these, with names and units for every number, or from a robot description;
                          its discrete dynamics
frames                    points of bodies, and what markers, orientations and gyroscopes read at them
values                    the numbers of a mechanism, its constants, and its friction
impulses                  constraints and equations of motion, term by term, and a step forward (SPOOK)
reduced                   joint coordinates to states and back; the balance of forces for stiff constraints
lcp                       complementarity: block LDL^T, Lemke's method, a Newton method behind it
quaternions, precision    rotations in JAX; double precision for single calls, and machine code kept on disk
"""

# First: it raises the error that names the missing package where there is no JAX.
from .precision import double_precision as double_precision  # isort: skip
from .precision import keep_compiled as keep_compiled  # isort: skip
from .bodies import PlaneContact as PlaneContact, RigidBody as RigidBody, State as State
from .frames import FRAME_READINGS as FRAME_READINGS, BodyFrame as BodyFrame, FrameReading as FrameReading
from .joints import (
    JOINT_KINDS as JOINT_KINDS,
    Ball as Ball,
    Coulomb as Coulomb,
    Encoder as Encoder,
    Fixed as Fixed,
    Free as Free,
    Hinge as Hinge,
    LoadDependent as LoadDependent,
    Motor as Motor,
    RateSensor as RateSensor,
    Slider as Slider,
    Stops as Stops,
    dry_friction as dry_friction,
)
from .mechanism import (
    Mechanism as Mechanism,
    Model as Model,
    load_mechanism as load_mechanism,
    mechanism_of as mechanism_of,
)
