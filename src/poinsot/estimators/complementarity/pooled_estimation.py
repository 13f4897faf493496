"""Many drops of a body -> an estimate: J/m and the geometry of contact, pooled, with what held-out drops say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...estimate import (
    Certificate,
    Direction,
    Estimate,
    EstimatedParameters,
    Fit,
    Provenance,
    Status,
    extras_of,
)
from ...estimate.fit import fit_of
from ...estimate.motions import POSE, EstimatedMotion, EstimatedMotions, Impact, Impacts, Scene, SensorFit
from ...exceptions import InvalidMethod
from ...models.planar.walls import told
from ...recording import Recording
from ...stopwatch import Stopwatch
from .agreement import Agreement, agreement, moved
from .pooled import PooledImpacts
from .problem import WITHOUT_MASS, ByMass, ImpactsProblem
from .result import PooledFit, PooledImpact

OF_MEDIAN, OF_QUARTILES = 1.2533, 1.349
"""Standard deviation of a median by that of a mean; of what lies between quartiles by the standard deviation."""
OF_MEDIAN_ERROR = 1.4826
"""Standard deviation by the median of what is off, of normal errors."""
JUMP = "jump of the spin"
Say = Callable[[str], None]


@dataclass(frozen=True)
class PooledEstimation:
    """The method.

    Args:
        impacts: of it. seed: of bootstrap and halves.
    """

    impacts: PooledImpacts = field(default_factory=PooledImpacts)
    seed: int = 0

    name = "impacts"
    citations = ("gabiccini2019", "kalman1960")

    def solve(self, problem: ImpactsProblem, say: Say = lambda _: None) -> Estimate:
        """
        Raises:
            InvalidMethod: if there are several walls, or known forces.
            NotIdentifiable: if no impact of the drops says anything.
        """
        if len(problem.walls) > 1:
            raise InvalidMethod(
                f"{len(problem.drops)} drops are pooled on one wall, and there are {len(problem.walls)}; identify "
                "each drop by itself, or give the wall that is struck"
            )
        forced = [drop.name for drop in problem.drops if drop.forces is not None]
        if forced:
            raise InvalidMethod(
                f"known forces, as in {forced[0]}, are for one drop by itself: identify it alone, or leave them out of "
                "drops in which they hardly act"
            )
        watch = Stopwatch()
        say(f"{len(problem.drops)} drops: flights and impacts")
        fit = self.impacts.solve(problem.drops, problem.shape, problem.walls[0])
        watch.lap("solve")
        say("bootstrap, halves, held-out impacts, assumptions")
        estimate = _Summary(problem, fit, self.seed).estimate()
        watch.lap("summary")
        return estimate.updated(method=self.name, citations=self.citations, seconds=watch.seconds)


@dataclass(frozen=True, eq=False)
class _Summary:
    """A fit as an estimate."""

    problem: ImpactsProblem
    fit: PooledFit
    seed: int

    def estimate(self) -> Estimate:
        fit, problem = self.fit, self.problem
        used = [impact for impact in fit.impacts if impact.used]
        names, units = ["J/m", *fit.names[1:]], list(fit.units)
        values = list(fit.shared)
        kinds = ["inertia"] + ["geometry"] * (len(names) - 1)
        covariance = np.zeros((len(names) + 2 + (problem.mass is not None),) * 2)
        covariance[: len(names), : len(names)] = fit.covariance
        for name, spread in (("friction", fit.friction), ("restitution", fit.restitution)):
            k = len(names)
            names.append(name)
            units.append("1")
            kinds.append(name)
            if spread is None:
                values.append(np.nan)
                covariance[k, k] = np.nan
            else:
                values.append(spread.median)
                width = (spread.upper - spread.lower) / OF_QUARTILES
                covariance[k, k] = (OF_MEDIAN * width) ** 2 / max(spread.count, 1)
        if problem.mass is not None:
            names.append("J")
            units.append("kg m^2")
            kinds.append("inertia")
            values.append(problem.mass * fit.inertia_to_mass)
            covariance[-1, -1] = problem.mass**2 * fit.covariance[0, 0]
            covariance[-1, : len(fit.shared)] = problem.mass * fit.covariance[0]
            covariance[: len(fit.shared), -1] = problem.mass * fit.covariance[0]
        known = np.array([name in fit.held for name in names])
        seen = ~known & np.isfinite(values)
        std = np.sqrt(np.diag(covariance))
        size = np.where(std > 0, std, 1.0)
        correlation = np.nan_to_num(covariance / np.outer(size, size)) + 1e-12 * np.eye(len(names))
        condition = float(np.sqrt(np.linalg.cond(correlation)))
        agreed = agreement(fit, self.seed)
        left = agreed.held_out
        foretold = self.jumps(
            [each.jump_of_omega for each in left],
            [each.from_jump for each in left],
            [each.time for each in left],
            "held-out impacts, drop by drop",
        )
        return Estimate(
            method="",
            robot=problem.name,
            parameters=EstimatedParameters(
                names=tuple(names),
                units=tuple(units),
                owners=(problem.name,) * len(names),
                kinds=tuple(kinds),
                groupings=tuple(names),
                values=np.array(values),
                covariance=covariance,
                std_kind="coloured",
                identifiable=seen,
                white_std=std,
                coloured_std=std,
            ),
            status=Status.unsettled if not fit.converged else Status.solved if seen.all() else Status.partly,
            condition_number=condition,
            scaled_condition_number=condition,
            rows=5 * len(used),
            fit=self.jumps(
                [impact.jump_of_omega for impact in used],
                [impact.jump_of_omega - impact.inconsistency for impact in used],
                [impact.time for impact in used],
                "",
            ),
            undetermined=tuple(Direction(name, "unexcited") for name in fit.unseen),
            validation=(foretold,),
            problem=Pooled(problem, fit),
            iterations=fit.rounds,
            extras=extras_of(
                EstimatedMotions(tuple(self.motion(k) for k in range(len(problem.drops)))),
                Impacts(tuple(self.struck(impact) for impact in used)),
                Scene(
                    problem.shape.outline(),
                    told(problem.walls),
                    np.nan if fit.friction is None else fit.friction.median,
                    np.nan if fit.friction is not None else fit.friction_bound,
                ),
            ),
            provenance=Provenance(
                warnings=()
                if fit.converged
                else (f"Tolerances still changed after {fit.rounds} rounds; intervals may be off.",),
                notes=tuple(self.notes(agreed)),
            ),
        )

    def jumps(self, measured: list[float], foretold: list[float], times: list[float], recording: str) -> Fit:
        """Jumps of the spin, one after the other in time of their own drops."""
        order = np.argsort(times, kind="stable")
        return fit_of(
            np.asarray(times, dtype=float)[order] + 1e-9 * np.arange(len(order)),
            (JUMP,),
            ("rad/s",),
            np.asarray(measured, dtype=float)[order, None],
            np.asarray(foretold, dtype=float)[order, None],
            speeds=None,
            counts=[len(order)],
            recording=recording,
        )

    def motion(self, k: int) -> EstimatedMotion:
        """Poses of the center of mass: as tracked, less offsets; and jumps of the spin at frames of impacts."""
        drop, fit = self.problem.drops[k], self.fit
        o = np.array([fit.value("tracked_offset_x"), fit.value("tracked_offset_y")])
        c, s = np.cos(drop.poses[:, 2]), np.sin(drop.poses[:, 2])
        poses = {
            "x": drop.poses[:, 0] - c * o[0] + s * o[1],
            "y": drop.poses[:, 1] - s * o[0] - c * o[1],
            "angle": drop.poses[:, 2] + fit.value("angle_offset"),
        }
        measured, expected = np.full((len(drop.times), 1), np.nan), np.zeros((len(drop.times), 1))
        for impact in fit.impacts:
            if impact.used and impact.drop == drop.name:
                frame = int(np.abs(drop.times - impact.time).argmin())
                measured[frame] = impact.jump_of_omega
                expected[frame] = impact.jump_of_omega - impact.inconsistency
        spin = SensorFit(
            JUMP, (JUMP,), ("rad/s",), measured, expected, (JUMP,), (measured - expected) / self.typical
        )
        return EstimatedMotion(
            drop.name,
            Recording(
                drop.times,
                {f"position.{axis}": values for axis, values in poses.items()},
                {f"position.{axis}": unit for axis, unit in POSE.items()},
                {},
                {"estimated": drop.name},
            ),
            (spin,),
        )

    @cached_property
    def typical(self) -> float:
        """Standard deviation of what consistency leaves of the jumps of the spin, by its median [rad/s]."""
        left = [abs(impact.inconsistency) for impact in self.fit.impacts if impact.used]
        return max(float(np.median(left)) * OF_MEDIAN_ERROR, 1e-12) if left else 1.0

    def struck(self, of: PooledImpact) -> Impact:
        scale = ByMass(self.problem.mass)
        return Impact(
            of.drop,
            of.time,
            f"corner {of.part + 1}",
            scale.factor * of.normal_impulse,
            scale.factor * of.tangential_impulse,
            scale.impulses,
            of.restitution,
            "slides" if of.mode == "slides" else "",
            float("nan"),
            of.share,
        )

    def notes(self, agreed: Agreement) -> list[str]:
        fit = self.fit
        low, high = agreed.interval
        J = fit.inertia_to_mass
        moves = ", ".join(f"{name} {100 * (value / J - 1):+.1f} %" for name, value in agreed.assumed.items())
        verdicts = Counter(impact.verdict for impact in fit.impacts if not impact.used)
        notes = [
            f"J/m is {1e6 * J:.4g} mm^2, 95 % from {1e6 * low:.4g} to {1e6 * high:.4g} (bootstrap over drops)"
            + (
                f"; random halves of the drops agree within {100 * agreed.halves_difference:.2g} % in 95 % of splits."
                if np.isfinite(agreed.halves_difference)
                else "; there are too few for halves to be compared."
            ),
            f"{fit.impacts_used} impacts of {fit.drops_used} drops count; jumps of the spin of held-out drops are "
            f"foretold to {np.median(agreed.errors):.2g} rad/s (median).",
            f"{sum(verdicts.values())} impacts do not count for J/m: "
            + ", ".join(f"{count} ({verdict})" for verdict, count in verdicts.most_common())
            + ".",
            f"J/m would move, if it were assumed: {moves}.",
        ]
        for name, spread in (("Friction, where it slides,", fit.friction), ("Restitution", fit.restitution)):
            if spread is not None:
                notes.append(
                    f"{name} is {spread.median:.3g} (median), quartiles {spread.lower:.3g} and "
                    f"{spread.upper:.3g}, over {spread.count} impacts."
                )
        if fit.friction is None:
            notes.append(
                f"No impact slides, so friction is at least {fit.friction_bound:.3g}, and no number is given."
            )
        if self.problem.mass is None:
            notes.append(WITHOUT_MASS)
        return notes


@dataclass(frozen=True, eq=False)
class Pooled:
    """Problem and fit, to go back to."""

    problem: ImpactsProblem
    fit: PooledFit

    def certify(self, estimate: Estimate) -> Certificate:
        """How far another step would move what impacts share, in standard deviations."""
        fit = self.fit
        std = np.sqrt(np.diag(fit.covariance))[: len(fit.shared)]
        again = moved(fit, np.ones((1, fit.solved.chain.drops)))[0]
        free = std[: len(again)] > 0
        step = np.abs(again - fit.shared[: len(again)])[free] / std[: len(again)][free]
        return Certificate(float(step.max()), True, 0.1)
