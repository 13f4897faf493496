"""The project file: what it says becomes robot, recordings and method; what it must not say becomes a sentence."""

import time
from pathlib import Path

import numpy as np
import pytest

from poinsot.exceptions import InvalidProject, NotIdentifiable, PoinsotError, UnreadableFile
from poinsot.project import Project, identify, track
from poinsot.project.settings import Settings
from poinsot.project.toml import line_of
from synthetic_job import DURATION, JOB, RATE, TRUTH, motion, write_job

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture
def job(tmp_path):
    """Writes the job with some text replaced; returns the project file."""

    def job(*replacements: tuple[str, str], **options) -> Path:
        text = JOB
        for old, new in replacements:
            assert old in text, old
            text = text.replace(old, new, 1)
        return write_job(tmp_path, text, **options)

    return job


# ------------------------------------------------------------------------------------------------------------ the truth


@pytest.mark.parametrize("solve", [identify, track])
def test_what_is_no_project_is_one_sentence(solve):
    with pytest.raises(InvalidProject, match="a Project or the path of a project file is needed, not int"):
        Project.of(3)
    with pytest.raises(UnreadableFile, match=r"missing\.toml"):
        solve("missing.toml")


def test_the_truth_is_found_and_predicts_the_other_recording(job):
    estimate = identify(job())
    assert set(estimate.names) == set(TRUTH)
    for name, truth in TRUTH.items():
        std = estimate.std[estimate.names.index(name)]
        # Five deviations for the noise; the filter rounds the corners of the dry friction, which biases it a little.
        assert abs(estimate[name] - truth) < 5 * std + 2e-3 * abs(truth)
    (held_out,) = estimate.validation
    assert held_out.recording == "held out"
    assert held_out.relative_error_percent < 0.2
    assert {"robot", "read", "signals", "regressor", "solve", "validation", "total"} <= set(estimate.seconds)
    stages = sum(value for name, value in estimate.seconds.items() if name != "total")
    assert stages == pytest.approx(estimate.seconds["total"], rel=1e-6)
    assert estimate.settings["project"]["preprocessing"]["cutoff_hz"] == 40
    assert "poinsot" in estimate.versions


def test_it_really_computes_from_the_file(job):
    path = job(noise=0.0)
    once = identify(Project.load(path))
    table = np.loadtxt(path.parent / "run.csv", delimiter=",", skiprows=1)
    table[:, 3:] *= 2
    np.savetxt(
        path.parent / "run.csv", table, delimiter=",", header="t,x,phi,f,tau", comments="", fmt="%.17g"
    )
    twice = identify(Project.load(path))
    np.testing.assert_allclose(twice.values, 2 * once.values, rtol=1e-9)


def test_motor_side_drive_changes_nothing_but_the_coordinates(job):
    """The same motion measured at the motors of a coupled drive gives the same parameters."""
    path = job(noise=0.0)
    expected = identify(Project.load(path))
    N, offset = np.array([[50.0, 0.0], [8.0, -20.0]]), np.array([0.1, -0.5])
    table = np.loadtxt(path.parent / "run.csv", delimiter=",", skiprows=1)
    q = np.column_stack([1e-3 * table[:, 1], np.deg2rad(table[:, 2])])
    tau = np.column_stack([table[:, 3], 1e-3 * table[:, 4]])
    motor = np.column_stack([table[:, 0], (q - offset) @ N.T, np.linalg.solve(N.T, tau.T).T])
    np.savetxt(
        path.parent / "run.csv", motor, delimiter=",", header="t,x,phi,f,tau", comments="", fmt="%.17g"
    )
    text = JOB[: JOB.index('[[recordings]]\nname = "held out"')] + JOB[JOB.index("[preprocessing]") :]
    text = text.replace('unit = ["mm", "deg"]', 'unit = "rad"').replace(
        'unit = ["N", "mN m"]', 'unit = "N m"'
    )
    text += """
[drive]
side = "motor"
reduction = { turn = -20, slide = 50 }
couplings = [{ motor = "turn", joint = "slide", ratio = 8 }]
coupled_friction = false
position_offset = { slide = 0.1, turn = -0.5 }
"""
    path.write_text(text)
    found = identify(Project.load(path))
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-6)


def test_position_offset_has_a_unit(job):
    path = job()
    path.write_text(path.read_text() + '[drive]\nposition_offset = { values = [0.0, 90.0], unit = "deg" }\n')
    robot = Project.load(path).robot()
    np.testing.assert_allclose(robot.train.offset, [0, np.pi / 2])


