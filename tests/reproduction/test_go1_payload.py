"""Go1 with a payload: its walk, the readings of its sensors, and that optimal estimation weighs the payload."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest

from poinsot.inertia.parameters import is_consistent
from references.robots import described

pytest.importorskip("mujoco")
pytest.importorskip("proxsuite")

from poinsot.models.robot.motion_terms import MotionTerms
from poinsot_reproductions.normalized_errors import physical, physical_slopes
from poinsot_reproductions.online.simulation.legged_robot import GO1_FOOT
from poinsot_reproductions.optimal_estimation import go1_payload, payload_statistics, sensor_errors, weighing
from poinsot_reproductions.optimal_estimation.go1_walk import (
    PAYLOAD_MASS,
    height_error,
    payload,
    swing_error,
    walk,
)
from poinsot_reproductions.optimal_estimation.robot_sensors import CLEAN, DEFECTS, NODE, at_nodes, moved, read


@pytest.fixture(autouse=True, scope="module")
def needs_descriptions():
    described("go1_description/urdf/go1.urdf")


@pytest.fixture(scope="module")
def load():
    return payload(np.random.default_rng(3))


@pytest.fixture(scope="module")
def walked(load):
    return walk(load, None, np.random.default_rng(4), duration=2.6)


@pytest.fixture(scope="module")
def motion(walked):
    return moved(walked, np.array([-0.02, -0.07, -0.01]))


def test_payloads_are_real_bodies_of_the_same_mass():
    loads = [payload(np.random.default_rng(seed)) for seed in range(5)]
    assert all(is_consistent(each) for each in loads)
    np.testing.assert_allclose([each[0] for each in loads], PAYLOAD_MASS)
    assert np.ptp([each[1] for each in loads]) > 0.05


def test_the_walk_stands_then_steps_and_the_feet_carry_the_weight(walked, load):
    assert not walked.trace.fallen and walked.trace.unsolved == 0
    standing = (walked.time > 0.8) & (walked.time < 1.0)
    weight = 9.81 * (walked.robot.robot.inertials[:, 0].sum() + load[0])
    assert walked.force[standing].sum(axis=1).mean() == pytest.approx(weight, rel=1e-3)
    in_air = (walked.force < 0.1)[walked.time > 1.2].any(axis=0)
    assert in_air.sum() >= 2


def test_a_controller_that_knows_the_load_tracks_better(walked, load):
    own = walked.robot.robot.inertials[0]
    knowing = walk(load, own + load, np.random.default_rng(4), duration=2.6).trace
    assert height_error(knowing) < 0.1 * height_error(walked.trace)
    assert swing_error(knowing) < 0.5 * swing_error(walked.trace)


def test_an_accelerometer_at_rest_reads_what_holds_it_up(motion):
    standing = (motion.time > 0.9) & (motion.time < 1.0)
    assert np.linalg.norm(motion.acceleration[standing].mean(axis=0)) == pytest.approx(9.81, rel=1e-3)


def test_clean_readings_have_the_noise_that_is_said(motion):
    rng = np.random.default_rng(5)
    readings = read(motion, CLEAN, rng)
    assert np.std(readings.joints - motion.joints) == pytest.approx(CLEAN.position, rel=0.03)
    assert np.std(readings.gyro - motion.gyro) == pytest.approx(CLEAN.gyro, rel=0.03)
    assert np.isfinite(readings.joints).all()


def test_defects_are_those_that_are_said(motion):
    readings = read(motion, DEFECTS, np.random.default_rng(6))
    missing = np.isnan(readings.joints).all(axis=1)
    assert missing.mean() == pytest.approx(DEFECTS.dropped, abs=0.01)
    steps = readings.joints[~missing] / DEFECTS.position_step
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-6)
    moving = motion.time > 1.2
    # late: closer to the joints of two samples before than to those of now
    late = readings.joints[2:] - motion.joints[:-2]
    now = readings.joints[2:] - motion.joints[2:]
    assert np.nanstd(late[moving[2:]]) < np.nanstd(now[moving[2:]])
    assert np.abs(np.nanmean(readings.gyro - motion.gyro, axis=0)).max() > 1e-3


def test_readings_at_nodes_fit_the_integrator(motion, walked):
    """Mean velocities and mean accelerations about nodes: v_k+1 = v_k + D a_k, but for what rotates and is doubtful."""
    recording, doubtful = at_nodes(motion, walked.robot.robot.joints, go1_payload.FEET, 1.5, (0.8, 1.0))
    dt = 1e-3 * NODE
    np.testing.assert_allclose(np.diff(recording.time), dt, atol=1e-9)
    for joint in walked.robot.robot.joints[:3]:
        v, q = recording[f"velocity.{joint}"], recording[f"position.{joint}"]
        sure = ~doubtful[1:] & ~doubtful[:-1]
        np.testing.assert_allclose(v[1:][sure], (np.diff(q) / dt)[sure], atol=1e-9)
    assert 0 < doubtful.mean() < 0.3
    assert set(recording["contact.RL_foot"]) == {0.0, 1.0}


def test_the_recording_says_that_a_foot_stands_only_where_it_carries(motion, walked):
    recording, _ = at_nodes(motion, walked.robot.robot.joints, go1_payload.FEET, 1.5, (0.8, 1.0))
    samples = np.round(1e3 * recording.time).astype(int)
    for k, foot in enumerate(go1_payload.FEET):
        stands = recording[f"contact.{foot}"] == 1
        assert walked.force[samples][stands, k].min() > 0.5


@pytest.fixture(scope="module")
def longer(load):
    """A walk as long as those of which levels of noise were measured, and none of them."""
    return walk(load, None, np.random.default_rng(4), go1_payload.QUICK_DURATION)


def test_what_rigid_contacts_leave_is_stated(longer, load):
    """Levels of single walks differ from those of ten by some 3 %."""
    sure, doubtful = go1_payload.unmodelled([(longer, load)])
    np.testing.assert_allclose(sure, go1_payload.SPEEDS, rtol=0.1)
    np.testing.assert_allclose(doubtful, go1_payload.DOUBTFUL_SPEEDS, rtol=0.1)


def test_feet_that_stand_are_pressed_into_the_ground_as_deep_as_stated(walked):
    robot, standing = walked.robot.robot, (walked.time > 0.6) & (walked.time < 1.0)
    q, v = walked.q[standing], walked.v[standing]
    feet = MotionTerms(robot).frames(go1_payload.FEET, q, v, 0 * v)
    height = np.mean([feet[foot].position[:, 2] for foot in go1_payload.FEET])
    assert GO1_FOOT[1] - height == pytest.approx(go1_payload.PRESSED, rel=0.03)


def test_without_noise_the_payload_is_right_to_half_a_standard_deviation(longer, load):
    """A foot that rolled about the lowest point of its ball, pressed into the ground, would cost a whole one."""
    own = go1_payload.carrier(longer.robot.robot)
    problem = weighing.problem(own, go1_payload.seen(longer), CLEAN, go1_payload.STATED)
    estimate = weighing.METHOD.solve(problem)
    slopes = physical_slopes(np.asarray(estimate.values[:10]) - own.own)
    P = slopes @ np.asarray(estimate.covariance)[:10, :10] @ slopes.T
    e = physical(np.asarray(estimate.values[:10]) - own.own) - physical(load)
    assert np.abs(e[:4] / np.sqrt(np.diag(P))[:4]).max() < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_the_payload_is_weighed(seed):
    result = go1_payload.run(seed, quick=True)
    json.dumps([result.rows, result.figures, result.notes])
    figures = result.figures
    assert abs(figures["mass_error_percent_clean"]) <= 1 and abs(figures["mass_error_percent_defects"]) <= 2.3
    assert figures["iterations"] <= 27
    assert figures["swing_error_ratio"] <= 0.5 and figures["height_error_ratio"] <= 0.5
    assert all(len(values) == len(c.time) for c in result.curves.values() for values in c.lines.values())
    (animation,) = result.animations
    assert animation.frames and "trunk with payload" in animation.title


@pytest.mark.slow
def test_wrong_schedules_are_found_again(tmp_path):
    """Within 5 ms, at the cost of half a percent of the mass; without a stance the mass is far off as given."""
    result = payload_statistics.run(5, quick=True, folder=tmp_path)
    json.dumps([result.rows, result.figures, result.notes])
    assert result.figures["event_error_ms"] <= 5 and result.figures["schedule_cost_percent"] <= 0.5
    rows = {row["name"]: row for row in result.rows}
    assert rows["schedule, without a stance"]["mass_error_percent_given"] > 5
    assert all(row["named"] == row["walks"] for name, row in rows.items() if name.startswith("schedule"))
    assert rows["clean"]["walks"] == rows["defects"]["walks"] == 2


def test_recordings_with_errors_of_sensors_are_kept_until_all_are_done(tmp_path, monkeypatch):
    """After an interruption only those that are missing are estimated."""
    quantities = {
        name: {"truth": 0.0, "ours": 0.0, "std": 1.0, "inside": True} for name in ("mass", "delay.all")
    }
    each = {"mass": 7.2, "error_percent": 0.0, "iterations": 1, "converged": True, "quantities": quantities}
    attempted = []

    def attempt(draw):
        attempted.append(draw.number)
        if attempted == [0, 1]:
            while not list(tmp_path.iterdir()):  # until the first is on disk
                time.sleep(0.01)
            raise KeyboardInterrupt
        return {"payload": 7.2, "without": each, "with": each}

    monkeypatch.setattr(sensor_errors, "attempt", attempt)
    for _ in range(2):
        with ThreadPoolExecutor(1) as pool, suppress(KeyboardInterrupt):
            result = sensor_errors.run(1, draws=3, executor=pool, folder=tmp_path)
    assert attempted.count(0) == 1 and attempted.count(1) == 2
    assert result.figures["draws"] == 3 and not list(tmp_path.iterdir())


@pytest.mark.slow
def test_errors_of_sensors_are_found_and_the_payload_is_weighed_without_them(tmp_path):
    with ThreadPoolExecutor(1) as pool:
        result = sensor_errors.run(1, draws=1, executor=pool, folder=tmp_path)
    figures = result.figures
    assert figures["converged"] and figures["mass_error_percent_with"] < 0.3
    assert figures["mass_error_percent_without"] > 3 * figures["mass_error_percent_with"]
    # of 20 quantities one may be outside, and the delay is found a standard deviation and a half too short
    assert sum(figures["inside_with"].values()) >= len(figures["inside_with"]) - 2
    assert abs(figures["delay_ms"] - 2) < 1
    json.dumps(result.content())
