"""The project file: one TOML file that describes a job, from robot and recordings to the estimate.

    toml          a file -> settings; mistakes as a sentence with the line
    settings      its keys, and their units
    translation   the robot with its drive trains, the mechanism
    recordings    which column is which joint's
    preparation   a recording on its way to signals: clock, delays, which cutoffs the motion asks for
    other_jobs    gains, and whole robots, that another job has found
    methods       one file each: settings, what it needs of the rest, a job -> the estimate
    job           `Project`; `Job`, a project being solved; `identify` and `track`

The keys of a section are the arguments of what it becomes.
"""

from .job import Project, identify, track
from .methods.base import Tracking
from .recordings import Run
from .settings import Settings

__all__ = ["Project", "Run", "Settings", "Tracking", "identify", "track"]
