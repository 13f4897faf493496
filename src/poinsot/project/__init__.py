"""The project file: one TOML file that describes a job, from robot and recordings to the estimate.

    toml          a file with the line of each key
    settings      what it may say, and in which unit
    errors        what is wrong with it, in a sentence with the line
    translation   what it means: robot, drive trains, smoother, estimator
    recordings    which column is which joint's
    preparation   a recording on its way to signals
    filters       which cutoffs the motion asks for
    other_jobs    gains, and whole robots, that another job has found
    estimation    motion and parameters together, from what sensors read
    interrupts    Ctrl-C at a good moment
    job           `Project`, and `identify` from the recordings to the estimate
    track         `track`: a filter over them, sample by sample

The keys of a section are the arguments of what it becomes.
"""

from .job import Project, identify
from .recordings import Run
from .settings import Settings
from .track import Tracking, track

__all__ = ["Project", "Run", "Settings", "Tracking", "identify", "track"]
