"""Extras: what the estimate of one family has beside the core, each a typed value that knows its JSON.

An estimate keeps its extras in one mapping from `key` to value. A new one is a class here, or in the family that makes
it, that derives from `Extra`; a page shows it with a section of `report.sections` that asks for it by its class.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class Extra:
    """A typed part of an estimate that not every family has.

    `key` names it in `estimate.extras`, as an attribute of the estimate and in the JSON.
    """

    key: ClassVar[str]

    def as_json(self) -> Any:
        """What the documented JSON holds under `key`: plain values, arrays, mappings and dataclasses."""
        raise NotImplementedError(f"{type(self).__name__}.as_json")

    def as_text(self) -> str:
        """Lines for `print(estimate)`; empty: nothing is printed."""
        return ""


def extras_of(*values: Extra | None) -> Mapping[str, Extra]:
    """The mapping that an estimate keeps; None and empty sequences are left out."""
    return {
        value.key: value
        for value in values
        if value is not None and not (isinstance(value, tuple) and len(value) == 0)
    }
