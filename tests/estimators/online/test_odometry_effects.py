"""Errors of the laboratory in leg odometry: their columns against the filter itself, and channels that are mistaken."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from poinsot.accuracy import CAREFUL
from poinsot.estimators.online.leg_odometry import LegOdometry, OdometrySample
from poinsot.estimators.online.odometry_effects import (
    OdometryEffects,
    OdometryErrors,
    SlippingFeet,
    Slips,
    Walker,
)

from .test_leg_odometry import FEET, Swaying, seen

WALKER = Walker(
    tuple(f"j{k}" for k in range(3 * len(FEET))),
    (True,) * 3 * len(FEET),
    tuple(f"foot{k}" for k in range(len(FEET))),
)


def walk(rng, change=lambda sample: sample, seconds=2.0, dt=5e-3, noise=0.0):
    """Samples of a swaying robot whose feet lift off in turn; encoders measure feet along x, y and z."""
    motion, F = Swaying(rng), len(FEET)
    found = []
    for k, t in enumerate(np.arange(0.0, seconds, dt)):
        closed = np.ones(F, dtype=bool)
        closed[k // 40 % F] = k % 40 >= 10
        feet = seen(motion, t, FEET) + noise * rng.standard_normal((F, 3))
        slopes = np.eye(3 * F).reshape(F, 3, 3 * F)
        rotations = np.tile(np.eye(3), (F, 1, 1))
        found.append(
            change(OdometrySample(t, motion.inertial(t), feet, slopes, rotations, closed, np.zeros(F)))
        )
    return found


def fitted(samples, filter_=None, legs=None, velocity=(0.0, 0.0, 0.0)):
    """The fit of effects of a run that begins with this velocity."""
    filter_ = filter_ or LegOdometry(gate=None)
    errors = OdometryErrors(WALKER, CAREFUL, len(samples))
    belief = filter_.init(samples[0], np.zeros(3), np.eye(3))
    belief.X[:, 3] = velocity
    smooth = [(sample.feet, sample.slopes, sample.rotations) for sample in legs or samples]
    for sample, (before, now) in zip(samples[1:], pairwise(smooth), strict=True):
        belief, _, slopes = filter_.step(belief, sample)
        errors.add(slopes, before, now)
    return errors.fit(belief.covariance)


def turned_about_y(angle):
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    return lambda sample: replace(
        sample, inertial=np.concatenate([R @ sample.inertial[:3], R @ sample.inertial[3:]])
    )


def zero(sample, h):
    return replace(sample, feet=sample.feet + sample.slopes[:, :, 4] * np.radians(0.5) * h)


def gyro(sample, h):
    return replace(sample, inertial=sample.inertial * (1 + 0.01 * h * (np.arange(6) == 2)))


def length(sample, h):
    feet = sample.feet.copy()
    feet[1] += 3e-3 * h * sample.rotations[1, :, 2]
    return replace(sample, feet=feet)


@pytest.mark.parametrize(
    ("name", "joint", "k", "change"),
    [
        ("zero", "j4", 0, zero),
        ("unit", "", 1, lambda sample, h: turned_about_y(np.radians(h))(sample)),
        ("unit scale", "gyro z", 0, gyro),
        ("length", "foot1", 2, length),
    ],
)
def test_columns_are_changes_of_innovations(name, joint, k, change):
    """Against central differences of the filter, from readings with and without the effect."""
    h = 1e-3
    # far from the truth effects are not linear
    velocity = Swaying(np.random.default_rng(3)).velocity(0.0)
    ends = [
        fitted(walk(np.random.default_rng(3), lambda s, h=h: change(s, h)), velocity=velocity).y
        for h in (h, -h)
    ]
    fit = fitted(walk(np.random.default_rng(3)), velocity=velocity)
    (column,) = [c for c in fit.columns if (c.effect.name, c.joint) == (name, joint)]
    difference = (ends[0] - ends[1]) / (2 * h)
    assert np.linalg.norm(difference) > 0.1
    np.testing.assert_allclose(column.values[:, :, k], difference, atol=0.02 * np.abs(difference).max())


def test_only_what_is_wrong_is_named(rng):
    """A robot in order names nothing, and a unit that is turned by 8 deg is what is named first."""
    filter_ = LegOdometry(gate=None, foot_walk=2e-3)
    clean = fitted(walk(np.random.default_rng(8), noise=5e-4), filter_, walk(np.random.default_rng(8)))
    assert not clean.named
    turned = turned_about_y(np.radians(8.0))
    wrong = walk(np.random.default_rng(8), turned, noise=5e-4)
    findings = list(OdometryEffects().look(fitted(wrong, filter_, walk(np.random.default_rng(8), turned))))
    assert findings[0].cause == "misaligned-unit"


def test_feet_that_slip_are_one_finding():
    slips = Slips(WALKER.feet, np.arange(len(FEET)) % 2, np.linspace(0.0, 0.3, len(FEET)))
    (finding,) = SlippingFeet().look(slips)
    assert finding.cause == "contact-slip" and "foot1" in finding.message
    assert not list(
        SlippingFeet().look(Slips(WALKER.feet, np.zeros(len(FEET), dtype=int), np.zeros(len(FEET))))
    )
