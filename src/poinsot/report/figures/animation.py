"""Animation of a robot with bodies as ellipsoids, for the pages of `poinsot excite` and of reproductions.

Each body is drawn as the uniform ellipsoid with its ten parameters. All ellipsoids of one colour are one trace of
triangles, and a frame of the animation contains only new vertices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
from jaxtyping import Float

from ...arrays import Configurations, Inertial, Matrix, Times
from ...excitation.excitation import Excitation
from ...inertia.parameters import equivalent_ellipsoid, is_consistent
from ...models.robot.articulated import Articulated
from ..blocks import Figure, FigureGrid
from .curves import curve_figure
from .ellipsoids import packed, scene_of, unit_sphere
from .style import INK, layout, rounded

FRAMES = 60
"""Number of frames of an animation."""
MERIDIANS, PARALLELS = 10, 6
KNOWN, TRUE, ESTIMATED = "#c9d1d9", "#e06c00", "#1f5fa8"
"""Colours of known bodies, of true and of estimated unknown ones."""


@dataclass(frozen=True, eq=False)
class DrawnBodies:
    """Bodies of one colour.

    Args:
        name: name in the legend.
        places: indices of the robot's bodies that carry them.
        inertials: (k, 10) pi of each in the frame of the body that carries it.
        color, opacity: color and opacity of the surface.
    """

    name: str
    places: Sequence[int]
    inertials: Inertial
    color: str
    opacity: float = 1.0

    @classmethod
    def known(cls, robot: Articulated) -> DrawnBodies:
        """The robot's own bodies as described, without those of no extent."""
        pi = robot.inertials
        places = np.flatnonzero(is_consistent(pi) & (pi[:, 0] > 0))
        return cls("known bodies", places.tolist(), pi[places], KNOWN, 0.6)


def robot_animation(
    title: str, robot: Articulated, q: Configurations, times: Times, bodies: Sequence[DrawnBodies]
) -> Figure:
    """The robot along a motion.

    Args:
        title: title of the picture.
        robot: the robot.
        q: (T, nq) its configurations.
        times: (T,) [s].
        bodies: bodies to draw.
    """
    chosen = np.unique(np.linspace(0, len(q) - 1, min(FRAMES, len(q))).round().astype(int))
    placements = _placements(robot, q[chosen])
    sphere, facets = unit_sphere(MERIDIANS, PARALLELS)
    surfaces = [_vertices(group, placements, sphere) for group in bodies]
    lines = _skeleton(robot, placements)
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter3d",
            "mode": "lines",
            "name": "frames of the bodies",
            "line": {"color": INK, "width": 4},
        }
        | {"hoverinfo": "skip"}
    ]
    for group in bodies:
        i, j, k = np.concatenate([facets + n * len(sphere) for n in range(len(group.places))]).T
        triangles = {"i": packed(i, "i4"), "j": packed(j, "i4"), "k": packed(k, "i4")}
        traces.append(
            {
                "type": "mesh3d",
                "name": group.name,
                "showlegend": True,
                "color": group.color,
                "opacity": group.opacity,
            }
            | {"hoverinfo": "name"}
            | triangles
        )
    moving = [[_points(points[frame]) for points in (lines, *surfaces)] for frame in range(len(chosen))]
    everything = np.concatenate([points.reshape(-1, 3) for points in (lines, *surfaces)])
    return Figure(
        title=title,
        note=f"{len(chosen)} frames of {len(q)} samples",
        data=tuple(trace | points for trace, points in zip(traces, moving[0], strict=True)),
        frames=tuple(
            {"name": f"{time:.4f}", "data": data, "traces": list(range(len(traces)))}
            for time, data in zip(times[chosen], moving, strict=True)
        ),
        layout=layout(
            560,
            hovermode="closest",
            margin={"l": 0, "r": 0, "t": 0, "b": 90},
            showlegend=True,
            legend={"x": 0, "y": 1, "itemsizing": "constant"},
            scene=scene_of(np.nanmin(everything, axis=0), np.nanmax(everything, axis=0)),
        ),
        alt=f"{title}: {robot.name} along {times[-1] - times[0]:.2f} s, its bodies drawn as ellipsoids: "
        + "; ".join(f"{group.name} ({len(group.places)})" for group in bodies),
    )


def _placements(robot: Articulated, q: Configurations) -> Float[np.ndarray, "T l 4 4"]:
    """T_wb of each body at each configuration."""
    data = robot.model.createData()
    placements = np.empty((len(q), len(robot.bodies), 4, 4))
    for row, configuration in zip(placements, q, strict=True):
        pin.forwardKinematics(robot.model, data, configuration)
        row[:] = [data.oMi[i].homogeneous for i in robot.body_joints]
    return placements


def _vertices(
    bodies: DrawnBodies, placements: Float[np.ndarray, "T l 4 4"], sphere: Matrix
) -> Float[np.ndarray, "T v 3"]:
    """Vertices of the ellipsoids, one after the other."""
    points = equivalent_ellipsoid(bodies.inertials).surface(sphere)
    T_wb = placements[:, list(bodies.places)]
    vertices = np.einsum("tkij, kvj -> tkvi", T_wb[..., :3, :3], points) + T_wb[..., None, :3, 3]
    return vertices.reshape(len(placements), -1, 3)


def _skeleton(robot: Articulated, placements: Float[np.ndarray, "T l 4 4"]) -> Float[np.ndarray, "T v 3"]:
    """Lines from the frame of each body's parent to its own, with gaps between them."""
    origin, parts = placements[..., :3, 3], []
    for place, parent in enumerate(robot.parents):
        if parent:
            begin, end = origin[:, robot.bodies.index(parent)], origin[:, place]
            parts += [begin, end, np.full_like(end, np.nan)]
    return np.stack(parts or [origin[:, 0]], axis=1)


def _points(points: Float[np.ndarray, "v 3"]) -> dict[str, Any]:
    return {name: rounded(column) for name, column in zip("xyz", np.round(points, 4).T, strict=True)}


def excitation_picture(excitation: Excitation) -> FigureGrid:
    """Animation of a designed motion of the described robot, and the least distance of monitored pairs of bodies."""
    problem, robot = excitation.problem, excitation.problem.robot
    known, q = DrawnBodies.known(robot), robot.configurations(excitation.q)
    bodies = [known] if len(known.places) else []
    panels = [robot_animation(f"{robot.name} along the motion", robot, q, excitation.time, bodies)]
    caption = "Press play, or drag the slider, which shows the time; drag the robot to turn it."
    if problem.collisions.pairs:
        distances = problem.collisions.distances(q)
        spare = distances - problem.clearances
        lines = {"distance of the nearest pair": distances.min(1), "above the clearance": spare.min(1)}
        panels.append(curve_figure("Clearance", "m", excitation.time, lines))
        first, second = problem.collisions.pairs[int(spare.min(axis=0).argmin())]
        caption += f" Of {len(problem.clearances)} monitored pairs {first} and {second} have the least spare distance."
    return FigureGrid(panels=tuple(panels), caption=caption)
