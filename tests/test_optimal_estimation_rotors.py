"""A body that four rotors carry, from a project file: thrusts are commands, and what lifts it weighs it."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from poinsot.estimate import Trust
from poinsot.exceptions import PoinsotError
from poinsot.project import Project, identify
from references.replacing import replaced

DT, S = 0.01, 150
MASS, J = 1.2, np.array([0.010, 0.014, 0.020])
PLACES = {"a": (0.2, 0.15, 0.05), "b": (-0.2, 0.2, 0.05), "c": (-0.15, -0.2, -0.05), "d": (0.2, -0.2, -0.05)}
"""Rotor -> x, y and drag [m]."""
NOISE = {"orientation": 3e-3, "gyro": 5e-3, "frame_position": 1e-3, "accelerometer": 0.03}
DISTURBED = 1e-3

URDF = """<robot name="flyer"><link name="hull"><inertial><mass value="{}"/>
<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.03"/></inertial></link></robot>"""


def fly(rng):
    """Columns: semi-implicit steps of a rigid body about its centre of mass, which is its frame's origin."""
    arms = np.array(list(PLACES.values()))
    shares = np.array([np.ones(4), arms[:, 1], -arms[:, 0], arms[:, 2]])
    R, p, v, w = Rotation.identity(), np.zeros(3), np.zeros(3), np.zeros(3)  # v in the body's axes
    gravity, rows = np.array([0, 0, -9.81]), []
    for k in range(S):
        t = k * DT
        moment = J * (20 * np.array([np.sin(9 * t), np.cos(8 * t), 0.7 * np.sin(7 * t)])) - 0.02 * w
        thrusts = np.linalg.solve(shares, [MASS * (9.81 + 2 * np.sin(6 * t)), *moment])
        force = np.array([0, 0, thrusts.sum()])
        felt = force / MASS
        rows.append([t, *(R * Rotation.from_rotvec(3e-3 * rng.standard_normal(3))).as_quat(),
                     *(w + 5e-3 * rng.standard_normal(3)), *(p + 1e-3 * rng.standard_normal(3)),
                     *(felt + 0.03 * rng.standard_normal(3)), *thrusts])  # fmt: skip
        v = v + DT * (felt + R.inv().apply(gravity) - np.cross(w, v))
        w = w + DT * ((shares[1:] @ thrusts - np.cross(w, J * w)) / J)
        step = _moved(np.concatenate([v, w]) * DT)
        p, R = p + R.apply(step[0]), R * step[1]
        v, w = v + DISTURBED * rng.standard_normal(3), w + DISTURBED * rng.standard_normal(3)
    return np.array(rows)


def _moved(twist):
    """Place and turn after a constant twist in the body's axes."""
    import pinocchio as pin

    moved = pin.exp6(pin.Motion(twist))
    return moved.translation, Rotation.from_matrix(moved.rotation)


@pytest.fixture
def project(tmp_path, rng):
    names = ["t", "ox", "oy", "oz", "ow", "gx", "gy", "gz", "px", "py", "pz", "ax", "ay", "az", *PLACES]
    np.savetxt(
        tmp_path / "run.csv", fly(rng), delimiter=",", header=",".join(names), comments="", fmt="%.12g"
    )
    (tmp_path / "flyer.urdf").write_text(URDF.format(1.0))
    rotors = "".join(
        f'[[rotors]]\nname = "{name}"\nposition = [{x}, {y}, 0.0]\ndrag = {drag}\n'
        for name, (x, y, drag) in PLACES.items()
    )
    noise = ", ".join(f"{name} = {std}" for name, std in NOISE.items())
    text = f"""{rotors}
[robot]
path = "flyer.urdf"
floating_base = true

[[recordings]]
path = "run.csv"
time = {{ column = "t", unit = "s" }}
orientation = {{ frame = "hull", columns = ["ox", "oy", "oz", "ow"] }}
gyro = {{ frame = "hull", columns = ["gx", "gy", "gz"], unit = "rad/s" }}
frame_position = {{ frame = "hull", columns = ["px", "py", "pz"], unit = "m" }}
accelerometer = {{ frame = "hull", columns = ["ax", "ay", "az"], unit = "m/s^2" }}
thrust = {{ rotors = ["a", "b", "c", "d"], columns = ["a", "b", "c", "d"], unit = "N" }}

[method]
name = "optimal-estimation"
contact_model = "rigid"
bodies = ["hull"]
noise = {{ {noise} }}
speed_noise = {{ base_linear = {DISTURBED}, base_angular = {DISTURBED} }}
"""

    def project(*replacements):
        (tmp_path / "job.toml").write_text(replaced(text, *replacements))
        return tmp_path / "job.toml"

    return project


