"""The arm of examples/arm: its estimate, its residuals, its bodies, what its recording determines."""

import sys
from functools import cache

import numpy as np
from drawing import (
    BLUE,
    COLOURS,
    EXAMPLES,
    FILES,
    GREEN,
    GREY,
    ORANGE,
    RED,
    axes,
    picture,
    prior_bars,
    say,
    thinned,
)

import poinsot
from poinsot.inertia.parameters import equivalent_ellipsoid

sys.path.insert(0, str(EXAMPLES / "arm"))
import record


@cache
def estimated():
    return poinsot.identify(poinsot.Project.load(EXAMPLES / "arm" / "job.toml"))


@cache
def physical():
    return poinsot.identify(poinsot.Project.load(EXAMPLES / "arm" / "physical.toml"))


@cache
def recorded():
    robot = record.robot()
    return poinsot.Project.load(EXAMPLES / "arm" / "job.toml").runs(robot)[0].recording


def smoothing():
    return poinsot.ButterworthDecimation(20, 10)


FILES["arm.html"] = lambda path: poinsot.write_report(estimated(), path)
FILES["arm_physical.html"] = lambda path: poinsot.write_report(physical(), path)


@picture
def recording_channels():
    recording = recorded()
    figure, axs = axes(3, 2, 4.2, sharex=True)
    for row, joint in zip(axs, record.robot().joints, strict=True):
        for ax, quantity, unit, colour in zip(
            row, ("position", "torque"), ("rad", "N m"), COLOURS, strict=False
        ):
            ax.plot(*thinned(recording.time, recording[f"{quantity}.{joint}"]), color=colour)
            ax.set_title(f"{quantity}.{joint}", loc="left")
            ax.set_ylabel(unit)
    for ax in axs[-1]:
        ax.set_xlabel("time [s]")
    return figure


@picture
def arm_intervals():
    estimate = estimated()
    truth = estimate.problem.base.map @ record.truth()
    off = (estimate.values - truth) / estimate.std
    figure, ax = axes(height=4.6)
    rows = np.arange(len(off))[::-1]
    ax.axvspan(-1.96, 1.96, color=GREEN, alpha=0.12)
    ax.axvline(0, color=GREEN)
    inside = np.abs(off) < 1.96
    for chosen, colour in ((inside, BLUE), (~inside, RED)):
        ax.errorbar(
            off[chosen], rows[chosen], xerr=1.96, fmt="o", color=colour, ms=3.5, elinewidth=1.1, capsize=2
        )
    ax.set_yticks(rows, estimate.names, fontsize=7)
    ax.set_xlabel("estimate less truth, in standard deviations of the estimate (bars: 95 % intervals)")
    say(ax, f"{inside.sum()} of {len(off)} intervals hold the truth", "upper right")
    return figure


@picture
def arm_torques():
    fit = estimated().fit
    figure, axs = axes(3, 1, 4.6, sharex=True)
    for k, ax in enumerate(axs):
        ax.plot(fit.time, fit.measured[:, k], ".", color=BLUE, ms=3.5, label="measured")
        ax.plot(fit.time, fit.predicted[:, k], color=ORANGE, label="predicted")
        ax.set_ylabel(f"{fit.joints[k]} [N m]")
        say(ax, f"{fit.relative_error_percent_per_joint[k]:.2f} %", "upper right")
    axs[0].legend(ncols=2, loc="upper left")
    axs[-1].set_xlabel("time [s]")
    return figure


@picture
def arm_residuals():
    fit = estimated().fit
    figure, axs = axes(2, 3, 3.8, sharey="row")
    for k, (top, bottom) in enumerate(axs.T):
        top.plot(fit.time, fit.residuals[:, k], ".", color=COLOURS[k], ms=2.5)
        top.set_title(fit.joints[k], loc="left")
        top.set_xlabel("time [s]")
        correlation = fit.autocorrelation[k][:25]
        bottom.vlines(range(len(correlation)), 0, correlation, color=COLOURS[k])
        bottom.axhspan(
            -1.96 / np.sqrt(len(fit.time)), 1.96 / np.sqrt(len(fit.time)), color=GREY, alpha=0.2, lw=0
        )
        bottom.set_xlabel("lag [rows]")
    axs[0, 0].set_ylabel("residual [N m]")
    axs[1, 0].set_ylabel("autocorrelation")
    return figure


@picture
def arm_validation():
    estimate = estimated()
    names = estimate.fit.joints
    x = np.arange(len(names) + 1)
    figure, ax = axes(height=2.4)
    for shift, fit, label, colour in (
        (-0.2, estimate.fit, "fitted", BLUE),
        (0.2, estimate.validation[0], "another motion, predicted", ORANGE),
    ):
        heights = [*fit.relative_error_percent_per_joint, fit.relative_error_percent]
        ax.bar(x + shift, heights, 0.38, color=colour, label=label)
    ax.set_xticks(x, [*names, "all joints"])
    ax.set_ylabel("relative error [%]")
    ax.legend()
    return figure


