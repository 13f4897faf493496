"""The bodies of a robot as ellipsoids at the neutral configuration: identified, and before the data.

A body is drawn as the uniform ellipsoid with its ten parameters, c + R diag(a) u with u on the unit sphere, placed in
the world by T_wb. The identified one is a surface, the one before it three ellipses around its principal axes. Numbers
travel as base64, which Plotly reads: little more than half of what decimals would take.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Matrix, Vector
from ...estimate import Body, Estimate
from ...exceptions import ImpossibleBody
from ...inertia.parameters import Ellipsoid, equivalent_ellipsoid
from ..blocks import Figure, FigureGrid
from ..bodies import change, prior_of, spread
from ..numbers import plus_minus, significant
from ..verdicts import Origin, origin
from ..words import number_of, series
from .style import ACCENT, INK, MUTED, PREDICTED, axis, layout, plain

FINE, COARSE = (20, 12), (12, 8)
"""Meridians and parallels of a surface; fewer than 256 vertices each."""

FEW = 12
"""Maximum number of bodies that are drawn finely, and described one by one in the text alternative."""

SEGMENTS = 24
"""Number of line segments of an ellipse."""

SHADES = {
    Origin.from_data: ACCENT,
    Origin.mostly_data: "#5f8fc4",
    Origin.mostly_prior: "#a3bedb",
    Origin.from_prior: "#c9d1d9",
}
"""The paler, the smaller the share of the data; they differ in lightness, not only in hue."""

BEFORE = PREDICTED["color"]
HEIGHT = 490  # [px]
BOX = 1.55
"""Diagonal of the scene in the unit of Plotly's camera: the largest that stays visible when rotated."""

LARGE = 2.0
"""An ellipsoid with a semi-axis of more than this many times the robot's size does not set the scale."""


class PlacedBody(NamedTuple):
    """Ellipsoid of a body with parameters pi (10,), identified or prior, in the world: center (3,), radii (3, 3) as
    columns [m].
    """

    body: Body
    pi: Vector
    ellipsoid: Ellipsoid
    center: np.ndarray
    radii: np.ndarray

    @property
    def corners(self) -> np.ndarray:
        """(2, 3) corners of its bounding box."""
        half = np.sqrt(np.sum(self.radii**2, axis=1))
        return np.stack([self.center - half, self.center + half])


def ellipsoid_grid(estimate: Estimate) -> FigureGrid | None:
    """The robot with its bodies; None where no body has a placement."""
    described = {body.name: body for body in estimate.described}
    own = [_in_its_place(body, described.get(body.name)) for body in estimate.bodies]
    # A body with neither values nor prior is drawn as described.
    named = described | {
        body.name: body for body in own if body.inertial is not None or body.prior is not None
    }
    bodies = [body for body in named.values() if body.placement is not None]
    identified = [body for body in bodies if body not in estimate.described]
    now = [placed for body in identified if (placed := _placed(body, body.inertial))]
    before = [placed for body in identified if (placed := _placed(body, prior_of(body)))]
    others = [
        placed for body in bodies if body in estimate.described and (placed := _placed(body, body.prior))
    ]
    if not now and not before and not others:
        return None
    drawn = [*now, *before, *others]
    frames = [body.placement[:3, 3] for body in bodies if body.placement is not None]
    low, high, fits = view(np.array([np.zeros(3), *frames]), np.array([one.corners for one in drawn]))
    cut = [one for one, inside in zip(drawn, fits.tolist(), strict=True) if not inside]
    counts = {"identified": len(now), "before the data": len(before), "as described": len(others)}
    note = ", ".join(f"{number_of(n, 'body', 'bodies')} {which}" for which, n in counts.items() if n)
    descriptions = [
        f"; {one.body.name} {significant(float(one.pi[0]), 3)} kg, semi-axes "
        f"{', '.join(significant(100 * float(a), 2) for a in one.ellipsoid.semi_axes)} cm"
        for one in now[:FEW]
    ]
    more = len(now) - len(descriptions)
    robot = estimate.robot or "The robot"
    figure = Figure(
        title=f"{robot}, neutral configuration",
        note=note,
        data=(*_now(now), *_before(before), *_others(others), *_frames(bodies)),
        layout=layout(
            HEIGHT,
            hovermode="closest",
            margin={"l": 0, "r": 0, "t": 0, "b": 50},
            showlegend=True,
            legend={"orientation": "h", "x": 0, "y": 0, "yanchor": "top", "itemsizing": "constant"},
            scene=scene_of(low, high),
        ),
        alt=f"{robot} at its neutral configuration, each body an ellipsoid: {note}{''.join(descriptions)}"
        + (f"; and {more} more" if more else ""),
    )
    return FigureGrid(panels=(figure,), caption=_caption(identified, now, before, cut))


