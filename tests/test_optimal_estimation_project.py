"""`[method] name = "optimal-estimation"`: columns become sensors and commands, and a small arm's truth is found."""

import json
import os
import signal
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest

from poinsot import read_recording
from poinsot.estimate import Status
from poinsot.exceptions import PoinsotError
from poinsot.project import Project, identify
from poinsot.solve import Progress
from references import recorded_arm
from references.recorded_arm import (
    FRICTION,
    JOB,
    KNOWN,
    METHOD,
    RECORDING,
    TRUE_ROD,
    record,
    true_inertial,
    urdf,
    write,
)
from references.replacing import replaced

SEEN = [1, 3, 4, 5, 6, 7, 8, 9]
"""Places of the parameters that the arm shows: not m, not my."""


@pytest.fixture(scope="module")
def recorded():
    return record(np.random.default_rng(11))


@pytest.fixture
def job(tmp_path, recorded):
    """Writes the job, with some text replaced and some added; returns the project file."""

    def job(*replacements: tuple[str, str], more: str = "", recorded=recorded, blank=None):
        text = replaced(JOB, *replacements)
        (tmp_path / "arm.urdf").write_text(urdf(**recorded_arm.ROD))
        write(tmp_path / "run.csv", recorded, blank)
        (tmp_path / "job.toml").write_text(text + more)
        return tmp_path / "job.toml"

    return job


def another(name: str, role: str = "identification") -> str:
    """A second recording of the job."""
    return RECORDING.replace('"run"', f'"{name}"').replace("run.csv", f"{name}.csv") + f'role = "{role}"\n'


def assert_truth(estimate, places=SEEN):
    away = (estimate.values - true_inertial())[places]
    np.testing.assert_array_less(np.abs(away), 4 * estimate.std[places])


# --------------------------------------------------------------------------------------------------------- the truth


def test_what_a_recording_shows_is_found_and_the_rest_is_named(job):
    estimate = identify(Project.load(job()))
    assert estimate.status is Status.partly and estimate.method == "optimal-estimation"
    assert_truth(estimate)
    np.testing.assert_array_equal(np.flatnonzero(estimate.identifiable), SEEN)
    assert {each.combination for each in estimate.undetermined} == {"m.fore", "my.fore"}
    start = estimate.convergence.values[0]
    assert np.all(
        np.abs(start - true_inertial())[SEEN] > 20 * estimate.std[SEEN]
    )  # it was told something else
    assert estimate.certificate().holds
    assert estimate.rows == 121 * (2 + 2 + 3 + 3)
    assert {"robot", "read", "signals", "solve", "posterior", "total"} <= set(estimate.seconds)
    assert estimate.settings["project"]["method"]["name"] == "optimal-estimation"


def test_what_is_known_fills_in_what_no_recording_shows(job):
    estimate = identify(Project.load(job(more=KNOWN)))
    assert estimate.status is Status.solved and estimate.identifiable.all() and not estimate.undetermined
    assert_truth(estimate, [*SEEN, 0, 2])
    (fore,) = estimate.bodies
    assert estimate["m.fore"] == pytest.approx(2.05, abs=1e-4)  # nothing else says it
    assert fore.center_of_mass[1] == pytest.approx(0.025, abs=1e-4)
    assert estimate.std[0] / 0.1 == pytest.approx(1.0, abs=0.05)
    assert fore.physically_consistent


def test_friction_is_found_too(job, tmp_path):
    path = job(('bodies = ["fore"]', 'joints = ["fv1", "fv2"]'), ("fv1 = 0.3\nfv2 = 0.2\n", ""))
    (tmp_path / "arm.urdf").write_text(urdf(**TRUE_ROD))
    estimate = identify(Project.load(path))
    assert estimate.names == ("fv1", "fv2") and estimate.kinds == ("viscous", "viscous")
    assert estimate.status is Status.solved and not estimate.bodies
    away = estimate.values - np.array(list(FRICTION.values()))
    assert np.all(np.abs(away) < 4 * estimate.std) and np.all(estimate.std < 0.05)


