"""`poinsot excite`: what it prints and writes, what it refuses, and that it can be stopped and go on."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import poinsot as package
from references import arm_with_shapes

QUICK = [
    "--duration",
    "4",
    "--rate-hz",
    "50",
    "--harmonics",
    "3",
    "--starts",
    "1",
    "--acceleration-limit",
    "12",
]


@pytest.fixture
def arm(tmp_path):
    return arm_with_shapes.write(tmp_path)


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def positions(path):
    joints = ("yaw", "shoulder", "elbow")
    channels = {f"position.{joint}": (f"position.{joint}", "rad") for joint in joints}
    return package.read_recording(path, channels, time=("time", "s")).stack("position")


def test_it_prints_and_writes_a_file_and_a_page(poinsot, arm, tmp_path):
    motion, page, result = (tmp_path / name for name in ("motion.csv", "motion.html", "motion.json"))
    code, out, err = poinsot(
        "excite", arm, *QUICK, "--floor", "0.3", "--torque-noise", "yaw=0.5,shoulder=0.5,elbow=0.1",
        "--out", motion, "--report", page, "--json", result,
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert files(tmp_path) == {"arm.urdf", "motion.csv", "motion.html", "motion.json"}
    content = json.loads(result.read_text())
    assert content["schema"] == "poinsot.excite/1"
    assert content["limits_respected"] is True
    # named joints are given, the third keeps 1 % of its 60 N m
    assert content["torque_noise"] == {"yaw": 0.5, "shoulder": 0.5, "elbow": 0.1}
    assert positions(motion).shape == (201, 3)
    assert f"condition number {content['condition_number']:.3g}" in out
    assert all(name in out for name in content["predicted_std"])
    assert "with this motion and this noise the" in out
    assert out.splitlines()[-1] == f"written: {motion}, {page}"


def test_missing_shapes_are_said_once(poinsot, tmp_path):
    bare = Path(__file__).resolve().parents[1] / "examples/arm/arm.urdf"
    code, out, _ = poinsot("excite", bare, *QUICK, "--out", tmp_path / "motion.csv")
    assert code == 0
    assert "NOT CHECKED: collisions, since the description gives no link a shape (<collision>); the" in out


def test_a_folder_gets_everything(poinsot, arm, tmp_path):
    code, out, _ = poinsot(
        "excite", arm, *QUICK, "--no-self-collision", "--out", tmp_path / "out", "--json", "-"
    )
    assert code == 0
    content = json.loads(out)  # and nothing else
    written = {"trajectory.csv", "joint_trajectory.json", "lerobot.parquet", "excite.html", "excite.json"}
    assert files(tmp_path / "out") == written | {"poinsot.manifest.json"}
    unchecked = (
        "the surroundings, as no floor and no box were named; the robot's links against each other; friction"
    )
    assert unchecked in "; ".join(content["unchecked"])
    page = (tmp_path / "out" / "excite.html").read_text()
    assert re.search(r"<h1>.*</h1>\s*<p class=\"alert\"[^>]*>Not checked: the surroundings, ", page)
    assert json.loads((tmp_path / "out" / "excite.json").read_text()) == content
    assert content["least_distance_m"] is None
    assert any("1 % of each joint's torque limit" in warning for warning in content["warnings"])


def test_the_motion_for_other_software_is_the_same_motion(poinsot, arm, tmp_path):
    import polars as pl

    poinsot("excite", arm, *QUICK, "--torque-noise", "0.5", "--out", tmp_path / "out")
    table = pl.read_csv(tmp_path / "out" / "trajectory.csv")
    content = json.loads((tmp_path / "out" / "joint_trajectory.json").read_text())
    assert content["joint_names"] == ["yaw", "shoulder", "elbow"]
    for key, quantity in (
        ("positions", "position"),
        ("velocities", "velocity"),
        ("accelerations", "acceleration"),
    ):
        columns = table.select([f"{quantity}.{joint}" for joint in content["joint_names"]]).to_numpy()
        np.testing.assert_array_equal([point[key] for point in content["points"]], columns)
    stamps = [point["time_from_start"] for point in content["points"]]
    np.testing.assert_allclose([s["sec"] + 1e-9 * s["nanosec"] for s in stamps], table["time"], atol=1e-9)
    actions = pl.read_parquet(tmp_path / "out" / "lerobot.parquet")["action"].to_numpy()
    # single precision, in degrees
    np.testing.assert_allclose(
        actions, np.degrees(positions(tmp_path / "out" / "trajectory.csv")), rtol=1e-6, atol=1e-5
    )


def test_a_margin_to_every_limit_is_kept_unless_it_is_given_away(poinsot, arm, tmp_path):
    for options, part in (((), 0.9), (("--limit-fraction", "1"), 1.0)):
        arguments = (*QUICK, "--velocity-limit", "1", "--torque-noise", "0.5", *options)
        code, out, _ = poinsot("excite", arm, *arguments, "--out", tmp_path / "m.csv", "--json", "-")
        assert code == 0
        used = [each["velocity"] for each in json.loads(out)["use_of_limits_percent"].values()]
        fastest = np.abs(np.gradient(positions(tmp_path / "m.csv"), 1 / 50, axis=0)).max()
        assert max(used) <= 100 * part and fastest <= part
        assert max(used) > 100 * (part - 0.05)  # a design goes to what it may use


def test_options_mean_what_they_say(poinsot, arm, tmp_path):
    code, out, _ = poinsot(
        "excite", arm, *QUICK, "--criterion", "d-optimal", "--basis", "b-spline", "--knots", "6",
        "--start", "shoulder=-0.5,elbow=0.5", "--limit-fraction", "0.9", "--velocity-limit", "1.5,1.5,1",
        "--lower-limit", "elbow=0", "--workspace-box=-0.9,-0.9,0.3,0.9,0.9,inf", "--workspace-frame", "hand",
        "--payload", "hand", "--torque-noise", "0.3", "--out", tmp_path / "motion.parquet", "--json", "-",
    )  # fmt: skip
    assert code == 0
    content = json.loads(out)
    assert content["criterion"] == "d-optimal" and content["basis"] == "QuinticSplines(intervals=6)"
    assert content["start"] == {"yaw": 0.0, "shoulder": -0.5, "elbow": 0.5}
    assert {name.rstrip("0123456789") for name in content["predicted_std"]} <= {
        "m", "mx", "my", "mz", "xx", "xy", "yy", "xz", "yz", "zz",
    }  # fmt: skip
    q = positions(tmp_path / "motion.parquet")
    yaw, shoulder, elbow = q.T
    assert (
        elbow.min() >= 0.05 * 2.5 and shoulder.max() <= 0.9 * 2.5
    )  # nine tenths, about the middle of the range
    assert np.abs(np.diff(q, axis=0)).max() <= 0.9 * 1.5 / 50
    along = 0.5 * np.cos(shoulder) + 0.4 * np.cos(shoulder + elbow)
    height = 0.6 - 0.5 * np.sin(shoulder) - 0.4 * np.sin(shoulder + elbow)
    assert np.abs(along * np.cos(yaw)).max() <= 0.9 and np.abs(along * np.sin(yaw)).max() <= 0.9
    assert height.min() >= 0.3


def test_a_project_file_brings_its_drive_and_friction(poinsot, tmp_path):
    job = Path(__file__).parents[1] / "examples" / "arm" / "job.toml"
    code, out, _ = poinsot(
        "excite", job, *QUICK, "--torque-noise", "1", "--friction", "--max-seconds", "3", "--json", "-"
    )
    assert code == 0
    kinds = {name.rstrip("r0123456789") for name in json.loads(out)["predicted_std"]}
    assert {"fv", "fc"} <= kinds


def test_locked_joints_do_not_move(poinsot, arm):
    code, out, _ = poinsot(
        "excite", arm, *QUICK, "--lock", "elbow=0.5", "--torque-noise", "0.5", "--json", "-"
    )
    assert code == 0
    assert list(json.loads(out)["start"]) == ["yaw", "shoulder"]


def test_missing_meshes_stop_nothing(poinsot, tmp_path):
    mesh = '<collision><geometry><mesh filename="package://nowhere/arm.stl"/></geometry></collision>'
    arm = arm_with_shapes.write(tmp_path, upper_arm=mesh)
    code, out, err = poinsot("excite", arm, *QUICK, "--torque-noise", "0.5")
    assert (code, err) == (0, "")
    assert "warning: collisions of upper_arm are not checked: their meshes do not exist" in out


def test_an_interruption_leaves_a_checkpoint_from_which_it_goes_on(poinsot, arm, tmp_path):
    """Ctrl-C in the middle of a leg; the resumed motion is the one that a run without a break finds."""
    code = (
        "import sys, time\nfrom poinsot import cli\nfrom poinsot.excitation import search\n"
        "leg = search.MotionSearch._leg\n"
        "def stuck(self, state):\n"
        "    if state.leg == 5:\n        print('in the sixth leg', flush=True)\n        time.sleep(60)\n"
        "    return leg(self, state)\n"
        "search.MotionSearch._leg = stuck\nsys.exit(cli.main(sys.argv[1:]))"
    )
    arguments = ["excite", str(arm), *QUICK, "--torque-noise", "0.5", "--out", str(tmp_path / "motion.csv")]
    command = [sys.executable, "-c", code, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "in the sixth leg\n", run.communicate()[1]
        time.sleep(0.1)
        os.kill(run.pid, signal.SIGINT)
        out, err = run.communicate(timeout=300)
    assert run.returncode == 130 and out == ""
    checkpoint = tmp_path / "motion.checkpoint"
    assert err.startswith("poinsot: interrupted: start 1, ") and err.endswith(
        f"resume with --resume {checkpoint}\n"
    )
    assert err.count("\n") == 1
    assert files(tmp_path) == {"arm.urdf", "motion.checkpoint"}

    code, out, _ = poinsot(*arguments, "--resume", checkpoint)
    assert code == 0
    resumed = (tmp_path / "motion.csv").read_bytes()
    whole = [*arguments[:-1], str(tmp_path / "whole.csv")]
    assert poinsot(*whole)[0] == 0
    assert resumed == (tmp_path / "whole.csv").read_bytes()


BAD = {
    "two limits that contradict each other": (
        ["--lower-limit", "elbow=1", "--upper-limit", "elbow=0"],
        "the position limits of joint 'elbow' contradict each other",
    ),
    "floor above the workspace": (
        ["--floor", "1", "--workspace-box=-1,-1,0,1,1,0.5"], "floor and workspace contradict each other",
    ),
    "start in collision": (["--floor", "0", "--start", "shoulder=1.4"], "the start posture is in collision: forearm"),
    "payload link that does not exist": (["--payload", "hant"], "did you mean 'hand'?"),
    "unknown criterion": (["--criterion", "condishun"], "did you mean 'condition'?"),
    "unknown basis": (["--basis", "splines"], "did you mean 'b-spline'?"),
    "no numbers": (["--velocity-limit", "fast"], "--velocity-limit 'fast' is not one number"),
    "lock without a joint": (["--lock", "1"], "--lock needs joint names"),
    "lock of an unknown joint": (["--lock", "elbo=1"], "did you mean 'elbow'?"),
    "no box": (["--workspace-box", "1,2,3"], "is not two corners"),
    "frame without a box": (["--workspace-frame", "hand"], "--workspace-frame needs a box"),
    "out without a format": (["--out", "motion.txt"], "no known ending; use .csv or .parquet"),
    "report nowhere": (["--report", "nowhere/page.html"], "there is no folder nowhere"),
    "no checkpoint": (["--resume", "nowhere"], "there is no checkpoint nowhere"),
    "no time": (["--duration", "-1"], "a duration and a rate above 0"),
    "one harmonic": (["--harmonics", "1"], "harmonics must be at least 2, not 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(poinsot, arm, tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    options, sentence = BAD[case]
    code, out, err = poinsot("excite", arm, *QUICK, *options)
    assert code == 2 and out == ""
    assert sentence in err and err.startswith("poinsot: ") and err.count("\n") == 1
    assert files(tmp_path) == {"arm.urdf"}


def test_no_robot_is_one_sentence(poinsot, tmp_path):
    code, _, err = poinsot("excite", tmp_path / "none.urdf")
    assert code == 2 and "there is no robot description" in err


def test_options_of_the_other_kind_are_refused(poinsot, arm):
    code, out, err = poinsot("excite", arm, "--posture", "0")
    assert (code, out, err) == (2, "", "poinsot: --posture needs --commands\n")
    code, out, err = poinsot("excite", arm, "--commands", "--starts", "3")
    assert (code, out) == (2, "")
    assert "--starts is not for --commands" in err