def _in_its_place(body: Body, described: Body | None) -> Body:
    """The body with the described placement, and with the described parameters as prior where it has none."""
    if described is None or body.placement is not None:
        return body
    prior = described.prior if body.prior is None and body.inertial is not None else body.prior
    return replace(body, prior=prior, placement=described.placement, parent=described.parent)


def unit_sphere(meridians: int, parallels: int) -> tuple[np.ndarray, np.ndarray]:
    """(V, 3) vertices, poles last, and (F, 3) facets, turned outwards."""
    turn = 2 * np.pi * np.arange(meridians) / meridians
    height = np.pi * np.arange(1, parallels)[:, None] / parallels
    x, y, z = np.broadcast_arrays(
        np.sin(height) * np.cos(turn), np.sin(height) * np.sin(turn), np.cos(height)
    )
    rings = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    vertex = np.arange(len(rings)).reshape(parallels - 1, meridians)
    next_vertex = np.roll(vertex, -1, axis=1)
    north, south = np.full(meridians, len(rings)), np.full(meridians, len(rings) + 1)
    facets = [
        np.stack([vertex[:-1], vertex[1:], next_vertex[1:]], axis=-1).reshape(-1, 3),
        np.stack([vertex[:-1], next_vertex[1:], next_vertex[:-1]], axis=-1).reshape(-1, 3),
        np.stack([north, vertex[0], next_vertex[0]], axis=-1),
        np.stack([south, next_vertex[-1], vertex[-1]], axis=-1),
    ]
    return np.concatenate([rings, [[0, 0, 1], [0, 0, -1]]]), np.concatenate(facets)


def packed(values: np.ndarray, kind: str) -> dict[str, str]:
    """Numbers as Plotly's base64: `"f4"` with six digits, `"u1"` for whole numbers below 256."""
    return {"dtype": kind, "bdata": b64encode(values.astype(f"<{kind}").tobytes()).decode()}


def _placed(body: Body, pi: Vector | None) -> PlacedBody | None:
    """The ellipsoid in the world; None without parameters or placement, or for an impossible body."""
    if pi is None or body.placement is None:
        return None
    try:
        ellipsoid = equivalent_ellipsoid(pi)
    except ImpossibleBody:
        return None
    R_wb, p_wb = body.placement[:3, :3], body.placement[:3, 3]
    radii = R_wb @ (ellipsoid.axes * ellipsoid.semi_axes)
    return PlacedBody(body, pi, ellipsoid, R_wb @ ellipsoid.center + p_wb, radii)


def view(frames: Matrix, boxes: np.ndarray) -> tuple[Vector, Vector, np.ndarray]:
    """Two corners of what is shown, and which ellipsoids are not too large for it.

    A nearly massless body may have an ellipsoid of many metres, beside which the robot would be too small to see.

    Args:
        frames: (F, 3) points that are shown. boxes: (k, P, 3) points of each ellipsoid, about its centre.
    """
    points = np.concatenate([frames, boxes.mean(axis=1)])
    size = np.linalg.norm(np.ptp(points, axis=0))
    fits = (size == 0) | (np.ptp(boxes, axis=1).max(axis=1) <= 2 * LARGE * size)
    points = np.concatenate([points, boxes[fits].reshape(-1, 3)])
    return points.min(axis=0), points.max(axis=0), fits


