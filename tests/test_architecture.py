"""How a datum reaches the page: the walks of `docs/architecture.md`."""

import re
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
        "estimators.impacts.drop_fit:DropFit",
        "estimate:Fit",
        "estimate:Estimate",
    ),
    "A command": (
        "recording:Recording",
        "estimators.servo.problem:CommandedMotion",
        "estimators.servo.search:JointRecording",
        "models.servo.rollout:ActuatorRollout",
        "estimators.servo.output_error:GroupResult",
        "estimators.servo.result:Actuators",
        "estimate:Estimate",
    ),
    "An angle of a mechanism": (
        "recording:Recording",
        "estimators.joint.records:Record",
        "estimators.joint.linearization:RecordLinearization",
        "estimators.joint.bordered:NormalEquations",
        "estimators.joint.results:RecordFit",
        "estimate:Fit",
        "estimate:Estimate",
    ),
}


@pytest.mark.parametrize("datum", WALKS)
def test_the_page_names_the_types_of_each_walk_in_order(datum):
    types = [getattr(import_module(f"poinsot.{module}"), name) for module, name in (row.split(":") for row in WALKS[datum])]
    assert len(types) <= 7
    chain = re.search(rf"\*\*{datum}\*\* \(family `\w+`\): (.*?)\.\n", PAGE, re.DOTALL) or re.search(
        rf"\*\*{datum}\*\* \(family `\w+`\): (.*?)\. ", PAGE, re.DOTALL
    )
    assert re.split(r"\s*→\s*", chain[1]) == [f"`{kind.__name__}`" for kind in types]


def test_a_sample_of_torque_is_doubled_on_its_whole_way(tmp_path):
    """Each type of the walk holds the torque: doubled in the recording, it is doubled in all of them."""
    project = poinsot.Project.load(write_job(tmp_path))
    problem = poinsot.identify(project).problem
    (recording,) = problem.recordings
    doubled = poinsot.Recording(
        recording.time,
        {name: (2 if name.startswith("torque") else 1) * values for name, values in recording.channels.items()},
        recording.units,
    )
    once, twice = (
        poinsot.InverseDynamics(problem.robot, [kind], signals=problem.smoothing) for kind in (recording, doubled)
    )
    for one, two in zip(once.rows(), twice.rows(), strict=True):
        assert two.y == pytest.approx(2 * one.y)
    fits = [poinsot.LeastSquares().solve(way).fit for way in (once, twice)]
    assert fits[1].measured == pytest.approx(2 * fits[0].measured)
