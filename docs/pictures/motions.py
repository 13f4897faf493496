"""Motion and parameters together: the quadruped of examples/quadruped and the pendulum of examples/furuta."""

from functools import cache

import numpy as np
from drawing import BLUE, COLOURS, EXAMPLES, FILES, GREEN, GREY, ORANGE, RED, axes, picture, thinned

import poinsot

TRUNK_KG, DESCRIBED_KG = 8.0, 5.6
FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")


@cache
def quadruped():
    return poinsot.identify(poinsot.Project.load(EXAMPLES / "quadruped" / "job.toml"))


@cache
def furuta():
    return poinsot.identify(poinsot.Project.load(EXAMPLES / "furuta" / "job.toml"))


@cache
def horizon():
    return poinsot.track(poinsot.Project.load(EXAMPLES / "quadruped" / "horizon.toml")).estimate


FILES["quadruped.html"] = lambda path: poinsot.write_report(quadruped(), path)
FILES["furuta.html"] = lambda path: poinsot.write_report(furuta(), path)
FILES["horizon.html"] = lambda path: poinsot.write_report(horizon(), path)


@picture
def contact_forces():
    path = quadruped().motions[0].path
    figure, (schedule, forces) = axes(2, 1, 3.8, sharex=True, height_ratios=[1, 2.4])
    for k, foot in enumerate(FEET):
        force = path.readings(f"force.{foot}.z")  # NaN while the foot is in the air
        schedule.fill_between(
            path.time,
            k - 0.4,
            k + 0.4,
            where=np.isfinite(force),
            color=COLOURS[k],
            step="mid",
            alpha=0.7,
            lw=0,
        )
        forces.plot(path.time, force, color=COLOURS[k], label=foot)
    schedule.set_yticks(range(4), FEET, fontsize=7)
    schedule.set_title("feet on the ground", loc="left")
    forces.set_ylabel("force along z [N]")
    forces.set_xlabel("time [s]")
    forces.legend(ncols=4, fontsize=7)
    return figure


@picture
def cost_by_iteration():
    shown = quadruped().convergence
    figure, (left, right) = axes(1, 2, 2.6)
    left.semilogy(shown.cost, "o-", ms=4, label="cost")
    left.semilogy(np.maximum(shown.infeasibility, 1e-12), "o-", ms=4, label="gaps in the dynamics")
    left.legend()
    k = shown.names.index("m.trunk")
    right.plot(shown.values[:, k], "o-", ms=4)
    right.axhline(TRUNK_KG, color=GREEN, ls="--", label="truth")
    right.axhline(DESCRIBED_KG, color=GREY, ls=":", label="description")
    right.set_ylabel("mass of the trunk [kg]")
    right.legend()
    for ax in (left, right):
        ax.set_xlabel("iteration")
    return figure


@picture
def sensor_residuals():
    fits = quadruped().motions[0].sensors
    x = np.linspace(-4, 4, 81)
    figure, axs = axes(1, len(fits), 2.2, sharey=True)
    for ax, fit in zip(axs, fits, strict=True):
        read = fit.normalized[np.isfinite(fit.normalized)]
        ax.hist(read, bins=np.linspace(-4, 4, 33), density=True, color=BLUE, alpha=0.6)
        ax.plot(x, np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi), color=ORANGE)
        ax.set_title(f"{fit.name}\nrms {fit.rms:.2f}", fontsize=7, loc="left")
    axs[2].set_xlabel("residual, in stated standard deviations")
    return figure


@picture
def moving_horizon():
    history = horizon().history
    k = history.names.index("m.trunk")
    figure, ax = axes(height=2.5)
    value, std = history.values[:, k], history.std[:, k]
    ax.fill_between(
        history.time, value - 1.96 * std, value + 1.96 * std, color=BLUE, alpha=0.2, lw=0, label="95 %"
    )
    ax.plot(history.time, value, color=BLUE, label="after each sample")
    ax.axhline(TRUNK_KG, color=GREEN, ls="--", label="truth")
    ax.set_xlabel("time [s]")
    ax.set_ylabel("mass of the trunk [kg]")
    ax.legend()
    return figure


@picture
def noise_sensitivity():
    rows = [row for row in quadruped().sensitivity.as_json() if row["parameter"] == "m.trunk"]
    levels = sorted({row["level"] for row in rows}, key=str)
    figure, ax = axes(height=0.6 + 0.22 * len(levels))
    for row in rows:
        ax.plot(
            row["moved_in_std"],
            levels.index(row["level"]),
            "o",
            ms=5,
            color=ORANGE if row["factor"] > 1 else BLUE,
        )
    ax.plot([], [], "o", color=ORANGE, label="noise three times as large")
    ax.plot([], [], "o", color=BLUE, label="a third of it")
    ax.axvline(0, color=GREY, lw=0.8)
    ax.set_yticks(range(len(levels)), [str(level) for level in levels], fontsize=7)
    ax.set_xlabel("change of the trunk's mass, in its standard deviations")
    ax.legend(fontsize=7)
    return figure


@picture
def pendulum_fit():
    fit = furuta().fit
    figure, axs = axes(2, 1, 3.4, sharex=True)
    for k, ax in enumerate(axs):
        time, measured, predicted = thinned(fit.time, fit.measured[:, k], fit.predicted[:, k])
        ax.plot(time, measured, ".", ms=3, color=BLUE, label="measured")
        ax.plot(time, predicted, color=ORANGE, label="predicted from states that did not see it")
        ax.set_ylabel(f"{fit.joints[k].removeprefix('position.')} [rad]")
    axs[0].legend(fontsize=7)
    axs[1].set_xlabel("time [s]")
    return figure


@picture
def identified_friction():
    figure, axs = axes(1, 2, 2.5)
    for ax, curve in zip(axs, furuta().friction_curves, strict=True):
        low, high = 1e3 * (curve.effort - 1.96 * curve.std), 1e3 * (curve.effort + 1.96 * curve.std)
        ax.fill_between(curve.speed, low, high, color=BLUE, alpha=0.25, lw=0, label="95 %")
        ax.plot(curve.speed, 1e3 * curve.effort, color=BLUE)
        ax.set_title(curve.joint, loc="left")
        ax.set_xlabel("speed [rad/s]")
    axs[0].set_ylabel("friction [mN m]")
    axs[0].legend()
    return figure


@picture
def smoothed_speeds():
    """Speeds, which no sensor measured, with their intervals, beside differences of the encoder's readings."""
    motion = furuta().motions[0]
    path = motion.path
    figure, axs = axes(2, 1, 3.4, sharex=True)
    for ax, joint, fit in zip(axs, ("shoulder", "elbow"), motion.sensors, strict=True):
        shown = (path.time > 2) & (path.time < 4)
        time, speed, std = (
            path.time[shown],
            path[f"velocity.{joint}"][shown],
            path[f"std.velocity.{joint}"][shown],
        )
        read = np.unwrap(fit.measured[: len(path), 0])
        ax.plot(
            time, np.gradient(read, path.time)[shown], ".", ms=3, color=RED, label="differences of readings"
        )
        ax.fill_between(time, speed - 1.96 * std, speed + 1.96 * std, color=BLUE, alpha=0.3, lw=0)
        ax.plot(time, speed, color=BLUE, label="estimated, 95 %")
        ax.set_ylabel(f"{joint} [rad/s]")
    axs[0].legend(fontsize=7)
    axs[1].set_xlabel("time [s]")
    return figure
