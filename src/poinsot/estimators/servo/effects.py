"""What a model of servos lacks, and errors of its description, as columns beside the parameters' sensitivities.

At the estimate, the measured positions of all joints are, to first order in changes of the parameters x and in the
sizes d of the effects, each in standard deviations of its prior,

    q - q_simulated = (dq/dx) dx + C d + e

dq/dx are the sensitivities of the rollouts. C are differences of rollouts along changed loads (masses, direction of
gravity, zeros of readings), or with a changed supply. A parameter that changes slowly moves the position as its
sensitivity does, times its change: a joint forgets within a fraction of a second. `EffectFit` estimates x and d
together, and names the effects with which it predicts parts of the recordings that it was not fitted to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...accuracy import CAREFUL
from ...diagnosis.effect_fit import EffectFit
from ...diagnosis.effects.effect import Effect, EffectColumn
from ...diagnosis.effects.efforts import GAIN_CHANGE
from ...diagnosis.effects.friction import WARMING
from ...diagnosis.effects.geometry import DEGREE, GRAVITY, ZERO
from ...diagnosis.parameters import DescribedBodies
from .simulated import SimulatedMotions


class ServoZero(Effect):
    """A zero of a joint's readings that is not the description's, where gravity shows it."""

    name, cause, unit = "zero", ZERO, "deg"
    sentence = "The zero of joint {joint} is off by {size}"

    def remedy(self) -> str:
        return "Correct the position of {joint} with offset = ..., so that it agrees with the description."

    def columns(self, at: SimulatedMotions) -> Iterator[EffectColumn]:
        problem, deg = at.problem, CAREFUL.zero_deg
        for place, joint, unit in zip(problem.places, problem.joints, problem.units, strict=True):
            if unit == "rad":
                shift = deg * DEGREE * np.eye(len(problem.robot.joints))[place]
                yield EffectColumn(self, joint, at.rows(at.changed(shift=shift))[..., None], deg)


class ServoTilt(Effect):
    """A base that is not level."""

    name, cause, unit = "tilt", GRAVITY, "deg"
    sentence = "The base is tilted by {size} against the declared gravity"
    unchecked = "the tilt of the base (direction of gravity)"

    def columns(self, at: SimulatedMotions) -> Iterator[EffectColumn]:
        right, std = at.problem.mechanics, at.problem.gravity_tilt_std
        size = float(np.linalg.norm(right.gravity))
        if not size > 0 or not std > 0:
            return
        across = np.linalg.svd(right.gravity[None])[2][1:]
        columns = [
            at.rows(at.changed(replace(right, gravity=right.gravity + std * size * axis))) for axis in across
        ]
        yield EffectColumn(self, "", np.stack(columns, axis=2), std / DEGREE)


class LinkMass(Effect):
    """Mass and first moments of a link that are not the described ones: a load, cables, another material."""

    name, cause, unit = "link-mass", DescribedBodies.causes[0], "%"
    sentence = "Mass and centre of what joint {joint} carries differ by {size} from those described"
    unchecked = "the described mass of what joint {joint} carries"

    def remedy(self) -> str:
        return "Weigh the link behind {joint} with its load, and correct its inertial in the description."

    def columns(self, at: SimulatedMotions) -> Iterator[EffectColumn]:
        right, std = at.problem.mechanics, at.problem.link_inertia_std
        robot = at.problem.robot
        for k, parent in enumerate(robot.body_joints):
            if not std > 0 or not right.inertials[k, 0] > 0:
                continue
            name = robot.model.names[parent]
            columns = []
            reach = max(float(np.linalg.norm(right.inertials[k, 1:4])), 1e-9)
            for change in (
                std * right.inertials[k],
                *(std * reach * np.eye(10)[1 + axis] for axis in range(3)),
            ):
                inertials = right.inertials.copy()
                inertials[k] += change
                columns.append(at.rows(at.changed(replace(right, inertials=inertials))))
            yield EffectColumn(self, name, np.stack(columns, axis=2), 100 * std)


class GainDrift(Effect):
    """A gain that falls or grows over a recording: a supply that sags, a motor that warms."""

    name, cause, unit, together, of_model = "gain-drift", GAIN_CHANGE, "%", True, True
    sentence = "The gain of joint {joint} changes by {size} over a recording"

    def remedy(self) -> str:
        return "Record the supply as voltage = ..., or identify from the part before or after the change: between_s."

    def columns(self, at: SimulatedMotions) -> Iterator[EffectColumn]:
        part = CAREFUL.drift_percent / 100
        for k, joint in enumerate(at.problem.joints):
            values = []
            for m, motion in enumerate(at.motions):
                strand, middles = at.strand(m, k), motion.steps.middles
                usual = np.ones(len(middles)) if strand.supply is None else strand.supply
                change = part * np.interp(middles, motion.steps.time, at.progress[m])
                more, less = (at.position(m, k, supply=usual * (1 + sign * change)) for sign in (1.0, -1.0))
                values.append(0.5 * (more - less))
            yield EffectColumn(self, joint, at.rows(at.of_joint(k, values))[..., None], 100 * part)


class FrictionDrift(Effect):
    """Dry friction that falls or grows over a recording: a gear warms."""

    name, cause, unit, together = "friction-drift", WARMING, "%", True
    sentence = "Dry friction of joint {joint} changes by {size} over a recording"

    def remedy(self) -> str:
        return "Record with a warm robot, or identify from a part with between_s."

    def columns(self, at: SimulatedMotions) -> Iterator[EffectColumn]:
        part = CAREFUL.friction_warming_percent / 100
        for k, joint in enumerate(at.problem.joints):
            open_, size = at.group(k).coordinates.open, at.found[joint].coulomb
            if "coulomb" in open_ and size > 0:
                place = open_.index("coulomb")
                values = [
                    part * size * progress * rollouts[k].sensitivities[:, place]
                    for progress, rollouts in zip(at.progress, at.rollouts, strict=True)
                ]
                yield EffectColumn(self, joint, at.rows(at.of_joint(k, values))[..., None], 100 * part)


EFFECTS: tuple[Effect, ...] = (ServoZero(), ServoTilt(), LinkMass(), GainDrift(), FrictionDrift())


def fit_of_effects(at: SimulatedMotions, left_out: np.ndarray | None = None) -> EffectFit:
    """Parameters and effects together, at the rows (N,) that are not left out."""
    W, priors = at.sensitivities
    y = at.rows(at.regular)
    columns = [column for effect in EFFECTS for column in effect.columns(at)]
    if left_out is not None:
        W, y = W.copy(), y.copy()
        W[left_out] = y[left_out] = 0.0
        columns = [
            replace(each, values=np.where(left_out[:, None, None], 0.0, each.values)) for each in columns
        ]
    columns = [each for each in columns if each.size > 0 and np.abs(each.values).max() > 0]
    counts = tuple(len(motion.steps.time[:: at.stride]) for motion in at.motions)
    return EffectFit(W, y, np.zeros(W.shape[2]), tuple(columns), counts, at.noise, priors)
