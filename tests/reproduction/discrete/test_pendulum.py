"""Friction between windows, and driven mechanisms: against motions that another integrator made, and the recordings."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from poinsot.estimators.joint import Record
from poinsot_reproductions.discrete import (
    emps_axis,
    pendulum_comparison,
    pendulum_drive,
    pendulum_page,
    pendulum_swings,
    step_noise,
)
from poinsot_reproductions.discrete.furuta_models import GRAVITY, WEIGHT
from poinsot_reproductions.discrete.mean_squares import impulse_mse
from poinsot_reproductions.discrete.pendulum_swings import DRY, VISCOUS, ZERO
from poinsot_reproductions.discrete.recordings import Angles

J, DRAG, LEVEL = 1.06e-4, 3e-5, 3e-4
SINE, READ_ZERO = -0.02, -0.01


def moved(torque, inertia, drag, level, weight, q0, times):
    """Angles of J q'' + weight sin q + drag q' + level sign q' = torque(t), by a stiff integrator."""

    def slope(t, x):
        friction = drag * x[1] + level * np.tanh(x[1] / 1e-3)
        return [x[1], (torque(t) - weight * np.sin(x[0]) - friction) / inertia]

    return solve_ivp(slope, (0, times[-1]), [q0, 0], "LSODA", times, rtol=1e-8, atol=1e-10, max_step=0.02).y[
        0
    ]


def uneven(rng, duration, h):
    """Times with steps that vary by a third."""
    return np.cumsum(np.append(0.0, h * rng.uniform(0.7, 1.3, round(duration / h))))


@pytest.fixture(scope="module")
def angles():
    """A pendulum with dry friction that is let go at 2.6 rad and comes to rest."""
    rng = np.random.default_rng(1)
    times = uneven(rng, 8.0, 4e-3)
    q = moved(lambda _: 0.0, J, DRAG, LEVEL, WEIGHT, 2.6, times)
    read = q + READ_ZERO + SINE * np.sin(q) + 2e-4 * rng.standard_normal(len(q))
    return Angles(times, 0 * q, read, 0 * q)


@pytest.fixture(scope="module")
def compared(angles):
    """Friction in proportion to the load takes long to compile: the dry law stands in for it."""

    def quick(windows, weight, law, kind="coulomb", **options):
        return pendulum_swings.study(windows, weight, law, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pendulum_comparison, "study", quick)
        return pendulum_comparison.compare(angles, weights=(1e11,), others=((2, 0.4, 4),), count=3)


# ---------------------------------------------------------------------------------------------------------- free swings


def test_windows_are_equal_and_keep_the_clock(angles):
    start, end = pendulum_swings.swings(angles, 0.2)
    assert np.abs(angles.pendulum[angles.times < start]).max() > 2.5  # the first turn is another one
    assert np.abs(angles.pendulum[angles.times > end] - READ_ZERO).max() < 0.21
    found = pendulum_swings.windows(angles, 4, 0.2, 1)
    edges = np.linspace(start, end, 5)
    for record, (a, b) in zip(found, pairwise(edges), strict=True):
        assert a <= record.times[0] < a + 6e-3 and b - 6e-3 < record.times[-1] <= b
        assert np.isin(record.times, angles.times).all() and np.ptp(np.diff(record.times)) > 1e-3
    thinned = pendulum_swings.windows(angles, 4, 0.2, 3)
    np.testing.assert_array_equal(thinned[1].z, found[1].z[::3])


def test_kappa_is_the_smallest_that_leaves_friction_its_work():
    shares = {k: np.array([0.001, most]) for k, most in ((1e10, 0.004), (1e8, 0.2), (1e9, 0.009))}
    assert pendulum_swings.chosen(shares) == 1e9
    assert pendulum_swings.chosen({1e8: shares[1e8], 1e7: shares[1e8]}) == 1e8


def test_dry_friction_is_found_and_told_from_viscous(compared):
    """Truth within five standard deviations, and within what smoothing sign q' by 1e-3 rad/s makes of the level."""
    dry = compared.laws[DRY]
    values = dry.together.values
    assert pendulum_swings.inertia(dry.together) == pytest.approx(J, rel=1e-3)
    assert values["pivot.coulomb"] == pytest.approx(LEVEL, rel=0.02)
    assert values["pivot.drag"] == pytest.approx(DRAG, rel=0.05)
    assert values["pivot encoder.sine"] == pytest.approx(SINE, abs=2e-3)
    assert values[ZERO[0]] == pytest.approx(READ_ZERO, abs=1e-3)
    assert dry.frequency == pytest.approx(np.sqrt(WEIGHT / J), rel=5e-4)
    assert dry.cross_validation < 0.1 * compared.laws[VISCOUS].cross_validation
    assert dry.cost == pytest.approx(np.diag(dry.scores).mean())


