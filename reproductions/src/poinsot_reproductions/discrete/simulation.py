"""A recording simulated from its first state with nothing but its controls, for comparison.

Steps are SPOOK's on the curve (`Mechanism.model(curvature=True)`), equal and short; controls are held as recorded.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from jaxtyping import Float

from poinsot.arrays import Vector
from poinsot.estimators.joint import Record, RecordFit
from poinsot.models.maximal import Model

from .rollout import read_coordinates, simulate, state_of

LONGEST = 2e-3
"""Step [s]."""


@lru_cache(maxsize=8)
def _curved(model: Model) -> Model:
    """What is compiled is kept."""
    return model.mechanism.model(model.free, curvature=True)


def simulated(model: Model, theta: Vector, record: Record, path: RecordFit) -> Float[np.ndarray, "N s"]:
    """(N, s) what sensors would read if the mechanism moved on by itself from the path's first state."""
    own = _curved(model)
    names = [name for name, _ in model.mechanism.coordinates]
    start = state_of(
        own,
        rates=dict(zip(names, path.rates[0].tolist(), strict=True)),
        **dict(zip(names, path.coordinates[0].tolist(), strict=True)),
    )
    duration = float(record.times[-1] - record.times[0])
    sample = float(np.median(record.steps))
    every = max(1, int(np.ceil(sample / LONGEST)))
    samples = int(np.ceil(duration / sample))
    grid = record.times[0] + sample * np.arange(samples + 1)
    # 1e-9 s: a grid point that rounding puts just before its sample takes that sample's control
    held = np.clip(np.searchsorted(record.times, grid[:-1] + 1e-9, side="right") - 1, 0, len(record.u) - 1)
    simulation = simulate(own, start, sample / every, samples, record.u[held], theta, every=every)
    y, rate = own.joint_motion(simulation.states, theta)
    at = np.clip(record.times, grid[0], grid[-1])
    y, rate = (np.stack([np.interp(at, grid, column) for column in part.T], axis=1) for part in (y, rate))
    return read_coordinates(model, y, rate, theta)
