"""`poinsot identify` of a mechanism: a pendulum on a motor, of which an angle and a torque were recorded."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from poinsot.estimate import EstimatedMotions, Status, Trust
from poinsot.exceptions import InvalidSignals
from poinsot.project import Project, identify
from references.replacing import replaced

M, L, J, DRAG, DRY, GRAVITY = 0.4, 0.25, 0.004, 2e-3, 5e-3, 9.81
NOISE, ZERO, PERIOD, SAMPLES = 1e-3, 0.03, 0.01, 400

MECHANISM = """
[mechanism]
name = "swing"

[[mechanism.bodies]]
name = "rod"
mass = 0.4
center = [0, 0, -0.25]
inertia = [0.006, 0.004, 0.003]

[[mechanism.joints]]
name = "pivot"
child = "rod"
axis = [1, 0, 0]
friction = { level = 1e-3, stick_drag = 2.0 }
motor = {}
"""

RECORDING = """
[[recordings]]
name = "NAME"
path = "NAME.csv"
time = { column = "t", unit = "s" }
position = { columns = ["angle"], unit = "rad" }
torque = { columns = ["torque"], unit = "N m" }
"""

METHOD = """
[method]
name = "joint-smoothing"
parameters = ["rod.Jxx", "pivot.drag", "pivot.coulomb", "pivot encoder.zero"]
noise = { position = 1e-3 }
weight = 1e9
"""


def swing(seed):
    """t, angle, torque of the true pendulum; the torque is held over each sample."""
    rng = np.random.default_rng(seed)
    times = PERIOD * np.arange(SAMPLES)
    torque = 0.4 * np.sin(2 * np.pi * (0.6 + 0.5 * times / times[-1]) * times)
    x, angles = np.array([0.4 + 0.1 * seed, 0.0]), []

    def rates(_, x, u):
        friction = DRAG * x[1] + DRY * np.tanh(x[1] / 1e-3)
        return [x[1], (u - friction - M * GRAVITY * L * np.sin(x[0])) / (J + M * L**2)]

    for u in torque:
        angles.append(x[0])
        x = solve_ivp(rates, (0, PERIOD), x, args=(u,), rtol=1e-8, atol=1e-10, method="LSODA").y[:, -1]
    return np.column_stack([times, np.array(angles) + ZERO + NOISE * rng.standard_normal(SAMPLES), torque])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("swing")
    for seed, name in enumerate(("one", "two")):
        np.savetxt(folder / f"{name}.csv", swing(seed), delimiter=",", header="t,angle,torque", comments="")
    text = MECHANISM + RECORDING.replace("NAME", "one")
    text += RECORDING.replace("NAME", "two") + 'role = "validation"\n' + METHOD
    (folder / "whole.toml").write_text(text)
    return folder


@pytest.fixture
def job(folder):
    """Writes the job with some text replaced; returns the project file."""
    whole = MECHANISM + RECORDING.replace("NAME", "one")
    whole += RECORDING.replace("NAME", "two") + 'role = "validation"\n' + METHOD

    def job(*replacements):
        (folder / "job.toml").write_text(replaced(whole, *replacements))
        return folder / "job.toml"

    return job


@pytest.fixture(scope="module")
def estimate(folder):
    return identify(Project.load(folder / "whole.toml"))


def test_what_it_is(estimate):
    assert estimate.status is Status.solved and estimate.identifiable.all() and not estimate.warnings
    truth = np.array([J, DRAG, DRY, ZERO])
    np.testing.assert_array_less(np.abs(estimate.values - truth), 4 * estimate.std)
    np.testing.assert_array_less(estimate.std, [0.1 * J, 0.1 * DRAG, 0.1 * DRY, 1e-3])
    assert estimate.units == ("kg m^2", "N m s/rad", "N m", "rad")
    assert estimate.certificate().holds
    (rod,) = estimate.bodies
    assert (
        rod.name == "rod"
        and rod.physically_consistent
        and rod.inertia_at_com[0, 0] == pytest.approx(estimate["rod.Jxx"], rel=1e-14)
    )  # there and back through the inertia about the origin


def test_motors_without_commands_have_no_error(folder):
    """Of a motion that no motor drives there is no effort to be relative to."""
    rows = (folder / "two.csv").read_text().splitlines()
    undriven = [rows[0], *(",".join([*row.split(",")[:2], "0"]) for row in rows[1:])]
    (folder / "free.csv").write_text("\n".join(undriven))
    text = MECHANISM + RECORDING.replace("NAME", "one")
    text += RECORDING.replace("NAME", "free") + 'role = "validation"\n' + METHOD
    (folder / "free.toml").write_text(text)
    (held_out,) = identify(Project.load(folder / "free.toml")).validation
    assert held_out.recording.startswith("free, predicted over")


def test_how_it_moved(estimate):
    (motion,) = estimate.motions
    path = motion.path
    assert set(path.channels) == {
        "position.pivot",
        "velocity.pivot",
        "std.position.pivot",
        "std.velocity.pivot",
    }
    assert 0 < path["std.position.pivot"].max() < NOISE and motion.sensors[0].rms == pytest.approx(
        1, abs=0.15
    )
    assert estimate.fit.recording == "one"
    held_out, efforts = estimate.validation
    assert held_out.recording.startswith("two, predicted over 0.6") and efforts.recording == "two, efforts"
    # states that did not see what is predicted add to the noise of the readings
    assert all(NOISE / 1.2 < fit.rms_per_joint[0] < 2 * NOISE for fit in (estimate.fit, held_out))
    assert efforts.joints == ("torque.pivot",) and efforts.units == ("N m",)
    assert efforts.relative_error_percent < 1


def test_friction_is_a_curve_with_its_uncertainty(estimate):
    (curve,) = estimate.friction_curves
    truth = DRAG * curve.speed + DRY * np.sign(curve.speed)
    assert curve.joint == "pivot" and curve.unit == "N m" and (curve.std[curve.speed != 0] > 0).all()
    assert (np.abs(curve.effort - truth) <= 4 * curve.std).all()


def test_the_page_and_the_files(poinsot, job, tmp_path):
    code, out, err = poinsot("identify", job(), "--out", tmp_path)
    assert (code, err) == (0, "") and "rod.Jxx" in out
    page = (tmp_path / "report.html").read_text()
    assert all(title in page for title in ("Friction", "Motion and sensors", "Convergence", "Validation"))
    result = json.loads((tmp_path / "result.json").read_text())
    (curve,) = result["friction_curves"]
    assert set(curve) == {"joint", "unit", "speed", "effort", "std"}
    assert result["motions"][0]["disturbances"][0]["name"] == "impulse.pivot"
    assert (tmp_path / "motion.npz").exists()


def test_the_weight_is_chosen_by_what_it_predicts(job):
    """The model lacks nothing: a weight with which steps hardly give way, and the estimate that it should give."""
    found = identify(Project.load(job(("weight = 1e9", 'weight = "auto"'))))
    (why,) = [
        note for note in found.notes if note.startswith("The weight was chosen from the recordings. If")
    ]
    (used,) = [note for note in found.notes if note.startswith("Residuals of steps have the weight")]
    chosen = float(re.search(r"the weight (\S+):", used)[1])
    told = re.search(r"best with (\S+), to (\S+) % of their spread(?:; with the chosen (\S+) to)?", why)
    assert float(told[3] or told[1]) == pytest.approx(chosen, rel=0.05)
    assert chosen > 1e9, found.notes
    np.testing.assert_array_less(np.abs(found.values - [J, DRAG, DRY, ZERO]), 4 * found.std)
    assert found.trust is Trust.trusted, found.findings


def test_missing_readings_are_not_imputed(folder, job):
    """One reading in sixteen: figures are those of the readings that there are."""
    table = swing(0)
    table[np.arange(SAMPLES) % 16 != 0, 1] = np.nan
    np.savetxt(folder / "one.csv", table, delimiter=",", header="t,angle,torque", comments="")
    try:
        found = identify(Project.load(job(("[[recordings]]", '[[recordings]]\ninvalid = "mask"'))))
    finally:
        np.savetxt(folder / "one.csv", swing(0), delimiter=",", header="t,angle,torque", comments="")
    fit = found.fit
    read, z = np.isfinite(fit.measured[:, 0]), np.interp(fit.time, table[:, 0], table[:, 1])
    assert 0.7 * SAMPLES / 16 < read.sum() <= SAMPLES / 16 and fit.readings_per_joint.tolist() == [read.sum()]
    assert (np.isin(np.round(fit.time[read] / PERIOD) % 16, 0)).all()
    e = (fit.measured - fit.predicted)[read, 0]
    np.testing.assert_allclose(fit.measured[read, 0], z[read], atol=1e-12)
    assert fit.relative_error_percent == pytest.approx(
        100 * np.linalg.norm(e) / np.linalg.norm(z[read] - z[read].mean()), rel=1e-6
    )
    centred = e - e.mean()
    assert fit.whiteness[0].lag1 == pytest.approx(centred[1:] @ centred[:-1] / (centred @ centred), abs=1e-9)
    assert found.rows == SAMPLES // 16


def test_a_certificate_is_of_the_values_and_motions_that_it_is_asked_of(estimate):
    assert estimate.certificate().holds
    for place in range(len(estimate.names)):
        values = estimate.values.copy()
        values[place] += estimate.std[place]
        assert not estimate.updated(values=values).certificate().holds, estimate.names[place]
    below = estimate.values.copy()
    below[1] = -1e-3  # a drag below 0
    assert not estimate.updated(values=below).certificate().feasible
    (motion,) = estimate.motions
    path = motion.path
    moved = replace(path, channels={**path.channels, "position.pivot": path["position.pivot"] + 1e-3})
    other = estimate.updated(EstimatedMotions((replace(motion, path=moved),)))
    assert not other.certificate().holds


def test_a_condition_number_is_of_the_jacobian(estimate):
    """Its square would be the information's; columns in units of one standard deviation are within 1 and some 100."""
    scaled = estimate.white_std
    assert scaled is not None and 1 <= estimate.scaled_condition_number < 100
    assert estimate.scaled_condition_number <= estimate.condition_number
    assert estimate.condition_number < 100 * scaled.max() / scaled.min()


