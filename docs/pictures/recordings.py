"""Real recordings of the tutorials: a Stäubli TX40, a UR10e, a pendulum, a square that is dropped."""

import re
from functools import cache
from itertools import pairwise

import numpy as np
from drawing import (
    BLUE,
    COLOURS,
    EXAMPLES,
    GREEN,
    GREY,
    ORANGE,
    RECORDINGS,
    RED,
    axes,
    picture,
    prior_bars,
    recorded,
    say,
    thinned,
)

import poinsot
from poinsot.models.planar import floor, rectangle
from poinsot_reproductions.tx40_tables import TABLE_1

LOAD_KG = 2.805
GAINS = {
    "Mamedov, published": (10.0, 10.70, 8.46, 9.00, 9.48, 10.12),
    "others": (14.87, 13.26, 11.13, 10.62, 11.03, 11.47),
}
"""Of the UR10e's motors [N m/A]."""
SIDE = 0.06
"""Of the square [m]."""


@cache
def identified(job, folder):
    return poinsot.identify(poinsot.Project.load(EXAMPLES / job), RECORDINGS / folder)


def read(job, folder):
    """Recordings of a job."""
    project = poinsot.Project.load(EXAMPLES / job)
    return [run.recording for run in project.runs(project.robot(RECORDINGS / folder), RECORDINGS / folder)]


# ------------------------------------------------------------------------------------------------------- Stäubli TX40


@picture
@recorded("staubli_tx40")
def tx40_channels():
    (log,) = read("tx40.toml", "staubli_tx40")
    figure, axs = axes(6, 2, 6.4, sharex=True)
    for k, row in enumerate(axs, 1):
        for ax, quantity, unit, colour in zip(
            row, ("position", "torque"), ("rad", "N m"), COLOURS, strict=False
        ):
            ax.plot(*thinned(log.time, log[f"{quantity}.joint_{k}"], points=1500), color=colour, lw=0.8)
            ax.axvspan(0.55, 7.3, color=GREEN, alpha=0.08, lw=0)
            ax.set_ylabel(f"{k} [{unit}]")
    axs[0, 0].set_title("motor angles", loc="left")
    axs[0, 1].set_title("motor torques", loc="left")
    for ax in axs[-1]:
        ax.set_xlabel("time [s]; green: the window that is used")
    return figure


@picture
@recorded("staubli_tx40")
def tx40_torques():
    fit = identified("tx40.toml", "staubli_tx40").fit
    figure, axs = axes(3, 2, 4.8, sharex=True)
    for k, ax in enumerate(axs.T.ravel()):
        ax.plot(fit.time, fit.measured[:, k], ".", color=BLUE, ms=3, label="measured")
        ax.plot(fit.time, fit.predicted[:, k], color=ORANGE, lw=1, label="predicted")
        ax.set_ylabel(f"{fit.joints[k]} [N m]")
        say(ax, f"{fit.relative_error_percent_per_joint[k]:.1f} %", "upper right")
    axs[0, 0].legend(ncols=2, loc="lower left", fontsize=7)
    for ax in axs[-1]:
        ax.set_xlabel("time [s]")
    return figure


@picture
@recorded("staubli_tx40")
def tx40_published():
    estimate = identified("tx40.toml", "staubli_tx40")
    names = {name: name if name in estimate.names else f"{name}r" for name in TABLE_1}
    published = {names[name]: each for name, each in _published().items() if names[name] in estimate.names}
    figure, ax = axes(height=3.0)
    for k, (name, (value, std)) in enumerate(published.items()):
        ours, own = estimate[name], estimate.std[estimate.names.index(name)]
        ax.errorbar(k - 0.15, 0, yerr=1.96 * std / abs(value) * 100, color=GREY, fmt="_", capsize=2, lw=1)
        ax.errorbar(
            k + 0.15,
            100 * (ours - value) / abs(value),
            yerr=196 * own / abs(value),
            color=BLUE,
            fmt="o",
            ms=3,
            lw=1,
        )
    ax.plot([], [], "_", color=GREY, label="published, 95 % of white residuals")
    ax.plot([], [], "o", color=BLUE, label="from this recording, 95 %")
    ax.set_xticks(range(len(published)), published, rotation=90, fontsize=7)
    ax.set_ylabel("difference [% of the\npublished value]")
    ax.set_ylim(-40, 40)
    ax.legend(fontsize=7, ncols=2)
    return figure


