"""Corruptions: errors between a robot and an estimate, each a named function of a scene.

A corruption changes arrays or settings of a `Scene` and is told by how much. To add one, write its function and list it
in `CORRUPTIONS` with the causes that name it rightly and its strengths. A function returns None where a scene has
nothing to corrupt in this way (lost samples leave their mark in a clock column).

    mild       strengths for which a warning that names the cause is enough
    BENIGN     changes that harm nothing: whatever is said of them is a false alarm
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.signal import butter, lfilter, sosfilt

from .scenes import Recorded, Scene, changed_joint, moved_bodies, numbers

Change = Callable[..., "Scene | None"]


@dataclass(frozen=True)
class Corruption:
    """One kind of defect.

    Args:
        name: name of the error.
        causes: causes of a finding, any of which names the error rightly.
        change: (scene, rng, *strength) -> the corrupted scene, or None.
        strengths: label -> arguments of `change`.
        mild: labels for which a warning of the right cause is enough.
    """

    name: str
    causes: frozenset[str]
    change: Change
    strengths: Mapping[str, tuple[Any, ...]]
    mild: frozenset[str] = frozenset()


# -- scales and units --------------------------------------------------------------------------------------------------


def scale_torque(scene: Scene, rng: np.random.Generator, factor: float, joint: int | None = None) -> Scene:
    chosen = slice(None) if joint is None else [scene.loaded[joint]]

    def change(recorded: Recorded) -> Recorded:
        effort = recorded.effort.copy()
        effort[:, chosen] *= factor
        return replace(recorded, effort=effort)

    return scene.change_recordings(change)


def scale_clock(scene: Scene, rng: np.random.Generator, factor: float) -> Scene:
    """A clock that runs `factor` times too fast."""

    def change(recorded: Recorded) -> Recorded:
        keys = dict(recorded.keys)
        if "window_s" in keys:
            keys["window_s"] = [x / factor for x in keys["window_s"]]
        if recorded.time is None:
            return replace(recorded, keys={**keys, "rate_hz": recorded.rate_hz * factor})
        start = recorded.time[0]
        return replace(recorded, keys=keys, time=start + (recorded.time - start) / factor)

    scene = scene.change_recordings(change)
    resample = scene.content["preprocessing"].get("resample_hz")
    return scene if resample is None else scene.with_keys("preprocessing", resample_hz=resample * factor)


def wrong_angle_unit(scene: Scene, rng: np.random.Generator, read_as: str) -> Scene:
    """Numbers in the other unit than declared; `read_as` is the declared one."""
    if scene.unit != read_as:
        return replace(scene, unit=read_as)
    factor = 180 / np.pi if read_as == "rad" else np.pi / 180
    return scene.change_recordings(lambda recorded: replace(recorded, position=recorded.position * factor))


def wrong_reduction(scene: Scene, rng: np.random.Generator, factor: float) -> Scene | None:
    """A reduction applied where none was, or not applied, or applied again."""
    drive = scene.content.get("drive", {})
    if scene.at_motors:
        if factor == 1:
            return replace(scene.with_keys("drive", side="joint", reduction=None, couplings=None))
        reduction = [float(factor * x) for x in np.broadcast_to(drive["reduction"], scene.n)]
        couplings = [
            {**coupling, "ratio": factor * coupling["ratio"]} for coupling in drive.get("couplings", ())
        ]
        return scene.with_keys("drive", reduction=reduction, couplings=couplings)
    if factor == 1:
        return None
    return scene.with_keys("drive", side="motor", reduction=[float(factor)] * scene.n)


def wrong_reduction_of_one(scene: Scene, rng: np.random.Generator, factor: float) -> Scene | None:
    if not scene.at_motors:
        return None
    reduction = [float(x) for x in np.broadcast_to(scene.content["drive"]["reduction"], scene.n)]
    reduction[scene.loaded[0]] *= factor
    return scene.with_keys("drive", reduction=reduction)


# -- positions ---------------------------------------------------------------------------------------------------------


def shift_zero(scene: Scene, rng: np.random.Generator, joint: int, degrees: float) -> Scene:
    offset = np.zeros(scene.n)
    offset[scene.loaded[joint]] = np.radians(degrees)
    shift = scene.reduction @ offset * scene.per_radian
    return scene.change_recordings(lambda recorded: replace(recorded, position=recorded.position + shift))


def wrap_angles(scene: Scene, rng: np.random.Generator, joint: int, turns: float) -> Scene:
    """Angles within one turn, whose end lies inside the motion of one joint (at motors: the motion of the motor)."""
    k = scene.loaded[joint]
    turn = turns * 2 * np.pi * scene.per_radian
    inside = np.quantile(np.concatenate([recorded.position[:, k] for recorded in scene.recorded]), 0.7)

    def change(recorded: Recorded) -> Recorded:
        position = recorded.position.copy()
        position[:, k] = (position[:, k] - inside) % turn + inside - turn
        return replace(recorded, position=position)

    return scene.change_recordings(change)


def position_spike(scene: Scene, rng: np.random.Generator, degrees: float) -> Scene:
    def change(recorded: Recorded) -> Recorded:
        position = recorded.position.copy()
        position[len(position) // 3, scene.loaded[0]] += np.radians(degrees) * scene.per_radian
        return replace(recorded, position=position)

    return scene.change_recordings(change)


# -- time --------------------------------------------------------------------------------------------------------------


def lose_samples(scene: Scene, rng: np.random.Generator, share: float) -> Scene | None:
    if any(recorded.time is not None for recorded in scene.recorded):
        return None
    return scene.change_recordings(lambda recorded: recorded.rows(rng.random(len(recorded.position)) > share))


def lose_stretch(scene: Scene, rng: np.random.Generator, seconds: float) -> Scene | None:
    """One gap in the middle, in files without a clock."""
    if any(recorded.time is not None for recorded in scene.recorded):
        return None

    def change(recorded: Recorded) -> Recorded:
        middle, count = int(0.45 * len(recorded.position)), max(2, round(seconds * recorded.rate_hz))
        return recorded.rows(np.r_[0:middle, middle + count : len(recorded.position)])

    return scene.change_recordings(change)


def delay_torque(scene: Scene, rng: np.random.Generator, ms: float, joint: int | None = None) -> Scene:
    """Torque that comes late (negative: early) by a whole number of samples, all of it or one joint's."""

    def change(recorded: Recorded) -> Recorded:
        n = max(1, round(abs(ms) * 1e-3 * recorded.rate_hz))
        effort = recorded.effort.copy()
        chosen = slice(None) if joint is None else [scene.loaded[joint]]
        if ms > 0:
            effort[n:, chosen] = recorded.effort[:-n, chosen]
        else:
            effort[:-n, chosen] = recorded.effort[n:, chosen]
        return replace(recorded, effort=effort).rows(np.s_[n : len(effort) - n])

    return scene.change_recordings(change)


