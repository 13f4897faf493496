"""How late the efforts of a robot were recorded against its motion: the delay that its dynamics cannot explain away.

    r(d) = min over theta of |u (tau(t) - W(q, v, a at t - d) theta)|^2    u = 1 / rms of each joint's residual at d = 0

The motion is moved, not the effort: it is smooth, so a spline moves it by parts of a sample without touching noise,
and the rows of tau stay the same for every d. With e(d) the residuals at the best theta and g = de/dd,

    d = argmin r      d <- d - sum of g e / sum of g^2

which, over all rows but one stretch after the other, scatters as d does (jackknife), if a stretch is long enough to
hold the correlation of the residuals. A delay that parameters can imitate (of a single sine, by friction) has g near 0,
and a standard deviation that says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..arrays import JointSamples, Vector
from ..exceptions import InvalidSignals
from ..signals.alignment import Delay, jackknife_std
from ..signals.decimation import Decimation
from ..signals.signals import Signals
from .inverse_dynamics import InverseDynamics
from .triangular import triangular

GRID = 9
"""Delays tried first, across the whole range: r has one valley as long as the motion is slower than the range."""

DECIMATION = Decimation(4, order=4)
"""For signals without one: dry friction changes its sign at a sample, whichever d, and unfiltered r(d) has steps."""

STEPS = 5
TOLERANCE = 1e-4
"""Gauss-Newton steps at most, and when to stop [samples]."""


def estimate_effort_delay(problem: InverseDynamics, largest_s: float = 0.02) -> Delay:
    """Estimate by how much the efforts lag behind the motion, from the robot's dynamics.

    Smooth and decimate as for identification; `align(recording, {"torque": delay.seconds})` then brings the efforts
    forward. Whatever else the model lacks looks like a delay, too: above the band in which it predicts well, believe
    nothing. A few dozen regressions: seconds for a minute of six joints.

    Args:
        problem: as `inverse_dynamics` gives it.
        largest_s: delays between -largest_s and largest_s are tried [s].

    Raises:
        InvalidSignals: if the recording is too short, or the residual is smallest at the end of the range.
    """
    rate_hz = max(part.signals.rate_hz for part in problem.parts)
    moved = _mover(problem, largest_s)
    still = moved(0.0)
    if still.equations <= 2 * len(problem.base):
        raise InvalidSignals(
            f"{still.equations} equations for {len(problem.base)} parameters leave nothing that could show a delay; "
            "decimate less or record longer"
        )
    e = _residuals(still, np.ones(problem.robot.model.nv))[0]
    rms = np.sqrt(np.mean(e**2, axis=0))
    u = np.divide(1.0, rms, out=np.zeros_like(rms), where=rms > 0)

    def r(delay_s: float) -> float:
        return _solved(moved(delay_s), u)[1]

    # scipy.optimize takes long to import, and few look for a delay
    from scipy.optimize import minimize_scalar

    # a bounded search alone may end in a side valley of a periodic motion
    grid = np.linspace(-largest_s, largest_s, GRID)
    best = int(np.argmin([r(d) for d in grid.tolist()]))
    if best in (0, GRID - 1):
        raise InvalidSignals(
            f"the residual is smallest at a delay of {1e3 * grid[best]:g} ms, the end of the range: raise largest_s, "
            "or look for what else is wrong (units, signs, a missing reduction)"
        )
    h = 1 / rate_hz
    options = {"xatol": h / 10}
    bottom = minimize_scalar(r, bounds=(grid[best - 1], grid[best + 1]), method="bounded", options=options)
    delay_s = float(bottom.x)
    for _ in range(STEPS):
        e, y = _residuals(moved(delay_s), u)
        # theta is estimated anew on both sides: what parameters can imitate is not in g
        g = (_residuals(moved(delay_s + h), u)[0] - _residuals(moved(delay_s - h), u)[0]) / (2 * h)
        score, information = np.sum(g * u**2 * e, axis=1), np.sum((u * g) ** 2, axis=1)
        if not information.any():
            raise InvalidSignals("a delay changes nothing in this recording: nothing moves")
        # no further than a sample: g was measured within one on either side
        step = float(np.clip(-score.sum() / information.sum(), -h, h))
        if abs(step) < TOLERANCE * h:
            break
        delay_s += step
    return Delay(
        delay_s,
        jackknife_std(np.stack([score, information], axis=1), lambda sums: sums[:, 0] / sums[:, 1]),
        rate_hz,
        float(np.linalg.norm(u * e) / np.linalg.norm(u * y)),
        float(np.linalg.norm(u * _residuals(still, u)[0]) / np.linalg.norm(u * y)),
    )


def _mover(problem: InverseDynamics, largest_s: float) -> Callable[[float], InverseDynamics]:
    """Gives the problem with the motion moved by a delay, on samples that no delay up to the largest leaves."""
    from scipy.interpolate import CubicSpline

    middles, splines = [], []
    for part in problem.parts:
        signals = part.signals
        # splines are used inside their ends only, and the derivative needs a sample more
        margin = int(np.ceil(largest_s * signals.rate_hz)) + 2
        if len(signals) < 4 * margin:
            raise InvalidSignals(
                f"{len(signals)} samples are too few to look for delays up to {largest_s:g} s"
            )
        middle = signals.cut(margin, len(signals) - margin, "delays")
        middles.append(middle if middle.decimation else replace(middle, decimation=DECIMATION))
        motion = np.concatenate([signals.q, signals.v, signals.a], axis=1)
        splines.append(
            (CubicSpline(signals.time, motion), np.cumsum([signals.q.shape[1], signals.v.shape[1]]))
        )

    def moved(delay_s: float) -> InverseDynamics:
        signals: list[Signals] = []
        for middle, (spline, columns) in zip(middles, splines, strict=True):
            q, v, a = np.split(spline(middle.time - delay_s), columns, axis=1)
            signals.append(replace(middle, q=q, v=v, a=a))
        return problem.with_signals(signals)

    return moved


def _solved(problem: InverseDynamics, u: Vector) -> tuple[Vector, float]:
    """theta (b,) and r; what the motion does not show is left at its smallest."""
    b = len(problem.base)
    R = triangular((problem.factors() * u[:, None, None]).reshape(-1, b + 1))
    norms = np.linalg.norm(R[:, :b], axis=0)
    norms[norms == 0] = 1.0
    theta = np.linalg.lstsq(R[:, :b] / norms, R[:, b], rcond=1e-9)[0] / norms
    return theta, float(np.sum((R[:, b] - R[:, :b] @ theta) ** 2))


def _residuals(problem: InverseDynamics, u: Vector) -> tuple[JointSamples, JointSamples]:
    """(N, n) e at the best theta, and tau."""
    _, measured, predicted = problem.predict(_solved(problem, u)[0])
    return measured - predicted, measured