def _published():
    """Name -> value and standard deviation of Table 1, classical."""
    found = {}
    for name, columns in TABLE_1.items():
        value, relative = columns[0]
        found[name] = value, abs(value) * relative / 100
    return found


@picture
@recorded("staubli_tx40")
def tx40_shares():
    figure, ax = axes(height=2.8, width=9)
    prior_bars(ax, identified("tx40_physical.toml", "staubli_tx40").full_parameters, fontsize=5)
    return figure


# -------------------------------------------------------------------------------------------------------------- UR10e


@picture
@recorded("ur10e")
def ur10e_currents():
    free, loaded, *_ = read("ur10e_robot.toml", "ur10e")
    figure, axs = axes(3, 1, 4.2, sharex=True)
    joints = [name for name in free.channels if name.startswith("current.")][1:4]
    for ax, name in zip(axs, joints, strict=True):
        for log, colour, label in ((free, BLUE, "without the load"), (loaded, ORANGE, "with 2.805 kg")):
            ax.plot(
                *thinned(log.time - log.time[0], log[name], points=1200), color=colour, lw=0.7, label=label
            )
        ax.set_ylabel(f"{name.removeprefix('current.').removesuffix('_joint')} [A]")
    axs[0].legend(ncols=2, fontsize=7)
    axs[-1].set_xlabel("time [s]")
    return figure


@picture
@recorded("ur10e")
def ur10e_gains():
    gains = identified("ur10e_gains.toml", "ur10e").drive_gains
    figure, ax = axes(height=2.6)
    x = np.arange(len(gains.joints))
    ax.errorbar(
        x, gains.values, yerr=1.96 * gains.std, fmt="o", color=BLUE, capsize=3, label="identified, 95 %"
    )
    for (label, values), mark in zip(GAINS.items(), ("x", "+"), strict=True):
        ax.plot(x, values, mark, color=ORANGE, ms=8, label=label)
    ax.set_xticks(x, [name.removesuffix("_joint").replace("_", " ") for name in gains.joints], fontsize=7)
    ax.set_ylabel("torque constant [N m/A]")
    ax.legend(fontsize=7)
    return figure


@picture
@recorded("ur10e")
def ur10e_mass():
    estimate = poinsot.track(
        poinsot.Project.load(EXAMPLES / "ur10e_track.toml"), RECORDINGS / "ur10e"
    ).estimate
    history, before = estimate.tracking.history, estimate.bodies[0].prior[0]
    time = np.array([each.time for each in history])
    starts = np.flatnonzero([a.recording != b.recording for a, b in pairwise(history)]) + 1
    time = time + sum(
        (time[k - 1] - time[k]) * (np.arange(len(time)) >= k) for k in starts
    )  # one after the other
    mass = np.array([each.bodies[0, 0] for each in history]) - before
    std = np.array([each.mass_std[0] for each in history])
    figure, ax = axes(height=2.6)
    ax.fill_between(time, mass - 1.96 * std, mass + 1.96 * std, color=BLUE, alpha=0.2, lw=0, label="95 %")
    ax.plot(time, mass, color=BLUE, label="estimate")
    ax.axhline(LOAD_KG, color=GREEN, ls="--", label="weighed")
    for k in starts:
        ax.axvline(time[k], color=GREY, ls=":", label="the recording with the load begins")
    ax.set_ylim(-1, 4)
    ax.set_xlabel("time [s], both recordings one after the other")
    ax.set_ylabel("mass on the wrist [kg]")
    ax.legend(fontsize=7)
    return figure


# ------------------------------------------------------------------------------------------------------ free pendulum


@picture
@recorded("furuta")
def swings():
    stamp, column = "/joint_states/header/stamp", "/joint_states/joint1/position"
    log = poinsot.read_recording(
        RECORDINGS / "furuta" / "oscillations.csv", {"position.pivot": (column, "rad")}, time=(stamp, "s"), start_s=0,
        require=(column,),
    )  # fmt: skip
    angle = log["position.pivot"] + 2 * np.pi
    turns = np.flatnonzero(np.diff(np.sign(np.gradient(angle))) != 0)
    turns = turns[np.append(True, np.diff(log.time[turns]) > 0.2)]
    figure, (left, right) = axes(1, 2, 2.8)
    left.plot(*thinned(log.time, angle, points=4000), color=BLUE, lw=0.7)
    left.set_ylabel("angle [rad]")
    right.plot(log.time[turns], np.abs(angle[turns] - np.median(angle[-500:])), "o", ms=2.5, color=ORANGE)
    right.set_ylabel("size of each swing [rad]")
    for ax in (left, right):
        ax.set_xlabel("time [s]")
    return figure