def test_other_methods_and_friction(job):
    path = job(
        (
            'method = "butterworth-decimation"\ncutoff_hz = 40',
            'method = "random-walk"\norder = 3\nratio = 1e-4',
        ),
        ('name = "least-squares"', 'name = "essential-parameters"\nmax_relative_std_percent = 10'),
    )
    path.write_text(path.read_text() + '[friction]\nlaw = "viscous"\noffset = false\n')
    estimate = identify(Project.load(path))
    assert estimate.method == "essential-parameters"
    assert set(estimate.kinds) == {"inertia", "viscous"}
    assert any("random walk of order 3" in step for step in estimate.steps)


def test_a_walk_with_a_cutoff(job):
    """As wide as the Butterworth filter of that cutoff, so the estimate is nearly the same."""
    butterworth = identify(Project.load(job()))
    for cutoff in ("40", "[40, 40]", "{ turn = 40, slide = 40 }"):
        walk = identify(
            Project.load(
                job(('"butterworth-decimation"\ncutoff_hz = 40', f'"random-walk"\ncutoff_hz = {cutoff}'))
            )
        )
        assert any("for cutoff_hz = 40: accelerations smoothed as" in step for step in walk.steps)
        np.testing.assert_allclose(walk.values, butterworth.values, rtol=0.01)


def test_ratios_by_joint(job):
    ratios = ('"butterworth-decimation"\ncutoff_hz = 40', '"random-walk"\nratio = { turn = 1e-2 }')
    estimate = identify(Project.load(job(ratios)))
    assert any("ratio 1e-05 to 0.01" in step for step in estimate.steps)


# ---------------------------------------------------------------------------------------------------- filters by motion

AUTO = ("cutoff_hz = 40\ndecimate_hz = 20", 'cutoff_hz = "auto"\ndecimate_hz = "auto"')


def test_the_motion_says_which_filters(job):
    path = job()
    (_, seen), (_, held_out) = Project.load(path).inspect()
    assert held_out.filters is None  # nothing is fitted to it
    cutoff_hz, decimate_hz = seen.filters.cutoff_hz, seen.filters.decimate_hz
    assert dict(seen.facts)["proposed cutoff_hz"] == f"{cutoff_hz:g}"
    assert dict(seen.facts)["proposed decimate_hz"] == f"{decimate_hz:g}"
    note = next(finding for finding in seen.findings if "asks for" in finding.message)
    assert note.severity.name == "note"
    assert all(reason in note.message for reason in seen.filters.reasons)

    order = seen.filters.decimation_order
    filters = f"cutoff_hz = {cutoff_hz:g}\ndecimate_hz = {decimate_hz:g}\ndecimation_order = {order}"
    assert (
        f"cutoff_hz = {cutoff_hz:g}, decimate_hz = {decimate_hz:g} and decimation_order = {order}"
        in note.message
    )
    exact = ("[method]", "[accuracy]\nexact = true\n\n[method]")
    asked = identify(Project.load(job((AUTO[0], filters), exact)))
    auto = identify(Project.load(job(AUTO, exact)))
    np.testing.assert_array_equal(auto.values, asked.values)
    assert auto.validation[0].relative_error_percent == asked.validation[0].relative_error_percent
    assert auto.steps == (*seen.filters.reasons, *asked.steps)
    # intervals that contain systematic effects need more rows, and the estimate says which filters it used
    auto = identify(Project.load(job(AUTO)))
    (step,) = [step for step in auto.steps if "for each parameter and systematic effect" in step]
    more, order_too = (
        step.split(", for ")[0].replace(" and ", "\n").replace(", ", "\n"),
        f"decimation_order = {order}",
    )
    asked = identify(Project.load(job((AUTO[0], f"{more}\n{order_too}"))))
    np.testing.assert_allclose(auto.values, asked.values, rtol=1e-4)
    fewer = identify(Project.load(job((AUTO[0], filters))))
    assert len(auto.fit.time) > 2 * len(fewer.fit.time)
    assert auto.settings["project"]["preprocessing"]["cutoff_hz"] == "auto"


@pytest.mark.parametrize("method", ["butterworth-decimation", "random-walk"])
def test_one_filter_may_be_given_and_the_other_not(job, method):
    path = job(("decimate_hz = 20", 'decimate_hz = "auto"'), ("butterworth-decimation", method))
    steps = identify(Project.load(path)).steps
    assert any(step.startswith("decimate_hz = ") for step in steps)
    assert not any(step.startswith("cutoff_hz = ") for step in steps)
    path = job(("cutoff_hz = 40", 'cutoff_hz = "auto"'), ("butterworth-decimation", method))
    steps = identify(Project.load(path)).steps
    assert any(step.startswith("cutoff_hz = ") for step in steps)
    assert not any(step.startswith("decimate_hz = ") for step in steps)


