"""Is this number to be trusted, and if not, why and what now? One file a check, each listed here.

    case            the problem that checks change and solve again
    description     what a robot description knows
    explanations    defects of a whole recording, compared by how well they explain it
    check           what a check is
    tracking        a filter's run; `tracking_checks` look at it
    estimated_motion  what an estimate of motion and parameters assumed

`diagnose(estimate)` runs them; `estimate.findings` and `estimate.trust` ask for it. A check of another distribution is
listed under the entry point group `poinsot.checks`, as `"module:attribute"`, an instance of `Check`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any

import numpy as np

from ..estimate import Diagnosis, Estimate, Finding, Unchecked
from ..estimate.estimate import unfinished
from ..estimate.finding import Severity, ordered
from ..exceptions import PoinsotError
from ..regression.inverse_dynamics import InverseDynamics
from .angle_unit import AngleUnit
from .body_directions import BodyDirections
from .case import Examination
from .check import Cause, Check
from .clock_scale import ClockScale
from .delay import TorqueDelay
from .disturbance import Disturbance
from .dropped_torque import DroppedTorque
from .estimated_motion import ASSUMPTION_CHECKS
from .explanations import Alignment, Explanation
from .filters import Filters
from .fit import PoorFit
from .gain_change import GainChange
from .gravity import Gravity
from .held_out import HeldOutError
from .joint_zero import JointZero
from .load import LoadGains
from .lost_samples import LostSamples
from .outliers import Outliers
from .physics import Physics
from .position_jumps import PositionJumps
from .reduction import Reduction
from .sign import Sign
from .swapped_channels import SwappedChannels
from .torque_gain import TorqueGain
from .torque_noise import TorqueNoise
from .torque_scale import TorqueScale
from .tracking import FilterRun
from .tracking_checks import RUN_CHECKS

EXPLANATIONS: tuple[Explanation, ...] = (
    Sign(),
    SwappedChannels(),
    AngleUnit(),
    Reduction(),
    ClockScale(),
    Gravity(),
    JointZero(),
    TorqueDelay(),
    TorqueGain(),
    GainChange(),
)
"""Defects of a whole recording, the simplest first."""

CHECKS: tuple[Check, ...] = (
    LostSamples(),
    PositionJumps(),
    Outliers(),
    DroppedTorque(),
    Disturbance(),
    Alignment(EXPLANATIONS),
    TorqueScale(),
    BodyDirections(),
    TorqueNoise(),
    PoorFit(),
    HeldOutError(),
    Physics(),
    Filters(),
)
"""In the order in which they look: what is wrong with samples first."""

GROUP = "poinsot.checks"

LOADED = 0.05
"""`Alignment.improves` of recordings with a load and without it."""

__all__ = ["CHECKS", "EXPLANATIONS", "Examination", "Cause", "Check", "Explanation", "causes", "diagnose"]


def checks() -> tuple[Check, ...]:
    """Those listed here, and those of other distributions."""
    return (*CHECKS, *(entry.load() for entry in entry_points(group=GROUP)))


def causes() -> tuple[Cause, ...]:
    """Every cause that a finding may name."""
    listed = [explanation.cause for explanation in EXPLANATIONS]
    listed += [
        cause for check in (*checks(), *RUN_CHECKS, *ASSUMPTION_CHECKS, LoadGains()) for cause in check.causes
    ]
    return tuple({cause.name: cause for cause in listed}.values())


def diagnose(estimate: Estimate) -> Diagnosis:
    """Look at an estimate of the linear family for what may be wrong with it."""
    problem = estimate.problem
    assert isinstance(problem, InverseDynamics)
    listed = checks()
    if problem.attachment is not None:
        alike = [replace(each, improves=LOADED) if isinstance(each, Alignment) else each for each in listed]
        listed = (*alike, LoadGains())
    return examined(estimate, (listed, Examination(estimate, problem)))


def diagnose_tracking(
    estimate: Estimate, run: FilterRun, recorded: Callable[[], InverseDynamics] | None
) -> Diagnosis:
    """Look at an estimate of a filter.

    Args:
        run: what it made of its samples. recorded: the recordings as they were read; None: a stream is not kept.
    """
    what, samples = (
        "single torque readings and lost samples",
        [each for each in checks() if each.of_samples and not isinstance(each, Disturbance)],
    )
    try:
        if recorded is not None:
            return examined(estimate, (samples, Examination(estimate, recorded())), (RUN_CHECKS, run))
        unchecked = Unchecked(what, "a stream is not kept")
    except PoinsotError as error:
        unchecked = Unchecked(what, str(error))
    found = examined(estimate, (RUN_CHECKS, run))
    return replace(found, unchecked=(unchecked, *found.unchecked))


def examined(estimate: Estimate, *looks: tuple[Iterable[Check], Any]) -> Diagnosis:
    """What checks find in a case; each with its case, those of single samples first."""
    findings, unchecked = list(unfinished(estimate)), []
    bad_samples = False
    for check, case in ((check, case) for listed, case in looks for check in listed):
        if bad_samples and not check.of_samples:
            unchecked.append(Unchecked(type(check).__name__, "single samples are wrong; mend them first"))
            continue
        try:
            with np.errstate(all="ignore"):  # wrong data overflow; what is not finite is not taken
                found = list(check.look(case))
        except (PoinsotError, np.linalg.LinAlgError) as error:
            unchecked.append(Unchecked(type(check).__name__, str(error)))
            continue
        unchecked += [each for each in found if isinstance(each, Unchecked)]
        new = [each for each in found if isinstance(each, Finding)]
        findings += new
        bad_samples |= check.of_samples and any(each.severity is Severity.error for each in new)
    return Diagnosis(ordered(findings), tuple(unchecked))