@picture
def std_kinds():
    estimate = estimated()
    figure, ax = axes(height=2.6)
    x = np.arange(len(estimate.names))
    for values, label, colour in (
        (estimate.std, "reported: residuals as they are, and filters", ORANGE),
        (estimate.coloured_std, "residuals as they are", GREEN),
        (estimate.white_std, "as if residuals were white", BLUE),
    ):
        ax.plot(x, values / estimate.white_std, "o-", ms=3, lw=0.8, color=colour, label=label)
    ax.set_xticks(x, estimate.names, rotation=90, fontsize=7)
    ax.set_ylabel("standard deviation,\nover that of white residuals")
    ax.set_ylim(0)
    ax.legend(fontsize=7)
    return figure


@picture
def base_structure():
    base = estimated().problem.base
    figure, ax = axes(height=4.2)
    size = np.log10(np.abs(np.where(base.map == 0, np.nan, base.map)))
    drawn = ax.imshow(size, cmap="viridis", aspect="auto", vmin=-3, vmax=0)
    ax.set_yticks(range(len(base.names)), base.names, fontsize=6)
    ax.set_xticks(range(len(base.parameters)), base.parameters.names, rotation=90, fontsize=6)
    ax.set_xlabel("parameters of the description; an empty column changes no torque")
    ax.set_ylabel("base parameters")
    bar = figure.colorbar(drawn, ax=ax, ticks=[-3, -2, -1, 0], fraction=0.03)
    bar.ax.set_yticklabels(["0.001", "0.01", "0.1", "1"])
    bar.set_label("part in the group")
    return figure


@picture
def regressor_structure():
    problem = estimated().problem
    rows = problem.robot.torque_regressor(*problem.robot.random_states(40, np.random.default_rng(0)))
    size = np.sqrt(np.mean(np.square(rows), axis=0))
    figure, ax = axes(height=1.9)
    names = problem.parameters.names[: size.shape[1]]
    ax.imshow(
        np.log10(np.where(size > 1e-12, size, np.nan)), cmap="viridis", aspect="auto", interpolation="nearest"
    )
    ax.set_yticks(range(3), problem.robot.joints, fontsize=7)
    ax.set_xticks(range(len(names)), names, rotation=90, fontsize=6)
    ax.grid(False)
    return figure


@picture
def duration_and_condition():
    robot, recording = record.robot(), recorded()
    seconds = np.array([2.0, 2.5, 3, 4, 5, 6, 7, 8, 9, 9.9])
    condition, spread = [], []
    names = ("mx3", "zz3r", "fv1", "fc3")
    for length in seconds:
        signals = poinsot.ButterworthDecimation(20, 10, decimation_order=4)
        problem = poinsot.InverseDynamics(robot, [recording.between(0, length)], signals=signals)
        estimate = poinsot.LeastSquares("per-joint").solve(problem)
        condition.append(estimate.scaled_condition_number)
        known = dict(zip(estimate.names, estimate.white_std, strict=True))
        spread.append([known.get(name, np.nan) for name in names])
    figure, (left, right) = axes(1, 2, 2.8)
    left.semilogy(seconds, condition, "o-", ms=3)
    left.set_ylabel("condition number, columns of unit norm")
    spread = np.array(spread) / np.array(spread)[-1]
    for k, name in enumerate(names):
        right.loglog(seconds, spread[:, k], "o-", ms=3, label=name)
    right.loglog(seconds, np.sqrt(seconds[-1] / seconds), "--", color=GREY, label="1 / root of time")
    right.set_ylabel("standard deviation, over that at the end")
    right.legend(fontsize=7)
    for ax in (left, right):
        ax.set_xlabel("length of the recording [s]")
    return figure


@picture
def essential_parameters():
    problem = poinsot.InverseDynamics(record.robot(), [recorded()], signals=smoothing())
    full = poinsot.LeastSquares("per-joint").solve(problem)
    essential = poinsot.EssentialParameters(weighting="per-joint").solve(problem)
    figure, ax = axes(height=2.8)
    x = np.arange(len(full.names))
    ax.bar(x, full.relative_std_percent, 0.75, color=BLUE, alpha=0.5, label=f"all {len(x)} base parameters")
    kept = [full.names.index(name) for name in essential.names]
    ax.bar(
        kept,
        essential.relative_std_percent,
        0.4,
        color=ORANGE,
        label=f"the {len(kept)} that are kept ({essential.fit.error_text} against {full.fit.error_text})",
    )
    ax.axhline(30, color=RED, ls="--", lw=0.8)
    ax.set_yscale("log")
    ax.set_xticks(x, full.names, rotation=90, fontsize=7)
    ax.set_ylabel("relative standard deviation [%]")
    ax.legend(fontsize=7)
    return figure