def filter_torque(scene: Scene, rng: np.random.Generator, hz: float) -> Scene:
    """Torque that a drive low-passed, with the filter's lag."""

    def change(recorded: Recorded) -> Recorded:
        sos = butter(2, hz, fs=recorded.rate_hz, output="sos")
        first = recorded.effort[0]
        return replace(recorded, effort=first + sosfilt(sos, recorded.effort - first, axis=0))

    return scene.change_recordings(change)


# -- channels ----------------------------------------------------------------------------------------------------------


def negate(scene: Scene, rng: np.random.Generator, joint: int | None, symbols: str) -> Scene:
    """Positions (`q`), torques (`tau`) or both of a joint, or of all, with the other sign."""
    k = slice(None) if joint is None else scene.loaded[joint]
    signs = np.ones((2, scene.n))
    for row, symbol in enumerate(("q", "tau")):
        if symbol in symbols.split():
            signs[row, k] = -1
    return scene.change_recordings(
        lambda recorded: replace(
            recorded, position=recorded.position * signs[0], effort=recorded.effort * signs[1]
        )
    )


def permute(scene: Scene, rng: np.random.Generator, order: tuple[int, ...], symbols: str) -> Scene:
    """The first channels of positions (`q`), torques (`tau`) or both in another order."""
    places = [*order, *range(len(order), scene.n)]
    q, tau = (places if symbol in symbols.split() else slice(None) for symbol in ("q", "tau"))
    return scene.change_recordings(
        lambda recorded: replace(recorded, position=recorded.position[:, q], effort=recorded.effort[:, tau])
    )


