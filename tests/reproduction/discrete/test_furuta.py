"""The driven Furuta pendulum: its voltage, simulation against another integrator's, estimates from simulated truth."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from poinsot.estimators.joint import Record
from poinsot_reproductions.discrete import furuta, furuta_fits, furuta_models, furuta_page, furuta_sweeps
from poinsot_reproductions.discrete.furuta_models import (
    ARM_CENTER,
    ARM_MASS,
    DISTANCE,
    ESTIMATED,
    GRAVITY,
    MASS,
    SLENDER,
)
from poinsot_reproductions.discrete.furuta_page import ALL, Study
from poinsot_reproductions.discrete.furuta_voltage import Commands, commands, delay_of, set_off
from poinsot_reproductions.discrete.recordings import DRIVEN, Angles
from poinsot_reproductions.presentation import with_std

STEP = "step 4 V"
TRUTH = {
    "arm.Jzz": 8e-5,
    "pendulum.Jxx": 1.6e-5,
    "pendulum.Jyy": 1.4e-5,
    "pendulum.cx": 0.090,
    "shoulder.gain": 0.05,
    "shoulder.drag": 0.012,
    "shoulder.coulomb": 3e-3,
    "elbow.drag": 2e-5,
    "elbow.coulomb": 3e-5,
    "world.tilt_x": 0.02,
    "world.tilt_y": -0.03,
}
ZERO = 0.05


@pytest.fixture(scope="module")
def machine():
    return furuta_models.model()


@pytest.fixture(scope="module")
def truth(machine):
    return furuta_models.with_values(machine, machine.theta, **TRUTH, **{f"{STEP}.zero": ZERO})


def voltage(t):
    """Turns around, so that gain and dry friction of the arm are two things."""
    return np.sin(7 * t) + 0.5


@pytest.fixture(scope="module")
def moved():
    """(times, (N, 4) of angles and rates) by the textbook's equations and a stiff integrator."""
    times = np.cumsum(np.append(0.0, 4e-3 * np.random.default_rng(3).uniform(0.8, 1.2, 600)))
    found = solve_ivp(
        slope, (0, times[-1]), [0.3, 0.1, 0, 0], "LSODA", times, rtol=1e-9, atol=1e-11, max_step=2e-3
    )
    return times, found.y.T


def slope(t, x):
    """H(y) y'' = forces, derived by hand from the Lagrangian; dry friction as the model has it, creep below it."""
    p, (arm, angle, w, W) = TRUTH, x
    s, c = np.sin(angle), np.cos(angle)
    across = MASS * DISTANCE**2 + p["pendulum.Jyy"] - SLENDER
    length = p["pendulum.cx"]
    H = np.array(
        [
            [
                p["arm.Jzz"] + ARM_MASS * ARM_CENTER**2 + MASS * length**2 + across * s**2 + SLENDER,
                MASS * length * DISTANCE * c,
            ],
            [MASS * length * DISTANCE * c, p["pendulum.Jxx"] + MASS * DISTANCE**2],
        ]
    )
    tilt = np.array([p["world.tilt_x"], p["world.tilt_y"]])
    size = np.linalg.norm(tilt)  # rotation vector (x, y, 0) on (0, 0, -g)
    gx, gy = -GRAVITY * np.sin(size) / size * np.array([tilt[1], -tilt[0]])
    down = GRAVITY * np.cos(size)
    ahead, aside = gx * np.cos(arm) + gy * np.sin(arm), -gx * np.sin(arm) + gy * np.cos(arm)
    creep = [furuta_models.ARM_FRICTION, furuta_models.FRICTION_LEVEL] / np.float64(furuta_models.STICK_SPEED)
    level = np.array([p["shoulder.coulomb"], p["elbow.coulomb"]])
    dry = np.clip(creep * [w, W], -level, level)
    forces = [
        p["shoulder.gain"] * voltage(t) - p["shoulder.drag"] * w - dry[0]
        + MASS * (aside * length - ahead * DISTANCE * s) + ARM_MASS * ARM_CENTER * aside
        - 2 * across * s * c * w * W + MASS * length * DISTANCE * s * W**2,
        -p["elbow.drag"] * W - dry[1] + MASS * DISTANCE * (aside * c - down * s) + across * s * c * w**2,
    ]  # fmt: skip
    return [w, W, *np.linalg.solve(H, forces)]


