"""Held-out prediction: efforts of recordings that were not used for an estimate."""

from __future__ import annotations

from collections.abc import Sequence

from .estimate import Estimate
from .signals.signals import Signals

predict = Estimate.predict


def validate(
    estimate: Estimate, signals: Sequence[tuple[str, Signals]], *, loaded: Sequence[str] = ()
) -> Estimate:
    """The estimate with its prediction of held-out recordings, (name, signals) each; `loaded`: those with the load."""
    fits = (estimate.predict(part, name, loaded=name in loaded) for name, part in signals)
    return estimate.updated(validation=tuple(fits))
