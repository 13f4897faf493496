"""The page of a designed motion: everything drawn and said, from numbers that are the motion's."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from poinsot.exceptions import UnwritableOutput
from poinsot.excitation.design import OptimalExcitation
from poinsot.excitation.problem import excitation_problem
from poinsot.excitation.search import MotionSearch
from poinsot.excitation.trajectory import FourierSeries
from poinsot.models.robot.articulated import load_robot
from poinsot.models.robot.collisions import Surroundings
from poinsot.report.excitation_page import (
    expectations,
    hopeless,
    motion_figure,
    motion_grid,
    write_excitation_page,
)
from poinsot.report.figures.animation import _placements, excitation_picture
from references import arm_with_shapes


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    return load_robot(arm_with_shapes.write(tmp_path_factory.mktemp("arm")))


def random_motion(problem):
    """It stands for a designed one."""
    method = OptimalExcitation(basis=FourierSeries(3))
    state = MotionSearch(problem, method).begin()
    return method.finish(problem, replace(state, best=state.coefficients, done=True))


@pytest.fixture(scope="module")
def excitation(arm):
    found = random_motion(excitation_problem(arm, duration_s=4.0, torque_std=[0.1, 2.0, 0.05]))
    return replace(found, limits_respected=True)


def test_the_page_says_what_matters(excitation, tmp_path):
    write_excitation_page(excitation, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    words = re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]+>", " ", text, flags=re.DOTALL)
    for word in (
        "arm with shapes",
        "Condition number",
        "kept",
        "Noise assumed",
        "0.05 to 2",
        "FourierSeries",
    ):
        assert word in words
    for name in excitation.problem.base.names:
        assert f">{name}<" in text
    assert all(f">{joint}<" in text for joint in excitation.joints)
    assert "http://" not in words


def test_what_was_not_checked_is_the_first_line(excitation, arm, tmp_path):
    assert excitation.checked == ("position", "velocity", "torque", "distance")
    assert excitation.unchecked == (
        "the surroundings, as no floor and no box were named",
        "friction, which adds to the torques",
    )
    write_excitation_page(excitation, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert text.index('role="alert">Not checked: the surroundings') < text.index("<main>")
    named = replace(excitation.problem, collisions=Surroundings(floor_m=0.1).resolve(arm))
    assert replace(excitation, problem=named).unchecked == ("friction, which adds to the torques",)
    limits = replace(excitation.problem.limits, velocity=np.array([1.0, np.inf, np.inf]))
    endless = replace(excitation, problem=replace(excitation.problem, limits=limits))
    assert "the velocity of shoulder, elbow, without a limit" in endless.unchecked
    held = np.where(np.array(named.base.parameters.kinds) == "viscous", 1.0, named.theta)
    assert replace(excitation, problem=replace(named, theta=held)).unchecked == ()


def test_the_motion_is_played_on_the_robot_with_its_clearance(excitation):
    grid = excitation_picture(excitation)
    json.dumps([panel.plotly for panel in grid.panels])
    robot, clearance = grid.panels
    assert float(robot.frames[-1]["name"]) == excitation.problem.duration_s and len(robot.frames) > 20
    # lines from frame to frame, at the last sample where the kinematics put them
    q = excitation.problem.robot.configurations(excitation.q[-1:])
    drawn = np.array([robot.frames[-1]["data"][0][axis] for axis in "xyz"], dtype=float).T
    np.testing.assert_allclose(drawn[1], _placements(excitation.problem.robot, q)[0, 1, :3, 3], atol=1e-4)
    least = np.array(clearance.data[0]["y"], dtype=float)
    distances = excitation.problem.collisions.distances(excitation.problem.robot.configurations(excitation.q))
    np.testing.assert_allclose(least, distances.min(axis=1), atol=1e-5)


def test_a_broken_limit_is_shouted(excitation, tmp_path):
    write_excitation_page(replace(excitation, limits_respected=False), tmp_path / "page.html")
    assert "BREAKS A LIMIT" in (tmp_path / "page.html").read_text()


def test_nothing_is_left_where_it_cannot_be_written(excitation, tmp_path):
    with pytest.raises(UnwritableOutput):
        write_excitation_page(excitation, tmp_path / "none" / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_each_joint_is_drawn_with_the_limits_that_are_near(excitation):
    figure = motion_figure(excitation, 0)
    json.dumps(figure.plotly)
    rows = {trace["yaxis"]: trace for trace in figure.data if trace["name"] != "limit"}
    assert len(rows) == 4
    for axis, values in (
        ("y", excitation.q),
        ("y2", excitation.v),
        ("y3", excitation.a),
        ("y4", excitation.tau),
    ):
        drawn = np.array(rows[axis]["y"], dtype=float)
        assert np.allclose(drawn, values[:, 0], atol=1e-5 * np.abs(values[:, 0]).max())
    bounds = {(trace["yaxis"], trace["y"][0]) for trace in figure.data if trace["name"] == "limit"}
    assert {("y2", -2.0), ("y2", 2.0)} <= bounds  # half of the speed limit is used
    assert np.abs(excitation.tau[:, 0]).max() < 15
    assert not any(axis == "y4" for axis, _ in bounds)  # 60 N m are far away
    assert not any(axis == "y3" for axis, _ in bounds)  # no limit
    assert len(motion_grid(excitation).panels) == 3


def test_what_will_be_known_is_said_with_its_number(excitation):
    percent = excitation.predicted_relative_std_percent
    sentences = expectations(excitation)
    assert sentences
    for sentence in sentences:
        name = re.search(r"\((\w+)[,)]", sentence)[1]
        said = re.search(r"to ([\d.]+) %", sentence)[1]
        assert float(said) == pytest.approx(percent[name], rel=0.05, abs=0.005)
        assert percent[name] < 100
    assert set(hopeless(excitation)) == {name for name, each in percent.items() if each > 100}


def test_the_mass_of_a_payload_is_what_is_said(arm):
    found = random_motion(excitation_problem(arm, duration_s=4.0, payload="hand", torque_std=0.1))
    (sentence,) = expectations(found)
    assert sentence.startswith("with this motion and this noise the mass of forearm will be known to ")
    assert sentence.endswith(" % (m3)")
