"""Errors of sensors, estimated with the parameters of an arm that Pinocchio simulates, against the truth."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

import poinsot
from poinsot.estimators.shooting.known_parameters import KnownParameters
from poinsot.estimators.shooting.recordings import trajectory_model
from poinsot.estimators.shooting.refinements import with_rates
from poinsot.exceptions import PoinsotError
from poinsot.models.robot.open_parameters import OpenParameters
from poinsot.models.sensor_errors import bias_walk_priors, sensor_error_priors
from references.recorded_arm import (
    JOB,
    PERIOD,
    RECORDING,
    ROD,
    TRUE_ROD,
    record,
    true_inertial,
    urdf,
    write,
)

TIME = PERIOD * np.arange(121)
FASTEST = 20.0
"""Of the arm under its feedback, the root of stiffness over inertia [rad/s]."""
BIAS_STD, TURN_STD, LATE_STD = {"gyro": 0.05, "accelerometer": 0.3}, 0.05, 0.002
KEYS = """bias_std = { gyro = 0.05, accelerometer = 0.3 }
misalignment_std = { imu = 0.05 }
"""
LATE = "delay_std_s = { imu = 0.002 }\n"


def with_errors(rng, late_std=0.0):
    """An arm whose inertial unit is turned, biased and late; and these errors by name."""
    recorded = record(rng, len(TIME), phase=float(rng.uniform(0, 6)))
    late, turn = late_std * rng.standard_normal(), TURN_STD * rng.standard_normal(3)
    readings, truth = dict(recorded.readings), {"delay.imu": late}
    truth |= {f"misalignment.imu.{axis}": turn[k] for k, axis in enumerate("xyz")}
    for name, std in BIAS_STD.items():
        bias, h = std * rng.standard_normal(3), recorded.clean[name]
        noise = readings[name] - h
        at = CubicSpline(TIME, h)(TIME - late)
        readings[name] = Rotation.from_rotvec(turn).inv().apply(at) + bias + noise
        truth |= {f"bias.{name}.imu.{axis}": bias[k] for k, axis in enumerate("xyz")}
    return replace(recorded, readings=readings), truth


WALK, KNOTS_S, DURATION = {"gyro": 0.005, "accelerometer": 0.05}, 0.1, PERIOD * 120
"""[rad/s] and [m/s^2] in the square root of a second, and time between knots [s]: sigma / (walk sqrt(100 Hz))."""
WALKING = f"bias_walk = {{ gyro = 0.005, accelerometer = 0.05 }}\nbias_knots_s = {KNOTS_S}\n"


COLUMN = ("m.", "mx", "my", "mz", "xx", "xy", "yy", "xz", "yz", "zz")
SEEN = ("mx.fore", "mz.fore", "xx.fore", "yy.fore", "zz.fore")
"""Five of the eight parameters that the recording determines."""


def with_walks(rng):
    """An arm whose inertial unit has biases that are Brownian motions; and these biases at knots by name."""
    recorded = record(rng, len(TIME), phase=float(rng.uniform(0, 6)))
    readings, truth, every = dict(recorded.readings), {}, round(KNOTS_S / PERIOD)
    for name, walk in WALK.items():
        steps = walk * np.sqrt(PERIOD) * rng.standard_normal((len(TIME), 3))
        steps[0] = BIAS_STD[name] * rng.standard_normal(3)
        bias = np.cumsum(steps, axis=0)
        readings[name] = readings[name] + bias
        for k, axis in enumerate("xyz"):
            for at in range(0, len(TIME), every):
                knot = f"@run:{TIME[at]:g}" if at else ""
                truth[f"bias.{name}.imu.{axis}{knot}"] = bias[at, k]
    return replace(recorded, readings=readings), truth


def identified(tmp_path, recorded, keys, more=""):
    (tmp_path / "arm.urdf").write_text(urdf(**ROD))
    write(tmp_path / "run.csv", recorded)
    (tmp_path / "job.toml").write_text(JOB.replace("speed_noise", f"{keys}speed_noise") + more)
    return poinsot.identify(poinsot.Project.load(tmp_path / "job.toml"))


def test_intervals_of_errors_hold_the_truth(tmp_path, rng):
    """Squared errors of six recordings, in standard deviations."""
    squares = []
    for _ in range(6):
        recorded, truth = with_errors(rng)
        estimate = identified(tmp_path, recorded, KEYS)
        names = [name for name in truth if name != "delay.imu"]
        assert estimate.status.converged and estimate.certificate().holds
        places = [estimate.names.index(name) for name in names]
        e = estimate.values[places] - np.array([truth[name] for name in names])
        squares.append(e @ np.linalg.solve(estimate.covariance[np.ix_(places, places)], e))
        assert estimate.units[places[-1]] == "m/s^2" and estimate.kinds[places[0]] == "misalignment"
    # 54 degrees of freedom: 1 within 4 standard deviations of a chi-square mean
    assert abs(np.mean(squares) / 9 - 1) < 4 * np.sqrt(2 / 54)


def squared_error(estimate, truth):
    """Of values of parameters, in standard deviations, by the number of parameters."""
    places = [estimate.names.index(name) for name in truth]
    e = estimate.values[places] - np.array(list(truth.values()))
    return e @ np.linalg.solve(estimate.covariance[np.ix_(places, places)], e) / len(e)


def test_intervals_of_biases_that_walk_hold_the_truth(tmp_path, rng):
    """Squared errors of three recordings, in standard deviations: of the walk at knots, and of the body."""
    walks, bodies, starts, biased = [], [], [], KEYS.partition("mis")[0]
    seen = dict(zip(SEEN, true_inertial()[[COLUMN.index(name[:2]) for name in SEEN]], strict=True))
    for _ in range(3):
        recorded, truth = with_walks(rng)
        estimate = identified(tmp_path, recorded, biased + WALKING)
        assert estimate.status.converged and estimate.certificate().holds
        walks.append(squared_error(estimate, truth))
        bodies.append(squared_error(estimate, seen))
        constant = identified(tmp_path, recorded, biased)
        starts.append(squared_error(constant, {name: b for name, b in truth.items() if "@" not in name}))
    assert len(truth) == 6 * 13 and estimate.units[estimate.names.index("bias.gyro.imu.x@run:0.3")] == "rad/s"
    # Means of chi-square with 234, 15 and 18 degrees of freedom, within 4 standard deviations. Bridges between knots
    # add 1/12 to the variance of what readings say of a walk, and less to that of walk and readings together.
    assert 1 - 4 * np.sqrt(2 / 234) < np.mean(walks) < 1 + 1 / 12 + 4 * np.sqrt(2 / 234)
    assert abs(np.mean(bodies) - 1) < 4 * np.sqrt(2 / 15)
    # the mean of a walk less its start has a variance of walk^2 T / 3, about 50 times that of a constant bias
    assert np.mean(starts) > 1 + 4 * np.sqrt(2 / 18)


def test_the_prior_of_a_walk_is_that_of_a_brownian_motion(tmp_path):
    """Inverse of the information against min(t, t') walk^2, beside the variance of the start."""
    (tmp_path / "arm.urdf").write_text(urdf(**ROD))
    robot = poinsot.load_robot(tmp_path / "arm.urdf")
    channels = {f"gyro.imu.{axis}": np.zeros(4) for axis in "xyz"} | {"position.turn": np.zeros(4)}
    units = dict.fromkeys(channels, "rad/s") | {"position.turn": "rad"}
    recording = poinsot.Recording(np.array([2.0, 2.3, 2.6, 3.5]), channels, units)
    biases = sensor_error_priors([recording], {"gyro": 0.2, "position.turn": 0.1})
    priors = biases | bias_walk_priors({"a": recording, "b": recording}, biases, {"gyro": 0.3}, 0.6)
    assert tuple(priors)[4:7] == tuple(f"bias.gyro.imu.x@a:{t}" for t in ("0.5", "1", "1.5"))
    known = KnownParameters(OpenParameters(robot, sensors=tuple(priors)), priors).known()
    covariance, names = np.linalg.inv(known.information), list(priors)
    for recorded in "ab":
        walk = ["bias.gyro.imu.z", *(f"bias.gyro.imu.z@{recorded}:{t}" for t in ("0.5", "1", "1.5"))]
        places = [names.index(name) for name in walk]
        t = np.array([0.0, 0.5, 1.0, 1.5])
        expected = 0.2**2 + 0.3**2 * np.minimum.outer(t, t)
        np.testing.assert_allclose(covariance[np.ix_(places, places)], expected, atol=1e-12)
    with pytest.raises(PoinsotError, match="bias_walk names 'velocity', whose bias is not open"):
        bias_walk_priors({"a": recording}, biases, {"velocity": 0.1}, 0.6)


def test_a_delay_is_found(tmp_path, rng):
    """First order in the delay leaves d^2 h'' / 2, which is omega d / 2 of d h' at a frequency omega."""
    for _ in range(3):
        recorded, truth = with_errors(rng, LATE_STD)
        estimate = identified(tmp_path, recorded, KEYS + LATE)
        assert estimate.status.converged and estimate.certificate().holds
        rows = estimate.sensitivity.as_json()
        assert {row["factor"] for row in rows} == {3.0, 1 / 3} and "delay.imu" in {
            row["parameter"] for row in rows
        }
        late, std = truth["delay.imu"], estimate.std[estimate.names.index("delay.imu")]
        assert std < 0.02 * LATE_STD
        assert abs(estimate["delay.imu"] - late) < 3 * std + FASTEST * late**2 / 2


def test_rates_have_less_noise_than_differences_of_neighbours(tmp_path, rng):
    """Along a slow motion with noise lines are long, along one that curves they are short."""
    (tmp_path / "arm.urdf").write_text(urdf(**ROD))
    robot = poinsot.load_robot(tmp_path / "arm.urdf")
    parameters = OpenParameters(robot, ("fore",), sensors=("delay.position",))
    time, theta = 0.002 * np.arange(500), np.append(parameters.nominal_theta[:-1], 0.0)
    assert len(theta) == 11
    for frequency, noise, largest in ((4.0, 1e-3, 0.1), (200.0, 1e-5, 1.0)):
        q, rate = np.sin(frequency * time), frequency * np.cos(frequency * time)
        channels = {f"{kind}.{joint}": q for joint in robot.joints for kind in ("position", "torque")}
        units = {name: "rad" if name[0] == "p" else "N m" for name in channels}
        levels = poinsot.MotionNoise({"position": noise, "torque": 0.1}, 1e-3)
        model = trajectory_model(parameters, poinsot.Recording(time, channels, units), levels)
        x = np.column_stack([q, q, rate, rate])
        x[:, :2] += noise * rng.standard_normal((len(time), 2))
        (late,) = with_rates(model, x, np.zeros(model.noise_std.shape), theta).readings
        # differences of neighbours have the noise noise / (0.002 sqrt(2)), and leave (frequency 0.002)^2 / 6 of rates
        differences = np.hypot(
            noise / (0.002 * np.sqrt(2)), frequency * (frequency * 0.002) ** 2 / 6 / np.sqrt(2)
        )
        error = np.sqrt(np.mean((late.rates[10:-10] - rate[10:-10, None]) ** 2))
        assert error < 1.1 * largest * differences


def test_a_delay_that_is_held_counts_in_validation(tmp_path, rng):
    """Residuals of a recording that was held out, with the delay that was found and without it."""
    recorded = record(rng, len(TIME))
    late = {**recorded.clean, "velocity": CubicSpline(TIME, recorded.clean["velocity"])(TIME - 0.004)}
    late = {name: values + recorded.readings[name] - recorded.clean[name] for name, values in late.items()}
    rms = []
    for keys in ("", "delay_std_s = { velocity = 0.01 }\n"):
        held_out = RECORDING.replace('name = "run"', 'name = "held"\nrole = "validation"')
        estimate = identified(tmp_path, replace(recorded, readings=late), keys, held_out)
        (held,) = estimate.validation
        rms.append(np.sqrt(np.mean(((held.measured - held.predicted) / held.noise)[:, 2:4] ** 2)))
    # 240 readings: 1 within 3 standard deviations
    assert abs(rms[1] - 1) < 3 / np.sqrt(2 * 240) and rms[0] > 1.3 * rms[1]


def test_a_bias_that_changes_is_followed_sample_by_sample(tmp_path, rng):
    """A moving horizon, in which a bias is constant: a jump is known some horizons later, to what the walk allows."""
    recorded, walk = record(rng, len(TIME)), 0.1
    bias = np.where(TIME[:, None] < 0.3, 0.0, [0.1, -0.2, 0.15])
    recorded = replace(recorded, readings={**recorded.readings, "gyro": recorded.readings["gyro"] + bias})
    (tmp_path / "arm.urdf").write_text(urdf(**TRUE_ROD))
    write(tmp_path / "run.csv", recorded)
    walks = "".join(f'"bias.gyro.imu.{axis}" = {walk}\n' for axis in "xyz")
    job = JOB.replace('"optimal-estimation"\ncontact_model = "rigid"', '"moving-horizon"')
    job = job.replace('bodies = ["fore"]', "start_std = [1, 1]\nnodes = 10\nbias_std = { gyro = 0.1 }")
    (tmp_path / "job.toml").write_text(job.replace("[held]", f"[method.walk]\n{walks}[held]"))
    history = poinsot.identify(poinsot.Project.load(tmp_path / "job.toml")).history
    assert history.names == tuple(f"bias.gyro.imu.{axis}" for axis in "xyz")
    assert np.all(np.abs(history.values[28]) < 4 * history.std[28])
    assert np.all(np.abs(history.values[-1] - bias[-1]) < 4 * history.std[-1])
    assert np.all(history.std[-1] < 0.01)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("bias_std = { gryo = 0.1 }", "bias_std names 'gryo'; did you mean 'gyro'"),
        ('bias_std = { "gyro.hand" = 0.1 }', "bias_std names 'gyro.hand'.*the recordings have position"),
        ("misalignment_std = { gyro = 0.1 }", "misalignment_std names 'gyro'; the recordings have imu"),
        ("delay_std_s = { fore = 0.1 }", "delay_std_s names 'fore'; the recordings have all, position"),
        ("delay_std_s = { imu = -0.1 }", "delay_std_s"),
        ("bias_walk = { gyro = 0.1 }", "bias_walk names 'gyro', whose bias is not open: add it to bias_std"),
    ],
)
def test_sensors_that_are_not_there_are_refused(tmp_path, rng, keys, message):
    with pytest.raises(PoinsotError, match=message):
        identified(tmp_path, record(rng, 12), keys + "\n")


def test_an_orientation_is_turned_and_not_biased():
    imu = {f"orientation.imu.{end}": np.ones(2) for end in "xyzw"}
    recording = poinsot.Recording(np.arange(2.0), imu, dict.fromkeys(imu, "1"))
    with pytest.raises(PoinsotError, match="bias_std names 'orientation'"):
        sensor_error_priors([recording], {"orientation": 0.1})
    assert next(iter(sensor_error_priors([recording], None, {"imu": 0.1}))) == "misalignment.imu.x"
