"""The scene in a browser: served by viser only on this machine, or as one file that needs no server.

The tree of the scene is /estimated/BODY and /recorded/BODY, a frame each, that carries the ellipsoids of the body;
motions move these frames. Forces at contacts are lines in the world.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from itertools import product
from pathlib import Path

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from ...exceptions import MissingExtra, UnwritableOutput
from ...io.writing import write_text
from ..figures.ellipsoids import view
from .prior_weight import PriorWeight
from .scene import ViewedScene
from .subject import Surface, ViewedMotion

try:
    import viser
except ImportError:
    raise MissingExtra("viewer", "viser") from None

HOST = "127.0.0.1"
"""Loopback: no other machine sees the page."""
FRAME_S = 1 / 30
"""Interval of the pictures while the motion plays [s]."""
MOST_FRAMES = 200
"""Largest number of frames of a recorded file."""
SHORTEST_S = 5.0
"""A motion that takes less plays more slowly, in this time [s]."""
IDENTIFIED, BEFORE, FORCE = (31, 95, 168), (224, 108, 0), (190, 30, 45)
LINE, WALL = (60, 60, 60), (201, 209, 217)
PRIOR_STD = -2.0, 0.5
"""Ends of the slider of the prior's standard deviation, as decimal logarithms."""
NEWTON = 2e-3
"""Length of a line for each newton [m]."""


