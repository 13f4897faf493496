"""`poinsot track`: a load that appears in a recording, in a stream, in a file that grows; and what is refused."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from export.generated import module_of
from poinsot import cli
from poinsot.estimate import Status, Trust
from poinsot.estimators.online.problem import line_layout, stream_ticks
from poinsot.estimators.online.tracking import published_line
from poinsot.exceptions import InvalidProject, InvalidSignals, NotIdentifiable, PoinsotError
from poinsot.project import Project, track
from poinsot.project.prediction import load_dynamics
from references.robots import random_robot

ROOT = Path(__file__).resolve().parents[1]
ARM = ROOT / "examples" / "arm"
LOAD_KG = 1.5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The example's folder, with the result of the robot's identification in place of its job: it takes a while."""
    folder = tmp_path_factory.mktemp("arm")
    for name in ("arm.urdf", "picking_up.csv", "track.toml"):
        (folder / name).write_bytes((ARM / name).read_bytes())
    assert cli.main(["identify", str(ARM / "job.toml"), "--json", str(folder / "robot.json")]) == 0
    job = (folder / "track.toml").read_text().replace("job.toml", "robot.json")
    (folder / "track.toml").write_text(job)
    return folder


@pytest.fixture(scope="module")
def tracking(folder):
    return track(Project.load(folder / "track.toml"))


def changed(folder, name, *pairs):
    """The job with other lines, beside the first one."""
    text = (folder / "track.toml").read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    path = folder / name
    path.write_text(text)
    return path


def lines_of(folder):
    """The recording as JSON lines, radians."""
    rows = np.genfromtxt(folder / "picking_up.csv", delimiter=",", skip_header=1)
    return [
        json.dumps({"time": k / 125, "position": np.radians(row[:3]).tolist(), "torque": row[3:].tolist()})
        + "\n"
        for k, row in enumerate(rows)
    ]


def test_the_load_appears_and_is_found(tracking):
    estimate, tracker = tracking.estimate, tracking.tracker
    body = estimate.bodies[0]
    added = body.mass - body.prior[0]
    assert abs(added - LOAD_KG) < 3 * estimate["m.forearm"] * 0.05
    assert abs(added - LOAD_KG) < 3 * estimate.std[0]
    assert body.physically_consistent
    time_, mass = np.array([(t.time, t.bodies[0, 0]) for t in tracker.kept]).T
    assert np.abs(mass[time_ < 5.9] - body.prior[0]).max() < 0.3
    assert np.abs(mass[time_ > 8.0] - body.prior[0] - LOAD_KG).max() < 0.25
    published = np.array([t.published[0, 0] for t in tracker.kept])
    assert np.abs(np.diff(published) / np.diff(time_)).max() <= 3.0 * (1 + 1e-9)
    reopened = [each for each in tracker.rejections if each.verdict.name == "reopened"]
    assert reopened
    assert all(6.0 < each.start_s < 7.0 for each in reopened)


def test_noise_is_that_of_the_start(tracking):
    std = tracking.calibration.std
    np.testing.assert_allclose(tracking.tracker.filter.noise, 2 * std)
    # 0.3 N m of white noise, of which a polynomial of degree 3 through 15 samples leaves 0.38; and dry friction, 1.1 to
    # 2.4 N m, whose sign is wrong for some samples when a joint turns back
    assert np.all((std > 0.1) & (std < 2.4))
    assert tracking.calibration.samples == 75


def test_a_stream_gives_what_the_recording_gives(folder, tracking, capsys):
    path = folder / "log.jsonl"
    path.write_text("".join(lines_of(folder)))
    streamed = track(Project.load(folder / "track.toml"), stream=str(path))
    np.testing.assert_allclose(streamed.estimate.values, tracking.estimate.values, rtol=1e-6)
    assert streamed.tracker.verdicts == tracking.tracker.verdicts