def test_stopped_it_has_what_was_found(folder):
    """Between iterations and between weights."""
    asked, reports = [], []

    def stop():
        asked.append(True)
        return len(asked) > 2

    found = identify(Project.load(folder / "whole.toml"), progress=reports.append, stop=stop)
    assert found.status is Status.interrupted and not found.status.converged and found.iterations == 2
    assert [each.iteration for each in reports if each.stage == "iterating"] == [1, 2]
    assert found.validation == () and np.isfinite(found.values).all()


def test_from_a_description(folder, job):
    (folder / "swing.urdf").write_text(
        '<robot name="swing"><link name="base"/><link name="rod"><inertial><origin xyz="0 0 -0.25"/>'
        '<mass value="0.4"/><inertia ixx="0.006" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.003"/></inertial></link>'
        '<joint name="pivot" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="1 0 0"/></joint>'
        "</robot>"
    )
    described = '\n[mechanism]\npath = "swing.urdf"\n'
    details = "details = { pivot = { friction = { level = 1e-3, stick_drag = 2.0 } } }\n"
    found = identify(Project.load(job((MECHANISM, described + details))))
    np.testing.assert_array_less(np.abs(found.values - [J, DRAG, DRY, ZERO]), 4 * found.std)


def test_what_is_held_and_what_is_known(job):
    changes = ('"pivot.drag", "pivot.coulomb", ', '"pivot.drag", ')
    known = '[held]\n"pivot.coulomb" = 5e-3\n[priors]\n"pivot.drag" = { mean = 2e-3, std = 1e-7 }\n[method]'
    found = identify(Project.load(job(changes, ("[method]", known))))
    assert "pivot.coulomb" not in found.names
    assert found["pivot.drag"] == pytest.approx(2e-3, abs=1e-6)


