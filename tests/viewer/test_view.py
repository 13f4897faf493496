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

import numpy as np
import pinocchio as pin
import pytest

from poinsot.exceptions import PoinsotError, UnreadableFile
from poinsot.project import Project, identify

viser = pytest.importorskip("viser")
from poinsot.cli import main  # noqa: E402
from poinsot_viewer.prior_weight import read_prior_weight  # noqa: E402
from poinsot_viewer.scene import read_scene  # noqa: E402
from poinsot_viewer.show import IDENTIFIED, Viewer, record, serve  # noqa: E402

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
    assert {each.body for each in scene.before} == set(scene.robot.bodies)
    (run, *_) = Project.load(arm.parents[1] / "job.toml").runs(scene.robot)
    motion, robot = scene.recorded[0], scene.robot
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
    weight = 9.81 * (sum(scene.robot.inertials[1:, 0]) + 8.0)
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


@pytest.mark.parametrize("job", ["furuta", "throw"])
def test_a_result_of_something_else_than_a_robot_is_one_sentence(job, tmp_path):
    project = tomllib.loads((EXAMPLES / job / "job.toml").read_text())
    result = {"schema": "poinsot.identify/1", "settings": {"project": project}}
    (tmp_path / "result.json").write_text(json.dumps(result))
    with pytest.raises(PoinsotError, match=r"shows results of a \[robot\]: .* opens with `poinsot open"):
        read_scene(tmp_path / "result.json")


def test_the_file_needs_another_ending(arm, tmp_path):
    with pytest.raises(PoinsotError, match=r"--record .*arm\.html"):
        record(read_scene(arm), tmp_path / "arm.gif")
    assert not (tmp_path / "arm.gif").exists()


def test_the_extra_is_named():
    probe = "import sys; sys.modules['viser'] = None\nimport poinsot_viewer.show"
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


HARMLESS = re.compile("GPU stall|GL Driver|THREE.Clock|WebGL")
"""Of the software renderer, and of the library that draws."""


def opened(browser, address):
    """The page, and what it complains about or asks of other machines."""
    page, noise = browser.new_page(viewport={"width": 900, "height": 600}), []
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


def wait_for(page, condition, seconds=30):
    for _ in range(2 * seconds):
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
    started = time.process_time()
    prior.solve(0.3)
    assert time.process_time() - started < 0.1  # [s]


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
    assert main(["view", str(arm), "--record", str(arm)]) == 2
    assert "would be lost" in capsys.readouterr().err
