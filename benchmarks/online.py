"""Ten parameters inside a control loop: one update on Talos, 38 degrees of freedom, both feet's wrenches.

    python benchmarks/online.py [--full] [--json PATH] [--rounds N] [--save-baseline]

poinsot      `ExtendedKalmanFilter.step`: inverse dynamics, the open body's columns, chart, update, drift
filterpy     the same filter with filterpy, Pinocchio and NumPy, sample by sample (`peers/online_filterpy.py`)

Then what one step takes, one by one; whether the covariance stays symmetric and positive and memory constant through
very many of them (10^5; with `--full` 10^7, which takes minutes); and whether errors are as large as is said: 500 runs
on an arm with bodies drawn from the first belief and the noise that the filter is told.
"""

from __future__ import annotations

import resource
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

import numpy as np
from scipy import stats
from support import needs
from support.report import Agreement, Limit, Ratio, deliver, options
from support.timing import Program, Seconds, side_by_side

from poinsot.estimators.online.belief import Belief, Sample
from poinsot.estimators.online.filter import ExtendedKalmanFilter, Filter
from poinsot.models.robot.articulated import Articulated, load_robot
from poinsot.models.robot.link_torques import LinkTorques

DESCRIPTIONS = (
    Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
)
TORSO, FEET = "torso_2_link", ("leg_left_6_link", "leg_right_6_link")
RATE_HZ = 333.0
NOISE = 2.0
STEPS = 20_000
RUNS = 500


def main() -> None:
    arguments = options(__doc__, full="10^7 updates in the soak, not 10^5")
    needs.package("filterpy")
    robot = load_robot(DESCRIPTIONS / "talos_data/robots/talos_reduced.urdf", floating_base=True)
    filter_ = ExtendedKalmanFilter(LinkTorques(robot, (TORSO,)), NOISE, gate=None)
    plain = replace(filter_, iterations=0)  # as the peer has it
    samples = list(_samples(filter_.torques, np.random.default_rng(0)))

    def ours() -> np.ndarray:
        belief = plain.init()
        for sample in samples:
            belief, _ = plain.step(belief, sample)
        return belief.x

    seconds, results = side_by_side(
        {
            "poinsot, a thousand steps": Program(ours, turns=5),
            "filterpy, a thousand steps": Program(_peer(filter_, samples)),
        },
        arguments.rounds or 10,
    )
    std = np.sqrt(np.diag(list(filter_.run(samples))[-1][0].covariance))
    difference = np.abs(results["poinsot, a thousand steps"] - results["filterpy, a thousand steps"]) / std
    one, late = _each_step(filter_, samples)
    growth, least, skew = _soak(filter_, samples, 10**7 if arguments.full else 10**5)
    square, covered = _statistics(np.random.default_rng(1))
    low, high = stats.chi2.ppf([0.005, 0.995], 10 * RUNS) / RUNS
    deliver(
        "online",
        arguments,
        seconds | {"one step, median": one, "one step, 99.9 %": late},
        [
            Ratio(
                "filterpy / poinsot",
                seconds["filterpy, a thousand steps"] / seconds["poinsot, a thousand steps"],
                at_least=10,
            ),
            Ratio("memory that grew in the soak, MB", growth, at_most=1.0),
            Ratio("smallest / largest eigenvalue, at least", least, at_least=1e-15),
            Ratio(f"squared error of {RUNS} runs (10 expected), least", square, at_least=low),
            Ratio(f"squared error of {RUNS} runs (10 expected), most", square, at_most=high),
            Ratio("truth within the mass's 95 % interval, least, %", covered, at_least=92.4),
            Ratio("truth within the mass's 95 % interval, most, %", covered, at_most=97.4),
        ],
        [
            Agreement("estimates, in standard deviations", float(difference.max()), 1e-6),
            Agreement("covariance and its transpose", skew, 0.0),
        ],
        [
            f"soak: {10**7 if arguments.full else 10**5} updates",
            "surer at first: "
            + "; ".join(
                "first std {:g}: squared error {:.2f}, mass covered {:.1f} %".format(
                    std, *_statistics(np.random.default_rng(2), std)
                )
                for std in (0.05, 0.1)
            ),
        ],
        [Limit("one step, median", one.processor, 15e-6), Limit("one step, 99.9 %", late.processor, 400e-6)],
    )


def _samples(torques: LinkTorques, rng: np.random.Generator, count: int = 1000) -> Iterator[Sample]:
    """Random states with both feet loaded; the open body is a fifth heavier than described."""
    robot = torques.robot
    q, v, a = robot.random_states(count, rng)
    for k in range(count):
        wrenches = {foot: np.array([*rng.normal(0, 20, 2), 450, *rng.normal(0, 5, 3)]) for foot in FEET}
        Y, tau = torques(q[k], v[k], a[k], wrenches)
        tau = tau + Y @ (1.2 * torques.described).ravel() + NOISE * rng.standard_normal(len(tau))
        yield Sample((k + 1) / RATE_HZ, q[k], v[k], a[k], tau, wrenches)


