"""Delays of a servo with commands and positions in two topics: they do not depend on how rows are merged."""

import numpy as np
import pytest

import poinsot
from poinsot import ActuatorProblem, Actuators, OutputError, Recording, Search
from poinsot.models.servo.actuator import Actuator
from poinsot.models.servo.setpoint import Commands
from poinsot.project.job import Project
from poinsot.simulation.actuators import Motion, Simulator

URDF = """<robot name="swing"><link name="base"/>
<link name="arm"><inertial><origin xyz="0 0 -0.15"/><mass value="0.5"/>
<inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="pivot" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="10" velocity="10"/></joint></robot>"""
JOB = """[robot]
path = "swing.urdf"
[[recordings]]
path = "log.csv"
time = { column = "t", unit = "s" }
require = ["q"]
{start}
[recordings.position]
columns = ["q"]
unit = "rad"
[recordings.position_command]
columns = ["u"]
unit = "rad"
hold = true
initial = 0.0
[method]
name = "actuators"
estimate = ["stiffness", "damping", "coulomb", "armature", "delay", "zero"]
draws = 20
hops = 0
"""
TRUTH = Actuator("pivot", stiffness=8.0, damping=0.3, coulomb=0.05, armature=0.02, zero=0.01)
DELAY, STATES, SECONDS = 0.023, 0.01, 6.0
SENT = {
    "one instant": lambda rng: np.arange(0, SECONDS, STATES) + 1e-6,
    "another phase": lambda rng: np.arange(0, SECONDS, STATES) + 0.0063,
    "slower and irregular": lambda rng: np.cumsum(rng.uniform(0.012, 0.03, 300)),
    "faster": lambda rng: np.arange(0, SECONDS, 0.0031),
}


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("swing") / "swing.urdf"
    path.write_text(URDF)
    return poinsot.load_robot(path)


def logged(robot, clock):
    """Times and values of positions, then of the commands that they followed, each by its own message."""
    rng = np.random.default_rng(1)
    sent = np.round(SENT[clock](rng), 7)
    commanded = 0.6 * np.sin(2.1 * sent) + 0.3 * np.sin(9.0 * sent)
    fine = np.arange(0, SECONDS, 5e-4)
    # what the controller has at each step is the last command that was sent before the delay
    last = np.searchsorted(sent, fine - DELAY, side="right") - 1
    got = commanded[np.maximum(last, 0)]
    q = Simulator.of(robot, [TRUTH], timestep=5e-4).roll_out(
        Motion("swing", fine, got[:, None], got[:1], np.zeros(1))
    )
    time = np.arange(0, SECONDS - 1e-9, STATES)
    measured = np.interp(time, fine, q[:, 0]) + 1e-4 * rng.standard_normal(len(time))
    kept = sent < SECONDS
    return time, measured, sent[kept], commanded[kept]


@pytest.mark.parametrize(
    ("clock", "start", "apart"),
    [
        *((clock, "", False) for clock in SENT),
        ("another phase", "start_s = 100.0", False),
        ("faster", "", True),
    ],
)
def test_a_project_takes_commands_at_their_own_times(robot, clock, start, apart, tmp_path):
    """`apart`: messages of one time are in rows of their own, whose clock repeats."""
    time, measured, sent, commanded = logged(robot, clock)
    rows: dict[str, list[str]] = {}
    for k, (times, values) in enumerate(((time, measured), (sent, commanded))):
        for t, value in zip(times, values, strict=True):
            rows.setdefault(f"{t:010.7f}", ["", ""])[k] = f"{value:.9f}"
    lines = [f"{t},{','.join(rows[t])}" for t in sorted(rows)]
    if apart:
        lines = [
            f"{t},{line}"
            for t in sorted(rows)
            for line in (f"{rows[t][0]},", f",{rows[t][1]}")
            if len(line) > 1
        ]
    (tmp_path / "log.csv").write_text("\n".join(["t,q,u", *lines]))
    (tmp_path / "swing.urdf").write_text(URDF)
    (tmp_path / "job.toml").write_text(JOB.replace("{start}", start))
    estimate = Project.load(tmp_path / "job.toml").identify()
    k = estimate.names.index("pivot.delay")
    # a step of the simulation is 0.5 ms, and its commands are late by half of it on average
    assert abs(estimate.values[k] - DELAY) < 0.3e-3 + 4 * estimate.std[k]
    assert estimate.std[k] < 0.3e-3
    assert estimate.extra(Actuators).rms["log.csv"]["pivot"] < 3e-4


def test_held_rows_are_late_and_stamps_are_not(robot):
    time, measured, sent, commanded = logged(robot, "another phase")
    rows = Commands(sent, commanded, True).at(time)
    channels = {"position.pivot": measured, "position_command.pivot": rows}
    recording = Recording(time, channels, dict.fromkeys(channels, "rad"))
    own = Recording(sent, {"position_command.pivot": commanded}, {"position_command.pivot": "rad"})
    delays = []
    for commands in ({}, {"log": own}):
        problem = ActuatorProblem(
            robot, {"log": recording}, commands=commands,
            open=("stiffness", "damping", "coulomb", "armature", "delay", "zero"),
        )  # fmt: skip
        estimate = OutputError(Search(draws=20, refined=1, finished=1, hops=0)).solve(problem)
        delays.append(estimate.values[estimate.names.index("pivot.delay")])
    # a command of 6.3 ms after a row is on the next one, 3.7 ms late
    assert delays[1] - delays[0] == pytest.approx(3.7e-3, abs=0.3e-3)
    assert delays[1] == pytest.approx(DELAY, abs=0.4e-3)


def test_commands_between_samples_are_the_last_or_linear():
    time, values = np.array([0.0, 1.0, 3.0]), np.array([0.0, 1.0, 2.0])
    at = np.array([-1.0, 0.5, 1.0, 2.0, 4.0])
    np.testing.assert_array_equal(Commands(time, values, True).at(at), [0.0, 0.0, 1.0, 1.0, 2.0])
    np.testing.assert_array_equal(Commands(time, values, False).at(at), [0.0, 0.5, 1.0, 1.5, 2.0])
    assert Commands(time, values, True).period == 1.5
    assert (Commands(time, values, True).shifted(2.0).time == time + 2).all()
