"""Comparisons of results: statistics against independent formulas, simulated robots of known truth, the verb."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

import poinsot as package
from poinsot.exceptions import InvalidMethod
from poinsot.studies.comparison import chance, holm, labels
from poinsot_reproductions.simulated_recordings import (
    Sensors,
    fourier_motion,
    model_parameters,
    simulate_recording,
)

ARM = Path(__file__).parents[2] / "examples/arm"
FRICTION = {
    f"{symbol}{k}": value for k in (1, 2, 3) for symbol, value in (("fv", 0.5), ("fc", 1.0), ("ia", 0.2))
}


def test_the_chance_of_two_values_is_that_of_their_difference():
    for x, s in (([1.0, 2.5], [0.3, 0.4]), ([0.0, -1e-3], [1.0, 2.0])):
        z = (x[1] - x[0]) / np.hypot(*s)
        assert chance(np.array(x), np.array(s)) == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-9)
    assert chance(np.array([2.0, 2.0]), np.array([0.0, 1.0])) == 1.0
    assert chance(np.array([2.0, 3.0]), np.array([0.0, 1.0])) == 0.0


def test_the_chance_of_several_values_is_uniform_if_they_do_not_differ(rng):
    """Kolmogorov and Smirnov's test of 2000 draws of four values with unequal standard deviations."""
    std = np.array([0.1, 1.0, 3.0, 0.5])
    drawn = [chance(std * rng.standard_normal(4), std) for _ in range(2000)]
    assert stats.kstest(drawn, "uniform").pvalue > 0.01


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_rejects_by_adjusted_p_values(p):
    """By their definition: the largest of (b - j) p_(j) over what is smaller."""
    p = np.array(p)
    order = np.argsort(p, kind="stable")
    adjusted = np.maximum.accumulate([(len(p) - j) * p[k] for j, k in enumerate(order)])
    np.testing.assert_array_equal(holm(p, 0.05)[order], adjusted <= 0.05 * (1 + 1e-15))


def solve(seed, change=None, friction=None):
    """The estimate of a simulated motion of the example's arm; `change`: parameter and how much is added to it."""
    robot = package.load_robot(ARM / "arm.urdf", drive=package.Drive(rotor_inertia=True), friction=friction)
    rng = np.random.default_rng(seed)
    theta = model_parameters(robot, **FRICTION)
    if change is not None:
        theta[robot.parameters.names.index(change[0])] += change[1]
    motion = fourier_motion(3, 8.0, 200.0, rng, amplitude=1.2)
    recording = simulate_recording(robot, theta, motion, Sensors(torque_std=0.2), rng)
    smoothing = package.ButterworthDecimation(cutoff_hz=20, decimate_hz=10)
    return package.LeastSquares(weighting="per-joint").solve(
        package.InverseDynamics(robot, recording, smoothing)
    )


@pytest.fixture(scope="module")
def days():
    """The same robot on four days."""
    return [solve(seed) for seed in range(4)]


def test_what_did_not_change_is_not_called_different(days):
    """Each pair of days errs in one of twenty comparisons at most: of six none or one."""
    pairs = [first.compare(second) for k, first in enumerate(days) for second in days[:k]]
    assert sum(bool(pair.different) for pair in pairs) <= 1
    together = package.compare(days)
    assert not together.different and together.common.efforts.shape[0] == 4
    assert "differs beyond chance" in str(together)


def test_differences_are_as_large_as_stated(days):
    """Normalized, over all parameters of all pairs: the noise of the readings does not count twice.

    Of four days with 25 correlated parameters each, the mean square is known to about a fifth.
    """
    pairs = [first.compare(second) for k, first in enumerate(days) for second in days[:k]]
    z = [one.difference / one.difference_std for pair in pairs for one in pair.parameters]
    assert 0.7 < np.sqrt(np.mean(np.square(z))) < 1.1


@pytest.mark.parametrize("name", ["mx3", "fc2"])
def test_a_change_of_five_standard_deviations_is_found(days, name):
    before = days[0].compare(days[1])
    (row,) = [one for one in before.parameters if one.name == name]
    after = days[0].compare(solve(1, (name, 5 * row.difference_std)))
    assert name in after.different
    (changed,) = [one for one in after.parameters if one.name == name]
    assert changed.difference == pytest.approx(5 * row.difference_std, abs=3 * row.difference_std)


def test_a_result_beside_itself_differs_in_nothing(days):
    found = days[0].compare(days[0])
    assert not found.different and found.same_recordings
    assert all(one.p_value == 1 and one.difference == 0 for one in found.parameters)
    assert found.common.difference_percent.max() == 0


