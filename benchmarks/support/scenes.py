"""Scenes: the contents of a project file and of its recordings, as arrays that a corruption may change.

    p = N (q - q0)                 measured positions, in the declared unit; N: motor turns per joint turn, 1 at joints
    tau = N^T (gain * effort)      joint torques

`load_scene` reads a project of least squares with its recordings, `Scene.write` makes files and a `Project` of it
again, and `simulated` fills a scene with what another dynamics library computes: Pinocchio's recursive Newton-Euler
algorithm, friction, noise that is white in part and coloured in part, and encoders with steps.
"""

from __future__ import annotations

import copy
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.interpolate import CubicSpline
from scipy.signal import butter, lfilter, sosfiltfilt

from poinsot.project import Project, Settings

RADIANS = {"rad": 1.0, "deg": np.pi / 180}
SLOWEST = 1e-3
"""Slower joints count as standing still [rad/s]."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """One recording as its file has it.

    Args:
        keys: its further keys in the project: name, role, rate_hz, window_s.
        position: (T, n) in the scene's unit.
        effort: (T, n) in the scene's unit.
        time: (T,) [s]; None: it has no clock column, and `rate_hz` among its keys.
    """

    keys: Mapping[str, Any]
    position: np.ndarray
    effort: np.ndarray
    time: np.ndarray | None = None

    @property
    def rate_hz(self) -> float:
        return (
            float(self.keys["rate_hz"]) if self.time is None else 1.0 / float(np.median(np.diff(self.time)))
        )

    @property
    def clock(self) -> np.ndarray:
        """(T,) [s]"""
        return np.arange(len(self.position)) / self.rate_hz if self.time is None else self.time

    def rows(self, chosen: np.ndarray) -> Recorded:
        """The samples of a mask, of indices or of a slice."""
        time = None if self.time is None else self.time[chosen]
        return replace(self, position=self.position[chosen], effort=self.effort[chosen], time=time)


@dataclass(frozen=True, eq=False)
class Truth:
    """Joint efforts of a simulated robot besides its rigid bodies, and the noise of its sensors.

    Args:
        viscous, coulomb, offset, rotor: (n,) at the joints [N m s/rad], [N m], [N m], [kg m^2].
        noise: smallest and largest share of noise in each joint's torque, by standard deviations; half of it coloured.
        memory_s: smallest and largest correlation time of the coloured half [s].
        encoder_step: resolution of a measured position [rad].
    """

    viscous: np.ndarray
    coulomb: np.ndarray
    offset: np.ndarray
    rotor: np.ndarray
    noise: tuple[float, float] = (0.005, 0.05)
    memory_s: tuple[float, float] = (0.02, 0.3)
    encoder_step: float = 0.0


@dataclass(frozen=True, eq=False)
class Scene:
    """A project and its recordings.

    Args:
        name: name of the robot.
        content: the project file without its recordings.
        recorded: all recordings, in the order of the file.
        urdf: the description.
        joints: names, in the robot's order.
        unit: unit of the positions, `"rad"` or `"deg"`.
        quantity, effort_unit: `"torque"` in `"N m"` or `"current"` in `"A"`.
        loaded: joints that gravity loads, by number from 0, the one nearest to the base first.
        truth: how it is simulated.
    """

    name: str
    content: Mapping[str, Any]
    recorded: tuple[Recorded, ...]
    urdf: str
    joints: tuple[str, ...]
    unit: str
    quantity: str
    effort_unit: str
    loaded: tuple[int, ...]
    truth: Truth | None = field(default=None)

    @property
    def n(self) -> int:
        return len(self.joints)

    @property
    def at_motors(self) -> bool:
        return bool(self.content.get("drive", {}).get("side", "joint") == "motor")

    @property
    def per_radian(self) -> float:
        """Declared unit per radian."""
        return 1.0 / RADIANS[self.unit]

    @cached_property
    def reduction(self) -> np.ndarray:
        """(n, n) N."""
        drive = self.content.get("drive", {})
        if not self.at_motors:
            return np.eye(self.n)
        N = np.diag(np.broadcast_to(np.asarray(drive.get("reduction", 1.0), float), self.n))
        for coupling in drive.get("couplings", ()):
            N[self.joints.index(coupling["motor"]), self.joints.index(coupling["joint"])] = coupling["ratio"]
        return N

    @cached_property
    def gain(self) -> np.ndarray:
        """(n,) torque per effort."""
        return np.broadcast_to(
            np.asarray(self.content.get("drive", {}).get("gain", 1.0), float), self.n
        ).copy()

    @cached_property
    def offset(self) -> np.ndarray:
        """(n,) q0 [rad]."""
        offset = self.content.get("drive", {}).get("position_offset", 0.0)
        if isinstance(offset, Mapping):
            offset = np.asarray(offset["values"], float) * RADIANS[offset["unit"]]
        return np.broadcast_to(np.asarray(offset, float), self.n).copy()

    def joint_positions(self, recorded: Recorded) -> np.ndarray:
        """(T, n) [rad]"""
        return recorded.position / self.per_radian @ np.linalg.inv(self.reduction).T + self.offset

    def measured_positions(self, q: np.ndarray) -> np.ndarray:
        return (q - self.offset) @ self.reduction.T * self.per_radian

    def joint_torques(self, recorded: Recorded) -> np.ndarray:
        """(T, n) [N m]"""
        return (recorded.effort * self.gain) @ self.reduction

    def measured_efforts(self, tau: np.ndarray) -> np.ndarray:
        return tau @ np.linalg.inv(self.reduction) / self.gain

    def motion(self, recorded: Recorded) -> tuple[np.ndarray, ...]:
        """(T, n) smooth joint positions, velocities and accelerations [rad], by a filter of no phase.

        On the way through it the clock is even. The filter passes half of what the project's own filter passes.
        """
        clock, q, rate = recorded.clock, self.joint_positions(recorded), recorded.rate_hz
        even = np.linspace(clock[0], clock[-1], round((clock[-1] - clock[0]) * rate) + 1)
        sos = butter(4, self.content["preprocessing"]["cutoff_hz"] / 2, fs=rate, output="sos")
        motion = [sosfiltfilt(sos, _interpolated(even, clock, q), axis=0)]
        for _ in range(2):
            motion.append(np.gradient(motion[-1], even, axis=0))
        return tuple(_interpolated(clock, even, values) for values in motion)

    def change_recordings(self, change: Any) -> Scene:
        """Every recording changed by a function of it."""
        return replace(self, recorded=tuple(change(recorded) for recorded in self.recorded))

    def with_keys(self, table: str, **keys: Any) -> Scene:
        """A table of the project file with other keys; a key of None is left out."""
        content = copy.deepcopy(dict(self.content))
        changed = {**content.get(table, {}), **keys}
        content[table] = {key: value for key, value in changed.items() if value is not None}
        return replace(self, content=content)

    def write(self, folder: Path) -> Project:
        """Files of the description and the recordings, and the project that reads them."""
        (folder / "robot.urdf").write_text(self.urdf)
        p, e = [f"p{k}" for k in range(self.n)], [f"e{k}" for k in range(self.n)]
        entries = []
        for number, recorded in enumerate(self.recorded):
            columns = dict(zip(p, recorded.position.T, strict=True)) | dict(
                zip(e, recorded.effort.T, strict=True)
            )
            entry = {
                **recorded.keys,
                "path": f"recording_{number}.parquet",
                "position": {"columns": p, "unit": self.unit},
                self.quantity: {"columns": e, "unit": self.effort_unit},
            }
            if recorded.time is not None:
                columns["t"] = recorded.time
                entry["time"] = {"column": "t", "unit": "s"}
            pl.DataFrame({name: np.ascontiguousarray(x) for name, x in columns.items()}).write_parquet(
                folder / entry["path"], compression="uncompressed"
            )
            entries.append(entry)
        robot = {**self.content["robot"], "path": "robot.urdf"}
        content = {**self.content, "robot": robot, "recordings": entries}
        return Project(folder / "job.toml", Settings.model_validate(content))


def _interpolated(to: np.ndarray, clock: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(T, n) values by cubic splines."""
    if len(to) == len(clock) and np.allclose(to, clock):
        return values
    return np.asarray(CubicSpline(clock, values)(to))


