"""The integrated random walk with its variance ratio by maximum likelihood: six joints of 34 000 samples.

    python benchmarks/random_walk.py [--json PATH] [--rounds N] [--save-baseline]

The series are the motor angles of the TX40 from 0.5 s to 7.3 s at 5 kHz.

poinsot        `maximum_likelihood_nvr` and `smooth`, all six joints at once
statsmodels    `UnobservedComponents(y, level="smooth trend").fit()`, the same model: it estimates both variances and
               smooths. It takes one series at a time; it is run on two of the six and its time multiplied by three.

With the ratio given there is nothing to compare: the seconds of the smoother alone, and of the whole step from
recording to q, v and a with their standard deviations.
"""

from __future__ import annotations

import numpy as np
from support import needs
from support.report import Agreement, Limit, Ratio, deliver, options
from support.timing import Program, Seconds, side_by_side
from support.tx40 import read

import poinsot
from poinsot.signals.random_walk import GeneralizedRandomWalk, SmoothedStates, smooth
from poinsot.signals.random_walk_smoother import NoiseVarianceRatio, maximum_likelihood_nvr

WALK = GeneralizedRandomWalk.integrated(2)
GIVEN_RATIO = 1e-5
PEER_SERIES = (0, 3)
"""Joints that the peer is run on."""


def main() -> None:
    arguments = options(__doc__)
    folder = needs.recording("staubli_tx40")
    needs.package("statsmodels")
    from peers import trend_statsmodels

    recording = read(folder).between(0.5, 7.3)
    y = recording.stack("position")
    ours, given = "poinsot, maximum likelihood, 6 series", "poinsot, ratio given, 6 series"
    step, peer = "poinsot, ratio given, to q, v, a with std", "statsmodels, maximum likelihood, 2 series"
    programs = {
        ours: Program(lambda: _maximum_likelihood(y), turns=5),
        given: Program(lambda: smooth(y, WALK, GIVEN_RATIO), turns=5),
        step: Program(lambda: poinsot.RandomWalkSmoother(ratio=GIVEN_RATIO).apply(recording), turns=5),
        peer: Program(lambda: [trend_statsmodels.fit(y[:, j]) for j in PEER_SERIES]),
    }
    seconds, results = side_by_side(programs, arguments.rounds or 3)
    scale = y.shape[1] / len(PEER_SERIES)
    scaled = Seconds(scale * seconds[peer].processor, scale * seconds[peer].passed)
    ratio, states = results[ours]
    deliver(
        "random_walk",
        arguments,
        seconds | {"statsmodels, 6 series (3 x the above)": scaled},
        [Ratio("statsmodels / poinsot, maximum likelihood", scaled / seconds[ours], at_least=50)],
        [
            Agreement("log-likelihood that poinsot misses", _missed(results[peer], ratio), 0.1),
            Agreement("smoothed level at equal variances [std]", _apart(results[peer], ratio, states), 1e-6),
        ],
        [
            f"variance ratios, poinsot:     {_listed(ratio.nvr[list(PEER_SERIES)])}",
            f"variance ratios, statsmodels: {_listed([fit.ratio for fit in results[peer]])}",
        ],
        [Limit(step, seconds[step].processor, 0.1)],
    )


def _maximum_likelihood(y: np.ndarray) -> tuple[NoiseVarianceRatio, SmoothedStates]:
    ratio = maximum_likelihood_nvr(y, WALK)
    return ratio, smooth(y, WALK, ratio.nvr)


def _missed(fits: list, ratio: NoiseVarianceRatio) -> float:
    """By the peer's own likelihood: how much better its variances are than ours (negative: worse)."""
    return max(
        fit.log_likelihood - fit.log_likelihood_at(ratio.noise_std[j] ** 2, ratio.nvr[j])
        for j, fit in zip(PEER_SERIES, fits, strict=True)
    )


def _apart(fits: list, ratio: NoiseVarianceRatio, states: SmoothedStates) -> float:
    """Largest difference of the level in standard deviations of the measurement noise, the peer given our variances."""
    return max(
        float(np.abs(fit.level_at(ratio.noise_std[j] ** 2, ratio.nvr[j]) - states.states[:, j, 0]).max())
        / ratio.noise_std[j]
        for j, fit in zip(PEER_SERIES, fits, strict=True)
    )


def _listed(values) -> str:
    return ", ".join(f"{value:.4g}" for value in values)


if __name__ == "__main__":
    main()
