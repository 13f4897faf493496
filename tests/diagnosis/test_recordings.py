"""A defect of one recording among several: the result is not trusted, and the right recording is named."""

import numpy as np
import pytest

from poinsot.estimate import Trust

RATE = 200.0


def times(factor):
    return lambda t, q, tau, rng: (t, q, tau * factor)


def shifted(degrees):
    return lambda t, q, tau, rng: (t, q + np.radians(degrees), tau)


def late(samples):
    return lambda t, q, tau, rng: (t[:-samples], q[samples:], tau[:-samples])


def turned(q_signs, tau_signs):
    return lambda t, q, tau, rng: (t, q * q_signs, tau * tau_signs)


def lost(t, q, tau, rng):
    kept = rng.random(len(t)) > 0.01
    return np.arange(kept.sum()) / RATE, q[kept], tau[kept]


def put(where, value):
    def change(t, q, tau, rng):
        tau = tau.copy()
        tau[where] = value(tau[where])
        return t, q, tau

    return change


def noise(t, q, tau, rng):
    return t, q, rng.standard_normal(tau.shape) * np.sqrt(np.mean(tau**2, axis=0))


DEFECTS = {
    "torque x 1000": ("torque-scale", times(1e3)),
    "torque x .001": ("torque-scale", times(1e-3)),
    "zero + 10 deg": ("joint-zero", shifted([0, 10, 0, 0])),
    "zero + 30 deg": ("joint-zero", shifted([0, 30, 0, 0])),
    "zero + 90 deg": ("joint-zero", shifted([0, 90, 0, 0])),
    "clock": ("clock-scale", lambda t, q, tau, rng: (t / 1.1, q, tau)),
    "degrees": ("angle-unit", lambda t, q, tau, rng: (t, np.radians(q), tau)),
    "lost samples": ("lost-samples", lost),
    "20 ms late": ("delay", late(4)),
    "50 ms late": ("delay", late(10)),
    "q2 and tau2 negated": ("sign", turned([1, -1, 1, 1], [1, -1, 1, 1])),
    "tau2 negated": ("sign", turned([1, 1, 1, 1], [1, -1, 1, 1])),
    "q2 negated": ("sign", turned([1, -1, 1, 1], [1, 1, 1, 1])),
    "tau2 and tau3 swapped": ("swapped-channels", lambda t, q, tau, rng: (t, q, tau[:, [0, 2, 1, 3]])),
    "q2 and q3 swapped": ("swapped-channels", lambda t, q, tau, rng: (t, q[:, [0, 2, 1, 3]], tau)),
    "noise": ("torque-noise", noise),
    "spike": ("outliers", put((800, 1), lambda x: 1e6)),
    "dropped": ("dropped-torque", put(slice(900, 1020), lambda x: 0.0)),
    "gain": ("gain-change", put(slice(1200, None), lambda x: 1.3 * x)),
}


QUICK = {
    "torque x .001",
    "zero + 10 deg",
    "clock",
    "lost samples",
    "20 ms late",
    "tau2 negated",
    "tau2 and tau3 swapped",
}
"""One defect of each kind: `tests/diagnosis/test_causes.py` has all of them on one recording."""


@pytest.mark.parametrize(
    ("count", "bad"), [(2, 1), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((2, 0), (3, 1)))]
)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in DEFECTS]
)
def test_a_defect_of_one_recording_is_named_with_it(name, count, bad, record, estimated_together):
    cause, corrupt = DEFECTS[name]
    recorded = [record(seed) for seed in range(count)]
    recorded[bad] = corrupt(*recorded[bad], np.random.default_rng(1))
    estimate = estimated_together(*recorded)
    said = [(each.cause, each.where) for each in estimate.findings]
    assert estimate.trust is Trust.not_to_be_used, said
    named = [where for found, where in said[:2] if found == cause]
    assert named and f"recording {bad + 1}" in named[0], said
    others = {f"recording {k + 1}" for k in range(count) if k != bad}
    assert not [where for _, where in said if any(other in where for other in others)], said


@pytest.mark.parametrize("count", [2, 3])
def test_recordings_without_a_defect_agree(count, record, estimated_together):
    estimate = estimated_together(*(record(seed) for seed in range(count)))
    assert estimate.trust is Trust.trusted, estimate.findings


def test_a_defect_of_all_recordings_is_said_once(record, estimated_together):
    recorded = [shifted([0, 30, 0, 0])(*record(seed), None) for seed in range(2)]
    zeros = [each.where for each in estimated_together(*recorded).findings if each.cause == "joint-zero"]
    assert zeros == ["joint2"]
