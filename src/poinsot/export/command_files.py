"""Files of designed commands and motions, for who sends them to the robot.

CSV         `t` [s] and a column a joint [rad]
LeRobot     `action` (a list a frame), `timestamp`, `frame_index`: columns of a data set; the same actions as .npy
ROS 2       trajectory_msgs/JointTrajectory, as JSON, which YAML readers read too
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Protocol

import numpy as np

from ..exceptions import InvalidMethod
from ..io.writing import atomic_path, write_columns, write_text

LEROBOT_UNITS = ("deg", "rad")


class CommandTable(Protocol):
    """Positions that joints are sent to: `time` (T,) [s], `commands` (T, m) [rad] or [m]; `joints`, `units`: (m,)."""

    @property
    def time(self) -> np.ndarray: ...
    @property
    def commands(self) -> np.ndarray: ...
    @property
    def joints(self) -> tuple[str, ...]: ...
    @property
    def units(self) -> tuple[str, ...]: ...


def lerobot_actions(designed: CommandTable, unit: str = "deg") -> np.ndarray:
    """(T, m) actions of joints that turn, in this unit; of joints that slide [m].

    Raises:
        InvalidMethod: if the unit is neither `"deg"` nor `"rad"`. Shares of the travel need the arm's calibration.
    """
    if unit not in LEROBOT_UNITS:
        raise InvalidMethod(f"actions cannot be in {unit!r}; write deg or rad")
    turns = np.array([each == "rad" for each in designed.units])
    scale = np.where(turns & (unit == "deg"), 180 / np.pi, 1.0)
    return (designed.commands * scale).astype(np.float32)


def write_csv(designed: CommandTable, path: Path) -> None:
    """Times and commands."""
    columns = {joint: designed.commands[:, k] for k, joint in enumerate(designed.joints)}
    write_columns({"t": designed.time} | columns, path)


def write_lerobot(designed: CommandTable, path: Path, unit: str = "deg") -> None:
    """Actions in a table (.parquet) or an array (.npy).

    Raises:
        InvalidMethod: see `lerobot_actions`.
    """
    actions = lerobot_actions(designed, unit)
    if path.suffix == ".npy":
        with atomic_path(path) as temporary:
            np.save(temporary, actions)
        return
    import polars as pl

    table = pl.DataFrame(
        {
            "action": pl.Series(actions, dtype=pl.Array(pl.Float32, actions.shape[1])),
            "timestamp": designed.time.astype(np.float32),
            "frame_index": np.arange(len(actions)),
        }
    )
    with atomic_path(path) as temporary:
        table.write_parquet(temporary)


def write_joint_trajectory(
    designed: CommandTable,
    path: Path,
    velocities: np.ndarray | None = None,
    accelerations: np.ndarray | None = None,
) -> None:
    """One point a command; the first is at its own time, so begin where the robot is sent there. `velocities`,
    `accelerations`: (T, m) of the joints, in SI units; None: left to the controller.
    """
    nanoseconds = np.round(designed.time * 1e9).astype(np.int64)
    rows = {"positions": designed.commands, "velocities": velocities, "accelerations": accelerations}
    known = {key: values.tolist() for key, values in rows.items() if values is not None}
    points = [
        {key: values[k] for key, values in known.items()}
        | {"time_from_start": {"sec": int(ns // 10**9), "nanosec": int(ns % 10**9)}}
        for k, ns in enumerate(nanoseconds)
    ]
    content = {"joint_names": list(designed.joints), "points": points}
    write_text(path, json.dumps(content, allow_nan=False) + "\n")