def test_a_flyer_is_weighed(project):
    estimate = identify(Project.load(project()))
    truth = np.array([MASS, 0, 0, 0, J[0], 0, J[1], 0, 0, J[2]])
    np.testing.assert_array_less(np.abs(estimate.values - truth), 4 * estimate.std)
    assert estimate.identifiable.all() and estimate.std[0] < 0.01 * MASS
    assert estimate.trust is Trust.trusted
    assert set(estimate.motions[0].path.channels) >= {
        "frame_position.hull.z",
        "orientation.hull.w",
        "gyro.hull.x",
    }


LEVELS = f"base_linear = {DISTURBED}, base_angular = {DISTURBED}"
TRUTH = np.array([MASS, 0, 0, 0, J[0], 0, J[1], 0, 0, J[2]])


def with_levels(factor, process_noise="given"):
    level = factor * DISTURBED
    return (
        f"speed_noise = {{ {LEVELS} }}",
        f"speed_noise = {{ base_linear = {level}, base_angular = {level} }}\nprocess_noise = {process_noise!r}",
    )


def test_process_noise_that_is_too_small_is_found(project):
    estimate = identify(Project.load(project(with_levels(0.1))))
    # intervals would be up to ten standard deviations off
    assert np.abs((estimate.values - TRUTH) / estimate.std).max() > 4
    assert estimate.trust is not Trust.trusted
    assert "assumed-noise" in {finding.cause for finding in estimate.findings}
    assert 'process_noise = "auto"' in str(estimate.findings[0])


def test_process_noise_is_estimated_wherever_its_search_begins(project):
    low, high = (identify(Project.load(project(with_levels(f, "auto")))) for f in (1 / 30, 30))
    np.testing.assert_allclose(low.values, high.values, atol=0.3 * high.std.max(), rtol=1e-2)
    for estimate in (low, high):
        np.testing.assert_array_less(np.abs(estimate.values - TRUTH), 4 * estimate.std)
        assert estimate.trust is Trust.trusted
        assert "Noise levels are those that the data determine" in estimate.notes[-1]


def test_an_open_gain_makes_the_mass_as_uncertain_as_it_is(project):
    prior = "\n[priors]\nthrust = { mean = 1.0, std = 0.05 }\n"
    text = ('bodies = ["hull"]', 'bodies = ["hull"]\ngains = ["thrust"]')
    closed = identify(Project.load(project()))
    path = project(text)
    path.write_text(path.read_text() + prior)
    opened = identify(Project.load(path))
    assert opened["thrust"] == pytest.approx(1.0, abs=1e-3)  # only the prior says what it is
    assert opened.std[0] == pytest.approx(0.05 * MASS, rel=0.02)
    assert opened.std[0] > 50 * closed.std[0]
    assert [each.what for each in closed.unchecked] == ["the gain of commands"]
    assert opened.unchecked == ()


def test_a_prior_that_the_data_contradict_is_named(project):
    path = project()
    path.write_text(path.read_text() + '\n[priors]\n"m.hull" = { mean = 1.0, std = 0.02 }\n')
    estimate = identify(Project.load(path))
    assert estimate.trust is Trust.not_to_be_used
    assert (estimate.findings[0].cause, estimate.findings[0].where) == ("prior-surprise", "m.hull")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (('rotors = ["a", "b", "c", "d"]', 'rotors = ["a", "b", "c", "e"]'), "no .* is called 'e'"),
        (
            ("floating_base = true", "floating_base = false"),
            "has no moving joint",
        ),
        (("position = [0.2, 0.15, 0.0]", "position = [0.2, 0.15, 0.0]\naxis = [0.0, 0.0, 0.0]"), "direction"),
    ],
)
def test_rotors_that_do_not_fit_are_refused(project, change, sentence):
    with pytest.raises(PoinsotError, match=sentence):
        identify(Project.load(project(change)))
