"""A friction law that only this file knows: once listed, every part of the package works with it."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import poinsot
from poinsot.estimators.linear.semidefinite import SemidefiniteLeastSquares
from poinsot.exceptions import InvalidProject
from poinsot.excitation.problem import Terms
from poinsot.models.friction import LAWS, FrictionLaw, FrictionTerm, ListedLaw, ViscousTerm
from poinsot.models.friction.listed import term_of
from poinsot.models.robot.joint_terms import JointTerms
from poinsot.regression.base_parameters import structural_base
from poinsot.regression.regressor import Regressor
from poinsot.report.words import family, meaning
from poinsot_reproductions.simulated_recordings import (
    Sensors,
    fourier_motion,
    model_parameters,
    simulate_recording,
)
from references.robots import chain, own_parameters
from references.state_differences import assert_slope, by_vector


@dataclass(frozen=True)
class Saturating(FrictionTerm):
    """fs v / (|v| + v_s): a Stribeck-like term whose speed v_s is known."""

    speed: float = 0.5

    symbol, kind, words = "fs", "saturating", "saturating friction"

    def unit(self, effort, velocity):
        return effort

    def effort(self, v, width=0.0):
        return v / (abs(v) + self.speed)

    def slope(self, v, width=0.0):
        return self.speed / (abs(v) + self.speed) ** 2


@dataclass(frozen=True)
class ViscousSaturating(FrictionLaw):
    """tau_f = fv v + fs v / (|v| + v_s)."""

    speed: float = 0.5

    term_types = (ViscousTerm, Saturating)

    @property
    def terms(self):
        return ViscousTerm(), Saturating(self.speed)


TRUE = {f"{symbol}{k}": value for k in (1, 2, 3) for symbol, value in (("fv", 0.4), ("fs", 1.2))}


@pytest.fixture(autouse=True)
def listed(monkeypatch):
    monkeypatch.setitem(LAWS, "viscous-saturating", ListedLaw(ViscousSaturating))


@pytest.fixture(scope="module")
def robot():
    return poinsot.load_robot("examples/arm/arm.urdf", friction=ViscousSaturating(0.3))


@pytest.fixture(scope="module")
def recorded(robot):
    """A recording without noise of the example's arm."""
    rng = np.random.default_rng(5)
    motion = fourier_motion(3, 10.0, 200.0, rng, amplitude=1.5)
    theta = model_parameters(robot, **TRUE)
    return simulate_recording(robot, theta, motion, Sensors(torque_std=1e-3), rng)


def problem_of(robot, recorded):
    signals = poinsot.ButterworthDecimation(cutoff_hz=20, decimate_hz=20).apply(recorded)
    return poinsot.inverse_dynamics(robot, signals)


def test_the_regressor_finds_it(robot, recorded):
    estimate = poinsot.LeastSquares(weighting="per-joint").solve(problem_of(robot, recorded))
    assert estimate.units[estimate.names.index("fs2")] == "N m"
    for name, value in TRUE.items():
        k = estimate.names.index(name)
        # The filter rounds the corner of v / (|v| + v_s) at v = 0, which biases it by parts of a percent.
        assert estimate.values[k] == pytest.approx(value, rel=0.02)
    assert estimate.certificate().holds
    perturbed = estimate.values + estimate.std * (np.array(estimate.names) == "fs2")
    assert not estimate.updated(values=perturbed).certificate().holds


def test_its_sign_is_a_constraint_and_a_warning(robot, recorded):
    """Data of an arm that friction drives: least squares says so, physically possible bodies have none."""
    driven = simulate_recording(
        robot,
        model_parameters(robot, **(TRUE | {"fs2": -1.2})),
        fourier_motion(3, 10.0, 200.0, np.random.default_rng(5), amplitude=1.5),
        Sensors(torque_std=1e-3),
        np.random.default_rng(6),
    )
    problem = problem_of(robot, driven)
    free = poinsot.LeastSquares(weighting="per-joint").solve(problem)
    assert any(each.cause == "impossible-sign" and each.where == "fs2" for each in free.findings)
    possible = SemidefiniteLeastSquares().solve(problem)
    full = possible.extra(poinsot.estimate.FullParameters)
    # the solver's tolerance, on values of order 1
    assert full.values[full.names.index("fs2")] > -1e-6
    kept = poinsot.EssentialParameters(max_relative_std_percent=1e-3).solve(problem_of(robot, recorded))
    assert set(TRUE) <= set(kept.names)


def test_it_is_simulated_with_its_slope(rng):
    arm = chain("zyy", [0, 0.1, 0.4], friction=ViscousSaturating())
    terms = JointTerms(arm, dry_speed=0.05)
    phi, v = rng.uniform(0.1, 1, len(terms.parameters.names)), rng.standard_normal((4, 3))
    W = Regressor(arm, arm.parameters).dense(arm.configurations(v), v, v)[:, :, -len(phi) :]
    np.testing.assert_allclose(terms.friction(phi, v)[0], W @ phi, atol=1e-13)
    assert_slope(terms.friction(phi, v)[1], by_vector(lambda d: terms.friction(phi, v + d)[0], np.zeros(3)))


