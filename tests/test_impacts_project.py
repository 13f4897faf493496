"""`identify` with impacts, from project files."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from poinsot import Project, identify
from poinsot.cli import main
from poinsot.estimate import EstimatedMotions
from poinsot.estimators.impacts.shooting import GEOMETRY
from poinsot.exceptions import PoinsotError
from poinsot.models.planar import Ellipse, PlanarBody, floor
from references.bouncing import SIDE, Throws
from references.exact_steps import stepped
from references.replacing import replaced

PROJECT = """
[body]
name = "disc"
shape = "ellipse"
half_axes = [0.05, 0.025]

[[walls]]
y = 0.0

[[recordings]]
path = "throw.csv"
time = { column = "t", unit = "s" }
position = { columns = ["x", "y", "angle"], unit = ["m", "m", "rad"] }

[method]
name = "impacts"
"""
INERTIA, FRICTION, RESTITUTION = 7.5625e-4, 0.3, 0.2
VALUES = "J/m", "friction", "restitution"
NOISE = np.array([1e-3, 1e-3, 0.02])
MARKERS = {"left": (-0.04, 0.01), "right": (0.03, 0.0)}


def thrown(seconds=0.35, rate=120):
    times = np.arange(round(seconds * rate) + 1) / rate
    body = PlanarBody(Ellipse(0.05, 0.025), 1.0, INERTIA, FRICTION, RESTITUTION)
    poses, _ = stepped(body, [floor()], [0, 0.1, -0.785], [3.0, -5, 0], times)
    return times, poses + NOISE * np.random.default_rng(0).standard_normal(poses.shape)


def written(folder, times, poses, name="throw.csv", header="t,x,y,angle"):
    np.savetxt(folder / name, np.column_stack([times, poses]), delimiter=",", header=header, comments="")


def project(folder, *changes):
    path = folder / "throw.toml"
    path.write_text(replaced(PROJECT, *changes))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("throw")
    written(folder, *thrown())
    return folder


@pytest.fixture(scope="module")
def estimate(folder):
    return identify(Project.load(project(folder, ('name = "disc"', 'name = "disc"\nmass = 0.064'))))


def test_a_throw_from_a_file(estimate):
    assert estimate.names == (*VALUES, *GEOMETRY, "J") and estimate.robot == "disc"
    low, high = estimate.interval("J/m")
    assert low < INERTIA < high
    assert estimate["J"] == pytest.approx(0.064 * estimate["J/m"])
    assert estimate["friction"] == pytest.approx(FRICTION, abs=0.02)
    assert estimate.status.converged and not estimate.warnings
    assert estimate.certificate().holds
    assert "gabiccini2019" in estimate.references()


def test_impacts_and_motion_are_told(estimate):
    assert [impact.unit for impact in estimate.impacts] == ["N s"] * len(estimate.impacts)
    first = estimate.impacts[0]
    assert first.contact == "wall 1" and first.mode == "slides" and first.energy > 0
    assert first.restitution == pytest.approx(estimate["restitution"])
    assert sum(impact.share for impact in estimate.impacts) == pytest.approx(1)
    path = estimate.motions[0].path
    assert path.units["position.angle"] == "rad" and len(path) == len(thrown()[0])
    assert estimate.scene is not None and estimate.scene.friction == estimate["friction"]
    times, energy = estimate.scene.energy["throw.csv"]
    # drops at impacts, conserved between but for the contact that stays closed
    assert energy[-1] < energy[0] and len(times) == len(energy)


def test_command_line_writes_page_and_rows(folder, tmp_path, capsys):
    path = project(folder)
    assert main(["identify", str(path), "--out", str(tmp_path), "--json", str(tmp_path / "o.json")]) in (
        0,
        None,
    )
    content = json.loads((tmp_path / "o.json").read_text())
    assert content["schema"] == "poinsot.identify/1" and content["method"] == "impacts"
    assert {"normal_impulse", "restitution", "mode", "share"} < set(content["impacts"][0])
    assert content["impacts"][0]["unit"] == "m/s"
    assert "Friction cone" in (page := (tmp_path / "report.html").read_text()) and "ratios" in page
    capsys.readouterr()


def test_two_markers_in_place_of_a_pose(folder, tmp_path, estimate):
    times, poses = thrown()
    columns = []
    for x, y in MARKERS.values():
        c, s = np.cos(poses[:, 2]), np.sin(poses[:, 2])
        columns += [poses[:, 0] + c * x - s * y, poses[:, 1] + s * x + c * y]
    written(tmp_path, times, np.column_stack(columns), header="t,lx,ly,rx,ry")
    path = project(
        tmp_path,
        ('name = "disc"', 'name = "disc"\nmarkers = { left = [-0.04, 0.01], right = [0.03, 0.0] }'),
        (
            'columns = ["x", "y", "angle"], unit = ["m", "m", "rad"]',
            'columns = ["lx", "ly", "rx", "ry"], unit = "m"',
        ),
    )
    again = identify(Project.load(path))
    # the same poses, so the same answer
    assert again["J/m"] == pytest.approx(estimate["J/m"], rel=1e-6)


def test_angles_that_wrap_and_frames_that_lack(tmp_path, estimate):
    times, poses = thrown()
    wrapped = poses.copy()
    wrapped[:, 2] = (wrapped[:, 2] + np.pi) % (2 * np.pi) - np.pi
    wrapped[20] = np.nan
    written(tmp_path, times, wrapped)
    path = project(tmp_path, ('path = "throw.csv"', 'path = "throw.csv"\ninvalid = "mask"'))
    found = identify(Project.load(path))
    assert any("wraps" in each for each in found.warnings)
    assert any("1 of 43 frames" in each for each in found.warnings)
    assert found["J/m"] == pytest.approx(estimate["J/m"], rel=0.03)


FORCE = 'torque = { columns = ["f"], unit = "N", joints = ["y"] }\n'


def pushed(folder, *changes):
    """The throw, by a force up and down, which the file has in all rows, also in those without a pose."""
    times = np.arange(85) / 240
    forces = np.zeros((84, 3))
    forces[:, 1] = 0.4 * np.sign(np.cos(20 * times[:-1]))
    body = PlanarBody(Ellipse(0.05, 0.025), 0.064, 0.064 * INERTIA, FRICTION, RESTITUTION)
    poses, _ = stepped(body, [floor()], [0, 0.1, -0.785], [3.0, -5, 0], times, forces)
    poses = poses + NOISE * np.random.default_rng(0).standard_normal(poses.shape)
    poses[1::2] = np.nan
    rows = np.column_stack([poses, np.append(forces[:, 1], 0.0)])
    written(folder, times, rows, header="t,x,y,angle,f")
    invalid = ('path = "throw.csv"', 'path = "throw.csv"\ninvalid = "mask"')
    return project(folder, invalid, ("[method]", FORCE + "[method]"), *changes)


def test_a_known_force_gives_mass_inertia_and_impulses(tmp_path):
    found = identify(Project.load(pushed(tmp_path)))
    assert found.names == (*VALUES, *GEOMETRY, "m", "J") and found.identifiable.all()
    for name, truth in (("m", 0.064), ("J", 0.064 * INERTIA), ("J/m", INERTIA)):
        std = found.std[found.names.index(name)]
        assert found[name] == pytest.approx(truth, abs=4 * std) and std < 0.05 * truth
    assert found.impacts[0].unit == "N s" and not found.undetermined
    assert any("The known force determines the mass" in note for note in found.notes)
    assert any("determined by themselves" in note for note in found.notes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([('unit = "N", joints', 'unit = "N m", joints')], "torque.y is in N m, but must be in N"),
        ([('joints = ["y"]', 'joints = ["z"]')], r"torque\.joints names 'z'"),
        ([('columns = ["f"], unit = "N"', 'columns = ["x"], unit = "N"')], "forces are missing in 42 rows"),
    ],
)
def test_forces_that_cannot_be_right(tmp_path, changes, message):
    with pytest.raises(PoinsotError, match=message) as caught:
        identify(Project.load(pushed(tmp_path, *changes)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t, q: (t, q * [1e3, 1e3, 1]), "its positions are in mm"),
        (lambda t, q: (t, q - [0, 0.2, 0]), "mm inside wall 1; correct the wall"),
        (lambda t, q: (t, q * [1, -1, -1]), "let y point up"),
        (lambda t, q: (t[:6], q[:6]), "it needs at least 8"),
        (lambda t, q: (t, q * [1, 1, 180 / np.pi]), "if it is in degrees"),
        (lambda t, q: (t[::-1], q), "runs backwards"),
        (lambda t, q: (t, q + np.array([0, 10, 0])), "the body hits nothing"),
    ],
)
def test_poses_that_cannot_be_right(tmp_path, change, message):
    written(tmp_path, *change(*thrown()))
    with pytest.raises(PoinsotError, match=message) as caught:
        identify(Project.load(project(tmp_path)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            [("half_axes = [0.05, 0.025]", "half_axes = [0.0005, 0.0005]")],
            "the tracker of throw.csv is off by",
        ),
        ([("half_axes = [0.05, 0.025]", "radius = 0.05")], "radius"),
        ([('shape = "ellipse"', 'shape = "blob"')], "shape"),
        ([("[[walls]]\ny = 0.0", "[held]\ncorner_radius = 0.001")], "of a single drop may have"),
        ([("[[walls]]\ny = 0.0", '[priors]\n"J/m" = { mean = 1.0, std = 1.0 }')], "priors"),
        ([('unit = ["m", "m", "rad"]', 'unit = "rad"')], "x is in rad"),
        (
            [
                ('shape = "ellipse"', 'shape = "polygon"'),
                (
                    "half_axes = [0.05, 0.025]",
                    "vertices = [[0.0, 0.0], [0.1, 0.0], [0.1, 0.05], [0.0, 0.05]]",
                ),
            ],
            "is not inside its outline",
        ),
        (
            [
                (
                    'columns = ["x", "y", "angle"], unit = ["m", "m", "rad"]',
                    'joints = ["x", "y"], columns = ["x", "y"], unit = "m"',
                )
            ],
            "no position of 'angle'",
        ),
        ([('name = "impacts"', 'name = "joint-smoothing"\nparameters = ["a"]\nnoise = {}')], "mechanism"),
        ([("[body]", "[mechanism]\n[body]")], "mechanism"),
        ([('name = "impacts"', 'name = "least-squares"')], "robot"),
        (
            [('name = "disc"', 'name = "disc"\nmarkers = { left = [0.0, 0.0] }')],
            "one marker determines no angle",
        ),
        ([('name = "disc"', 'name = "disc"\nmass = -1.0')], "mass"),
        (
            [('path = "throw.csv"', 'path = "throw.csv"\nrole = "validation"')],
            "every recording is for validation",
        ),
    ],
)
def test_project_files_that_cannot_be_right(folder, changes, message):
    with pytest.raises(PoinsotError, match=message) as caught:
        identify(Project.load(project(folder, *changes)))
    assert "\n" not in str(caught.value)


def test_several_drops_are_pooled(tmp_path):
    throws = Throws(inertia_to_mass=6e-4)
    for k, drop in enumerate(throws.drops(6, seed=2)):
        written(tmp_path, drop.times, drop.poses, f"drop_{k}.csv")
    recordings = "".join(
        PROJECT[PROJECT.index("[[recordings]]") : PROJECT.index("[method]")].replace(
            "throw.csv", f"drop_{k}.csv"
        )
        for k in range(6)
    )
    head = f'[body]\nname = "square"\nshape = "rectangle"\nsides = {SIDE}\nmass = 0.04\n[[walls]]\n'
    path = tmp_path / "drops.toml"
    path.write_text(head + recordings + '[method]\nname = "impacts"\n')
    found = identify(Project.load(path))
    assert {"J/m", "corner_radius", "friction", "restitution", "J"} < set(found.names)
    # six drops say it to some 2 percent
    assert found["J/m"] == pytest.approx(6e-4, abs=4 * found.std[0]) and found.std[0] < 4e-5
    assert len(found.motions) == 6 and found.impacts and found.validation
    assert found.certificate().holds
    held = tmp_path / "held.toml"
    held.write_text(head + "[held]\ncorner_radius = 0.005\n" + recordings + '[method]\nname = "impacts"\n')
    settings, six = Project.load(held).settings, SimpleNamespace(drops=[None] * 6)
    assert settings.method.solver(settings, six).held == {"corner_radius": 0.005}
    held.write_text(head + recordings + '[method]\nname = "impacts"\ndrag = [0.1, 0.1]\n')
    with pytest.raises(PoinsotError, match=r"method\.drag is for a single drop"):
        identify(Project.load(held))


@pytest.mark.parametrize("name", ["J/m", "friction", "restitution"])
def test_a_value_one_standard_deviation_off_is_not_certified(estimate, name):
    place = estimate.names.index(name)
    for sign in (-1, 1):
        values = estimate.values.copy()
        values[place] += sign * estimate.std[place]
        values[3] = (
            0.064 * values[0]
        )  # J follows, so that slopes fail the certificate and not the definition of J
        wrong = estimate.updated(values=values).certificate()
        assert wrong.stationarity > 1 and not wrong.holds


def test_a_motion_that_does_not_follow_from_the_values_is_not_certified(estimate):
    path = estimate.motions[0].path
    shifted = {**path.channels, "position.x": path["position.x"] + np.linspace(0, 1e-3, len(path))}
    motion = replace(estimate.motions[0], path=replace(path, channels=shifted))
    wrong = estimate.updated(EstimatedMotions((motion,))).certificate()
    assert not wrong.feasible and wrong.stationarity < 0.1
    values = estimate.values.copy()
    values[2] = 1.2  # restitution
    assert not estimate.updated(values=values).certificate().feasible
    values = estimate.values.copy()
    values[3] += estimate.std[3]  # J no longer m (J/m)
    assert not estimate.updated(values=values).certificate().feasible
