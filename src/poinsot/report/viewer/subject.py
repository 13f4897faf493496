"""What moves in a scene: a robot, a mechanism or a thrown body, each in a file of its own, and its motions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ...arrays import Inertial, Matrix, Times
from ...project import Run
from ...project.prediction import PredictionJob
from ...recording import Recording


@dataclass(frozen=True, eq=False)
class Surface:
    """A surface. `body`: body whose frame is used; "": the world's. `vertices`: (v, 3) [m]. `faces`: (f, 3). `share`:
    the prior's share, 0 to 1.
    """

    body: str
    vertices: Matrix
    faces: np.ndarray
    share: float = 0.0


@dataclass(frozen=True, eq=False)
class ViewedMotion:
    """The bodies along a recording.

    Args:
        name: name of the recording.
        time: (T,) [s].
        placements: (T, l, 4, 4) T_wb of each body.
        forces: frame of a contact -> (T, 2, 3) its position [m], and the force on the robot [N]; NaN where open.
        channels: name -> (T,) values to plot. units: their units.
    """

    name: str
    time: Times
    placements: Float[np.ndarray, "T l 4 4"]
    channels: Mapping[str, np.ndarray]
    units: Mapping[str, str]
    forces: Mapping[str, Float[np.ndarray, "T 2 3"]] = field(default_factory=dict)


class Subject(ABC):
    """What moves.

    Attributes:
        bodies: names, in the order of placements.
        lines: body -> (k, 2, 3) ends of lines that are drawn with it, in its frame [m].
        described: body -> (10,) parameters before the data.
        shapes: surfaces that are no ellipsoids.
        remarks: sentences on what the result cannot show.
    """

    bodies: tuple[str, ...]
    lines: Mapping[str, Float[np.ndarray, "k 2 3"]]
    described: Mapping[str, Inertial]
    shapes: tuple[Surface, ...] = ()
    remarks: tuple[str, ...] = ()

    @abstractmethod
    def runs(self, job: PredictionJob, data_dir: Path | None) -> Sequence[Run]:
        """The recordings of its project."""

    @abstractmethod
    def recorded(self, run: Run) -> ViewedMotion | None:
        """The motion that was measured; None where measurements do not determine it."""

    @abstractmethod
    def estimated(self, name: str, path: Recording) -> ViewedMotion:
        """The motion that was estimated, as the result has it."""


def shown_channels(recording: Recording) -> dict[str, np.ndarray]:
    """The channels to plot: all but those of standard deviations."""
    return {name: values for name, values in recording.channels.items() if name[:4] != "std."}