@pytest.mark.parametrize("key", ["max_iterations", "max_steps"])
def test_the_limit_of_iterations_has_its_older_name_too(job, key):
    path = job(("speed_noise = 1e-3", f"speed_noise = 1e-3\n{key} = 1"))
    renamed = pytest.warns(FutureWarning, match="write max_iterations = ")
    with nullcontext() if key == "max_iterations" else renamed:
        project = Project.load(path)
    estimate = identify(project)
    assert estimate.status is Status.step_limit and estimate.iterations == 1


def test_a_held_out_recording_is_predicted(job, tmp_path):
    path = job(more=another("other", "validation"))
    write(tmp_path / "other.csv", record(np.random.default_rng(5), phase=1.0))
    estimate = identify(Project.load(path))
    (held_out,) = estimate.validation
    assert held_out.recording == "other"
    assert held_out.relative_error_percent < 1.5 * estimate.fit.relative_error_percent
    alone = identify(Project.load(job()))
    np.testing.assert_allclose(estimate.values, alone.values, rtol=1e-9)  # it is not identified from


def test_several_recordings_share_their_parameters(job, tmp_path):
    write(tmp_path / "again.csv", record(np.random.default_rng(6), phase=2.0))
    one, two = identify(Project.load(job())), identify(Project.load(job(more=another("again"))))
    assert two.rows == 2 * one.rows and [motion.name for motion in two.motions] == ["run", "again"]
    assert_truth(two)
    assert np.all(two.white_std[SEEN] < one.white_std[SEEN])
    assert np.median(two.white_std[SEEN] / one.white_std[SEEN]) == pytest.approx(np.sqrt(0.5), abs=0.1)


# ------------------------------------------------------------------------------------------------- what is read, told


def test_missing_samples_and_slow_sensors(job, rng):
    gone, slow = rng.random(121) < 0.3, np.arange(121) % 5 > 0
    blank = {"q1": gone, "gy": gone, "ax": slow, "ay": slow, "az": slow}
    path = job(('name = "run"', 'name = "run"\ninvalid = "mask"'), blank=blank)
    estimate = identify(Project.load(path))
    assert_truth(estimate)
    assert estimate.rows == 121 * 10 - 2 * gone.sum() - 3 * slow.sum()
    accelerometer = estimate.motions[0].sensors[-1]
    np.testing.assert_array_equal(np.isnan(accelerometer.normalized).any(axis=1), slow)
    assert accelerometer.rms == pytest.approx(1.0, abs=0.25)


def test_commands_that_are_missing_are_refused(job):
    path = job(('name = "run"', 'name = "run"\ninvalid = "mask"'), blank={"tau1": np.arange(121) == 7})
    with pytest.raises(PoinsotError, match="commands are missing at 1 of 121 samples, the first at sample 7"):
        identify(Project.load(path))


def test_an_arm_read_at_its_motors(job, tmp_path):
    """The same motion measured at the motors of a coupled drive gives the same parameters."""
    expected = identify(Project.load(job()))
    path = job()
    N, offset = np.array([[50.0, 0.0], [8.0, -20.0]]), np.array([0.1, -0.5])
    header, *rows = path.with_name("run.csv").read_text().splitlines()
    table = np.array([[float(cell) for cell in row.split(",")] for row in rows])
    table[:, 1:3] = np.rad2deg((np.deg2rad(table[:, 1:3]) - offset) @ N.T)
    table[:, 3:5] = table[:, 3:5] @ N.T
    table[:, 11:13] = np.linalg.solve(N.T, table[:, 11:13].T).T
    np.savetxt(tmp_path / "run.csv", table, delimiter=",", header=header, comments="", fmt="%.17g")
    path.write_text(
        path.read_text()
        + '[drive]\nside = "motor"\nreduction = { turn = 50, swing = -20 }\n'
        + 'couplings = [{ motor = "swing", joint = "turn", ratio = 8 }]\ncoupled_friction = false\n'
        + "position_offset = { turn = 0.1, swing = -0.5 }\n"
    )
    found = identify(Project.load(path))
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-6, atol=1e-9)
    one = path.read_text().replace('["q1", "q2"], unit = "deg"', '["q2"], unit = "deg", joints = ["swing"]')
    path.write_text(one)
    with pytest.raises(
        PoinsotError, match="at the motors' side, so it takes all joints to know one; there is none"
    ):
        identify(Project.load(path))


