"""Talos on monkey bars and in a backflip: hands on bars, tasks, both motions, and that their payloads are weighed."""

import json
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from references.robots import described

pytest.importorskip("mujoco")
pytest.importorskip("proxsuite")

from poinsot.exceptions import InvalidModel
from poinsot_reproductions.online.simulation.plant import Plant
from poinsot_reproductions.online.simulation.tasks import Kinematics, PitchMomentum
from poinsot_reproductions.optimal_estimation import backflip, brachiation, maneuvers
from poinsot_reproductions.optimal_estimation.maneuvers import MASS, backpack, perform


@pytest.fixture(autouse=True, scope="module")
def needs_descriptions():
    described("talos_data/robots/talos_reduced.urdf")


@pytest.fixture(scope="module")
def hanging():
    return brachiation.hanging()


@pytest.fixture(scope="module")
def swing():
    return perform(brachiation.maneuver(), backpack(np.random.default_rng([3, 0])))


@pytest.fixture(scope="module")
def flip():
    return perform(backflip.maneuver(), backpack(np.random.default_rng([3, 0])))


def _free(legged):
    return Plant(legged.robot, soles=legged.soles, effort_limits=np.full(legged.robot.model.nv, np.inf))


def _palms(robot, q):
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, q)
    return np.array([data.oMf[robot.model.getFrameId(palm)].translation for palm in brachiation.PALMS])


# ------------------------------------------------------------------------------------------------------ hands and tasks


def test_hands_begin_on_the_bar_away_from_the_stops_of_their_joints(hanging):
    robot = hanging.robot
    x, y = 0.0, brachiation.ABOVE[1]
    bar = [(x, y, brachiation.BAR_HEIGHT), (x, -y, brachiation.BAR_HEIGHT)]
    np.testing.assert_allclose(_palms(robot, hanging.home), bar, atol=2e-3)
    assert (hanging.home[7:] > robot.model.lowerPositionLimit[7:]).all()
    assert (hanging.home[7:] < robot.model.upperPositionLimit[7:]).all()


def test_a_closed_hand_stays_and_an_open_one_falls(hanging):
    plant, n = _free(hanging), hanging.robot.model.nv
    plant.reset(hanging.home)
    start = plant.feet
    for grip in hanging.soles:
        assert not plant.holds(grip.body)
        plant.grasp(grip.body)
    for _ in range(100):
        plant.step(np.zeros(n))
    assert all(plant.holds(grip.body) for grip in hanging.soles)
    np.testing.assert_allclose(_palms(hanging.robot, plant.q), start, atol=1e-4)
    for grip in hanging.soles:
        plant.release(grip.body)
    data = hanging.robot.model.createData()
    before = pin.centerOfMass(hanging.robot.model, data, plant.q, plant.v).copy(), data.vcom[0].copy()
    for _ in range(100):
        plant.step(np.zeros(n))
    after = pin.centerOfMass(hanging.robot.model, data, plant.q, plant.v)
    # a semi-implicit step falls by g dt^2 / 2 more each
    fallen = before[1] * 0.1 + np.array([0.0, 0.0, -0.5 * 9.81 * 0.1 * 0.101])
    np.testing.assert_allclose(after - before[0], fallen, atol=2e-3)
    plant.reset(hanging.home)
    assert not any(plant.holds(grip.body) for grip in hanging.soles)


def test_a_body_without_a_hand_cannot_hold_a_bar(hanging):
    with pytest.raises(InvalidModel, match="no grip"):
        _free(hanging).grasp("base_link")


def test_the_momentum_task_asks_for_the_rate_of_momentum(hanging, rng):
    """A vdot - b = hdot - rate along any acceleration, against a difference of the momentum."""
    robot, kinematics = hanging.robot, Kinematics(hanging.robot)
    model, data, step = robot.model, robot.model.createData(), 1e-6
    q, v, a = hanging.home, rng.standard_normal(model.nv), rng.standard_normal(model.nv)

    def momentum(time):
        # a constant acceleration in the body's axes
        return pin.computeCentroidalMomentum(
            model, data, pin.integrate(model, q, time * v), v + time * a
        ).angular[1]

    task = PitchMomentum(gain=0.0, weight=4.0, rate=3.0)
    kinematics.update(q, v)
    A, b, weight = task.rows(kinematics)
    rate = (momentum(step) - momentum(-step)) / (2 * step)
    assert 10.0 * (A @ a - b)[0] == pytest.approx(rate - 3.0, rel=1e-5)
    assert weight == pytest.approx([2.0])


# ---------------------------------------------------------------------------------------------------------- the motions


def test_payloads_differ_in_mass_and_place():
    loads = np.array([backpack(np.random.default_rng(seed)) for seed in range(5)])
    assert loads[:, 0].min() > MASS[0] and loads[:, 0].max() < MASS[1] and np.ptp(loads[:, 0]) > 1
    assert np.ptp(loads[:, 1:4] / loads[:, :1], axis=0).min() > 0.01


def test_the_swing_flies_from_one_bar_to_the_next(swing):
    open_ = np.flatnonzero(swing.force[:, 0] == 0)
    assert len(open_) == pytest.approx(1e3 * brachiation.FLIGHT, abs=2) and np.ptp(open_) == len(open_) - 1
    robot = brachiation.hanging().robot
    first, last = _palms(robot, swing.q[open_[0]]), _palms(robot, swing.q[open_[-1] + 1])
    # within some millimetres of the next bar
    np.testing.assert_allclose(last - first, [[brachiation.NEXT_BAR, 0.0, 0.0]] * 2, atol=5e-3)
    np.testing.assert_allclose(_palms(robot, swing.q[-1]), last, atol=1e-3)
    assert swing.unsolved == 0 and swing.stop_margin > 0
    assert swing.v[: round(1e3 * brachiation.HELD)].any() == 0


def test_the_backflip_turns_once_and_stands_upright(flip):
    R = np.array([pin.Quaternion(q[3:7]).toRotationMatrix() for q in flip.q])
    pitch = np.unwrap(np.arctan2(-R[:, 2, 0], R[:, 0, 0]))
    assert pitch[-1] == pytest.approx(-2 * np.pi, abs=0.35)
    carried = flip.force.sum(axis=1)
    flight = np.flatnonzero(carried[1000:] == 0) + 1000
    assert 0.6 < 1e-3 * len(flight) < 1.4
    assert carried[-1] > 200 and flip.q[-1, 2] > 0.5
    assert flip.unsolved == 0


def test_a_robot_that_flies_to_pieces_is_an_error(monkeypatch):
    monkeypatch.setattr(maneuvers, "FASTEST", 0.1)
    with pytest.raises(RuntimeError, match="too fast"):
        perform(replace(brachiation.maneuver(), duration=0.5), backpack(np.random.default_rng(0)))


# --------------------------------------------------------------------------------------------------------- the weighing


@pytest.mark.slow
@pytest.mark.parametrize("case", [brachiation, backflip], ids=["brachiation", "backflip"])
def test_the_payload_is_weighed(case, tmp_path):
    result = case.run(5, quick=True)
    json.dumps([result.rows, result.figures, result.notes])
    figures = result.figures
    assert figures["converged"]
    assert abs(figures["mass_error_percent"]) <= 2 and figures["center_of_mass_error_m"] <= 0.01
    assert all(len(values) == len(c.time) for c in result.curves.values() for values in c.lines.values())
    result.write_page(tmp_path / "page.html")
    assert "estimated torso" in (tmp_path / "page.html").read_text()