def test_each_recording_may_have_a_zero_of_its_own(folder, job):
    """Differences of zeros as of a rotary pendulum whose encoder counts from where it was switched on."""
    zeros = {"early": ZERO + 0.09, "late": ZERO - 0.05}
    for name, zero in zeros.items():
        t, angle, torque = swing({"early": 2, "late": 3}[name]).T
        data = np.column_stack([t, angle + zero - ZERO, torque])
        np.savetxt(folder / f"{name}.csv", data, delimiter=",", header="t,angle,torque", comments="")
    second = RECORDING.replace("NAME", "early") + "[method]"
    held_out = RECORDING.replace("NAME", "two") + 'role = "validation"\n'
    third = RECORDING.replace("NAME", "late") + 'role = "validation"\n'
    own = 'weight = 1e9\nper_recording = ["pivot encoder.zero"]'
    found = identify(Project.load(job(("weight = 1e9", own), (held_out, third), ("[method]", second))))
    truth = dict(zip(found.names, [J, DRAG, DRY, ZERO, zeros["early"]], strict=True))
    assert list(truth)[3:] == ["pivot encoder in one.zero", "pivot encoder in early.zero"]
    np.testing.assert_array_less(np.abs(found.values - [*truth.values()]), 4 * found.std)
    # and the held-out recording, whose zero is a third one, is predicted as the others are
    worst = max(fit.relative_error_percent for fit in found.validation)
    shared = identify(Project.load(job((held_out, third), ("[method]", second))))
    assert worst < 0.2 * max(fit.relative_error_percent for fit in shared.validation)
    refused = ("weight = 1e9", 'weight = 1e9\nper_recording = ["pivot.drag"]')
    with pytest.raises(InvalidSignals, match=r"names 'pivot.drag'.*it may name pivot encoder.zero"):
        identify(Project.load(job(refused)))


