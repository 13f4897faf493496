"""`poinsot export`: results as files for controllers and simulators."""

import importlib.util
import json
import re
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

import poinsot as package
from export.generated import STRICT, compiler, run

ARM = Path(__file__).parents[1] / "examples/arm"


def written(job, tmp_path_factory):
    """The folder with the result of a job of the example's arm."""
    folder = tmp_path_factory.mktemp(Path(job).stem)
    package.write_estimate(package.identify(ARM / job), folder / "result.json")
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A result of base parameters."""
    return written("job.toml", tmp_path_factory)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A result of whole bodies."""
    return written("physical.toml", tmp_path_factory)


@pytest.fixture(params=["base", "whole"])
def result(request):
    return request.getfixturevalue(request.param)


def test_formats_are_listed(result, poinsot):
    code, out, err = poinsot("export", result)
    assert code == 0 and not err
    rows = dict(line.split(maxsplit=1) for line in out.splitlines() if not line.startswith(" "))
    assert list(rows) == ["c", "python", "urdf", "mjcf", "json", "ros2"]
    assert rows["c"] == "arm.h, arm.c, arm_test.c"
    whole = "full_parameters" in json.loads((result / "result.json").read_text())
    assert ("not possible: the estimate does not determine" in rows["urdf"]) == (not whole)
    assert rows["mjcf"].startswith("not possible")
    assert ("URDF cannot hold" in out) == whole  # what a format cannot hold


def test_c_reproduces_recorded_samples(result, poinsot, tmp_path):
    code, out, err = poinsot(
        "export", result / "result.json", "--to", "c", "--name", "my_arm", "--out", tmp_path
    )
    assert code == 0 and out.count("written: ") == 3, err
    run(compiler("gcc"), *STRICT, "my_arm_test.c", "my_arm.c", "-lm", "-o", "test", cwd=tmp_path)
    out = run("./test", cwd=tmp_path)
    assert float(re.search(r"prediction: (\S+) of", out)[1]) <= 1e-12
    assert float(re.search(r"efforts: (\S+) %", out)[1]) < 20  # raw readings
    text = (tmp_path / "my_arm_test.c").read_text()
    assert "100 samples of recording 'identification run'" in text
    digest = sha256((result / "result.json").read_bytes()).hexdigest()
    assert digest in (tmp_path / "my_arm.h").read_text()


def test_without_recordings_the_test_has_random_motions(result, poinsot, tmp_path):
    content = json.loads((result / "result.json").read_text())
    content["settings"]["project_file"] = ""
    (tmp_path / "result.json").write_text(json.dumps(content))
    for name in ("arm.urdf", "cad.urdf"):
        (tmp_path / name).write_bytes((ARM / name).read_bytes())
    code, out, err = poinsot("export", tmp_path, "--to", "c", "--out", tmp_path / "c")
    assert code == 0 and "note: The test has random motions" in out, err
    assert (
        poinsot("export", tmp_path, "--to", "c", "--out", tmp_path / "d", "--data", ARM)[1].count("note") == 0
    )


