"""Mechanisms in maximal coordinates and discrete time, differentiable through dry friction (Lacoursiere 2007; JAX).

joints, bodies, sensors   user input: joints with friction and motors, bodies, contacts, encoders
mechanism                 all of these, with names and units for every number
description               the same from a robot description
model                     the discrete dynamics as functions of states, controls and theta; simulation
values, structure         the numbers of a mechanism, and its constants
constraints, impulses     the equations of motion, term by term
step, reduced             forward (SPOOK), and the balance of forces for stiff constraints
lcp                       complementarity: block LDL^T, Lemke's method, a Newton method behind it
assembly                  joint coordinates to states and back
quaternions, precision    rotations in JAX; double precision for single calls, and machine code kept on disk
"""

# First: it raises the error that names the missing package where there is no JAX.
from .precision import double_precision as double_precision  # isort: skip
from .precision import keep_compiled as keep_compiled  # isort: skip
from .bodies import PlaneContact as PlaneContact, RigidBody as RigidBody, State as State
from .description import load_mechanism as load_mechanism, mechanism_of as mechanism_of
from .joints import (
    JOINT_KINDS as JOINT_KINDS,
    Ball as Ball,
    Coulomb as Coulomb,
    Fixed as Fixed,
    Hinge as Hinge,
    LoadDependent as LoadDependent,
    Motor as Motor,
    Slider as Slider,
    dry_friction as dry_friction,
)
from .mechanism import Mechanism as Mechanism
from .model import Model as Model
from .sensors import Encoder as Encoder, RateSensor as RateSensor