@pytest.fixture(scope="module")
def record(moved):
    """What the encoders read of it, and the mean voltage of each step."""
    times, x = moved
    ends = np.append(times[1:], times[-1] + 4e-3)
    volts = [quad(voltage, a, b)[0] / (b - a) for a, b in zip(times, ends, strict=True)]
    return furuta_models.record(STEP, Angles(times, x[:, 0], x[:, 1] + ZERO, 0 * times), np.array(volts))


@pytest.fixture(scope="module")
def on(machine, truth, record):
    """The simulated recording where real ones would be; from its first state on both stand still for an instant."""
    times = np.arange(0.0, record.times[-1] + furuta_fits.FINE, furuta_fits.FINE)
    u = np.array([quad(voltage, t, t + furuta_fits.FINE)[0] / furuta_fits.FINE for t in times])
    fine = Record(STEP, times, u[:, None], np.full((len(times), record.z.shape[1]), np.nan))
    return furuta_fits.Stand(machine, {STEP: record}, truth, 0.0, (0.0, 0.0), {}, {STEP: fine})


# ---------------------------------------------------------------------------------------------------------------- model


def test_open_loop_is_the_textbooks(on, truth, moved):
    _, x = moved
    read = on.simulated(truth, STEP)
    # SPOOK's steps of 0.5 ms are of first order: rates of up to 15 rad/s are some h |y''| / 2 = 0.04 rad/s off where
    # they turn, for a tenth of a second.
    assert np.abs(read - x[:, :2] - [0, ZERO]).max() < 6e-3
    assert np.ptp(x[:, 1]) > 1.0 and np.ptp(x[:, 0]) > 3.0


def test_open_loop_begins_where_an_eccentric_encoder_stands(on, truth):
    theta = furuta_models.with_values(on.model, truth, **{f"{STEP}.sine": 0.1, f"{STEP}.cosine": -0.2})
    read = on.simulated(theta, STEP)
    np.testing.assert_allclose(read[0], on.readings(STEP)[0], atol=1e-4)


@pytest.fixture(scope="module")
def estimated(machine, on, record):
    """From readings with noise, and from rods and round numbers on."""
    noisy = replace(record, z=record.z + 2e-4 * np.random.default_rng(5).standard_normal(record.z.shape))
    start = furuta_models.with_values(machine, machine.theta, **{f"{STEP}.zero": float(noisy.z[0, 3])})
    on = replace(on, records={STEP: noisy}, start=start)
    return on, on.fit([STEP], 1e4)


def test_estimate_finds_the_truth(estimated):
    on, fit = estimated
    assert fit.converged
    for name in ESTIMATED:
        place = fit.names.index(name)
        # Four standard deviations, and a hundredth for the voltage that is held over steps here and smooth there.
        assert abs(fit.values[name] - TRUTH[name]) < 4 * fit.robust_std[place] + 0.01 * abs(TRUTH[name]), name
    assert furuta_models.inertia_about_hinge(fit.values) == pytest.approx(
        MASS * DISTANCE**2 + TRUTH["pendulum.Jxx"], rel=3e-3
    )
    assert max(on.simulation_rms(fit.theta, STEP)) < 6e-3  # as against the truth, above


def test_states_of_a_recording_not_seen(estimated):
    on, fit = estimated
    seen = furuta_fits.held_out(on, fit, STEP, 1e4)
    assert seen.cost == pytest.approx(fit.cost, rel=0.05)  # it is the same recording
    off = furuta_models.with_values(on.model, fit.theta, **{"pendulum.Jxx": 3.2e-5})
    assert on.held_out(off, STEP, 1e4).cost > 100 * seen.cost


# -------------------------------------------------------------------------------------------------------------- voltage


def test_mean_voltage_of_a_step_is_that_of_the_commands():
    rng = np.random.default_rng(0)
    sent = Commands(np.sort(rng.uniform(0.1, 0.9, 30)), rng.normal(size=30))
    times, delay = np.sort(rng.uniform(0, 1, 50)), 0.013
    fine = np.linspace(0, 1, 1_000_001)[:-1]
    held = np.concatenate([[0.0], sent.volts])[np.searchsorted(sent.times + delay, fine, side="right")]
    for k, (start, end) in enumerate(pairwise(times)):
        mean = held[(fine >= start) & (fine < end)].mean()
        # Two ends of a sum over 1e-6 s, of commands of at most 3 V, in a step of end - start.
        assert sent.held(times, delay)[k] == pytest.approx(mean, abs=6e-6 / (end - start) + 1e-12)


