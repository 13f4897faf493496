"""The robot of a result in the browser: what is drawn, the file, and the page in headless Chromium."""

import json
import re
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import jax
import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from poinsot.estimate.motions import POSE
from poinsot.exceptions import PoinsotError, UnreadableFile
from poinsot.inertia.parameters import from_physical
from poinsot.io.npz import write_recording
from poinsot.models.maximal import Ball, Hinge, Mechanism, RigidBody, Slider
from poinsot.models.planar import Ellipse
from poinsot.project import Project, identify
from poinsot.recording import Recording
from poinsot.report.figures.drops import placed

viser = pytest.importorskip("viser")
from poinsot.cli import main  # noqa: E402
from poinsot.report.viewer.mechanisms import ViewedMechanism  # noqa: E402
from poinsot.report.viewer.prior_weight import read_prior_weight  # noqa: E402
from poinsot.report.viewer.scene import read_scene  # noqa: E402
from poinsot.report.viewer.show import IDENTIFIED, Viewer, playing_speed, record, serve  # noqa: E402

EXAMPLES = Path(__file__).parents[2] / "examples"
CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="module")
def quadruped(tmp_path_factory):
    """A result of a walk, in a folder with its description and recordings."""
    folder = tmp_path_factory.mktemp("quadruped")
    shutil.copytree(EXAMPLES / "quadruped", folder, dirs_exist_ok=True)
    assert main(["identify", str(folder / "job.toml"), "--out", str(folder / "result")]) == 0
    return folder / "result/result.json"


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arm")
    shutil.copytree(EXAMPLES / "arm", folder, dirs_exist_ok=True)
    assert main(["identify", str(folder / "job.toml"), "--out", str(folder / "result")]) == 0
    return folder / "result/result.json"


def test_recorded_positions_place_the_bodies(arm):
    scene = read_scene(arm)
    assert [motion.name for motion in scene.recorded] == ["identification run", "another motion"]
    assert not scene.estimated and not scene.identified  # base parameters have no bodies
    project = Project.load(arm.parents[1] / "job.toml")
    motion, robot = scene.recorded[0], project.robot()
    assert {each.body for each in scene.before} == set(scene.bodies) == set(robot.bodies)
    (run, *_) = project.runs(robot)
    data = robot.model.createData()
    for t in (0, 700, 2400):
        q = run.recording.stack("position", robot.joints)[t]
        pin.forwardKinematics(robot.model, data, q)
        for k, _ in enumerate(robot.bodies):
            np.testing.assert_allclose(motion.placements[t, k], data.oMi[k + 1].homogeneous, atol=1e-12)


def test_forces_at_the_feet_carry_the_robot(quadruped):
    scene = read_scene(quadruped)
    (motion,) = scene.estimated
    forces = np.stack([values[:, 1] for values in motion.forces.values()])
    carried = np.nansum(forces, axis=0).mean(axis=0)
    # A step ends where it began, nearly at rest: the mean force is the weight, and vertical.
    robot = Project.load(quadruped.parents[1] / "job.toml").robot()
    weight = 9.81 * (sum(robot.inertials[1:, 0]) + 8.0)
    np.testing.assert_allclose(carried, [0, 0, weight], atol=0.1 * weight)
    feet = np.stack([values[:, 0] for values in motion.forces.values()])
    assert np.abs(feet[..., 2][np.isfinite(forces[..., 2])]).max() < 0.03  # on the ground [m]


def test_the_server_is_on_this_machine_alone(arm):
    viewer = Viewer(read_scene(arm), 0)
    try:
        assert viewer.server.get_host() == "127.0.0.1" and viewer.url.startswith("http://127.0.0.1:")
    finally:
        viewer.close()


def test_a_result_without_motion_is_refused(quadruped, tmp_path):
    shutil.copytree(quadruped.parents[1], tmp_path / "copy")
    (tmp_path / "copy/result/motion.npz").unlink()
    with pytest.raises(UnreadableFile, match=r"poinsot identify JOB\.toml --out FOLDER"):
        read_scene(tmp_path / "copy/result/result.json")


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory):
    """A result of the rotary pendulum, with a motion that is given here."""
    folder = tmp_path_factory.mktemp("furuta")
    shutil.copytree(EXAMPLES / "furuta", folder, dirs_exist_ok=True)
    time = np.arange(300) / 100
    channels = {"position.shoulder": np.sin(3 * time), "position.elbow": 0.4 + 2 * np.sin(5 * time)}
    channels |= {f"std.{name}": np.full(300, 1e-3) for name in channels}
    path = Recording(time, channels, dict.fromkeys(channels, "rad"), {}, {"estimated": "pushes"})
    inertial = from_physical(0.12, np.array([0.15, 0, -0.1]), np.diag([4e-4, 4e-4, 2e-5]))
    bodies = [{"name": "pendulum", "inertial": inertial.tolist(), "prior": None, "prior_share": None}]
    return written(folder, {"bodies": bodies}, path)


