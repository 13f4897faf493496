"""The loop holds: a humanoid stands, steps and walks, knowing more makes it better, and what it records is physics."""

import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("proxsuite", reason="needs ProxSuite (pip install proxsuite)")

from poinsot.estimators.online.belief import SampleVerdict
from poinsot.estimators.online.kalman import ExtendedKalmanFilter
from poinsot.estimators.online.publishing import RateLimit
from poinsot.models.robot.link_torques import LinkTorques
from poinsot_reproductions.online.simulation import whole_body
from poinsot_reproductions.online.simulation.closed_loop import (
    AdaptedModel,
    FixedModel,
    Scenario,
    TrueModel,
    simulate,
)
from poinsot_reproductions.online.simulation.gait import Stepping, Stride, foothold
from poinsot_reproductions.online.simulation.legged_robot import talos
from poinsot_reproductions.online.simulation.loads import ScaledBody, Square
from poinsot_reproductions.online.simulation.measurements import StateSensors
from poinsot_reproductions.online.simulation.plant import Slab
from poinsot_reproductions.online.simulation.tasks import Kinematics
from poinsot_reproductions.online.simulation.whole_body import sole_frame
from references.robots import described

TORSO = "torso_2_link"
NOISE = np.concatenate([np.full(3, 25.0), np.full(3, 12.0), np.full(32, 2.0)])
PERFECT = StateSensors(**dict.fromkeys(vars(StateSensors()), 0))


@pytest.fixture(scope="module")
def humanoid():
    described("talos_data/robots/talos_reduced.urdf")  # skips where there is no Talos
    return talos()


@pytest.fixture(scope="module")
def own(humanoid):
    return humanoid.robot.inertials[humanoid.robot.bodies.index(TORSO)]


def kinematics_of(humanoid):
    frames = {sole_frame(s): (s.body, np.array([0, 0, s.height])) for s in humanoid.soles}
    return Kinematics(humanoid.robot, frames)


def rms(x):
    return np.sqrt(np.mean(x**2))


def test_knowing_the_mass_holds_the_pelvis(humanoid, own):
    load = ScaledBody(own, Square(30, 5, 1.0))
    scenario = Scenario(humanoid, {TORSO: load}, duration=1.5)
    start = 0.7 * load(0.0)
    filter_ = ExtendedKalmanFilter(LinkTorques(humanoid.robot, (TORSO,)), NOISE, drift=1.0, gate=None)
    knowing = {
        "once": FixedModel({TORSO: start}),
        "adapted": AdaptedModel(filter_, start[None]),
        "oracle": TrueModel({TORSO: load}),
    }
    traces = {name: simulate(scenario, k, np.random.default_rng(1)) for name, k in knowing.items()}
    errors = {name: rms(trace.height_error()) for name, trace in traces.items()}
    assert errors["once"] > 0.005
    assert errors["adapted"] < errors["once"] / 5
    assert errors["oracle"] < errors["adapted"]
    adapted = traces["adapted"]
    late = (adapted.time % 0.5) > 0.3
    np.testing.assert_allclose(adapted.assumed[late, 0, 0], adapted.actual[late, 0, 0], rtol=0.15)
    assert all(trace.unsolved == 0 and not trace.fallen for trace in traces.values())
    assert adapted.verdicts[-1] is SampleVerdict.accepted and traces["once"].verdicts[-1] is None


def standing(humanoid, own, mass=30.0, duration=0.4):
    return Scenario(humanoid, {TORSO: ScaledBody(own, lambda time: mass)}, duration)


def test_a_run_begins_at_rest_with_the_first_bodies_of_the_controller(humanoid, own):
    scenario = standing(humanoid, own)
    filter_ = ExtendedKalmanFilter(LinkTorques(humanoid.robot, (TORSO,)), NOISE, gate=None)
    trace = simulate(
        scenario, AdaptedModel(filter_, 0.7 * 30 / own[None, 0, None] * own), np.random.default_rng(0)
    )
    assert trace.time[0] == 0
    assert trace.assumed[0, 0, 0] == pytest.approx(21.0)
    assert trace.samples[0] is None and trace.samples[1] is not None
    assert np.abs(trace.q[1] - trace.q[0]).max() < 1e-4
    weight = 9.81 * (humanoid.robot.inertials[:, 0].sum() - own[0] + 30)
    assert trace.ground_force[0].sum() == pytest.approx(weight, rel=0.01)