def test_recordings_are_filtered_alike(job):
    """By the largest of what they ask for: the other recording plays three times as fast."""
    path = job(AUTO, ('role = "validation"\n', ""))
    table = np.loadtxt(path.parent / "other.csv", delimiter=",", skiprows=1)
    table[:, 0] /= 3
    np.savetxt(
        path.parent / "other.csv", table, delimiter=",", header="t,x,phi,f,tau", comments="", fmt="%.12g"
    )
    (_, slow), (_, fast) = Project.load(path).inspect()
    assert fast.filters.cutoff_hz > slow.filters.cutoff_hz
    together = f"cutoff_hz = {fast.filters.cutoff_hz:g}, decimate_hz = {fast.filters.decimate_hz:g}"
    together += " and decimation_order = 4"
    assert f"All recordings together ask for {together}, the largest of each." in str(slow)
    steps = identify(Project.load(path)).steps
    assert steps.count(f"{together} for all recordings: the largest of their values") == 2
    assert sum(f"Butterworth of order 4 at {fast.filters.cutoff_hz:g} Hz" in step for step in steps) == 2


def test_filters_of_an_uneven_clock(job):
    """Inspection looks through the unevenness; an estimation wants to be told."""
    path = job(AUTO)
    table = np.loadtxt(path.parent / "run.csv", delimiter=",", skiprows=1)
    np.savetxt(
        path.parent / "run.csv", np.delete(table, 700, axis=0), delimiter=",", header="t,x,phi,f,tau", comments="",
        fmt="%.12g",
    )  # fmt: skip
    (_, seen), _ = Project.load(path).inspect()
    assert seen.filters is not None
    with pytest.raises(PoinsotError, match="needs a uniform clock, which 'run' lacks: set resample_hz"):
        identify(Project.load(path))


def test_too_short_for_a_spectrum(job):
    path = job(AUTO, ('path = "run.csv"', 'path = "run.csv"\nbetween_s = [0, 0.1]'))
    (_, seen), _ = Project.load(path).inspect()
    assert "No filter can be proposed: 50 samples are too few for a spectrum" in str(seen)
    with pytest.raises(PoinsotError, match=r"finds nothing in recording 'run': 50 samples .*; give a number"):
        identify(Project.load(path))


# ------------------------------------------------------------------------------------------------- parts and standstill


def test_a_part_of_a_recording(job):
    """What lies outside is as if it had not been recorded: here it is spoiled."""
    path = job(('path = "run.csv"', 'path = "run.csv"\nbetween_s = [1, 6]'))
    table = np.loadtxt(path.parent / "run.csv", delimiter=",", skiprows=1)
    outside = (table[:, 0] < 1000) | (table[:, 0] >= 6000)
    table[outside, 1:] = 1e6
    np.savetxt(
        path.parent / "run.csv", table, delimiter=",", header="t,x,phi,f,tau", comments="", fmt="%.12g"
    )
    estimate = identify(Project.load(path))
    assert estimate["m1"] == pytest.approx(TRUTH["m1"], rel=1e-2)
    assert "took 1 s to 6 s: 2500 of 4000 samples" in estimate.steps


def test_both_sides_of_a_gap(job):
    """What inspection advises works: no filter reaches across."""
    head, tail = JOB.index("[[recordings]]"), JOB.index('[[recordings]]\nname = "held out"')
    entry = JOB[head:tail]
    path = job()
    table = np.loadtxt(path.parent / "run.csv", delimiter=",", skiprows=1)
    table[2000:, 0] += 1000.0  # the robot waited a second, and nobody logged
    np.savetxt(
        path.parent / "run.csv", table, delimiter=",", header="t,x,phi,f,tau", comments="", fmt="%.12g"
    )
    (_, seen), _ = Project.load(path).inspect()
    (gap,) = (finding for finding in seen.findings if finding.cause == "lost-samples")
    assert "between_s = [0, 5] and [5, 8.998]" in gap.remedy
    parts = [entry.replace('name = "run"\n', f"between_s = {part}\n") for part in ("[0, 5]", "[5, 8.998]")]
    path.write_text(JOB[:head] + "".join(parts) + JOB[tail:])
    assert identify(Project.load(path))["m1"] == pytest.approx(TRUTH["m1"], rel=1e-2)


