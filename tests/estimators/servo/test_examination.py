"""A wrong recording gets a finding: motions of a real arm, clean and with one thing made wrong at a time."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import poinsot
from poinsot import ActuatorProblem, Actuators, OutputError, PoinsotError, Recording, Search, randomization_of
from poinsot.diagnosis.check import look_at
from poinsot.estimate import Severity, Trust
from poinsot.estimators.servo.channels import catches_up, without_rests
from poinsot.estimators.servo.examination import (
    CHECKS,
    Assignment,
    AtStops,
    Case,
    CopiedCommand,
    JointExcitation,
    Jumps,
    LostRows,
    PositionLimits,
)
from poinsot.estimators.servo.following import Following
from poinsot.estimators.servo.problem import InvalidActuatorProblem
from poinsot.exceptions import UntrustedResult
from poinsot.project.methods import find_method

EXAMPLE = Path(__file__).parents[3] / "examples/so101"
JOINTS = {
    "shoulder_pan": "rotation",
    "shoulder_lift": "pitch",
    "elbow_flex": "elbow",
    "wrist_flex": "wrist_pitch",
    "wrist_roll": "wrist_roll",
}
CHANNEL_CHECKS = (
    Jumps(),
    LostRows(),
    CopiedCommand(),
    JointExcitation(),
    PositionLimits(),
    Assignment(),
    AtStops(),
)
ELBOW = ("elbow_flex",)


@pytest.fixture(scope="module")
def robot():
    return poinsot.load_robot(EXAMPLE / "so101.urdf", locked={"gripper": 0.0})


@pytest.fixture(scope="module")
def log():
    """Twenty seconds of the example: time, and commands and positions by joint."""
    table = pl.read_parquet(EXAMPLE / "multisine.parquet").filter(pl.col("t").is_between(20, 40))
    columns = {"time": table["t"].to_numpy()}
    for joint, name in JOINTS.items():
        for channel, prefix in (("position", "position"), ("position_command", "command")):
            columns[f"{channel}.{joint}"] = table[f"{prefix}_{name}"].to_numpy().astype(float)
    return columns


def problem_of(robot, log, commanded=ELBOW, valid=None, **options):
    kept = {
        name: x for name, x in log.items() if name.startswith("position.") or name.split(".")[-1] in commanded
    }
    units = dict.fromkeys(kept, "rad")
    return ActuatorProblem(robot, {"motion": Recording(log["time"], kept, units, valid or {})}, **options)


def channel_findings(problem):
    case = object.__new__(Case)  # checks of channels need neither an estimate nor its actuators
    object.__setattr__(case, "problem", problem)
    return look_at(case, CHANNEL_CHECKS)


def changed(log, **changes):
    """With "position" or "command" of the elbow replaced by a function of it."""
    found = {name: x.copy() for name, x in log.items()}
    for channel, change in changes.items():
        name = {"position": "position.elbow_flex", "command": "position_command.elbow_flex"}[channel]
        found[name] = change(found[name])
    return found


def with_spikes(x):
    x[[300, 301, 700]] += 1.0
    return x


def late(x, count=15):
    return np.concatenate([np.full(count, x[0]), x[:-count]])


WRONG = {
    "command in degrees": ({"command": np.degrees}, "angle-unit"),
    "position in degrees": ({"position": np.degrees}, "angle-unit"),
    "both in degrees": ({"command": np.degrees, "position": np.degrees}, "angle-unit"),
    "command in radians, declared as degrees": ({"command": np.radians}, "angle-unit"),
    "both in radians, declared as degrees": (
        {"command": np.radians, "position": np.radians},
        "no-excitation",
    ),
    "position turned": ({"position": np.negative}, "sign"),
    "command turned": ({"command": np.negative}, "sign"),
    "commands recorded 0.3 s late": ({"command": late}, "command-clock"),
    "position constant": ({"position": lambda x: 0 * x + 0.5}, "no-excitation"),
    "command constant": ({"command": lambda x: 0 * x + 0.5}, "no-excitation"),
    "spikes": ({"position": with_spikes}, "position-jump"),
    "wrapped": ({"position": lambda x: np.where(x > 0.55, x - 2 * np.pi, x)}, "position-jump"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_channel_is_named(name, robot, log):
    changes, cause = WRONG[name]
    found = channel_findings(problem_of(robot, changed(log, **changes)))
    named = [each.cause for each in found if getattr(each, "severity", None) is Severity.error]
    assert cause in named and set(named) == {cause}
    assert all("elbow_flex" in each.message for each in found if hasattr(each, "message"))


def test_clean_channels_have_no_finding(robot, log):
    assert channel_findings(problem_of(robot, log, tuple(JOINTS))) == []


def test_exchanged_columns_are_named(robot, log):
    for channel in ("position", "position_command"):
        one, other = f"{channel}.shoulder_lift", f"{channel}.elbow_flex"
        exchanged = {**log, one: log[other], other: log[one]}
        found = channel_findings(problem_of(robot, exchanged, ("shoulder_lift", "elbow_flex")))
        assert [each.cause for each in found] == ["swapped-channels"] * 2


def test_a_copied_command_is_named(robot, log):
    copied = {**log, "position.elbow_flex": log["position_command.elbow_flex"]}
    assert [each.cause for each in channel_findings(problem_of(robot, copied))] == ["copied-command"]


@pytest.mark.parametrize("part", [0.01, 0.1])
def test_lost_rows_are_named_where_the_clock_does_not_show_them(part, robot, log):
    rng, count = np.random.default_rng(1), len(log["time"])
    kept = np.sort(rng.permutation(count)[: int(count * (1 - part))])
    lost = {name: x[kept] for name, x in log.items()}
    assert channel_findings(problem_of(robot, lost)) == []
    lost["time"] = log["time"][: len(kept)]
    assert "lost-samples" in [
        getattr(each, "cause", "") for each in channel_findings(problem_of(robot, lost))
    ]


def test_readings_of_all_joints_that_are_now_younger_now_older_are_no_lost_rows(robot, log):
    """They are of times that differ from those of the rows by up to an interval."""
    rng, time = np.random.default_rng(2), log["time"]
    polled = time - 0.45 * np.median(np.diff(time)) * (1 + rng.uniform(-1, 1, len(time)))
    read = {
        name: np.interp(polled, time, x) if name.startswith("position.") else x for name, x in log.items()
    }
    held = {name: np.repeat(x[::4], 4)[: len(x)] if "command" in name else x for name, x in read.items()}
    found = channel_findings(problem_of(robot, held))
    assert "lost-samples" not in [getattr(each, "cause", "") for each in found]


def test_readings_that_are_renewed_late_are_stale_and_those_of_a_joint_that_sticks_are_not():
    rng, time = np.random.default_rng(0), np.arange(0, 20, 0.01)
    q = np.sin(2 * time) + 5e-4 * rng.standard_normal(len(time))
    stale = q.copy()
    for k in np.flatnonzero(rng.random(len(q)) < 0.3):
        stale[k] = stale[k - 1]
    assert catches_up(without_rests(stale)) > 2
    # held by dry friction until the command is far enough, and rounded to steps of an encoder
    stuck = q.copy()
    for k in range(1, len(q)):
        stuck[k] = stuck[k - 1] + np.sign(q[k] - stuck[k - 1]) * max(abs(q[k] - stuck[k - 1]) - 0.02, 0.0)
    assert catches_up(without_rests(np.round(stuck / 1.5e-3) * 1.5e-3)) < 1.5


def test_a_position_beyond_its_limits_is_named(robot, log):
    def turned(x):
        return x + np.pi / 2

    found = channel_findings(problem_of(robot, changed(log, position=turned, command=turned)))
    assert [(each.cause, each.severity) for each in found] == [("joint-limits", Severity.warning)]


def test_a_rounded_command_is_no_lost_row(robot, log):
    def rounded(x):
        return np.round(x / 0.02) * 0.02

    assert channel_findings(problem_of(robot, changed(log, command=rounded))) == []


def test_a_predictor_finds_gain_and_delay():
    time = np.arange(0, 20, 0.02)
    command = np.sin(1.7 * time) + 0.4 * np.sin(4.1 * time)
    delayed = np.interp(time - 0.12, time, command)
    for gain in (0.8, 2.0):
        found = Following.of(time, command, 0.3 + gain * delayed).best()
        assert found.delay == pytest.approx(0.12) and found.lag == 0.0
        assert found.gain == pytest.approx(gain, rel=1e-3) and found.error < 2e-3
    # a predictor with the wrong sign, or none but earlier commands, is far worse
    following = Following.of(time, command, delayed)
    assert following.best((-3.0, -0.1)).error > 10 * following.best().error
    assert following.best().error == following.best(earliest=0.1).error < following.best(earliest=0.2).error


def solve(problem):
    return OutputError(Search(draws=30, hops=1)).solve(problem)


def causes(estimate):
    return {each.cause for each in estimate.findings if each.severity > Severity.note}


def test_a_clean_motion_is_trusted(robot, log):
    assert solve(problem_of(robot, log)).trust is Trust.trusted


def test_noise_is_not_to_be_used(robot, log):
    rng = np.random.default_rng(0)
    noise = changed(log, position=lambda x: 0.05 * rng.standard_normal(len(x)))
    estimate = solve(problem_of(robot, noise))
    assert estimate.trust is Trust.not_to_be_used and "unmodelled-motion" in causes(estimate)
    with pytest.raises(UntrustedResult, match="give force=True"):
        randomization_of(estimate)
    assert randomization_of(estimate, force=True).actuators


def test_an_obstacle_takes_the_trust(robot, log):
    estimate = solve(problem_of(robot, changed(log, position=lambda x: np.minimum(x, 0.53))))
    assert estimate.trust is Trust.not_to_be_used
    assert causes(estimate) == {"stop", "unmodelled-motion", "held-out"}


def test_other_zeros_are_named(robot, log):
    for offset, trust in ((np.radians(10), Trust.with_care), (np.pi / 2, Trust.not_to_be_used)):
        estimate = solve(problem_of(robot, changed(log, position=lambda x, by=offset: x + by)))
        assert estimate.trust is trust and "joint-zero" in causes(estimate)


def test_a_delay_beyond_all_that_is_tried_is_named(robot, log):
    early = changed(log, command=lambda x: np.concatenate([x[15:], np.full(15, x[-1])]))
    estimate = solve(problem_of(robot, early))
    assert estimate.trust is Trust.not_to_be_used and "command-delay" in causes(estimate)


def test_a_recording_that_is_wrong_among_others_is_named(robot, log):
    good, bad = (
        problem_of(robot, each).recordings["motion"] for each in (log, changed(log, position=np.negative))
    )
    found = channel_findings(ActuatorProblem(robot, {"first": good, "second": bad}))
    assert [each.cause for each in found] == ["sign"] and "'second'" in found[0].message


def test_missing_commands_are_held_and_long_gaps_not_fitted(robot, log):
    time = log["time"]
    gap = (time > 25) & (time < 27)
    name = "position_command.elbow_flex"
    for hold in (True, False):
        sparse = np.arange(len(time)) % 5 == 0
        motion = problem_of(robot, log, valid={name: sparse}, hold=hold).motions[0]
        assert not motion.without_command and np.isfinite(motion.measured).all()
        of_last = log[name][5 * (np.arange(len(time)) // 5)]
        assert np.array_equal(motion.command[:, 0], of_last) == hold
    problem = problem_of(robot, log, valid={name: ~gap})
    motion = problem.motions[0]
    assert motion.without_command["elbow_flex"] == pytest.approx(2.0, abs=0.05)
    assert np.isnan(motion.measured[(time > 25) & (time < 27.9)]).all()
    assert np.isfinite(motion.measured[(time < 24.9) | (time > 28.1)]).all()
    clean, estimate = solve(problem_of(robot, log)), solve(problem)
    assert causes(estimate) == {"missing-commands"}
    rms = [each.extra(Actuators).rms["motion"]["elbow_flex"] for each in (clean, estimate)]
    assert rms[1] < 1.5 * rms[0]


def test_too_few_samples_are_refused(robot, log):
    short = {name: x[:25] for name, x in log.items()}
    with pytest.raises(InvalidActuatorProblem, match="elbow_flex has 25 valid positions"):
        _ = problem_of(robot, short).motions
    without = {name: x for name, x in log.items() if not name.startswith("position_command")}
    with pytest.raises(InvalidActuatorProblem, match="write position_command = "):
        _ = problem_of(robot, without).joints


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"open": ()}, "no parameter of 'elbow_flex' is estimated"),
        ({"start": {"stiffness": -5.0}}, "stiffness of the actuator of 'elbow_flex' is -5"),
        ({"held": {"stiffness": 0.0}}, "write stiffness > 0"),
        ({"share": {"knee": ()}}, 'write share = { knee = ["elbow_flex"] }'),
    ],
)
def test_impossible_settings_are_refused(options, said, robot, log):
    with pytest.raises(PoinsotError, match=re.escape(said)):
        problem_of(robot, log, **options)


def test_a_joint_with_commands_in_one_recording_only_is_named(robot, log):
    one, both = (
        problem_of(robot, log, joints).recordings["motion"] for joints in (ELBOW, (*ELBOW, "wrist_flex"))
    )
    problem = ActuatorProblem(robot, {"one": one, "both": both})
    (said,) = find_method("actuators")(name="actuators").warnings_of(problem)
    assert problem.joints == ELBOW and said.startswith("wrist_flex has a position_command in both")


def test_an_unlocked_joint_without_position_is_named(log):
    with pytest.raises(InvalidActuatorProblem, match=re.escape("locked = { gripper = 0.0 }")):
        problem_of(poinsot.load_robot(EXAMPLE / "so101.urdf"), log)


def test_every_finding_says_what_to_do():
    """The page on trust lists them as they are here (`docs/hooks.py`)."""
    for cause in (cause for check in CHECKS for cause in check.causes):
        assert cause.means.endswith(".") and cause.advice.endswith(".")
