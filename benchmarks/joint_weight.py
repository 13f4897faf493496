"""The weight that joint smoothing chooses, beside a grid of weights, by what it predicts of held-out recordings.

    python benchmarks/joint_weight.py [--data ../shared/data] [--case double] [--decades 4,14,2]

A simulated double pendulum (MuJoCo), and with --data a real pendulum (every other 1.5 s) and a real Furuta pendulum
(two of three driven recordings). Errors are those of windows of one period, by the spread of the readings. Target: the
choice predicts at most 10 % worse than the best of the grid, in the time of at most five fits.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import mujoco
import numpy as np

from poinsot import Column, Source, read_recording
from poinsot.estimators.joint import JointSmoothing, JointSmoothingProblem, Record, WeightChoice
from poinsot.estimators.joint.prediction import predicted, relative_errors
from poinsot.models.maximal import Encoder, Hinge, Mechanism, Model, RigidBody, keep_compiled

STEP, EVERY, SECONDS, NOISE = 5e-4, 20, 8.0, 1e-3
DOUBLE = """<mujoco><option timestep="5e-4" integrator="RK4"/><worldbody><body>
<joint name="a" axis="1 0 0" damping="2e-3"/><inertial pos="0 0 -.12" mass=".3" diaginertia="2.2e-3 2.2e-3 1e-4"/>
<body pos="0 0 -.25"><joint name="b" axis="1 0 0" damping="1e-3"/>
<inertial pos="0 0 -.1" mass=".2" diaginertia="1.1e-3 1.1e-3 1e-4"/></body></body></worldbody></mujoco>"""


@dataclass(frozen=True, eq=False)
class Case:
    model: Model
    fitted: Sequence[Record]
    held_out: Sequence[Record]
    noise: tuple[float, ...]
    decades: tuple[float, float, float]


def double(_: Path | None) -> Case:
    """Released twice; inertia and damping are open."""
    spec, rng, records = mujoco.MjModel.from_xml_string(DOUBLE), np.random.default_rng(0), []
    for release in ((2.0, 1.0), (1.4, -1.0)):
        data, z = mujoco.MjData(spec), []
        data.qpos[:] = release
        for k in range(int(SECONDS / STEP)):
            if k % EVERY == 0:
                z.append(data.qpos.copy())
            mujoco.mj_step(spec, data)
        times, read = STEP * EVERY * np.arange(len(z)), np.array(z)
        noise = NOISE * rng.standard_normal(read.shape)
        records.append(Record(f"release {len(records)}", times, np.zeros((len(times), 0)), read + noise))
    bodies = [
        RigidBody("upper", 0.3, (1e-3, 1e-3, 1e-4), center=(0, 0, -0.12)),
        RigidBody("lower", 0.2, (5e-4, 5e-4, 1e-4), center=(0, 0, -0.35)),
    ]
    joints = [
        Hinge("a", "world", "upper", axis=(1, 0, 0), drag=1e-3),
        Hinge("b", "upper", "lower", point=(0, 0, -0.25), axis=(1, 0, 0), drag=1e-3),
    ]
    mechanism = Mechanism(bodies, joints, sensors=[Encoder("a"), Encoder("b")])
    model = mechanism.model(["upper.Jxx", "lower.Jxx", "a.drag", "b.drag"])
    return Case(model, records[:1], records[1:], (NOISE, NOISE), (4, 14, 2))


def pendulum(data: Path | None) -> Case:
    from poinsot_reproductions.discrete import pendulum_drive
    from poinsot_reproductions.discrete.step_noise import over_steps, resolution

    assert data is not None
    channels = {"position.pivot": Column("position", "rad"), "torque.pivot": Column("torque", "N m")}
    read = read_recording(Source(data / pendulum_drive.FILE, channels, time=Column("time", "s")))
    q, times = read["position.pivot"], np.asarray(read.time - read.time[0])
    whole = Record("driven", times, over_steps(read["torque.pivot"]), q[:, None])
    quarters = [whole.between(start, start + 1.5) for start in (0.0, 1.5, 3.0, 4.5)]
    noise = (float(resolution(q) / np.sqrt(12)),)
    return Case(pendulum_drive.model(), quarters[::2], quarters[1::2], noise, (4, 9, 1))


def furuta(data: Path | None) -> Case:
    from poinsot_reproductions.discrete import furuta_fits, furuta_models

    assert data is not None
    stand = furuta_fits.stand(data)
    mechanism = replace(furuta_models.furuta(), sensors=[Encoder("shoulder"), Encoder("elbow")])
    names = (*furuta_models.INERTIA, *furuta_models.DRIVE, *furuta_models.FRICTION, *furuta_models.TILT)
    records = {}
    for name in furuta_fits.DRIVEN:
        given = stand.records[name]
        z = given.z[:, [0, 1 + furuta_models.RECORDINGS.index(name)]]
        records[name] = replace(given, z=z - [0.0, z[0, 1]])  # it hangs at first
    fitted = [records["step 4 V"], records["sine 2 V"]]
    return Case(mechanism.model(names), fitted, [records["step 2 V"]], (1e-3, 1e-3), (8, 14, 1))


CASES = {"double": double, "pendulum": pendulum, "furuta": furuta}


def error(case: Case, method: JointSmoothing, theta: np.ndarray) -> float:
    """Of the held-out recordings, all sensors together."""
    errors = relative_errors(case.model, predicted(method, case.model, case.held_out, theta))
    return float(np.sqrt(np.nanmean(errors**2)))


def compare(name: str, case: Case, decades: tuple[float, float, float]) -> float:
    """Prints the choice and the grid; by how much the choice is worse than the best [%]."""
    method = JointSmoothing(noise=case.noise, reference=case.model.theta, settled=0.1)
    problem = JointSmoothingProblem(case.model, case.fitted)
    replace(method, weight=1e6, max_iterations=1).solve(problem)
    predicted(replace(method, weight=1e6), case.model, case.fitted, case.model.theta)  # all is compiled
    begin = time.process_time()
    chosen = WeightChoice().choose(method, problem)
    of_choice, begin = time.process_time() - begin, time.process_time()
    replace(chosen.method, reference=case.model.theta).solve(problem)
    of_fit = time.process_time() - begin
    own = error(case, chosen.method, chosen.fit.theta)
    print(f"{name}: chosen {chosen.weight:.2e}, held out {100 * own:.3g} %, {chosen.fit.status.name}")
    theta, guess, errors = case.model.theta, None, []
    low, high, each = decades
    for decade in np.arange(low, high + 1e-9, each).tolist():
        at = replace(method, weight=10**decade, reference=theta)
        fit = at.solve(replace(problem, theta=theta, guess=guess))
        theta, guess = fit.theta, fit.paths
        errors.append(error(case, at, theta))
        print(f"    {10**decade:.0e}: {100 * errors[-1]:.3g} %, {fit.status.name}")
    worse = 100 * (own / min(errors) - 1)
    print(f"    {worse:+.1f} % to the best, in the time of {of_choice / of_fit:.1f} fits", flush=True)
    return worse


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--decades", help="first, last, step")
    given = parser.parse_args()
    keep_compiled()
    names = [given.case] if given.case else [name for name in CASES if name == "double" or given.data]
    for name in names:
        case = CASES[name](given.data)
        decades = given.decades and tuple(float(part) for part in given.decades.split(","))
        compare(name, case, decades or case.decades)


if __name__ == "__main__":
    main()
