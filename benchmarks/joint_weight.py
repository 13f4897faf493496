"""The weight that joint smoothing chooses, beside a grid of weights, by what it predicts of held-out recordings.

    python benchmarks/joint_weight.py [--data ../shared/data] [--case double] [--decades 4,14,2]

A simulated double pendulum, the arm of examples/arm, and with --data a real pendulum (every other 1.5 s) and a real
Furuta pendulum (two of three driven recordings). Two more simulations (MuJoCo), a cart and a link with friction and a
spring that the model lacks, were added after the rule was. Recordings change roles; what is printed are geometric means
over all windows of one period, by the spread of the readings, and the time for all roles together. Target: the choice
predicts at most 10 % worse than the best of the grid, in the time of at most five fits. A fit of that time is at the
weight that was chosen, from filtered readings.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
from support.timing import Program, side_by_side

from poinsot import Column, Source, read_recording
from poinsot.estimators.joint import JointSmoothing, JointSmoothingProblem, Record, WeightChoice
from poinsot.estimators.joint.prediction import predicted, window_errors
from poinsot.estimators.joint.problem import horizon_of
from poinsot.models.maximal import (
    Coulomb,
    Encoder,
    Hinge,
    Mechanism,
    Model,
    Motor,
    RigidBody,
    Slider,
    keep_compiled,
    load_mechanism,
)

ARM = Path(__file__).parents[1] / "examples" / "arm"
WEIGHED = {"upper_arm.mass": 4.2, "forearm.mass": 2.1}
STEP, EVERY, SECONDS, NOISE = 5e-4, 20, 8.0, 1e-3
DOUBLE = """<mujoco><option timestep="5e-4" integrator="RK4"/><worldbody><body>
<joint name="a" axis="1 0 0" damping="2e-3"/><inertial pos="0 0 -.12" mass=".3" diaginertia="2.2e-3 2.2e-3 1e-4"/>
<body pos="0 0 -.25"><joint name="b" axis="1 0 0" damping="1e-3"/>
<inertial pos="0 0 -.1" mass=".2" diaginertia="1.1e-3 1.1e-3 1e-4"/></body></body></worldbody></mujoco>"""

CART = """<mujoco><option timestep="5e-4" integrator="RK4"/><worldbody><body><joint name="rail" type="slide"
axis="0 1 0" damping="1.5"/><inertial pos="0 0 0" mass="1.4" diaginertia="1e-2 1e-2 1e-2"/><body>
<joint name="pin" axis="1 0 0" damping="4e-3"/><inertial pos="0 0 -.25" mass=".3" diaginertia="4e-3 4e-3 1e-4"/>
</body></body></worldbody></mujoco>"""
DRY = """<mujoco><option timestep="5e-4" integrator="RK4"/><worldbody><body><joint name="hub" axis="1 0 0" damping=".05"
stiffness=".3" frictionloss=".06"/><inertial pos="0 0 -.2" mass=".8" diaginertia="2e-2 2e-2 1e-3"/>
</body></worldbody></mujoco>"""


@dataclass(frozen=True, eq=False)
class Case:
    model: Model
    fitted: Sequence[Record]
    held_out: Sequence[Record]
    noise: tuple[float, ...]
    decades: tuple[float, float, float]
    others: Sequence[tuple[Sequence[Record], Sequence[Record]]] = ()
    """Other divisions into fitted and held-out recordings."""


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
    return Case(model, records[:1], records[1:], (NOISE, NOISE), (4, 16, 2), [(records[1:], records[:1])])


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
    both = quarters[::2], quarters[1::2]
    return Case(pendulum_drive.model(), *both, noise, (3, 10, 1), [both[::-1]])


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
    chosen = [records[name] for name in ("step 4 V", "sine 2 V", "step 2 V")]
    others = [([chosen[j], chosen[k]], [chosen[i]]) for i, j, k in ((0, 1, 2), (1, 2, 0))]
    return Case(mechanism.model(names), chosen[:2], chosen[2:], (1e-3, 1e-3), (8, 17, 1), others)


def arm(_: Path | None) -> Case:
    """The arm of examples/arm from its designers' description and a scale; bodies, friction and rotors are open."""
    described, records = load_mechanism(ARM / "cad.urdf"), []
    terms = {"drag": 1.0, "friction": Coulomb(1.0), "motor": Motor(1.0, 0.05)}
    joints = [replace(joint, **terms) for joint in described.joints]
    names: tuple[str, ...] = ("column.Jzz", "upper_arm.cx", "upper_arm.cz", "upper_arm.Jyy", "upper_arm.Jzz")
    names += ("forearm.cx", "forearm.cy", "forearm.cz", "forearm.Jyy", "forearm.Jzz")
    for joint in joints:
        names += tuple(f"{joint.name}.{term}" for term in ("drag", "coulomb"))
    names += ("shoulder.shaft_inertia", "elbow.shaft_inertia")
    for name in ("identification", "validation"):
        read = np.loadtxt(ARM / f"{name}.csv", delimiter=",", skiprows=1)
        records.append(Record(name, np.arange(len(read)) / 250, read[:, 3:], np.radians(read[:, :3])))
    noise = (2 * np.pi / 2**14 / np.sqrt(12),) * 3  # of an encoder of 14 bits
    model = replace(described, joints=joints).starting(WEIGHED).model(names)
    return Case(model, records[:1], records[1:], noise, (3, 14, 2), [(records[1:], records[:1])])


