"""A robot on legs that jumps and lands, from a project file: contacts by channels, forces and gaits."""

import json
import re

import numpy as np
import pytest

from poinsot import cli, read_recording
from poinsot.estimate import Status
from poinsot.exceptions import PoinsotError
from poinsot.project import Project, identify
from references.recorded_tripod import FEET, PERIOD, job, jump, write
from references.replacing import replaced

CONTACT = 'contact = { frames = ["foot_a", "foot_b", "foot_c"], columns = ["foot_a", "foot_b", "foot_c"] }'
FORCES = (
    'contact = { frames = ["foot_a", "foot_b", "foot_c"], unit = "N", '
    'columns = ["pressed_foot_a", "pressed_foot_b", "pressed_foot_c"] }'
)


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    return jump(tmp_path_factory.mktemp("truth"), np.random.default_rng(0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, flown):
    folder = tmp_path_factory.mktemp("job")
    write(folder, flown)
    return folder


@pytest.fixture
def project(folder, flown):
    """Writes the job with some text replaced; returns the project file."""

    def project(*replacements: tuple[str, str]):
        (folder / "job.toml").write_text(replaced(job(flown), *replacements))
        return folder / "job.toml"

    return project


@pytest.fixture(scope="module")
def estimate(folder, flown):
    (folder / "whole.toml").write_text(job(flown))
    return identify(Project.load(folder / "whole.toml"))


def test_the_torso_is_found(estimate, flown):
    truth = flown.system.robot.inertials[0]
    assert estimate.status is Status.solved and estimate.identifiable.all()
    np.testing.assert_array_less(np.abs(estimate.values - truth), 4 * estimate.std)
    start = estimate.convergence.values[0]
    assert abs(start[0] - truth[0]) > 4 * estimate.std[0]  # it was told another mass
    assert estimate.certificate().holds
    assert not any("chi-square" in finding.message for finding in estimate.findings)
    (torso,) = estimate.bodies
    assert torso.name == "torso" and torso.parent == ""


def test_what_a_reader_should_know_of_a_flight(estimate):
    said = " ".join(estimate.notes)
    assert "no contact is closed: the robot flies" in said
    # Its place on the ground and its heading: the former is in no reading, the latter in the orientation's.
    assert re.search(r"first state of jump is unobservable in [23] directions", said)


def test_forces_at_contacts(estimate, flown):
    (motion,) = estimate.motions
    assert motion.contacts == FEET
    closed = flown.schedule.closed
    weight = 0.0
    for k, foot in enumerate(FEET):
        np.testing.assert_array_equal(motion.path.mask(f"force.{foot}.z"), closed[:, k])
        size = np.sqrt(sum(motion.path[f"force.{foot}.{axis}"] ** 2 for axis in "xyz"))
        true_size = np.linalg.norm(flown.forces[:, 3 * k : 3 * k + 3], axis=1)
        on = closed[:, k]
        assert np.sqrt(np.mean((size[on] - true_size[on]) ** 2)) < 0.05 * true_size[on].max()
        weight += size[-1]
    assert weight > 9.81 * 8


def test_height_and_speeds_of_the_base(estimate, flown):
    """Where nothing else says where it is, the feet do: relative to the start."""
    path, nodes = estimate.motions[0].path, estimate.problem.models[0].after_impacts
    risen = path["frame_position.torso.z"] - path["frame_position.torso.z"][0]
    truth = flown.x[nodes, 2] - flown.x[nodes[0], 2]
    assert np.ptp(truth) > 0.05
    np.testing.assert_allclose(risen, truth, atol=5e-3)
    nq = flown.system.robot.model.nq
    for k, axis in enumerate("xyz"):
        for quantity, at in (("frame_velocity", nq), ("gyro", nq + 3)):
            away = path[f"{quantity}.torso.{axis}"] - flown.x[nodes, at + k]
            assert np.sqrt(np.mean((away / path[f"std.{quantity}.torso.{axis}"]) ** 2)) < 2.0


def test_contacts_by_forces_and_by_a_gait(project, estimate, flown):
    by_gait = identify(Project.load(project((CONTACT, 'gait = "gait.csv"'))))
    np.testing.assert_allclose(by_gait.values, estimate.values, rtol=1e-6, atol=1e-8)
    forced = project((CONTACT, FORCES), ("[contacts]", "[contacts]\ncloses_above = 4.0\nopens_below = 2.0"))
    by_force = identify(Project.load(forced))
    np.testing.assert_array_equal(by_force.problem.models[0].schedule.closed, flown.schedule.closed)
    np.testing.assert_allclose(by_force.values, estimate.values, rtol=1e-6, atol=1e-8)
    unsaid = project((CONTACT, FORCES))
    with pytest.raises(PoinsotError, match="closes_above must say from which force on one is closed"):
        identify(Project.load(unsaid))


def test_feet_that_stand_do_not_move(project, estimate):
    found = identify(Project.load(project(("noise = { ", "noise = { foot_velocity = 0.05, "))))
    names = [fit.name for fit in found.motions[0].sensors]
    assert names[-6:-3] == [f"velocity of the foot {foot!r}" for foot in FEET]
    assert names[-3:] == [f"sinking of the foot {foot!r}" for foot in FEET]
    assert found.rows - estimate.rows == 3 * found.problem.models[0].schedule.closed.sum()
    # Contacts hold their feet already, but for what disturbs them: the result is nearly the same.
    assert np.all(np.abs(found.values - estimate.values) < estimate.std)


def test_the_page_and_the_json_have_contacts(project, tmp_path, capsys):
    code = cli.main(["identify", str(project()), "--out", str(tmp_path)])
    assert (code, capsys.readouterr().err) == (0, "")
    page = (tmp_path / "report.html").read_text()
    assert all(title in page for title in ("Contact forces", "Motion and sensors", "Convergence"))
    (motion,) = json.loads((tmp_path / "result.json").read_text())["motions"]
    assert motion["contacts"] == list(FEET)
    disturbed = {each["name"]: each["rms"] for each in motion["disturbances"]}
    assert len(disturbed) == 15 + 9 and all(0 <= rms < 2 for rms in disturbed.values())
    assert {"velocity.base.0", "velocity.knee_c", "command.knee_c"} <= set(disturbed)
    path = read_recording(tmp_path / "motion.npz")
    assert not path.mask("force.foot_a.z").all() and path.units["force.foot_a.z"] == "N"
    assert path.rate_hz == pytest.approx(1 / PERIOD)


BAD = {
    "an unknown foot": (
        [('frames = ["foot_a"', 'frames = ["foot_d"')],
        "no contact frame 'foot_d'; did you mean",
    ),
    "a contact at no frame": (
        [('points = ["foot_a"', 'points = ["foot_d"'), (CONTACT, 'gait = "gait.csv"')],
        "foot_d",
    ),
    "a gait of another foot": (
        [('points = ["foot_a", ', "points = ["), (CONTACT, 'gait = "gait.csv"')],
        "'foot_a'",
    ),
    "not a gait file": ([(CONTACT, 'gait = "gate.csv"')], "gate.csv"),
    "contacts undescribed": (
        [('[contacts]\npoints = ["foot_a", "foot_b", "foot_c"]\n', "")],
        "no [contacts] says what they are",
    ),
    "contacts unsaid": ([(CONTACT, "")], "does not say when foot_a, foot_b, foot_c touch the ground"),
    "half a touch": (
        [('columns = ["foot_a", "foot_b"', 'columns = ["pressed_foot_a", "foot_b"')],
        "must be 0 or 1",
    ),
    "a name twice": (
        [
            (
                '["foot_a", "foot_b", "foot_c"]\n\n[method]',
                '["foot_a", "foot_b", "foot_c", "foot_c"]\n\n[method]',
            )
        ],
        "each contact frame once",
    ),
    "noise of the base": ([("base_linear", "base_liner")], "base_liner"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_is_one_sentence(project, capsys, name):
    replacements, sentence = BAD[name]
    code = cli.main(["identify", str(project(*replacements))])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert sentence in err and len(err.strip().splitlines()) == 1 and "Traceback" not in err
