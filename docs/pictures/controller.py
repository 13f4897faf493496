"""The arm of examples/controller: its tracking error with three models in the feedforward, and with a payload."""

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from drawing import BLUE, EXAMPLES, GREY, ORANGE, axes, picture

from poinsot_reproductions.controller import feedforward
from poinsot_reproductions.controller.plant import Plant, drawn_motion

STYLES = {
    feedforward.DESCRIBED: (ORANGE, "masses of the description"),
    feedforward.TRUE: (GREY, "truth"),
    feedforward.IDENTIFIED: (BLUE, "identified"),
}


@cache
def followed():
    """Runs of a new motion with each model."""
    with TemporaryDirectory() as name:
        folder = Path(name, "controller")
        shutil.copytree(EXAMPLES / "controller", folder)
        arm = feedforward.exported_arm(folder, lambda message: None)
        motion = drawn_motion(np.random.default_rng(2), feedforward.SECONDS)
        return feedforward.traces(arm, Plant(), motion, 3)


@picture
def controller_loop():
    found = followed()
    curves = feedforward.error_curves(found)
    figure, ax = axes(1, 1, 2.6)
    for name, (colour, label) in STYLES.items():
        rms = f"{1e3 * found[name].rms():.2f} mrad"
        ax.semilogy(curves.time, curves.lines[name], color=colour, label=f"{label}: {rms}")
    ax.set_xlabel("time [s]")
    ax.set_ylabel("tracking error [mrad]")
    ax.legend(fontsize=7)
    return figure