def written(folder, first_sent):
    """A recording whose arm sets off 3 ms after 1.0 s; the commands of each second from `first_sent` on are in it."""
    lines = ["__time,/effort_control/data.0,/joint_states/header/stamp,/joint_states/joint0/position,"
             "/joint_states/joint1/position"]  # fmt: skip
    rows = [(t, "", t, max(0.0, t - 1.0029), 0.1) for t in np.arange(0, 4, 2e-3)]
    rows += [(t, 4.0, "", "", "") for t in (1.0, 2.0, 3.0) if t >= first_sent]
    lines += [",".join(str(cell) for cell in row) for row in sorted(rows, key=lambda row: row[0])]
    path = folder / DRIVEN[STEP]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(("first_sent", "restored"), [(1.0, 0), (2.0, 1)])
def test_command_that_was_not_recorded_is_put_back(tmp_path, first_sent, restored):
    written(tmp_path, first_sent)
    times = np.arange(0, 4, 2e-3)
    angles = Angles(times, np.maximum(0.0, times - 1.0029), 0 * times, 0 * times)
    sent = commands(tmp_path, STEP, angles)
    np.testing.assert_allclose(sent.times, [1.0, 2.0, 3.0], atol=1e-9)
    assert sent.restored == restored and np.all(sent.volts == 4.0)
    least, most = delay_of([(angles, sent)])
    assert least <= 0.0029 <= most + 1e-9 and most - least < 2.1e-3


def test_gentle_commands_say_nothing_of_the_delay():
    times = np.arange(0, 1, 2e-3)
    sudden = Angles(times, np.maximum(0.0, times - 0.503), 0 * times, 0 * times)
    late = Angles(times, np.maximum(0.0, times - 0.6), 0 * times, 0 * times)
    gentle = Commands(np.array([0.5, 0.6]), np.array([0.01, 2.0]))
    step = Commands(np.array([0.5]), np.array([2.0]))
    assert delay_of([(sudden, step), (late, gentle)]) == delay_of([(sudden, step)])
    assert set_off(late) == pytest.approx((0.6, 0.602))


# ---------------------------------------------------------------------------------------------------------------- rules


def test_plateau_begins_where_parameters_stay(estimated):
    _, fit = estimated
    place = fit.names.index("arm.Jzz")

    def away(by):
        theta = fit.theta.copy()
        theta[place] += by * fit.robust_std[place]
        return replace(fit, theta=theta)

    fits = {10.0: away(-5), 100.0: away(-1), 1e3: away(-0.5), 1e4: away(9)}
    assert furuta_fits.settled(fits) == 100.0
    assert furuta_fits.settled({kappa: fits[kappa] for kappa in (10.0, 100.0)}) == 10.0


def test_weight_stands_to_the_pendulums_impulse_as_the_papers():
    times = np.arange(0, 0.1, 4e-3)
    given = Record("any", times, np.zeros((len(times), 1)), np.zeros((len(times), 1)))
    # kappa impulse^2 is the same number for m g l h of both machines.
    ours = furuta_fits.weight(100.0, given) * (MASS * GRAVITY * DISTANCE * 4e-3) ** 2
    assert ours == pytest.approx(100.0 * (0.428 * 9.82 * 0.092 * 0.01) ** 2)


def test_orders_of_a_cogging_motor(estimated):
    _, fit = estimated
    N = len(fit.paths[0].times)
    turned = np.linspace(0, 6 * 2 * np.pi, N)
    cogs = np.sin(8 * turned + 1) + 0.8 * np.sin(14 * turned) + 5 * np.sin(turned)
    errors = np.stack([cogs[:-1] * 4e-3, *3 * [np.zeros(N - 1)]], axis=1)
    coordinates = np.stack([turned, 0 * turned], axis=1)
    path = replace(fit.paths[0], times=4e-3 * np.arange(N), coordinates=coordinates, step_errors=errors)
    # A spectrum of six turns resolves a sixth of an order.
    np.testing.assert_allclose(furuta_page.repeated(path), [8, 14], atol=1 / 6)


