"""What the next recording may show, against robots in MuJoCo whose friction changes from recording to recording."""

from dataclasses import replace

import numpy as np
import pytest

from poinsot import Actuator, ActuatorProblem, Actuators, OutputError, Search, randomization_of
from poinsot.diagnosis.parameters import SPREAD_NOT_KNOWN
from poinsot.estimators.servo.intervals import lateness
from poinsot.estimators.servo.search import Coordinates
from poinsot.models.servo.rollout import rollout_parameters
from poinsot_reproductions.actuators.known_truth import ROBOTS, draw_actuator, robot_of, simulate

VARYING = {"coulomb": 0.15, "damping": 0.1}
"""Parameter -> standard deviation of its logarithm between recordings."""

SECONDS, FURTHER = 6.0, 20
NEARBY = OutputError(Search(draws=0, refined=1, finished=1, hops=0), rounds=1)


def another_day(actuators, rng):
    return tuple(
        each.updated(
            {name: each.values[name] * np.exp(std * rng.standard_normal()) for name, std in VARYING.items()}
        )
        for each in actuators
    )


@pytest.fixture(scope="module")
def days():
    """An estimate of five days from their usual actuators, and the truth of further days."""
    rng = np.random.default_rng(1)
    arm = robot_of("arm")
    usual = tuple(draw_actuator(ROBOTS["arm"], joint, rng) for joint in arm.joints)
    recordings = {
        f"day {k + 1}": simulate("arm", another_day(usual, rng), rng).between(0, SECONDS) for k in range(5)
    }
    start = {
        f"{name}.{each.name}": value
        for each in usual
        for name, value in each.values.items()
        if np.isfinite(value)
    }
    problem = ActuatorProblem(arm, recordings, hold=False, start=start)
    further = [{each.name: each for each in another_day(usual, rng)} for _ in range(FURTHER)]
    return problem, NEARBY.solve(problem), further


def test_the_next_days_are_in_their_intervals(days):
    _, estimate, further = days
    rows = zip(
        estimate.owners,
        estimate.kinds,
        estimate.values,
        estimate.next_recording_std,
        estimate.identifiable,
        strict=True,
    )
    shown = [row for row in rows if row[4] and np.isfinite(row[3])]
    assert {kind for _, kind, *_ in shown} >= {"coulomb", "damping", "delay", "zero"}
    inside = [
        abs(day[owner].values[kind] - value) < 1.96 * std
        for owner, kind, value, std, _ in shown
        for day in further
    ]
    # five days show the variation poorly, and errors within a joint are correlated
    assert 0.85 < np.mean(inside) <= 1.0
    of_friction = [(value, std) for _, kind, value, std, _ in shown if kind == "coulomb"]
    assert all(0.5 * VARYING["coulomb"] < std / value < 6 * VARYING["coulomb"] for value, std in of_friction)
    # where all are known they are at least as wide as for these days
    known = np.isfinite(estimate.next_recording_std) & estimate.identifiable
    assert np.all(estimate.next_recording_std[known] >= estimate.std[known])


def test_ratios_and_lateness_of_the_next_days_are_in_theirs(days):
    _, estimate, further = days
    found = estimate.extra(Actuators)
    inside, late = [], []
    for ratio in found.ratios:
        if ratio.identifiable and ratio.next_std is not None:
            hits = [abs(ratio.of(day[ratio.joint]) - ratio.value) < 1.96 * ratio.next_std for day in further]
            inside += hits
            if ratio.name == "delay + damping / stiffness":
                late.append(ratio)
    assert 0.85 < np.mean(inside) <= 1.0
    assert {each.joint for each in late} == set(further[0])


def test_ranges_of_one_estimate_contain_the_spread(days):
    _, estimate, _ = days
    ranges = randomization_of(estimate)
    stds = {each.name: std for each, std in zip(ranges.variables, ranges.std.tolist(), strict=True)}
    for name in ("shoulder_lift.coulomb", "elbow_flex.damping"):
        k = estimate.names.index(name)
        by_chance = np.sqrt(estimate.next_recording_std[k] ** 2 - estimate.systematic_std[k] ** 2)
        assert stds[name] == pytest.approx(by_chance)
        assert stds[name] > estimate.coloured_std[k]
    # a scale that the recordings do not show is held, and the range is that of the ratio
    (ratio,) = (
        each
        for each in estimate.extra(Actuators).ratios
        if (each.joint, each.name) == ("gripper", "coulomb / stiffness")
    )
    stiffness = estimate.values[estimate.names.index("gripper.stiffness")]
    assert not estimate.extra(Actuators).scale_known["gripper"]
    assert stds["gripper.coulomb"] == pytest.approx(stiffness * ratio.next_std, rel=0.1)


def test_intervals_of_three_recordings_are_those_of_their_blocks(days):
    problem, _, _ = days
    few = replace(problem, recordings=dict(list(problem.recordings.items())[:3]))
    estimate = NEARBY.solve(few)
    assert estimate.parameters.uncertainty.recordings is None
    assert SPREAD_NOT_KNOWN in estimate.diagnosis.unchecked
    blocks = estimate.parameters.uncertainty.systematic.between_blocks
    shown = estimate.identifiable & (estimate.coloured_std > 0)
    assert np.all(blocks[shown] > 0)
    np.testing.assert_allclose(estimate.next_recording_std**2, estimate.std**2 + blocks)
    # three recordings together vary less than one of them by itself
    assert np.median(np.sqrt(blocks[shown]) / estimate.coloured_std[shown]) > 1
    assert all(ratio.next_std >= ratio.std for ratio in estimate.extra(Actuators).ratios)
    assert not randomization_of(estimate).contains_spread


@pytest.mark.parametrize(
    "names",
    [
        ("stiffness", "damping", "delay", "lag"),
        ("stiffness", "velocity_gain", "delay", "coulomb"),
        ("damping", "delay"),
    ],
)
def test_slope_of_the_lateness_is_that_of_finite_differences(names):
    held = np.zeros((1, len(rollout_parameters())))
    held[0, rollout_parameters().index("stiffness")] = 12.0
    held[0, rollout_parameters().index("damping")] = 0.4
    values = {
        "stiffness": 18.0,
        "damping": 0.6,
        "velocity_gain": 0.3,
        "delay": 0.03,
        "lag": 0.01,
        "coulomb": 0.1,
    }
    coordinates = Coordinates(("a",), names, held, (0.0,))
    x = coordinates.from_natural(np.array([values[name] for name, _ in coordinates.columns]))
    late, slope = lateness(coordinates, x)
    actuator = Actuator("a", 12.0, damping=0.4).updated({name: values[name] for name in names})
    assert late == pytest.approx(actuator.lateness)
    for k, d in enumerate(1e-6 * np.eye(len(x))):
        more, less = lateness(coordinates, x + d)[0], lateness(coordinates, x - d)[0]
        assert slope[k] == pytest.approx((more - less) / 2e-6, rel=1e-6, abs=1e-9)
