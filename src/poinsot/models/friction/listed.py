"""The list of friction laws, and the term and words of a parameter's kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from .law import FrictionLaw, NoFriction, ViscousCoulomb
from .terms import CoulombTerm, FrictionTerm, ViscousTerm


@dataclass(frozen=True)
class ListedLaw:
    """A law, by its class, that project files may name; `fixed` are fields that this name sets."""

    law: type[FrictionLaw]
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[str, ...]:
        """The other keys that a project file may set under [friction]."""
        return tuple(each.name for each in fields(self.law) if each.name not in self.fixed)

    def build(self, settings: Mapping[str, Any]) -> FrictionLaw:
        """The law with those of the settings that it has."""
        return self.law(**{key: settings[key] for key in self.keys if key in settings}, **self.fixed)


LAWS: dict[str, ListedLaw] = {
    "viscous-coulomb": ListedLaw(ViscousCoulomb, {"coulomb": True}),
    "viscous": ListedLaw(ViscousCoulomb, {"coulomb": False}),
    "none": ListedLaw(NoFriction),
}

COUPLING = "_coupling"
"""Ending of the kind of a coupled motor's term: `viscous_coupling`."""


def term_types() -> dict[str, type[FrictionTerm]]:
    """Kind -> term, of every listed law."""
    terms: list[type[FrictionTerm]] = [ViscousTerm, CoulombTerm]
    terms += [term for each in LAWS.values() for term in each.law.term_types]
    return {term.kind: term for term in terms}


def term_of(kind: str) -> type[FrictionTerm] | None:
    """The term of a parameter's kind, a joint's own or a coupled motor's; None if it is not friction."""
    return term_types().get(kind.removesuffix(COUPLING))


def dissipating_kinds() -> tuple[str, ...]:
    """Kinds of friction whose parameters are never below 0 in a real joint: of joints, then of coupled motors."""
    own = [kind for kind, term in term_types().items() if term.dissipates]
    return (*own, *(f"{kind}{COUPLING}" for kind in own))


def words_of(kind: str) -> str:
    """A parameter's kind in words: `viscous friction`, `viscous friction of the coupled motor`, `rotor inertia`."""
    term = term_of(kind)
    if term is None:
        return kind.replace("_", " ")
    return f"{term.words} of the coupled motor" if kind.endswith(COUPLING) else term.words
