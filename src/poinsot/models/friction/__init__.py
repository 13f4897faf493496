"""Friction laws of a joint that are linear in their parameters.

terms               one parameter each: its effort, slope, smooth form, unit, sign, words and place in descriptions
law                 `FrictionLaw`: the terms of one joint; `NoFriction`, `ViscousCoulomb`
listed              `LAWS`: every law by its name in a project file; adding a law is its file and a line there
"""

from .law import FrictionLaw as FrictionLaw
from .law import NoFriction as NoFriction
from .law import ViscousCoulomb as ViscousCoulomb
from .listed import LAWS as LAWS
from .listed import ListedLaw as ListedLaw
from .listed import term_of as term_of
from .terms import CoulombTerm as CoulombTerm
from .terms import FrictionTerm as FrictionTerm
from .terms import ViscousTerm as ViscousTerm
from .terms import dry_level as dry_level
from .terms import dry_sign as dry_sign
