"""Generated C: compiled strictly by both compilers, called, and its object file looked at."""

import re

import numpy as np
import pytest

import poinsot
from export.generated import ORIGIN, STRICT, compiler, dynamics_of, run
from poinsot.export.c_source import CheckedMotion, c_files, c_test
from poinsot.export.routines import Routines
from poinsot.models.efforts import Counterbalance, Spring
from poinsot.models.friction import ViscousCoulomb
from poinsot.models.friction.stribeck import StribeckFriction
from references.robots import described

MATHEMATICS = {"sin", "cos", "sincos", "exp", "fabs", "sqrt", "pow", "memset", "memcpy"}

CALLS = """
#include "arm.h"
#include <stdio.h>
int main(void) {
    double q[6] = {.1, .2, .3, .4, .5, .6}, v[6] = {.6, -.5, .4, -.3, .2, -.1}, tau[6], M[36];
    double W[6 * ARM_PARAMETERS], s[6], motor[6];
    int i;
    arm_gravity(q, tau); for (i = 0; i < 6; i++) printf("%.17g ", tau[i]);
    arm_friction(v, tau); for (i = 0; i < 6; i++) printf("%.17g ", tau[i]);
    arm_springs(q, s); for (i = 0; i < 6; i++) printf("%.17g ", s[i]);
    arm_motor_torque(tau, motor); for (i = 0; i < 6; i++) printf("%.17g ", motor[i]);
    arm_mass_matrix(q, M); for (i = 0; i < 36; i++) printf("%.17g ", M[i]);
    arm_torque_regressor(q, v, v, W); for (i = 0; i < 6 * ARM_PARAMETERS; i++) printf("%.17g ", W[i]);
    return 0;
}
"""


@pytest.fixture(scope="module")
def dynamics():
    """A six-axis arm with all that generated code may have: couplings, gains, springs, friction with a deadband."""
    robot = described(
        "ur_description/urdf/ur5_robot.urdf",
        drive=poinsot.Drive(
            reduction=(100, 101, -50, 54, 45, 32),
            side="motor",
            gain=0.1,
            couplings=(poinsot.Coupling("wrist_3_joint", "wrist_2_joint", 32),),
            rotor_inertia=True,
        ),
        friction=ViscousCoulomb(deadband=0.01, further=(StribeckFriction(decay=3.0),)),
        efforts=(
            Spring("shoulder_pan_joint"),
            Counterbalance("shoulder_lift_joint", fixed=(0.0, 0.1, 0.3), moving=(0.2, 0.0, 0.1)),
        ),
    )
    return dynamics_of(robot, np.random.default_rng(5).standard_normal(len(robot.parameters)))


@pytest.fixture(scope="module")
def folder(dynamics, tmp_path_factory):
    folder, routines = tmp_path_factory.mktemp("c"), Routines(dynamics)
    q, v, a = np.random.default_rng(6).uniform(-2, 2, (3, 100, 6))
    samples = CheckedMotion(q, v, a, dynamics.torque(q, v, a), None, "random motions")
    texts = c_files(routines, "arm", ORIGIN, regressor=True)
    for name, text in {**texts, "arm_test.c": c_test(routines, "arm", samples), "calls.c": CALLS}.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_it_compiles_strictly_and_equals_the_prediction(name, folder, dynamics):
    compile_, out = compiler(name), f"test_{name}"
    run(compile_, *STRICT, "arm_test.c", "arm.c", "-lm", "-o", out, cwd=folder)
    found = re.search(r"prediction: (\S+) of", run(f"./{out}", cwd=folder))
    assert float(found[1]) <= 1e-12
    run(compile_, *STRICT, "calls.c", "arm.c", "-lm", "-o", "calls", cwd=folder)
    numbers = np.array(run("./calls", cwd=folder).split(), dtype=float)
    q, v = 0.1 * np.arange(1, 7), np.array([0.6, -0.5, 0.4, -0.3, 0.2, -0.1])
    still, (gravity, friction, springs, motor) = np.zeros(6), numbers[:24].reshape(4, 6)
    size = np.abs(dynamics.torque(q, v, v)).max()
    np.testing.assert_allclose(gravity, dynamics.gravity(q), atol=1e-12 * size)
    np.testing.assert_allclose(numbers[24:60].reshape(6, 6), dynamics.mass_matrix(q), atol=1e-12 * size)
    np.testing.assert_allclose(
        numbers[60:].reshape(6, -1) @ dynamics.theta, dynamics.torque(q, v, v), atol=1e-12 * size
    )
    np.testing.assert_allclose(
        dynamics.robot.train.joint_torques(motor[None])[0], friction, atol=1e-12 * size
    )
    # what does not depend on the motion is in both
    at_rest = numbers[24:60].reshape(6, 6) @ v + gravity + springs
    offsets = dynamics.torque(q, still, v) - at_rest
    np.testing.assert_allclose(offsets, dynamics.torque(still, still, still) - dynamics.gravity(still)
                               - _springs(dynamics, still), atol=1e-12 * size)  # fmt: skip


def _springs(dynamics, q):
    """Springs at q from the regressor's columns."""
    kinds = np.array(dynamics.parameters.kinds)
    chosen = np.isin(kinds, ("spring_stiffness", "spring_preload", "counterbalance"))
    from poinsot.regression.regressor import Regressor

    robot = dynamics.robot
    W = Regressor(robot, robot.parameters).dense(robot.configurations(q[None]), q[None], q[None])[0]
    return W[:, chosen] @ dynamics.theta[chosen]


@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_the_object_calls_nothing_but_mathematics_and_has_no_variables(name, folder):
    run(compiler(name), *STRICT, "-c", "arm.c", "-o", f"{name}.o", cwd=folder)
    symbols = [line.split()[-2:] for line in run(compiler("nm"), f"{name}.o", cwd=folder).splitlines()]
    assert {symbol for kind, symbol in symbols if kind == "U"} <= MATHEMATICS | {"_GLOBAL_OFFSET_TABLE_"}
    assert not {symbol for kind, symbol in symbols if kind in "DdBbC"}


def test_the_header_says_what_is_what(folder):
    text = (folder / "arm.h").read_text()
    assert ORIGIN.sha256 in text and "elbow_joint" in text and "[N m s/rad]" in text
    assert "#define ARM_JOINTS 6" in text and "double *tau);" in text


def test_code_that_is_wrong_fails_its_test(folder, dynamics):
    """A number of the code is changed: the program says so by its exit code."""
    import subprocess

    source = (
        (folder / "arm.c")
        .read_text()
        .replace("/* fc4 */", "+ 1e-9 /* fc4 */")
        .replace(", + 1e-9", " + 1e-9,")
    )
    assert "+ 1e-9" in source
    (folder / "wrong.c").write_text(source)
    run(compiler("gcc"), *STRICT, "arm_test.c", "wrong.c", "-lm", "-o", "wrong", cwd=folder)
    assert subprocess.run(["./wrong"], cwd=folder, capture_output=True).returncode == 1
