"""Levels of trust, order of findings, and what the command line does with them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import poinsot
from poinsot import cli
from poinsot.diagnosis import CHECKS, EXPLANATIONS, causes
from poinsot.estimate import Diagnosis, Finding, Severity, Trust
from poinsot.estimate.finding import ordered

ARM = Path(__file__).resolve().parents[2] / "examples" / "arm"


def finding(severity, cause="x", evidence=0.0, corrected=False):
    return Finding(cause, severity, "What is wrong.", "What to do.", evidence=evidence, corrected=corrected)


@pytest.mark.parametrize(
    ("severities", "corrected", "trust"),
    [
        ((), False, Trust.trusted),
        (("note",), False, Trust.trusted),
        (("note", "warning"), False, Trust.with_care),
        (("warning", "error"), False, Trust.not_to_be_used),
        (("error",), True, Trust.corrected),
    ],
)
def test_the_gravest_finding_decides(severities, corrected, trust):
    found = tuple(finding(Severity[each], corrected=corrected) for each in severities)
    assert Diagnosis(found).trust is trust


def test_nobody_trusts_what_nobody_looked_at():
    assert Diagnosis(complete=False).trust is Trust.with_care


def test_findings_are_ordered_by_severity_then_evidence():
    found = ordered(
        [
            finding(Severity.note, "a", 9.0),
            finding(Severity.error, "b", 1.0),
            finding(Severity.error, "c", 2.0),
        ]
    )
    assert [each.cause for each in found] == ["c", "b", "a"]


def test_every_cause_says_what_it_means_and_what_to_do():
    listed = causes()
    assert len(listed) == len({each.name for each in listed}) >= 20
    assert all(each.means.endswith(".") and each.advice.endswith(".") for each in listed)
    assert {each.cause.name for each in EXPLANATIONS} <= {each.name for each in listed}
    assert {cause.name for check in CHECKS for cause in check.causes} <= {each.name for each in listed}


def test_a_copy_with_other_values_is_looked_at_again():
    estimate = poinsot.Project.load(ARM / "job.toml").identify()
    assert estimate.trust is Trust.trusted
    worse = estimate.updated(values=np.where(np.array(estimate.kinds) == "coulomb", -1.0, estimate.values))
    assert "impossible-sign" in [each.cause for each in worse.findings]


@pytest.fixture
def wrong_job(tmp_path):
    """Return the example with gravity of the Moon."""
    for name in ("arm.urdf", "identification.csv", "validation.csv"):
        shutil.copy(ARM / name, tmp_path)
    job = (ARM / "job.toml").read_text()
    (tmp_path / "job.toml").write_text(job.replace("[robot]\n", "[robot]\ngravity = [0, 0, -1.62]\n", 1))
    return tmp_path / "job.toml"


def test_strict_exits_with_3_where_the_result_is_not_to_be_used(wrong_job, tmp_path, capsys):
    assert cli.main(["identify", str(wrong_job), "--json", str(tmp_path / "r.json"), "--strict"]) == 3
    printed = capsys.readouterr()
    assert printed.out.startswith("Not to be used (gravity")
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["trust"] == "not-to-be-used"
    assert result["findings"][0]["cause"] == "gravity"
    assert {*result["findings"][0]} == {"cause", "severity", "message", "remedy", "where"}
    assert cli.main(["identify", str(wrong_job)]) == 0


def test_a_description_is_written_from_a_wrong_result_only_by_force(wrong_job, tmp_path, capsys):
    job = wrong_job.read_text()
    wrong_job.write_text(job[: job.index("[method]")] + '[method]\nname = "semidefinite"\n')
    assert cli.main(["identify", str(wrong_job), "--out", str(tmp_path / "out")]) == 2
    assert "[gravity]" in capsys.readouterr().err
    assert (tmp_path / "out" / "report.html").exists()
    assert not (tmp_path / "out" / "arm_identified.urdf").exists()
    assert cli.main(["identify", str(wrong_job), "--out", str(tmp_path / "out"), "--force"]) == 0
    assert (tmp_path / "out" / "arm_identified.urdf").exists()


def test_the_page_begins_with_the_trust(tmp_path):
    estimate = poinsot.Project.load(ARM / "job.toml").identify()
    page = poinsot.write_report(estimate, tmp_path / "page.html").read_text()
    assert page.index("<h2") < page.index("Trusted") < page.index("Verdict")
