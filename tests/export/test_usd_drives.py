"""Joint drives: fields by the names of Isaac Lab, read back, and nothing lost without a word."""

import json
from dataclasses import replace

import numpy as np
import pytest

from poinsot import Actuator, PoinsotError
from poinsot.export.usd_drives import read_usd_drives, usd_drives, write_usd_drives
from poinsot.models.robot.articulated import load_robot
from poinsot.models.servo.actuator import actuator_parameters
from poinsot.simulation.actuators import Motion, Simulator

LOST = [name for name, row in actuator_parameters().items() if row.without_drive]
HELD = Actuator(
    "hinge", 6.0, velocity_gain=0.2, damping=0.1, coulomb=0.08, armature=0.01, torque_limit=0.7, delay=0.015
)
FIELDS = {"joint_names_expr", "stiffness", "damping", "armature", "friction", "dynamic_friction", "viscous_friction",
          "effort_limit", "velocity_limit"}  # fmt: skip
PENDULUM = """<robot name="pendulum"><link name="base"/><link name="bob"><inertial><origin xyz="0 0 -0.15"/>
<mass value="0.3"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/></joint></robot>"""


def test_fields_have_the_names_of_the_configurations():
    content = usd_drives([replace(HELD, no_load_speed=5.0)], 0.005)
    assert set(content["ImplicitActuatorCfg"]["hinge"]) == FIELDS
    assert set(content["DelayedPDActuatorCfg"]["hinge"]) == FIELDS | {"min_delay", "max_delay"}
    assert content["ImplicitActuatorCfg"]["hinge"]["damping"] == 0.2
    assert "effort_limit" not in usd_drives([Actuator("a", 1.0)], 0.005)["ImplicitActuatorCfg"]["a"]


def test_what_drives_hold_reads_back_and_moves_the_same(tmp_path):
    held = replace(HELD, stiction=0.02)
    write_usd_drives([held], tmp_path / "drives.json", 0.005)
    assert read_usd_drives(tmp_path / "drives.json")[0].stiction == pytest.approx(0.02)
    lines = write_usd_drives([HELD], tmp_path / "drives.json", 0.005)
    (again,) = read_usd_drives(tmp_path / "drives.json")
    assert lines == ("hinge: ImplicitActuatorCfg has no field for delay = 0.015 s",)
    for name in actuator_parameters():
        assert getattr(again, name) == pytest.approx(getattr(HELD, name), rel=1e-12), name
    (tmp_path / "pendulum.urdf").write_text(PENDULUM)
    robot, time = load_robot(tmp_path / "pendulum.urdf"), np.arange(0.0, 10.0, 0.02)
    motion = Motion("sine", time, 0.6 * np.sin(3 * time)[:, None], np.zeros(1), np.zeros(1))
    a, b = (Simulator.of(robot, [each]).roll_out(motion) for each in (HELD, again))
    assert np.abs(a - b).max() < 1e-6


@pytest.mark.parametrize("name", [*LOST, "friction_positions", "friction_levels", "delay"])
def test_everything_that_is_lost_is_named(name, tmp_path):
    if name.startswith("friction_"):
        changed = HELD.updated({"friction_positions": (0.0, 0.5), "friction_levels": (0.1, 0.2)})
    else:
        changed = HELD.updated({name: 0.0123} | ({"stiction": 0.1} if name == "stribeck_speed" else {}))
    lines = write_usd_drives([changed], tmp_path / "drives.json", 0.005)
    assert any(f"{name} = " in line for line in lines)


def test_delays_are_drawn_from_whole_steps(tmp_path):
    def steps(**options):
        row = usd_drives([replace(HELD, delay=0.0173)], 0.005, **options)["DelayedPDActuatorCfg"]["hinge"]
        return row["min_delay"], row["max_delay"]

    assert steps() == (3, 4)
    assert steps(delays={"hinge": (0.009, 0.026)}) == (1, 6)
    assert usd_drives([HELD], 0.005)["DelayedPDActuatorCfg"]["hinge"]["max_delay"] == 3


def test_bad_files_and_steps_are_refused(tmp_path):
    with pytest.raises(PoinsotError, match=r"such as 0\.005"):
        usd_drives([HELD], 0.0)
    (tmp_path / "a.json").write_text('{"schema": "poinsot.randomization/1"}')
    with pytest.raises(PoinsotError, match="this version reads"):
        read_usd_drives(tmp_path / "a.json")
    (tmp_path / "a.json").write_text('{"schema": "poinsot.drives/1", "physics_step_s": 0.005}')
    with pytest.raises(PoinsotError, match="no file of joint drives"):
        read_usd_drives(tmp_path / "a.json")


def test_the_command_writes_the_drives_of_a_result(poinsot, tmp_path):
    row = {name: getattr(HELD, name) for name in actuator_parameters()} | {"no_load_speed": None}
    row |= {"joint": "hinge", "friction_law": "M1", "friction_positions": [], "friction_levels": []}
    (tmp_path / "result.json").write_text(json.dumps({"actuators": {"joints": [row]}}))
    out = tmp_path / "drives.json"
    code, shown, _ = poinsot("drives", tmp_path / "result.json", "--out", out)
    assert code == 0
    assert "no field for delay" in shown
    assert read_usd_drives(out)[0].stiffness == HELD.stiffness
    assert poinsot("drives", out, "--out", out)[0] == 2