def simulated(xml: str, joints: Sequence[str], release: float, every: int, noise: tuple[float, ...], push: float,
              lacking: float, seed: int) -> list[Record]:  # fmt: skip
    """Two recordings of a mechanism whose first joint is pushed, and on which a white force acts that nobody knows."""
    spec, rng, records = mujoco.MjModel.from_xml_string(xml), np.random.default_rng(seed), []
    places = [spec.joint(name).qposadr[0] for name in joints]
    for name, pace in (("slow", 2.0), ("fast", 3.3)):
        data, z, u = mujoco.MjData(spec), [], []
        data.qpos[places[-1]] = release
        for k in range(int(SECONDS / STEP)):
            if k % every == 0:
                t = k * STEP
                z.append(data.qpos[places].copy())
                u.append(push * (np.sin(pace * t) + np.sin(2.3 * pace * t + 1)))
                data.qfrc_applied[0] = u[-1] + lacking * rng.standard_normal()
            mujoco.mj_step(spec, data)
        read = np.array(z) + np.array(noise) * rng.standard_normal((len(z), len(places)))
        records.append(Record(name, STEP * every * np.arange(len(z)), np.array(u)[:, None], read))
    return records


def cart(_: Path | None) -> Case:
    """A pendulum on a cart: white forces, coarse readings each 20 ms."""
    noise = (2e-3, 5e-3)
    records = simulated(CART, ("rail", "pin"), 0.5, 40, noise, 2.0, 0.5, 1)
    bodies = [
        RigidBody("cart", 1.0, (1e-2,) * 3),
        RigidBody("bob", 0.3, (1e-3, 1e-3, 1e-4), center=(0, 0, -0.3)),
    ]
    joints = [
        Slider("rail", "world", "cart", axis=(0, 1, 0), drag=0.5, motor=Motor(1.0)),
        Hinge("pin", "cart", "bob", axis=(1, 0, 0), drag=1e-3),
    ]
    mechanism = Mechanism(bodies, joints, sensors=[Encoder("rail"), Encoder("pin")])
    model = mechanism.model(["cart.mass", "bob.Jxx", "bob.cz", "rail.drag", "pin.drag"])
    return Case(model, records[:1], records[1:], noise, (1, 12, 1), [(records[1:], records[:1])])


