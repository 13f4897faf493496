"""The project file: one TOML file that describes a job, from robot and recordings to the estimate.

`toml` reads a file into `settings`; `translation` builds the robot from them, and `recordings` the runs, which
`preparation` conditions and one of `methods` solves, as a `job`; `other_jobs` reads results of other jobs.

The keys of a section are the arguments of what it becomes.
"""

from .job import Project, identify, track
from .methods.base import Tracking
from .recordings import Run
from .settings import Settings

__all__ = ["Project", "Run", "Settings", "Tracking", "identify", "track"]
