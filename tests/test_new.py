"""`poinsot new`: what it makes of headers, units, clocks and robots, and whether `identify` then works at once."""

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pinocchio as pin
import polars as pl
import pytest
from scipy.integrate import solve_ivp
from scipy.signal import savgol_filter

import test_optimal_estimation_rotors as rotors
from poinsot.exceptions import PoinsotError
from poinsot.inspection.clocks import Clock, clock_unit, find_clocks
from poinsot.inspection.columns import match_columns, unit_in_name
from poinsot.inspection.energy import gains_energy
from poinsot.io.units import find_unit
from poinsot.models.robot.articulated import load_robot
from poinsot.project import Project, identify
from poinsot.project.starting import start_project

ROOT = Path(__file__).resolve().parents[1]
ARM = ROOT / "examples/arm/arm.urdf"
LOG = ROOT / "examples/arm/identification.csv"
JOINTS = ("waist", "shoulder", "elbow")


@pytest.fixture(scope="module")
def table():
    return pl.read_csv(LOG)


@pytest.fixture
def begin(tmp_path):
    """Writes columns as a log, begins a project from it and returns its content, and what was begun."""

    def begin(columns, robot=ARM, rate_hz=None, name="log.csv"):
        columns = pl.DataFrame(columns)
        log = tmp_path / name
        columns.write_csv(log) if name.endswith("csv") else columns.write_parquet(log)
        start = start_project(robot, log, tmp_path / "job.toml", rate_hz)
        (tmp_path / "job.toml").write_text(start.text)
        return tomllib.loads(start.text), start

    return begin


@pytest.fixture
def pendulum(tmp_path):
    """An MJCF of a rod on a hinge: 0.14 kg m^2 about it."""
    path = tmp_path / "pendulum.xml"
    path.write_text(
        '<mujoco model="pendulum"><compiler angle="radian"/><worldbody><body name="rod">'
        '<joint name="pivot" type="hinge" axis="0 1 0"/>'
        '<inertial pos="0 0 -0.3" mass="1" diaginertia="0.05 0.05 0.01"/></body></worldbody></mujoco>'
    )
    return path


def renamed(table, names, order=None):
    columns = dict(zip(names, table.iter_columns(), strict=True))
    return {name: columns[name] for name in order or names}


def of_joints(recording, quantity):
    """Joint -> column."""
    return dict(zip(recording[quantity]["joints"], recording[quantity]["columns"], strict=True))


CLOCK = {"time": np.arange(2500) / 250}
NAMED = [f"position_{each}" for each in JOINTS] + [f"torque_{each}" for each in JOINTS]


# ----------------------------------------------------------------------------------------------------------- headers

