"""Checks that decide whether an estimate can be trusted, and if not, why. All are listed here; one file per defect.

    case            the problem that checks change and solve again
    description     prior of base parameters from a robot description
    explanations    defects of a whole recording, compared by how well they explain it
    check           what a check is
    tracking        a filter's run, which `tracking_checks` examine
    estimated_motion  assumptions of an estimate of motion and parameters
    throws          checks of thrown bodies

`diagnose(estimate)` runs them; `estimate.findings` and `estimate.trust` call it. A check of another distribution is
listed under the entry point group `poinsot.checks`, as `"module:attribute"`, an instance of `Check`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from ..estimate import Diagnosis, Estimate, Finding, Unchecked
from ..estimate.estimate import unfinished
from ..estimate.finding import ordered
from ..exceptions import PoinsotError
from ..lazy import plugins
from ..regression.inverse_dynamics import InverseDynamics
from . import corrections
from .cause import Cause
from .channels import AngleUnit, Reduction, Sign, SwappedChannels
from .check import Check, RecordingCheck, look_at
from .delay import TorqueDelay
from .disturbance import Disturbance
from .effect_fit import EffectFit
from .effort_samples import DroppedTorque
from .estimated_motion import ASSUMPTION_CHECKS
from .examination import Examination
from .explanations import Alignment, Explanation
from .fit import HeldAway, HeldOutError, TorqueNoise
from .gains import GainChange, LoadGains, TorqueGain, TorqueScale
from .geometry import BodyDirections, JointPlacements, JointZero
from .gravity import ClockScale, Gravity, LengthUnit
from .outliers import Outliers
from .parameters import DescribedBodies, Filters, Physics
from .position_samples import LostSamples, PositionJumps
from .prediction import BlockPrediction, SystematicEffects
from .recordings import Recordings
from .stale_samples import StaleSamples
from .systematic import SystematicUncertainty
from .tracking import FilterRun
from .tracking_checks import RUN_CHECKS

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
"""Checks that need only a recording; `inspect` runs them too."""

CHECKS: tuple[Check, ...] = (
    *SAMPLE_CHECKS,
    StaleSamples(),
    Recordings((Disturbance(), Alignment(EXPLANATIONS), TorqueScale(), BodyDirections(), TorqueNoise())),
    SystematicEffects(),
    BlockPrediction(),
    HeldAway(),
    HeldOutError(),
    DescribedBodies(),
    Physics(),
    Filters(),
)
"""In the order in which they run: checks of samples first."""

GROUP = "poinsot.checks"

__all__ = ["CHECKS", "EXPLANATIONS", "Examination", "Cause", "Check", "Explanation", "causes", "diagnose"]


def checks() -> tuple[Check, ...]:
    """The checks listed here, and those of other distributions."""
    return (*CHECKS, *(entry.load() for entry in plugins(GROUP)))


def causes() -> tuple[Cause, ...]:
    """Every cause that a finding may name."""
    from .throws import CAUSES as OF_THROWS  # only an examination of throws needs shapes and walls

    listed = (*corrections.CAUSES.values(), *OF_THROWS, *_causes_of_checks())
    return tuple({cause.name: cause for cause in listed}.values())


def _causes_of_checks() -> list[Cause]:
    """Causes that the checks of recordings, runs and assumptions name."""
    every = (*checks(), *RUN_CHECKS, *ASSUMPTION_CHECKS, LoadGains())
    return [cause for check in every for cause in check.causes]


def diagnose(estimate: Estimate, systematic: SystematicUncertainty | None = None) -> Diagnosis:
    """Findings about an estimate of the linear family; `systematic`: its systematic errors, if they are known."""
    problem = estimate.problem
    assert isinstance(problem, InverseDynamics)
    loads = () if problem.attachment is None else (LoadGains(),)
    case = Examination(estimate, problem, fitted=systematic)
    return examined(estimate, look_at(case, (*checks(), *loads)), lambda: case.systematic)


def diagnose_tracking(
    estimate: Estimate,
    run: FilterRun,
    recorded: Callable[[], InverseDynamics] | None,
    inherited: Sequence[Finding] = (),
) -> Diagnosis:
    """Findings about a filter's estimate and run; `recorded`: the recordings as read, None for a stream (not kept).
    `inherited`: errors found where the known robot was identified.
    """
    what, found = "single torque readings and lost samples", [*inherited, *look_at(run, RUN_CHECKS)]
    try:
        if recorded is None:
            found = [Unchecked(what, "a stream is not kept"), *found]
        else:
            samples = [check for check in checks() if check.of_samples]
            found = [*look_at(Examination(estimate, recorded()), samples), *found]
    except PoinsotError as error:
        found = [Unchecked(what, str(error)), *found]
    return examined(estimate, found, lambda: run.systematic)


def examined(
    estimate: Estimate,
    found: Sequence[Finding | Unchecked],
    systematic: Callable[[], EffectFit | None] = lambda: None,
) -> Diagnosis:
    """The diagnosis of an estimate: findings in order, and what could not be checked. `systematic`: the fit with
    effects, which has left parts out; its errors are findings already.
    """
    findings = [*unfinished(estimate), *(entry for entry in found if isinstance(entry, Finding))]
    unchecked = tuple(entry for entry in found if isinstance(entry, Unchecked))
    symptoms = {cause.name for cause in _causes_of_checks() if cause.symptom}
    left_out = None
    with suppress(PoinsotError, np.linalg.LinAlgError), np.errstate(all="ignore"):
        fit = systematic()
        left_out = None if fit is None else 100 * fit.left_out_error
    is_complete = not any(entry.failed for entry in unchecked)
    return Diagnosis(ordered(findings, symptoms), unchecked, is_complete, left_out)
