"""Torque, mass matrix and gravity of an estimate on motions that it has not seen, in Python and on the command line."""

import json
from pathlib import Path

import numpy as np
import pinocchio as pin
import polars as pl
import pytest

import poinsot
import poinsot as package
from poinsot.exceptions import InvalidMethod, PoinsotError
from poinsot_reproductions.simulated_recordings import (
    Sensors,
    fourier_motion,
    model_parameters,
    simulate_recording,
)

ARM = Path(__file__).parents[1] / "examples/arm"
FRICTION = {
    f"{symbol}{k}": value for k in (1, 2, 3) for symbol, value in (("fv", 0.5), ("fc", 1.0), ("ia", 0.2))
}


@pytest.fixture(scope="module")
def robot():
    return poinsot.load_robot(ARM / "arm.urdf", drive=poinsot.Drive(rotor_inertia=True))


def recorded(robot, seed, noise=0.0):
    rng = np.random.default_rng(seed)
    motion = fourier_motion(3, 8.0, 200.0, rng, amplitude=1.2)
    theta = model_parameters(robot, **FRICTION)
    return motion, simulate_recording(robot, theta, motion, Sensors(torque_std=noise), rng)


@pytest.fixture(scope="module")
def estimate(robot):
    problem = poinsot.InverseDynamics(
        robot, recorded(robot, 1, 0.2)[1], poinsot.ButterworthDecimation(cutoff_hz=20, decimate_hz=10)
    )
    return poinsot.LeastSquares(weighting="per-joint").solve(problem)


def exact(robot):
    """The estimate of a recording without noise, of base parameters only."""
    motion, recording = recorded(robot, 2)
    tau = np.stack([recording[f"torque.{joint}"] for joint in robot.joints], axis=1)
    signals = poinsot.Signals(motion[0], robot.joints, *motion[1:], tau)
    return poinsot.LeastSquares().solve(poinsot.InverseDynamics(robot, signals))


def test_base_parameters_have_the_mass_matrix_and_gravity_of_the_robot(robot, rng):
    """Pinocchio's, of the true bodies, with the rotors on the diagonal."""
    found, q = exact(robot), rng.uniform(-2, 2, (5, 3))
    data, M, g = robot.model.createData(), found.mass_matrix(q), found.gravity(q)
    for k in range(5):
        upper = np.triu(pin.crba(robot.model, data, q[k]))
        np.testing.assert_allclose(M[k], upper + np.triu(upper, 1).T + 0.2 * np.eye(3), atol=1e-7)
        np.testing.assert_allclose(g[k], pin.computeGeneralizedGravity(robot.model, data, q[k]), atol=1e-7)
    v, a = rng.standard_normal((2, 5, 3))
    added = 0.5 * v + np.sign(v) + 0.2 * a
    torques = [pin.rnea(robot.model, data, *motion) for motion in zip(q, v, a, strict=True)]
    np.testing.assert_allclose(found.torque(q, v, a), np.array(torques) + added, atol=1e-6)


def test_one_configuration_needs_no_time(estimate, rng):
    q, v, a = rng.standard_normal((3, 4, 3))
    np.testing.assert_array_equal(estimate.mass_matrix(q[0]), estimate.mass_matrix(q)[0])
    np.testing.assert_array_equal(estimate.gravity(q[1]), estimate.gravity(q)[1])
    np.testing.assert_array_equal(estimate.torque(q[2], v[2], a[2]), estimate.torque(q, v, a)[2])
    for wrong in (q[0, :2], q.T, q[None]):
        with pytest.raises(PoinsotError, match=r"q has the shape .*: give \(3,\), or \(T, 3\)"):
            estimate.mass_matrix(wrong)
    with pytest.raises(PoinsotError, match="a has the shape"):
        estimate.torque(q, v, a[:2])