def test_impulse_errors_do_the_work_of_missing_friction(angles, compared):
    """With a small kappa viscous friction in all windows leaves much of it to them; dry friction needs none."""
    viscous = pendulum_swings.study(pendulum_swings.windows(angles), 1e8, VISCOUS, crossed=False)
    assert viscous.shares.max() > 0.2
    assert compared.weight == 1e11 and compared.sweep[DRY][1e11].shares.max() < 0.01


def test_eccentricity_makes_inertia_vary_with_the_swing(compared):
    assert compared.centred.spread_percent > 3 * compared.dry.spread_percent
    eccentric, centred = compared.others[2, 0.4, 4]
    assert eccentric.weight == compared.weight / 4 and eccentric.spread_percent < centred.spread_percent


def test_curves_of_friction(compared):
    dry = compared.laws[DRY].together
    speeds = np.array([-2.0, 0.0, 2.0])
    torque = 2 * dry.values["pivot.drag"] + dry.values["pivot.coulomb"]
    np.testing.assert_allclose(pendulum_swings.friction(dry, speeds), [-torque, 0, torque])
    loaded = replace(
        dry,
        names=pendulum_swings.model("friction").free,
        theta=np.array([1e-5, 2e-5, 1e-3, 2e-3, 0.5, 0, 0, 0]),
    )
    level = 1e-3 + 2e-3 * np.exp(-0.5 * speeds[2] ** 2)
    for load in (0.1, 0.2):
        found = pendulum_swings.friction(loaded, speeds, load)
        np.testing.assert_allclose(found[2], 2 * 2e-5 + load * level)


def test_laws_open_what_they_say():
    for kind in ("coulomb", "friction"):
        free = pendulum_swings.model(kind).free
        opened = [pendulum_swings.parameters(law, kind) for law in ("viscous", "dry", "stribeck")]
        assert all(set(names) < set(free) for names in opened)
        assert [len(names) for names in opened] == [2, 3, 5]
        for law, names in zip(("viscous", "dry", "stribeck"), opened, strict=True):
            begin = dict(zip(free, pendulum_swings.beginning(law, kind), strict=True))
            friction = [begin[name] for name in free if name.startswith("pivot.")][1:]
            assert [value > 0 for value in friction] == [
                name in names for name in free if name.startswith("pivot.")
            ][1:]


# ---------------------------------------------------------------------------------------------------- driven mechanisms


def test_resolution_is_the_step_of_a_rounded_reading(rng):
    assert step_noise.resolution(0.003 * np.round(rng.standard_normal(1000) / 0.003)) == pytest.approx(0.003)


@pytest.fixture(scope="module")
def driven(tmp_path_factory):
    """Angle and torque of a pendulum with a motor, in a file; `scale` is what the torque reads too high."""
    rng = np.random.default_rng(2)
    times = uneven(rng, 3.0, 6e-3)
    torque = np.interp(times, np.arange(0, 8, 0.25), 1.2 * rng.standard_normal(32))
    q = moved(lambda t: np.interp(t, times, torque) + 0.02, 0.15, 0.02, 0.1, 0.3 * GRAVITY, 0.0, times)

    def write(scale):
        folder = tmp_path_factory.mktemp("driven")
        (folder / "pendulum").mkdir()
        rows = np.column_stack([times, 1e-3 * np.round(q / 1e-3), scale * torque])
        np.savetxt(
            folder / pendulum_drive.FILE, rows, delimiter=",", header="time,position,torque", comments=""
        )
        return folder

    return write