def stand_still(path, columns=(1, 2), noise=1e-3):
    """Replace positions by noise."""
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    for column in columns:
        table[:, column] = 0.7 + noise * np.random.default_rng(2).standard_normal(len(table))
    np.savetxt(path, table, delimiter=",", header="t,x,phi,f,tau", comments="", fmt="%.12g")


@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_a_standstill_identifies_nothing(job, noise):
    path = job()
    stand_still(path.parent / "run.csv", noise=noise)
    with pytest.raises(NotIdentifiable, match=r"^nothing moves in 'run': .* check their columns and units"):
        identify(Project.load(path))


def test_a_window_over_a_standstill(job):
    path = job(('path = "run.csv"', 'path = "run.csv"\nwindow_s = [2, 3]'))
    table = np.loadtxt(path.parent / "run.csv", delimiter=",", skiprows=1)
    table[900:1600, 1:3] = table[900, 1:3]
    np.savetxt(
        path.parent / "run.csv", table, delimiter=",", header="t,x,phi,f,tau", comments="", fmt="%.12g"
    )
    with pytest.raises(NotIdentifiable, match="nothing moves in 'run'"):
        identify(Project.load(path))


def test_a_recording_among_others_that_stands_still(job):
    path = job()
    stand_still(path.parent / "other.csv")
    (warning,) = identify(Project.load(path)).warnings
    assert warning == "Nothing moves in held out: it determines no friction or inertia of any joint."


def test_a_joint_that_never_moves_is_warned_of(job):
    path = job()
    stand_still(path.parent / "run.csv", columns=(2,))
    assert any(
        warning.startswith("turn never moved in the recordings that were identified from")
        for warning in identify(Project.load(path)).warnings
    )


def test_inspection_knows_what_is_passive(job):
    path = job(
        (', "phi"], unit = ["mm", "deg"] }\ntorque = { columns = ["f", "tau"], unit = ["N", "mN m"] }',
         ', "phi"], unit = ["mm", "deg"] }\ntorque = { columns = ["f"], unit = "N" }'),
        (', "phi"], unit = ["mm", "deg"] }\ntorque = { columns = ["f", "tau"], unit = ["N", "mN m"] }',
         ', "phi"], unit = ["mm", "deg"] }\ntorque = { columns = ["f"], unit = "N" }'),
    )  # fmt: skip
    path.write_text(path.read_text() + '\n[drive]\npassive = ["turn"]\n')
    assert all(inspection.harmless for _, inspection in Project.load(path).inspect())


def test_resampling_and_delays(job):
    path = job(
        ("decimate_hz = 20", "decimate_hz = 20\nresample_hz = 400\ndelays = { torque = 0.01 }"), noise=0.0
    )
    for file in ("run.csv", "other.csv"):
        table = np.loadtxt(path.parent / file, delimiter=",", skiprows=1)
        table[5:, 3:] = table[:-5, 3:]  # 5 samples at 500 Hz: 10 ms late
        rows = np.random.default_rng(3).uniform(size=len(table)) > 0.02
        np.savetxt(
            path.parent / file,
            table[rows][10:],
            delimiter=",",
            header="t,x,phi,f,tau",
            comments="",
            fmt="%.12g",
        )
    estimate = identify(Project.load(path))
    assert estimate["m1"] == pytest.approx(TRUTH["m1"], rel=5e-3)
    steps = " ".join(estimate.steps)
    assert "resampled" in steps
    assert "corrected delays: torque by 10 ms" in steps


def test_held_parameters_and_priors(job):
    path = job()
    path.write_text(path.read_text() + "\n[held]\nm1 = 4.0\n\n[priors]\nfv2 = { mean = 1.5, std = 0.001 }\n")
    estimate = identify(Project.load(path))
    assert "m1" not in estimate.names
    assert estimate["fv2"] == pytest.approx(1.5, abs=0.002)


def test_an_npz_brings_its_own_channels(job):
    from poinsot import write_recording
    from poinsot.recording import Recording

    path = job()
    t = np.arange(int(RATE * DURATION)) / RATE
    q, v, a = motion(t, 0.0)
    channels = {"position.slide": q[:, 0], "position.turn": q[:, 1],
                "torque.slide": 4 * a[:, 0] + 7 * v[:, 0], "torque.turn": 0.8 * a[:, 1]}  # fmt: skip
    write_recording(
        Recording(t, channels, dict(zip(channels, ("m", "rad", "N", "N m"), strict=True))),
        path.parent / "run.npz",
    )
    head, tail = JOB.index("[[recordings]]"), JOB.index("[preprocessing]")
    path.write_text(JOB[:head] + '[[recordings]]\npath = "run.npz"\n\n' + JOB[tail:])
    assert identify(Project.load(path))["m1"] == pytest.approx(4.0, rel=1e-3)


