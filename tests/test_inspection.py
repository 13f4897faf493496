"""Recordings with one known defect each: the inspection finds it, and nothing else."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from poinsot import Column, Source, read_recording
from poinsot.estimate import Severity
from poinsot.exceptions import InvalidRecording
from poinsot.inspection import inspect, inspect_json
from poinsot.inspection.channels import significant_digits
from poinsot.inspection.motion import find_unfollowed
from poinsot.project import Project
from poinsot.recording import Recording
from poinsot.signals.resampling import resample
from poinsot.statistics import grid_step

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
RATE, DURATION = 1000.0, 10.0
TIME = np.arange(int(RATE * DURATION)) / RATE


def position(time=TIME):
    return np.sin(2 * np.pi * 0.5 * time) + 0.3 * np.cos(2 * np.pi * 1.3 * time)


def recording(rng, time=TIME, x=None, **channels):
    torque = 3 * np.cos(2 * np.pi * 0.5 * time) + 0.1 * rng.standard_normal(len(time))
    channels = {"position.a": position(time) if x is None else x, "torque.a": torque, **channels}
    units = {"position": "rad", "torque": "N m", "voltage": "V", "velocity": "rad/s"}
    return Recording(time, channels, {name: units[name.split(".")[0]] for name in channels})


def sentences(inspection, severity=None):
    return [f"{f.message} {f.remedy}" for f in inspection.findings if severity in (None, f.severity.name)]


def only(inspection):
    assert len(inspection.findings) == 1, sentences(inspection)
    return inspection.findings[0]


def test_nothing_is_wrong_with_a_good_recording(rng):
    inspection = inspect(recording(rng), {"a": 10.0})
    assert inspection.findings == ()
    assert dict(inspection.facts)["rate"] == "1000 Hz"
    assert dict(inspection.facts)["standing still"] == "never"
    assert inspection.clock.uniform


def test_jitter_and_its_size(rng):
    time = TIME + 1.5e-4 * rng.uniform(-1, 1, len(TIME))
    inspection = inspect(recording(rng, time))
    finding = only(inspection)
    assert finding.severity is Severity.warning
    assert f"Set resample_hz = {inspection.clock.even_rate_hz:g} in [preprocessing]" in str(finding)
    # The difference of two uniform stamps has standard deviation 1.5e-4 sqrt(2/3).
    assert inspection.clock.rms_jitter_s == pytest.approx(1.5e-4 * np.sqrt(2 / 3), rel=0.05)
    # below a tenth of an interval smoothers resample on their own
    small = only(inspect(recording(rng, TIME + 0.5 * (time - TIME))))
    assert small.severity is Severity.note and small.remedy.startswith("It is resampled to ")


def test_a_gap_has_a_place(rng):
    time = np.concatenate([TIME[:4000], TIME[4000:] + 0.05])
    inspection = inspect(recording(rng, time))
    finding = only(inspection)
    assert "one gap, from 3.999 s to 4.05 s (51.0 intervals)" in str(finding)
    assert "resample_hz = 1000 in [preprocessing] and bridge_intervals = 52" in str(finding)
    assert "list the recording twice, with between_s = [0, 4.05] and [4.05, 10.049]" in str(finding)
    assert inspection.clock.gaps_s == ((time[3999], time[4000]),)


def test_the_advice_about_a_gap_works(rng):
    gap = recording(rng, np.concatenate([TIME[:4000], TIME[4000:] + 0.05]))
    assert not inspect(gap.between(0, 4.05)).clock.gaps_s
    assert not inspect(gap.between(4.05, 10.049)).clock.gaps_s
    assert len(gap.between(0, 4.05)) == 4000  # all that lies before the gap
    assert resample(gap, 1000, gap_intervals=52).valid == {}
    assert resample(gap, 1000, gap_intervals=50).valid.keys() == {"position.a", "torque.a"}


def test_a_short_gap_needs_only_a_new_clock(rng):
    inspection = inspect(recording(rng, np.concatenate([TIME[:4000], TIME[4000:] + 0.002])))
    assert "Set resample_hz = 1000 in [preprocessing], which bridges it." in str(only(inspection))
    assert "between_s" not in str(only(inspection))


def test_several_gaps(rng):
    time = np.concatenate([TIME[:4000], TIME[4000:6000] + 0.05, TIME[6000:] + 0.1])
    sentence = str(only(inspect(recording(rng, time))))
    assert "2 gaps, the longest" in sentence
    assert "3 times, with between_s = [0, 4.05] and [4.05, 6.1] and so on" in sentence


def test_a_clock_that_counts_from_1970(rng):
    """Times are told apart, and what is proposed can be written into the project file as it is."""
    time = 1.7e9 + np.concatenate([TIME[:4000], TIME[4000:] + 0.05])
    inspection = inspect(recording(rng, time))
    gap, start = sentences(inspection, "warning")[0], sentences(inspection, "note")[0]
    assert "from 1700000003.999 s to 1700000004.05 s" in gap
    assert "between_s = [1700000000, 1700000004.05] and [1700000004.05, 1700000010.049]" in gap
    assert "starts at 1700000000 s" in start
    assert "start_s = 0" in start


@pytest.mark.parametrize("factor", [2, 4])
def test_an_encoder_that_is_read_slower_than_it_is_logged(rng, factor):
    held = position()[np.arange(len(TIME)) // factor * factor]
    inspection = inspect(recording(rng, x=held))
    finding = only(inspection)
    assert finding.severity is Severity.warning
    assert finding.where == "position.a"
    assert f"read at about {RATE / factor:.4g} Hz and logged at 1000 Hz" in str(finding)
    stale = inspection.channels[0].stale_percent
    assert stale == pytest.approx(100 * (1 - 1 / factor), abs=0.5)


def test_a_quarter_of_the_samples_late(rng):
    late = rng.uniform(size=len(TIME)) < 0.25
    index = np.maximum.accumulate(np.where(late, 0, np.arange(len(TIME))))
    inspection = inspect(recording(rng, x=position()[index]))
    assert inspection.channels[0].stale_percent == pytest.approx(25, abs=2)


def test_rounding_is_not_called_a_slow_encoder(rng):
    coarse = 0.01 * np.round(position() / 0.01)
    inspection = inspect(recording(rng, x=coarse))
    finding = only(inspection)
    assert finding.severity is Severity.note
    assert "moving by less than their resolution" in str(finding)
    assert inspection.channels[0].step == pytest.approx(0.01)
    assert inspection.channels[0].repeated_percent > 30


def test_few_digits_in_the_file_are_recognized(rng):
    x = np.array([float(f"{value:.3g}") for value in 300 * position()])
    inspection = inspect(recording(rng, x=x))
    assert inspection.channels[0].digits == 3
    assert "moving by less than the 3 digits in the file" in sentences(inspection, "note")[0]


def test_saturation(rng):
    clean = recording(rng)
    clipped = np.clip(clean["torque.a"], -2.0, 2.0)
    inspection = inspect(recording(rng, **{"torque.a": clipped}))
    assert "The torque of a in the recording stays at the end of its range for" in str(only(inspection))
    assert inspection.channels[1].clipped


def test_a_command_of_few_levels_is_not_saturated(rng):
    steps = np.where(TIME % 2 < 1, 2.0, -2.0)
    assert inspect(recording(rng, **{"voltage.a": steps})).findings == ()


@pytest.mark.parametrize(("value", "words"), [(0.0, "is zero throughout"), (1.5, "is 1.5 N m throughout")])
def test_a_constant_torque(rng, value, words):
    finding = only(inspect(recording(rng, **{"torque.a": np.full(len(TIME), value)})))
    assert finding.severity is Severity.error
    assert words in str(finding)
    assert 'passive = ["a"] in [drive]' in str(finding)


def test_a_joint_that_does_not_move(rng):
    noise = rng.standard_normal(len(TIME))
    still = recording(rng, **{"position.b": np.full(len(TIME), 0.7), "torque.b": noise})
    assert "position.b never moves. Hold the joint with locked = { b = 0.7 }" in str(only(inspect(still)))
    dithering = 0.001 * np.round(rng.uniform(0, 2, len(TIME)))
    assert (
        "hardly moves"
        in sentences(inspect(recording(rng, **{"position.b": dithering, "torque.b": noise})))[0]
    )


STANDSTILLS = {
    "constant": lambda rng: np.full(len(TIME), 0.7),
    "white noise": lambda rng: 0.7 + 1e-3 * rng.standard_normal(len(TIME)),
    "an encoder between two counts": lambda rng: 1e-3 * (rng.uniform(size=len(TIME)) < 0.3),
    "three counts, now and then": lambda _: 1e-3 * (np.arange(len(TIME)) // 3000),
}


@pytest.mark.parametrize("kind", STANDSTILLS)
def test_nothing_moves_at_all(rng, kind):
    inspection = inspect(recording(rng, x=STANDSTILLS[kind](rng)))
    finding = inspection.findings[0]
    assert finding.severity is Severity.error
    assert "No joint moves" in str(finding)
    assert inspection.motion.resting == ("a",)
    assert not inspection.motion.moving.any()


def test_one_of_two_joints_rests_in_noise(rng):
    noise = 1e-3 * rng.standard_normal(len(TIME))
    still = recording(
        rng, x=resting(TIME), **{"position.b": noise, "torque.b": rng.standard_normal(len(TIME))}
    )
    inspection = inspect(still)
    assert inspection.motion.resting == ("b",)
    assert any("position.b contains only noise" in sentence for sentence in sentences(inspection, "warning"))
    # Its noise does not hide that the other joint stands still at the ends.
    assert inspection.motion.window_s == pytest.approx((2.0, 8.0), abs=0.02)


@pytest.mark.parametrize("samples_a_period", [8, 20, 1000])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_what_moves_is_not_called_noise(rng, samples_a_period, noise):
    x = np.sin(2 * np.pi * np.arange(len(TIME)) / samples_a_period) + noise * rng.standard_normal(len(TIME))
    assert inspect(recording(rng, x=x)).motion.resting == ()


def resting(time, start=2.0, stop=8.0, pause=None):
    """Still before and after, and during a pause: the phase stands still with it."""
    phase = np.clip(time, start, stop) - start
    if pause is not None:
        phase -= np.clip(time, *pause) - pause[0]
    return np.sin(2 * np.pi * phase)


def test_a_standstill_at_the_ends_proposes_a_window(rng):
    inspection = inspect(recording(rng, x=resting(TIME)))
    assert inspection.motion.window_s == pytest.approx((2.0, 8.0), abs=0.02)
    window, repeats = inspection.findings
    assert "Set window_s = [" in str(window)
    assert window.severity is Severity.warning
    assert repeats.severity is Severity.note
    first, last = inspection.motion.still_s
    assert (first[0], last[1]) == (TIME[0], TIME[-1])


def test_a_standstill_on_the_way(rng):
    inspection = inspect(recording(rng, x=resting(TIME, 0.0, 10.0, (4.3, 5.3))))
    assert any("All joints stand still once on the way, 0.98 s in all" in s for s in sentences(inspection))
    assert dict(inspection.facts)["standing still"] == "0.98 s in 1 period"
    assert inspection.motion.window_s is None


def test_a_short_motion_beside_a_long_standstill_is_cut_with_it(rng):
    inspection = inspect(recording(rng, x=resting(TIME, 0.0, 10.0, (0.2, 5.2))))
    assert inspection.motion.window_s == pytest.approx((5.2, 10.0), abs=0.03)
    assert "No joint moves before 5.2" in sentences(inspection)[0]
    assert "but for 0.2" in sentences(inspection)[0]


def test_peak_speed_against_the_limit(rng):
    x = np.sin(2 * np.pi * 0.5 * TIME)
    inspection = inspect(recording(rng, x=x), {"a": 2.0})
    assert inspection.channels[0].peak_speed == pytest.approx(np.pi, rel=1e-3)
    assert "a reaches 3.14 rad/s, 157 % of the model's limit of 2" in str(only(inspection))
    assert "a reaches only" in str(only(inspect(recording(rng, x=x), {"a": 1000.0})))
    for unlimited in (0.0, np.inf, np.nan):
        assert inspect(recording(rng, x=x), {"a": unlimited}).findings == ()


def test_motor_side_positions_are_mapped(rng):
    x = np.sin(2 * np.pi * 0.5 * TIME)
    channels = {"position.b": 50 * np.cos(2 * np.pi * 0.5 * TIME), "torque.b": rng.standard_normal(len(TIME))}
    moving = recording(rng, x=100 * x, **channels)
    inspection = inspect(moving, {"a": 4.0, "b": 4.0}, velocity_map=np.array([[0.01, 0.0], [0.0, 0.02]]))
    assert inspection.findings == ()
    np.testing.assert_allclose(inspection.motion.peak_speeds, np.pi, rtol=1e-3)
    with pytest.raises(InvalidRecording, match="drive has 3 joints, the recording has positions of 2: a, b"):
        inspect(moving, velocity_map=np.eye(3))


def test_masked_samples_are_counted(rng):
    clean = recording(rng)
    torque = clean["torque.a"].copy()
    torque[100:130] = np.nan
    masked = Recording(
        TIME, {**clean.channels, "torque.a": torque}, clean.units, {"torque.a": np.isfinite(torque)}
    )
    finding = only(inspect(masked))
    assert "torque.a: 30 of 10000 samples are masked" in str(finding)
    nothing = Recording(TIME, clean.channels, clean.units, {"torque.a": np.zeros(len(TIME), dtype=bool)})
    assert "10000 of 10000" in str(only(inspect(nothing)))


def test_a_joint_without_effort(rng):
    extra = recording(rng, **{"position.b": position()})
    assert "no torque, current or voltage for b" in str(only(inspect(extra)))
    assert inspect(extra, passive=("b",)).findings == ()


def test_a_passive_joint_may_have_an_effort_of_zero(rng):
    zero = recording(rng, **{"position.b": position(), "torque.b": np.zeros(len(TIME))})
    assert only(inspect(zero)).severity is Severity.error
    assert only(inspect(zero, passive=("b",))).severity is Severity.note


def test_without_positions(rng):
    plain = Recording(TIME, {"gyro": rng.standard_normal(len(TIME))}, {"gyro": "rad/s"})
    assert inspect(plain).findings == ()


def test_two_samples_are_enough_to_look():
    short = Recording(np.array([0.0, 1.0]), {"position.a": np.array([0.0, 1.0])}, {"position.a": "rad"})
    assert inspect(short).clock.samples == 2


def test_json_is_strict_and_versioned(rng):
    inspection = inspect(recording(rng, x=resting(TIME)), {"a": 2.0}, name="run 1")
    content = json.loads(json.dumps(inspect_json([inspection]), allow_nan=False))
    assert content["schema"] == "poinsot.inspect/1"
    (run,) = content["recordings"]
    assert run["name"] == "run 1"
    assert run["samples"] == len(TIME)
    assert run["window_s"] == list(inspection.motion.window_s)
    keys = {"severity", "channel", "sentence", "cause", "message", "remedy", "where"}
    assert keys == set(run["findings"][0])
    assert run["channels"][0]["name"] == "position.a"


def test_grids():
    assert grid_step(np.arange(10) * 0.1) == pytest.approx(0.1)
    assert grid_step(np.random.default_rng(1).standard_normal(100)) == 0.0
    assert significant_digits(np.array([0.1, 0.2, 10.3, 20.4])) is None  # a grid of tenths
    assert significant_digits(np.array([1.23, 12.3, 0.123, 456.0])) == 3


def test_the_real_arm(shared_data):
    folder, joints = shared_data("staubli_tx40"), range(1, 7)
    tx40 = read_recording(
        [
            Source(
                folder / "pos_read_data.csv",
                {f"position.joint_{j}": Column(f"Joint_{j}", "rad") for j in joints},
            ),
            Source(
                folder / "curr_data.csv", {f"torque.joint_{j}": Column(f"Joint_{j}", "N m") for j in joints}
            ),
        ],
        rate_hz=5000,
    )
    reduction = np.diag([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
    reduction[5, 4] = 32.0
    limits = {"joint_1": 5.009, "joint_2": 5.009, "joint_3": 7.5}
    inspection = inspect(tx40, limits, velocity_map=np.linalg.inv(reduction))
    assert inspection.motion.window_s == pytest.approx((0.07, 7.47), abs=0.02)
    positions = [channel for channel in inspection.channels if channel.name.startswith("position")]
    # About a fifth of the samples repeat, but all at a standstill or within the five digits of the file.
    assert all(17 < channel.repeated_percent < 25 for channel in positions)
    assert all(channel.digits == 5 and channel.stale_percent < 1 for channel in positions)
    assert inspection.motion.peak_speeds[:3] == pytest.approx([5.03, 5.02, 6.95], abs=0.01)
    assert not any(channel.clipped for channel in inspection.channels)


def test_the_real_axis_has_a_clean_clock(shared_data):
    path = shared_data("emps") / "DATA_EMPS.mat"
    emps = read_recording(path, {"position.axis": ("qm", "m"), "voltage.axis": ("vir", "V")}, time=("t", "s"))
    assert inspect(emps).findings == ()


def test_a_real_clock_with_jitter(shared_data):
    path = shared_data("ur10e") / "free.csv"
    ur10e = read_recording(
        path,
        {"position.3": (3, "rad"), "current.3": (15, "A")},
        time=(0, "s"),
        header=False,
        rows=(194, 4966),
    )
    assert "resample_hz = 100" in str(inspect(ur10e).findings[0])


# ------------------------------------------------------------------------------- findings that a result would have too


def causes(inspection):
    return [finding.cause for finding in inspection.findings]


def test_single_samples_are_looked_at_as_in_a_result(rng):
    torque = recording(rng)["torque.a"].copy()
    torque[500] = 1e3
    (found,) = inspect(recording(rng, **{"torque.a": torque})).findings
    assert (found.cause, found.where, found.severity) == ("outliers", "a", Severity.error)
    assert "1 torque outlier at joint a in the recording, the worst 1e+03 at 0.5 s" in found.message
    wrapped = np.mod(position() + 4 * TIME, 2 * np.pi)
    assert causes(inspect(recording(rng, x=wrapped)))[0] == "wrapped-angles"
    assert causes(inspect(recording(rng, x=wrapped), any_turn=True)) == []
    assert inspect(recording(rng, x=wrapped), any_turn=True).motion.peak_speeds[0] < 10
    kept = np.sort(rng.permutation(len(TIME))[:-100])
    lost = recording(rng, time=np.arange(len(kept)) / RATE, x=position()[kept])
    assert causes(inspect(lost)) == ["lost-samples"]
    dropped = np.where((TIME > 3) & (TIME < 4), 0.0, recording(rng)["torque.a"])
    assert causes(inspect(recording(rng, **{"torque.a": dropped}))) == ["dropped-torque"]


def test_what_is_masked_is_no_spike(rng):
    clean = recording(rng)
    channels = {name: values.copy() for name, values in clean.channels.items()}
    valid = {name: np.ones(len(TIME), dtype=bool) for name in channels}
    for name in channels:
        channels[name][700:720], valid[name][700:720] = 1e6, False
    assert set(causes(inspect(Recording(TIME, channels, clean.units, valid)))) == {"masked-samples"}


def test_a_command_that_is_renewed_now_and_then_is_not_called_dropped(rng):
    held = np.repeat(rng.standard_normal(50), len(TIME) // 50)
    assert "dropped-torque" not in causes(inspect(recording(rng, **{"voltage.a": held})))


def test_motion_before_the_first_command(rng):
    """As in a log of commands that was started a second after the first of them."""
    step = np.where(TIME < 3, 0.0, 2.0)
    x = np.where(TIME < 2, 0.0, 0.5 * (TIME - 2) ** 2)
    plain = Recording(TIME, {"position.a": x, "voltage.a": step}, {"position.a": "rad", "voltage.a": "V"})
    found = next(each for each in inspect(plain).findings if each.cause == "early-motion")
    assert "Joint a moves from 2.0" in found.message and "before the first effort, at 3 s" in found.message
    assert "between_s = [3, 9.999]" in found.remedy
    on_time = Recording(
        TIME, {**plain.channels, "voltage.a": np.where(TIME < 2, 0.0, 2.0)}, dict(plain.units)
    )
    assert "early-motion" not in causes(inspect(on_time))


# ------------------------------------------------------------------------------------------------ every kind of project


@pytest.mark.parametrize("name", ["furuta", "throw", "quadruped", "arm"])
def test_every_example_is_inspected(name):
    for run, inspection in Project.load(EXAMPLES / name / "job.toml").inspect():
        assert inspection.name == run.name
        assert not [each for each in inspection.findings if each.severity is Severity.error], (
            inspection.findings
        )
        assert "preparation" not in causes(inspection)


@pytest.mark.parametrize(
    ("name", "was", "now", "sentence"),
    [
        ("furuta", 'voltage = { columns = ["volts"], unit = "V" }', "", "has no command of the motor of 'shoulder'"),
        ("furuta", "{ position = 1e-3 }", "{ velocity = 1e-3 }", "the recordings have position"),
        ("throw", '"y", "angle"], unit = ["m", "m", "rad"]', '"y"], unit = "m", joints = ["x", "y"]', "of 'angle'"),
        ("arm", "cutoff_hz = 20", "cutoff_hz = 200", "Nyquist"),
        ("arm", 'torque = { columns = ["tau1", "tau2", "tau3"], unit = "N m" }', "", "exactly one of torque"),
    ],
)  # fmt: skip
def test_what_the_method_lacks_is_said_as_identify_would(name, was, now, sentence, tmp_path):
    shutil.copytree(EXAMPLES / name, tmp_path / name)
    path = tmp_path / name / "job.toml"
    text = path.read_text()
    assert was in text
    path.write_text(text.replace(was, now))
    (_, first), *_ = Project.load(path).inspect()
    (found,) = [each for each in first.findings if each.cause == "preparation"]
    assert found.severity is Severity.error and sentence in found.message


def test_a_clock_of_a_rate_has_no_jitter(rng):
    """Rounding of times is none, at 250 Hz from 0 and from 1970."""
    for start in (0.0, 1.7e9):
        time = start + np.arange(500) / 250
        recording = Recording(time, {"position.a": np.sin(time - start)}, {"position.a": "rad"})
        assert dict(inspect(recording).facts)["jitter"] == "none"
    time = np.arange(500) / 250 + 1e-6 * rng.standard_normal(500)
    recording = Recording(time, {"position.a": np.sin(time)}, {"position.a": "rad"})
    assert dict(inspect(recording).facts)["jitter"].startswith("rms 0.0")


def servo(t, u, stop=np.inf):
    """(T,) positions of a servo with sag that follows commands until a stop."""
    q, v = np.zeros_like(t), 0.0
    for k in range(1, len(t)):
        a = (20 * (u[k] - q[k - 1]) - 1.2 * v - 1.5 * np.sin(q[k - 1] + 1)) / 0.03
        v += a * (t[k] - t[k - 1])
        q[k] = min(q[k - 1] + v * (t[k] - t[k - 1]), stop)
        v = 0.0 if q[k] == stop else v
    return np.round(q / 1.5e-3) * 1.5e-3


def test_larger_steps_after_slow_motion_are_followed():
    """A step puts a joint further from its command than any slow motion does: it is yet followed."""
    t = np.arange(4000) / 200
    u = np.where(t < 10, 0.2 * np.sin(t), 0.8 * np.sign(np.sin(1.3 * t)))
    units = dict.fromkeys(["position.a", "position_command.a"], "rad")
    recording = Recording(t, {"position.a": servo(t, u), "position_command.a": u}, units)
    assert find_unfollowed(recording) == []


def test_a_joint_that_friction_holds_is_not_stopped():
    """It starts when it is furthest from its command; one at a stop when the command comes back."""
    t = np.arange(6000) / 200
    u = np.sin(0.4 * t)
    units = dict.fromkeys(["position.a", "position_command.a"], "rad")
    held, q = [], 0.0
    for k, x in enumerate(u):
        # larger at one place, as of a gear
        band = 0.3 if 8 < t[k] < 16 else 0.1
        q = x - 0.1 * np.sign(x - q) if abs(x - q) > band else q
        held.append(q)
    recording = Recording(t, {"position.a": np.array(held).round(3), "position_command.a": u}, units)
    assert find_unfollowed(recording) == []
    stopped = {"position.a": servo(t, u, 0.6), "position_command.a": u}
    found = find_unfollowed(Recording(t, stopped, units))
    assert found and all("stopped at 0.6" in why for *_, why in found)
