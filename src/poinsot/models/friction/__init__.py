"""Friction laws of a joint that are linear in their parameters.

terms               one parameter each: its effort, slope, smooth form, unit, sign, words and place in descriptions
law                 `FrictionLaw`: the terms of one joint; `NoFriction`, `ViscousCoulomb`
listed              `LAWS`: every law by its name in a project file; adding a law is its file and a line there
"""

from .law import FrictionLaw as FrictionLaw, NoFriction as NoFriction, ViscousCoulomb as ViscousCoulomb
from .listed import LAWS as LAWS, ListedLaw as ListedLaw, term_of as term_of
from .terms import (
    CoulombTerm as CoulombTerm,
    FrictionTerm as FrictionTerm,
    ViscousTerm as ViscousTerm,
    dry_level as dry_level,
    dry_sign as dry_sign,
)
