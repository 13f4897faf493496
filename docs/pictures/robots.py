"""Robots, a mechanism and a thrown body to turn: what `poinsot view --record` writes, a file each without a server."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from drawing import EXAMPLES, FILES

from poinsot import cli
from poinsot.report.viewer.scene import read_scene
from poinsot.report.viewer.show import record

ROBOTS = {
    "robot_arm": "arm/physical.toml",
    "robot_quadruped": "quadruped/job.toml",
    "moving_pendulum": "furuta/job.toml",
    "moving_throw": "throw/job.toml",
}
"""Name of the file -> job of the examples."""


def write(job: Path, path: Path) -> None:
    """The robot of a job, moving."""
    with TemporaryDirectory() as folder:
        assert cli.main(["identify", str(job), "--out", folder, "--quiet"]) == 0
        record(read_scene(Path(folder) / "result.json", job.parent), path)


FILES.update({f"{name}.html": partial(write, EXAMPLES / job) for name, job in ROBOTS.items()})