# -- the description ---------------------------------------------------------------------------------------------------


def set_gravity(scene: Scene, rng: np.random.Generator, gravity: tuple[float, float, float]) -> Scene:
    return scene.with_keys("robot", gravity=list(gravity))


def scale_bodies(scene: Scene, rng: np.random.Generator, factor: float, which: str = "all") -> Scene:
    """Masses of the description, all or that of the body behind the first loaded joint."""
    bodies = _bodies(scene) if which == "all" else {_bodies(scene)[scene.loaded[0]]}
    change = lambda link, mass, com: (mass * factor if link in bodies else mass, com)  # noqa: E731
    return replace(scene, urdf=moved_bodies(scene.urdf, change))


def _bodies(scene: Scene) -> list[str]:
    joints = ElementTree.fromstring(scene.urdf).findall("joint")
    child = {element.get("name"): element.find("child").get("link") for element in joints}
    return [child[joint] for joint in scene.joints]


def lengthen(scene: Scene, rng: np.random.Generator, factor: float) -> Scene:
    """A link of another length than described: that between the first two loaded joints."""

    def change(origin: Any, axis: Any) -> None:
        origin.set("xyz", " ".join(repr(float(x)) for x in factor * numbers(origin, "xyz")))

    return replace(scene, urdf=changed_joint(scene.urdf, scene.joints[scene.loaded[1]], change))


def write_millimetres(scene: Scene, rng: np.random.Generator) -> Scene:
    """Origins and inertias of the description in mm and kg mm^2."""
    tree = ElementTree.fromstring(scene.urdf)
    for element, keys, factor in (
        ("origin", ["xyz"], 1e3),
        ("inertia", ["ixx", "ixy", "ixz", "iyy", "iyz", "izz"], 1e6),
    ):
        for node in tree.iter(element):
            for key in (key for key in keys if key in node.attrib):
                node.set(key, " ".join(repr(factor * float(x)) for x in node.get(key).split()))
    return replace(scene, urdf=ElementTree.tostring(tree, encoding="unicode"))


def tilt_joint(scene: Scene, rng: np.random.Generator, degrees: float) -> Scene:
    """An axis mounted askew: the first loaded joint's frame turned about the normal of its axis and the last one."""
    import pinocchio as pin

    k = scene.loaded[0]
    before: list[np.ndarray] = []
    changed_joint(scene.urdf, scene.joints[k - 1], lambda _, axis: before.append(numbers(axis, "xyz")))

    def change(origin: Any, axis: Any) -> None:
        R = pin.rpy.rpyToMatrix(numbers(origin, "rpy"))
        # a turn about the last axis itself is an offset of that joint, unobservable where the axis is vertical
        normal = np.cross(numbers(axis, "xyz"), R.T @ before[0])
        turned = R @ pin.AngleAxis(np.radians(degrees), normal / np.linalg.norm(normal)).toRotationMatrix()
        origin.set("rpy", " ".join(repr(float(x)) for x in pin.rpy.matrixToRpy(turned)))

    return replace(scene, urdf=changed_joint(scene.urdf, scene.joints[k], change))


# -- torque ------------------------------------------------------------------------------------------------------------


def noise_torque(scene: Scene, rng: np.random.Generator, memory_s: float) -> Scene:
    """Torque of the right size that has nothing to do with the motion."""

    def change(recorded: Recorded) -> Recorded:
        size = np.sqrt(np.mean(recorded.effort**2, axis=0))
        noise = rng.standard_normal(recorded.effort.shape)
        if memory_s:
            rho = np.exp(-1 / (memory_s * recorded.rate_hz))
            noise = np.sqrt(1 - rho**2) * lfilter([1], [1, -rho], noise, axis=0)
        return replace(recorded, effort=size * noise)

    return scene.change_recordings(change)


def other_torque(scene: Scene, rng: np.random.Generator) -> Scene:
    """Torque of another moment: the recording's own, backwards."""
    return scene.change_recordings(lambda recorded: replace(recorded, effort=recorded.effort[::-1].copy()))


