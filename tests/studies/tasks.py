"""Tasks that other processes import."""

import os
import time
from pathlib import Path

import numpy as np


def square(k):
    return k**2


def draw(seed):
    """Digits that a second computation gives too."""
    return {
        "mean": float(np.random.default_rng(seed).standard_normal(1000).mean()),
        "values": np.arange(seed) / 3,
    }


def slow_draw(seed):
    time.sleep(0.3)
    return draw(seed)


def kill_once(task):
    """The first time its worker dies."""
    seed, mark = task
    if mark is not None and not Path(mark).exists():
        Path(mark).touch()
        os._exit(9)
    return slow_draw(seed)


def wait_forever(_):
    time.sleep(600)
