"""Loads and gains from project files: a simulated arm whose truth is known, and the measured UR10e."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from poinsot import cli, write_estimate
from poinsot.exceptions import (
    InvalidMethod,
    InvalidModel,
    InvalidProject,
    NotIdentifiable,
    PoinsotError,
    UnreadableFile,
)
from poinsot.inertia.parameters import from_physical
from poinsot.io.results import identify_json
from poinsot.models.robot.articulated import load_robot
from poinsot.project import Project, identify
from poinsot_reproductions.simulated_recordings import fourier_motion, model_parameters
from references.dense_regression import torque

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"

LINK = """<link name="{name}"><inertial><origin xyz="0.1 0.02 0.05"/><mass value="{mass}"/>
  <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0.002" izz="0.025"/></inertial></link>
"""
JOINT = """<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>
  <origin xyz="{x} 0 0"/><axis xyz="{axis}"/><limit lower="-6" upper="6" velocity="9" effort="99"/></joint>
"""
URDF = f"""<robot name="arm"><link name="base"/>
{"".join(LINK.format(name=f"link{k}", mass=3 - 0.5 * k) for k in range(1, 5))}
<link name="tool"/>
{JOINT.format(name="turn", parent="base", child="link1", x=0, axis="0 0 1")}
{JOINT.format(name="lift", parent="link1", child="link2", x=0.1, axis="0 1 0")}
{JOINT.format(name="bend", parent="link2", child="link3", x=0.4, axis="0 1 0")}
{JOINT.format(name="roll", parent="link3", child="link4", x=0.3, axis="1 0 0")}
<joint name="fixed" type="fixed"><parent link="link4"/><child link="tool"/>
  <origin xyz="0.1 0 0" rpy="0.3 0 0.2"/></joint>
</robot>"""
JOINTS = ("turn", "lift", "bend", "roll")
GAINS = np.array([10.0, 12.0, 9.0, 11.0])
LOAD = from_physical(2.5, np.array([0.05, 0.02, 0.1]), np.diag([0.02, 0.02, 0.01]))

RECORDING = """[[recordings]]
name = "{name}"
path = "{name}.csv"
{more}time = {{ column = "t", unit = "s" }}
position = {{ columns = ["q1", "q2", "q3", "q4"], unit = "rad" }}
current = {{ columns = ["i1", "i2", "i3", "i4"], unit = "A" }}

"""
JOB = (
    '[robot]\npath = "arm.urdf"\n\n'
    + RECORDING.format(name="free", more="")
    + RECORDING.format(name="loaded", more="loaded = true\n")
    + RECORDING.format(name="held_out", more='role = "validation"\nloaded = true\n')
    + '[preprocessing]\nmethod = "butterworth-decimation"\ncutoff_hz = 8\ndecimate_hz = 4\n\n'
    + '[method]\nname = "payload"\nlink = "tool"\ndraws = 40\n'
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Robot and recordings, and the job of the gains."""
    folder = tmp_path_factory.mktemp("payload")
    (folder / "arm.urdf").write_text(URDF)
    robot = load_robot(folder / "arm.urdf")
    rng = np.random.default_rng(0)
    friction = {f"fv{k}": 2.0 for k in range(1, 5)} | {f"fc{k}": 1.0 for k in range(1, 5)}
    theta = model_parameters(robot, **friction)
    carrying = theta.copy()
    _, T_bl = robot.link("tool")
    carrying[30:40] += (pin.SE3(T_bl) * pin.Inertia.FromDynamicParameters(LOAD)).toDynamicParameters()
    for name, seed, truth in (("free", 1, theta), ("loaded", 1, carrying), ("held_out", 2, carrying)):
        time, q, v, a = fourier_motion(
            4, 20.0, 100.0, np.random.default_rng(seed), harmonics=8, amplitude=1.0
        )
        tau = torque(robot, truth, q, v, a)
        current = (tau + 0.05 * tau.std(axis=0) * rng.standard_normal(tau.shape)) / GAINS
        table = np.column_stack([time, q, current])
        header = "t,q1,q2,q3,q4,i1,i2,i3,i4"
        np.savetxt(folder / f"{name}.csv", table, delimiter=",", header=header, comments="", fmt="%.9g")
    (folder / "gains.toml").write_text(JOB + "mass = 2.5\n")
    return folder


@pytest.fixture
def job(folder):
    """Writes the job with some text replaced and more at its end; returns the project."""

    def job(more="", *replacements, name="job"):
        text = JOB
        for old, new in replacements:
            assert old in text, old
            text = text.replace(old, new)
        (folder / f"{name}.toml").write_text(text + more)
        return Project.load(folder / f"{name}.toml")

    return job


