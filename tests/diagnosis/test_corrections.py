"""Delays, zeros and offsets of single recordings are estimated, taken out, and counted in intervals."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest

import poinsot
from poinsot.diagnosis.corrections import correct, correct_held_out
from poinsot.estimate import Trust
from poinsot.exceptions import InvalidMethod, InvalidSignals

ARM = Path(__file__).resolve().parents[2] / "examples" / "arm"
SMOOTHING = poinsot.ButterworthDecimation(cutoff_hz=20, decimate_hz=8)
ZEROS = np.array([[0, 0, 0, 0], [0.05, -0.09, 0.02, 0.04], [0, 0.03, 0, -0.06]])
OFFSETS = np.array([[0, 0, 0, 0], [1.0, -2.0, 0.5, 0.0], [0.0, 0.0, -1.0, 0.3]])
DELAYS = (3, 0, 6)
"""Of three recordings [rad], [N m], samples of 5 ms."""


def recording(chain, time, q, tau, late=0):
    joints = chain().joints
    stop = len(time) - late
    channels = {f"position.{joint}": q[late:, k] for k, joint in enumerate(joints)}
    channels |= {f"torque.{joint}": tau[:stop, k] for k, joint in enumerate(joints)}
    units = {name: "rad" if name.startswith("position") else "N m" for name in channels}
    return poinsot.Recording(time[:stop], channels, units)


@pytest.fixture(scope="module")
def different(chain, record):
    """Return (recordings that differ, the same without differences)."""
    wrong, right = [], []
    for seed in range(3):
        time, q, tau = record(seed)
        right.append(recording(chain, time, q, tau))
        # a torque that is recorded late stands beside a later position
        wrong.append(recording(chain, time, q - ZEROS[seed], tau + OFFSETS[seed], DELAYS[seed]))
    return wrong, right


def test_differences_come_back_with_their_intervals(chain, different):
    wrong, right = different
    clean = poinsot.LeastSquares("per-joint").solve(
        poinsot.InverseDynamics(chain(), right, signals=SMOOTHING)
    )
    declared = poinsot.InverseDynamics(chain(), wrong, signals=SMOOTHING)
    problem, found = correct(declared, ["zero", "offset", "delay"], names=["a", "b", "c"])
    z = []
    for each in found.rows:
        joint = 0 if each.joint is None else chain().joints.index(each.joint)
        truth = {
            "zero": ZEROS[each.number, joint],
            "offset": OFFSETS[each.number, joint],
            "delay": DELAYS[each.number] / 200,
        }[each.quantity]
        if each.quantity == "zero" and each.joint == "joint1":  # about the vertical: nothing shows it
            assert each.std == np.inf and "undetermined" in str(each)
            continue
        z.append((each.value - truth) / each.std)
    assert len(z) == 3 * 2 + 4 * 2 + 3
    # 17 correlated normal deviates: a mean square of 1 has a standard deviation of less than .5
    assert np.mean(np.square(z)) < 2.5, z
    estimate = found.applied(poinsot.LeastSquares("per-joint").solve(problem))
    moved = (estimate.values - clean.values) / estimate.std
    assert np.max(np.abs(moved)) < 3
    assert np.all(estimate.coloured_std > 0.95 * clean.coloured_std)  # growth is of chance
    assert estimate.trust is Trust.corrected
    named = {each.cause for each in estimate.findings if each.corrected}
    assert named == {"delay", "joint-zero", "torque-offset"}
    # one of the joints alone
    _, found = correct(declared, ["zero.joint2"])
    assert {each.joint for each in found.rows} == {"joint2"}


def test_a_held_out_recording_has_differences_of_its_own(chain, different):
    wrong, right = different
    declared = poinsot.InverseDynamics(chain(), right[:2], signals=SMOOTHING)
    problem, found = correct(
        poinsot.InverseDynamics(chain(), wrong[:2], signals=SMOOTHING), ["zero", "offset", "delay"]
    )
    estimate = poinsot.LeastSquares("per-joint").solve(problem)
    signals = SMOOTHING.apply(wrong[2])
    before = poinsot.validate(estimate, [("c", signals)]).validation[0].relative_error_percent
    after = (
        poinsot.validate(estimate, [("c", correct_held_out(estimate, found, signals))])
        .validation[0]
        .relative_error_percent
    )
    best = poinsot.LeastSquares("per-joint").solve(declared)
    clean = poinsot.validate(best, [("c", SMOOTHING.apply(right[2]))]).validation[0].relative_error_percent
    assert after < 1.2 * clean < before / 3


def test_what_cannot_be_compared_is_refused(chain, different):
    one = poinsot.InverseDynamics(chain(), different[1][:1], signals=SMOOTHING)
    two = poinsot.InverseDynamics(chain(), different[1][:2], signals=SMOOTHING)
    with pytest.raises(InvalidSignals, match="differences between recordings, but there is one"):
        correct(one, ["zero"])
    with pytest.raises(InvalidMethod, match=r"did you mean 'zero'.*known are delay, zero, offset"):
        correct(two, ["zeros"])
    with pytest.raises(InvalidMethod, match=r"names 'zero\.joint9'"):
        correct(two, ["zero.joint9"])


# --------------------------------------------------------------------------------------------------- in project files


def arm_job(folder, samples, key='delay = "auto"'):
    """Return the example with torques late by so many samples of 4 ms."""
    shutil.copy(ARM / "arm.urdf", folder)
    for name in ("identification.csv", "validation.csv"):
        head, *rows = csv.reader((ARM / name).read_text().splitlines())
        rows = np.array(rows, dtype=float)
        late = np.hstack([rows[samples:, :3], rows[: len(rows) - samples, 3:]])
        np.savetxt(folder / name, late, delimiter=",", header=",".join(head), comments="", fmt="%.10g")
    job = (ARM / "job.toml").read_text().replace("cutoff_hz = 20", f"cutoff_hz = 20\n{key}")
    (folder / "job.toml").write_text(job)
    return poinsot.Project.load(folder / "job.toml")


@pytest.mark.parametrize("samples", [0, 5, 13])
def test_a_delay_is_found_and_corrected(tmp_path, samples):
    clean = poinsot.Project.load(ARM / "job.toml").identify()
    estimate = arm_job(tmp_path, samples).identify()
    (row,) = estimate.corrections.rows
    assert abs(row.value - samples * 4e-3) < 3 * row.std < 2e-3
    assert np.all(np.abs(estimate.values - clean.values) < 1.96 * clean.std)
    if samples == 0:
        assert abs(row.value) < 1.96 * row.std
        assert estimate.trust is Trust.trusted
        return
    assert estimate.trust is Trust.corrected
    finding = next(each for each in estimate.findings if each.cause == "delay")
    assert finding.corrected and "the torque error falls from" in finding.message
    assert f"delays = {{ torque = {row.value:.4f} }} in [preprocessing]" in finding.remedy
    known = arm_job(tmp_path, samples, f"delay = {samples * 4e-3}").identify()
    assert known.trust is Trust.trusted
    assert np.all(np.abs(known.values - clean.values) < 1.96 * clean.std)