@pytest.fixture(scope="module")
def throw(tmp_path_factory):
    """A result of the thrown ellipse, with a motion that is given here."""
    folder = tmp_path_factory.mktemp("throw")
    shutil.copytree(EXAMPLES / "throw", folder, dirs_exist_ok=True)
    time = np.arange(61) / 120
    poses = {"x": 0.8 * time, "y": 0.1 + time - 4.9 * time**2, "angle": 9 * time}
    channels = {f"position.{axis}": values for axis, values in poses.items()}
    units = {f"position.{axis}": unit for axis, unit in POSE.items()}
    path = Recording(time, channels, units, {}, {"estimated": "frames.csv"})
    scene = {"outline": Ellipse(0.05, 0.025).outline().tolist(), "walls": [[0.0, 0.0, 0.0]]}
    return written(folder, {"bodies": [], "scene": scene}, path)


def written(folder, content, path):
    """A result of the job in a folder, with one motion beside it."""
    project = tomllib.loads((folder / "job.toml").read_text())
    settings = {"project": project, "project_file": str(folder / "job.toml")}
    (folder / "result").mkdir()
    result = {"schema": "poinsot.identify/1", "parameters": [], "settings": settings} | content
    (folder / "result/result.json").write_text(json.dumps(result))
    write_recording(path, folder / "result/motion.npz")
    return folder / "result/result.json"


def test_bodies_of_a_mechanism_are_where_its_joints_put_them(pendulum):
    """As the discrete model places them, which is a program of its own."""
    scene = read_scene(pendulum)
    assert scene.bodies == ("arm", "pendulum") and not scene.remarks
    assert [each.body for each in scene.identified] == ["pendulum"]
    assert [each.body for each in scene.before] == ["arm", "pendulum"]
    (estimated,), (recorded,) = scene.estimated, scene.recorded
    assert estimated.name == recorded.name == "pushes" and set(estimated.channels) == set(estimated.units) - {
        "std.position.shoulder", "std.position.elbow",
    }  # fmt: skip
    mechanism = Project.load(pendulum.parents[1] / "job.toml").mechanism()
    for motion in (estimated, recorded):
        for t in (0, 17, 123, 299):
            y = np.array([motion.channels[f"position.{joint}"][t] for joint in ("shoulder", "elbow")])
            with jax.enable_x64(True):
                state = mechanism.model().assemble(y, np.zeros(2), np.zeros(0))
            for k, body in enumerate(mechanism.bodies):
                T = motion.placements[t, k]
                np.testing.assert_allclose(T[:3, :3] @ body.center + T[:3, 3], state.position[k], atol=1e-12)
                turned = Rotation.from_quat(state.quaternion[k]).as_matrix()
                np.testing.assert_allclose(T[:3, :3], turned, atol=1e-12)


JOINTS = {
    "a slider": Slider("joint", parent="base", child="carriage", axis=(1, 2, 0)),
    "a ball": Ball("joint", parent="base", child="carriage", point=(0.1, 0.2, 0.3)),
    "a child nearer to the world": Hinge("joint", parent="carriage", child="base", point=(0.1, 0, 0.2), axis=(0, 1, 1)),
}  # fmt: skip


@pytest.mark.parametrize("joint", JOINTS.values(), ids=JOINTS)
def test_other_joints_place_bodies_too(joint):
    bodies = [RigidBody(name, 1.0, (0.1, 0.2, 0.2), center=(0.1, -0.2, 0.3)) for name in ("base", "carriage")]
    mechanism = Mechanism(bodies, [Hinge("pivot", parent="world", child="base", axis=(0, 0, 1)), joint])
    n = len(mechanism.coordinates)
    y = np.random.default_rng(3).uniform(-1, 1, (5, n))
    T = ViewedMechanism(mechanism).placements(y)
    for t in range(5):
        with jax.enable_x64(True):
            state = mechanism.model().assemble(y[t], np.zeros(n), np.zeros(0))
        for k, body in enumerate(bodies):
            np.testing.assert_allclose(
                T[t, k, :3, :3] @ body.center + T[t, k, :3, 3], state.position[k], atol=1e-12
            )


def test_a_body_that_nothing_joins_is_not_drawn_and_said_so():
    bodies = [RigidBody(name, 1.0, (0.1, 0.2, 0.2)) for name in ("rod", "stone")]
    viewed = ViewedMechanism(Mechanism(bodies, [Hinge("pivot", parent="world", child="rod", axis=(0, 1, 0))]))
    assert viewed.bodies == ("rod",) == tuple(viewed.described)
    assert viewed.remarks[0].startswith("stone: no joint connects this to the world")


