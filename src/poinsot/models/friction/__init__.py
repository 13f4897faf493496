"""Friction laws of a joint that are linear in their parameters.

terms               one parameter each: its effort, slope, smooth form, unit, sign, words and place in descriptions
law                 `FrictionLaw`: the terms of one joint; `NoFriction`, `ViscousCoulomb`
listed              `LAWS`: every law by its name in a project file; adding a law is its file and a line there
"""

from .law import FrictionLaw, NoFriction, ViscousCoulomb
from .listed import LAWS, ListedLaw, term_of
from .terms import CoulombTerm, FrictionTerm, OffsetTerm, ViscousTerm, dry_level, dry_sign

__all__ = [
    "LAWS",
    "CoulombTerm",
    "FrictionLaw",
    "FrictionTerm",
    "ListedLaw",
    "NoFriction",
    "OffsetTerm",
    "ViscousTerm",
    "ViscousCoulomb",
    "dry_level",
    "dry_sign",
    "term_of",
]