def test_recordings_may_lie_elsewhere(job, tmp_path):
    path = job()
    data = tmp_path / "data"
    data.mkdir()
    for name in ("run.csv", "other.csv", "table.urdf"):
        (tmp_path / name).rename(data / name)
    project = Project.load(path)
    with pytest.raises(UnreadableFile, match="no robot description"):
        identify(project)
    assert identify(project, data)["m1"] == pytest.approx(4.0, rel=1e-2)


def test_inspection_knows_the_limits_of_the_model(job):
    path = job()
    (run, inspection), _ = Project.load(path).inspect()
    assert run.name == inspection.name == "run"
    assert [channel.speed_limit for channel in inspection.channels[:2]] == [20.0, 30.0]
    assert not [finding for finding in inspection.findings if finding.severity]


# ------------------------------------------------------------------------------------------------- bad project files

BAD = {
    "unknown key": (
        ("cutoff_hz = 40", "cutof_hz = 40"),
        21,
        "unknown key 'cutof_hz'; did you mean 'cutoff_hz'?",
    ),
    "unknown section": (("[method]", "[methods]"), 24, "unknown key 'methods'; did you mean 'method'?"),
    "unknown unit": (('"mm", "deg"', '"mm", "degree"'), 8, "unknown unit 'degree'; did you mean 'deg'?"),
    "unit of another quantity": (('unit = ["N", "mN m"]', 'unit = "A"'), 9, "a torque is not measured in it"),
    "unit of the clock": (('unit = "ms"', 'unit = "mm"'), 7, "a clock is not measured in 'mm'"),
    "unit of no type": (
        ('unit = "ms"', "unit = 5"),
        7,
        "recordings[0].time.unit: must be text in quotes, not 5",
    ),
    "missing key": (("cutoff_hz = 40\n", ""), 19, "the key 'cutoff_hz' is missing"),
    "missing section": (("[preprocessing]", "[output]"), 1, "the key 'preprocessing' is missing"),
    "missing method": (('method = "butterworth-decimation"\n', ""), 19, "the key 'method' is missing"),
    "wrong method": (("butterworth-decimation", "butterworth"), 20, "did you mean 'butterworth-decimation'?"),
    "wrong estimator": (("least-squares", "least squares"), 25, "did you mean 'least-squares'?"),
    "wrong role": (
        ('role = "validation"', 'role = "valid"'),
        13,
        "must be 'identification' or 'validation', not 'valid'",
    ),
    "text for a number": (
        ("cutoff_hz = 40", 'cutoff_hz = "40"'),
        21,
        "preprocessing.cutoff_hz: must be a number or \"auto\", not '40'",
    ),
    "decimation in words": (
        ("decimate_hz = 20", 'decimate_hz = "automatic"'),
        22,
        "preprocessing.decimate_hz: must be a number or \"auto\", not 'automatic'",
    ),
    "walk with ratio and cutoff": (
        ('"butterworth-decimation"\ncutoff_hz = 40', '"random-walk"\ncutoff_hz = 40\nratio = 1e-5'),
        22,
        "give cutoff_hz or ratio, not both",
    ),
    "cutoff of a walk in words": (
        ('"butterworth-decimation"\ncutoff_hz = 40', '"random-walk"\ncutoff_hz = "maximum-likelihood"'),
        21,
        'must be a number, a list with one per joint, or "auto"',
    ),
    "floating base": (
        ('path = "table.urdf"', 'path = "table.urdf"\nfloating_base = true'),
        3,
        "robot.floating_base: must be false: 'least-squares' needs the motion of the base; give [method] name = "
        '"optimal-estimation"',
    ),
    "order": (("cutoff_hz = 40", "cutoff_hz = 40\norder = 21"), 22, "must be at most 20, not 21"),
    "ratio of a walk": (
        ('"butterworth-decimation"\ncutoff_hz = 40', '"random-walk"\nratio = [1e-5, 1e-300]'),
        21,
        "preprocessing.ratio: must lie between 1e-30 and 1e+06, not 1e-300",
    ),
    "negative cutoff of a walk": (
        ('"butterworth-decimation"\ncutoff_hz = 40', '"random-walk"\ncutoff_hz = { slide = -1 }'),
        21,
        "preprocessing.cutoff_hz: must be greater than 0, not -1",
    ),
    "negative cutoff": (("cutoff_hz = 40", "cutoff_hz = -40"), 21, "must be greater than 0"),
    "infinite cutoff": (("cutoff_hz = 40", "cutoff_hz = inf"), 21, "must be a finite number"),
    "number for text": (('path = "table.urdf"', "path = 3"), 2, "robot.path: must be text in quotes, not 3"),
    "section for a list": (
        ('[[recordings]]\nname = "run"', "[[recordings]]\nfiles = 3"),
        5,
        "must be a list in square brackets",
    ),
    "no file": (('path = "run.csv"\n', ""), 4, "a recording needs a path, or [[recordings.files]]"),
    "columns as a number": (('columns = ["x", "phi"]', "columns = 2"), 8, "must be a list of column names"),
    "a column twice": (('columns = ["x", "phi"]', 'columns = ["x", "x"]'), 8, "columns: names 'x' twice"),
    "rate in a file": (
        ('time = { column = "t", unit = "ms" }', 'files = [{ path = "a.csv", rate_hz = 3 }]'),
        7,
        "a rate belongs to the recording",
    ),
    "keys of two kinds": (
        ('time = { column = "t", unit = "ms" }', 'files = [{ path = "a.csv" }]'),
        6,
        "'path' belongs into [[recordings.files]]",
    ),
    "window reversed": (
        ('path = "run.csv"', 'path = "run.csv"\nwindow_s = [3, 1]'),
        7,
        "window_s must end after it starts",
    ),
    "part reversed": (
        ('path = "run.csv"', 'path = "run.csv"\nbetween_s = [3, 1]'),
        7,
        "between_s must end after it starts",
    ),
    "window of one": (
        ('path = "run.csv"', 'path = "run.csv"\nwindow_s = [3]'),
        7,
        "must be a pair [first, last]",
    ),
    "syntax": (("cutoff_hz = 40", "cutoff_hz = 40 Hz"), 21, "not valid TOML"),
    "open string": (('path = "table.urdf"', 'path = "table.urdf'), 2, "not valid TOML"),
    "open table": (("[robot]", "[robot"), 1, "not valid TOML"),
    "a key twice": (("cutoff_hz = 40", "cutoff_hz = 40\ncutoff_hz = 41"), 22, "not valid TOML"),
    "resampling in the recording": (
        ('path = "run.csv"', 'path = "run.csv"\nresample_hz = 10'),
        7,
        "asked for in [preprocessing]",
    ),
    "gravity of two": (
        ('path = "table.urdf"', 'path = "table.urdf"\ngravity = [0, 0]'),
        3,
        "needs at least 3 entries, but has 2",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_project_files(job, case):
    replacement, line, sentence = BAD[case]
    path = job(replacement)
    with pytest.raises(InvalidProject) as caught:
        Project.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, line {line}: ")
    assert sentence in message
    assert "\n" not in message


MORE_BAD = {
    "output with a folder": ('[output]\nreport = "../report.html"', "without folders"),
    "ratio in words": (
        '[drive]\nreduction = "32"',
        "must be a number, a list with one number per joint, or a table",
    ),
    "ratio of nothing": ("[drive]\nreduction = []", "must be a number, a list"),
    "prior without deviation": ("[priors]\nfv1 = { mean = 1.0 }", "the key 'std' is missing"),
    "prior of zero width": ("[priors]\nfv1 = { mean = 1.0, std = 0 }", "must be greater than 0"),
    "outputs of one name": (
        '[output]\nreport = "a.html"\nresult = "a.html"',
        "report and result cannot have the same name 'a.html'",
    ),
    "held in words": ('[held]\nm1 = "4 kg"', "held.m1: must be a number"),
    "offset in volts": (
        '[drive]\nposition_offset = { values = [0, 1], unit = "V" }',
        "a position is not measured in it",
    ),
    "side": ('[drive]\nside = "motors"', "must be 'joint' or 'motor', not 'motors'; did you mean 'motor'?"),
    "flag": ("[drive]\nrotor_inertia = 1", "must be true or false, not 1"),
    "coupling": (
        '[drive]\ncouplings = [{ motor = "turn", joint = "slide", ration = 3 }]',
        "did you mean 'ratio'?",
    ),
    "deadband": ("[friction]\ndeadband = -1", "must be at least 0"),
    "key of friction": ("[friction]\ndeadbnd = 0.1", "unknown key 'deadbnd'; did you mean 'deadband'?"),
    "list of laws": ('[friction]\nlaw = ["viscous"]', "must be text in quotes"),
}


@pytest.mark.parametrize("case", MORE_BAD)
def test_more_bad_project_files(job, case):
    text, sentence = MORE_BAD[case]
    path = job()
    path.write_text(path.read_text() + "\n" + text + "\n")
    with pytest.raises(InvalidProject) as caught:
        Project.load(path)
    assert sentence in str(caught.value)
    assert ", line 2" in str(caught.value)  # all are beyond line 20


def test_several_mistakes_are_counted(job):
    path = job(("cutoff_hz = 40", "cutof_hz = 40"), ('unit = "ms"', 'unit = "mss"'))
    with pytest.raises(
        InvalidProject, match=r"line 7: .*unknown unit 'mss'; did you mean 'ms'\?.*\(and 1 more\)$"
    ):
        Project.load(path)


def test_only_validation_is_not_enough(job):
    path = job(('name = "run"', 'role = "validation"'))
    with pytest.raises(InvalidProject, match="every recording is for validation"):
        Project.load(path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\xff\xfe", "line 1: not text in UTF-8"),
        (b'[robot]\npath = "\xff"', "line 2: not text in UTF-8"),
        (b"x = 1\n" * 200_000, "larger than 1 MiB"),
        (b"x = " + b"[" * 100_000, "nested too deeply|not valid TOML"),
        (b"", "line 1: the key 'robot' is missing"),
    ],
)
def test_files_that_are_no_project(tmp_path, content, sentence):
    (tmp_path / "job.toml").write_bytes(content)
    start = time.perf_counter()
    with pytest.raises(InvalidProject, match=sentence):
        Project.load(tmp_path / "job.toml")
    assert time.perf_counter() - start < 5


def test_a_missing_project_names_the_nearest(job):
    path = job()
    with pytest.raises(UnreadableFile, match=r"no file .*jobs.toml; did you mean 'job.toml'\?"):
        Project.load(path.parent / "jobs.toml")


# ------------------------------------------------------------------- project files that do not fit robot or recording

UNFIT = {
    "joint without a channel": (
        (', "phi"]', "]"),
        "position has 1 columns, but the robot has 2 joints (slide, turn)",
    ),
    "channel without a joint": (
        ('columns = ["x", "phi"]', 'columns = ["x", "phi"], joints = ["slide", "turns"]'),
        "position.joints names 'turns'; did you mean 'turn'?",
    ),
    "joint named twice": (
        ('columns = ["x", "phi"]', 'columns = ["x", "phi"], joints = ["slide", "slide"]'),
        "position.joints names 'slide' twice",
    ),
    "fewer joints named": (
        ('columns = ["x", "phi"]', 'columns = ["x", "phi"], joints = ["slide"]'),
        "but names 1 joints",
    ),
    "a joint left out": (
        ('columns = ["x", "phi"], unit = ["mm", "deg"]', 'columns = ["x"], joints = ["slide"], unit = "mm"'),
        "'turn'",
    ),
    "units for the wrong joints": (
        ('unit = ["mm", "deg"]', 'unit = ["deg", "mm"]'),
        "joint 'slide' slides, so its position is in m, but the channel position.slide is in rad",
    ),
    "too many units": (
        ('unit = ["mm", "deg"]', 'unit = ["mm", "deg", "deg"]'),
        "position.unit has 3 values for 2 columns",
    ),
    "not measured, with a column": (
        (
            'columns = ["f", "tau"]',
            'columns = ["f", "tau"], not_measured = ["turn"], joints = ["slide", "turn"]',
        ),
        "torque.not_measured names 'turn', which has a column",
    ),
    "not measured, and not a joint": (
        ('columns = ["f", "tau"]', 'columns = ["f"], not_measured = ["turns"]'),
        "names joint 'turns'; did you mean 'turn'?",
    ),
    "position not measured": (
        ('columns = ["x", "phi"]', 'columns = ["x", "phi"], not_measured = ["turn"]'),
        "is a key of torque, current, voltage: joints without a position are held in [robot] by locked",
    ),
    "cutoff above Nyquist": (("cutoff_hz = 40", "cutoff_hz = 400"), "Nyquist"),
    "missing recording": (("run.csv", "runs.csv"), "runs.csv; did you mean 'run.csv'?"),
    "missing robot": (("table.urdf", "tables.urdf"), "no robot description"),
    "missing column": (('"phi"', '"psi"'), "no column 'psi'; did you mean 'phi'?"),
    "window outside": (('path = "run.csv"', 'path = "run.csv"\nwindow_s = [30, 40]'), "window 30 s to 40 s"),
    "part outside": (
        ('path = "run.csv"', 'path = "run.csv"\nbetween_s = [30, 40]'),
        "the window 30 s to 40 s holds 0 samples; the recording runs from 0 s to 7.998 s",
    ),
    "cutoff for one joint only": (
        ('"butterworth-decimation"\ncutoff_hz = 40', '"random-walk"\ncutoff_hz = { slide = 40 }'),
        "preprocessing.cutoff_hz has no value for turn",
    ),
    "unknown locked joint": (('path = "table.urdf"', 'path = "table.urdf"\nlocked = { turns = 0 }'), "turns"),
    "everything locked": (
        ('path = "table.urdf"', 'path = "table.urdf"\nlocked = { turn = 0, slide = 0 }'),
        "",
    ),
}


@pytest.mark.parametrize("case", UNFIT)
def test_project_files_that_do_not_fit(job, case):
    replacement, sentence = UNFIT[case]
    path = job(replacement)
    with pytest.raises(PoinsotError) as caught:
        identify(Project.load(path))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


UNFIT_SECTIONS = {
    "wrong number of ratios": (
        "[drive]\nreduction = [1, 2, 3]",
        "reduction has 3 values; the robot has 2 joints",
    ),
    "ratio of no joint": (
        "[drive]\nreduction = { turns = 3 }",
        "drive.reduction names 'turns'; did you mean 'turn'?",
    ),
    "singular reduction": ("[drive]\nreduction = [1, 0]", "the reduction matrix is singular"),
    "nothing drives it": ('[drive]\npassive = ["slide", "turn"]', "drive.passive lists every joint"),
    "passive joint": ('[drive]\npassive = ["turns"]', "turns"),
    "held parameter": ("[held]\nm7 = 1.0", "no parameter 'm7'"),
    "prior of nothing": ("[priors]\nfv7 = { mean = 1.0, std = 1.0 }", "no base parameter 'fv7'"),
}


@pytest.mark.parametrize("case", UNFIT_SECTIONS)
def test_sections_that_do_not_fit(job, case):
    text, sentence = UNFIT_SECTIONS[case]
    path = job()
    path.write_text(path.read_text() + "\n" + text + "\n")
    with pytest.raises(PoinsotError) as caught:
        identify(Project.load(path))
    assert sentence in str(caught.value)


def test_full_parameters_of_a_robot_that_shows_only_some(job):
    path = job(('name = "least-squares"', 'name = "least-squares"\nparameters = "full"'))
    with pytest.raises(PoinsotError, match="determine"):
        identify(Project.load(path))


@pytest.mark.parametrize("value", ["0.0", "1.5"])
def test_a_torque_without_information(job, value):
    path = job()
    lines = (path.parent / "run.csv").read_text().splitlines()
    (path.parent / "run.csv").write_text(
        "\n".join([lines[0], *(",".join([*line.split(",")[:4], value]) for line in lines[1:])])
    )
    with pytest.raises(PoinsotError, match=r"joint 'turn' is (all zero|constant)"):
        identify(Project.load(path))


# --------------------------------------------------------------------------------------------------------- the lines


def test_every_key_is_found_on_its_line():
    assert line_of(JOB, ["robot", "path"]) == 2
    assert line_of(JOB, ["recordings", 0, "position", "unit"]) == 8
    assert line_of(JOB, ["recordings", 1, "position"]) == 16
    assert line_of(JOB, ["recordings", 1]) == 11
    assert line_of(JOB, ["preprocessing", "decimate_hz"]) == 22
    assert line_of(JOB, ["preprocessing", "nothing"]) == 19
    assert line_of(JOB, []) == 1


def test_values_over_many_lines():
    text = (
        'a = [\n  1,\n  2,\n]\n\n# b = 3\n\nb = """\nb = 4\n"""\n[c]\nd = [\n  { e = 1 },\n  { f = 2 },\n]\n'
    )
    assert line_of(text, ["a"]) == 1
    assert line_of(text, ["b"]) == 8
    assert line_of(text, ["c", "d", 1, "f"]) == 14


# ------------------------------------------------------------------------------------------------------------ examples


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
def test_every_example_is_valid(path):
    assert isinstance(Project.load(path).settings, Settings)


def test_the_tx40_example(shared_data):
    estimate = identify(Project.load(EXAMPLES / "tx40.toml"), shared_data("staubli_tx40"))
    assert estimate.fit.relative_error_percent == pytest.approx(5.0, abs=0.2)
    assert estimate["fv1"] == pytest.approx(8.05, abs=0.05)


def test_the_emps_example(shared_data):
    estimate = identify(Project.load(EXAMPLES / "emps.toml"), shared_data("emps"))
    for name, published in (("m1", 95.1089), ("fv1", 203.5034), ("fc1", 20.3935), ("off1", -3.1648)):
        assert estimate[name] == pytest.approx(published, rel=0.01)
