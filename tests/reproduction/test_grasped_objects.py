"""Objects that robots hold: their chart, robots and sensors in MuJoCo, and the claims of both cases in short."""

import json
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from poinsot.estimators.shooting.posterior import TrajectoryPosterior
from poinsot.inertia.charts.exponential_eigenvalue import ExponentialEigenvalue
from poinsot.inertia.charts.log_cholesky import LogCholesky
from poinsot.inertia.parameters import center_of_mass, change_frame
from poinsot.models.sensors import Gyro, JointPosition, JointVelocity
from poinsot.report.figures.animation import FRAMES, DrawnBodies, robot_animation
from poinsot_reproductions.online.simulation.plant import Plant
from poinsot_reproductions.optimal_estimation import arm, grasped, sphere
from poinsot_reproductions.optimal_estimation.grasped import GraspedObject
from poinsot_reproductions.optimal_estimation.plants import fly_in_mujoco
from poinsot_reproductions.optimal_estimation.sensor_defects import Defects
from references.robots import described

BORINOT = "borinot_description/urdf/borinot_flying_arm_2.urdf"
each_chart = pytest.mark.parametrize(
    "chart", [LogCholesky(), ExponentialEigenvalue()], ids=["log", "eigenvalue"]
)


@pytest.fixture(autouse=True, scope="module")
def needs_descriptions():
    described("anymal_b_simple_description/robots/anymal-kinova.urdf")


@pytest.fixture(scope="module")
def robot():
    return described(BORINOT, floating_base=True)


@pytest.fixture(scope="module")
def flight():
    return sphere.fly_with_sphere(np.random.default_rng(4), 200)


@pytest.fixture(scope="module")
def solved(flight):
    start = sphere.uniform_sphere(0.4, 0.05, np.array([0.05, 0.0, 0.0]))
    return sphere.solve(flight[0], sphere.ATTEMPTS[sphere.REFERENCE], start)


@pytest.fixture(scope="module")
def carried():
    rng = np.random.default_rng(6)
    held = arm.unknown_object(rng)
    return *arm.carry(held, rng, samples=101), held


# ----------------------------------------------------------------------------------------------------------- the chart