HEADERS = {
    "numbers": ("abc", ["q1", "q2", "q3", "tau1"], "position.a position.b position.c torque.a"),
    "numbers from 0": ("abc", ["position_0", "position_2", "effort_1"], "position.a position.c torque.b"),
    "ROS": (
        ("FL_hip", "FL_calf"),
        ["/joint_states/FL_hip/position", "/joint_states/effort/FL_calf", "/joint_states/FL_hip/velocity"],
        "position.FL_hip torque.FL_calf velocity.FL_hip",
    ),
    "seven of nine joints": (
        [*(f"panda_joint{k}" for k in range(1, 8)), "panda_finger_joint1", "panda_finger_joint2"],
        ["q1", "q2", "q7", "tau_J1", "tau_J7"],
        "position.panda_joint1 position.panda_joint2 position.panda_joint7 torque.panda_joint1 torque.panda_joint7",
    ),
    "numbers from 0 beside names from 1": (
        ["joint1", "joint2", "joint3"], ["q_0", "q_1", "q_2"], "position.joint1 position.joint2 position.joint3",
    ),
    "names in another order": (
        ["joint1", "joint2"], ["joint2_pos", "joint1_pos", "joint2_torque"],
        "position.joint2 position.joint1 torque.joint2",
    ),
    "parts of names, and the rest by order": (
        ["shoulder_pan", "elbow_flex", "gripper"],
        ["command_base", "command_elbow", "command_jaw", "position_base", "position_elbow", "position_jaw"],
        "position_command.shoulder_pan position_command.elbow_flex position_command.gripper "
        "position.shoulder_pan position.elbow_flex position.gripper",
    ),
    "UR": (
        "ab", ["actual_q_0", "actual_q_1", "target_q_0", "actual_current_1", "target_moment_0"],
        "position.a position.b position_command.a current.b torque.a",
    ),
    "KUKA": (
        [f"joint_a{k}" for k in range(1, 7)],
        ["$AXIS_ACT.A1", "$TORQUE_AXIS_ACT[1]", "$VEL_AXIS_ACT[2]", "$CURR_ACT[2]", "AIPos.A2", "MACur.A1"],
        "position.joint_a1 torque.joint_a1 velocity.joint_a2 current.joint_a2 position.joint_a2 current.joint_a1",
    ),
    "TwinCAT": (
        ["joint1", "joint2"],
        ["Axis1_ActPos", "Axis2_ActPos", "Axis1_SetPos", "Axis1_ActTorque", "Axis2_ActVelo"],
        "position.joint1 position.joint2 position_command.joint1 torque.joint1 velocity.joint2",
    ),
    "places of feet, and a gantry": (
        ["x", "y", "wrist_pitch"],
        ["q_x", "q_y", "lfoot_pos_x", "lfoot_pos_y", "lfoot_pos_z", "tcp_speed_x", "tcp_speed_y", "tcp_speed_z"],
        "position.x position.y",
    ),
    "torques of an observer": (
        ["joint1", "joint2"], ["MeasuredTorque_1", "ExternalTorque_1", "tau_ext_2"], "torque.joint1",
    ),
    "a joint's name alone": (["elbow"], ["elbow", "volts", "temperature"], "position.elbow voltage.elbow"),
    "a joint's name and a unit": (["elbow"], ["elbow_deg", "elbow_rpm"], "position.elbow"),
    "names of LeRobot": (
        ["elbow_joint"],
        ["action.elbow_joint", "observation.state.elbow_joint"],
        "position_command.elbow_joint position.elbow_joint",
    ),
    "no label": (["pivot"], ["time", "position", "torque"], "position.pivot torque.pivot"),
    "nothing": ("abc", ["foo", "bar", "x"], ""),
    "measured before commanded": (
        ["elbow"], ["torque_cmd_elbow", "torque_elbow"], "torque.elbow",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HEADERS)
def test_headers(case):
    joints, columns, channels = HEADERS[case]
    found = match_columns(columns, tuple(joints), [])
    assert [each.channel for each in found] == channels.split()
    if case.startswith("measured"):
        assert found[0].column == "torque_elbow"


def test_errors_of_a_controller_are_no_positions():
    """PlotJuggler writes topics in the order of the alphabet: the error of ros2_control comes first."""
    parts = ("error", "feedback", "reference")
    columns = [
        f"/arm/controller_state/{part}/positions/{joint}" for part in parts for joint in ("elbow", "wrist")
    ]
    found = {each.channel: each.column for each in match_columns(columns, ["elbow", "wrist"], [])}
    assert found["position.wrist"] == columns[3] and found["position_command.elbow"] == columns[4]
    assert len(found) == 4


def test_motors_of_unitree_are_counted_by_leg():
    """FR, FL, RR, RL, of 20 motors, whose raw readings and commands stand beside."""
    joints = [
        f"{leg}_{joint}_joint" for leg in ("FL", "FR", "RL", "RR") for joint in ("hip", "thigh", "calf")
    ]
    columns = [
        f"rt/{topic}[{k}]/{what}"
        for topic, names in (
            ("lowstate/motor_state", ("q", "dq", "tau_est", "q_raw")),
            ("lowcmd/motor_cmd", ("q",)),
        )
        for k in range(20)
        for what in names
    ]
    found = {each.column: each.channel for each in match_columns(columns, joints, [])}
    assert found["rt/lowstate/motor_state[0]/q"] == "position.FR_hip_joint"
    assert found["rt/lowstate/motor_state[5]/tau_est"] == "torque.FL_calf_joint"
    assert found["rt/lowstate/motor_state[7]/dq"] == "velocity.RR_thigh_joint"
    assert found["rt/lowcmd/motor_cmd[11]/q"] == "position_command.RL_calf_joint"
    assert len(found) == 4 * 12
    # of another robot, in the robot's order
    found = {each.column: each.channel for each in match_columns(columns, ["waist", "neck"], [])}
    assert found["rt/lowstate/motor_state[1]/q"] == "position.neck"


def test_sensors_at_frames():
    columns = ["gyro_x", "imu.linear_acceleration.z", "quat_w", "lf_contact", "rf_contact"]
    found = match_columns(columns, ["lf_roll"], ["trunk", "imu", "lf_hip", "lf_foot", "rf_foot"])
    assert [each.channel for each in found] == [
        "gyro.imu.x", "accelerometer.imu.z", "orientation.imu.w", "contact.lf_foot", "contact.rf_foot",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("header", "quantity", "unit"),
    [("q1 [deg]", "position", "deg"), ("tau_1_Nmm", "torque", "Nmm"), ("q_1", "position", None),
     ("data[2]", "torque", None), ("elbow_deg", "torque", None), ("m", "position", None)],
)  # fmt: skip
def test_units_in_headers(header, quantity, unit):
    assert unit_in_name(header, quantity)[0] == unit


@pytest.mark.parametrize(
    ("start", "step", "unit"),
    [(0, 0.004, "s"), (0, 4, "ms"), (0, 4000, "us"), (0, 4e6, "ns"), (1.7e9, 0.004, "s"), (1.7e12, 4, "ms"),
     (1.7e15, 4e3, "us"), (1.7e18, 4e6, "ns"), (20, 0.1, "s")],
)  # fmt: skip
def test_units_of_clocks(start, step, unit):
    assert clock_unit(Clock("t"), start + step * np.arange(100))[0] == unit


@pytest.mark.parametrize(
    ("header", "unit"),
    [("timestamp_us", "us"), ("Zeit [ms]", "ms"), ("t_sec", "s"), ("Time (s)", "s"), ("time_ns", "ns"), ("secs", "s"),
     ("header.stamp.sec", "s"), ("Zeit", "s")],
)  # fmt: skip
def test_headers_of_clocks_and_their_units(header, unit):
    assert find_clocks(["q1", header, "tau1"]) == [Clock(header)]
    assert clock_unit(Clock(header), 0.004 * np.arange(100))[0] == unit


@pytest.mark.parametrize(
    ("seconds", "nanoseconds"),
    [("sec", "nanosec"), ("secs", "nsecs"), ("stamp.sec", "stamp.nanosec"),
     ("/joints/header/stamp/secs", "/joints/header/stamp/nsecs"), ("header_stamp_sec", "header_stamp_nsec")],
)  # fmt: skip
@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_a_stamp_in_two_columns(seconds, nanoseconds, name, begin, table, tmp_path):
    ticks = 1_700_000_000_000_000_000 + 4_000_000 * np.arange(len(table))
    columns = dict(zip(table.columns, table.iter_columns(), strict=True))
    content, start = begin({seconds: ticks // 10**9, nanoseconds: ticks % 10**9, **columns}, name=name)
    assert content["recordings"][0]["time"] == {"column": seconds, "unit": "s", "nanoseconds": nanoseconds}
    assert (
        not start.unused
        and {"what": "clock", "value": f"{seconds} and {nanoseconds}"}.items() <= start.guesses[1].items()
    )
    (run,) = Project.load(tmp_path / "job.toml").runs(Project.load(tmp_path / "job.toml").robot())
    # a double of seconds since 1970 has steps of 0.24 us
    np.testing.assert_allclose(run.recording.time, 0.004 * np.arange(len(table)), atol=5e-7)


@pytest.mark.parametrize("header", ["stamp", "datetime", "log_datetime"])
@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_a_clock_of_dates(header, name, begin, table, tmp_path):
    """Types of dates in Parquet, and ISO 8601 in CSV, where there is no such type."""
    stamps = pl.Series(1_780_000_000_000 + 4 * np.arange(2500)).cast(pl.Datetime("ms", "Europe/Paris"))
    stamps = stamps.dt.strftime("%Y-%m-%d %H:%M:%S%.3f%:z") if name == "log.csv" else stamps
    content, start = begin({header: stamps} | renamed(table, NAMED), name=name)
    (recording,) = content["recordings"]
    assert recording["time"] == {"column": header, "unit": "datetime"} and recording["start_s"] == 0
    assert "its cells are dates and times; a step is then 4 ms" in start.text
    assert identify(Project.load(tmp_path / "job.toml")).fit.relative_error_percent < 3


def test_seconds_and_nanoseconds_that_are_two_clocks(begin, table):
    t = 0.004 * np.arange(len(table))
    columns = dict(zip(table.columns, table.iter_columns(), strict=True))
    content, _ = begin({"time_s": t, "time_ns": 1e9 * t, **columns})
    assert content["recordings"][0]["time"] == {"column": "time_s", "unit": "s"}


# -------------------------------------------------------------------------------------------------------- whole files


def test_the_example_is_identified(poinsot, tmp_path):
    job = tmp_path / "job.toml"
    code, out, err = poinsot("new", ARM, LOG, "-o", job, "--rate-hz", "250", "--yes")
    assert (code, err) == (0, "") and "by number" in out and f"poinsot identify {job}" in out
    text = job.read_text()
    assert (
        '"auto"' in text and "window_s = [0.35, 9.64]" in text and 'unit = "deg"     # guess: in rad' in text
    )
    code, out, err = poinsot("identify", job)
    assert (code, err) == (0, "") and out.startswith("Trusted")


def test_without_a_clock_it_demands_a_rate(poinsot, tmp_path):
    code, _, err = poinsot("new", ARM, LOG, "-o", tmp_path / "job.toml")
    assert code == 2 and err.count("\n") == 1 and "--rate-hz 250" in err and not list(tmp_path.iterdir())


def test_the_robot_comes_first(poinsot, tmp_path):
    code, _, err = poinsot("new", LOG, ARM, "-o", tmp_path / "job.toml")
    assert code == 2 and err == f"poinsot: the robot comes first: poinsot new {ARM} {LOG}\n"


def test_what_exists_is_kept(poinsot, tmp_path):
    job = tmp_path / "job.toml"
    job.write_text("mine")
    arguments = ("new", ARM, LOG, "-o", job, "--rate-hz", "250", "--yes")
    code, _, err = poinsot(*arguments)
    assert code == 2 and "--force" in err and job.read_text() == "mine"
    assert poinsot(*arguments, "--force")[0] == 0 and job.read_text() != "mine"
    code, _, err = poinsot("new", ARM, tmp_path / "job.toml", "-o", job, "--force")
    assert code == 2 and job.read_text() != "mine"


def test_the_json_says_the_same(poinsot, tmp_path):
    code, out, _ = poinsot("new", ARM, LOG, "-o", tmp_path / "job.toml", "--rate-hz", "250", "--json", "-")
    content = json.loads(out)
    assert code == 0 and content["schema"] == "poinsot.new/1" and content["method"] == "least-squares"
    assert content["text"] == (tmp_path / "job.toml").read_text()


def test_a_log_of_ros(begin, table, tmp_path):
    """Stamps from 1970 with a jitter of 0.2 ms, radians, and topics that are not joints."""
    rng = np.random.default_rng(3)
    columns = {"time": 1.7e9 + np.arange(len(table)) / 250 + 2e-4 * rng.standard_normal(len(table))}
    for k, joint in enumerate(JOINTS):
        columns[f"/joint_states/{joint}/position"] = np.radians(table[f"q{k + 1}"].to_numpy())
        columns[f"/joint_states/{joint}/effort"] = table[f"tau{k + 1}"]
    content, start = begin(columns | {"/diagnostics/temperature": np.zeros(len(table))})
    (recording,) = content["recordings"]
    assert recording["time"] == {"column": "time", "unit": "s"} and recording["start_s"] == 0
    assert recording["position"]["unit"] == "rad" and recording["torque"]["unit"] == "N m"
    assert "resample_hz" not in content["preprocessing"]
    assert start.unused == ("/diagnostics/temperature",) and "/diagnostics/temperature" in start.text
    estimate = identify(Project.load(tmp_path / "job.toml"))
    assert estimate.trust.name == "trusted" and any(
        "resampled" in each for each in estimate.problem.parts[0].signals.steps
    )


def test_columns_in_another_order(begin, table):
    names = [f"q_{each}" for each in JOINTS] + [f"tau_{each}" for each in JOINTS]
    content, _ = begin(
        renamed(table, names, ["tau_elbow", "q_elbow", "q_waist", "tau_waist", "tau_shoulder", "q_shoulder"]),
        rate_hz=250,
    )
    assert of_joints(content["recordings"][0], "torque") == {each: f"tau_{each}" for each in JOINTS}
    assert of_joints(content["recordings"][0], "position") == {each: f"q_{each}" for each in JOINTS}


@pytest.mark.parametrize("order", ["bca", "cab", "bac"])
def test_columns_of_which_only_the_order_is_known(begin, table, order):
    """Their order is wrong, and the robot's dynamics say so."""
    names = [f"q_{each}" for each in "abc"] + [f"tau_{each}" for each in "abc"]
    order = [f"q_{each}" for each in order] + [f"tau_{each}" for each in order]
    content, start = begin(renamed(table, names, order), rate_hz=250)
    assert of_joints(content["recordings"][0], "position") == dict(zip(JOINTS, names[:3], strict=True))
    assert of_joints(content["recordings"][0], "torque") == dict(zip(JOINTS, names[3:], strict=True))
    assert "exchanged" in start.text


def test_radians_and_smaller_units_of_torque(begin, table):
    columns = {
        name: np.radians(table[name].to_numpy()) if name[0] == "q" else 1e3 * table[name].to_numpy()
        for name in table.columns
    }
    recording = begin(columns | CLOCK)[0]["recordings"][0]
    assert recording["position"]["unit"] == "rad" and recording["torque"]["unit"] == "N mm"


def test_torques_of_the_load_are_negated(begin, table):
    columns = {name: -table[name] if name.startswith("tau") else table[name] for name in table.columns}
    content, start = begin(columns, rate_hz=250)
    assert content["recordings"][0]["torque"]["scale"] == -1
    assert any("efforts oppose the description's" in str(guess) for guess in start.guesses)
    content, _ = begin(table, rate_hz=250)
    assert "scale" not in content["recordings"][0]["torque"]


def test_headers_name_their_unit(begin, table):
    columns = {
        f"{name} [deg]" if name[0] == "q" else f"{name}_Nmm": 0.01 * table[name] for name in table.columns
    }
    recording = begin(columns | CLOCK)[0]["recordings"][0]
    assert recording["position"]["unit"] == "deg" and recording["torque"]["unit"] == "Nmm"


def test_velocities_are_listed_as_unread(begin, table):
    columns = dict(zip(table.columns, table.iter_columns(), strict=True)) | {
        f"dq{k}": np.gradient(table[f"q{k}"]) for k in (1, 2, 3)
    }
    content, start = begin(columns | CLOCK)
    assert start.unused == ("dq1", "dq2", "dq3") and "velocity" not in content["recordings"][0]


def test_joints_without_a_column_are_locked(begin, table, tmp_path):
    content, start = begin({name: table[name] for name in ("q2", "q3", "tau2", "tau3")} | CLOCK)
    assert content["robot"]["locked"] == {"waist": 0.0} and "no column" in start.text
    assert identify(Project.load(tmp_path / "job.toml")).fit.relative_error_percent < 30


def test_seven_columns_for_nine_joints(begin, tmp_path):
    """The fingers of a gripper, whose range does not hold 0, are locked in its middle."""
    names = [*(f"panda_joint{k}" for k in range(1, 8)), "panda_finger_joint1", "panda_finger_joint2"]
    inertia = '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>'
    inertial = f'<inertial><mass value="1"/><origin xyz="0.1 0 0.1"/>{inertia}</inertial>'
    links = "".join(f'<link name="l{k}">{inertial}</link>' for k in range(10))
    joints = "".join(
        f'<joint name="{name}" type="{"revolute" if k < 7 else "prismatic"}"><parent link="l{k}"/>'
        f'<child link="l{k + 1}"/><origin xyz="0 0 0.2"/><axis xyz="{k % 2} {1 - k % 2} 0"/>'
        f'<limit lower="{-3 if k < 7 else 0.01}" upper="{3 if k < 7 else 0.05}" effort="50" velocity="5"/></joint>'
        for k, name in enumerate(names)
    )
    (tmp_path / "panda.urdf").write_text(f'<robot name="panda">{links}{joints}</robot>')
    t = np.arange(4000) / 250
    columns = {f"q{k}": 0.5 * np.sin((1 + 0.3 * k) * t + k) for k in range(1, 8)}
    columns |= {f"tau_J{k}": 10 * np.sin((1 + 0.3 * k) * t) + np.cos(7 * t) for k in range(1, 8)}
    content, _ = begin(columns | {"t": t}, robot=tmp_path / "panda.urdf")
    assert content["robot"]["locked"] == {"panda_finger_joint1": 0.03, "panda_finger_joint2": 0.03}
    assert of_joints(content["recordings"][0], "torque") == {
        f"panda_joint{k}": f"tau_J{k}" for k in range(1, 8)
    }


def test_an_mjcf(begin, pendulum, tmp_path):
    t = np.arange(2000) / 200
    q = np.sin(2 * t) + 0.3 * np.sin(5 * t)
    a = -4 * np.sin(2 * t) - 7.5 * np.sin(5 * t)
    tau = 0.14 * a + 1 * 9.81 * 0.3 * np.sin(q)
    content, _ = begin({"time": t, "pos": q, "torque": tau}, robot=pendulum, name="log.parquet")
    assert of_joints(content["recordings"][0], "torque") == {"pivot": "torque"}
    estimate = identify(Project.load(tmp_path / "job.toml"))
    assert estimate.fit.relative_error_percent < 3


def test_a_clock_with_much_jitter_is_resampled_and_one_with_a_gap_is_cut(begin, table, tmp_path):
    rng = np.random.default_rng(0)
    t = np.arange(len(table)) / 250
    columns = dict(zip(table.columns, table.iter_columns(), strict=True))
    content, _ = begin({"t": t + rng.uniform(0, 3e-3, len(t)), **columns})
    assert content["preprocessing"]["resample_hz"] == pytest.approx(250, rel=0.05)
    content, start = begin({"t": t + 2.0 * (np.arange(len(t)) > 400), **columns})
    first, last = content["recordings"][0]["between_s"]
    assert (first, last) == pytest.approx((401 / 250 + 2, t[-1] + 2)) and "gap" in start.text
    assert identify(Project.load(tmp_path / "job.toml")).trust.name == "trusted"


def test_rows_of_other_topics(begin, table, tmp_path):
    """Efforts come at half of the rate of positions, in rows of their own."""
    t = np.arange(len(table)) / 250
    rows = {"time": np.sort(np.concatenate([t, t[::2] + 1e-3]))}
    for name in table.columns:
        values = np.full(len(rows["time"]), np.nan)
        each = slice(None, None, 2 if name[0] == "t" else 1)
        values[np.searchsorted(rows["time"], t[each] + (1e-3 if name[0] == "t" else 0))] = table[
            name
        ].to_numpy()[each]
        rows[name] = values
    content, _ = begin(pl.DataFrame(rows).fill_nan(None))
    (recording,) = content["recordings"]
    assert (
        recording["require"] == ["q1"] and recording["torque"]["hold"] and recording["torque"]["initial"] == 0
    )
    assert identify(Project.load(tmp_path / "job.toml")).fit.relative_error_percent < 20


def test_a_semicolon_and_a_decimal_comma(tmp_path, table):
    text = table.with_columns(pl.Series("time", np.arange(len(table)) / 250)).write_csv(separator=";")
    (tmp_path / "log.csv").write_text(text.replace(".", ","))
    start = start_project(ARM, tmp_path / "log.csv", tmp_path / "job.toml")
    (recording,) = tomllib.loads(start.text)["recordings"]
    assert recording["delimiter"] == ";" and recording["decimal_comma"] is True


def test_the_folder_of_a_lerobot_data_set(tmp_path):
    names = [f"{joint}.pos" for joint in JOINTS]
    t = np.arange(300) / 50
    positions = np.degrees(np.sin(np.outer(t, [1, 2, 3])))
    frames = {"action": (positions + 1).tolist(), "observation.state": positions.tolist(), "timestamp": t}
    features = {name: {"dtype": "float32", "shape": [3], "names": names} for name in list(frames)[:2]}
    features |= {"timestamp": {"dtype": "float32", "shape": [1], "names": None}}
    description = {
        "codebase_version": "v2.1",
        "robot_type": "arm",
        "total_episodes": 1,
        "chunks_size": 1000,
        "fps": 50,
    }
    description |= {"data_path": "data/{episode_index:03d}.parquet", "features": features}
    for folder in ("set/meta", "set/data"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "set/meta/info.json").write_text(json.dumps(description))
    rows = pl.DataFrame(frames | {"episode_index": np.zeros(300, int), "frame_index": np.arange(300)})
    rows.write_parquet(tmp_path / "set/data/000.parquet")
    start = start_project(ARM, tmp_path / "set", tmp_path / "job.toml")
    (recording,) = tomllib.loads(start.text)["recordings"]
    assert start.method == "actuators" and recording["path"] == "set/meta/info.json"
    assert recording["time"]["column"] == "/0/timestamp" and recording["position"]["unit"] == "deg"
    assert of_joints(recording, "position_command")["elbow"] == "/0/action/elbow.pos"


@pytest.mark.parametrize("names", ["k{}", "main_{}", "motor_{}"])
@pytest.mark.parametrize("kind", ["v2.1", "v3.0"])
def test_names_of_lerobot(names, kind, tmp_path):
    """Below a name of their group, without their quantity, and with a word before each."""
    number = "episode" if kind == "v2.1" else "file"
    path = f"data/{{{number}_index:03d}}.parquet"
    labels = (
        range(1, 4) if "motor" in names else [each.title() if names[0] == "k" else each for each in JOINTS]
    )
    positions = np.degrees(np.sin(np.outer(np.arange(300) / 50, [1, 2, 3])))
    frames = {"action": positions + 1, "observation.state": positions}
    feature = {"dtype": "float32", "shape": [3], "names": {"motors": [names.format(each) for each in labels]}}
    description = {
        "codebase_version": kind,
        "total_episodes": 1,
        "chunks_size": 1000,
        "fps": 50,
        "data_path": path,
    }
    description["features"] = dict.fromkeys(frames, feature) | {
        "timestamp": {"dtype": "float32", "shape": [1], "names": None}
    }
    for folder in ("set/meta/episodes/chunk-000", "set/data"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "set/meta/info.json").write_text(json.dumps(description))
    pl.DataFrame(
        {"episode_index": [0], "data/chunk_index": [0], "data/file_index": [0], "length": [300]}
    ).write_parquet(tmp_path / "set/meta/episodes/chunk-000/file-000.parquet")
    rows = {name: x.tolist() for name, x in frames.items()} | {"timestamp": np.arange(300) / 50}
    rows |= {"episode_index": np.zeros(300, int), "frame_index": np.arange(300)}
    pl.DataFrame(rows).write_parquet(tmp_path / "set/data/000.parquet")
    (recording,) = tomllib.loads(start_project(ARM, tmp_path / "set", tmp_path / "job.toml").text)[
        "recordings"
    ]
    for quantity, feature in (("position", "observation.state"), ("position_command", "action")):
        assert of_joints(recording, quantity) == {
            joint: f"/0/{feature}/{names.format(label)}" for joint, label in zip(JOINTS, labels, strict=True)
        }


REFUSED = {
    "no matching column": ({"foo": [1.0, 2.0], "time": [0.0, 1.0]}, "no column is named like the position"),
    "a clock that stands": ({"time": [0.0] * 9, "q1": range(9), "tau1": range(9)}, "does not increase.*--rate-hz"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case, begin):
    columns, said = REFUSED[case]
    with pytest.raises(PoinsotError, match=said):
        begin(columns)


def test_a_log_without_rows(begin):
    with pytest.raises(PoinsotError, match="fewer than two rows"):
        begin({"q1": [1.0], "tau1": [2.0]}, rate_hz=100)


@pytest.mark.parametrize("name", ["log.npz", "log.mat"])
def test_a_damaged_file_of_arrays(name, tmp_path):
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(PoinsotError, match="it may be damaged"):
        start_project(ARM, tmp_path / name, tmp_path / "job.toml")


def test_a_log_without_a_header(tmp_path):
    (tmp_path / "log.csv").write_text("0,1,2\n0.1,2,3\n")
    with pytest.raises(PoinsotError, match=r"has no header.*name the columns in a first line"):
        start_project(ARM, tmp_path / "log.csv", tmp_path / "job.toml")


def computed(table):
    """(T, 3) torques of the example's description in rigid motion, as a controller computes them; and its speeds."""
    robot, step = load_robot(ARM), 1 / 250
    q = np.radians(np.column_stack([table[f"q{k}"].to_numpy() for k in (1, 2, 3)]))
    v, a = (savgol_filter(q, 31, 3, deriv=k, delta=step, axis=0) for k in (1, 2))
    data = robot.model.createData()
    return np.array(
        [pin.rnea(robot.model, data, *x) for x in zip(robot.configurations(q), v, a, strict=True)]
    ), v


@pytest.mark.parametrize("headers", ["none", "numbers", "letters"])
@pytest.mark.parametrize("order", ["speeds", "no speeds", "computed first", "commanded first"])
def test_columns_that_nothing_names(headers, order, table, tmp_path):
    """Speeds are the derivative of positions; torques agree with the description, and measured ones have friction, and
    more noise than what a drive is commanded.
    """
    torque, speed = computed(table)
    q = np.radians(np.column_stack([table[f"q{k}"].to_numpy() for k in (1, 2, 3)]))
    measured = np.column_stack([table[f"tau{k}"].to_numpy() for k in (1, 2, 3)])
    commanded = 0.99 * savgol_filter(measured, 31, 3, axis=0)
    blocks = {
        "speeds": [q, speed, measured],
        "no speeds": [q, measured],
        "computed first": [torque, q, speed, measured],
        "commanded first": [commanded, q, speed, measured],
    }[order]
    columns = np.column_stack([np.arange(2500) / 250, *blocks])
    names = ["t", *(f"{letter}{k}" for letter, _ in zip("ABCD", blocks, strict=False) for k in (1, 2, 3))]
    if headers == "letters":
        robot = {"A": "x", "B": "y", "C": "z", "D": "w"}
        names = ["t", *(f"drive {name[1]} {robot[name[0]]}" for name in names[1:])]
    frame = pl.DataFrame(dict(zip(names, columns.T, strict=True)))
    frame.write_csv(tmp_path / "log.csv", include_header=headers != "none")
    start = start_project(ARM, tmp_path / "log.csv", tmp_path / "job.toml")
    names = [str(k) for k in range(len(names))] if headers == "none" else names
    (recording,) = tomllib.loads(start.text)["recordings"]
    first = 1 if "first" not in order else 4
    assert recording["position"]["columns"] == names[first : first + 3]
    assert recording["torque"]["columns"] == names[-3:]
    assert "as it agrees with the description" in start.text
    if headers == "none" and order == "speeds":
        (tmp_path / "job.toml").write_text(start.text)
        assert identify(Project.load(tmp_path / "job.toml")).trust.name == "trusted"


def test_a_quadruped_with_an_imu(tmp_path):
    folder = ROOT / "examples/quadruped"
    start = start_project(folder / "quadruped.urdf", folder / "four_steps.csv", tmp_path / "job.toml", 100)
    content = tomllib.loads(start.text)
    assert content["robot"]["floating_base"] and content["method"]["name"] == "optimal-estimation"
    assert content["method"]["bodies"] == ["trunk"] and content["recordings"][0]["gyro"]["frame"] == "imu"
    assert content["contacts"]["points"] == ["lf_foot", "rf_foot", "lh_foot", "rh_foot"]
    # noise levels come from the data
    assert content["method"].keys() == {"name", "bodies"}


QUADRUPED = ROOT / "examples/quadruped"


def without_imu():
    """The log of the quadruped without its IMU: positions, efforts and contacts."""
    table = pl.read_csv(QUADRUPED / "four_steps.csv")
    sensed = re.compile("gyro|acc|orientation|quat|imu|base")
    return table.select([name for name in table.columns if not sensed.search(name)])


POSES = {
    "words": ("base_pos_{}", "base_quat_{}"),
    "odometry": ("/odom/pose/pose/position/{}", "/odom/pose/pose/orientation/{}"),
    "motion capture": ("mocap.position.{}", "mocap.orientation.q{}"),
    "Isaac": ("root_pos_{}", "root_quat_{}"),
}


@pytest.mark.parametrize("in_mm", [False, True])
@pytest.mark.parametrize("names", POSES)
def test_a_quadruped_with_the_pose_of_its_base(names, in_mm, tmp_path):
    table, (position, orientation) = without_imu(), POSES[names]
    t = np.arange(len(table)) / 100
    pose = {
        position.format(axis): (1e3 if in_mm else 1.0) * (0.3 * t + 0.02 * np.sin(9 * t)) for axis in "xyz"
    }
    half = 0.05 * np.sin(5 * t)
    pose |= {
        orientation.format(axis): x
        for axis, x in zip("wxyz", (np.cos(half), np.sin(half), 0 * t, 0 * t), strict=True)
    }
    table.with_columns(**pose).write_csv(tmp_path / "log.csv")
    start = start_project(QUADRUPED / "quadruped.urdf", tmp_path / "log.csv", tmp_path / "job.toml", 100)
    content = tomllib.loads(start.text)
    (recording,) = content["recordings"]
    assert start.method == "optimal-estimation" and content["robot"]["floating_base"]
    assert recording["frame_position"]["frame"] == recording["orientation"]["frame"] == "trunk"
    assert recording["frame_position"]["columns"] == [position.format(axis) for axis in "xyz"]
    assert recording["frame_position"]["unit"] == ("mm" if in_mm else "m")
    assert recording["orientation"]["columns"] == [orientation.format(axis) for axis in "xyzw"]


@pytest.mark.parametrize("names", ["{}_{}", "{}[{}]", "state.{}.{}"])
def test_the_state_of_a_simulator(names, tmp_path):
    """MuJoCo's qpos and qvel, with a free base of 7 and 6 numbers in front."""
    table = without_imu()
    t = np.arange(len(table)) / 100
    half = 0.05 * np.sin(5 * t)
    pose = [0.3 * t, 0.01 * np.sin(9 * t), 0.3 + 0 * t, np.cos(half), np.sin(half), 0 * t, 0 * t]
    robot = load_robot(QUADRUPED / "quadruped.urdf")
    state = {"qpos": pose, "qvel": [np.gradient(x, t) for x in pose[:6]]}
    for word, kind in (("qpos", "q_"), ("qvel", "v_")):
        state[word] += [table[f"{kind}{joint}"].to_numpy() for joint in robot.joints]
    columns = {names.format(word, k): x for word, own in state.items() for k, x in enumerate(own)}
    efforts = {names.format("ctrl", k): table[f"tau_{joint}"] for k, joint in enumerate(robot.joints)}
    pl.DataFrame(columns | efforts).write_csv(tmp_path / "log.csv")
    start = start_project(QUADRUPED / "quadruped.urdf", tmp_path / "log.csv", tmp_path / "job.toml", 100)
    (recording,) = tomllib.loads(start.text)["recordings"]
    assert start.method == "optimal-estimation"
    assert recording["frame_position"]["columns"] == [names.format("qpos", k) for k in range(3)]
    assert recording["orientation"]["columns"] == [names.format("qpos", k) for k in (4, 5, 6, 3)]
    for quantity, word, first in (("position", "qpos", 7), ("velocity", "qvel", 6), ("torque", "ctrl", 0)):
        at = dict(zip(recording[quantity]["joints"], recording[quantity]["columns"], strict=True))
        assert at == {joint: names.format(word, first + k) for k, joint in enumerate(robot.joints)}


@pytest.mark.parametrize("names", ["foot_force_{}", "/feet/foot_forces[{}]", "{}_foot_fz"])
def test_a_quadruped_with_forces_of_its_feet(names, tmp_path):
    table, feet = without_imu(), ["lf", "lh", "rf", "rh"]  # the robot's order
    mass = float(np.sum(load_robot(QUADRUPED / "quadruped.urdf", floating_base=True).inertials[:, 0]))
    contacts = table.select([f"{foot}_contact" for foot in feet])
    closed = contacts.to_numpy() > 0
    forces = mass * 9.81 * closed / np.maximum(closed.sum(axis=1, keepdims=True), 1)
    labels = range(4) if "[" in names else feet
    table = table.drop(contacts.columns).with_columns(
        **{names.format(label): forces[:, k] for k, label in enumerate(labels)}
    )
    table.write_csv(tmp_path / "log.csv")
    start = start_project(QUADRUPED / "quadruped.urdf", tmp_path / "log.csv", tmp_path / "job.toml", 100)
    content = tomllib.loads(start.text)
    contact = content["recordings"][0]["contact"]
    assert start.method == "optimal-estimation" and contact["unit"] == "N"
    at = dict(zip(contact["frames"], contact["columns"], strict=True))
    assert at == {f"{foot}_foot": names.format(label) for foot, label in zip(feet, labels, strict=True)}
    assert content["contacts"]["closes_above"] == pytest.approx(0.1 * mass * 9.81, rel=0.1)


def test_a_quadruped_that_stands_still(tmp_path):
    """All of its sensors read noise, and its feet are loaded."""
    table = pl.read_csv(QUADRUPED / "four_steps.csv")
    rng, first = np.random.default_rng(4), table[0].to_dicts()[0]
    noisy = {
        name: np.ones(300) if "contact" in name else x + 1e-3 * rng.standard_normal(300)
        for name, x in first.items()
    }
    pl.DataFrame(noisy).write_csv(tmp_path / "log.csv")
    start = start_project(QUADRUPED / "quadruped.urdf", tmp_path / "log.csv", tmp_path / "job.toml", 100)
    assert start.method == "optimal-estimation"


def test_a_contact_of_an_arm_says_nothing_of_its_base(begin, table):
    columns = arm_columns(table) | {"contact_link2": (np.arange(2500) > 2000).astype(float)}
    content, start = begin(columns)
    assert start.method == "least-squares" and "floating_base" not in content["robot"]


@pytest.mark.parametrize("kind", ["MJCF", "fixed links", "turning links", "no rotor"])
def test_thrusts_of_a_flying_body(kind, tmp_path, rng):
    log = rotors.fly(rng)
    names = ["time", *(f"quat_{axis}" for axis in "xyzw"), *(f"gyro_{axis}" for axis in "xyz")]
    names += [*(f"mocap_pos_{axis}" for axis in "xyz"), *(f"acc_{axis}" for axis in "xyz")]
    names += [f"thrust_{k}" for k in range(4)]
    pl.DataFrame(log, schema=names).write_csv(tmp_path / "log.csv")
    robot = tmp_path / ("flyer.xml" if kind == "MJCF" else "flyer.urdf")
    if kind == "MJCF":
        sites, motors = (
            "".join(text.format(name=name, x=x, y=y, drag=2 * drag) for name, (x, y, drag) in rotors.PLACES.items())
            for text in (
                '<site name="{name}" pos="{x} {y} 0"/>',
                '<motor name="rotor_{name}" site="{name}" gear="0 0 2 0 0 {drag}"/>',
            )
        )  # fmt: skip
        robot.write_text(
            '<mujoco><worldbody><body name="hull"><freejoint/><inertial pos="0 0 0" mass="1" '
            f'diaginertia="0.02 0.02 0.03"/>{sites}</body></worldbody><actuator>{motors}</actuator></mujoco>'
        )
    else:
        joint = "fixed" if kind == "fixed links" else "continuous"
        of_rotors = "".join(
            f'<link name="rotor_{name}"/><joint name="j_{name}" type="{joint}"><parent link="hull"/>'
            f'<child link="rotor_{name}"/><origin xyz="{x} {y} 0"/><axis xyz="0 0 1"/></joint>'
            for name, (x, y, _) in rotors.PLACES.items()
        )
        of_rotors = "" if kind == "no rotor" else of_rotors
        robot.write_text(rotors.URDF.format(1.0).replace("</robot>", f"{of_rotors}</robot>"))
    if kind == "no rotor":
        with pytest.raises(PoinsotError, match="needs thrusts of rotors that its description has"):
            start_project(robot, tmp_path / "log.csv", tmp_path / "job.toml")
        return
    start = start_project(robot, tmp_path / "log.csv", tmp_path / "job.toml")
    text = start.text
    if kind != "MJCF":  # which a URDF cannot say
        assert text.count("drag = 0.0     # the description has no moment per thrust") == 4
        for x, y, drag in rotors.PLACES.values():
            place = f"[{x}, {y}, 0.0]"
            assert place in text
            head, tail = text.split(f"position = {place}")
            text = f"{head}position = {place}{tail.replace('drag = 0.0', f'drag = {drag}', 1)}"
    (tmp_path / "job.toml").write_text(text)
    estimate = identify(Project.load(tmp_path / "job.toml"))
    assert start.method == "optimal-estimation"
    assert estimate["m.hull"] == pytest.approx(rotors.MASS, rel=5e-3)
    assert estimate["zz.hull"] == pytest.approx(rotors.J[2], rel=0.02)


@pytest.mark.parametrize("force", [False, True])
def test_a_quadruped_with_an_imu_and_without_efforts(poinsot, force, tmp_path):
    folder = ROOT / "examples/quadruped"
    table = pl.read_csv(folder / "four_steps.csv")
    table = table.select([name for name in table.columns if not name.startswith("tau")])
    if force:  # of feet that carry a few times 10 N
        feet = [name for name in table.columns if name.endswith("contact")]
        table = table.with_columns(pl.col(name) * 50.0 for name in feet).rename(
            {name: name.replace("contact", "fz") for name in feet}
        )
    table.write_csv(tmp_path / "log.csv")
    job = tmp_path / "job.toml"
    code, out, err = poinsot(
        "new", folder / "quadruped.urdf", tmp_path / "log.csv", "-o", job, "--rate-hz", "100", "-y"
    )
    assert (code, err) == (0, "") and f"poinsot track {job}" in out
    content = tomllib.loads(job.read_text())
    assert content["method"]["name"] == "leg-odometry" and content["recordings"][0]["gyro"]["frame"] == "imu"
    assert ("closes_above" in content["contacts"]) == force
    code, out, err = poinsot("track", job)
    assert code == 0 and "position.x" in out


def test_angles_of_a_robot_that_motors_drive(begin):
    t = np.arange(400) / 100
    with pytest.raises(PoinsotError, match="gains energy, so its motors drive it: add columns with torques"):
        begin({"t": t, **{each: 0.3 * np.sin(t + k) for k, each in enumerate(JOINTS)}})


@pytest.mark.parametrize("inertia", [0.4, 1.0, 2.5])
def test_energy_of_a_pendulum_whose_description_is_wrong(inertia, pendulum):
    """A swing that friction damps gains none, whatever its inertia is said to be; one that is driven does."""
    robot = load_robot(pendulum)
    t = np.arange(600) / 100

    def swing(push):
        return solve_ivp(
            lambda at, x: [x[1], (push * np.sin(3 * at) - 2.943 * np.sin(x[0]) - 0.02 * x[1]) / (0.14 * inertia)],
            (0, 6), [0.8, 0], t_eval=t, rtol=1e-9, atol=1e-9,
        ).y[0]  # fmt: skip

    noise = 3e-4 * np.random.default_rng(2).standard_normal(len(t))
    assert not gains_energy(robot, (swing(0.0) + noise)[:, None], 0.01)
    assert gains_energy(robot, (swing(6.0) + noise)[:, None], 0.01)


def test_a_pendulum_that_is_let_go(begin, pendulum, tmp_path):
    """Angles alone of a description, whose motor has no command: identified at once."""
    t = np.arange(300) / 100
    swing = solve_ivp(
        lambda _, x: [x[1], (-9.81 * 0.3 * np.sin(x[0]) - 0.02 * x[1]) / 0.14],
        (0, 3), [1.5, 0], t_eval=t, rtol=1e-9, atol=1e-9,
    ).y[0]  # fmt: skip
    columns = {
        "time": t,
        "pivot_deg": np.degrees(swing + 3e-4 * np.random.default_rng(1).standard_normal(300)),
    }
    content, _ = begin(columns, robot=pendulum)
    assert content["mechanism"]["details"]["pivot"]["motor"] is False
    estimate = identify(Project.load(tmp_path / "job.toml"))
    assert estimate.trust.name == "trusted"
    low, high = estimate.interval("pivot.drag")
    assert low < 0.02 < high


@pytest.mark.parametrize("column", [{}, {"i3": np.zeros(2500)}, {"i3": np.full(2500, np.nan)}])
def test_currents_of_which_one_was_not_measured(begin, table, tmp_path, column):
    """A motor moves the elbow: its equation is left out, and not read as one without a motor."""
    columns = {f"q{k}": table[f"q{k}"] for k in (1, 2, 3)} | {f"i{k}": table[f"tau{k}"] for k in (1, 2)}
    content, start = begin(columns | column | CLOCK)
    current = content["recordings"][0]["current"]
    assert (
        current["not_measured"] == ["elbow"] and current["unit"] == "A" and "passive" not in content["drive"]
    )
    assert start.unused == tuple(column) and "gain" in start.text
    estimate = identify(Project.load(tmp_path / "job.toml"))
    assert any("effort of elbow was not measured" in warning for warning in estimate.warnings)
    low, high = estimate.interval("fv2")
    assert low < 2.5 < high


def test_a_joint_without_a_motor(begin, tmp_path):
    """A cart that a force moves, and a pendulum on it that swings freely: their torques are simulated."""
    robot = tmp_path / "cart.xml"
    robot.write_text(
        '<mujoco model="cart"><compiler angle="radian"/><worldbody><body name="cart">'
        '<joint name="slide" type="slide" axis="1 0 0"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        '<body name="rod"><joint name="pivot" axis="0 1 0"/>'
        '<inertial pos="0 0 -0.3" mass="0.2" diaginertia="0.005 0.005 1e-4"/></body></body></worldbody></mujoco>'
    )
    described = load_robot(robot)
    pi = described.inertials.ravel()
    time = np.arange(2000) / 200
    force = 3 * np.sin(2 * time) + np.sin(9 * time)

    def torques(q, v, a):
        return described.torque_regressor(*(x[None] for x in (q, v, a)))[0, :, : len(pi)] @ pi

    def rate(t, x):
        q, v = np.split(x, 2)
        still = np.zeros(2)
        bias = torques(q, v, still)
        M = np.stack([torques(q, v, e) - bias for e in np.eye(2)], axis=1)
        applied = np.array([np.interp(t, time, force) - 2 * v[0], -0.01 * v[1]])
        return np.concatenate([v, np.linalg.solve(M, applied - bias)])

    q = solve_ivp(rate, (0, 10), [0, 0.5, 0, 0], t_eval=time, rtol=1e-8).y[:2]
    columns = {"time": time, "slide_position": q[0], "pivot_position": q[1]}
    content, _ = begin(columns | {"slide_effort": force, "pivot_effort": 0 * time}, robot=robot)
    assert content["drive"]["passive"] == ["pivot"]
    assert "not_measured" not in content["recordings"][0]["torque"]


# ----------------------------------------------------------------------------------- what people really record


def arm_columns(table):
    """Columns of the example in rad, with a clock."""
    angles = {f"q{k}": np.radians(table[f"q{k}"].to_numpy()) for k in (1, 2, 3)}
    return CLOCK | angles | {f"tau{k}": table[f"tau{k}"].to_numpy() for k in (1, 2, 3)}


def said(start, what):
    """The reason of a guess."""
    return next(guess["reason"] for guess in start.guesses if guess["what"] == what)


def test_stamps_of_arrival(begin, table):
    """Eight messages are stamped within a millisecond, every 32 ms."""
    columns = arm_columns(table)
    k = np.arange(len(table))
    columns["time"] = 5 + 0.032 * (k // 8 + 1) + 1e-4 * (k % 8)
    content, start = begin(columns)
    (recording,) = content["recordings"]
    assert recording["rate_hz"] == 250 and "time" not in recording and "bursts" in said(start, "rate_hz")
    assert recording["position"]["unit"] == "rad" and "time" in start.unused


def test_a_looped_log(begin, table):
    columns = {name: np.concatenate([x[1800:], x[:1900]]) for name, x in arm_columns(table).items()}
    content, start = begin(columns)
    assert content["recordings"][0]["rows"] == [700, 2600] and "backwards" in said(start, "rows")


def test_rows_before_the_first_reading(begin, table):
    columns = {name: x.copy() for name, x in arm_columns(table).items()}
    for name in columns.keys() - {"time"}:
        columns[name][:41] = 0.0
    content, start = begin(columns)
    (recording,) = content["recordings"]
    assert recording["rows"] == [41, 2500] and "before the first reading" in said(start, "rows")
    assert recording["position"]["unit"] == "rad"


def test_readings_that_are_logged_several_times(begin, table, tmp_path):
    columns = {
        name: x if name == "time" else x[5 * (np.arange(len(x)) // 5)]
        for name, x in arm_columns(table).items()
    }
    content, start = begin({name: x[2:] for name, x in columns.items()}, name="log.parquet")
    (recording,) = content["recordings"]
    assert (
        recording["every"] == 5
        and recording["rows"][0] == 3
        and "50 Hz in a log of 250 Hz" in said(start, "every")
    )
    estimate = identify(Project.load(tmp_path / "job.toml"))
    assert estimate.fit.relative_error_percent < 10


def test_angles_that_wrap_and_errors_of_a_bus(begin, table, tmp_path):
    columns = {name: x.copy() for name, x in arm_columns(table).items()}
    columns["q1"] = (columns["q1"] + 2.6 + np.pi) % (2 * np.pi) - np.pi
    columns["tau2"][[300, 900, 1500]] = 65535.0
    content, start = begin(columns)
    (recording,) = content["recordings"]
    assert recording["position"]["wraps"] == pytest.approx(2 * np.pi) and "unwrapped" in said(
        start, "position.wraps"
    )
    assert recording["torque"]["missing"] == [65535.0] and recording["torque"]["unit"] == "N m"
    assert identify(Project.load(tmp_path / "job.toml")).fit.relative_error_percent < 2


def test_currents_without_their_sign(begin, table, tmp_path):
    columns = arm_columns(table)
    columns |= {f"i{k}": np.rint(10 * columns.pop(f"tau{k}")) % 65536 for k in (1, 2, 3)}
    content, _ = begin(columns)
    assert content["recordings"][0]["current"]["wraps"] == 65536
    assert identify(Project.load(tmp_path / "job.toml")).fit.relative_error_percent < 2


SERVO = 8 * np.arange(1500) / 400


def servo_columns():
    """Positions of the pivot that follow steps of a command."""
    u = 0.6 * np.sign(np.sin(2 * np.pi * 0.4 * SERVO)) * np.ceil(SERVO % 3) / 3
    q = np.zeros_like(u)
    for k in range(1, len(u)):
        q[k] = q[k - 1] + 0.15 * (u[k - 1] - q[k - 1])
    return {"time": SERVO, "goal_position": u, "present_position": q}


def test_ticks_of_an_encoder(begin, pendulum):
    columns = servo_columns()
    for name in ("goal_position", "present_position"):
        columns[name] = np.rint(512 + 1024 / (2 * np.pi) * columns[name]).astype(int)
    pendulum.write_text(pendulum.read_text().replace('type="hinge"', 'type="hinge" range="-1.6 1.6"'))
    content, start = begin(columns, robot=pendulum)
    for quantity in ("position", "position_command"):
        table = content["recordings"][0][quantity]
        assert (table["unit"], table["zero"]) == ("rad", 512) and table["scale"] == pytest.approx(
            2 * np.pi / 1024
        )
    assert "ticks, 1024 a turn" in start.text


def test_a_flag_a_supply_and_a_time_without_power(begin, pendulum):
    """From 22 s on the motor is off, and the pendulum swings."""
    columns = servo_columns()
    off = SERVO > 22
    columns["goal_position"][off] = 0.9
    columns["present_position"][off] = np.sin(4 * SERVO[off]) * np.exp(-0.1 * (SERVO[off] - 22)) - 0.9
    more = {"torque_enable": np.where(off, 0, 1), "input_volts": 7.4 + 0.1 * np.sin(40 * SERVO)}
    content, start = begin(columns | more, robot=pendulum)
    (recording,) = content["recordings"]
    assert start.method == "actuators" and recording["between_s"][1] == pytest.approx(22, abs=0.05)
    assert (
        {*start.unused} == {*more}
        and "flag" in said(start, "torque_enable")
        and "supply" in said(start, "input_volts")
    )


def test_a_joint_that_is_stopped(begin, pendulum):
    columns = {"time": SERVO, "cmd": np.sin(SERVO), "pos": np.maximum(0.99 * np.sin(SERVO - 0.08), -0.7)}
    columns["pos"] = np.where(SERVO < 8, 0.99 * np.sin(SERVO - 0.08), columns["pos"]).round(3)
    columns["pos"][SERVO > 13] = (0.99 * np.sin(SERVO - 0.08))[SERVO > 13]
    content, _ = begin(columns, robot=pendulum)
    (recording,) = content["recordings"]
    assert recording["between_s"][0] == pytest.approx(12.2, abs=0.6)


def test_a_free_joint_without_sensors_of_the_base_is_held(begin, tmp_path):
    body = '<inertial pos="0 0 -0.1" mass="1" diaginertia="0.01 0.01 0.01"/>'
    (tmp_path / "leg.xml").write_text(
        f'<mujoco model="leg"><compiler angle="radian"/><worldbody><body name="trunk"><freejoint name="base"/>{body}'
        f'<body name="thigh"><joint name="hip" axis="0 1 0"/>{body}</body></body></worldbody></mujoco>'
    )
    columns = servo_columns()
    content, start = begin(
        {"time": SERVO, "cmd_hip": columns["goal_position"], "pos_hip": columns["present_position"]},
        robot=tmp_path / "leg.xml",
    )
    assert content["robot"]["locked"] == {"base": 0.0} and start.method == "actuators"


def test_arrays_of_numpy(tmp_path, table):
    columns = arm_columns(table)
    q, tau = (np.column_stack([columns[f"{name}{k}"] for k in (1, 2, 3)]) for name in ("q", "tau"))
    np.savez_compressed(
        tmp_path / "log.npz", positions=q, torques=tau, times=columns["time"], note=np.zeros(3)
    )
    start = start_project(ARM, tmp_path / "log.npz", tmp_path / "job.toml")
    (tmp_path / "job.toml").write_text(start.text)
    (recording,) = tomllib.loads(start.text)["recordings"]
    assert recording["torque"]["columns"] == ["torques[0]", "torques[1]", "torques[2]"]
    assert (
        len(Project.load(tmp_path / "job.toml").runs(load_robot(ARM)).__iter__().__next__().recording) == 2500
    )
    np.savez(tmp_path / "objects.npz", q=np.array([{}], dtype=object))
    with pytest.raises(PoinsotError, match="objects"):
        start_project(ARM, tmp_path / "objects.npz", tmp_path / "job.toml")


def test_a_line_of_units_and_lines_above_the_header(tmp_path, table):
    columns = pl.DataFrame(renamed(table, ["q1", "q2", "q3", "tau1", "tau2", "tau3"]) | CLOCK)
    header, _, rows = columns.write_csv(separator=";").partition("\n")
    units = ";".join(["°", "deg", "deg", "Nm", "Nm", "Nm", "s"])
    (tmp_path / "log.csv").write_text(f"# an arm\n#\n# {header}\n{units}\n{rows}")
    start = start_project(ARM, tmp_path / "log.csv", tmp_path / "job.toml")
    (tmp_path / "job.toml").write_text(start.text)
    (recording,) = tomllib.loads(start.text)["recordings"]
    assert recording["skip_lines"] == 2 and recording["torque"]["unit"] == "Nm"
    project = Project.load(tmp_path / "job.toml")
    (run,) = project.runs(project.robot())
    assert run.recording["position.waist"][0] == pytest.approx(np.radians(table["q1"][0]))


def test_several_logs_and_one_for_validation(poinsot, tmp_path, table):
    columns = pl.DataFrame(arm_columns(table))
    for k, name in enumerate(("run_1", "run_2", "other"), 1):
        columns[600 * k : 600 * k + 600].write_csv(tmp_path / f"{name}.csv")
    job = tmp_path / "job.toml"
    code, _, err = poinsot(
        "new", ARM, tmp_path / "run_?.csv", "--validation", tmp_path / "other.csv", "-o", job, "--yes"
    )
    assert (code, err) == (0, "")
    recordings = tomllib.loads(job.read_text())["recordings"]
    assert [each["path"] for each in recordings] == ["run_1.csv", "run_2.csv", "other.csv"]
    assert [each.get("role") for each in recordings] == [None, None, "validation"]
    assert identify(Project.load(job)).validation is not None


@pytest.mark.parametrize(
    "name", ["log.jsonl", "log.json", "named.json", "lists.json", "lists.parquet", "lists.csv", "blanks.csv"]
)
def test_records_and_lists(name, tmp_path, table):
    columns = arm_columns(table)
    q, tau = (np.column_stack([columns[f"{key}{k}"] for k in (1, 2, 3)]).tolist() for key in ("q", "tau"))
    t = columns["time"].tolist()
    records = [{"time": a, "joint": {"position": b, "torque": c}} for a, b, c in zip(t, q, tau, strict=True)]
    lists = {"time": t, "position": q, "torque": tau}
    if name == "log.jsonl":
        (tmp_path / name).write_text("\n".join(map(json.dumps, records)))
    elif name == "named.json":  # as of a JointState, in another order
        names = ["elbow", "waist", "shoulder"]
        shown = [
            {"time": a, "joint_names": names, "pos": [b[2], b[0], b[1]], "torque": [c[2], c[0], c[1]]}
            for a, b, c in zip(t, q, tau, strict=True)
        ]
        (tmp_path / name).write_text(json.dumps(shown))
    elif name.endswith("csv"):
        sign, quote = (", ", '"') if name == "lists.csv" else (" ", "")
        rows = (
            f"{a};{quote}[{sign.join(map(repr, b))}]{quote};{quote}({sign.join(map(repr, c))}){quote}"
            for a, b, c in zip(t, q, tau, strict=True)
        )
        (tmp_path / name).write_text("\n".join(["time;position;torque", *rows]))
    elif name.endswith("json"):
        (tmp_path / name).write_text(
            json.dumps(lists if name == "lists.json" else {"robot": "arm", "log": records})
        )
    else:
        pl.DataFrame(lists).write_parquet(tmp_path / name)
    start = start_project(ARM, tmp_path / name, tmp_path / "job.toml")
    (tmp_path / "job.toml").write_text(start.text)
    project = Project.load(tmp_path / "job.toml")
    (run,) = project.runs(project.robot())
    np.testing.assert_allclose(run.recording["torque.elbow"], columns["tau3"])


def test_of_two_clocks_the_one_with_which_the_motion_is_smoother(begin, table):
    """Stamps of arrival, whose name is shorter, and stamps of measurement, which are uneven too."""
    rng = np.random.default_rng(3)
    measured = np.arange(2500) / 250 + 1e-3 * np.sin(np.arange(2500))
    columns = {"time": np.sort(np.arange(2500) / 250 + 2e-3 * rng.random(2500)), "header_stamp": measured}
    columns |= {
        f"q{k}": np.interp(measured, np.arange(2500) / 250, np.radians(table[f"q{k}"].to_numpy()))
        for k in (1, 2, 3)
    }
    columns |= {f"tau{k}": table[f"tau{k}"].to_numpy() for k in (1, 2, 3)}
    content, start = begin(columns)
    assert content["recordings"][0]["time"]["column"] == "header_stamp"
    assert "smoother than with time" in said(start, "clock")


RANGES = {"waist": (-2.1, 2.4), "shoulder": (-1.3, 1.6), "elbow": (-0.2, 1.9)}


@pytest.fixture
def limited(tmp_path):
    """The arm with limits of its joints."""
    text = ARM.read_text()
    for joint, (low, high) in RANGES.items():
        text = re.sub(
            rf'(<joint name="{joint}" type=")\w+(".*?)(<limit[^>]*/>)?(\s*</joint>)',
            rf'\1revolute\2<limit lower="{low}" upper="{high}" effort="50" velocity="10"/>\4',
            text,
            flags=re.DOTALL,
        )
    path = tmp_path / "limited.urdf"
    path.write_text(text)
    return path


def servo_log(readings):
    """A log of position commands whose joints have these readings (T,)."""
    time = np.arange(len(next(iter(readings.values())))) / 50
    columns = {"time": time}
    columns |= {f"command_{joint}": np.roll(x, -2) for joint, x in readings.items()}
    return columns | {f"position_{joint}": x for joint, x in readings.items()}


def swing(joint, ticks, ends=0.9):
    """Encoder's counts (1500,) of a joint between its limits."""
    k, (low, high) = [*RANGES].index(joint), RANGES[joint]
    time = np.arange(1500) / 50
    q = 0.5 * (low + high) + 0.5 * ends * (high - low) * np.sin((0.9 + 0.3 * k) * time)
    return np.rint(q / (2 * np.pi / ticks))


@pytest.mark.parametrize("in_degrees", [False, True])
@pytest.mark.parametrize("full", [1.0, 100.0])
def test_a_gripper_that_reads_a_fraction_of_its_travel(begin, limited, full, in_degrees):
    ticks, travel = 4096, 1447  # its ends were calibrated to 2.22 rad, and the description says 2.1
    unit = 360 / ticks if in_degrees else 2 * np.pi / ticks
    readings = {joint: unit * swing(joint, ticks) for joint in ("waist", "shoulder")}
    first = round(-0.15 / (2 * np.pi / ticks))
    readings["elbow"] = full * (swing("elbow", ticks) - first) / travel
    content, start = begin(servo_log(readings), limited)
    table = content["recordings"][0]["position"]
    assert table["joints"] == [*RANGES]
    scale, zero = (dict(zip(RANGES, table[key], strict=True)) for key in ("scale", "zero"))
    elbow = zero["elbow"], scale["elbow"]
    in_unit = find_unit(table["unit"][2] if isinstance(table["unit"], list) else table["unit"]).factor
    assert scale["waist"] == scale["shoulder"] == 1.0 and zero["waist"] == 0
    assert elbow[1] * in_unit == pytest.approx(2 * np.pi / ticks * travel / full, rel=1e-5)
    assert -elbow[0] * elbow[1] * in_unit == pytest.approx(-0.2, abs=1e-5)
    assert content["recordings"][0]["position_command"]["scale"] == table["scale"]
    assert "1447 steps make" in start.text or any("1447 steps" in guess["reason"] for guess in start.guesses)


def test_joints_that_all_read_fractions_of_their_travels(begin, limited):
    ticks, readings = 4096, {}
    for joint, (low, high) in RANGES.items():
        first, last = (round(1.02 * end / (2 * np.pi / ticks)) for end in (low, high))
        readings[joint] = 200 * (swing(joint, ticks) - first) / (last - first) - 100
    content, _ = begin(servo_log(readings), limited)
    table = content["recordings"][0]["position"]
    assert table["unit"] == "rad"
    for k, (low, high) in enumerate(RANGES.values()):
        assert 200 * table["scale"][k] == pytest.approx(1.02 * (high - low), rel=2e-3)
        assert -table["zero"][k] * table["scale"][k] == pytest.approx(0.5 * (low + high), abs=1e-4)


@pytest.mark.parametrize("gears", [(1, 2.5, 50), (100, 100, 160), (1, 1, 3)])
def test_encoders_behind_gears_read_no_fractions(begin, limited, gears):
    readings = {
        joint: 360 / 4096 / gear * swing(joint, 4096 * gear, 0.7)
        for joint, gear in zip(RANGES, gears, strict=True)
    }
    content, _ = begin(servo_log(readings), limited)
    table = content["recordings"][0]["position"]
    assert table["unit"] == "deg" and "scale" not in table


@pytest.mark.parametrize(("unit", "factor"), [("N m", 1.0), ("N mm", 1e3), ("N cm", 100.0)])
def test_the_unit_of_torques_that_the_masses_of_the_description_need(begin, table, unit, factor):
    columns = arm_columns(table) | {f"tau{k}": factor * table[f"tau{k}"].to_numpy() for k in (1, 2, 3)}
    content, _ = begin(columns)
    assert content["recordings"][0]["torque"]["unit"] == unit


def test_efforts_that_are_no_torques_are_said_to_be_none(begin, table):
    columns = arm_columns(table) | {f"tau{k}": table[f"tau{k}"].to_numpy() / 12 for k in (1, 2, 3)}
    _, start = begin(columns)
    assert "but it is 0.08" in said(start, "tau2")


def test_a_command_that_is_written_when_it_changes(begin, pendulum):
    """A step of 1.5: one row has a number, and the motor was off before."""
    time = np.arange(600) / 200
    command = np.where(np.arange(600) == 200, 1.5, np.nan)
    swing = np.where(time > 1, 0.3 * (1 - np.cos(4 * (time - 1))), 0.0)
    content, _ = begin({"time": time, "pivot_position": swing, "pivot_effort": command}, robot=pendulum)
    (recording,) = content["recordings"]
    assert recording["torque"]["hold"] and recording["torque"]["initial"] == 0 and "rows" not in recording


def both_files(tmp_path, table, rate_hz):
    """States at 250 Hz, and efforts at another rate, or without a clock in both."""
    columns = arm_columns(table)
    states = {"time": columns["time"]} | {
        f"{joint}_pos": columns[f"q{k}"] for k, joint in enumerate(JOINTS, 1)
    }
    time = np.arange(0.1, 9.8, 1 / rate_hz) if rate_hz else columns["time"]
    efforts = {"time": time} | {
        f"{joint}_tau": np.interp(time, columns["time"], columns[f"tau{k}"])
        for k, joint in enumerate(JOINTS, 1)
    }
    for name, x in (("states.csv", states), ("efforts.csv", efforts)):
        pl.DataFrame({key: y for key, y in x.items() if rate_hz or key != "time"}).write_csv(tmp_path / name)
    return [tmp_path / "efforts.csv", tmp_path / "states.csv"]


@pytest.mark.parametrize("rate_hz", [None, 200, 500])
def test_states_and_efforts_in_two_files(rate_hz, tmp_path, table):
    paths = both_files(tmp_path, table, rate_hz)
    start = start_project(ARM, paths, tmp_path / "job.toml", None if rate_hz else 250)
    (tmp_path / "job.toml").write_text(start.text)
    (recording,) = tomllib.loads(start.text)["recordings"]
    assert [file["path"] for file in recording["files"]] == ["states.csv", "efforts.csv"]
    estimate = identify(Project.load(tmp_path / "job.toml"))
    assert estimate.trust.name == "trusted" and estimate.fit.relative_error_percent < 3
    low, high = estimate.interval("fv2")
    assert low < 2.5 < high


def test_names_of_files_say_what_is_in_them(tmp_path, pendulum):
    """The same headers in both: the command file is slower, and its values are held."""
    columns = servo_columns()
    pl.DataFrame({"time": SERVO, "pivot": columns["present_position"]}).write_csv(tmp_path / "positions.csv")
    command = {"time": SERVO[::4], "pivot": columns["goal_position"][::4]}
    pl.DataFrame(command).write_csv(tmp_path / "commands.csv")
    paths = [tmp_path / "positions.csv", tmp_path / "commands.csv"]
    start = start_project(pendulum, paths, tmp_path / "job.toml")
    (tmp_path / "job.toml").write_text(start.text)
    (recording,) = tomllib.loads(start.text)["recordings"]
    assert start.method == "actuators" and recording["files"][1]["position_command"]["hold"]
    project = Project.load(tmp_path / "job.toml")
    (run,) = project.runs(project.robot())
    u = np.repeat(command["pivot"], 4)[: len(SERVO)]
    np.testing.assert_array_equal(run.recording["position_command.pivot"], u[: len(run.recording)])


def test_files_that_do_not_belong_together(tmp_path, table):
    efforts, states = both_files(tmp_path, table, None)
    pl.read_csv(efforts).head(100).write_csv(efforts)
    with pytest.raises(PoinsotError, match="has no clock, and other rows than"):
        start_project(ARM, [states, efforts], tmp_path / "job.toml", 250)
    (tmp_path / "more.csv").write_text(states.read_text())
    with pytest.raises(PoinsotError, match="do not belong to"):
        start_project(ARM, [states, tmp_path / "more.csv", efforts], tmp_path / "job.toml", 250)


@pytest.mark.parametrize("quantity", ["tau", "i"])
def test_efforts_of_one_motor_that_turns_the_other_way(begin, table, quantity):
    columns = {f"{quantity}{k}": (-1 if k == 2 else 1) * table[f"tau{k}"].to_numpy() for k in (1, 2, 3)}
    content, start = begin({f"q{k}": table[f"q{k}"] for k in (1, 2, 3)} | columns | CLOCK)
    effort = content["recordings"][0]["torque" if quantity == "tau" else "current"]
    assert effort["scale"] == [1, -1, 1] and "efforts of shoulder oppose" in start.text


def test_angles_of_joints_without_limits(begin, table, tmp_path):
    """Nothing is implausible; efforts agree with the description in one unit."""
    robot = tmp_path / "free.urdf"
    text = re.sub(r"<limit[^>]*/>", "", ARM.read_text()).replace('"revolute"', '"continuous"')
    robot.write_text(text)
    arm = load_robot(ARM)
    q = np.radians(np.column_stack([table[f"q{k}"].to_numpy() for k in (1, 2, 3)]))
    data = arm.model.createData()
    weights = np.array(
        [pin.computeGeneralizedGravity(arm.model, data, each) for each in arm.configurations(q)]
    )
    noise = 0.1 * np.random.default_rng(5).standard_normal(q.shape)
    for factor, unit in ((180 / np.pi, "deg"), (1.0, "rad")):
        columns = {"time": np.arange(2500) / 25} | {f"q{k + 1}": factor * q[:, k] for k in range(3)}
        columns |= {f"tau{k + 1}": (weights + noise)[:, k] for k in range(3)}
        content, start = begin(columns, robot=robot)
        assert content["recordings"][0]["position"]["unit"] == unit, start.text


def test_a_jump_by_a_turn_names_the_unit(begin, table):
    """Beyond the description's range because of another zero; in degrees it would be a motion of a few."""
    columns = arm_columns(table)
    columns["q3"] = (columns["q3"] + 2.6 + np.pi) % (2 * np.pi) - np.pi
    position = begin(columns)[0]["recordings"][0]["position"]
    assert position["unit"] == "rad" and position["wraps"] == pytest.approx(2 * np.pi)


@pytest.mark.parametrize(
    ("factor", "unit"),
    [(1.0, "rad/s"), (180 / np.pi, "deg/s"), (30 / np.pi, "rpm"), (12.0, None), (-1, None)],
)
def test_units_of_velocities_are_those_of_the_derivative(begin, pendulum, factor, unit):
    t = np.arange(300) / 100
    swing = solve_ivp(
        lambda _, x: [x[1], (-9.81 * 0.3 * np.sin(x[0]) - 0.02 * x[1]) / 0.14],
        (0, 3), [1.5, 0], t_eval=t, rtol=1e-9, atol=1e-9,
    ).y  # fmt: skip
    noise = 3e-3 * np.random.default_rng(1).standard_normal(300)
    content, start = begin(
        {"time": t, "pivot_pos": swing[0], "pivot_vel": factor * (swing[1] + noise)}, robot=pendulum
    )
    (recording,) = content["recordings"]
    assert recording.get("velocity", {}).get("unit") == unit
    assert unit or "times the derivative" in said(start, "pivot_vel")


def test_measured_efforts_before_computed_ones(begin, table):
    columns = arm_columns(table)
    efforts = {f"target_moment_{k}": columns.pop(f"tau{k}") for k in (1, 2, 3)}
    efforts |= {f"actual_current_{k}": efforts[f"target_moment_{k}"] / 9 for k in (1, 2, 3)}
    content, start = begin(columns | efforts)
    (recording,) = content["recordings"]
    assert "current" in recording and "torque" not in recording
    assert said(start, "target_moment_2") == "commanded or computed, and actual_current_2 is measured"


def test_a_command_that_is_no_torque_is_a_voltage(begin, table):
    columns = arm_columns(table)
    columns |= {f"effort_command_{k}": columns.pop(f"tau{k}") / 12 for k in (1, 2, 3)}
    content, start = begin(columns)
    assert "voltage" in content["recordings"][0] and "0.08" in said(start, "effort_command_2")


@pytest.mark.parametrize("link", ["upper_arm", "forearm"])
@pytest.mark.parametrize("in_degrees", [False, True])
def test_an_imu_on_a_link_of_an_arm(link, in_degrees, begin, table, tmp_path):
    """It turns with its link, in axes that the description does not have."""
    inertial = (
        '<inertial><mass value="9"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    (tmp_path / "robot.urdf").write_text(
        ARM.read_text().replace('<link name="base"/>', f'<link name="base">{inertial}</link>')
    )
    robot = load_robot(ARM)
    q = np.radians(np.column_stack([table[f"q{k}"].to_numpy() for k in (1, 2, 3)]))
    v, a = (savgol_filter(q, 31, 3, deriv=k, delta=1 / 250, axis=0) for k in (1, 2))
    data, rng = robot.model.createData(), np.random.default_rng(5)
    frame, felt = robot.model.getFrameId(robot.bodies[1 if link == "upper_arm" else 2]), []
    for x in zip(robot.configurations(q), v, a, strict=True):
        pin.forwardKinematics(robot.model, data, *x)
        twist, acc = (
            function(robot.model, data, frame, pin.ReferenceFrame.LOCAL)
            for function in (pin.getFrameVelocity, pin.getFrameClassicalAcceleration)
        )
        pin.updateFramePlacement(robot.model, data, frame)
        down = data.oMf[frame].rotation.T @ [0, 0, 9.81]
        felt.append([*twist.angular, *(acc.linear + down)])
    mounted = pin.exp3(np.array([0.3, -1.1, 0.7]))
    read = np.array(felt).reshape(-1, 2, 3) @ mounted.T + 0.02 * rng.standard_normal((2500, 2, 3))
    sensors = {
        f"imu_{name}_{axis}": read[:, j, k]
        for j, name in enumerate(("gyro", "acc"))
        for k, axis in enumerate("xyz")
    }
    columns = arm_columns(table) | sensors
    if in_degrees:
        columns |= {f"imu_gyro_{axis}": np.degrees(sensors[f"imu_gyro_{axis}"]) for axis in "xyz"}
    content, start = begin(columns, robot=tmp_path / "robot.urdf")
    assert start.method == "least-squares" and "floating_base" not in content["robot"]
    assert "turns as the IMU does" in said(start, "imu_gyro_x")


@pytest.mark.parametrize("base", ["without mass", "at rest", "moving"])
def test_whether_a_base_moves(base, begin, table, tmp_path):
    text = ARM.read_text()
    if base != "without mass":
        inertial = (
            '<inertial><mass value="9"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
        )
        text = text.replace('<link name="base"/>', f'<link name="base">{inertial}</link>')
    (tmp_path / "robot.urdf").write_text(text)
    noise = 0.01 * np.random.default_rng(3).standard_normal((6, 2500))
    noise += 0.0 if base == "at rest" else np.sin(np.arange(2500) / 40)
    sensors = {
        f"imu_{name}_{axis}": noise[3 * j + k]
        for j, name in enumerate(("gyro", "acc"))
        for k, axis in enumerate("xyz")
    }
    sensors["imu_acc_z"] = sensors["imu_acc_z"] + 9.81
    content, start = begin(arm_columns(table) | sensors, robot=tmp_path / "robot.urdf")
    assert ("floating_base" in content["robot"]) == (base == "moving")
    assert start.method == ("optimal-estimation" if base == "moving" else "least-squares")
    assert base == "moving" or said(start, "imu_gyro_x").startswith("the base ")


def test_errors_of_a_bus_that_hide_each_other(begin, table):
    """More than one sample in a hundred, some of them beside each other, and all columns at once."""
    columns = arm_columns(table)
    rows = np.random.default_rng(2).choice(2500, 40, replace=False)
    rows[:3] = 100, 102, 103
    for name in columns:
        if name != "time":
            columns[name] = np.where(np.isin(np.arange(2500), rows), 0.0, columns[name])
    content, _ = begin(columns)
    assert content["recordings"][0]["position"]["missing"] == [0.0]


def test_readings_that_are_held_after_others_are_missing(begin, table):
    """Zeros before the first reading, and then readings that are logged four times each."""
    columns = arm_columns(table)
    for name in columns:
        if name != "time":
            x = columns[name][4 * (np.arange(2500) // 4)]
            columns[name] = np.where(np.arange(2500) < 40, 0.0, x)
    (recording,) = begin(columns)[0]["recordings"]
    assert recording["every"] == 4 and recording["rows"][0] == 40


def test_registers_of_which_one_never_changes_its_sign(begin, table):
    columns = arm_columns(table)
    currents = np.column_stack([columns.pop(f"tau{k}") for k in (1, 2, 3)])
    currents[:, 1] += 1 - currents[:, 1].min()
    counts = np.rint(20 * currents).astype(int) % 65536
    content, _ = begin(columns | {f"current{k + 1}": counts[:, k] for k in range(3)})
    assert content["recordings"][0]["current"]["wraps"] == 65536


def test_a_file_of_commands_beside_one_of_states(tmp_path, table):
    columns = arm_columns(table)
    states = {name: x for name, x in columns.items() if not name.startswith("tau")}
    pl.DataFrame(states).write_csv(tmp_path / "joint_states.csv")
    pl.DataFrame(states | {"time": states["time"] + 0.002}).write_csv(tmp_path / "joint_commands.csv")
    logs = [tmp_path / "joint_states.csv", tmp_path / "joint_commands.csv"]
    start = start_project(ARM, logs, tmp_path / "job.toml")
    first, second = tomllib.loads(start.text)["recordings"][0]["files"]
    assert "position" in first and second["position_command"]["columns"] == ["q1", "q2", "q3"]


def test_commands_in_another_unit_than_positions(begin):
    t = np.arange(2000) / 100
    swing = 0.8 * np.sin(np.outer(t, [1.0, 1.3, 1.7]))
    columns = {"t": t} | {f"pos_{each}": np.degrees(swing[:, k]) for k, each in enumerate(JOINTS)}
    columns |= {f"cmd_{each}": swing[:, k] + 0.03 * np.cos(t) for k, each in enumerate(JOINTS)}
    (recording,) = begin(columns)[0]["recordings"]
    assert recording["position"]["unit"] == "deg" and recording["position_command"]["unit"] == "rad"


def test_a_german_table_of_excel(tmp_path, table):
    """Words and decimal commas of German, in the encoding of Windows."""
    names = [
        "Zeit in s",
        *(f"Gelenkwinkel {k} (°)" for k in (1, 2, 3)),
        *(f"Drehmoment {k} (Nm)" for k in (1, 2, 3)),
    ]
    columns = [np.arange(2500) / 250, *(table[name].to_numpy() for name in table.columns)]
    rows = "\n".join(";".join(f"{x:.9g}" for x in row) for row in np.column_stack(columns))
    text = ";".join(names) + "\n" + rows.replace(".", ",")
    (tmp_path / "log.csv").write_bytes(text.encode("cp1252"))
    (tmp_path / "job.toml").write_text(start_project(ARM, tmp_path / "log.csv", tmp_path / "job.toml").text)
    assert identify(Project.load(tmp_path / "job.toml")).trust.name == "trusted"


def test_a_folder_with_one_log(tmp_path, table):
    (tmp_path / "run").mkdir()
    pl.DataFrame(arm_columns(table)).write_csv(tmp_path / "run/a.csv")
    start = start_project(ARM, tmp_path / "run", tmp_path / "job.toml")
    assert tomllib.loads(start.text)["recordings"][0]["path"] == "run/a.csv"
    (tmp_path / "run/b.csv").write_text("q1\n1\n")
    with pytest.raises(PoinsotError, match=r"is a folder that holds a\.csv, b\.csv: name a file"):
        start_project(ARM, tmp_path / "run", tmp_path / "job.toml")


def test_no_unit_is_read_from_masses_that_are_placeholders(begin, table, tmp_path):
    thin = re.sub(
        r'<mass value="([^"]*)"', lambda match: f'<mass value="{1e-3 * float(match[1])}"', ARM.read_text()
    )
    thin = re.sub(r' (i[xyz]{2})="([^"]*)"', lambda match: f' {match[1]}="{1e-3 * float(match[2])}"', thin)
    (tmp_path / "thin.urdf").write_text(thin)
    content, _ = begin(arm_columns(table), robot=tmp_path / "thin.urdf")
    assert content["recordings"][0]["torque"]["unit"] == "N m"
