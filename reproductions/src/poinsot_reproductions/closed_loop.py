"""An arm in its position loop: noise of the encoders is fed back, and biases least squares (Janot et al. 2014).

Three joints in MuJoCo follow a sum of sines by a PD law that reads the encoders, at 4 kHz. What is recorded at 1 kHz is
what a drive records: commands, readings of the encoders, and the torque averaged about each sample. One motion is
simulated with noise that differs between draws, and identified with three cutoffs of the low-pass on the positions;
the band of the rows rises with the cutoff.

    bias       of a parameter: mean error over the draws, over the median of the standard deviations that they state
    figure     root mean square of the bias over the essential parameters, of the worst cutoff

The mean of n draws is itself uncertain by 1 / sqrt(n) of a standard deviation. Standard deviations are of what is by
chance, with coloured residuals: the simulated laboratory is exact. Essential parameters are those that backward
elimination keeps where encoders have no noise (Janot et al. 2014). All base parameters are estimated, so that none is
wrong because another one is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from typing import Any

import numpy as np

from poinsot.accuracy import Accuracy
from poinsot.arrays import JointSamples, Vector
from poinsot.estimate import Estimate
from poinsot.estimate.uncertainty import by_chance
from poinsot.estimators.linear.essential import EssentialParameters
from poinsot.estimators.linear.instrumental_variable import InstrumentalVariable
from poinsot.estimators.linear.least_squares import LeastSquares
from poinsot.models.robot.articulated import Articulated, load_robot
from poinsot.models.robot.drive import Drive
from poinsot.recording import Recording
from poinsot.regression.inverse_dynamics import InverseDynamics, inverse_dynamics
from poinsot.signals.butterworth import ButterworthDecimation
from poinsot.stopwatch import Stopwatch

from .case import Reproduction, Say, SimulatedCase
from .normalized_errors import rms
from .simulated_recordings import fourier_motion, model_parameters

DRAWS = 20
DYNAMICS_HZ = 5.0
"""Bandwidth of the loop."""
MOTION_HZ = 2.0
"""Highest frequency of the commands."""
TIMES = (2.0, 5.0, 10.0)
"""Cutoffs, in units of it."""
DURATION_S, STEP_S, EVERY = 20.0, 2.5e-4, 4
"""Length; step of the simulation and of the loop; steps between recorded samples."""
READING_STD = 5e-4
"""White noise of the encoders [rad]: rounding of 12 bits makes 4.4e-4."""
TORQUE_STD = 0.005 * np.array([60.0, 60.0, 25.0])
"""White noise of the recorded torques, 0.5 % of the largest [N m]."""
SPEED_HZ = 60.0
"""Cutoff of the controller's low-pass on its speeds, of first order."""
PROPORTIONAL, DERIVATIVE = np.array([1000.0, 1000.0, 200.0]), np.array([60.0, 60.0, 9.0])
"""Gains [N m/rad] and [N m s/rad]."""
IN_BAND = 0.7
"""End of the band of the rows, in cutoffs: there the smoother attenuates positions by 5 %."""
WARPED = 1.875
"""Largest speed of the time of `fourier_motion`."""
METHODS: Mapping[str, Any] = {
    "instrumental": InstrumentalVariable(weighting="per-joint"),
    "least_squares": LeastSquares(weighting="per-joint"),
}


def robot() -> Articulated:
    """The arm, as its file describes it."""
    with as_file(files(__package__) / "robots" / "loop_arm.xml") as path:
        return load_robot(path, drive=Drive(rotor_inertia=True))


def truth(arm: Articulated) -> Vector:
    """(p,) its parameters, those of joints as MuJoCo has them."""
    described = arm.described_terms
    symbols = {"ia": "armature", "fv": "damping", "fc": "friction"}
    values = {
        f"{symbol}{number}": float(described[term][k])
        for symbol, term in symbols.items()
        for k, number in enumerate(arm.joint_numbers)
    }
    return model_parameters(arm, **values)


def commanded(rng: np.random.Generator) -> JointSamples:
    """(T, 3) commands at each step of the loop: sines from rest to rest."""
    harmonics = round(MOTION_HZ * DURATION_S / WARPED)
    return fourier_motion(3, DURATION_S, 1 / STEP_S, rng, harmonics=harmonics, amplitude=0.3)[1]