@pytest.fixture(scope="module")
def gains(folder):
    return identify(Project.load(folder / "gains.toml"))


def test_gains_from_a_known_mass(gains):
    found = gains.drive_gains
    assert found.joints == JOINTS and found.units == ("N m/A",) * 4 and found.identified
    assert np.all(np.abs(found.values - GAINS) < 4 * found.std)
    assert np.all(found.std < 0.1 * GAINS)
    load = gains.payload
    assert load.known == ("mass",) and load.link == "tool"
    assert np.all(np.abs(load.center_of_mass - [0.05, 0.02, 0.1]) < 4 * load.center_of_mass_std)
    (held_out,) = gains.validation
    assert held_out.relative_error_percent < 10  # 5 % of noise; without the load it would be 50 %
    assert held_out.units == ("N m",) * 4


def test_what_is_written_for_scripts(gains):
    content = json.loads(json.dumps(identify_json(gains)))
    assert content["method"] == "payload" and content["certificate"]["holds"]
    payload, (first, *others) = content["payload"], content["drive_gains"]
    assert set(payload) == {
        "link", "mass", "mass_std", "mass_interval", "center_of_mass", "center_of_mass_std", "inertia_at_com",
        "inertia_at_com_std", "identifiable", "known", "physically_consistent", "min_pseudo_inertia_eigenvalue",
        "reasons", "inertial", "covariance",
    }  # fmt: skip
    assert (
        payload["mass"] == 2.5 and payload["mass_std"] == 0 and "center_of_mass.z" in payload["identifiable"]
    )
    assert set(first) == {
        "joint", "value", "std", "interval", "unit", "identified", "poorly_known", "by_gravity", "std_white",
        "covariance",
    }  # fmt: skip
    assert first["joint"] == "turn" and first["by_gravity"] is False and len(others) == 3
    assert first["interval"] == pytest.approx(
        [first["value"] - 1.96 * first["std"], first["value"] + 1.96 * first["std"]], rel=1e-4
    )
    assert len(content["fit"]["moving_error_percent_per_joint"]) == 4


def test_gains_of_another_job_are_held(job, gains, folder):
    estimate = identify(job('gains_from = "gains.toml"\n'))
    np.testing.assert_array_equal(estimate.drive_gains.values, gains.drive_gains.values)
    assert not estimate.drive_gains.identified
    assert abs(estimate.payload.mass - 2.5) < 4 * estimate.payload.mass_std < 0.5
    assert estimate.seconds["gains"] > 0
    write_estimate(gains, folder / "gains.json")
    again = identify(job('gains_from = "gains.json"\n'))
    assert again.payload.mass == pytest.approx(estimate.payload.mass, rel=1e-12)
    assert again.payload.mass_std == pytest.approx(estimate.payload.mass_std, rel=1e-9)


def test_gains_that_are_given(job):
    drive = ("[preprocessing]", "[drive]\ngain = [10, 12, 9, 11]\n\n[preprocessing]")
    exact = identify(job("", drive))
    assert abs(exact.payload.mass - 2.5) < 4 * exact.payload.mass_std
    unsure = identify(job("gain_std = { lift = 1.2, bend = 0.9 }\n", drive))
    assert unsure.payload.mass_std > 1.5 * exact.payload.mass_std
    difference = 'approach = "difference"\n'
    with pytest.raises(
        InvalidMethod, match="recording 'held_out', but this estimate is of the robot without one"
    ):
        identify(job(difference, drive, ("draws = 40\n", "")))
    free = ('role = "validation"\nloaded = true', 'role = "validation"')
    apart = identify(job(difference, drive, ("draws = 40\n", ""), free))
    assert abs(apart.payload.mass - exact.payload.mass) < 3 * apart.payload.mass_std


def test_a_mass_that_is_nearly_known_and_a_centre(job):
    more = "mass = 2.5\nmass_std = 0.05\ncenter_of_mass = { mean = [0.05, 0.02, 0.1], std = [0.001, 0.001, 0.001] }\n"
    estimate = identify(job(more))
    assert estimate.payload.mass_std == pytest.approx(0.05, rel=0.5)
    assert np.all(np.abs(estimate.payload.center_of_mass - [0.05, 0.02, 0.1]) < 4e-3)


