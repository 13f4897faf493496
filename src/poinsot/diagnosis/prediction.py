"""Effects that the data show, and how well parts of the data predict others.


Levels at which a verdict changes are fields of the checks, each with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from ..estimate import Finding, Severity, Unchecked
from ..exceptions import listing
from .case import recordings_of, within
from .cause import Cause
from .check import Check
from .effect_fit import EffectFit, Named
from .effects import EFFECTS, RECORDING_EFFECTS
from .effects.friction import LateReversal
from .examination import Examination
from .fit import HELD_OUT, POOR_FIT
from .systematic import SystematicFit


class SystematicEffects(Check):
    """Effects that the data show, and the size that others may have.

    Class variables:
        grave, explains: standard deviations of the prior, and the part of what all effects remove, from which an error
            of the laboratory is grave: none errs by four times what a careful one does. A term that the model lacks is
            no error of the data: prediction says whether the model is of use without it.
        matters: part of the held-out squared error from which an effect smaller than the prior is a warning.
    """

    grave, explains = 4.0, 0.5
    matters = 0.5

    causes = tuple({effect.cause.name: effect.cause for effect in (*EFFECTS, *RECORDING_EFFECTS)}.values())

    def look(self, case: Examination) -> Iterator[Finding | Unchecked]:
        fit, known = case.systematic, ""
        # what was found distorts everything else: effects are of the recordings without it
        if case.explained:
            best = case.explained[-1]
            known = best.candidate.cause.name
            fit = SystematicFit.of(best.solved.problem, best.solved.theta)
        elif case.spoiled:
            sound = [s for k, s in enumerate(recordings_of(case.problem)) if k not in case.spoiled]
            if not sound:
                return
            problem = case.problem.with_signals(sound)
            fit = SystematicFit.of(problem, Examination(case.estimate, problem).declared.theta)
        for named in fit.named:
            if named.columns[0].effect.cause.name != known:
                yield self._finding(case, named)
        yield from self._unchecked(fit)

    def _finding(self, case: Any, named: Named) -> Finding:
        column = named.columns[0]
        effect, unit = column.effect, column.effect.unit
        joints = listing([column.joint for column in named.columns], 8)
        size = f"{abs(named.value):.3g} +- {1.96 * named.std:.2g} {unit}"
        kind = effect.place
        if len(named.columns) > 1:
            size, kind = f"{size} ({column.joint})", f"{kind}s" if kind else ""
        place = joints if "oint {joint}" in effect.sentence else f"{kind} {joints}".lstrip()
        where = "" if column.recording is None else f" in recording {column.recording + 1}"
        said = effect.sentence.format(joint=place, size=size)
        small = named.sizes < 1 and named.gain < self.matters
        if small or isinstance(effect, LateReversal):
            severity = Severity.note
        elif named.sizes > self.grave and named.share >= self.explains and not effect.of_model:
            severity = Severity.error
        else:
            severity = Severity.warning
        place = ", ".join(dict.fromkeys(column.joint for column in named.columns if column.joint))
        return effect.cause.finding(
            severity,
            f"{said}{where}: with it the squared error of parts that were not fitted falls by "
            f"{100 * named.gain:.2g} %.",
            effect.remedy().format(joint=column.joint),
            where=place if column.recording is None else within(case.problem, column.recording + 1, place),
            evidence=named.z,
        )

    def _unchecked(self, fit: EffectFit) -> Iterator[Unchecked]:
        """Effects of the laboratory that the data hardly determine: how large they may be, and what that does."""
        shown = {(column.effect.name, column.joint) for named in fit.named for column in named.columns}
        x, variance = fit.joint[0], fit.posterior[0]
        for column, place in zip(fit.columns, fit.slices, strict=True):
            effect = column.effect
            if not effect.unchecked or (effect.name, column.joint) in shown:
                continue
            size = column.size * float(np.sqrt(np.max(x[place] ** 2 + variance[place])))
            moved = fit.moved(place)
            yield Unchecked(
                effect.unchecked.format(joint=column.joint),
                f"it may be off by {1.96 * size:.2g} {effect.unit}, which moves parameters by up to "
                f"{moved:.2g} of their standard deviations; intervals include it",
            )


class BlockPrediction(Check):
    """Prediction of parts of the recordings that were not fitted.

    Class variables:
        error: relative held-out error beyond which the model predicts nothing.
        warning: held-out error over what is expected of the noise and the number of parameters.
        floor: relative error at which the difference matters to nobody, or the reading's own noise if that is larger.
        few, too_few: equations a parameter. least: parameters need as many equations as an interval needs samples.
        unexplained, of_noise: relative residual, and times the noise, from which the model lacks something.
        computed, frictionless: relative residual, and part of friction, below which a torque was computed.
    """

    error, warning, floor = 0.3, 2.0, 0.02
    few, too_few = 5.0, 2.0
    unexplained, of_noise = 0.1, 5.0
    computed, frictionless = 0.003, 0.02

    causes: ClassVar[tuple[Cause, ...]] = (
        HELD_OUT,
        Cause(
            "few-data",
            "There are hardly more equations than parameters: residuals say little about errors.",
            "Record longer, or raise decimate_hz.",
        ),
        POOR_FIT,
        Cause(
            "computed-torque",
            "The torque was computed from a model, and not measured: it has no noise and no friction.",
            "Record the measured torque, or motor currents; a computed torque has the parameters of its model.",
        ),
    )

    def look(self, case: Any) -> Iterator[Finding | Unchecked]:
        fit = case.systematic
        held_out, few, poor, computed = BlockPrediction.causes
        each = fit.y.size / fit.b
        if each < self.few:
            yield few.finding(
                Severity.error if each < self.too_few else Severity.warning,
                f"There are {each:.2g} equations a parameter.",
                evidence=10 / each,
            )
        relative = fit.left_out_error
        times = fit.beyond_expected
        if relative > self.error:
            yield held_out.finding(
                Severity.error,
                f"Parts of the recordings that were not fitted are predicted with an error of {100 * relative:.3g} %.",
                evidence=10 * relative,
            )
        elif times > self.warning and relative > max(self.floor, 2 * fit.floor):
            yield held_out.finding(
                Severity.warning,
                f"Parts of the recordings that were not fitted are predicted {times:.2g} times worse than their noise "
                f"and the number of parameters explain ({100 * relative:.3g} %).",
                evidence=times,
            )
        error = fit.relative_error
        if error > self.unexplained and error > self.of_noise * fit.floor:
            yield poor.finding(
                Severity.warning,
                f"The model leaves {100 * error:.3g} % of the torque unexplained; its noise is "
                f"{100 * fit.floor:.2g} %.",
                evidence=100 * error,
            )
        friction = np.sqrt(np.mean(np.concatenate(fit.at.friction) ** 2, axis=0)) / fit.at.rms
        if error < self.computed and np.median(friction[list(fit.at.driven)]) < self.frictionless:
            yield computed.finding(
                Severity.error,
                f"The model leaves {100 * error:.2g} % of the torque, which contains no friction: it was computed, "
                "and not measured.",
                evidence=1e3,
            )
