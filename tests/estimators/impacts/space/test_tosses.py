"""Tosses of a body with known truth, from a simulator of its own: values and intervals, derivatives, defects."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.spatial.transform import Rotation

from poinsot import Project, identify
from poinsot.cli import main
from poinsot.estimators.impacts.space.fitting import inertia_chart
from poinsot.estimators.impacts.space.flights import Toss, flights_of, slides_of, tracker_noise
from poinsot.estimators.impacts.space.kernels import (
    GRAVITY_RATIO,
    RADIUS,
    SHIFT,
    S,
    flight_derivatives,
    flight_residuals,
    impact_derivatives,
    impact_residuals,
    inertia_of,
)
from poinsot.estimators.impacts.space.pool import ContactScene
from poinsot.models.rotations import from_quaternion
from poinsot.models.spatial import corners_of
from poinsot.report.viewer.scene import read_scene
from references.spatial import tossed

CORNERS = np.array(
    [
        [-0.06, -0.04, -0.03],
        [0.07, -0.05, -0.03],
        [0.05, 0.05, -0.035],
        [-0.05, 0.04, -0.03],
        [0.0, 0.0, 0.07],
    ]
)
"""A crooked pyramid, whose center of mass is not that of its volume."""
TRUTH = {"friction": 0.25, "restitution": 0.45}
J = np.array([[1.5e-3, 1e-4, -5e-5], [1e-4, 1.9e-3, 5e-5], [-5e-5, 5e-5, 2.3e-3]])
COLUMNS = ("t", "x", "y", "z", "qx", "qy", "qz", "qw")
JOB = """
[body]
shape = "points"
vertices = {vertices}

[[walls]]
point = [0.0, 0.0, 0.0]
normal = [0.0, 0.0, 1.0]

[method]
name = "impacts"
{method}
"""
RECORDING = """
[[recordings]]
path = "{k}.csv"
time = {{ column = "t", unit = "s" }}
position = {{ columns = ["x", "y", "z"], unit = "m", scale = {scale} }}
orientation = {{ columns = ["qx", "qy", "qz", "qw"] }}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("tosses"), np.random.default_rng(5)
    for k in range(6):
        times, places, turns = tossed(rng, CORNERS, J, *TRUTH.values(), "poisson")
        table = np.column_stack([times, places, turns])
        pl.DataFrame(dict(zip(COLUMNS, table.T, strict=True))).write_csv(folder / f"{k}.csv")
    return folder


def job(folder, name, scale=1.0, count=6, method='restitution = "poisson"'):
    text = JOB.format(vertices=CORNERS.tolist(), method=method)
    (folder / name).write_text(text + "".join(RECORDING.format(k=k, scale=scale) for k in range(count)))
    return folder / name


@pytest.fixture(scope="module")
def estimate(folder):
    return identify(Project.load(job(folder, "job.toml")))


def test_values_are_within_their_intervals(estimate):
    values = dict(zip(estimate.names, zip(estimate.values, estimate.std, strict=True), strict=True))
    truth = TRUTH | {
        f"J{a}{b}/m": J["xyz".index(a), "xyz".index(b)] for a, b in ("xx", "xy", "yy", "xz", "yz", "zz")
    }
    for name, true in truth.items():
        value, std = values[name]
        assert abs(value - true) < 4 * std, name
    assert values["friction"][1] < 0.02 and values["Jxx/m"][1] < 0.03 * J[0, 0]
    assert estimate.trust.name in ("trusted", "with_care")
    assert estimate.extras["scene"].friction == values["friction"][0]
    assert len(estimate.extras["motions"]) == 6 and len(estimate.extras["impacts"]) > 5


def test_the_certificate_is_of_the_values(estimate):
    assert estimate.certificate().stationarity < 0.2
    moved = estimate.values.copy()
    moved[estimate.names.index("friction")] += 10 * estimate.std[estimate.names.index("friction")]
    assert estimate.updated(values=moved).certificate().stationarity > 5
    moved[0] = 10 * moved[0]
    assert not estimate.updated(values=moved).certificate().feasible


def test_lengths_that_are_short_are_named(folder):
    estimate = identify(Project.load(job(folder, "short.toml", scale=0.96, count=3)))
    assert {"length-scale", "clock-scale"} <= {finding.cause for finding in estimate.findings[:3]}
    assert estimate.trust.name == "not_to_be_used"


def test_the_chart_is_of_bodies_only():
    np.testing.assert_allclose(inertia_of(inertia_chart(J)), J, atol=1e-15)
    for x in np.random.default_rng(0).normal(size=(50, 6)):
        a, b, c = np.linalg.eigvalsh(inertia_of(x))
        assert a > 0 and a + b > c * (1 - 1e-12)


def theta_of_truth():
    theta = np.zeros(S)
    theta[:6] = inertia_chart(J)
    theta[9], theta[17], theta[18] = 1.0, *TRUTH.values()
    return theta