def test_a_load_that_must_be_possible(job):
    estimate = identify(job("mass = 2.5\npossible = true\n"))
    assert estimate.payload.physically_consistent
    box = "constraint = { center_of_mass = { low = [0, 0, 0], high = [0.02, 0.02, 0.2] } }\n"
    assert identify(job("mass = 2.5\n" + box)).payload.center_of_mass[0] <= 0.02 + 1e-6


# ------------------------------------------------------------------------------------------ what cannot be


@pytest.mark.parametrize(
    ("more", "replacements", "kind", "sentence"),
    [
        ("", (), NotIdentifiable, "not identifiable: only ratios"),
        ("mass = 2.5\n", (('link = "tool"', 'link = "tol"'),), InvalidModel, "no link 'tol'; did you mean 'tool'"),
        ("mass = 2.5\n", (('link = "tool"', 'link = "base"'),), InvalidModel, "link 'base' does not move"),
        ("mass = 0\n", (), InvalidProject, "mass: must be greater than 0.0, not 0"),
        ("mass = 2.5\n", (("loaded = true\n", ""),), PoinsotError, "no recording carries the load"),
        ("mass_std = 0.1\n", (), InvalidProject, "mass_std is that of a known mass; give mass too"),
        ('mass = 2.5\napproach = "difference"\n', (), InvalidProject, 'draws needs approach = "direct"'),
        (
            "mass = 2.5\n\n[held]\nmL = 2.5\n", (), InvalidProject,
            "the load's mass is given twice: as mass, and as mL in",
        ),
        (
            'gains_from = "gains.toml"\n', (("[preprocessing]", "[drive]\ngain = 10\n\n[preprocessing]"),),
            InvalidProject, "drive gains are given twice: gains_from, and gain in",
        ),
        ("mass = 2.5\ncenter_of_mass = { mean = [0, 0], std = [1, 1, 1] }\n", (), InvalidProject, "at least 3 entries"),
        (
            "mass = 2.5\ncenter_of_mass = { mean = [0, 0, 0], std = [1, 1, 0] }\n", (), InvalidProject,
            "must be three numbers above 0",
        ),
        ("mass = 2.5\nmas = 1\n", (), InvalidProject, "unknown key 'mas'; did you mean 'mass'"),
        (
            "", (('name = "payload"\nlink = "tool"\ndraws = 40\n', 'name = "least-squares"\n'),),
            InvalidProject, "recording 'loaded' carries a load, which other methods would attribute to the robot",
        ),
    ],
)  # fmt: skip
def test_a_job_that_cannot_be_is_one_sentence(job, more, replacements, kind, sentence):
    with pytest.raises(kind, match=sentence):
        identify(job(more, *replacements))


def test_a_recording_of_another_robot_has_other_joints(job):
    fewer = ('columns = ["q1", "q2", "q3", "q4"]', 'columns = ["q1", "q2", "q3"]')
    with pytest.raises(InvalidProject, match="position has 3 columns, but the robot has 4 joints"):
        identify(job("mass = 2.5\n", fewer))


@pytest.mark.parametrize(
    ("name", "content", "kind", "sentence"),
    [
        ("nowhere.toml", None, UnreadableFile, "gains_from: there is no file .*nowhere.toml"),
        ("other.json", "{}", UnreadableFile, "other.json is not a result of `poinsot identify` with drive gains"),
        ("other.json", '{"drive_gains": []}', UnreadableFile, "is not a result of"),
        ("other.json", "not json", UnreadableFile, "is not a result of `poinsot identify`"),
        ("chain.toml", JOB + 'gains_from = "gains.toml"\n', InvalidProject, "takes its gains from gains.toml; name"),
        (
            "given.toml", JOB.replace("[preprocessing]", "[drive]\ngain = [10, 12, 9, 11]\n\n[preprocessing]"),
            InvalidProject, "identifies no drive gains; for that it needs currents",
        ),
    ],
)  # fmt: skip
def test_gains_from_what_has_none(job, folder, name, content, kind, sentence):
    if content is not None:
        (folder / name).write_text(content)
    with pytest.raises(kind, match=sentence):
        identify(job(f'gains_from = "{name}"\n'))


