"""The closed-loop cases in short runs: what the paper claims holds in them, and comes out of the simulation."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("proxsuite", reason="needs ProxSuite (pip install proxsuite)")

from poinsot.estimators.online.kalman import ExtendedKalmanFilter
from poinsot.exceptions import PoinsotError
from poinsot.models.robot.link_torques import LinkTorques
from poinsot_reproductions.case import Curves, Measurement, PartedCase, Reproduction, Simulation
from poinsot_reproductions.online import (
    CASES,
    ONLINE,
    adaptation,
    consistency,
    curl,
    elbow,
    gating,
    torso,
    which_link,
)
from poinsot_reproductions.online.gating import convergence
from poinsot_reproductions.online.simulation.closed_loop import FixedModel, Scenario, simulate
from poinsot_reproductions.online.simulation.gait import Stepping
from poinsot_reproductions.online.simulation.legged_robot import talos
from poinsot_reproductions.online.simulation.loads import ScaledBody
from poinsot_reproductions.online.simulation.tasks import Kinematics
from poinsot_reproductions.online.simulation.whole_body import ContactLimits, sole_frame
from references.robots import described

PAPER_KEYS = {
    "consistency": {"baseline_non_physical_fraction", "chart_non_physical_fraction", "mass_error_percent"},
    "torso": {"rmse_without", "rmse_with", "rmse_oracle", "mass_error_percent_before_switch"},
    "elbow": {"rmse_without", "rmse_with", "rmse_oracle", "mass_error_percent_before_switch"},
    "curl": {"settled_mass_error_percent", "max_published_rate_kg_s"},
    "gating": {"peak_to_peak_without", "peak_to_peak_with", "rejected_fraction"},
    "which-link": {"trials", "attributed_correctly", "median_seconds"},
}
"""What `figures` of each case must have."""


@pytest.fixture(autouse=True, scope="module")
def needs_talos():
    described("talos_data/robots/talos_reduced.urdf")


slow = pytest.mark.slow
each_seed = pytest.mark.parametrize(
    "seed", [101, pytest.param(202, marks=slow), pytest.param(303, marks=slow)]
)
"""Chosen before any of them was run: one rule tunes all filters from the sensors' noise, so that any seed will do."""


def checked(result, case):
    assert PAPER_KEYS[case] <= set(result.figures)
    json.dumps([result.figures, result.rows])
    assert all(len(values) == len(c.time) for c in result.curves.values() for values in c.lines.values())
    assert result.name == "online" and result.seed == "004" and result.seconds["total"] > 0
    return result.figures


@each_seed
def test_baseline_leaves_what_is_physical_and_charts_never(seed):
    figures = checked(consistency.run(seed, duration=2.5), "consistency")
    assert figures["baseline_non_physical_fraction"] > 0
    assert figures["chart_non_physical_fraction"] == 0
    assert figures["mass_error_percent"] < 5


@pytest.mark.slow
@each_seed
def test_torso(seed):
    figures = checked(torso.run(seed, duration=2.7), "torso")
    assert figures["rmse_without"] > 2.2 * figures["rmse_with"]
    assert figures["rmse_with"] < 1.5 * figures["rmse_oracle"]
    assert figures["mass_error_percent_before_switch"] < 5


@pytest.mark.parametrize("case", [consistency, torso, gating])
def test_shifts_ask_for_no_more_than_a_sole_has(case):
    """The centre of pressure that an inverted pendulum calls for, p = c - z c''/g, stays in the soles."""
    humanoid = talos()
    frames = {sole_frame(s): (s.body, np.array([0, 0, s.height])) for s in humanoid.soles}
    kinematics = Kinematics(humanoid.robot, frames)
    kinematics.update(humanoid.home, np.zeros(humanoid.robot.model.nv))
    gait = Stepping(kinematics, humanoid.soles, case.STRIDE)
    touching = {sole.body: np.array([0, 0, 500.0, 0, 0, 0]) for sole in humanoid.soles}
    duration = case.STRIDE.start + 2 * case.STRIDE.shift + case.STRIDE.swing
    footings = [gait(time, kinematics, touching) for time in np.arange(0.0, duration, 0.003)]
    y = np.array([footing.centre[1] for footing in footings])
    a = np.array([footing.centre_acceleration[1] for footing in footings])
    p = y - kinematics.centre_of_mass[2] / 9.81 * a
    feet = [kinematics.placement(kinematics.frame(name)).translation[1] for name in frames]
    reach = ContactLimits().margin * humanoid.soles[0].half_width
    assert np.ptp(y) > 0.9 * np.ptp(feet)  # it has been over both
    assert min(feet) - reach < p.min() and p.max() < max(feet) + reach


@each_seed
def test_elbow(seed):
    figures = checked(elbow.run(seed, duration=2.2, switch=1.0), "elbow")
    assert figures["rmse_without"] > 4 * figures["rmse_with"]  # 7.3 times needs the whole run
    assert figures["rmse_with"] < 1.5 * figures["rmse_oracle"]


@each_seed
def test_curl_within_the_rate(seed):
    said = []
    figures = checked(curl.run(seed, duration=3.2, settled=2.4, say=said.append), "curl")
    assert ("with adaptation", "3 of 3.2 s") in [(each.stage, each.detail) for each in said]
    assert figures["max_published_rate_kg_s"] < 3 + 1e-6
    assert abs(figures["settled_mass_error_percent"]) < 3
    assert figures["rmse_with"] < figures["rmse_without"]