@each_chart
def test_the_chart_of_an_object_is_one_of_its_moving_body(robot, chart, rng):
    grasped = GraspedObject.at(robot, sphere.TIP, chart)
    held = arm.unknown_object(rng)
    theta = chart.from_inertial(held)
    np.testing.assert_allclose(grasped.to_inertial(theta), grasped.holding(held), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(grasped.object_of(grasped.holding(held)), held, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(grasped.from_inertial(grasped.to_inertial(theta)), theta, rtol=1e-7, atol=1e-9)
    # the moving body's mass and first moment are the link's and the object's, put at the tip
    place, T = robot.link(sphere.TIP)
    total, link = grasped.holding(held), robot.inertials[place]
    assert total[0] == pytest.approx(link[0] + held[0])
    centre = T[:3, :3] @ center_of_mass(held) + T[:3, 3]
    np.testing.assert_allclose(total[1:4], link[1:4] + held[0] * centre, atol=1e-14)


@each_chart
def test_its_jacobian_equals_differences(robot, chart, rng):
    grasped = GraspedObject.at(robot, sphere.TIP, chart)
    theta = chart.from_inertial(arm.unknown_object(rng))
    step = 1e-6
    differences = [
        (grasped.to_inertial(theta + d) - grasped.to_inertial(theta - d)) / (2 * step)
        for d in step * np.eye(10)
    ]
    np.testing.assert_allclose(grasped.jacobian(theta), np.transpose(differences), rtol=1e-6, atol=1e-9)


def test_turning_a_sphere_does_not_change_its_moving_body(robot):
    grasped = GraspedObject.at(robot, sphere.TIP, ExponentialEigenvalue())
    theta = grasped.chart.from_inertial(sphere.uniform_sphere(0.5, 0.07, np.array([0.07, 0.0, 0.0])))
    theta[7:] = theta[7:].mean()
    np.testing.assert_allclose(grasped.jacobian(theta)[:, 4:7], 0, atol=1e-15)


# ----------------------------------------------------------------------------------------------------- in the simulator


def test_forces_on_a_free_base_are_in_its_axes(robot, rng):
    """MuJoCo's velocity after a step is Pinocchio's acceleration times the step, however the base is tilted."""
    plant = Plant(robot, effort_limits=np.full(robot.model.nv, np.inf))
    for q, v, _ in zip(*robot.random_states(5, rng), strict=True):
        # above the floor, and between the stops of the joints
        q[2], q[7:] = 10.0, rng.uniform(-1.0, 1.0, 2)
        tau = rng.standard_normal(robot.model.nv)
        plant.reset(q, 0.0 * v)
        plant.step(tau)
        a = pin.aba(robot.model, robot.model.createData(), q, 0.0 * v, tau)
        # the base turns by a timestep^2, at most 1e-3 rad, until its velocity is read in its axes
        np.testing.assert_allclose(plant.v, plant.timestep * a, rtol=1e-3, atol=1e-5 * np.abs(a).max())


def _left(flown, chart, held):
    """Errors of a step of the estimator's model at the truth, and residuals of the sensors in standard deviations."""
    parameters = flown.system.parameters(flown.system.open_bodies, chart)
    motion = flown.motion(parameters)
    w = np.zeros(motion.noise_std.shape)
    off = flown.commanded - flown.u
    w[:, : len(motion.noisy_commands)] = off[: len(w), motion.noisy_commands]
    f, r = motion.evaluate(0, flown.x[:-1], w, chart.chart.from_inertial(held))
    return motion.manifold.difference(f, flown.x[1:]), r


def test_the_flight_is_one_of_the_model(flight):
    """Both integrate in the same way: the difference of a step is of second order in it."""
    flown, held = flight
    step, r = _left(flown, GraspedObject.at(flown.system.robot, sphere.TIP, LogCholesky()), held)
    assert np.abs(step[:, 8:]).max() < sphere.NOISE.speeds
    # 2600 readings: the mean square is 1 +- 0.03
    assert abs(np.mean(r**2) - 1) < 0.15
    assert (flown.commanded[:, : sphere.ROTORS] > 0).all()


def test_the_carrying_robot_nearly_moves_as_the_model_does(carried):
    """Soft contacts and rolling feet leave less than the noise that the estimator assumes."""
    flown, grasped, held = carried
    step, r = _left(flown, grasped, held)
    assert np.sqrt(np.mean(step[:, 24:] ** 2)) < arm.NOISE.speeds
    assert abs(np.mean(r**2) - 1) < 0.15
    feet = np.array([[p for p, _ in arm.feet_at(flown.system.robot, x[:25])] for x in flown.x[::50]])
    assert np.ptp(feet, axis=0).max() < 5e-3


@pytest.mark.slow
def test_errors_of_sensors_are_estimated_with_the_object():
    rng = np.random.default_rng(6)
    held, usual = arm.unknown_object(rng), arm.QUALITIES[arm.DEFECTS]
    flown, chart = arm.carry(held, rng, usual, samples=301)
    ignored, known = (
        arm.Carried(flown, chart, arm.solve(flown, chart, each), held) for each in (Defects(), usual)
    )
    assert known.solution.status.converged and len(known.solution.theta) == 10 + 9 + 1
    # chi-square of the readings of 301 samples: 1 within 4 standard deviations, less the states that they determine
    readings = sum(int(np.isfinite(some.values).sum()) for some in flown.readings)
    assert known.chi_square < 1 + 4 * np.sqrt(2 / readings) < ignored.chi_square
    e = known.errors
    assert abs(e.estimated["mass"] - e.true["mass"]) < 4 * e.std["mass"]


def test_defects_are_those_that_were_asked_for():
    """Late by a step, quantized, biased and partly missing; the motion is the same."""
    system = sphere.borinot()
    defects = Defects(position_step=0.01, gyro_bias=0.1, delay=2, dropped=0.2)

    def flown(defects):
        plant = Plant(system.robot, timestep=sphere.PERIOD / 4, effort_limits=np.full(8, np.inf))
        return fly_in_mujoco(system, plant, sphere.NOISE, np.random.default_rng(3), defects=defects)

    system = replace(system, samples=100)
    clean, bad = flown(Defects()), flown(defects)
    np.testing.assert_array_equal(clean.x, bad.x)
    read = {type(each.sensor): each.values for each in bad.readings}
    missing = np.isnan(read[JointVelocity]).any(axis=1).mean()
    assert 0.1 < missing < 0.3
    positions = read[JointPosition][np.isfinite(read[JointPosition][:, 0])]
    np.testing.assert_allclose(positions / 0.01, np.round(positions / 0.01), atol=1e-9)
    nq = system.robot.model.nq
    late = 0.5 * (clean.x[1:, nq + 3 : nq + 6] + clean.x[:-1, nq + 3 : nq + 6])
    off = read[Gyro][1:] - late
    bias = np.nanmean(off, axis=0)
    assert 0.01 < np.abs(bias).max() < 0.4
    assert np.nanstd(off - bias) == pytest.approx(3e-3, rel=0.2)
    measured = bad.measured(bad.motion(system.parameters(())))
    assert np.isfinite(measured).all()


# ------------------------------------------------------------------------------------------------------------ the cases


def test_renewing_the_chart_keeps_the_body(flight, solved, monkeypatch):
    """In parts of three iterations the same minimum is found."""
    monkeypatch.setattr(sphere, "RENEWAL", 3)
    parts = sphere.solve(flight[0], solved.attempt, solved.objects[0])
    assert len(parts.parts) > 1 and parts.iterations == len(parts.costs) - 1 == len(parts.objects) - 1
    assert parts.last.cost == pytest.approx(solved.last.cost, abs=1e-6)


def test_only_the_null_space_solves_from_equal_moments():
    result = sphere.run(1, quick=True)
    json.dumps([result.rows, result.figures, result.notes])
    figures = result.figures
    assert figures["iterations_nullspace"] <= 100 and not figures["converged_schur"]
    assert figures["iterations_log_cholesky"] <= 100 and figures["cost_apart"] < 1e-5
    assert abs(figures["mass_error_percent"]) < 1 and figures["mass_apart_kg"] < 1e-6
    assert [row["name"] for row in result.rows] == list(sphere.ATTEMPTS)
    alone = result.rows[1]
    assert alone["iterations"] == 0 and alone["ending"] == "indefinite"
    # where it starts, and so where it ended: bitwise equal second moments
    assert np.ptp(alone["principal_moments"]) <= 1e-15 * alone["principal_moments"][0]
    assert all(len(values) == len(c.time) for c in result.curves.values() for values in c.lines.values())


def test_the_object_in_the_gripper_in_short(tmp_path, monkeypatch):
    monkeypatch.setattr(arm, "SETTLING", 0.2)
    result = arm.run(2, quick=True)
    json.dumps([result.rows, result.figures, result.notes])
    assert result.figures["converged"]
    assert abs(result.figures["mass_error_percent"]) <= 2
    assert result.figures["center_of_mass_error_m"] <= 0.01
    assert {"mass_error_percent", "center_of_mass_error_m", "iterations"} <= set(result.figures)
    result.write_page(tmp_path / "arm.html")
    assert "estimated object" in (tmp_path / "arm.html").read_text()


def test_errors_of_an_object_are_those_of_its_quantities(robot, solved, monkeypatch):
    held = GraspedObject.at(robot, sphere.TIP, LogCholesky())
    truth = sphere.uniform_sphere(0.5, 0.07, np.array([0.07, 0.0, 0.0]))
    T = np.eye(4)
    T[:3, 3] = 0.003, 0.0, 0.004
    theta = held.chart.from_inertial(1.02 * change_frame(T, truth))
    # of the density, alpha, nothing is known
    sure = TrajectoryPosterior(1e-4 * np.eye(10), (), (), np.eye(10)[:, :1], ())
    monkeypatch.setattr(grasped, "posterior", lambda problem, at: sure)
    found = replace(solved.last, at=replace(solved.last.at, theta=theta))
    errors = grasped.object_errors(held, found, truth)
    assert errors.mass_percent == pytest.approx(2.0) and errors.center_of_mass == pytest.approx(0.005)
    assert errors.std["mass"] is None and errors.std["cx"] == pytest.approx(0.01)
    assert errors.outside_intervals == []
    assert grasped.object_errors(held, found, truth, 0.1).outside_intervals == ["cx", "cz"]


def test_an_animation_shows_each_body_where_it_is(robot, rng):
    q = robot.random_states(4, rng)[0]
    pi = sphere.uniform_sphere(0.5, 0.07, np.array([0.07, 0.02, 0.0]))[None]
    bodies = (DrawnBodies.known(robot), DrawnBodies("sphere", (2,), pi, "#1f5fa8"))
    figure = robot_animation("moving", robot, q, np.arange(4.0), bodies)
    json.dumps(figure.plotly)
    assert len(figure.frames) == 4 <= FRAMES
    data = robot.model.createData()
    for frame, configuration in zip(figure.frames, q, strict=True):
        pin.forwardKinematics(robot.model, data, configuration)
        surface = frame["data"][2]
        points = np.array([surface[axis] for axis in "xyz"]).T
        centre = data.oMi[3].act(np.array([0.07, 0.02, 0.0]))
        np.testing.assert_allclose(np.linalg.norm(points - centre, axis=1), 0.07, atol=2e-4)
