"""Mechanisms in maximal coordinates and discrete time, differentiable through dry friction (Lacoursiere 2007; JAX).

joints, bodies, sensors   what a user says: joints with friction and motors, bodies, contacts, encoders
mechanism                 all of it, with names and units for every number
description               the same from a robot description
model                     the discrete dynamics as functions of states, controls and theta; simulation
values, structure         the numbers of a mechanism, and what never changes
constraints, impulses     the equations of motion, term by term
step, reduced             forward (SPOOK), and the balance of forces for stiff constraints
mixed_lcp, lcp            complementarity: block LDL^T, Lemke's method, a Newton method behind it
assembly                  joint coordinates to states and back
quaternions, precision    rotations in JAX; double precision, lent, and machine code kept on disk
"""

# First: it says what is missing where there is no JAX.
from .precision import double_precision, keep_compiled  # isort: skip
from .bodies import PlaneContact, RigidBody, State
from .description import load_mechanism, mechanism_of
from .joints import FRICTION_LAWS, JOINT_KINDS, Ball, Coulomb, Fixed, Hinge, LoadDependent, Motor, Slider
from .mechanism import Mechanism
from .model import Model, Simulation
from .sensors import Encoder, RateSensor

__all__ = [
    "RigidBody",
    "Fixed",
    "Hinge",
    "Slider",
    "Ball",
    "Coulomb",
    "LoadDependent",
    "Motor",
    "JOINT_KINDS",
    "FRICTION_LAWS",
    "PlaneContact",
    "Encoder",
    "RateSensor",
    "Mechanism",
    "load_mechanism",
    "mechanism_of",
    "Model",
    "State",
    "Simulation",
    "double_precision",
    "keep_compiled",
]