@pytest.fixture(scope="module")
def drive(driven):
    return pendulum_drive.identify(driven(1.0))


def test_a_driven_pendulum_comes_out_in_the_unit_of_its_torque(driven, drive):
    one, two = drive, pendulum_drive.identify(driven(2.0))
    truth = {"J": 0.15, "m l": 0.3, "b": 0.02, "c": 0.1, "offset": 0.02}
    for name, value in truth.items():
        assert one.values[name] == pytest.approx(value, rel=0.03, abs=2e-3)
        assert two.values[name] == pytest.approx(2 * one.values[name], rel=0.02, abs=2e-3)
    assert one.noise == pytest.approx(1e-3 / np.sqrt(12), rel=1e-6)
    assert one.weight * impulse_mse(one.fit) == pytest.approx(1)


def test_a_slider_with_an_offset():
    """x = 0.1 sin(w t) + 0.05 sin(2 w t) under the force that the law needs, without an integrator."""
    t, w = np.arange(0, 4, 1e-3), 2.0
    x = 0.1 * np.sin(w * t) + 0.05 * np.sin(2 * w * t)
    v = 0.1 * w * (np.cos(w * t) + np.cos(2 * w * t))
    a = -0.1 * w**2 * (np.sin(w * t) + 2 * np.sin(2 * w * t))
    truth = {"M": 90.0, "Fv": 200.0, "Fc": 20.0, "offset": -3.0}
    force = 90 * a + 200 * v + 20 * np.clip(v / 1e-3, -1, 1) - 3  # it creeps at up to 1 mm/s
    record = Record("axis", t, step_noise.over_steps(force) / emps_axis.GAIN, x[:, None])
    names = tuple(emps_axis.NAMES.values())
    fit, fits = step_noise.with_own_noise(emps_axis.model(), record, names, 1e-8, emps_axis.FIRST_WEIGHT)
    assert len(fits) < step_noise.ROUNDS
    for name, value in emps_axis.values(fit).items():
        assert value == pytest.approx(truth[name], rel=1e-3)


def test_emps_from_position_and_voltage(shared_data):
    axis = emps_axis.identify(shared_data("emps").parent, weights=())
    for name, value in axis.values.items():
        assert value == pytest.approx(emps_axis.REFERENCE[name], rel=0.02)
    assert axis.noise == pytest.approx(5e-8 / np.sqrt(12), rel=1e-3)


# ------------------------------------------------------------------------------------------------------------- the page


def test_the_report_has_what_is_asked(compared, drive):
    t = np.arange(0, 2, 2e-3)
    x = 0.1 * np.sin(3 * t)
    record = Record("axis", t, np.sin(t)[:, None], x[:, None])
    fit = step_noise.at_weight(emps_axis.model(), record, tuple(emps_axis.NAMES.values()), 1e-8, 1e5)
    axis = emps_axis.Axis(record, fit, 1e5, 1, 1e-8, {10.0: fit})
    result = pendulum_page.report(compared, drive, axis, {"total": 1.0})
    json.dumps([result.rows, result.figures, result.notes, result.tables, result.facts])
    laws = ("viscous", "dry", "stribeck")
    asked = {*(f"{what}_{law}" for what in ("cost", "cross_validation") for law in laws)}
    asked |= {"inertia_spread_percent", "inertia_spread_percent_without_eccentricity", "frequency_rad_s"}
    assert asked | {"M", "Fv", "Fc", "offset"} < set(result.figures)
    assert (result.name, result.seed) == ("discrete-multibody", "000")
    assert len({row["name"] for row in result.rows}) == len(result.rows)
    assert all(len(values) == len(c.time) for c in result.curves.values() for values in c.lines.values())
    assert result.figures["M"] == emps_axis.values(fit)["M"]
