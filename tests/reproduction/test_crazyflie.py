"""Mass, inertia and thrust of a quadrotor: from a simulated flight whose truth is known, and from the real ones."""

import json
import shutil

import numpy as np
import polars as pl
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from poinsot.exceptions import PoinsotError
from poinsot_reproductions.optimal_estimation import OPTIMAL_ESTIMATION, crazyflie
from poinsot_reproductions.optimal_estimation.crazyflie_flight import TURNING, Flight, _in_band, read_flight
from poinsot_reproductions.optimal_estimation.crazyflie_model import (
    ACCELEROMETER,
    ARM,
    GYRO,
    POSITION,
    PUSH,
    TURN,
    Spread,
    estimate,
)
from poinsot_reproductions.optimal_estimation.crazyflie_stand import (
    GRAM_FORCE,
    TURN_PER_MINUTE,
    calibrate,
    grams_per_rpm2,
    read_stand,
)
from poinsot_reproductions.optimal_estimation.crazyflie_weighing import half_width, total_interval

G = 9.80665
MASS, J = 0.0347, np.array([16.57e-6, 18e-6, 29.26e-6])
PER_RPM = 2.3e-8
C = PER_RPM * GRAM_FORCE / TURN_PER_MINUTE**2
REACTION, DRAG = 0.006 * C, np.array([0.012, 0.016, 0.0])
GYRO_LATE, CAPTURE_LATE = 0.004, 0.003
TARE, LAG = -1.2, 25


class Vehicle:
    """A quadrotor that tilts to and fro, shaken about all axes; explicit physics, nothing of the package."""

    def __init__(self, rng, step, push=0.0, turn=0.0):
        self.rng, self.step, self.push, self.turn = rng, step, push, turn
        self.p, self.v, self.w = np.array([0, 0, 0.5]), np.zeros(3), np.zeros(3)
        self.R = Rotation.from_rotvec([0, 0, 0.3])
        self.phase, self.frequency = rng.uniform(0, 2 * np.pi, (3, 4)), rng.uniform(2.5, 9.0, (3, 4))

    def command(self, time):
        """Thrust and moments that keep it in the air."""
        wanted = 0.12 * np.array([np.sin(2.5 * time), np.cos(2.0 * time), 0])
        tilt = self.R.as_rotvec()
        shake = np.sin(2 * np.pi * self.frequency * time + self.phase).sum(axis=1) * [1.5, 1.5, 0.5]
        angular = 60 * (wanted - tilt) - 10 * self.w + shake
        up = self.R.as_matrix()[2, 2]
        return MASS * (G + 6 * (0.5 - self.p[2]) - 4 * self.v[2]) / up, J * angular

    def move(self, thrust, moment, substeps=4):
        """One step with constant thrust and moment; the specific force at its beginning."""
        h = self.step / substeps
        force = np.array([0, 0, thrust]) - DRAG * self.R.inv().apply(self.v)
        noise = self.push * self.rng.standard_normal(3), self.turn * self.rng.standard_normal(3)
        for _ in range(substeps):
            body = np.array([0, 0, thrust]) - DRAG * self.R.inv().apply(self.v)
            self.v = self.v + h * (self.R.apply(body / MASS + noise[0]) - [0, 0, G])
            self.w = self.w + h * ((moment - np.cross(self.w, J * self.w)) / J + noise[1])
            self.p, self.R = self.p + h * self.v, self.R * Rotation.from_rotvec(h * self.w)
        return force / MASS

    @property
    def state(self):
        return np.concatenate([self.p, self.R.as_quat(), self.R.inv().apply(self.v), self.w])


def squared_speeds(thrust, moment):
    """(4,) that make thrust and moment."""
    allocation = np.vstack([C * np.ones(4), C * ARM * TURNING[:2], REACTION * TURNING[2]])
    return np.linalg.solve(allocation, [thrust, *moment])