def test_its_uncertainty_is_that_of_the_parameters(estimate, robot):
    """Of 60 recordings, the torque of one posture scatters as its standard deviation says."""
    q, v, a = np.full((1, 3), 0.4), np.full((1, 3), 0.5), np.full((1, 3), 1.0)
    smoothing = poinsot.ButterworthDecimation(cutoff_hz=20, decimate_hz=10)
    motion = recorded(robot, 1)[0]
    truth = exact(robot).torque(q, v, a)[0]
    errors = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        recording = simulate_recording(
            robot, model_parameters(robot, **FRICTION), motion, Sensors(torque_std=0.2), rng
        )
        problem = poinsot.InverseDynamics(robot, recording, smoothing, accuracy=poinsot.Accuracy(exact=True))
        found = poinsot.LeastSquares().solve(problem)
        errors.append((found.torque(q, v, a)[0] - truth) / found.dynamics.torque_std(q, v, a)[0])
    # 95 % of a chi-square of 60 lie within 42 and 83; the filter's bias of friction widens, colour adds to the estimate
    assert np.all((np.sum(np.square(errors), axis=0) > 30) & (np.sum(np.square(errors), axis=0) < 110))


def test_a_recording_is_smoothed_like_the_first(estimate, robot):
    other = recorded(robot, 3, 0.2)[1]
    signals = poinsot.ButterworthDecimation(cutoff_hz=20, decimate_hz=10).apply(other)
    fit = estimate.predict(other, "other")
    assert fit.recording == "other" and fit.relative_error_percent < 5
    np.testing.assert_array_equal(fit.predicted, poinsot.predict(estimate, signals).predicted)


def test_what_cannot_predict_says_so(estimate):
    with pytest.raises(InvalidMethod, match="`poinsot predict"):
        estimate.updated(problem=None).torque(np.zeros((1, 3)), np.zeros((1, 3)), np.zeros((1, 3)))


@pytest.fixture(scope="module", params=["job.toml", "physical.toml"])
def result(request, tmp_path_factory):
    """A result of the example's arm, and its estimate."""
    found = poinsot.identify(poinsot.Project.load(ARM / request.param))
    path = tmp_path_factory.mktemp("result") / "result.json"
    poinsot.write_estimate(found, path)
    return path, found


def test_a_result_predicts_as_its_estimate_does(result, poinsot, tmp_path, rng):
    path, estimate = result
    code, out, err = poinsot(
        "predict",
        path,
        ARM / "validation.csv",
        "--out",
        tmp_path / "torque.csv",
        "--json",
        tmp_path / "p.json",
    )
    assert code == 0 and not err and "relative_error_percent" in out
    rows = json.loads((tmp_path / "p.json").read_text())["rows"]
    expected = estimate.validation[0].relative_error_percent_per_joint
    np.testing.assert_allclose([row["relative_error_percent"] for row in rows], expected, rtol=1e-6)
    table = pl.read_csv(tmp_path / "torque.csv")
    measured = pl.read_csv(ARM / "validation.csv")["tau1"].to_numpy()
    at = np.round(table["time"].to_numpy() * 250).astype(int)
    low, high = (table[f"torque.waist.{end}"].to_numpy() for end in ("low", "high"))
    inside = (measured[at] > low) & (measured[at] < high)
    assert (
        len(at) > 2000 and 0.3 < np.mean(inside) <= 1
    )  # raw readings have more noise than the band of the fit
    dynamics = package.load_dynamics(path)
    q, v, a = rng.standard_normal((3, 4, 3))
    np.testing.assert_allclose(dynamics.torque(q, v, a), estimate.torque(q, v, a), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        dynamics.torque_std(q, v, a), estimate.dynamics.torque_std(q, v, a), rtol=1e-6, atol=1e-9
    )


