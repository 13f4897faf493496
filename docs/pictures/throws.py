"""The thrown ellipse of examples/throw."""

from functools import cache

import numpy as np
from drawing import BLUE, EXAMPLES, FILES, GREEN, GREY, ORANGE, axes, picture

import poinsot

INERTIA_BY_MASS, FRICTION, RESTITUTION = 4.84e-5 / 0.064, 0.35, 0.2


@cache
def thrown():
    return poinsot.identify(poinsot.Project.load(EXAMPLES / "throw" / "job.toml"))


FILES["throw.html"] = lambda path: poinsot.write_report(thrown(), path)


def _frames():
    return np.loadtxt(EXAMPLES / "throw" / "frames.csv", delimiter=",", skiprows=1)


@picture
def throw_trajectory():
    estimate = thrown()
    path, outline = estimate.motions[0].path, estimate.scene.outline
    figure, ax = axes(height=2.6)
    frames = _frames()
    for k, (_, x, y, angle) in enumerate(frames):
        if k % 4 == 0:
            turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            shape = outline[::6] @ turn.T + [x, y]
            ax.fill(*shape.T, color=BLUE, alpha=0.12, lw=0)
            ax.plot(*np.vstack([shape, shape[:1]]).T, color=BLUE, lw=0.7)
    names = [name for name in path.channels if name.endswith(("position.x", "position.y"))]
    ax.plot(path[names[0]], path[names[1]], color=ORANGE, label="estimated path of the center")
    ax.plot(frames[:, 1], frames[:, 2], ".", ms=2.5, color=GREY, label="frames")
    ax.axhline(0, color=GREEN, lw=2)
    ax.set_aspect("equal")
    ax.set_xlabel("x [m]")
    ax.set_ylabel("y [m]")
    ax.legend(fontsize=7)
    return figure


@picture
def friction_cone():
    impacts = thrown().impacts
    figure, ax = axes(height=2.8, width=4.8)
    top = 1.1 * max(impact.normal for impact in impacts)
    mu = thrown().scene.friction
    ax.fill_betweenx(
        [0, top], [0, -mu * top], [0, mu * top], color=GREEN, alpha=0.15, lw=0, label="friction cone"
    )
    for mode, colour in (("slides", ORANGE), ("sticks", BLUE), ("", GREY)):
        chosen = [impact for impact in impacts if impact.mode == mode]
        if chosen:
            ax.plot(
                [i.tangential for i in chosen],
                [i.normal for i in chosen],
                "o",
                ms=5,
                color=colour,
                label=mode or "not known",
            )
    ax.set_xlabel(f"tangential impulse [{impacts[0].unit}]")
    ax.set_ylabel(f"normal impulse [{impacts[0].unit}]")
    ax.legend(fontsize=7)
    return figure


@picture
def throw_energy():
    (time, energy), *_ = thrown().scene.energy.values()
    figure, ax = axes(height=2.3)
    ax.plot(time, energy, color=BLUE)
    for impact in thrown().impacts:
        ax.axvline(impact.time, color=ORANGE, lw=0.8, ls="--")
    ax.plot([], [], color=ORANGE, ls="--", label="impacts")
    ax.set_xlabel("time [s]")
    ax.set_ylabel("energy [J]")
    ax.legend()
    return figure


@picture
def throw_intervals():
    estimate = thrown()
    figure, ax = axes(height=1.4 + 0.2 * len(estimate.names))
    truths = {"J/m": INERTIA_BY_MASS, "J": 4.84e-5, "m": 0.064, "friction": FRICTION, "mu": FRICTION}
    rows = range(len(estimate.names))[::-1]
    for row, name, value in zip(rows, estimate.names, estimate.values, strict=True):
        truth = next((v for key, v in truths.items() if name.lower() == key.lower()), None)
        reference = truth or value or 1.0
        low, high = estimate.interval(name)
        ax.plot([100 * (low / reference - 1), 100 * (high / reference - 1)], [row, row], color=BLUE, lw=2)
        ax.plot(100 * (value / reference - 1), row, "o", color=BLUE, ms=5)
        if truth:
            ax.plot(0, row, "|", color=GREEN, ms=14, mew=2)
    ax.set_yticks(
        list(rows),
        [f"{name}  {value:.4g}" for name, value in zip(estimate.names, estimate.values, strict=True)],
    )
    ax.set_xlabel("[%] off the truth (green), or off the estimate where no truth is known; bars: 95 %")
    return figure


@picture
def impact_information():
    """What each impact says of J/m, and what it lost."""
    impacts = thrown().impacts
    figure, (left, right) = axes(1, 2, 2.4)
    x = np.arange(len(impacts))
    left.bar(x, [100 * each.share for each in impacts], color=BLUE)
    left.set_ylabel("part of the information on J/m [%]")
    right.bar(x, [each.restitution for each in impacts], color=ORANGE)
    right.axhline(RESTITUTION, color=GREEN, ls="--", label="truth")
    right.set_ylabel("restitution")
    right.legend()
    for ax in (left, right):
        ax.set_xticks(x, [f"{1e3 * each.time:.0f} ms\n{each.mode}" for each in impacts], fontsize=7)
    return figure
