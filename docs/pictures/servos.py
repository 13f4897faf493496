"""The elbow of a real SO-101 arm (examples/so101): commanded, measured and simulated positions."""

from functools import cache

import numpy as np
from drawing import BLUE, COLOURS, EXAMPLES, GREEN, GREY, ORANGE, RED, axes, picture, thinned

import poinsot
from poinsot import ActuatorProblem, OutputError, Search, randomization_of

JOINTS = {
    "rotation": "shoulder_pan",
    "pitch": "shoulder_lift",
    "elbow": "elbow_flex",
    "wrist_pitch": "wrist_flex",
    "wrist_roll": "wrist_roll",
}


@cache
def recorded():
    channels = {f"position.{joint}": (f"position_{log}", "rad") for log, joint in JOINTS.items()}
    channels |= {f"position_command.{joint}": (f"command_{log}", "rad") for log, joint in JOINTS.items()}
    return poinsot.read_recording(EXAMPLES / "so101" / "multisine.parquet", channels, time=("t", "s"))


@cache
def estimated():
    elbow = recorded().between(20, 40)
    kept = [name for name in elbow.channels if name.startswith("position.") or name.endswith("elbow_flex")]
    recording = poinsot.Recording(
        elbow.time,
        {name: elbow[name] for name in kept},
        {name: elbow.units[name] for name in kept},
    )
    robot = poinsot.load_robot(EXAMPLES / "so101" / "so101.urdf", locked={"gripper": 0.0})
    return recording, OutputError(Search(draws=30)).solve(ActuatorProblem(robot, {"multisine": recording}))


@picture
def servo_channels():
    recording = recorded()
    figure, axs = axes(len(JOINTS), 1, 5.0, sharex=True)
    for ax, joint in zip(axs, JOINTS.values(), strict=True):
        ax.plot(
            *thinned(recording.time, recording[f"position_command.{joint}"]), color=ORANGE, label="command"
        )
        ax.plot(
            *thinned(recording.time, recording[f"position.{joint}"]), color=BLUE, lw=0.9, label="position"
        )
        ax.set_ylabel(f"{joint}\n[rad]", fontsize=7)
    axs[0].legend(ncols=2, fontsize=7, loc="upper right")
    axs[-1].set_xlabel("time [s]")
    return figure


@picture
def servo_fit():
    recording, estimate = estimated()
    fit = estimate.fit
    figure, (top, bottom) = axes(2, 1, 3.8, sharex=True, height_ratios=[2, 1])
    shown = (fit.time > 24) & (fit.time < 32)
    time = fit.time[shown]
    command = np.interp(time, recording.time, recording["position_command.elbow_flex"])
    top.plot(time, command, color=GREY, lw=1, label="commanded")
    top.plot(time, fit.measured[shown, 0], ".", ms=3, color=BLUE, label="measured")
    top.plot(time, fit.predicted[shown, 0], color=ORANGE, label="simulated from the commands alone")
    top.set_ylabel("elbow_flex [rad]")
    top.legend(fontsize=7)
    bottom.plot(time, 1e3 * (fit.measured[shown, 0] - command), color=GREY, label="position is the command")
    bottom.plot(time, 1e3 * fit.residuals[shown, 0], color=ORANGE, label="simulated")
    bottom.set_ylabel("error [mrad]")
    bottom.set_xlabel("time [s]")
    bottom.legend(fontsize=7)
    return figure


@picture
def randomization_ranges():
    _, estimate = estimated()
    ranges = randomization_of(estimate)
    draws = ranges.sample
    figure, ax = axes(height=2.4)
    for k, ((low, high), value) in enumerate(zip(ranges.ranges, ranges.values, strict=True)):
        size = max(abs(value), 1e-9)
        ax.plot([low / size, high / size], [k, k], color=BLUE, lw=5, alpha=0.4, solid_capstyle="butt")
        ax.plot(1, k, "|", color=ORANGE, ms=14, mew=2)
    rng = np.random.default_rng(0)
    for _ in range(40):
        (actuator,) = draws(rng)
        for k, (variable, value) in enumerate(zip(ranges.variables, ranges.values, strict=True)):
            ax.plot(
                getattr(actuator, variable.parameter) / max(abs(value), 1e-9), k, ".", ms=2.5, color=GREEN
            )
    names = [f"{v.parameter} {x:.3g} {v.unit}" for v, x in zip(ranges.variables, ranges.values, strict=True)]
    ax.set_yticks(range(len(names)), names, fontsize=7)
    ax.set_xlabel("range of the next recording (bars) and 40 draws, over the estimate")
    return figure


@picture
def servo_error_by_lag():
    """Where a delay shows: the error between command and position against the speed of the command."""
    recording = recorded()
    figure, axs = axes(1, 3, 2.4, sharey=True)
    for k, (ax, joint) in enumerate(zip(axs, ("shoulder_pan", "elbow_flex", "wrist_flex"), strict=True)):
        command, position = recording[f"position_command.{joint}"], recording[f"position.{joint}"]
        speed = np.gradient(command, recording.time)
        ax.plot(*thinned(speed, 1e3 * (command - position), points=900), ".", ms=1.5, color=COLOURS[k])
        slope = (speed @ (command - position)) / (speed @ speed)
        x = np.array([speed.min(), speed.max()])
        ax.plot(x, 1e3 * slope * x, color=RED, lw=1, label=f"{1e3 * slope:.0f} ms")
        ax.set_title(joint, loc="left")
        ax.set_xlabel("speed of the command [rad/s]")
        ax.legend(fontsize=7)
    axs[0].set_ylabel("command less position [mrad]")
    return figure