def dry(_: Path | None) -> Case:
    """A driven link on a spring that the model lacks, with dry friction: fine readings each 5 ms."""
    noise = (3e-4,)
    records = simulated(DRY, ("hub",), 1.0, 10, noise, 0.8, 0.0, 2)
    joint = Hinge(
        "hub",
        "world",
        "link",
        axis=(1, 0, 0),
        drag=0.02,
        motor=Motor(1.0),
        friction=Coulomb(0.02, stick_drag=1.0),
    )
    body = RigidBody("link", 0.8, (1e-2, 1e-2, 1e-3), center=(0, 0, -0.15))
    model = Mechanism([body], [joint], sensors=[Encoder("hub")]).model(
        ["link.Jxx", "link.cz", "hub.drag", "hub.coulomb"]
    )
    return Case(model, records[:1], records[1:], noise, (3, 16, 1), [(records[1:], records[:1])])


CASES = {"cart": cart, "dry": dry, "double": double, "pendulum": pendulum, "furuta": furuta, "arm": arm}


def windows(case: Case, held_out: Sequence[Record], method: JointSmoothing, theta: np.ndarray) -> np.ndarray:
    """(W,) logarithms of rms errors of windows of held-out recordings, all sensors together, by the readings' spread.

    Windows overlap by half: with some five windows a geometric mean is known to 30 % only.
    """
    half = horizon_of(case.model, held_out, theta)[0] // 2
    records = [record.samples(slice(first, None)) for first in (0, half) for record in held_out]
    predictions = predicted(method, case.model, records, theta)
    return window_errors(case.model, records, [prediction.errors for prediction in predictions])


def compare(name: str, case: Case, decades: tuple[float, float, float]) -> float:
    """Prints the choice and the grid; by how much the choice is worse than the best [%]."""
    grid, own, errors, choosing, fitting, choices = 10 ** np.arange(*decades), [], [], [], [], []
    for fitted, held_out in ((case.fitted, case.held_out), *case.others):
        method = JointSmoothing(noise=case.noise, reference=case.model.theta, settled=0.1)
        problem = JointSmoothingProblem(case.model, fitted)
        chosen = WeightChoice().choose(method, problem)
        once = replace(chosen.method, reference=case.model.theta)
        programs = {
            "choice": Program(partial(WeightChoice().choose, method, problem)),
            "fit": Program(partial(once.solve, problem), turns=5),
        }
        seconds, _ = side_by_side(programs, rounds=3)
        choosing.append(seconds["choice"].processor)
        fitting.append(seconds["fit"].processor)
        own.append(windows(case, held_out, chosen.method, chosen.fit.theta))
        choices.append(f"{chosen.weight:.1e} ({chosen.fits} fits, {chosen.fit.status.name})")
        theta, guess, by_weight = case.model.theta, None, []
        for weight in grid.tolist():
            at = replace(method, weight=weight, reference=theta)
            fit = at.solve(replace(problem, theta=theta, guess=guess))
            theta, guess = fit.theta, fit.paths
            by_weight.append(windows(case, held_out, at, theta))
        errors.append(by_weight)
    ours, theirs = np.concatenate(own), np.concatenate(errors, axis=1)
    best = int(np.argmin(theirs.mean(axis=1)))
    away = ours - theirs[best]
    worse, error = (
        100 * float(fraction) for fraction in (np.expm1(away.mean()), away.std() / np.sqrt(len(away)))
    )
    print(f"{name}: chosen {', '.join(choices)}; held out {100 * np.exp(ours.mean()):.3g} %")
    print(
        "   ",
        ", ".join(f"{w:.0e}: {100 * np.exp(e.mean()):.3g} %" for w, e in zip(grid, theirs, strict=True)),
    )
    ratio = sum(choosing) / sum(fitting)
    print(f"    {worse:+.1f} % (+- {error:.1f}) to the best; the time of {ratio:.1f} fits", flush=True)
    return worse


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--decades", help="first, last, step")
    given = parser.parse_args()
    keep_compiled()
    names = (
        [given.case]
        if given.case
        else [name for name in CASES if given.data or name not in ("pendulum", "furuta")]
    )
    for name in names:
        case = CASES[name](given.data)
        decades = given.decades and tuple(float(part) for part in given.decades.split(","))
        compare(name, case, decades or case.decades)


if __name__ == "__main__":
    main()
