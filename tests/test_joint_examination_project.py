"""What is wrong with a recording of a simulated pendulum is named; a clean one is trusted."""

import numpy as np
import pytest

from poinsot.estimate import Trust
from poinsot.project import Project, identify
from test_joint_smoothing_project import MECHANISM, METHOD, RECORDING, SAMPLES, swing


def degrees(table):
    table[:, 1] = np.degrees(table[:, 1])


def turned(table):
    table[:, 2] *= -1


def in_newton_millimetres(table):
    table[:, 2] *= 1000


def slow(table):
    table[:, 0] *= 10


def noise(table):
    table[:, 2] = 0.28 * np.random.default_rng(5).standard_normal(SAMPLES)


def spike(table):
    table[200, 1] += 0.5


def lost(table):
    table[100:-1, 1:] = table[101:, 1:]
    table[250:-2, 1:] = table[252:, 1:]


CORRUPTED = {
    "angle-unit": degrees,
    "sign": turned,
    "torque-scale": in_newton_millimetres,
    "clock-scale": slow,
    "torque-noise": noise,
    "position-outliers": spike,
    "lost-samples": lost,
}


def examined(folder, change=lambda table: None):
    for seed, name in enumerate(("one", "two")):
        change(table := swing(seed))
        np.savetxt(folder / f"{name}.csv", table, delimiter=",", header="t,angle,torque", comments="")
    text = MECHANISM + RECORDING.replace("NAME", "one")
    text += RECORDING.replace("NAME", "two") + 'role = "validation"\n' + METHOD
    (folder / "job.toml").write_text(text.replace("weight = 1e9", 'weight = "auto"'))
    return identify(Project.load(folder / "job.toml"))


QUICK = {"sign", "torque-scale", "position-outliers", "lost-samples"}
"""One cause of each kind: channels, units, readings, clock."""


@pytest.mark.parametrize(
    "cause", [pytest.param(cause, marks=() if cause in QUICK else pytest.mark.slow) for cause in CORRUPTED]
)
def test_what_is_wrong_is_named(cause, tmp_path):
    """Among the first two findings, and the result is not to be used."""
    found = examined(tmp_path, CORRUPTED[cause])
    assert cause in [each.cause for each in found.findings if each.severity][:2], found.findings
    assert found.trust is Trust.not_to_be_used


def test_a_clean_recording_is_trusted(tmp_path):
    found = examined(tmp_path)
    assert found.trust is Trust.trusted, found.findings
    assert found.unchecked and found.diagnosis.complete


@pytest.mark.parametrize("noisy", [True, False])
def test_more_noise_is_proposed_only_where_residuals_are_noise(noisy, tmp_path):
    """An encoder that is out of centre errs in the same way in successive samples."""

    def change(table):
        own = np.random.default_rng(7).standard_normal(SAMPLES) if noisy else np.sin(np.arange(SAMPLES) / 9)
        table[:, 1] += 0.03 * own

    found = examined(tmp_path, change)
    (finding,) = [each for each in found.findings if each.cause == "sensor-noise"]
    assert ("Write noise" in finding.remedy) == noisy, finding
    assert ("alike" in finding.message) != noisy
