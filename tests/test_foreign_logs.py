"""Other people's logs: what `poinsot new` writes for each, where the cases are beside the project.

The whole cases, with `identify`, are a check of their own; these are the lines that a right answer needs.
"""

import json
import tomllib
from pathlib import Path

import numpy as np
import pinocchio as pin
import polars as pl
import pytest

from poinsot.diagnosis.position_samples import LostSamples, lost_at
from poinsot.models.robot.articulated import load_robot
from poinsot.project import Project, identify
from poinsot.project.starting import start_project
from poinsot.recording import Recording

ROOT = Path(__file__).resolve().parents[1]
ARM = ROOT / "examples/arm/arm.urdf"

RIGHT = {
    "05_alphabetical_arrays": lambda one: one["position"]["joints"][1:3] == ["elbow", "shoulder"],
    "08_german_units_row": lambda one: one["decimal_comma"] and one["position"]["unit"] == "deg",
    "10_npz_arrays": lambda one: (
        one["torque"]["columns"][0] == "torques[0]" and one["time"]["column"] == "times"
    ),
    "12_burst_stamps": lambda one: one["rate_hz"] == 100 and one["position"]["unit"] == "rad",
    "13_held_samples": lambda one: one["every"] == 4,
    "21_continuous_wrapped": lambda one: one["position"]["wraps"] == pytest.approx(2 * np.pi),
    "60_lerobot_v3_motors_dict": lambda one: (
        one["position"]["unit"] == one["position_command"]["unit"] == "deg"
    ),
    "63_servo_raw_ticks": lambda one: one["position"]["zero"] == one["position_command"]["zero"] == 2048,
    "64_servo_moved_by_hand": lambda one: one["between_s"][0] == pytest.approx(20, abs=0.05),
    "73_zeros_before_first_reading": lambda one: one["rows"][0] == 30 and one["position"]["unit"] == "rad",
    "76_german_plain": lambda one: one["position"]["unit"] == "deg",
    "bam_lift_and_drop": lambda one: (
        one["between_s"][1] == pytest.approx(2.0, abs=0.05) and "torque" not in one
    ),
    "floating_base": lambda one: one["position_command"]["joints"] == ["hip"],
    "roll_stop": lambda one: one["between_s"][1] == pytest.approx(43.6, abs=0.5),
}


@pytest.mark.parametrize("case", RIGHT)
def test_lines_of_the_right_answer(case, tmp_path):
    folder = ROOT.parent / "shared" / "cases" / case
    if not folder.exists():
        pytest.skip(f"needs the log in ../shared/cases/{case}")
    names = json.loads((folder / "expect.json").read_text())
    start = start_project(folder / names["robot"], folder / names["log"], tmp_path / "job.toml")
    assert RIGHT[case](tomllib.loads(start.text)["recordings"][0])
    assert all(guess["reason"] for guess in start.guesses)


def test_a_torque_without_gravity(tmp_path):
    table = pl.read_csv(ROOT / "examples/arm/identification.csv")
    robot = load_robot(ARM)
    data = robot.model.createData()
    q = np.radians(table.select("q1", "q2", "q3").to_numpy())
    Q = robot.configurations(q)
    gravity = np.array([pin.computeGeneralizedGravity(robot.model, data, each) for each in Q])
    columns = {"time": np.arange(len(q)) / 250} | {f"q{k}": table[f"q{k}"].to_numpy() for k in (1, 2, 3)}
    columns |= {f"effort{k}": table[f"tau{k}"].to_numpy() - gravity[:, k - 1] for k in (1, 2, 3)}
    pl.DataFrame(columns).write_csv(tmp_path / "log.csv")
    start = start_project(ARM, tmp_path / "log.csv", tmp_path / "job.toml")
    (tmp_path / "job.toml").write_text(start.text)
    worst = identify(Project.load(tmp_path / "job.toml")).findings[0]
    assert worst.cause == "gravity" and "gravity = [0, 0, 0]" in worst.remedy
    # the line of the remedy solves it
    text = start.text.replace("[robot]\n", "[robot]\ngravity = [0, 0, 0]\n").replace(
        "[0, 0, 0]", "[0.0, 0.0, 0.0]"
    )
    (tmp_path / "job.toml").write_text(text)
    estimate = identify(Project.load(tmp_path / "job.toml"))
    assert "gravity" not in {finding.cause for finding in estimate.findings}


def test_a_repeat_beside_a_double_step_is_no_lost_sample():
    t = np.arange(2000) / 100
    q = np.sin(t) + 0.3 * np.sin(3.1 * t)
    late = np.arange(len(t))
    late[100::37] -= 1
    recording = Recording(t, {"position.a": q[late]}, {"position.a": "rad"})
    assert not len(lost_at(recording, LostSamples.ratio)[0])
    lost = np.delete(q, np.arange(100, 2000, 37))
    recording = Recording(t[: len(lost)], {"position.a": lost}, {"position.a": "rad"})
    assert len(lost_at(recording, LostSamples.ratio)[0]) > 40
