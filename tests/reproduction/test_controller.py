"""The arm in its loop: the plant against the model, the exported code against the result, and the case's figures."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

import poinsot
from poinsot.regression.regressor import Regressor
from poinsot_reproductions.case import PartedCase, Reproduction, Simulation
from poinsot_reproductions.controller import CONTROLLER, arm, comparison, exported, feedforward, payload
from poinsot_reproductions.controller.plant import TICK_S, Loop, Plant, drawn_motion

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arm")
    arm.write_job(folder)
    return arm.loaded(folder / arm.DESCRIPTION)


def test_masses_of_the_description_are_20_to_50_percent_off(robot):
    off = np.abs(arm.described_masses() / arm.column("mass") - 1)
    assert off.min() >= 0.2 - 1e-12 and off.max() <= 0.5 + 1e-12
    np.testing.assert_allclose(robot.inertials[:, 0], arm.described_masses())
    theta = arm.known_parameters(robot, arm.described_masses())
    np.testing.assert_allclose(theta[: robot.inertials.size], robot.inertials.ravel())
    assert theta[robot.parameters.index("ia4")] == arm.LINKS[3].rotor


def test_the_plant_is_the_model(robot, rng):
    """MuJoCo's inverse dynamics of moving joints: friction is 1e-4 softer than sign(v), as its impedance is 0.9999."""
    plant = Plant()
    theta, regressor = arm.known_parameters(robot, arm.column("mass")), Regressor(robot, robot.parameters)
    for _ in range(5):
        q, a = rng.uniform(-2, 2, (2, 6))
        v = rng.uniform(0.5, 2, 6) * rng.choice([-1, 1], 6)
        plant.data.qpos[:], plant.data.qvel[:], plant.data.qacc[:] = q, v, a
        mujoco.mj_inverse(plant.model, plant.data)
        predicted = regressor.dense(robot.configurations(q[None]), v[None], a[None])[0] @ theta
        np.testing.assert_allclose(plant.data.qfrc_inverse, predicted, atol=2e-4 * np.abs(predicted).max())


def test_a_payload_is_held_from_its_time_on():
    plant = Plant()
    plant.rest(arm.HOME)
    mass = plant.model.body_mass.sum()
    plant.hold(3.0)
    assert plant.model.body_mass.sum() - mass == pytest.approx(3.0)
    plant.rest(arm.HOME)
    assert plant.model.body_mass.sum() == pytest.approx(arm.ARM_MASS)


def test_a_repeated_motion_is_continuous(rng):
    once = drawn_motion(rng, 1.0, harmonics=2)
    motion = payload.repeated(once, 3)
    np.testing.assert_allclose(np.diff(motion.time), TICK_S)
    assert np.abs(np.diff(motion.q, axis=0)).max() <= 1.001 * np.abs(once.v).max() * TICK_S
    np.testing.assert_array_equal(motion.a[: len(once.a)], motion.a[-len(once.a) :])


def test_the_loop_follows_with_the_true_model(robot):
    """Readings are in the encoder's steps, and the error is a fraction of a milliradian."""
    theta, regressor = arm.known_parameters(robot, arm.column("mass")), Regressor(robot, robot.parameters)
    motion = drawn_motion(np.random.default_rng(3), 1.0, harmonics=1, amplitude=0.2)
    torques = regressor.dense(robot.configurations(motion.q), motion.v, motion.a) @ theta
    planned = iter(torques)
    trace = Loop(Plant(), motion, lambda q, v, a: next(planned), np.random.default_rng(4)).run()
    assert trace.rms() < 1e-3 and trace.effort_share < 1
    np.testing.assert_allclose(trace.read / arm.COUNT, np.round(trace.read / arm.COUNT), atol=1e-6)
    assert np.abs(trace.read - trace.q).max() <= 0.5 * arm.COUNT * (1 + 1e-9)


@pytest.fixture(scope="module")
def small_result(tmp_path_factory):
    """A result of three joints: its robot is called arm too."""
    path = tmp_path_factory.mktemp("result") / "result.json"
    poinsot.write_estimate(poinsot.identify(EXAMPLES / "arm" / "job.toml"), path)
    return path


def test_exported_code_is_the_prediction(small_result, tmp_path, monkeypatch, rng):
    """Compiled C, and Python where there is no compiler, which one message says."""
    messages = []
    compiled = exported.export_dynamics(small_result, tmp_path, messages.append)
    assert compiled.language == "C" and not messages
    monkeypatch.setattr(exported.shutil, "which", lambda name: None)
    written = exported.export_dynamics(small_result, tmp_path, messages.append)
    assert written.language == "Python" and len(messages) == 1 and "no C compiler" in messages[0]
    estimate = poinsot.read_estimate(small_result)
    for q, v, a in rng.uniform(-2, 2, (5, 3, 3)):
        tau = estimate.torque(q, v, a)
        for code in (compiled, written):
            found = code.torque(code.parameters, q, v, a)
            np.testing.assert_allclose(found, tau, rtol=0, atol=1e-12 * np.abs(tau).max())


def test_the_example_has_what_the_case_writes(tmp_path):
    arm.write_job(tmp_path)
    for name in (arm.JOB.name, arm.DESCRIPTION):
        assert (EXAMPLES / "controller" / name).read_text() == (tmp_path / name).read_text()
    assert (EXAMPLES / "controller" / arm.LOG).stat().st_size < 400_000


def test_figures_of_the_parts_stand_side_by_side():
    def part(name):
        return Simulation(lambda seed, say: Reproduction(
            name, str(seed), "", "", (), {}, figures={f"{name}_figure": seed}, seconds={"total": 0.0}
        ))  # fmt: skip

    parts = {"one": part("one"), "two": part("two")}
    together = PartedCase("case", "", parts, figures_by_part=False)(None, 3, None, lambda message: None)
    assert together.figures == {"one_figure": 3, "two_figure": 3}
    grouped = PartedCase("case", "", parts)(None, 3, None, lambda message: None)
    assert grouped.figures["two"] == {"two_figure": 3}
    assert not CONTROLLER.figures_by_part


@pytest.mark.slow
def test_the_identified_model_follows_like_the_truth():
    figures = feedforward.run(1, say=print).figures
    assert figures["identified_over_truth"] <= 1.1 and figures["described_over_identified"] >= 4


@pytest.mark.slow
def test_a_payload_is_in_the_feedforward_after_a_second():
    figures = payload.run(1, say=print).figures
    assert figures["payload_over_before_after_1s"] <= 1.3 < 5 < figures["payload_ignored_over_before"]
    assert figures["payload_found_kg"] == pytest.approx(figures["payload_kg"], rel=0.1)


@pytest.mark.slow
def test_pairs_of_logs_are_compared():
    """Of three pairs none differs, and each change is found: at 5 and 95 %, more than one exception is improbable."""
    figures = comparison.run(1, say=print, pairs=3).figures
    assert figures["unchanged_called_percent"] <= 5 and figures["changed_found_percent"] >= 60
