"""A thrown body played back: walls, tracked poses, and the body that moves along the estimated motion.

A body at (x, y, angle) has its outline at (x, y) + R(angle) r. A spoke from its center to where the outline reaches
farthest along the body's own x axis shows how a round one turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import Float
from ...estimate.motions import EstimatedMotion, Scene
from ..blocks import Figure, FigureGrid
from ..numbers import significant
from ..words import number_of
from .style import ACCENT, BAND, INK, PREDICTED, RULE, axis, curve, layout, rounded
from .thinning import recordings_note, thinned

MOST_DROPS = 4
"""Maximum number of recordings that are played back."""
MOST_FRAMES = 72
"""Maximum number of frames of a recording."""
MOST_CORNERS = 48
"""Maximum number of points of an outline in a frame."""
GHOSTS = 12
"""Number of outlines along the whole motion, also visible in print."""
WALL = {"color": INK, "width": 2}


def drop_grid(motions: Sequence[EstimatedMotion], scene: Scene) -> FigureGrid:
    """The first few recordings."""
    shown = motions[:MOST_DROPS]
    caption = (
        f"Press play, or drag the slider, which shows the time; each frame stays for 50 ms. The spoke is fixed "
        f"to the body. {recordings_note(len(motions), len(shown))}"
    )
    return FigureGrid(
        title="Estimated motion and tracked poses",
        panels=tuple(drop_figure(motion, scene) for motion in shown),
        caption=caption.strip(),
    )


def drop_figure(motion: EstimatedMotion, scene: Scene) -> Figure:
    """One recording: walls, tracked poses, and the body that moves along the estimated motion."""
    path = motion.path
    pose = np.stack([path["position.x"], path["position.y"], path["position.angle"]], axis=1)
    corners = _corners(scene.outline)
    # A frame holds a whole outline: thousands of them would be a page of many megabytes.
    chosen = _spread_indices(len(path), MOST_FRAMES)
    tracked = _tracked(motion)
    # all positions of the body, and a margin
    reach = 1.15 * float(np.linalg.norm(corners, axis=1).max())
    points = np.concatenate([pose[:, :2], tracked[np.isfinite(tracked).all(axis=1)]])
    low, high = points.min(axis=0) - reach, points.max(axis=0) + reach
    traces = _still(scene, float(np.linalg.norm(high - low)), pose, tracked, corners)
    body = _body(pose[0], corners)
    frames = tuple(
        {"name": f"{path.time[k]:.4f}", "data": [_body(pose[k], corners)], "traces": [len(traces)]}
        for k in chosen
    )
    filled = {"showlegend": False, "fill": "toself", "fillcolor": BAND}
    look = curve("the body", {"color": ACCENT, "width": 2}, "", **filled)
    turned = np.degrees(float(pose[-1, 2] - pose[0, 2]))
    read = int(np.isfinite(tracked).all(axis=1).sum())
    return Figure(
        title=motion.name,
        note=f"{number_of(len(chosen), 'frame')} of {number_of(len(path), 'sample')}",
        data=(*traces, look | body),
        frames=frames,
        layout=layout(
            470,
            hovermode="closest",
            xaxis=axis("x [m]", zeroline=False, range=rounded([low[0], high[0]])),
            yaxis=axis("y [m]", zeroline=False, range=rounded([low[1], high[1]]), scaleanchor="x"),
            legend_above=True,
            below=100,
        ),
        alt=f"{motion.name}: the body along the estimated motion of {significant(path.duration_s, 3)} s, with "
        f"{number_of(len(scene.walls), 'wall')} and {number_of(read, 'tracked pose')}; it moves from "
        f"({significant(float(pose[0, 0]), 3)}, {significant(float(pose[0, 1]), 3)}) m to "
        f"({significant(float(pose[-1, 0]), 3)}, {significant(float(pose[-1, 1]), 3)}) m and turns by "
        f"{significant(turned, 3)}°",
    )


def placed(pose: Float[np.ndarray, "3"], points: Float[np.ndarray, "k 2"]) -> Float[np.ndarray, "k 2"]:
    """Points of a body in the world, at its pose (x, y, angle) [m], [rad]."""
    c, s = np.cos(pose[2]), np.sin(pose[2])
    R = np.array([[c, -s], [s, c]])
    return np.asarray(pose[:2] + points @ R.T)


def _spread_indices(length: int, most: int) -> np.ndarray:
    """At most `most` indices, evenly spread, with the first and the last."""
    return np.unique(np.linspace(0, length - 1, min(length, most)).round().astype(int))


def _corners(outline: Float[np.ndarray, "k 2"]) -> Float[np.ndarray, "c 2"]:
    """The outline with as few points as a picture needs, closed."""
    apart = np.linalg.norm(outline - np.roll(outline, 1, axis=0), axis=1)
    # A corner of no radius is twice in an outline.
    different = outline[apart > 1e-6 * np.abs(outline).max()]
    few = different[_spread_indices(len(different), MOST_CORNERS)]
    return np.concatenate([few, few[:1]])


def _tracked(motion: EstimatedMotion) -> Float[np.ndarray, "S 2"]:
    """(x, y) of the readings, NaN where there are none. [m]"""
    for fit in motion.sensors:
        if {"position.x", "position.y"} <= set(fit.channels):
            columns = [fit.channels.index(f"position.{name}") for name in "xy"]
            return fit.measured[:, columns]
    return np.full((0, 2), np.nan)


def _points_of(points: np.ndarray) -> dict[str, Any]:
    return {"x": rounded(points[:, 0]), "y": rounded(points[:, 1])}


def _body(pose: np.ndarray, corners: np.ndarray) -> dict[str, Any]:
    """Its outline, and the spoke."""
    # Of a side whose points are all equally far ahead, the point nearest to the axis.
    ahead = corners[int(np.argmax(corners @ np.array([1.0, 0.0]) - 1e-6 * np.abs(corners[:, 1])))]
    spoke = np.array([[np.nan, np.nan], [0.0, 0.0], ahead])
    return _points_of(placed(pose, np.concatenate([corners, spoke])))


def _still(
    scene: Scene, size: float, pose: np.ndarray, tracked: np.ndarray, corners: np.ndarray
) -> list[Any]:
    """Traces of walls with their solid side shaded, of the body at other times, its centre, and tracked poses."""
    traces = []
    for wall in scene.walls:
        point, slope = wall[:2], wall[2]
        along = np.array([np.cos(slope), np.sin(slope)])
        # So far that no dragging or zooming shows where it ends.
        ends = point + 20 * size * np.array([[-1.0], [1.0]]) * along
        deep = ends[::-1] + 20 * size * np.array([along[1], -along[0]])
        filled = {"showlegend": False, "fill": "toself", "fillcolor": RULE}
        traces.append(curve("wall", WALL, "", **filled) | _points_of(np.concatenate([ends, deep, ends[:1]])))
    gap = np.full((1, 2), np.nan)
    ghosts = pose[_spread_indices(len(pose), GHOSTS)]
    outlines = [part for ghost in ghosts for part in (placed(ghost, corners), gap)]
    for name, ink, points in (
        ("the body at other times", {"color": "#b9c1c9", "width": 1}, np.concatenate(outlines)),
        ("centre of mass", {"color": INK, "width": 1.2}, pose[thinned(pose[:, 1], 1000), :2]),
    ):
        traces.append(curve(name, ink, "", **_points_of(points)))
    shown = tracked[_spread_indices(len(tracked), 1000)] if len(tracked) else tracked
    hover = "%{x:.4g} m, %{y:.4g} m<extra></extra>"
    look = {"mode": "markers", "marker": {"color": PREDICTED["color"], "size": 4}}
    return [
        *traces,
        {"type": "scatter", "name": "tracked", "hovertemplate": hover} | look | _points_of(shown),
    ]