def test_noise_of_commands_is_part_of_the_model(job, rng):
    """What it does to speeds and accelerometers is accounted for; unsaid, the page doubts the sensors."""
    noisy = record(np.random.default_rng(11))
    noisy.torque[:] += 0.3 * rng.standard_normal(noisy.torque.shape)
    told = ("accelerometer = 0.05 }", "accelerometer = 0.05, torque = 0.3 }")
    said, unsaid = (identify(Project.load(job(*each, recorded=noisy))) for each in ((told,), ()))
    assert any("chi-square" in finding.message for finding in unsaid.findings)
    assert not any("chi-square" in finding.message for finding in said.findings)
    fits = {estimate: estimate.motions[0].sensors[-1].rms for estimate in (said, unsaid)}
    assert fits[said] < 1.3 and fits[unsaid] > 1.3 * fits[said]


def test_where_to_start(job, tmp_path):
    first = identify(Project.load(job()))
    from poinsot import write_estimate

    write_estimate(first, tmp_path / "first.json")
    again = identify(
        Project.load(job(("speed_noise = 1e-3", 'speed_noise = 1e-3\nstart_from = "first.json"')))
    )
    np.testing.assert_allclose(again.convergence.values[0], first.values, rtol=1e-9)
    assert again.iterations < first.iterations
    np.testing.assert_allclose(again.values[SEEN], first.values[SEEN], rtol=1e-4)


def test_a_first_state_that_is_known(job):
    loose = identify(Project.load(job()))
    known = identify(
        Project.load(job(("speed_noise = 1e-3", "speed_noise = 1e-3\nstart_std = [1e-5, 1e-4]")))
    )
    for name, std in (("std.position.turn", 1e-5), ("std.velocity.swing", 1e-4)):
        assert known.motions[0].path[name][0] <= 1.1 * std < 3 * std < loose.motions[0].path[name][0]


@pytest.mark.parametrize(
    "setting", ['chart = "exponential-eigenvalue"', "speed_noise = [1e-3, 1e-3]",
                "speed_noise = { turn = 1e-3, swing = 1e-3 }"]
)  # fmt: skip
def test_other_ways_to_the_same_place(job, setting):
    changed = (
        ("speed_noise = 1e-3", setting)
        if "speed_noise" in setting
        else ("speed_noise = 1e-3", f"speed_noise = 1e-3\n{setting}")
    )
    expected, found = identify(Project.load(job())), identify(Project.load(job(changed)))
    np.testing.assert_allclose(found.values[SEEN], expected.values[SEEN], rtol=1e-4)


def test_a_window_and_a_name_of_its_own_for_the_noise_of_a_frame(job):
    path = job(
        ('name = "run"', 'name = "run"\nwindow_s = [0.3, 1.1]'),
        ("gyro = 5e-3", '"gyro.imu" = [5e-3, 5e-3, 5e-3]'),
    )
    estimate = identify(Project.load(path))
    assert len(estimate.motions[0].path) == 80 and estimate.motions[0].path.time[0] == pytest.approx(0.3)
    assert_truth(estimate)


# ------------------------------------------------------------------------------------------------------- the command


