"""The examination of throws: frames alone name what is wrong with them, and clean ones pass."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

from poinsot.diagnosis.throws import ThrowChecks, ThrownBody, diagnose_throws
from poinsot.estimate import Estimate, Finding, Severity, Status
from poinsot.models.planar import Ellipse, floor
from references.throws import CORRUPTIONS, examined, throw

SEEDS = (0, 3, 5, 6, 9)
REFUSED = ("millimetres", "y negated")


def estimate_with(extras=None, **values):
    """Stand-in for an estimate: what the examination of throws reads of it."""
    estimate = MagicMock(spec=Estimate)
    estimate.names, estimate.extras, estimate.status = tuple(values), extras or {}, Status.solved
    estimate.__getitem__.side_effect = values.__getitem__
    return estimate


def causes_of(drop, shape, wall, known=()):
    estimate = estimate_with()
    about = {"throws": [drop], "shape": shape, "walls": [wall]}
    found = diagnose_throws(estimate, **about, known=known)
    return [
        each.cause for each in found.findings if each.severity > Severity.note and each.cause != "poor-fit"
    ]


@pytest.mark.parametrize("seed", range(30))
def test_frames_of_clean_throws_pass(seed):
    assert causes_of(*throw(seed), floor()) == []


@pytest.mark.parametrize("name", [name for name in CORRUPTIONS if name not in REFUSED])
def test_frames_name_what_is_wrong(name):
    """In three of five throws at least, where the method says that the fit is poor."""
    right, change, wall = CORRUPTIONS[name]
    poor = [Finding("poor-fit", Severity.warning, "", "")]
    named = 0
    for seed in SEEDS:
        drop, shape = throw(seed)
        named += any(cause in right for cause in causes_of(change(drop), shape, wall, poor)[:2])
    assert named >= 3


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_its_cause(name):
    right, change, wall = CORRUPTIONS[name]
    drop, shape = throw(0)
    assert examined(change(drop), shape, wall) == ("refused", list(right))


def test_an_estimate_of_a_clean_throw_is_trusted_and_of_a_misread_frame_is_not():
    drop, shape = throw(0)
    assert examined(drop, shape, floor()) == ("trusted", [])
    right, change, _ = CORRUPTIONS["a frame misread"]
    trust, causes = examined(change(drop), shape, floor())
    assert trust == "not-to-be-used"
    assert right[0] in causes


def test_what_the_values_say():
    impacts = SimpleNamespace(
        impacts=[
            SimpleNamespace(restitution=r, recording="drop 1", time=0.1) for r in (0.5, 0.6, 3.4, np.nan)
        ]
    )

    case = ThrownBody(
        estimate_with({"impacts": impacts}, friction=3.0),
        [],
        Ellipse(0.05, 0.025),
        [floor()],
        held_out={f"drop {k}": np.array([0.1, 0.2]) for k in range(9)} | {"drop 10": np.array([5.0, 6.0])},
        upper={"friction": 3.0},
    )
    found = {each.cause: each for each in ThrowChecks().look(case) if isinstance(each, Finding)}
    assert set(found) == {"at-bound", "restitution", "held-out"}
    assert "3.4 in drop 1" in found["restitution"].message
    assert found["held-out"].where == "drop 10"