def test_progress_is_reported_each_second(humanoid, own):
    said = []
    simulate(
        standing(humanoid, own, duration=1.1), FixedModel({TORSO: own}), np.random.default_rng(0), said.append
    )
    assert said == [0.0, 1.0]


class _Shaken:
    """A solver whose last digits are others, as they are where its memory lies elsewhere."""

    def __init__(self, *sizes):
        self._program, self._rng = _PROGRAM(*sizes), np.random.default_rng(0)

    def __getattr__(self, name):
        return getattr(self._program, name)

    def solve(self, *begin):
        self._program.solve(*begin)
        x = self._program.results.x
        x *= 1 + 1e-14 * self._rng.standard_normal(len(x))


_PROGRAM = whole_body.proxqp.dense.QP


def test_the_solvers_last_digits_do_not_show(humanoid, own, monkeypatch):
    scenario, knowledge = standing(humanoid, own), FixedModel({TORSO: own})
    plain = simulate(scenario, knowledge, np.random.default_rng(0))
    shaken = SimpleNamespace(dense=SimpleNamespace(QP=_Shaken), InitialGuess=whole_body.proxqp.InitialGuess)
    monkeypatch.setattr(whole_body, "proxqp", shaken)
    np.testing.assert_array_equal(simulate(scenario, knowledge, np.random.default_rng(0)).q, plain.q)
    monkeypatch.setattr(whole_body, "EFFORT_STEP", 1e-15)  # without the rounding they would
    monkeypatch.setattr(whole_body, "DECIMALS", 16)
    assert (simulate(scenario, knowledge, np.random.default_rng(0)).q != plain.q).any()


STEPPING = """
import hashlib, numpy as np
from functools import partial
from poinsot_reproductions.online.simulation.closed_loop import Scenario, FixedModel, simulate
from poinsot_reproductions.online.simulation.gait import Stepping, Stride
from poinsot_reproductions.online.simulation.legged_robot import talos
from poinsot_reproductions.online.simulation.loads import ScaledBody
humanoid = talos()
own = humanoid.robot.inertials[humanoid.robot.bodies.index("torso_2_link")]
scenario = Scenario(
    humanoid,
    {"torso_2_link": ScaledBody(own, lambda time: 30.0)},
    1.4,
    gait=partial(Stepping, stride=Stride(start=0.0, shift=0.8, swing=0.4)),
)
trace = simulate(scenario, FixedModel({"torso_2_link": own}), np.random.default_rng(0))
print(hashlib.sha256(trace.q.tobytes()).hexdigest())
"""