def test_excitation_follows_its_slope(rng):
    arm = chain("zyy", [0, 0.1, 0.4], friction=ViscousSaturating())
    regressor = Regressor(arm, arm.parameters)
    base = structural_base(regressor)
    assert {"fs1", "fs2", "fs3"} <= set(base.names)
    terms = Terms(regressor, base, own_parameters(arm, rng), np.full(3, 0.1))
    q, v, a = rng.standard_normal((3, 5, 3))
    by_torque = rng.standard_normal((5, 3))
    _, dv, _ = terms.pull_back(q, v, a, None, by_torque)
    h = 1e-6
    for joint, step in enumerate(h * np.eye(3)):
        ahead, behind = (terms.torques(terms.entries(q, v + s, a)) for s in (step, -step))
        expected = np.sum(by_torque * (ahead - behind), axis=1) / (2 * h)
        np.testing.assert_allclose(dv[:, joint], expected, atol=1e-6)


def test_a_motion_is_designed_for_it(robot):
    problem = poinsot.excitation_problem(robot, duration_s=4, rate_hz=50, torque_std=0.1, friction=True)
    motion = poinsot.OptimalExcitation(starts=1, max_seconds=2.0).solve(problem)
    k = motion.problem.base.names.index("fs1")
    assert motion.problem.base.kinds[k] == "saturating" and 0 < motion.std[k] < np.inf


def test_pages_and_exports_have_words_for_it():
    assert meaning("fs3", "saturating") == "saturating friction"
    assert meaning("fsm3", "saturating_coupling") == "saturating friction of the coupled motor"
    assert family("fsm3", "saturating_coupling") == "Saturating friction"
    assert term_of("saturating").described_as is None
    assert term_of("viscous").described_as == "damping"


def test_a_project_names_it(robot, recorded, tmp_path):
    (tmp_path / "arm.urdf").write_text(robot.source.read_text())
    quantities = {"position": ("q", "rad"), "torque": ("tau", "N m")}
    text = '[robot]\npath = "arm.urdf"\n[friction]\nlaw = "viscous-saturating"\nspeed = 0.3\n'
    text += '[[recordings]]\nname = "run"\npath = "run.csv"\nrate_hz = 200\n'
    columns = []
    for quantity, (short, unit) in quantities.items():
        names = [f"{short}{k}" for k in (1, 2, 3)]
        columns += names
        text += f'{quantity} = {{ columns = {names}, unit = "{unit}" }}\n'.replace("'", '"')
    text += '[preprocessing]\nmethod = "butterworth-decimation"\ncutoff_hz = 20\ndecimate_hz = 20\n'
    (tmp_path / "job.toml").write_text(text)
    table = np.column_stack(
        [recorded.channels[f"{quantity}.{joint}"] for quantity in quantities for joint in robot.joints]
    )
    np.savetxt(tmp_path / "run.csv", table, delimiter=",", header=",".join(columns), comments="", fmt="%.17g")
    estimate = poinsot.identify(poinsot.Project.load(tmp_path / "job.toml"))
    assert estimate.values[estimate.names.index("fs1")] == pytest.approx(TRUE["fs1"], rel=0.02)
    (tmp_path / "job.toml").write_text(text.replace("speed", "sped"))
    with pytest.raises(InvalidProject, match=r"unknown key 'sped'.*'speed'"):
        poinsot.Project.load(tmp_path / "job.toml")
    (tmp_path / "job.toml").write_text(text.replace("viscous-saturating", "viscous-saturation"))
    with pytest.raises(InvalidProject, match="'viscous-saturating'"):
        poinsot.Project.load(tmp_path / "job.toml")


@pytest.mark.parametrize(
    "term", [*poinsot.ViscousCoulomb(deadband=0.1).terms, Saturating()], ids=lambda term: term.kind
)
def test_terms_take_arrays_of_jax_as_of_numpy(term, rng):
    """What mechanisms in maximal coordinates differentiate is what the regressor has."""
    v = rng.standard_normal(20)
    for width in (0.0, 0.2):
        ours = term.effort(v, width)
        np.testing.assert_allclose(
            jax.jit(lambda x, w=width: term.effort(x, w))(jnp.asarray(v)), ours, rtol=1e-6
        )
        slope = jax.vmap(jax.grad(lambda x, w=width: jnp.sum(term.effort(x, w))))(jnp.asarray(v))
        np.testing.assert_allclose(slope, term.slope(v, width), rtol=1e-5, atol=1e-6)
    assert replace(term) == term
