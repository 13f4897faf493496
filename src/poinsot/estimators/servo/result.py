"""What an estimate of actuators has beside its parameters: a table of actuators, ratios, and simulated motions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...arrays import Brief, JointSamples, Vector
from ...estimate import Estimate
from ...estimate.extras import Extra, MainNumber
from ...estimate.headline import KNOWN_PERCENT
from ...lazy import load
from ...models.robot.articulated import Articulated
from ...models.servo.actuator import Actuator, actuator_parameters


@dataclass(frozen=True, eq=False)
class Ratio:
    """A combination of parameters that positions show where they do not show the scale of torques, or its terms.

    Args:
        name: `"coulomb / stiffness"`, `"delay + damping / stiffness"`. unit: [rad], [s], [s^2]. value, std: in it.
        identifiable: whether the standard deviation is below the value.
        next_std: half width of the 95 % interval for the next recording, over 1.96: from the differences between four
            recordings or more that show it, or from blocks of fewer; None: not known.
    """

    json_keys: ClassVar = {"std_next_recording": "next_std", "next_std": None}

    joint: str
    name: str
    unit: str
    value: float
    std: float
    identifiable: bool
    next_std: float | None = None

    def of(self, actuator: Actuator) -> float:
        """The same combination of the parameters of an actuator."""
        if " + " in self.name:
            return actuator.lateness
        return float(getattr(actuator, self.name.partition(" ")[0])) / actuator.stiffness

    @property
    def stds(self) -> str:
        """Both standard deviations in words."""
        following = "" if self.next_std is None else f" ({self.next_std:.2g} for the next recording)"
        return f"{self.std:.2g}{following}"


@dataclass(frozen=True, eq=False, repr=False)
class Actuators(Brief, Extra):
    """The actuators that were found.

    Args:
        actuators: of every joint. hold: whether commands are held between samples. step_s: of the simulation [s].
        scale_known: joint -> whether gravity or a known inertia shows the scale of its torques.
        ratios: of parameters to the stiffness, and how late slow motions are (`ratios`).
        rms: joint -> root mean square error of the position of the estimate's own simulation [rad], by recording.
        starts: recording -> (n,) positions and (n,) velocities where its simulation starts.
        friction_laws: joint -> name of its friction, of `servo_friction`.
        commanded: (N, n) commands at the rows of the estimate's fit [rad].
        robot: that has them.
        rms_of_file: the same errors of the MuJoCo file that is written; empty where MuJoCo is not installed or cannot
            simulate the motion.
    """

    key = "actuators"

    actuators: tuple[Actuator, ...]
    hold: bool
    step_s: float
    scale_known: Mapping[str, bool]
    ratios: tuple[Ratio, ...]
    rms: Mapping[str, Mapping[str, float]]
    starts: Mapping[str, tuple[Vector, Vector]]
    friction_laws: Mapping[str, str]
    commanded: JointSamples
    robot: Articulated
    rms_of_file: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def reported(self) -> tuple[str, Mapping[str, Mapping[str, float]]]:
        """Whose errors are reported, and the errors: those of the file where it was simulated."""
        if self.rms_of_file:
            return "the MuJoCo file, rolled out in MuJoCo", self.rms_of_file
        return "the estimate's own simulation, not the MuJoCo file", self.rms

    def __getitem__(self, joint: str) -> Actuator:
        """The actuator of a joint."""
        return next(each for each in self.actuators if each.name == joint)

    def as_json(self) -> dict[str, Any]:
        whose, rms = self.reported
        return {
            "hold": self.hold,
            "step_s": self.step_s,
            "joints": [
                {"joint": each.name, "scale_known": self.scale_known[each.name]}
                | {"friction_law": self.friction_laws[each.name]}
                | {name: _or_none(value) for name, value in each.numbers.items()}
                | {"friction_positions": each.friction_positions, "friction_levels": each.friction_levels}
                for each in self.actuators
            ],
            "ratios": self.ratios,
            "rms_of": whose,
            "rms_mrad": {
                recording: {joint: 1e3 * value for joint, value in joints.items()}
                for recording, joints in rms.items()
            },
            "starts": {
                recording: {"position": position, "velocity": velocity}
                for recording, (position, velocity) in self.starts.items()
            },
        }

    def files(self, estimate: Estimate) -> tuple[Mapping[str, Callable[[Path], Any]], tuple[str, ...]]:
        written: tuple[Mapping[str, Callable[[Path], Any]], tuple[str, ...]] = load(
            ".export.actuator_files:simulator_files"
        )(estimate, self, self.robot)
        return written

    def main_numbers(self) -> tuple[MainNumber, ...]:
        """Ratios, where positions show no scale of torques; lateness first, which is known best."""
        shown = [r for r in self.ratios if r.identifiable and not self.scale_known.get(r.joint, True)]
        return tuple(
            MainNumber(f"{r.joint}, {r.name}", r.value, r.std, r.unit)
            for r in sorted(shown, key=lambda r: r.std / max(abs(r.value), 1e-300))
        )

    def found(self) -> str:
        if all(self.scale_known.values()):
            return ""
        known = sum(100 * number.std < KNOWN_PERCENT * abs(number.value) for number in self.main_numbers())
        return (
            f"{known} of {len(self.ratios)} ratios to the stiffness known to better than {KNOWN_PERCENT:g} %; "
            "positions alone do not show the scale of torques."
        )

    def as_text(self) -> str:
        """One line a joint: what a simulator needs."""
        shown = [
            name
            for name, row in actuator_parameters().items()
            if name == "stiffness" or any(getattr(each, name) != row.default for each in self.actuators)
        ]
        width = max(len(each.name) for each in self.actuators)
        lines = [f"{'actuator':<{width}}  " + " ".join(f"{name:>15}" for name in shown)]
        for each in self.actuators:
            values = " ".join(f"{getattr(each, name):>15.5g}" for name in shown)
            scale = "" if self.scale_known[each.name] else "  (only ratios of torques are known)"
            lines.append(f"{each.name:<{width}}  {values}{scale}")
        ratios = [r for r in self.ratios if r.identifiable and not self.scale_known.get(r.joint, True)]
        lines += [f"{r.joint} {r.name:<30} {r.value:>11.5g} {r.stds:>10}  {r.unit}" for r in ratios]
        return "\n".join(lines)


def _or_none(value: float) -> float | None:
    return value if np.isfinite(value) else None
