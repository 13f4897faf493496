"""Thirteen parameters of a Furuta pendulum's swing-up, of many draws of the noise at once, beside one after the other.

    python benchmarks/discrete_multibody_batch.py [--batch N] [--json PATH] [--rounds N] [--save-baseline]

The problem is that of `poinsot reproduce discrete-multibody --case swing_up_13`: 40 s in steps of 10 ms, kappa 100,
from Table 1's values. `fit_batch` computes on JAX's default device: 1000 draws where that is none of the processor's,
and a few where it is, which then says so. A few of the same draws are solved by `JointSmoothing`, on the processor
in any case; what is compared is the time of a problem, and where both ended, in standard deviations of the estimate:
either may end where a step would lower the cost by less than 1e-7 of it, which is some hundredths of them.

Of a device that is no processor the ratio is of the time that passes, otherwise of processor time. No GPU was at hand
so far: the speed on one has not been measured. With --at-once N the processor solves N draws in lockstep too, as a GPU
does: the memory that the process takes is then that of N at once, and a little.
"""

from __future__ import annotations

import resource

import jax
import numpy as np
import support  # noqa: F401  BLAS on one thread, before NumPy
from support.report import Agreement, Ratio, deliver, options
from support.timing import Program, side_by_side

from poinsot.estimators.joint import JointFit, JointSmoothingProblem, Record
from poinsot_reproductions.discrete.batch import BatchFit, fit_batch
from poinsot_reproductions.discrete.paper_furuta import (
    GENERATOR_STEP,
    INITIAL,
    NOISE,
    SAMPLE,
    on_one_thread,
    values,
)
from poinsot_reproductions.discrete.swing_up_13 import ALL, PRIORS, estimator, method, scenarios, solve

MANY, FEW = 1000, 8
"""Draws where the device is none of the processor's, and where it is; as few are solved one after the other."""
SECONDS = 40.0
ALIKE = 0.05
"""[standard deviations]"""


def main() -> None:
    arguments = options(
        __doc__,
        counts={
            "batch": f"draws of the noise; {MANY}, or {FEW} on a processor",
            "at-once": "draws in lockstep; all that the device has memory for, or one on a processor",
        },
    )
    on_one_thread()
    processor = jax.devices("cpu")[0]
    device = jax.devices()[0]
    elsewhere = device.platform != "cpu"
    requested = arguments.batch or MANY
    B = requested if elsewhere or arguments.at_once else min(requested, FEW)
    with jax.default_device(processor):  # step by step
        motion = scenarios(0, {"swing-up": SECONDS})["swing-up"]
    clean = motion.record(round(SAMPLE / GENERATOR_STEP), noise=False)
    z = clean.z + NOISE * np.random.default_rng(1).standard_normal((B, *clean.z.shape))

    def batch() -> BatchFit:
        records = [Record("swing-up", clean.times, clean.u, readings) for readings in z]
        begin = values(ALL, INITIAL)
        problems = [JointSmoothingProblem(estimator(), [record], begin, priors=PRIORS) for record in records]
        return fit_batch(method(), problems, at_once=arguments.at_once)

    def single() -> list[JointFit]:
        with jax.default_device(processor):
            return [solve(Record("swing-up", clean.times, clean.u, readings)) for readings in z[:FEW]]

    of_all, of_some = f"fit_batch, {B} draws", f"fit, {min(B, FEW)} of them"
    seconds, results = side_by_side({of_all: Program(batch), of_some: Program(single)}, arguments.rounds or 1)
    fitted, fits = results[of_all], results[of_some]
    passed = seconds[of_all].passed / B, seconds[of_some].passed / len(fits)
    used = seconds[of_all].processor / B, seconds[of_some].processor / len(fits)
    per_problem = passed if elsewhere else used
    away = [np.abs(row - fit.theta) / fit.std for row, fit in zip(fitted.theta, fits, strict=False)]
    ended = {status.name: fitted.statuses.count(status) for status in dict.fromkeys(fitted.statuses)}
    deliver(
        "discrete_multibody_batch",
        arguments,
        seconds,
        [Ratio("fit / fit_batch, a problem", per_problem[1] / per_problem[0])],
        [
            Agreement(
                "theta, both ways, largest difference [standard deviations]",
                float(np.max(away)),
                ALIKE,
            )
        ],
        [
            f"on {device.device_kind}: {B / seconds[of_all].passed:.2f} problems a second, "
            f"{fitted.iterations.sum() / seconds[of_all].passed:.1f} iterations a second; fit on the processor "
            f"{1 / passed[1]:.2f} problems a second",
            f"{fitted.iterations.min()} to {fitted.iterations.max()} iterations, on average "
            f"{fitted.iterations.mean():.1f}; "
            + ", ".join(f"{count} ended as {name}" for name, count in ended.items()),
            f"the process took up to {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB of memory",
            *(
                []
                if B == requested
                else [f"{B} problems and not {requested}: JAX has no other device than the processor"]
            ),
        ],
    )


if __name__ == "__main__":
    main()
