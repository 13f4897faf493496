"""A foot that slips while its contact is closed: process noise grows there, and nowhere else."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from poinsot.estimators.shooting.ddp import DDP
from poinsot.estimators.shooting.estimation import OptimalEstimation
from poinsot.project import Project
from poinsot.project.job import Job
from poinsot.stopwatch import Stopwatch

JOB = Path(__file__).resolve().parents[3] / "examples" / "quadruped" / "job.toml"
GIVEN = OptimalEstimation(DDP(step_tolerance=0.1, gap_tolerance=1e-4))
METHOD = replace(GIVEN, contact_slip="estimated")
SAMPLES = 80
"""Of the recording: with other noise and without a controller the robot falls later."""
FOOT, BEGINS, ENDS = "rh_foot", 20, 25
"""That slips, and samples at which it begins and ends. The left front foot is in the air."""
SPEEDS = 0.1, pytest.param(0.3, marks=pytest.mark.slow)
"""Of slips of 5 and 15 mm [m/s]."""


@pytest.fixture(scope="module")
def problem():
    project = Project.load(JOB)
    found = project.settings.method.problem(Job(project), Stopwatch())
    return replace(found, models=(found.models[0].part(0, SAMPLES),), held_out=())


@pytest.fixture(scope="module")
def steady(problem):
    """The recording of the example, in which no foot slips."""
    return METHOD.solve(problem)


def kick(motion, x, k, speed):
    """(n,) change of speeds after stage k by which FOOT moves at this speed, and other closed feet stay."""
    robot, closed = motion.parameters.robot, motion.schedule.closed[k]
    model, data, q = robot.model, robot.model.createData(), motion.manifold.split(x[None])[0][0]
    frames = [contact.frame for contact, on in zip(motion.schedule.contacts, closed, strict=True) if on]
    jacobians = (
        pin.computeFrameJacobian(model, data, q, model.getFrameId(frame), pin.LOCAL_WORLD_ALIGNED)
        for frame in frames
    )
    J = np.vstack([each[:3] for each in jacobians])
    M, wanted = np.triu(pin.crba(model, data, q)), np.zeros(len(J))
    M += np.triu(M, 1).T
    wanted[3 * frames.index(FOOT) :][:2] = speed * np.array([0.8, 0.6])
    by_impulse = np.linalg.solve(M, J.T)
    return by_impulse @ np.linalg.solve(J @ by_impulse, wanted)


def with_a_slip(problem, steady, speed, rng):
    """The same motion simulated again, with noise and a slip, and what sensors read of it."""
    (model,), theta = problem.models, problem.parameters.theta_of(steady.values)
    nodes, noise = [steady.motions[0].nodes[0]], np.zeros(model.noise_std.shape)
    for k in range(model.stages):
        noise[k] = model.noise_std[k] * rng.standard_normal(len(noise[k])) * model.noisy[k]
        if k in (BEGINS, ENDS):
            after = model.evaluate(k, nodes[-1][None], noise[k][None], theta)[0][0]
            noise[k, len(model.noisy_commands) :] += kick(model, after, k, speed if k == BEGINS else -speed)
        nodes.append(model.evaluate(k, nodes[-1][None], noise[k][None], theta)[0][0])
    moved, readings = list(model.along(np.array(nodes), theta, noise)), []
    for some in model.readings:
        predicted = np.full(some.values.shape, np.nan)
        for samples, motion in moved:
            predicted[samples] = some.sensor.predicted(motion)
        e = rng.standard_normal((len(predicted), some.sensor.size)) @ np.linalg.inv(some.sensor.whitening).T
        if some.sensor.width == some.sensor.size:
            z = predicted + e
        else:
            z = (Rotation.from_quat(predicted) * Rotation.from_rotvec(e)).as_quat()
        readings.append(replace(some, values=np.where(np.isfinite(some.values), z, np.nan)))
    slipped = replace(problem, models=(replace(model, readings=tuple(readings), guess=None),))
    return slipped, problem.parameters.physical(theta)


def test_nothing_grows_where_no_foot_slips(problem, steady):
    given = GIVEN.solve(problem)
    assert not [note for note in steady.notes if "slips" in note]
    # Student's t has heavier tails: the optimum moves, by less than it is uncertain
    assert np.all(np.abs(steady.values - given.values) < given.std)


@pytest.mark.parametrize("speed", SPEEDS)
def test_a_slip_is_found_and_its_foot_named(problem, steady, speed, rng):
    slipped, truth = with_a_slip(problem, steady, speed, rng)
    estimate, given = METHOD.solve(slipped), GIVEN.solve(slipped)
    assert estimate.status.converged
    # the solver of these tests leaves gaps of up to 1e-4, a certificate 1e-6
    assert speed > 0.1 or estimate.certificate().holds
    growth, times = estimate.problem.models[0].growth[:, -1], problem.models[0].times
    assert np.flatnonzero(growth > 3).tolist() == [BEGINS, ENDS]
    said = [note for note in estimate.notes if "slips" in note]
    for k, note in zip((BEGINS, ENDS), said, strict=True):
        assert f"{FOOT} slips at {times[k]:.3f} s" in note
    e, covariance = (estimate.values - truth)[:10], estimate.covariance[:10, :10]
    # chi-square of ten degrees of freedom, within 4 standard deviations
    assert e @ np.linalg.solve(covariance, e) < 10 + 4 * np.sqrt(20)
    # as given all noise is taken to be as large as the slip
    assert estimate.std[0] < given.std[0]
    assert not [note for note in given.notes if "slips" in note]