@pytest.mark.slow
@each_seed
def test_gating(seed):
    figures = checked(gating.run(seed, duration=4.5, settled=1.5), "gating")
    assert 3 * figures["peak_to_peak_with"] < figures["peak_to_peak_without"]
    assert 0 < figures["rejected_fraction"] <= 0.2
    assert figures["converged_seconds"] < 1.0


@pytest.mark.slow
def test_which_link_whoever_runs_the_trials():
    said = []
    elsewhere = which_link.run(3, trials=1, say=said.append)
    here = which_link.run(3, trials=1, executor=ThreadPoolExecutor(1))
    figures = checked(elsewhere, "which-link")
    assert figures["attributed_correctly"] == figures["trials"] == 1
    assert said[-1] == "1 of 1 trials"
    (a,), (b,) = elsewhere.curves.values(), here.curves.values()
    assert all((a.lines[name] == b.lines[name]).all() for name in a.lines)


@pytest.mark.parametrize("case", ["elbow", "gating"])
def test_the_rule_gives_the_precision_that_it_is_derived_for(case):
    """A constant mass, tracked with the tuned drift, wanders by s: to a half, as noise is not quite white."""
    if case == "elbow":
        humanoid, link = talos(adaptation.BENT, arm_effort=2.0), adaptation.FOREARM
        moving = {"joints": elbow.curls(-1.4, elbow.CURL, elbow.CURL_HZ)}
    else:
        humanoid, link = talos(), adaptation.TORSO
        moving = {"gait": partial(Stepping, stride=gating.STRIDE), "matched": False}
    own = adaptation.described_body(humanoid, link)
    scenario = Scenario(humanoid, {link: ScaledBody(own, lambda time: float(own[0]))}, 5.0, **moving)
    tuning = adaptation.calibrate(scenario, np.random.default_rng(101))
    filter_ = ExtendedKalmanFilter(
        LinkTorques(humanoid.robot, (link,)), tuning.noise, drift=tuning.drift, gate=None, bias=tuning.bias
    )
    trace = simulate(scenario, FixedModel({link: own}), np.random.default_rng(202))
    samples = [sample for sample in trace.samples if sample is not None]
    beliefs = filter_.run(samples, filter_.init(own[None]))
    mass = np.array([filter_.inertial(belief.x)[0, 0] for belief, _ in beliefs])
    spread = mass[len(mass) // 4 :].std() / own[0]
    assert adaptation.PRECISION / 1.5 < spread < 1.5 * adaptation.PRECISION


def test_times_of_convergence_and_of_certainty():
    time = np.arange(0.0, 3.0, 0.1)
    assert convergence(time, (time > 0.45) & ((time < 0.75) | (time > 1.15))) == pytest.approx(1.2)
    assert convergence(time, np.zeros(30, dtype=bool)) is None
    probability = np.where((time < 1.05) | ((time > 1.45) & (time < 1.55)), 0.5, 0.99)
    assert which_link.sure_since(time, probability) == pytest.approx(1.6)
    assert which_link.sure_since(time, np.zeros(30)) is None
    assert which_link.sure_since(time, np.ones(30)) == 0.0


def test_parts_come_alone_or_together():
    def part(name):
        def run(seed, say):
            say("running")
            curves = {"line": Curves(np.arange(2.0), "m", {"a": np.zeros(2)})}
            return Reproduction(
                "both", "004", name, f"{name}.", ({"name": "x", "ours": seed},), {"t": ()}, {"value": seed},
                seconds={"total": 1.0}, curves=curves,
            )  # fmt: skip

        return run

    both = PartedCase("both", "two parts", {"one": Simulation(part("one")), "two": Simulation(part("two"))})
    said = []
    assert both("two", 5, None, said.append).figures == {"value": 5}
    assert said == ["two: running"]
    together = both(None, 5, None, said.append)
    assert together.figures == {"one": {"value": 5}, "two": {"value": 5}}
    assert [row["case"] for row in together.rows] == ["one", "two"]
    assert set(together.curves) == {"one: line", "two: line"}
    with pytest.raises(PoinsotError, match="did you mean 'one'"):
        both("ones", 0, None, said.append)
    with pytest.raises(PoinsotError, match="both is simulated and reads no data"):
        both("one", 0, Path(), said.append)


def test_a_part_that_reads_recordings_wants_them(tmp_path):
    def read(data, say):
        return Reproduction(
            "mixed", "001", "read", "read.", (), {}, {"folder": data.name}, seconds={"total": 1.0}
        )

    mixed = PartedCase("mixed", "two kinds", {"read": Measurement(read, ("log.csv",))})
    with pytest.raises(PoinsotError, match=r"read is computed from log\.csv: say where they are with --data"):
        mixed("read", None, None, print)
    with pytest.raises(PoinsotError, match=r"read needs log\.csv: there is no log\.csv in"):
        mixed("read", None, tmp_path, print)
    (tmp_path / "log.csv").write_text("")
    assert mixed("read", None, tmp_path, print).figures == {"folder": tmp_path.name}
    assert mixed(None, None, tmp_path, print).figures == {"read": {"folder": tmp_path.name}}


def test_the_registry_has_the_papers_cases():
    assert tuple(ONLINE.parts) == CASES == tuple(PAPER_KEYS)