def test_the_command_writes_page_result_and_motion(poinsot, job, tmp_path, recorded):
    code, out, err = poinsot("identify", job(more=KNOWN), "--out", tmp_path / "out")
    assert (code, err) == (0, "") and "m.fore" in out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "motion.npz",
        "poinsot.manifest.json",
        "report.html",
        "result.json",
    }
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    (motion,) = result["motions"]
    assert motion["recording"] == "run" and motion["samples"] == 121 and motion["contacts"] == []
    assert [sensor["name"] for sensor in motion["sensors"]] == [
        "joint positions", "joint velocities", "gyro at 'imu'", "accelerometer at 'imu'"
    ]  # fmt: skip
    assert all(sensor["rms"] == pytest.approx(1.0, abs=0.15) for sensor in motion["sensors"])
    convergence = result["convergence"]
    assert len(convergence["cost"]) == result["iterations"] + 1 == len(convergence["parameters"]["m.fore"])
    assert convergence["cost"][-1] < convergence["cost"][0]
    assert convergence["infeasibility"][-1] < 1e-6 < convergence["infeasibility"][0]
    path = read_recording(tmp_path / "out" / "motion.npz")
    for k, joint in enumerate(("turn", "swing")):
        away = (path[f"position.{joint}"] - recorded.q[:, k]) / path[f"std.position.{joint}"]
        assert path.units[f"position.{joint}"] == "rad" and 0.4 < np.sqrt(np.mean(away**2)) < 1.6
    page = (tmp_path / "out" / "report.html").read_text()
    assert all(title in page for title in ("Motion and sensors", "Convergence"))


def test_ctrl_c_ends_with_what_there_is(job):
    path, said = job(), []

    def say(now: Progress) -> None:
        said.append(now)
        if now.iteration == 1:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    estimate = identify(Project.load(path), progress=say)
    assert estimate.status is Status.interrupted and estimate.iterations == 1
    assert signal.getsignal(signal.SIGINT) is before
    assert np.isfinite(estimate.values).all() and len(estimate.convergence.cost) == 2


def test_the_command_says_that_it_was_interrupted(poinsot, job, tmp_path, monkeypatch):
    @contextmanager
    def pressed(**_):
        yield lambda: True

    monkeypatch.setattr("poinsot.project.job.stoppable", pressed)
    code, _, err = poinsot("identify", job(), "--out", tmp_path / "out")
    assert code == 130 and "interrupted; what was found until then is written" in err
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["status"]["name"] == "interrupted" and result["iterations"] == 0


# --------------------------------------------------------------------------------------------------------- bad input

