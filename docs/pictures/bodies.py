"""What a rigid body may be: the possible set, charts, ellipsoids, repair."""

import numpy as np
from drawing import BLUE, COLOURS, GREEN, GREY, ORANGE, RED, axes, picture, say

import poinsot
from poinsot.inertia.parameters import (
    from_physical,
    inertia_at_com,
    is_consistent,
    nearest_possible,
    pseudo_inertia,
)


def _rod(mass, length, angle, thickness=0.05):
    """pi of a rod that is turned about z, with its centre along it."""
    direction = np.array([np.cos(angle), np.sin(angle), 0])
    across = mass * thickness**2 / 4
    along = mass * length**2 / 12 + across
    I = along * np.eye(3) + (across - along) * np.outer(direction, direction)
    return from_physical(np.array(mass), length / 2 * direction, I)


def _ellipse(ax, pi, **style):
    body = poinsot.equivalent_ellipsoid(pi)
    shape = body.axes * body.semi_axes
    root = np.linalg.cholesky((shape @ shape.T)[:2, :2])
    angle = np.linspace(0, 2 * np.pi, 90)
    ax.plot(*(body.center[:2, None] + root @ np.array([np.cos(angle), np.sin(angle)])), **style)


@picture
def charts():
    """Straight lines between two bodies in the coordinates of each chart."""
    first, last = _rod(2.0, 0.4, 0.2), _rod(0.6, 0.7, 2.0)
    figure, axs = axes(1, 4, 2.5, sharex=True, sharey=True)
    named = {
        "ten numbers": None,
        "LogCholesky": poinsot.LogCholesky(),
        "TransposedLogCholesky": poinsot.TransposedLogCholesky(),
        "ExponentialEigenvalue": poinsot.ExponentialEigenvalue(),
    }
    for ax, (name, chart) in zip(axs, named.items(), strict=True):
        for s in np.linspace(0, 1, 7):
            if chart is None:
                pi = (1 - s) * first + s * last
            else:
                x = (1 - s) * chart.from_inertial(first) + s * chart.from_inertial(last)
                pi = chart.to_inertial(x)
            _ellipse(
                ax, pi, color=(BLUE if s == 0 else ORANGE if s == 1 else GREY), lw=1.6 if s in (0, 1) else 0.8
            )
        ax.set_aspect("equal")
        ax.set_title(name, loc="left", fontsize=8)
        ax.set_xlabel("x [m]")
    axs[0].set_ylabel("y [m]")
    return figure


@picture
def possible_moments():
    """Principal moments that a body may have: the triangle inequalities, in a slice of equal sum."""
    n = 220
    a, b = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    c = 1 - a - b
    pi = np.zeros((n, n, 10))
    pi[..., 0], pi[..., 4], pi[..., 6], pi[..., 9] = 1, a, b, c
    possible = is_consistent(pi)
    figure, ax = axes(height=3.2, width=4.6)
    ax.contourf(
        a, b, np.where(c < 0, np.nan, possible), levels=[-0.5, 0.5, 1.5], colors=[RED, GREEN], alpha=0.3
    )
    for x, y, text in (
        (1 / 3, 1 / 3, "ball"),
        (0.25, 0.25, "disc about z"),
        (0.5, 0.49, "rod along z"),
        (0.05, 0.5, "rod along x"),
    ):
        ax.plot(x, y, "o", color=BLUE, ms=4)
        ax.text(x + 0.02, y + 0.015, text, fontsize=7)
    ax.text(0.06, 0.1, "no body: Izz > Ixx + Iyy", fontsize=7)
    ax.set_xlabel("Ixx / (Ixx + Iyy + Izz)")
    ax.set_ylabel("Iyy / (Ixx + Iyy + Izz)")
    ax.set_xlim(0, 0.75)
    ax.set_ylim(0, 0.75)
    return figure


@picture
def random_coordinates():
    """Every point of a chart is a body; most points of the ten numbers are none."""
    rng = np.random.default_rng(0)
    center = _rod(2.0, 0.4, 0.3)
    chart = poinsot.LogCholesky()
    figure, ax = axes(height=2.6)
    spread = np.geomspace(0.01, 1, 25)
    as_numbers, as_chart = [], []
    for s in spread:
        ten = center * (1 + s * rng.standard_normal((2000, 10)))
        as_numbers.append(100 * np.mean(is_consistent(ten) & (ten[:, 0] > 0)))
        x = chart.from_inertial(center) + s * rng.standard_normal((2000, 10))
        smallest = np.linalg.eigvalsh(pseudo_inertia(chart.to_inertial(x)))[:, 0]
        as_chart.append(100 * np.mean(smallest > 0))
    ax.semilogx(spread, as_numbers, color=RED, label="the ten numbers, each off by so much")
    ax.semilogx(spread, as_chart, color=GREEN, label="log-Cholesky coordinates, moved by so much")
    ax.set_xlabel("standard deviation of the change [relative, and in coordinates]")
    ax.set_ylabel("physically possible [%]")
    ax.legend()
    return figure


@picture
def repaired_body():
    """Bodies whose moments break the triangle inequality, and the nearest possible ones."""
    figure, ax = axes(height=3.2, width=4.6)
    a, b = np.meshgrid(np.linspace(0, 1, 200), np.linspace(0, 1, 200))
    ok = (a + b > 0.5) & (a < 0.5) & (b < 0.5)
    ax.contourf(a, b, np.where(a + b > 1, np.nan, ok), levels=[0.5, 1.5], colors=[GREEN], alpha=0.25)
    for k, moments in enumerate(([0.2, 0.1, 0.7], [0.62, 0.2, 0.18], [0.1, 0.65, 0.25], [0.3, 0.05, 0.65])):
        I = np.diag(moments)
        pi = from_physical(np.array(50.0), np.zeros(3), I)
        found = np.diag(inertia_at_com(nearest_possible(pi).inertial))
        found = found / found.sum()
        ax.annotate(
            "",
            found[:2],
            moments[:2],
            arrowprops={"arrowstyle": "->", "color": COLOURS[k % 4], "lw": 1.4},
        )
        ax.plot(*moments[:2], "x", color=RED)
        ax.plot(*found[:2], "o", color=GREEN, ms=4)
    say(ax, "green: possible; crosses: as described", "upper right", fontsize=7)
    ax.set_xlabel("Ixx / (Ixx + Iyy + Izz)")
    ax.set_ylabel("Iyy / (Ixx + Iyy + Izz)")
    ax.set_xlim(0, 0.75)
    ax.set_ylim(0, 0.75)
    return figure