def test_a_result_that_is_read_back_predicts(result, rng):
    """As the estimate that was written: any motion, and a recording, which is smoothed as the project says."""
    path, estimate = result
    back = package.read_estimate(path)
    q, v, a = rng.standard_normal((3, 4, 3))
    np.testing.assert_allclose(back.torque(q, v, a), estimate.torque(q, v, a), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(back.gravity(q), estimate.gravity(q), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(back.dynamics.residual_std, estimate.dynamics.residual_std, rtol=1e-12)
    if "full_parameters" not in back.extras:  # which predictions would be of
        doubled = back.updated(values=2 * back.values)
        np.testing.assert_allclose(doubled.torque(q, v, a), 2 * back.torque(q, v, a), rtol=1e-12)
    runs = package.Project.load(ARM / "job.toml").runs(back.dynamics.robot)
    fit = back.predict(runs[1].recording, runs[1].name)
    np.testing.assert_allclose(
        fit.relative_error_percent_per_joint,
        estimate.validation[0].relative_error_percent_per_joint,
        rtol=1e-9,
    )
    again = back.predict(estimate.problem.parts[0].signals)
    assert again.relative_error_percent == pytest.approx(estimate.fit.relative_error_percent, rel=1e-9)
    with pytest.raises(InvalidMethod, match="without its load"):
        back.predict(runs[1].recording, loaded=True)


def test_a_result_knows_the_folder_of_its_data(poinsot, tmp_path):
    """`--data` of the run, where the description was; a moved folder is given again."""
    data, own = tmp_path / "data", tmp_path / "own"
    data.mkdir(), own.mkdir()
    for name in ("arm.urdf", "identification.csv", "validation.csv"):
        (data / name).write_bytes((ARM / name).read_bytes())
    (own / "job.toml").write_bytes((ARM / "job.toml").read_bytes())
    assert poinsot("identify", own / "job.toml", "--data", data, "--out", tmp_path / "out")[0] == 0
    still = np.zeros(3)
    assert np.isfinite(package.read_estimate(tmp_path / "out").torque(still, still, still)).all()
    data.rename(tmp_path / "moved")
    with pytest.raises(PoinsotError, match="no robot description"):
        package.read_estimate(tmp_path / "out").torque(still, still, still)
    moved = package.read_estimate(tmp_path / "out", tmp_path / "moved")
    assert np.isfinite(moved.torque(still, still, still)).all()


def test_what_is_no_result_is_not_read(tmp_path):
    for text in ("{}", '{"schema": "poinsot.predict/1", "parameters": []}', "[]", "no JSON"):
        (tmp_path / "result.json").write_text(text)
        with pytest.raises(PoinsotError, match="is not a result of"):
            package.read_estimate(tmp_path)
    with pytest.raises(PoinsotError, match="no file"):
        package.read_estimate(tmp_path / "other.json")


def test_mass_matrix_and_gravity_of_a_table_without_efforts(result, poinsot, tmp_path):
    path, estimate = result
    q = np.linspace(0, 1, 12).reshape(4, 3)
    columns = {f"position.{joint}": q[:, k] for k, joint in enumerate(("waist", "shoulder", "elbow"))}
    pl.DataFrame({"time": np.arange(4.0), **columns}).write_parquet(tmp_path / "postures.parquet")
    code, _, err = poinsot(
        *("predict", path, tmp_path / "postures.parquet", "--mass-matrix", "--gravity"),
        *("--out", tmp_path / "M.parquet", "--json", tmp_path / "M.json"),
    )
    assert code == 0, err
    table = pl.read_parquet(tmp_path / "M.parquet")
    np.testing.assert_allclose(
        table["mass.waist.elbow"], estimate.mass_matrix(q)[:, 0, 2], rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(table["gravity.shoulder"], estimate.gravity(q)[:, 1], rtol=1e-9)
    units = {each["name"]: each["unit"] for each in json.loads((tmp_path / "M.json").read_text())["columns"]}
    assert units["time"] == "s" and units["mass.waist.waist"] == "kg m^2" and units["gravity.waist"] == "N m"


def test_a_motion_with_its_own_speeds_is_not_filtered(result, poinsot, tmp_path):
    path, estimate = result
    rng = np.random.default_rng(0)
    q, v, a = rng.standard_normal((3, 20, 3))
    joints, quantities = ("waist", "shoulder", "elbow"), {"position": q, "velocity": v, "acceleration": a}
    columns = {f"{name}.{joint}": x[:, k] for name, x in quantities.items() for k, joint in enumerate(joints)}
    pl.DataFrame({"time": 0.1 * np.arange(20), **columns}).write_csv(tmp_path / "motion.csv")
    assert poinsot("predict", path, tmp_path / "motion.csv", "--out", tmp_path / "torque.csv")[0] == 0
    found = pl.read_csv(tmp_path / "torque.csv").select([f"torque.{joint}" for joint in joints]).to_numpy()
    np.testing.assert_allclose(found, estimate.torque(q, v, a), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "motion", "sentence"),
    [
        (lambda r: r.clear(), "validation.csv", "is no result of"),
        (
            lambda r: r["settings"]["project"]["method"].update(name="impacts"),
            "validation.csv",
            "is no result of",
        ),
        (lambda r: r["parameters"][0].update(name="zz9r"), "validation.csv", "no parameters zz9r"),
        (lambda r: None, "nothing.csv", "no file"),
        (lambda r: None, "job.toml", "unknown"),
        (lambda r: None, "cad.urdf", "unknown"),
    ],
)
def test_what_is_wrong_is_one_sentence(change, motion, sentence, poinsot, tmp_path):
    found = package.identify(package.Project.load(ARM / "job.toml"))
    package.write_estimate(found, tmp_path / "result.json")
    content = json.loads((tmp_path / "result.json").read_text())
    change(content)
    (tmp_path / "result.json").write_text(json.dumps(content))
    code, out, err = poinsot("predict", tmp_path / "result.json", ARM / motion, "--out", tmp_path / "out.csv")
    assert code == 2 and sentence in err and err.count("\n") == 1 and not (tmp_path / "out.csv").exists(), out
    assert poinsot("predict", tmp_path / "result.json", ARM / motion, "--out", tmp_path / "out.txt")[0] == 2


def test_a_prediction_is_not_written_over_the_description(poinsot, tmp_path):
    for name in ("job.toml", "arm.urdf", "identification.csv", "validation.csv"):
        (tmp_path / name).write_bytes((ARM / name).read_bytes())
    found = package.identify(package.Project.load(tmp_path / "job.toml"))
    package.write_estimate(found, tmp_path / "result.json")
    given = tmp_path / "result.json", tmp_path / "validation.csv"
    for name in ("arm.urdf", "identification.csv", "job.toml", "result.json", "validation.csv"):
        before = (tmp_path / name).read_bytes()
        code, _, err = poinsot("predict", *given, "--json", tmp_path / name)
        assert code == 2 and "would be lost" in err and (tmp_path / name).read_bytes() == before


def test_amperes_are_never_called_torque(poinsot, tmp_path):
    """A project with currents and no gain says A everywhere: table, JSON, page and prediction."""
    for name in ("arm.urdf", "identification.csv"):
        (tmp_path / name).write_bytes((ARM / name).read_bytes())
    text = (ARM / "job.toml").read_text()
    job = (
        text[: text.index('[[recordings]]\nname = "another motion"')] + text[text.index("[preprocessing]") :]
    )
    job = job.replace("torque = {", "current = {").replace('unit = "N m"', 'unit = "A"')
    (tmp_path / "job.toml").write_text(job)
    code, _, err = poinsot("identify", tmp_path / "job.toml", "--out", tmp_path / "out")
    assert code == 0, err
    result = json.loads((tmp_path / "out/result.json").read_text())
    assert set(result["fit"]["units"]) == {"A"}
    units = {row["name"]: row["unit"] for row in result["parameters"]}
    assert units["fc1"] == "A" and units["fv1"] == "A s/rad" and units["zz1r"] == "kg m^2 A/(N m)"
    assert not any(unit.startswith("N m") for unit in units.values())
    assert any("no gain converts them to torques" in warning for warning in result["warnings"])
    # The page shows findings, whose advice may name N m/A; no row or axis is in N m.
    assert "[N m]" not in (tmp_path / "out/report.html").read_text()
    code, _, err = poinsot(
        "predict", tmp_path / "out/result.json", tmp_path / "identification.csv", "--out", tmp_path / "c.csv"
    )
    assert code == 0 and pl.read_csv(tmp_path / "c.csv").columns[1] == "current.waist", err
    (tmp_path / "job.toml").write_text(
        job.replace("rotor_inertia = true", "rotor_inertia = true\ngain = 1.5")
    )
    poinsot("identify", tmp_path / "job.toml", "--json", tmp_path / "scaled.json")
    assert set(json.loads((tmp_path / "scaled.json").read_text())["fit"]["units"]) == {"N m"}


def test_a_throw_goes_on(poinsot, tmp_path):
    """The first three frames of the example predict the rest; rows without a pose are predicted as well."""
    throw = ARM.parent / "throw"
    assert poinsot("identify", throw / "job.toml", "--json", tmp_path / "throw.json")[0] == 0
    frames = pl.read_csv(throw / "frames.csv")
    first = frames.with_columns(
        pl.when(pl.int_range(pl.len()) < 5).then(pl.col(name)).otherwise(None) for name in ("x", "y", "angle")
    )
    first.head(25).write_csv(tmp_path / "first.csv")
    given = tmp_path / "throw.json", tmp_path / "first.csv"
    code, out, err = poinsot("predict", *given, "--out", tmp_path / "next.csv", "--data", throw)
    assert code == 0, err
    assert "incomplete" in out and "half_interval" in out
    table = pl.read_csv(tmp_path / "next.csv")
    assert len(table) == 25
    # 95 % of 75 values, of which those of one bounce are right or wrong together
    inside = [
        (table[f"position.{axis}.low"] <= frames[axis].head(25))
        & (frames[axis].head(25) <= table[f"position.{axis}.high"])
        for axis in ("x", "y", "angle")
    ]
    assert np.mean([each.to_numpy() for each in inside]) > 0.8
    code, _, err = poinsot("predict", *given, "--gravity")
    assert code == 2 and "omit the option" in err


def test_a_project_reads_a_table_of_impacts(poinsot, tmp_path):
    """No clock is asked for, `inspect` finds nothing in the way, and no motion is written."""
    from poinsot.models.planar import Ellipse
    from references.impact_table import impact_rows

    rows = impact_rows(Ellipse(0.05, 0.025), 6e-4, 0.25, 0.5, 16, seed=3)
    names = ("x", "y", "th", "vx0", "vy0", "w0", "vx1", "vy1", "w1")
    pl.DataFrame(dict(zip(names, rows.T, strict=True))).write_csv(tmp_path / "impacts.csv")
    job = '[body]\nshape = "ellipse"\nhalf_axes = [0.05, 0.025]\n[method]\nname = "impacts"\n'
    job += '[[recordings]]\npath = "impacts.csv"\n'
    job += 'position = { columns = ["x", "y", "th"], unit = ["m", "m", "rad"] }\n'
    for key, k in (("velocity_before", 0), ("velocity_after", 1)):
        job += f'{key} = {{ columns = ["vx{k}", "vy{k}", "w{k}"], unit = ["m/s", "m/s", "rad/s"] }}\n'
    (tmp_path / "job.toml").write_text(job)
    code, out, err = poinsot("inspect", tmp_path / "job.toml")
    assert code == 0 and "nothing stands in the way" in out, err
    code, _, err = poinsot("identify", tmp_path / "job.toml", "--out", tmp_path / "out")
    assert code == 0, err
    result = json.loads((tmp_path / "out/result.json").read_text())
    row = result["parameters"][0]
    assert row["name"] == "J/m" and abs(row["value"] - 6e-4) < 3 * row["std"] and result["trust"] == "trusted"
    assert not list((tmp_path / "out").glob("motion*"))