def test_two_processes_give_the_same_bits(humanoid):
    """Hashes of strings, and so the order in which memory is handed out, differ between them."""
    said = {
        subprocess.run(
            [sys.executable, "-c", STEPPING],
            env=os.environ | {"PYTHONHASHSEED": hash_seed, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed, threads in (("1", "1"), ("2", "2"))
    }
    assert len(said) == 1


@pytest.mark.parametrize("lag", [0.0, 0.003])
def test_samples_of_perfect_sensors_obey_the_equation_of_motion(humanoid, own, lag):
    """Y pi + tau_nom = tau + J^T f within what the window's averages leave, at touchdown too.

    Where the feet's sensors lag, everything else is made to.
    """
    sensors = replace(PERFECT, force_lag=lag)
    stride = Stride(start=0.1, shift=0.7, swing=0.4)
    load = ScaledBody(own, lambda time: 20.0)
    scenario = Scenario(
        humanoid, {TORSO: load}, duration=1.6, gait=partial(Stepping, stride=stride), sensors=sensors
    )
    trace = simulate(scenario, TrueModel({TORSO: load}), np.random.default_rng(0))
    torques = LinkTorques(humanoid.robot, (TORSO,))
    samples = [sample for sample in trace.samples if sample is not None]
    left = []
    for sample in samples:
        Y, tau = torques(sample.q, sample.v, sample.a, sample.wrenches)
        left.append((sample.tau - tau - Y @ load(0.0))[:3])
    left = np.abs(np.array(left)).max(axis=1)
    right = trace.ground_force[:, 1]
    assert right.min() < 1 < right[trace.time > 1.25].max()  # the right foot left, and came back
    assert np.median(left) < 0.1  # [N] of a robot that weighs 900
    assert left.max() < 0.1 * 900


def test_walking_over_slabs(humanoid, own):
    stride = Stride(length=0.15, height=0.05, start=0.2, shift=0.9, swing=0.8)
    slab = Slab(0.3 - 0.009, 0.11, 0.15, 0.1, 0.015)
    load = ScaledBody(own, lambda time: own[0])
    scenario = Scenario(
        humanoid, {TORSO: load}, duration=3.9, gait=partial(Stepping, stride=stride), ground=[slab]
    )
    trace = simulate(scenario, FixedModel({TORSO: own}), np.random.default_rng(0))
    assert not trace.fallen
    kinematics = kinematics_of(humanoid)
    kinematics.update(trace.q[-1], np.zeros(38))
    sole = kinematics.placement(kinematics.frame(sole_frame(humanoid.soles[0]))).translation
    assert sole[0] == pytest.approx(
        0.3 - 0.009, abs=0.03
    )  # two strides on, less what an early touchdown saves
    assert sole[2] == pytest.approx(0.015, abs=0.003)  # on the slab
    assert rms(trace.height_error()) < 0.005


def test_a_rate_limit_is_kept(humanoid, own):
    load = ScaledBody(own, lambda time: 30.0)
    filter_ = ExtendedKalmanFilter(LinkTorques(humanoid.robot, (TORSO,)), NOISE, drift=1.0, gate=None)
    adapted = AdaptedModel(filter_, own[None], RateLimit(mass=3.0), from_time=0.1)
    trace = simulate(Scenario(humanoid, {TORSO: load}, duration=0.5), adapted, np.random.default_rng(1))
    mass = trace.assumed[:, 0, 0]
    rate = np.diff(mass) / np.diff(trace.time)
    assert rate.max() == pytest.approx(3.0, rel=1e-6)
    assert (mass[trace.time < 0.1] == own[0]).all()


def test_a_fall_ends_the_run(humanoid, own):
    feeble = replace(humanoid, effort_limits=0.05 * humanoid.effort_limits)
    load = ScaledBody(own, lambda time: own[0])
    trace = simulate(
        Scenario(feeble, {TORSO: load}, duration=3.0), FixedModel({TORSO: own}), np.random.default_rng(0)
    )
    assert trace.fallen and trace.time[-1] < 2.9


def test_a_swing_is_smooth_until_it_searches(humanoid):
    """Velocity and acceleration of the foot's reference are the derivatives of its position."""
    stride = Stride(length=0.1, height=0.05, start=0.0, shift=0.5, swing=0.6, depth=0.01)
    kinematics = kinematics_of(humanoid)
    kinematics.update(humanoid.home, np.zeros(38))
    gait = Stepping(kinematics, humanoid.soles, stride)
    wrenches = {sole.body: np.zeros(6) for sole in humanoid.soles}
    h = 1e-4
    footings = [gait(k * h, kinematics, wrenches) for k in range(10990)]
    swing = [f for f in footings if f.swing]
    p = np.array([f.placement.translation for f in swing])
    v = np.array([f.velocity[:3] for f in swing])
    a = np.array([f.acceleration[:3] for f in swing])
    # central differences: h^2 / 6 of the third derivative, below 1e3; at mid-swing that jumps, so h times it
    assert np.abs(np.gradient(p, h, axis=0) - v)[1:-1].max() < 1e3 * h**2
    assert np.abs(np.gradient(v, h, axis=0) - a)[1:-1].max() < 1e3 * h
    start = kinematics.placement(kinematics.frame(sole_frame(humanoid.soles[1]))).translation
    end = foothold(start, 1, stride)
    assert p[:, 2].max() - start[2] == pytest.approx(0.05, abs=1e-4)
    np.testing.assert_allclose(p[-1][:2], end[:2], atol=1e-3)
    assert p[-1][2] - start[2] == pytest.approx(-0.01, abs=1e-3)
    c = np.array([f.centre for f in footings[:5000]])
    w = np.array([f.centre_velocity for f in footings[:5000]])
    assert np.abs(np.gradient(c, h, axis=0) - w)[1:-1].max() < 1e3 * h**2
