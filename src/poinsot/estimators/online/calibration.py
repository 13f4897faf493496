"""Efforts that the model does not explain, before a filter runs: a constant bias (Foster et al. 2024, Sect. IV-B).

Other links differ from their description (cables, covers), and a filter attributes the difference to the open links.
Over a window in which the open links are as described, the difference is estimated as constant,

    bias = mean of tau - tau_nom - Y pi

and subtracted from then on. Within the state it cannot be distinguished from the parameters: a change of them that
changes Y pi by the same effort at every sample is equivalent to a bias. Such changes are in the null space of the
stacked [Y 1].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ...arrays import Vector
from ...exceptions import NotIdentifiable
from ...models.robot.link_torques import LinkTorques
from .belief import RecordedSample, Sample

MIN_CALIBRATION_SAMPLES = 10
"""With ten samples the standard deviation of the noise is known to about a quarter, 1 / sqrt(2 (10 - 1))."""
NO_SAMPLES = (
    "there was no sample to process: the recording is shorter than a window, or than the calibration, or has gaps "
    "throughout; check window_s, calibrate_s and the clock"
)


@dataclass(frozen=True, eq=False)
class Bias:
    """Constant efforts that the model does not explain.

    Args:
        value: (n,) mean of the residuals; 0 for an effort that was never read.
        std: (n,) standard deviation of a sample about it, by which to choose a filter's noise; 0 for the same.
        samples: number of samples in the window with a reading.
    """

    value: Vector
    std: Vector
    samples: int


def calibrate_bias(torques: LinkTorques, samples: Iterable[Sample], pi: np.ndarray | None = None) -> Bias:
    """Mean and standard deviation of the residuals over a window, from the available readings of each effort.

    Args:
        torques: the robot with its open bodies.
        samples: samples of the window; readings that are not finite are ignored.
        pi: (k, 10) parameters of the open bodies during it; None: the description's.

    Raises:
        NotIdentifiable: if no effort was read at least twice.
    """
    pi = torques.described if pi is None else pi
    residuals = []
    for sample in samples:
        Y, tau = torques(sample.q, sample.v, sample.a, sample.wrenches)
        residuals.append(sample.tau - tau - Y @ np.ravel(pi))
    # efforts may be read at some samples only, or never: each column has its own number
    rows = np.ma.masked_invalid(np.reshape(residuals, (-1, torques.robot.model.nv)))
    most = int(rows.count(axis=0).max(initial=0))
    if most < 2:
        raise NotIdentifiable(f"a bias needs two finite samples at least; the window has {most}")
    # ddof = 1: the mean is from the same samples
    std = rows.std(axis=0, ddof=1)
    return Bias(rows.mean(axis=0).filled(0.0), std.filled(0.0), int(rows.count(axis=1).astype(bool).sum()))


def calibrate_at_start(
    torques: LinkTorques, samples: Iterator[RecordedSample], seconds: float
) -> tuple[Bias | None, Iterator[RecordedSample]]:
    """The bias of the first seconds, in which open bodies are as described, and the samples after them.

    Args:
        seconds: of the calibration; 0: there is none, and the filter gets all samples.

    Raises NotIdentifiable if there are fewer seconds than that, or too few samples in them.
    """
    if seconds == 0:
        return None, samples
    window: list[Sample] = []
    for recorded in samples:
        if window and recorded.sample.time - window[0].time >= seconds:
            if len(window) < MIN_CALIBRATION_SAMPLES:
                raise NotIdentifiable(
                    f"the calibration has {len(window)} samples in {seconds:g} s but needs "
                    f"{MIN_CALIBRATION_SAMPLES}: give a larger calibrate_s or sample_hz, or noise"
                )
            # this sample is after the window: the filter processes it
            return calibrate_bias(torques, window), chain([recorded], samples)
        window.append(recorded.sample)
    if not window:
        raise NotIdentifiable(NO_SAMPLES)
    raise NotIdentifiable(
        f"the calibration needs {seconds:g} s, but there were only {window[-1].time - window[0].time:.3g} s: "
        "give a smaller calibrate_s, or noise"
    )