def test_standard_input_to_standard_output(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(lines_of(folder)) + "no sample\n"))
    result = folder / "result.json"
    arguments = [
        "track",
        str(folder / "track.toml"),
        "--stream",
        "-",
        "--publish",
        "-",
        "--json",
        str(result),
    ]
    assert cli.main(arguments) == 0
    published = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    content = json.loads(result.read_text())
    assert len(published) == content["samples"]["heard"]
    assert published[-1]["bodies"][0]["shown"]["mass"] is True
    assert published[0]["recording"] == "-"
    assert content["schema"] == "poinsot.track/1"
    assert content["changes"][0]["body"] == "forearm"
    assert abs(content["changes"][0]["mass"] - LOAD_KG) < 0.3
    assert "1 lines were not samples" in content["warnings"][-1]
    assert {row["verdict"] for row in content["rejections"]} >= {"gated", "reopened"}
    assert len(content["estimates"]) == content["samples"]["heard"]
    needed = {
        "status",
        "method",
        "rows",
        "condition_number",
        "parameters",
        "bodies",
        "fit",
        "validation",
        "seconds",
    }
    assert needed | {"iterations"} <= content.keys()


def test_the_page_and_the_files(folder, tmp_path, capsys):
    out = tmp_path / "out"
    assert cli.main(["track", str(folder / "track.toml"), "--out", str(out)]) == 0
    page = (out / "report.html").read_text()
    for words in ("Masses in time", "Rejected samples", "Excitation", "forearm"):
        assert words in page
    assert json.loads((out / "result.json").read_text())["status"]["converged"]
    assert all(json.loads(line) for line in (out / "published.jsonl").read_text().splitlines())


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
def test_interrupted_while_a_file_grows_it_leaves_what_it_heard(folder, tmp_path):
    path, out = tmp_path / "log.jsonl", tmp_path / "out"
    path.write_text("".join(lines_of(folder)[:900]))
    command = [sys.executable, "-c", "import sys; from poinsot.cli import main; sys.exit(main())", "track"]
    arguments = [str(folder / "track.toml"), "--stream", str(path), "--follow", "--out", str(out)]
    process = subprocess.Popen(command + arguments, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    published = out / "published.jsonl"

    def wait_for(lines):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if published.exists() and len(published.read_text().splitlines()) >= lines:
                return
            time.sleep(0.05)
        raise AssertionError(process.communicate())

    wait_for(90)
    before = len(published.read_text().splitlines())
    with path.open("a") as log:
        log.writelines(lines_of(folder)[900:1200])
    wait_for(before + 40)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the samples processed until then are written" in said
    content = json.loads((out / "result.json").read_text())
    assert content["status"] == {
        "converged": False,
        "message": Status.interrupted.value,
        "name": "interrupted",
    }
    assert len(published.read_text().splitlines()) == content["samples"]["heard"]
    assert (out / "report.html").exists()


def test_a_robot_as_described_needs_no_other_job(folder):
    job = changed(
        folder, "described.toml", ('robot_from = "robot.json"', ""), ("calibrate_s = 3", "noise = 4.0")
    )
    tracking = track(Project.load(job))
    assert tracking.calibration is None
    assert np.isfinite(
        tracking.estimate.values
    ).all()  # friction is not known, so nothing more can be asked for


@pytest.mark.parametrize("chart", ["transposed-log-cholesky", "exponential-eigenvalue", "none"])
def test_other_charts(folder, chart):
    job = changed(folder, "chart.toml", ("drift = 0.02", f'drift = 0.02\nchart = "{chart}"'))
    estimate = track(Project.load(job)).estimate
    assert abs(estimate["m.forearm"] - 2.1 - LOAD_KG) < 0.4
    assert estimate.method == ("kalman-filter" if chart == "none" else "extended-kalman-filter")


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([('links = ["forearm"]', 'links = ["forarm"]')], "no body 'forarm'; did you mean 'forearm'"),
        ([("gate = 0.999", "gate = 1.5")], "gate"),
        ([("drift = 0.02", "drift = -1.0")], "drift: must be at least 0"),
        ([("calibrate_s = 3", "noise = -1.0")], "noise needs one standard deviation above 0"),
        ([("calibrate_s = 3", "calibrate_s = 0")], "the noise level is missing"),
        ([("calibrate_s = 3", "calibrate_s = 30")], "the calibration needs 30 s, but there were only"),
        ([("robot.json", "nowhere.json")], "robot_from: there is no file"),
        ([("robot.json", "arm.urdf")], "arm.urdf"),
        ([("rotor_inertia = true", "rotor_inertia = false")], "must be alike in both"),
        ([('"moving-polynomial"\nwindow_s = 0.12\nsample_hz = 25', '"butterworth-decimation"\ncutoff_hz = 5')],
         "looks ahead: give method = \"moving-polynomial\""),
        ([("window_s = 0.12", "window_s = 0.01")], "there was no sample to process"),
        ([('name = "filter"\nlinks = ["forearm"]', 'name = "least-squares"')], "unknown key"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_sentence(folder, pairs, said):
    job = changed(folder, "bad.toml", *pairs)
    with pytest.raises(PoinsotError, match=said):
        track(Project.load(job))


def test_jobs_of_other_verbs_are_sent_there(folder, capsys):
    with pytest.raises(InvalidProject, match='poinsot track needs name = "filter"'):
        track(Project.load(ARM / "job.toml"))
    assert cli.main(["identify", str(folder / "track.toml")]) == 2
    assert "run poinsot track" in capsys.readouterr().err
    assert cli.main(["track", str(folder / "track.toml"), "--follow"]) == 2
    assert "give --stream FILE" in capsys.readouterr().err
    assert cli.main(["inspect", str(folder / "track.toml")]) == 0


def test_a_stream_without_samples_is_said(folder, tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(NotIdentifiable, match="there was no sample to process"):
        track(Project.load(folder / "track.toml"), stream=str(tmp_path / "empty.jsonl"))


def test_the_load_of_a_real_arm(shared_data):
    """UR10e, 2.805 kg, on the half of the motion that did not calibrate the gains."""
    data = shared_data("ur10e")
    estimate = track(Project.load(ROOT / "examples" / "ur10e_track.toml"), data).estimate
    body = estimate.bodies[0]
    assert abs((body.mass - body.prior[0]) / 2.805 - 1) < 0.05


def test_lines_of_a_floating_base_are_its_configuration(rng):
    robot = random_robot(rng, 2, kinds="R", floating_base=True)
    base = {
        "base_position": [1, 2, 3],
        "base_orientation": [0, 0, 0.6, 0.8],
        "base_velocity": [1, 2, 3, 4, 5, 6],
    }
    line = {"time": 0.5, "position": [0.1, 0.2], "velocity": [3, 4], "torque": [5, 6], **base}
    layout = line_layout(robot)
    (tick,) = stream_ticks(robot, [layout.parse(json.dumps(line))])
    np.testing.assert_array_equal(tick.q, [1, 2, 3, 0, 0, 0.6, 0.8, 0.1, 0.2])
    np.testing.assert_array_equal(tick.v, [1, 2, 3, 4, 5, 6, 3, 4])
    np.testing.assert_array_equal(tick.tau, [0, 0, 0, 0, 0, 0, 5, 6])
    del line["velocity"]
    with pytest.raises(InvalidSignals, match="needs the velocities of its joints too"):
        list(stream_ticks(robot, [layout.parse(json.dumps(line))]))


# -- trust -------------------------------------------------------------------------------------------------------------


def corrupted(folder, change):
    """The job, its recording changed in place: columns q1 q2 q3 [deg], tau1 tau2 tau3 [N m]."""
    rows = np.genfromtxt(folder / "picking_up.csv", delimiter=",", skip_header=1)
    change(rows)
    np.savetxt(folder / "corrupted.csv", rows, "%.6g", ",", header="q1,q2,q3,tau1,tau2,tau3", comments="")
    return changed(folder, "corrupted.toml", ("picking_up.csv", "corrupted.csv"))


def columns(which, factor):
    def change(rows):
        rows[:, which] *= factor

    return change


def noise(rows):
    size = np.sqrt(np.mean(rows[:, 3:] ** 2, axis=0))
    rows[:, 3:] = size * np.random.default_rng(2).standard_normal((len(rows), 3))


def spikes(rows):
    rng = np.random.default_rng(3)
    at = rng.random(len(rows)) < 0.05
    rows[at, 3:] += rng.choice([-100.0, 100.0], (at.sum(), 1))


def still(rows):
    rows[:, :3] = rows[0, :3]


def gain_from_half_way(rows):
    rows[len(rows) // 2 :, 3:] *= 1.3


def swapped(rows):
    rows[:, [3, 4]] = rows[:, [4, 3]]


def late(rows):
    rows[5:, 3:] = rows[:-5, 3:].copy()  # 40 ms


def dropped(rows):
    rows[700:775, 3:] = 0.0


def turned(rows):
    rows[:, 1] += 10.0


def test_a_clean_run_is_trusted(tracking):
    assert tracking.estimate.findings == ()
    assert tracking.estimate.trust is Trust.trusted


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (noise, "torque-noise"),
        pytest.param(*(columns(slice(3, 6), 1e3), "torque-scale"), marks=pytest.mark.slow),
        (columns(slice(3, 6), 1e-3), "torque-scale"),
        (columns(slice(0, 3), np.pi / 180), "angle-unit"),
        (columns(3, -1), "sign"),
        pytest.param(*(columns(4, -1), "sign"), marks=pytest.mark.slow),
        pytest.param(*(columns(1, -1), "sign"), marks=pytest.mark.slow),
        (spikes, "poor-fit"),
        (still, "no-excitation"),
        pytest.param(*(columns(slice(3, 6), 1.3), "torque-scale"), marks=pytest.mark.slow),
        (gain_from_half_way, "gain-change"),
        (swapped, "swapped-channels"),
        (late, "delay"),
        (dropped, "dropped-torque"),
        (turned, "joint-zero"),
    ],
)
def test_a_defect_is_named_and_the_mass_is_not_to_be_used(folder, change, cause):
    estimate = track(Project.load(corrupted(folder, change))).estimate
    assert estimate.trust is Trust.not_to_be_used
    assert cause in [finding.cause for finding in estimate.findings[:2]]


def test_the_trust_is_the_first_line_and_an_exit_code(folder, tmp_path, capsys):
    job, result = corrupted(folder, noise), tmp_path / "result.json"
    assert cli.main(["track", str(job), "--strict", "--json", str(result)]) == 3
    said = capsys.readouterr().out
    assert said.startswith("Not to be used (torque-noise")
    assert "error [link-mass] forearm weighs" in said
    content = json.loads(result.read_text())
    assert content["trust"] == "not-to-be-used"
    assert content["findings"][0]["cause"] == "torque-noise"


def test_a_stream_is_examined_too(folder):
    path = folder / "corrupted.jsonl"
    rows = [json.loads(line) for line in lines_of(folder)]
    for row in rows:
        row["torque"][0] *= -1
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    estimate = track(Project.load(folder / "track.toml"), stream=str(path)).estimate
    assert [finding.cause for finding in estimate.findings] == ["sign"]
    assert "a stream is not kept" in estimate.unchecked[0].reason


def test_published_parameters_are_those_of_generated_code(folder, tracking, rng):
    """The load found on the fly reaches inverse dynamics at run time: efforts are those of the filter's own model."""
    dynamics = load_dynamics(folder / "robot.json")  # which track.toml names in robot_from
    code, tracker = module_of(dynamics), tracking.tracker
    line = published_line(tracker.kept[-1], tracker)
    (body,) = line["bodies"]
    first, parameters = body["first_parameter"], code["PARAMETERS"].copy()
    assert dynamics.parameters.owners[first] == "forearm"
    parameters[first : first + 10] = body["parameters"]
    for q, v, a in rng.uniform(-2, 2, (5, 3, 3)):
        Y, known = tracker.filter.torques(q, v, a)
        wanted = known + Y @ tracker.kept[-1].published.ravel()
        found = code["inverse_dynamics_with"](parameters, q, v, a)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())
    # the load of 1.5 kg is in it
    assert body["parameters"][0] - code["PARAMETERS"][first] == pytest.approx(LOAD_KG, abs=0.2)