def test_what_cannot_be_compared_says_why(days):
    first = days[0]
    with pytest.raises(InvalidMethod, match="two results or more"):
        package.compare([first])
    joints = replace(first.fit, joints=("a", "b", "c"))
    with pytest.raises(InvalidMethod, match="different robots: one has waist"):
        first.compare(first.updated(fit=joints))
    with pytest.raises(InvalidMethod, match="N m and B in A"):
        first.compare(first.updated(fit=replace(first.fit, units=("A", "A", "A"))))
    renamed = first.updated(names=tuple(f"other_{name}" for name in first.names))
    with pytest.raises(InvalidMethod, match="no parameter in common"):
        first.compare(renamed)
    sums = tuple(
        "zz1 + m2" if name == "zz1r" else text
        for name, text in zip(first.names, first.groupings, strict=True)
    )
    known = first.identifiable & (np.array(first.names) != "fc2")
    found = first.compare(days[1].updated(groupings=sums, identifiable=known))
    assert set(found.left_out) == {"zz1r", "fc2"} and "different sums" in found.left_out["zz1r"]
    assert any("zz1r (different sums: " in note for note in found.notes)


def test_names_are_those_of_folders():
    assert labels([Path("a/result.json"), Path("b/result.json")]) == ("a", "b")
    assert labels([Path("x/a.json"), Path("y/a.json")]) == ("x/a", "y/a")
    assert labels([Path("a"), Path("a")]) == ("a (1)", "a (2)")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Results: of the example, of whole bodies of the same log, and of torques of the waist that are 15 % larger."""
    folder = tmp_path_factory.mktemp("compared")
    shutil.copytree(ARM, folder / "job")
    for path in (folder / "job").glob("*.csv"):
        head, *rows = [line.split(",") for line in path.read_text().splitlines()]
        k = next((k for k, name in enumerate(head) if re.match("tau", name)), None)
        if k is not None:
            rows = [[f"{1.15 * float(x):.9g}" if j == k else x for j, x in enumerate(row)] for row in rows]
        path.write_text("\n".join(",".join(row) for row in [head, *rows]) + "\n")
    jobs = {"before": ARM / "job.toml", "whole": ARM / "physical.toml", "after": folder / "job/job.toml"}
    for name, job in jobs.items():
        (folder / name).mkdir()
        package.write_estimate(package.identify(job), folder / name / "result.json")
    return folder


def test_larger_torques_of_a_joint_are_found(folders, poinsot, tmp_path):
    given = "compare", folders / "before", folders / "after/result.json"
    code, out, err = poinsot(*given, "--json", tmp_path / "c.json", "--out", tmp_path / "page")
    assert code == 0, err
    content = json.loads((tmp_path / "c.json").read_text())
    assert "fv1" in content["different"] and not content["same_recordings"]
    assert "beyond chance" in out and "fv1" in out
    assert content["efforts"]["difference_percent"][1][0] == pytest.approx(15, abs=2)
    assert content["changes"] is None
    (page,) = (tmp_path / "page").glob("*.html")
    assert page.stat().st_size < 1e6 and "beyond chance" in page.read_text()


def test_methods_on_one_log_are_alike(folders, poinsot, tmp_path):
    """Least squares and whole bodies of the same recording, beside a third result."""
    given = "compare", folders / "before", folders / "whole"
    code, out, err = poinsot(*given, "--json", tmp_path / "c.json")
    assert code == 0 and "same recordings" in out, err
    content = json.loads((tmp_path / "c.json").read_text())
    assert content["same_recordings"] and not content["different"]
    assert poinsot(*given, folders / "after", "--out", tmp_path)[0] == 0


def test_bodies_and_descriptions_are_side_by_side(folders, poinsot, tmp_path):
    """Results of whole bodies write descriptions, whose numbers are compared."""
    content = json.loads((folders / "whole/result.json").read_text())
    body = content["bodies"][2]
    for row in (*content["full_parameters"], *content["parameters"]):
        row["value"] *= 1.0 + 1e-9
    body["inertial"][0] *= 1.01
    body["mass"] *= 1.01
    (tmp_path / "heavier.json").write_text(json.dumps(content))
    given = "compare", folders / "whole", tmp_path / "heavier.json"
    code, _, err = poinsot(*given, "--json", tmp_path / "c.json", "--out", tmp_path / "page")
    assert code == 0, err
    found = json.loads((tmp_path / "c.json").read_text())
    masses = {row["name"]: row["masses"] for row in found["bodies"]}
    assert masses[body["name"]][1] == pytest.approx(1.01 * masses[body["name"]][0])
    (mass,) = [row for row in found["changes"] if row["quantity"] == "mass"]
    assert mass["owner"] == body["name"] and mass["change_percent"] == pytest.approx(1.0, rel=1e-3)
    assert "Written descriptions" in (tmp_path / "page/compare.html").read_text()


def test_a_wrong_argument_is_one_sentence(folders, poinsot, tmp_path):
    for paths, sentence in (
        ([folders / "before"], "two results or more"),
        ([folders / "before", folders / "nothing.json"], "no file"),
        ([folders / "before", ARM / "job.toml"], "is not a result"),
    ):
        code, _, err = poinsot("compare", *paths, "--out", tmp_path / "out")
        assert code == 2 and sentence in err and err.count("\n") == 1 and not (tmp_path / "out").exists()
