"""Contact events: a schedule that is late, early or lacks a stance is found and corrected; a good one is left."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from poinsot.estimators.shooting.contact_events import EventSearch, contradicted_events, without_short_runs
from poinsot.estimators.shooting.ddp import DDP
from poinsot.estimators.shooting.estimation import OptimalEstimation
from poinsot.project import Project
from poinsot.project.job import Job
from poinsot.stopwatch import Stopwatch

JOB = Path(__file__).resolve().parents[3] / "examples" / "quadruped" / "job.toml"
METHOD = OptimalEstimation(DDP(step_tolerance=0.1, gap_tolerance=1e-4))
"""Schedules need no more."""


@pytest.fixture(scope="module")
def problem():
    project = Project.load(JOB)
    found = project.settings.method.problem(Job(project), Stopwatch())
    return replace(found, held_out=())


def scheduled(problem, closed):
    """The problem with another schedule."""
    return replace(problem, models=(problem.models[0].with_schedule(closed),))


def events_of(estimate):
    return [event for event in estimate.contact_events if event.gain > 0]


@pytest.mark.slow
def test_a_good_schedule_is_left_as_it_is(problem):
    """Simulated with rigid feet, and events at samples."""
    estimate = METHOD.solve(problem)
    assert "contact-schedule" not in {each.cause for each in estimate.findings}
    found = replace(METHOD, contact_schedule="estimated").solve(problem)
    assert not events_of(found)
    np.testing.assert_array_equal(found.values, estimate.values)


@pytest.mark.parametrize("late", [2, pytest.param(-2, marks=pytest.mark.slow)])
def test_events_20_ms_off_are_found_and_corrected(problem, late):
    true = problem.models[0].schedule.closed
    closed = np.roll(true, late, axis=0)
    closed[:2], closed[-2:] = true[0], true[-1]
    wrong = METHOD.solve(scheduled(problem, closed))
    said = [each.message for each in wrong.findings if each.cause == "contact-schedule"]
    assert len(said) == 4 and all("ms before" in each if late > 0 else "ms after" in each for each in said)
    found = replace(METHOD, contact_schedule="estimated").solve(scheduled(problem, closed))
    np.testing.assert_array_equal(found.problem.models[0].schedule.closed, true)
    away = np.array([event.time - event.given for event in events_of(found)])
    assert (np.abs(away + 0.01 * late) < 0.01).all()
    right = METHOD.solve(problem)
    assert abs(found["m.trunk"] / right["m.trunk"] - 1) < 1e-3 < abs(wrong["m.trunk"] / right["m.trunk"] - 1)
    assert {each.severity.name for each in found.findings if each.cause == "contact-schedule"} == {"note"}


@pytest.mark.slow
def test_a_missed_stance_is_found(problem):
    schedule = problem.models[0].schedule
    closed, lands = schedule.closed.copy(), int(schedule.resets[0].first)
    foot = schedule.resets[0].gained[0]
    closed[lands:, foot] = False
    estimate = METHOD.solve(scheduled(problem, closed))
    (said,) = [each.message for each in estimate.findings if "lacks" in each.message]
    assert schedule.contacts[foot].frame in said
    found = replace(METHOD, contact_schedule="estimated").solve(scheduled(problem, closed))
    again = found.problem.models[0].schedule.closed
    assert np.sum(again != schedule.closed) <= 1


def test_without_contacts_there_is_nothing_to_search(problem):
    model = problem.models[0]
    free = replace(model.schedule, contacts=(), closed=model.schedule.closed[:, :0])
    bare = replace(model, schedule=free, guess=None)
    assert EventSearch().search(bare, problem.guess.theta, problem.guess.x[0]) == (bare, ())


@pytest.mark.slow
def test_a_stance_that_did_not_happen_is_found(problem):
    """A channel that closes while its foot swings."""
    schedule = problem.models[0].schedule
    true, foot = schedule.closed, schedule.resets[0].gained[0]
    swing = np.flatnonzero(~true[:, foot])
    closed = true.copy()
    closed[swing[2:-2], foot] = True
    estimate = METHOD.solve(scheduled(problem, closed))
    (said,) = [each.message for each in estimate.findings if each.cause == "contact-schedule"]
    assert f"{schedule.contacts[foot].frame} does not close at 0.120 s as its channel says" in said
    found = replace(METHOD, contact_schedule="estimated").solve(scheduled(problem, closed))
    np.testing.assert_array_equal(found.problem.models[0].schedule.closed, true)
    right = METHOD.solve(problem)
    assert (
        abs(found["m.trunk"] / right["m.trunk"] - 1) < 1e-3 < abs(estimate["m.trunk"] / right["m.trunk"] - 1)
    )
    absent = [event for event in found.contact_events if event.time is None]
    assert [(event.closes, event.given) for event in absent] == [(True, 0.12), (False, 0.3)]


def test_a_motion_contradicts_a_schedule_that_is_late(problem):
    """Without solving again: feet rest before they are said to close, and swing before they are said to be open."""
    model = problem.models[0]
    true, x = model.schedule.closed, METHOD.solve(problem).motions[0].nodes[model.after_impacts]

    def found(closed):
        schedule = replace(model.schedule, closed=closed, margin=1)
        return contradicted_events(replace(model, schedule=schedule, readings=(), guess=None), x)

    assert found(true) == ()
    late = np.roll(true, 5, axis=0)
    late[:5] = true[0]
    events = found(late)
    assert {event.frame for event in events if event.closes} == {
        contact.frame
        for contact, on in zip(model.schedule.contacts, true.T, strict=True)
        if np.any(on[1:] > on[:-1])
    }
    for event in events:
        assert event.given is not None and 0.02 < event.given - event.time < 0.07


def test_short_stances_and_interruptions_are_no_events():
    closed = np.array([[mark == "#" for mark in "##########.#######........#......##########"]]).T
    kept = without_short_runs(closed, 250.0)
    assert "".join("#" if one else "." for one in kept[:, 0]) == "##################...............##########"
    # a run that the recording cuts may be long
    np.testing.assert_array_equal(without_short_runs(~closed, 250.0)[0], ~closed[0])


@pytest.mark.slow
def test_a_schedule_that_nobody_recorded_is_that_of_the_efforts(tmp_path):
    """The quadruped of the examples, which has rigid feet, without its contacts."""
    text = JOB.read_text()
    folder = tmp_path / "quadruped"
    shutil.copytree(JOB.parent, folder)
    text = re.sub(r"(?ms)^\[recordings\.contact\].*?(?=^\[)", "", text)
    text = re.sub(r"(?m)^contact = .*\n", "", text)
    text = text.replace('contact_model = "rigid"', 'contact_schedule = "estimated"')
    (folder / "job.toml").write_text(text)
    project = Project.load(folder / "job.toml")
    found = project.settings.method.problem(Job(project), Stopwatch())
    given = Project.load(JOB)
    true = given.settings.method.problem(Job(given), Stopwatch()).models[0].schedule.closed
    assert not found.models[0].schedule.is_recorded
    estimate = OptimalEstimation(
        DDP(step_tolerance=0.1, gap_tolerance=1e-4), contact_schedule="estimated"
    ).solve(found)
    closed = estimate.problem.models[0].schedule.closed
    # sampled at 100 Hz with coarse sensors, so events are some samples off
    assert np.mean(closed == true) > 0.8
    assert estimate.contact_events and all(event.given is None for event in estimate.contact_events)
    assert "contact-schedule" not in {finding.cause for finding in estimate.findings}
