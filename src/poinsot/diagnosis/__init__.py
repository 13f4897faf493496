"""Is this number to be trusted, and if not, why and what now? One file a check, each listed here.

    case            the problem that checks change and solve again
    description     what a robot description knows
    explanations    defects of a whole recording, compared by how well they explain it
    check           what a check is

`diagnose(estimate)` runs them; `estimate.findings` and `estimate.trust` ask for it. A check of another distribution is
listed under the entry point group `poinsot.checks`, as `"module:attribute"`, an instance of `Check`.
"""

from __future__ import annotations

from importlib.metadata import entry_points

from ..estimate import Diagnosis, Estimate, Finding, Unchecked
from ..estimate.estimate import unfinished
from ..estimate.finding import ordered
from ..regression.inverse_dynamics import InverseDynamics
from .angle_unit import AngleUnit
from .body_directions import BodyDirections
from .case import Examination
from .check import Cause, Check, RecordingCheck, look_at
from .clock_scale import ClockScale
from .corrections import QUANTITIES
from .delay import TorqueDelay
from .disturbance import Disturbance
from .dropped_torque import DroppedTorque
from .explanations import Alignment, Explanation
from .filters import Filters
from .fit import PoorFit
from .gain_change import GainChange
from .geometry import JointPlacements, LengthUnit
from .gravity import Gravity
from .held_out import HeldOutError
from .joint_zero import JointZero
from .lost_samples import LostSamples
from .outliers import Outliers
from .physics import Physics
from .position_jumps import PositionJumps
from .recordings import Recordings
from .reduction import Reduction
from .sign import Sign
from .swapped_channels import SwappedChannels
from .torque_gain import TorqueGain
from .torque_noise import TorqueNoise
from .torque_scale import TorqueScale

EXPLANATIONS: tuple[Explanation, ...] = (
    Sign(),
    SwappedChannels(),
    AngleUnit(),
    LengthUnit(),
    Reduction(),
    ClockScale(),
    Gravity(),
    JointZero(),
    JointPlacements(),
    TorqueDelay(),
    TorqueGain(),
    GainChange(),
)
"""Defects of a whole recording, the simplest first."""

SAMPLE_CHECKS: tuple[RecordingCheck, ...] = (LostSamples(), PositionJumps(), Outliers(), DroppedTorque())
"""Those that need a recording alone, which `inspect` runs too."""

CHECKS: tuple[Check, ...] = (
    *SAMPLE_CHECKS,
    Recordings((Disturbance(), Alignment(EXPLANATIONS), TorqueScale(), BodyDirections(), TorqueNoise())),
    PoorFit(),
    HeldOutError(),
    Physics(),
    Filters(),
)
"""In the order in which they look: what is wrong with samples first."""

GROUP = "poinsot.checks"

__all__ = ["CHECKS", "EXPLANATIONS", "Examination", "Cause", "Check", "Explanation", "causes", "diagnose"]


def checks() -> tuple[Check, ...]:
    """Those listed here, and those of other distributions."""
    return (*CHECKS, *(entry.load() for entry in entry_points(group=GROUP)))


def causes() -> tuple[Cause, ...]:
    """Every cause that a finding may name."""
    listed = [each.cause for each in QUANTITIES.values()]
    listed += [cause for check in checks() for cause in check.causes]
    return tuple({cause.name: cause for cause in listed}.values())


def diagnose(estimate: Estimate) -> Diagnosis:
    """Look at an estimate of the linear family for what may be wrong with it."""
    problem = estimate.problem
    assert isinstance(problem, InverseDynamics)
    findings: list[Finding] = list(unfinished(estimate))
    if problem.attachment is not None:
        load = Unchecked("the load", "there are no checks yet for recordings with and without a load")
        return Diagnosis(ordered(findings), (load,), complete=False)
    found = look_at(Examination(estimate, problem), checks())
    findings += [each for each in found if isinstance(each, Finding)]
    unchecked = [each for each in found if isinstance(each, Unchecked)]
    symptoms = {cause.name for cause in causes() if cause.symptom}
    return Diagnosis(
        ordered(findings, symptoms), tuple(unchecked), complete=not any(each.failed for each in unchecked)
    )