def scene_of(low: Vector, high: Vector) -> dict[str, Any]:
    """Axes that contain these corners, with the same scale; seen from the side, a little from above."""
    middle, half = (low + high) / 2, (high - low) / 2
    # A planar robot gets a box with some depth, and a single point half a metre.
    half = np.maximum(1.04 * half, 0.15 * half.max() or 0.5)
    low, high, sides = middle - half, middle + half, BOX * half / np.linalg.norm(half)
    axes = {
        f"{name}axis": axis(
            range=[round(float(a), 5), round(float(b), 5)], nticks=6, showspikes=False, showbackground=False
        )
        | {"title": {"text": f"{name} [m]", "font": {"size": 12, "color": MUTED}}}
        for name, a, b in zip("xyz", low, high, strict=True)
    }
    for one in axes.values():
        del one["automargin"]  # only axes of two dimensions have it
    return axes | {
        "aspectmode": "manual",
        "aspectratio": {name: round(float(side), 5) for name, side in zip("xyz", sides, strict=True)},
        "camera": {"eye": {"x": 1.15, "y": -1.6, "z": 0.7}, "center": {"x": 0, "y": 0, "z": -0.07}},
        "dragmode": "turntable",
    }


def _trace(kind: str, points: np.ndarray, **more: Any) -> dict[str, Any]:
    x, y, z = (packed(column, "f4") for column in points.T)
    return {"type": kind, "x": x, "y": y, "z": z, "showlegend": False} | more


def _key(name: str, group: str, **look: Any) -> dict[str, Any]:
    """An entry of the legend, which hides and shows its group."""
    nowhere = {"x": [None], "y": [None], "z": [None]}
    return {"type": "scatter3d", "name": name, "legendgroup": group, "hoverinfo": "skip"} | nowhere | look


def _frames(bodies: list[Body]) -> list[dict[str, Any]]:
    """A line from the frame of each body's parent to its own, and a dot where each is."""
    places = {body.name: body.placement[:3, 3] for body in bodies if body.placement is not None}
    points, places[""] = np.array([*places.values()]), np.zeros(3)
    gap = np.full(3, np.nan)
    ends = [(places[body.parent], places[body.name], gap) for body in bodies if body.parent in places]
    lines = np.array(ends).reshape(-1, 3) if ends else gap[None]
    line, dot = {"color": INK, "width": 5}, {"color": INK, "size": 5}
    return [
        _trace("scatter3d", lines, mode="lines", legendgroup="frames", hoverinfo="skip", line=line),
        _key("frames of the bodies", "frames", mode="lines+markers", marker=dot, line=line),
        _trace(
            "scatter3d", points, mode="markers", legendgroup="frames", marker=dot,
            hovertext=[f"frame of {plain(body.name)}" for body in bodies], hoverinfo="text",
        ),
    ]  # fmt: skip


def _before(before: list[PlacedBody]) -> list[dict[str, Any]]:
    if not before:
        return []
    turn = np.linspace(0, 2 * np.pi, SEGMENTS + 1)
    circle = np.stack([np.cos(turn), np.sin(turn), np.zeros_like(turn)], axis=-1)
    gap = np.full((1, 3), np.nan)
    # One circle in three planes, by permuting its coordinates.
    ellipses = np.concatenate([part for k in range(3) for part in (np.roll(circle, k, axis=1), gap)])
    line = {"color": BEFORE, "width": 2.5}
    return [
        _key("before the data", "before", mode="lines", line=line),
        *(
            _trace(
                "scatter3d", one.center + ellipses @ one.radii.T, mode="lines", legendgroup="before", line=line,
                hovertext=_words(one, "before the data"), hoverinfo="text",
            )
            for one in before
        ),
    ]  # fmt: skip


def _others(others: list[PlacedBody]) -> list[dict[str, Any]]:
    """Bodies that only the description knows, as pale surfaces."""
    grey = SHADES[Origin.from_prior]
    key = _key(
        "as described", "others", mode="markers", marker={"size": 10, "symbol": "circle", "color": grey}
    )
    surfaces = [_surface(one, "as described", COARSE, "others", color=grey, opacity=0.45) for one in others]
    return [key, *surfaces] if others else []


