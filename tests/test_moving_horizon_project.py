"""`[method] name = "moving-horizon"`: the example by the command line, a run that is stopped, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from poinsot.estimate import Status
from poinsot.exceptions import InvalidProject, PoinsotError
from poinsot.project import Project, identify, track

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "quadruped"
TRUE_MASS = 8.0
"""Of the trunk [kg], in record.py; the description has 5.6."""
SHORT = "rate_hz = 100", "rate_hz = 100\nbetween_s = [0.0, 0.5]"


def job(tmp_path, *pairs):
    text = (FOLDER / "horizon.toml").read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "horizon.toml").write_text(text)
    return Project.load(tmp_path / "horizon.toml")


def test_the_mass_is_known_more_and_more(poinsot, tmp_path):
    path = job(tmp_path, ("rate_hz = 100", "rate_hz = 100\nbetween_s = [0.0, 0.7]")).path
    code, out, _ = poinsot("track", path, "--data", FOLDER, "--out", tmp_path / "out")
    assert code == 0 and out.startswith("Trusted")
    content = json.loads((tmp_path / "out" / "result.json").read_text())
    lines = [json.loads(line) for line in (tmp_path / "out" / "published.jsonl").read_text().splitlines()]
    assert len(lines) == 69 == len(content["history"]["time"])
    assert [line["time"] for line in lines] == content["history"]["time"]
    mass, std = ([line[key]["m.trunk"] for line in lines] for key in ("parameters", "std"))
    assert mass == content["history"]["parameters"]["m.trunk"]
    assert std[-1] < 0.1 * std[0]
    np.testing.assert_array_less(np.abs(np.array(mass) - TRUE_MASS)[20:], 4 * np.array(std)[20:])
    assert "Parameters in time" in (tmp_path / "out" / "report.html").read_text()


def test_without_a_walk_it_ends_where_all_samples_at_once_end(tmp_path):
    """Of both the first state is known as well, and so is the trunk."""
    at_once = ('name = "moving-horizon"', 'name = "optimal-estimation"\ncontact_model = "rigid"')
    found = track(job(tmp_path, ("walk = 0.02 ", "walk = 0 ")), FOLDER).estimate
    batch = identify(job(tmp_path, at_once, ("nodes = 30 ", "# "), ("walk = 0.02 ", "# ")), FOLDER)
    # nodes leave with one Gauss-Newton step each and are linearized there
    assert (np.abs(found.values - batch.values) < 0.5 * batch.std).all()
    np.testing.assert_allclose(found.std, batch.std, rtol=0.1)


def test_it_is_for_identify_too(tmp_path):
    found = identify(job(tmp_path, SHORT), FOLDER)
    np.testing.assert_array_equal(found.values, track(job(tmp_path, SHORT), FOLDER).estimate.values)
    # the motion: every reading but those of the last sample that need a step
    assert found.motions[0].path.channels["std.position.lf_knee"].min() > 0
    squares = [np.nanmean(fit.normalized**2) for fit in found.motions[0].sensors]
    assert 0.7 < min(squares) and max(squares) < 1.1


def test_a_run_that_is_stopped_has_the_samples_until_then(tmp_path):
    lines = []
    found = track(job(tmp_path), FOLDER, on_sample=lines.append, stop=lambda: len(lines) >= 40).estimate
    assert found.status is Status.interrupted
    assert len(found.motions[0].path) == len(lines) + 1 == 41
    assert found.values[0] == lines[-1]["parameters"]["m.trunk"]


def test_too_little_noise_is_found(tmp_path):
    found = track(job(tmp_path, ("gyro = 3e-3", "gyro = 5e-4"), SHORT), FOLDER).estimate
    assert "stated-noise" in {each.cause for each in found.findings}


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        ([("start_std = [0.02, 0.1]", "# ")], "start_std"),
        ([("prior_std = 0.3 ", "# ")], "prior of every open parameter"),
        ([("walk = 0.02 ", "walk = { trnk = 0.02 } # ")], "trnk"),
        ([("nodes = 30 ", "nodes = 2 ")], "nodes"),
        ([("[held] ", '[held]\n"delay.all" = 0.002 ')], r"leave delay\.all out, and write .* delays = \{ position = "),
        ([('path = "four_steps.csv"', 'role = "validation"\npath = "four_steps.csv"')], "validation"),
    ],
)  # fmt: skip
def test_what_it_needs(tmp_path, pairs, says):
    with pytest.raises(PoinsotError, match=says):
        track(job(tmp_path, *pairs), FOLDER)


def test_a_delay_is_corrected_before(tmp_path):
    """What the refusal of a held delay says to write moves the readings of a gyro to their time."""
    late = ("[method]\n", '[preprocessing]\nmethod = "none"\ndelays = { gyro = 0.002 }\n\n[method]\n')
    found, given = (track(job(tmp_path, SHORT, *more), FOLDER).estimate for more in ([late], []))
    assert found.status is Status.solved and not np.array_equal(found.values, given.values)


def test_two_recordings_are_refused(tmp_path):
    text = (FOLDER / "horizon.toml").read_text()
    first, last = text.index("[[recordings]]"), text.index("[method]")
    two = text[first:last] + text[first:last].replace("four steps", "more steps")
    with pytest.raises(PoinsotError, match="goes along one recording: leave out 'more steps'"):
        track(job(tmp_path, (text[first:last], two)), FOLDER)


def test_it_does_not_follow_streams(tmp_path):
    with pytest.raises(InvalidProject, match="--stream"):
        track(job(tmp_path), FOLDER, stream="-")