@picture
def prior_share():
    figure, ax = axes(height=2.6)
    prior_bars(ax, physical().full_parameters, fontsize=6)
    return figure


def _outline(ax, robot, pi, q, colour, label, filled=False):
    """Ellipsoids of bodies, seen along y, in the posture q; links as lines."""
    import pinocchio as pin

    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, np.asarray(q, float))
    for k, body in enumerate(pi):
        ellipsoid, M = equivalent_ellipsoid(body), data.oMi[k + 1]
        center = M.translation + M.rotation @ ellipsoid.center
        shape = M.rotation @ ellipsoid.axes * ellipsoid.semi_axes
        # the outline of an ellipsoid A s, |s| = 1, along y: the root of the 2 x 2 part of A A^T
        root = np.linalg.cholesky((shape @ shape.T)[np.ix_([0, 2], [0, 2])])
        angle = np.linspace(0, 2 * np.pi, 90)
        line = center[[0, 2], None] + root @ np.array([np.cos(angle), np.sin(angle)])
        ax.plot(*line, color=colour, label=label if k == 0 else None, lw=1.4, ls="-" if filled else "--")
        if filled:
            ax.fill(*line, color=colour, alpha=0.15)
        ax.plot(*center[[0, 2]], "+" if not filled else ".", color=colour)
    points = np.array([data.oMi[k].translation[[0, 2]] for k in range(1, len(pi) + 1)])
    if filled:
        ax.plot(*points.T, "o-", color=GREY, ms=4, lw=2, alpha=0.6)


@picture
def arm_ellipsoids():
    estimate = physical()
    true, described = record.robot(), poinsot.load_robot(EXAMPLES / "arm" / "cad.urdf")
    figure, axs = axes(1, 3, 3.0, sharex=True, sharey=True)
    found = [body.inertial for body in estimate.bodies]
    for ax, q in zip(axs, ([0, -0.6, 0.9], [0, 0.3, -1.1], [0, -1.4, 0.4]), strict=True):
        _outline(ax, true, found, q, BLUE, "identified", filled=True)
        _outline(ax, described, described.inertials, q, ORANGE, "description")
        _outline(ax, true, true.inertials, q, GREEN, "truth")
        ax.set_aspect("equal")
        ax.set_xlabel("x [m]")
    axs[0].set_ylabel("z [m]")
    figure.legend(*axs[0].get_legend_handles_labels(), ncols=3, loc="outside upper center")
    return figure


@picture
def robust_weighting():
    """What three samples in a hundred that are wrong do to the three weightings."""
    robot, recording = record.robot(), recorded()
    rng = np.random.default_rng(3)
    signals = smoothing().apply(recording)
    wrong = rng.random(len(signals.time)) < 0.03
    from dataclasses import replace

    tau = signals.tau + wrong[:, None] * rng.normal(0, 60, (len(wrong), 3))
    problem = poinsot.inverse_dynamics(robot, replace(signals, tau=tau))
    figure, ax = axes(height=2.6)
    for k, weighting in enumerate(("none", "per-joint", "robust")):
        estimate = poinsot.LeastSquares(weighting).solve(problem)
        truth = problem.base.map @ record.truth()
        off = np.abs(estimate.values - truth) / np.maximum(np.abs(truth), 0.05)
        ax.semilogy(np.arange(len(off)), 100 * off, "o", ms=4, color=COLOURS[k], label=f'"{weighting}"')
    ax.set_xticks(range(len(off)), estimate.names, rotation=90, fontsize=7)
    ax.set_ylabel("error [% of the truth]")
    ax.legend(ncols=3, loc="lower left", fontsize=7)
    return figure


@picture
def effort_delay():
    """Residual of the dynamics against the delay of the efforts, and the delay that is estimated."""
    robot, recording = record.robot(), recorded()
    late = poinsot.align(recording, {f"torque.{joint}": -0.006 for joint in robot.joints})
    problem = poinsot.InverseDynamics(robot, [late], signals=smoothing())
    delay = poinsot.estimate_effort_delay(problem)
    tried = np.linspace(-0.004, 0.016, 21)
    error = []
    for d in tried:
        moved = poinsot.align(late, {f"torque.{joint}": d for joint in robot.joints})
        fit = poinsot.LeastSquares("per-joint").solve(
            poinsot.InverseDynamics(robot, [moved], signals=smoothing())
        )
        error.append(fit.fit.relative_error_percent)
    figure, ax = axes(height=2.4)
    ax.plot(1e3 * tried, error, "o-", ms=3)
    ax.axvline(6, color=GREEN, label="true delay")
    value, std = 1e3 * delay.seconds, 1e3 * delay.std_s
    ax.axvspan(value - 1.96 * std, value + 1.96 * std, color=ORANGE, alpha=0.4, lw=0, label="estimated, 95 %")
    ax.set_xlabel("delay that is taken away [ms]")
    ax.set_ylabel("relative error [%]")
    ax.legend()
    return figure