def simulate(c: JointSamples, rng: np.random.Generator, reading_std: float = READING_STD) -> Recording:
    """The recording of one run of the loop."""
    import mujoco

    with as_file(files(__package__) / "robots" / "loop_arm.xml") as path:
        model = mujoco.MjModel.from_xml_path(str(path))
    data, rate = mujoco.MjData(model), np.gradient(c, STEP_S, axis=0)
    data.qpos[:] = c[0]
    read, tau = np.empty_like(c), np.empty_like(c)
    noise = reading_std * rng.standard_normal(c.shape)
    part = 1 - np.exp(-2 * np.pi * SPEED_HZ * STEP_S)
    before, speed = c[0] + noise[0], np.zeros(3)
    for k in range(len(c)):
        read[k] = data.qpos + noise[k]
        speed += part * ((read[k] - before) / STEP_S - speed)
        before = read[k]
        tau[k] = PROPORTIONAL * (c[k] - read[k]) + DERIVATIVE * (rate[k] - speed)
        data.qfrc_applied[:] = tau[k]
        mujoco.mj_step(model, data)
    kept = np.arange(EVERY, len(c) - EVERY, EVERY)
    # MuJoCo's torque of a step acts about its beginning: q+ - 2 q + q- = h^2 a(q, tau)
    mean = np.mean([tau[kept + shift] for shift in range(-EVERY // 2, EVERY // 2 + 1)], axis=0)
    joints = robot().joints
    columns = {
        "position": read[kept],
        "position_command": c[kept],
        "torque": mean + TORQUE_STD * rng.standard_normal(mean.shape),
    }
    channels = {
        f"{quantity}.{joint}": values[:, j]
        for quantity, values in columns.items()
        for j, joint in enumerate(joints)
    }
    units = {name: "N m" if name.startswith("torque") else "rad" for name in channels}
    return Recording(STEP_S * kept, channels, units)


def solved(arm: Articulated, recording: Recording, cutoff_hz: float, method: Any) -> Estimate:
    """The estimate of a method with one cutoff."""
    smoother = ButterworthDecimation(cutoff_hz=cutoff_hz, decimate_hz=IN_BAND * cutoff_hz)
    return method.solve(inverse_dynamics(arm, smoother.apply(recording), accuracy=Accuracy(exact=True)))


def run(seed: int, say: Say, draws: int = DRAWS) -> Reproduction:
    """Bias of both methods at each cutoff."""
    watch, arm = Stopwatch(), robot()
    c = commanded(np.random.default_rng([seed, 0]))
    still = simulate(c, np.random.default_rng([seed, 1]), 0.0)
    kept = solved(arm, still, TIMES[1] * DYNAMICS_HZ, EssentialParameters(weighting="per-joint")).names
    errors: dict[tuple[float, str], list[Mapping[str, tuple[float, float]]]] = {}
    for draw in range(draws):
        say(f"draw {draw + 1} of {draws}")
        recording = simulate(c, np.random.default_rng([seed, 2 + draw]))
        watch.lap("simulation")
        for times in TIMES:
            for name, method in METHODS.items():
                estimate = solved(arm, recording, times * DYNAMICS_HZ, method)
                errors.setdefault((times, name), []).append(errors_of(arm, estimate))
        watch.lap("identification")
    rows = tuple(_row(times, name, kept, found) for (times, name), found in errors.items())
    worst = {
        name: max(row["bias_std"] for row in rows if row["method"] == name.replace("_", " "))
        for name in METHODS
    }
    figures = {f"{name}_bias_std": value for name, value in worst.items()}
    figures["instrumental_scatter_over_std"] = max(
        row["scatter_over_std"] for row in rows if row["method"] == "instrumental"
    )
    return Reproduction(
        "closed-loop",
        "002",
        "Identification of an arm in its position loop",
        f"Over {draws} draws the essential parameters of least squares are off by {worst['least_squares']:.1f} of "
        f"their standard deviations, those of instrumental variables by {worst['instrumental']:.1f} (root mean square, "
        "worst cutoff).",
        rows,
        {"Bias, in standard deviations": rows},
        figures,
        {"essential parameters": len(kept)},
        notes=(
            f"The mean of {draws} draws is itself uncertain by {1 / np.sqrt(draws):.2f} standard deviations.",
            "The remaining bias is that of dry friction, whose sign(v) is not linear in the noise.",
        ),
        seconds=watch.seconds,
    )


def errors_of(arm: Articulated, estimate: Estimate) -> dict[str, tuple[float, float]]:
    """Base parameter -> its error, and its standard deviation by chance."""
    problem = estimate.problem
    assert isinstance(problem, InverseDynamics)
    values = dict(zip(problem.base.names, problem.base.map @ truth(arm), strict=True))
    chance = by_chance(estimate.parameters.uncertainty)
    assert chance is not None
    std = np.sqrt(np.diag(chance))
    return {
        name: (float(value - values[name]), float(s))
        for name, value, s in zip(estimate.names, estimate.values, std, strict=True)
    }


def _row(
    times: float, name: str, kept: Sequence[str], found: Sequence[Mapping[str, tuple[float, float]]]
) -> dict[str, Any]:
    """The row of one cutoff and method."""
    errors = np.array([[draw[parameter] for parameter in kept] for draw in found])
    std = np.median(errors[:, :, 1], axis=0)
    bias = errors[:, :, 0].mean(axis=0) / std
    most = int(np.abs(bias).argmax())
    return {
        "method": name.replace("_", " "),
        "cutoff_over_dynamics": times,
        "bias_std": rms(bias),
        "largest_bias_std": float(bias[most]),
        "of": kept[most],
        "scatter_over_std": rms(errors[:, :, 0].std(axis=0, ddof=1) / std) if len(found) > 1 else None,
    }


CASE = SimulatedCase("closed-loop", "instrumental variables beside least squares, in a position loop", run)