def write_flight(folder, name, rng, duration=3.6):
    """Both files of a flight, as the vehicle and the cameras would have logged it."""
    vehicle, step = Vehicle(rng, 0.002, push=0.1, turn=0.5), 0.002
    times = 10 + np.arange(0, duration, step)
    states, speeds, forces = [], [], []
    for time in times:
        thrust, moment = vehicle.command(time)
        states.append(vehicle.state)
        squared = squared_speeds(thrust, moment)
        speeds.append(np.sqrt(squared) / TURN_PER_MINUTE)
        forces.append(vehicle.move(thrust, moment, 2))
    states = np.array(states)
    late = round(GYRO_LATE / step)
    gyro = np.rad2deg(states[np.maximum(np.arange(len(times)) - late, 0), 10:])
    gyro = gyro + rng.normal(0, 0.1, gyro.shape)
    forces = np.array(forces) / G + rng.normal(0, 0.02, (len(times), 3))
    board = {"t": times}
    board |= {f"rpm.m{k + 1}": np.array(speeds)[:, k] for k in range(4)}
    for k, axis in enumerate("xyz"):
        board |= {f"gyro.{axis}": gyro[:, k], f"acc.{axis}": forces[:, k]}
    kept = np.delete(np.arange(len(times)), [500, 501, 502, 900])  # a log with gaps
    pl.DataFrame({key: values[kept] for key, values in board.items()}).write_parquet(
        folder / f"{name}_onboard.parquet"
    )
    seen = np.arange(2, len(times), 5)
    markers = Rotation.from_quat(states[seen, 3:7]) * Rotation.from_rotvec([0.02, -0.01, 0.1])
    capture = {"t": times[seen] + CAPTURE_LATE}
    capture |= {f"locSrv.{axis}": states[seen, k].round(3) for k, axis in enumerate("xyz")}
    capture |= {f"locSrv.q{axis}": markers.as_quat()[:, k] for k, axis in enumerate("xyzw")}
    pl.DataFrame(capture).write_parquet(folder / f"{name}_mocap.parquet")