def test_a_throw_is_its_outline_between_its_walls(throw):
    scene = read_scene(throw)
    (motion,), (recorded,), (body,) = scene.estimated, scene.recorded, scene.identified
    assert scene.bodies == (body.body,) == ("ellipse",) and not scene.before and len(scene.still) == 1
    assert len(recorded.time) == 61 and recorded.name == motion.name == "frames.csv"
    outline = Ellipse(0.05, 0.025).outline()
    pose = np.array([motion.channels[f"position.{axis}"][20] for axis in POSE])
    T = motion.placements[20, 0]
    seen = body.vertices[: len(outline)] @ T[:3, :3].T + T[:3, 3]
    np.testing.assert_allclose(seen[:, [0, 2]], placed(pose, outline), atol=1e-12)
    # faces are turned outwards: the volume by its surface is area times depth
    a, b, c = np.moveaxis(body.vertices[body.faces], 1, 0)
    volume = np.einsum("fi, fi ->", a, np.cross(b, c)) / 6
    np.testing.assert_allclose(volume, np.pi * 0.05 * 0.025 * 2 * 0.4 * 0.05, rtol=1e-3)
    assert np.ptp(scene.still[0].vertices[:, 2]) == 0


def test_a_throw_of_an_earlier_version_says_what_is_missing(throw, tmp_path):
    shutil.copytree(throw.parents[1], tmp_path / "copy")
    result = tmp_path / "copy/result/result.json"
    content = json.loads(result.read_text())
    del content["scene"]
    result.write_text(json.dumps(content))
    with pytest.raises(UnreadableFile, match=r"does not say how the body and its walls look.* again"):
        read_scene(result)


def test_short_motions_play_slowly(throw, arm):
    assert playing_speed(read_scene(throw).estimated[0]) == pytest.approx(0.1)
    assert playing_speed(read_scene(arm).recorded[0]) == 1.0


def test_the_file_needs_another_ending(arm, tmp_path):
    with pytest.raises(PoinsotError, match=r"--record .*arm\.html"):
        record(read_scene(arm), tmp_path / "arm.gif")
    assert not (tmp_path / "arm.gif").exists()


def test_the_extra_is_named():
    probe = "import sys; sys.modules['viser'] = None\nimport poinsot.report.viewer.show"
    run = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert "pip install 'poinsot[viewer]'" in run.stderr


@pytest.fixture
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no chromium: apt-get install chromium")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--enable-unsafe-swiftshader", "--disable-background-networking"],
        )
        yield chromium
        chromium.close()


PATIENCE = 180
"""Time [s] in which a page that a processor draws must react, beside everything else that the machine does."""

HARMLESS = re.compile("GPU stall|GL Driver|THREE.Clock|WebGL")
"""Of the software renderer, and of the library that draws."""


def opened(browser, address):
    """The page, and what it complains about or asks of other machines."""
    page, noise = browser.new_page(viewport={"width": 900, "height": 600}), []
    page.set_default_timeout(PATIENCE * 1e3)
    page.on(
        "console",
        lambda m: (
            noise.append(m.text) if m.type in ("error", "warning") and not HARMLESS.search(m.text) else None
        ),
    )
    page.on("pageerror", lambda error: noise.append(str(error)))
    local = ("file:", "data:", "blob:", "http://127.0.0.1", "ws://127.0.0.1")
    page.on("request", lambda r: None if r.url.startswith(local) else noise.append(r.url))
    page.goto(address)
    return page, noise


def picture(page):
    from PIL import Image

    return np.asarray(Image.open(BytesIO(page.screenshot())).convert("RGB"), dtype=int)


def blue(page):
    """Number of pixels that have the hue of identified ellipsoids."""
    seen = picture(page)
    hue = np.array(IDENTIFIED) / np.linalg.norm(IDENTIFIED)
    size = np.linalg.norm(seen, axis=-1) + 1e-9
    return int(((seen @ hue) / size > 0.995).sum() - (size < 40).sum())


def wait_for(page, condition):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        page.wait_for_timeout(500)
        if condition():
            return
    raise AssertionError("nothing of the kind was drawn")


def test_the_file_plays_offline(quadruped, tmp_path, browser):
    record(read_scene(quadruped), tmp_path / "walk.html")
    page, noise = opened(browser, f"file://{tmp_path / 'walk.html'}")
    wait_for(page, lambda: blue(page) > 2000)
    before = picture(page)[100:540]
    wait_for(page, lambda: (np.abs(picture(page)[100:540] - before).max(axis=-1) > 40).sum() > 200)
    assert not noise
    assert (tmp_path / "walk.html").stat().st_size < 1.5e6