# -- projects that exist -----------------------------------------------------------------------------------------------


def load_scene(
    name: str, job: str, folders: Sequence[Path], joints: Sequence[str], loaded: Sequence[int], truth: Truth
) -> Scene:
    """A project of least squares, its recordings read by other code than the package's.

    Args:
        job: text of the project file.
        folders: where its files are looked for.
    """
    content = tomllib.loads(job)
    find = lambda file: next(path for folder in folders if (path := folder / file).exists())  # noqa: E731
    recorded, unit, quantity, effort_unit = [], "rad", "torque", "N m"
    for entry in content.pop("recordings"):
        arrays: dict[str, np.ndarray] = {}
        for file in entry.get("files", [entry]):
            header = file.get("header", True)
            table = pl.read_csv(find(file["path"]), has_header=header, infer_schema_length=None)
            if "rows" in file:
                table = table[slice(*file["rows"])]
            for key in ("time", "position", "torque", "current"):
                if key not in file:
                    continue
                listed = file[key]["columns"] if key != "time" else [file[key]["column"]]
                names = [table.columns[c] if isinstance(c, int) else c for c in listed]
                arrays[key] = table.select(names).to_numpy().astype(float)
                if key == "position":
                    unit = file[key]["unit"]
                elif key != "time":
                    quantity, effort_unit = key, file[key]["unit"]
        keys = {key: entry[key] for key in ("name", "role", "rate_hz", "window_s") if key in entry}
        time = arrays["time"][:, 0] if "time" in arrays else None
        recorded.append(Recorded(keys, arrays["position"], arrays[quantity], time))
    urdf = find(content["robot"]["path"]).read_text()
    return Scene(
        name, content, tuple(recorded), urdf, tuple(joints), unit, quantity, effort_unit, tuple(loaded), truth
    )


