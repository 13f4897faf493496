"""The problem of bodies that are tossed in space: tracked poses, a body with known corners, the plane it strikes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....accuracy import CAREFUL, Accuracy
from ....arrays import Brief, Float, Vector
from ....estimate import Certificate, Estimate
from ....exceptions import InvalidMethod, InvalidRecording
from ....models.rotations import from_quaternion
from ....models.spatial import Corners, Plane
from ....recording import Recording
from .flights import Toss

AXES = ("x", "y", "z")
BODY = "body"
"""Name of the body's frame in channels of its orientation."""


@dataclass(frozen=True, eq=False, repr=False)
class TossesProblem(Brief):
    """Tosses of one body.

    Args:
        tosses: at least one. shape: corners about the center of mass. plane: that the body strikes.
        mass: [kg]; None: not known, then inertia is by mass.
        warnings: sentences about the tosses that limit how far results can be trusted.
        accuracy: errors that the laboratory may have made.

    Raises:
        InvalidMethod: if there is no toss, or the mass is not positive.
    """

    tosses: tuple[Toss, ...]
    shape: Corners
    plane: Plane
    mass: float | None = None
    name: str = "body"
    warnings: tuple[str, ...] = ()
    accuracy: Accuracy = CAREFUL

    def certify(self, estimate: Estimate) -> Certificate:
        """Optimality at the estimate's own values, with its motion. Raises InvalidMethod if it has none."""
        solved: Any = estimate.extras.get("flights")
        if solved is None:
            raise InvalidMethod("this estimate has no motion; certify an estimate of TossIdentification")
        certificate: Certificate = solved.certify(estimate)
        return certificate

    def __post_init__(self) -> None:
        if not self.tosses:
            raise InvalidMethod("there is no toss; give at least one")
        if self.mass is not None and not 0 < self.mass < np.inf:
            raise InvalidMethod(f"the mass of a body must be above 0 kg, not {self.mass:g}")

    @classmethod
    def from_recordings(
        cls,
        recordings: Mapping[str, Recording],
        shape: Corners,
        planes: Sequence[Plane] = (),
        *,
        mass: float | None = None,
        name: str = "body",
        accuracy: Accuracy = CAREFUL,
    ) -> TossesProblem:
        """The problem of recordings, a toss each, of channels `position.x`, `.y`, `.z` [m] and `orientation.body.x`,
        `.y`, `.z`, `.w`, the quaternion that turns vectors of the body's frame to the world's. z points up.

        Args:
            planes: none: the level floor z = 0.

        Raises:
            InvalidRecording: if a recording lacks what is needed. InvalidMethod: if there are several planes.
        """
        if len(planes) > 1:
            raise InvalidMethod(
                f"a body in space strikes one plane, but there are {len(planes)}; give one of [[walls]]"
            )
        tosses, warnings = [], []
        for title, recording in recordings.items():
            toss, lost = toss_of(recording, title)
            tosses.append(toss)
            if lost:
                warnings.append(f"{lost} of {len(recording)} frames of {title} are incomplete and excluded.")
        if not planes:
            warnings.append("There are no walls: the level floor z = 0 was assumed.")
        return cls(
            tuple(tosses), shape, planes[0] if planes else Plane(), mass, name, tuple(warnings), accuracy
        )


def toss_of(recording: Recording, name: str) -> tuple[Toss, int]:
    """The toss of a recording, and the number of incomplete frames. Raises InvalidRecording if a channel is missing."""
    places = np.column_stack([_readings(recording, f"position.{axis}", name) for axis in AXES])
    quaternions = np.column_stack(
        [_readings(recording, f"orientation.{BODY}.{axis}", name) for axis in (*AXES, "w")]
    )
    if recording.units["position.x"] != "m":
        raise InvalidRecording(
            f"recording {name!r}: positions are in {recording.units['position.x']}, but must be in m: correct the unit"
        )
    rotations = from_quaternion(quaternions)
    whole = np.isfinite(places).all(axis=1) & np.isfinite(rotations).all(axis=(1, 2))
    times: Float[np.ndarray, "N"] = np.asarray(recording.time, dtype=float)[whole]
    return Toss(name, times, places[whole], rotations[whole]), int((~whole).sum())


def _readings(recording: Recording, channel: str, name: str) -> Vector:
    if channel not in recording.channels:
        raise InvalidRecording(
            f"recording {name!r} has no {channel}; a body in space needs position = {{ columns = [x, y, z], "
            "unit = ... } and orientation = { columns = [x, y, z, w of a quaternion] }"
        )
    return recording.readings(channel)