def test_the_command_says_ratios_in_one_sentence(job, capsys):
    project = job(name="ratios")
    assert cli.main(["identify", str(project.path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("poinsot: not identifiable: only ratios") and said.count("\n") == 1


def test_the_page_tells_of_load_and_gains(folder, tmp_path):
    assert cli.main(["identify", str(folder / "gains.toml"), "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text()
    for words in (
        "The load on tool is known to weigh 2.5",
        "Drive gains",
        "while moving",
        "gravity does not act on",
    ):
        assert words in page


# ------------------------------------------------------------------------------------------ the UR10e


@pytest.fixture(scope="module")
def ur10e(shared_data):
    folder = shared_data("ur10e")
    return lambda name, **method: identify(_changed(name, **method), folder)


def _changed(name, cutoff_hz=None, decimate_hz=3.0, **method):
    """The job of this name with other filters, or another method."""
    project = Project.load(EXAMPLES / f"ur10e_{name}.toml")
    settings = project.settings
    if cutoff_hz is not None:
        filters = settings.preprocessing.model_copy(
            update={"cutoff_hz": cutoff_hz, "decimate_hz": decimate_hz}
        )
        settings = settings.model_copy(update={"preprocessing": filters})
    settings = settings.model_copy(
        update={"method": settings.method.model_copy(update={"draws": 20, **method})}
    )
    return replace(project, settings=settings)


@pytest.mark.parametrize("way", ["", pytest.param("_swapped", marks=pytest.mark.slow)])
def test_ur10e_gains_of_one_half_give_the_mass_in_the_other(ur10e, way):
    load = ur10e(f"payload{way}", draws=100).payload
    assert abs(load.mass / 2.805 - 1) < 0.015
    assert {"mass", "center_of_mass.x", "center_of_mass.y", "center_of_mass.z"} <= set(load.identifiable)
    assert load.mass_interval[0] < 2.805 < load.mass_interval[1] and load.mass_std < 0.05 * load.mass


def test_ur10e_the_mass_does_not_depend_on_the_filter(ur10e):
    gains = {cutoff: ur10e("gains", cutoff_hz=cutoff, decimate_hz=d).drive_gains
             for cutoff, d in ((2.0, None), (10.0, 3.0))}  # fmt: skip
    masses = []
    for cutoff, decimate_hz in ((2.0, None), (10.0, 3.0)):
        project = _changed("gains_swapped", cutoff_hz=cutoff, decimate_hz=decimate_hz, mass=None)
        masses.append(_mass(project, gains[cutoff], ur10e))
    assert np.ptp(masses) < 0.01 * 2.805 and np.abs(np.array(masses) / 2.805 - 1).max() < 0.015


def _mass(project, gains, ur10e):
    """With these gains, of the recordings of a job that is not told the mass."""
    from poinsot.estimators.linear.payload.draws import Resampling
    from poinsot.estimators.linear.payload.identification import PayloadIdentification
    from poinsot.project.preparation import condition, smooth
    from poinsot.regression.inverse_dynamics import inverse_dynamics

    folder = Path(__file__).resolve().parents[5] / "shared" / "data" / "ur10e"
    robot = project.robot(folder)
    runs = [run for run in project.runs(robot, folder) if run.role == "identification"]
    preprocessing = project.settings.preprocessing
    signals = [smooth(preprocessing, condition(preprocessing, run)) for run in runs]
    problem = inverse_dynamics(robot, signals, loaded=[run.loaded for run in runs], link="tool0")
    return PayloadIdentification(gains=gains, resampling=Resampling(20)).solve(problem).payload.mass


def test_ur10e_gains_and_what_they_predict(ur10e):
    estimate = ur10e("robot", draws=100)
    gains = estimate.drive_gains
    published = np.array(
        [[10.0, 14.87], [10.70, 13.26], [8.46, 11.13], [9.00, 10.62], [9.48, 11.03], [10.12, 11.47]]
    )
    assert np.all((gains.values > 0.95 * published[:, 0]) & (gains.values < 1.05 * published[:, 1]))
    np.testing.assert_array_equal(gains.poorly_known, [True, False, False, False, False, False])
    np.testing.assert_array_equal(gains.by_gravity, [False, True, True, True, True, True])
    assert np.all(gains.std > 1.3 * gains.white_std) and np.median(gains.std / gains.white_std) > 2
    (held_out,) = estimate.validation
    assert np.all(np.array(held_out.moving_error_percent_per_joint) <= [10, 6, 5, 6, 8, 8])
    assert any("At standstill" in note and "indeterminate" in note for note in estimate.notes)
    assert estimate.payload.physically_consistent and estimate.certificate().holds
    assert not any(name.startswith("inertia") for name in estimate.payload.identifiable)


def test_ur10e_without_a_known_mass_there_are_only_ratios(ur10e):
    with pytest.raises(NotIdentifiable, match="only ratios"):
        ur10e("gains", mass=None)