def write_stand(path, rng, factor=1.0):
    """The stand's file: rotors at rest, up and down; the balance is late, and says every value for ten rows."""
    rpm = np.concatenate([np.zeros(100), np.linspace(4000, 23000, 900), np.linspace(23000, 4000, 900)])
    speeds = rpm[:, None] * [1.01, 0.99, 1.0, 0.98]
    late = np.maximum(np.arange(len(rpm)) - LAG, 0)
    weight = TARE + PER_RPM * (speeds**2).sum(axis=1)[late] + rng.normal(0, 0.02, len(rpm))
    held = np.maximum(np.arange(len(rpm)) // 10 * 10, 0)
    speeds[1500, 2] = 0.0  # a lost reading
    columns = {"weight[g]": factor * weight[held]} | {f"rpm{k + 1}": speeds[:, k] for k in range(4)}
    pl.DataFrame(columns).write_csv(path)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("crazyflie"), np.random.default_rng(7)
    write_stand(folder / crazyflie.FILE, rng)
    for name in crazyflie.FLIGHTS.values():
        write_flight(folder, name, rng)
    return folder


@pytest.fixture(scope="module")
def result(simulated):
    said = []
    result = crazyflie.run(simulated, said.append)
    assert said == ["thrust stand", "flight circle", "flight figure8"]
    return result


def test_truth_of_a_simulated_flight_is_found(result):
    figures = result.figures
    json.dumps([figures, result.rows])
    for name, mass in figures["mass_g"].items():
        low, high = figures["mass_interval_g"][name]
        assert mass == pytest.approx(1e3 * MASS, rel=0.01)
        assert low < 1e3 * MASS < high
        inertia = figures["inertia_kg_m2"][name]
        assert [inertia["Jx"], inertia["Jy"]] == pytest.approx(J[:2], rel=0.05)
        assert inertia["Jz"] is None
        assert figures["thrust_coefficient"][name] == pytest.approx(PER_RPM, rel=0.01)
    assert {"Jz", "rotor drag", "center of mass"} <= set(figures["not_identifiable"])
    assert {"Jx", "Jy"}.isdisjoint(figures["not_identifiable"])
    assert figures["flights_differ_percent"] < 1


def test_the_page_has_what_it_draws(result):
    assert result.name == "optimal-estimation" and result.seconds["total"] > 0
    assert all(len(line) == len(c.time) for c in result.curves.values() for line in c.lines.values())
    assert {row["unit"] for row in result.rows} == {"g", "kg m^2", "g/rpm^2"}
    assert all(row["low"] < row["ours"] < row["high"] for row in result.rows)
    masses = result.tables["What the mass of a flight depends on"]
    assert {row["ending"] for row in masses} == {"solved"}


def test_the_case_asks_for_the_files_that_it_reads():
    assert set(OPTIMAL_ESTIMATION.parts["crazyflie"].files) == set(crazyflie.FILES)


def test_drag_is_an_option_that_explains_more(simulated):
    flight = read_flight(simulated, "circle_34p7g")
    with_drag, without = estimate(flight, C), estimate(flight, C, drag=False)
    assert with_drag.drag == pytest.approx(DRAG[:2], rel=0.3)
    assert not without.drag.any()
    assert with_drag.solution.cost < without.solution.cost
    assert with_drag.mass == pytest.approx(without.mass, rel=0.005)


def test_delays_of_clocks_and_filters_are_found(simulated):
    flight = read_flight(simulated, "circle_34p7g")
    # a moment is logged at the beginning of the 2 ms in which it acts
    assert flight.rotor_delay == pytest.approx(GYRO_LATE + 0.001, abs=5e-4)
    # poses are compared with the gyro, which is late itself
    assert flight.capture_delay == pytest.approx(CAPTURE_LATE - GYRO_LATE, abs=1e-3)
    assert np.ptp(np.diff(flight.times)) < 1e-9


def test_slow_differences_between_rotors_make_no_moment():
    times = np.arange(0, 8, 0.002)
    slow, quick = 5e4 * (1 + np.sin(2 * np.pi * 0.2 * times)), 1e5 * np.sin(2 * np.pi * 6 * times)
    even, found = _in_band(times, np.stack([slow, slow + quick], axis=1))
    inside = (even > 1) & (even < 7)
    assert np.abs(found[inside, 0]).max() < 0.01 * 5e4
    assert found[inside, 1] == pytest.approx(1e5 * np.sin(2 * np.pi * 6 * even[inside]), abs=0.02 * 1e5)
    integral = -1e5 / (2 * np.pi * 6) * np.cos(2 * np.pi * 6 * times)
    _, slope = _in_band(times, integral[:, None], slope=True)
    assert slope[inside, 0] == pytest.approx(found[inside, 1], abs=0.02 * 1e5)


def test_the_stand_gives_back_its_tare_lag_and_coefficient(simulated):
    stand = calibrate(simulated / crazyflie.FILE)
    assert stand.tare / GRAM_FORCE == pytest.approx(TARE, abs=0.01)
    assert stand.lag == pytest.approx(LAG + 4.5, abs=2)  # a value is held for ten rows
    assert grams_per_rpm2(stand.value) == pytest.approx(PER_RPM, rel=2e-3)
    assert stand.dropped == 1
    low, high = stand.interval
    assert low < 0.97 * stand.value and 1.02 * stand.value < high
    ramps = [stand.treatments[f"{ramp}, no lag, tare at rest"] for ramp in ("up", "down")]
    assert ramps[0] < 0.98 * stand.value and 1.02 * stand.value < ramps[1]


def test_twice_the_thrust_is_twice_the_mass(simulated, tmp_path):
    write_stand(tmp_path / crazyflie.FILE, np.random.default_rng(7), factor=2.0)
    once, twice = (calibrate(folder / crazyflie.FILE).value for folder in (simulated, tmp_path))
    assert twice == pytest.approx(2 * once, rel=1e-9)
    flight = read_flight(simulated, "circle_34p7g").stretches(2)[0]
    light, heavy = estimate(flight, once), estimate(flight, twice)
    assert heavy.mass == pytest.approx(2 * light.mass, rel=1e-5)
    assert heavy.inertia[:2] == pytest.approx(2 * light.inertia[:2], rel=1e-3)


def test_a_weighed_mass_gives_the_coefficient_that_the_mass_calls_for(simulated):
    flight = read_flight(simulated, "figure8_34p7g")
    free, given = estimate(flight, 1.05 * C), estimate(flight, 1.05 * C, MASS)
    assert given.mass == pytest.approx(MASS, rel=1e-4)
    assert given.coefficient == pytest.approx(1.05 * C * MASS / free.mass, rel=1e-4)
    assert {"Jx", "Jy"}.isdisjoint(given.unidentified)
    assert "Jz" in given.unidentified


def simulated_steps(rng, count=140, step=0.008):
    """A flight with the noise that the model has."""
    vehicle = Vehicle(rng, step, PUSH, TURN)
    states, lift, turn, forces = [], [], [], []
    for k in range(count):
        thrust, moment = vehicle.command(k * step)
        states.append(vehicle.state)
        lift.append(thrust / C)
        turn.append(moment / [C * ARM, C * ARM, REACTION])
        forces.append(vehicle.move(thrust, moment))
    states = np.array(states)
    position = states[:, :3] + rng.normal(0, POSITION, (count, 3))
    position[1::2] = np.nan
    return Flight(
        "simulated",
        step * np.arange(count),
        np.array(lift),
        np.array(turn),
        states[:, 10:] + rng.normal(0, GYRO, (count, 3)),
        np.array(forces) + rng.normal(0, ACCELEROMETER, (count, 3)),
        position,
        states,
    )


def test_posterior_of_mass_and_inertia_is_as_wide_as_their_errors(rng):
    errors = []
    for _ in range(12):
        found = estimate(simulated_steps(rng), C)
        errors.append([(found.mass - MASS) / found.mass_std, *((found.inertia - J) / found.inertia_std)[:2]])
    squares = (np.array(errors) ** 2).sum(axis=0)
    # each is chi-square of 12 degrees; three are asked for at 99.9 % in all
    low, high = chi2.ppf([0.0005 / 3, 1 - 0.0005 / 3], 12)
    assert (low < squares).all() and (squares < high).all(), squares


def test_what_data_say_without_the_prior():
    information, prior = (
        np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 0.0]]),
        np.array([2.0, 0.5, 3.0]),
    )
    covariance = np.linalg.inv(information + np.diag(prior**-2))
    found = Spread(covariance, prior, np.ones(3, dtype=bool)).of_data(np.eye(3))
    assert found[:2] == pytest.approx(np.sqrt(np.diag(np.linalg.inv(information[:2, :2]))), rel=1e-6)
    assert found[2] > 1e3 * prior[2]
    measured = Spread(covariance, prior, np.array([True, True, False])).of_data(np.eye(3))
    assert measured[2] == pytest.approx(prior[2])