def spikes(
    scene: Scene, rng: np.random.Generator, count: int | float, size: float, relative: bool = True
) -> Scene:
    """Single wrong samples in one channel (count) or all (share), absolute or in root mean squares."""

    def change(recorded: Recorded) -> Recorded:
        effort = recorded.effort.copy()
        rms = np.sqrt(np.mean(effort**2, axis=0)) if relative else np.ones(scene.n)
        if count == 1:
            effort[len(effort) // 3, scene.loaded[0]] = size * rms[scene.loaded[0]]
        else:
            hit = rng.random(effort.shape) < count
            effort[hit] += (rng.choice([-1, 1], effort.shape) * size * rms)[hit]
        return replace(recorded, effort=effort)

    return scene.change_recordings(change)


def drop_torque(
    scene: Scene, rng: np.random.Generator, share: float, joint: int | None = None, held: bool = False
) -> Scene:
    """Zeros, or the last value held, over a stretch of the motion."""

    def change(recorded: Recorded) -> Recorded:
        start, stop = recorded.keys.get("window_s", (0.0, np.inf))
        clock = recorded.clock - recorded.clock[0]
        inside = np.flatnonzero((clock >= start) & (clock <= stop))
        a = inside[int(0.4 * len(inside))] if share < 1 else 0
        b = a + round(share * len(inside)) if share < 1 else len(clock)
        effort = recorded.effort.copy()
        chosen = slice(None) if joint is None else [scene.loaded[joint]]
        effort[a:b, chosen] = effort[a, chosen] if held else 0.0
        return replace(recorded, effort=effort)

    return scene.change_recordings(change)


def change_gain(
    scene: Scene, rng: np.random.Generator, factor: float, joint: int | None = None, ramp: bool = False
) -> Scene:
    def change(recorded: Recorded) -> Recorded:
        T = len(recorded.effort)
        gain = np.linspace(1, factor, T) if ramp else np.where(np.arange(T) < T // 2, 1.0, factor)
        gains = np.ones(recorded.effort.shape)
        chosen = slice(None) if joint is None else [scene.loaded[joint]]
        gains[:, chosen] = gain[:, None]
        return replace(recorded, effort=recorded.effort * gains)

    return scene.change_recordings(change)


def saturate(scene: Scene, rng: np.random.Generator, share: float) -> Scene:
    """Torque cut where it exceeds this share of its largest value."""

    def change(recorded: Recorded) -> Recorded:
        limit = share * np.abs(recorded.effort).max(axis=0)
        return replace(recorded, effort=np.clip(recorded.effort, -limit, limit))

    return scene.change_recordings(change)


def forget_gain(scene: Scene, rng: np.random.Generator) -> Scene | None:
    """Currents taken for torques."""
    if scene.quantity != "current":
        return None
    return replace(scene.with_keys("drive", gain=None), quantity="torque", effort_unit="N m")


# -- what the model lacks ----------------------------------------------------------------------------------------------


def _added(scene: Scene, term: Callable[[Recorded, np.ndarray, np.ndarray], np.ndarray]) -> Scene:
    """`term(recorded, q, v)`: (T, n) joint torque that is measured too. [N m]"""

    def change(recorded: Recorded) -> Recorded:
        q, v, _ = scene.motion(recorded)
        return replace(recorded, effort=recorded.effort + scene.measured_efforts(term(recorded, q, v)))

    return scene.change_recordings(change)


def _rms(scene: Scene) -> np.ndarray:
    return np.sqrt(
        np.mean(np.vstack([scene.joint_torques(recorded) for recorded in scene.recorded]) ** 2, axis=0)
    )


def counterbalance(scene: Scene, rng: np.random.Generator, share: float) -> Scene:
    """A gas spring between two attachment points, 0.1 and 0.35 m from the first loaded axis, nearly in line."""
    k, a, b = scene.loaded[0], 0.1, 0.35
    size = _rms(scene)[k]

    def torque(q: np.ndarray) -> np.ndarray:
        length = np.sqrt(a**2 + b**2 - 2 * a * b * np.cos(q + 0.4))
        return (0.45 / (length + 0.15)) ** 1.3 * a * b * np.sin(q + 0.4) / length

    angles = np.concatenate([scene.motion(recorded)[0][:, k] for recorded in scene.recorded])
    scale = share * size / np.sqrt(np.mean(torque(angles) ** 2))
    unit = np.eye(scene.n)[k]
    return _added(scene, lambda recorded, q, v: scale * torque(q[:, k])[:, None] * unit)


def ripple(scene: Scene, rng: np.random.Generator, share: float, per_turn: int) -> Scene:
    k = scene.loaded[0]
    size, unit = share * np.sqrt(2) * _rms(scene)[k], np.eye(scene.n)[k]
    return _added(scene, lambda recorded, q, v: size * np.sin(per_turn * q[:, k])[:, None] * unit)


def spring(scene: Scene, rng: np.random.Generator, share: float) -> Scene:
    """A torsional spring that the model lacks, at the joint whose motion is largest among the loaded ones."""
    k = scene.loaded[1]
    q_all = np.concatenate([scene.motion(recorded)[0][:, k] for recorded in scene.recorded])
    middle, unit = q_all.mean(), np.eye(scene.n)[k]
    size = share * _rms(scene)[k] / q_all.std()
    return _added(scene, lambda recorded, q, v: size * (q[:, k] - middle)[:, None] * unit)


def stribeck(scene: Scene, rng: np.random.Generator, share: float) -> Scene:
    """Breakaway friction at low speed in all joints, as a share of each torque's root mean square."""
    size = share * _rms(scene)

    def term(recorded: Recorded, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        slow = 0.3 * v.std(axis=0)
        return size * np.sign(v) * np.exp(-((v / slow) ** 2))

    return _added(scene, term)


def warm_up(scene: Scene, rng: np.random.Generator, share: float) -> Scene:
    """Friction that falls as joints warm: by this share of each torque's root mean square from start to end."""
    size = share * _rms(scene)

    def term(recorded: Recorded, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        clock = recorded.clock - recorded.clock[0]
        cold = np.exp(-3 * clock / clock[-1])[:, None]
        return size * cold * np.tanh(v / (0.02 * v.std(axis=0)))

    return _added(scene, term)


def push(scene: Scene, rng: np.random.Generator, share: float, seconds: float) -> Scene:
    """Someone leans on the arm for a while."""
    k = scene.loaded[0]
    size, unit = share * _rms(scene)[k], np.eye(scene.n)[k]

    def term(recorded: Recorded, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        clock = recorded.clock - recorded.clock[0]
        inside = np.abs(clock - 0.6 * clock[-1]) < seconds / 2
        return size * inside[:, None] * unit

    return _added(scene, term)


# -- the list ----------------------------------------------------------------------------------------------------------


def _listed(
    name: str, causes: str, change: Change, strengths: Mapping[str, tuple[Any, ...]], mild: str = ""
) -> Corruption:
    return Corruption(
        name, frozenset(causes.split()), change, strengths, frozenset(filter(None, mild.split("; ")))
    )


MISSING = "missing-term position-dependent-effort"
SCALES = {f"x {factor:g}": (factor,) for factor in (1e3, 1e-3, 100, 10, 0.1, 3)}
CLOCKS = {f"x {factor:g}": (factor,) for factor in (1.1, 0.9, 1.3, 2, 10, 1.03)}
CORRUPTIONS = (
    _listed("torque scale", "torque-scale", scale_torque, SCALES, mild="x 3"),
    _listed(
        "torque scale of one joint",
        "torque-scale",
        scale_torque,
        {"x 1000": (1e3, 0), "x 10": (10, 0), "x .1": (0.1, 1)},
    ),
    _listed("currents taken for torques", "torque-scale", forget_gain, {"": ()}),
    _listed(
        "joint zero",
        "joint-zero",
        shift_zero,
        {
            "2nd + 10 deg": (0, 10),
            "2nd + 90 deg": (0, 90),
            "2nd - 30 deg": (0, -30),
            "2nd + 180 deg": (0, 180),
            "3rd + 120 deg": (1, 120),
            "3rd - 45 deg": (1, -45),
            "2nd + 3 deg": (0, 3),
        },
        mild="2nd + 3 deg; 3rd - 45 deg",
    ),
    _listed("clock", "clock-scale", scale_clock, CLOCKS, mild="x 1.03"),
    _listed(
        "angle unit",
        "angle-unit",
        wrong_angle_unit,
        {"radians declared degrees": ("deg",), "degrees declared radians": ("rad",)},
    ),
    _listed(
        "reduction",
        "reduction angle-unit",
        wrong_reduction,
        {"applied to joint side, or once more": (100,), "left out": (1,), "x 2": (2,)},
    ),
    _listed(
        "reduction of one joint",
        "reduction torque-scale sign",
        wrong_reduction_of_one,
        {"x 1.5": (1.5,), "x -1": (-1,)},
    ),
    _listed("lost samples", "lost-samples", lose_samples, {"1 %": (0.01,), "5 %": (0.05,), ".3 %": (0.003,)}),
    _listed("lost stretch", "lost-samples", lose_stretch, {".1 s": (0.1,), "1 s": (1.0,)}),
    _listed(
        "torque delay",
        "delay",
        delay_torque,
        {
            "20 ms": (20,),
            "50 ms": (50,),
            "- 30 ms": (-30,),
            "200 ms": (200,),
            "10 ms": (10,),
            "one joint 40 ms": (40, 0),
        },
        mild="10 ms",
    ),
    _listed(
        "torque filtered by the drive", "delay", filter_torque, {"5 Hz": (5,), "2 Hz": (2,)}, mild="5 Hz"
    ),
    _listed(
        "sign",
        "sign",
        negate,
        {
            "q2 and tau2": (0, "q tau"),
            "tau2": (0, "tau"),
            "q2": (0, "q"),
            "tau3": (1, "tau"),
            "q3": (1, "q"),
            "all tau": (None, "tau"),
            "q3 and tau3": (1, "q tau"),
        },
    ),
    _listed(
        "swapped",
        "swapped-channels",
        permute,
        {
            "tau1 tau2": ((1, 0), "tau"),
            "q1 q2": ((1, 0), "q"),
            "tau2 tau3": ((0, 2, 1), "tau"),
            "q2 q3": ((0, 2, 1), "q"),
            "q and tau of 2 3": ((0, 2, 1), "q tau"),
            "tau in a circle": ((1, 2, 0), "tau"),
        },
    ),
    _listed(
        "gravity",
        "gravity",
        set_gravity,
        {
            "1 m/s2": ((0, 0, -1.0),),
            "along x": ((9.81, 0, 0),),
            "upside down": ((0, 0, 9.81),),
            "none": ((0, 0, 0),),
            "tilted 30 deg": ((4.905, 0, -8.496),),
            "tilted 10 deg": ((1.703, 0, -9.661),),
        },
    ),
    _listed(
        "description's masses",
        "torque-scale mass description",
        scale_bodies,
        {"x 10": (10,), "x .1": (0.1,), "one x 20": (20, "one")},
        mild="one x 20",
    ),
    _listed(
        "described length",
        f"description poor-fit clock-scale {MISSING}",  # gravity shows L c^2 of a length and a clock
        lengthen,
        {"x 1.5": (1.5,), "x .5": (0.5,), "x 1.2": (1.2,), "x 1.1": (1.1,)},
        mild="x 1.1",
    ),
    _listed("description in mm", "length-unit", write_millimetres, {"": ()}),
    _listed(
        "axis askew",
        f"gravity joint-zero description poor-fit {MISSING}",
        tilt_joint,
        {"10 deg": (10,), "30 deg": (30,)},
    ),
    _listed("torque is noise", "torque-noise", noise_torque, {"white": (0,), "coloured .2 s": (0.2,)}),
    _listed("torque of another moment", "torque-noise", other_torque, {"": ()}),
    _listed(
        "outliers",
        "outliers",
        spikes,
        {
            "one of 1e6": (1, 1e6, False),
            "one of 30 rms": (1, 30),
            "1 % of 10 rms": (0.01, 10),
            ".1 % of 30 rms": (0.001, 30),
        },
        mild="one of 30 rms",
    ),
    _listed(
        "spike in a position",
        "position-outliers position-jump outliers",
        position_spike,
        {"60 deg": (60,), "5 deg": (5,)},
        mild="5 deg",
    ),
    _listed(
        "dropped torque",
        "dropped-torque",
        drop_torque,
        {
            "5 %": (0.05,),
            "20 %": (0.2,),
            "2 %": (0.02,),
            "tau2 20 %": (0.2, 0),
            "tau2 always": (1, 0),
            "held 10 %": (0.1, None, True),
        },
        mild="2 %",
    ),
    _listed(
        "gain change",
        "gain-change",
        change_gain,
        {
            "+ 30 %": (1.3,),
            "- 20 %": (0.8,),
            "+ 10 %": (1.1,),
            "tau2 + 30 %": (1.3, 0),
            "ramp to + 30 %": (1.3, None, True),
        },
        mild="+ 10 %",
    ),
    _listed("wrapped angles", "wrapped-angles", wrap_angles, {"2nd": (0, 1), "3rd": (1, 1)}),
    _listed("saturation", "saturation", saturate, {"at 50 %": (0.5,), "at 80 %": (0.8,)}, mild="at 80 %"),
    _listed("counterbalance", MISSING, counterbalance, {"80 %": (0.8,), "30 %": (0.3,)}, mild="30 %"),
    _listed(
        "ripple",
        MISSING,
        ripple,
        {"20 %, 8 a turn": (0.2, 8), "10 %, 20 a turn": (0.1, 20)},
        mild="20 %, 8 a turn; 10 %, 20 a turn",
    ),
    _listed("spring", MISSING, spring, {"50 %": (0.5,)}, mild="50 %"),
    _listed(
        "breakaway friction",
        MISSING,
        stribeck,
        {"20 %": (0.2,)},
        mild="20 %",
    ),
    _listed(
        "friction falls as it warms",
        f"friction-drift gain-change {MISSING}",
        warm_up,
        {"30 %": (0.3,), "10 %": (0.1,)},
        mild="30 %; 10 %",
    ),
    _listed(
        "someone leans on it",
        f"disturbance outliers {MISSING}",
        push,
        {"50 % for 1 s": (0.5, 1), "200 % for .5 s": (2, 0.5)},
        mild="50 % for 1 s",
    ),
)
"""Every corruption, in the order of the issue that asked for them, then more."""


# -- what harms nothing ------------------------------------------------------------------------------------------------


def turn_base(scene: Scene, rng: np.random.Generator, degrees: float) -> Scene:
    """The zero of a vertical first axis."""
    shift = scene.reduction[:, 0] * np.radians(degrees) * scene.per_radian
    return scene.change_recordings(lambda recorded: replace(recorded, position=recorded.position + shift))


def offset_torque(scene: Scene, rng: np.random.Generator, share: float) -> Scene:
    """A constant that the friction's offset takes."""
    size = share * _rms(scene)
    return _added(scene, lambda recorded, q, v: np.broadcast_to(size, q.shape))


def shake(scene: Scene, rng: np.random.Generator, share: float) -> Scene:
    """A little more white noise on torques."""
    return scene.change_recordings(
        lambda recorded: replace(
            recorded,
            effort=recorded.effort
            + share * recorded.effort.std(axis=0) * rng.standard_normal(recorded.effort.shape),
        )
    )


def shorten(scene: Scene, rng: np.random.Generator, part: float) -> Scene:
    return scene.change_recordings(
        lambda recorded: recorded.rows(np.s_[: int(part * len(recorded.position))])
    )


def nothing(scene: Scene, rng: np.random.Generator) -> Scene:
    return scene


BENIGN = (
    _listed("as recorded", "", nothing, {"": ()}),
    _listed("zero of the vertical axis", "", turn_base, {"+ 40 deg": (40,)}),
    _listed("torque offset", "", offset_torque, {"20 %": (0.2,)}),
    _listed("more noise", "", shake, {"1 %": (0.01,), "3 %": (0.03,)}),
    _listed("part of the recording", "", shorten, {"70 %": (0.7,)}),
)