def _peer(filter_: Filter, samples: list[Sample]):
    """A run of the other program over the same samples."""
    from peers.online_filterpy import Peer

    robot, start = filter_.torques.robot, filter_.init()
    joint = {body: 1 + k for k, body in enumerate(robot.bodies)}
    later = filter_.predict(start.having(root=0 * start.root)._replace(time=0.0), 1 / RATE_HZ)
    decay = np.exp(-0.5 * (filter_.drift / filter_.largest_std) ** 2 / RATE_HZ)

    def run() -> np.ndarray:
        peer = Peer(
            robot.model, joint[TORSO], [joint[foot] for foot in FEET], start.x, start.covariance, NOISE,
            later.covariance, decay,
        )  # fmt: skip
        peer.filter.P = (
            np.linalg.inv(peer.filter.F)
            @ (start.covariance - later.covariance)
            @ np.linalg.inv(peer.filter.F)
        )
        for sample in samples:
            peer.step(sample.q, sample.v, sample.a, sample.tau, sample.wrenches.values())
        return peer.filter.x

    return run


def _each_step(filter_: Filter, samples: list[Sample]) -> tuple[Seconds, Seconds]:
    """Median and 99.9th percentile of single steps, as a controller would call them."""
    belief = filter_.init()
    processor, passed = np.empty(STEPS), np.empty(STEPS)
    for k, sample in enumerate(_endless(samples, STEPS)):
        busy, clock = time.thread_time(), time.perf_counter()
        belief, _ = filter_.step(belief, sample)
        passed[k], processor[k] = time.perf_counter() - clock, time.thread_time() - busy
    quantiles = (np.quantile((processor, passed), level, axis=1) for level in (0.5, 0.999))
    median, late = (Seconds(*map(float, quantile)) for quantile in quantiles)
    return median, late


def _endless(samples: list[Sample], count: int) -> Iterator[Sample]:
    """The same samples again and again, on one clock."""
    for k, sample in enumerate(islice(cycle(samples), count)):
        yield replace(sample, time=(k + 1) / RATE_HZ)


def _soak(filter_: Filter, samples: list[Sample], count: int) -> tuple[float, float, float]:
    """Growth of the largest memory after the first tenth [MB], least ratio of eigenvalues, largest asymmetry."""
    belief, least, skew, memory = filter_.init(), np.inf, 0.0, 0
    for k, sample in enumerate(_endless(samples, count)):
        belief, _ = filter_.step(belief, sample)
        if k % 1000 == 0:
            P = belief.covariance
            size = np.linalg.eigvalsh(P)
            least, skew = min(least, size[0] / size[-1]), max(skew, float(np.abs(P - P.T).max()))
        if k == count // 10:
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024, float(least), skew


def _statistics(rng: np.random.Generator, first_std: float = 0.3) -> tuple[float, float]:
    """Mean squared error in the covariance's own measure, and how often the mass's interval holds the truth [%]."""
    robot = load_robot(DESCRIPTIONS / "panda_description/urdf/panda.urdf")
    torques = LinkTorques(robot, (robot.bodies[5],))
    filter_ = ExtendedKalmanFilter(torques, 0.2, initial_std=first_std, drift=0.0, gate=None)
    start = filter_.init()
    squares, covered = [], 0
    for _ in range(RUNS):
        truth = start.x + start.root @ rng.standard_normal(10)
        belief = _arm_run(filter_, start, filter_.inertial(truth), rng)
        error = truth - belief.x
        squares.append(error @ np.linalg.solve(belief.covariance, error))
        gradient = filter_.jacobian(belief.x)[0][0]
        std = np.sqrt(gradient @ belief.covariance @ gradient)
        off = filter_.inertial(belief.x)[0, 0] - filter_.inertial(truth)[0, 0]
        covered += abs(off) < stats.norm.ppf(0.975) * std
    return float(np.mean(squares)), 100 * covered / RUNS


def _arm_run(filter_: Filter, belief: Belief, pi: np.ndarray, rng: np.random.Generator) -> Belief:
    """The belief after 100 samples of an arm of which one body is pi (1, 10)."""
    torques = filter_.torques
    robot: Articulated = torques.robot
    q, v, a = robot.random_states(100, rng)
    for k in range(len(q)):
        Y, tau = torques(q[k], v[k], a[k])
        tau = tau + Y @ pi.ravel() + 0.2 * rng.standard_normal(len(tau))
        belief, _ = filter_.step(belief, Sample((k + 1) / RATE_HZ, q[k], v[k], a[k], tau))
    return belief


if __name__ == "__main__":
    main()
