"""A motion that shows as much as limits allow, beside random ones."""

from functools import cache

import numpy as np
from drawing import BLUE, COLOURS, EXAMPLES, FILES, GREY, ORANGE, axes, picture

import poinsot
from poinsot.report.excitation_page import write_excitation_page


@cache
def problem():
    robot = poinsot.load_robot(EXAMPLES / "arm" / "arm.urdf")
    return poinsot.excitation_problem(robot, duration_s=5, torque_std=0.5)


@cache
def designed():
    return poinsot.OptimalExcitation(starts=2, legs=8).solve(problem())


FILES["excite.html"] = lambda path: write_excitation_page(designed(), path)


@cache
def random_motions():
    """Condition numbers and standard deviations of motions that are only random, as large as limits allow."""
    rng = np.random.default_rng(0)
    robot, found = problem().robot, []
    time = designed().time
    lower, upper = robot.position_limits
    for _ in range(40):
        w = 2 * np.pi * np.arange(1, 6) / time[-1]
        sines = rng.standard_normal((5, len(robot.joints)))
        q = np.sin(np.outer(time, w)) @ sines
        scale = 0.6 * np.minimum(upper, -lower) / np.abs(q).max(axis=0)
        v = np.cos(np.outer(time, w)) * w @ sines
        a = -np.sin(np.outer(time, w)) * w**2 @ sines
        speeds = np.array([robot.velocity_limits[name] for name in robot.joints])
        scale = np.minimum(scale, 0.95 * speeds / np.abs(v).max(axis=0))
        terms = problem().terms
        W = terms.W(terms.entries(q * scale, v * scale, a * scale))
        W = W.reshape(-1, W.shape[-1])
        units = W / np.linalg.norm(W, axis=0)
        covariance = 0.5**2 * np.linalg.inv(W.T @ W)
        found.append((np.linalg.cond(units), np.sqrt(np.diag(covariance))))
    return found


@picture
def excited_motion():
    motion = designed()
    figure, axs = axes(1, 3, 2.5)
    lower, upper = problem().robot.position_limits
    for k, joint in enumerate(motion.joints):
        axs[0].plot(motion.time, motion.q[:, k], color=COLOURS[k], label=joint)
        axs[1].plot(motion.q[:, k], motion.v[:, k], color=COLOURS[k], lw=1)
        axs[2].plot(motion.time, motion.tau[:, k], color=COLOURS[k])
    for ax, x, y in zip(
        axs,
        ("time [s]", "position [rad]", "time [s]"),
        ("position [rad]", "speed [rad/s]", "torque [N m]"),
        strict=True,
    ):
        ax.set_xlabel(x)
        ax.set_ylabel(y)
    axs[0].legend(fontsize=7)
    assert (lower < upper).all()
    return figure


@picture
def excited_precision():
    motion, random = designed(), random_motions()
    figure, (left, right) = axes(1, 2, 2.6, width_ratios=[1, 2.2])
    conditions = np.array([condition for condition, _ in random])
    left.hist(np.log10(conditions), bins=12, color=GREY, alpha=0.6, label="random motions")
    left.axvline(np.log10(motion.condition_number), color=ORANGE, label="designed")
    left.set_xlabel("log10 of the condition number")
    left.legend(fontsize=7)
    best = np.median([std for _, std in random], axis=0)
    x = np.arange(len(best))
    right.semilogy(x, best, "o", ms=4, color=GREY, label="random motion (median)")
    right.semilogy(x, motion.std, "o", ms=4, color=BLUE, label="designed motion")
    right.set_xticks(x, motion.problem.base.names, rotation=90, fontsize=6)
    right.set_ylabel("predicted standard deviation")
    right.legend(fontsize=7)
    return figure
