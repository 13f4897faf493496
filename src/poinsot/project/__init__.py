"""The project file: one TOML file that describes a job, from robot and recordings to the estimate.

    toml        a file with the line of each key
    settings    what it may say, and in which unit
    errors      what is wrong with it, in a sentence with the line
    job         what it means: robot, recordings, preprocessing, method; and `identify`
"""

from .job import Project, Run, identify
from .settings import Settings

__all__ = ["Project", "Run", "Settings", "identify"]