def test_intervals(simulated):
    assert half_width(1.0, np.array([5.0, 5.0, 5.0])) == pytest.approx(1.959964, rel=1e-6)
    assert half_width(0.0, np.array([1.0, 3.0])) == pytest.approx(
        12.7062, rel=1e-4
    )  # Student's t, one degree
    stand = calibrate(simulated / crazyflie.FILE)
    low, high = total_interval(2.0, 0.0, stand)
    assert (low, high) == pytest.approx([2.0 * edge / stand.value for edge in stand.interval])
    wider = total_interval(2.0, 0.1, stand)
    assert 2.0 - wider[0] == pytest.approx(np.hypot(2.0 - low, 0.1))


def test_files_that_cannot_be_used_are_refused(simulated, tmp_path):
    shutil.copytree(simulated, tmp_path, dirs_exist_ok=True)
    table = pl.read_csv(simulated / crazyflie.FILE)
    table.filter(pl.col("rpm1") > 0).write_csv(tmp_path / crazyflie.FILE)
    with pytest.raises(PoinsotError, match="needs rows at rest"):
        read_stand(tmp_path / crazyflie.FILE)
    board = tmp_path / "circle_34p7g_onboard.parquet"
    pl.read_parquet(board).head(800).write_parquet(board)
    with pytest.raises(PoinsotError, match="less than 2 s"):
        read_flight(tmp_path, "circle_34p7g")


def test_the_real_flights(shared_data):
    folder, weighed, half = shared_data("crazyflie"), crazyflie.WEIGHED, []
    stand = calibrate(folder / crazyflie.FILE)
    low, high = stand.interval
    for name in crazyflie.FLIGHTS.values():
        flight = read_flight(folder, name).stretches(2)[0]
        found, given = estimate(flight, stand.value), estimate(flight, stand.value, weighed)
        half.append((found.mass, given.coefficient))
        assert found.solution.status.converged
        assert found.mass == pytest.approx(weighed, rel=0.07)
        assert found.mass * low / stand.value < weighed < found.mass * high / stand.value
        assert found.inertia[0] == pytest.approx(crazyflie.NOMINAL["Jx"], rel=0.15)
        assert found.inertia[1] == pytest.approx(crazyflie.NOMINAL["Jy"], rel=0.15)
        assert found.unidentified == ("Jz", "rotor drag")
    masses, coefficients = zip(*half, strict=True)
    assert max(masses) <= 1.015 * min(masses)
    assert max(coefficients) <= 1.02 * min(coefficients)