BAD = {
    "joints that do not close": ('child = "rod"', 'child = "rod"\nchild_point = [0, 0, 0.1]', "0.1 m apart"),
    "a negative mass": ("mass = 0.4", "mass = -0.4", "mechanism.bodies"),
    "a negative compliance": ("motor = {}", "motor = {}\ncompliance = -1e-8", "compliance"),
    "an impossible body": (
        "inertia = [0.006, 0.004, 0.003]",
        "inertia = [0.006, 0.001, 1e-4]",
        "no real body",
    ),
    "no such joint": (
        'unit = "rad" }',
        'unit = "rad", joints = ["pivto"] }',
        "'pivto'; did you mean 'pivot'",
    ),
    "no such parameter": ('"pivot.drag"', '"pivot.dragg"', "did you mean 'pivot.drag'"),
    "a bound of nothing open": ("weight = 1e9", 'weight = 1e9\nlower = { "rod.mass" = 0.1 }', "'rod.mass'"),
    "noise of nothing": ("position = 1e-3", "positoin = 1e-3", "'positoin'; did you mean 'position'"),
    "no noise": ("{ position = 1e-3 }", "{}", "lacks 'position.pivot'"),
    "nothing moves": ("position = 1e-3", "position = 10.0", "nothing moves in one"),
    "no torque": ('torque = { columns = ["torque"], unit = "N m" }', "", "has no command"),
    "a step that is no multiple": ("weight = 1e9", "weight = 1e9\nstep_s = 0.015", "give a multiple"),
    "a robot too": ("[mechanism]", '[robot]\npath = "x.urdf"\n[mechanism]', "in place of [robot]"),
    "another method": ('"joint-smoothing"', '"optimal-estimation"', "line"),
    "a filter before": ("[method]", '[preprocessing]\nmethod = "random-walk"\n[method]', "as they were read"),
    "held and open": ("[method]", '[held]\n"pivot.drag" = 1.0\n[method]', "delete it from one of them"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_is_one_sentence(poinsot, job, name):
    old, new, sentence = BAD[name]
    code, out, err = poinsot("identify", job((old, new)))
    assert (code, out) == (2, "")
    assert sentence in err and len(err.strip().splitlines()) == 1 and "Traceback" not in err


FRAME = """
[[mechanism.frames]]
name = "tip"
body = "rod"
point = [0, 0.1, -0.5]
"""
AT_TIP = 'frame_position = { frame = "tip", columns = ["x", "y", "z"], unit = "m" }\n'
BAD_FRAMES = {
    "no such frame": (AT_TIP.replace('"tip"', '"tpi"'), FRAME, "names the frame 'tpi'; did you mean 'tip'"),
    "no such body": (AT_TIP, FRAME.replace('"rod"', '"rdo"'), "names body 'rdo'; did you mean 'rod'"),
    "columns": (AT_TIP.replace('"x", ', ""), FRAME, "needs 3 columns, but has 2"),
    "a quaternion of three": (AT_TIP.replace("frame_position", "orientation").replace(', unit = "m"', ""), FRAME,
                              "a quaternion needs 4 columns, but has 3"),
    "no noise": (AT_TIP, FRAME, "method.noise lacks 'frame_position.tip.x'"),
    "no reading of it": (AT_TIP.replace("frame_position", "accelerometer").replace('"m"', '"m/s^2"'), FRAME,
                         "reads no 'accelerometer'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_what_cannot_be_read_at_a_frame_is_one_sentence(poinsot, job, folder, name):
    (folder / "placed.csv").write_text(
        "t,angle,torque,x,y,z\n" + "".join(f"{k / 100},0.{k % 7},0.2,0.5,0.{k % 10},0.3\n" for k in range(50))
    )
    columns, frame, sentence = BAD_FRAMES[name]
    changes = (
        ('path = "one.csv"', 'path = "placed.csv"\n' + columns),
        ("[[recordings]]", frame + "[[recordings]]"),
    )
    code, out, err = poinsot("identify", job(*changes))
    assert (code, out) == (2, "")
    assert sentence in err and len(err.strip().splitlines()) == 1 and "Traceback" not in err


def test_a_command_that_is_cut_off_is_doubted(folder, job):
    table = swing(0)
    table[:, 2] = np.clip(table[:, 2], -0.3, 0.3)
    np.savetxt(folder / "one.csv", table, delimiter=",", header="t,angle,torque", comments="")
    try:
        found = identify(Project.load(job()))
    finally:
        np.savetxt(folder / "one.csv", swing(0), delimiter=",", header="t,angle,torque", comments="")
    assert any("stays at its ends, -0.3 and 0.3" in warning for warning in found.warnings)


def test_a_step_that_is_too_long_is_said_with_its_number(job):
    found = identify(Project.load(job(("weight = 1e9", "weight = 1e6\nstep_s = 0.8"))))
    assert any("longer than half its fastest period of" in each.message for each in found.findings)


def test_without_jax_it_says_what_to_install(job):
    code = "import sys; sys.modules['jax'] = None; from poinsot import cli; sys.exit(cli.main(sys.argv[1:]))"
    run = subprocess.run(
        [sys.executable, "-c", code, "identify", str(job())], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 2 and "poinsot[discrete]" in run.stderr and "Traceback" not in run.stderr