LIGHTING = {"ambient": 0.75, "diffuse": 0.4, "specular": 0.1, "roughness": 0.9}
LIGHT = {"x": 1000, "y": -2000, "z": 3000}


def _now(now: list[PlacedBody]) -> list[dict[str, Any]]:
    origins = [origin(one.body.prior_share) for one in now]
    names = {word: f"identified, {word.value}" for word in Origin} | {None: "identified"}
    dot = {"size": 10, "symbol": "circle"}
    keys = [
        _key(name, "now", mode="markers", marker=dot | {"color": SHADES[word] if word else ACCENT})
        for word, name in names.items()
        if word in origins
    ]
    return [
        *keys,
        *(
            _surface(
                one, "identified", FINE if len(now) <= FEW else COARSE, "now",
                color=SHADES[word] if word else ACCENT, opacity=1 - 0.6 * (one.body.prior_share or 0.0),
            )
            for one, word in zip(now, origins, strict=True)
        ),
    ]  # fmt: skip


def _surface(one: PlacedBody, which: str, parts: tuple[int, int], group: str, **look: Any) -> dict[str, Any]:
    sphere, facets = unit_sphere(*parts)
    # One byte an index: a sphere has fewer than 256 vertices.
    i, j, k = (packed(column, "u1") for column in facets.T)
    return _trace(
        "mesh3d", one.center + sphere @ one.radii.T, i=i, j=j, k=k, legendgroup=group, hoverinfo="text",
        hovertext=_words(one, which), lighting=LIGHTING, lightposition=LIGHT, **look,
    )  # fmt: skip


def _words(one: PlacedBody, which: str) -> str:
    """Text shown on hovering."""
    identified, m = which == "identified", float(one.pi[0])
    mass = plus_minus(m, float(spread(one.body)[0])) if identified else significant(m)
    center = ", ".join(significant(100 * float(c), 3) for c in one.ellipsoid.center)
    axes = ", ".join(significant(100 * float(a), 3) for a in one.ellipsoid.semi_axes)
    lines = [
        f"<b>{plain(one.body.name)}</b>, {which}",
        f"mass {mass.removesuffix(' ± –')} kg",
        f"centre of mass {center} cm",
        f"semi-axes {axes} cm",
    ]
    if identified:
        word = origin(one.body.prior_share)
        lines.append(f"possible, {word.value}" if word else "possible")
        moved = change(one.body)
        if moved is not None and np.isfinite(moved[:2]).all():
            lines.append(
                f"mass {significant(moved.mass_ratio, 3)} times that before, "
                f"centre moved by {significant(100 * moved.shift, 2)} cm"
            )
    return "<br>".join(lines)


def _caption(
    bodies: list[Body], now: list[PlacedBody], before: list[PlacedBody], cut: list[PlacedBody]
) -> str:
    sentences = [
        "Each body is the uniform ellipsoid with its mass, centre of mass and inertia; lines join the frames. "
        "Drag to turn it; click the legend to hide or show."
    ]
    if not now:
        sentences.append("Bodies are drawn as described: no single body was identified.")
    if len({origin(one.body.prior_share) for one in now}) > 1:
        sentences.append("The paler and more transparent a body, the more of it comes from the prior.")
    wanted = [(body, "identified", now) for body in bodies if body.inertial is not None]
    wanted += [(body, "before the data", before) for body in bodies if prior_of(body) is not None]
    missing = [
        f"{body.name} {which}" for body, which, drawn in wanted if all(x.body is not body for x in drawn)
    ]
    if missing:
        sentences.append(f"Not drawn, since physically impossible: {series(missing)}.")
    if cut:
        names = list(dict.fromkeys(one.body.name for one in cut))
        sentences.append(f"Larger than the picture, and cut off at its edge: {series(names)}.")
    sentences.append("The tables have the same values, for browsers that cannot draw in three dimensions.")
    return " ".join(sentences)