def test_a_value_says_whether_it_is_seen():
    assert with_std(1.23456, 0.0123) == "1.235 +- 0.012"
    assert with_std(1.23456, np.nan) == "1.23 (not identifiable)"


# ----------------------------------------------------------------------------------------------------------- recordings


def test_commands_of_the_recordings(shared_data):
    data = shared_data("furuta").parent
    on = furuta_fits.stand(data)
    assert on.restored == {STEP: 1}
    assert 2e-3 < on.allowed[0] < on.allowed[1] < 5e-3
    for name, volts in (("step 2 V", 2.0), (STEP, 4.0)):
        u = on.records[name].u[:, 0]
        assert u[0] == 0 and np.all(u[10:] == volts)
        assert on.has_constant_voltage(name)
    assert not on.has_constant_voltage("sine 2 V")


# ----------------------------------------------------------------------------------------------------------------- page


@pytest.fixture(scope="module")
def study(estimated, moved):
    """One simulated recording in the place of all three, and its estimate in the place of all estimates."""
    on, fit = estimated
    times, x = moved
    angles = Angles(times, x[:, 0], x[:, 1] + ZERO, 0 * times)
    records = {name: furuta_models.record(name, angles, on.records[STEP].u[:, 0]) for name in DRIVEN}
    fine = {name: replace(on.fine[STEP], name=name) for name in DRIVEN}
    on = replace(on, records=records, fine=fine, restored={STEP: 1}, allowed=(0.002, 0.003))
    every = [(of, name) for of in DRIVEN for name in DRIVEN]
    by_kappa = dict.fromkeys(furuta_sweeps.KAPPAS, fit)
    return Study(
        on,
        1e4,
        {1e3: fit, 1e4: fit},
        fit,
        dict.fromkeys((ALL, *DRIVEN), fit),
        {
            (of, name): furuta_fits.HeldOut(2e-5 if of == STEP else 1e-5, (0.01, 0.02))
            for of, name in every
            if of != name
        },
        dict.fromkeys([*every, *((ALL, name) for name in DRIVEN)], (0.01, 0.02)),
        {"as chosen": (1.01e-4, 1e-4)},
        furuta_sweeps.Sweeps(
            dict.fromkeys((furuta_sweeps.REDUCED, furuta_sweeps.EXPLICIT), by_kappa),
            {furuta_sweeps.EXPLICIT: dict.fromkeys(furuta_sweeps.COMPLIANCES_TRIED, fit)},
            times,
            dict.fromkeys(furuta_sweeps.SIMULATED, np.zeros((len(times), 2))),
        ),
    )


def test_page_of_it(study):
    result = furuta.report(study, {"total": 1.0})
    content = json.loads(json.dumps({"rows": result.rows, "figures": result.figures}, allow_nan=False))
    figures = content["figures"]
    assert figures["cross_validation"] == {"step 2 V": 1e-5, "step 4 V": 2e-5, "sine 2 V": 1e-5}
    assert figures["simulation_rms_rad"][ALL][STEP] == {"arm": 0.01, "pendulum": 0.02}
    assert figures["inertia_difference_to_free_swings_percent"] == 0  # both are the same estimate here
    assert figures["variants_difference_percent"]["as chosen"] == pytest.approx(1.0)
    assert {(row["recording"], row["parameter"]) for row in content["rows"]} >= {
        (of, name) for of in (ALL, *DRIVEN) for name in (*ESTIMATED, "pendulum.J_hinge")
    }
    inertia = next(row for row in content["rows"] if row["parameter"] == "pendulum.J_hinge")
    assert inertia["value"] == pytest.approx(MASS * DISTANCE**2 + TRUTH["pendulum.Jxx"], rel=3e-3)
    assert inertia["unit"] == "kg m^2" and inertia["identifiable"] and 0 < inertia["std"] < 1e-6
    assert all(rows for rows in result.tables.values())
    for curves in result.curves.values():
        assert all(len(line) == len(curves.time) for line in curves.lines.values())
    assert any("1 command of step 4 V" in note for note in result.notes)
