"""How a datum reaches the page: the walks of `docs/architecture.md`."""

import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

import poinsot
from synthetic_job import write_job

PAGE = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text()

WALKS = {
    "A sample of torque": (
        "recording:Recording",
        "signals.signals:Signals",
        "regression.inverse_dynamics:Part",
        "regression.inverse_dynamics:Rows",
        "regression.system:ReducedRows",
        "estimate:Fit",
        "estimate:Estimate",
    ),
    "A gyro reading": (
        "recording:Recording",
        "models.sensors:Readings",
        "estimators.shooting.robot:RobotTrajectoryModel",
        "estimators.shooting.problem:StageLinearization",
        "estimators.shooting.riccati:LinearQuadraticStages",
        "estimate.motions:SensorFit",
        "estimate:Estimate",
    ),
    "A frame of a video": (
        "recording:Recording",
        "models.planar.drop:Drop",
        "estimators.impacts.problem:ImpactsProblem",
        "estimators.impacts.shooting:Shooting",
        "estimators.impacts.drop:DropFit",
        "estimate:Fit",
        "estimate:Estimate",
    ),
    "A command": (
        "recording:Recording",
        "estimators.servo.problem:CommandedMotion",
        "estimators.servo.search:JointRecording",
        "models.servo.rollout:ActuatorRollout",
        "estimators.servo.intervals:GroupResult",
        "estimators.servo.result:Actuators",
        "estimate:Estimate",
    ),
    "An angle of a mechanism": (
        "recording:Recording",
        "estimators.joint.problem:Record",
        "estimators.joint.linearization:RecordLinearization",
        "estimators.joint.linearization:NormalEquations",
        "estimators.joint.problem:RecordFit",
        "estimate:Fit",
        "estimate:Estimate",
    ),
}


@pytest.mark.parametrize("datum", WALKS)
def test_the_page_names_the_types_of_each_walk_in_order(datum):
    rows = (row.split(":") for row in WALKS[datum])
    types = [getattr(import_module(f"poinsot.{module}"), name) for module, name in rows]
    assert len(types) <= 7
    chain = re.search(rf"\*\*{datum}\*\* \(family `\w+`\): ([^.]*)\.", PAGE)[1]
    assert re.split(r"\s*→\s*", chain) == [f"`{kind.__name__}`" for kind in types]


def test_a_sample_of_torque_is_doubled_on_its_whole_way(tmp_path):
    """Each type of the walk holds the torque: doubled where it is measured, it is doubled in all of them."""
    once = poinsot.identify(poinsot.Project.load(write_job(tmp_path))).problem
    twice = replace(once, recordings=[replace(kind, tau=2 * kind.tau) for kind in once.recordings])
    for one, two in zip(once.rows(), twice.rows(), strict=True):
        assert two.y == pytest.approx(2 * one.y)
    fits = [poinsot.LeastSquares().solve(problem).fit for problem in (once, twice)]
    assert fits[1].measured == pytest.approx(2 * fits[0].measured)