class Viewer:
    """The scene on a server. `port`: port on which it listens; if it is in use, a free one is used."""

    def __init__(self, scene: ViewedScene, port: int = 8080):
        self.scene = scene
        with redirect_stdout(StringIO()):  # messages of viser
            self.server = viser.ViserServer(host=HOST, port=port, label="poinsot", verbose=False)
        # A shared page would pass through another machine.
        self.server.gui.configure_theme(show_share_button=False, show_logo=False)
        self.server.scene.set_up_direction("+z")
        self.moved: dict[str, list[viser.FrameHandle]] = {}
        self.identified: list[viser.MeshHandle] = []
        for kind, motions in (("recorded", scene.recorded), ("estimated", scene.estimated)):
            if motions:
                self.moved[kind] = self._bodies(kind)
        for k, surface in enumerate(scene.still):
            self.server.scene.add_mesh_simple(
                f"/wall {k}", surface.vertices, surface.faces, color=WALL, side="double", flat_shading=True
            )
        self.forces: list[viser.LineSegmentsHandle] = []
        low, high = self._extent()
        ground = min(0.0, float(low[2]))
        low, high = np.minimum(low, (low + high) / 2 - 0.15), np.maximum(high, (low + high) / 2 + 0.15)
        size = float(np.linalg.norm(high - low))
        self.server.scene.add_grid(
            "/ground", width=4 * size, height=4 * size, cell_size=0.1, section_size=1.0,
            position=(0.0, 0.0, ground),
        )  # fmt: skip
        self.server.initial_camera.position = (low + high) / 2 + np.array([0.7, -1.0, 0.45]) * size
        self.server.initial_camera.look_at = (low + high) / 2

    def close(self) -> None:
        """Stop the server."""
        with redirect_stdout(StringIO()):
            self.server.stop()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server.get_port()}"

    def _extent(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of the box in which the bodies are, as far as they are not too large (`view`)."""
        (motion, *_) = (*self.scene.estimated, *self.scene.recorded)
        R, p = motion.placements[..., :3, :3], motion.placements[..., :3, 3]
        boxes = []
        for surface in (*self.scene.identified, *self.scene.before):
            k = self.scene.bodies.index(surface.body)
            ends = surface.vertices.min(axis=0), surface.vertices.max(axis=0)
            corners = np.array(list(product(*zip(*ends, strict=True))))
            boxes.append((np.einsum("tij, kj -> tki", R[:, k], corners) + p[:, None, k]).reshape(-1, 3))
        return view(p.reshape(-1, 3), np.array(boxes or np.zeros((0, 1, 3))))[:2]

    def _bodies(self, kind: str) -> list[viser.FrameHandle]:
        """A frame for each body, with its surfaces and lines."""
        add = self.server.scene
        frames = [add.add_frame(f"/{kind}/{body}", show_axes=False) for body in self.scene.bodies]
        for body, ends in self.scene.lines.items():
            if len(ends):
                add.add_line_segments(f"/{kind}/{body}/lines", ends, LINE, thickness=0.006)
        self.draw_identified(self.scene.identified, kind)
        for surface in self.scene.before:
            opacity = 0.15 if self._is_pale(kind) else 0.35
            add.add_mesh_simple(
                f"/{kind}/{surface.body}/before", surface.vertices, surface.faces, color=BEFORE, wireframe=True,
                opacity=opacity, flat_shading=False,
            )  # fmt: skip
        return frames

    def _is_pale(self, kind: str) -> bool:
        """Whether bodies are drawn pale: only the main motion has both ellipsoids in full."""
        return kind == "recorded" and bool(self.scene.estimated)

    def draw_identified(self, surfaces: Sequence[Surface], *kinds: str) -> None:
        """Draw the identified bodies in these trees, in place of those that were there."""
        for handle in [drawn for drawn in self.identified if drawn.name.split("/")[1] in kinds]:
            handle.remove()
            self.identified.remove(handle)
        for kind in kinds:
            for surface in surfaces:
                opacity = 0.15 if self._is_pale(kind) else 0.9 - 0.55 * surface.share
                mesh = self.server.scene.add_mesh_simple(
                    f"/{kind}/{surface.body}/identified", surface.vertices, surface.faces, color=IDENTIFIED,
                    opacity=opacity, flat_shading=False,
                )  # fmt: skip
                self.identified.append(mesh)

    def draw(self, kind: str, motion: ViewedMotion, sample: int) -> None:
        """The bodies of one tree at a sample, with the forces."""
        T_wb: Float[np.ndarray, "l 4 4"] = motion.placements[sample]
        wxyz = np.roll(Rotation.from_matrix(T_wb[:, :3, :3]).as_quat(), 1, axis=1)
        with self.server.atomic():
            for frame, placement, quaternion in zip(self.moved[kind], T_wb, wxyz, strict=True):
                frame.position, frame.wxyz = placement[:3, 3], quaternion
            if kind == "estimated" or not self.scene.estimated:
                self._draw_forces(motion, sample)

    def _draw_forces(self, motion: ViewedMotion, sample: int) -> None:
        for handle in self.forces:
            handle.remove()
        self.forces = []
        for name, values in motion.forces.items():
            place, force = values[sample]
            if np.isfinite(force).all():
                ends = np.stack([place, place + NEWTON * force])[None]
                self.forces.append(
                    self.server.scene.add_line_segments(f"/forces/{name}", ends, FORCE, thickness=0.01)
                )


def serve(
    scene: ViewedScene,
    say: Callable[[str], None],
    port: int = 8080,
    stop: Callable[[], bool] | None = None,
    prior: PriorWeight | None = None,
) -> None:
    """Serve the scene until the program is interrupted, or `stop` returns True.

    Args:
        say: called with the address. port: port on which to listen, only on this machine.
        prior: solves again for the slider of the prior's standard deviation; None: there is no such slider.
    """
    viewer = Viewer(scene, port)
    names = [motion.name for motion in (scene.estimated or scene.recorded)]
    gui = viewer.server.gui
    which = gui.add_dropdown("recording", names)
    play = gui.add_checkbox("play", True)
    now = gui.add_slider("time [s]", 0.0, 1.0, 0.001, 0.0)
    for kind in viewer.moved:
        box = gui.add_checkbox(f"show {kind}", True)
        box.on_update(partial(_show, viewer.moved[kind]))
    weight = None if prior is None else _Weight(viewer, prior)
    speed = gui.add_slider("speed", 0.01, 1.0, 0.01, 1.0, hint="1: as fast as it was")
    curves = _Curves(viewer, scene, names)
    shown: list[ViewedMotion] = []

    def choose() -> None:
        k = names.index(which.value)
        shown[:] = [motions[k] for motions in (scene.recorded, scene.estimated) if motions]
        begin, end = shown[-1].time[0], shown[-1].time[-1]
        now.min, now.max = float(begin), float(end)
        speed.value = playing_speed(shown[-1])  # type: ignore[misc]
        now.value = float(begin)  # type: ignore[misc] # viser's property is written through
        curves.choose(k)

    def move() -> None:
        for kind, motion in zip(viewer.moved, shown, strict=True):
            sample = int(np.clip(np.searchsorted(motion.time, now.value), 0, len(motion.time) - 1))
            viewer.draw(kind, motion, sample)
        curves.mark(now.value)

    which.on_update(lambda _: choose())
    now.on_update(lambda _: move())
    choose()
    move()
    say(viewer.url)
    try:
        while stop is None or not stop():
            time.sleep(FRAME_S)
            if weight is not None:
                weight.follow()
            if play.value:
                ahead = now.value + FRAME_S * speed.value
                now.value = now.min if ahead > now.max else ahead  # type: ignore[misc]
    finally:
        viewer.close()


def playing_speed(motion: ViewedMotion) -> float:
    """Speed at which a motion is played, 1 as fast as it was: short ones take `SHORTEST_S`."""
    return min(1.0, max(0.01, float(motion.time[-1] - motion.time[0]) / SHORTEST_S))


def _show(frames: Sequence[viser.FrameHandle], event: viser.GuiEvent[viser.GuiCheckboxHandle]) -> None:
    for frame in frames:
        frame.visible = event.target.value


class _Weight:
    """A slider of the prior's standard deviation. The bodies are solved again where it has moved."""

    def __init__(self, viewer: Viewer, prior: PriorWeight):
        self.viewer, self.prior, self.drawn = viewer, prior, prior.method.prior_std
        gui = viewer.server.gui
        low, high = PRIOR_STD
        at = float(np.clip(np.log10(self.drawn), low, high))
        hint = "Standard deviation of the logarithm of a body: 0.1 keeps it within 10 % of its description"
        self.slider = gui.add_slider("prior std [log10]", low, high, 0.05, at, hint=hint)
        self.text = gui.add_markdown(prior.solve(self.drawn)[1])
        self.last = self.slider.value

    def follow(self) -> None:
        """Solve for the position of the slider; positions that it passed in between are skipped."""
        if (at := self.slider.value) == self.last:
            return
        self.last = at
        surfaces, text = self.prior.solve(10**at)
        with self.viewer.server.atomic():
            if surfaces:
                self.viewer.draw_identified(surfaces, *self.viewer.moved)
            self.text.content = f"prior std {10**at:.2g}\n\n{text}"


class _Curves:
    """A channel of the recording, measured and estimated, with a mark at the time that is shown."""

    POINTS = 600

    def __init__(self, viewer: Viewer, scene: ViewedScene, names: Sequence[str]):
        self.scene, self.number = scene, 0
        (motion, *_) = scene.estimated or scene.recorded
        gui = viewer.server.gui
        self.last = float(motion.time[0])
        self.channel = gui.add_dropdown("channel", list(motion.channels))
        self.plot = gui.add_uplot(
            self._data(self.last),
            ({}, {"label": "recorded", "stroke": "#e06c00"}, {"label": "estimated", "stroke": "#1f5fa8"},
             {"label": "now", "stroke": "#888888", "points": {"show": True, "size": 8}}),
            scales=self._scales(),
            aspect=1.2,
        )  # fmt: skip
        self.channel.on_update(lambda _: self.mark(None))

    def choose(self, number: int) -> None:
        self.number = number
        self.mark(None)

    def mark(self, at: float | None) -> None:
        """Draw the mark at another time; None: another channel or recording."""
        if at is None:
            self.plot.scales = self._scales()
        else:
            self.last = at
        self.plot.data = self._data(self.last)

    def _scales(self) -> dict[str, viser.uplot.Scale]:
        """Axes from the finite values: a missing curve has none."""
        x, *y = self._data(self.last)
        values = np.concatenate(y)
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        room = 0.05 * (high - low) or 1.0
        return {
            "x": {"time": False, "auto": False, "range": (float(x[0]), float(x[-1]))},
            "y": {"auto": False, "range": (low - room, high + room)},
        }

    def _data(self, at: float) -> tuple[np.ndarray, ...]:
        scene, k = self.scene, self.number
        (motion, *_) = [motions[k] for motions in (scene.estimated, scene.recorded) if motions]
        x = np.linspace(motion.time[0], motion.time[-1], min(self.POINTS, len(motion.time)))
        y = []
        for motions in (scene.recorded, scene.estimated):
            values = motions[k].channels.get(self.channel.value) if motions else None
            y.append(np.full(len(x), np.nan) if values is None else np.interp(x, motions[k].time, values))
        marked = np.full(len(x), np.nan)
        marked[np.abs(x - at).argmin()] = (y[1] if np.isfinite(y[1]).any() else y[0])[np.abs(x - at).argmin()]
        return (x, *y, marked)


def record(scene: ViewedScene, path: Path, motion: int = 0) -> None:
    """Write one HTML file in which the motion plays, without a server and without a network.

    Args:
        path: path of the file. motion: index of the recording.

    Raises:
        UnwritableOutput: if the file cannot be written.
    """
    if path.suffix.lower() not in (".html", ".htm"):
        raise UnwritableOutput(f"{path}: the animation is an HTML file: --record {path.with_suffix('.html')}")
    viewer = Viewer(scene, 0)
    try:
        serializer = viewer.server.get_scene_serializer()
        shown = [motions[motion] for motions in (scene.recorded, scene.estimated) if motions]
        clock = shown[-1].time
        count = min(MOST_FRAMES, len(clock))
        step = float(clock[-1] - clock[0]) / max(count - 1, 1)
        for at in np.linspace(clock[0], clock[-1], count):
            for kind, drawn in zip(viewer.moved, shown, strict=True):
                sample = int(np.clip(np.searchsorted(drawn.time, at), 0, len(drawn.time) - 1))
                viewer.draw(kind, drawn, sample)
            serializer.insert_sleep(step / playing_speed(shown[-1]))
        text = serializer.as_html()
    finally:
        viewer.close()
    write_text(path, text)