def test_derivatives_are_those_of_finite_differences(folder):
    table = pl.read_csv(folder / "0.csv").to_numpy()
    toss = Toss("0", table[:, 0], table[:, 1:4], from_quaternion(table[:, 4:]))
    theta, g = theta_of_truth(), np.array([0.0, 0.0, -9.81])
    a, b = flights_of(toss, [], theta, g, tracker_noise([toss]), 0.1)[:2]
    frames = (
        toss.times[a.begin : a.end] - a.middle,
        toss.places[a.begin : a.end],
        toss.rotations[a.begin : a.end],
    )

    def residuals(x, flight):
        return flight_residuals(x, g, flight.p, flight.v, flight.R, flight.w, *frames)

    _, by_state, by_theta = flight_derivatives(theta, g, a.p, a.v, a.R, a.w, *frames)
    for k in range(12):
        d = 1e-5 * np.eye(12)[k]
        expected = (residuals(theta, a.moved(d)) - residuals(theta, a.moved(-d))) / 2e-5
        np.testing.assert_allclose(by_state[:, :, k], expected, atol=2e-4)
    for k in range(10):
        d = 1e-5 * np.eye(S)[k]
        expected = (residuals(theta + d, a) - residuals(theta - d, a)) / 2e-5
        np.testing.assert_allclose(by_theta[:, :, k], expected, atol=2e-3)
    shape = corners_of(CORNERS)
    plane = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0.0]])
    corner, t = (
        np.array([shape.points[1], shape.inwards[1]]),
        0.5 * (toss.times[a.end - 1] + toss.times[b.begin]),
    )

    def of_impact(x, one=a, other=b, late=0.0):
        at = t + late
        return impact_residuals(
            x, g, plane, corner, 1, one.rates, one.R, at - one.middle, other.rates, other.R, at - other.middle
        )[0]

    args = a.rates, a.R, t - a.middle, b.rates, b.R, t - b.middle
    _, _, local, by_theta = impact_derivatives(theta, g, plane, corner, 1, *args)
    for k in range(12):
        d = 1e-5 * np.eye(12)[k]
        expected = (of_impact(theta, a.moved(d)) - of_impact(theta, a.moved(-d))) / 2e-5
        np.testing.assert_allclose(local[:, k], expected, atol=1e-3)
        expected = (of_impact(theta, a, b.moved(d)) - of_impact(theta, a, b.moved(-d))) / 2e-5
        np.testing.assert_allclose(local[:, 12 + k], expected, atol=1e-3)
    expected = (of_impact(theta, late=1e-5) - of_impact(theta, late=-1e-5)) / 2e-5
    np.testing.assert_allclose(local[:, 24], expected, rtol=1e-3, atol=1e-2)
    for k in [*range(SHIFT), *range(RADIUS, S)]:
        d = 1e-5 * np.eye(S)[k]
        expected = (of_impact(theta + d) - of_impact(theta - d)) / 2e-5
        np.testing.assert_allclose(by_theta[:, k], expected, rtol=1e-3, atol=1e-2)


def test_what_cannot_be_fitted(folder, capsys):
    def refused(*changes):
        text = job(folder, "wrong.toml", count=1).read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (folder / "wrong.toml").write_text(text)
        assert main(["identify", str(folder / "wrong.toml")]) == 2
        return capsys.readouterr().err

    assert "is fitted without seed" in refused(('"poisson"', '"poisson"\nseed = 3'))
    assert "has no orientation.body.x" in refused(
        ('orientation = { columns = ["qx", "qy", "qz", "qw"] }', "")
    )
    second = "[[walls]]\npoint = [0.0, 1.0, 0.0]\nnormal = [0.0, 1.0, 0.0]\n[method]"
    assert "strikes one plane" in refused(("[method]", second))


def test_a_body_that_only_flies_has_no_impact(folder):
    project = Project.load(job(folder, "flight.toml", count=1))
    (recording,) = project.settings.recordings
    short = project.settings.model_copy(
        update={"recordings": [recording.model_copy(update={"between_s": (0.0, 0.1)})]}
    )
    with pytest.raises(Exception, match="no impact between two flights"):
        identify(replace(project, settings=short))