@pytest.mark.parametrize("subject", ["pendulum", "throw"])
def test_what_is_no_robot_plays_too(subject, request, tmp_path, browser, capsys):
    folder = request.getfixturevalue(subject).parent
    assert main(["view", str(folder), "--record", str(tmp_path / "motion.html")]) == 0
    assert capsys.readouterr().err == ""
    page, noise = opened(browser, f"file://{tmp_path / 'motion.html'}")
    wait_for(page, lambda: blue(page) > 300)
    before = picture(page)[160:540]
    wait_for(page, lambda: (np.abs(picture(page)[160:540] - before).max(axis=-1) > 40).sum() > 200)
    assert not noise
    assert (tmp_path / "motion.html").stat().st_size < 1.5e6


def test_the_slider_moves_the_robot(quadruped, browser):
    over, address = threading.Event(), []
    scene = read_scene(quadruped)
    thread = threading.Thread(target=serve, args=(scene, address.append, 0), kwargs={"stop": over.is_set})
    thread.start()
    try:
        while not address:
            over.wait(0.1)
        page, noise = opened(browser, address[0])
        wait_for(page, lambda: blue(page) > 2000)
        page.get_by_role("checkbox").first.click()  # stop playing
        slider = page.get_by_role("slider").first
        slider.focus()
        page.keyboard.press("Home")
        page.wait_for_timeout(1500)
        before = picture(page)[100:, :560]
        for _ in range(3):
            page.keyboard.press("PageUp")
        page.keyboard.press("End")
        wait_for(page, lambda: (np.abs(picture(page)[100:, :560] - before).max(axis=-1) > 40).sum() > 200)
        assert not noise
    finally:
        over.set()
        thread.join(timeout=10)


@pytest.fixture(scope="module")
def bodies(arm):
    """A result with a body for every link."""
    assert (
        main(["identify", str(arm.parents[1] / "physical.toml"), "--out", str(arm.parents[1] / "bodies")])
        == 0
    )
    return arm.parents[1] / "bodies/result.json"


def processor_time(work):
    """Processor time of one call. [s]"""
    started = time.process_time()
    work()
    return time.process_time() - started


def test_another_prior_is_solved_as_the_method_does(bodies, arm):
    assert read_prior_weight(arm) is None  # least squares has no prior
    prior = read_prior_weight(bodies)()
    project = Project.load(bodies.parents[1] / "physical.toml")
    settings = project.settings.method.model_copy(update={"prior_std": 0.05})
    again = identify(replace(project, settings=project.settings.model_copy(update={"method": settings})))
    surfaces, text = prior.solve(0.05)
    assert [each.body for each in surfaces] == [each.name for each in again.bodies]
    for each, body in zip(surfaces, again.bodies, strict=True):
        np.testing.assert_allclose(each.vertices.mean(axis=0), body.center_of_mass, atol=1e-6)
        assert f"| {body.name} | {body.mass:.4g} |" in text
    assert min(processor_time(lambda: prior.solve(0.3)) for _ in range(5)) < 0.1  # [s]


def test_the_slider_of_the_prior_moves_the_bodies(bodies, browser):
    over, address = threading.Event(), []
    arguments = {"stop": over.is_set, "prior": read_prior_weight(bodies)()}
    scene = read_scene(bodies)
    thread = threading.Thread(target=serve, args=(scene, address.append, 0), kwargs=arguments)
    thread.start()
    try:
        while not address:
            over.wait(0.1)
        page, noise = opened(browser, address[0])
        wait_for(page, lambda: blue(page) > 300)
        masses = page.locator("table").filter(has_text="mass [kg]")
        page.get_by_role("checkbox").first.click()  # stop playing
        page.get_by_role("slider").first.focus()
        page.keyboard.press("Home")  # in the first posture at every run
        page.wait_for_timeout(1500)
        before, said = picture(page)[100:, :560], masses.inner_text()
        page.get_by_role("slider").nth(1).focus()
        page.keyboard.press("Home")
        wait_for(page, lambda: (np.abs(picture(page)[100:, :560] - before).max(axis=-1) > 40).sum() > 200)
        assert masses.inner_text() != said and page.get_by_text("solved in").count()
        assert not noise
    finally:
        over.set()
        thread.join(timeout=10)


def test_the_verb_writes_a_file_and_says_what_is_wrong(arm, tmp_path, capsys):
    assert main(["view", str(arm), "--record", str(tmp_path / "arm.html")]) == 0
    assert capsys.readouterr().out.strip() == f"written: {tmp_path / 'arm.html'}"
    assert "<html" in (tmp_path / "arm.html").read_text(encoding="utf-8")[:400]
    assert main(["view", str(arm.parent / "resul.json")]) == 2
    assert "did you mean 'result.json'" in capsys.readouterr().err
    assert main(["view", str(arm.parent), "--record", str(tmp_path / "folder.html")]) == 0
    assert (tmp_path / "folder.html").exists() and capsys.readouterr()
    assert main(["view", str(arm), "--record", str(arm)]) == 2
    assert "would be lost" in capsys.readouterr().err