@picture
@recorded("furuta")
def swings_predicted():
    fit = identified("furuta_swings.toml", "furuta").validation[0]
    figure, (top, bottom) = axes(2, 1, 3.4, sharex=True)
    time, measured, predicted = thinned(fit.time, fit.measured[:, 0], fit.predicted[:, 0], points=900)
    top.plot(time, measured, ".", ms=3, color=BLUE, label="measured")
    top.plot(time, predicted, color=ORANGE, label="predicted from states that did not see it")
    top.set_ylabel("angle [rad]")
    top.legend(fontsize=7)
    bottom.plot(time, 1e3 * (measured - predicted), ".", ms=2, color=RED)
    bottom.set_ylabel("difference [mrad]")
    bottom.set_xlabel("time [s]")
    return figure


@picture
@recorded("furuta")
def swings_friction():
    (curve,) = identified("furuta_swings.toml", "furuta").friction_curves
    low, high = 1e6 * (curve.effort - 1.96 * curve.std), 1e6 * (curve.effort + 1.96 * curve.std)
    figure, ax = axes(height=2.5, width=4.8)
    ax.fill_between(curve.speed, low, high, color=BLUE, alpha=0.25, lw=0, label="95 %")
    ax.plot(curve.speed, 1e6 * curve.effort, color=BLUE)
    ax.set_xlabel("speed [rad/s]")
    ax.set_ylabel("friction [1e-6 N m]")
    ax.legend(fontsize=7)
    return figure


# ------------------------------------------------------------------------------------------------------ dropped square


@cache
def drops():
    channels = {"position.x": ("x", "m"), "position.y": ("z", "m"), "position.angle": ("th", "rad")}
    files = sorted((RECORDINGS / "square_drops").glob("drop_*.csv"))[:20]
    return {file.stem: poinsot.read_recording(file, channels, rate_hz=250) for file in files}


@cache
def pooled():
    problem = poinsot.ImpactsProblem.from_recordings(drops(), rectangle(SIDE, SIDE), [floor()])
    return poinsot.ImpactIdentification().solve(problem)


@picture
@recorded("square_drops")
def drop_path():
    log = next(iter(drops().values()))
    x, y, angle = (log[f"position.{axis}"] for axis in ("x", "y", "angle"))
    corners = SIDE / 2 * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1], [1, 1]])
    figure, ax = axes(height=2.6)
    for k in range(0, len(x), 8):
        turn = np.array([[np.cos(angle[k]), -np.sin(angle[k])], [np.sin(angle[k]), np.cos(angle[k])]])
        ax.plot(*(corners @ turn.T + [x[k], y[k]]).T, color=BLUE, lw=0.8, alpha=0.7)
    ax.plot(x, y, ".-", ms=2, lw=0.6, color=ORANGE)
    ax.axhline(0, color=GREEN, lw=2)
    ax.set_aspect("equal")
    ax.set_xlabel("x [m]")
    ax.set_ylabel("height [m]")
    return figure


@picture
@recorded("square_drops")
def drop_assumptions():
    (note,) = [each for each in pooled().notes if each.startswith("Change of J/m under assumptions")]
    found = re.findall(r"([a-z][a-z ]+) ([+-][\d.]+) %", note.partition(":")[2])
    figure, ax = axes(height=2.8)
    rows = np.arange(len(found))[::-1]
    ax.barh(
        rows,
        [float(change) for _, change in found],
        color=[ORANGE if "sharp" in name else BLUE for name, _ in found],
    )
    ax.set_yticks(rows, [name.strip() for name, _ in found], fontsize=7)
    ax.set_xlabel("change of J/m [%]")
    return figure


@picture
@recorded("square_drops")
def drop_restitution():
    impacts = pooled().impacts
    figure, ax = axes(height=2.6)
    ax.plot(
        [each.normal for each in impacts],
        [each.restitution for each in impacts],
        "o",
        ms=4,
        color=BLUE,
        alpha=0.7,
    )
    ax.axhline(pooled()["restitution"], color=GREY, ls="--", label="median")
    ax.set_xlabel(f"normal impulse by mass [{impacts[0].unit}]")
    ax.set_ylabel("restitution")
    ax.set_ylim(0, 1.2)
    ax.legend(fontsize=7)
    return figure