def test_the_page_and_the_file_of_a_result(folder, poinsot, tmp_path):
    code, out, _ = poinsot("identify", job(folder, "few.toml", count=2), "--out", tmp_path / "out")
    content = json.loads((tmp_path / "out/result.json").read_text())
    assert code == 0 and "Restitution is by poisson, as set." in out
    assert content["scene"].keys() >= {"corners", "point", "normal", "friction", "restitution_law"}
    assert content["scene"]["restitution_law"] == "poisson" and content["impacts"]
    assert "Impacts" in (tmp_path / "out/report.html").read_text()
    code, out, _ = poinsot("view", tmp_path / "out/result.json", "--record", tmp_path / "toss.html")
    assert code == 0 and "written" in out and (tmp_path / "toss.html").stat().st_size > 1e4
    # a toss from its first flight, with what it did behind it to compare with
    code, out, _ = poinsot(
        "predict",
        tmp_path / "out/result.json",
        folder / "2.csv",
        "--out",
        tmp_path / "p.csv",
        "--json",
        tmp_path / "p.json",
    )
    assert code == 0 and "the motion after them is predicted" in out
    rows = {row["axis"]: row for row in json.loads((tmp_path / "p.json").read_text())["rows"]}
    assert rows.keys() == {"x", "y", "z", "rotation"} and rows["rotation"]["unit"] == "rad"
    table = pl.read_csv(tmp_path / "p.csv")
    assert {"position.z", "position.z.low", "position.z.high", "orientation.body.w"} <= set(table.columns)
    assert (table["position.z.low"] <= table["position.z.high"]).all()
    # two tosses leave much open: through the first impacts the band has what was tracked, with 3 standard deviations
    until, tracked = float(out.split("Frames until ")[1].split(" s")[0]), pl.read_csv(folder / "2.csv")
    near = (table["time"] <= until + 0.1).to_numpy()
    inside = [
        (table[f"position.{axis}.low"] - 1e-3 <= tracked[axis])
        & (tracked[axis] <= table[f"position.{axis}.high"] + 1e-3)
        for axis in "xyz"
    ]
    assert np.array(inside)[:, near].mean() > 0.9
    subject = read_scene(tmp_path / "out/result.json")
    motion, (surface,) = subject.estimated[0], subject.identified
    # no corner is below the plane by more than the tracker's noise
    corners = np.einsum("tij,vj->tvi", motion.placements[:, 0, :3, :3], surface.vertices)
    lowest = (corners + motion.placements[:, 0, None, :3, 3])[..., 2].min()
    assert abs(lowest - content["scene"]["point"][2]) < 5e-3
    # faces are turned outwards
    a, b, c = (surface.vertices[surface.faces[:, k]] for k in range(3))
    assert (np.einsum("fi,fi->f", np.cross(b - a, c - a), a) > 0).all()


FRAMES_A_SECOND, STEPS_A_FRAME = 150, 50


def shaken(rng, places):
    """A toss at these places, with noise of 0.3 mm and 2 mrad."""
    turns = Rotation.from_rotvec(2e-3 * rng.standard_normal((len(places), 3))).as_matrix()
    times = np.arange(len(places)) / FRAMES_A_SECOND
    return Toss("slide", times, places + 3e-4 * rng.standard_normal(places.shape), turns)


def slid(friction, tilt):
    """A toss that slides along a plane which is tilted about y, and then lies, by small steps of Coulomb's law; the
    plane's normal; and the number of frames in which it slides."""
    n, down = np.array([np.sin(tilt), 0, np.cos(tilt)]), np.array([np.cos(tilt), 0, -np.sin(tilt)])
    h, pull, brake = (
        1 / FRAMES_A_SECOND / STEPS_A_FRAME,
        9.81 * np.sin(tilt) * down,
        9.81 * friction * np.cos(tilt),
    )
    p, v, places, sliding = 0.05 * n, 0.48 * down + np.array([0.0, 0.64, 0.0]), [], 0
    while len(places) < sliding + 30:
        places.append(p)
        sliding += bool(v.any())
        for _ in range(STEPS_A_FRAME):
            speed = np.linalg.norm(v)
            v = v + h * (pull - brake * v / speed) if speed > 2 * h * brake else np.zeros(3)
            p = p + h * v
    return shaken(np.random.default_rng(0), np.array(places)), n, sliding


@pytest.mark.parametrize(("friction", "tilt"), [(0.25, 0.0), (0.3, 0.1), (0.15, -0.05)])
def test_slides_are_found_and_determine_friction(friction, tilt):
    toss, normal, sliding = slid(friction, tilt)
    g, noise = np.array([0, 0, -9.81]), np.array([3e-4, 2e-3])
    slide, *tails = slides_of(toss, normal, g, noise, 0.1)
    assert slide.begin < 5 and 0.5 * sliding < slide.end
    # frames in which it lies are no slide, and those before it stops hardly count
    assert all(tail.end <= sliding + 2 and tail.std > 10 * slide.std for tail in tails)
    first = np.array([np.cos(tilt), 0, -np.sin(tilt)])
    plane = np.array([np.zeros(3), normal, first, np.cross(normal, first)])
    scene, theta = ContactScene(CORNERS, 0 * CORNERS, plane, g), np.zeros(S)
    theta[GRAVITY_RATIO] = 1.0
    assert -scene.braked(theta, slide) == pytest.approx(friction, abs=max(5 * slide.std / 9.81, 0.004))


def test_flights_and_bodies_at_rest_are_no_slides():
    rng, times = np.random.default_rng(0), np.arange(40) / FRAMES_A_SECOND
    flying = np.column_stack([times, 0 * times, 0.5 + times - 4.905 * times**2])
    for places in (flying, np.zeros((40, 3))):
        known = np.array([0, 0, 1.0]), np.array([0, 0, -9.81]), np.array([3e-4, 2e-3]), 0.1
        assert not slides_of(shaken(rng, places), *known)
