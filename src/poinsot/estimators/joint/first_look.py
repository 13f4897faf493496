"""Which parameters recordings determine, before any is fitted: from the motion of the described mechanism.

States alone are fitted with theta as described. Their linearization gives the covariance of theta with the states
eliminated (`sensitivity`), for residuals that the description leaves. A description is wrong by some ten percent, and a
parameter is worth estimating where its standard deviation is below that. Of parameters that are not, the one with the
largest is left out, and the covariance of the others is computed again: they may be known without it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arrays import Vector
from ...models.maximal import Mechanism
from .problem import JointSmoothingProblem
from .sensitivity import sensitivity
from .smoothing import JointIterate, JointSmoothing, RecordEquations
from .unread import FITS

KNOWN = 0.3
"""Standard deviation by the size of a parameter below which it is determined: that of a description's errors."""


def determined_parameters(method: JointSmoothing, problem: JointSmoothingProblem) -> tuple[str, ...]:
    """Names of the problem's parameters that its records determine, in its order; of no such ones, the best."""
    theta = problem.parameters.theta
    method = replace(method, reference=theta)
    start = RecordEquations(method, problem).start()
    alone = [
        start.equations.states_alone(record, x, FITS)
        for record, x in zip(problem.records, start.x, strict=True)
    ]
    method = replace(method, weight=min(weight for _, weight in alone))
    at = JointIterate(RecordEquations(method, problem), [x for x, _ in alone], theta)
    form, names = at.equations.form, problem.model.free
    rates = np.concatenate([form.unpack(x, theta)[1] for x in at.x])
    size = parameter_sizes(problem.model.mechanism, names, np.sqrt(np.mean(rates**2, axis=0)))
    left = np.arange(len(names))
    while True:
        columns = [record.opened(left) for record in at.linearized]
        std = np.sqrt(np.diag(sensitivity(columns, form.rows, np.zeros(len(left))).robust)) / size[left]
        # of those that nothing determines, the last one listed
        std = np.where(np.isfinite(std), std, 1e300 * (1 + left))
        worst = int(np.argmax(std))
        if std[worst] < KNOWN or len(left) == 1:
            return tuple(names[k] for k in left)
        left = np.delete(left, worst)


def parameter_sizes(mechanism: Mechanism, names: tuple[str, ...], speeds: Vector) -> Vector:
    """Sizes of parameters: values, but of centres of mass the distance from their joint or the radius of gyration, and
    of viscous friction that which has the size of the dry one at the speeds (n,) of coordinates.
    """
    entries, bodies = mechanism.entries, {body.name: body for body in mechanism.bodies}
    points = {joint.child: np.asarray(joint.point, dtype=float) for joint in mechanism.joints}
    speed = dict(zip((name for name, _ in mechanism.coordinates), speeds, strict=True))
    sizes = []
    for entry in (entries[name] for name in names):
        size = abs(entry.value)
        if entry.kind == "center":
            body = bodies[entry.owner]
            radius = np.sqrt(np.trace(body.inertia_matrix) / (2 * body.mass))
            center = body.placement[:3, :3] @ np.asarray(body.center) + body.placement[:3, 3]
            size = max(float(np.linalg.norm(center - points[entry.owner])), radius)
        elif entry.kind == "drag" and f"{entry.owner}.coulomb" in entries and entry.owner in speed:
            size = max(size, entries[f"{entry.owner}.coulomb"].value / max(speed[entry.owner], 1e-12))
        sizes.append(max(size, 1e-300))
    return np.array(sizes)