# -- descriptions ------------------------------------------------------------------------------------------------------


def _text(tree: ElementTree.Element) -> str:
    return ElementTree.tostring(tree, encoding="unicode")


def numbers(element: ElementTree.Element, key: str) -> np.ndarray:
    """(3,) of an attribute that may be absent."""
    return np.array([float(x) for x in element.get(key, "0 0 0").split()])


def moved_bodies(urdf: str, change: Any) -> str:
    """The description with `change(link, mass, com) -> mass, com` of each body; inertia scales with mass."""
    tree = ElementTree.fromstring(urdf)
    for link in tree.findall("link"):
        inertial = link.find("inertial")
        if inertial is None or float(inertial.find("mass").get("value")) == 0:
            continue
        mass, origin, inertia = (inertial.find(tag) for tag in ("mass", "origin", "inertia"))
        if origin is None:
            origin = ElementTree.SubElement(inertial, "origin", xyz="0 0 0")
        m, com = float(mass.get("value")), numbers(origin, "xyz")
        other, other_com = change(link.get("name"), m, com)
        mass.set("value", repr(float(other)))
        origin.set("xyz", " ".join(repr(float(x)) for x in other_com))
        for key in list(inertia.attrib):
            inertia.set(key, repr(float(inertia.get(key)) * other / m))
    return _text(tree)


def rough(urdf: str, rng: np.random.Generator) -> str:
    """A description within a factor of two in each mass and 30 degrees in the direction of each centre of mass."""

    def change(link: str, mass: float, com: np.ndarray) -> tuple[float, np.ndarray]:
        axis = np.cross(com, rng.standard_normal(3))
        if (size := np.linalg.norm(axis)) > 0:
            angle = np.radians(30) * np.sqrt(rng.random())  # uniform over the cap, nearly
            com = np.cos(angle) * com + np.sin(angle) * np.cross(axis / size, com)
        return mass * 2 ** rng.uniform(-1, 1), com

    return moved_bodies(urdf, change)