GYRO = 'gyro = { frame = "imu", columns = ["gx", "gy", "gz"], unit = "rad/s" }'
TORQUE = 'torque = { columns = ["tau1", "tau2"], unit = "N m" }\n'
TOUCH = 'contact = { frames = ["imu"], columns = ["gx"], unit = "N" }\n'
SPEED = "speed_noise = 1e-3"
BAD = {
    "a frame that does not exist": (
        [(GYRO, GYRO.replace('"imu"', '"inu"'))],
        "no frame 'inu'; did you mean 'imu'",
    ),
    "no commands": (
        [(TORQUE, "")],
        "has no torque.turn, torque.swing: the dynamics need the command or the measured effort",
    ),
    "noise of 0": ([("gyro = 5e-3", "gyro = 0")], "gyro"),
    "negative noise": ([("gyro = 5e-3", "gyro = -1.0")], "gyro"),
    "noise that is no number": ([("gyro = 5e-3", "gyro = nan")], "gyro"),
    "noise of too many axes": ([("gyro = 5e-3", "gyro = [1e-3, 1e-3]")], "one standard deviation, 3 of them"),
    "noise is missing": (
        [("gyro = 5e-3, ", "")],
        "has gyro, and noise has no standard deviation for it: give gyro = ",
    ),
    "noise of nothing": ([("gyro = 5e-3", "gyro = 5e-3, giro = 1.0")], "names 'giro'; did you mean 'gyro'"),
    "noise of another frame": ([("gyro = 5e-3", 'gyro = 5e-3, "gyro.fore" = 1.0')], "names 'gyro.fore'"),
    "no speed noise": ([(SPEED, "")], "process noise is missing: give speed_noise"),
    "speed noise of 0": ([(SPEED, "speed_noise = 0.0")], "process noise needs a standard deviation"),
    "negative speed noise": ([(SPEED, "speed_noise = -1.0")], "standard deviations must be at least 0"),
    "speed noise of three": ([(SPEED, "speed_noise = [1.0, 1.0, 1.0]")], "3 numbers for 2"),
    "speed noise of no joint": ([(SPEED, "speed_noise = { turm = 1.0 }")], "turm"),
    "start that is exact": (
        [(SPEED, f"{SPEED}\nstart_std = [0.0, 1.0]")],
        "start_std needs two numbers above 0",
    ),
    "one sample": ([('name = "run"', 'name = "run"\nwindow_s = [0.5, 0.505]')], "holds 0 samples"),
    "no body": ([('bodies = ["fore"]', 'bodies = ["four"]')], "no body 'four'; did you mean 'fore'"),
    "smoothing": (
        [("[held]", '[preprocessing]\nmethod = "random-walk"\n[held]')],
        "samples as they were read",
    ),
    "contacts unsaid": ([("[held]", '[contacts]\npoints = ["imu"]\n[held]')], "does not say when imu touch"),
    "contacts undescribed": ([(GYRO, TOUCH)], "no [contacts] says what they are"),
    "contacts of nothing": ([(GYRO, TOUCH), ("[held]", "[contacts]\n[held]")], "[contacts] names no frame"),
    "an unknown foot": (
        [(GYRO, TOUCH), ("[held]", '[contacts]\npoints = ["fore"]\ncloses_above = 1\n[held]')],
        "no contact frame 'imu'",
    ),
    "an impossible body": (
        [("[held]", '[priors]\n"m.fore" = { mean = -1, std = 0.1 }\n[held]')],
        "no possible body has m.fore = -1",
    ),
    "a prior of nothing": (
        [("[held]", '[priors]\n"m.four" = { mean = 1, std = 0.1 }\n[held]')],
        "nothing can be known of 'm.four'; did you mean 'm.fore'",
    ),
    "a prior that is no number": (
        [("[held]", '[priors]\n"m.fore" = { mean = nan, std = 0.1 }\n[held]')],
        "finite",
    ),
    "half an accelerometer": (
        [('columns = ["ax", "ay", "az"]', 'columns = ["ax", "ay"]')],
        "needs 3 columns, but has 2",
    ),
    "held of nothing": ([("fv1 = 0.3", "fv7 = 0.3")], "fv7"),
    "no file to start from": ([(SPEED, f'{SPEED}\nstart_from = "none.json"')], "none.json"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_is_one_sentence(poinsot, job, name):
    replacements, sentence = BAD[name]
    code, out, err = poinsot("identify", job(*replacements))
    assert (code, out) == (2, "")
    assert sentence in err and len(err.strip().splitlines()) == 1 and "Traceback" not in err


def test_sections_for_optimal_estimation_alone(poinsot, job):
    raw = METHOD.strip().splitlines()
    least = "\n".join(['[preprocessing]\nmethod = "none"', '[method]\nname = "least-squares"'])
    code, _, err = poinsot("identify", job(("\n".join(raw), least)))
    methods = '"leg-odometry" or "optimal-estimation" or "moving-horizon"'
    assert code == 2 and f'method = "none" is for [method] name = {methods}' in err


@pytest.mark.parametrize("seed", range(5))
def test_residuals_that_last_are_found(job, seed):
    """A bias of two standard deviations of one component adds up over time; noise does not."""
    clean, biased = (record(np.random.default_rng(seed)) for _ in range(2))
    biased.readings["accelerometer"][:, 0] += 2 * recorded_arm.NOISE["accelerometer"]
    causes = [
        {each.cause for each in identify(Project.load(job(recorded=it))).findings} for it in (clean, biased)
    ]
    assert causes[0] == set() and "correlated-residuals" in causes[1]