def test_python_needs_numpy_alone(result, poinsot, tmp_path, rng):
    assert poinsot("export", result, "--to", "python", "--out", tmp_path, "--regressor")[0] == 0
    spec = importlib.util.spec_from_file_location("arm", tmp_path / "arm.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    estimate, (q, v, a) = package.read_estimate(result), rng.standard_normal((3, 5, 3))
    tau = estimate.torque(q, v, a)
    np.testing.assert_allclose(module.inverse_dynamics(q, v, a), tau, atol=1e-12 * np.abs(tau).max())
    np.testing.assert_allclose(
        module.torque_regressor(q, v, a) @ module.PARAMETERS, tau, atol=1e-12 * np.abs(tau).max()
    )
    assert module.JOINTS == ["waist", "shoulder", "elbow"]


def test_descriptions_have_the_identified_bodies(whole, poinsot, tmp_path):
    code, _, err = poinsot("export", whole, "--to", "urdf", "--out", tmp_path)
    assert code == 0 and {path.name for path in tmp_path.iterdir()} == {
        "arm.urdf", "arm.json", "poinsot.export.json",
    }, err  # fmt: skip
    found = {body.name: body.inertial for body in package.read_estimate(whole).bodies}
    written = package.load_robot(tmp_path / "arm.urdf")
    np.testing.assert_allclose(
        written.inertials, [found[name] for name in written.bodies], rtol=1e-9, atol=1e-12
    )
    beside = json.loads((tmp_path / "arm.json").read_text())
    assert beside["description"] == "arm.urdf" and beside["torque_error"] < 1e-9


def test_json_holds_what_no_description_can(result, poinsot, tmp_path):
    assert poinsot("export", result, "--to", "json", "--out", tmp_path)[0] == 0
    content, estimate = json.loads((tmp_path / "arm.json").read_text()), package.read_estimate(result)
    assert content["schema"] == "poinsot.export/1" and content["description"] is None
    values = {row["name"]: row["value"] for row in content["parameters"]}
    assert values["fc2"] == pytest.approx(estimate["fc2"])
    if content["torque_error"] is None:
        assert "does not determine" in content["notes"][0] and len(values) == len(estimate.names)


def test_only_own_files_are_overwritten(result, poinsot, tmp_path):
    given = "export", result, "--to", "c", "--out", tmp_path
    assert poinsot(*given)[0] == 0 and poinsot(*given)[0] == 0
    assert poinsot("export", result, "--to", "python", "--out", tmp_path)[0] == 0
    assert poinsot(*given)[0] == 0  # both formats are its own
    before = (tmp_path / "arm.c").read_text() + "/* mine */\n"
    (tmp_path / "arm.c").write_text(before)
    (tmp_path / "arm.h").unlink()
    code, _, err = poinsot(*given)
    assert code == 2 and "was not written by this verb or was changed since" in err and err.count("\n") == 1
    assert (tmp_path / "arm.c").read_text() == before and not (tmp_path / "arm.h").exists()
    for damaged in ("{", "[]", '{"files": 1}'):
        (tmp_path / "poinsot.export.json").write_text(damaged)
        code, _, err = poinsot(*given)
        assert code == 2 and "is damaged" in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--to", "cpp"), "no format 'cpp'"),
        (("--to", "mjcf"), "--to urdf"),
        (("--to", "c", "--name", "9-arm"), "no name in code"),
        (("--to", "urdf", "--name", "../arm"), "no name of a file"),
        (("--to", "json", "--name", ""), "no name of a file"),
        (("--to", "c", "--data", "nowhere"), "no folder nowhere"),
    ],
)
def test_what_is_wrong_is_one_sentence(arguments, sentence, whole, poinsot, tmp_path):
    code, _, err = poinsot("export", whole, *arguments, "--out", tmp_path / "out")
    assert code == 2 and sentence in err and err.count("\n") == 1 and not (tmp_path / "out").exists()


def test_what_is_not_to_be_used_is_not_exported(whole, poinsot, tmp_path):
    content = json.loads((whole / "result.json").read_text())
    content["trust"] = "not-to-be-used"
    content["findings"] = [
        {
            "cause": "sign",
            "severity": "error",
            "message": "The sign is wrong.",
            "remedy": "Turn it.",
            "where": "",
        }
    ]
    (tmp_path / "result.json").write_text(json.dumps(content))
    given = "export", tmp_path, "--to", "c", "--out", tmp_path / "out"
    code, _, err = poinsot(*given)
    assert code == 2 and "not to be used" in err and "--force" in err
    assert poinsot(*given, "--force")[0] == 0
    assert "not possible: the result is not to be used" in poinsot("export", tmp_path)[1]


def test_other_results_say_what_they_lack(poinsot, tmp_path):
    package.write_estimate(package.identify(ARM.parent / "throw/job.toml"), tmp_path / "result.json")
    code, out, _ = poinsot("export", tmp_path)
    assert code == 0 and out.count("not possible") == 6
    code, _, err = poinsot("export", tmp_path, "--to", "c")
    assert code == 2 and err.count("\n") == 1