def changed_joint(urdf: str, joint: str, change: Any) -> str:
    """The description with `change(origin element, axis element)` at one joint."""
    tree = ElementTree.fromstring(urdf)
    element = next(node for node in tree.findall("joint") if node.get("name") == joint)
    origin = element.find("origin")
    if origin is None:
        origin = ElementTree.SubElement(element, "origin", xyz="0 0 0", rpy="0 0 0")
    change(origin, element.find("axis"))
    return _text(tree)


# -- simulation --------------------------------------------------------------------------------------------------------


def rigid_torques(scene: Scene, urdf: str, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """(T, n) joint torques of the bodies of a description, by Pinocchio. [N m]"""
    import pinocchio as pin

    model = pin.buildModelFromXML(urdf)
    locked = scene.content["robot"].get("locked", {})
    if locked:
        reference = pin.neutral(model)
        for joint, position in locked.items():
            reference[model.joints[model.getJointId(joint)].idx_q] = position
        model = pin.buildReducedModel(model, [model.getJointId(joint) for joint in locked], reference)
    model.gravity.linear = np.array(scene.content["robot"].get("gravity", [0.0, 0.0, -9.81]))
    data = model.createData()
    return np.array([pin.rnea(model, data, *state).copy() for state in zip(q, v, a, strict=True)])


def random_motion(scene: Scene, recorded: Recorded, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """A random sum of sines from rest to rest over the ranges of a recording, about as fast as it."""
    from poinsot_reproductions.simulated_recordings import fourier_motion

    q, v, _ = scene.motion(recorded)
    clock = recorded.clock - recorded.clock[0]
    duration = clock[-1]
    speed = np.median(v.std(axis=0) / q.std(axis=0)) / (2 * np.pi)  # of a sine of the same spread [Hz]
    harmonics = max(5, round(1.5 * speed * duration))
    even, *motion = fourier_motion(scene.n, duration, 4 * recorded.rate_hz, rng, harmonics=harmonics)
    x, dx, ddx = (_interpolated(clock, even, values) for values in motion)
    low, high = q.min(axis=0), q.max(axis=0)
    middle = (x.max(axis=0) + x.min(axis=0)) / 2
    scale = (high - low) / np.ptp(x, axis=0)
    return (low + high) / 2 + scale * (x - middle), scale * dx, scale * ddx


def simulated(scene: Scene, urdf: str, rng: np.random.Generator, *, random: bool) -> Scene:
    """The scene's recordings replaced by simulated ones of a robot with the bodies of `urdf`.

    Args:
        random: whether each motion is a random one, or the recorded one, smoothed.
    """
    truth = scene.truth
    assert truth is not None
    share = np.exp(rng.uniform(*np.log(truth.noise)))
    memory = np.exp(rng.uniform(*np.log(truth.memory_s)))

    def change(recorded: Recorded) -> Recorded:
        q, v, a = random_motion(scene, recorded, rng) if random else scene.motion(recorded)
        tau = rigid_torques(scene, urdf, q, v, a) + truth.rotor * a
        # at rest dry friction is anything up to its size: here it rises evenly up to the slowest motion
        tau += truth.viscous * v + truth.coulomb * np.clip(v / SLOWEST, -1, 1) + truth.offset
        rho = np.exp(-1 / (memory * recorded.rate_hz))
        white, fresh = rng.standard_normal((2, *tau.shape))
        coloured = np.sqrt(1 - rho**2) * lfilter([1], [1, -rho], fresh, axis=0)
        tau += share * tau.std(axis=0) * np.sqrt(0.5) * (white + coloured)
        p = scene.measured_positions(q)
        step = truth.encoder_step * scene.per_radian
        p = p if step == 0 else step * np.round(p / step)
        return replace(recorded, position=p, effort=scene.measured_efforts(tau))

    return scene.change_recordings(change)
